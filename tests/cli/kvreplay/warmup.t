#!/bin/sh
# warmup.t - --warmup: rows that start early are executed and stand in the result, but not in the statistics.
# A bug looked like the work of the whole run divided by the time after the warm-up.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

plan 9
# 20 writes of 1 MiB 20 ms apart, the first ten to Tier-0, the others to Tier-1.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 20; i++) printf "%.3f,Write,1048576,Tier-%d,k%d,Prefill\n", i * 0.02, (i >= 10), i
}' >"$TMP/t.csv"
# warm: a run of which at least five rows start early. Half of them do, unless the machine is busy.
warm() {
    "$BIN/kvreplay" --full --null --timing trace --config lateness_budget=10s --warmup 190ms --no-notes -o "$TMP/r.csv" \
        --summary "$TMP/s.json" "$TMP/t.csv" 2>"$TMP/stderr" || return
    early=$(awk -F, 'NR > 1 && $9 < 0.19' "$TMP/r.csv" | wc -l)
    echo "$early early rows"
    [ "$early" -ge 5 ]
}
ok "a run" tries 5 warm
stderr_like "is said" "left out of what follows: [0-9]+ rows that started in the first 190 ms"
is "all rows are in the result" "$(grep -c ',ok$' "$TMP/r.csv")" 20
late=$(awk -F, 'NR > 1 && $4 == "Tier-0" && $9 >= 0.19' "$TMP/r.csv" | wc -l) # none, on a quiet machine
json_like "$TMP/s.json" <<END
early rows are counted        | .warmup.rows, .warmup.seconds, .rows.ok, .rows.total | $early 0.19 20 20
they are not in the groups    | [.groups[].ops] | add | $((20 - early))
nor in their tier             | [tier("Tier-0").write.ops] | add // 0 | $late
nor in the rate               | .rows_per_s * (.elapsed_s - 0.19) - ([.groups[].ops] | add) | fabs < 0.01 | true
END
ok "half of them at most ($early)" test "$early" -le 10
exits "longer than the run" 2 "$BIN/kvreplay" --full --null --warmup 2s --duration 1s "$TMP/t.csv"
