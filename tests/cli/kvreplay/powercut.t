#!/bin/sh
# powercut.t - the power goes at random moments, with objects as files, in a slab and as inference engines store them,
# each --sync and both engines: all that the marker calls kept is there and whole afterwards, and a run over what was kept neither loses nor removes it.
# The cut is ext4's own (FS_IOC_SHUTDOWN without a flush of its journal): what was not forced to the device is gone. A
# bug looked like 200 files whose marker said "running", so that the next run removed all of them.
# CUTS=N cuts so many times. Skipped without root, loop devices and ext4.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# A copy of the mount in the namespace of another test would keep the file system alive, too, and write what it still has in
# memory over what comes after the cut.
needs_mounts
command -v python3 >/dev/null || skip_all 'no python3'
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
objects=40
mkdir "$TMP/m"
truncate -s 192M "$TMP/image"
mkfs.ext4 -q -E nodiscard,lazy_itable_init=0 "$TMP/image" 2>"$TMP/err" || skip_all "no mkfs.ext4 here"
mount -o loop "$TMP/image" "$TMP/m" 2>"$TMP/err" || skip_all "no loop devices here"
trap 'umount -l "$TMP/m" 2>/dev/null || true; tap_exit' EXIT

# power_goes: nothing that is not on the device yet comes there any more. One process does so for each line that it reads.
mkfifo "$TMP/cuts" "$TMP/was_cut"
python3 -c 'import fcntl, os, struct, sys
for line in sys.stdin:
    mounted = os.open(sys.argv[1], os.O_RDONLY)
    fcntl.ioctl(mounted, 0x8004587D, struct.pack("I", 2))
    os.close(mounted)
    print("cut", flush=True)' "$TMP/m" <"$TMP/cuts" >"$TMP/was_cut" 2>"$TMP/err" &
exec 7>"$TMP/cuts" 8<"$TMP/was_cut"
power_goes() { echo cut >&7 && read -r _ <&8; }
# A killed process may hold its files for a moment longer.
power_comes() {
    for _ in $(seq 600); do
        ! umount "$TMP/m" 2>/dev/null || break
        sleep 0.05
    done
    mount -o loop "$TMP/image" "$TMP/m"
}
power_goes || skip_all "no shutdown of file systems here"
power_comes

# rows PREFIX OP: one row for each object of that prefix.
rows() {
    awk -v header=$header -v prefix="$1" -v op="$2" -v n="$3" 'BEGIN { print header
        for (i = 0; i < n; i++) printf "0,%s,%d,Tier-2,%s%d,Decode\n", op, 65536 + i * 4099, prefix, i }'
}
rows kept Write $objects >"$TMP/kept.csv"
rows kept Read $objects >"$TMP/read.csv"
rows new Write 600 >"$TMP/new.csv"
{ cat "$TMP/read.csv"; rows kept Read $objects | sed 1d; } >"$TMP/reads.csv"
replay() {
    with "$how" "$BIN/kvreplay" --keep --reserve 0 --progress none -o /dev/null "$@"
}
# whole: all objects that were kept are adopted, and every byte of them is as it was written.
whole() {
    replay --on-absent fail --summary "$TMP/summary.json" "$TMP/read.csv" || return 1
    found=$(json "$TMP/summary.json" '.populated.adopted_objects, .populated.torn_objects, .rows.ok')
    [ "$found" = "$objects 0 $objects" ] || { echo "adopted, torn, ok: $found"; return 1; }
}
# cut_in SECONDS ARGUMENTS...: the power goes in the middle of that run, some time before SECONDS.
cut_in() {
    within=$1
    shift
    with "$how" exec "$BIN/kvreplay" --keep --reserve 0 --progress none -o /dev/null "$@" 2>/dev/null &
    pid=$!
    sleep "$(awk -v seed="$cut$$" -v max="$within" 'BEGIN { srand(seed); print rand() * max }')"
    power_goes
    kill -s KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    power_comes
}
marker() { head -n 1 "$TMP/m/d/.kvtrace" 2>/dev/null; }

kept=0 cut=0
while [ $cut -lt "${CUTS:-$(scaled 12)}" ]; do
    for way in 'd --layout files' 'd --layout slab' 'd?like=lmcache-fs&pages=small&pool=16MiB' 'd?like=vllm-fs&pages=small&pool=16MiB'; do
        for sync in none end object; do
            cut=$((cut + 1))
            # In turn, another one in the next round: each engine meets each layout, and each --sync.
            turn=$((cut + (cut - 1) / 12))
            case $way in *--layout*) way="${way% --config ioengine*} --config ioengine=$([ $((turn % 2)) = 0 ] && echo psync || echo uring)" ;; esac
            how="--target file:$TMP/m/$way --sync $sync"
            rm -rf "$TMP/m/d"
            sync -f "$TMP/m"
            # In the run that keeps: if the marker says kept, all is kept.
            cut_in 0.15 "$TMP/kept.csv"
            case $(marker) in
            kept)
                kept=$((kept + 1))
                ok "$cut: $way, $sync: kept before the cut" whole
                ;;
            *) ok "$cut: $way, $sync: not kept before the cut, and taken again" replay "$TMP/kept.csv" ;;
            esac
            rm -rf "$TMP/m/d"
            # Right behind it.
            ok "$cut: $way, $sync: kept" replay "$TMP/kept.csv"
            power_goes
            power_comes
            ok "$cut: $way, $sync: kept, and then cut" whole
            # In a run over what was kept, which writes beside it or, in turn, only reads: each way meets both.
            if [ $(((turn + (cut - 1) / 24) % 4)) -lt 2 ]; then
                cut_in 0.3 --config loops=1000 "$TMP/reads.csv"
                ok "$cut: $way, $sync: cut while it was read" whole
            else
                cut_in 0.3 --config loops=20 "$TMP/new.csv"
                ok "$cut: $way, $sync: cut while others were written beside it" whole
            fi
        done
    done
done
diag "$kept of $cut runs had kept their objects when the power went"
done_testing
