#!/bin/sh
# --eviction: block hits of the Mooncake sample under each policy are those of independent programs
# (blocks of one size, each by itself, capacities in blocks). --promote on-hit: rows of class promote
# come in pairs that move up, and what moves is read where it is. A bug looked like a policy that
# was LRU by another name, or a promoted object that was read in its old tier.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

hits() { # policy GiB
    "$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 \
        --input "$DATA/mooncake_first4000.jsonl.zst" --block-reuse any --eviction "$1" \
        --storage-capacity-gb "$2" --summary - -o none 2>"$TMP/err" |
        sed -n '/"block": *{/,/}/p' | sed -n 's/.*"hits": *\([0-9]*\).*/\1/p'
}
exact() { # policy hits at 1,000, 10,000 and 30,000 blocks
    is "$1: 1,000 blocks" "$(hits "$1" 0.9765625)" "$2"
    is "$1: 10,000 blocks" "$(hits "$1" 9.765625)" "$3"
    is "$1: 30,000 blocks" "$(hits "$1" 29.296875)" "$4"
}
exact lru 4282 21540 32041
exact fifo 4184 19456 30059
exact lfu 5072 19088 31749
exact s3fifo 5755 20518 31570
exact sieve 5072 19088 31749

"$BIN/kvgen" --num-users 40 --duration 60 --model tiny-1b --gpu-mem-gb 0.5 --cpu-mem-gb 1 --storage-capacity-gb 8 \
    --promote on-hit --summary "$TMP/s.json" -o "$TMP/p.csv" 2>"$TMP/err"
# Every row against a book of who is where.
book=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "Class") class = i; next }
    $2 == "Write" { if ($5 in tier) print NR ": written twice"; tier[$5] = $4 }
    $2 == "Delete" { if (tier[$5] != $4) print NR ": deleted elsewhere"; delete tier[$5] }
    $2 == "Read" { if (tier[$5] != $4) print NR ": read elsewhere"; if ($6 == "Evict") delete tier[$5] }
    $(class) == "promote" && $2 == "Read" { from[$5] = $4 }
    $(class) == "promote" && $2 == "Write" { if ($4 > from[$5]) print NR ": moved down"; moves++ }
    END { print moves > "/dev/stderr" }' "$TMP/p.csv" 2>"$TMP/moves")
is "every object is read where it is" "$book" ''
moves=$(cat "$TMP/moves")
ok "objects are promoted" test "${moves:-0}" -gt 100
promoted=$(sed -n 's/.*"promote_ops": *\([0-9]*\).*/\1/p' "$TMP/s.json" | awk '{ n += $1 } END { print n }')
is "the summary counts them" "$promoted" "$moves"

# Small enough to be executed, in tiers as tight as the simulated ones.
"$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --num-users 5 --duration 5 --gpu-mem-gb 0.01 \
    --cpu-mem-gb 0.02 --storage-capacity-gb 0.06 --promote on-hit --eviction sieve -o "$TMP/t.csv" 2>"$TMP/err"
ok "the small trace promotes" grep -q ,promote, "$TMP/t.csv"
ok "kvreplay plays and verifies it" "$BIN/kvreplay" --nvme "$TMP/kv" --gpu off --gpu-mem-gb 0.01 --cpu-mem-gb 0.02 \
    --storage-capacity-gb 0.06 --reserve 0 --verify full --summary "$TMP/r.json" -o "$TMP/r.csv" "$TMP/t.csv"
is "every row is honoured" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "Status") at = i; next }
    $(at) != "ok"' "$TMP/r.csv" | head -n 3)" ''
"$BIN/kvgen" --num-users 40 --duration 60 --model tiny-1b --gpu-mem-gb 0.5 --cpu-mem-gb 1 -o "$TMP/n.csv" 2>"$TMP/err"
is "none unless asked" "$(grep -c ,promote, "$TMP/n.csv")" 0

exits "a policy that there is not: status 2" 2 "$BIN/kvgen" --eviction random -o none
done_testing
