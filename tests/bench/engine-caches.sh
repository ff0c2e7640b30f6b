#!/bin/sh
# engine-caches.sh [TRACE] - what each cache makes of the first 4,000 requests of Mooncake's conversations: three sizes of
# host memory, files without a limit, Llama 3.1 8B on one engine of four H100 with 60 GiB of cache each, in blocks of 128
# tokens (KVTRACE_BLOCK). A line each: where the tokens of the prompts were found, GiB
# of all ranks that came into host memory from above, were loaded to the GPU from below, and left host memory, what was
# written to files a generated token, how much of what was stored below the GPU was never read again, the time to the first
# token, and the processor's time of kvgen. Prints; judges nothing. BUILD: the folder of the build (build).
set -e
top=$(cd "$(dirname "$0")/../.." && pwd)
kvgen=${BUILD:-$top/build}/bin/kvgen
block=${KVTRACE_BLOCK:-128}
trace=${1:-$top/../shared/traces/mooncake_conversation_first4000.jsonl.zst}
[ -r "$trace" ] || { echo "$0: $trace is not there: name a trace of Mooncake's conversations" >&2; exit 2; }
scratch=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -r "$scratch"' EXIT

# What leaves host memory is dropped; under the waterfall it falls, too. Bytes are of one of 4 ranks.
cat >"$scratch/columns.jq" <<'EOJ'
def percent($n; $of): ($n / $of * 1000 | round / 10 | tostring) + "%";
def gib: . * 4 / 1073741824 | round | tostring;
def rows($op; $tier; $phase): [.rows_by[] | select(.op == $op and .tier == $tier and .phase == $phase) | .bytes] | add // 0;
def seconds: . / 10 | round / 100 | tostring | . + "s";
.requests.context_tokens as $all | .requests.generated_tokens as $generated
| (.cache.tokens | [.gpu, .host, .storage]) as $found | .cache.tiers as $t | $t[1:] as $below
    | {found: $found, stored: $t[1].stored_bytes, loaded: ($t[0].came_up * $t[0].copy_bytes),
       left: ($t[1].dropped * $t[1].copy_bytes + rows("Read"; "Tier-1"; "Evict")), files: $t[2].stored_bytes,
       vain: percent($below | map(.never_read + .unread) | add; $below | map(.stored) | add)} + {ttft: .prefill.first_token_ms.all}
| [$cache, $host, percent(.found[0]; $all), percent(.found[1]; $all), percent(.found[2]; $all), percent($all - (.found | add); $all),
   (.stored | gib), (.loaded | gib), (.left | gib), (.files * 4 / $generated / 1024 | round | tostring) + "KiB", .vain,
   (.ttft.p50 | seconds), (.ttft.p95 | seconds), $cpu + "s"] | join(" ")
EOJ

# A table of lines of words.
table() {
    awk '{ printf "%-25s %-8s %6s %6s %6s %8s %8s %8s %8s %9s %10s %8s %8s %7s\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
        $13, $14 }'
}
echo cache host GPU host files computed stored loaded left to-files never-read TTFT-p50 TTFT-p95 CPU | table
for host in ${KVTRACE_HOSTS:-64GiB 256GiB 1024GiB}; do
    for cache in waterfall vllm vllm:eviction_policy=arc lmcache lmcache-mp sglang copies; do
        case $cache in
        sglang) with=$cache:page_size=$block ;;
        *:*) with=$cache,block_size=$block ;;
        *) with=$cache:block_size=$block ;;
        esac
        LC_ALL=C env time -f '%U' -o "$scratch/time" "$kvgen" --cache "$with" --input "$trace" --tensor-parallel 4 \
            --gpu-profile h100 --gpu-mem 60GiB --cpu-mem "$host" --tier-model 2=nvme-gen5 --progress none \
            --summary "$scratch/s.json" -o none 2>/dev/null
        jq -r -f "$scratch/columns.jq" --arg cache "$cache" --arg host "$host" --arg cpu "$(cat "$scratch/time")" \
            "$scratch/s.json" | table
    done
done
