#!/bin/sh
# model-vs-sim.sh - kvgen's simulation with a measured drive against kvreplay's served replay of it on sim:model=, the same
# server in real time: P50 and P95 of storage times, for several loads. They should agree within 3 % and 5 %.
#   tests/bench/model-vs-sim.sh [DRIVE.json]
set -eu
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
            100 * ($b.p95 / $a.p95 - 1)] | @tsv'
}
echo 'users  op      ops    P50 ms: simulated  replayed      %   P95 ms: simulated  replayed      %'
for users in 2 5 10 20 40; do
    kvgen --model tiny-1b --users $users --duration 3600 --max-requests $((users * 8 + 80)) --gpu-mem 0 --cpu-mem 0 --seed $users \
        --generation-mode fast --tier-model 2="$drive" -o "$tmp/t.csv.zst" --summary "$tmp/g.json" 2>/dev/null
    kvreplay --timing served --workers $users --tier-engine 2=sim:model="$drive" --progress none -o "$tmp/r.csv.zst" \
        --summary "$tmp/r.json" "$tmp/t.csv.zst" 2>/dev/null
    figures | awk -F '\t' -v users=$users '{
        printf "%5d  %-5s %5d  %17.2f %9.2f %+6.2f  %18.2f %9.2f %+6.2f\n", users, $1, $3, $4, $5, $6, $7, $8, $9 }'
done
