#!/bin/sh
# Files that the engine does not bound (--cache vllm, lmcache-mp) on a drive that gets full. A write fails, is counted, and
# its block stays unstored; with --on-full evict a cleaner removes what was read longest ago, down to nine tenths: rows,
# counts and the summary say so, and the drive never holds more than it can. A replay reads what is there, byte by byte. A
# bug looked like a hit on a file that was removed, or a drive that was larger than it is.
# builds: plain (test_vllm_files.c, test_copies.c and without_rows.t run its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# drive CACHE OPTION...: a small engine above a drive of 128 MiB.
drive() {
    cache=$1
    shift
    told "$BIN/kvgen" --model tiny-1b --params 1e9 --seed 5 --users 6 --max-requests 20 --duration 0 --config input_len=500 \
        --cache "$cache" --gpu-mem 128MiB --cpu-mem 96MiB --storage-capacity 128MiB --summary "$TMP/full.json" \
        -o "$TMP/full.csv" "$@"
}
# What Tier-2 holds by its rows: the most at one time, and how many copies left.
held() {
    awk -F, '$4 == "Tier-2" && $2 == "Write" { n += $5; if (n > most) most = n }
        $4 == "Tier-2" && $2 == "Delete" { n -= $5; gone++ }
        END { print most + 0, gone + 0 }' "$TMP/full.csv"
}

for cache in vllm lmcache-mp; do
    drive "$cache"
    json_like "$TMP/full.json" <<'EOF'
it fails | .cache.on_full | fail
writes found no room | .cache.tiers[2].refused > 0 | true
nothing leaves | .cache.tiers[2].dropped | 0
full | .cache.tiers[2] | .stored == .room | true
EOF
    ok "the summary says so" grep -qE '^files +full: [0-9,]+ writes failed \(--on-full evict makes room\)$' "$TMP/err"
    is "nothing leaves, by the rows" "$(held | cut -d' ' -f2)" 0
    stores=$(json "$TMP/full.json" '.cache.tiers[2].stored')

    drive "$cache" --on-full evict
    json_like "$TMP/full.json" <<EOF
a cleaner | .cache.on_full | evict
no write fails | .cache.tiers[2].refused | 0
copies leave | .cache.tiers[2].dropped > 0 | true
more is stored | .cache.tiers[2].stored > $stores | true
EOF
    ok "the summary says so" grep -qE '^files +full: [0-9,]+ of [0-9,]+ written were removed to make room$' "$TMP/err"
    held >"$TMP/held"
    read -r most gone <"$TMP/held"
    ok "never more than it can hold" test "$most" -le 134217728
    is "as many rows as copies that left" "$gone" "$(json "$TMP/full.json" '.cache.tiers[2].dropped')"
done

# Of two runs the one with a cleaner finds later what the other has no room for: conversations end, and new ones come.
for full in fail evict; do
    told "$BIN/kvgen" --model tiny-1b --params 1e9 --seed 5 --users 40 --max-requests 1500 --duration 0 --config input_len=500 \
        --cache vllm --gpu-mem 512MiB --cpu-mem 512MiB --storage-capacity 2GiB --on-full $full --summary "$TMP/$full.json" \
        -o none
done
ok "a cleaner keeps what is asked for" test "$(json "$TMP/evict.json" .cache.tokens.storage)" -gt \
    "$(json "$TMP/fail.json" .cache.tokens.storage)"

drive vllm --on-full evict
exits "a replay" 0 "$BIN/kvreplay" --timing asap --verify full --gpu-mem 128MiB --cpu-mem 96MiB --target "$TMP/kv" \
    -o "$TMP/result.csv" "$TMP/full.csv"
stderr_like "every copy was there" 'all ok$'

refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 "$BIN/kvgen" -o none --on-full evict "$@"
    stderr_like "and says why" "$why"
}
refused "a cache that bounds its files" 'on-full: needs --cache vllm or lmcache-mp' --cache sglang --storage-capacity 1GiB
refused "the waterfall" 'on-full: needs --cache vllm or lmcache-mp' --storage-capacity 1GiB
refused "files without a limit" 'on-full: needs a --storage-capacity with a limit' --cache vllm
refused "no files" 'on-full: needs a --storage-capacity with a limit' --cache vllm --storage-capacity none
done_testing
