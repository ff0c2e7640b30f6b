#!/bin/sh
# Block hits of the Mooncake sample are exact. A model of 2,048 bytes a token makes a block 1 MiB, so that a
# capacity in GiB is a number of blocks; two independent LRU programs give the hits below. A bug looked like one
# hit more or less: a wrong victim, a block counted twice, a limit off by one object.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
generate() { "$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 "$@"; }

exact() { # GIB HITS
    rm -f "$summary"
    told generate --source mooncake --input "$DATA/mooncake_first4000.jsonl.zst" --config block_reuse=any \
        --storage-capacity-gb "$1" --summary "$summary" -o none
    is "$1 GiB: blocks looked up" "$(json "$summary" .lookups.block.lookups)" 105904
    is "$1 GiB: hits" "$(json "$summary" .lookups.block.hits)" "$2"
}
exact 0 34480
exact 0.9765625 4282
exact 9.765625 21540
exact 29.296875 32041
exact 48.828125 34116

json_like "$summary" <<'END'
tokens in are all there    | .requests.context_tokens | 53249359
tokens out are all there   | .requests.generated_tokens | 1388321
every request is completed | .requests.completed | 4000
END

# Recognised by content, from a pipe, plain or compressed: the same rows.
digest() { sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$1"; }
generate --input "$DATA/mooncake_first200.jsonl" -o "$TMP/a.csv" 2>"$TMP/a.err"
generate --source auto --input - -o "$TMP/b.csv" <"$DATA/mooncake_first200.jsonl" 2>"$TMP/b.err"
zstd -qc "$DATA/mooncake_first200.jsonl" | generate --input - -o "$TMP/c.csv" 2>"$TMP/c.err"
like "a digest is printed" "$(digest "$TMP/a.err")" '^[0-9a-f]{32}$'
is "the same from standard input" "$(digest "$TMP/b.err")" "$(digest "$TMP/a.err")"
is "the same from a compressed pipe" "$(digest "$TMP/c.err")" "$(digest "$TMP/a.err")"

# Under prefix reuse (the default) a block hits only after hits. Blocks 2 and 3 of the second request are there, but
# its first block is not: they count as misses and are not written again.
printf '%s\n' '{"timestamp": 0, "input_length": 1536, "output_length": 1, "hash_ids": [1, 2, 3]}' \
    '{"timestamp": 5, "input_length": 1536, "output_length": 1, "hash_ids": [9, 2, 3]}' \
    '{"timestamp": 9, "input_length": 1536, "output_length": 1, "hash_ids": [1, 2, 4]}' >"$TMP/three.jsonl"
generate --input "$TMP/three.jsonl" --summary "$TMP/p.json" -o "$TMP/p.csv" 2>/dev/null
is "prefix: hits" "$(json "$TMP/p.json" .lookups.block.hits)" 2
is "prefix: all are looked up" "$(json "$TMP/p.json" .lookups.block.lookups)" 9
is "prefix: nothing is written twice" "$(awk -F, '$2 == "Write" {print $5}' "$TMP/p.csv" | tr '\n' ' ')" \
    "block_1 block_2 block_3 block_9 block_4 "
generate --input "$TMP/three.jsonl" --config block_reuse=any --summary "$TMP/q.json" -o none 2>/dev/null
is "any: hits" "$(json "$TMP/q.json" .lookups.block.hits)" 4

# The last block is sized by its tokens only when asked: line 1 has 6,758 tokens in 14 blocks.
is "a block is whole" "$(awk -F, '$2 == "Write" {print $3}' "$TMP/a.csv" | sort -u)" 1048576
generate --input "$DATA/mooncake_first200.jsonl" --config partial_blocks=true --max-requests 1 -o "$TMP/d.csv" 2>/dev/null
tokens=$(head -n 1 "$DATA/mooncake_first200.jsonl" | sed 's/.*"input_length": *\([0-9]*\).*/\1/')
is "or sized by its tokens" "$(awk -F, '$2 == "Write" {print $3}' "$TMP/d.csv" | tail -n 1)" \
    $((tokens % 512 * 2048))

# Blocks of another size are told by the numbers of ids against the lengths: rows that Dynamo wrote, of 16 tokens. A bug
# looked like 93 blocks of 512 tokens, 5.81 GiB where 186 MiB were written.
dynamo=$DATA/recordings/dynamo-1.6.1-mooncake.jsonl
exits "Dynamo's rows" 0 "$BIN/kvgen" --source mooncake --input "$dynamo" -m llama3.1-8b --summary "$summary" -o none
json_like "$summary" <<'END'
blocks of 16 tokens    | tier("Tier-0").write_bytes, tier("Tier-0").write_ops | 195035136 93
all tokens             | .requests.context_tokens, .requests.generated_tokens | 3919 339
blocks that came again | .lookups.block.hits, .lookups.block.lookups | 165 258
END
row() { # TIME TOKENS IDS [MEMBERS]
    printf '{"timestamp": %s, "input_length": %s, "output_length": 1, "hash_ids": [%s]%s}\n' "$1" "$2" "$3" "${4-}"
}
written() { awk -F, '$2 == "Write" {print $3}' "$TMP/w.csv" | sort -u | tr '\n' ' '; }
{ row 0 5 1 && row 1 100 '1, 2, 3, 4' '' && row 2 128 '1, 2, 3, 4'; } >"$TMP/small.jsonl"
exits "rows that come to mean 32 tokens" 0 generate --input "$TMP/small.jsonl" -o "$TMP/w.csv"
is "they are blocks of 32 tokens" "$(written)" "65536 "
{ row 0 5 1 && row 1 400 7; } >"$TMP/one.jsonl"
generate --input "$TMP/one.jsonl" -o "$TMP/w.csv" 2>/dev/null
is "one block a row: 512 tokens unless that cannot be" "$(written)" "1048576 "
{ row 0 5 1 && row 1 4000 7; } >"$TMP/one.jsonl"
generate --input "$TMP/one.jsonl" -o "$TMP/w.csv" 2>/dev/null
is "or as many as must be" "$(written)" "8388608 "
sed 's/input_length/input_tokens/; s/output_length/output_tokens/; s/"timestamp": \([0-9]*\)/"created_time": \1.25/' \
    "$TMP/small.jsonl" >"$TMP/other.jsonl"
exits "Dynamo's other names of the fields" 0 generate --source mooncake --input "$TMP/other.jsonl" -o "$TMP/w.csv"
is "mean the same" "$(written)" "65536 "
{ row 0.5 5 1 && row 2.75 5 1; } | generate --input - -o "$TMP/w.csv" --generation-mode none 2>/dev/null
is "times may have fractions" "$(arrivals "$TMP/w.csv")" "0.000000 0.002250 "

unfit() { # NAME LINE: the rows of unfit.jsonl fit no size
    exits "$1: status 2" 2 generate --input "$TMP/unfit.jsonl" -o none
    stderr_like "$1: says where" "^kvgen: .*unfit.jsonl:$2: .*hash_ids .*fit"
}
{ row 0 100 '1, 2, 3, 4' && row 1 100 '1, 2'; } >"$TMP/unfit.jsonl"
unfit "rows that contradict each other" 2
{ row 0 1024 '1, 2' && row 1 1024 '1, 2, 3'; } >"$TMP/unfit.jsonl"
unfit "a row that contradicts the size found" 2
row 0 -5 '1, 2' >"$TMP/bad.jsonl"
exits "a first row with a bad length: status 2" 2 generate --input "$TMP/bad.jsonl" -o none
stderr_like "a first row with a bad length: says so" '^kvgen: .*bad.jsonl:1: input_length is not a number of tokens'
row 0 2 '1, 2, 3' >"$TMP/unfit.jsonl"
unfit "more ids than tokens" 1
row 0 0 '1' >"$TMP/unfit.jsonl"
unfit "ids without tokens" 1
done_testing
