#!/bin/sh
# loops.t - --config loops: several passes over the trace, one after the other in time, each with requests of its own; each
# finds the objects that the pass before left. --duration also ends the first pass. A bug looked like a second pass that
# waited for rows of the first with the same request number, or found its objects absent.
# builds: plain address (threads of the engines: matrix.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

plan 16
summary=$TMP/s.json

# old is read before it is written, a written, read and deleted, 100 ms in all.
cat >"$TMP/t.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival,Duration_us
5.00,Read,8192,Tier-1,old,Decode,1,5,
5.02,Write,4097,Tier-1,a,Prefill,1,5,
5.04,Read,4097,Tier-1,a,Decode,1,5,
5.05,Delete,4097,Tier-1,a,Evict,1,5,
5.06,Read,8192,Tier-1,old,Evict,1,5,
5.07,Write,8192,Tier-1,old,Prefill,1,5,
5.08,Generate,0,,,,1,5,20000
END
exits "three passes" 0 "$BIN/kvreplay" --config loops=3 --timing trace --config lateness_budget=10s --verify full --no-notes -o "$TMP/r.csv" \
    --summary "$summary" "$TMP/t.csv"
is "all rows of each" "$(json "$summary" '.rows.ok, .rows.absent, .rows.corrupt, .populated.objects')" "21 0 0 1"
is "one after another" "$(awk -F, '$2 == "Write" && $5 == "a" { printf "%.2f ", $10 }' "$TMP/r.csv")" "0.02 0.12 0.22 "
exits "served" 0 "$BIN/kvreplay" --config loops=5 --timing served --workers 1 --config lateness_budget=10s --no-notes -o "$TMP/r.csv" \
    --summary "$summary" "$TMP/t.csv"
is "each pass its own request" "$(json "$summary" '.served.admitted, .rows.ok')" "5 35"
is "arriving after the one before" "$(awk -F, 'NR > 1 && $10 != "" { printf "%.1f ", $10 }' "$TMP/r.csv")" \
    "0.0 0.1 0.2 0.3 0.4 "
exits "the first rows again" 0 "$BIN/kvreplay" --config loops=4 --limit 3 --null --no-notes -o "$TMP/r.csv" "$TMP/t.csv"
is "limit is of a pass" "$(awk 'END { print NR - 1 }' "$TMP/r.csv")" 12
exits "a pipe is read once" 2 sh -c "cat '$TMP/t.csv' | '$BIN/kvreplay' --config loops=2 --null"
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n' >"$TMP/none.csv"
exits "no rows, many times" 0 timeout 60 "$BIN/kvreplay" --config loops=1000000 --null --no-notes -o "$TMP/r.csv" "$TMP/none.csv"

# Half a second of a trace of ten hours: objects that it reads later are not written first, nor is all of it surveyed. Of the
# rows within it the last is due long before its end, so that it ends in time on a busy machine.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 300000; i++) printf "%.2f,Read,4096,Tier-1,k%d,Decode\n", i * 0.12, i
    print "oh,no"
}' >"$TMP/long.csv"
exits "a part of a long trace" 0 "$BIN/kvreplay" --timing trace --duration 590ms --config lateness_budget=10s --no-notes -o "$TMP/r.csv" \
    --summary "$summary" "$TMP/long.csv"
is "needs the objects of that part" "$(json "$summary" '.populated.objects, .rows.ok, .rows.absent')" "5 5 0"
is "ends with the time" "$(json "$summary" .ended_by)" duration
exits "of a faster replay more" 0 "$BIN/kvreplay" --timing trace --speed 3 --duration 515ms --config lateness_budget=10s \
    --no-notes -o "$TMP/r.csv" --summary "$summary" "$TMP/long.csv"
is "as it should" "$(json "$summary" '.populated.objects, .rows.ok, .rows.absent')" "13 13 0"
exits "without an end the bad row is met" 2 "$BIN/kvreplay" --null --no-notes -o "$TMP/r.csv" "$TMP/long.csv"
