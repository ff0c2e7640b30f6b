#!/bin/sh
# Scheduler and cache decide as vLLM's own code did, step by step: tokens of each request, admissions, refusals,
# preemptions, hits, stores, loads, victims, free blocks (tests/engines/run; whence the recordings come:
# tests/data/README.md). A recording in which one thing is changed is told apart, with the step. A bug looked like a hit on
# a block that was pinned too late, a victim chosen by another order, or a run that compared nothing.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

BUILD=${BIN%/bin}
export BUILD
engines=$TOP/tests/data/engines/vllm

for folder in "$engines"/*/; do
    exits "${folder#"$engines"/}" 0 "$TOP/tests/engines/run" "$folder"
    stdout_like "its steps" ' [1-9][0-9]* steps +[1-9][0-9]+ compared +0 different$'
done

# change FOLDER SED: a copy of a recording in which its steps are changed.
change() {
    rm -rf "$TMP/changed"
    cp -r "$engines/$1" "$TMP/changed"
    sed "$2" "$engines/$1/steps.jsonl" >"$TMP/changed/steps.jsonl"
}
change 0-free-order '/"t":8,/s/"h3","h2"/"h2","h3"/'
exits "a change" 1 "$TOP/tests/engines/run" "$TMP/changed"
stdout_like "an order" ' 1 different: step 8, gev: recorded "h2","h3","h1","h0", simulated "h3","h2","h1","h0"$'
change 0-cpu-pending-hit '/"t":2,/s/"flush":\[1\],//'
exits "a change" 1 "$TOP/tests/engines/run" "$TMP/changed"
stdout_like "something more" ' 1 different: step 2, flush: recorded nothing, simulated 1$'
change 0-preempt '/"t":50,/d'
exits "a change" 1 "$TOP/tests/engines/run" "$TMP/changed"
stdout_like "a step" ' 1 different: step 50 took place, the recording has step 51$'
change 0-chunk-budget '/"t":9,/d'
exits "a change" 1 "$TOP/tests/engines/run" "$TMP/changed"
stdout_like "the end" ' 1 different: step 9 took place, the recording has step -1$'

change 0-cpu-lru-order ''
sed -i 's/"extra_config": {/"extra_config": {"secondary_tiers": [{"type": "obj"}]/' "$TMP/changed/config.json"
exits "another tier" 2 "$TOP/tests/engines/run" "$TMP/changed"
stderr_like "why" 'a tier "obj" is not ours'
done_testing
