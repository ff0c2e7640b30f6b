#!/bin/sh
# --granularity block:N: an entry is kept as blocks of N tokens; each is looked up, read, written and moved by
# itself. A bug looked like an earlier turn that was read one block too far (a miss at its end), a last block of
# another size, or two objects with one key.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

generate() {
    told "$BIN/kvgen" --model tiny-1b --num-users 10 --duration 30 --seed 3 --generation-mode fast "$@"
}
bytes=$((256 * 24576))
entries() { # FILE: blocks of 256 tokens of every prefill, by key
    awk -F, '$2 == "Write" && $6 == "Prefill" {sub("/.*", "", $5); tokens[$5] += $11}
        END {for (key in tokens) print key, int((tokens[key] + 255) / 256)}' "$1" | sort
}
misses() { awk -F, '$2 == "Miss"' "$1" | wc -l; }
generate -o "$TMP/whole.csv"
generate --granularity block:256 -o "$TMP/blocks.csv"
like "there are entries" "$(entries "$TMP/whole.csv")" '_turn_[0-9]+ [1-9][0-9]*$'
is "as many blocks as the entries need" "$(entries "$TMP/blocks.csv")" "$(entries "$TMP/whole.csv")"
is "all of one size" "$(awk -F, 'NR > 1 && $4 != "" {print $3, $11}' "$TMP/blocks.csv" | sort -u)" "$bytes 256"
like "keys count from 0" "$(awk -F, '$2 == "Write" {print $5}' "$TMP/blocks.csv" | head -n 1)" '/0$'
ok "no key is written twice" awk -F, "\$2 == \"Write\" && \$6 == \"Prefill\" && seen[\$5]++ {exit 1}" "$TMP/blocks.csv"
is "with room for all, only new prompts are missed" "$(misses "$TMP/blocks.csv")" "$(misses "$TMP/whole.csv")"
reads() { # FILE: blocks of 256 tokens that each class reads
    awk -F, '$2 == "Read" && $6 == "Decode" {blocks[$10] += int(($11 + 255) / 256)}
        END {for (class in blocks) print class, blocks[class]}' "$1" | sort
}
is "every block of an entry is read as often as the entry" "$(reads "$TMP/blocks.csv")" "$(reads "$TMP/whole.csv")"

generate --granularity block:256 --config partial_blocks=true -o "$TMP/part.csv"
sums() { # FILE: bytes of every prefill, by key
    awk -F, '$2 == "Write" && $6 == "Prefill" {sub("/.*", "", $5); bytes[$5] += $3}
        END {for (key in bytes) print key, bytes[key]}' "$1" | sort
}
is "--config partial_blocks=true: the bytes of the entries" "$(sums "$TMP/part.csv")" "$(sums "$TMP/whole.csv")"

# Small tiers: the parts of an entry lie in several tiers.
generate --granularity block:64 --gpu-mem-gb 0.1 --cpu-mem-gb 0.2 --storage-capacity-gb 0.3 --config eviction=sieve \
    -o "$TMP/small.csv.zst"
ok "small tiers: the trace is whole" "$BIN/kvstat" --verify-trace "$TMP/small.csv.zst"
like "an earlier turn is there in part" "$(zstd -qdc "$TMP/small.csv.zst" |
    awk -F, '$2 == "Miss" && $10 == "multi_turn" && $5 !~ "/0$"' | head -n 1)" '/[1-9][0-9]*,'

refused() { # NAME REGEX OPTIONS...
    name=$1 why=$2
    shift 2
    exits "$name" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$name: why" "$why"
}
printf "User,Context_Tokens,Generation_Tokens,Think_s,QoS\nu,900000000,1,0.1,batch\n" >"$TMP/long.csv"
refused "no tokens" 'is not request or block:N' --granularity block:0
refused "neither" 'is not request or block:N' --granularity page
refused "too many blocks" 'more than 524287 blocks' --granularity block:1 --model tiny-1b --users-file "$TMP/long.csv" \
    --num-users 1 --max-requests 1
refused "block traces" 'does not apply' --input "$DATA/mooncake_first200.jsonl" --granularity block:16
refused "partial blocks of nothing" 'applies only to blocks' --config partial_blocks=true
done_testing
