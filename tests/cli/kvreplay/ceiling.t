#!/bin/sh
# ceiling.t - --ceiling: a run near the rate that the client reaches with --null says so, a slower one does not, and a
# ceiling of another trace is not compared. The test replaces the measured rate, so that it does not depend on speed.
# A bug looked like a ceiling of another trace that was compared all the same.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

plan 14
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 2000; i++) printf "0,Write,%d,Tier-1,k%d,Prefill\n", 100 + i, i % 100
}' >"$TMP/t.csv"
exits "the ceiling is measured" 0 "$BIN/kvreplay" --full --null -o "$TMP/r.csv" --summary "$TMP/ceiling.json" "$TMP/t.csv"
# against RATE: a run against that ceiling.
against() {
    sed 's/"rows_per_s": .*,/"rows_per_s": '"$1"',/' "$TMP/ceiling.json" >"$TMP/c.json"
    "$BIN/kvreplay" --full --ceiling "$TMP/c.json" -o "$TMP/r.csv" --summary "$TMP/s.json" "$TMP/t.csv" 2>"$TMP/stderr"
}
share() { json "$TMP/s.json" .share_of_ceiling; }
against 10
is "a run above a slow ceiling" $? 0
stderr_like "is flagged" "^note: [0-9]+ % of the client's own ceiling \(10 rows/s\)"
like "with its share" "$(share)" '^[1-9]'
against 1e15
stderr_unlike "a run far below a fast one is not" 'ceiling'
like "its share is there all the same" "$(share)" '^[1-9][-.eE0-9]*$'
sed '$d' "$TMP/t.csv" >"$TMP/other.csv"
exits "another trace" 0 "$BIN/kvreplay" --full --ceiling "$TMP/c.json" -o "$TMP/r.csv" --summary "$TMP/s.json" "$TMP/other.csv"
stderr_like "is not compared" 'another trace'
is "and has no share" "$(share)" null
exits "a file that is no summary of --null" 2 "$BIN/kvreplay" --full --ceiling "$TMP/s.json" -o "$TMP/r.csv" "$TMP/t.csv"
stderr_like "is refused" '^kvreplay: .*s.json: not the summary of a run with --null'
exits "a missing one" 2 "$BIN/kvreplay" --full --ceiling "$TMP/missing.json" -o "$TMP/r.csv" "$TMP/t.csv"
exits "no JSON" 2 "$BIN/kvreplay" --full --ceiling "$TMP/t.csv" -o "$TMP/r.csv" "$TMP/t.csv"
exits "without meaning with --null itself" 2 "$BIN/kvreplay" --full --ceiling "$TMP/c.json" --null "$TMP/t.csv"
