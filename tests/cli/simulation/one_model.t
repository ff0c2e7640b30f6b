#!/bin/sh
# There is one model of an engine, that of steps: every cache but the waterfall has it, without --gpu-profile on an H100, which is
# said, and the waterfall with --gpu-profile or --prefill. Requests that workers serve, and whose answers take a time of their own,
# are those of runs without compute and of --compat mlperf; what these set is refused elsewhere. A bug looked like a cache whose
# requests were generated in no steps, or like an option that an engine passed over.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# run NAME OPTION...: two users of a small model.
run() {
    name=$1
    shift
    exits "$name" 0 "$BIN/kvgen" -m tiny-1b --users 2 --max-requests 4 --duration 0 --seed 1 -o none \
        --summary "$TMP/summary.json" "$@"
}
steps() { jq '(.serving.steps // 0) > 0' "$TMP/summary.json"; }
for cache in copies vllm lmcache lmcache-mp sglang; do
    run "$cache" --cache "$cache" --params 1e9
    stderr_like "takes an H100, and says so" '^kvgen: --gpu-profile: not given: times are those of an H100 \(h100\)$'
    is "$cache: steps" "$(steps)" true
    for option in --workers=4 --generation-mode=realistic; do
        exits "$cache has no $option" 2 "$BIN/kvgen" --cache "$cache" "$option" -o none
        stderr_like "and says why" "^kvgen: ${option%=*}: does not apply with --cache of an engine, which decides that itself$"
    done
    exits "$cache is no cache of the benchmark" 2 "$BIN/kvgen" --cache "$cache" --compat mlperf -o none
    stderr_like "and says why" '^kvgen: --cache: does not apply with --compat mlperf, whose cache is waterfall$'
done
run "the waterfall of an engine" --gpu-profile h100 --params 1e9
is "steps" "$(steps)" true
run "the waterfall without compute" --workers 4 --generation-mode realistic
is "no steps" "$(steps)" false
run "the benchmark" --compat mlperf
is "no steps" "$(steps)" false
for option in --workers=4 --generation-mode=realistic; do
    exits "an engine has no $option" 2 "$BIN/kvgen" --gpu-profile h100 "$option" -o none
    stderr_like "and says why" "^kvgen: ${option%=*}: does not apply with --gpu-profile or --prefill: an engine serves"
done
done_testing
