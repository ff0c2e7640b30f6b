#!/bin/sh
# kvgen --config overlap=layers: a step that loads computes the layers that have come, and waits only for what is late. Of a load of l and
# computing of c in 32 layers, the longer one and a 32nd of the shorter one are left, by hand. A bug looked like a load that took no
# time, the overhead of a load that computing hid, or loads before a step that became shorter.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# Two prompts of 16 blocks of 512 tokens and a little more; the second fills the GPU; then the first one's blocks come from the host.
prompt() { # TIME TOKENS FIRST
    printf '{"timestamp":%d,"input_length":%d,"output_length":1,"hash_ids":[%s]}\n' "$1" "$2" "$(seq -s, "$3" "$(($3 + $2 / 512))")"
}
{
    prompt 0 8200 1
    prompt 60000 12010 100
    prompt 120000 8200 1
} >"$TMP/requests.jsonl"
# took OPTION...: us that the last prompt takes from when the host is done with it to its first token, and those of its Generate
# row, which begins when the step computes.
took() {
    exits "a run" 0 "$BIN/kvgen" -m llama3.1-8b --gpu-mem 1504MiB --cpu-mem 16GiB --storage-capacity none \
        --input "$TMP/requests.jsonl" --block-size 512 --no-notes --ops Generate -o "$TMP/t.csv" --summary "$TMP/s.json" "$@"
    us=$(awk -F, '$6 == "Prefill" { us = ($1 - $12) * 1e6 + $13 - 25000 - 1.1 * 8200; row = $13 } END { printf "%.3f %.3f", us, row }' "$TMP/t.csv")
    row=${us#* } us=${us% *}
}
# 8,192 tokens of 131,072 bytes over 0.8 of the link's 64 GB/s are 20,971.52 us; 13 ms come before.
took --cache lmcache --gpu-profile h100:t_host_ms=40
alone=$us
is "its row is what it computes" "$row" 41000.000
is "its time has the load" "$(json "$TMP/s.json" '.serving.request_time.loading.s * 1e6 | round')" 33972
took --cache lmcache --gpu-profile h100:t_host_ms=40 --config overlap=layers
is "which what is late makes no longer" "$row" 41000.000
is "a load behind computing" "$(awk -v a="$alone" -v b="$us" 'BEGIN { printf "%.0f", a - b }')" "$(awk 'BEGIN { printf "%.0f", 20971.52 * 31 / 32 }')"
is "what is left" "$(awk -v b="$us" 'BEGIN { printf "%.0f", b }')" "$(awk 'BEGIN { printf "%.0f", 13000 + 41000 + 20971.52 / 32 }')"
# Over 1 GB/s the load takes 1,342,177.28 us.
took --cache lmcache --gpu-profile h100:t_host_ms=40,link_gb_s=1 --config overlap=layers
is "computing behind a load" "$(awk -v b="$us" 'BEGIN { printf "%.0f", b }')" "$(awk 'BEGIN { printf "%.0f", 13000 + 1342177.28 + 41000 / 32 }')"
# A load that comes before its request runs.
took --cache lmcache:enable_async_loading=yes --gpu-profile h100
alone=$us
took --cache lmcache:enable_async_loading=yes --gpu-profile h100 --config overlap=layers
is "a load before the step" "$us" "$alone"

exits "no engine" 2 "$BIN/kvgen" --config overlap=layers -o none
stderr_like "why" '^kvgen: --config overlap: applies only to a simulated serving engine'
done_testing
