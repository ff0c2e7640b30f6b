#!/bin/sh
# Each counter that a request moves, for requests of each kind: one table. Documents, objects of a decode node and blocks
# are no requests; a request counts once, where it is at the end: complete, in progress or waiting. A bug looked like
# documents in the queue that were counted as waiting requests, or an engine whose last prefill was not counted.
# builds: plain (sums; test_sim.c runs its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# Two requests of two blocks of 12.6 MB, of which they share the first, a second apart. A token of the answer takes 30 ms.
cat >"$TMP/two.jsonl" <<'END'
{"timestamp": 1000, "input_length": 1024, "output_length": 10, "hash_ids": [1, 2]}
{"timestamp": 2000, "input_length": 1024, "output_length": 10, "hash_ids": [1, 3]}
END
slow='--gpu-mem 0 --cpu-mem 0 --tier-model 2=write:1MB/s'
# Requests come to the engine 1.1264 ms after their arrival; a prefill takes 6 ms.
gpu='--gpu-profile h100:host_ms=0 --params 1e9 --cache waterfall:block_size=512'
lengths='--config input_len=1000 --config output_len=10'
users="--users 2 $lengths --arrival open"
rag="$lengths --enable-rag --rag-num-docs 3"
timed='--rag-ingest timed --duration 30s'
counters='.requests + {prefill: .prefill, lookups: .lookups} | [.issued, .served, .completed, .in_progress, .waiting, .waiting_documents,
    .end_to_end_ms.count // 0, ([.queue_by_qos_ms // {} | .[] | .count? // 0] | add // 0), .ingest_ms.count // 0,
    .prefill.requests // 0, .prefill.first_token_ms.all.count // 0, .context_tokens, .generated_tokens,
    .lookups.all.lookups] | map(tostring) | join(" ")'

# issued served completed in-progress waiting waiting-documents | end-to-end queued ingested prefills first-tokens |
# context generated lookups
while IFS='|' read -r name options places times tokens; do
    with "$options" told "$BIN/kvgen" -m tiny-1b --seed 1 -o none --summary "$TMP/s.json"
    is "$name" "$(jq -r "$counters" "$TMP/s.json")" "$(echo "$places $times $tokens" | xargs)"
done <<END
two requests|--input $TMP/two.jsonl|2 2 2 0 0 0|2 0 0 0 0|2048 20 4
cut while the second one answers|--input $TMP/two.jsonl --duration 1.1s|2 2 1 1 0 0|1 0 0 0 0|2048 10 4
cut when the second one comes|--input $TMP/two.jsonl --duration 1s|1 1 1 0 0 0|1 0 0 0 0|1024 10 2
one worker, cut while it answers|--input $TMP/two.jsonl --speed 0 --workers 1 --duration 200ms|2 1 0 1 1 0|0 0 0 0 0|1024 0 2
cut while one writes, one waits for it|--input $TMP/two.jsonl $slow --duration 2s|2 2 0 2 0 0|0 2 0 0 0|2048 0 1
cut while one writes, one in the queue|--input $TMP/two.jsonl $slow --workers 1 --duration 2s|2 1 0 1 1 0|0 2 0 0 0|1024 0 1
prefills|--input $TMP/two.jsonl $gpu|2 2 2 0 0 0|2 0 0 2 2|2048 20 4
cut in a prefill|--input $TMP/two.jsonl $gpu --duration 1.002s|2 2 1 1 0 0|1 0 0 2 1|2048 10 4
cut in a prefill of both|--input $TMP/two.jsonl $gpu --speed 0 --duration 2ms|2 2 0 2 0 0|0 0 0 2 0|2048 0 4
users|$users --max-requests 4|4 4 4 0 0 0|4 0 0 0 0|4000 40 5
prefill-only|$users --max-requests 4 --prefill-only|4 4 4 0 0 0|4 0 0 0 0|4000 40 1
prefill-only, computed|$users --max-requests 4 --prefill-only $gpu|4 4 4 0 0 0|4 0 0 4 4|5010 4 6
decode-only, 20 objects are there|$users --max-requests 4 --decode-only|4 4 4 0 0 0|4 0 0 0 0|4000 40 4
one in twelve asks about a document|$users --max-requests 12 $rag|12 12 12 0 0 0|12 0 0 0 0|13560 289 24
documents before, cut|--users 1 $rag $slow --workers 1 --duration 1s|1 1 0 1 0 0|0 1 0 0 0|1000 0 0
documents beside requests|--users 1 $rag $timed|35 35 34 1 0 0|34 0 3 0 0|38120 627 72
one document is written, two wait|--users 1 $rag $timed $slow --workers 1|1 0 0 0 1 2|0 1 0 0 0|0 0 0
END

# Times are those up to the end of the run, also of what is under way then. A block takes 12.6 s in the slow tier.
busy='[.prefill.engine_s // "-", .prefill.gpu_s // "-", .prefill.busy_share // "-",
    (.tiers[-1].read.busy_share // 0), (.tiers[-1].write.busy_share // 0)] | map(tostring) | join(" ")'
# engine-seconds GPU-seconds busy-share | reads writes of Tier-2: busy shares
while IFS='|' read -r name options engines tiers; do
    with "$options" told "$BIN/kvgen" -m tiny-1b --seed 1 -o none --summary "$TMP/s.json"
    is "$name" "$(jq -r "$busy" "$TMP/s.json")" "$engines $tiers"
done <<END
cut in a prefill|--input $TMP/two.jsonl $gpu --duration 4ms|0.0028736 0.0028736 0.7184|0 0
of one of two engines|--input $TMP/two.jsonl $gpu --config engines=2 --duration 4ms|0.0028736 0.0028736 0.3592|0 0
of two GPUs|--input $TMP/two.jsonl $gpu --tensor-parallel 2 --duration 4ms|0.0028736 0.0057472 0.7184|0 0
cut in a write|--input $TMP/two.jsonl $slow --duration 2s|- - -|0 1
cut in a write to a measured drive|--input $TMP/two.jsonl --gpu-mem 0 --cpu-mem 0 --tier-model 2=$DATA/drive_model.json --duration 1ms|- - -|1 1
END
engine_ns() {
    with "$gpu" told "$BIN/kvgen" -m tiny-1b --input "$TMP/two.jsonl" -o none --duration "$1" --summary "$TMP/s.json"
    jq '.prefill.engine_s * 1e9 | round' "$TMP/s.json"
}
is "a prefill, a pause, and a millisecond of another" "$(engine_ns 1.0021264s)" "$(($(engine_ns 1s) + 1000000))"
done_testing
