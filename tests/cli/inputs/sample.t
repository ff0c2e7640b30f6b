#!/bin/sh
# sample.t - --config sample keeps a share of an input's sessions, each whole or not at all, and the same ones everywhere.
# A bug looked like a session torn apart, or a sample that another one of the same input did not hold.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
trace=$TMP/trace.csv
generate() { told "$BIN/kvgen" --model tiny-1b --generation-mode none --summary "$summary" -o "$trace" "$@"; }
told_of() { like "$1" "$(cat "$TMP/err")" "^kvgen: .*: $2\$"; }
completed() { json "$summary" .requests.completed; }

# 200 conversations of three turns, each a chain of chats.
awk 'BEGIN { for (t = 0; t < 3; t++) for (c = 0; c < 200; c++) printf "{\"chat_id\": %d, \"parent_chat_id\": %d, \"timestamp\": %d, \"input_length\": 16, \"output_length\": 1, \"hash_ids\": [%d]}\n", t * 200 + c, t ? (t - 1) * 200 + c : -1, t * 200 + c, c }' >"$TMP/q.jsonl"
blocks() { awk -F, '$2 != "Generate" && /block_/ { if (match($0, /block_[0-9]+/)) print substr($0, RSTART, RLENGTH) }' "$trace" | sort -u; }
generate --input "$TMP/q.jsonl" --config sample=20%
kept=$(completed)
ok 'a fifth is kept, about' test "$kept" -gt 60 -a "$kept" -lt 180
is 'chains of chats are whole' "$((kept % 3))" 0
told_of 'and counted' "requests kept \\(--config sample\\): $kept of 600"
is 'each has its turns' "$(json "$summary" .lookups.block.lookups)" "$kept"
is 'its first turn, too' "$(json "$summary" .conversations.count)" "$((kept / 3))"
blocks >"$TMP/fifth"
generate --input "$TMP/q.jsonl" --config sample=0.2
is 'a number says the same' "$(blocks)" "$(cat "$TMP/fifth")"
generate --input "$TMP/q.jsonl" --config sample=50%
is 'a larger share keeps these, too' "$(blocks | comm -13 - "$TMP/fifth")" ''
ok 'and more' test "$(completed)" -gt "$kept"
generate --input "$TMP/q.jsonl" --config sample=20% --replay-cycles 2
is 'the same in each cycle' "$(completed)" "$((kept * 2))"
generate --input "$TMP/q.jsonl" --config sample=20% -o "$TMP/t.csv.zst"
is 'it is in the provenance' "$(provenance "$TMP/t.csv.zst" | json /dev/stdin .options.sample)" 0.2
generate --input "$TMP/q.jsonl" --config sample=20% --config max_gap=1
is 'idle times are those between what is kept' "$(arrivals "$trace" | wc -w)" "$(arrivals "$trace" | tr ' ' '\n' | sort -un | grep -c .)"
sed 's/"parent_chat_id": -1/"parent_chat_id": 9/' "$TMP/q.jsonl" >"$TMP/one.jsonl"
exits 'none is left: status 2' 2 "$BIN/kvgen" --input "$TMP/one.jsonl" --config sample=1e-6 -o none
stderr_like 'says so' '^kvgen: --config sample: keeps none of the 600 requests of '
exits 'a share is at most 1' 2 "$BIN/kvgen" --input "$TMP/q.jsonl" --config sample=120% -o none
stderr_like 'in words' '^kvgen: --config sample: 120% is above 1$'
exits 'a number that is meant as percent' 2 "$BIN/kvgen" --input "$TMP/q.jsonl" --config sample=20 -o none
stderr_like 'is told how to write it' '^kvgen: --config sample: 20 is above 1; for 20 percent write 20% or 0\.2$'
exits 'one that is not' 2 "$BIN/kvgen" --input "$TMP/q.jsonl" --config sample=120 -o none
stderr_like 'is too large' '^kvgen: --config sample: 120 is above 1$'
while read -r program words; do
    with "$words" "$BIN/$program" 2>&1 | grep -q '95 is above 1; for 95 percent write 95% or 0[.]95$' || echo "$program $words"
done >"$TMP/unsaid" <<'END'
kvgen --answer a.json --goodput 95
kvgen --config curve_sample=95
kvreplay --autoscale qos --target-saturation 95
kvstat --config min_change=95
END
is 'by each option of a share' "$(cat "$TMP/unsaid")" ''
exits 'it is a number' 2 "$BIN/kvgen" --input "$TMP/q.jsonl" --config sample=some -o none
stderr_like 'in words, too' "^kvgen: --config sample: 'some' is not a share \\(such as 0.1 or 10%\\)"

# Mooncake rows that name their session, and rows that do not.
awk 'BEGIN { for (i = 0; i < 300; i++) printf "{\"session_id\": \"s%d\", \"timestamp\": %d, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [%d]}\n", i % 100, i, i % 100 }' >"$TMP/m.jsonl"
generate --input "$TMP/m.jsonl" --config sample=0.3
is 'Mooncake: sessions are whole' "$(($(completed) % 3))" 0
told_of 'Mooncake: counted' 'requests kept \(--config sample\): [0-9]+ of 300'
sed 's/"session_id": "s\([0-9]*\)"/"session_id": \1/' "$TMP/m.jsonl" >"$TMP/n.jsonl"
generate --input "$TMP/n.jsonl" --config sample=0.3
is 'Mooncake: sessions by number' "$(($(completed) % 3))" 0
sed 's/"session_id": "s[0-9]*", //' "$TMP/m.jsonl" >"$TMP/none.jsonl"
exits 'rows of no session that share blocks: status 2' 2 "$BIN/kvgen" --input "$TMP/none.jsonl" --config sample=0.3 -o none
stderr_like 'says why' '^kvgen: .*none.jsonl:1: no session_id: --config sample would tear apart the rows that share blocks$'
sed 's/, "hash_ids": [^}]*//' "$TMP/none.jsonl" >"$TMP/unshared.jsonl"
generate --input "$TMP/unshared.jsonl" --config sample=0.3
ok 'rows that share nothing' test "$(completed)" -gt 50 -a "$(completed)" -lt 140

zcat "$DATA/recordings/dynamo-1.6.1-request-trace.000000.jsonl.gz" | head -n 1 >"$TMP/row"
exits 'Dynamo, without sessions: status 2' 2 "$BIN/kvgen" --input "$TMP/row" --config sample=0.3 -o none
stderr_like 'Dynamo: says why' ':1: no session_id: --config sample would tear apart'
for i in $(seq 150); do sed "s/\"request\":{/\"agent_context\":{\"session_id\":\"s$((i % 50))\"},&/" "$TMP/row"; done >"$TMP/d.jsonl"
generate --input "$TMP/d.jsonl" --config sample=0.3
is 'Dynamo: sessions are whole' "$(($(completed) % 3))" 0
told_of 'Dynamo: counted' "requests kept \\(--config sample\\): $(completed) of 150"

{ echo 'Timestamp,Session ID,Request tokens,Response tokens' && awk 'BEGIN { for (i = 0; i < 300; i++) printf "%d,%s,100,1\n", i, i % 3 ? "s" int(i / 3) : "" }'; } >"$TMP/b.csv"
generate --input "$TMP/b.csv" --config sample=0.3
ok 'BurstGPT' test "$(completed)" -gt 40 -a "$(completed)" -lt 150
cut -d, -f1,3,4 "$TMP/b.csv" >"$TMP/b3.csv"
generate --input "$TMP/b3.csv" --config sample=0.3
ok 'BurstGPT without sessions' test "$(completed)" -gt 50 -a "$(completed)" -lt 140

awk 'BEGIN { for (i = 0; i < 100; i++) printf "{\"id\": \"c%d\", \"conversations\": [{\"from\": \"human\", \"value\": \"a\"}, {\"from\": \"gpt\", \"value\": \"b\"}]}\n", i }' >"$TMP/c.jsonl"
generate --input "$TMP/c.jsonl" --config sample=0.3
kept=$(completed)
told_of 'conversations' "conversations kept \\(--config sample\\): $kept of 100"
sort -r "$TMP/c.jsonl" >"$TMP/r.jsonl"
generate --input "$TMP/r.jsonl" --config sample=0.3
is 'conversations: by their names, not their places' "$(completed)" "$kept"
sed 's/"id": "[^"]*", //' "$TMP/c.jsonl" >"$TMP/nameless.jsonl"
generate --input "$TMP/nameless.jsonl" --config sample=0.3
ok 'conversations without a name' test "$(completed)" -gt 10 -a "$(completed)" -lt 60

generate --input "$DATA/agentic_60.tar.zst" --config sample=0.3
told_of 'sessions of agents' 'sessions kept \(--config sample\): [1-9][0-9]* of 60'
is 'sessions of agents: as many' "$(json "$summary" .conversations.count)" "$(sed -n 's/.*(--config sample): \([0-9]*\) of.*/\1/p' "$TMP/err")"

# Steps that wait for those of another session are kept or left with it.
{ echo '{"schema": "dynamo.agentic_mooncake", "version": 2, "block_size": 16}' && awk 'BEGIN { for (i = 0; i < 100; i++) { printf "{\"request_id\": \"a%d\", \"session_id\": \"a%d\", \"input_length\": 16, \"output_length\": 1, \"hash_ids\": [1]}\n", i, i; printf "{\"request_id\": \"b%d\", \"session_id\": \"b%d\", \"input_length\": 16, \"output_length\": 1, \"hash_ids\": [1], \"dependencies\": [{\"request_id\": \"a%d\", \"trigger\": \"completion\"}]}\n", i, i, i } }'; } >"$TMP/g.jsonl"
generate --input "$TMP/g.jsonl" --config sample=0.3
kept=$(completed)
is 'steps: sessions that wait for each other' "$((kept % 2))" 0
told_of 'steps: counted by session' "sessions kept \\(--config sample\\): $kept of 200"
generate --input "$TMP/g.jsonl" --config sample=0.3 --replay-cycles 2
is 'steps: in each cycle' "$(completed)" "$((kept * 2))"

exits 'synthetic users: status 2' 2 "$BIN/kvgen" --config sample=0.5 -o none
done_testing
