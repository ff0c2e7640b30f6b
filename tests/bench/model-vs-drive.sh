#!/bin/sh
# model-vs-drive.sh - how well a drive that was measured once (kvtrace model) is simulated: six loads that the measurement did
# not see, of other object sizes and numbers, up to 0.85 of the measured rate; P50 and P95 of storage time and throughput,
# simulated and on the drive. What we aim at: 10 %, 20 %, 5 %. "now": what the drive gives just before the load (4 MiB, 4 in
# flight), of what it gave when it was measured: where it is far from 1, the drive or the machine is busy with something else.
#   tests/bench/model-vs-drive.sh [DIR [DRIVE.json]]      (default: /var/tmp, measured anew in 5 minutes)
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${BUILD:-$top/build}/bin:$PATH
dir=${1:-/var/tmp} drive=${2:-}
tmp=$(mktemp -d)
mkdir "$dir/model-vs-drive.$$"
disk=$dir/model-vs-drive.$$
trap 'rm -rf "$tmp" "$disk"' EXIT
if [ -z "$drive" ]; then
    drive=$tmp/drive.json
    "$top/examples/model.sh" "$disk" -t 300 -o "$drive" --storage-capacity-gb 20 2>/dev/null
fi
# The most that the drive gives mixed load.
most=$(jq '[.points[] | select(.read_share == 0.7) | .bytes_per_s] | max // ([.points[].bytes_per_s] | max)' "$drive")
echo "mixed load: at most $(echo "$most" | awk '{ printf "%.2f GB/s", $1 / 1e9 }'); validity of the measurement: $(jq -c '[.valid, .why_invalid]' "$drive")"
# now: the rate now by that of the measurement.
now() {
    rate() { jq '[.points[] | select(.size_bytes == 4194304 and .in_flight == 4 and .read_share == 0.7).bytes_per_s][0]' "$1"; }
    "$top/examples/model.sh" "$disk" --sizes 4194304 --in-flight 4 --point 3 -t 9 -o "$tmp/now.json" >/dev/null 2>&1 || :
    if [ -e "$tmp/now.json" ]; then
        jq -rn --argjson a "$(rate "$drive")" --argjson b "$(rate "$tmp/now.json")" 'if $a and $b then $b / $a * 100 | round / 100 else "-" end'
    else
        echo -
    fi
    rm -f "$tmp/now.json"
}
echo '  now   load  blocks  req/s  op     ops    P50 ms: simulated   on drive      %  P95 ms: simulated   on drive      %   GB/s: simulated on drive      %'
number=0
for load in '0.15 64' '0.3 128' '0.45 512' '0.6 256' '0.75 1024' '0.85 512'; do
    number=$((number + 1))
    share=${load% *} tokens=${load#* }
    # Poisson arrivals, as many a second as move that share of the rate; a first run says what a request moves.
    set -- --model tiny-1b --users 200 --arrival poisson --gpu-mem 0 --cpu-mem 0 --storage-capacity 15GiB --seed $number \
        --generation-mode none --granularity "block:$tokens" --tier-model 2="$drive"
    kvgen "$@" --duration 3600 --request-rate 1 --max-requests 400 -o none --summary "$tmp/g.json" 2>/dev/null
    rate=$(jq -r --argjson most "$most" --argjson share "$share" '
        .requests.issued / (.tiers[] | select(.tier == "Tier-2") | .read_bytes + .write_bytes) * $most * $share' "$tmp/g.json")
    beside=$(now)
    kvgen "$@" --duration 20 --request-rate "$rate" -o "$tmp/t.csv.zst" --summary "$tmp/g.json" 2>/dev/null
    kvreplay --timing served --workers 200 --target "$disk/objects" --progress none -o "$tmp/r.csv.zst" --summary "$tmp/r.json" \
        "$tmp/t.csv.zst" 2>/dev/null
    jq -rn --slurpfile g "$tmp/g.json" --slurpfile r "$tmp/r.json" '
        def of($d): $d[0].tiers[] | select(.tier == "Tier-2");
        ((of($g).read_bytes + of($g).write_bytes) / 1e9 / $g[0].trace.simulated_s) as $a |
        ((of($r).read.bytes + of($r).write.bytes) / 1e9 / $r[0].elapsed_s) as $b |
        ("read", "write") as $op | of($g)[$op].latency_us as $x | of($r)[$op].service_us as $y |
        [$op, $y.count, $x.p50 / 1000, $y.p50 / 1000, 100 * ($y.p50 / $x.p50 - 1), $x.p95 / 1000, $y.p95 / 1000,
            100 * ($y.p95 / $x.p95 - 1), $a, $b, 100 * ($b / $a - 1)] | @tsv' |
        awk -F '\t' -v now="$beside" -v share="$share" -v tokens="$tokens" -v rate="$rate" '{
            printf "%5s  %5s  %6d  %5.1f  %-5s %5d  %18.2f %10.2f %+6.1f  %17.2f %10.2f %+6.1f  %16.3f %8.3f %+6.1f\n", now, share, tokens, rate,
                $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11 }'
done
