#!/bin/sh
# kvgen --population: people instead of a load generator. One seed gives one trace, with any number of threads; more
# users change no request of the others; each population has its share; documents are shared; the caches of engines find
# what a turn has in common with the one before; what has no meaning is refused. A bug looked like users that all began
# at once, a turn that missed its own conversation, or an option that the populations ignored.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

mix=chat=70,code=20,documents=10
people() { told "$BIN/kvgen" --model tiny-1b --seed 5 --users 10 --duration 20m --cpu-mem 64 "$@"; }
digest() { sed -n 's/^trace .* digest //p' "$TMP/err"; }

people --population "$mix" --config threads=1 -o "$TMP/one.csv"
one=$(digest)
is "the digest" "$one" 273e01718df2c185afe896c2bbcf0375
people --population "$mix" --config threads=3 -o "$TMP/three.csv.zst"
is "the same with three threads" "$(digest)" "$one"
people --population "$mix" --seed 6 -o "$TMP/other.csv"
isnt "another seed, another trace" "$(digest)" "$one"
people --population mlperf --duration 10s -o "$TMP/mlperf.csv"
mlperf=$(digest)
people --duration 10s -o "$TMP/default.csv"
is "mlperf is the default" "$(digest)" "$mlperf"

# ---- users ----
# own FILE: what the first ten users ask for, without the number of the request.
own() { awk -F, '$2 == "Generate" && $8 ~ /_000[0-9]$/ {print $1, $8, $9, $11}' "$1" | sort; }
people --population "$mix" --users 25 --workers 25 -o "$TMP/more.csv"
own "$TMP/one.csv" >"$TMP/one.own"
own "$TMP/more.csv" >"$TMP/more.own"
ok "more users change nobody's requests" cmp "$TMP/one.own" "$TMP/more.own"
like "(there are some)" "$(lines "$TMP/one.own")" '^[0-9]{2,}$'
names() { awk -F, '$2 == "Generate" {print $8}' "$1" | sort -u | sed 's/_.*//' | uniq -c | awk '{print $2 "=" $1}' | tr '\n' ' '; }
people --population "$mix" --users 100 --duration 45m --generation-mode none -o "$TMP/hundred.csv"
is "each population has its share" "$(names "$TMP/hundred.csv")" 'chat=70 code=20 documents=10 '
is "a population alone" "$(people --population documents -o "$TMP/t.csv" && names "$TMP/t.csv")" 'documents=10 '
is "classes of service" \
    "$(awk -F, '$2 == "Generate" {sub(/_.*/, "", $8); print $8, $9}' "$TMP/hundred.csv" | sort -u | tr '\n' ' ')" \
    'chat interactive code responsive documents interactive '
first=$(awk -F, '$2 == "Generate" && !seen[$8]++ && $1 < 5' "$TMP/hundred.csv" | wc -l)
ok "few of a hundred ask in the first five seconds" test "$first" -lt 10

# ---- what they have in common ----
shared=$(awk -F, '$2 == "Generate" && $8 ~ /documents/ {user[$7] = $8}
    $5 ~ /^system_prompt_/ && $8 ~ /documents/ {if ($5 in by && by[$5] != $8) n++; by[$5] = $8}
    END {print n + 0}' "$TMP/hundred.csv")
like "users ask about the same documents" "$shared" '^[1-9]'
missed=$(awk -F, '$2 == "Miss" && $10 == "multi_turn"' "$TMP/hundred.csv" | wc -l)
is "no turn misses one of its conversation, where there is room" "$missed" 0
turns=$(awk -F, '$2 == "Read" && $5 ~ /_turn_/ && $10 == "multi_turn" {n[$7]++} END {for (r in n) if (n[r] > m) m = n[r]; print m}' \
    "$TMP/hundred.csv")
like "a turn looks up all turns before it" "$turns" '^([5-9]|[0-9]{2,})$'

# ---- the cache of an engine ----
people --population "$mix" --cache vllm --params 1e9 --gpu-mem 8 --summary "$TMP/s.json" -o "$TMP/vllm.csv"
vllm=$(digest)
is "with the cache of vllm, the digest" "$vllm" 5641f1b1206a34aaa8b224bb3bf77f9f
like "most tokens are found" "$(sed -n 's/^cache .*computed \([0-9]*\).*/\1/p' "$TMP/err")" '^[0-9]$|^[1-3][0-9]$'
is "the source" "$(json "$TMP/s.json" .source)" people

# ---- words ----
exits "help" 0 "$BIN/kvgen" --population help
stdout_like "a population" '^chat: people who '
stdout_like "a figure" '^  chat\.answer tokens 1 26 93 '
stdout_like "where it comes from" '^      Mooncake: answers in these conversations$'
cp "$TMP/stdout" "$TMP/help"
refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "and says why" "$why"
}
refused "an unknown name" '^kvgen: --population: "chats" is not chat, code or documents' --population chats
refused "a share of 0" '"chat=0" is not' --population chat=0,code=1
refused "a name twice" 'chat is named twice' --population chat,code,chat
refused "mlperf among others" '"mlperf" is not' --population chat,mlperf
refused "an input" 'population.*only to synthetic users' --population chat --input "$DATA/mooncake_first200.jsonl"
refused "an arrival" 'arrival.*--population of people' --population chat --arrival open
refused "lengths" 'input_len.*--population of people' --population chat --config input_len=100
refused "a file of users" 'users-file.*--population of people' --population chat --users-file "$TMP/none"
refused "documents for retrieval" 'enable-rag.*--population of people' --population chat --enable-rag
refused "the benchmark" 'population.*mlperf' --population chat --compat mlperf

# ---- the table of habits ----
# The figures of --population help, of the manual, and of the script that measures them are the same.
sed -n 's/^  \([a-z]*\.[a-z_]* [a-z]* [0-9 ]*\)$/\1/p' "$TMP/help" | sort >"$TMP/kvgen"
awk '/^\.It Sy [a-z]*\.[a-z_]* Pq/ {name = $3 " " $5} /^[0-9][0-9 ]*$/ && name != "" {print name, $0; name = ""}' \
    "$TOP/man/kvgen.1" | sort >"$TMP/manual"
is "the manual has the figures" "$(diff "$TMP/kvgen" "$TMP/manual")" ''
like "(all of them)" "$(lines "$TMP/kvgen")" '^29$'
if command -v python3 >/dev/null && command -v zstd >/dev/null; then
    python3 "$TOP/tests/population/measure.py" "$DATA/mooncake_first4000.jsonl.zst" "$DATA/sharegpt_150_lengths.jsonl" \
        "$DATA/agentic_60.tar.zst" >"$TMP/measured" 2>"$TMP/stderr" || diag "$(cat "$TMP/stderr")"
    grep -v '^ ' "$TMP/measured" | sort >"$TMP/script"
    # Those of publications are measured nowhere.
    grep -Ev '^(reading\.|documents\.(count|further) )' "$TMP/kvgen" >"$TMP/traces"
    is "the script measures the same" "$(diff "$TMP/traces" "$TMP/script")" ''
fi
done_testing
