#!/bin/sh
# kvgen --decisions: what a run decides, step by step, with the keys of the recordings. The same requests, coming before the
# same steps, are run through tests/engines/run, whose decisions were held against vLLM's own (engine_steps.t): every line
# is the same, over the GPU alone, host memory with LRU and ARC, files, few blocks, and priorities. What it cannot do is
# refused. A bug looked like an event that was not written, a name of another block, or kvgen's loop taking a step that the
# engine does not.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

BUILD=${BIN%/bin}
export BUILD

# Conversations that grow and share beginnings, in blocks of 16 tokens; outputs of 1 to 40.
awk 'BEGIN {
    srand(7)
    for (i = 0; i < 60; i++) {
        c = int(rand() * 9)
        len[c] = rand() < 0.15 ? 2 : len[c] + 1 + int(rand() * 4)
        if (len[c] > 14)
            len[c] = 3
        ids = ""
        for (k = 0; k < len[c]; k++)
            ids = ids (k ? "," : "") (k < 2 ? c % 3 * 2 + k : 100 + c * 100 + k)
        tail = int(rand() * 16)
        printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [%s%s]}\n", i * 12,
            len[c] * 16 + tail, 1 + int(rand() * 40), ids, tail ? "," 5000 + i : ""
    }
}' >"$TMP/requests.jsonl"
# A GPU whose host takes no time for a request, and a link that needs none.
cat >"$TMP/gpu.json" <<'EOJ'
{"name": "quick", "bf16_tflops": 400, "hbm_tb_s": 3, "hbm_gb": 80, "link_gb_s": 100000, "host_ms": 0, "load_overhead_ms": 0}
EOJ

# same NAME GPU_BLOCKS HOST_BLOCKS FILES SETTINGS EXTRA_CONFIG SCHEDULER: kvgen's decisions and those of tests/engines/run.
same() {
    name=$1 gpu=$2 host=$3 files=$4 settings=$5 extra=$6 scheduler=$7
    told "$BIN/kvgen" --cache "vllm:async_scheduling=no,max_model_len=4096$settings" --model tiny-1b --params 1e9 \
        --gpu-profile "$TMP/gpu.json" --gpu-mem "$((gpu * block))B" --cpu-mem "$((host * block))B" \
        --storage-capacity "$files" --input "$TMP/requests.jsonl" --block-size 16 \
        --decisions "$TMP/ours.jsonl" -o none
    is "$name: requests come in order" "$(jq -c '.arr // empty | .[]' "$TMP/ours.jsonl" | tr '\n' ' ')" \
        "$(seq 0 59 | tr '\n' ' ')"
    mkdir -p "$TMP/$name"
    jq -c '.t as $t | .arr // empty | .[] | $t' "$TMP/ours.jsonl" >"$TMP/steps"
    jq -c --slurpfile at "$TMP/steps" '.timestamp = $at[input_line_number - 1]' "$TMP/requests.jsonl" >"$TMP/$name/input.jsonl"
    cat >"$TMP/$name/config.json" <<EOJ
{"engine": "vllm", "block_size": 16, "num_gpu_blocks": $gpu, "max_model_len": 4096, "scheduler": {$scheduler},
 "load_latency_steps": 1, "store_latency_steps": 1$extra}
EOJ
    exits "$name: the engine's rules" 0 "$TOP/tests/engines/run" --write "$TMP/$name"
    ok "$name: every decision is the same" cmp "$TMP/ours.jsonl" "$TMP/$name/steps.jsonl"
    ok "$name: there are some" test "$(wc -l <"$TMP/ours.jsonl")" -gt 100
}
block=$("$BIN/kvgen" --show-model --model tiny-1b | jq ".bytes_per_token * 16")
wide='"max_num_batched_tokens": 8192, "max_num_seqs": 1024'
connector() { printf ', "connector": {"kv_connector": "OffloadingConnector", "cpu_chunks": %s, "extra_config": {%s}}' "$1" "$2"; }

same gpu 200 0 none "" "" "$wide"
same tight 22 0 none ",max_num_batched_tokens=100,max_num_seqs=6" "" '"max_num_batched_tokens": 100, "max_num_seqs": 6'
same lru 61 30 none "" "$(connector 30 '')" "$wide"
same arc 61 40 none ",eviction_policy=arc,offload_prompt_only=no" \
    "$(connector 40 '"eviction_policy": "arc", "offload_prompt_only": false')" "$wide"
same files 61 60 unlimited "" "$(connector 60 '"secondary_tiers": [{"type": "fs"}]')" "$wide"
ok "something was preempted" jq -e -s 'any(.pre)' "$TMP/tight/steps.jsonl"
ok "something was loaded" jq -e -s 'any(.ld)' "$TMP/lru/steps.jsonl"
ok "something came from files" jq -e -s 'any(.tl)' "$TMP/files/steps.jsonl"

refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 "$BIN/kvgen" -o none --decisions "$TMP/no.jsonl" "$@"
    stderr_like "and says why" "$why"
}
refused "the waterfall" 'decisions: needs --cache vllm'
refused "another engine" 'decisions: needs --cache vllm: the steps of other engines are not told' --cache sglang
ok "nothing was written" test ! -e "$TMP/no.jsonl"
exits "a file that cannot be written" 1 "$BIN/kvgen" -o none --cache vllm --max-requests 1 --decisions /dev/full
done_testing
