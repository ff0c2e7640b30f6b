#!/bin/sh
# validity.sh [FOLDER [RUNS]] - what runs say of themselves, as a table: undisturbed ones, which must be good (RUNS of each
# timing, default 10; those in which processors were stolen, or a thread waited for one, for over 1 % of the time are
# counted and left out), and disturbed ones, in which the disturbance must be named: 2 and 4 busy loops on the processor of
# the replay, a stop of 0.2, 1 and 3 s once a tenth of the bytes was read, 10, 50 and 100 % of the reads from the page cache,
# other traffic on the drive, and, as root where there is a blkio controller, a throttled drive. The column "rest" says whether
# the figures that the disturbance does not touch stay good: times of Tier-1 and lateness while storage is cached, or while
# others write to the drive, and whether the target is storage while processors are busy or the process stopped. FOLDER
# (default: the scratch folder) must be on a drive. Needs python3. Takes about a minute a disturbance.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
TMP=$(mktemp -d)
where=${1:-$TMP} runs=${2:-10} target='' children=''
end_children() {
    for child in $children; do kill "$child" 2>/dev/null || :; done
    children=
}
clean() {
    end_children
    rm -rf "$TMP" "${target:-$TMP}"
}
trap clean EXIT
trap 'exit 130' INT TERM
target=$(mktemp -d "$where/kvtrace-validity.XXXXXX")
cpu=$(($(nproc) - 1))
rows=1500

# trace EVERY SIZE KEYS [HOT]: reads, one every so many seconds, HOT of a hundred of five objects of their own; beside each
# fifth one of Tier-1.
trace() {
    awk -v n=$rows -v every="$1" -v size="$2" -v keys="$3" -v hot="${4:-0}" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Arrival"
        for (i = 0; i < n; i++) {
            key = (i * 7) % 100 < hot ? "h" i % 5 : "k" i % keys
            printf "%.6f,Read,%d,Tier-2,%s,Decode,%d,u%d,%.6f\n", i * every, size, key, i, i % 5, i * every
            if (i % 5 == 0)
                printf "%.6f,Read,65536,Tier-1,c%d,Decode,%d,u%d,%.6f\n", i * every, i % 20, i, i % 5, i * every
        }
    }'
}
trace 0.002 65536 200 >"$TMP/trace.csv"
timings='asap trace served closed'
run() { # TIMING [OPTIONS...]: into $TMP/r.zst and $TMP/s.json
    timing=$1
    shift
    case $timing in
    asap) set -- --inflight 1 "$@" ;;
    served) set -- --workers 4 "$@" ;;
    esac
    set -- "$BIN/kvreplay" --nvme "$target/d" --progress none --timing "$timing" -o "$TMP/r.zst" --summary "$TMP/s.json" "$@" \
        "${input:-$TMP/trace.csv}"
    if [ -n "${only_cpu-}" ]; then set -- taskset -c "$only_cpu" "$@"; fi
    "$@" >/dev/null 2>"$TMP/err"
}
line() { "$BIN/kvstat" --json "$TMP/r.zst" | jq -r '.validity.line + (.run.notes | map(select(test("^foreign"))) | map("; " + .) | add // "")'; }
bottleneck() { "$BIN/kvstat" --json "$TMP/r.zst" | jq -r '.bottleneck | "\(.what // "none stands out") \(.share)"'; }
# rest FIGURES...: which of these are doubted, each as KIND or KIND/TIER. For want of a processor is no answer where other work
# had the processors; for any other reason is one there, too.
rest() {
    "$BIN/kvstat" --json "$TMP/r.zst" | jq -r '.validity.figures[] | select(.state == "unreliable") |
        select(.figures as $f | .tier as $t | any($ARGS.positional[] | split("/"); .[0] == $f and ($t == null or .[1] == null or
        .[1] == $t))) | "\(.figures) \(.why)"' --args "$@" >"$TMP/doubted"
    ! disturbed || processors='CPU contention|paused?|client delay'
    if [ ! -s "$TMP/doubted" ]; then echo ok; elif grep -qvE "${processors:-^$}" "$TMP/doubted"; then
        echo "DOUBTED $(cut -d ' ' -f 1 "$TMP/doubted" | sort -u | paste -sd ,)"
    else echo 'left out, busy'; fi
}
tell() { # CASE TIMING EXPECTED FIGURES...: the line, whether it matches, and whether the other figures stay good
    name=$1 timing=$2 expected=$3
    shift 3
    said=$(line)
    processors=
    if echo "$said" | grep -qE "$expected"; then answer=ok; else answer=MISSED; fi
    printf '%-14s %-7s %-7s %-20s %s\n' "$name" "$timing" $answer "$(rest "$@")" "$(echo "$said" | cut -c 1-200)"
}
disturbed() {
    jq -e '.evidence | .steal_share > 0.01 or .run_delay_share > 0.01' "$TMP/s.json" >/dev/null
}

printf '%-14s %-7s %-7s %-20s %s\n' case timing '' rest says
run asap # makes the objects
for timing in $timings; do
    good=0 bad=0 left=0
    for _ in $(seq "$runs"); do
        run "$timing"
        if disturbed; then left=$((left + 1)); elif line | grep -q '^good'; then good=$((good + 1)); else
            bad=$((bad + 1))
            line >>"$TMP/bad"
        fi
    done
    printf '%-14s %-7s %-7s %s good, %s not, %s left out\n' undisturbed "$timing" "$([ $bad = 0 ] && echo ok || echo FALSE)" \
        $good $bad $left
done
[ ! -e "$TMP/bad" ] || sed 's/^/    /' "$TMP/bad" | cut -c 1-150

for loops in 2 4; do
    children=
    for _ in $(seq $loops); do
        taskset -c "$cpu" sh -c 'while :; do :; done' &
        children="$children $!"
    done
    rows=300
    trace 0.01 65536 200 >"$TMP/short.csv"
    for timing in $timings; do
        input=$TMP/short.csv only_cpu=$cpu run "$timing"
        tell "$loops busy loops" "$timing" '^(good for drive figures; )?unreliable.*(CPU contention|paused?|client delay)' storage
    done
    end_children
done

rows=1500
trace 0.002 1048576 200 >"$TMP/long.csv"
input=$TMP/long.csv run asap
# Waits until the replay that is a child of PID has read so many bytes: more than looking at the objects of earlier runs takes,
# so that its clock runs.
has_read() { # PID BYTES: prints its number; fails when it ends before
    while kill -s 0 "$1" 2>/dev/null; do
        replayer=$(pgrep -P "$1" kvreplay) || replayer=
        bytes=$(awk '$1 == "read_bytes:" { print $2 }' "/proc/${replayer:-none}/io" 2>/dev/null) || bytes=
        if [ "${bytes:-0}" -ge "$2" ]; then
            echo "$replayer"
            return
        fi
        sleep 0.01
    done
    return 1
}
for stop in 0.2 1 3; do
    for timing in $timings; do
        input=$TMP/long.csv run "$timing" &
        child=$!
        said='never stopped'
        if replayer=$(has_read $child $(((200 + rows / 10) * 1048576))) && kill -s STOP "$replayer"; then
            sleep $stop
            kill -s CONT "$replayer"
            said='not listed'
        fi
        wait $child || :
        # Unreliable only where it moved a percentile: what is asked for is that it is listed.
        ! jq -e 'any(.gaps[]; .end_s - .start_s > 0.15)' "$TMP/s.json" >/dev/null || said=.
        tell "stopped $stop s" "$timing" "$said" storage
    done
done

# Pages that another process has mapped stay in the page cache when the replay drops its own.
rows=800
trace 0.002 1048576 200 100 | head -n 50 >"$TMP/hot.csv"
rm -rf "$target/d"
input=$TMP/hot.csv run asap --keep
python3 - "$target/d" "$TMP/held" <<'END' &
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
while [ ! -e "$TMP/held" ]; do sleep 0.05; done
for share in 10 50 100; do
    trace 0.002 1048576 200 $share >"$TMP/hot.csv"
    input=$TMP/hot.csv run asap --buffered --keep # makes the others
    for timing in $timings; do
        input=$TMP/hot.csv run "$timing" --buffered --keep
        seen=$(jq '.evidence.cached_read_share * 100 | round' "$TMP/s.json")
        said="$seen % of the bytes read came from a cache"
        [ "$seen" -ge $((share - 3)) ] && [ "$seen" -le $((share + 3)) ] || said="a share of $share %"
        tell "$share % cached" "$timing" "$said" service/Tier-1 device/Tier-1 response/Tier-1 end_to_end
    done
done
end_children
rm -rf "$target/d"
rows=1500
run asap

for timing in $timings; do
    while :; do
        dd if=/dev/zero of="$target/foreign" bs=1M count=256 oflag=direct 2>/dev/null || break
    done &
    children=$!
    run "$timing"
    kill "$children"
    wait "$children" 2>/dev/null || :
    children=
    tell 'foreign traffic' "$timing" 'foreign traffic' service/Tier-1 device/Tier-1 storage
done

control=/sys/fs/cgroup/blkio/kvtrace-validity
device=$(printf '%d:%d' $((0x$(stat -c %D "$target") >> 8)) $((0x$(stat -c %D "$target") & 255)))
[ ! -e "/sys/dev/block/$device/partition" ] || device=$(cat "/sys/dev/block/$device/../dev")
if [ "$(id -u)" -ne 0 ] || ! mkdir $control 2>/dev/null; then
    echo 'throttled: skipped, needs root and a blkio controller'
    exit 0
fi
echo "$device 52428800" >$control/blkio.throttle.read_bps_device
rows=400
trace 0.0125 1048576 100 >"$TMP/hot.csv" # 80 MiB/s
for depth in 1 8; do
    sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh $control "$BIN/kvreplay" --nvme "$target/d" \
        --progress none --timing trace --iodepth $depth -o "$TMP/r.zst" "$TMP/hot.csv" >/dev/null 2>&1
    printf '%-14s %-7s %-7s %s\n' "throttled, $depth" trace \
        "$(bottleneck | grep -q '^storage' && echo ok || echo WRONG)" "$(bottleneck)"
done
rmdir $control
