#!/bin/sh
# replay-timing.sh - how exactly kvreplay keeps the times of a trace: 10,000 rows 1 ms apart at several --inflight and
# --speed (elapsed time against the schedule, client lateness, CPU seconds and the spun part of them), the lateness of a
# bare timer loop before and after (the machine's own, where bench_timer is built), a target that is too slow, and a
# stall of 500 ms in the engine. Wants an idle machine. Prints; judges nothing. SPIN is kvreplay's --config spin (auto).
export LC_ALL=C
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$(cd "$(dirname "$0")/../.." && pwd)/$BUILD ;; esac
replay=$BUILD/bin/kvreplay
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# rows N US: N writes, US microseconds apart.
rows() {
    awk -v n="$1" -v us="$2" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "%.6f,Write,4096,Tier-1,k%d,Prefill\n", i * us / 1e6, i % 1000
    }'
}

# timer: how late 2,000 sleeps of 1 ms end, with nothing, 100 us and all of them spun.
timer() { [ ! -x "$BUILD/tests/bench/bench_timer" ] || "$BUILD/tests/bench/bench_timer" 2000 1000; }

rows 10000 1000 >"$work/t.csv"
timer
printf '%-9s %-6s %11s %11s %9s %12s %12s %8s %8s\n' inflight speed schedule elapsed off 'late P50' 'late P99' CPU spun
while read -r inflight speed; do
    "$replay" --timing trace --inflight "$inflight" --speed "$speed" --config spin="${SPIN:-auto}" --config lateness_budget=1h \
        --progress none -o "$work/r.csv" --summary "$work/s.json" "$work/t.csv" 2>/dev/null || exit 1
    jq -r '.elapsed_s, .lateness_us.p50, .lateness_us.p99, .cpu_s, .spin_s' "$work/s.json" | paste -sd ' ' - |
        awk -v inflight="$inflight" -v speed="$speed" '{
            schedule = 9.999 / speed
            printf "%-9s %-6s %9.3f s %9.3f s %7.3f %% ", inflight, speed, schedule, $1, 100 * ($1 / schedule - 1)
            printf "%9.1f us %9.1f us %6.2f s %6.2f s\n", $2, $3, $4, $5
        }'
done <<END
1 1
64 1
64 0.5
64 2
1 2
64 10
1 10
END
timer

echo 'a target that takes 2 ms for a row each ms: 1,000 rows'
rows 1000 1000 >"$work/s.csv"
"$replay" --timing trace --tier-engine 1=sim:lat=2ms --inflight 1 --config lag_limit=1h --config lateness_budget=1h \
    -o "$work/r.csv" "$work/s.csv" 2>/dev/null
awk -F, 'NR > 1 && (NR - 2) % 250 == 249 {
    response_ms = ($9 - $7) * 1e3 + $10 / 1e3
    printf "  row %4d: service %.3f ms, response %.1f ms (on paper %.1f)\n", NR - 1, $10 / 1e3, response_ms, NR
}' "$work/r.csv"

echo 'a stall of 500 ms from 200 ms on, in a target that takes 100 us: 1,000 rows'
for inflight in 1 64; do
    "$replay" --timing trace --tier-engine 1=sim:lat=100us,stall=200ms+500ms --inflight $inflight --config lag_limit=1h \
        --config lateness_budget=1h -o "$work/r.csv" "$work/s.csv" 2>/dev/null
    awk -F, -v inflight=$inflight '
        NR > 1 && $7 > 0.2005 && $7 < 0.6995 {
            due++
            end = $9 + $10 / 1e6
            if (end >= 0.7) seen++
            if (end - $7 > longest) longest = end - $7
        }
        END {
            printf "  --inflight %-3d rows due in it %d, that end after it %d; ", inflight, due, seen
            printf "longest response %.1f ms\n", longest * 1e3
        }' "$work/r.csv"
done
