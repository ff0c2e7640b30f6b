#!/bin/sh
# progress.t - the line of each second: rows, GiB, GiB/s and P99 of the last second, the queue, and the time left where
# it can be known; as text and as JSON. A bug looked like a share that counted rows read ahead, so that a small trace
# had no time left from its first second on.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# 60 writes of 1 MiB on a server that takes 50 ms each: 3 s, 64 in flight at most, 8 here.
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
{ echo $header && seq 0 59 | sed 's/.*/0,Write,1048576,Tier-1,k&,Prefill/'; } >"$TMP/writes.csv"
# Objects that are written before the clock starts, 20 a second.
{ echo $header && seq 0 49 | sed 's/.*/0,Read,1048576,Tier-1,k&,Decode/'; } >"$TMP/reads.csv"
# A schedule of 100 rows a second.
awk -v header=$header 'BEGIN {
    print header ",Request"
    for (i = 0; i < 300; i++) printf "%.2f,Write,4096,Tier-1,k%d,Prefill,%d\n", i / 100, i % 5, i / 50
}' >"$TMP/schedule.csv"

# watch NAME OPTIONS...: a run in the background, its progress in $TMP/NAME.err.
watch() {
    name=$1
    shift
    "$BIN/kvreplay" -o /dev/null "$@" 2>"$TMP/$name.err" &
    echo $! >"$TMP/$name.pid"
}
# first_line NAME ERE: the first line of its progress that matches; the run ends then.
first_line() {
    pid=$(cat "$TMP/$1.pid")
    until grep -Eq "$2" "$TMP/$1.err" || ! kill -s 0 "$pid" 2>/dev/null; do sleep 0.02; done
    kill -s INT "$pid"
    grep -E "$2" "$TMP/$1.err" | head -n 1
}
engine='1=sim:lat=50ms'
watch text --tier-engine $engine --inflight 8 --progress text "$TMP/writes.csv"
watch json --tier-engine $engine --inflight 8 --progress json "$TMP/writes.csv"
watch populate_text --tier-engine $engine --progress text "$TMP/reads.csv"
watch populate_json --tier-engine $engine --progress json "$TMP/reads.csv"
watch schedule --null --timing trace --progress json "$TMP/schedule.csv"

plan 10
line=$(first_line text queue)
like "rows, GiB, GiB/s, P99, queue" "$line" \
    '^kvreplay: [0-9]+ rows, 0\.0[0-9] GiB, 0\.0[0-9] GiB/s now, P99 [0-9.]+ ms now, queue [0-8]/[0-9]+, '
like "time left" "$line" ', 0:0[1-9] left$'
first_line json '^[{]"rows"' >"$TMP/line.json"
like "JSON: the same names" "$(json "$TMP/line.json" 'keys_unsorted[], (.queue | keys_unsorted[])')" \
    '^rows gib gib_per_s_now p99_now_us queue elapsed_s left_s in_flight waiting$'
like "with numbers" "$(json "$TMP/line.json" '.rows, .gib, .gib_per_s_now, .p99_now_us, .elapsed_s, .left_s')" \
    '^[0-9. ]+$'
ok "8 in flight at most" test "$(json "$TMP/line.json" .queue.in_flight)" -le 8
is "every row is done, in flight or waiting" "$(json "$TMP/line.json" '.rows + .queue.in_flight + .queue.waiting')" 60

like "before the clock starts" "$(first_line populate_text populating)" \
    '^kvreplay: populating: [0-9]+ objects, 0\.0[0-9] of 0\.05 GiB, 0\.0[0-9] GiB/s, 0:0[1-9] left$'
like "in JSON" "$(first_line populate_json '^[{]"phase"')" \
    '^\{"phase": "populate", "objects": [0-9]+, "gib": [0-9.]+, "of_gib": 0\.048828, "elapsed_s": [0-9.]+\}$'

# The time left is the schedule's. On a busy machine rows that are due may wait; the two hundred that are not must not.
first_line schedule '^[{]"rows"' >"$TMP/line.json"
is "rows not due yet do not wait" \
    "$(json "$TMP/line.json" '.rows + .queue.in_flight + .queue.waiting <= .elapsed_s * 100 + 5')" true
is "the time left is the schedule's" "$(json "$TMP/line.json" '.elapsed_s + .left_s | . > 2.5 and . < 3.5')" true
wait
