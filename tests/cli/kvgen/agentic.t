#!/bin/sh
# Agentic sessions: totals of the sample are exact whether it comes as an archive through a pipe or as a
# folder, and whatever number of users; sub-agents begin with the answer before them, run side by side, and
# are waited for. A bug looked like sessions that shared blocks, a sub-agent's requests lost, or a session
# that began before its user had ended the last one.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

IN=$DATA/agentic_60.tar.zst
S=$TMP/s.json
A=$TMP/a.csv
gen() { told "$BIN/kvgen" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 "$@" --summary "$S"; }
starts() { awk -F, '$2 == "Generate" {print $7 ":" $1 * 1}' "$1" | tr '\n' ' '; } # request:time

exact() {
    is "$1: requests" "$(value "$S" completed)" 3059
    is "$1: tokens" "$(value "$S" context_tokens) $(value "$S" generated_tokens)" "297564627 1253150"
    is "$1: blocks looked up" "$(value "$S" lookups block)" 4647929
    is "$1: hits with endless capacity" "$(value "$S" hits block)" 4455452
    is "$1: sessions" "$(value "$S" count conversations)" 60
}
gen --input - --block-reuse any -o none <"$IN"
exact "archive from a pipe"
is "recognised" "$(source_name "$S")" agentic
mkdir "$TMP/folder"
zstd -q -d --long=27 -c "$IN" | tar -C "$TMP/folder" -xf -
gen --input "$TMP/folder" --num-users 7 --block-reuse any -o none
exact "folder, 7 users"
all=$(value "$S" simulated_s)
gen --input "$TMP/folder" --num-users 7 --trace-speedup 0 --block-reuse any -o none
ok "without think time it is shorter" test "$(value "$S" simulated_s | cut -d . -f 1)" -lt "${all%.*}"

# By hand: 2 generated tokens are 0.06 s. Two sub-agents begin when request 1 is answered; the request
# behind them waits for the longer one although its own think time is over. think_time missing: from t.
session() { # requests
    printf '{"id": "x", "block_size": 4, "hash_id_scope": "local", "requests": [%s]}' "$1"
}
r() { # t think ids
    printf '{"t": %s, "type": "s", "in": 9, "out": 2, "api_time": 1%s, "hash_ids": [%s]}' "$1" "${2:+, \"think_time\": $2}" "$3"
}
agent() { printf '{"t": 9, "type": "subagent", "duration_ms": null, "requests": [%s]}' "$1"; }
mkdir "$TMP/two"
session "$(r 0 0.5 1,2), $(agent "$(r 0 0 3), $(r 3 "" 4)"), $(agent "$(r 0 1 5)"), $(r 8 1.25 1,6)" >"$TMP/two/a.json"
session "$(r 0 0 1,2), $(r 2 -3 1,2)" >"$TMP/two/b.json"
gen --input "$TMP/two" --num-users 2 -o "$A"
# b: 0 and 0.06; a: 0.5, answered 0.56, sub-agents 0.56 and 1.56 (answered 1.62), 0.62 + 2 = 2.62 (2.68), 2.68.
is "who asks when" "$(starts "$A")" "1:0 2:0.06 3:0.5 4:0.56 5:1.56 6:2.62 7:2.68 "
is "blocks are those of a session" "$(awk -F, '$2 == "Write" {print $5}' "$A" | tr '\n' ' ')" \
    "session_2_block_1 session_2_block_2 session_1_block_1 session_1_block_2 session_1_block_3 session_1_block_5 session_1_block_4 session_1_block_6 "
is "of the size that the file says" "$(awk -F, '$2 == "Write" {print $3}' "$A" | sort -u)" 98304
gen --input "$TMP/two" --num-users 1 -o "$A"
is "one user: one after the other" "$(starts "$A")" "1:0.5 2:0.56 3:1.56 4:2.62 5:2.68 6:2.74 7:2.8 "
like "the user's name" "$(cat "$A")" ',dataset_user_0,'
gen --input "$TMP/two" --num-users 1 --trace-speedup 2 -o "$A"
is "think times are halved" "$(starts "$A")" "1:0.25 2:0.31 3:0.81 4:1.37 5:1.43 6:1.49 7:1.55 "
gen --input "$TMP/two" --num-users 2 --replay-cycles 3 -o none
is "cycles" "$(value "$S" completed)" 21
gen --input "$TMP/two" --num-users 1 --replay-cycles 0 --duration 60 -o none
ok "until the duration" test "$(value "$S" count conversations)" -gt 30

bad() { # name regex file
    exits "$1: status 2" 2 "$BIN/kvgen" --source agentic --input "$3" --generation-mode none -o none
    like "$1: says so" "$(cat "$TMP/stderr")" "^kvgen: .*$2"
}
session "$(r 0 0 1), $(r 0 0 -1)" >"$TMP/b.json"
bad "bad block" 'b.json: request 2: hash_ids' "$TMP/b.json"
session "$(r 0 0 1)" | sed 's/"in": 9/"in": "9"/' >"$TMP/b.json"
bad "bad tokens" 'b.json: request 1: in is' "$TMP/b.json"
session "$(r 0 0 1)" | sed 's/: 4,/: 0,/' >"$TMP/b.json"
bad "bad block size" 'b.json: block_size' "$TMP/b.json"
session "$(r 0 0 1)" | sed 's/"local"/"global"/' >"$TMP/b.json"
bad "blocks that sessions share" 'b.json: hash_id_scope is "global"' "$TMP/b.json"
echo '{"block_size": 4}' >"$TMP/b.json"
bad "no session" 'b.json: not an agentic' "$TMP/b.json"
session "$(r 0 0 1)" | head -c 100 >"$TMP/b.json"
bad "cut session" 'b.json' "$TMP/b.json"
tar -C "$TMP/two" -cf "$TMP/t.tar" a.json b.json
head -c 1500 "$TMP/t.tar" >"$TMP/cut.tar"
bad "cut archive" 'cut.tar: damaged archive' "$TMP/cut.tar"

# Names of more than 100 bytes have headers of their own, in GNU's way and in pax's, or a prefix (ustar).
long=$(printf '%0120d' 7)
mkdir "$TMP/long" "$TMP/long/$long"
session "$(r 0 0.5 1,2)" >"$TMP/long/a.json"
session "$(r 0 0.5 1,2)" >"$TMP/long/$long.json"
session "$(r 0 0.5 -1)" >"$TMP/long/$long/x.json"
for format in gnu pax ustar; do
    tar -C "$TMP/long" --format=$format -cf "$TMP/t.tar" a.json "$long/x.json" 2>/dev/null || continue
    bad "$format: a long name" "t.tar\\(0+7/x.json\\): request 1: hash_ids" "$TMP/t.tar"
    [ $format = ustar ] && continue
    tar -C "$TMP/long" --format=$format -cf "$TMP/t.tar" a.json "$long.json"
    gen --input "$TMP/t.tar" -o none
    is "$format: a long name's session is there" "$(value "$S" count conversations)" 2
    tar -C "$TMP/long" --format=$format --transform "s,^$long,$(printf '%06000d' 7)," -cf "$TMP/t.tar" a.json "$long.json" \
        2>/dev/null || continue
    gen --input "$TMP/t.tar" -o none
    is "$format: a name of 6,000 bytes, too" "$(value "$S" count conversations)" 2
done
session "" >"$TMP/b.json"
exits "sessions without requests end" 0 "$BIN/kvgen" --input "$TMP/b.json" -o none
exits "without time they are not repeated for ever: status 2" 2 "$BIN/kvgen" --input "$TMP/b.json" \
    --replay-cycles 0 --duration 9 -o none
done_testing
