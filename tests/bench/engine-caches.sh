#!/bin/sh
# engine-caches.sh [TRACE] - what each engine's cache makes of the first 4,000 requests of Mooncake's conversations: three
# sizes of host memory, files without a limit, Llama 3.1 8B on one engine of four H100 with 60 GiB of cache each, in blocks
# of 128 tokens. A line each: where the tokens of the prompts were found, what was stored, how much of that was never read,
# the time to the first token, and how long kvgen took. Prints; judges nothing. BUILD: the folder of the build (build).
set -e
top=$(cd "$(dirname "$0")/../.." && pwd)
kvgen=${BUILD:-$top/build}/bin/kvgen
trace=${1:-$top/../shared/traces/mooncake_conversation_first4000.jsonl.zst}
[ -r "$trace" ] || { echo "$0: $trace is not there: name a trace of Mooncake's conversations" >&2; exit 2; }
json=$(mktemp)
trap 'rm -f "$json"' EXIT

printf '%-24s %-8s %7s %7s %7s %9s %9s %11s %9s %9s %7s\n' cache host GPU host files computed 'stored' 'never read' \
    'TTFT p50' 'TTFT p95' kvgen
for host in 64GiB 256GiB 1024GiB; do
    for cache in vllm vllm:eviction_policy=arc lmcache lmcache-mp sglang copies; do
        case $cache in
        sglang) blocks=$cache:page_size=128 ;;
        *:*) blocks=$cache,block_size=128 ;;
        *) blocks=$cache:block_size=128 ;;
        esac
        "$kvgen" --cache "$blocks" --input "$trace" --tensor-parallel 4 --gpu-mem 60GiB --cpu-mem "$host" \
            --tier-model 2=nvme-gen5 --progress none --summary "$json" -o none 2>/dev/null
        jq -r --arg cache "$cache" --arg host "$host" '
            def percent($n): ($n / (.cache.tokens | .gpu + .host + .storage + .computed) * 1000 | round / 10 | tostring) + "%";
            def below: [.cache.tiers[] | select(.tier != "Tier-0")];
            [$cache, $host, percent(.cache.tokens.gpu), percent(.cache.tokens.host), percent(.cache.tokens.storage),
             percent(.cache.tokens.computed),
             ((below | map(.stored_bytes) | add) * 4 / 1099511627776 * 100 | round / 100 | tostring) + "TiB",
             ((below | map(.never_read + .unread) | add) / (below | map(.stored) | add) * 100 | round | tostring) + "%",
             (.prefill.first_token_ms.all.p50 / 1000 * 100 | round / 100 | tostring) + "s",
             (.prefill.first_token_ms.all.p95 / 1000 * 100 | round / 100 | tostring) + "s",
             (.trace.wall_s * 10 | round / 10 | tostring) + "s"] | @tsv' "$json" |
            while IFS='	' read -r a b c d e f g h i j k; do
                printf '%-24s %-8s %7s %7s %7s %9s %9s %11s %9s %9s %7s\n' "$a" "$b" "$c" "$d" "$e" "$f" "$g" "$h" "$i" "$j" "$k"
            done
    done
done
