#!/bin/sh
# --compat mlperf: what the program of the MLPerf Storage KV-cache benchmark does beside its documentation, each
# beside plain kvgen, which does not. A bug looked like a prompt that hits there, a turn looked up that nobody asked,
# or a difference that both have.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

gen() { # name options...: NAME.csv plain and NAME.compat.csv
    gen_name=$1
    shift
    for compat in none mlperf; do
        case $compat in none) gen_file=$TMP/$gen_name.csv ;; *) gen_file=$TMP/$gen_name.compat.csv ;; esac
        told "$BIN/kvgen" --compat $compat --num-users 30 --duration 60 -o "$gen_file" --summary "$gen_file.json" "$@"
    done
}
count() { awk -F, "NR > 1 && ($1) {n++} END {print n + 0}" "$TMP/$2.csv"; }
some() { if [ "$1" -gt 0 ]; then echo some; else echo none; fi; }

# 1. A shared system prompt is looked up, never stored, and shortens the request. 2. All other turns are looked up.
gen idle --generation-mode none
is "prompts hit, or are written" "$(some "$(count '$10 == "system" && $2 == "Read"' idle)") $(count '$10 == "system" && $2 == "Write"' idle)" "some 3"
is "compat: each is a miss" "$(some "$(count '$10 == "system" && $2 == "Miss"' idle.compat)") $(count '$10 == "system" && $2 != "Miss"' idle.compat)" "some 0"
is "compat: as many lookups" "$(count '$10 == "system" && $2 == "Miss"' idle.compat)" \
    "$(count '$10 == "system" && $2 != "Write"' idle)"
lengths() { awk -F, '$6 == "Prefill" && $10 == "user" {print $5, $11}' "$TMP/$1.csv"; }
is "compat: the request is as much shorter" "$(lengths idle.compat)" "$(lengths idle)"
is "one turn before is read" "$(awk -F, '$10 == "multi_turn" {n[$7]++} END {for (r in n) if (n[r] > 1) bad++; print bad + 0}' "$TMP/idle.csv")" 0
is "compat: every other one" "$(awk -F, '$10 == "multi_turn" {n[$7]++} $2 == "Generate" {turn = $7}
    $6 == "Prefill" && $10 == "user" {split($5, k, "_"); if (n[$7] != k[6] - 1) bad++} END {print bad + 0}' "$TMP/idle.compat.csv")" 0
is "a worker that keeps up misses none" "$(count '$10 == "multi_turn" && $2 == "Miss"' idle.compat)" 0
gen busy --generation-mode fast --workers 2
is "plain: only turns before are looked up" "$(awk -F, '
    $10 == "multi_turn" {split($5, k, "_"); if (k[6] > most[$7]) most[$7] = k[6]}
    $6 == "Prefill" && $10 == "user" {split($5, k, "_"); if (most[$7] >= k[6] + 0) later++} END {print later + 0}' "$TMP/busy.csv")" 0
later=$(awk -F, '$10 == "multi_turn" {split($5, k, "_"); if (k[6] > most[$7]) most[$7] = k[6]}
    $6 == "Prefill" && $10 == "user" {split($5, k, "_"); if (most[$7] > k[6] + 0) later++} END {print later + 0}' "$TMP/busy.compat.csv")
ok "compat: also later ones, when those already wait ($later)" test "$later" -gt 100
is "compat: which miss" "$(awk -F, '$10 == "multi_turn" {split($5, k, "_"); at[$7, k[6]] = $2; n = k[6] > n ? k[6] : n}
    $6 == "Prefill" && $10 == "user" {split($5, k, "_"); for (i = k[6] + 1; i <= n; i++) if (at[$7, i] == "Read") hit++; n = 0}
    END {print hit + 0}' "$TMP/busy.compat.csv")" 0
printf 'conversation:\n  max_conversations: 40\n' >"$TMP/c.yaml"
gen few --generation-mode fast --workers 2 --config "$TMP/c.yaml"
ok "compat: none of conversations that it has forgotten" test \
    $((10 * $(count '$10 == "multi_turn"' few.compat))) -lt $((8 * $(count '$10 == "multi_turn"' busy.compat)))

# 3. A question about a document reads or writes one object.
gen rag --generation-mode none --enable-rag
is "plain: questions read chunks" "$(count '$5 ~ /^rag_doc_[0-9]+$/' rag)" 0
is "compat: one object of their size" "$(awk -F, '$5 ~ /^rag_doc_[0-9]+$/ && $6 != "Evict" {print $2, $6, $10}' "$TMP/rag.compat.csv" | sort -u |
    tr '\n' ';')" "Miss  rag;Read Decode rag;Write Prefill rag;"
is "compat: written once" "$(awk -F, '$5 ~ /^rag_doc_[0-9]+$/ && $2 $6 == "WritePrefill" {print $5}' "$TMP/rag.compat.csv" | sort | uniq -d)" ""
is "compat: and then not read by the same request" "$(awk -F, '$5 ~ /^rag_doc_[0-9]+$/ {if ($6 == "Prefill") wrote[$7]; else if ($6 == "Decode" && $7 in wrote) n++}
    END {print n + 0}' "$TMP/rag.compat.csv")" 0
is "both retrieve chunks" "$(some "$(count '$5 ~ /_chunk_/ && $10 == "rag"' rag.compat)")" some

# 4. What the last tier deletes stands in no row.
gen small --generation-mode none --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 8
is "deletions are rows" "$(some "$(count '$2 == "Delete"' small)")" some
is "compat: they are not" "$(count '$2 == "Delete"' small.compat)" 0
is "compat: unless asked for" "$("$BIN/kvgen" --compat mlperf --num-users 30 --duration 60 --generation-mode none \
    --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 8 --ops Delete 2>/dev/null | sed 1d | wc -l)" \
    "$(sed -n 's/.*"delete_ops": \([1-9][0-9]*\).*/\1/p' "$TMP/small.compat.csv.json")"
ok "compat: but they are counted" grep -q '"delete_ops": [1-9]' "$TMP/small.compat.csv.json"

# 5. 6. On a decode node requests of 10,000 tokens do nothing there; objects are written through the hierarchy.
gen decode --generation-mode none --decode-only --gpu-mem-gb 0 --cpu-mem-gb 4
long() { # requests of 10,000 tokens by the same seed elsewhere, and how many read
    awk -F, 'NR == FNR {if ($6 == "Prefill" && $10 == "user" && $11 >= 10000) long[$7]; next}
        $2 == "Read" && $6 == "Decode" && $7 in long {read[$7]} END {print (length(long) > 0), (length(read) == length(long)), length(read)}' \
        "$TMP/idle.csv" "$TMP/$1.csv"
}
like "all requests read there" "$(long decode)" '^1 1 '
is "compat: not those of 10,000 tokens" "$(long decode.compat)" "1 0 0"
is "compat: prompts are looked up" "$(some "$(count '$10 == "system" && $2 == "Miss"' decode.compat)") $(count '$10 == "system"' decode)" "some 0"
heads() { awk -F, '$10 == "prepop" {print $2, $4, $5, $6}' "$TMP/$1.csv"; }
is "the objects come from the top in both" "$(heads decode.compat)" "$(heads decode)"

# 7. 10. Reads before generation; the phases.
is "all reads of a request come before it generates" "$(awk -F, '$2 == "Generate" {over[$7]} $2 == "Read" && $7 in over {n++}
    END {print n + 0}' "$TMP/busy.compat.csv")" 0
is "the phases" "$(awk -F, 'NR > 1 && $6 != "" {print $6}' "$TMP/busy.compat.csv" "$TMP/small.compat.csv" "$TMP/decode.compat.csv" |
    grep -v Phase | sort -u | tr '\n' ' ')" "Decode Evict Prefill "

# Requests that make room at once reserve it twice below: of host memory under a GPU less is used; without another tier
# above, or with one worker, nothing is different.
held() { # options...: objects that Tier-1 serves to decode reads
    "$BIN/kvgen" --model deepseek-v3 --num-users 200 --duration 60 --generation-mode none --gpu-mem-gb 16 --cpu-mem-gb 32 \
        --disable-prefix-caching "$@" -o - 2>/dev/null | grep -c ',Tier-1,.*,Decode,'
}
one=$(held --compat mlperf --workers 1)
many=$(held --compat mlperf)
ok "compat: host memory under a GPU holds about half ($many reads, with one worker $one)" test \
    $((100 * many)) -lt $((60 * one)) -a $((100 * many)) -gt $((15 * one))
is "not where nothing lies above" "$(held --compat mlperf --gpu-mem-gb 0)" "$(held --compat mlperf --gpu-mem-gb 0 --workers 1)"
is "plain: each reservation is made once" "$(held)" "$(held --workers 1)"

# At the end the program waits for what its workers have in hand; what waits in the queue is lost.
requests() { sed -n '/"requests"/,/}/s/.*"'"$2"'": \([0-9]*\),.*/\1/p' "$TMP/$1.csv.json"; }
ok "plain: requests under way are not completed" test "$(requests busy completed)" -lt "$(requests busy served)"
is "compat: they are" "$(requests busy.compat completed)" "$(requests busy.compat served)"
ok "compat: not those that wait" test "$(requests busy.compat waiting)" -gt 0
ok "compat: and all of it repeats" sh -c '"$1" --compat mlperf --num-users 30 --duration 60 --generation-mode fast --workers 2 \
    --threads 1 -o - 2>/dev/null | cmp - "$2"' - "$BIN/kvgen" "$TMP/busy.compat.csv"
exits "blocks have no such program" 2 "$BIN/kvgen" --compat mlperf -o none --input "$DATA/mooncake_first200.jsonl"
like "and say so" "$(cat "$TMP/stderr")" '^kvgen: --compat: '
done_testing
