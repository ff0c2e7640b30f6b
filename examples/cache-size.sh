#!/bin/sh
# cache-size.sh - how large a cache pays? The hit rate against capacity, its knee and its ceiling, from a
# recorded or simulated load, without moving a byte.
#
#   examples/cache-size.sh [-i TRACE] [-s SIZES] [-m MODEL] [-u USERS] [-o OUT] [-t SECONDS]
#
#   -i TRACE   what people really asked: Mooncake, Qwen-Bailian, agentic sessions, ... (see man kvgen); without
#              it -u USERS (100) synthetic ones for -t SECONDS (600)
#   -s SIZES   only these, for instance 32GiB,96GiB: what do 64 GiB more bring?
#   -m MODEL   llama3.1-8b: it decides how many bytes a token takes
#   -o OUT     the folder for the curve; default kvtrace-cache-size
#
# Up to the knee each GiB brings many hits; beyond it few. The ceiling is what an endless cache would have:
# the rest of the lookups are of things never seen before, and no money buys those. Buy the knee, or
# the size at which the curve comes within a few points of the ceiling, whichever the budget allows.
. "$(dirname "$0")/common.sh"

takes='-m -u -o -t'
input='' sizes='' users=100 seconds=600
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -i) input=$(value "$@") ;;
    -s) sizes=$(value "$@") ;;
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
if [ -n "$sizes" ]; then set -- "$@" --curve-sizes "$sizes"; fi
kvgen "$@" --model "$model" --curve "$out/curve.csv" --summary "$out/kvgen.json" -o none --progress none 2>"$out/kvgen.log" ||
    die 1 "$(tail -1 "$out/kvgen.log")"
awk -F , 'NR == 1 { printf "%12s %10s %10s\n", "cache, GiB", "hits", "of bytes"; next }
    { printf "%12.2f %9.1f%% %9.1f%%\n", $1 / 1073741824, $4 * 100, $5 * 100 }' "$out/curve.csv"
sed -n 's/^curve  *//p' "$out/kvgen.log"
if kvstat --plot "$out/curve.svg" "$out/curve.csv" >/dev/null 2>&1; then echo "drawn in $out/curve.svg"; fi
