#!/bin/sh
# kvgen.sh - how fast kvgen makes rows: without output, and as .csv.zst with one thread and two, and how long
# `zstd -3 -T2` takes for the same CSV alone. Prints rates and ratios; judges nothing.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvgen-bench.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
HOURS=${HOURS:-1}

now() { date +%s.%N; }
seconds() { # command...: runs it and prints how long it took
    begin=$(now)
    "$@" >/dev/null 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
    echo "$begin $(now)" | awk '{printf "%.3f", $2 - $1}'
}
gen() { "$BIN/kvgen" --num-users 100 --duration "${HOURS}h" --generation-mode none --seed 1 "$@"; }

none=$(seconds gen -o none)
plain=$(seconds gen --config threads=2 -o "$TMP/t.csv")
rows=$(($(wc -l <"$TMP/t.csv") - 1))
one=$(seconds gen --config threads=1 -o "$TMP/t1.csv.zst")
two=$(seconds gen --config threads=2 -o "$TMP/t2.csv.zst")
alone=$(seconds zstd -q -3 -T2 -f "$TMP/t.csv" -o "$TMP/t.zst")

rate() { awk -v n="$rows" -v s="$1" 'BEGIN {printf "%.2f", n / s / 1e6}'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN {printf "%.2f", a / b}'; }
echo "rows                       $rows ($(wc -c <"$TMP/t.csv") bytes of CSV)"
echo "-o none                    $none s  $(rate "$none") million rows/s"
echo "plain CSV, 2 threads       $plain s  $(rate "$plain") million rows/s"
echo ".csv.zst, 1 thread         $one s  $(rate "$one") million rows/s"
echo ".csv.zst, 2 threads        $two s  $(rate "$two") million rows/s"
echo "zstd -3 -T2 alone          $alone s"
echo "1 thread / 2 threads       $(ratio "$one" "$two")"
echo "2 threads / zstd alone     $(ratio "$two" "$alone")"

# Block lookups of a trace whose blocks come to a million, reading the trace included.
awk 'BEGIN {
    srand(1)
    for (r = 0; r < 60000; r++) {
        printf "{\"timestamp\": %d, \"input_length\": 30720, \"output_length\": 100, \"hash_ids\": [", r * 20
        first = int(rand() * 18000) * 60
        for (i = 0; i < 60; i++)
            printf "%s%d", i ? ", " : "", first + i
        print "]}"
    }
}' >"$TMP/blocks.jsonl"
blocks=$(seconds "$BIN/kvgen" --input "$TMP/blocks.jsonl" --config threads=1 --gpu-mem-gb 0 --cpu-mem-gb 0 \
    --config block_reuse=any -o none)
echo "block lookups, with JSON   $(awk -v s="$blocks" 'BEGIN {printf "%.2f", 3.6 / s}') million/s"
