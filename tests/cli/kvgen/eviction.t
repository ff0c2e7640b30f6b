#!/bin/sh
# --config eviction: the hits of each policy are those of independent programs, on the Mooncake sample and on a trace where no
# two policies agree (eviction.awk). --config promote=on-hit: rows of class promote come in pairs that move up, and an object
# is read where it is. A bug looked like a policy that was another one under a second name, or a promoted object that
# was read in its old tier.
# builds: plain (counts of hits; test_policies runs the code under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

hits() { # FILE POLICY BLOCKS: of blocks of 1 MiB
    gib=$(awk -v blocks="$3" 'BEGIN {printf "%.10f", blocks / 1024}')
    told "$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 --input "$1" \
        --config block_reuse=any --config eviction="$2" --storage-capacity-gb "$gib" --summary "$TMP/hits.json" -o none
    json "$TMP/hits.json" .lookups.block.hits
}
exact() { # POLICY, hits with 1,000, 10,000 and 30,000 blocks
    sample=$DATA/mooncake_first4000.jsonl.zst
    is "$1: 1,000 blocks" "$(hits "$sample" "$1" 1000)" "$2"
    is "$1: 10,000 blocks" "$(hits "$sample" "$1" 10000)" "$3"
    is "$1: 30,000 blocks" "$(hits "$sample" "$1" 30000)" "$4"
}
exact lru 4282 21540 32041
exact fifo 4184 19456 30059
exact lfu 5072 19088 31749
exact s3fifo 5595 20175 31570
exact sieve 5072 19088 31749
# libCacheSim (aa0fc40): miss ratios of 0.9518, 0.7969 and 0.7000.
exact arc 5100 21505 31774
exact mru 733 10273 21929

# On that sample LFU and SIEVE hit equally often. Here a few hundred keys, some far more often than others, mix with
# a loop over 80 keys.
awk 'BEGIN {
    seed = 7
    for (i = 0; i < 4000; i++) {
        seed = seed * 16807 % 2147483647
        share = seed / 2147483647
        print i % 7 == 3 ? 1000 + i % 80 : int(share * share * share * 300)
    }
}' >"$TMP/keys"
awk '{printf "{\"timestamp\": %d, \"input_length\": 512, \"output_length\": 1, \"hash_ids\": [%d]}\n", NR, $1}' \
    "$TMP/keys" >"$TMP/mixed.jsonl"
for blocks in 40 100; do
    : >"$TMP/answers"
    for policy in lru fifo lfu s3fifo sieve arc mru; do
        want=$(awk -v policy=$policy -v capacity=$blocks -f "$TOP/tests/cli/kvgen/eviction.awk" "$TMP/keys")
        echo "$want" >>"$TMP/answers"
        is "$policy: $blocks blocks, as by its definition" "$(hits "$TMP/mixed.jsonl" $policy $blocks)" "$want"
    done
    is "no two policies agree, $blocks blocks" "$(sort -u "$TMP/answers" | wc -l)" 7
done

"$BIN/kvgen" --num-users 40 --duration 60 --model tiny-1b --gpu-mem-gb 0.5 --cpu-mem-gb 1 --storage-capacity-gb 8 \
    --config promote=on-hit --summary "$TMP/s.json" -o "$TMP/promoted.csv" 2>"$TMP/err"
# Every row against a book of where each object is.
awk -F, '
    $2 == "Write" { if ($5 in tier) print NR ": written twice"; tier[$5] = $4 }
    $2 == "Delete" { if (tier[$5] != $4) print NR ": deleted elsewhere"; delete tier[$5] }
    $2 == "Read" { if (tier[$5] != $4) print NR ": read elsewhere"; if ($6 == "Evict") delete tier[$5] }
    $10 == "promote" && $2 == "Read" { from[$5] = $4 }
    $10 == "promote" && $2 == "Write" { if ($4 > from[$5]) print NR ": moved down"; moves++ }
    END { print "moves", moves }' "$TMP/promoted.csv" >"$TMP/book"
is "every object is read where it is" "$(grep -v moves "$TMP/book")" ''
moves=$(sed -n 's/^moves //p' "$TMP/book")
ok "objects are promoted" test "${moves:-0}" -gt 100
is "the summary counts them" "$(json "$TMP/s.json" '[.tiers[].promote_ops] | add')" "$moves"

# Small enough to be executed, in tiers as tight as the simulated ones.
"$BIN/kvgen" --no-notes --config "$TOP/examples/models.yaml" --model block-2k --num-users 5 --duration 5 --gpu-mem-gb 0.01 \
    --cpu-mem-gb 0.02 --storage-capacity-gb 0.06 --config promote=on-hit --config eviction=sieve -o "$TMP/small.csv" 2>"$TMP/err"
ok "the small trace promotes" grep -q ,promote, "$TMP/small.csv"
ok "kvreplay plays and verifies it" "$BIN/kvreplay" --nvme "$TMP/kv" --gpu off --gpu-mem-gb 0.01 --cpu-mem-gb 0.02 \
    --storage-capacity-gb 0.06 --reserve 0 --verify full --no-notes -o "$TMP/r.csv" "$TMP/small.csv"
is "every row has a result" "$(lines "$TMP/r.csv")" "$(lines "$TMP/small.csv")"
is "every row is honoured" "$(sed '1d; s/.*,//' "$TMP/r.csv" | sort -u)" ok
"$BIN/kvgen" --no-notes --num-users 40 --duration 60 --model tiny-1b --gpu-mem-gb 0.5 --cpu-mem-gb 1 -o "$TMP/plain.csv" \
    2>"$TMP/err"
is "none unless asked" "$(grep -c ,promote, "$TMP/plain.csv")" 0

exits "a policy that there is not: status 2" 2 "$BIN/kvgen" --config eviction=random -o none
done_testing
