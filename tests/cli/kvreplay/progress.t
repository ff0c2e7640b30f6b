#!/bin/sh
# progress.t - the line of each second: rows, GiB, GiB/s and P99 of the last second, the queue, and the time left
# where it can be known; as text and as JSON. A bug looked like this: a share that counted rows read ahead, so that a
# small trace had no time left from its first second on.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

# 60 writes of 1 MiB on a server that takes 50 ms each: 3 s, 64 in flight at most, 8 here.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 60; i++) printf "0,Write,1048576,Tier-1,k%d,Prefill\n", i
}' >"$TMP/t.csv"
engine='1=sim:lat=50ms'

plan 8
"$BIN/kvreplay" --tier-engine "$engine" --inflight 8 --progress text -o /dev/null "$TMP/t.csv" 2>"$TMP/err"
line=$(grep 'queue' "$TMP/err" | head -n 1)
like "rows, GiB, GiB/s, P99, queue" "$line" \
    '^kvreplay: [0-9]+ rows, 0\.0[0-9] GiB, 0\.0[0-9] GiB/s now, P99 [0-9.]+ ms now, queue [0-8]/[0-9]+, '
like "time left" "$line" ', 0:0[1-9] left$'
"$BIN/kvreplay" --tier-engine "$engine" --inflight 8 --progress json -o /dev/null "$TMP/t.csv" 2>"$TMP/err"
line=$(grep '^{"rows"' "$TMP/err" | head -n 1)
like "JSON: the same names" "$line" \
    '^\{"rows": [0-9]+, "gib": [0-9.]+, "gib_per_s_now": [0-9.]+, "p99_now_us": [0-9.]+, "queue": \{"in_flight": [0-8], "waiting": [0-9]+\}, "elapsed_s": [0-9.]+, "left_s": [0-9.]+\}$'
# number NAME: that number of the line.
number() { echo "$line" | sed "s/.*\"$1\": \([0-9.]*\).*/\1/"; }
is "every row is done, in flight or waiting" $(($(number rows) + $(number in_flight) + $(number waiting))) 60

# Before the clock starts: what is written first, at 20 objects a second.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 50; i++) printf "0,Read,1048576,Tier-1,k%d,Decode\n", i
}' >"$TMP/p.csv"
"$BIN/kvreplay" --tier-engine "$engine" --progress text -o /dev/null "$TMP/p.csv" 2>"$TMP/err"
like "populating" "$(grep 'populating' "$TMP/err" | head -n 1)" \
    '^kvreplay: populating: [0-9]+ objects, 0\.0[0-9] of 0\.05 GiB, 0\.0[0-9] GiB/s, 0:0[1-9] left$'
"$BIN/kvreplay" --tier-engine "$engine" --progress json -o /dev/null "$TMP/p.csv" 2>"$TMP/err"
like "in JSON" "$(grep '^{"phase"' "$TMP/err" | tail -n 1)" \
    '^\{"phase": "populate", "objects": [0-9]+, "gib": [0-9.]+, "of_gib": 0\.048828, "elapsed_s": [0-9.]+\}$'

# A schedule: what is not due yet does not wait, and the time left is the schedule's.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request"
    for (i = 0; i < 300; i++) printf "%.2f,Write,4096,Tier-1,k%d,Prefill,%d\n", i / 100, i % 5, i / 50
}' >"$TMP/s.csv"
"$BIN/kvreplay" --null --timing trace --progress json -o /dev/null "$TMP/s.csv" 2>"$TMP/err"
line=$(grep '^{"rows"' "$TMP/err" | head -n 1)
# On a busy machine rows that are due may wait; the two hundred that are not must not.
ok "rows not due yet do not wait" awk "BEGIN {
    exit !($(number rows) + $(number in_flight) + $(number waiting) <= $(number elapsed_s) * 100 + 5) }"
is "the time left is the schedule's" \
    "$(awk "BEGIN { all = $(number elapsed_s) + $(number left_s); print (all > 2.5 && all < 3.5) }")" 1
