#!/bin/sh
# replay-autoscale.sh [TIMES] - the search for a number of users, three times, on simulated tiers whose limit is known
# on paper: 100 users that read 100 kB from storage every 100 ms keep a drive of 100 MB/s busy. Above that its queue
# grows by the excess, so that the P95 of reads stays within 40 ms up to about 101 users. Prints; judges nothing.
export LC_ALL=C
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$(cd "$(dirname "$0")/../.." && pwd)/$BUILD ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cat >"$work/gen" <<'END'
exec awk -v n="$1" -v seconds="$2" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Class,Tokens,Arrival,Duration_us"
    for (u = 0; u < n; u++) printf "0,Write,100000,Tier-2,s%d,Prefill,,,prepop,,,\n", u
    for (i = 0; i < int(seconds / 0.1) * n; i++) {
        t = i * 0.1 / n
        printf "%.6f,Write,100000,Tier-0,g%d,Prefill,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Write,100000,Tier-1,c%d,Prefill,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Read,100000,Tier-2,s%d,Decode,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Generate,0,,,,%d,interactive,,10,%.6f,1000\n", t, i, t
    }
}'
END
for mode in capacity qos; do
    for time in $(seq "${1:-3}"); do
        "$BUILD/bin/kvreplay" --autoscale $mode --each "sh '$work/gen' {N} 4" --step-warmup 1s --step-duration 2s \
            --start-users 30 --config saturation_detection.read_latency_p95_threshold_ms=40 --config lateness_budget=1h --progress none --tier-engine 0=sim:bw=10GB/s \
            --tier-engine 1=sim:bw=10GB/s --tier-engine 2=sim:bw=100MB/s -o "$work/r.csv" --summary "$work/s.json" \
            2>/dev/null || exit 1
        jq -r '.autoscaling.users, .autoscaling.throughput_tokens_per_s, (.autoscaling_stats | length, .[-1].time_s)' \
            "$work/s.json" | paste -sd ' ' - | awk -v mode=$mode -v time="$time" '{
                printf "%-9s %s: %3d users of 100 on paper, %.0f tokens/s, ", mode, time, $1, $2
                printf "in %d steps and %.0f s\n", $3, $4
            }'
    done
done
