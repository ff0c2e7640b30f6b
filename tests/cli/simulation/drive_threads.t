#!/bin/sh
# An engine has only so many of its files in a measured drive at once as it has threads for reads, and for writes
# (--cache vllm:read_threads=1); the others wait for one. Of LMCache's server each transfer has one file in it. With fewer threads
# what is loaded comes later, and nothing else changes: the requests find as much, and the rows are the same but for their times.
# A drive without a measured model, and an engine with enough threads, are as if there were no such limit. A bug looked like an
# engine of one thread that got from the drive what only many requests at once get.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# Two prompts of 128 blocks of 16 tokens come again a minute later, when only the files have them.
for when in 0:0 30000:1 60000:0 90000:1; do
    echo "{\"timestamp\":${when%:*},\"input_length\":2048,\"output_length\":2,\"hash_ids\":[${when#*:}]}"
done >"$TMP/again.jsonl"
ENGINE="-m tiny-1b --params 1e9 --gpu-mem 64MiB --cpu-mem 64MiB"
# run NAME SETTINGS [OPTION...]: rows and the summary.
run() {
    name=$1 settings=$2
    shift 2
    exits "with $name" 0 with "$ENGINE" "$BIN/kvgen" --cache "$settings" --input "$TMP/again.jsonl" --block-size 2048 \
        --tier-model "2=$DATA/drive_model.json" --summary "$TMP/$name.json" -o "$TMP/$name.csv" "$@"
    grep -v '^,Note,' "$TMP/$name.csv" >"$TMP/$name.timed"
    awk -F, 'NR > 1 { $1 = $NF = ""; print }' "$TMP/$name.timed" | sort >"$TMP/$name.rows"
}
first_token() { jq .prefill.first_token_ms.all.max "$TMP/$1.json"; }
later() { # FACTOR ONE OTHER: the slowest first token of one comes so much later than that of the other, at least.
    jq -ne --argjson a "$(first_token "$2")" --argjson b "$(first_token "$3")" --argjson factor "$1" '$a > $factor * $b' >/dev/null
}
run default vllm
is "prompts are loaded from files" "$(jq '.cache.tokens.storage > 2000' "$TMP/default.json")" true
run sixteen vllm:read_threads=16,write_threads=16
is "16 threads are the default" "$(cmp "$TMP/default.timed" "$TMP/sixteen.timed" && echo same)" same
run one vllm:read_threads=1
run writes vllm:write_threads=1
run enough vllm:read_threads=128,write_threads=128
run most vllm:read_threads=65536,write_threads=65536
is "what is loaded comes later with one thread" "$(later 1.3 one default && echo later)" later
is "with 16 later than all at once" "$(later 1.001 default enough && echo later)" later
is "with more than there are objects as with these" "$(cmp "$TMP/enough.timed" "$TMP/most.timed" && echo same)" same
is "a thread for writes delays no load" "$(first_token writes)" "$(first_token default)"
for name in one writes enough; do
    is "$name: nothing else changes" "$(cmp "$TMP/default.rows" "$TMP/$name.rows" && echo same)" same
    is "$name: each finds as much" "$(jq -c .cache.tokens "$TMP/$name.json")" "$(jq -c .cache.tokens "$TMP/default.json")"
done
run simple vllm --tier-model 2=read:1GB/s,write:1GB/s
run simple_one vllm:read_threads=1,write_threads=1 --tier-model 2=read:1GB/s,write:1GB/s
is "a drive without a measured model has no threads" "$(cmp "$TMP/simple.timed" "$TMP/simple_one.timed" && echo same)" same

# A drive of 100 MB/s with one object, and 64 times as much with 64 at once. LMCache's server reads a prompt of 8 chunks, 50 MB in
# all, one after the other, in 0.5 s.
for in_flight in 1 64; do
    echo "{\"size_bytes\": 1000000, \"in_flight\": $in_flight, \"read_share\": 1, \"bytes_per_s\": ${in_flight}00000000}"
done | jq -s '{program: "kvtrace model", points: .}' >"$TMP/deep.json"
run server lmcache-mp:eviction_trigger_watermark=0.1,eviction_ratio=1 --tier-model "2=$TMP/deep.json"
is "the chunks of one load come one after the other" \
    "$(jq '.prefill.first_token_ms.all.max | . > 500 and . < 700' "$TMP/server.json")" true

# LMCache's step reads its files one after the other: 6 chunks of 6,291,456 bytes at 100 MB/s each take 377.49 ms, however fast one
# object of all their bytes is; with four at once this drive gives 2.2 GB/s, 17.16 ms. Then come 13 ms and 0.8 of 64 GB/s, 0.74 ms.
jq '.points += [{size_bytes: 67108864, in_flight: 1, read_share: 1, bytes_per_s: 1e9}, {size_bytes: 67108864, in_flight: 64, read_share: 1, bytes_per_s: 64e9}]
    | .points[:2][].size_bytes = 6291456' "$TMP/deep.json" >"$TMP/wide.json"
run step lmcache --tier-model "2=$TMP/wide.json"
run four lmcache:read_threads=4 --tier-model "2=$TMP/wide.json"
loading() { jq '.serving.request_time.loading.s * 1e4 / 2 | round' "$TMP/$1.json"; } # of each of the two, in tenths of a ms
is "a step reads one after the other" "$(loading step)" "$(awk 'BEGIN { printf "%.0f", 10 * (377.487 + 13 + 0.737) }')"
is "or as many as there are threads" "$(loading four)" "$(awk 'BEGIN { printf "%.0f", 10 * (17.158 + 13 + 0.737) }')"

threads() { # of an engine, by its help
    "$BIN/kvgen" --cache "$1:help" | sed -n 's/^ *\([a-z]*_threads=.*\)/\1/p' | tr '\n' ' '
}
is "vLLM's" "$(threads vllm)" 'read_threads=16 write_threads=16 '
is "LMCache's" "$(threads lmcache)" 'read_threads=1 write_threads=4 '
is "SGLang's" "$(threads sglang)" 'read_threads=1 write_threads=1 '
is "LMCache's server and what is no engine have none" "$(threads lmcache-mp)$(threads copies)$(threads waterfall)" ''
is "the summary has them" "$(jq -c '.cache.settings | [.read_threads, .write_threads]' "$TMP/one.json")" '[1,16]'
exits "no thread" 2 "$BIN/kvgen" -o none --cache vllm:read_threads=0
stderr_like "is none" 'read_threads: "0" is not a whole number from 1 to 65536'
done_testing
