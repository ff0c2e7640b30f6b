#!/bin/sh
# --source dynamo: request traces of NVIDIA Dynamo, wrapped and bare, plain and of many gzip members, have the requests,
# tokens and blocks that a program of its own counted, in the order of their arrivals, and no name or prompt in them is
# seen in any output. A bug looked like hashes above 2^63 that fell together, or requests in the order of their ends.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

plain=$DATA/recordings/dynamo-1.6.1-request-trace-sessions-payload.jsonl
gz=$DATA/recordings/dynamo-1.6.1-request-trace.000000.jsonl.gz
generate() { "$BIN/kvgen" -m tiny-1b "$@" --summary "$TMP/s.json" -o "$TMP/out.csv"; }
keyed() { generate --names "$TMP/key" "$@"; }
digest() { sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$TMP/stderr"; }
with_unknown() { # three fields in each request, and an event
    sed 's/"event_type":"request_end",/"new": {"x": [1]},&/; s/"replay":{/"new": 7,&"new": "planted",/'
    printf '{"timestamp": 1, "event": {"schema": "dynamo.request.trace.v1", "event_type": "dream", "event_time_unix_ms": 5}}\n'
}

exits "sessions and payloads" 0 keyed --input "$plain"
json_like "$TMP/s.json" <<'END'
recognised        | .source | dynamo
requests          | .requests.issued, .requests.completed | 20 20
tokens            | .requests.context_tokens, .requests.generated_tokens | 3913 334
blocks            | .lookups.block.lookups, .lookups.block.hits | 257 165
sessions          | .conversations.count, .conversations.turns_mean | 5 4
recorded          | .recorded.input_tokens, .recorded.cached_tokens | 3913 1552
recorded hit rate | .recorded.hit_rate | 0\.396626.*
simulated         | .recorded.simulated_cached_tokens | 2640
recorded times    | .recorded.end_to_end_ms.count, .recorded.first_token_ms.count | 20 20
END
stderr_like "both rates are told" '^tokens hit +recorded hit rate 0\.397, simulated 0\.675$'
stderr_like "recorded times are told" '^recorded +p50 and p95: end to end [0-9.]+ ms, [0-9.]+ ms; 1st token '
like "their mean is that of the file" "$(json "$TMP/s.json" .recorded.end_to_end_ms.mean) $(jq -s '
    [.[].event.request.total_time_ms | numbers] | add / length' "$plain")" '^([0-9]+\.[0-9]{3})[0-9]* \1[0-9]*$'
is "distinct blocks" "$(awk -F, '$2 == "Write" {print $5}' "$TMP/out.csv" | sort -u | wc -l)" 92
is "of 16 tokens" "$(awk -F, '$2 == "Write" {print $11}' "$TMP/out.csv" | sort -u)" 16
is "in the order of arrival" "$(awk -F, '$2 == "Generate" {print $12}' "$TMP/out.csv" | sort -nu | tail -n 1)" 1.634000
like "sessions are users" "$(awk -F, '$2 == "Generate" {print $8}' "$TMP/out.csv" | sort -u)" '^session_[0-9a-f]{16}$'
generate --input "$plain" -z 2>"$TMP/err"
is "nothing private is seen" "$(planted "$TMP/out.csv" "$TMP/s.json" "$TMP/stderr" "$TMP/err")" ""

if exits "gzip, without sessions" 0 keyed --input "$gz" && ! grep -q 'without zlib' "$TMP/stderr"; then
    is "gzip: distinct blocks" "$(awk -F, '$2 == "Write" {print $5}' "$TMP/out.csv" | sort -u | wc -l)" 93
    gzipped=$(digest)
    json_like "$TMP/s.json" <<'END'
gzip: requests | .requests.completed, .requests.context_tokens, .requests.generated_tokens | 21 3919 339
gzip: blocks   | .lookups.block.lookups, .lookups.block.hits | 258 165
gzip: rates    | .recorded.hit_rate, .recorded.simulated_hit_rate | 0\.67364.* 0\.67364.*
END
    gzip -dc "$gz" | with_unknown | gzip -c >"$TMP/new.jsonl.gz"
    exits "gzip, unknown fields and events" 0 keyed --input "$TMP/new.jsonl.gz"
    is "gzip, unknown: the same" "$(digest)" "$gzipped"
    stderr_like "gzip, unknown: fields are counted" 'fields that are not known are left out: 63$'
fi

# Bare records, other orders, unknown fields and events, a folder.
rows() { grep -c . "$1"; }
exits "the key file keeps hashes" 0 keyed --input "$plain"
same=$(digest)
like "a digest is printed" "$same" '^[0-9a-f]{32}$'
is "only its owner reads the key" "$(stat -c %a "$TMP/key")" 600
sed 's/^{"timestamp":[0-9]*,"event":\(.*\)}$/\1/' "$plain" >"$TMP/bare.jsonl"
exits "bare" 0 keyed --input "$TMP/bare.jsonl"
is "bare: the same" "$(digest)" "$same"
with_unknown <"$plain" >"$TMP/new.jsonl"
exits "unknown fields and events" 0 keyed --input "$TMP/new.jsonl"
is "unknown: the same" "$(digest)" "$same"
stderr_like "unknown: the event is named" 'events of a kind that is not known are left out: 1, the first one "dream"'
stderr_like "unknown: fields are counted" 'fields that are not known are left out: 60$'
mkdir "$TMP/folder"
head -n 20 "$plain" >"$TMP/folder/a.000000.jsonl"
tail -n +21 "$plain" | gzip -c >"$TMP/folder/a.000001.jsonl.gz"
if "$BIN/kvgen" --input "$TMP/folder" -o none 2>&1 | grep -q 'without zlib'; then rm "$TMP/folder"/*.gz; else
    exits "a folder of segments" 0 keyed --input "$TMP/folder"
    is "a folder: the same" "$(digest)" "$same"
fi
exits "standard input" 0 keyed --source dynamo --input - <"$plain"
is "standard input: the same" "$(digest)" "$same"
exits "another key" 0 generate --input "$plain"
isnt "another key: other hashes" "$(digest)" "$same"
{ printf '[' && paste -s -d , "$plain" && printf ']\n'; } >"$TMP/array.json"
exits "an array" 0 keyed --input "$TMP/array.json"
is "an array: the same" "$(digest)" "$same"
exits "read twice" 0 keyed --input "$plain" --replay-cycles 2
is "read twice: all requests" "$(json "$TMP/s.json" .requests.completed)" 40

# Signed and unsigned hashes are the same 64 bits.
request() { # ARRIVAL TOKENS HASHES
    printf '{"schema": "dynamo.request.trace.v1", "event_type": "request_end", "event_time_unix_ms": 1, "request": '
    printf '{"request_received_ms": %s, "output_tokens": 1, "replay": {"trace_block_size": 16, ' "$1"
    printf '"input_length": %s, "input_sequence_hashes": [%s]}}}\n' "$2" "$3"
}
{ request 2000 32 '-1, -2' && request 1000 30 '18446744073709551615, 18446744073709551614'; } >"$TMP/signed.jsonl"
exits "signed hashes" 0 keyed --input "$TMP/signed.jsonl"
is "signed: the same blocks" "$(json "$TMP/s.json" .lookups.block.hits)" 2
awk 'BEGIN { for (i = 1; i <= 20000; i++) printf "%s%d", (i > 1 ? ", " : ""), i }' >"$TMP/many"
{ request 5 320000 "$(cat "$TMP/many")" && request 5 320000 "$(cat "$TMP/many")"; } >"$TMP/long.jsonl"
exits "a long request" 0 keyed --input "$TMP/long.jsonl"
is "a long request has all its blocks" "$(json "$TMP/s.json" .lookups.block.hits)" 20000

refused() { # NAME REGEX: of bad.jsonl
    exits "$1: status 2" 2 "$BIN/kvgen" --source dynamo --input "$TMP/bad.jsonl" -o none
    stderr_like "$1: says so" "^kvgen: .*bad.jsonl$2"
}
request x 30 '1, 2' >"$TMP/bad.jsonl"
refused "no time" ':1: '
request 5 30 '1, 2, 3' >"$TMP/bad.jsonl"
refused "a hash too many" ':1: input_sequence_hashes '
request 5 30 '1, 2.5' >"$TMP/bad.jsonl"
refused "a hash that is none" ':1: input_sequence_hashes '
request 5 30 '1, 2' | sed 's/size": 16/size": 0/' >"$TMP/bad.jsonl"
refused "blocks of nothing" ':1: trace_block_size '
request 5 30 '1, 2' | sed 's/"replay"/"played"/' >"$TMP/bad.jsonl"
refused "nothing to replay" ': holds no request with hashes'
printf '{"a": 1}\n' >"$TMP/bad.jsonl"
refused "something else" ':1: schema '
head -c 30000 "$plain" >"$TMP/bad.jsonl"
refused "cut" ':[0-9]+: '
printf 'short' >"$TMP/shortkey"
exits "a key that is too short: status 2" 2 "$BIN/kvgen" --input "$plain" --names "$TMP/shortkey" -o none
stderr_like "a key that is too short: says so" 'shortkey: a key has 16 bytes'
exits "no recording: status 2" 2 "$BIN/kvgen" --input "$DATA/mooncake_first200.jsonl" --names "$TMP/key" -o none
stderr_like "no recording: says so" '^kvgen: --names: applies only to recordings'

# Recorded times against those of a replay.
exits "a trace" 0 keyed --input "$plain" --generation-mode none
cp "$TMP/s.json" "$TMP/recorded.json"
exits "its replay" 0 "$BIN/kvreplay" --null --timing trace --speed 100 -o "$TMP/result.csv.zst" "$TMP/out.csv"
exits "against what was recorded" 0 "$BIN/kvstat" --json --reference "$TMP/recorded.json" "$TMP/result.csv.zst"
cp "$TMP/stdout" "$TMP/report"
reference() { jq -r ".. | .reference? // empty | .figures[]? | select(.name | endswith(\"$1\")) | $2" "$TMP/report"; }
is "the hit rate" "$(reference recorded.hit_rate '[.reference > 0.39, .actual > 0.6] | join(",")')" true,true
for figure in recorded.end_to_end_ms.p50 recorded.end_to_end_ms.p95; do
    is "$figure" "$(reference $figure '[.reference > 0, .actual >= 0] | join(",")')" true,true
done
is "the first token was recorded" "$(reference recorded.first_token_ms.p50 '.reference > 0')" true

# The test of private things finds one that is let through.
printf 'x,910001,y\n' >"$TMP/leak"
is "a token id would be found" "$(planted "$TMP/leak")" "910001
910001"
printf 'planted-session' | zstd -q >"$TMP/leak"
like "a name would be found" "$(planted "$TMP/leak")" "^planted$"
done_testing
