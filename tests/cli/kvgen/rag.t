#!/bin/sh
# --enable-rag: documents written in chunks before the first request, retrievals, questions about a document, and
# documents that are dropped. A bug looked like a chunk read that was never written, a dropped document that is
# retrieved, or other requests that change because there are documents.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

gen() { # file options...
    gen_file=$1
    shift
    told "$BIN/kvgen" --num-users 30 --duration 60 --generation-mode none --gpu-mem-gb 1 --cpu-mem-gb 4 --enable-rag \
        --summary "$TMP/s.json" -o "$gen_file" "$@"
}
T=$TMP/t.csv
gen "$T"

# At the head: ten documents of 4,000 to 12,000 tokens in chunks of 512, 128 KiB a token; nobody's rows.
heads=$(awk -F, 'NR > 1 && $7 != "" {exit} NR > 1' "$T")
is "ten documents" "$(echo "$heads" | awk -F, '$6 == "Prefill" {sub(/_chunk.*/, "", $5); print $5}' | uniq -c | wc -l | tr -d ' ')" 10
like "their names" "$heads" ',rag_doc_0009_chunk_7,'
ok "their lengths" sh -c 'echo "$1" | awk -F, '\''$6 == "Prefill" {sub(/_chunk.*/, "", $5); tokens[$5] += $11}
    END {for (d in tokens) if (tokens[d] < 4000 || tokens[d] > 12000) exit 1}'\' - "$heads"
ok "their chunks" sh -c 'echo "$1" | awk -F, '\''$6 == "Prefill" && ($11 > 512 || $3 != $11 * 131072) {exit 1}'\' - "$heads"
is "class, user, arrival, all at the start" "$(echo "$heads" | cut -d, -f1,7-10,12,13 | sort -u)" "0.000000,,,,ingest,,"
like "what they push down says why" "$heads" ',Read,[0-9]+,Tier-1,rag_doc_[0-9]+_chunk_[0-9]+,Evict,,,,ingest,'

# A retrieval reads five chunks of one document; a question reads them again and again, and nothing else.
grep ',rag,' "$T" >"$TMP/rag"
ok "five chunks of one document for a request" awk -F, '
    {d = $5; sub(/_chunk.*/, "", d); if ($7 in doc && doc[$7] != d) exit bad = 1
     doc[$7] = d; if (!($7 SUBSEP $5 in seen)) {seen[$7, $5]; n[$7]++}}
    END {for (r in n) if (n[r] != 5) bad = 1; exit bad}' "$TMP/rag"
awk -F, 'NR > 1 && $7 != "" {if ($10 == "rag") rag[$7]++; else if ($2 == "Generate") tokens[$7] = $11; else other[$7] = 1}
    END {for (r in tokens) if (!(r in rag)) none++; else if (r in other) retrieved++; else {
             asked++; passes = int((tokens[r] + 31) / 32) + 1; if (tokens[r] < 50 || tokens[r] > 200) length_bad++
             if (rag[r] != 5 * passes) passes_bad++}
         print none + 0, retrieved + 0, asked + 0, passes_bad + 0, length_bad + 0}' "$T" >"$TMP/kinds"
read -r none retrieved asked passes_bad length_bad <"$TMP/kinds"
ok "a tenth of the requests retrieve ($retrieved of $((none + retrieved)))" \
    test $((retrieved * 100)) -gt $(((none + retrieved) * 8)) -a $((retrieved * 100)) -lt $(((none + retrieved) * 12))
ok "a question follows a tenth ($asked)" \
    test $((asked * 100)) -gt $(((none + retrieved) * 8)) -a $((asked * 100)) -lt $(((none + retrieved) * 12))
is "a question reads its chunks once and once more per 32 tokens" "$passes_bad" 0
is "of which it generates 50 to 200" "$length_bad" 0
is "lookups.rag of the summary" "$(sed -n '/"rag": {/,/}/s/.*"lookups": \([0-9]*\),.*/\1/p' "$TMP/s.json")" \
    "$(awk -F, '$2 == "Read" || $2 == "Miss"' "$TMP/rag" | wc -l | tr -d ' ')"
ok "the trace is consistent" "$BIN/kvstat" --verify-trace "$T"

# Documents change no other request: who asks when, for how much.
asks() { awk -F, '$2 == "Generate" {print $1, $8, $11}' "$1" | sort; }
awk -F, 'NR == FNR {if ($10 == "user") own[$7]; next} $2 != "Generate" || $7 in own' "$T" "$T" >"$TMP/without"
"$BIN/kvgen" --num-users 30 --duration 60 --generation-mode none -o "$TMP/plain.csv" 2>/dev/null
is "other requests are the same" "$(asks "$TMP/without")" "$(asks "$TMP/plain.csv")"
gen "$TMP/again.csv" --threads 1
gen "$TMP/more.csv.zst" --threads 3
ok "twice the same" cmp "$T" "$TMP/again.csv"
is "with three threads the same" "$(zstd -qdc "$TMP/more.csv.zst" | cksum)" "$(cksum <"$T")"
gen "$TMP/closed.csv" --arrival closed --generation-mode fast
ok "users who wait for answers wait for those to requests only" awk -F, '
    $10 == "user" && $6 == "Prefill" {if (busy[$8] > $12 + 0.000001) exit 1; mine[$7] = 1}
    $2 == "Generate" && $7 in mine {busy[$8] = $1 + $13 / 1e6}' "$TMP/closed.csv"

# Early chunks are picked more often (weights 1/rank), or not.
share() { # percentage of chunk 0 among the reads of retrievals
    awk -F, '{all++} $5 ~ /_chunk_0$/ {n++} END {printf "%d", 100 * n / all}' "$1"
}
ok "zipfian: chunk 0 is read most ($(share "$TMP/rag") %)" test "$(share "$TMP/rag")" -ge 14
printf 'rag:\n  retrieval_distribution: uniform\n' >"$TMP/c.yaml"
gen "$TMP/uniform.csv" --config "$TMP/c.yaml"
grep ',rag,' "$TMP/uniform.csv" >"$TMP/uniform"
ok "uniform: it is one of many ($(share "$TMP/uniform") %)" test "$(share "$TMP/uniform")" -le 10

# The configuration's numbers.
cat >"$TMP/c.yaml" <<'Y'
rag:
  chunk_size_tokens: 300
  top_k_chunks: 2
  max_documents: 3
  request_probability: 1
  small_model_doc_tokens_min: 650
  small_model_doc_tokens_max: 650
Y
gen "$TMP/c.csv" --config "$TMP/c.yaml" --rag-num-docs 7 --duration 5
is "chunks of 300, 300 and 50 tokens" "$(sed -n '2,4p' "$TMP/c.csv" | cut -d, -f5,11 | tr '\n' ' ')" \
    "rag_doc_0000_chunk_0,300 rag_doc_0000_chunk_1,300 rag_doc_0000_chunk_2,50 "
is "the four oldest are dropped" "$(awk -F, '$2 == "Delete" {print $5, $6, $10}' "$TMP/c.csv")" "$(for d in 0 1 2 3; do
    for c in 0 1 2; do echo "rag_doc_000${d}_chunk_$c Evict ingest"; done; done)"
is "one goes before the next comes" "$(awk -F, 'NR > 1 && $7 == "" {print $2, substr($5, 9, 4)}' "$TMP/c.csv" | uniq |
    sed -n '3,6p' | tr '\n' ';')" "Write 0002;Delete 0000;Write 0003;Delete 0001;"
is "the others are retrieved" "$(awk -F, '$10 == "rag" {print substr($5, 5, 8)}' "$TMP/c.csv" | sort -u | tr '\n' ' ')" \
    "doc_0004 doc_0005 doc_0006 "
is "all of them there" "$(grep -c ',Miss,.*,rag,' "$TMP/c.csv")" 0
printf 'rag:\n  max_chunk_bytes: 1310720\n' >"$TMP/c.yaml"
gen "$TMP/c.csv" --config "$TMP/c.yaml" --duration 1
is "a chunk of at most 10 tokens' bytes" "$(awk -F, '$10 == "ingest" && $11 > most {most = $11} END {print most}' "$TMP/c.csv")" 10
gen "$TMP/c.csv" --model llama3.1-70b-instruct --duration 1 --rag-num-docs 40
ok "a large model's documents are shorter" awk -F, '$10 == "ingest" && $6 == "Prefill" {sub(/_chunk.*/, "", $5); n[$5] += $11}
    END {for (d in n) if (n[d] < 1024 || n[d] > 4096) exit 1}' "$TMP/c.csv"

# A cache that loses chunks: a question writes what it misses, a retrieval only counts it.
gen "$TMP/lost.csv" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 8
ok "questions write what is gone" awk -F, '$2 == "Write" && $10 == "rag" && $5 ~ /_chunk_/ {n++} END {exit !n}' "$TMP/lost.csv"
like "misses are counted" "$(cat "$TMP/lost.csv")" ',Miss,0,,rag_doc_[0-9]+_chunk_[0-9]+,,[0-9]+,user_[0-9]+,[a-z]+,rag,'
ok "consistent too" "$BIN/kvstat" --verify-trace "$TMP/lost.csv"

# Tiers that take time: what is written before the first request is there when the clock begins.
gen "$TMP/timed.csv" --gpu-mem-gb 0 --tier-model 2=nvme-gen4
is "documents take no time" "$(awk -F, '$10 == "ingest" {print $1}' "$TMP/timed.csv" | sort -u)" 0.000000
ok "requests do" awk -F, '$2 == "Read" && $10 == "rag" && $1 - $12 > 0.001 {n++} END {exit !n}' "$TMP/timed.csv"
ok "consistent with time, too" "$BIN/kvstat" --verify-trace "$TMP/timed.csv"

# Datasets retrieve, too; blocks cannot.
gen "$TMP/d.csv" --dataset-path "$DATA/sharegpt_dummy_250.json.zst" --duration 0
like "a dataset's requests retrieve" "$(cat "$TMP/d.csv")" ',Read,.*,dataset_user_[0-9]+,[a-z]+,rag,'
refused() { # name regex options
    refused_name=$1 refused_like=$2
    shift 2
    exits "$refused_name: refused" 2 "$BIN/kvgen" -o none "$@"
    like "$refused_name: why" "$(cat "$TMP/stderr")" "$refused_like"
}
refused "documents without retrieval" '^kvgen: --rag-num-docs: .*--enable-rag' --rag-num-docs 3
refused "blocks" '^kvgen: --enable-rag: ' --enable-rag --input "$DATA/mooncake_first200.jsonl"
# Chunks are entries, too.
gen "$TMP/parts.csv" --granularity block:200
like "chunks are kept in blocks" "$(awk -F, '$10 == "ingest" {print $5, $11; exit}' "$TMP/parts.csv")" '^rag_doc_0000_chunk_0/0 200$'
like "and read in blocks" "$(awk -F, '$2 == "Read" && $10 == "rag" {print $5, $11}' "$TMP/parts.csv" | sort -u | tail -n 1)" '/[0-9] 200$'
ok "consistent in blocks, too" "$BIN/kvstat" --verify-trace "$TMP/parts.csv"

# Such a document is as long as the chunks that were asked for: in parts, one key would have two lengths.
refused "blocks of a document that is one object" '^kvgen: --granularity: .*one object' --enable-rag --compat mlperf \
    --granularity block:300
printf 'rag:\n  small_model_doc_tokens_min: 20000\n' >"$TMP/c.yaml"
refused "a range that goes down" '^kvgen: .*c.yaml:2: rag.small_model_doc_tokens_max' --enable-rag --config "$TMP/c.yaml"
done_testing
