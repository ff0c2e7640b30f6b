#!/bin/sh
# --enable-rag: documents that are written in chunks before the first request, retrievals, questions about a document,
# and documents that are dropped. A bug looked like a read of a chunk that was never written, a dropped document that
# is retrieved, or other requests that change because there are documents.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

generate() { # FILE OPTIONS...
    output=$1
    shift
    with "$(rows_only "$output" "$@")" told "$BIN/kvgen" --num-users 30 --duration 60 --generation-mode none --gpu-mem-gb 1 \
        --cpu-mem-gb 4 --enable-rag \
        --summary "$TMP/s.json" -o "$output" "$@"
}
trace=$TMP/trace.csv
generate "$trace" --config decode_reads=batch

# At the head: ten documents of 4,000 to 12,000 tokens in chunks of 512, 128 KiB a token; rows without a user.
heads=$TMP/heads
awk -F, 'NR > 1 && $7 != "" {exit} NR > 1' "$trace" >"$heads"
chunks() { awk -F, '$6 == "Prefill"' "$heads"; }
is "ten documents" "$(chunks | cut -d, -f5 | sed 's/_chunk.*//' | uniq | wc -l)" 10
like "their names" "$(cat "$heads")" ',rag_doc_0009_chunk_7,'
is "their lengths" "$(chunks | awk -F, '{sub(/_chunk.*/, "", $5); tokens[$5] += $11}
    END {for (document in tokens) if (tokens[document] < 4000 || tokens[document] > 12000) print document}')" ""
is "their chunks" "$(chunks | awk -F, '$11 > 512 || $3 != $11 * 131072')" ""
is "class, user, arrival, all at the start" "$(cut -d, -f1,7-10,12,13 "$heads" | sort -u)" "0.000000,,,,ingest,,"
like "demotions that they cause say why" "$(cat "$heads")" \
    ',Read,[0-9]+,Tier-1,rag_doc_[0-9]+_chunk_[0-9]+,Evict,,,,ingest,'

# A retrieval reads five chunks of one document; a question reads them again and again, and nothing else.
grep ',rag,' "$trace" >"$TMP/rag"
is "five chunks of one document for a request" "$(awk -F, '
    {
        document = $5
        sub(/_chunk.*/, "", document)
        if ($7 in first && first[$7] != document) print "request " $7 " reads of " document " too"
        first[$7] = document
        if (!(($7, $5) in seen)) {seen[$7, $5]; chunks[$7]++}
    }
    END {for (request in chunks) if (chunks[request] != 5) print "request " request ": " chunks[request] " chunks"}' \
    "$TMP/rag")" ""
# Requests of each kind, and questions with a wrong number of reads or tokens.
awk -F, '
    NR == 1 || $7 == "" {next}
    $10 == "rag" {rag[$7]++; next}
    $2 == "Generate" {tokens[$7] = $11; next}
    {other[$7] = 1}
    END {
        for (request in tokens)
            if (!(request in rag)) none++
            else if (request in other) retrieved++
            else {
                asked++
                passes = int((tokens[request] + 31) / 32) + 1
                if (rag[request] != 5 * passes) passes_bad++
                if (tokens[request] < 50 || tokens[request] > 200) length_bad++
            }
        print none + 0, retrieved + 0, asked + 0, passes_bad + 0, length_bad + 0
    }' "$trace" >"$TMP/kinds"
read -r none retrieved asked passes_bad length_bad <"$TMP/kinds"
ok "a tenth of the requests retrieve ($retrieved of $((none + retrieved)))" \
    test $((retrieved * 100)) -gt $(((none + retrieved) * 8)) -a $((retrieved * 100)) -lt $(((none + retrieved) * 12))
ok "a question follows a tenth ($asked)" \
    test $((asked * 100)) -gt $(((none + retrieved) * 8)) -a $((asked * 100)) -lt $(((none + retrieved) * 12))
is "a question reads its chunks once and once more per 32 tokens" "$passes_bad" 0
is "of which it generates 50 to 200" "$length_bad" 0
is "lookups.rag of the summary" "$(json "$TMP/s.json" .lookups.rag.lookups)" \
    "$(awk -F, '$2 == "Read" || $2 == "Miss"' "$TMP/rag" | wc -l)"
ok "the trace is consistent" "$BIN/kvstat" --verify-trace "$trace"

# Documents change no other request: who asks when, for how much.
asks() { awk -F, '$2 == "Generate" {print $1, $8, $11}' "$1" | sort; }
awk -F, 'NR == FNR {if ($10 == "user") own[$7]; next} $2 != "Generate" || $7 in own' "$trace" "$trace" >"$TMP/without"
"$BIN/kvgen" --no-notes --num-users 30 --duration 60 --generation-mode none -o "$TMP/plain.csv" 2>/dev/null
is "other requests are the same" "$(asks "$TMP/without")" "$(asks "$TMP/plain.csv")"
generate "$TMP/again.csv" --config decode_reads=batch --config threads=1
generate "$TMP/more.csv.zst" --config decode_reads=batch --config threads=3
ok "twice the same" cmp "$trace" "$TMP/again.csv"
is "with three threads the same" "$(zstd -qdc "$TMP/more.csv.zst" | cksum)" "$(cksum <"$trace")"
generate "$TMP/closed.csv" --arrival closed --generation-mode fast
ok "users who wait for answers wait for those to requests only" awk -F, "
    \$10 == \"user\" && \$6 == \"Prefill\" {if (busy[\$8] > \$12 + 0.000001) exit 1; mine[\$7] = 1}
    \$2 == \"Generate\" && \$7 in mine {busy[\$8] = \$1 + \$13 / 1e6}" "$TMP/closed.csv"

# Early chunks are picked more often (weights 1/rank), or not.
share() { # percentage of chunk 0 among the reads of retrievals
    awk -F, '{all++} $5 ~ /_chunk_0$/ {n++} END {printf "%d", 100 * n / all}' "$1"
}
ok "zipfian: chunk 0 is read most ($(share "$TMP/rag") %)" test "$(share "$TMP/rag")" -ge 14
printf 'rag:\n  retrieval_distribution: uniform\n' >"$TMP/c.yaml"
generate "$TMP/uniform.csv" --config "$TMP/c.yaml"
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
generate "$TMP/c.csv" --config "$TMP/c.yaml" --rag-num-docs 7 --duration 5
is "chunks of 300, 300 and 50 tokens" "$(sed -n '2,4p' "$TMP/c.csv" | cut -d, -f5,11 | tr '\n' ' ')" \
    "rag_doc_0000_chunk_0,300 rag_doc_0000_chunk_1,300 rag_doc_0000_chunk_2,50 "
is "the four oldest are dropped" "$(awk -F, '$2 == "Delete" {print $5, $6, $10}' "$TMP/c.csv")" \
    "$(for document in 0 1 2 3; do
        for chunk in 0 1 2; do echo "rag_doc_000${document}_chunk_$chunk Evict ingest"; done
    done)"
is "one goes before the next comes" "$(awk -F, 'NR > 1 && $7 == "" {print $2, substr($5, 9, 4)}' "$TMP/c.csv" | uniq |
    sed -n '3,6p' | tr '\n' ';')" "Write 0002;Delete 0000;Write 0003;Delete 0001;"
is "the others are retrieved" \
    "$(awk -F, '$10 == "rag" {print substr($5, 5, 8)}' "$TMP/c.csv" | sort -u | tr '\n' ' ')" \
    "doc_0004 doc_0005 doc_0006 "
is "all of them there" "$(grep -c ',Miss,.*,rag,' "$TMP/c.csv")" 0
printf 'rag:\n  max_chunk_bytes: 1310720\n' >"$TMP/c.yaml"
generate "$TMP/c.csv" --config "$TMP/c.yaml" --duration 1
is "a chunk of at most 10 tokens' bytes" \
    "$(awk -F, '$10 == "ingest" && $11 > most {most = $11} END {print most}' "$TMP/c.csv")" 10
generate "$TMP/c.csv" --model llama3.1-70b-instruct --duration 1 --rag-num-docs 40
is "a large model's documents are shorter" "$(awk -F, '
    $10 == "ingest" && $6 == "Prefill" {sub(/_chunk.*/, "", $5); tokens[$5] += $11}
    END {for (document in tokens) if (tokens[document] >= 1024 && tokens[document] <= 4096) n++
        print n, length(tokens)}' "$TMP/c.csv")" "40 40"

# A cache that loses chunks: a question writes what it misses, a retrieval only counts it.
generate "$TMP/lost.csv" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 8
ok "questions write what is gone" awk -F, "\$2 == \"Write\" && \$10 == \"rag\" && \$5 ~ /_chunk_/ {n++} END {exit !n}" \
    "$TMP/lost.csv"
like "misses are counted" "$(cat "$TMP/lost.csv")" \
    ',Miss,0,,rag_doc_[0-9]+_chunk_[0-9]+,,[0-9]+,user_[0-9]+,[a-z]+,rag,'
ok "consistent too" "$BIN/kvstat" --verify-trace "$TMP/lost.csv"

# Tiers that take time: documents are there when the clock starts.
generate "$TMP/timed.csv" --gpu-mem-gb 0 --tier-model 2=nvme-gen4
is "documents take no time" "$(awk -F, '$10 == "ingest" {print $1}' "$TMP/timed.csv" | sort -u)" 0.000000
ok "requests do" awk -F, "\$2 == \"Read\" && \$10 == \"rag\" && \$1 - \$12 > 0.001 {n++} END {exit !n}" "$TMP/timed.csv"
ok "consistent with time, too" "$BIN/kvstat" --verify-trace "$TMP/timed.csv"

# Datasets retrieve, too; blocks cannot.
generate "$TMP/d.csv" --dataset-path "$DATA/sharegpt_dummy_250.json.zst" --duration 0
like "a dataset's requests retrieve" "$(cat "$TMP/d.csv")" ',Read,.*,dataset_user_[0-9]+,[a-z]+,rag,'
refused() { # name regex options
    refused_name=$1 refused_like=$2
    shift 2
    exits "$refused_name: refused" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$refused_name: why" "$refused_like"
}
refused "documents without retrieval" '^kvgen: --rag-num-docs: .*--enable-rag' --rag-num-docs 3
refused "blocks" '^kvgen: --enable-rag: ' --enable-rag --input "$DATA/mooncake_first200.jsonl"
# Chunks are entries, too.
generate "$TMP/parts.csv" --granularity block:200
like "chunks are kept in blocks" "$(awk -F, '$10 == "ingest" {print $5, $11; exit}' "$TMP/parts.csv")" \
    '^rag_doc_0000_chunk_0/0 200$'
like "and read in blocks" \
    "$(awk -F, '$2 == "Read" && $10 == "rag" {print $5, $11}' "$TMP/parts.csv" | sort -u | tail -n 1)" '/[0-9] 200$'
ok "consistent in blocks, too" "$BIN/kvstat" --verify-trace "$TMP/parts.csv"

# There, a document is one object, as long as the chunks that were asked for. Kept in blocks, one key would have two
# lengths.
refused "blocks of a document that is one object" '^kvgen: --granularity: .*one object' --enable-rag --compat mlperf \
    --granularity block:300
printf 'rag:\n  small_model_doc_tokens_min: 20000\n' >"$TMP/c.yaml"
refused "a range that goes down" '^kvgen: .*c.yaml:2: rag.small_model_doc_tokens_max' --enable-rag \
    --config "$TMP/c.yaml"

# ---- --rag-ingest timed: documents come while requests are served ----

timed() { # FILE OPTIONS...
    output=$1
    shift
    with "$(rows_only "$output" "$@")" told "$BIN/kvgen" --model tiny-1b --num-users 10 --duration 5 --generation-mode fast --gpu-mem-gb 0 \
        --cpu-mem-gb 0.3 --tier-model 1=read:8GB/s,write:8GB/s,lat:100us --enable-rag --rag-ingest timed --summary "$TMP/s.json" \
        -o "$output" "$@"
}
timed "$TMP/timed.csv"
ingest() { awk -F, '$10 == "ingest" && $6 == "Prefill"' "$1"; }
is "timed: nothing is there before the first request" "$(awk -F, 'NR > 1 && $7 == ""' "$TMP/timed.csv" | wc -l)" 0
is "timed: ten documents, spread over the run, without users" \
    "$(ingest "$TMP/timed.csv" | awk -F, '{sub(/_chunk.*/, "", $5); print $5, $12, $9 $8}' | sort -u)" \
    "$(for d in 0 1 2 3 4 5 6 7 8 9; do echo "$d" | awk '{printf "rag_doc_000%d %.6f batch\n", $1, $1 / 2}'; done)"
ok "timed: each is a request of its own" awk -F, "
    \$10 == \"ingest\" && \$6 == \"Prefill\" {sub(/_chunk.*/, \"\", \$5); if ((\$7 in of) && of[\$7] != \$5) bad = 1; of[\$7] = \$5; next}
    NR == FNR {next}
    END {exit bad}" "$TMP/timed.csv"
is "timed: which generates nothing" \
    "$(awk -F, 'NR == FNR {if ($10 == "ingest") of[$7]; next} $2 == "Generate" && $7 in of' "$TMP/timed.csv" "$TMP/timed.csv")" ""
is "timed: and takes time" "$(json "$TMP/s.json" '.requests.ingest_ms.count == 10 and .requests.ingest_ms.p50 > 1')" true
is "timed: apart from requests" "$(json "$TMP/s.json" '.requests.completed == .requests.end_to_end_ms.count')" true
ok "timed: the trace is consistent" "$BIN/kvstat" --verify-trace "$TMP/timed.csv"
requests() { awk -F, '$2 == "Generate" {print $8, $11}' "$1" | sort | head -20; }
timed "$TMP/before.csv" --rag-ingest before --tier-model 1=read:1GB/s
is "before: has no such times" "$(json "$TMP/s.json" '.requests.ingest_ms')" null
isnt "before: and its rows at the head" "$(awk -F, 'NR > 1 && $7 == ""' "$TMP/before.csv" | wc -l)" 0

# One worker, whom everybody waits for: documents are packed with what waits.
timed "$TMP/one.csv" --workers 1 --rag-num-docs 60 --duration 60 --max-requests 400 --arrival open
is "timed: no document is lost in the queue" "$(ingest "$TMP/one.csv" | awk -F, '{sub(/_chunk.*/, "", $5); print $5}' | sort -u | wc -l)" \
    "$(json "$TMP/s.json" .requests.ingest_ms.count)"

# What a replay and the report make of it.
ok "timed: it is replayed" sh -c "'$BIN/kvreplay' --tier-engine 1=null --tier-engine 2=null --timing served --workers 10 --speed 5 \
    --config on_error=continue -o '$TMP/r.csv.zst' '$TMP/timed.csv' 2>'$TMP/log'"
"$BIN/kvstat" --json "$TMP/r.csv.zst" >"$TMP/r.json"
is "timed: documents are no populating" "$(json "$TMP/r.json" .populated.rows)" 0
is "timed: kvstat has their times" "$(json "$TMP/r.json" '.ingest.count, (.ingest.end_to_end_ms.count == 10)' | paste -sd ' ' -)" '10 true'
is "timed: apart from those of requests" "$(json "$TMP/r.json" .requests.count)" \
    "$(awk -F, 'NR > 1 && $7 != "" && $10 != "ingest" {all[$7]} $10 == "ingest" {doc[$7]} END {for (r in doc) delete all[r]; print length(all)}' \
        "$TMP/timed.csv")"
like "timed: the report has a section" "$("$BIN/kvstat" --full "$TMP/r.csv.zst")" '
Ingest - documents for retrieval'
refused "timed: an endless run" '^kvgen: --rag-ingest timed: needs --duration' --enable-rag --rag-ingest timed --duration 0
printf 'rag:\n  max_documents: 3\n' >"$TMP/c.yaml"
refused "timed: documents that are dropped" '^kvgen: --rag-ingest timed: documents are dropped only before' --enable-rag \
    --rag-ingest timed --config "$TMP/c.yaml"
refused "timed: no documents" '^kvgen: --rag-ingest: needs --enable-rag' --rag-ingest timed

done_testing
