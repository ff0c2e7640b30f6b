#!/bin/sh
# ShareGPT: human and gpt texts become turns whose tokens are characters / 4, token counts are taken at their
# word, a conversation's turns keep their order while conversations mix by the seed, and a file of any length is
# streamed. A bug looked like bytes taken for characters, an answer paired with the wrong question, or a file
# held in memory.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

S=$TMP/s.json
A=$TMP/a.csv
D=$TMP/d.json
gen() { told "$BIN/kvgen" --model tiny-1b --generation-mode none "$@" --summary "$S"; }
say() { awk -v n="$1" 'BEGIN { while (n-- > 0) printf "a" }'; }

cat >"$D" <<END
[
  {"id": "one", "conversations": [
    {"from": "system", "value": "be kind"},
    {"from": "human", "value": "$(say 40)"}, {"from": "gpt", "value": "éééééééé"},
    {"from": "human", "value": "x"}, {"from": "gpt", "value": "], {\"from\": \"human\" [["}]},
  {"id": "two", "conversations": [
    {"from": "gpt", "value": "no question"}, {"from": "human", "value": "no answer"},
    {"from": "human", "value": "$(say 81)"}, {"from": "gpt", "value": "$(say 9000)"}]},
  {"id": "none", "conversations": [{"from": "human", "value": "alone"}]},
  {"id": "long", "conversations": [{"from": "user", "value": "$(say 70000)"}, {"from": "assistant", "value": "ok"}]}
]
END
gen --dataset-path "$D" -o "$A"
is "source" "$(source_name "$S")" sharegpt
is "turns and conversations" "$(value "$S" completed) $(value "$S" count conversations)" "4 3"
is "tokens are characters / 4, at least 1, at most 16,384 and 2,048" \
    "$(value "$S" context_tokens) $(value "$S" generated_tokens)" "$((10 + 1 + 20 + 16384)) $((2 + 5 + 2048 + 1))"
is "and marked as estimated" "$(value "$S" tokens_estimated)" true
is "one without a turn is skipped" "$(value "$S" skipped_rows)" 1
like "and named" "$(cat "$TMP/err")" 'd.json:9: no turn.*skipped: 1'
is "all at once" "$(arrivals "$A" | tr ' ' '\n' | sort -u | tr -d '\n')" 0.000000
like "keys" "$(cat "$A")" ',conversation_1_turn_2,Prefill,[0-9]+,dataset_user_0,'
like "the turn before is looked up" "$(cat "$A")" ',conversation_1_turn_1,Decode,[0-9]+,dataset_user_0,[a-z]+,multi_turn,'
gen --dataset-path "$D" --chars-per-token 2 -o none
is "two characters a token" "$(value "$S" context_tokens)" "$((20 + 1 + 40 + 16384))"
printf 'sharegpt:\n  chars_per_token_estimate: 2\n  max_context_tokens: 30\n' >"$TMP/c.yaml"
gen --dataset-path "$D" --config "$TMP/c.yaml" -o none
is "limits of the configuration" "$(value "$S" context_tokens)" "$((20 + 1 + 30 + 30))"
gen --dataset-path "$D" --request-rate 4 --max-conversations 2 -o "$A"
is "evenly spaced" "$(arrivals "$A")" "0.000000 0.250000 0.500000 "
gen --dataset-path "$D" --replay-cycles 2 --max-conversations 2 --num-users 3 --qos interactive -o "$A"
is "cycles: new conversations" "$(value "$S" count conversations) $(value "$S" completed) $(value "$S" interactive)" "4 6 6"
is "names in turn" "$(awk -F, '{print $8}' "$A" | grep dataset | sort -u | tr '\n' ' ')" "dataset_user_0 dataset_user_1 dataset_user_2 "
gen --dataset-path "$D" --replay-cycles 0 --request-rate 10 --duration 3 -o none
is "until the duration" "$(value "$S" issued)" 30

gen --input "$DATA/sharegpt_dummy_250.json.zst" -o none
is "a file as it is published" "$(value "$S" completed) $(value "$S" context_tokens) $(value "$S" generated_tokens)" "501 1659 8065"

# Token counts as JSON lines, compressed, from a pipe.
for i in 1 2 3; do echo "{\"input_toks\": $((i * 20000)), \"output_toks\": $i, \"input_tok_ids\": [1, 2]}"; done |
    zstd -q >"$TMP/t.zst"
gen --input - -o none <"$TMP/t.zst"
is "given counts are neither capped nor estimated" \
    "$(value "$S" context_tokens) $(value "$S" generated_tokens) $(value "$S" tokens_estimated)" "120000 6 false"

# With arrival times a dataset is a trace: its order, its times from the first on, faster, again, or at a rate after all.
timed() {
    for ns in "$@"; do printf '{"input_toks": 100, "output_toks": 1, "arrival_time_ns": %s}\n' "$ns"; done
}
timed 1000000000 1500000000 1500000000 4000000000 >"$D.times"
gen --input "$D.times" --qos batch -o "$A"
is "arrivals of a dataset" "$(arrivals "$A")" "0.000000 0.500000 0.500000 3.000000 "
is "in their order" "$(awk -F, '$2 == "Write" && $5 ~ /^conv/ {print $5}' "$A" | tr '\n' ' ')" \
    "conversation_1_turn_1 conversation_2_turn_1 conversation_3_turn_1 conversation_4_turn_1 "
gen --input "$D.times" --trace-speedup 2 --replay-cycles 2 -o "$A"
is "faster, twice" "$(arrivals "$A")" "0.000000 0.250000 0.250000 1.500000 1.500000 1.750000 1.750000 3.000000 "
gen --input "$D.times" --replay-cycles 0 --duration 10 -o none
is "until the duration, by their times" "$(value "$S" issued)" 15
gen --input "$D.times" --request-rate 10 -o "$A"
is "a rate given goes first" "$(arrivals "$A")" "0.000000 0.100000 0.200000 0.300000 "
timed 5 4 >"$D.back"
exits "arrivals that go back: status 2" 2 "$BIN/kvgen" --input "$D.back" -o none
like "arrivals that go back: says so" "$(cat "$TMP/stderr")" '^kvgen: .*back:2: arrival_time_ns goes back'
timed 5 '"six"' >"$D.back"
exits "an arrival that is none: status 2" 2 "$BIN/kvgen" --input "$D.back" -o none
like "an arrival that is none: says so" "$(cat "$TMP/stderr")" '^kvgen: .*back:2: arrival_time_ns is not'

# Many conversations: their order mixes by the seed, turns keep theirs; memory is that of those held.
many() { # conversations
    awk -v n="$1" -v t="$(say 3000)" 'BEGIN { printf "["; for (i = 0; i < n; i++) { printf "%s{\"id\": \"%d\", \"conversations\": [", i ? "," : "", i
        for (k = 0; k < 3; k++) printf "%s{\"from\": \"human\", \"value\": \"%s\"}, {\"from\": \"gpt\", \"value\": \"b\"}", k ? "," : "", t
        print "]}" } print "]" }'
}
many 3000 | gen --input - --seed 1 --request-rate 100 -o "$A"
turns=$(awk -F, '$2 == "Write" && $5 ~ /^conv/ && $6 == "Prefill" { split($5, p, "_"); if (p[4] != last[p[2]] + 1) print; last[p[2]] = p[4] }' "$A")
is "turns keep their order" "$turns" ''
is "all are there" "$(value "$S" completed)" 9000
first=$(arrivals "$A" | wc -w)
order() { awk -F, '$2 == "Write" && $6 == "Prefill" {print $5}' "$1" | grep conv | cksum; }
one=$(order "$A")
many 3000 | gen --input - --seed 2 --request-rate 100 -o "$A"
isnt "another seed, another order" "$(order "$A")" "$one"
is "as many" "$(arrivals "$A" | wc -w)" "$first"
limited() { # KiB of address space
    many 20000 | sh -c "ulimit -v $1; exec '$BIN/kvgen' --model tiny-1b --generation-mode none --input - --request-rate 100 \
        --max-requests 0 --gpu-mem-gb 0 --cpu-mem-gb 1 --storage-capacity-gb none --threads 1 -o none"
}
if nm "$BIN/kvgen" 2>/dev/null | grep -q -e __asan_init -e __tsan_init; then
    diag "memory is not limited under a sanitizer"
else
    ok "180 MB are streamed in 100 MB" limited 100000
fi

bad() { # name regex text
    printf '%s' "$3" >"$TMP/b.json"
    exits "$1: status 2" 2 "$BIN/kvgen" --input "$TMP/b.json" -o none
    like "$1: says so" "$(cat "$TMP/stderr")" "^kvgen: .*b.json.*$2"
}
bad "cut" '' '[{"conversations": [{"from": "human", "value": "a'
bad "no turn at all" 'no turn' '[{"conversations": [1, 2]}, 3]'
bad "nothing" 'holds no conversation' '[]'
exits "speedup without times" 2 "$BIN/kvgen" --dataset-path "$D" --trace-speedup 2 -o none
like "speedup without times: says so" "$(cat "$TMP/stderr")" '^kvgen: --trace-speedup: this dataset has no times'
exits "endless at one time" 2 "$BIN/kvgen" --dataset-path "$D" --replay-cycles 0 --duration 5 -o none
exits "said twice" 2 "$BIN/kvgen" --dataset-path "$D" --input "$D" -o none
done_testing
