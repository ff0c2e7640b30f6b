#!/bin/sh
# served.sh [DRIVE.json [SECONDS]] - an engine's simulation (kvgen --cache vllm) against kvreplay's served replay of it, whose storage
# is the same drive in real time (sim:model=): P50 and P95 of the time to the first token, at six loads from a tenth to nine tenths
# of what the engine holds, which is the rate at which it answers when all requests come at once. They should agree within 3 % and
# 5 %. Prompts begin with one of 60 texts of 2,048 tokens, of which GPU and host memory hold a part. Tiers 0 and 1 do nothing (null):
# their copies take no time of storage. SECONDS of a load: 25, but as many as 300 requests need. Some 4 minutes.
# A step is how far a percentile moves when one request more or less lies below it: few requests, some of which load and others
# compute, have percentiles in a gap between both, and a difference below a step is chance. "later" is how much later the same
# request got its token in the replay: what threads that wake up late, and the machine's other work, add. As root a load of the
# machine is kept out by: chrt -f 10 served.sh
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
drive=${1:-$TOP/tests/data/drive_model.json} seconds=${2:-25}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

# requests RATE NUMBER: at random times, RATE a second on average; 0: all at once.
requests() {
    awk -v rate="$1" -v number="$2" 'BEGIN {
        srand(7)
        for (n = 0; n < number; n++) {
            if (rate) t += -log(1 - rand()) * 1000 / rate
            text = int(60 * rand())
            printf "{\"timestamp\": %d, \"input_length\": 2560, \"output_length\": 40, \"hash_ids\": [", t
            for (i = 0; i < 8; i++) printf "%d, ", text * 8 + i
            printf "%d, %d]}\n", 1000000 + 2 * n, 1000001 + 2 * n
        }
    }' >"$tmp/requests.jsonl"
}
engine() {
    "$BIN/kvgen" --model tiny-1b --params 1e9 --cache vllm:block_size=64 --gpu-profile h100 --gpu-mem 512MiB --cpu-mem 768MiB \
        --tier-model 2="$drive" --input "$tmp/requests.jsonl" --block-size 256 --progress none --summary "$tmp/g.json" "$@" 2>/dev/null
}
requests 0 300
engine -o none
held=$(jq -r '.requests.completed / .prefill.engine_s * .prefill.busy_share' "$tmp/g.json")
printf 'the engine holds %.2f requests a second\n' "$held"
echo ' load  requests  files   P50 ms: simulated  replayed      %    step   P95 ms: simulated  replayed      %    step   later ms: P50    P95'
# first_token FILE START TOOK: number and time to the first token of each request, in ms.
first_token() {
    awk -F, -v start="$2" -v took="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["Operation"]) == "Generate" && $(at["Phase"]) == "Prefill" {
            print $(at["Request"]), 1000 * ($(at[start]) + $(at[took]) / 1e6 - $(at["Arrival"])) }' "$1" | sort
}
# percentiles: of numbers P50 and P95, and the step of each in percent.
percentiles() {
    sort -n | awk '
        function step(i,   a, b) {
            a = v[i + 1] / v[i] - 1; b = 1 - v[i - 1] / v[i]
            return v[i] > 0 ? 100 * (a > b ? a : b) : 0
        }
        { v[NR] = $1 }
        END { p = int(NR * 0.5 + 0.999); q = int(NR * 0.95 + 0.999); print v[p], step(p), v[q], step(q) }'
}
for load in 0.1 0.26 0.42 0.58 0.74 0.9; do
    rate=$(awk -v h="$held" -v l=$load 'BEGIN { print h * l }')
    requests "$rate" "$(awk -v r="$rate" -v s="$seconds" 'BEGIN { n = int(r * s + 1); print n < 300 ? 300 : n }')"
    engine -o "$tmp/t.csv"
    "$BIN/kvreplay" --timing served --workers 1000 --tier-engine 0=null --tier-engine 1=null --tier-engine 2=sim:model="$drive" \
        --progress none -o "$tmp/r.csv" "$tmp/t.csv" 2>/dev/null
    from_files=$(jq -r '.cache.tokens | 100 * .storage / (.gpu + .host + .storage + .computed)' "$tmp/g.json")
    first_token "$tmp/t.csv" Timestamp Duration_us >"$tmp/t"
    first_token "$tmp/r.csv" Start Latency_us >"$tmp/r"
    join "$tmp/t" "$tmp/r" >"$tmp/both"
    echo "$load $from_files $(wc -l <"$tmp/both") $(cut -d ' ' -f 2 "$tmp/both" | percentiles) $(cut -d ' ' -f 3 "$tmp/both" | percentiles)" \
        "$(awk '{ print $3 - $2 }' "$tmp/both" | percentiles)" |
        awk '{ printf "%5.2f %9d %5.1f%% %19.1f %9.1f %+6.2f %7.2f %19.1f %9.1f %+6.2f %7.2f %15.2f %6.2f\n", $1, $3, $2, $4, $8,
            100 * ($8 / $4 - 1), $5, $6, $10, 100 * ($10 / $6 - 1), $7, $12, $14 }'
done
