#!/bin/sh
# --granularity block:N: an entry is kept as blocks of N tokens, each looked up, read, written and moved
# by itself. A bug looked like an earlier turn read one block too far (a miss at its end), a last block
# of another size, or a key that two objects had.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

gen() {
    told "$BIN/kvgen" --model tiny-1b --num-users 10 --duration 30 --seed 3 --generation-mode fast "$@"
}
bytes=$((256 * 24576))
entries() { # FILE: tokens of every prefill by key, in whole blocks of 256
    awk -F, '$2 == "Write" && $6 == "Prefill" {sub("/.*", "", $5); n[$5] += $11}
        END {for (k in n) print k, int((n[k] + 255) / 256)}' "$1" | sort
}
gen -o "$TMP/whole.csv"
gen --granularity block:256 -o "$TMP/blocks.csv" --summary "$TMP/s.json"
is "as many blocks as the entries need" "$(entries "$TMP/blocks.csv")" "$(entries "$TMP/whole.csv")"
is "all of one size" "$(awk -F, 'NR > 1 && $4 != "" {print $3, $11}' "$TMP/blocks.csv" | sort -u)" "$bytes 256"
like "keys count from 0" "$(awk -F, '$2 == "Write" {print $5}' "$TMP/blocks.csv" | head -n 1)" '/0$'
ok "no key is written twice" awk -F, '$2 == "Write" && $6 == "Prefill" && seen[$5]++ {exit 1}' "$TMP/blocks.csv"
is "with room for all, only new prompts are missed" "$(awk -F, '$2 == "Miss"' "$TMP/blocks.csv" | wc -l | tr -d ' ')" \
    "$(awk -F, '$2 == "Miss"' "$TMP/whole.csv" | wc -l | tr -d ' ')"
reads() { # FILE: blocks of 256 that each class reads
    awk -F, '$2 == "Read" && $6 == "Decode" {n[$10] += int(($11 + 255) / 256)} END {for (c in n) print c, n[c]}' "$1" | sort
}
is "every block of an entry is read as often as the entry" "$(reads "$TMP/blocks.csv")" "$(reads "$TMP/whole.csv")"

gen --granularity block:256 --partial-blocks -o "$TMP/part.csv"
sums() { awk -F, '$2 == "Write" && $6 == "Prefill" {sub("/.*", "", $5); n[$5] += $3} END {for (k in n) print k, n[k]}' "$1" | sort; }
is "--partial-blocks: the bytes of the entries" "$(sums "$TMP/part.csv")" "$(sums "$TMP/whole.csv")"

# Small tiers: entries in parts, over the tiers.
gen --granularity block:64 --gpu-mem-gb 0.1 --cpu-mem-gb 0.2 --storage-capacity-gb 0.3 --eviction sieve -o "$TMP/small.csv.zst"
ok "small tiers: the trace is whole" "$BIN/kvstat" --verify-trace "$TMP/small.csv.zst"
like "an earlier turn is there in part" "$(zstd -qdc "$TMP/small.csv.zst" |
    awk -F, '$2 == "Miss" && $10 == "multi_turn" && $5 !~ "/0$"' | head -n 1)" '/[1-9][0-9]*,'

bad() {
    name=$1
    want=$2
    shift 2
    exits "$name" 2 "$BIN/kvgen" -o none "$@"
    like "$name: why" "$(cat "$TMP/stderr")" "$want"
}
printf "User,Context_Tokens,Generation_Tokens,Think_s,QoS\nu,900000000,1,0.1,batch\n" >"$TMP/u.csv"
bad "no tokens" 'neither request nor block:N' --granularity block:0
bad "neither" 'neither request nor block:N' --granularity page
bad "too many blocks" 'more than 524287 blocks' --granularity block:1 --model tiny-1b --users-file "$TMP/u.csv" --num-users 1 \
    --max-requests 1
bad "block traces" 'no meaning' --input "$DATA/mooncake_first200.jsonl" --granularity block:16
bad "partial blocks of nothing" 'kept in blocks' --partial-blocks
done_testing
