#!/bin/sh
# kvgen-vs-libcachesim.sh - the eviction policies of kvgen beside those of libCacheSim, on the same accesses.
#
#   kvgen-vs-libcachesim.sh [-b BLOCKS] [-s] [TRACE...]
#
#   -b BLOCKS   capacities in blocks (1000,3000,10000,30000)
#   -s          speed alone
#
# TRACE is a block-hash trace (tests/data/mooncake_first4000.jsonl.zst). cachesim, libCacheSim's program, must be in
# PATH, or CACHESIM names it; else the script says so and ends with status 0. A line for each policy and capacity: the
# hit rates of both and their difference in points, of 100. FIFO, LRU, LFU and SIEVE must agree in the four digits that
# cachesim prints, S3-FIFO within 0.2 points: it is compared with the paper's algorithm, which newer versions call
# s3fifov0. Exit status 1: one does not.
#
# Then their speed, in PAIRS (9) interleaved pairs of each policy on 3,600,000 accesses with skew to a million blocks, of which
# 250,000 stay: accesses a second by the clock on the wall, from the start of the program to its end. kvgen reads JSON,
# cachesim the same accesses in 24 bytes each. Nothing is judged by it.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
blocks=1000,3000,10000,30000 rates=yes PAIRS=${PAIRS:-9}
while getopts b:s option; do
    case $option in
    b) blocks=$OPTARG ;;
    s) rates= ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
cachesim=${CACHESIM:-cachesim}
command -v "$cachesim" >/dev/null || {
    echo "kvgen-vs-libcachesim.sh: skipped (there is no cachesim in PATH: build libCacheSim, or set CACHESIM)"
    exit 0
}
command -v jq >/dev/null || { echo "kvgen-vs-libcachesim.sh: skipped (needs jq)"; exit 0; }
[ $# -gt 0 ] || set -- "$TOP/tests/data/mooncake_first4000.jsonl.zst"
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvgen-vs.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
# shellcheck source=tests/bench/pairs.sh
. "$TOP/tests/bench/pairs.sh"
# shellcheck source=tests/bench/builds/cases.sh
. "$TOP/tests/bench/builds/cases.sh"

# accesses JSON: in $TMP/accesses, as cachesim reads them.
accesses() {
    "$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --input "$1" --config block_reuse=any --format oracle \
        --progress none -o "$TMP/accesses" 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
}
# Blocks of 1 MiB, so that a GiB holds 1,024.
ours() { # TRACE POLICY BLOCKS: the hit rate
    gib=$(awk -v blocks="$3" 'BEGIN {printf "%.10f", blocks / 1024}')
    "$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 --input "$1" \
        --config block_reuse=any --config eviction="$2" --storage-capacity-gb "$gib" --progress none --summary "$TMP/summary.json" \
        -o none 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
    jq .lookups.block.hit_rate "$TMP/summary.json"
}
# The accesses are in $TMP/accesses. It prints "... cache size N, R req, miss ratio M, ..."; an unknown policy gives
# no such line. It writes its results into a folder of the present one.
theirs() { # POLICY BLOCKS
    (cd "$TMP" && "$cachesim" accesses oracleGeneral "$1" "$2" --ignore-obj-size 1 2>&1) |
        sed -n 's/.*req, miss ratio \([0-9.]*\).*/\1/p' | awk 'NR == 1 {print 1 - $1}'
}

bad=0
[ -z "$rates" ] || printf '%-34s %-7s %8s %10s %12s %10s  %s\n' trace policy blocks kvgen libCacheSim points within
for trace; do
    [ -n "$rates" ] || break
    accesses "$trace"
    for policy in fifo lru lfu sieve s3fifo; do
        for capacity in $(echo "$blocks" | tr , ' '); do
            rate=$(ours "$trace" $policy "$capacity")
            case $policy in
            s3fifo) other=$(theirs s3fifov0 "$capacity") && other=${other:-$(theirs s3fifo "$capacity")} limit=0.2 ;;
            *) other=$(theirs $policy "$capacity") limit=0.0051 ;;
            esac
            [ -n "$other" ] || { echo "kvgen-vs-libcachesim.sh: $cachesim gives no miss ratio of $policy" >&2; exit 1; }
            awk -v trace="${trace##*/}" -v policy=$policy -v blocks="$capacity" -v a="$rate" -v b="$other" \
                -v limit="$limit" 'BEGIN {
                    points = 100 * (a - b)
                    within = points <= limit && points >= -limit
                    printf "%-34s %-7s %8d %10.6f %12.4f %+10.4f  %s\n", trace, policy, blocks, a, b, points,
                        within ? "yes" : "NO"
                    exit !within
                }' || bad=1
        done
    done
done

# per_second COMMAND...: how many accesses a second it takes.
per_second() {
    begin=$(date +%s%N)
    "$@" >"$TMP/text" 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
    echo "$begin $(date +%s%N)" | awk '{ print 3.6e6 / ($2 - $1) * 1e9 }'
}
our_speed() { per_second cached "$BIN" "$policy"; }
their_speed() { (cd "$TMP" && per_second "$cachesim" accesses oracleGeneral "$policy" 250000 --ignore-obj-size 1); }
block_requests
accesses "$TMP/skew.jsonl"
for policy in lfu sieve fifo lru; do
    compare $policy accesses/s our_speed their_speed libCacheSim
done
[ $bad = 0 ]
