#!/bin/sh
# Models with windows under --cache vllm: each kind of layer is a group of its own, whose blocks have the same size and lie
# in one pool. Keys tell the group; a window's blocks go when no token looks at them any more; a conversation finds what all
# groups have; three tiers of kvreplay hold the rows, and kvstat reports them. Of a population, and of a recorded input. What
# no rule is known for is refused. A bug looked like layers that took room for tokens that they do not look at, or hits of
# one group alone.
# builds: plain (small_loads.t runs its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

models=$DATA/models
windowed() { # CACHE MODEL.json OPTION...
    cache=$1 model=$2
    shift 2
    told "$BIN/kvgen" --cache "$cache" --model "$model" --seed 3 --progress none --summary "$TMP/s.json" \
        -o "$TMP/w.csv" "$@"
}
groups() { grep -o '@g[0-9]*,' "$TMP/w.csv" | tr -d '@g,' | sort -u | tr '\n' ' '; }
# keys OPERATION TIER: rows of the first group, and of the second.
keys() { grep -c ",$1,.*,$2,.*@g0," "$TMP/w.csv"; grep -c ",$1,.*,$2,.*@g1," "$TMP/w.csv"; }

# gpt-oss: 18 layers of each kind, windows of 128 tokens: two groups. With one head, so that a replay has less to move.
jq '.num_key_value_heads = 1' "$models/gpt-oss-120b.json" >"$TMP/one_head.json"
windowed vllm:block_size=64 "$TMP/one_head.json" --users 4 --max-requests 20 --duration 0 --config input_len=1500 --gpu-mem 48MiB \
    --cpu-mem 48MiB --storage-capacity 512MiB
is "the groups" "$(groups)" "0 1 "
json_like "$TMP/s.json" <<'EOF'
something was found | .cache.tokens.hit_rate > 0 | true
EOF
ok "windows keep fewer blocks" test "$(($(keys Write Tier-0 | tail -n 1) * 3))" -lt "$(keys Write Tier-0 | head -n 1)"
ok "but some" test "$(keys Write Tier-0 | tail -n 1)" -gt 0
is "all blocks have one size" "$(awk -F, '$4 == "Tier-0" && $2 == "Write" { print $3 }' "$TMP/w.csv" | sort -u | wc -l)" 1
exits "a replay" 0 "$BIN/kvreplay" --timing asap --verify full --gpu-mem 48MiB --cpu-mem 48MiB --target "$TMP/kv" \
    -o "$TMP/result.csv" "$TMP/w.csv"
stderr_like "every copy was there" 'all ok$'
ok "a report" sh -c "'$BIN/kvstat' --json '$TMP/result.csv' >'$TMP/stat.json'"
json_like "$TMP/stat.json" <<'EOF'
it counts look-ups | .cache.lookups.all.hits > 0 | true
EOF

# gemma-3-27b: 10 layers look at all tokens, 52 at windows: seven groups of ten.
windowed vllm "$models/gemma-3-27b.json" --input "$DATA/mooncake_first200.jsonl" --max-requests 40 --gpu-mem 64GiB --cpu-mem 8GiB
is "a recorded input" "$(groups)" "0 1 2 3 4 5 6 "
json_like "$TMP/s.json" <<'EOF'
all were served | .requests.completed | 40
EOF

refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "and says why" "$why"
}
refused "a state" 'has layers with a state' --cache vllm --params 1e9 --model "$models/jamba-v0.1.json"
refused "another engine" 'lmcache does not simulate layers with a window' --cache lmcache --model "$models/gpt-oss-120b.json"
done_testing
