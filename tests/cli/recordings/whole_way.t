#!/bin/sh
# A whole way: recorded events through kvgen into kvreplay to kvstat; all of them say what was recorded and what was not.
# A bug looked like a replay at times that nobody recorded.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
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
    like "$name: kvstat says what is missing" "$(jq -r '.. | strings' "$TMP/report")" '^recorded events, writes only'
    is "$name: nothing private is seen" "$(planted "$TMP/$name" "$TMP/result.csv.zst" "$TMP/report" "$TMP/stdout")" ""
done
exits "a trace is one of writes only for kvstat, too" 0 "$BIN/kvstat" --json "$TMP/trace.csv.zst"
cp "$TMP/stdout" "$TMP/report"
like "it says so" "$(jq -r '.. | strings' "$TMP/report")" '^recorded events, writes only'

exits "a recording without times" 0 "$BIN/kvgen" --input "$trtllm" -m tiny-1b -o "$TMP/trace.csv"
exits "has none to be replayed at: status 2" 2 "$BIN/kvreplay" --null --timing trace "$TMP/trace.csv"
stderr_like "has none to be replayed at: says so" '^kvreplay: --timing trace: the recording has no times'
exits "in order it is replayed" 0 "$BIN/kvreplay" --null --timing asap -o "$TMP/result.csv" "$TMP/trace.csv"
done_testing
