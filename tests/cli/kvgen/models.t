#!/bin/sh
# models.t - the sizes of published models, and the objects that follow from them.
#
# tests/data/models/table.tsv says for each config.json how many bytes its keys and values take, how many its state,
# and by which arithmetic on the file's fields; the shell does the arithmetic. Refused models name their field. A bug
# looked like a model whose layers without attention, shared caches or windows were counted as full layers, like a
# model that was refused for a harmless key, or like a state counted for each token.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
models=$DATA/models

accepted=0
tab=$(printf '\t')
while IFS="$tab" read -r file tokens kv state why; do
    case $file in '#'*) continue ;; esac
    status=0
    "$BIN/kvgen" --model "$models/$file.json" --show-model >"$TMP/shown" 2>"$TMP/error" || status=$?
    if [ "$kv" = refused ]; then
        is "$file is refused" "$status" 2
        like "$file: the field is named ($why)" "$(cat "$TMP/error")" "^kvgen: .*$file.json: $state: .+"
        continue
    fi
    accepted=$((accepted + 1))
    is "$file: ${why:-layers x heads x width}" \
        "$(json "$TMP/shown" ".bytes_by_tokens.\"$tokens\", .state_bytes")" \
        "$(eval "echo \$(($kv)) \$(($state))")"
done <"$models/table.tsv"
ok "most are accepted ($accepted)" test "$accepted" -ge 40

# ---- current models, by part ----

# tests/data/models/current.tsv says what each part of a published configuration takes; the configurations stand one a
# line in current.jsonl. Nothing is told of a harmless key. A bug looked like a part that was left out, a type that was
# not the one stated, or a model that was refused, or remarked on, for a key that has nothing to do with the cache.
awk -F"$tab" '/^#/ {next} $1 != "\"" {name = $1} {n[name]++} END {for (name in n) print name, n[name]}' \
    "$models/current.tsv" >"$TMP/parts"
jq -r '.name, (.config | tostring)' "$models/current.jsonl" | awk -v folder="$TMP" '
    NR % 2 == 1 { file = folder "/" $0 ".json"; next }
    { print >file; close(file) }'
shown=0
while IFS="$tab" read -r model part bytes type window source why; do
    case $model in
        '#'*) continue ;;
        '"') number=$((number + 1)) ;;
        *)
            name=$model number=0 status=0
            "$BIN/kvgen" --model "$TMP/$name.json" --show-model >"$TMP/shown" 2>"$TMP/error" || status=$?
            like "$name: its source is named" "$source" '^config.json of [^ ]*/'
            if [ "$part" = refused ]; then
                like "$name is refused ($why)" "$status $(cat "$TMP/error")" "^2 kvgen: .*/$name.json: $bytes: .+"
                continue
            fi
            shown=$((shown + 1))
            is "$name: nothing is told of its keys" "$status$(cat "$TMP/error")" 0
            is "$name: its parts" "$name $(json "$TMP/shown" '.parts | length')" "$(grep "^$name " "$TMP/parts")"
            ;;
    esac
    [ "$part" = refused ] && continue
    [ "$window" = - ] && window=null
    is "$name: $part${why:+ ($why)}" \
        "$(json "$TMP/shown" ".parts[$number] | .part, .bytes, .type, .window")" "$part $(eval "echo \$(($bytes))") $type $window"
done <"$models/current.tsv"
ok "there are 60 of them ($shown)" test "$shown" -ge 60

# Figures that were wrong once, as numbers.
while read -r file tokens bytes; do
    "$BIN/kvgen" --model "$models/$file.json" --show-model >"$TMP/shown"
    is "$file at $tokens tokens" "$(json "$TMP/shown" ".bytes_by_tokens.\"$tokens\"")" "$bytes"
done <<'END'
minimax-m1 1024 41943040
step-3 1024 63963136
kimi-linear-48b 1024 8257536
lfm2-1.2b 1024 12582912
llama-3.2-11b-vision 1024 134217728
deepseek-v3.2 1024 80203776
command-r7b 131072 4697620480
END

"$BIN/kvgen" --model "$models/jamba-v0.1.json" --show-model >"$TMP/shown"
is "--show-model counts layers by what they keep" \
    "$(json "$TMP/shown" '.layers, .kv_layers, .windowed_layers, .state_layers')" '32 4 0 28'

# ---- --force-model ----

jq '. + {kv_share_map: [1]}' "$models/llama-3.1-8b.json" >"$TMP/unread.json"
exits "a key that is not known passes" 0 "$BIN/kvgen" --model "$TMP/unread.json" --show-model
is "as if it were not there, and is named" "$(json "$TMP/stdout" '.bytes_per_token, .unread[]')" '131072 kv_share_map'
stderr_like "on standard error, too" 'unread.json: kv_share_map is not read, although its name is about the cache'
mkdir "$TMP/target"
jq '.num_hidden_layers = 1' "$TMP/unread.json" >"$TMP/one_layer.json"
exits "kvprecond takes it" 0 "$BIN/kvprecond" --mode kv --size 8M --model "$TMP/one_layer.json" "$TMP/target"
stderr_like "and names it" '^kvprecond: .*one_layer.json: kv_share_map is not read'
jq '. + {mb_per_layer: 2, loop_num: 2}' "$models/llama-3.1-8b.json" >"$TMP/new.json"
exits "keys that change the cache and are not read are refused" 2 "$BIN/kvgen" --model "$TMP/new.json" --show-model
stderr_like "all with their names, and the way out" 'new.json: mb_per_layer, loop_num: they change the cache.*--force-model'
exits "--force-model takes them" 0 "$BIN/kvgen" --model "$TMP/new.json" --force-model --show-model
is "as if they were not there" "$(json "$TMP/stdout" .bytes_per_token)" 131072
like "and says what it assumed" "$(json "$TMP/stdout" .assumed)" 'mb_per_layer, loop_num: .*assumed: they change nothing'
stderr_like "on standard error, too" '^kvgen: .*new.json: --force-model: mb_per_layer, loop_num: .*assumed: they change nothing'
exits "--force-model with a built-in model is refused" 2 "$BIN/kvgen" --model tiny-1b --force-model --show-model
exits "kvprecond refuses them too" 2 "$BIN/kvprecond" --mode kv --size 1G --model "$TMP/new.json" "$TMP/target"
stderr_like "with the names" 'mb_per_layer, loop_num'

# ---- ranks ----

# 6,012 tokens x 32 layers x keys and values of one head of 128 in 16 bits.
first_write() { # OPTIONS...: the size of the first Write of the model with 8 heads
    "$BIN/kvgen" -m llama3.1-8b --num-users 1 --duration 2 -o - "$@" 2>"$TMP/said" | awk -F, '$2 == "Write" {print $3; exit}'
}
is "16 ranks for 8 heads: one head each" "$(first_write --num-gpus 16 --tensor-parallel 16)" 98500608
like "and a line says so" "$(cat "$TMP/said")" '--tensor-parallel: 16 ranks for 8 heads .*each rank keeps one whole head'
is "with --compat mlperf they are divided" "$(first_write --num-gpus 16 --tensor-parallel 16 --compat mlperf)" 49250304
like "and a line says that" "$(cat "$TMP/said")" '--tensor-parallel: 16 ranks for 8 heads .*divided evenly'
is "8 ranks" "$(first_write --num-gpus 8 --tensor-parallel 8)" 98500608
is "without a line" "$(grep -c 'heads of keys' "$TMP/said")" 0
is "pipeline stages divide the layers: 11 of 32" "$(first_write --num-gpus 3 --config pipeline_parallel=3)" $((6012 * 11 * 4096))
is "context ranks divide the tokens" "$(first_write --num-gpus 8 --config context_parallel=8)" $((752 * 131072))
is "all three" "$(first_write --num-gpus 64 --tensor-parallel 4 --config pipeline_parallel=4 --config context_parallel=4)" \
    $((1503 * 131072 / 16))
jq '. + {mapping: {tp_size: 2, pp_size: 4}}' "$models/llama-3.1-8b.json" >"$TMP/mapped.json"
is "the file's mapping divides, too" "$(first_write --num-gpus 8 --model "$TMP/mapped.json")" $((6012 * 131072 / 8))
is "an option wins" "$(first_write --num-gpus 8 --model "$TMP/mapped.json" --tensor-parallel 1)" $((6012 * 131072 / 4))
exits "as many GPUs are needed" 2 "$BIN/kvgen" --model "$TMP/mapped.json" --num-gpus 4 -o none --num-users 1
stderr_like "and the message counts them" '^kvgen: --config pipeline_parallel: 8 ranks need as many GPUs, --num-gpus is 4'
exits "no prefill times with stages" 2 "$BIN/kvgen" --gpu-profile h100 --config pipeline_parallel=2 -o none

# ---- objects ----

# A small hybrid: 2 layers with keys and values (2,048 bytes a token together), 6 with a state of 10,240 bytes.
cat >"$TMP/hybrid.json" <<'END'
{"num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64, "hidden_size": 256,
 "attn_layer_period": 4, "attn_layer_offset": 1, "mamba_d_state": 7, "mamba_d_conv": 4, "mamba_expand": 2}
END
jq '{num_hidden_layers: 2, num_attention_heads, num_key_value_heads, head_dim, hidden_size}' "$TMP/hybrid.json" >"$TMP/plain.json"
"$BIN/kvgen" --model "$TMP/hybrid.json" --show-model >"$TMP/shown"
is "bytes a token and of the state" "$(json "$TMP/shown" .bytes_per_token,.state_bytes)" '2048 61440'
state=61440
run() { # MODEL OPTIONS...
    model=$1
    shift
    told "$BIN/kvgen" --model "$TMP/$model.json" "$@"
}
difference() { # HYBRID PLAIN: by how much the sizes of their rows differ
    paste -d, "$1" "$2" | awk -F, 'NR > 1 && $4 != "" {print $3 - $(NF / 2 + 3)}' | sort -nu | tr '\n' ' '
}

set -- --num-users 5 --duration 20 --seed 1 --generation-mode fast
for model in hybrid plain; do run $model "$@" -o "$TMP/$model.csv"; done
is "as many rows with a state as without" "$(lines "$TMP/hybrid.csv")" "$(lines "$TMP/plain.csv")"
is "each object of a sequence has the state once" "$(difference "$TMP/hybrid.csv" "$TMP/plain.csv")" "$state "

for model in hybrid plain; do run $model "$@" --granularity block:256 -o "$TMP/$model.csv"; done
is "of an entry in blocks, the first one" "$(paste -d, "$TMP/hybrid.csv" "$TMP/plain.csv" |
    awk -F, 'NR > 1 && $4 != "" {print $5 ~ "/0$", $3 - $(NF / 2 + 3)}' | sort -u | tr '\n' ';')" "0 0;1 $state;"

trace=$DATA/mooncake_first200.jsonl
for model in hybrid plain; do run $model --input "$trace" -o "$TMP/$model.csv"; done
jq -r '.hash_ids[0]' "$trace" | sort -u >"$TMP/first"
is "of a request in blocks, the first one" "$(paste -d, "$TMP/hybrid.csv" "$TMP/plain.csv" |
    awk -F, 'FNR == NR {first["block_" $1] = 1; next}
        FNR > 1 && $4 != "" {print ($5 in first) + 0, $3 - $(NF / 2 + 3)}' "$TMP/first" - | sort -u | tr '\n' ';')" "0 0;1 $state;"

for model in hybrid plain; do run $model --input "$trace" --num-gpus 4 --tensor-parallel 4 -o "$TMP/$model.csv"; done
is "--tensor-parallel divides it, too" "$(difference "$TMP/hybrid.csv" "$TMP/plain.csv")" "0 $((state / 4)) "

for model in hybrid plain; do run $model --input "$trace" -z -o "$TMP/$model.csv.zst"; done
provenance "$TMP/hybrid.csv.zst" >"$TMP/hybrid.provenance"
provenance "$TMP/plain.csv.zst" >"$TMP/plain.provenance"
is "the provenance has the state" "$(json "$TMP/hybrid.provenance" .model.state_bytes)" "$state"
is "and no such member without one" "$(json "$TMP/plain.provenance" .model.state_bytes)" null
# Names that are nearly right.
exits 'a model that is none' 2 "$BIN/kvgen" --model llama3.1-8 -o none
stderr_like 'and what may be meant' '^kvgen: llama3.1-8: unknown model; did you mean llama3.1-8b[?]'
is 'the instruct model, without its kind' "$("$BIN/kvgen" --model llama3.1-70b --show-model)" \
    "$("$BIN/kvgen" --model llama3.1-70b-instruct --show-model)"
exits 'a source that is none' 2 "$BIN/kvgen" --source mooncak -o none
stderr_like 'and the source that may be meant' 'did you mean mooncake[?]'
exits 'a format that is none' 2 "$BIN/kvgen" --format mlperff -o none
stderr_like 'and the format that may be meant' 'did you mean mlperf[?]'
exits 'a profile that is none' 2 "$BIN/kvstat" --profile latancy /dev/null
stderr_like 'and the profile that may be meant' 'did you mean latency[?]'
exits 'a tier model that is none' 2 "$BIN/kvgen" --tier-model 2=nvme-gen6 -o none
stderr_like 'and the tier model that may be meant' 'did you mean nvme-gen4[?]'

# ---- the list ----
cat >"$TMP/mine.yaml" <<'END'
model_configs:
  llama3.1-8b:
    name: mine
    num_layers: 2
    hidden_dim: 64
    num_heads: 2
    kv_heads: 2
    dtype: float16
END
"$BIN/kvgen" --list-models >"$TMP/built-in"
"$BIN/kvgen" --config "$TMP/mine.yaml" --list-models >"$TMP/listed"
is 'a model of the configuration takes the place of the built-in one' "$(awk '$1 == "llama3.1-8b" {print $2, $3, $4}' "$TMP/listed")" \
    'mha 2 512'
is 'all others are listed as before' "$(grep -v '^llama3.1-8b ' "$TMP/listed")" "$(grep -v '^llama3.1-8b ' "$TMP/built-in")"
if [ -c /dev/full ]; then
    for option in '--list-models' '--model tiny-1b --show-model'; do
        with "$option" "$BIN/kvgen" >/dev/full 2>"$TMP/err"
        is "$option on a full device" "$? $(cat "$TMP/err")" '1 kvgen: standard output: cannot write: No space left on device'
    done
fi
done_testing
