#!/bin/sh
# cache-size.sh - How large a cache is worth having? Hit rate against capacity, without moving a byte.
#
# Usage: cache-size.sh [OPTION]... [TRACE]
#
#   TRACE, -i TRACE   recorded requests: Mooncake, Qwen-Bailian, agentic sessions, ...
#                (see kvgen(1)); default: synthetic users
#   -s SIZES     only these, for instance 32GiB,96GiB: the effect of 64 GiB more
#   -m MODEL     the model, which determines the bytes per token (default:
#                llama3.1-8b)
#   -u USERS     synthetic users (default: 100)
#   -t TIME      duration of their requests (default: 600)
#   -o OUT       directory for the curve (default: kvtrace-cache-size)
#   --granularity request|block:N   a conversation kept as one object (the default), or in
#                blocks of N tokens, as in engines that store blocks (256 is usual); not
#                for recorded blocks, which have their own size
#   --print      show the pipeline, run nothing
#
# Up to the knee each GiB adds many hits; beyond it each GiB adds few. The ceiling is the
# hit rate of an endless cache: the other lookups are for objects never seen before, and no
# capacity can serve them. Choose the knee, or the size with most of the ceiling's hits, as
# the budget allows.
#
# Example:
#   examples/cache-size.sh tests/data/mooncake_first4000.jsonl.zst
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -o -t'
input='' sizes='' granularity='' users=100 seconds=600
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -i) name "$@" && input=$text ;;
    -s) value "$@" && sizes=$text ;;
    --granularity) value "$@" && granularity=$text ;;
    -?*) option "$@" ;;
    *)
        if [ -n "$input" ]; then die 2 "$1: a second trace (try --help)"; fi
        operand "$1" && input=$text words=1
        ;;
    esac
    shift "$words"
done
need kvgen kvstat
results "$out"

if [ -n "$input" ]; then
    set -- --input "$input"
else
    set -- --users "$users" --duration "$seconds"
fi
if [ -n "$granularity" ]; then set -- "$@" --granularity "$granularity"; fi
if [ -n "$sizes" ]; then set -- "$@" --curve-sizes "$sizes"; fi
set -- kvgen "$@" --model "$model" --curve "$out/curve.csv" --summary "$out/kvgen.json" -o none
if printing; then
    typed "$@"
    typed kvstat --plot "$out/curve.svg" "$out/curve.csv"
    exit 0
fi
would_run "$@"
writes "$out/curve.csv" "$out/kvgen.json" "$out/kvgen.log" "$out/curve.svg"
"$@" --progress none 2>"$out/kvgen.log" || died $? "$(last_line "$out/kvgen.log")"
awk -F , 'NR == 1 { printf "%12s %10s %10s\n", "cache, GiB", "hits", "of bytes"; next }
    { printf "%12.2f %9.1f%% %9.1f%%\n", $1 / 1073741824, $4 * 100, $5 * 100 }' <"$out/curve.csv"
if kvstat --plot "$out/curve.svg" "$out/curve.csv" >/dev/null 2>&1; then answer "drawn in $out/curve.svg"; fi
# The first and last of the sizes that were asked for, or the knee and what lies between it and the ceiling, the last row.
knee=$(sed -n '/"knee": {/,/}/s/.*"capacity_bytes": \([0-9]*\).*/\1/p' <"$out/kvgen.json")
asked=$sizes awk -F , -v knee="$knee" '
    function size(bytes) {
        if (bytes < 1073741824) return sprintf("%.0f MiB", bytes / 1048576)
        return bytes < 1e13 ? sprintf("%.4g GiB", bytes / 1073741824) : sprintf("%.4g TiB", bytes / 1099511627776)
    }
    NR == 1 { asked = ENVIRON["asked"]; next }
    { rows++; bytes[rows] = $1; hits[rows] = $4 * 100; if ($1 == knee) at = rows }
    END {
        if (!rows || hits[rows] == 0) { print "Nothing was asked for twice: no cache of any size has a hit."; exit }
        for (i = 1; i < rows && hits[i] < 0.95 * hits[rows];) i++
        printf "The ceiling is %.1f %%, reached with %s: more capacity adds nothing.\n", hits[rows], size(bytes[rows])
        if (asked == "" && at)
            printf "The knee is %s, where %.1f %% of all lookups hit: beyond it each GiB adds less.\n", size(knee), hits[at]
        if (asked != "" && rows > 2)
            printf "From %s to %s, %.1f points more of all lookups hit (%.1f %% instead of %.1f %%).\n", size(bytes[1]),
                size(bytes[rows - 1]), hits[rows - 1] - hits[1], hits[rows - 1], hits[1]
        else if (asked == "")
            printf "A cache of %s is large enough: %.1f %% of all lookups hit, %s.\n", size(bytes[i]), hits[i],
                i < rows ? "at least 95 % of what any size reaches" : "as many as with any size"
        else printf "With %s, %.1f %% of all lookups hit.\n", size(bytes[1]), hits[1]
    }' <"$out/curve.csv"
