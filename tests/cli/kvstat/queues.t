#!/bin/sh
# queues.t - queue waits by class of a served run, on paper: in the report those of all that arrived, as the summary has
# them; in --interval of those let in and those in line at the interval's end, with requests that were never let in. A bug
# looked like a mean wait that fell while the line grew, since the longest waits had not ended.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

plan 26
# Two requests: interactive, from 0.2 s, let in at 0.5; batch, from 0.4, let in at 2.5, done at 2.6.
cat >"$TMP/r.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Arrival,Due,Eligible,Start,Latency_us,Device_us,Status
0.2,Read,4096,Tier-2,a,Decode,1,interactive,0.2,0.2,0.5,0.5,100000,90000,ok
0.2,Read,4096,Tier-2,b,Decode,1,interactive,0.2,,0.6,0.6,100000,90000,ok
0.4,Read,4096,Tier-2,c,Decode,2,batch,0.4,0.4,2.5,2.5,50000,50000,ok
0.4,Read,4096,Tier-2,d,Decode,2,batch,0.4,,2.55,2.55,50000,50000,ok
END
# Two more of batch arrived in the second from 1 s on, and were in line at the end.
cat >"$TMP/s.json" <<'END'
{"program": "kvreplay", "served": {"queue_by_qos_ms": {
    "interactive": {"count": 1, "waiting": 0, "unread": 0, "waiting_since_s": [], "mean": 300},
    "responsive": null,
    "batch": {"count": 3, "waiting": 2, "unread": 0, "waiting_since_s": [[1, 2], [-1, 5], ["x"], 7], "mean": 1433.25}}}}
END
column() { csv_figure "$TMP/stdout" "series.requests.by_qos.$1" | tr '\n' ' '; }
exits "the rows alone" 0 "$kvstat" --csv --interval 1s "$TMP/r.csv"
is "interactive: let in" "$(column interactive.count)" "1 0 0 "
is "waited" "$(column interactive.queue_mean_ms)" "300   "
is "nobody waits then" "$(column interactive.waiting)" "0 0 0 "
is "batch: let in" "$(column batch.count)" "0 0 1 "
is "waited, so far" "$(column batch.queue_mean_ms)" "600 1600 2100 "
is "in line" "$(column batch.waiting)" "1 1 0 "
is "no line without arrivals" "$(column responsive.count)" ""
exits "with the summary" 0 "$kvstat" --csv --interval 1s --run "$TMP/s.json" "$TMP/r.csv"
is "those never let in are in line" "$(column batch.waiting)" "1 3 2 "
is "with their wait so far" "$(column batch.queue_mean_ms | tr ' ' '\n' | awk '{ printf "%.3f ", $1 }')" \
    "600.000 866.667 1433.333 "
exits "with a warm-up" 0 "$kvstat" --csv --interval 1s --warmup 1s --run "$TMP/s.json" "$TMP/r.csv"
is "the last interval ends when it did" "$(column batch.queue_mean_ms | tr ' ' '\n' | awk '{ printf "%.3f ", $1 }')" \
    "600.000 866.667 1433.333 "
exits "one interval" 0 "$kvstat" --csv --interval 1h --run "$TMP/s.json" "$TMP/r.csv"
is "has the mean of all" "$(column batch.queue_mean_ms | awk '{ printf "%.3f", $1 }')" 1433.333

exits "the report" 0 "$kvstat" --full --run "$TMP/s.json" "$TMP/r.csv"
stdout_like "has the waits by class" \
    '^  queue wait, with those still waiting: interactive mean  *300 ms, batch mean 1[.]43 s [(]2 waiting[)]$'
exits "as JSON" 0 "$kvstat" --json --run "$TMP/s.json" "$TMP/r.csv"
is "too" "$(json "$TMP/stdout" '.requests.by_qos | .batch.queue_mean_ms, .batch.waiting, .responsive')" "1433.25 2 null"
exits "in text" 0 "$kvstat" --full --interval 1s --run "$TMP/s.json" "$TMP/r.csv"
stdout_like "the series is a table" '^ +1 s +- +0 +- +- +867 ms +3$'

# A class of which nobody was let in.
sed '/,batch,/d' "$TMP/r.csv" >"$TMP/starved.csv"
sed 's/"count": 3/"count": 2/' "$TMP/s.json" >"$TMP/starved.json"
exits "a class that starved" 0 "$kvstat" --json --run "$TMP/starved.json" "$TMP/starved.csv"
is "is not left out" "$(json "$TMP/stdout" '.requests.by_qos.batch | .count, .waiting')" "0 2"

# In a run that was not served every row has a Due, and its wait is no queue.
sed 's/,,0[.]6,/,0.2,0.6,/; s/,,2[.]55,/,0.4,2.55,/' "$TMP/r.csv" >"$TMP/trace.csv"
exits "another timing" 0 "$kvstat" --csv --interval 1s "$TMP/trace.csv"
is "has no lines" "$(column batch.count)" ""
exits "a trace" 0 "$kvstat" --csv --interval 1s "$DATA/mlperf_trace_first400.csv.zst"
