#!/bin/sh
# cost-pairs.sh OLD NEW [ROWS] - what a change costs in CPU: the programs of folder NEW against those of folder OLD, both
# `bin` folders of a build. 15 interleaved pairs, ABBA, of each of
#   replay   kvreplay --null, a .csv.zst in and a .csv.zst out
#   trace    kvstat on that trace
#   result   kvstat on a result of OLD's replay
# with the median of the ratios NEW / OLD of user + system time, and its 95 % interval (4th and 12th of 15, by the sign
# test). "beyond 5 %" is said where the whole interval lies above 1.05. PAIRS may be set (15). Judges nothing else.
set -eu
export LC_ALL=C
[ $# -ge 2 ] || {
    sed -n '2,7s/^# //p' "$0"
    exit 2
}
old=$1
new=$2
ROWS=${3:-3000000}
PAIRS=${PAIRS:-15}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

awk -v n="$ROWS" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us"
    for (i = 0; i < n; i++) {
        k = i % 50000
        printf "%.6f,%s,131072,Tier-%d,user_%d_turn,%s,%d,u%d,interactive,user,64,%.6f,\n", i / 1e5,
            i < 50000 ? "Write" : "Read", k % 3, k, i < 50000 ? "Prefill" : "Decode", i / 10, k % 100, i / 1e5
    }
}' | zstd -q -3 -o "$tmp/t.csv.zst"
"$old/kvreplay" --null --progress none -o "$tmp/r.csv.zst" "$tmp/t.csv.zst" 2>"$tmp/err" || {
    cat "$tmp/err"
    exit 1
}

replay() { "$1/kvreplay" --null --progress none -o "$tmp/out.csv.zst" "$tmp/t.csv.zst"; }
trace() { "$1/kvstat" --threads 2 "$tmp/t.csv.zst"; }
result() { "$1/kvstat" --threads 2 "$tmp/r.csv.zst"; }

# cpu CASE BIN: its user + system seconds, of the children's clock of a shell of its own.
cpu() {
    (
        "$1" "$2" >"$tmp/text" 2>&1 || :
        times >"$tmp/times"
        awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); print u[1] * 60 + u[2] + s[1] * 60 + s[2] }' "$tmp/times"
    )
}

for case in replay trace result; do
    cpu $case "$old" >/dev/null
    cpu $case "$new" >/dev/null
    pair=0
    : >"$tmp/ratios"
    while [ $pair -lt "$PAIRS" ]; do
        if [ $((pair % 2)) = 0 ]; then
            a=$(cpu $case "$old")
            b=$(cpu $case "$new")
        else
            b=$(cpu $case "$new")
            a=$(cpu $case "$old")
        fi
        echo "$a $b" | awk -v rows="$ROWS" '{ print $2 / $1, $1 / rows * 1e9, $2 / rows * 1e9 }' >>"$tmp/ratios"
        pair=$((pair + 1))
    done
    sort -n "$tmp/ratios" | awk -v name=$case -v n="$PAIRS" '
        function order(share) { k = int(n * share + 0.5); return k < 1 ? 1 : k }
        { ratio[NR] = $1; a[NR] = $2; b[NR] = $3; sum_a += $2; sum_b += $3 }
        END {
            # 95 % by the sign test: for 15 the 4th and the 12th.
            low = n == 15 ? 4 : order(0.25); high = n + 1 - low
            printf "%-7s %4.0f ns a row before, %4.0f now; ratio %.3f, 95 %% %.3f to %.3f%s\n", name, sum_a / n,
                sum_b / n, ratio[int((n + 1) / 2)], ratio[low], ratio[high], (ratio[low] > 1.05 ? ": beyond 5 %" : "")
        }'
done
