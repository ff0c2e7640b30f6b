#!/bin/sh
# --source satf, and agentic Mooncake rows of versions 1 and 2: steps begin by their edges and delays, not by the clock of the
# file. Both forms of one recording have the same requests. A bug looked like a step before the one it waits for, like ids
# of 64 bits that fell together, or like a graph that never ends.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

generate() { "$BIN/kvgen" -m tiny-1b --generation-mode none --summary "$TMP/s.json" "$@"; }
rows() { grep -v '^,Note' "$1"; }
requests() { # FILE: time and context of each request
    rows "$1" | awk -F, -v OFS=: 'NR == 1 {for (i = 1; i <= NF; i++) c[$i] = i; next}
        !($c["Request"] in n) {n[$c["Request"]]; printf "%s ", $1}'
}
figures='[.source, .requests.issued, .requests.context_tokens, .requests.generated_tokens, .lookups.all.lookups,
    .conversations.count] | map(tostring) | join(",")'
while read -r sample source; do
    in=$DATA/recordings/$sample
    exits "$sample" 0 generate --input "$in" -o "$TMP/$source.csv"
    is "$sample: counts" "$(json "$TMP/s.json" "$figures")" "$source,20,3913,334,257,5"
    is "$sample: distinct blocks" "$(rows "$TMP/$source.csv" | cut -d, -f5 | grep block_ | sort -u | wc -l)" 92
    is "$sample: nothing private is seen" "$(planted "$TMP/$source.csv" "$TMP/s.json" "$TMP/stderr")" ""
    exits "$sample: from a pipe" 0 generate --input - -o "$TMP/again.csv" <"$in"
    rows "$TMP/again.csv" >"$TMP/b"
    rows "$TMP/$source.csv" >"$TMP/a"
    ok "$sample: the pipe gives the same rows" cmp "$TMP/a" "$TMP/b"
    sed 's/{"request_id"/{"new":{"planted":[910001]},"request_id"/g; s/{"kind"/{"new":[{"kind":1}],"kind"/g; s/{"schema"/{"new":1,"schema"/' \
        "$in" >"$TMP/more"
    exits "$sample: more members" 0 generate --input "$TMP/more" -o "$TMP/again.csv"
    rows "$TMP/again.csv" >"$TMP/b"
    ok "$sample: more members: the same rows" cmp "$TMP/a" "$TMP/b"
    stderr_like "$sample: more members: they are counted" "fields that are not known are left out: $(grep -o '"new":' "$TMP/more" | wc -l)\$"
    exits "$sample: as it is" 0 generate --input "$in" -o none
    stderr_unlike "$sample: as it is: all is known" 'not known'
    exits "$sample: twice" 0 generate --input "$in" --replay-cycles 2 -o none
    is "$sample: twice: requests" "$(json "$TMP/s.json" .requests.issued)" 40
    head -c 5000 "$in" >"$TMP/cut"
    exits "$sample: cut: status 2" 2 generate --input "$TMP/cut" -o none
done <<'END'
dynamo-1.6.1-agentic-mooncake-v2.jsonl mooncake
dynamo-1.6.1.satf.json satf
END
jq . "$DATA/recordings/dynamo-1.6.1.satf.json" >"$TMP/long.json"
exits "a document of many lines" 0 generate --input "$TMP/long.json" -o "$TMP/again.csv"
rows "$TMP/again.csv" >"$TMP/b"
rows "$TMP/satf.csv" >"$TMP/a"
ok "a document of many lines: the same rows" cmp "$TMP/a" "$TMP/b"

# b waits for the dispatch of a, c for the answers of both, d for its own time.
head='{"schema":"dynamo.agentic_mooncake","version":2,"block_size":16,"hash_id_scope":"local"}'
row() { printf '{"request_id":"%s","input_length":16,"output_length":0,"hash_ids":[%s]%s}\n' "$@"; }
need() { printf '{"request_id":"%s","trigger":"%s","delay_ms":%s}' "$@"; }
{
    echo "$head"
    row c 3 ",\"dependencies\":[$(need a completion 200),$(need b completion 50.5)]"
    row a 18446744073709551615 ',"not_before_ms":100'
    row b 18446744073709551614 ",\"not_before_ms\":0,\"dependencies\":[$(need a dispatch 300)]"
    row d 4 ",\"not_before_ms\":2000,\"dependencies\":[$(need c completion 1)]"
} >"$TMP/life.jsonl"
exits "edges and delays" 0 generate --input "$TMP/life.jsonl" -o "$TMP/out.csv"
is "times" "$(requests "$TMP/out.csv")" "0.100000 0.400000 0.450500 2.000000 "
is "ids of 64 bits are kept apart" "$(rows "$TMP/out.csv" | cut -d, -f5 | grep block_ | sort -u | wc -l)" 4
exits "faster" 0 generate --input "$TMP/life.jsonl" --speed 2 -o "$TMP/out.csv"
is "faster: times" "$(requests "$TMP/out.csv")" "0.050000 0.200000 0.225250 1.000000 "

# While a is served, the source was asked for what comes next, which was d; c is ready before that.
{
    echo "$head"
    row a 1 '' | sed 's/"output_length":0/"output_length":10/'
    row c 2 ",\"dependencies\":[$(need a completion 100)]"
    row d 3 ',"not_before_ms":10000'
} >"$TMP/ahead.jsonl"
exits "a later step was asked for" 0 generate --generation-mode fast --input "$TMP/ahead.jsonl" -o "$TMP/out.csv"
is "a later step was asked for: an earlier one still comes first" "$(requests "$TMP/out.csv")" "0.000000 0.120000 10.000000 "

# Version 1 has no header: b waits for a and c, then for its delay and its tools; c follows a in its session by its delay.
row_1() { printf '{"request_id":"%s","session_id":"planted-%s","input_length":30,"output_length":0,"hash_ids":[1,%s]%s}\n' "$@"; }
{
    row_1 a s 2 ',"timestamp":5000,"branches":["b"]'
    row_1 b t 3 ',"wait_for":["a","c"],"delay":20,"tool_wait_ms":30.5,"prefix_reset":true,"tool_events":[{"planted":1}]'
    row_1 c s 4 ',"delay":100'
    row_1 d u 5 ',"timestamp":5007'
} >"$TMP/version1.jsonl"
exits "version 1" 0 generate --input "$TMP/version1.jsonl" -o "$TMP/out.csv"
is "version 1: times" "$(requests "$TMP/out.csv")" "0.000000 0.007000 0.100000 0.150500 "
is "version 1: requests, blocks, hits" "$(json "$TMP/s.json" "[.requests.issued, .lookups.block.lookups, .lookups.block.hits] | join(\",\")")" 4,8,3
is "version 1: blocks of 16 tokens" "$(rows "$TMP/out.csv" | awk -F, '$2 == "Write" {print $11}' | sort -u)" 16
stderr_unlike "version 1: all is known" 'not known'
is "version 1: nothing private is seen" "$(planted "$TMP/out.csv" "$TMP/s.json" "$TMP/stderr")" ""

# A tool call between two inferences is a pause.
infer() { printf '{"kind":"llm_infer","id":"%s","min_start_delay_us":%s,"payload":{"input_tokens_total":16,"output_tokens":0,"kv_block_ids":[%s]}}' "$@"; }
edge() { printf '{"from":"%s","to":"%s","delay_after_predecessor_us":%s}' "$@"; }
cat >"$TMP/tools.json" <<END
{"format":"satf","format_version":"2.0.0","time_base":"us","block_size_tokens":16,"sessions":[{"session_id":"planted-s",
"nodes":[$(infer a 50000 1),{"kind":"tool_call","id":"t","payload":{"tool_name":"planted"}},
{"kind":"tool_result","id":"r","duration_us":400000,"payload":{}},$(infer b 0 2)],
"edges":[$(edge a t 10000),$(edge t r 0),$(edge r b 40000)]}]}
END
exits "tool calls" 0 generate --input "$TMP/tools.json" -o "$TMP/out.csv"
stderr_unlike "tool calls: they are known" 'not known'
is "they are pauses" "$(requests "$TMP/out.csv")" "0.050000 0.500000 "

sed 's/"tool_result"/"dream"/' "$TMP/tools.json" >"$TMP/dream.json"
exits "a node of another kind" 0 generate --input "$TMP/dream.json" -o "$TMP/out.csv"
is "is a pause" "$(requests "$TMP/out.csv")" "0.050000 0.500000 "
stderr_like "is counted and named" 'not known are left out: 1, the first one "dream"'

bad() { # NAME REGEX
    exits "$1: status 2" 2 "$BIN/kvgen" --input "$TMP/bad" -o none
    stderr_like "$1: says so" "^kvgen: .*bad$2"
}
{ echo "$head" && row a 1 ",\"dependencies\":[$(need a completion 1)]"; } >"$TMP/bad"
bad "a step that waits for itself" ': holds steps that wait for each other'
{ echo "$head" && row a 1 ",\"dependencies\":[$(need b completion 1)]"; } >"$TMP/bad"
bad "a step that is not there" ': a dependency is on a step that the file does not have'
{ echo "$head" && row a 1 '' && row a 1 ''; } >"$TMP/bad"
bad "a name twice" ":3: the step's name is that of another step"
{ echo "$head" && row a 1 ",\"dependencies\":[$(need a dreamt 1)]"; } >"$TMP/bad"
bad "another trigger" ':2: trigger is not dispatch or completion'
{ echo "$head" && row a -1 ''; } >"$TMP/bad"
bad "a block that is none" ':2: hash_ids holds something that is not a number of 64 bits'
{ row_1 a s 1 ',"wait_for":["x"]'; } >"$TMP/bad"
bad "version 1: a step that is not there" ': a dependency is on a step that the file does not have'
{ row_1 a s 1 ',"wait_for":[]' && row_1 b s '1,2,3,4,5' ''; } >"$TMP/bad"
bad "version 1: ids that do not fit" ':2: the number of hash_ids does not fit the tokens'
echo "$head" | sed 's/2,/3,/' >"$TMP/bad"
bad "another version" ':1: version is not 2'
sed 's/"us"/"ms"/' "$TMP/tools.json" >"$TMP/bad"
bad "another unit of time" ': time_base is not us'
echo "$head" >"$TMP/bad"
bad "no row" ': holds no request'
{ echo "$head" && row a 1 ''; } >"$TMP/zero.jsonl"
exits "cycles without end that take no time" 2 "$BIN/kvgen" --generation-mode none --input "$TMP/zero.jsonl" --replay-cycles 0 --duration 5s -o none
done_testing
