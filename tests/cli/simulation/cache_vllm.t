#!/bin/sh
# kvgen --cache: an engine that serves steps and keeps copies. Its digest is the same on every host; the waterfall's
# is as it was; what has no meaning is refused; 64 prompts where 7.6 fit hit nothing in their second round, and the
# summary says why; a trace runs through three tiers of kvreplay, every byte checked. A bug looked like an option that
# was ignored, hits that no engine would have, or a read of a copy that was not there.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

small() { told "$BIN/kvgen" --model tiny-1b --seed 3 --users 4 --max-requests 30 --duration 0 --gpu-mem 1GiB "$@"; }
digest() { sed -n 's/^trace .* digest //p' "$TMP/err"; }

# ---- digests ----
small --cache vllm --params 1e9 --cpu-mem 512MiB --storage-capacity 4GiB -o "$TMP/vllm.csv"
is "the digest" "$(digest)" 2e1b98f7530873f50f3a5bce1facc5b8
small --cache waterfall --no-notes -o "$TMP/waterfall.csv"
first=$(digest)
small --no-notes -o "$TMP/default.csv"
is "waterfall is the default" "$(digest)" "$first"
ok "every row of it" cmp "$TMP/waterfall.csv" "$TMP/default.csv"

# ---- the other caches ----
for name in lmcache lmcache-mp sglang copies; do
    exits "$name" 0 "$BIN/kvgen" --cache "$name" --model tiny-1b --params 1e9 --users 2 --max-requests 8 --duration 0 \
        --gpu-mem 1GiB --cpu-mem 512MiB -o "$TMP/other.csv"
    stderr_like "takes an H100, and says so" '^kvgen: --gpu-profile: not given: times are those of an H100 \(h100\)$'
    stderr_like "says how much it found" "^cache +$name( [0-9.]+)?: GPU [0-9.]+ %, host "
    exits "its help" 0 "$BIN/kvgen" --cache "$name:help"
    stdout_like "its settings" '^  [a-z_]+=[a-zA-Z0-9_.]+$'
done

# ---- what the host and the links take is told, as it is in force ----
small --cache vllm --params 1e9 --gpu-profile h100:load_overhead_ms=4 --summary "$TMP/4.json" -o none
small --cache vllm --params 1e9 --summary "$TMP/default.json" -o "$TMP/default.csv"
times='.step_time | [.t_host_ms, .host_ms, .host_token_us, .load_overhead_ms, .gpu_link_gb_s]'
is "by default" "$(jq -c "$times" "$TMP/default.json")" '[5,25,1.1,13,450]'
is "a load of another profile" "$(jq -c "$times" "$TMP/4.json")" '[5,25,1.1,4,450]'
is "in the trace, too" "$(head -2 "$TMP/default.csv" | grep -o '""load_overhead_ms"":[0-9.]*')" '""load_overhead_ms"":13'

# ---- words ----
exits "help" 0 "$BIN/kvgen" --cache vllm:help
stdout_like "the version" '^vllm 0\.33\.0: '
stdout_like "a default" '^  offload_prompt_only=yes$'
stdout_like "the scheduler's" '^  max_num_seqs='
refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "and says why" "$why"
}
refused "an unknown cache" '"vlm" is no cache .*did you mean vllm' --cache vlm
refused "another version" 'version 0\.9\.0 of vllm is not known' --cache vllm:version=0.9.0
refused "an unknown setting" 'no setting "eviction".*did you mean eviction_policy' --cache vllm:eviction=lru
refused "a bad choice" 'eviction_policy: "fifo" is not lru.arc' --cache vllm:eviction_policy=fifo
refused "a bad number" 'block_size: "0" is not' --cache vllm:block_size=0
refused "settings of waterfall" 'waterfall has no setting' --cache waterfall:a=b
refused "the waterfall's options" '--config eviction: does not apply with --cache' --cache vllm --config eviction=lfu
refused "a rate without an engine" '--prefill-rate: applies only to a simulated serving engine: --gpu-profile, or --cache' --prefill-rate 1000@2k
refused "a rate that no GPU has" '--prefill-rate: .* ms is not between' --cache vllm --prefill-rate 1e9@2k
refused "files without host memory" 'files below host memory' --cache vllm --cpu-mem 0
refused "a threshold with files" 'store_threshold only without files' --cache vllm:store_threshold=2
refused "a model with a state" 'layers with a state' --cache vllm --params 1e9 --model "$DATA/models/jamba-v0.1.json"
refused "the benchmark" 'does not apply with --compat mlperf' --cache vllm --compat mlperf

# ---- what a measured rate says ----
exits "a rate" 0 "$BIN/kvgen" --cache vllm --prefill-rate 31000tok/s@2k --config decode_rate=120@2k --max-requests 1 -o none
stderr_like "the share of the peak" 'prefill-rate: eta 0\.[0-9]+, from your 31000 tokens/s at 2000 tokens'
stderr_like "the share of the bandwidth" 'decode_rate: b 0\.[0-9]+, from your 120 tokens/s at 2000 tokens'

# ---- what comes in its time ----
exits "targets" 0 "$BIN/kvgen" --cache vllm --num-users 8 --duration 20 --config ttft_target=interactive=1s \
    --config ttft_target=batch=1ms --summary "$TMP/targets.json" -o none
stderr_like "their line" '^in time    .*batch 0\.0 % within 1\.00 ms$'
stderr_like "and the time per token" '^per token  p95 .*[0-9] ms batch$'
json_like "$TMP/targets.json" <<'EOF'
none of a class in 1 ms | .serving.goodput.batch.within_target | 0
no target | .serving.goodput.responsive.target_s | null
EOF

# ---- 64 prompts of 100,000 tokens where 7.6 fit, each again with 1,000 more ----
awk 'BEGIN {
    for (round = 0; round < 2; round++)
        for (i = 0; i < 64; i++) {
            ids = ""
            for (k = 0; k < (round ? 198 : 196); k++)
                ids = ids (k ? "," : "") (k < 195 ? i * 1000 + k : 100000 + i * 10 + k + round * 1000)
            printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": 64, \"hash_ids\": [%s]}\n",
                round ? 1 : 0, round ? 101000 : 100000, ids
        }
}' >"$TMP/overcommit.jsonl"
exits "overcommit" 0 "$BIN/kvgen" --cache vllm:block_size=512 --gpu-mem 93.125GiB --cpu-mem 0 --storage-capacity none \
    --input "$TMP/overcommit.jsonl" --summary "$TMP/over.json" -o none
stderr_like "its sentence" '^note +7\.5[0-9] prompts fit on the GPU, 128 were there: they push each other out$'
json_like "$TMP/over.json" <<'EOF'
no hit | .cache.tokens.hit_rate | 0
all computed | .cache.tokens.computed | 12864000
seven at once | .serving.running_peak | 7
the time adds up | [.serving.request_time[].share] | add | . * 1e6 | round | 1000000
EOF
exits "with host memory" 0 "$BIN/kvgen" --cache vllm:block_size=512 --gpu-mem 93.125GiB --cpu-mem 1024GiB \
    --storage-capacity none --input "$TMP/overcommit.jsonl" --summary "$TMP/host.json" -o none
json_like "$TMP/host.json" <<'EOF'
the second round hits in host memory | .cache.tokens.host / 64 | round | 99[0-9]{3}
EOF

# ---- a load that is larger than host memory: the engine brings its parts up in turn, for ever ----
exits "it ends" 0 "$BIN/kvgen" --model tiny-1b --params 1e9 --cache vllm --users 4 --max-requests 24 --duration 0 \
    --config input_len=700 --gpu-mem 128MiB --cpu-mem 96MiB --storage-capacity 1GiB -o none
stderr_like "and says so" '^note +[0-9]+ requests? waits? for ever, as in the engine: a load exceeds host$'

# ---- a replay ----
told "$BIN/kvgen" --model tiny-1b --params 1e9 --cache vllm --users 3 --max-requests 16 --duration 0 --config input_len=500 \
    --gpu-mem 128MiB --cpu-mem 96MiB --storage-capacity 1GiB -o "$TMP/small.csv"
is "every kind of copy" "$(awk -F, '$2 ~ /Read|Write/ {print $2, $4, $10}' "$TMP/small.csv" | sort -u |
    grep -cE '^(Read Tier-[01] store|Write Tier-[12] store|Read Tier-2 promote|Write Tier-1 promote|Write Tier-0 load)$')" 7
exits "a replay" 0 "$BIN/kvreplay" --timing asap --verify full --gpu-mem 128MiB --cpu-mem 96MiB \
    --target "$TMP/kv" -o "$TMP/result.csv" "$TMP/small.csv"
stderr_like "every copy was there" 'all ok$'
ok "a report" sh -c "'$BIN/kvstat' --json '$TMP/result.csv' >'$TMP/stat.json'"
hits=$(awk -F, '$2 == "Read" && $10 != "store" && $10 != "promote"' "$TMP/small.csv" | wc -l)
json_like "$TMP/stat.json" <<EOF
it counts what was looked up, and no copies | .cache.lookups.all.hits | $((hits))
EOF
done_testing
