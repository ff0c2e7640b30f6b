#!/bin/sh
# With a GPU the waterfall is served in steps: one copy of a block, which falls when a tier gives it up (rows of phase Evict),
# found when its request is admitted, and pinned while that runs. Every row of a tiny case, as worked out by hand. What an engine
# decides itself is refused by name. A bug looked like a block in two tiers, a hit that left its tier without --config promote, or a
# request that pushed out what another one ran on.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# Blocks of 512 tokens, 12 MiB each: the GPU holds three, the host one (it is filled to 80 %), storage all.
line() { echo "{\"timestamp\": $1, \"input_length\": $2, \"output_length\": 1, \"hash_ids\": [$3]}"; }
{ line 0 1024 1,2; line 10000 1024 3,4; line 20000 1024 1,2; line 30000 1535 1,2,5; } >"$TMP/in.jsonl"
small() { "$BIN/kvgen" --input "$TMP/in.jsonl" --model tiny-1b --params 1e9 --gpu-profile h100 --cache waterfall:block_size=512 \
    --gpu-mem 36MiB --cpu-mem 16MiB --no-notes -o "$TMP/t.csv" "$@"; }
# The rows of a request: operation, tier, phase, and the block, named by its first row.
rows() {
    awk -F, -v request="$1" 'NR > 1 {
            if ($5 != "" && !($5 in n)) n[$5] = ++c
            if ($7 == request) printf "%s%s%s%s,", $2, $4 ? " " substr($4, 6) : "", $6 ? " " $6 : "", $5 ? " " n[$5] : ""}
        END {print ""}' "$TMP/t.csv"
}
for promote in none on-hit; do
    exits "a tiny case, promote $promote" 0 small --config promote=$promote
    is "what is missing is computed" "$(rows 1)" "Miss 1,Miss 2,Generate Prefill,Write 0 Prefill 1,Write 0 Prefill 2,Generate Decode,"
    is "the end of a prompt falls first" "$(rows 2)" \
        "Miss 3,Miss 4,Read 0 Evict 2,Write 1 Evict 2,Generate Prefill,Write 0 Prefill 3,Write 0 Prefill 4,Generate Decode,"
    # The last block of a prompt is computed again; block 2 lies below, so that has no second copy. Block 1 is in use: 4 falls.
    is "what is computed while it lies below stays there" "$(rows 3)" \
        "Read 0 Decode 1,Miss 2,Read 1 Evict 2,Write 2 Evict 2,Read 0 Evict 4,Write 1 Evict 4,Generate Prefill,Generate Decode,"
    case $promote in
    none) up= ;;
    on-hit) up="Read 2 Evict 2,Write 0 Evict 2," ;;
    esac
    is "a hit below is loaded" "$(rows 4)" \
        "Read 0 Decode 1,Read 2 Decode 2,${up}Read 1 Evict 4,Write 2 Evict 4,Read 0 Evict 3,Write 1 Evict 3,Generate Prefill,Generate Decode,"
done
exits "the trace holds together" 0 "$BIN/kvstat" --verify-trace "$TMP/t.csv"

# A block has all layers, whatever they look at: of Gemma 3 27B 248 MiB, of which 10 layers in 62 have no window; Granite's have a state.
for model in gemma-3-27b granite-4.0-h-small; do
    exits "$model" 0 "$BIN/kvgen" --input "$TMP/in.jsonl" --model "$DATA/models/$model.json" --params 7e9 \
        --gpu-profile h100 --cache waterfall:block_size=512 --gpu-mem 70GiB --no-notes -o "$TMP/$model.csv"
done
is "the bytes of a block" "$(awk -F, '$2 == "Write" {print $3}' "$TMP/gemma-3-27b.csv" | sort -u)" 260046848

# Without a GPU it is the benchmark's: nothing of this happens. --prefill is a GPU, too.
exits "--cache waterfall is the default" 0 "$BIN/kvgen" --cache waterfall --users 2 --duration 5s -o none --summary "$TMP/plain.json"
is "no steps" "$(json "$TMP/plain.json" 'has("serving"), has("prefill")')" "false false"
while IFS='|' read -r options want; do
    with "$options" exits "$options" 2 "$BIN/kvgen" --users 2 --duration 5s -o none
    stderr_like "... with the reason" "$want"
done <<'END'
--cache waterfall:block_size=32|--cache: the settings of waterfall need --gpu-profile or --prefill
--cache waterfall:store=use --gpu-profile h100|--cache: waterfall has no setting "store"
--gpu-profile h100 --granularity block:64|--granularity: does not apply with --gpu-profile or --prefill: an engine serves the requests in blocks and steps
--gpu-profile h100 --workers 4|--workers: does not apply with --gpu-profile or --prefill
--gpu-profile h100 --enable-rag|--enable-rag: does not apply with --gpu-profile or --prefill
--gpu-profile h100 --tier-model 1=ddr5|--tier-model: of an engine only Tier-2 has a speed of its own
--gpu-profile h100 --cpu-mem 1MiB|--cpu-mem has no room for one block; 0: no such tier
--cache vllm --config eviction=lfu|--config eviction: does not apply with --cache of an engine
--cache vllm --config promote=on-hit|--config promote: does not apply with --cache of an engine
END
done_testing
