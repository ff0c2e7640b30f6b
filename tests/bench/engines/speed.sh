#!/bin/sh
# speed.sh [KVGEN...] - what the simulation of one vLLM engine takes without rows, of each kvgen in turn (that of the build):
# Mooncake's first 4,000 conversations in blocks of 16 and of 512 tokens, on four H100 with 60 GiB of cache each and 1 TiB of
# host memory; the same with the tiers that kvgen takes by itself, which they overload; and users who chat, CHAT requests
# (20,000) of USERS (2,000). A line each: CPU seconds, ms a request, blocks computed, the most memory, and of that the bytes
# for each block of files, which are the most. ROUNDS (1) repeats all. Prints; judges nothing. BUILD: the folder of the build
# (build). bench_kvgen_caches has the caches alone, engine-caches.sh the others.
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/../../.." && pwd)
trace=$top/../shared/traces/mooncake_conversation_first4000.jsonl.zst
[ $# -gt 0 ] || set -- "${BUILD:-$top/build}/bin/kvgen"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -r "$scratch"' EXIT

# measure NAME OPTIONS...: of $kvgen
measure() {
    name=$1
    shift
    env time -f '%U %S %M' -o "$scratch/time" "$kvgen" --gpu-profile h100 -o none --progress none \
        --summary "$scratch/s.json" "$@" 2>"$scratch/err" || {
        cat "$scratch/err"
        exit 1
    }
    jq -r '"\(.requests.completed) \(.cache.computed_blocks) \(.cache.tiers[2].stored)"' "$scratch/s.json" |
        paste -d ' ' "$scratch/time" - |
        awk -v name="$name" '{ printf "%-22s %7d requests %7.2f s %7.3f ms a request %9d blocks %5d MiB %4d bytes a block\n",
            name, $4, $1 + $2, ($1 + $2) * 1000 / $4, $5, $3 / 1024, $3 * 1024 / $6 }'
}

round=0
while [ $round -lt "${ROUNDS:-1}" ]; do
    round=$((round + 1))
    for kvgen in "$@"; do
        [ $# = 1 ] || echo "$kvgen:"
        if [ -r "$trace" ]; then
            for block in 16 512; do
                measure "mooncake, blocks of $block" --input "$trace" --cache "vllm:block_size=$block" \
                    --tensor-parallel 4 --gpu-mem 60GiB --cpu-mem 1TiB
            done
            measure 'mooncake, overload' --input "$trace" --cache vllm
        fi
        measure chat --population chat --num-users "${USERS:-2000}" --max-requests "${CHAT:-20000}" --duration 0 \
            --cache vllm
    done
done
