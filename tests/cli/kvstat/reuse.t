#!/bin/sh
# reuse.t - --reuse: distances in bytes, objects and time equal those counted by hand and those of a slow count in awk,
# and agree with the hit rates of kvgen's curve. Bugs looked like a Miss, which has no size, that shrank its object.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
# reuse: its figures in the JSON: FILTER of the object reuse.
reuse() { json "$TMP/stdout" ".reuse | $1"; }

trace() { { echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request' && tr ' ' ,; } >"$TMP/$1"; }

# a is used at 0, 3 and 9 s: b and c (20 + 30 bytes) come between, then only itself and d. Moves and deletions are no
# uses.
trace hand <<'EOF'
0.0 Write 10 Tier-0 a Prefill 1
1.0 Write 20 Tier-0 b Prefill 1
2.0 Write 30 Tier-0 c Prefill 1
2.5 Read 20 Tier-0 b Evict 1
2.5 Write 20 Tier-2 b Evict 1
3.0 Read 10 Tier-0 a Decode 1
3.0 Read 10 Tier-0 a Decode 1
4.0 Miss 0  d  2
4.0 Write 40 Tier-0 d Prefill 2
9.0 Miss 0  a  2
9.5 Delete 10 Tier-0 a Evict 2
10.0 Read 20 Tier-2 b Decode 2
10.0 Generate 0   Decode 2
EOF
exits 'a hand-made trace' 0 "$kvstat" --json --reuse "$TMP/hand"
is 'keys, bytes, uses, reuses' "$(reuse '.keys, .bytes, .uses, .reuses')" '4 100 9 4'
is 'objects: 3, 1, 2, 4' "$(reuse '.distance_objects | .min, .mean, .max')" '1 2.5 4'
is 'bytes: 10 + 20 + 30, 10, 10 + 40, 20 + 30 + 10 + 40' "$(reuse '.distance_bytes | .min, .mean, .p50, .max')" \
    '10 55 50 100'
is 'time: 3, 0, 6, 9 s' "$(reuse '.time_s | .min, .mean, .max')" '0 4.5 9'
exits 'as text' 0 "$kvstat" --full --reuse "$TMP/hand"
stdout_like 'a line of it' '^  4 of 9 uses are of objects used before; 4 objects of 100 B in all$'
stdout_like 'bytes' '^  bytes +55 B +10 B +50 B +100 B +'
is 'lines fit 110 columns' "$(awk 'length > 110' "$TMP/stdout")" ''
exits 'without it' 0 "$kvstat" --json "$TMP/hand"
is 'it is not known' "$(json "$TMP/stdout" .reuse)" null

# 3,000 uses of 200 keys of different sizes. The slow count looks at all keys for each use.
awk 'BEGIN {
    seed = 7
    for (i = 0; i < 3000; i++) {
        seed = seed * 16807 % 2147483647
        key = int((seed / 2147483647) ^ 2 * 200)
        print i / 10, (key in seen ? "Read" : "Write"), 1000 + 37 * key, "Tier-2", "key" key, "Decode", i
        seen[key] = 1
    }
}' | trace random
awk -F, '
    NR == 1 { next }
    $5 in last {
        between = bytes_between = 0
        for (key in last) if (last[key] >= last[$5]) { between++; bytes_between += size[key] }
        n++
        objects += between
        bytes += bytes_between
        if (bytes_between > most) most = bytes_between
        time += $1 - at[$5]
    }
    { last[$5] = NR; size[$5] = $3; at[$5] = $1 }
    END { printf "%d %.6g %.6g %.6g %.0f\n", n, objects / n, bytes / n, time / n, most }' "$TMP/random" >"$TMP/slow"
exits 'random uses' 0 "$kvstat" --json --reuse "$TMP/random"
reuse '.reuses, .distance_objects.mean, .distance_bytes.mean, .time_s.mean, .distance_bytes.max' >"$TMP/figures"
is 'as counted slowly' "$(awk '{ printf "%d %.6g %.6g %.6g %.0f", $1, $2, $3, $4, $5 }' "$TMP/figures")" \
    "$(cat "$TMP/slow")"

# A block trace without tiers above: the lookups of the curve are its uses, and the hits of the curve at a capacity are
# the reuses within that distance.
"$BIN/kvgen" --input "$DATA/mooncake_first200.jsonl" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 --config block_reuse=any \
    --curve "$TMP/curve.csv" -o "$TMP/blocks.csv" 2>/dev/null
exits 'a block trace' 0 "$kvstat" --json --reuse "$TMP/blocks.csv"
ceiling() { tail -n 1 "$TMP/curve.csv" | cut -d, -f"$1"; }
is 'all reuses are the hits of an endless cache' "$(reuse .reuses)" "$(ceiling 3)"
is 'the furthest is the capacity that reaches the ceiling' "$(reuse .distance_bytes.max)" "$(ceiling 1)"

exits 'a result file' 0 "$kvstat" --full --reuse "$DATA/kvstat_dozen.csv"
exits 'no rows' 0 sh -c "head -n 1 '$TMP/hand' >'$TMP/none' && '$kvstat' --reuse '$TMP/none'"
exits 'standard input' 2 "$kvstat" --full --reuse - <"$TMP/hand"
stderr_like 'is refused' '^kvstat: --reuse: reads its file twice'
mkfifo "$TMP/pipe"
exits 'a pipe' 2 timeout 20 "$kvstat" --full --reuse "$TMP/pipe"
stderr_like 'is refused' '^kvstat: --reuse: reads its file twice'
for option in --merge --verify-trace "--compare=$TMP/hand"; do
    exits "$option" 2 "$kvstat" --full --reuse "$option" "$TMP/hand"
done
done_testing
