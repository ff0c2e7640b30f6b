#!/bin/sh
# served.sh [DRIVE.json [SECONDS]] - an engine's simulation (kvgen --cache vllm) against kvreplay's served replay of it, whose storage
# is the same drive in real time (sim:model=): P50 and P95 of the time to the first token, at six loads from a tenth to nine tenths
# of what the engine holds, which is the rate at which it answers when all requests come at once. They should agree within 3 % and
# 5 %. Prompts begin with one of 60 texts of 2,048 tokens, of which GPU and host memory hold a part. Tiers 0 and 1 do nothing (null):
# their copies take no time of storage. SECONDS of a load: 25. Some 3 minutes.
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
echo ' load  requests  from files   P50 ms: simulated  replayed      %   P95 ms: simulated  replayed      %'
# first_token FILE START TOOK: of each request, in ms.
first_token() {
    awk -F, -v start="$2" -v took="$3" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["Operation"]) == "Generate" && $(at["Phase"]) == "Prefill" {
            print 1000 * ($(at[start]) + $(at[took]) / 1e6 - $(at["Arrival"])) }' "$1" |
        sort -n | awk '{ v[NR] = $1 } END { print v[int(NR * 0.5 + 0.999)], v[int(NR * 0.95 + 0.999)], NR }'
}
for load in 0.1 0.26 0.42 0.58 0.74 0.9; do
    rate=$(awk -v h="$held" -v l=$load 'BEGIN { print h * l }')
    requests "$rate" "$(awk -v r="$rate" -v s="$seconds" 'BEGIN { printf "%d", r * s + 1 }')"
    engine -o "$tmp/t.csv"
    "$BIN/kvreplay" --timing served --workers 1000 --tier-engine 0=null --tier-engine 1=null --tier-engine 2=sim:model="$drive" \
        --progress none -o "$tmp/r.csv" "$tmp/t.csv" 2>/dev/null
    from_files=$(jq -r '.cache.tokens | 100 * .storage / (.gpu + .host + .storage + .computed)' "$tmp/g.json")
    echo "$load $from_files $(first_token "$tmp/t.csv" Timestamp Duration_us) $(first_token "$tmp/r.csv" Start Latency_us)" |
        awk '{ printf "%5.2f %9d %10.1f%% %19.1f %9.1f %+6.2f %19.1f %9.1f %+6.2f\n", $1, $5, $2, $3, $6, 100 * ($6 / $3 - 1), $4, $7,
            100 * ($7 / $4 - 1) }'
done
