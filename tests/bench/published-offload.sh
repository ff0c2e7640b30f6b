#!/bin/sh
# published-offload.sh - kvgen's prediction beside published measurements of offloading keys and values, off and on:
# seconds to the first token, the error in percent, and the change by the lower tier. Judges nothing, tunes nothing: eta
# is 0.5 and t0 is 0, as unless given. What a source does not tell is assumed, and the assumption is printed.
# Sources: 1 agentic-kvc; 2 and 3 llm-d guide, tiered prefix cache, cpu; 4 the same, storage; 5 LMCache on GKE.
set -eu
export LC_ALL=C
BIN=${BIN:-build/bin}
DATA=${DATA:-tests/data}
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# sessions SESSIONS TURNS SHARED OWN OUT: closed loop; each asks TURNS times, with SHARED tokens in common and OWN new
# ones, in blocks of 256.
sessions() {
    rm -rf "$tmp/sessions"
    mkdir "$tmp/sessions"
    awk -v sessions="$1" -v turns="$2" -v shared="$3" -v own="$4" -v out="$5" -v dir="$tmp/sessions" 'BEGIN {
        for (s = 0; s < sessions; s++) {
            file = sprintf("%s/s%04d.json", dir, s)
            printf "{\"block_size\": 256, \"hash_id_scope\": \"local\", \"requests\": [" >file
            for (t = 0; t < turns; t++) {
                printf "%s{\"in\": %d, \"out\": %d, \"hash_ids\": [", t ? ", " : "", shared + own, out >file
                for (i = 0; i < int((shared + 255) / 256); i++) printf "%s%d", i ? ", " : "", i >file
                for (i = 0; i < int((own + 255) / 256); i++) printf ", %d", 1000000 + t * 1000 + i >file
                printf "]}" >file
            }
            print "]}" >file
            close(file)
        }
    }'
}
# prompts NUMBER TOKENS: that many prompts, one after the other, all of them twice.
prompts() {
    awk -v n="$1" -v tokens="$2" 'BEGIN {
        blocks = int((tokens + 511) / 512)
        for (k = 0; k < 2 * n; k++) {
            printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": 1, \"hash_ids\": [", k * 100000, tokens
            for (i = 0; i < blocks; i++) printf "%s%d", i ? ", " : "", (k % n) * blocks + i
            print "]}"
        }
    }' >"$tmp/prompts.jsonl"
}
# first_token FROM OPTIONS: mean seconds from a worker's first look at a request to the end of its prefill, of the
# requests from number FROM on. Who waits for one of the clients is not measured by them either.
first_token() {
    from=$1
    shift
    "$BIN/kvgen" --no-notes -o - --progress none "$@" 2>"$tmp/err" | awk -F, -v from="$from" '
        $7 >= from && !($7 in begin) {begin[$7] = $1}
        $2 == "Generate" && $6 == "Prefill" && $7 >= from {sum += $1 + $13 / 1e6 - begin[$7]; n++; delete begin[$7]; begin[$7] = 1e18}
        END {if (n) printf "%.4f", sum / n; else print "none"}'
    [ ! -s "$tmp/err" ] || grep -q '^requests' "$tmp/err" || cat "$tmp/err" >&2
}
row() { # NAME PREDICTED MEASURED
    awk -v name="$1" -v p="$2" -v m="$3" 'BEGIN {printf "  %-34s %9.3f s  measured %7.3f s  error %+5.0f %%\n", name, p, m, 100 * (p / m - 1)}'
}
# Changes of 2 % are told, of measured times, which have two digits, those of 10 %.
# change OFF ON MEASURED_OFF MEASURED_ON, or of the last two only their change in percent as "- PERCENT"
change() {
    awk -v a="$1" -v b="$2" -v ma="$3" -v mb="$4" 'function word(x, seen) {return x < -seen ? "gain" : x > seen ? "worse" : "no gain"}
        BEGIN {p = 100 * (b / a - 1); m = ma == "-" ? mb : 100 * (mb / ma - 1)
            printf "  %-34s %+8.1f %%: %-8s measured %+6.1f %%: %s\n", "change by the tier", p, word(p, 2), m, word(m, 10)}'
}
GB() { awk -v gb="$1" -v per="${2:-1}" 'BEGIN {printf "%.6f", gb * 1e9 / per / 1073741824}'; }

echo "1. one H20, Qwen3-Coder-30B-A3B, one request at a time, host link 54.4 GB/s"
echo "   assumed: the layers of Qwen3-30B-A3B; no time in host memory itself; 80 GB of KV"
for n in 1024 65536; do
    prompts 1 $n
    case $n in 1024) set -- 0.078 0.057 0.042 ;; *) set -- 15.2 0.272 0.111 ;; esac
    h20() { first_token "$@" --input "$tmp/prompts.jsonl" --model "$DATA/models/qwen3-30b-a3b-instruct-2507.json" \
        --gpu-profile h20:link_gb_s=54.4 --storage-capacity none; }
    row "$n tokens, computed" "$(h20 1 --max-requests 1 --gpu-mem 60)" "$1"
    row "$n tokens, from host memory" "$(h20 2 --gpu-mem 0 --cpu-mem 200)" "$2"
    row "$n tokens, from GPU memory" "$(h20 2 --gpu-mem 60 --cpu-mem 0)" "$3"
done

echo "2. 16 H100, Qwen3-32B, 8 engines of TP2, 24.3 GB of KV each; 45 groups of 10, prefix 30,000, 256 more, 1,024 out"
echo "   assumed: a group's requests follow each other, 45 groups side by side, each group on one engine by hash (the"
echo "   source routes by load and prefix); 100 GB of host memory for each engine; 50 GB/s to it; 30 ms a token"
group() { first_token 1 --input "$tmp/sessions" --users 45 --workers 45 --model qwen3-32b --tensor-parallel 2 --engines 8 \
    --gpu-profile h100:link_gb_s=50 --gpu-mem "$(GB 24.3 2)" --storage-capacity none "$@"; }
sessions 45 10 30000 256 1024
off=$(group --cpu-mem 0) on=$(group --cpu-mem "$(GB 800)")
row "off" "$off" 9.0
row "on" "$on" 6.7
change "$off" "$on" 9.0 6.7

echo "3. as 2, prefix 8,000, which fits into GPU memory"
sessions 45 10 8000 256 1024
off=$(group --cpu-mem 0) on=$(group --cpu-mem "$(GB 800)")
row "off" "$off" 0.12
row "on" "$on" 0.13
change "$off" "$on" 0.12 0.13

echo "4. 16 H100, Llama-3.3-70B, 4 engines of TP4, 55 GB of KV each, 320 GB of host memory; adds Lustre; 50 groups of 50,"
echo "   20 at once"
echo "   assumed: the layers of Llama 3.1 70B; groups side by side, each on one engine by hash; 256 more tokens, 256 out;"
echo "   320 GB in all; 50 GB/s to host memory; Lustre reads and writes 10 GB/s (not told; 5 and 20 beside it)"
lustre() { first_token 1 --input "$tmp/sessions" --users 50 --workers 20 --model llama3.1-70b --tensor-parallel 4 --engines 4 \
    --gpu-profile h100:link_gb_s=50 --gpu-mem "$(GB 55 4)" --cpu-mem "$(GB 320)" "$@"; }
for prefix in 50000 70000; do
    case $prefix in 50000) off_want=25.4 on_want=20.1 ;; *) off_want=58 on_want=45 ;; esac
    sessions 50 50 $prefix 256 256
    off=$(lustre --storage-capacity none)
    row "prefix $prefix, off" "$off" $off_want
    for speed in 5 10 20; do
        on=$(lustre --tier-model 2=read:${speed}GB/s,write:${speed}GB/s)
        row "prefix $prefix, on, $speed GB/s" "$on" $on_want
        change "$off" "$on" $off_want $on_want
    done
done

echo "5. 8 H100, Llama-3.3-70B, 1 TiB of memory, 5 TiB of SSD; prompts over a set of 4M or 13M tokens"
echo "   assumed: one engine of TP8 with 400 GB of KV; one request at a time; all prompts twice in the same order, the"
echo "   second time is measured; 50 GB/s to host memory; the SSD is a nvme-gen4 (6.8 GB/s)"
set_of() { first_token "$@" --input "$tmp/prompts.jsonl" --model llama3.1-70b --tensor-parallel 8 \
    --gpu-profile h100:link_gb_s=50 --gpu-mem "$(GB 400 8)"; }
while read -r million tokens measured; do
    number=$((million * 1000000 / tokens))
    prompts $number "$tokens"
    off=$(set_of $((number + 1)) --cpu-mem 0 --storage-capacity none)
    on=$(set_of $((number + 1)) --cpu-mem 1024 --storage-capacity 5120 --tier-model 2=nvme-gen4)
    printf '  %s M tokens, context %s: %.3f s without, %.3f s with\n' "$million" "$tokens" "$off" "$on"
    change "$off" "$on" - "$measured"
done <<'END'
4 50000 -68
4 100000 -79
13 10000 121
END
