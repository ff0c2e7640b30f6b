#!/bin/sh
# Block traces beside Mooncake's: Qwen-Bailian (seconds, blocks of 16 tokens, chats) and LMCache lookup logs
# (hexadecimal hashes, the log's own chunk size), recognised by content. A bug looked like seconds taken for
# milliseconds, or a block of 16 tokens written with the bytes of 512.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

S=$TMP/s.json
A=$TMP/a.csv
gen() { told "$BIN/kvgen" --model tiny-1b --generation-mode none "$@" --summary "$S" -o "$A"; }
writes() { awk -F, '$2 == "Write" {print $5 ":" $3}' "$A" | tr '\n' ' '; }

cat >"$TMP/b.jsonl" <<'END'
{"chat_id": 0, "parent_chat_id": -1, "timestamp": 5.0, "input_length": 40, "output_length": 7, "type": "text", "turn": 1, "hash_ids": [0, 1, 2]}
{"chat_id": 1, "parent_chat_id": -1, "timestamp": 5.25, "input_length": 16, "output_length": 1, "type": "search", "turn": 1, "hash_ids": [9]}
{"chat_id": 2, "parent_chat_id": 0, "timestamp": 6.5, "input_length": 60, "output_length": 2, "type": "text", "turn": 2, "hash_ids": [0, 1, 3, 4]}
END
gen --input "$TMP/b.jsonl"
is "Bailian: recognised" "$(source_name "$S")" bailian
is "Bailian: times are seconds" "$(arrivals "$A")" "0.000000 0.250000 1.500000 "
is "Bailian: blocks of 16 tokens" "$(writes)" \
    "block_0:393216 block_1:393216 block_2:393216 block_9:393216 block_3:393216 block_4:393216 "
is "Bailian: hits" "$(value "$S" hits block) of $(value "$S" lookups block)" "2 of 8"
is "Bailian: tokens" "$(value "$S" context_tokens) $(value "$S" generated_tokens)" "116 10"
is "Bailian: chats and turns" "$(value "$S" count conversations) $(value "$S" turns_mean)" "2 1.5"
gen --input "$TMP/b.jsonl" --partial-blocks
like "Bailian: the last block by its tokens" "$(writes)" 'block_2:196608 '

long=0123456789abcdef0123456789abcdef
cat >"$TMP/l.jsonl" <<END
{"timestamp": 1700000000.5, "request_id": "a", "model_name": "m", "chunk_size": 256, "seq_len": 600, "chunk_hashes": ["0xff", "$long"]}
{"timestamp": 1700000001.75, "request_id": "b", "model_name": "m", "chunk_size": 256, "seq_len": 800, "chunk_hashes": ["00FF", "$long", "3"]}
{"timestamp": 1700000001.75, "request_id": "c", "model_name": "m", "chunk_size": 128, "seq_len": 130, "chunk_hashes": [7]}
END
zstd -q "$TMP/l.jsonl"
gen --input - <"$TMP/l.jsonl.zst"
is "LMCache: recognised" "$(source_name "$S")" lmcache
is "LMCache: times" "$(arrivals "$A")" "0.000000 1.250000 1.250000 "
is "LMCache: one hash however written" "$(value "$S" hits block) of $(value "$S" lookups block)" "2 of 6"
like "LMCache: chunks of the size that the log says" "$(writes)" '^block_255:6291456 block_[0-9]+:6291456 block_3:6291456 block_7:3145728 $'
is "LMCache: tokens" "$(value "$S" context_tokens) $(value "$S" generated_tokens)" "1530 0"

bad() { # name regex sed
    sed "$3" "$TMP/$4.jsonl" >"$TMP/x.jsonl"
    exits "$1: status 2" 2 "$BIN/kvgen" --input "$TMP/x.jsonl" -o none
    like "$1: says so" "$(cat "$TMP/stderr")" "^kvgen: .*x.jsonl:$2"
}
bad "time that is none" '2: timestamp' '2s/5.25/"x"/' b
bad "time that goes back" '3: timestamp goes back' '3s/6.5/5.2/' b
bad "hash that is none" '2: chunk_hashes' '2s/00FF/00FG/' l
bad "chunk of nothing" '3: chunk_size' '3s/128/0/' l
bad "no length" '1: not a LMCache lookup log trace: no seq_len' '1s/seq_len/len/' l
done_testing
