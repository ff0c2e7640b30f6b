#!/bin/sh
# read_as.t - what files do not say is stated or found, and told in a line: units and origins of times, sizes of blocks, which
# blocks have ids, times of sub-agents. A bug looked like seconds taken for milliseconds, ids of full blocks taken for ids of
# all, or a sub-agent that began twice as late, without a word.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
trace=$TMP/trace.csv
generate() { told "$BIN/kvgen" --model tiny-1b --generation-mode none --summary "$summary" -o "$trace" "$@"; }
sizes() { awk -F, '$2 == "Write" {print $3}' "$trace" | sort -u | tr '\n' ' '; }
row() { printf '{"timestamp": %s, "input_length": %s, "output_length": 1, "hash_ids": [%s]}\n' "$1" "$2" "$3"; }

# Units: stated, or by their magnitude. $TIME is the first of three stamps, 0, 30.5 and 61.25 of its unit later.
rows() { # STAMP...
    id=0
    for stamp; do
        id=$((id + 1))
        row "$stamp" 600 "0, $id"
    done
}
expect() { # NAME TIMES UNIT BY ORIGIN DOUBTFUL
    is "$1: times" "$(arrivals "$trace")" "$2"
    is "$1: said" "$(json "$summary" '.read_as | .time_unit, .time_unit_by, .time_origin, .time_unit_doubtful')" "$3 $4 $5 $6"
}
rows 0.0 30.5 61.25 >"$TMP/s.jsonl"
generate --input "$TMP/s.jsonl"
expect 'a point where there is none' '0.000000 0.030500 0.061250 ' ms format file true
like 'a doubt is told' "$(cat "$TMP/err")" 's.jsonl: times are taken for ms, .*a decimal point.*--time-unit'
like 'and is in the line' "$(cat "$TMP/err")" '^input +Mooncake; times in ms \(in doubt\); blocks of 512; tokens given$'
generate --input "$TMP/s.jsonl" --time-unit s
expect 'seconds' '0.000000 30.500000 61.250000 ' s option file false
generate --input "$TMP/s.jsonl" --time-unit us
expect 'microseconds' '0.000000 0.0000305 0.00006125 ' us option file false
rows 5 1000000005 >"$TMP/ns.jsonl"
generate --input "$TMP/ns.jsonl" --time-unit ns
expect 'nanoseconds' '0.000000 1.000000 ' ns option file false
generate --input "$TMP/ns.jsonl"
expect 'a gap of days' '0.000000 1000000.000000 ' ms format file true
rows 1700000000 1700000030 >"$TMP/u.jsonl"
generate --input "$TMP/u.jsonl"
expect 'Unix seconds' '0.000000 30.000000 ' s magnitude 1970 false
rows 1700000000123 1700000030623 >"$TMP/u.jsonl"
generate --input "$TMP/u.jsonl"
expect 'Unix milliseconds' '0.000000 30.500000 ' ms magnitude 1970 false
rows 1700000000123456 1700000030623457 >"$TMP/u.jsonl"
generate --input "$TMP/u.jsonl"
expect 'Unix microseconds' '0.000000 30.500001 ' us magnitude 1970 false
rows 1700000000123456789 1700000030623456789 >"$TMP/u.jsonl"
generate --input "$TMP/u.jsonl"
expect 'Unix nanoseconds' '0.000000 30.500000 ' ns magnitude 1970 false
rows '"2024-05-10T00:00:01.5Z"' '"2024-05-10T00:00:32.000000Z"' >"$TMP/iso.jsonl"
generate --input "$TMP/iso.jsonl"
expect 'dates' '0.000000 30.500000 ' date magnitude 1970 false
exits 'dates have no unit: status 2' 2 "$BIN/kvgen" --input "$TMP/iso.jsonl" --time-unit ms -o none
stderr_like 'and it is said' 'iso.jsonl:1: timestamp is not a number of milliseconds'
rows 0 0.2 0.4 | sed 's/^{/{"chat_id": 1, "parent_chat_id": -1, /' >"$TMP/b.jsonl"
generate --input "$TMP/b.jsonl" --block-size 512
expect 'Bailian' '0.000000 0.200000 0.400000 ' s format file false
generate --input "$TMP/b.jsonl" --block-size 512 --time-unit ms
expect 'Bailian in ms' '0.000000 0.000200 0.000400 ' ms option file false
{ echo 'Timestamp,Request tokens,Response tokens' && printf '%s,10,1\n' 1700000000250 1700000001750; } >"$TMP/b.csv"
generate --input "$TMP/b.csv"
expect 'BurstGPT with Unix ms' '0.000000 1.500000 ' ms magnitude 1970 false
{ echo 'Timestamp,Request tokens,Response tokens' && printf '%s,10,1\n' 250.5 1750; } >"$TMP/b.csv"
generate --input "$TMP/b.csv" --time-unit ms
expect 'BurstGPT in ms' '0.000000 1.499500 ' ms option file false
{ echo 'TIMESTAMP,ContextTokens,GeneratedTokens' && printf '%s,10,1\n' 3.25 4; } >"$TMP/a.csv"
generate --input "$TMP/a.csv"
expect 'Azure with seconds' '0.000000 0.750000 ' s format file false
exits 'an input that names its unit: status 2' 2 "$BIN/kvgen" --input "$DATA/sharegpt_dummy_250.json.zst" --source sharegpt --time-unit s -o none
stderr_like 'says so' '^kvgen: --time-unit: does not apply to this input, which names its unit of time'

# Sizes of blocks. tiny-1b has 24,576 bytes a token.
blocks() { # NAME SIZES TOKENS IDS BY
    is "$1: objects" "$(sizes)" "$2"
    is "$1: said" "$(json "$summary" '.read_as | .block_tokens, .block_ids, .block_size_by')" "$3 $4 $5"
}
{ row 0 1000 '1, 2, 3, 4, 5, 6, 7' && row 100 600 '1, 2, 3, 4'; } >"$TMP/floor.jsonl"
generate --input "$TMP/floor.jsonl"
blocks 'ids of full blocks' '3145728 ' 128 full rows
like 'in the line' "$(cat "$TMP/err")" '^input .*; full blocks of 128; '
generate --input "$TMP/floor.jsonl" --config partial_blocks=true
blocks 'which have no part' '3145728 ' 128 full rows
{ row 0 1000 "$(seq -s, 62)" && row 1 24 1; } >"$TMP/16.jsonl"
generate --input "$TMP/16.jsonl"
blocks 'full blocks of 16' '393216 ' 16 full rows
{ row 0 150 1 && row 1 200 1 && row 2 255 2; } >"$TMP/many.jsonl"
generate --input "$TMP/many.jsonl"
blocks 'several fit' '12582912 ' 512 all format
like 'the others are told' "$(cat "$TMP/err")" \
    'many.jsonl: blocks are taken for 512 tokens; the rows also fit 256, 1024, 128 with ids of full blocks only \(--block-size sets the size\)$'
generate --input "$TMP/many.jsonl" --block-size 128
blocks 'stated' '3145728 ' 128 full option
generate --input "$TMP/many.jsonl" --block-size 300
blocks 'any size can be' '7372800 ' 300 all option
generate --input "$TMP/many.jsonl" --block-size 16
like 'rows that do not fit are counted' "$(cat "$TMP/err")" 'rows whose ids do not fit their tokens: 3, the first: .*many.jsonl:1: 1 hash_ids for 150'
{ row 0 1024 '1, 2' && row 1 2048 '1, 2, 3, 4' && row 2 1000 1; } >"$TMP/late.jsonl"
generate --input "$TMP/late.jsonl"
blocks 'a later row decides' '12582912 ' 512 full rows
{ row 0 1000 '1, 2, 3, 4, 5, 6, 7' && row 1 600 '1, 2, 3, 4' && row 2 600 '1, 2'; } >"$TMP/none.jsonl"
exits 'none fits: status 2' 2 "$BIN/kvgen" --input "$TMP/none.jsonl" -o none
stderr_like 'names the row that decides' 'none.jsonl:3: 2 hash_ids for 600 tokens do not fit .*--block-size'
{ row 0 800 '1, 2, 3, 4, 5' && row 1 800 '1, 2, 3, 4, 5'; } >"$TMP/odd.jsonl"
exits 'a size that nobody uses: status 2' 2 "$BIN/kvgen" --input "$TMP/odd.jsonl" -o none
stderr_like 'is not made up' 'odd.jsonl:1: the number of hash_ids'
generate --input "$TMP/odd.jsonl" --block-size 180
blocks 'but can be stated' '4423680 ' 180 all option
# The rows of a mebibyte leave two readings, and the last row decides: a file is read to its end for that, a pipe is refused.
{ awk 'BEGIN { for (i = 0; i < 20000; i++) printf "{\"timestamp\": %d, \"input_length\": 1024, \"output_length\": 1, \"hash_ids\": [1, 2]}\n", i }' &&
    row 20000 1000 1; } >"$TMP/long.jsonl"
generate --input "$TMP/long.jsonl"
blocks 'a row behind a mebibyte decides' '12582912 ' 512 full rows
exits 'a pipe that contradicts itself: status 2' 2 sh -c "cat '$TMP/long.jsonl' | '$BIN/kvgen' --input - -o none"
stderr_like 'says where' ':20001: 1 hash_ids for 1000 tokens do not fit blocks of 512 tokens.*--block-size'
lookup() { printf '{"timestamp": 1, "chunk_size": 256, "seq_len": %s, "chunk_hashes": ["a"]}\n' "$1"; }
{ lookup 300 && lookup 200 && lookup 900; } >"$TMP/lmcache.jsonl"
generate --input "$TMP/lmcache.jsonl"
like 'rows that say their size, and do not fit it' "$(cat "$TMP/err")" 'ids do not fit their tokens: 1, the first: .*:3: 1 chunk_hashes for 900'
exits 'rows that say their size take no other: status 2' 2 "$BIN/kvgen" --input "$TMP/lmcache.jsonl" --block-size 16 -o none
exits 'what has no blocks takes no size: status 2' 2 "$BIN/kvgen" --input "$TMP/b.csv" --block-size 16 -o none

# Rows without blocks: nothing hits, and it is told.
{ row 0 600 1 && row 30 1100 2; } | sed 's/, "hash_ids.*]//' >"$TMP/bare.jsonl"
generate --input "$TMP/bare.jsonl"
is 'no hash_ids: requests' "$(json "$summary" '.requests.completed, .requests.context_tokens, .lookups.block.hits')" '2 1700 0'
like 'no hash_ids: told' "$(cat "$TMP/err")" 'bare.jsonl: rows have no hash_ids: every block is a new one'
generate --input "$TMP/bare.jsonl" --replay-cycles 2 --block-size 100 --config partial_blocks=true
is 'no hash_ids: nor in a second cycle' "$(json "$summary" '.lookups.block | .hits, .lookups')" '0 34'
{ cat "$TMP/bare.jsonl" && row 60 600 1; } >"$TMP/mixed.jsonl"
exits 'a row with ids behind rows without: status 2' 2 "$BIN/kvgen" --input "$TMP/mixed.jsonl" -o none
stderr_like 'says where' 'mixed.jsonl:3: hash_ids is there, but the first row has none'

# Times of sub-agents from the session's start, or from their own.
turn() { printf '{"t": %s, "type": "s", "in": %s, "out": 4, "hash_ids": [%s], "api_time": %s}' "$1" "$2" "$3" "$4"; }
session() { # OWN ORIGIN: a sub-agent at second 11, whose times begin at ORIGIN
    printf '{"id": "t", "block_size": 64, "requests": [%s, {"t": %s, "type": "subagent", "requests": [%s, %s]}, %s]}\n' \
        "$(turn "$1" 64 1 10)" "$((11 + $1))" "$(turn "$2" 64 9 5)" "$(turn $(($2 + 9)) 128 '9, 10' 5)" "$(turn $((26 + $1)) 128 '1, 2' 2)"
}
for origin in 11 0; do
    session 0 $origin >"$TMP/weka.json"
    generate --input "$TMP/weka.json"
    is "sub-agents from second $origin on" "$(arrivals "$trace")" '0.000000 0.000000 4.000000 16.000000 '
    is 'are told apart' "$(json "$summary" '.read_as.remarks | length')" $((origin > 0))
done
session 1700000000 1700000011 >"$TMP/weka.json"
generate --input "$TMP/weka.json"
is 'a session with Unix times' "$(arrivals "$trace")" '0.000000 0.000000 4.000000 16.000000 '
sed 's/"block_size": 64, //' "$TMP/weka.json" >"$TMP/unsized.json"
exits 'a session without a block size: status 2' 2 "$BIN/kvgen" --source agentic --input "$TMP/unsized.json" -o none
generate --source agentic --input "$TMP/unsized.json" --block-size 64
is 'takes a stated one' "$(json "$summary" .read_as.block_tokens)" 64
exits 'a session that says another: status 2' 2 "$BIN/kvgen" --input "$TMP/weka.json" --block-size 32 -o none
stderr_like 'says both' 'weka.json.*: block_size is 64, --block-size 32'

# Every kind of file has its line.
generate --input "$DATA/azure_code_2023.csv.zst"
like 'Azure' "$(cat "$TMP/err")" '^input +Azure; times are dates; tokens given$'
generate --input "$DATA/sharegpt_dummy_250.json.zst" --max-requests 1
like 'conversations' "$(cat "$TMP/err")" '^input +conversations; no times; tokens estimated from characters$'
told "$BIN/kvgen" --input "$trace" -o none
like 'a trace' "$(cat "$TMP/err")" '^input +a trace; times in s$'
for recording in trtllm-kv_cache_events.jsonl:no.times vllm-0.24.0-bytes.zmqrec:times.in.s lmcache-0.5.6-storage.lct:times.in.s \
    lmcache-0.5.6-fs.strace:times.in.s dynamo-1.6.1-request-trace.000000.jsonl.gz:times.in.ms dynamo-1.6.1.satf.json:times.in.us; do
    told "$BIN/kvgen" --input "$DATA/recordings/${recording%:*}" -o none
    like "${recording%:*}" "$(cat "$TMP/err")" "^input +.*; ${recording#*:}"
done
done_testing
