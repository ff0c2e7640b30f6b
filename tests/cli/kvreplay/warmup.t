#!/bin/sh
# warmup.t - --warmup: rows that start early are executed and in the result, but not in the statistics.
# A bug looked like this: rates over the whole run, divided by the time behind the warm-up.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

plan 7
# 20 writes of 1 MiB 20 ms apart, the first ten to Tier-0, the others to Tier-1.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 20; i++) printf "%.3f,Write,1048576,Tier-%d,k%d,Prefill\n", i * 0.02, (i >= 10), i
}' >"$TMP/t.csv"
# warm: a run of which at least five rows start early, as half of them do where the machine is not busy elsewhere.
warm() {
    "$BIN/kvreplay" --null --timing trace --lateness-budget 10s --warmup 190ms -o "$TMP/r.csv" --summary "$TMP/s.json" \
        "$TMP/t.csv" 2>"$TMP/stderr" || return
    early=$(awk -F, 'NR > 1 && $9 < 0.19' "$TMP/r.csv" | wc -l | tr -d ' ')
    echo "$early early rows"
    [ "$early" -ge 5 ]
}
ok "a run" tries 5 warm
like "is said" "$(cat "$TMP/stderr")" "left out of what follows: [0-9]+ rows that started in the first 190 ms"
is "all rows are in the result" "$(grep -c ',ok$' "$TMP/r.csv")" 20
late0=$(awk -F, 'NR > 1 && $4 == "Tier-0" && $9 >= 0.19' "$TMP/r.csv" | wc -l | tr -d ' ') # none, on a quiet machine
is "those that started early are counted" "$(python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(s["warmup"]["rows"], s["warmup"]["seconds"], s["rows"]["ok"], s["rows"]["total"])' "$TMP/s.json")" "$early 0.19 20 20"
is "and not in the statistics" "$(python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
ops = sum(g["ops"] for g in s["groups"])
print(ops, sum(t["write"]["ops"] for t in s["tiers"] if t["tier"] == "Tier-0"),
      abs(s["rows_per_s"] * (s["elapsed_s"] - 0.19) - ops) < 0.01)' "$TMP/s.json")" "$((20 - early)) $late0 True"
ok "half of them at most ($early)" test "$early" -le 10
exits "longer than the run" 2 "$BIN/kvreplay" --null --warmup 2s --duration 1s "$TMP/t.csv"
