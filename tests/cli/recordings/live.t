#!/bin/sh
# Live KV events over ZMQ: of several ranks, of publishers that connect to one bound socket, with what was lost asked for at
# the replay socket (both forms of its answers), after a restart, and ended by --duration, --limit and Ctrl-C with a whole
# file. A bug looked like a gap that was counted although the engine still held its messages.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"
single_threaded

python=
for p in python3 /usr/bin/python3; do
    if "$p" -c 'import zmq, msgpack' 2>/dev/null; then python=$p; fi
done
[ -n "$python" ] || skip_all 'no python3 with zmq and msgpack, which the publisher needs'
"$BIN/kvgen" --bind ipc:///nowhere/x --duration 1ms -o none 2>"$TMP/err"
! grep -q 'built without libzmq' "$TMP/err" || skip_all 'built without libzmq'

port=$((20000 + $$ % 10000))
replay=$((port + 10000))
at=tcp://127.0.0.1
publish() { "$python" "$DATA/recordings/live_publisher.py" --tokens --settle 1 "$@" >"$TMP/sent.json"; }
listen() { # KVGEN-ARGS...: in the background; sets listener
    rm -f "$TMP/s.json" "$TMP/out.csv"
    "$BIN/kvgen" -m tiny-1b --names "$TMP/key" --summary "$TMP/s.json" -o "$TMP/out.csv" "$@" >"$TMP/log" 2>&1 &
    listener=$!
}
counts() { json "$TMP/s.json" '.recording | [.messages, .missing, .stored, .removed] | map(tostring) | join(",")'; }
sent() { json "$TMP/sent.json" '[.messages, 0, .stored, .removed] | map(tostring) | join(",")'; }

listen --input "$at:$port,$at:$((port + 1))" --duration 6s --capture "$TMP/capture.jsonl"
publish --port $port --ranks 2 --rate 5000 --duration 2
wait $listener
is "two ranks: all is there" "$(counts)" "$(sent)"
is "two ranks: they are two" "$(json "$TMP/s.json" .recording.publishers_and_ranks)" 2
is "two ranks: nothing private is seen" "$(planted "$TMP/out.csv" "$TMP/capture.jsonl" "$TMP/s.json" "$TMP/log")" ""
exits "two ranks: the capture is whole" 0 "$BIN/kvgen" -m tiny-1b --names "$TMP/key" --input "$TMP/capture.jsonl" -o "$TMP/again.csv"
grep -v '^,Note' "$TMP/out.csv" >"$TMP/a"
grep -v '^,Note' "$TMP/again.csv" >"$TMP/b"
ok "two ranks: and gives the same rows" cmp "$TMP/a" "$TMP/b"

for form in '' --old-answers; do
    listen --input "$at:$port" --gap-endpoint "$at:$replay" --duration 7s
    # shellcheck disable=SC2086
    publish --port $port --replay $replay --rate 1000 --duration 2 --lose 5,6,40-44 $form
    wait $listener
    is "lost messages are asked for ${form:-with their topics}" "$(counts)" "$(sent)"
done
listen --input "$at:$port" --duration 5s
publish --port $port --rate 1000 --duration 2 --lose 5,6,40-44
wait $listener
is "without a replay socket they stay missing" "$(json "$TMP/s.json" .recording.missing)" 7

listen --bind "$at:$port" --duration 5s
publish --connect "$at:$port" --topic kv@planted-a@model --rate 1000 --duration 2 &
publish --connect "$at:$port" --topic kv@planted-b@model --rate 1000 --duration 2
wait
is "two topics on one bound socket: no gap" "$(json "$TMP/s.json" '.recording | [.missing, .restarts, .publishers_and_ranks] |
    map(tostring) | join(",")')" 0,0,2

listen --input "$at:$port" --gap-endpoint "$at:$replay" --duration 12s
"$python" "$DATA/recordings/live_publisher.py" --port $port --replay $replay --settle 1 --rate 1000 --duration 60 >/dev/null &
publisher=$!
sleep 4
kill -9 $publisher
wait $publisher 2>/dev/null
publish --port $port --replay $replay --rate 1000 --duration 2
wait $listener
is "killed and started again: told, and nothing missing" \
    "$(json "$TMP/s.json" '.recording | [.restarts, .missing] | map(tostring) | join(",")')" 1,0

listen --input "$at:$port" --limit 50
publish --port $port --rate 1000 --duration 3
wait $listener
is "--limit: status 0" $? 0
is "--limit: so many rows" "$(grep -cE ',(Write|Delete),' "$TMP/out.csv")" 50

listen --input "$at:$port" --capture "$TMP/capture2.jsonl"
publish --port $port --rate 1000 --duration 2
kill -s INT $listener
wait $listener
is "Ctrl-C: status 130" $? 130
is "Ctrl-C: all rows are there" "$(counts)" "$(sent)"
is "Ctrl-C: the file is whole" "$(tail -n 1 "$TMP/out.csv" | cut -d, -f2)" Note

bad() { # NAME REGEX KVGEN-ARGS...
    name=$1 regex=$2
    shift 2
    exits "$name: status 2" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$name: says so" "^kvgen: $regex"
}
bad "nothing comes" 'live: no message came' --input "$at:$port" --duration 200ms
bad "an endpoint that is none" 'tcp://nowhere: cannot be connected to' --input tcp://nowhere
bad "more replay sockets than endpoints" '--gap-endpoint: ' --input "$at:$port" --gap-endpoint "$at:1,$at:2"
bad "a replay socket for a file" '--gap-endpoint: only live events' --input "$DATA/recordings/vllm-0.9.2-int.zmqrec" \
    --gap-endpoint "$at:1"
bad "another source" '--source: only KV events' --source dynamo --input "$at:$port"
done_testing
