#!/bin/sh
# --print-config: every key and option of the tables, and given back it changes nothing; --ops beside
# --only-tier. A bug looked like a default that differed from the table, or a file that its own reader
# refused.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

exits "it prints" 0 "$BIN/kvgen" --print-config
printed=$TMP/printed.yaml
cp "$TMP/stdout" "$printed"
ok "examples/kvtrace.yaml is that (build/bin/kvgen --print-config >examples/kvtrace.yaml)" \
    cmp "$printed" "$TOP/examples/kvtrace.yaml"
"$BIN/kvgen" --list-options |
    awk -F '\t' '$1 != "" && $3 != "heading" && $1 != "help" && $1 != "version" {print "--" $1}' >"$TMP/options"
ok "there are options" test "$(lines "$TMP/options")" -gt 50
is "every option is in it" "$(while read -r option; do
    grep -q -e "$option" "$printed" || echo "$option"
done <"$TMP/options")" ""
not_ok "no line is too long" grep -qE '^.{101}' "$printed"

digest() { sed -n 's/.*digest //p' "$TMP/stderr"; }
generate() {
    "$BIN/kvgen" --no-notes --duration 20 --num-users 40 --generation-mode fast --gpu-mem-gb 1 --cpu-mem-gb 2 \
        --storage-capacity-gb 20 --config decode_reads=batch "$@"
}
exits "without it" 0 generate -o "$TMP/all.csv"
without=$(digest)
like "a digest" "$without" '^[0-9a-f]{32}$'
exits "with it" 0 generate -o "$TMP/other.csv" --config "$printed"
is "the same trace" "$(digest)" "$without"
stderr_unlike "and no warning" 'ignored|not used'
exits "from standard input" 0 generate -o "$TMP/other.csv" --config - <"$printed"
is "the same again" "$(digest)" "$without"
printf 'decode:\n  batch_siz: 3\n' >"$TMP/wrong.yaml"
exits "a wrong key there" 2 "$BIN/kvgen" --config - --num-users 2 <"$TMP/wrong.yaml"
stderr_like "has its line" '^kvgen: standard input:2: decode.batch_siz: unknown key'
for two in --input --users-file; do
    exits "with $two from there too" 2 "$BIN/kvgen" --config - $two - <"$printed"
    stderr_like "is said" '^kvgen: standard input: only one of --config, --input and --users-file'
done
sed 's/^  batch_size: 32/  batch_size: 8/' "$printed" >"$TMP/other.yaml"
exits "another batch size" 0 generate -o "$TMP/other.csv" --config "$TMP/other.yaml"
isnt "is another trace" "$(digest)" "$without"
exits "nothing beside it" 2 "$BIN/kvgen" --print-config --seed 3

printf 'decode:\n  batch_size: 8\nqos_distribution:\n  interactive_probability: 0.9\n' >"$TMP/wrong.yaml"
exits "keys that contradict a default" 2 "$BIN/kvgen" --config "$TMP/wrong.yaml" -o none
stderr_like "have their line" "^kvgen: $TMP/wrong.yaml:4: qos_distribution.responsive_threshold \\(0.5\\) is below"
printf 'rag:\n  large_model_doc_tokens_min: 9\n  large_model_doc_tokens_max: 8\n' >"$TMP/wrong.yaml"
exits "and each other" 2 "$BIN/kvgen" --config "$TMP/wrong.yaml" -o none
stderr_like "too" "^kvgen: $TMP/wrong.yaml:3: rag.large_model_doc_tokens_max \\(8\\) is below"

told generate --ops Read,Delete -o "$TMP/ops.csv"
is "--ops keeps those rows" "$(tail -n +2 "$TMP/ops.csv")" "$(awk -F, '$2 == "Read" || $2 == "Delete"' "$TMP/all.csv")"
told generate --ops Write --only-tier 1 --limit 5 -o "$TMP/both.csv"
is "both filters, then the limit" "$(tail -n +2 "$TMP/both.csv")" \
    "$(awk -F, '$2 == "Write" && $4 == "Tier-1"' "$TMP/all.csv" | head -n 5)"
exits "an operation that is none" 2 "$BIN/kvgen" --ops Read,Move
stderr_like "is named" '"Move" is none of Read, Write'
exits "no filter without a trace" 2 "$BIN/kvgen" -o none --ops Read
done_testing
