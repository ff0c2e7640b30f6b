#!/bin/sh
# cache-size.sh - how large a cache pays? The hit rate against capacity, its knee and its ceiling, from a
# recorded or simulated load, without moving a byte.
#
#   examples/cache-size.sh [-i TRACE] [-s SIZES] [-m MODEL] [-u USERS] [-o OUT] [-t SECONDS] [--granularity G]
#
#   -i TRACE   what people really asked: Mooncake, Qwen-Bailian, agentic sessions, ... (see man kvgen); without
#              it -u USERS (100) synthetic ones for -t SECONDS (600)
#   -s SIZES   only these, for instance 32GiB,96GiB: what do 64 GiB more bring?
#   -m MODEL   llama3.1-8b: it decides how many bytes a token takes
#   -o OUT     the folder for the curve; default kvtrace-cache-size
#   --granularity request | block:N   an answer kept as one object (the default), or in blocks of N tokens, as
#              engines do that store blocks (256 is usual); not for recorded blocks, which have their size
#
# Up to the knee each GiB brings many hits; beyond it few. The ceiling is what an endless cache would have:
# the rest of the lookups are of things never seen before, and no money buys those. Buy the knee, or
# the size that has most of the ceiling's hits, whichever the budget allows. The last lines say it in words.
. "$(dirname "$0")/common.sh"

takes='-m -u -o -t'
input='' sizes='' granularity='' users=100 seconds=600
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -i) input=$(value "$@") ;;
    -s) sizes=$(value "$@") ;;
    --granularity) granularity=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
need kvgen kvstat
mkdir -p "$out"

if [ -n "$input" ]; then
    set -- --input "$input"
else
    set -- --num-users "$users" --duration "$seconds"
fi
if [ -n "$granularity" ]; then set -- "$@" --granularity "$granularity"; fi
if [ -n "$sizes" ]; then set -- "$@" --curve-sizes "$sizes"; fi
kvgen "$@" --model "$model" --curve "$out/curve.csv" --summary "$out/kvgen.json" -o none --progress none 2>"$out/kvgen.log" ||
    die 1 "$(tail -1 "$out/kvgen.log")"
awk -F , 'NR == 1 { printf "%12s %10s %10s\n", "cache, GiB", "hits", "of bytes"; next }
    { printf "%12.2f %9.1f%% %9.1f%%\n", $1 / 1073741824, $4 * 100, $5 * 100 }' "$out/curve.csv"
if kvstat --plot "$out/curve.svg" "$out/curve.csv" >/dev/null 2>&1; then echo "drawn in $out/curve.svg"; fi
# The first and last of the sizes that were asked for, or the knee and what lies between it and the ceiling, the last row.
knee=$(sed -n '/"knee": {/,/}/s/.*"capacity_bytes": \([0-9]*\).*/\1/p' "$out/kvgen.json")
awk -F , -v asked="$sizes" -v knee="$knee" '
    function size(bytes) {
        if (bytes < 1073741824) return sprintf("%.0f MiB", bytes / 1048576)
        return bytes < 1e13 ? sprintf("%.4g GiB", bytes / 1073741824) : sprintf("%.4g TiB", bytes / 1099511627776)
    }
    NR == 1 { next }
    { rows++; bytes[rows] = $1; hits[rows] = $4 * 100; if ($1 == knee) at = rows }
    END {
        if (!rows || hits[rows] == 0) { print "Nothing was asked for twice: no cache of any size has a hit."; exit }
        if (asked != "" && rows > 2)
            printf "From %s to %s: %.1f points more of all lookups hit (%.1f %% instead of %.1f %%).\n", size(bytes[1]),
                size(bytes[rows - 1]), hits[rows - 1] - hits[1], hits[rows - 1], hits[1]
        else if (asked == "" && at)
            printf "The knee is %s, where %.1f %% of all lookups hit: beyond it a GiB brings less than before.\n",
                size(knee), hits[at]
        for (i = 1; i < rows && hits[i] < 0.95 * hits[rows];) i++
        if (asked == "" && i < rows)
            printf "With %s %.1f %% hit, 95 %% or more of what the ceiling has.\n", size(bytes[i]), hits[i]
        printf "The ceiling is %.1f %%, reached with %s: more capacity brings nothing.\n", hits[rows], size(bytes[rows])
    }' "$out/curve.csv"
