#!/bin/sh
# order.t - a trace that rewrites, reads, moves and deletes the same few keys thousands of times ends with every
# read verified in full, none absent, and none before its write, in every order that promises it. A bug looked like
# this: a read that overtook the write before it and found the generation before (corrupt), or nothing (absent).
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

# trace ROWS SEED: six keys in three tiers, sizes from 1 byte to 300,000, only valid accesses.
trace() {
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed); split("1 100 4096 5000 65536 300000 12288", size)
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request"
        for (i = 0; i < n; i++) {
            k = "k" int(rand() * 6); t = int(rand() * 3); c = k "/" t; x = rand()
            head = sprintf("%.6f", i / 1e5); req = int(rand() * n / 20)
            if (!(c in live) || x < 0.3) { live[c] = size[1 + int(rand() * 7)]; printf "%s,Write,%d,Tier-%d,%s,Prefill,%d\n", head, live[c], t, k, req }
            else if (x < 0.85) printf "%s,Read,%d,Tier-%d,%s,Decode,%d\n", head, live[c], t, k, req
            else if (x < 0.93) { printf "%s,Delete,%d,Tier-%d,%s,Evict,%d\n", head, live[c], t, k, req; delete live[c] }
            else {
                d = k "/" (t + 1) % 3; s = live[c]; delete live[c]; live[d] = s
                printf "%s,Read,%d,Tier-%d,%s,Evict,%d\n%s,Write,%d,Tier-%d,%s,Evict,%d\n", head, s, t, k, req, head, s, (t + 1) % 3, k, req
            }
        }
    }'
}

plan 17
trace 5000 7 >"$TMP/t.csv"
rows=$(($(wc -l <"$TMP/t.csv") - 1))
for order in key request; do
    for inflight in 1 64; do
        exits "order $order, $inflight in flight: exit 0" 0 "$BIN/kvreplay" --gpu off --tier-engine 0=mem --nvme "$TMP/dir" \
            --order "$order" --inflight "$inflight" --verify full -o "$TMP/r.csv" "$TMP/t.csv"
        like "order $order, $inflight in flight: all ok" "$(cat "$TMP/stderr")" \
            " $rows ok, 0 absent, 0 corrupt, 0 failed; reads before their write: 0"
        is "order $order, $inflight in flight: a result for each row" \
            "$(awk -F, 'NR > 1 && $NF == "ok"' "$TMP/r.csv" | wc -l | tr -d ' ')" "$rows"
    done
done

# The same proof must be able to fail: without order some reads come too early.
"$BIN/kvreplay" --null --order none --inflight 64 -o /dev/null --summary "$TMP/none.json" "$TMP/t.csv" 2>/dev/null
unlike "without order the proof fails" "$(cat "$TMP/none.json")" '"reads_before_write": *0'

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
exits "a tier as large as the peak is enough" 0 "$BIN/kvreplay" --cpu-mem-gb 0.0009765625 -o /dev/null "$TMP/room.csv"
like "and every row is ok" "$(cat "$TMP/stderr")" ' 7 ok, 0 absent'
exits "a smaller one is refused" 3 "$BIN/kvreplay" --cpu-mem-gb 0.0009 -o /dev/null "$TMP/room.csv"
like "naming the peak" "$(cat "$TMP/stderr")" '1048576 bytes'
