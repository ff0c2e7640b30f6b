#!/bin/sh
# merge.t - several --input are merged by time, with one origin; ids of their blocks are kept apart where they are numbers.
# A bug looked like an input that began at 0 because it was opened, or a hit on another input's block of the same number.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
trace=$TMP/trace.csv
generate() { told "$BIN/kvgen" --model tiny-1b --generation-mode none --summary "$summary" -o "$trace" "$@"; }
row() { printf '{"timestamp": %s, "input_length": %s, "output_length": 1, "hash_ids": [%s]}\n' "$1" "$2" "$3"; }
told_of() { like "$1" "$(cat "$TMP/err")" "^kvgen: .*: $2\$"; }
blocks() { grep -o '[a-z_0-9]*block_[0-9]*' "$trace" | sort -u | tr '\n' ' '; }

{ row 1000 512 1 && row 5000 1024 '1, 2' && row 9000 512 1; } >"$TMP/a.jsonl"
{ row 3000 512 1 && row 5000 512 2 && row 20000 100 3; } >"$TMP/b.jsonl"
generate --input "$TMP/a.jsonl" --input "$TMP/b.jsonl"
is 'in order of time, from one origin' "$(arrivals "$trace")" '0.000000 2.000000 4.000000 4.000000 8.000000 19.000000 '
is 'blocks of the same number are others' "$(blocks)" 'session_1_block_1 session_1_block_2 session_2_block_1 session_2_block_2 session_2_block_3 '
is 'each hits its own' "$(json "$summary" '.lookups.block.lookups, .lookups.block.hits')" '7 2'
told_of 'the other input is told' "merged by time with $TMP/b.jsonl: Mooncake; times in ms.*"
cp "$trace" "$TMP/ab.csv"
generate --input "$TMP/b.jsonl" --input "$TMP/a.jsonl"
is 'in any order' "$(arrivals "$trace")" "$(arrivals "$TMP/ab.csv")"
generate --input "$TMP/a.jsonl" --input "$TMP/b.jsonl" --speed 2 --config max_gap=5s
is 'idle times are those of all' "$(arrivals "$trace")" '0.000000 1.000000 2.000000 2.000000 4.000000 6.500000 '
told_of 'counted once' 'times without a request that were cut \(--config max_gap\): 1'
generate --input "$TMP/a.jsonl" --input "$TMP/b.jsonl" --config max_context=600
is 'contexts of each are cut' "$(json "$summary" .requests.context_tokens)" 2748
generate --input "$TMP/a.jsonl"
is 'one input is as before' "$(blocks)" 'block_1 block_2 '
generate --input "$TMP/a.jsonl" --input "$TMP/b.jsonl" -o "$TMP/t.csv.zst"
is 'they are in the provenance' "$(provenance "$TMP/t.csv.zst" | jq -c .options.input)" "[\"$TMP/a.jsonl\",\"$TMP/b.jsonl\"]"
generate --input "$TMP/a.jsonl" -o "$TMP/t.csv.zst"
is 'one input is a text there' "$(provenance "$TMP/t.csv.zst" | jq -c .options.input)" "\"$TMP/a.jsonl\""
mkdir "$TMP/day"
row 0 512 7 >"$TMP/day/1.jsonl"
row 2000 512 7 >"$TMP/day/2.jsonl"
generate --input "$TMP/a.jsonl" --input "$TMP/day"
is 'a folder is one input' "$(arrivals "$trace") $(blocks)" '0.000000 1.000000 2.000000 5.000000 9.000000  session_1_block_1 session_1_block_2 session_2_block_7 '
row 0 64 '1, 2, 3, 4' >"$TMP/small.jsonl"
generate --input "$TMP/a.jsonl" --input "$TMP/small.jsonl"
told_of 'each has its block size' "merged by time with $TMP/small.jsonl: .*blocks of 16;.*"

lookup() { printf '{"timestamp": %s, "model": "m", "chunk_size": 256, "seq_len": 256, "chunk_hashes": ["%s"]}\n' "$1" "$2"; }
lookup 1 ab >"$TMP/l1"
lookup 3 ab >"$TMP/l2"
generate --input "$TMP/l1" --input "$TMP/l2"
is 'hashes are the same in all' "$(json "$summary" '.lookups.block.lookups, .lookups.block.hits')" '2 1'
is 'in seconds' "$(arrivals "$trace")" '0.000000 2.000000 '

{ echo 'Timestamp,Request tokens,Response tokens' && printf '%s,100,1\n' 10 x 30; } >"$TMP/c.csv"
{ echo 'Timestamp,Request tokens,Response tokens' && printf '%s,100,1\n' 20 y; } >"$TMP/d.csv"
generate --input "$TMP/c.csv" --input "$TMP/d.csv"
is 'BurstGPT' "$(arrivals "$trace")" '0.000000 10.000000 20.000000 '
is 'each request has an object' "$(awk -F, '$2 == "Write"' "$trace" | grep -o 'trace_user_[0-9]*_req_[0-9]*' | sort -u | wc -l)" 3
is 'rows skipped are those of all' "$(json "$summary" .requests.skipped_rows)" 2

dynamo=$DATA/recordings/dynamo-1.6.1-request-trace.000000.jsonl.gz
zcat "$dynamo" | sed -n 'p;n' >"$TMP/odd"
zcat "$dynamo" | sed -n 'n;p' >"$TMP/even"
generate --input "$dynamo"
cp "$trace" "$TMP/whole.csv"
generate --input "$TMP/even" --input "$TMP/odd"
is 'Dynamo: halves are the whole' "$(arrivals "$trace")" "$(arrivals "$TMP/whole.csv")"

refused() { # NAME TEXT ARGS...
    refused_name=$1 refused_text=$2
    shift 2
    exits "$refused_name: status 2" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$refused_name: says why" "$refused_text"
}
refused 'of two kinds' 'l1: is not of the kind of .*a.jsonl, so they cannot be merged$' --input "$TMP/a.jsonl" --input "$TMP/l1"
row 1795361844000 512 1 >"$TMP/e.jsonl"
refused 'two origins' 'e.jsonl: has times since 1970, and the input before it has not$' --input "$TMP/a.jsonl" --input "$TMP/e.jsonl"
refused 'and the other way' 'a.jsonl: has no times since 1970, as the input before it has$' --input "$TMP/e.jsonl" --input "$TMP/a.jsonl"
refused 'sessions of agents' '^kvgen: --input: only requests of Mooncake, .* are merged by time' --input "$DATA/agentic_60.tar.zst" --input "$DATA/agentic_60.tar.zst"
refused 'cycles' '^kvgen: --replay-cycles: does not apply to several inputs$' --input "$TMP/a.jsonl" --input "$TMP/b.jsonl" --replay-cycles 2
refused 'two from standard input' '^kvgen: standard input: only one of' --input - --input -
refused 'an endpoint' '^kvgen: --input: an endpoint is the only input$' --input "$TMP/a.jsonl" --input tcp://127.0.0.1:5557
refused 'one that is missing' 'none.jsonl: ' --input "$TMP/a.jsonl" --input "$TMP/none.jsonl"
sed '2s/5000/"x"/' "$TMP/a.jsonl" >"$TMP/bad.jsonl"
refused 'a bad row' 'bad.jsonl:2: ' --input "$TMP/a.jsonl" --input "$TMP/bad.jsonl"
refused 'an output that is an input' 'b.jsonl' --input "$TMP/a.jsonl" --input "$TMP/b.jsonl" --summary "$TMP/b.jsonl"
done_testing
