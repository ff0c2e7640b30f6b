#!/bin/sh
# origin.t - where the bytes of Tier-2 came from, in ten situations: each line names the right owner of the bytes, its parts add
# up to what the rows asked for, and no drive figure is good when more than 5 % of the bytes were not the drive's. A bug looked
# like a hit rate of 46 % of which the device had read nothing, and "good".
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts

summary=$TMP/s.json
loops='' children=''
leave() {
    left=$?
    for child in $children; do kill "$child"; done 2>/dev/null
    umount "$TMP/fuse" "$TMP/inloop" "$TMP/onmemory" "$TMP/packed" "$TMP/over" 2>/dev/null
    for l in $loops; do
        umount "$l" 2>/dev/null
        losetup -d "$l"
    done
    umount "$TMP/memory" 2>/dev/null
    (exit $left)
    tap_exit
}
trap leave EXIT
# 32 MiB are written, 64 MiB read.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 32; i++) printf "0,Write,1048576,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < 64; i++) printf "0.1,Read,1048576,Tier-2,k%d,Prefill\n", i % 32
}' >"$TMP/t.csv"
grep -v Write "$TMP/t.csv" >"$TMP/reads.csv"
trace=$TMP/t.csv
replay() { # TARGET OPTIONS...
    target=$1
    shift
    "$BIN/kvreplay" --full --inflight 4 --target "$target" --summary "$summary" -o "$TMP/r.csv.zst" "$@" "$trace" 2>"$TMP/err"
}
# look: sets adds_up, whether storage figures are good (state), and what the reads are made of, in whole percent, without what
# is nothing (parts).
sums='[.evidence.reads, .evidence.writes | (.asked_bytes * 2 - ([.[]] | add) | fabs < 8)] | all'
look() {
    read -r adds_up state parts <<END
$(json "$summary" "($sums), [.validity[] | select(.figures == \"storage\")][0].state, (.evidence.reads | to_entries[] | .key, .value)" |
        awk '{ printf "%s %s", $1, $2; for (i = 5; i < NF; i += 2) if ($(i + 1) * 200 >= $4) printf " %s=%.0f", $i, $(i + 1) * 100 / $4 }')
END
}
# A cache below gives all of it. Reads of others on the disk count as if they were the replay's: its counter has no owners.
below() { # NAME TARGET
    replay "$2"
    read -r adds_up of_cache of_pages said <<END
$(json "$summary" "($sums)"', (.evidence.reads.asked_bytes - .kernel.device_read_bytes | if . > 0 then . else 0 end) -
        .evidence.reads.cache_below_bytes, .evidence.reads.page_cache_bytes,
        (.evidence.reads | .cache_below_bytes > .asked_bytes * 0.06), .valid')
END
    is "$1" "$of_cache $of_pages" '0 0'
    is "$1: adds up" "$adds_up" true
    isnt "$1: is no drive" "$said" 'true true'
}
origin() { # NAME PARTS STATE: of the last run
    look
    is "$1" "$parts $state" "$2 $3"
    is "$1: adds up" "$adds_up" true
}
loop() { # NAME FILE MIB DIO: an ext4 in the file, on a loop device, mounted on $TMP/NAME
    truncate -s "$3M" "$2" && mkfs.ext4 -q -F "$2" && mkdir -p "$TMP/$1" &&
        device=$(losetup --find --show --direct-io="$4" "$2") && loops="$device $loops" && mount "$device" "$TMP/$1"
}

# All from the device: O_DIRECT on the scratch folder's file system.
mkdir "$TMP/here"
replay "$TMP/here/kv"
if [ "$(json "$summary" '.evidence.target, (.kernel.device_read_bytes > 60000000), .evidence.cache_below')" != 'storage true null' ]; then
    skip_all 'the scratch folder is on no device that counts'
fi
origin 'O_DIRECT' device_bytes=100 good
like 'as a line' "$(cat "$TMP/err")" '^Storage reads: 64.0 MiB asked = 64.0 device$'
"$BIN/kvstat" --full "$TMP/r.csv.zst" >"$TMP/full"
"$BIN/kvstat" "$TMP/r.csv.zst" >"$TMP/screen"
like 'in the report' "$(cat "$TMP/full")" '^Origin +storage reads: 64.0 MiB asked = 64.0 device; storage writes: 32.0 MiB asked'
like 'and on the screen' "$(cat "$TMP/screen")" '^Origin +storage reads: 64.0 MiB asked = 64.0 device; 0.0 % of the bytes of'

# The engine's way, whose objects stay in the page cache.
replay "file:$TMP/here/like?like=lmcache-fs&cache=keep&pages=small&pool=16MiB"
origin 'like, cache=keep' page_cache_bytes=100 unreliable
"$BIN/kvstat" "$TMP/r.csv.zst" | tr -s '\n ' ' ' >"$TMP/screen"
like 'hits on the screen' "$(cat "$TMP/screen")" ' 100.0 % of the bytes of hits never touched the device'

# Pages that another process has mapped stay in the page cache when the replay drops its own.
replay "$TMP/here/held" --buffered --keep
if command -v python3 >/dev/null; then
    python3 - "$TMP/here/held" "$TMP/holds" <<'END' &
import mmap, pathlib, sys, time
held = []
for path in pathlib.Path(sys.argv[1]).rglob("*.kv"):
    with open(path, "rb") as f:
        held.append(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))
        held[-1][::4096]
open(sys.argv[2], "w").close()
time.sleep(1000)
END
    children=$!
    while [ ! -e "$TMP/holds" ] && kill -s 0 $children; do sleep 0.05; done
    trace=$TMP/reads.csv
    replay "$TMP/here/held" --buffered --keep
    trace=$TMP/t.csv
    origin 'page cache' page_cache_bytes=100 unreliable
    kill $children
    children=
else
    ok 'page cache # SKIP no python3' true
fi

mkdir "$TMP/memory" "$TMP/over" "$TMP/lower"
mount -t tmpfs none "$TMP/memory"
replay "$TMP/memory/kv"
origin 'tmpfs' memory_bytes=100 unreliable
rm -rf "$TMP/memory/kv"
mkdir "$TMP/memory/upper" "$TMP/memory/work"
if mount -t overlay overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/memory/upper,workdir=$TMP/memory/work" "$TMP/over" 2>/dev/null; then
    replay "$TMP/over/kv"
    origin 'overlay on tmpfs' memory_bytes=100 unreliable
else
    ok 'overlay # SKIP none can be mounted' true
fi

if losetup --find >/dev/null 2>&1 && loop onmemory "$TMP/memory/x.img" 200 off; then
    replay "$TMP/onmemory/kv"
    origin 'loop on tmpfs' memory_bytes=100 unreliable
    loop inner "$TMP/here/x.img" 500 off
    below 'loop without direct I/O' "$TMP/inner/kv"
    loop inloop "$TMP/inner/y.img" 250 on
    below 'loop in loop' "$TMP/inloop/kv"
    # Contents that shrink by half; the device reads the other half.
    truncate -s 400M "$TMP/here/z.img"
    if command -v mkfs.btrfs >/dev/null && mkfs.btrfs -q -f "$TMP/here/z.img" >/dev/null 2>&1 && mkdir "$TMP/packed" &&
        device=$(losetup --find --show --direct-io=on "$TMP/here/z.img") && loops="$device $loops" &&
        mount -o compress-force=zstd:1 "$device" "$TMP/packed"; then
        # Room that was reserved is not compressed: the engine that reserves none.
        replay "file:$TMP/packed/kv?like=lmcache-fs&cache=drop&pages=small&pool=16MiB" --config compress_ratio=2 --keep
        sync -f "$TMP/packed"
        trace=$TMP/reads.csv
        replay "file:$TMP/packed/kv?like=lmcache-fs&cache=drop&pages=small&pool=16MiB" --config compress_ratio=2 --keep
        look
        like 'btrfs, compressed' "$parts $state" '^device_bytes=[4-6][0-9] saved_bytes=[4-6][0-9] good$'
        is 'btrfs, compressed: adds up' "$adds_up" true
        trace=$TMP/t.csv
    else
        ok 'btrfs # SKIP no mkfs.btrfs, or none can be mounted' true
    fi
else
    ok 'loop devices # SKIP there are none' true
fi

# A server in user space that has all of it in memory: nobody counts.
mkdir "$TMP/fuse"
if command -v python3 >/dev/null; then
    python3 "$TOP/tests/cli/kvreplay/faultfs.py" "$TMP/fuse" none &
    child=$!
    while kill -s 0 $child 2>/dev/null && [ "$(stat -f -c %T "$TMP/fuse")" != fuseblk ] && ! grep -q " $TMP/fuse fuse" /proc/self/mounts; do
        sleep 0.05
    done
fi
if grep -q " $TMP/fuse fuse" /proc/self/mounts; then
    replay "$TMP/fuse/kv"
    origin 'FUSE' unknown_bytes=100 unknown
    like 'FUSE: as a line' "$(cat "$TMP/err")" '^Storage reads: 64.0 MiB asked = 64.0 not known$'
else
    ok 'FUSE # SKIP none can be mounted' true
fi
done_testing
