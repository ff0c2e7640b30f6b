#!/bin/sh
# hf_quant_config.t - the type of a cache is read from an hf_quant_config.json beside a config.json, as vLLM does.
# A bug looked like an 8-bit cache of twice its size, or a file beside another model's that had a say.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

mkdir "$TMP/m"
config=$TMP/m/config.json
base='"model_type": "llama", "torch_dtype": "bfloat16", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "hidden_size": 256'
shows() { # NAME TYPE KEY
    "$BIN/kvgen" --model "$config" --show-model >"$TMP/shown"
    is "$1" "$(json "$TMP/shown" '.parts[0] | .type, .type_by')" "$2 $3"
}
beside() { printf '{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": %s}}\n' "$1" >"$TMP/m/hf_quant_config.json"; }

echo "{$base}" >"$config"
shows 'no such file' bfloat16 torch_dtype
beside '"FP8"'
shows 'it states the type' fp8 'hf_quant_config.json: quantization.kv_cache_quant_algo'
is 'its bytes' "$(json "$TMP/shown" '.parts[0].bytes')" 1024
beside null
shows 'it states none' bfloat16 torch_dtype
beside '"FP8"'
(cd "$TMP/m" && "$BIN/kvgen" --model config.json --show-model) >"$TMP/shown"
is 'in the present folder' "$(json "$TMP/shown" '.parts[0].type')" fp8
cp "$config" "$TMP/m/other.json"
"$BIN/kvgen" --model "$TMP/m/other.json" --show-model >"$TMP/shown"
is 'a file of another name is alone' "$(json "$TMP/shown" '.parts[0].type')" bfloat16
echo "{$base, \"quantization_config\": {\"quant_method\": \"fp8\"}}" >"$config"
shows 'a quantization_config comes first' bfloat16 torch_dtype
echo "{$base}" >"$config"
beside '"FP6"'
exits 'an unknown type: status 2' 2 "$BIN/kvgen" --model "$config" --show-model
stderr_like 'it is named' "config.json: .*quantization.kv_cache_quant_algo: 'FP6' is no type of a cache"
echo '{' >"$TMP/m/hf_quant_config.json"
exits 'no JSON: status 2' 2 "$BIN/kvgen" --model "$config" --show-model
stderr_like 'the file is named' '^kvgen: .*/hf_quant_config.json'
done_testing
