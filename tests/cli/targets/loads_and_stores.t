#!/bin/sh
# loads_and_stores.t - reads and writes of Tier-2 are told apart where they run beside each other: which reads overlapped a write, and
# what that cost them; --config priority=loads lets reads that wait go first. A bug looked like a read that began beside a write and was
# counted alone, or a write that went first all the same.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/s.json
both() { json "$summary" ".evidence.loads_and_stores | $1"; }
# A write from 0 to 1 s, a read within it; a read alone; a read during which a write begins.
cat >"$TMP/t.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Write,4096,Tier-2,a,Prefill
0.5,Read,4096,Tier-2,x,Decode
2.5,Read,4096,Tier-2,x,Decode
4.5,Read,4096,Tier-2,x,Decode
5.0,Write,4096,Tier-2,b,Prefill
END
overlaps() {
    "$BIN/kvreplay" --timing trace --tier-engine 2=sim:lat=1s,servers=8 --summary "$summary" -o /dev/null "$TMP/t.csv" 2>"$TMP/err" || return
    [ "$(both '.loads_alone_us.count, .loads_beside_stores_us.count, (.p95_ratio | type)')" = '1 2 null' ] || { both tostring; return 1; }
}
ok 'which reads overlap a write' tries 3 overlaps
is 'how many are in flight' "$(both '(.loads_in_flight > .stores_in_flight), (.stores_in_flight > 0)')" 'true true'
grep -v Write "$TMP/t.csv" >"$TMP/reads.csv"
"$BIN/kvreplay" --tier-engine 2=sim:lat=1ms --summary "$summary" -o /dev/null "$TMP/reads.csv" 2>"$TMP/err"
is 'only reads' "$(json "$summary" .evidence.loads_and_stores)" null

# Two drives' worth of writes all the time make reads wait: the ratio and its bounds.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 200; i++) printf "0,Read,4096,Tier-2,r%d,Decode\n", i
    for (i = 0; i < 200; i++) printf "0,Write,4096,Tier-2,w%d,Prefill\n0,Read,4096,Tier-2,r%d,Decode\n", i, i
}' >"$TMP/mixed.csv"
"$BIN/kvreplay" --inflight 4 --tier-engine 2=sim:lat=500us --summary "$summary" -o "$TMP/m.csv.zst" "$TMP/mixed.csv" 2>"$TMP/err"
is 'a ratio with bounds' "$(both '(.p95_ratio_low <= .p95_ratio and .p95_ratio <= .p95_ratio_high and .p95_ratio_low > 0),
    .loads_alone_us.count + .loads_beside_stores_us.count')" 'true 400'

like 'in the report' "$("$BIN/kvstat" --full "$TMP/m.csv.zst" | tr -s '\n ' ' ')" \
    'Loads beside stores: [0-9]+, p50 [0-9.]+ .s, p95 [0-9.]+ .s; alone: [0-9]+, .*; p95 [0-9.]+ times \([0-9.]+ to [0-9.]+\)'

# Writes first in the trace, reads behind them, one at a time.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 20; i++) printf "0,Write,4096,Tier-2,w%d,Prefill\n", i
    for (i = 0; i < 20; i++) printf "0,Read,4096,Tier-2,r%d,Decode\n", i
}' >"$TMP/order.csv"
# in_order OPTIONS...: the operations in the order in which they started, as counts of runs.
in_order() {
    "$BIN/kvreplay" --inflight 1 --tier-engine 2=sim:lat=200us --summary "$summary" -o "$TMP/r.csv" --no-notes "$@" 2>"$TMP/err"
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "Start") at = i; next } { print $at, $2 }' "$TMP/r.csv" | sort -n |
        awk '{ print $2 }' | uniq -c | awk '{ printf "%s%s %s", (NR > 1 ? ", " : ""), $1, $2 }'
}
is 'none: by the trace' "$(in_order "$TMP/order.csv")" '20 Write, 20 Read'
is 'loads: reads first' "$(in_order --config priority=loads "$TMP/order.csv")" '20 Read, 20 Write'
is 'all the same rows' "$(json "$summary" '.rows | .total, .ok')" '40 40'
# What a read needs is written before it.
sed 's/,r\([0-9]*\),/,w\1,/' "$TMP/order.csv" >"$TMP/needs.csv"
in_order --config priority=loads "$TMP/needs.csv" >/dev/null
is 'reads of what is written first' "$(json "$summary" '.rows.ok, .reads_before_write')" '40 0'
done_testing
