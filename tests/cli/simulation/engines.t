#!/bin/sh
# Several engines: each request is one engine's, its rows name the engine, and copies of two engines are different objects.
# Routing by prefix finds what another engine's requests left nowhere else; round-robin deals requests out evenly; a user's
# requests go to one engine. One engine's rows are as without the option. A bug looked like a hit on another engine's GPU,
# rows that were not in the order of time, or a route that changed with the number of threads.
# builds: plain (small_loads.t runs its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

ONE="--cache vllm:block_size=64 -m tiny-1b --params 1e9 --gpu-mem 1GiB --cpu-mem 2GiB --storage-capacity none"
MORE="$ONE --users 30 --duration 60s --disable-prefix-caching --seed 5"

# run NAME OPTION...: a run of three engines.
run() {
    name=$1
    shift
    exits "$name" 0 with "$MORE" "$BIN/kvgen" --config engines=3 "$@" --summary "$TMP/$name.json" -o "$TMP/$name.csv"
}
run user --config route=user
run prefix --config route=prefix
run turns --config route=round-robin

is "round robin is even" "$(jq -c '[.serving.engines[].requests] | max - min <= 1 and min > 20' "$TMP/turns.json")" true
is "requests of engines are those of the run" \
    "$(jq '([.serving.engines[].completed] | add) == .requests.completed and .requests.completed > 60' "$TMP/prefix.json")" true
is "tokens of engines are those of the run" \
    "$(jq '([.serving.engines[].tokens.computed] | add) == .cache.tokens.computed' "$TMP/prefix.json")" true
is "prefix finds more than turns" \
    "$(jq -s '.[0].cache.tokens.hit_rate > .[1].cache.tokens.hit_rate + 0.02' "$TMP/prefix.json" "$TMP/turns.json")" true

# Request and Engine of each row: one engine a request; every key ends in its engine.
awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $2 == "Note" { next }
    {
        engine = $at["Engine"]; key = $at["Key"]; request = $at["Request"]; end = "@e" engine
        if (key != "" && substr(key, length(key) - length(end) + 1) != end) bad++
        if (request != "" && request in of && of[request] != engine) bad++
        if (request != "") of[request] = engine
        if ($1 + 0 < last + 0) bad++
        last = $1; if (!(engine in seen)) engines++
        seen[engine]
    }
    END { print bad + 0, engines }' "$TMP/prefix.csv" >"$TMP/rows"
is "rows" "$(cat "$TMP/rows")" '0 3'
exits "the trace holds together" 0 "$BIN/kvstat" --verify-trace "$TMP/prefix.csv"

exits "no column for one engine" 0 with "$MORE" "$BIN/kvgen" --config engines=1 --no-notes -o -
is "its header" "$(head -1 "$TMP/stdout" | grep -c Engine)" 0
for threads in 1 4; do
    exits "threads" 0 with "$MORE" "$BIN/kvgen" --config engines=3 --config route=prefix --config threads="$threads" -z -o "$TMP/$threads.zst"
    exits "its rows" 0 "$BIN/kvstat" --by engine --json "$TMP/$threads.zst"
    jq -c '.groups | map(.by.engine) | unique' "$TMP/stdout" >"$TMP/$threads.by"
    zstd -dcq "$TMP/$threads.zst" | cksum >"$TMP/$threads.sum"
done
is "any number of threads" "$(cat "$TMP/4.sum")" "$(cat "$TMP/1.sum")"
is "groups by engine" "$(cat "$TMP/1.by")" '["0","1","2"]'

# A class before another: interactive requests wait less where their class decides.
CROWD="$ONE --users 40 --duration 60s --seed 3"
for order in fcfs priority; do
    exits "$order" 0 with "$CROWD" "$BIN/kvgen" --config engine_order=$order --summary "$TMP/$order.json" -o none
done
is "interactive comes first" "$(jq -s '.[1].prefill.first_token_ms.interactive.mean < .[0].prefill.first_token_ms.interactive.mean' \
    "$TMP/fcfs.json" "$TMP/priority.json")" true

# The row's priority goes before its class: of three prompts at once the last one is served first, after the one that runs.
for i in 1 2 3 4; do
    echo "{\"timestamp\":0,\"input_length\":6000,\"output_length\":1,\"priority\":$((9 - i))}"
done >"$TMP/ranked.jsonl"
exits "priorities of rows" 0 with "$ONE" "$BIN/kvgen" --config engine_order=priority --input "$TMP/ranked.jsonl" --no-notes -o "$TMP/ranked.csv"
is "the lowest number first" "$(awk -F, '$2 == "Generate" && $6 == "Decode" { printf "%s ", $7 }' "$TMP/ranked.csv")" '4 3 2 1 '

# Speculation takes fewer steps for the same tokens; a prefill node ends with the first token.
for spec in 1 1.8; do
    exits "speculation" 0 with "$ONE" "$BIN/kvgen" --users 3 --duration 0 --max-requests 9 --config spec_tokens=$spec --summary "$TMP/$spec.json" -o none
done
is "as many tokens in fewer steps" "$(jq -s '.[0].requests.generated_tokens == .[1].requests.generated_tokens
    and (.[0].serving.steps / .[1].serving.steps | . > 1.5 and . < 1.8)' "$TMP/1.json" "$TMP/1.8.json")" true
exits "a prefill node" 0 with "$ONE" "$BIN/kvgen" --users 3 --duration 0 --max-requests 9 --prefill-only --summary "$TMP/p.json" -o none
is "one token a request" "$(jq -c '[.requests.completed, .requests.generated_tokens]' "$TMP/p.json")" '[9,9]'

exits "a route of one" 2 with "$ONE" "$BIN/kvgen" --config route=prefix -o none
stderr_like "why" '--config route: needs --config engines=2 or more'
done_testing
