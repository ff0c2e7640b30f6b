#!/bin/sh
# order.t - a trace that rewrites, reads, moves and deletes the same few keys thousands of times. In every order that
# promises it, each read is verified in full, none is absent, and none comes before its write. A bug looked like a read
# that overtook the write before it and found the older object (corrupt), or nothing (absent).
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# trace ROWS SEED: six keys in three tiers, sizes from 1 byte to 300,000, only valid accesses.
trace() {
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed); split("1 100 4096 5000 65536 300000 12288", size)
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request"
        for (i = 0; i < n; i++) {
            key = "k" int(rand() * 6); tier = int(rand() * 3); what = rand(); request = int(rand() * n / 20)
            if (!((key, tier) in bytes) || what < 0.3) {
                bytes[key, tier] = size[1 + int(rand() * 7)]
                row("Write", tier, "Prefill")
            } else if (what < 0.85) row("Read", tier, "Decode")
            else if (what < 0.93) { row("Delete", tier, "Evict"); delete bytes[key, tier] }
            else {
                row("Read", tier, "Evict")
                below = (tier + 1) % 3
                bytes[key, below] = bytes[key, tier]
                delete bytes[key, tier]
                row("Write", below, "Evict")
            }
        }
    }
    function row(op, tier, phase) {
        printf "%.6f,%s,%d,Tier-%d,%s,%s,%d\n", i / 1e5, op, bytes[key, tier], tier, key, phase, request
    }'
}

plan 17
trace 2500 7 >"$TMP/t.csv"
rows=$(($(lines "$TMP/t.csv") - 1))
for order in key request; do
    for inflight in 1 64; do
        exits "order $order, $inflight in flight: exit 0" 0 "$BIN/kvreplay" --full --gpu off --tier-engine 0=mem \
            --nvme "$TMP/dir" --order "$order" --inflight "$inflight" --verify full -o "$TMP/r.csv" "$TMP/t.csv"
        stderr_like "order $order, $inflight in flight: all ok" \
            " $rows ok, 0 absent, 0 corrupt, 0 failed; reads before their write: 0"
        is "order $order, $inflight in flight: a result for each row" \
            "$(awk -F, 'NR > 1 && $NF == "ok"' "$TMP/r.csv" | wc -l)" "$rows"
    done
done

# The same proof must be able to fail: without order some reads come too early.
"$BIN/kvreplay" --full --null --order none --inflight 64 -o /dev/null --summary "$TMP/none.json" "$TMP/t.csv" 2>/dev/null
like "without order the proof fails" "$(json "$TMP/none.json" .reads_before_write)" '^[1-9]'

# Each tier exactly as large as its peak: rows wait for room instead of failing.
cat >"$TMP/room.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Write,1048576,Tier-1,a,Prefill
0,Read,1048576,Tier-1,a,Evict
0,Write,1048576,Tier-1,b,Prefill
0,Delete,1048576,Tier-1,b,Evict
0,Write,1000000,Tier-1,a,Prefill
0,Write,1048576,Tier-1,a,Prefill
0,Read,1048576,Tier-1,a,Decode
END
exits "a tier as large as the peak is enough" 0 "$BIN/kvreplay" --full --cpu-mem-gb 0.0009765625 -o /dev/null "$TMP/room.csv"
stderr_like "and every row is ok" ' 7 ok, 0 absent'
exits "a smaller one is refused" 3 "$BIN/kvreplay" --full --cpu-mem-gb 0.0009 -o /dev/null "$TMP/room.csv"
stderr_like "naming the peak" '1048576 bytes'
