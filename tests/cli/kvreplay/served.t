#!/bin/sh
# served.t - --timing served: requests are let in in the order of the trace when they have arrived and a worker is
# free; queue wait and end-to-end time are those worked out on paper, in the rows and in kvstat; --duration ends a run that
# cannot keep up with what was served. Bounds are wide, for busy machines; the unit test is exact.
# A bug looked like this: queue waits less the time that the request had queued when the trace was made.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

plan 15
# 30 requests, three every 30 ms; 4 workers; a device that does one write after another, 10 ms each; 40 to 80 ms of generation.
# In the trace each had queued 7 ms before its first row.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival,Duration_us"
    for (i = 0; i < 30; i++) {
        a = 500 + int(i / 3) * 0.03
        printf "%.3f,Write,4096,Tier-1,k%d,Prefill,%d,%.3f,\n", a + 0.007, i, i, a
        printf "%.3f,Generate,0,,,,%d,%.3f,%d\n", a + 0.007, i, a, 40000 + i % 5 * 10000
    }
}' >"$TMP/t.csv"
# On paper: request, admission, end; the worker that is free first takes the next request.
awk 'BEGIN {
    for (i = 0; i < 30; i++) {
        w = 0
        for (k = 1; k < 4; k++) if (idle[k] + 0 < idle[w] + 0) w = k
        arrival = int(i / 3) * 0.03
        admitted = idle[w] > arrival ? idle[w] + 0 : arrival
        device = (admitted > device ? admitted : device) + 0.01
        idle[w] = device + 0.04 + i % 5 * 0.01
        print i, arrival, admitted, idle[w]
        queue += admitted - arrival; whole += idle[w] - arrival
    }
    print "mean", queue / 30 * 1000, whole / 30 * 1000
}' >"$TMP/paper"
# Greatest distance in us between the paper and the replay, but for Due.
worst() {
    awk 'NR == FNR { if ($1 != "mean") { arrival[$1] = $2; admitted[$1] = $3; end[$1] = $4 } next }
    function far(a, b) { d = a > b ? a - b : b - a; if (d > worst) worst = d }
    { split($0, c, ",") }
    c[2] == "Write" { far(c[12], admitted[c[7]]); n++ }
    c[2] == "Generate" { far(c[12] + c[13] / 1e6, end[c[7]]); n++ }
    END { printf "%d", n == 60 ? worst * 1e6 : 99999999 }' "$TMP/paper" "$1"
}
# By how many us it was late in all, as its own rows tell: rows after they could start, the device and generation longer
# than their time. Each may delay all that comes after it, so no more than their sum can be off.
late() {
    sed 1d "$1" | sort -t , -k 12,12n | awk -F, '
    { ready = $10 > $11 ? $10 + 0 : $11 + 0; end = $12 + $13 / 1e6; sum += $12 - ready }
    $2 == "Write" { device = ($12 > device ? $12 + 0 : device) + 0.01; if (end > device) { sum += end - device; device = end } }
    $2 == "Generate" { sum += end - $12 - $9 / 1e6 }
    END { printf "%d", sum * 1e6 }'
}
# Within 1 ms on an idle machine. On a busy one the best of some tries counts.
best=99999999
for _ in 1 2 3 4 5 6; do
    "$BIN/kvreplay" --timing served --workers 4 --tier-engine 1=sim:lat=10ms --lateness-budget 1s \
        -o "$TMP/try.csv" --summary "$TMP/try.json" "$TMP/t.csv" 2>"$TMP/try"
    us=$(worst "$TMP/try.csv")
    if [ "$us" -lt "$best" ]; then
        best=$us
        mv "$TMP/try.csv" "$TMP/r.csv" && mv "$TMP/try.json" "$TMP/s.json" && mv "$TMP/try" "$TMP/stderr"
    fi
    [ "$best" -gt 1000 ] || break
done
late=$(late "$TMP/r.csv")
ok "admissions and ends as on paper ($best us off at most, late by $late us in all)" test "$best" -le $((2000 + late))
is "arrivals exactly" "$(awk -F, 'NR == FNR { split($0, p, " "); arrival[p[1]] = p[2]; next }
    $2 == "Write" && ($10 - arrival[$7]) ^ 2 > 1e-12 { print $7, $10 }' "$TMP/paper" "$TMP/r.csv")" ""
is "admitted in the order of the trace" \
    "$(awk -F, '$2 == "Write" { print $12, $7 }' "$TMP/r.csv" | sort -k 1,1n -k 2,2n | awk '{ print $2 }')" "$(seq 0 29)"
"$BIN/kvstat" --json -o "$TMP/k.json" "$TMP/r.csv" 2>/dev/null
is "kvstat: mean queue wait and end to end as on paper, within 30 ms and what it was late" "$(python3 -c '
import json, sys
r = json.load(open(sys.argv[1]))["requests"]
far = 30 + int(sys.argv[3]) / 1000
queue, whole = [float(x) for x in open(sys.argv[2]).read().split("mean ")[1].split()]
print(r["count"], abs(r["queue_ms"]["mean"] - queue) < far, abs(r["end_to_end_ms"]["mean"] - whole) < far,
      r["queue_ms"]["min"] < far)' "$TMP/k.json" "$TMP/paper" "$late")" "30 True True True"
like "the summary counts them" "$(cat "$TMP/stderr")" "^30 requests were let in to 4 workers; queue wait"
is "as JSON too" "$(python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(s["served"]["admitted"], s["served"]["admitted_beyond_workers"], s["lag_s"]["max"], s["ended_by"])' "$TMP/s.json")" \
    "30 0 None trace"
is "Due is the first row's only" "$(awk -F, 'NR > 1 && ($2 == "Write") != ($10 != "")' "$TMP/r.csv")" ""

exits "more than the time allows" 0 "$BIN/kvreplay" --timing served --workers 1 --tier-engine 1=sim:lat=10ms \
    --lateness-budget 1s --duration 600ms -o "$TMP/r.csv" --summary "$TMP/s.json" "$TMP/t.csv"
like "is said" "$(cat "$TMP/stderr")" "ended by --duration"
rows=$(awk 'END { print NR - 1 }' "$TMP/r.csv")
# A request takes 50 ms at least and has two rows.
ok "what was served is there ($rows rows)" test "$rows" -ge 2 -a "$rows" -le 26
is "valid, and the line had grown" "$(python3 -c '
import json, sys
s = json.load(open(sys.argv[1]))
print(s["valid"], s["ended_by"], s["served"]["queue_ms"]["max"] > 60)' "$TMP/s.json")" "True duration True"

exits "workers are needed" 2 "$BIN/kvreplay" --timing served --null "$TMP/t.csv"
exits "and mean nothing otherwise" 2 "$BIN/kvreplay" --workers 3 --null "$TMP/t.csv"
exits "rows of a request run one after another" 2 "$BIN/kvreplay" --timing served --workers 3 --order key --null "$TMP/t.csv"
cut -d, -f1-6 "$TMP/t.csv" | grep -v Generate >"$TMP/core.csv"
exits "a trace without requests cannot be served" 2 "$BIN/kvreplay" --timing served --workers 3 --null "$TMP/core.csv"
