#!/bin/sh
# Agentic sessions. The totals of the sample are exact for an archive from a pipe and for a folder, with any number of
# users. A sub-agent starts when the request before it is answered, sub-agents run side by side, and the next request
# waits for all of them. A bug looked like sessions that shared blocks, requests of a sub-agent that were lost, or a
# session that began before its user had ended the last one.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

sample=$DATA/agentic_60.tar.zst
summary=$TMP/summary.json
trace=$TMP/trace.csv
generate() { told "$BIN/kvgen" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 "$@" --summary "$summary"; }
starts() { awk -F, '$2 == "Generate" {print $7 ":" $1 * 1}' "$trace" | tr '\n' ' '; } # request:time

exact() {
    json_like "$summary" <<END
$1: requests                    | .requests.completed | 3059
$1: tokens                      | .requests.context_tokens, .requests.generated_tokens | 297564627 1253150
$1: blocks looked up            | .lookups.block.lookups | 4647929
$1: hits with endless capacity  | .lookups.block.hits | 4455452
$1: sessions                    | .conversations.count | 60
END
}
generate --input - --config block_reuse=any -o none <"$sample"
exact "archive from a pipe"
is "recognised" "$(json "$summary" .source)" agentic
mkdir "$TMP/folder"
zstd -q -d --long=27 -c "$sample" | tar -C "$TMP/folder" -xf -
generate --input "$TMP/folder" --num-users 7 --config block_reuse=any -o none
exact "folder, 7 users"
with_thinking=$(json "$summary" .trace.simulated_s)
generate --input "$TMP/folder" --num-users 7 --trace-speedup 0 --config block_reuse=any -o none
is "without think time it is shorter" "$(json "$summary" ".trace.simulated_s < $with_thinking")" true

# By hand: 2 generated tokens take 0.06 s. Both sub-agents start when request 1 is answered. The request after
# them waits for the longer one, although its own think time is over. A request without think_time is paced by its t.
session() { # REQUESTS
    printf '{"id": "x", "block_size": 4, "hash_id_scope": "local", "requests": [%s]}' "$1"
}
request() { # T THINK_TIME BLOCKS
    printf '{"t": %s, "type": "s", "in": 9, "out": 2, "api_time": 1' "$1"
    [ -z "$2" ] || printf ', "think_time": %s' "$2"
    printf ', "hash_ids": [%s]}' "$3"
}
agent() { printf '{"t": 9, "type": "subagent", "duration_ms": null, "requests": [%s]}' "$1"; }
mkdir "$TMP/two"
first_agent=$(agent "$(request 0 0 3), $(request 3 "" 4)")
second_agent=$(agent "$(request 0 1 5)")
session "$(request 0 0.5 1,2), $first_agent, $second_agent, $(request 8 1.25 1,6)" >"$TMP/two/a.json"
session "$(request 0 0 1,2), $(request 2 -3 1,2)" >"$TMP/two/b.json"
generate --input "$TMP/two" --num-users 2 -o "$trace"
# b: 0 and 0.06; a: 0.5, answered 0.56, sub-agents 0.56 and 1.56 (answered 1.62), 0.62 + 2 = 2.62 (2.68), 2.68.
is "who asks when" "$(starts)" "1:0 2:0.06 3:0.5 4:0.56 5:1.56 6:2.62 7:2.68 "
written() { awk -F, '$2 == "Write" {print $5}' "$trace"; }
is "blocks are those of a session" "$(written | sed 's/^session_//' | tr '\n' ' ')" \
    "2_block_1 2_block_2 1_block_1 1_block_2 1_block_3 1_block_5 1_block_4 1_block_6 "
is "named so" "$(written | head -n 1)" session_2_block_1
is "of the size that the file says" "$(awk -F, '$2 == "Write" {print $3}' "$trace" | sort -u)" 98304
generate --input "$TMP/two" --num-users 1 -o "$trace"
is "one user: one after the other" "$(starts)" "1:0.5 2:0.56 3:1.56 4:2.62 5:2.68 6:2.74 7:2.8 "
like "the user's name" "$(cat "$trace")" ',dataset_user_0,'
generate --input "$TMP/two" --num-users 1 --trace-speedup 2 -o "$trace"
is "think times are halved" "$(starts)" "1:0.25 2:0.31 3:0.81 4:1.37 5:1.43 6:1.49 7:1.55 "
generate --input "$TMP/two" --num-users 2 --replay-cycles 3 -o none
is "cycles" "$(json "$summary" .requests.completed)" 21
generate --input "$TMP/two" --num-users 1 --replay-cycles 0 --duration 60 -o none
ok "until the duration" test "$(json "$summary" .conversations.count)" -gt 30

refused() { # NAME REGEX FILE
    exits "$1: status 2" 2 "$BIN/kvgen" --source agentic --input "$3" --generation-mode none -o none
    stderr_like "$1: says so" "^kvgen: .*$2"
}
bad=$TMP/bad.json
session "$(request 0 0 1), $(request 0 0 -1)" >"$bad"
refused "bad block" 'bad.json: request 2: hash_ids' "$bad"
session "$(request 0 0 1)" | sed 's/"in": 9/"in": "9"/' >"$bad"
refused "bad tokens" 'bad.json: request 1: in is' "$bad"
session "$(request 0 0 1)" | sed 's/: 4,/: 0,/' >"$bad"
refused "bad block size" 'bad.json: block_size' "$bad"
session "$(request 0 0 1)" | sed 's/"local"/"global"/' >"$bad"
refused "blocks that sessions share" 'bad.json: hash_id_scope is "global"' "$bad"
echo '{"block_size": 4}' >"$bad"
refused "no session" 'bad.json: not an agentic' "$bad"
session "$(request 0 0 1)" | head -c 100 >"$bad"
refused "cut session" 'bad.json' "$bad"
tar -C "$TMP/two" -cf "$TMP/t.tar" a.json b.json
head -c 1500 "$TMP/t.tar" >"$TMP/cut.tar"
refused "cut archive" 'cut.tar: damaged archive' "$TMP/cut.tar"

# GNU tar and pax give names of more than 100 bytes a header of their own; ustar splits them into prefix and name.
long=$(printf '%0120d' 7)
mkdir "$TMP/long" "$TMP/long/$long"
session "$(request 0 0.5 1,2)" >"$TMP/long/a.json"
session "$(request 0 0.5 1,2)" >"$TMP/long/$long.json"
session "$(request 0 0.5 -1)" >"$TMP/long/$long/x.json"
for format in gnu pax ustar; do
    ok "$format: an archive" tar -C "$TMP/long" --format=$format -cf "$TMP/t.tar" a.json "$long/x.json"
    refused "$format: a long name" "t.tar\\(0+7/x.json\\): request 1: hash_ids" "$TMP/t.tar"
    [ $format != ustar ] || continue # it has no room for the names below
    tar -C "$TMP/long" --format=$format -cf "$TMP/t.tar" a.json "$long.json"
    generate --input "$TMP/t.tar" -o none
    is "$format: a long name's session is there" "$(json "$summary" .conversations.count)" 2
    ok "$format: an archive with a name of 6,000 bytes" tar -C "$TMP/long" --format=$format \
        --transform "s,^$long,$(printf '%06000d' 7)," -cf "$TMP/t.tar" a.json "$long.json"
    generate --input "$TMP/t.tar" -o none
    is "$format: whose session is there, too" "$(json "$summary" .conversations.count)" 2
done
session "" >"$bad"
exits "sessions without requests end" 0 "$BIN/kvgen" --input "$bad" -o none
exits "without time they are not repeated for ever: status 2" 2 "$BIN/kvgen" --input "$bad" \
    --replay-cycles 0 --duration 9 -o none
done_testing
