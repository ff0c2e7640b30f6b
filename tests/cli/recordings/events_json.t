#!/bin/sh
# --source trtllm and dynamo-kv: events that TensorRT-LLM and Dynamo's KV router write as JSON have the figures that a
# program of its own counted, lines or one list, with members and events that are not known too. A bug looked like hashes
# above 2^63 that fell together, or a block that was deleted in the tier that it had left.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

generate() { "$BIN/kvgen" -m tiny-1b --names "$TMP/key" --summary "$TMP/s.json" "$@"; }
rows() { grep -v '^,Note' "$1"; }
figures() {
    json "$TMP/s.json" '.recording | [.messages, .missing, .stored, .stored_again, .removed, .removed_not_known,
        .dropped_by_clear, .moves, .moves_up, .tokens] | map(tostring) | join(",")'
}
resident() {
    json "$TMP/s.json" '[.recording.resident[] | select(.blocks > 0) | .medium + ":" + (.blocks | tostring)] | join(",")'
}

# SAMPLE SOURCE figures distinct resident chain what-is-not-recorded
while read -r sample source want distinct at_end chain unrecorded; do
    in=$DATA/recordings/$sample.jsonl
    rm -f "$TMP/out.csv" "$TMP/capture.jsonl"
    exits "$sample" 0 generate --input "$in" --object-bytes 1MiB -o "$TMP/out.csv" --capture "$TMP/capture.jsonl"
    is "$sample: recognised" "$(json "$TMP/s.json" .source)" "$source"
    is "$sample: counts" "$(figures)" "$want"
    is "$sample: resident at the end" "$(resident)" "$at_end"
    is "$sample: hashes" "$(jq -r 'select(.event == "stored") | .hashes[]' "$TMP/capture.jsonl" | sort -u | wc -l)" "$distinct"
    is "$sample: nothing private is seen" \
        "$(planted "$TMP/out.csv" "$TMP/capture.jsonl" "$TMP/s.json" "$TMP/stderr")" ""
    rows "$TMP/out.csv" >"$TMP/same"
    exits "$sample: the capture" 0 generate --input "$TMP/capture.jsonl" --object-bytes 1MiB -o "$TMP/again.csv"
    rows "$TMP/again.csv" >"$TMP/again"
    ok "$sample: the capture gives the same rows" cmp "$TMP/same" "$TMP/again"
    { printf '[' && sed '$!s/$/,/' "$in" && printf ']'; } >"$TMP/list.json"
    is "$sample: the longest chain" "$(jq -r 'select(.event == "stored") | [.publisher, .parent // "-"] + .hashes | @tsv' \
        "$TMP/capture.jsonl" | longest_chain)" "$chain"
    stderr_like "$sample: and says what is not in it" "^not in it  $unrecorded\$"
    exits "$sample: as a list" 0 generate --input - --object-bytes 1MiB -o "$TMP/again.csv" <"$TMP/list.json"
    rows "$TMP/again.csv" >"$TMP/again"
    ok "$sample: the list gives the same rows" cmp "$TMP/same" "$TMP/again"
    sed 's/^{/{"new": {"planted": [910001]}, /; s/"block_hash"/"new": 1, &/g' "$in" >"$TMP/new.jsonl"
    printf '{"timestamp": 9999, "event": {"worker_id": 7, "event": {"event_id": 10, "data": {"dreamt": {}}}}, ' >>"$TMP/new.jsonl"
    printf '"event_id": 12, "data": {"type": "dreamt"}}\n' >>"$TMP/new.jsonl"
    exits "$sample: more members" 0 generate --source "$source" --input "$TMP/new.jsonl" --object-bytes 1MiB -o "$TMP/again.csv"
    stderr_like "$sample: the event that is not known is named" 'the first one "dreamt"'
    new=$(grep -o '"new"' "$TMP/new.jsonl" | wc -l)
    stderr_like "$sample: the members that are not known are counted" "fields that are not known are left out: $new\$"
    rows "$TMP/again.csv" >"$TMP/again"
    ok "$sample: more members: the same rows" cmp "$TMP/same" "$TMP/again"
    head -c 700 "$in" >"$TMP/cut.jsonl"
    exits "$sample: cut: status 2" 2 generate --source "$source" --input "$TMP/cut.jsonl" --object-bytes 1MiB -o none
    stderr_like "$sample: cut: says where" '^kvgen: .*cut.jsonl:[0-9]+: '
done <<'END'
trtllm-kv_cache_events trtllm 12,0,8,0,3,0,0,1,1,64 6 GPU:4,CPU:1 4 reads [(]writes only[)], times [(]order only[)]
dynamo-0.4.1-kvrecorder dynamo-kv 8,0,13,0,4,0,0,0,0,0 9 GPU:9 5 reads [(]writes only[)]
dynamo-1.6.1-routerevents dynamo-kv 10,3,13,0,3,0,2,0,0,0 6 GPU:4,HOST_PINNED:2,DISK:1,EXTERNAL:1 5 reads [(]writes only[)]
END

# Bare events of Dynamo's router, without the frame that has the time: the same operations, and it is said.
for sample in dynamo-0.4.1-kvrecorder dynamo-1.6.1-routerevents; do
    in=$DATA/recordings/$sample.jsonl
    sed 's/^{"timestamp":[0-9]*,"event":\(.*\)}$/\1/' "$in" >"$TMP/bare.jsonl"
    exits "$sample: wrapped" 0 generate --input "$in" --object-bytes 1MiB --no-notes -o "$TMP/out.csv"
    exits "$sample: bare" 0 generate --input "$TMP/bare.jsonl" --object-bytes 1MiB --no-notes -o "$TMP/bare.csv"
    stderr_like "$sample: bare: its times are not recorded" '^not in it  reads [(]writes only[)], times [(]order only[)]$'
    sed 's/^[^,]*,/,/' "$TMP/out.csv" >"$TMP/same"
    sed 's/^[^,]*,/,/' "$TMP/bare.csv" >"$TMP/again"
    ok "$sample: bare: the same operations" cmp "$TMP/same" "$TMP/again"
done

trtllm=$DATA/recordings/trtllm-kv_cache_events.jsonl
exits "blocks of TensorRT-LLM have the size of their tokens" 0 generate --input "$trtllm" -o "$TMP/out.csv"
is "8 tokens of the model" "$(awk -F, '$2 == "Write" {print $3}' "$TMP/out.csv" | sort -u)" 196608
stderr_like "there are no times" '^not in it  .*times [(]order only[)]'
is "there are none in the rows" "$(rows "$TMP/out.csv" | sed 1d | cut -d, -f1 | sort -u)" 0.000000
like "a block that moves down is written there and deleted above, and back" \
    "$(awk -F, '$4 == "Tier-1" && $2 == "Write" {key = $5} $5 == key && key != "" {printf "%s %s,", $2, $4}' "$TMP/out.csv")" \
    "^Write Tier-1,Delete Tier-0,Write Tier-0,Delete Tier-1,"

bad() { # NAME REGEX SOURCE: of bad.jsonl
    exits "$1: status 2" 2 "$BIN/kvgen" --source "$3" --input "$TMP/bad.jsonl" -o none
    stderr_like "$1: says so" "^kvgen: .*bad.jsonl: message $2"
}
sed 's/"cache_level": 0/"cache_level": 7/' "$trtllm" >"$TMP/bad.jsonl"
bad "a level that is none" '2: cache_level is not 0, 1 or 2' trtllm
sed '2s/"block_hash": [0-9]*/"block_hash": 1.5/' "$trtllm" >"$TMP/bad.jsonl"
bad "a hash that is none" '2: block_hash is not a number of 64 bits' trtllm
printf '{"a": 1}\n' >"$TMP/bad.jsonl"
bad "something else" '1: data.type is missing' trtllm
bad "something else for the router" '1: event.data is missing' dynamo-kv
cp "$DATA/recordings/dynamo-1.6.1-routerevents.jsonl" "$TMP/bad.jsonl"
bad "sizes that are not recorded" '1: an object whose size is not recorded' dynamo-kv
sed -i 's/device/planet/' "$TMP/bad.jsonl"
bad "a medium that is not known" '1: medium "planet" is not known' dynamo-kv
done_testing
