#!/bin/sh
# A whole way: recorded events through kvgen into kvreplay to kvstat; all of them say what was recorded and what was not.
# A bug looked like a replay at times that nobody recorded.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

vllm=$DATA/recordings/vllm-0.33.0-manager-bytes.zmqrec
trtllm=$DATA/recordings/trtllm-kv_cache_events.jsonl
mkdir "$TMP/store"
for name in trace.csv trace.csv.zst; do
    exits "$name: kvgen" 0 "$BIN/kvgen" --input "$vllm" -m tiny-1b -o "$TMP/$name"
    rm -rf "$TMP/store"/*
    exits "$name: kvreplay" 0 "$BIN/kvreplay" --null --timing trace --speed 10 -o "$TMP/result.csv.zst" "$TMP/$name"
    stderr_like "$name: kvreplay says what is missing" '^kvreplay: .*: recorded events, writes only: '
    exits "$name: kvstat" 0 "$BIN/kvstat" --json "$TMP/result.csv.zst"
    cp "$TMP/stdout" "$TMP/report"
    like "$name: kvstat says what is missing" "$(jq -r '.. | strings' "$TMP/report")" '^kv-events; not recorded: reads, durations$'
    is "$name: nothing private is seen" "$(planted "$TMP/$name" "$TMP/result.csv.zst" "$TMP/report" "$TMP/stdout")" ""
done
exits "a trace is one of writes only for kvstat, too" 0 "$BIN/kvstat" --json "$TMP/trace.csv.zst"
cp "$TMP/stdout" "$TMP/report"
like "it says so" "$(jq -r '.. | strings' "$TMP/report")" '^kv-events; not recorded: reads, durations$'

# Events that were captured first, and the requests of the same time, on a real folder.
requests=$DATA/recordings/dynamo-1.6.1-request-trace-sessions-payload.jsonl
exits "events" 0 "$BIN/kvgen" --input "$DATA/recordings/dynamo-1.6.1-mocker-events.zmqrec" --names "$TMP/key" \
    --capture "$TMP/events.jsonl.zst" -o none
exits "events and requests" 0 "$BIN/kvgen" --input "$TMP/events.jsonl.zst" --names "$TMP/key" --requests "$requests" \
    -m tiny-1b --retier --gpu-mem 4MiB --cpu-mem 4MiB --summary "$TMP/s.json" -o "$TMP/paired.csv.zst"
is "events and requests: reads" "$(json "$TMP/s.json" '.recording | [.read_tokens, .requests_exact] | join(",")')" 1552,20
exits "on a folder, at the recorded times" 0 "$BIN/kvreplay" --target "$TMP/store" --timing trace -o "$TMP/result.csv.zst" \
    "$TMP/paired.csv.zst"
stderr_unlike "on a folder: nobody says that reads are missing" 'writes only'
exits "on a folder: one screen" 0 "$BIN/kvstat" "$TMP/result.csv.zst"
stdout_like "on a folder: it says what was recorded, and what was not" '^Recorded   kv-events and requests; not recorded: durations$'
stdout_like "on a folder: the drive wrote" '^Storage write +72 +27\.0 MiB'
stdout_like "on a folder: and read" '^Storage read +21 +7\.88 MiB'
stdout_like "on a folder: every read hit" '^Cache +hit rate 100\.0 % of 97 lookups'
ok "on a folder: 25 lines at most" test "$(lines "$TMP/stdout")" -le 25
is "on a folder: nothing private is seen" "$(planted "$TMP/paired.csv.zst" "$TMP/result.csv.zst" "$TMP/stdout")" ""
exits "the trace alone" 0 "$BIN/kvstat" "$TMP/paired.csv.zst"
stdout_like "the trace alone: it says so, too" '^Recorded   kv-events and requests; not recorded: durations$'

exits "a recording without times" 0 "$BIN/kvgen" --input "$trtllm" -m tiny-1b -o "$TMP/trace.csv"
exits "has none to be replayed at: status 2" 2 "$BIN/kvreplay" --null --timing trace "$TMP/trace.csv"
stderr_like "has none to be replayed at: says so" '^kvreplay: --timing trace: the recording has no times'
exits "in order" 0 "$BIN/kvstat" "$TMP/trace.csv"
stdout_like "it has no times" '^Recorded   trtllm; not recorded: reads, durations, times$'
exits "in order it is replayed" 0 "$BIN/kvreplay" --null --timing asap -o "$TMP/result.csv" "$TMP/trace.csv"
done_testing
