#!/bin/sh
# validity.sh [FOLDER [RUNS]] - what runs say of themselves, as a table: undisturbed ones, which must be good (RUNS of each
# timing, default 10; those in which the processors were away for over 1 % of the time, by stolen time or run delay, are
# counted and left out), and disturbed ones, in which the disturbance must be named: 2 and 4 busy loops on the processor of
# the replay, a stop of 0.2, 1 and 3 s, reads from the page cache (5, 20 and 100 hot objects), other traffic on the drive, and, as root where there is a blkio controller, a throttled drive. FOLDER (default: the scratch folder) must be on a drive.
# Takes about a minute a disturbance.
set -eu
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
TMP=$(mktemp -d)
where=${1:-$TMP} runs=${2:-10} target='' children=''
clean() {
    # shellcheck disable=SC2086
    [ -z "$children" ] || kill $children 2>/dev/null || :
    rm -rf "$TMP" "${target:-$TMP}" "$where/kvtrace-foreign"
}
trap clean EXIT
trap 'exit 130' INT TERM
target=$(mktemp -d "$where/kvtrace-validity.XXXXXX")
cpu=$(($(nproc) - 1))
rows=1500

# trace EVERY SIZE KEYS: reads, one every so many seconds.
trace() {
    awk -v n=$rows -v every="$1" -v size="$2" -v keys="$3" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Arrival"
        for (i = 0; i < n; i++)
            printf "%.6f,Read,%d,Tier-2,k%d,Decode,%d,u%d,%.6f\n", i * every, size, i % keys, i, i % 5, i * every
    }'
}
trace 0.002 65536 200 >"$TMP/trace.csv"
timings='asap trace served closed'
options() { # TIMING
    case $1 in
    asap) echo '--timing asap --inflight 1' ;;
    served) echo '--timing served --workers 4' ;;
    *) echo "--timing $1" ;;
    esac
}
run() { # TIMING [OPTIONS...]: into $TMP/r.zst and $TMP/s.json
    timing=$1
    shift
    # shellcheck disable=SC2046
    ${prefix:-} "$BIN/kvreplay" --nvme "$target/d" --progress none $(options "$timing") -o "$TMP/r.zst" \
        --summary "$TMP/s.json" "$@" "${input:-$TMP/trace.csv}" >/dev/null 2>"$TMP/err"
}
line() { "$BIN/kvstat" --json "$TMP/r.zst" | jq -r '.validity.line + (.run.notes | map(select(test("^foreign"))) | map("; " + .) | add // "")'; }
bottleneck() { "$BIN/kvstat" --json "$TMP/r.zst" | jq -r '.bottleneck | "\(.what // "none stands out") \(.share)"'; }
tell() { # CASE TIMING EXPECTED: the line, and whether it matches
    said=$(line)
    if echo "$said" | grep -qE "$3"; then answer=ok; else answer=MISSED; fi
    printf '%-14s %-7s %-7s %s\n' "$1" "$2" $answer "$(echo "$said" | cut -c 1-150)"
}
disturbed() {
    jq -e '.evidence.steal_share > 0.01 or .evidence.run_delay_s > 0.01 * .elapsed_s' "$TMP/s.json" >/dev/null
}

printf '%-14s %-7s %-7s %s\n' case timing '' says
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
        input=$TMP/short.csv prefix="taskset -c $cpu" run "$timing"
        tell "$loops busy loops" "$timing" '^(good for drive figures; )?unreliable.*(processor|gaps|delays)'
    done
    # shellcheck disable=SC2086
    kill $children
    children=
done

rows=1500
trace 0.002 1048576 200 >"$TMP/long.csv"
input=$TMP/long.csv run asap
for stop in 0.2 1 3; do
    for timing in $timings; do
        said='not listed'
        for delay in 0.3 0.7 1.2; do # a stop before the clock starts, or after the end, is none of the run
            input=$TMP/long.csv run "$timing" &
            child=$!
            sleep $delay
            replayer=$(pgrep -P $child kvreplay || :)
            [ -z "$replayer" ] || { kill -s STOP "$replayer" && sleep $stop && kill -s CONT "$replayer"; } || :
            wait $child || :
            if jq -e 'any(.gaps[]; .end_s - .start_s > 0.15)' "$TMP/s.json" >/dev/null; then
                said=. # listed; unreliable only where it moved a percentile
                break
            fi
        done
        tell "stopped $stop s" "$timing" "$said"
    done
done

for hot in 5 20 100; do
    trace 0.002 1048576 $hot >"$TMP/hot.csv"
    for timing in $timings; do
        input=$TMP/hot.csv run "$timing" --buffered
        if jq -e '.evidence.cached_read_share > 0.05' "$TMP/s.json" >/dev/null; then
            tell "$hot hot objects" "$timing" 'from a cache'
        else
            tell "$hot hot objects" "$timing" .
        fi
    done
done

for timing in $timings; do
    while :; do
        dd if=/dev/zero of="$where/kvtrace-foreign" bs=1M count=256 oflag=direct 2>/dev/null || break
    done &
    children=$!
    run "$timing"
    kill $children
    wait $children 2>/dev/null || :
    children=
    tell 'foreign traffic' "$timing" 'foreign traffic'
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
    # shellcheck disable=SC2016
    sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh $control "$BIN/kvreplay" --nvme "$target/d" \
        --progress none --timing trace --iodepth $depth -o "$TMP/r.zst" "$TMP/hot.csv" >/dev/null 2>&1
    printf '%-14s %-7s %-7s %s\n' "throttled, $depth" trace \
        "$(bottleneck | grep -q '^storage' && echo ok || echo WRONG)" "$(bottleneck)"
done
rmdir $control
