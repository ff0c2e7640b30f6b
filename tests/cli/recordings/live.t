#!/bin/sh
# Live KV events over ZMQ: of several ranks, of publishers that connect to one bound socket, with what was lost asked for at
# the replay socket (both forms of its answers), after a restart, and ended by --duration, --limit and Ctrl-C with a whole
# file. A bug looked like a gap that was counted although the engine still held its messages.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

needs_zmq 'zmq, msgpack' 'zmq and msgpack, which the publisher needs'

# Each scenario waits for a clock most of its time: all of them run at once, each with a folder and ports of its own, and
# what came of them is looked at afterwards.
at=tcp://127.0.0.1
port=$((20000 + $$ % 600 * 20)) # below those that the kernel gives: a listener could be connected to itself
scenario() { # FUNCTION FOLDER [ARGS...]: in the background, in $dir; $port and three after it are its own
    run=$1 dir=$TMP/$2 port=$((port + 4))
    mkdir "$dir"
    shift 2
    "$run" "$@" &
}
publish() { "$python" "$DATA/recordings/live_publisher.py" --port $port --settle 3 --rate 1000 "$@" >"$dir/sent.json"; }
listen() { # KVGEN-ARGS...: in the background; sets listener
    "$BIN/kvgen" -m tiny-1b --names "$TMP/key" --summary "$dir/s.json" -o "$dir/out.csv" "$@" >"$dir/log" 2>&1 &
    listener=$!
}
end() { # it is interrupted when what was sent has come
    all_asleep "$listener"
    kill -s INT "$listener"
    ended
}
ended() {
    wait "$listener"
    echo $? >"$dir/status"
}
counts() { json "$TMP/$1/s.json" '.recording | [.messages, .missing, .stored, .removed] | map(tostring) | join(",")'; }
sent() { json "$TMP/$1/sent.json" '[.messages, 0, .stored, .removed] | map(tostring) | join(",")'; }

kill_publisher() { # SHELL that runs it
    kill -9 "$(pgrep -P "$1")"
    wait "$1" 2>/dev/null
}

two_ranks() {
    listen --input "$at:$port,$at:$((port + 1))" --capture "$dir/capture.jsonl"
    publish --tokens --ranks 2 --rate 5000 --duration 1.5
    end
}
timed() {
    listen --input "$at:$port" --duration 8s
    publish --settle 0 --duration 60 &
    ended
    kill_publisher $!
}
lost() { # PUBLISHER-ARGS...
    listen --input "$at:$port" --gap-endpoint "$at:$((port + 2))"
    publish --replay $((port + 2)) --duration 1.5 --lose 5,6,40-44 "$@"
    end
}
unasked() {
    listen --input "$at:$port"
    publish --duration 1.5 --lose 5,6,40-44
    end
}
two_topics() {
    listen --bind "$at:$port"
    publish --connect "$at:$port" --topic kv@planted-a@model --duration 1.5 &
    publish --connect "$at:$port" --topic kv@planted-b@model --duration 1.5
    wait $!
    end
}
restarted() {
    listen --input "$at:$port" --gap-endpoint "$at:$((port + 2))"
    publish --replay $((port + 2)) --duration 60 &
    until grep -qs ',Write,' "$dir/out.csv" || ! kill -s 0 "$listener" 2>/dev/null; do sleep 0.1; done
    kill_publisher $!
    publish --replay $((port + 2)) --duration 1.5
    end
}
limit() {
    listen --input "$at:$port" --limit 50
    publish --duration 2
    ended
}
interrupted() {
    listen --input "$at:$port" --capture "$dir/capture.jsonl"
    publish --duration 1.5
    end
}
exits "the key is made" 0 "$BIN/kvgen" -m tiny-1b --names "$TMP/key" --input "$DATA/recordings/vllm-0.9.2-int.zmqrec" -o none
scenario two_ranks two_ranks
scenario timed timed
scenario lost topics
scenario lost old --old-answers
scenario unasked unasked
scenario two_topics two_topics
scenario restarted restarted
scenario limit limit
scenario interrupted interrupted
wait

is "two ranks: all is there" "$(counts two_ranks)" "$(sent two_ranks)"
is "two ranks: they are two" "$(json "$TMP/two_ranks/s.json" .recording.publishers_and_ranks)" 2
cd "$TMP/two_ranks" || exit 1
is "two ranks: nothing private is seen" "$(planted out.csv capture.jsonl s.json log)" ""
exits "two ranks: the capture is whole" 0 "$BIN/kvgen" -m tiny-1b --names "$TMP/key" --input capture.jsonl -o again.csv
grep -v '^,Note' out.csv >a
grep -v '^,Note' again.csv >b
ok "two ranks: and gives the same rows" cmp a b
cd "$TMP" || exit 1
is "lost messages are asked for with their topics" "$(counts topics)" "$(sent topics)"
is "lost messages are asked for --old-answers" "$(counts old)" "$(sent old)"
is "without a replay socket they stay missing" "$(json "$TMP/unasked/s.json" .recording.missing)" 7
is "two topics on one bound socket: no gap" "$(json "$TMP/two_topics/s.json" '.recording |
    [.missing, .restarts, .publishers_and_ranks] | map(tostring) | join(",")')" 0,0,2
is "killed and started again: told, and nothing missing" \
    "$(json "$TMP/restarted/s.json" '.recording | [.restarts, .missing] | map(tostring) | join(",")')" 1,0
is "--duration: status 0" "$(cat "$TMP/timed/status")" 0
is "--duration: the file is whole" "$(tail -n 1 "$TMP/timed/out.csv" | cut -d, -f2)" Note
is "--limit: status 0" "$(cat "$TMP/limit/status")" 0
is "--limit: so many rows" "$(grep -cE ',(Write|Delete),' "$TMP/limit/out.csv")" 50
is "Ctrl-C: status 130" "$(cat "$TMP/interrupted/status")" 130
is "Ctrl-C: all rows are there" "$(counts interrupted)" "$(sent interrupted)"
is "Ctrl-C: the file is whole" "$(tail -n 1 "$TMP/interrupted/out.csv" | cut -d, -f2)" Note

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
