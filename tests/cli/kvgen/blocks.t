#!/bin/sh
# Block traces other than Mooncake's, recognised by their content: Qwen-Bailian (seconds, blocks of 16 tokens, chats)
# and LMCache lookup logs (hexadecimal hashes, chunks of the log's own size). A bug looked like seconds taken for
# milliseconds, or a block of 16 tokens written with the bytes of 512.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
trace=$TMP/trace.csv
generate() { told "$BIN/kvgen" --model tiny-1b --generation-mode none "$@" --summary "$summary" -o "$trace"; }
writes() { awk -F, '$2 == "Write" {print $5 ":" $3}' "$trace" | tr '\n' ' '; }

chat() { # CHAT PARENT TIMESTAMP INPUT OUTPUT TYPE TURN BLOCKS
    printf '{"chat_id": %s, "parent_chat_id": %s, "timestamp": %s, "input_length": %s, "output_length": %s, ' \
        "$1" "$2" "$3" "$4" "$5"
    printf '"type": "%s", "turn": %s, "hash_ids": [%s]}\n' "$6" "$7" "$8"
}
{
    chat 0 -1 5.0 40 7 text 1 '0, 1, 2'
    chat 1 -1 5.25 16 1 search 1 '9'
    chat 2 0 6.5 60 2 text 2 '0, 1, 3, 4'
} >"$TMP/bailian.jsonl"
generate --input "$TMP/bailian.jsonl"
is "Bailian: times are seconds" "$(arrivals "$trace")" "0.000000 0.250000 1.500000 "
is "Bailian: blocks of 16 tokens" "$(writes)" \
    "block_0:393216 block_1:393216 block_2:393216 block_9:393216 block_3:393216 block_4:393216 "
json_like "$summary" <<'END'
Bailian: recognised      | .source | bailian
Bailian: hits            | .lookups.block.hits, .lookups.block.lookups | 2 8
Bailian: tokens          | .requests.context_tokens, .requests.generated_tokens | 116 10
Bailian: chats and turns | .conversations.count, .conversations.turns_mean | 2 1.5
END
generate --input "$TMP/bailian.jsonl" --config partial_blocks=true
like "Bailian: the last block by its tokens" "$(writes)" 'block_2:196608 '

lookup() { # TIMESTAMP REQUEST CHUNK_SIZE LENGTH HASHES
    printf '{"timestamp": %s, "request_id": "%s", "model_name": "m", "chunk_size": %s, "seq_len": %s, ' \
        "$1" "$2" "$3" "$4"
    printf '"chunk_hashes": [%s]}\n' "$5"
}
long=0123456789abcdef0123456789abcdef
{
    lookup 1700000000.5 a 256 600 "\"0xff\", \"$long\""
    lookup 1700000001.75 b 256 800 "\"00FF\", \"0X$long\", \"3\""
    lookup 1700000001.75 c 128 130 7
} >"$TMP/lmcache.jsonl"
zstd -q "$TMP/lmcache.jsonl"
generate --input - <"$TMP/lmcache.jsonl.zst"
is "LMCache: times" "$(arrivals "$trace")" "0.000000 1.250000 1.250000 "
like "LMCache: chunks of the size that the log says" "$(writes)" \
    '^block_255:6291456 block_[0-9]+:6291456 block_3:6291456 block_7:3145728 $'
json_like "$summary" <<'END'
LMCache: recognised               | .source | lmcache
LMCache: one hash however written | .lookups.block.hits, .lookups.block.lookups | 2 6
LMCache: tokens                   | .requests.context_tokens, .requests.generated_tokens | 1530 0
END

refused() { # NAME REGEX SED_SCRIPT SAMPLE
    sed "$3" "$TMP/$4.jsonl" >"$TMP/bad.jsonl"
    exits "$1: status 2" 2 "$BIN/kvgen" --input "$TMP/bad.jsonl" -o none
    stderr_like "$1: says so" "^kvgen: .*bad.jsonl:$2"
}
refused "time that is none" '2: timestamp' '2s/5.25/"x"/' bailian
refused "time that goes back" '3: timestamp goes back' '3s/6.5/5.2/' bailian
refused "hash that is none" '2: chunk_hashes' '2s/00FF/00FG/' lmcache
refused "hash without a digit" '2: chunk_hashes' '2s/00FF/0x/' lmcache
refused "chunk of nothing" '3: chunk_size' '3s/128/0/' lmcache
refused "no length" '1: not a LMCache lookup log trace: no seq_len' '1s/seq_len/len/' lmcache
done_testing
