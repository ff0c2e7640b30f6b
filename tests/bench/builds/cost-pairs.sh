#!/bin/sh
# cost-pairs.sh OLD NEW [ROWS] - what a change costs in CPU: the programs of folder NEW against those of folder OLD, both
# `bin` folders of a build. 15 interleaved pairs, ABBA, of each of
#   replay   kvreplay --null, a .csv.zst in and a .csv.zst out
#   trace    kvstat on that trace
#   result   kvstat on a result of OLD's replay
#   csv      kvstat on that trace as plain CSV
#   users    kvgen, 100 users for an hour, -o none
#   write    kvgen, 100 users for 15 minutes, a .csv.zst out
#   blocks   kvgen, block lookups with their JSON, all blocks stay
#   lfu sieve fifo lru   kvgen, block lookups with skew, a quarter of a million of a million blocks stay
# with the median of the ratios NEW / OLD of user + system time, and its 95 % interval (4th and 12th of 15, by the sign
# test). "beyond 5 %" is said where the whole interval lies above 1.05. PAIRS (15) and CASES (all) may be set. Judges
# nothing else. Needs jq and zstd.
set -eu
export LC_ALL=C
[ $# -ge 2 ] || {
    sed -n '2,14s/^# //p' "$0"
    exit 2
}
old=$1
new=$2
ROWS=${3:-3000000}
PAIRS=${PAIRS:-15}
CASES=${CASES:-replay trace result csv users write blocks lfu sieve fifo lru}
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

# shellcheck source=tests/bench/builds/cases.sh
. "$TOP/tests/bench/builds/cases.sh"

trace_rows "$ROWS" | zstd -q -3 -o "$TMP/t.csv.zst"
zstd -dq "$TMP/t.csv.zst"
block_requests
"$old/kvreplay" --null --progress none -o "$TMP/r.csv.zst" "$TMP/t.csv.zst" 2>"$TMP/err" || {
    cat "$TMP/err"
    exit 1
}

# cpu CASE BIN: its user + system seconds, of the children's clock of a shell of its own.
cpu() {
    (
        "$1" "$2" >"$TMP/text" 2>&1 || :
        times >"$TMP/times"
        awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); print u[1] * 60 + u[2] + s[1] * 60 + s[2] }' "$TMP/times"
    )
}

for case in $CASES; do
    cpu "$case" "$old" >/dev/null
    cpu "$case" "$new" >/dev/null
    rows=$(rows_of "$case")
    pair=0
    : >"$TMP/ratios"
    while [ $pair -lt "$PAIRS" ]; do
        if [ $((pair % 2)) = 0 ]; then
            a=$(cpu "$case" "$old")
            b=$(cpu "$case" "$new")
        else
            b=$(cpu "$case" "$new")
            a=$(cpu "$case" "$old")
        fi
        echo "$a $b" | awk -v rows="$rows" '{ print $2 / $1, $1 / rows * 1e9, $2 / rows * 1e9 }' >>"$TMP/ratios"
        pair=$((pair + 1))
    done
    sort -n "$TMP/ratios" | awk -v name="$case" -v n="$PAIRS" '
        function order(share) { k = int(n * share + 0.5); return k < 1 ? 1 : k }
        { ratio[NR] = $1; a[NR] = $2; b[NR] = $3; sum_a += $2; sum_b += $3 }
        END {
            # 95 % by the sign test: for 15 the 4th and the 12th.
            low = n == 15 ? 4 : order(0.25); high = n + 1 - low
            printf "%-7s %5.1f ns a row before, %5.1f now; ratio %.3f, 95 %% %.3f to %.3f%s\n", name, sum_a / n,
                sum_b / n, ratio[int((n + 1) / 2)], ratio[low], ratio[high], (ratio[low] > 1.05 ? ": beyond 5 %" : "")
        }'
done
