#!/bin/sh
# kvgen --cache ... -o none: nobody wants the rows, so the simulation only counts them. What it says of the run is, to the
# last figure, what it says when the rows are written; only how many rows it held is its own. For every engine's cache, with
# host memory and files that are too small for what comes, and for a run that is cut in the middle of its requests. A bug
# looked like a count that only came with the rows.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# figures FILE: a summary without what belongs to one run of the program: its words, its times, its trace.
figures() { jq -S 'del(.command, .started, .trace, .serving.held_rows)' "$1"; }

both() { # WHAT OPTION...
    what=$1
    shift
    told "$BIN/kvgen" --model tiny-1b --params 1e9 --seed 5 --users 6 --gpu-mem 128MiB --cpu-mem 96MiB --config input_len=500 \
        --tier-model 2=read:2GB/s,write:1GB/s,lat:80us --summary "$TMP/rows.json" -o "$TMP/rows.csv" "$@"
    told "$BIN/kvgen" --model tiny-1b --params 1e9 --seed 5 --users 6 --gpu-mem 128MiB --cpu-mem 96MiB --config input_len=500 \
        --tier-model 2=read:2GB/s,write:1GB/s,lat:80us --summary "$TMP/none.json" -o none "$@"
    figures "$TMP/rows.json" >"$TMP/rows"
    figures "$TMP/none.json" >"$TMP/none"
    ok "$what: the same figures" cmp "$TMP/rows" "$TMP/none"
    json_like "$TMP/rows.json" <<'EOF'
something was there to count | [.rows_by[].rows] | add > 2000 | true
rows wait for durations | .serving.held_rows > 0 | true
EOF
    json_like "$TMP/none.json" <<'EOF'
no row is held | .serving.held_rows | 0
EOF
}

for name in vllm vllm:offload_prompt_only=no,eviction_policy=arc,blocks_per_chunk=4 lmcache copies; do
    both "$name" --cache "$name" --storage-capacity 1GiB --max-requests 60 --duration 0
done
both sglang --cache sglang --storage-capacity 1GiB --max-requests 60 --duration 0
both lmcache-mp --cache lmcache-mp --max-requests 60 --duration 0
both "a full drive" --cache vllm --storage-capacity 96MiB --on-full evict --max-requests 60 --duration 0
both "a run that is cut" --cache vllm --storage-capacity 1GiB --duration 20
done_testing
