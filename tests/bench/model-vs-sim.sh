#!/bin/sh
# model-vs-sim.sh - kvgen's simulation with a measured drive against kvreplay's served replay of it on sim:model=, the same
# server in real time: P50 and P95 of storage times, for several loads. They should agree within 3 % and 5 %.
#   tests/bench/model-vs-sim.sh [DRIVE.json]       (some 9 minutes)
# A step is how far a percentile moves when one operation more lies below it: of few operations some percent, so a
# difference below it is chance.
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${BUILD:-$top/build}/bin:$PATH
drive=${1:-$top/tests/data/drive_model.json}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# both FIELD: of the simulation and of the replay, of reads and writes.
figures() {
    jq -rn --slurpfile g "$tmp/g.json" --slurpfile r "$tmp/r.json" '
        def of($d; $op): $d[0].tiers[] | select(.tier == "Tier-2") | .[$op];
        ("read", "write") as $op | of($g; $op).latency_us as $a | of($r; $op).service_us as $b |
        [$op, $a.count, $b.count, $a.p50 / 1000, $b.p50 / 1000, 100 * ($b.p50 / $a.p50 - 1), $a.p95 / 1000, $b.p95 / 1000,
            100 * ($b.p95 / $a.p95 - 1)] | @tsv' | while read -r line; do
        printf '%s\t%s\n' "$line" "$(steps "${line%%	*}")"
    done
}
# steps OP: the larger distance of the values beside the P50 and the P95 of the replay, in percent.
steps() {
    zstd -dcq "$tmp/r.csv.zst" | awk -F, -v op="$1" 'BEGIN { op = op == "read" ? "Read" : "Write" }
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "Latency_us") at = i; next }
        $2 == op && $4 == "Tier-2" { print $at }' | sort -n | awk '
        function step(i,   a, b) {
            i = i > int(i) ? int(i) + 1 : i
            a = v[i + 1] / v[i] - 1; b = 1 - v[i - 1] / v[i]
            return 100 * (a > b ? a : b)
        }
        { v[NR] = $1 }
        END { printf "%.2f\t%.2f\n", step(NR * 0.5), step(NR * 0.95) }'
}
echo 'users  op      ops    P50 ms: simulated  replayed      %    step   P95 ms: simulated  replayed      %    step'
for users in 2 5 10 20 40; do
    kvgen --model tiny-1b --users $users --duration 3600 --max-requests $((users * 16 + 640)) --gpu-mem 0 --cpu-mem 0 --seed $users \
        --generation-mode fast --tier-model 2="$drive" -o "$tmp/t.csv.zst" --summary "$tmp/g.json" 2>/dev/null
    kvreplay --timing served --workers $users --tier-engine 2=sim:model="$drive" --progress none -o "$tmp/r.csv.zst" \
        --summary "$tmp/r.json" "$tmp/t.csv.zst" 2>/dev/null
    figures | awk -F '\t' -v users=$users '{
        printf "%5d  %-5s %5d  %17.2f %9.2f %+6.2f %7.2f  %18.2f %9.2f %+6.2f %7.2f\n", users, $1, $3, $4, $5, $6, $10, $7, $8, $9, $11 }'
done
