#!/bin/sh
# --compat mlperf does what the program of the MLPerf Storage KV-cache benchmark does and its documentation does not
# say. Each behaviour is compared with plain kvgen, which lacks it. A bug looked like a prompt that hits under
# --compat, a lookup of a turn that nobody asked, or a difference that both have.
# builds: plain (compat_defaults.t runs its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# run_both NAME OPTIONS...: traces NAME.csv (plain) and NAME.compat.csv, and summaries beside them.
run_both() {
    pair=$1
    shift
    for compat in none mlperf; do
        case $compat in none) trace=$TMP/$pair.csv ;; *) trace=$TMP/$pair.compat.csv ;; esac
        told "$BIN/kvgen" --no-notes --compat $compat --num-users 30 --duration 60 -o "$trace" --summary "$trace.json" "$@"
    done
}
count() { awk -F, "NR > 1 && ($1) {n++} END {print n + 0}" "$TMP/$2.csv"; } # CONDITION TRACE: its rows like that
some() { if [ "$1" -gt 0 ]; then echo some; else echo none; fi; }

# 1. A shared system prompt is looked up, never stored, and shortens the request. 2. All other turns are looked up.
run_both idle --generation-mode none
is "prompts hit" "$(some "$(count "\$10 == \"system\" && \$2 == \"Read\"" idle)")" some
is "or are written" "$(count "\$10 == \"system\" && \$2 == \"Write\"" idle)" 3
is "compat: they miss" "$(some "$(count "\$10 == \"system\" && \$2 == \"Miss\"" idle.compat)")" some
is "compat: each time" "$(count "\$10 == \"system\" && \$2 != \"Miss\"" idle.compat)" 0
is "compat: as many lookups" "$(count "\$10 == \"system\" && \$2 == \"Miss\"" idle.compat)" \
    "$(count "\$10 == \"system\" && \$2 != \"Write\"" idle)"
lengths() { awk -F, '$6 == "Prefill" && $10 == "user" {print $5, $11}' "$TMP/$1.csv"; }
is "compat: the request is as much shorter" "$(lengths idle.compat)" "$(lengths idle)"
is "one turn before is read" "$(awk -F, '$10 == "multi_turn" {turns[$7]++}
    END {for (request in turns) if (turns[request] > 1) bad++; print bad + 0}' "$TMP/idle.csv")" 0
# A key ends in the number of its turn, conv_user_USER_CONVERSATION_turn_TURN.
is "compat: every other one" "$(awk -F, '$10 == "multi_turn" {turns[$7]++}
    $6 == "Prefill" && $10 == "user" {split($5, part, "_"); if (turns[$7] != part[6] - 1) bad++}
    END {print bad + 0}' "$TMP/idle.compat.csv")" 0
is "a worker that keeps up misses none" "$(count "\$10 == \"multi_turn\" && \$2 == \"Miss\"" idle.compat)" 0
run_both busy --generation-mode fast --workers 2
# looked_beyond TRACE DISTANCE: requests that look up a turn at least DISTANCE behind their own.
looked_beyond() {
    awk -F, -v distance="$2" '
        $10 == "multi_turn" {split($5, part, "_"); if (part[6] > latest[$7]) latest[$7] = part[6]}
        $6 == "Prefill" && $10 == "user" {split($5, part, "_"); if (latest[$7] >= part[6] + distance) later++}
        END {print later + 0}' "$TMP/$1.csv"
}
is "plain: only turns before are looked up" "$(looked_beyond busy 0)" 0
later=$(looked_beyond busy.compat 1)
ok "compat: also later ones, when those already wait ($later)" test "$later" -gt 100
is "compat: which miss" "$(awk -F, '
    $10 == "multi_turn" {split($5, part, "_"); op[$7, part[6]] = $2; if (part[6] > latest) latest = part[6]}
    $6 == "Prefill" && $10 == "user" {
        split($5, part, "_")
        for (turn = part[6] + 1; turn <= latest; turn++) if (op[$7, turn] == "Read") hits++
        latest = 0
    }
    END {print hits + 0}' "$TMP/busy.compat.csv")" 0
printf 'conversation:\n  max_conversations: 40\n' >"$TMP/few.yaml"
run_both few --generation-mode fast --workers 2 --config "$TMP/few.yaml"
ok "compat: none of conversations that it has forgotten" test \
    $((10 * $(count "\$10 == \"multi_turn\"" few.compat))) -lt $((8 * $(count "\$10 == \"multi_turn\"" busy.compat)))

# 3. A question about a document reads or writes one object.
run_both rag --generation-mode none --enable-rag
is "plain: questions read chunks" "$(count "\$5 ~ /^rag_doc_[0-9]+\$/" rag)" 0
documents() { awk -F, '$5 ~ /^rag_doc_[0-9]+$/' "$TMP/rag.compat.csv"; }
is "compat: one object of their size" \
    "$(documents | awk -F, '$6 != "Evict" {print $2, $6, $10}' | sort -u | tr '\n' ';')" \
    "Miss  rag;Read Decode rag;Write Prefill rag;"
is "compat: written once" "$(documents | awk -F, '$2 $6 == "WritePrefill" {print $5}' | sort | uniq -d)" ""
is "compat: and then not read by the same request" \
    "$(documents | awk -F, '$6 == "Prefill" {wrote[$7]} $6 == "Decode" && $7 in wrote {n++} END {print n + 0}')" 0
is "both retrieve chunks" "$(some "$(count "\$5 ~ /_chunk_/ && \$10 == \"rag\"" rag.compat)")" some

# 4. The last tier deletes without rows.
set -- --generation-mode none --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 8
run_both small "$@"
is "deletions are rows" "$(some "$(count "\$2 == \"Delete\"" small)")" some
is "compat: they are not" "$(count "\$2 == \"Delete\"" small.compat)" 0
deleted=$(json "$TMP/small.compat.csv.json" 'tier("Tier-2").delete_ops')
told "$BIN/kvgen" --no-notes --compat mlperf --num-users 30 --duration 60 "$@" --ops Delete -o "$TMP/deleted.csv"
is "compat: unless asked for" "$(sed 1d "$TMP/deleted.csv" | wc -l)" "$deleted"
is "compat: but they are counted" "$(some "$deleted")" some

# 5. 6. On a decode node requests of 10,000 tokens do nothing there; objects are written through the hierarchy.
run_both decode --generation-mode none --decode-only --gpu-mem-gb 0 --cpu-mem-gb 4
# long_requests TRACE: whether the same seed has requests of 10,000 tokens elsewhere, whether all of them read in the
# trace, and how many read.
long_requests() {
    awk -F, 'NR == FNR {if ($6 == "Prefill" && $10 == "user" && $11 >= 10000) long[$7]; next}
        $2 == "Read" && $6 == "Decode" && $7 in long {read[$7]}
        END {print (length(long) > 0), (length(read) == length(long)), length(read)}' \
        "$TMP/idle.csv" "$TMP/$1.csv"
}
like "all requests read there" "$(long_requests decode)" '^1 1 '
is "compat: not those of 10,000 tokens" "$(long_requests decode.compat)" "1 0 0"
is "compat: prompts are looked up" "$(some "$(count "\$10 == \"system\" && \$2 == \"Miss\"" decode.compat)")" some
is "plain: they are not" "$(count "\$10 == \"system\"" decode)" 0
heads() { awk -F, '$10 == "prepop" {print $2, $4, $5, $6}' "$TMP/$1.csv"; }
is "the objects come from the top in both" "$(heads decode.compat)" "$(heads decode)"

# 7. 10. Reads before generation; the phases.
is "all reads of a request come before it generates" "$(awk -F, '$2 == "Generate" {over[$7]}
    $2 == "Read" && $7 in over {n++} END {print n + 0}' "$TMP/busy.compat.csv")" 0
is "the phases" "$(for pair in busy small decode; do
    awk -F, 'NR > 1 && $6 != "" {print $6}' "$TMP/$pair.compat.csv"
done | sort -u | tr '\n' ' ')" "Decode Evict Prefill "

# Requests that make room at the same time reserve it twice in the tiers below, so that host memory under a GPU holds
# less. Nothing differs without a tier above or with one worker.
held() { # OPTIONS...: objects that Tier-1 serves to decode reads
    "$BIN/kvgen" --model deepseek-v3 --num-users 200 --duration 60 --generation-mode none --gpu-mem-gb 16 \
        --cpu-mem-gb 32 --disable-prefix-caching "$@" -o - 2>/dev/null | grep -c ',Tier-1,.*,Decode,'
}
one=$(held --compat mlperf --workers 1)
many=$(held --compat mlperf)
ok "compat: host memory under a GPU holds about half ($many reads, with one worker $one)" test \
    $((100 * many)) -lt $((60 * one)) -a $((100 * many)) -gt $((15 * one))
is "not where nothing lies above" "$(held --compat mlperf --gpu-mem-gb 0)" \
    "$(held --compat mlperf --gpu-mem-gb 0 --workers 1)"
is "plain: each reservation is made once" "$(held)" "$(held --workers 1)"

# Without a tier above, an object that is still being written makes host memory look emptier than it is to a large one,
# which then goes to storage.
direct() { # OPTIONS...: objects of requests that go to Tier-2 at once
    "$BIN/kvgen" --num-users 200 --duration 60 --seed 1 --generation-mode none --gpu-mem-gb 0 --cpu-mem-gb 4 "$@" -o - \
        2>/dev/null | grep -c ',Write,.*,Tier-2,.*,Prefill,'
}
one=$(direct --compat mlperf --workers 1)
many=$(direct --compat mlperf)
ok "compat: large objects pass by host memory ($many, with one worker $one)" test "$many" -gt $((one + 10))
is "plain: as many as with one worker" "$(direct)" "$(direct --workers 1)"

# At the end the program waits for the requests that its workers serve; those in the queue are lost.
requests() { json "$TMP/$1.csv.json" ".requests.$2"; }
ok "plain: requests under way are not completed" test "$(requests busy completed)" -lt "$(requests busy served)"
is "compat: they are" "$(requests busy.compat completed)" "$(requests busy.compat served)"
ok "compat: not those that wait" test "$(requests busy.compat waiting)" -gt 0
repeated() {
    "$BIN/kvgen" --no-notes --compat mlperf --num-users 30 --duration 60 --generation-mode fast --workers 2 --config threads=1 \
        2>/dev/null | cmp - "$TMP/busy.compat.csv"
}
ok "compat: and all of it repeats" repeated
exits "blocks have no such program" 2 "$BIN/kvgen" --compat mlperf -o none --input "$DATA/mooncake_first200.jsonl"
stderr_like "and say so" '^kvgen: --compat: '
done_testing
