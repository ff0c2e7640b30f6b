#!/bin/sh
# What takes many simulations, with loads that are over in a moment: answers about users, traces, agents and conversations, the
# worth of tiers, several engines, models with windows. What comes out is checked by answer.t, worth.t, engines.t and
# cache_windows.t, whose loads take a sanitizer minutes; here it only has to run. A bug looked like memory of one try that
# another one used.
# builds: address (its loads are too small for figures)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

runs() { # runs NAME OPTION...
    name=$1
    shift
    exits "$name" 0 "$BIN/kvgen" --progress none --summary "$TMP/summary.json" "$@"
}

# ---- answers ----

drive=read:7GB/s,write:5GB/s,lat:80us
answers() { # answers NAME OPTION...
    name=$1
    shift
    exits "$name" 0 "$BIN/kvgen" --answer "$TMP/answer.json" --model llama3.1-8b --cache vllm:block_size=64 \
        --storage-capacity 100GiB --tier-model 2=$drive "$@"
}
jq '.points[0].p95_us = 1234.5' "$DATA/drive_model.json" >"$TMP/drive.json"
users() {
    answers "$@" --population mlperf --config input_len=64 --config output_len=4 --gpu-profile h100:eta=0.01,eta_a=0.01,b=0.05 \
        --gpu-mem 1.5GiB --cpu-mem 512MiB --ttft 3s --tpot 1s --answer-window 1s
}
users 'users, with a window' --seeds 2 --config threads=2 --tbw 7000 -o "$TMP/window.csv.zst"
users 'users that were asked about' --seeds 1 --users 3 --price gpu=2/h,dram=0/h,nvme=0/h --tier-model "2=$TMP/drive.json" -o none
answers 'nobody, by memory' --seeds 1 --gpu-mem 1GiB --cpu-mem 20GiB -o none
answers 'nobody, by time' --seeds 1 --gpu-mem 20GiB --cpu-mem 20GiB --tpot 1ms -o none
awk 'BEGIN {
    for (i = 0; i < 200; i++)
        printf "{\"timestamp\": %d, \"input_length\": 1536, \"output_length\": 4, \"hash_ids\": [%d, %d, %d]}\n", i * 1000, 3 * (i % 60),
            3 * (i % 60) + 1, 3 * (i % 60) + 2
}' >"$TMP/trace.jsonl"
answers 'a trace' --input "$TMP/trace.jsonl" --gpu-profile h100:eta=0.05,eta_a=0.05 --gpu-mem 1.5GiB --cpu-mem 1GiB \
    --answer-window 5s --speed 2 -o "$TMP/window.csv.zst"
mkdir "$TMP/agents"
for session in 1 2 3; do
    awk -v s=$session 'BEGIN {
        printf "{\"block_size\": 64, \"requests\": ["
        for (i = 1; i <= 4; i++) {
            printf "%s{\"in\": %d, \"out\": 4, \"think_time\": 5, \"hash_ids\": [", i == 1 ? "" : ", ", i * 640
            for (b = 1; b <= i * 10; b++) printf "%s%d", b == 1 ? "" : ",", s * 1000 + b
            printf "]}"
        }
        print "]}"
    }' >"$TMP/agents/$session.json"
done
answers 'agents' --input "$TMP/agents" --gpu-profile h100:eta=0.05,eta_a=0.05 --users 2 --seeds 1 --gpu-mem 2GiB --cpu-mem 1GiB -o none
answers 'conversations' --input "$DATA/sharegpt_dummy_250.json.zst" --gpu-profile h100:eta=0.002,eta_a=0.002 --request-rate 0.1 \
    --seeds 1 --gpu-mem 2GiB --cpu-mem 1GiB -o none

# ---- what each tier is worth ----

worth() { runs "$@" --worth -o none --duration 0; }
worth 'worth of the waterfall' --gpu-profile h100 --users 6 --max-requests 40 --gpu-mem 4 --cpu-mem 6 --tier-model 2=nvme-gen4 \
    --config ttft_target=responsive=1h --config ttft_target=interactive=1us --price gpu=3600/h
for cache in vllm lmcache lmcache-mp sglang copies; do
    worth "worth with $cache" --gpu-profile h100 --cache $cache --model tiny-1b --params 1e9 --users 6 --max-requests 40 --gpu-mem 1GiB \
        --cpu-mem 2GiB --storage-capacity 20GiB --tier-model "2=$DATA/drive_model.json"
done

# ---- several engines, windows ----

engines() { runs "$@" --cache vllm -m tiny-1b --params 1e9 --gpu-mem 1GiB --cpu-mem 2GiB --storage-capacity none --duration 20s --users 12; }
for route in user prefix round-robin; do engines "engines by $route" --config engines=3 --config route=$route -o "$TMP/out.csv"; done
exits 'a report by engine' 0 "$BIN/kvstat" --by engine --json "$TMP/out.csv"
engines 'a class before another' --config engine_order=priority -o none
engines 'two tokens a step' --config spec_tokens=1.8 -o none
engines 'prefill alone' --prefill-only -o none
runs 'windows' --cache vllm --model "$DATA/models/gpt-oss-120b.json" --users 2 --max-requests 8 --duration 0 --config input_len=1500 \
    --gpu-mem 1GiB --cpu-mem 1GiB --storage-capacity 4GiB -o "$TMP/out.csv"
done_testing
