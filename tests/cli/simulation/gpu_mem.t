#!/bin/sh
# --gpu-mem auto: what an engine leaves for its cache, 92 % of the GPU's memory less the weights and 2 GB; --weights: what
# these take, also in the time of a step. A bug looked like a cache that lay where the weights are, or a model that no GPU
# holds and that was simulated all the same.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

auto() { # OPTION...: a run with --gpu-mem auto
    exits "auto" 0 "$BIN/kvgen" --cache vllm --gpu-mem auto --users 1 --max-requests 1 --duration 0 \
        --summary "$TMP/auto.json" -o none "$@"
}
auto --model llama3.1-8b --gpu-profile h100
stderr_like "says what it is" '--gpu-mem: auto: 51\.7 GiB of each GPU for the cache; the weights take 16\.1 GB, 2 GB are for'
json_like "$TMP/auto.json" <<'EOF'
it is the tier's | .tiers[0].capacity_bytes / 1e8 | round | 555
and the engine's | .cache.tiers[0].room | . / 100 | round | 265
EOF
auto --model llama3.1-8b --gpu-profile h100 --weights fp8
stderr_like "weights of one byte" 'auto: 59\.2 GiB .* the weights take 8\.0 GB'
json_like "$TMP/auto.json" <<'EOF'
a step reads half as much | .step_time.weights_always_bytes | 6979321856
EOF
models=$DATA/models
auto --model "$models/gpt-oss-120b.json" --gpu-profile h100
stderr_like "weights as the checkpoint has them" 'auto: .* the weights take 65\.[0-9] GB'
auto --model "$models/qwen3-8b-fp8.json" --gpu-profile h100 --weights bf16
stderr_like "unless they are said to have another type" 'auto: .* the weights take 16\.[0-9] GB'
sed 's/"quant_method": "fp8"/"quant_method": "vptq"/; /vocab_size/s/vocab_size/words/' "$models/qwen3-8b-fp8.json" >"$TMP/vptq.json"
auto --model "$TMP/vptq.json" --gpu-profile h100
stderr_like "tells what is not known of weights" "quantization_config: the size of weights by 'vptq' is not known: 16 bits"
stderr_like "and of the output head" 'vocab_size: missing: the output head counts nothing'
auto --model llama3.1-70b-instruct --gpu-profile h100 --tensor-parallel 4
stderr_like "a part of the weights on each GPU" 'auto: 33\.8 GiB of each GPU .* the weights take 35\.3 GB'
auto --model llama3.1-8b
stderr_like "an H100 where nothing is said" 'auto: 51\.7 GiB'

refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "and says why" "$why"
}
refused "what does not fit" 'gpu-mem: auto: the weights take 141\.1 GB of each GPU, and 73\.6 GB of h100 are to be used: take more' \
    --cache vllm --gpu-mem auto --model llama3.1-70b-instruct --gpu-profile h100
refused "no profile" 'gpu-mem: auto: needs --gpu-profile' --gpu-mem auto
refused "another word" "gpu-mem: 'most' is not a size .* or auto" --gpu-mem most
refused "weights of no engine" 'weights: applies only to a simulated serving engine: --gpu-profile, or --cache vllm' --weights fp8
printf '{"name": "mine", "bf16_tflops": 100, "link_gb_s": 50, "hbm_tb_s": 1}\n' >"$TMP/gpu.json"
refused "a GPU of unknown memory" 'auto: mine does not tell how much memory it has' \
    --cache vllm --gpu-mem auto --gpu-profile "$TMP/gpu.json"
done_testing
