#!/bin/sh
# drive-times.sh BIN FOLDER [ROWS] - two choices of kvreplay in pairs on the drive of FOLDER (a scratch folder; root, for the
# first), each with reads and writes of 128 KiB in one line:
#   --device-times no, yes     what the recording costs: CPU a row, rows a second, and the replay's own P50 and P95 of reads
#   --priority none, loads     what it changes: P95 of loads beside stores, of all reads and of all writes, rows a second
# PAIRS (15) interleaved pairs, ABBA: the medians of both, and the median of the ratios second / first with its 95 % interval by
# the sign test (of 15: the 4th and the 12th). Judges nothing.
set -eu
export LC_ALL=C
[ $# -ge 2 ] || {
    sed -n '2,7s/^# //p' "$0"
    exit 2
}
bin=$1
store=$2/kvtrace-bench-$$
ROWS=${3:-6000}
PAIRS=${PAIRS:-15}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$tmp" "$store"' EXIT

# Objects are written, read six times, and written again by and by.
awk -v n="$ROWS" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 400; i++) printf "0,Write,131072,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < n; i++) {
        write = i % 7 == 0
        printf "%.6f,%s,131072,Tier-2,k%d,%s\n", 0.1 + i / 1e6, write ? "Write" : "Read", (i * 37) % 400,
            write ? "Prefill" : "Decode"
    }
}' >"$tmp/t.csv"

# run OPTION CHOICE: a line of its figures.
run() {
    "$bin/kvreplay" --progress none --no-notes -o /dev/null --order key --inflight 32 "$1" "$2" --target "$store" --summary "$tmp/s.json" \
        "$tmp/t.csv" 2>"$tmp/err" || {
        cat "$tmp/err" >&2
        exit 1
    }
    jq -r '. as $s | .tiers[] | select(.tier == "Tier-2") | [$s.cpu_s * 1e6 / $s.rows.total, $s.rows_per_s, .read.service_us.p50,
        .read.service_us.p95, .write.service_us.p95, $s.evidence.loads_and_stores.loads_beside_stores_us.p95 // 0] | @tsv' "$tmp/s.json"
}

# compare OPTION FIRST SECOND
compare() {
    run "$1" "$2" >/dev/null
    pair=0
    : >"$tmp/pairs"
    while [ $pair -lt "$PAIRS" ]; do
        if [ $((pair % 2)) = 0 ]; then
            a=$(run "$1" "$2") b=$(run "$1" "$3")
        else
            b=$(run "$1" "$3") a=$(run "$1" "$2")
        fi
        printf '%s\t%s\n' "$a" "$b" >>"$tmp/pairs"
        pair=$((pair + 1))
    done
    printf '%-38s %12s %12s %8s   95 %%\n' "$1" "$2" "$3" ratio
    column=0
    for name in 'CPU of a row, us' 'rows/s' 'read P50, us' 'read P95, us' 'write P95, us' 'P95 of loads beside stores, us'; do
        column=$((column + 1))
        awk -F '\t' -v c=$column '{ print $c, $(c + 6), ($c > 0 ? $(c + 6) / $c : 0) }' "$tmp/pairs" >"$tmp/column"
        for k in 1 2 3; do sort -n -k $k "$tmp/column" | awk -v k=$k '{ print $k }' >"$tmp/sorted$k"; done
        paste "$tmp/sorted1" "$tmp/sorted2" "$tmp/sorted3" | awk -v name="$name" -v n="$PAIRS" '
            function order(share) { k = int(n * share + 0.5); return k < 1 ? 1 : k }
            { a[NR] = $1; b[NR] = $2; r[NR] = $3 }
            END {
                m = int((n + 1) / 2); low = n == 15 ? 4 : order(0.25); high = n + 1 - low
                printf "  %-36s %12.1f %12.1f %8.3f   %.3f to %.3f\n", name, a[m], b[m], r[m], r[low], r[high]
            }'
    done
}

compare --device-times no yes
compare --priority none loads
