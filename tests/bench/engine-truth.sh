#!/bin/sh
# engine-truth.sh [PAIRS] - like= against ground truth: engine_truth.c makes the same calls with the same number of threads
# at the same times. Stores and cold loads, buffered and direct, 300 objects of 2, 4 and 8 MiB; runs alternate (ABBA),
# step by step, with both stores on the file system: before each run all is written back, dropped from the page cache, and
# none of it may be left there, and all objects that are to be loaded have been read once with O_DIRECT, as kvreplay reads
# what it adopts; all this outside the clock. Prints medians over the runs; replay by truth, of service times as kvreplay
# reports them; the least and the greatest such ratio of a pair; and the medians of what the drive and the line took of
# them (Device_us + Slot_us). KVTRACE_DIR: where; KVTRACE_RATE: operations a second (default 12); KVTRACE_OBJECTS.
set -eu
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
pairs=${1:-1} rate=${KVTRACE_RATE:-12} objects=${KVTRACE_OBJECTS:-300}
TMP=$(mktemp -d "${KVTRACE_DIR:-/var/tmp}/engine-truth.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
TRUTH=$TMP/engine_truth
"${CC:-cc}" -O2 -D_GNU_SOURCE -pthread -o "$TRUTH" "$TOP/tests/bench/engine_truth.c"

# Exponential gaps.
awk -v n="$objects" -v rate="$rate" 'BEGIN { srand(5); for (i = 0; i < n; i++) {
    t += -log(1 - rand()) / rate; printf "%.6f %d\n", t, 2097152 * 2 ^ (i % 3) } }' >"$TMP/schedule"
trace() {
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    awk -v op="$1" -v phase="$2" '{ printf "%s,%s,%d,Tier-2,k%d,%s\n", $1, op, $2, NR, phase }' "$TMP/schedule"
}
trace Write Prefill >"$TMP/store.csv"
trace Read Decode >"$TMP/load.csv"
# percentiles FILE: P50 and P95 of the column, in ms.
percentiles() { sort -n "$1" | awk -v unit="$2" '{ v[NR] = $1 } END {
    printf "%.4f %.4f\n", v[int(NR * 0.5 + 0.999)] / unit, v[int(NR * 0.95 + 0.999)] / unit }'; }
# cold: nothing of either store is in the page cache.
cold() {
    sync
    for store in truth replay; do [ ! -d "$TMP/$store" ] || "$TRUTH" cold "$TMP/$store"; done
}
# column NAMES: the sum of these columns of the result, in us.
column() {
    awk -F, -v names="$1" 'BEGIN { n = split(names, want, " ") }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { sum = 0; for (i = 1; i <= n; i++) sum += $at[want[i]]; print sum }' "$TMP/o.csv"
}
replay() { # DIRECT STEP
    like=lmcache-fs
    [ "$1" = 0 ] || like=lmcache-fs-direct
    "$BIN/kvreplay" --progress none --no-notes --timing trace --lag-limit 10m --keep -o "$TMP/o.csv" \
        --target "file:$TMP/replay?like=$like" "$TMP/$2.csv" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
    column Latency_us >"$TMP/times"
    percentiles "$TMP/times" 1e3 >>"$TMP/replay.$1.$2"
    column "Device_us Slot_us" >"$TMP/times"
    percentiles "$TMP/times" 1e3 >>"$TMP/drive.$1.$2"
}
truth() {
    mkdir -p "$TMP/truth"
    "$TRUTH" "$2" "$1" 6 "$TMP/truth" <"$TMP/schedule" >"$TMP/times"
    percentiles "$TMP/times" 1e6 >>"$TMP/truth.$1.$2"
}
i=0
while [ $i -lt "$pairs" ]; do
    for direct in 0 1; do
        for step in store load; do
            order='truth replay'
            [ $(((i + direct) % 2)) = 0 ] || order='replay truth'
            for who in $order; do
                cold
                "$who" $direct $step
            done
        done
        rm -rf "$TMP/replay" "$TMP/truth"
    done
    i=$((i + 1))
done
median() { cut -d ' ' -f "$2" "$TMP/$1" | sort -n | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
printf '%-18s %15s %15s %15s %20s\n' 'P50 / P95' 'truth ms' 'replay ms' 'replay/truth' 'device+slot/truth'
for direct in 0 1; do
    for step in store load; do
        at=$direct.$step
        name="$step, $([ $direct = 0 ] && echo buffered || echo direct)"
        echo "$name|$(median "truth.$at" 1) $(median "truth.$at" 2) $(median "replay.$at" 1) $(median "replay.$at" 2) $(median \
            "drive.$at" 1) $(median "drive.$at" 2)" | awk -F'|' '{ split($2, v, " ")
            printf "%-18s %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %12.2f %7.2f\n", $1, v[1], v[2], v[3], v[4], v[3] / v[1],
                v[4] / v[2], v[5] / v[1], v[6] / v[2] }'
    done
done
