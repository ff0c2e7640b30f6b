#!/bin/sh
# --source kv-events: recorded KV events of vLLM, SGLang, Mooncake and Dynamo's mocker, of every shape that their versions
# send, have the figures that two programs of their own counted; a capture gives the same rows again; and nothing private
# is seen in any output. A bug looked like a reader that took arrays only, a hash whose sign mattered, or ranks that fell
# together.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

generate() { "$BIN/kvgen" -m tiny-1b --object-bytes 1MiB --names "$TMP/key" --summary "$TMP/s.json" "$@"; }
rows() { grep -v '^,Note' "$1"; }

# SAMPLE messages missing restarts stored again removed unknown dropped moves loads tokens distinct-hashes distinct-objects
# chain resident
while read -r sample figures distinct objects chain resident; do
    rm -f "$TMP/out.csv" "$TMP/capture.jsonl"
    exits "$sample" 0 generate --input "$DATA/recordings/$sample.zmqrec" -o "$TMP/out.csv" --capture "$TMP/capture.jsonl"
    stderr_unlike "$sample: all is known" 'not known are left out'
    jq -r 'if .recording then .recording | ([.messages, .missing, .restarts, .stored, .stored_again,
        .removed, .removed_not_known, .dropped_by_clear + .dropped_by_restart, .moves, .possible_loads, .tokens] |
        map(tostring) | join(",")), ([.resident[] | select(.blocks > 0) | .medium + ":" + (.blocks | tostring)] | join(","))
        else select(.event == "stored") | [.publisher, .parent // "-"] + .hashes | @tsv end' "$TMP/s.json" "$TMP/capture.jsonl" |
        { read -r counts && read -r there && echo "$counts $there" >"$TMP/counts" && cat >"$TMP/stored"; }
    is "$sample: counts, and what is resident at the end" "$(cat "$TMP/counts")" "$figures ${resident#-}"
    is "$sample: objects" "$(awk -F, '$2 == "Write" {print $5}' "$TMP/out.csv" | sort -u | wc -l)" "$objects"
    is "$sample: hashes" "$(cut -f 3- "$TMP/stored" | tr '\t' '\n' | sort -u | wc -l)" "$distinct"
    is "$sample: the longest chain" "$(longest_chain <"$TMP/stored")" "$chain"
    exits "$sample: the capture" 0 generate --input "$TMP/capture.jsonl" -o "$TMP/again.csv" --capture "$TMP/capture2.jsonl"
    rows "$TMP/out.csv" >"$TMP/$sample.rows"
    rows "$TMP/again.csv" >"$TMP/again.rows"
    ok "$sample: the capture gives the same rows" cmp "$TMP/$sample.rows" "$TMP/again.rows"
    ok "$sample: and the same capture" cmp "$TMP/capture.jsonl" "$TMP/capture2.jsonl"
    is "$sample: nothing private is seen" \
        "$(planted "$TMP/out.csv" "$TMP/capture.jsonl" "$TMP/s.json" "$TMP/stderr" "$TMP/stdout")" ""
    is "$sample: copies are written once, and by each store of Tier-2, and deleted once" "$(awk -F, '
        $2 == "Write" { if (there[$4, $5]++ && $4 != "Tier-2") print "twice " $5 }
        $2 == "Delete" { if (!there[$4, $5]) print "not there " $5; there[$4, $5] = 0 }' "$TMP/out.csv")" ""
done <<'END'
dynamo-1.6.1-mocker-events 43,0,0,156,0,117,0,0,0,0,2496 88 88 21 GPU:39
mooncake-0.3.12.post1-master 10,0,0,10,0,3,0,0,0,0,0 9 9 1 CPU:1,DISK:6
sglang-0.4.7 11,1,0,18,1,4,0,10,0,0,1152 12 15 7 GPU:3
sglang-0.5.19 12,1,0,23,0,10,0,10,0,0,1472 12 15 7 GPU:3
sglang-0.5.23 12,1,0,23,0,10,0,10,0,0,1472 12 15 7 GPU:3
vllm-0.14.1-bytes 14,1,0,27,0,8,0,12,1,1,432 13 17 7 GPU:7
vllm-0.22.1-int 15,1,0,31,0,8,0,16,1,1,496 13 21 7 GPU:7
vllm-0.24.0-bytes 15,1,0,31,0,8,0,16,1,1,496 13 21 7 GPU:7
vllm-0.33.0-bytes 17,1,0,37,4,8,0,18,1,1,560 13 21 7 GPU:7
vllm-0.33.0-manager-bytes 77,3,0,112,1,64,1,48,0,0,1792 96 96 19 -
vllm-0.33.0-restart 26,0,1,58,0,0,0,33,0,0,928 53 53 14 GPU:25
vllm-0.33.0-two-pods-one-socket 35,0,0,76,0,0,0,0,0,0,1216 61 76 15 GPU:76
vllm-0.9.2-int 10,1,0,22,0,3,0,12,0,0,352 14 18 7 GPU:7
vllm-main-map-batch 15,1,0,31,0,8,0,16,1,1,496 13 21 7 GPU:7
END

# Each of them again with unknown fields and events mixed in, and maps from their ends.
if command -v python3 >/dev/null; then
    set --
    for in in "$DATA"/recordings/*.zmqrec; do set -- "$@" "$in" "$TMP/${in##*/}"; done
    python3 "$TOP/tests/recordings.py" mix "$@" >"$TMP/mixed"
    for in in "$DATA"/recordings/*.zmqrec; do
        sample=${in##*/} sample=${sample%.zmqrec}
        read -r fields events <&3
        exits "$sample: mixed" 0 generate --input "$TMP/$sample.zmqrec" -o "$TMP/again.csv"
        rows "$TMP/again.csv" >"$TMP/again.rows"
        ok "$sample: mixed: the same rows" cmp "$TMP/$sample.rows" "$TMP/again.rows"
        stderr_like "$sample: mixed: fields are counted" "fields that are not known are left out: $fields\$"
        stderr_like "$sample: mixed: events are counted and named" \
            "not known are left out: $events, the first one \"BlockDreamt\"\$"
    done 3<"$TMP/mixed"
fi

# What the rows say.
vllm=$DATA/recordings/vllm-0.33.0-bytes.zmqrec
exits "rows" 0 generate --input "$vllm" -z -o "$TMP/out.csv.zst"
provenance "$TMP/out.csv.zst" >"$TMP/p.json"
json_like "$TMP/p.json" <<'END'
the trace says what is missing | .recording.source, .recording.writes_only, .recording.missing[0] | kv-events true reads
and by which model blocks have their sizes | .model.name | tiny-1b
END
is "the provenance has nothing private" "$(planted "$TMP/p.json")" ""
stderr_like "the summary says it" '^not in it  reads [(]writes only[)]$'
exits "sizes" 0 generate --input "$vllm" -o "$TMP/out.csv"
is "16 tokens of the model" "$(awk -F, '$2 == "Write" && $9 == 16 {print $3}' "$TMP/out.csv" | sort -u)" 393216
exits "ranks share an object" 0 generate --input "$vllm" --tensor-parallel 2 -o "$TMP/out.csv"
is "half of it on each" "$(awk -F, '$2 == "Write" && $9 == 16 {print $3}' "$TMP/out.csv" | sort -u)" 196608
exits "more ranks than heads" 0 generate --input "$vllm" --tensor-parallel 8 -o "$TMP/out.csv"
is "one head of four on each" "$(awk -F, '$2 == "Write" && $9 == 16 {print $3}' "$TMP/out.csv" | sort -u)" 98304
exits "stages and context" 0 generate --input "$vllm" --config pipeline_parallel=2 --config context_parallel=2 -o "$TMP/out.csv"
is "divide, too" "$(awk -F, '$2 == "Write" && $9 == 16 {print $3}' "$TMP/out.csv" | sort -u)" 98304
exits "a move" 0 generate --input "$vllm" -o "$TMP/out.csv"
is "a move is an Evict" "$(awk -F, '$2 == "Write" && $6 == "Evict" {print $4}' "$TMP/out.csv")" Tier-1
exits "two samples at once" 0 generate --input "$DATA/recordings/sglang-0.[45].*9*.zmqrec" -o none
exits "times begin at 0, and --epoch moves them" 0 generate --input "$vllm" --epoch 1767225600 -o "$TMP/out.csv"
is "they are the recorded ones" "$(rows "$TMP/out.csv" | sed -n '2s/,.*//p;$s/,.*//p' | tr '\n' ' ')" \
    "1767225600.000000 1767225603.750000 "
exits "another hierarchy" 0 generate --input "$vllm" --retier --gpu-mem-gb 1 -o none

# Input that is bad.
bad() { # NAME REGEX KVGEN-ARGS...
    name=$1 regex=$2
    shift 2
    rm -f "$TMP/out.csv"
    exits "$name: status 2" 2 "$BIN/kvgen" -m tiny-1b -o "$TMP/out.csv" "$@"
    stderr_like "$name: says so" "^kvgen: $regex"
}
bad "sizes that are not recorded" '.*mooncake.*: message 1: an object whose size is not recorded \(--object-bytes' \
    --input "$DATA/recordings/mooncake-0.3.12.post1-master.zmqrec"
sed 's/EXTERNAL/SOMEWARE/' "$DATA/recordings/sglang-0.5.19.zmqrec" >"$TMP/medium.zmqrec"
bad "a medium that is not known" '.*medium.zmqrec: message [0-9]+: medium "SOMEWARE" is not known \(--config medium' \
    --input "$TMP/medium.zmqrec"
exits "--config medium says what it is" 0 generate --input "$TMP/medium.zmqrec" --config medium=someware=2 -o none
is "--config medium: its blocks" "$(json "$TMP/s.json" .recording.stored)" 23
bad "a tier that is none" '--config medium: "x=3" is not NAME=TIER' --input "$vllm" --config medium=x=3
head -c 3000 "$vllm" >"$TMP/cut.zmqrec"
for in in "$DATA"/recordings/*.zmqrec; do
    sample=${in##*/} sample=${sample%.zmqrec}
    head -c $(($(wc -c <"$in") / 2)) "$in" >"$TMP/half.zmqrec"
    exits "$sample: cut: status 2" 2 generate --input "$TMP/half.zmqrec" --no-notes -o "$TMP/half.csv"
    half=$(lines "$TMP/half.csv")
    head -n "$half" "$TMP/$sample.rows" >"$TMP/a"
    ok "$sample: cut: the rows before it are there" cmp "$TMP/a" "$TMP/half.csv"
    ok "$sample: cut: there are some" test "$half" -gt 2
done
bad "cut" '.*cut.zmqrec: message [0-9]+: cut in the middle of a message; those before it are used' --input "$TMP/cut.zmqrec"
is "cut: the rows before it are there" "$(awk -F, '$2 == "Write"' "$TMP/out.csv" | head -n 1 | wc -l)" 1
head -c 100 /dev/zero | cat "$vllm" - >"$TMP/zeros.zmqrec"
bad "something behind it" '.*zeros.zmqrec: message 18: damaged' --input "$TMP/zeros.zmqrec"
sed 's/BlockRemoved/BlockTwisted/g' "$vllm" >"$TMP/event.zmqrec"
exits "events that are not known" 0 generate --input "$TMP/event.zmqrec" -o none
stderr_like "they are counted and named" 'events of a kind that is not known are left out: 7, the first one "BlockTwisted"'
sed 's/locality/lokality/' "$vllm" >"$TMP/field.zmqrec"
exits "fields that are not known" 0 generate --input "$TMP/field.zmqrec" -o "$TMP/f.csv"
printf 'nothing of the kind\n' >"$TMP/text"
bad "no recording" '.*text: no recording of KV events' --source kv-events --input "$TMP/text"
printf '{"kvtrace":"capture","version":2}\n{"ts":0}\n' >"$TMP/version.jsonl"
bad "a capture of another version" '.*version.jsonl: message 1: version is not 1' --input "$TMP/version.jsonl"
printf '{"kvtrace":"capture","version":1}\n{"ts":0,"publisher":"xy","rank":0}\n' >"$TMP/hash.jsonl"
bad "a capture with a hash that is none" '.*hash.jsonl: message 1: publisher is not a hash' --input "$TMP/hash.jsonl"
bad "options of requests" '--users: ' --input "$vllm" --num-users 5
bad "options of events, elsewhere" '--object-bytes: applies only to recorded events' --object-bytes 5 \
    --input "$DATA/mooncake_first200.jsonl"
done_testing
