#!/bin/sh
# timing.t - --timing trace: rows at their Timestamps over --speed, Generate holds its request, a slow target shows
# in response time while service time stays, and being behind is said once. What must end soon is
# tried again where a busy machine was late; what must not come early holds each time.
# A bug looked like this: a schedule that slipped with the target, so that queueing vanished from the figures.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

# elapsed FILE: ms from zero to the last completion.
elapsed() { awk -F, 'NR > 1 { e = $9 + $10 / 1e6; if (e > m) m = e } END { printf "%d", m * 1000 }' "$1"; }
# takes LEAST MOST ARGS...: a run takes so many ms, the most of them at the fifth try at the latest.
takes() {
    least=$1 most=$2
    shift 2
    for _ in 1 2 3 4 5; do
        "$BIN/kvreplay" --lateness-budget 1s -o "$TMP/r.csv" "$@" 2>/dev/null || return
        ms=$(elapsed "$TMP/r.csv")
        echo "$ms ms"
        [ "$ms" -ge "$least" ] || return
        [ "$ms" -gt "$most" ] || return 0
    done
    return 1
}

plan 23
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 200; i++) printf "%.3f,Write,4096,Tier-1,k%d,Prefill\n", 100 + i * 0.005, i
}' >"$TMP/t.csv"
ok "995 ms of trace take about that" takes 995 1300 --timing trace "$TMP/t.csv"
is "Due is the Timestamp from the first row on" "$(awk -F, 'NR > 1 && sprintf("%.6f", $7) != sprintf("%.6f", $1 - 100) { print }' "$TMP/r.csv" | wc -l | tr -d ' ')" 0
is "no row starts before it is due" "$(awk -F, 'NR > 1 && $9 < $7' "$TMP/r.csv" | wc -l | tr -d ' ')" 0
ok "four times as fast" takes 248 600 --timing trace --speed 4 "$TMP/t.csv"

cat >"$TMP/g.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Duration_us
0.0,Generate,0,,,,7,1200000
0.1,Write,4096,Tier-1,a,Prefill,7,
0.1,Write,4096,Tier-1,b,Prefill,8,
END
"$BIN/kvreplay" --timing trace --speed 2 --lateness-budget 1s -o "$TMP/g.out" "$TMP/g.csv" 2>/dev/null
is "the held row's own request waits, another does not" \
    "$(awk -F, 'NR > 1 && $2 == "Write" { printf "%s%d ", $5, ($11 >= 0.6) }' "$TMP/g.out")" "b0 a1 "
is "Due stays" "$(awk -F, '$5 == "a" { print $9 + 0 }' "$TMP/g.out")" 0.05

# One server that takes 10 ms an operation, rows 5 ms apart: the last of 100 is about 500 ms late.
head -n 101 "$TMP/t.csv" >"$TMP/s.csv"
exits "behind by more than the limit" 0 "$BIN/kvreplay" --timing trace --tier-engine 1=sim:lat=10ms --inflight 1 \
    --lag-limit 100ms --lateness-budget 1s -o "$TMP/r.csv" "$TMP/s.csv"
is "said once" "$(grep -c 'behind its time' "$TMP/stderr")" 1
like "in the summary too" "$(cat "$TMP/stderr")" '^note: the target was slower than the trace: furthest behind .*, limit 100 ms'
late=$(awk -F, 'END { printf "%d", ($9 + $10 / 1e6 - $7) * 1000 }' "$TMP/r.csv")
ok "response time shows the queue ($late ms)" test "$late" -ge 450
# The queue of the last fifty is 250 ms at least.
service=$(awk -F, 'NR > 51 { print int($10) }' "$TMP/r.csv" | sort -n | head -n 1)
ok "service time does not ($service us)" test "$service" -ge 9900 -a "$service" -lt 100000

# The engine stalls from 300 to 500 ms after its first operation: every row due in that time ends behind it, and none is lost.
for inflight in 1 64; do
    "$BIN/kvreplay" --timing trace --tier-engine 1=sim:lat=100us,stall=300ms+200ms --inflight $inflight --lag-limit 1h \
        --lateness-budget 1s -o "$TMP/r.csv" "$TMP/t.csv" 2>/dev/null
    like "a stall is seen by all rows due in it, $inflight in flight" \
        "$(awk -F, 'NR == 2 { first = $9 }
            $7 > first + 0.31 && $7 < first + 0.5 { n++; if ($9 + $10 / 1e6 < first + 0.5) print } END { print n }' "$TMP/r.csv" | paste -sd ' ' -)" '^3[789]$'
    is "in what was due from the schedule on, $inflight in flight" \
        "$(awk -F, 'NR > 1 && sprintf("%.6f", $7) != sprintf("%.6f", $1 - 100) { print }' "$TMP/r.csv")" ""
done

# Closed: two users on that server. A row every 10 ms of each, and 10 ms of service: rounds of 20 ms, not of 10.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,User"
    for (i = 0; i < 20; i++) for (u = 0; u < 2; u++) printf "%.3f,Write,4096,Tier-1,k%d-%d,Prefill,user%d\n", i * 0.01, u, i, u
}' >"$TMP/u.csv"
"$BIN/kvreplay" --timing closed --tier-engine 1=sim:lat=10ms --lateness-budget 1s -o "$TMP/r.csv" "$TMP/u.csv" 2>/dev/null
is "a user's rows come after each other's pause" "$(awk -F, 'NR > 1 { if ($7 in end && $8 < end[$7] + 0.01 - 1e-6) print; end[$7] = $10 + $11 / 1e6 }' "$TMP/r.csv")" ""
ms=$(awk -F, 'NR > 1 { e = $10 + $11 / 1e6; if (e > m) m = e } END { printf "%d", m * 1000 }' "$TMP/r.csv")
ok "a slow target slows its users down ($ms ms)" test "$ms" -ge 395 -a "$ms" -le 2000
exits "a trace without users cannot be closed" 2 "$BIN/kvreplay" --timing closed --null "$TMP/t.csv"

# Spinning: none when told so, all of the time when told so, and its CPU time stands apart.
head -n 41 "$TMP/t.csv" >"$TMP/w.csv"
"$BIN/kvreplay" --timing trace --spin 0 --lateness-budget 1s -o "$TMP/r.csv" --summary "$TMP/summary.json" "$TMP/w.csv" 2>/dev/null
is "--spin 0 spins nothing" "$(member spin_s)" 0
"$BIN/kvreplay" --timing trace --spin 1s --lateness-budget 1s -o "$TMP/r.csv" --summary "$TMP/summary.json" "$TMP/w.csv" 2>"$TMP/stderr"
spun=$(member spin_s)
ok "--spin 1s spins ($spun s), within the CPU time" awk "BEGIN { exit !($spun > 0 && $spun <= $(member cpu_s)) }"
like "and says so" "$(cat "$TMP/stderr")" 'CPU .* of it spun until rows were due'
exits "a wrong time" 2 "$BIN/kvreplay" --timing trace --spin soon "$TMP/w.csv"
exits "nothing to spin for" 2 "$BIN/kvreplay" --spin 1ms "$TMP/w.csv"
