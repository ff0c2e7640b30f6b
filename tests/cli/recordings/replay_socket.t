#!/bin/sh
# What two releases of vLLM answered at their replay sockets, frame by frame: without the topic (0.22.1) and with it (0.33.0).
# Message 5 of each sample is lost, and the engine's own answer fills the gap: the rows are those of the sample with the message
# in its place. Where the engine no longer held the number (its answer is the end alone) the gap stays, and is counted. A bug
# looked like a number that was read from the topic's frame, or a wait for answers after their end.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

needs_zmq 'zmq' 'zmq, which plays the engine'

samples=$DATA/recordings
# What took seconds comes at once here: rows of one socket wait for those of the other.
options="-m tiny-1b --object-bytes 4096 --names $TMP/key --no-notes --config reorder=1m"
# Two sockets have no order between them: rows by time and publisher, and as they are within these.
in_order() { sort -s -t, -k1,1n -k7,7 "$1"; }
same_rows() { # NAME FILE: the rows of this talk
    in_order rows >"$TMP/a"
    in_order "$2" >"$TMP/b"
    ok "$1" cmp "$TMP/a" "$TMP/b"
}
to_rows() { with "$options" "$BIN/kvgen" "$@"; }

talk() { # FOLDER SAMPLE [REQUEST]: kvgen, and the engine as it was; all that came of it in the folder
    mkdir "$TMP/$1"
    cd "$TMP/$1" || exit 1
    "$python" "$samples/replay_socket.py" endpoints "$2.zmqrec" "$2.replay.jsonl" ${3+"$3"} >asked 2>player &
    player=$!
    until [ -s endpoints ] || ! kill -s 0 $player 2>/dev/null; do sleep 0.05; done
    with "$options" exec "$BIN/kvgen" --input "$(sed '$d' endpoints | paste -s -d ,)" --gap-endpoint "$(tail -n 1 endpoints)" \
        --summary s.json -o rows 2>log &
    listener=$!
    wait $player
    all_asleep "$listener" # it has read it all
    kill -s INT "$listener"
    wait "$listener"
    [ ! -s player ] || diag "$(tail -n 1 player)"
}

missing() { json "$TMP/$1/s.json" '.recording | [.messages, .missing, .stored, .removed] | map(tostring) | join(",")'; }

# The counts are those of answers.json, with message 5 added: three blocks stored in GPU, in both samples.
for case in vllm-0.22.1-int:16,0,34,8 vllm-0.33.0-bytes:18,0,40,8; do
    sample=${case%:*} counts=${case#*:}
    "$python" "$samples/replay_socket.py" --whole "$samples/$sample.zmqrec" "$samples/$sample.replay.jsonl" >"$TMP/whole.zmqrec"
    exits "$sample: with message 5 in its place" 0 to_rows --input "$TMP/whole.zmqrec" -o "$TMP/whole"
    talk "$sample" "$samples/$sample"
    is "$sample: asks for 5, in the frames that the engine was asked in" "$(cat asked)" ,0000000000000005
    is "$sample: nothing is missing" "$(missing "$sample")" "$counts"
    same_rows "$sample: the rows are those of the whole sample" "$TMP/whole"
    is "$sample: nothing private is seen" "$(planted rows s.json log)" ""

    for form in zmqrec replay.jsonl; do
        "$python" "$TOP/tests/recordings.py" mix "$samples/$sample.$form" "$TMP/mixed.$form" >/dev/null
    done
    talk "$sample-mixed" "$TMP/mixed"
    is "$sample: unknown fields and events mixed in: nothing is missing" "$(missing "$sample-mixed")" "$counts"
    same_rows "$sample: unknown fields and events mixed in: the same rows" "$TMP/whole"
    like "$sample: unknown fields and events mixed in: one event each, in the answer too" "$(cat log)" \
        "not known are left out: ${counts%%,*}, the first one"

    talk "$sample-gone" "$samples/$sample" 00000000000003e8
    exits "$sample: the same sample from a file" 0 to_rows --input "$samples/$sample.zmqrec" -o "$TMP/file"
    like "$sample: no longer held: the gap is counted" "$(missing "$sample-gone")" '^1[57],1,'
    same_rows "$sample: no longer held: the rows are those of the file" "$TMP/file"
done
done_testing
