#!/bin/sh
# --print-config: every key and option of the tables, and given back it changes nothing; --ops beside
# --only-tier. A bug looked like a default that differed from the table, or a file that its own reader
# refused.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

exits "it prints" 0 "$BIN/kvgen" --print-config
cp "$TMP/stdout" "$TMP/c.yaml"
ok "examples/kvtrace.yaml is that (build/bin/kvgen --print-config >examples/kvtrace.yaml)" \
    cmp "$TMP/c.yaml" "$TOP/examples/kvtrace.yaml"
for option in $("$BIN/kvgen" --list-options | awk -F '\t' '$1 != "" && $3 != "heading" && $1 != "help" && $1 != "version" {print $1}'); do
    grep -q -e "--$option" "$TMP/c.yaml" || missing="${missing-}$option "
done
is "every option is in it" "${missing-}" ""
not_ok "no line is too long" grep -qE '^.{101}' "$TMP/c.yaml"

digest() { sed -n 's/.*digest //p' "$TMP/stderr"; }
run="--duration 20 --num-users 40 --generation-mode fast --gpu-mem-gb 1 --cpu-mem-gb 2 --storage-capacity-gb 20 -o $TMP/t.csv"
# shellcheck disable=SC2086
exits "without it" 0 "$BIN/kvgen" $run
without=$(digest)
# shellcheck disable=SC2086
exits "with it" 0 "$BIN/kvgen" $run --config "$TMP/c.yaml"
is "the same trace" "$(digest)" "$without"
unlike "and no warning" "$(cat "$TMP/stderr")" 'ignored|not used'
# shellcheck disable=SC2086
exits "from standard input" 0 "$BIN/kvgen" $run --config - <"$TMP/c.yaml"
is "the same again" "$(digest)" "$without"
printf 'decode:\n  batch_siz: 3\n' >"$TMP/wrong.yaml"
exits "a wrong key there" 2 "$BIN/kvgen" --config - --num-users 2 <"$TMP/wrong.yaml"
like "has its line" "$(cat "$TMP/stderr")" '^kvgen: standard input:2: decode.batch_siz: unknown key'
for two in --input --users-file; do
    exits "with $two from there too" 2 "$BIN/kvgen" --config - $two - <"$TMP/c.yaml"
    like "is said" "$(cat "$TMP/stderr")" '^kvgen: standard input: only one of --config, --input and --users-file'
done
sed 's/^  batch_size: 32/  batch_size: 8/' "$TMP/c.yaml" >"$TMP/other.yaml"
# shellcheck disable=SC2086
exits "another batch size" 0 "$BIN/kvgen" $run --config "$TMP/other.yaml"
isnt "is another trace" "$(digest)" "$without"
exits "nothing beside it" 2 "$BIN/kvgen" --print-config --seed 3

printf 'decode:\n  batch_size: 8\nqos_distribution:\n  interactive_probability: 0.9\n' >"$TMP/wrong.yaml"
exits "keys that contradict a default" 2 "$BIN/kvgen" --config "$TMP/wrong.yaml" -o none
like "have their line" "$(cat "$TMP/stderr")" "^kvgen: $TMP/wrong.yaml:4: qos_distribution.responsive_threshold \\(0.5\\) is below"
printf 'rag:\n  large_model_doc_tokens_min: 9\n  large_model_doc_tokens_max: 8\n' >"$TMP/wrong.yaml"
exits "and each other" 2 "$BIN/kvgen" --config "$TMP/wrong.yaml" -o none
like "too" "$(cat "$TMP/stderr")" "^kvgen: $TMP/wrong.yaml:3: rag.large_model_doc_tokens_max \\(8\\) is below"

gen() { told "$BIN/kvgen" --duration 20 --num-users 40 --generation-mode fast --gpu-mem-gb 1 --cpu-mem-gb 2 --storage-capacity-gb 20 \
    "$@"; }
gen -o "$TMP/all.csv"
gen --ops Read,Delete -o "$TMP/ops.csv"
is "--ops keeps those rows" "$(tail -n +2 "$TMP/ops.csv")" "$(awk -F, '$2 == "Read" || $2 == "Delete"' "$TMP/all.csv")"
gen --ops Write --only-tier 1 --limit 5 -o "$TMP/both.csv"
is "both filters, then the limit" "$(tail -n +2 "$TMP/both.csv")" \
    "$(awk -F, '$2 == "Write" && $4 == "Tier-1"' "$TMP/all.csv" | head -n 5)"
exits "an operation that is none" 2 "$BIN/kvgen" --ops Read,Move
like "is named" "$(cat "$TMP/stderr")" '"Move" is none of Read, Write'
exits "no filter without a trace" 2 "$BIN/kvgen" -o none --ops Read
done_testing
