#!/bin/sh
# Nodes that only prefill or only decode, requests of fixed lengths, and the latent of MLA on each rank. A bug looked
# like a decode node that writes for its requests, a decode node that leaves out a long context, or a latent that is
# divided among ranks and should be whole on each.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

generate() { # FILE OPTIONS...
    trace=$1
    shift
    told "$BIN/kvgen" --no-notes --num-users 30 --duration 30 --generation-mode none -o "$trace" "$@"
}
ops() { awk -F, 'NR > 1 {print $2, $6, $10}' "$1" | sort -u | tr '\n' ';'; }

generate "$TMP/both.csv"
generate "$TMP/prefill.csv" --prefill-only
is "--prefill-only: all but the reads of a request's own object" "$(cat "$TMP/prefill.csv")" \
    "$(awk -F, '!($2 == "Read" && $6 == "Decode" && $10 == "user")' "$TMP/both.csv")"
like "(there were some)" "$(ops "$TMP/both.csv")" 'Read Decode user;'
generate "$TMP/rag.csv" --prefill-only --enable-rag
is "questions are not answered there, requests retrieve" "$(awk -F, '
    $10 == "rag" {reads[$7]++}
    END {for (request in reads) if (reads[request] > 5) bad++
        print bad + 0, (length(reads) > 0)}' "$TMP/rag.csv")" "0 1"

generate "$TMP/decode.csv" --decode-only --config decode_reads=batch
is "--decode-only: ten objects for each user, then reads" "$(ops "$TMP/decode.csv")" \
    "Generate  ;Read Decode user;Read Evict prepop;Write Evict prepop;Write Prefill prepop;"
is "their names and sizes" "$(awk -F, '$6 == "Prefill" {print $5, $3, $11, $7, $8}' "$TMP/decode.csv")" \
    "$(seq 0 299 | sed "s/.*/prepop_& $((2048 * 131072)) 2048  /")"
ok "they come first" awk -F, "NR > 1 && \$7 == \"\" {if (seen) exit 1} NR > 1 && \$7 > 0 {seen = 1}" "$TMP/decode.csv"
is "each request reads one object, 1 + tokens / 32 times" "$(awk -F, '
    $2 == "Read" && $7 > 0 {reads[$7]++; if ($7 in key && key[$7] != $5) bad++; key[$7] = $5}
    $2 == "Generate" && reads[$7] != 1 + int(($11 + 31) / 32) {bad++} END {print bad + 0}' "$TMP/decode.csv")" 0
picked=$(awk -F, '$2 == "Read" && $7 > 0 {print $5}' "$TMP/decode.csv" | sort -u | wc -l)
ok "picked among all of them ($picked)" test "$picked" -gt 290
is "the same requests as elsewhere" "$(awk -F, '$2 == "Generate" {print $1, $8, $11}' "$TMP/decode.csv")" \
    "$(awk -F, '$2 == "Generate" {print $1, $8, $11}' "$TMP/both.csv")"
generate "$TMP/again.csv" --decode-only --config decode_reads=batch --config threads=1
ok "twice the same" cmp "$TMP/decode.csv" "$TMP/again.csv"
ok "the trace is consistent" "$BIN/kvstat" --verify-trace "$TMP/decode.csv"
generate "$TMP/once.csv" --decode-only --config decode_reads=once --num-users 4
is "--config decode_reads holds there, too" "$(awk -F, '$2 == "Read" && $7 > 0 {print $7}' "$TMP/once.csv" | uniq -d)" ""
# In a cache that cannot hold them all a request misses once and gives up.
generate "$TMP/small.csv" --decode-only --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 20
is "lost objects are missed once, not written" "$(awk -F, '
    $2 == "Miss" {misses[$7]++}
    $2 == "Write" && $7 > 0 {bad++}
    END {for (request in misses) if (misses[request] > 1) bad++
        print (length(misses) > 0), bad + 0}' "$TMP/small.csv")" "1 0"
generate "$TMP/d.csv" --decode-only --dataset-path "$DATA/sharegpt_dummy_250.json.zst" --duration 0 --num-users 3
is "a dataset's users count" "$(grep -c ',prepop,' "$TMP/d.csv")" 30
generate "$TMP/b.csv" --decode-only --use-burst-trace --burst-trace-path "$DATA/burstgpt_30rows.csv" --duration 0 \
    --num-users 5
is "and those said for arrivals" "$(grep -c ',prepop,' "$TMP/b.csv")" 50

generate "$TMP/len.csv" --config input_len=700 --config output_len=90 --disable-prefix-caching
is "--config input_len" "$(awk -F, '$6 == "Prefill" {print $11}' "$TMP/len.csv" | sort -u)" 700
is "--config output_len" "$(awk -F, '$2 == "Generate" {print $11}' "$TMP/len.csv" | sort -u)" 90
is "nothing else changes" "$(awk -F, '$2 == "Generate" {print $1, $7, $8}' "$TMP/len.csv")" \
    "$(awk -F, '$2 == "Generate" {print $1, $7, $8}' "$TMP/both.csv")"

# The latent of 70,272 bytes a token on four ranks.
sizes() { # BYTES_A_TOKEN: whether there are rows, and how many have another size
    awk -F, -v bytes="$1" '$6 == "Prefill" && $3 != int($11 * bytes) {bad++}
        END {print (NR > 1), bad + 0}' "$TMP/mla.csv"
}
set -- --model deepseek-v3 --num-gpus 4 --tensor-parallel 4 --duration 5 --disable-prefix-caching
generate "$TMP/mla.csv" "$@"
is "--config mla_tp=shard, unless told: a quarter" "$(sizes 17568)" "1 0"
like "with a warning" "$(cat "$TMP/err")" '^kvgen: --tensor-parallel: deepseek-v3 .*replicate.*--config mla_tp'
generate "$TMP/mla.csv" "$@" --config mla_tp=replicate
is "--config mla_tp=replicate: all of it" "$(sizes 70272)" "1 0"
unlike "without a warning" "$(cat "$TMP/err")" 'replicate'
generate "$TMP/mla.csv" --model deepseek-v3 --num-gpus 3 --tensor-parallel 3 --duration 1 --config mla_tp=replicate
like "three ranks are unusual" "$(cat "$TMP/err")" '^kvgen: --tensor-parallel: 3 is not a power of two'

refused() { # name regex options
    refused_name=$1 refused_like=$2
    shift 2
    exits "$refused_name: refused" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$refused_name: why" "$refused_like"
}
refused "both nodes" '^kvgen: --decode-only: .*--prefill-only' --prefill-only --decode-only
refused "decode reads without decoding" '^kvgen: --config decode_reads: ' --prefill-only --config decode_reads=once
refused "blocks on a decode node" '^kvgen: --decode-only: ' --decode-only --input "$DATA/mooncake_first200.jsonl"
refused "blocks on a prefill node" '^kvgen: --prefill-only: ' --prefill-only --input "$DATA/mooncake_first200.jsonl"
refused "lengths of a trace" '^kvgen: --config input_len: ' --config input_len=5 --input "$DATA/mooncake_first200.jsonl"
refused "heads are always divided" '^kvgen: --config mla_tp: ' --config mla_tp=replicate --model llama3.1-8b
# ---- --fill-storage: storage is full before the first request, of objects that leave first ----

filled() { # FILE OPTIONS...
    output=$1
    shift
    with "$(rows_only "$output" "$@")" told "$BIN/kvgen" --fill-storage --model tiny-1b --num-users 4 --duration 10 --gpu-mem-gb 0 \
        --storage-capacity 1GiB --summary "$TMP/s.json" -o "$output" "$@"
}
# head FILE: what lies in storage at the first request.
head_bytes() { awk -F, 'NR > 1 && $7 != "" {exit} $4 == "Tier-2" {n += $2 == "Write" ? $3 : -$3} END {printf "%.0f\n", n}' "$1"; }
object=$((2048 * 24576)) capacity=$((1 << 30))
for cpu in 0 0.3; do
    filled "$TMP/full.csv" --cpu-mem-gb "$cpu"
    is "fill-storage, CPU tier $cpu: not one more object fits" "$(head_bytes "$TMP/full.csv")" "$((capacity / object * object))"
    is "fill-storage, CPU tier $cpu: nobody reads them" \
        "$(awk -F, '$5 ~ /^prepop_/ && $2 == "Read" && $6 != "Evict"' "$TMP/full.csv")" ""
    ok "fill-storage, CPU tier $cpu: requests bring objects" grep -q ',conv_' "$TMP/full.csv"
    is "fill-storage, CPU tier $cpu: while these leave, none of the others does" \
        "$(awk -F, '$2 == "Delete" {print substr($5, 1, 7)}' "$TMP/full.csv" | sort -u)" prepop_
    ok "fill-storage, CPU tier $cpu: the trace is consistent" "$BIN/kvstat" --verify-trace "$TMP/full.csv"
done
filled "$TMP/node.csv" --cpu-mem-gb 0 --decode-only --num-users 1
is "fill-storage: a decode node still has its own objects" \
    "$(awk -F, 'NR > 1 && $7 != "" {exit} $2 == "Write" {there[$5]} $2 == "Delete" {delete there[$5]}
        END {for (i = 0; i < 10; i++) n += ("prepop_" i) in there; print n}' "$TMP/node.csv")" 10
ok "fill-storage: a trace of blocks" "$BIN/kvgen" --fill-storage --storage-capacity 1GiB --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 \
    --input "$DATA/mooncake_first200.jsonl" --summary "$TMP/s.json" -o none
is "fill-storage: has its full store" "$(json "$TMP/s.json" '.tiers[-1] | .final_bytes > 0.9 * .capacity_bytes')" true
for capacity in unlimited none; do
    exits "fill-storage: a store that is $capacity" 2 "$BIN/kvgen" --fill-storage --storage-capacity "$capacity" -o none
    like "fill-storage, $capacity: why" "$(cat "$TMP/stderr")" '^kvgen: --fill-storage: needs a --storage-capacity with a limit'
done

done_testing
