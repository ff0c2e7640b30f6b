#!/bin/sh
# drive-times.sh BIN FOLDER [ROWS] - two choices of kvreplay in pairs on the drive of FOLDER (a scratch folder; root, for the
# first), each with reads and writes of 128 KiB in one line:
#   --device-times no, yes     what the recording costs: CPU a row, rows a second, and the replay's own P50 and P95 of reads
#   --config priority=none, loads     what it changes: P95 of loads beside stores, of all reads and of all writes, rows a second
# ROWS (40000) rows a run, for the second choice a quarter; PAIRS (60) interleaved pairs, ABBA, as many as TIME (210) seconds
# allow for each choice. Prints the medians of both, and of the ratios second / first the Hodges-Lehmann estimate with its 95 %
# interval (Walsh averages of their logarithms; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3rd ed., 3.2
# and 3.3); where perf counts instructions, those of a row, too. A single pair far off moves neither. Judges nothing.
set -eu
export LC_ALL=C
[ $# -ge 2 ] || {
    sed -n '2,10s/^# //p' "$0"
    exit 2
}
bin=$1
store=$2/kvtrace-bench-$$
ROWS=${3:-40000}
PAIRS=${PAIRS:-60}
TIME=${TIME:-210}
[ -n "${KVTRACE_OWN_MOUNTS-}" ] || KVTRACE_OWN_MOUNTS=yes exec unshare -m "$0" "$@"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$tmp" "$store"' EXIT
[ -e /sys/kernel/tracing/instances ] || mount -t tracefs none /sys/kernel/tracing

# count COMMAND...: counts its instructions where the processor lets it.
count() { "$@"; }
if perf stat -x, -e instructions true 2>"$tmp/perf" && ! grep -q 'not supported' "$tmp/perf"; then
    count() { perf stat -x, -e instructions -o "$tmp/perf" -- "$@"; }
else
    rm -f "$tmp/perf"
fi

# Objects are written, read six times, and written again by and by.
# trace ROWS
trace() {
    awk -v n="$1" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < 400; i++) printf "0,Write,131072,Tier-2,k%d,Prefill\n", i
        for (i = 0; i < n; i++) {
            write = i % 7 == 0
            printf "%.6f,%s,131072,Tier-2,k%d,%s\n", 0.1 + i / 1e6, write ? "Write" : "Read", (i * 37) % 400,
                write ? "Prefill" : "Decode"
        }
    }' >"$tmp/t.csv"
}

# run OPTION CHOICE: a line of its figures.
run() {
    count "$bin/kvreplay" --progress none --no-notes -o /dev/null --order key --inflight 32 "$1" "$2" --target "$store" \
        --summary "$tmp/s.json" "$tmp/t.csv" 2>"$tmp/err" || {
        cat "$tmp/err" >&2
        exit 1
    }
    instructions=0
    if [ -e "$tmp/perf" ]; then instructions=$(awk -F, '/instructions/ { print $1 + 0 }' "$tmp/perf"); fi
    jq -r --argjson instructions "$instructions" '. as $s | .tiers[] | select(.tier == "Tier-2") | [$s.cpu_s * 1e6 / $s.rows.total,
        $instructions / $s.rows.total, $s.rows_per_s, .read.service_us.p50, .read.service_us.p95, .write.service_us.p95,
        $s.evidence.loads_and_stores.loads_beside_stores_us.p95 // 0] | @tsv' "$tmp/s.json"
}

# compare OPTION FIRST SECOND
compare() {
    run "$1" "$2" >/dev/null
    pair=0 until=$(($(date +%s) + TIME))
    : >"$tmp/pairs"
    while [ $pair -lt "$PAIRS" ] && [ "$(date +%s)" -lt "$until" ]; do
        if [ $((pair % 2)) = 0 ]; then
            a=$(run "$1" "$2") b=$(run "$1" "$3")
        else
            b=$(run "$1" "$3") a=$(run "$1" "$2")
        fi
        printf '%s\t%s\n' "$a" "$b" >>"$tmp/pairs"
        pair=$((pair + 1))
    done
    printf '%-38s %12s %12s %8s   95 %% of %d pairs\n' "$1" "$2" "$3" ratio "$pair"
    column=0
    for name in 'CPU of a row, us' 'instructions of a row' 'rows/s' 'read P50, us' 'read P95, us' 'write P95, us' \
        'P95 of loads beside stores, us'; do
        column=$((column + 1))
        awk -F '\t' -v c=$column '{ print $c, $(c + 7) }' "$tmp/pairs" >"$tmp/column"
        for k in 1 2; do sort -n -k $k "$tmp/column" | awk -v k=$k '{ v[NR] = $k } END { print v[int((NR + 1) / 2)] }'; done >"$tmp/medians"
        awk '$1 > 0 && $2 > 0 { l[++n] = log($2 / $1) }
            END { for (i = 1; i <= n; i++) for (k = i; k <= n; k++) printf "%.9f\n", (l[i] + l[k]) / 2 }' "$tmp/column" |
            sort -n >"$tmp/walsh"
        [ -s "$tmp/walsh" ] || continue
        cat "$tmp/medians" "$tmp/walsh" | awk -v name="$name" -v n="$pair" '
            NR <= 2 { median[NR] = $1; next }
            { w[++m] = $1 }
            END {
                # Of the normal approximation to the signed-rank statistic.
                k = int(m / 2 - 1.96 * sqrt(n * (n + 1) * (2 * n + 1) / 24)); if (k < 1) k = 1
                printf "  %-36s %12.1f %12.1f %8.4f   %.4f to %.4f\n", name, median[1], median[2],
                    exp((w[int((m + 1) / 2)] + w[int(m / 2) + 1]) / 2), exp(w[k]), exp(w[m + 1 - k])
            }'
    done
}

trace "$ROWS"
compare --device-times no yes
trace $((ROWS / 4))
compare --config priority=none loads
