#!/bin/sh
# evidence.t - what a run says of itself: a stop of the process is listed with its time, and makes the figures that it moved
# unreliable, in every timing and with every engine; memory that poses as a drive, reads from the page cache, lateness and
# overload are named; what cannot be read is null. A bug looked like a run that was stopped for a second and "valid".
# builds: plain (stops and times; test_validity and test_gap_list run the code under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/s.json
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,Arrival
# rows N EVERY OP SIZE KEYS: a row every so many seconds, each a request of one of five users.
rows() {
    awk -v n="$1" -v every="$2" -v op="$3" -v size="$4" -v keys="$5" -v header=$header 'BEGIN {
        print header
        for (i = 0; i < n; i++)
            printf "%.6f,%s,%d,Tier-2,k%d,Decode,%d,u%d,%.6f\n", i * every, op, size, i % keys, i, i % 5, i * every
    }'
}
figure() { json "$summary" ".validity[] | select(.figures == \"$1\") | .state, .why"; }
replay() { "$BIN/kvreplay" --full -o "$TMP/r.csv.zst" --summary "$summary" "$@" 2>"$TMP/err"; }

# Stopped for half a second of about one, in every timing. Half of a row's times: no percentile may hide it.
rows 400 0.0025 Read 65536 20 >"$TMP/timed.csv"
stopped() { # OPTIONS...: fails and says why when the stop is not in the summary as it should be
    "$BIN/kvreplay" --full -o "$TMP/r.csv.zst" --summary "$summary" "$@" 2>"$TMP/err" &
    child=$!
    catches $child
    sleep 0.3
    kill -s STOP $child || return
    sleep 0.5
    kill -s CONT $child
    wait $child || return
    # Such a gap, in the evidence, no gaps that are none, and two lists of all that were counted.
    found=$(json "$summary" 'any(.gaps[]; .thread == "process" and .end_s - .start_s > 0.35),
        (.evidence | .largest_gap_us > 350000 and .gaps >= 1),
        (all(.gaps[]; .end_s - .start_s >= 0.000999 and .end_s >= 0) and .gaps_more == 0),
        ((.gaps + .scheduler_gaps | length) + .gaps_more == .evidence.gaps and
            all(.gaps[]; .thread != "scheduler") and all(.scheduler_gaps[]; .thread == "scheduler"))')
    [ "$found" = 'true true true true' ] || { echo "gap, evidence, no others, both lists: $found"; json "$summary" '.gaps | tostring'; return 1; }
}
slow=--tier-engine=2=sim:lat=2ms
ok 'stopped: asap' tries 3 stopped --inflight 1 "$slow" "$TMP/timed.csv"
ok 'stopped: trace' tries 3 stopped --timing trace "$slow" "$TMP/timed.csv"
like 'what it did to the responses' "$(figure response)" '^unreliable client delay (adds [0-9.]+ % to|is most of) p[0-9]+ '
ok 'stopped: more than the limit' tries 3 stopped --timing trace --config lag_limit=100ms "$slow" "$TMP/timed.csv"
like 'not called a slow target' "$(cat "$TMP/err")" 'behind its time: kvreplay was stopped or had no processor'
like 'nor in the notes' "$(cat "$TMP/err")" 'note: kvreplay was stopped or had no processor: furthest behind .*, limit 100 ms'
# Nobody waits without the stop, unless the machine is busy besides. What waits behind it, waits for the tool, in the end-to-end
# times and in what held them up.
held_up() {
    stopped --timing served --workers 2 "$slow" "$TMP/timed.csv" || return
    "$BIN/kvstat" --json "$TMP/r.csv.zst" >"$TMP/k.json"
    [ "$(json "$TMP/k.json" '.bottleneck.what, .bottleneck.shares.tool > 2 * .bottleneck.shares.queue')" = 'tool true' ] ||
        { json "$TMP/k.json" '.bottleneck | tostring'; return 1; }
}
ok 'stopped: served, and what held the requests up' tries 5 held_up
like 'what it did to the requests, by kvreplay' "$(figure end_to_end)" '^unreliable client delay (adds [0-9.]+ % to|is most of) p[0-9]+ '
is 'what it did to the requests' "$(json "$TMP/k.json" '.validity.figures[] | select(.figures == "end_to_end") | .state')" unreliable
like 'said with its reason' "$(json "$TMP/k.json" .validity.line)" "end to end: client delay (adds [0-9.]+ % to|is most of) p[0-9]+"
is 'what held them up adds up' "$(json "$TMP/k.json" '[.bottleneck.shares[] | numbers] | add | . - 1 | fabs < 1e-6')" true
"$BIN/kvstat" "$TMP/r.csv.zst" >"$TMP/screen"
like 'in words' "$(tr -s '\n ' ' ' <"$TMP/screen")" 'Time went pauses of kvreplay [0-9]+ %.* bottleneck: pauses of kvreplay'
# A pipe carries no list of gaps before its rows: kvreplay's own summary is all that counts there.
piped() { stopped -o "$TMP/r.csv" --timing served --workers 2 "$slow" "$TMP/timed.csv"; }
ok 'stopped: served, to a pipe' tries 3 piped
"$BIN/kvstat" --json - <"$TMP/r.csv" >"$TMP/k.json"
is 'a pipe says the same' "$(json "$TMP/k.json" '.validity.figures[] | select(.figures == "end_to_end") | .state')" unreliable
like 'with the same reason' "$(json "$TMP/k.json" .validity.line)" "end to end: client delay (adds [0-9.]+ % to|is most of) p[0-9]+"
ok 'stopped: closed' tries 3 stopped --timing closed "$slow" "$TMP/timed.csv"
ok 'stopped: files, psync' tries 3 stopped --timing trace --nvme "$TMP/d" --config ioengine=psync "$TMP/timed.csv"
ok 'stopped: files' tries 3 stopped --timing trace --nvme "$TMP/d" "$TMP/timed.csv"
is 'the run as such is not thrown away' "$(json "$summary" '.why_invalid == [], .rows.failed')" 'true 0'

# Null where there is nothing to know.
replay --null "$TMP/timed.csv"
is 'of a run without a target' "$(json "$summary" '.evidence | .target, .file_system, .pages, .direct, .own_io_s,
    .cached_read_share, .overload')" 'null null null null null null null'
is 'which executed nothing' "$(json "$summary" '.valid, .validity[].figures, .validity[].state, .validity[].why')" \
    'null all unknown nothing was executed (empty engines)'
sum='.device_us.mean - .meta_us.mean - .io_us.mean - .flush_us.mean'

# Memory posing as a drive.
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
    shm=$(mktemp -d /dev/shm/kvtrace-test.XXXXXX)
    replay --nvme "$shm/d" "$TMP/timed.csv"
    is 'tmpfs: told' "$(json "$summary" '.evidence | .target, .file_system, .direct')" 'memory tmpfs false'
    is 'tmpfs: storage figures' "$(figure storage)" 'unreliable the target is memory (tmpfs)'
    is 'tmpfs: the run' "$(json "$summary" .valid)" false
    rm -rf "$shm"
else
    ok 'tmpfs: told # SKIP there is none' true
    ok 'tmpfs: storage figures # SKIP there is none' true
    ok 'tmpfs: the run # SKIP there is none' true
fi

# Reads from the page cache, and what a flushed write is made of. Where the kernel does not tell, neither can be said.
# Each read drops its pages, so only reads of one object at the same time share them: how many do depends on the
# machine. What others read from the device at that time counts as if it were read for the replay.
rows 400 0 Read 1048576 1 >"$TMP/hot.csv"
share='(1 - .own_read_bytes / (400 * 1048576) - .cached_read_share | fabs < 1e-6) and .cached_read_share > 0.05'
cached() {
    replay --nvme "$TMP/d" --buffered --inflight 128 "$TMP/hot.csv" || return
    [ "$(json "$summary" ".evidence | .target != \"storage\" or .own_read_bytes == null or ($share)")" = true ]
}
tries 5 cached >/dev/null
case $(json "$summary" '.evidence | .target, (.own_read_bytes == null)') in
'storage false')
    ok 'cached: how much' test "$(json "$summary" ".evidence | $share")" = true
    like 'cached: storage figures' "$(figure storage)" '^unreliable [0-9]+ % of the bytes read came from a cache$'
    ;;
*)
    ok 'cached # SKIP the scratch folder is no storage, or /proc/self/io cannot be read' true
    ok 'cached # SKIP likewise' true
    ;;
esac
rows 20 0 Write 1048576 20 >"$TMP/w.csv"
replay --nvme "$TMP/d" --buffered "$TMP/w.csv"
is 'a flush is device time' "$(json "$summary" "tier(\"Tier-2\").write | .flush_us.mean > 0, .meta_us.mean > 0, ($sum | fabs < 0.01)")" \
    'true true true'

# Where /proc cannot be read, what it tells is unknown by name, and so are the figures that rest on it.
blind() { unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' sh "$@"; }
if [ "$(id -u)" -eq 0 ] && blind true 2>/dev/null; then
    blind "$BIN/kvreplay" --full --nvme "$TMP/d" -o "$TMP/r.csv.zst" --summary "$summary" "$TMP/timed.csv" 2>"$TMP/err"
    is 'no /proc: unknown' "$(json "$summary" '.evidence | .run_delay_s, .run_delay_share, .steal_share, .own_read_bytes, .pages,
        .cached_read_share')" 'null null null null null null'
    like 'no /proc: device figures' "$(figure device)" '^unknown the kernel does not report how long'
    is 'no /proc: the run' "$(json "$summary" .valid)" null
else
    ok 'no /proc: unknown # SKIP needs root and a mount namespace' true
    ok 'no /proc: device figures # SKIP likewise' true
    ok 'no /proc: the run # SKIP likewise' true
fi

# Twice as much as one server does: the line grows all the time. Half of it: no overload.
rows 1200 0.001 Read 4096 10 >"$TMP/load.csv"
grows() {
    replay --timing trace --tier-engine 2=sim:lat=2ms "$TMP/load.csv" || return
    [ "$(json "$summary" '.evidence.overload | .offered_per_s > 900 and .offered_per_s < 1100 and .achieved_per_s > 350 and
        .achieved_per_s < 650 and .backlog_growth > 350')" = true ] || {
        json "$summary" '.evidence.overload | tostring'
        return 1
    }
    grep -q '^note: overload: ' "$TMP/err"
}
ok 'overload' tries 3 grows
half() {
    replay --timing trace --tier-engine 2=sim:lat=500us "$TMP/load.csv"
    [ "$(json "$summary" .evidence.overload)" = null ]
}
ok 'none' tries 3 half
is 'lateness does not void a run' "$(json "$summary" '.lateness_us.budget, .valid')" 'null true'
exits 'a budget does' 0 "$BIN/kvreplay" --full --timing trace --tier-engine 2=sim:lat=500us --config lateness_budget=1ns -o "$TMP/r.csv" \
    --summary "$summary" "$TMP/load.csv"
is 'as asked for' "$(json "$summary" .valid)" false

# A stop while the run waits for its time to start is none of the run. A bug listed gaps that ended before it.
"$BIN/kvreplay" --start-at +1.5 --tier-engine 2=sim:lat=1ms -o "$TMP/r.csv" --summary "$summary" "$TMP/load.csv" 2>"$TMP/err" &
child=$!
catches $child
sleep 0.3
kill -s STOP $child
sleep 0.5
kill -s CONT $child
wait $child
is 'no gaps before the start' "$(json "$summary" '[.gaps[], .scheduler_gaps[] | select(.end_s < 0)] | length')" 0

# All workers busy, and a line: the scheduler waits for what ends. A bug looked like a turn without a pause whose every round
# was a gap, a million of them, so that a stop found no room in the list.
rows 300 0.0001 Read 262144 20 >"$TMP/line.csv"
calm() {
    replay --timing served --workers 1 --nvme "$TMP/d" "$TMP/line.csv" || return
    [ "$(json "$summary" '.gaps_more == 0 and .evidence.gaps < 1000')" = true ] || { json "$summary" .evidence.gaps; return 1; }
}
ok 'a line makes no gaps' tries 3 calm

# Rows without I/O are never late.
{
    echo $header
    awk 'BEGIN { for (i = 0; i < 200; i++) printf "0.0,Miss,0,,m%d,,%d,u,0.0\n", i, i }'
    echo 0.0,Read,4096,Tier-2,k,Decode,200,u,0.0
} >"$TMP/miss.csv"
replay --timing trace --tier-engine 2=sim:lat=1ms "$TMP/miss.csv"
is 'only rows with I/O count as late' "$(json "$summary" .evidence.client_delay_us.count)" 1
done_testing
