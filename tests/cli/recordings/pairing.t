#!/bin/sh
# --requests: the reads of recorded events are filled in from Dynamo's requests of the same time: exactly the tokens that
# the service found in its cache, for every request. With blocks of another size, or an adapter, requests are refused and
# counted. A bug looked like a read of a block that another adapter had made.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

events=$DATA/recordings/dynamo-1.6.1-mocker-events.zmqrec
requests=$DATA/recordings/dynamo-1.6.1-request-trace-sessions-payload.jsonl
pair() { "$BIN/kvgen" -m tiny-1b --summary "$TMP/s.json" -o "$TMP/out.csv" "$@"; }
counts() {
    json "$TMP/s.json" '.recording | [.requests, .requests_refused, .requests_exact, .read_tokens] | map(tostring) | join(",")'
}

exits "events with their requests" 0 pair --input "$events" --requests "$requests" --capture "$TMP/capture.jsonl"
is "every request reads what it found" "$(counts)" 20,0,20,1552
is "97 blocks are read" "$(awk -F, '$2 == "Read"' "$TMP/out.csv" | wc -l)" 97
is "all of them are there" "$(awk -F, '
    $2 == "Write" { there[$4, $5] = 1 }
    $2 == "Delete" { there[$4, $5] = 0 }
    $2 == "Read" && !there[$4, $5]' "$TMP/out.csv")" ""
like "rows name their request" "$(awk -F, '$2 == "Read" {print $7}' "$TMP/out.csv" | sort -un | tail -n 1)" '^(1[0-9]|20)$'
is "the trace has reads" "$(json "$TMP/s.json" .recording.writes_only)" false
unlike "nobody says that reads are missing" "$(cat "$TMP/stderr")" 'writes only'
is "nothing private is seen" "$(planted "$TMP/out.csv" "$TMP/capture.jsonl" "$TMP/s.json" "$TMP/stderr")" ""

exits "blocks of another size" 0 pair --input "$DATA/recordings/sglang-0.5.19.zmqrec" --requests "$requests"
is "another size: all are refused" "$(counts)" 20,20,0,0
stderr_like "another size: it is said" '^requests +0 paired, 20 refused; 0 tokens read'
# The first request finds an empty cache, and so nothing to refuse.
if command -v python3 >/dev/null; then
    while read -r member value; do
        python3 "$TOP/tests/recordings.py" set "$events" "$TMP/salt.zmqrec" "$member" "$value"
        exits "$member" 0 pair --input "$TMP/salt.zmqrec" --requests "$requests"
        like "$member: none is read, and requests are refused" "$(counts)" '^20,1[0-9],[0-9]+,0$'
        is "$member: nothing private is seen" "$(planted "$TMP/out.csv" "$TMP/s.json" "$TMP/stderr")" ""
    done <<'END'
lora_name "planted-adapter"
lora_id 7
cache_salt "planted-salt"
extra_keys [["planted-image"]]
block_size 32
END
    python3 "$TOP/tests/recordings.py" set "$events" "$TMP/salt.zmqrec" extra_keys '[null]'
    exits "keys that are none" 0 pair --input "$TMP/salt.zmqrec" --requests "$requests"
    is "keys that are none: every request reads what it found" "$(counts)" 20,0,20,1552
fi
bad() { # NAME REGEX KVGEN-ARGS...
    name=$1 regex=$2
    shift 2
    exits "$name: status 2" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$name: says so" "^kvgen: $regex"
}
bad "Mooncake's rows as requests" '.*first200.jsonl: no request trace of Dynamo' --input "$events" \
    --requests "$DATA/mooncake_first200.jsonl"

# A capture that is made with a key can be paired later, with the same key.
exits "the recording with a key" 0 pair --names "$TMP/key" --input "$events" --requests "$requests"
grep -v '^,Note' "$TMP/out.csv" >"$TMP/want.csv"
exits "its capture" 0 pair --names "$TMP/key" --input "$events" --capture "$TMP/keyed.jsonl"
cp "$TMP/out.csv" "$TMP/unpaired.csv"
like "the capture tells its key" "$(jq -r .key "$TMP/keyed.jsonl" | head -n 1)" '^[0-9a-f]{16}$'
exits "the capture with requests" 0 pair --names "$TMP/key" --input "$TMP/keyed.jsonl" --requests "$requests" --capture "$TMP/keyed2.jsonl"
is "the capture: every request reads what it found" "$(counts)" 20,0,20,1552
grep -v '^,Note' "$TMP/out.csv" >"$TMP/got.csv"
ok "the capture: the same rows" cmp "$TMP/want.csv" "$TMP/got.csv"
ok "the capture: captured again it is the same" cmp "$TMP/keyed.jsonl" "$TMP/keyed2.jsonl"
exits "the capture without requests" 0 pair --input "$TMP/keyed.jsonl" --capture "$TMP/keyed3.jsonl"
ok "without requests and key: captured again it is the same" cmp "$TMP/keyed.jsonl" "$TMP/keyed3.jsonl"
is "the capture: nothing private is seen" "$(planted "$TMP/keyed.jsonl" "$TMP/out.csv" "$TMP/s.json" "$TMP/stderr")" ""
if command -v python3 >/dev/null; then
    is "the capture: no hash of tokens is seen" \
        "$(python3 "$TOP/tests/recordings.py" private "$events" "$requests" -- "$TMP/keyed.jsonl")" ""
    python3 "$TOP/tests/recordings.py" set "$events" "$TMP/salt.zmqrec" cache_salt '"planted-salt"'
    exits "a salt" 0 pair --names "$TMP/key" --input "$TMP/salt.zmqrec" --capture "$TMP/salt.jsonl"
    exits "a salt: its capture" 0 pair --names "$TMP/key" --input "$TMP/salt.jsonl" --requests "$requests"
    like "a salt: the capture's requests are refused, too" "$(counts)" '^20,1[0-9],[0-9]+,0$'
fi
bad "a capture without a key" '--requests: the capture .*capture.jsonl .*--names' --input "$TMP/capture.jsonl" \
    --requests "$requests"
bad "a capture with another key" '--requests: the capture .*keyed.jsonl .*--names' --input "$TMP/keyed.jsonl" \
    --requests "$requests"
bad "other events" '--requests: only KV events' --source trtllm \
    --input "$DATA/recordings/trtllm-kv_cache_events.jsonl" --requests "$requests"
bad "no file" '.*nowhere: ' --input "$events" --requests "$TMP/nowhere"
done_testing
