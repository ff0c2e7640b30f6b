#!/bin/sh
# kvgen-queues.sh - holds the waiting times of kvgen's tiers and workers against queueing theory.
#
#   kvgen-queues.sh [-n REQUESTS] [-l PERCENT]
#
#   -n REQUESTS   for each line (1000000)
#   -l PERCENT    the limit of a difference (2)
#
# Requests arrive as a Poisson process and write one object each. A tier with a bandwidth is one server: M/D/1 with
# objects of one size, M/G/1 with those of the personas. Three workers and a tier that only has a latency are three
# servers of a fixed time: M/D/3. One worker and three classes of service are a queue with priorities, in which nobody
# is interrupted and every tenth turn goes to the class that waits longest. For each of them a line: the mean waiting time by theory and as simulated in ms, and the difference.
# Exit status 1: a difference is beyond the limit.
#
# Theory: Pollaczek and Khinchine for one server, with the moments of the sizes that were drawn; Crommelin (1934) for
# M/D/c; Cobham (1954) for priorities.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
requests=1000000 limit=2
while getopts n:l: option; do
    case $option in
    n) requests=$OPTARG ;;
    l) limit=$OPTARG ;;
    *) exit 2 ;;
    esac
done

command -v jq >/dev/null || { echo "kvgen-queues.sh: skipped (needs jq)"; exit 0; }
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvgen-queues.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM

# writes RATE OPTIONS...: the prefill writes of a run with RATE arrivals a second, on standard output. An object of
# 1,000 tokens has 24.576 MB.
writes() {
    rate=$1
    shift
    "$BIN/kvgen" --model tiny-1b --num-users 500 --arrival poisson --request-rate "$rate" --duration 0 \
        --max-requests "$requests" --generation-mode none --prefill-only --disable-prefix-caching --disable-multi-turn \
        --gpu-mem-gb 0 --cpu-mem-gb 0 --progress none --ops Write --no-notes "$@" -o - 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
}
bad=0
# line NAME: the line of "THEORY SIMULATED" on standard input
line() {
    awk -v name="$1" -v limit="$limit" '{
        d = 100 * ($2 / $1 - 1)
        within = d <= limit && d >= -limit
        printf "%-34s %10.4f %10.4f %+7.2f%%  %s\n", name, $1, $2, d, within ? "yes" : "NO"
    }
    END {exit !within}' || bad=1
}
# The waiting time in a tier of 1 GB/s: by Pollaczek and Khinchine, and as the summary has it. The rows, on standard
# input, have the sizes, which are transfer times in ns.
one_server() {
    awk -F, 'NR > 1 {n++; sum += $3; square += $3 * $3; last = $1 * 1e9}
        END {printf "%.9f %.9f ", square / last / 2 / (1 - sum / last) / 1e6, sum / n / 1e6}'
    jq '.tiers[0].write.latency_us.mean / 1000' "$TMP/summary.json"
}
# The waiting time of requests until a worker has them: rows on standard input, as "N WAITED QOS" by class in ms.
waits() {
    awk -F, 'NR > 1 {n[$9]++; waited[$9] += $1 - $12} END {for (q in n) print n[q], 1000 * waited[q] / n[q], q}'
}

printf '%-34s %10s %10s %8s  %s\n' '' theory simulated difference within
for rho in 0.5 0.7 0.85; do
    rate=$(awk -v rho=$rho 'BEGIN {print rho / 0.024576}')
    writes "$rate" --config input_len=1000 --tier-model 2=write:1GB/s --summary "$TMP/summary.json" | one_server |
        awk '{print $1, $3 - $2}' | line "M/D/1, $rho busy"
done
# The personas' objects have 136 MB on average.
for rate in 3 5; do
    writes $rate --tier-model 2=write:1GB/s --summary "$TMP/summary.json" | one_server | awk '{print $1, $3 - $2}' |
        line "M/G/1, $rate arrivals a second"
done
for rho in 0.5 0.7 0.85; do
    rate=$(awk -v rho=$rho 'BEGIN {print 3 * rho / 0.02}')
    writes "$rate" --config input_len=1000 --tier-model 2=write-lat:20ms --workers 3 | waits | awk -v rho=$rho -v c=3 '
        # The sum of the Poisson probabilities from j = from on, of mean m.
        function tail(m, from,  j, p, sum) {
            p = exp(-m)
            for (j = 1; j <= from; j++) p *= m / j
            for (; p > 1e-18 || j <= m; j++) {sum += p; p *= m / j}
            return sum
        }
        {n += $1; waited += $1 * $2}
        END {
            for (i = 1; i <= 60; i++) wait += tail(i * c * rho, i * c) - tail(i * c * rho, i * c + 1) / rho
            print 20 * wait, waited / n
        }' | line "M/D/3, $rho busy"
done
# Three classes, interactive before responsive before batch, and every tenth turn for the one that waits longest. No order
# of service changes the mean over all requests (Kleinrock's conservation law, 1965), and the tenth turns only move
# waiting from batch up: each class waits as long as priorities alone would have it, or up to what it waits without any.
writes 40 --config input_len=1000 --tier-model 2=write-lat:20ms --workers 1 | waits >"$TMP/classes"
awk '{n += $1; waited += $1 * $2} END {print 20 * 0.8 / 2 / (1 - 0.8), waited / n}' "$TMP/classes" |
    line "M/D/1 with classes, all"
before=
for qos in interactive responsive batch; do
    before="$before $qos"
    awk -v qos=$qos -v before="$before" -v limit="$limit" '
        {n += $1; of[$3] = $1; waited[$3] = $2; all += $1 * $2}
        END {
            classes = split(before, class, " ")
            for (i = 1; i <= classes; i++) {above = busy; busy += 0.8 * of[class[i]] / n}
            strict = 20 * 0.8 / 2 / (1 - above) / (1 - busy)
            low = strict < all / n ? strict : all / n
            high = strict < all / n ? all / n : strict
            w = waited[qos]
            within = w >= low * (1 - limit / 100) && w <= high * (1 + limit / 100)
            printf "%-34s %10.4f %10.4f %8s  %s\n", "M/D/1 with classes, " qos, strict, w, "", within ? "yes" : "NO"
            exit !within
        }' "$TMP/classes" || bad=1
done
exit $bad
