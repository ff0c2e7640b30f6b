#!/bin/sh
# The lines that an engine's run prints: the shares of a request's time make 100 %, no line is cut at 80 columns, and a request
# that is refused is told with what it was too long for. A bug looked like 100.1 %, the targets of three classes of which two
# could be read, a prompt that waited for ever because a step was too small for it and "no room", or a node that refused a
# prompt because of an answer that another node makes, or a preemption that took no time.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

run() { # NAME OPTION...
    name=$1
    shift
    exits "$name" 0 "$BIN/kvgen" -m llama3.1-8b --gpu-profile h100 --progress none --no-notes --summary "$TMP/s.json" -o "$TMP/t.csv" \
        --gpu-mem 4 --cpu-mem 1 --storage-capacity none "$@"
}
# request TIME INPUT OUTPUT IDS
request() { printf '{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":[%s]}\n' "$@"; }
whole() { awk '/^time /{ gsub("[^0-9. ]", ""); for (i = 1; i <= NF; i++) tenths += int(10 * $i + 0.5); print tenths }' "$TMP/stderr"; }

# ---- shares, and lines of 80 columns ----

for seed in 1 2 3 4 5 6 7 8; do
    run "run $seed" --cache vllm --users 6 --duration 8s --seed $seed
    is 'its time makes 100 %' "$(whole)" 1000
done
run 'three classes' --cache lmcache-mp --users 30 --duration 10s --storage-capacity 2 --config ttft_target=interactive=500ms \
    --config ttft_target=responsive=1500ms --config ttft_target=batch=90s
stderr_like 'each has its share' '^in time    interactive [0-9.]+ %, responsive [0-9.]+ %, batch [0-9.]+ %$'
stderr_like 'and what was refused is told' '^stores     [0-9.]+ GiB to host; [0-9,]+ files, [0-9]+ % never read, [0-9,]+ refused$'
is 'no line of an engine is longer' "$(sed 1,2d "$TMP/stderr" | awk 'length > 80 || /\.\.\.$/')" ''

# ---- what is too long ----

request 0 900 200 1,2 >"$TMP/long.jsonl"
long() { run "$@" --input "$TMP/long.jsonl" --block-size 512; }
refused() { # NAME WHY OPTION...
    name=$1 why=$2
    shift 2
    long "$name" "$@"
    stderr_like 'is the reason' "^note       1 request refused: longer than the $why\$"
    is 'it is counted' "$(json "$TMP/s.json" '.serving | .too_long, .stuck')" '1 0'
}
refused 'the blocks' '1008 tokens that the GPU holds' --cache vllm --gpu-mem 128MiB
refused 'a setting' '1099 tokens of max_model_len' --cache vllm:max_model_len=1099
refused 'a prompt in one step' '1099 tokens of a step' --cache vllm:enable_chunked_prefill=no,max_num_batched_tokens=1099
long 'just enough' --cache vllm:enable_chunked_prefill=no,max_num_batched_tokens=1100,max_model_len=1100
is 'is served' "$(json "$TMP/s.json" '.requests.completed, .serving.too_long')" '1 0'
refused 'a node that prefills' '896 tokens that the GPU holds' --cache vllm --gpu-mem 114MiB --prefill-only
long 'and makes one token' --cache vllm --gpu-mem 116MiB --prefill-only
is 'has no need of room for the others' "$(json "$TMP/s.json" '.requests | .completed, .generated_tokens')" '1 1'

# ---- a request that is preempted ----

# Two answers of 300 tokens behind 480, of which 79 blocks hold 624 tokens each: the second gives way at its 145th token, and waits
# for the end of the first, some half of its time. A bug looked like none of it, where outputs are told a step later.
{ request 0 480 300 1 && request 0 480 300 2; } >"$TMP/two.jsonl"
for async in yes no; do
    run "asynchronous: $async" --cache vllm:async_scheduling=$async --gpu-mem 160MiB --cpu-mem 0 --input "$TMP/two.jsonl" --block-size 512
    is 'one gives way' "$(json "$TMP/s.json" .serving.preemptions)" 1
    each=$(awk -F, '$6 == "Decode" { us = us && us < $13 ? us : $13 } END { print us / 3e8 }' "$TMP/t.csv") # seconds a token, of the first
    is 'until the first has ended' "$(jq --argjson each "$each" '.serving.request_time.preempted.s / $each | . > 152 and . < 164' "$TMP/s.json")" true
done
done_testing
