#!/bin/sh
# ShareGPT: texts of human and gpt become turns of characters / 4 tokens, given token counts are used as they are, the
# turns of a conversation keep their order while the seed mixes conversations, and a file of any length is streamed. A
# bug looked like bytes taken for characters, an answer paired with the wrong question, or a file held in memory.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
trace=$TMP/trace.csv
dataset=$TMP/d.json
generate() { told "$BIN/kvgen" --model tiny-1b --generation-mode none "$@" --summary "$summary"; }
requests() { json "$summary" "$(echo "$*" | sed 's/[a-z_.]\{1,\}/.requests.&/g; s/ /, /g')"; } # NAME...: those members
conversations() { json "$summary" .conversations.count; }
say() { awk -v n="$1" 'BEGIN { while (n-- > 0) printf "a" }'; }

cat >"$dataset" <<END
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
generate --dataset-path "$dataset" -o "$trace"
is "source" "$(json "$summary" .source)" sharegpt
is "turns and conversations" "$(requests completed) $(conversations)" "4 3"
is "tokens are characters / 4, at least 1, at most 16,384 and 2,048" "$(requests context_tokens generated_tokens)" \
    "$((10 + 1 + 20 + 16384)) $((2 + 5 + 2048 + 1))"
is "and marked as estimated" "$(requests tokens_estimated)" true
is "one without a turn is skipped" "$(requests skipped_rows)" 1
like "and named" "$(cat "$TMP/err")" 'd.json:9: no turn.*skipped: 1'
is "all at once" "$(arrivals "$trace" | tr ' ' '\n' | sort -u | tr -d '\n')" 0.000000
like "keys" "$(cat "$trace")" ',conversation_1_turn_2,Prefill,[0-9]+,dataset_user_0,'
like "the turn before is looked up" "$(cat "$trace")" \
    ',conversation_1_turn_1,Decode,[0-9]+,dataset_user_0,[a-z]+,multi_turn,'
generate --dataset-path "$dataset" --config sharegpt.chars_per_token_estimate=2 -o none
is "two characters a token" "$(requests context_tokens)" "$((20 + 1 + 40 + 16384))"
printf 'sharegpt:\n  chars_per_token_estimate: 2\n  max_context_tokens: 30\n' >"$TMP/c.yaml"
generate --dataset-path "$dataset" --config "$TMP/c.yaml" -o none
is "limits of the configuration" "$(requests context_tokens)" "$((20 + 1 + 30 + 30))"
generate --dataset-path "$dataset" --request-rate 4 --max-conversations 2 -o "$trace"
is "evenly spaced" "$(arrivals "$trace")" "0.000000 0.250000 0.500000 "
generate --dataset-path "$dataset" --replay-cycles 2 --max-conversations 2 --num-users 3 --qos interactive -o "$trace"
is "cycles: new conversations" "$(conversations) $(requests completed by_qos.interactive)" "4 6 6"
is "names in turn" "$(awk -F, '{print $8}' "$trace" | grep dataset | sort -u | tr '\n' ' ')" \
    "dataset_user_0 dataset_user_1 dataset_user_2 "
generate --dataset-path "$dataset" --replay-cycles 0 --request-rate 10 --duration 3 -o none
is "until the duration" "$(requests issued)" 30

generate --input "$DATA/sharegpt_dummy_250.json.zst" -o none
is "a file as it is published" "$(requests completed context_tokens generated_tokens)" "501 1659 8065"

# Token counts as JSON lines, compressed, from a pipe.
for i in 1 2 3; do echo "{\"input_toks\": $((i * 20000)), \"output_toks\": $i, \"input_tok_ids\": [1, 2]}"; done |
    zstd -q >"$TMP/counts.zst"
generate --input - -o none <"$TMP/counts.zst"
is "given counts are neither capped nor estimated" "$(requests context_tokens generated_tokens tokens_estimated)" \
    "120000 6 false"

# With arrival times a dataset is a trace: its order, its times from the first on, faster, again, or at a given rate.
timed() { printf '{"input_toks": 100, "output_toks": 1, "arrival_time_ns": %s}\n' "$@"; }
timed 1000000000 1500000000 1500000000 4000000000 >"$dataset.times"
generate --input "$dataset.times" --qos batch -o "$trace"
is "arrivals of a dataset" "$(arrivals "$trace")" "0.000000 0.500000 0.500000 3.000000 "
is "in their order" "$(awk -F, '$2 == "Write" && $5 ~ /^conv/ {print $5}' "$trace" | tr '\n' ' ')" \
    "conversation_1_turn_1 conversation_2_turn_1 conversation_3_turn_1 conversation_4_turn_1 "
turns='[{"from": "human", "value": "aaaa"}, {"from": "gpt", "value": "bbbbbbbb"},
    {"from": "human", "value": "cccc"}, {"from": "gpt", "value": "dddddddd"}]'
printf '{"arrival_time_ns": %s, "conversations": %s}\n' 0 "$turns" 10000000 "$turns" | tr -d '\n' |
    sed 's/}{/}\n{/g' >"$dataset.talks"
generate --input "$dataset.talks" --generation-mode realistic -o "$trace"
is "later turns follow the answers" "$(arrivals "$trace")" "0.000000 0.010000 0.060000 0.070000 "
generate --input "$dataset.times" --trace-speedup 2 --replay-cycles 2 -o "$trace"
is "faster, twice" "$(arrivals "$trace")" "0.000000 0.250000 0.250000 1.500000 1.500000 1.750000 1.750000 3.000000 "
generate --input "$dataset.times" --replay-cycles 0 --duration 10 -o none
is "until the duration, by their times" "$(requests issued)" 15
generate --input "$dataset.times" --request-rate 10 -o "$trace"
is "a rate given goes first" "$(arrivals "$trace")" "0.000000 0.100000 0.200000 0.300000 "
timed 5 4 >"$dataset.back"
exits "arrivals that go back: status 2" 2 "$BIN/kvgen" --input "$dataset.back" -o none
stderr_like "arrivals that go back: says so" '^kvgen: .*back:2: arrival_time_ns goes back'
timed 5 '"six"' >"$dataset.back"
exits "an arrival that is none: status 2" 2 "$BIN/kvgen" --input "$dataset.back" -o none
stderr_like "an arrival that is none: says so" '^kvgen: .*back:2: arrival_time_ns is not'

# A turn is asked when the one before is answered, in the class of its conversation. Nothing is evicted, so that the turn
# before is always there.
for how in "" "--request-rate 50" "--max-conversations 40 --replay-cycles 2"; do
    with "$how" generate --input "$DATA/sharegpt_dummy_250.json.zst" --generation-mode realistic -o "$trace"
    is "${how:-all at once}: each turn before is found" \
        "$(json "$summary" '.lookups.multi_turn | .hit_rate, .lookups > 0')" "1 true"
    # The last columns of a Generate row are its request's arrival and its duration.
    is "${how:-all at once}: a turn waits for the answer before it" "$(awk -F, '
        $6 == "Prefill" && $5 ~ /^conv/ {split($5, part, "_"); of[$7] = part[2]; turn[$7] = part[4]}
        $2 == "Generate" && $7 in of {
            c = of[$7]
            if (turn[$7] > 1 && (turn[$7] != last[c] + 1 || $12 < over[c] - 1e-6)) print
            last[c] = turn[$7]; over[c] = $1 + $13 / 1e6
        }' "$trace")" ""
    is "${how:-all at once}: a conversation has one class" "$(awk -F, '$6 == "Prefill" && $5 ~ /^conv/ {
        split($5, part, "_"); if (part[2] in class && class[part[2]] != $9) print; class[part[2]] = $9}' "$trace")" ""
done
is "(there are three classes)" "$(awk -F, 'NR > 1 && $2 != "Note" {print $9}' "$trace" | sort -u | wc -l)" 3

# As the MLPerf program enqueues them: all turns of a conversation, then those of another; users and classes are drawn.
generate --input "$DATA/sharegpt_dummy_250.json.zst" --compat mlperf --request-rate 50 --num-users 20 -o "$trace"
awk -F, '$6 == "Prefill" && $5 ~ /^conv/ {split($5, part, "_"); print $7, part[2], part[4], $8, $9}' "$trace" |
    sort -n >"$TMP/requests"
is "compat: one conversation after another" "$(awk '$3 != ($2 == last ? turn + 1 : 1) {print} {last = $2; turn = $3}' \
    "$TMP/requests")" ""
is "compat: each request comes at its time" "$(awk -F, '$2 == "Generate" && $12 - ($7 - 1) / 50 > 1e-6' "$trace")" ""
like "compat: within a conversation there are several users and classes" "$(awk '
    $2 == last {users += $4 != user; classes += $5 != class} {last = $2; user = $4; class = $5}
    END {print (users > 50), (classes > 50)}' "$TMP/requests")" '^1 1$'
isnt "compat: the seed shuffles conversations" "$(awk '{print $2}' "$TMP/requests" | uniq | head -5)" \
    "$(seq 1 5)"

# Many conversations: the seed mixes them, turns keep their order, and memory holds only those under way.
many() { # CONVERSATIONS of three turns
    awk -v n="$1" -v text="$(say 3000)" 'BEGIN {
        turn = "{\"from\": \"human\", \"value\": \"" text "\"}, {\"from\": \"gpt\", \"value\": \"b\"}"
        printf "["
        for (i = 0; i < n; i++) {
            printf "%s{\"id\": \"%d\", \"conversations\": [", i ? "," : "", i
            print turn "," turn "," turn "]}"
        }
        print "]"
    }'
}
many 3000 | generate --input - --seed 1 --request-rate 100 -o "$trace"
prefills() { awk -F, '$2 == "Write" && $6 == "Prefill" && $5 ~ /^conv/ {print $5}' "$trace"; } # conversation_N_turn_M
is "turns keep their order" "$(prefills | awk -F _ '$4 != last[$2] + 1 {print} {last[$2] = $4}')" ''
is "all are there" "$(requests completed)" 9000
first=$(prefills | cksum)
many 3000 | generate --input - --seed 2 --request-rate 100 -o "$trace"
isnt "another seed, another order" "$(prefills | cksum)" "$first"
is "as many" "$(prefills | wc -l)" 9000
limited() { # KIB: of address space
    many 20000 | sh -c 'ulimit -v "$1"; shift; exec "$@"' - "$1" "$BIN/kvgen" --model tiny-1b --generation-mode none \
        --input - --request-rate 100 --max-requests 0 --gpu-mem-gb 0 --cpu-mem-gb 1 --storage-capacity-gb none \
        --config threads=1 -o none
}
if sanitized; then
    diag "memory is not limited under a sanitizer"
else
    ok "180 MB are streamed in 100 MB" limited 100000
fi

refused() { # NAME REGEX TEXT
    printf '%s' "$3" >"$TMP/bad.json"
    exits "$1: status 2" 2 "$BIN/kvgen" --input "$TMP/bad.json" -o none
    stderr_like "$1: says so" "^kvgen: .*bad.json.*$2"
}
refused "cut" '' '[{"conversations": [{"from": "human", "value": "a'
refused "no turn at all" 'no turn' '[{"conversations": [1, 2]}, 3]'
refused "nothing" 'holds no conversation' '[]'
exits "speedup without times" 2 "$BIN/kvgen" --dataset-path "$dataset" --trace-speedup 2 -o none
stderr_like "speedup without times: says so" '^kvgen: --speed: this dataset has no times'
exits "endless at one time" 2 "$BIN/kvgen" --dataset-path "$dataset" --replay-cycles 0 --duration 5 -o none
exits "said twice" 2 "$BIN/kvgen" --dataset-path "$dataset" --input "$dataset" -o none
done_testing
