#!/bin/sh
# engine-truth.sh [PAIRS] - like= against ground truth: engine_truth.c makes the same calls with the same number of threads
# at the same times, from a pool that lies in memory as the engine's. Stores and cold loads, buffered and direct, 300
# objects of 2, 4 and 8 MiB. "copies" is the truth whose threads copy each object into the pool or out of it, as the
# engine does between its calls. Each program runs twice in a pair (ABCCBA), each time in a folder of its own. Before each store all is written back and nothing of the other stores is
# in the page cache; before each load the store is read once with O_DIRECT, and nothing of it may be left in the page
# cache; then the drive rests for two seconds, since some have less to give after much was moved at once. All this is
# outside the clock. Prints how busy the machine is and how the pools' pages lie; P50 and P95: medians over the runs, of
# service times as kvreplay reports them; replay by truth, with the 95 % interval of each ratio (bootstrap over the runs); the truth's second runs by its first ones, which is what the machine's noise does to such a ratio;
# replay by copies; and replay by truth of the least time of each object over all runs, which neighbours on the processors and on the drive
# disturb least. KVTRACE_DIR: where; KVTRACE_RATE: operations a second (default 12); KVTRACE_OBJECTS.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
pairs=${1:-1} rate=${KVTRACE_RATE:-12} objects=${KVTRACE_OBJECTS:-300}
TMP=$(mktemp -d "${KVTRACE_DIR:-/var/tmp}/engine-truth.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
TRUTH=$TMP/engine_truth
"${CC:-cc}" -O2 -D_GNU_SOURCE -pthread -o "$TRUTH" "$TOP/tests/bench/engines/engine_truth.c"

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
# take WHO TURN DIRECT STEP: takes in the rows "OBJECT MS" of a run.
take() {
    tee -a "$TMP/all.$1.$3.$4" | cut -d ' ' -f 2 | percentiles | tee -a "$TMP/runs.$1.$3.$4" >>"$TMP/runs.$1$2.$3.$4"
}
replay() { # TURN DIRECT STEP
    like=lmcache-fs
    [ "$2" = 0 ] || like=lmcache-fs-direct
    "$BIN/kvreplay" --progress none --no-notes --timing trace --config lag_limit=10m --keep -o "$TMP/o.csv" --summary "$TMP/s.json" \
        --target "file:$TMP/replay$1?like=$like" "$TMP/$3.csv" 2>"$TMP/err" || { cat "$TMP/err"; exit 1; }
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { print substr($at["Key"], 2), $at["Latency_us"] / 1e3 }' "$TMP/o.csv" | take replay "$1" "$2" "$3"
    jq -r '.evidence.pages_run // empty' "$TMP/s.json" >>"$TMP/pool.replay"
}
truth() { own truth "$@"; }
copies() { own copies "$@" copy; }
own() { # WHO TURN DIRECT STEP [copy]
    who=$1 turn=$2 direct=$3 step=$4
    shift 4
    mkdir -p "$TMP/$who$turn"
    "$TRUTH" "$step" "$direct" 6 "$TMP/$who$turn" "$@" <"$TMP/schedule" 2>"$TMP/err" | awk '{ print NR, $1 / 1e6 }' |
        take "$who" "$turn" "$direct" "$step"
    sed -n 's/^pool: runs of \([0-9.]*\).*/\1/p' "$TMP/err" >>"$TMP/pool.$who"
}
i=0
while [ $i -lt "$pairs" ]; do
    for direct in 0 1; do
        for step in store load; do
            order='truth1 replay1 copies1 copies2 replay2 truth2'
            [ $(((i + direct) % 2)) = 0 ] || order='replay1 truth1 copies1 copies2 truth2 replay2'
            for run in $order; do
                sync
                [ $step = store ] || "$TRUTH" cold "$TMP/$run"
                sleep 2
                "${run%?}" "${run#"${run%?}"}" $direct $step
                "$TRUTH" drop "$TMP/$run"
            done
        done
        rm -rf "$TMP"/replay? "$TMP"/truth? "$TMP"/copies?
    done
    i=$((i + 1))
done
# figures DIRECT STEP: P50 and P95 of truth and replay, of the truth's first and second runs, and of the least times.
figures() {
    for who in truth replay truth1 truth2 copies; do
        for column in 1 2; do
            cut -d ' ' -f $column "$TMP/runs.$who.$1.$2" | sort -n |
                awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
        done
    done
    for who in truth replay; do
        awk '!($1 in least) || $2 < least[$1] { least[$1] = $2 } END { for (i in least) print least[i] }' \
            "$TMP/all.$who.$1.$2" | percentiles
    done
}
# intervals DIRECT STEP: the 95 % intervals of replay by truth, of P50 and of P95.
intervals() {
    for column in 1 2; do
        for who in truth replay; do sed "s/^/$who /" "$TMP/runs.$who.$1.$2"; done | awk -v column=$((column + 1)) '
            function median_of_draw(all, n,    i, j, x, v) {
                for (i = 1; i <= n; i++) {
                    x = all[1 + int(rand() * n)]
                    for (j = i - 1; j > 0 && v[j] > x; j--)
                        v[j + 1] = v[j]
                    v[j + 1] = x
                }
                return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
            }
            $1 == "truth" { truth[++n] = $column }
            $1 == "replay" { replay[++m] = $column }
            END {
                srand(1)
                for (k = 0; k < 2000; k++)
                    print median_of_draw(replay, m) / median_of_draw(truth, n)
            }' | sort -n | sed -n '50p;1951p'
    done
}
echo "$(nproc) processors; load $(cut -d ' ' -f 1 /proc/loadavg) now"
for who in truth copies replay; do
    sort -n "$TMP/pool.$who" | awk -v who=$who '{ v[NR] = $1 } END { if (NR) printf "%s: pages in runs of %.1f to %.1f, median %.1f\n", who, v[1], v[NR],
        v[int((NR + 1) / 2)] }'
done
printf '%-17s %13s %13s %13s %23s %13s %13s %14s\n' 'P50 / P95' 'truth ms' 'replay ms' 'replay/truth' '95 %' 'truth/truth' 'replay/copies' \
    'of least times'
for direct in 0 1; do
    for step in store load; do
        echo "$step, $([ $direct = 0 ] && echo buffered || echo direct)|$(figures $direct $step | tr '\n' ' ')|$(
            intervals $direct $step | tr '\n' ' ')" | awk -F'|' '{ split($2, v, " "); split($3, w, " ")
                printf "%-17s %6.2f %6.2f %6.2f %6.2f %6.2f %6.2f %5.2f-%.2f %5.2f-%.2f %6.2f %6.2f %6.2f %6.2f %7.2f %6.2f\n", $1, v[1], v[2], v[3],
                    v[4], v[3] / v[1], v[4] / v[2], w[1], w[2], w[3], w[4], v[7] / v[5], v[8] / v[6],
                    v[3] / v[9], v[4] / v[10], v[13] / v[11], v[14] / v[12] }'
    done
done
