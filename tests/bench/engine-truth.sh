#!/bin/sh
# engine-truth.sh [PAIRS] - like= against ground truth: engine_truth.c makes the same calls with the same number of threads
# at the same times. Stores and cold loads, buffered and direct, 300 objects of 2, 4 and 8 MiB; runs alternate (ABBA),
# step by step, with both stores on the file system: before each run all is written back, dropped from the page cache, and
# none of it may be left there, and all objects that are to be loaded have been read once with O_DIRECT, as kvreplay reads
# what it adopts; all this outside the clock. Prints P50 and P95: medians over the runs, of service times as kvreplay
# reports them; replay by truth; the least and the greatest such ratio of P50 in a pair; and replay by truth of the least
# time of each object over all runs, which neighbours on the processors and on the drive disturb least.
# KVTRACE_DIR: where; KVTRACE_RATE: operations a second (default 12); KVTRACE_OBJECTS.
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
# percentiles: P50 and P95 of a column.
percentiles() { sort -n | awk '{ v[NR] = $1 } END { print v[int(NR * 0.5 + 0.999)], v[int(NR * 0.95 + 0.999)] }'; }
# take WHO DIRECT STEP: takes in the rows "OBJECT MS" of a run.
take() {
    tee -a "$TMP/all.$1.$2.$3" | cut -d ' ' -f 2 | percentiles >>"$TMP/runs.$1.$2.$3"
}
# cold: nothing of either store is in the page cache.
cold() {
    sync
    for store in truth replay; do [ ! -d "$TMP/$store" ] || "$TRUTH" cold "$TMP/$store"; done
}
replay() { # DIRECT STEP
    like=lmcache-fs
    [ "$1" = 0 ] || like=lmcache-fs-direct
    "$BIN/kvreplay" --progress none --no-notes --timing trace --lag-limit 10m --keep -o "$TMP/o.csv" \
        --target "file:$TMP/replay?like=$like" "$TMP/$2.csv" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print substr($at["Key"], 2), $at["Latency_us"] / 1e3 }' "$TMP/o.csv" | take replay "$1" "$2"
}
truth() {
    mkdir -p "$TMP/truth"
    "$TRUTH" "$2" "$1" 6 "$TMP/truth" <"$TMP/schedule" | awk '{ print NR, $1 / 1e6 }' | take truth "$1" "$2"
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
# figures DIRECT STEP: P50 and P95 of truth and replay, the ratios of P50 in the pairs, P50 and P95 of the least times.
figures() {
    for who in truth replay; do
        for column in 1 2; do
            cut -d ' ' -f $column "$TMP/runs.$who.$1.$2" | sort -n |
                awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
        done
    done
    paste -d ' ' "$TMP/runs.truth.$1.$2" "$TMP/runs.replay.$1.$2" | awk '{ r = $3 / $1 }
        NR == 1 || r < low { low = r } r > high { high = r } END { print low, high }'
    for who in truth replay; do
        awk '!($1 in least) || $2 < least[$1] { least[$1] = $2 } END { for (i in least) print least[i] }' \
            "$TMP/all.$who.$1.$2" | percentiles
    done
}
printf '%-18s %15s %15s %15s %15s %15s\n' 'P50 / P95' 'truth ms' 'replay ms' 'replay/truth' 'P50 of pairs' 'of least times'
for direct in 0 1; do
    for step in store load; do
        echo "$step, $([ $direct = 0 ] && echo buffered || echo direct)|$(figures $direct $step | tr '\n' ' ')" |
            awk -F'|' '{ split($2, v, " ")
                printf "%-18s %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f %7.2f\n", $1, v[1], v[2], v[3], v[4],
                    v[3] / v[1], v[4] / v[2], v[5], v[6], v[9] / v[7], v[10] / v[8] }'
    done
done
