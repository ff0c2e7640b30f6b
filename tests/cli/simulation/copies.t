#!/bin/sh
# Rows of an engine's cache are copies: what is read is there, what is written is not, the two rows of a copy follow each
# other, no tier has more than it can; and the summary says what the rows say. A bug looked like a load of what had been
# dropped, a store that was counted and not written, a tier without a limit that took all memory, or a request whose time did not add up.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
plan 9

for rule in seen tinylfu; do
    exits "$rule: admission to files without a limit" 0 "$BIN/kvgen" --cache copies:admission=$rule --model tiny-1b \
        --params 1e9 --users 1 --max-requests 2 --duration 0 --gpu-mem 1GiB --cpu-mem 1GiB --storage-capacity unlimited -o none
done
# A load takes the room of what leaves: the rows say so in that order.
told "$BIN/kvgen" --cache copies:block_size=512 --input "$DATA/mooncake_first200.jsonl" --model tiny-1b --params 1e9 \
    --gpu-mem 3GiB --cpu-mem 4GiB --no-notes --summary "$TMP/full.json" -o "$TMP/full.csv"
is 'a large load into a full GPU' "$(python3 "$TOP/tests/cli/simulation/copies.py" --rows "$TMP/full.csv" "$TMP/full.json")" held
# cut NAME OPTION...: a run that ends in the middle.
cut() {
    name=$1
    shift
    told "$BIN/kvgen" --model tiny-1b --params 1e9 --gpu-mem 2GiB "$@" --no-notes --summary "$TMP/cut.json" -o "$TMP/cut.csv"
    is "$name" "$(python3 "$TOP/tests/cli/simulation/copies.py" --rows "$TMP/cut.csv" "$TMP/cut.json")" held
}
cut 'a step that is cut: what begins with its outputs is no part of the run' --cache lmcache-mp:block_size=128,async_scheduling=no \
    --seed 6 --users 5 --duration 9s --cpu-mem 768MiB
cut 'a request with its last token is not in progress' --cache vllm:block_size=64,scheduler_reserve_full_isl=no --seed 403197 \
    --users 20 --duration 1s --cpu-mem 0 --storage-capacity none
cut 'a prefix whose begin is below the GPU' --seed 809415 --users 5 --duration 11s --cpu-mem 1GiB --config engine_order=priority \
    --prefill-only --cache copies:store=evicted,exclusive=yes,high=0.9,low=0.7,gpu_policy=arc,block_size=128 --gpu-mem 1GiB
windows() {
    cut "$@" --model "$DATA/models/gpt-oss-120b.json" --storage-capacity none
}
windows 'a copy that begins before a window: a load brings what the window needs' --seed 5 --users 5 --duration 60s \
    --cpu-mem 4GiB --cache vllm:blocks_per_chunk=4,block_size=64
windows 'blocks of an ended request that another takes as they are stored' --seed 952190 --gpu-mem 1GiB --cpu-mem 512MiB \
    --config engines=3 --config route=prefix --config engine_order=priority --prefill-only --input "$DATA/mooncake_first200.jsonl" --max-requests 100 \
    --cache vllm:blocks_per_chunk=4,sync_load_budget_bytes=64MiB,block_size=128
is 'random configurations: no difference' \
    "$(python3 "$TOP/tests/cli/simulation/copies.py" "$BIN/kvgen" "$DATA" "$TMP" 15)" '15 held'
