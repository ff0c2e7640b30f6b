#!/bin/sh
# transforms.t - what an input is changed to on its way: idle times and contexts are cut, counted, and stand in the provenance.
# A bug looked like a gap that came back with the next file, or a block behind the end of a context.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
trace=$TMP/trace.csv
generate() { told "$BIN/kvgen" --model tiny-1b --generation-mode none --summary "$summary" -o "$trace" "$@"; }
row() { printf '{"timestamp": %s, "input_length": %s, "output_length": 1, "hash_ids": [%s]}\n' "$1" "$2" "$3"; }
told_of() { like "$1" "$(cat "$TMP/err")" "^kvgen: .*: $2\$"; }

{ row 0 1000 '1, 2' && row 5000 2000 '1, 2, 3, 4' && row 90000 600 '1, 5' && row 91000 512 1; } >"$TMP/m.jsonl"
generate --input "$TMP/m.jsonl"
is 'as it is' "$(arrivals "$trace")" '0.000000 5.000000 90.000000 91.000000 '
generate --input "$TMP/m.jsonl" --config max_gap=10s
is 'idle times are cut' "$(arrivals "$trace")" '0.000000 5.000000 15.000000 16.000000 '
told_of 'and counted' 'times without a request that were cut \(--config max_gap\): 1'
generate --input "$TMP/m.jsonl" --config max_gap=10s --speed 2
is 'before they are divided' "$(arrivals "$trace")" '0.000000 2.500000 7.500000 8.000000 '
generate --input "$TMP/m.jsonl" --config max_gap=10s --replay-cycles 2
is 'in each cycle' "$(arrivals "$trace")" '0.000000 5.000000 15.000000 16.000000 16.000000 21.000000 31.000000 32.000000 '
generate --input "$TMP/m.jsonl" --config max_gap=4s -o "$TMP/t.csv.zst"
is 'it is in the provenance' "$(provenance "$TMP/t.csv.zst" | jq -r '.options["max-gap"]')" 4
{ echo 'Timestamp,Request tokens,Response tokens' && printf '%s,%s,1\n' 0 100 3600 9000; } >"$TMP/b.csv"
generate --input "$TMP/b.csv" --config max_gap=1m --config max_context=4096
is 'BurstGPT' "$(arrivals "$trace")" '0.000000 60.000000 '
is 'its contexts' "$(json "$summary" .requests.context_tokens)" 4196
told_of 'are counted' 'requests whose context was cut \(--config max_context\): 1'

generate --input "$TMP/m.jsonl" --config max_context=1100
is 'contexts are cut' "$(json "$summary" '.requests.context_tokens, .lookups.block.lookups')" '3212 7'
told_of 'and counted, too' 'requests whose context was cut \(--config max_context\): 1'

turn() { printf '{"t": %s, "type": "s", "in": %s, "out": 4, "hash_ids": [%s], "api_time": 1}' "$1" "$2" "$3"; }
printf '{"block_size": 64, "requests": [%s, %s]}\n' "$(turn 0 64 1)" "$(turn 100 192 '1, 2, 3')" >"$TMP/a.json"
generate --input "$TMP/a.json" --config max_gap=30s --config max_context=130
is 'sessions: think times' "$(arrivals "$trace")" '0.000000 30.000000 '
is 'sessions: contexts and blocks' "$(json "$summary" '.requests.context_tokens, .lookups.block.lookups')" '194 3'
printf '{"conversations": [{"from": "human", "value": "aaaa aaaa aaaa"}, {"from": "gpt", "value": "b"}]}\n' >"$TMP/c.jsonl"
generate --input "$TMP/c.jsonl" --config max_context=2 --disable-prefix-caching
is 'conversations' "$(json "$summary" .requests.context_tokens)" 2
exits 'they have no times: status 2' 2 "$BIN/kvgen" --input "$TMP/c.jsonl" --config max_gap=1s -o none
generate --input "$DATA/recordings/dynamo-1.6.1-request-trace.000000.jsonl.gz" --config max_context=64
is 'requests of Dynamo' "$(json "$summary" '.requests.context_tokens <= 64 * .requests.completed')" true
exits 'steps that wait: status 2' 2 "$BIN/kvgen" --input "$DATA/recordings/dynamo-1.6.1.satf.json" --config max_gap=1s -o none
stderr_like 'says so' '^kvgen: --config max_gap: does not apply to steps'
exits 'synthetic users: status 2' 2 "$BIN/kvgen" --config max_gap=1s -o none

# Clients ask one request after the other, in the order of the input: with a token a 2 ms and one token each, the third comes when
# the first is answered. A bug looked like a client that asked twice, or that waited for the time in the file.
generate --input "$TMP/m.jsonl" --clients 1 --generation-mode fast
is 'one client' "$(arrivals "$trace")" '0.000000 0.002000 0.004000 0.006000 '
generate --input "$TMP/m.jsonl" --clients 3 --generation-mode fast
is 'three' "$(arrivals "$trace")" '0.000000 0.000000 0.000000 0.002000 '
generate --input "$TMP/m.jsonl" --clients 1 --generation-mode fast --replay-cycles 2
is 'twice' "$(arrivals "$trace" | wc -w)" 8
generate --input "$TMP/b.csv" --clients 1 --generation-mode fast
is 'clients of BurstGPT' "$(arrivals "$trace")" '0.000000 0.002000 '
generate --input "$TMP/m.jsonl" --input "$TMP/m.jsonl" --clients 1 --generation-mode fast --max-requests 3
is 'of several inputs' "$(arrivals "$trace")" '0.000000 0.002000 0.004000 '
told "$BIN/kvgen" --model tiny-1b --params 1e9 --cache vllm --input "$TMP/m.jsonl" --clients 1 --ops Generate -o "$trace"
follow() { # each prefill's request comes after the last answer
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["Operation"]) != "Generate" { next }
        $(at["Phase"]) == "Prefill" { if ($(at["Arrival"]) + 0 < end - 1e-6) exit bad = 1; n++ }
        { end = $(at["Timestamp"]) + $(at["Duration_us"]) / 1e6 } END { exit bad || n != 4 }' "$trace"
}
ok 'of an engine: one at a time' follow
exits "not with --speed" 2 "$BIN/kvgen" --input "$TMP/m.jsonl" --clients 2 --speed 2 -o none
exits "nor --config max_gap" 2 "$BIN/kvgen" --input "$TMP/m.jsonl" --clients 2 --config max_gap=1s -o none
exits 'steps that wait' 2 "$BIN/kvgen" --input "$DATA/recordings/dynamo-1.6.1.satf.json" --clients 2 -o none
stderr_like 'and why' '^kvgen: --clients: applies only to requests of Mooncake'
done_testing
