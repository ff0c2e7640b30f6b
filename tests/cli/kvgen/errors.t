#!/bin/sh
# Bad input and bad options: one line "kvgen: where: what", exit status 2 (1 when output fails), and no
# file that looks whole. A bug looked like a default that was used in silence, an option without effect,
# or a trace that just ends.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

bad() { # name status regex arguments
    bad_name=$1 bad_status=$2 bad_like=$3
    shift 3
    exits "$bad_name: status $bad_status" "$bad_status" "$BIN/kvgen" -o "$TMP/out.csv" "$@"
    stderr_like "$bad_name: says so" "^kvgen: $bad_like"
    is "$bad_name: in one line" "$(lines "$TMP/stderr")" 1
    ok "$bad_name: no file" test ! -e "$TMP/out.csv"
}
blocks=$TMP/in.jsonl
good='{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}'

bad "missing file" 2 ".*nothing.jsonl" --input "$TMP/nothing.jsonl"
: >"$blocks"
bad "empty file" 2 ".*in.jsonl" --input "$blocks"
echo '{"chat_id": 1}' >"$blocks"
bad "unknown kind of file" 2 ".*in.jsonl: not an input" --input "$blocks"
bad "not the kind that was said" 2 ".*in.jsonl:1: .*timestamp" --source mooncake --input "$blocks"
echo '<xml/>' >"$blocks"
bad "no JSON at all" 2 ".*in.jsonl" --input "$blocks"
printf '%s\n%s\n' "$good" "$good" | sed '2s/600/"x"/' >"$blocks"
bad "bad number" 2 ".*in.jsonl:2: input_length" --input "$blocks"
printf '%s\n%s\n' "$good" "$good" | sed '2s/600/-600/' >"$blocks"
bad "negative size" 2 ".*in.jsonl:2: input_length" --input "$blocks"
printf '%s\n%s\n' "$good" "$good" | sed '2s/2\]/-2]/' >"$blocks"
bad "negative block" 2 ".*in.jsonl:2: hash_ids" --input "$blocks"
printf '%s\n%s\n' "$good" "$good" | sed '1s/"timestamp": 0/"timestamp": 9/' >"$blocks"
bad "time goes back" 2 ".*in.jsonl:2: timestamp" --input "$blocks"
printf '%s\n{"timestamp": 1, ' "$good" >"$blocks"
bad "cut line" 2 ".*in.jsonl:2" --input "$blocks"
head -c 100000 "$DATA/mooncake_first4000.jsonl.zst" >"$TMP/cut.zst"
bad "cut zstd" 2 ".*cut.zst" --input "$TMP/cut.zst"

bad "unknown model" 2 ".*gpt-17.*" --model gpt-17
printf 'decode:\n  batch_sise: 3\n' >"$TMP/c.yaml"
bad "unknown key" 2 ".*c.yaml:2: .*batch_sise" --config "$TMP/c.yaml"
printf 'qos_distribution:\n  interactive_probability: 0.9\n' >"$TMP/c.yaml"
bad "contradicting shares" 2 ".*c.yaml:2: .*responsive_threshold" --config "$TMP/c.yaml"
bad "unknown option" 2 "--num-user" --num-user 3
bad "operand" 2 "trace.csv: " trace.csv
bad "bad number in an option" 2 "--users" --num-users many
bad "unknown type" 2 "--kv-dtype: float7: " --kv-dtype float7
bad "no tier" 2 "--storage-capacity" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb none
bad "bad capacity" 2 "--storage-capacity" --storage-capacity-gb -3
bad "no such place" 2 "--storage-capacity" --storage-capacity-gb "auto:$TMP/no/where"
bad "more ranks than GPUs" 2 "--tensor-parallel" --tensor-parallel 2
bad "bad tiers" 2 "--only-tier" --only-tier 3
bad "bad epoch" 2 "--epoch" --epoch yesterday
bad "no end" 2 "--duration" --duration 0
bad "no rate" 2 "--arrival poisson" --arrival poisson
bad "no rate for gamma" 2 "--arrival gamma" --arrival gamma
bad "a spread without gamma" 2 "--config arrival_cv" --config arrival_cv=2
bad "a spread that is none" 2 "--config arrival_cv" --arrival gamma --request-rate 3 --config arrival_cv=0
bad "rate without Poisson" 2 "--request-rate" --request-rate 3
bad "block option for users" 2 "--config block_reuse" --config block_reuse=any
bad "users option for blocks" 2 "--users" --input "$DATA/mooncake_first200.jsonl" --num-users 3
bad "mooncake without input" 2 "--source" --source mooncake
bad "block option for arrivals" 2 "--config partial_blocks" --input "$DATA/burstgpt_30rows.csv" --config partial_blocks=true
bad "burst without path" 2 "--use-burst-trace" --use-burst-trace
bad "no burst trace" 2 ".*first200.jsonl: not an input" --use-burst-trace \
    --burst-trace-path "$DATA/mooncake_first200.jsonl"
bad "endless cycles" 2 "--replay-cycles" --input "$DATA/burstgpt_30rows.csv" --replay-cycles 0
bad "cycles without time" 2 "--replay-cycles" --input "$DATA/burstgpt_30rows.csv" --replay-cycles 0 \
    --trace-speedup 0 --duration 5
bad "cycles of users" 2 "--replay-cycles" --replay-cycles 2
bad "nothing matches" 2 ".*none" --input "$TMP/none*.csv"
mkdir "$TMP/empty"
bad "folder without data" 2 ".*empty: holds no file" --input "$TMP/empty"
burst=$TMP/burst.csv
printf 'Timestamp,Request tokens,Response tokens\n5,10,1\n4,10,1\n' >"$burst"
bad "burst time goes back" 2 ".*burst.csv:3: Timestamp goes back" --input "$burst"
printf 'Timestamp,Request tokens,Response tokens\n5,ten,1\n6,-1,1\n' >"$burst"
bad "no good row" 2 ".*burst.csv:2: Request tokens is \"ten\"" --input "$burst"
{
    printf 'Timestamp,Request tokens,Response tokens\n5,10,1\n'
    head -c 3000000 /dev/zero | tr '\0' 7
} >"$burst"
bad "endless row" 2 ".*burst.csv:3: a row of more" --input "$burst"
head -c 30000 "$DATA/azure_code_2023.csv.zst" >"$TMP/cut.zst"
bad "cut CSV" 2 ".*cut.zst" --input "$TMP/cut.zst"
printf 'Timestamp,Request tokens,Response tokens\n5,10,1\n' >"$burst"
bad "time stands still" 2 ".*burst.csv: .*never end" --input "$burst" --replay-cycles 0 --duration 5
bad "azure is no burst" 2 ".*burst.csv: .*TIMESTAMP" --source azure --input "$burst"

bad "two for standard output" 2 "standard output" --summary - --dump-users -
exits "--list-models with what simulates: status 2" 2 "$BIN/kvgen" --list-models --num-users 3
stderr_like "--list-models with what simulates: says so" '^kvgen: --users: '
exits "--list-models with --kv-dtype: status 2" 2 "$BIN/kvgen" --list-models --kv-dtype int4
bad "level of a plain file" 2 "--config level" --config level=5

users=$TMP/users.csv
head='User,Context_Tokens,Generation_Tokens,Think_s,QoS'
printf '%s\nann,100,10,0.5,batch\n' "$head" >"$users"
ok "a users file" "$BIN/kvgen" --users-file "$users" --num-users 1 --duration 1 -o none
bad "too few users" 2 ".*users.csv: has [0-9]* users*, but --users asks for 2" --users-file "$users" --num-users 2
printf '%s\nann,100,10,0.5,batch\nbob,0,10,0.5,batch\n' "$head" >"$users"
bad "bad user" 2 ".*users.csv:3: Context_Tokens" --users-file "$users" --num-users 2
printf '%s\nann,100,10,0.5,batch\nann,100,10,0.5,batch\n' "$head" >"$users"
bad "user twice" 2 ".*users.csv: user \"ann\"" --users-file "$users" --num-users 2
printf 'User,QoS\nann,batch\n' >"$users"
bad "missing column" 2 ".*users.csv: .*Context_Tokens" --users-file "$users" --num-users 1

# Users without think time ask for ever at one time, unless something else takes time. A bug looked like a full memory.
printf 'User,Context_Tokens,Generation_Tokens,Think_s,QoS\nann,100,10,0,batch\n' >"$TMP/restless.csv"
printf 'user_templates:\n  chatbot:\n    think_time_range: [0, 0]\n' >"$TMP/restless.yaml"
restless() { # name, status, options...
    name=$1 status=$2
    shift 2
    exits "$name" "$status" timeout 60 "$BIN/kvgen" --duration 1 --arrival open -o none "$@"
}
restless "no thinking, open arrival: status 2" 2 --users-file "$TMP/restless.csv" --num-users 1
stderr_like "who it is" '^kvgen: .*restless.csv: user "ann" has zero think time'
restless "the same by a configuration: status 2" 2 --config "$TMP/restless.yaml"
stderr_like "where" '^kvgen: user_templates: user "user_[0-9]*" has zero think time'
restless "closed, with nothing that takes time: status 2" 2 --users-file "$TMP/restless.csv" --num-users 1 \
    --arrival closed --generation-mode none
restless "a number of requests ends it" 0 --users-file "$TMP/restless.csv" --num-users 1 --max-requests 5
restless "generation takes time" 0 --users-file "$TMP/restless.csv" --num-users 1 --arrival closed
restless "reads and writes take time" 0 --users-file "$TMP/restless.csv" --num-users 1 --arrival closed \
    --generation-mode none --tier-model 0=hbm3

printf '%s\nann,100,10,0.5,batch\nbob,100,10,0.5,batch\n' "$head" >"$users"
bad "users over the file that they come from" 2 ".*users.csv: is read .--users-file., and " --users-file "$users" \
    --num-users 1 --dump-users "$users" -o none
echo 'decode: {batch_size: 8}' >"$TMP/c.yaml"
bad "the trace over its configuration" 2 ".*c.yaml: is read .--config., and " --config "$TMP/c.yaml" \
    -o "$TMP/c.yaml"
bad "users from a trace" 2 "--input: synthetic users .--source users. read no file" --source users \
    --input "$users"
printf 'Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,10,3\n' >"$burst"
exits "cycles of a pipe: status 2" 2 "$BIN/kvgen" --input - --replay-cycles 2 <"$burst"
stderr_like "cycles of a pipe: says so" '^kvgen: --replay-cycles: standard input can be read only once'
rm -f "$TMP/early.csv"
for option in --summary --curve; do
    bad "$option has no place" 1 ".*no/x: cannot write" --num-users 1 --duration 1 \
        -o "$TMP/early.csv" $option "$TMP/no/x"
done
not_ok "and that is told before the run" test -e "$TMP/early.csv"

exits "a folder that is not there: status 1" 1 "$BIN/kvgen" --duration 1 -o "$TMP/no/where.csv"
if [ -w /dev/full ]; then
    exits "a full disk: status 1" 1 "$BIN/kvgen" --num-users 50 --duration 60 -o /dev/full
    stderr_like "a full disk: says so" '^kvgen: .*(No space|ENOSPC|full)'
fi
"$BIN/kvgen" --num-users 500 --duration 600 --generation-mode none 2>"$TMP/pipe.err" | head -n 1 >/dev/null
is "a reader that goes away: no words" "$(cat "$TMP/pipe.err")" ""

# SIGINT: the file is finished.
"$BIN/kvgen" --num-users 1000 --duration 100h --generation-mode none -o "$TMP/int.csv.zst" 2>/dev/null &
pid=$!
until [ -s "$TMP/int.csv.zst" ] || ! kill -0 $pid; do sleep 0.05; done
kill -INT $pid
wait $pid
is "SIGINT: status 130" $? 130
ok "SIGINT: the file is whole" zstd -qt "$TMP/int.csv.zst"

# SIGKILL: what was written is there, and is read up to where it ends.
for name in cut.csv cut.csv.zst; do
    "$BIN/kvgen" --num-users 1000 --duration 100h --generation-mode none --format mlperf -o "$TMP/$name" 2>/dev/null &
    pid=$!
    for _ in $(seq 5000); do
        [ "$(stat -c %s "$TMP/$name" 2>/dev/null || echo 0)" -gt 500000 ] && break
        sleep 0.02
    done
    kill -KILL $pid
    wait $pid 2>/dev/null
    "$BIN/kvstat" --json --skip-bad-rows "$TMP/$name" >"$TMP/read.json" 2>"$TMP/stderr"
    rows=$(json "$TMP/read.json" .rows)
    ok "SIGKILL: mlperf's $name is read (${rows:-0} rows)" test "${rows:-0}" -gt 5000
    rm -f "$TMP/$name"
done
stderr_like "SIGKILL: that it is cut is said" 'cut\.csv\.zst: .*cut'

# The same while standard input is silent: what was served so far is written.
mkfifo "$TMP/pipe"
for how in "INT 130" "TERM 143"; do
    sig=${how% *}
    rm -f "$TMP/silent.csv.zst"
    "$BIN/kvgen" --input - -m tiny-1b -o "$TMP/silent.csv.zst" <"$TMP/pipe" 2>"$TMP/silent.err" &
    pid=$!
    exec 9>"$TMP/pipe"
    head -n 20 "$DATA/mooncake_first200.jsonl" >&9
    catches $pid
    rests $pid
    kill "-$sig" $pid
    wait $pid
    is "SIG$sig, blocked: status" $? "${how#* }"
    exec 9>&-
    ok "SIG$sig, blocked: the file is whole" zstd -qt "$TMP/silent.csv.zst"
    like "SIG$sig, blocked: requests are in it" "$(zstd -qdc "$TMP/silent.csv.zst")" ',Generate,'
    is "SIG$sig, blocked: no error" "$(grep '^kvgen:' "$TMP/silent.err")" 'kvgen: stopping: finishing the output; again to abort'
done

if [ -w /dev/full ]; then
    exits "--list-models, a full disk: status 1" 1 sh -c "\"\$1\" --list-models >/dev/full" - "$BIN/kvgen"
fi
if [ -d /dev/shm ] && [ -w /dev/shm ]; then # a regular file below /dev
    shm=/dev/shm/kvtrace-test-$$.json
    printf '%9999s' '' >"$shm"
    "$BIN/kvgen" --num-users 3 --duration 1 --summary "$shm" -o none 2>/dev/null
    is "--summary in /dev: replaces a file, all of it" "$(tail -c 3 "$shm" | tr -d '\n')" "}"
    rm -f "$shm"
    "$BIN/kvgen" --num-users 3 --duration 1 --summary "$shm" -o none 2>/dev/null
    ok "--summary in /dev: makes one" test -s "$shm"
    rm -f "$shm"
fi
# Anything but a regular file is written to, never replaced.
rm -f "$TMP/pipe"
mkfifo "$TMP/pipe"
cat "$TMP/pipe" >"$TMP/piped.csv" &
"$BIN/kvgen" --num-users 3 --duration 1 --dump-users "$TMP/pipe" -o none 2>/dev/null
ok "--dump-users into a pipe: it stays one" test -p "$TMP/pipe"
[ -p "$TMP/pipe" ] && wait $!
is "--dump-users into a pipe: the users come" "$(lines "$TMP/piped.csv")" 4

# Related programs have this mode.
exits "a mode of other programs" 2 "$BIN/kvgen" --generation-mode deterministic -o none
stderr_like "a mode of other programs: what to choose" \
    "^kvgen: --generation-mode: there is no 'deterministic': every mode is.*none .0 ms., fast .2 ms. or realistic"
done_testing
