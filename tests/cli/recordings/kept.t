#!/bin/sh
# kept.t - what cannot be recorded again stays, whatever ends a recording: what arrived is in the output and in the capture
# within a second, also under SIGKILL and SIGHUP; an output that cannot be written any more takes nothing with it; a pipe with
# something bad in it leaves what came before. A bug looked like a recording of hours that one message removed, or of which a
# kill left 1,359 bytes.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"
cd "$TMP" || exit 1

# ---- from a pipe ----
vllm=$DATA/recordings/vllm-0.9.2-int.zmqrec
kvgen() { "$BIN/kvgen" -m tiny-1b --names key --no-notes "$@"; }
exits 'a recording' 0 kvgen --input "$vllm" -o whole.csv
sed 's/EXTERNAL/SOMEWARE/' "$DATA/recordings/sglang-0.5.19.zmqrec" >medium.zmqrec
piped() { # FILE STATUS NAME
    exits "$3" "$2" sh -c "\"\$1\" -m tiny-1b --names key --no-notes --source kv-events --input - --capture capture.jsonl -o out.csv <\"\$2\"" - \
        "$BIN/kvgen" "$1"
}
head -c 100 /dev/zero | cat "$vllm" - >zeros.zmqrec
piped zeros.zmqrec 2 'something bad at its end'
stderr_like 'is said' 'damaged'
ok 'the rows before it are there' cmp whole.csv out.csv
exits 'and the capture gives them, too' 0 kvgen --input capture.jsonl -o again.csv
ok 'all of them' cmp whole.csv again.csv
piped medium.zmqrec 1 'a medium that is not known'
stderr_like 'is named' 'blocks left out because their medium is unknown: [0-9]+, in SOMEWARE \(--config medium'
exits 'its capture with the medium' 0 kvgen --input capture.jsonl --config medium=someware=2 -o a.csv
exits 'is the same as its file' 0 kvgen --input medium.zmqrec --config medium=someware=2 -o b.csv
ok 'row by row' cmp a.csv b.csv

# ---- live ----
if ! python_with 'zmq, msgpack' || without_libzmq; then
    diag 'no python3 with zmq and msgpack, or no libzmq: nothing is recorded live here'
    done_testing
    exit
fi
port=$((32000 - $$ % 600 * 4))
publish() { "$python" "$DATA/recordings/live_publisher.py" --port $port --settle 2 --rate 1000 --duration 1 >"$dir/sent.json"; }
recorded() { # FOLDER SIGNAL LIMIT SUFFIX, in the background
    dir=$1 port=$((port + 1))
    mkdir "$1"
    (
        [ "$3" = none ] || ulimit -f "$3"
        exec "$BIN/kvgen" -m tiny-1b --names key --config reorder=100ms --input "tcp://127.0.0.1:$port" --capture "$1/capture.jsonl$4" -o "$1/out.csv$4"
    ) >"$1/log" 2>&1 &
    echo $! >"$1/pid"
    (
        publish
        sleep 1.5 # what came a second ago is there
        [ "$2" = none ] || kill -s "$2" "$(cat "$1/pid")"
    ) &
    waiting="$waiting $!"
}
waiting=''
recorded killed KILL none .zst
recorded hung HUP none .zst
recorded plain KILL none ''
recorded full none 300 ''
for pid in $waiting; do wait "$pid"; done
written() { zstd -dcqf "$1" 2>/dev/null | grep -c ',Write,'; }
captured() { zstd -dcqf "$1" 2>/dev/null | grep -o '"event":"stored".*' | grep -oE '"[0-9a-f]{32}"[],]' | wc -l; }
for kind in killed:.zst hung:.zst plain:; do
    dir=${kind%:*} suffix=${kind#*:}
    wait "$(cat "$dir/pid")"
    stored=$(json "$dir/sent.json" .stored)
    ok "$dir: something was sent" [ "$stored" -gt 100 ]
    is "$dir: all is in the output" "$(written "$dir/out.csv$suffix")" "$stored"
    ok "$dir: and in the capture" [ "$(captured "$dir/capture.jsonl$suffix")" -ge "$stored" ]
done
wait "$(cat full/pid)"
is 'an output that can grow no more: status' $? 1
ok 'it is there' [ -s full/out.csv ]
ok 'and so is the capture' [ -s full/capture.jsonl ]
exits 'which can be read up to there' 0 kvgen --input full/capture.jsonl -o rest.csv
ok 'and has rows' [ "$(grep -c ,Write, rest.csv)" -gt 5 ]
done_testing
