#!/bin/sh
# timing.t - --timing trace: rows start at their Timestamps / --speed, Generate holds its request, a slow target shows
# in response time while service time stays, and being behind is said once. Upper bounds are tried again on a busy
# machine; lower bounds hold each time. A bug looked like a schedule that slipped with the target, so that queueing
# vanished from the figures.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
summary=$TMP/summary.json

# elapsed FILE [COLUMN]: ms from zero to the last completion; COLUMN: of Start, Latency_us follows it.
elapsed() {
    awk -F, -v start="${2:-9}" '
        NR > 1 { end = $start + $(start + 1) / 1e6; if (end > last) last = end }
        END { printf "%d", last * 1000 }' "$1"
}
# off_schedule: rows of $TMP/r.csv whose Due is not their Timestamp from 100 s on.
off_schedule() { awk -F, 'NR > 1 && sprintf("%.6f", $7) != sprintf("%.6f", $1 - 100) { print }' "$TMP/r.csv"; }
# takes LEAST MOST ARGS...: a run takes at least and at most so many ms; the upper bound is tried five times.
takes() {
    least=$1 most=$2
    shift 2
    for _ in 1 2 3 4 5; do
        "$BIN/kvreplay" --full --config lateness_budget=1s --no-notes -o "$TMP/r.csv" "$@" 2>/dev/null || return
        ms=$(elapsed "$TMP/r.csv")
        echo "$ms ms"
        [ "$ms" -ge "$least" ] || return
        [ "$ms" -gt "$most" ] || return 0
    done
    return 1
}

plan 45
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 200; i++) printf "%.3f,Write,4096,Tier-1,k%d,Prefill\n", 100 + i * 0.005, i
}' >"$TMP/t.csv"
ok "995 ms of trace take about that" takes 995 1900 --timing trace "$TMP/t.csv"
is "each row has a result" "$(lines "$TMP/r.csv")" 201
is "Due is the Timestamp from the first row on" "$(off_schedule)" ''
is "no row starts before it is due" "$(awk -F, 'NR > 1 && $9 < $7' "$TMP/r.csv")" ''
ok "four times as fast" takes 248 900 --timing trace --speed 4 "$TMP/t.csv"

cat >"$TMP/g.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Duration_us
0.0,Generate,0,,,,7,1200000
0.1,Write,4096,Tier-1,a,Prefill,7,
0.1,Write,4096,Tier-1,b,Prefill,8,
END
"$BIN/kvreplay" --full --timing trace --speed 2 --config lateness_budget=1s --no-notes -o "$TMP/g.out" "$TMP/g.csv" 2>/dev/null
is "the held row's own request waits, another does not" \
    "$(awk -F, 'NR > 1 && $2 == "Write" { printf "%s%d ", $5, ($11 >= 0.6) }' "$TMP/g.out")" "b0 a1 "
is "Due stays" "$(awk -F, '$5 == "a" { print $9 + 0 }' "$TMP/g.out")" 0.05

# One server that takes 10 ms an operation, rows 5 ms apart: the last of 100 is about 500 ms late.
head -n 101 "$TMP/t.csv" >"$TMP/s.csv"
# A busy machine may be behind for want of a processor.
behind() {
    "$BIN/kvreplay" --full --timing trace --tier-engine 1=sim:lat=10ms --inflight 1 --config lag_limit=100ms --config lateness_budget=1s \
        --no-notes -o "$TMP/r.csv" "$TMP/s.csv" 2>"$TMP/stderr" || return
    cat "$TMP/stderr"
    grep -q 'the target is slower than the trace$' "$TMP/stderr" && grep -q '^note: the target was slower' "$TMP/stderr"
}
ok "behind by more than the limit" tries 5 behind
is "said once" "$(grep -c 'behind its time' "$TMP/stderr")" 1
stderr_like "in the summary too" '^note: the target was slower than the trace: furthest behind .*, limit 100 ms'
stderr_like "by the target" 'behind its time: the target is slower than the trace$'
late=$(awk -F, 'END { printf "%d", ($9 + $10 / 1e6 - $7) * 1000 }' "$TMP/r.csv")
ok "response time shows the queue ($late ms)" test "$late" -ge 450
# The queue of the last fifty is 250 ms at least.
service=$(awk -F, 'NR > 51 { print int($10) }' "$TMP/r.csv" | sort -n | head -n 1)
ok "service time does not ($service us)" test "$service" -ge 9900 -a "$service" -lt 100000

# A row whose time is before the first row's is due when the run begins: that is no slow target.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n9,Write,4096,Tier-1,a,Prefill\n1,Write,4096,Tier-1,b,Prefill\n' >"$TMP/early.csv"
exits "a row before the first one" 0 "$BIN/kvreplay" --full --timing trace --tier-engine 1=sim:lat=1ms --config lag_limit=5s \
    --config lateness_budget=1s --no-notes -o "$TMP/r.csv" "$TMP/early.csv"
stderr_unlike "is not behind its time" 'behind its time|slower than the trace'
is "but due at the beginning" "$(awk -F, '$5 == "b" { print $7 + 0 }' "$TMP/r.csv")" 0

# The engine stalls from 300 to 500 ms after its first operation: every row due in that time ends after the stall, and
# none is lost.
for inflight in 1 64; do
    "$BIN/kvreplay" --full --timing trace --tier-engine 1=sim:lat=100us,stall=300ms+200ms --inflight $inflight --config lag_limit=1h \
        --config lateness_budget=1s --no-notes -o "$TMP/r.csv" "$TMP/t.csv" 2>/dev/null
    like "a stall is seen by all rows due in it, $inflight in flight" "$(awk -F, '
        NR == 2 { first = $9 }
        $7 > first + 0.31 && $7 < first + 0.5 { due++; if ($9 + $10 / 1e6 < first + 0.5) early++ }
        END { print due, early + 0 }' "$TMP/r.csv")" '^3[789] 0$'
    is "while rows stay due when the schedule says, $inflight in flight" "$(off_schedule)" ""
done

# Closed: two users on a server that takes 10 ms. Each has a row every 10 ms: rounds take 20 ms, not 10.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,User"
    for (i = 0; i < 20; i++)
        for (user = 0; user < 2; user++)
            printf "%.3f,Write,4096,Tier-1,k%d-%d,Prefill,user%d\n", i * 0.01, user, i, user
}' >"$TMP/u.csv"
exits "two users" 0 "$BIN/kvreplay" --full --timing closed --tier-engine 1=sim:lat=10ms --config lateness_budget=1s --no-notes -o "$TMP/r.csv" \
    "$TMP/u.csv"
is "a user's rows keep their distance from the row before" "$(awk -F, 'NR > 1 {
    if ($7 in end && $8 < end[$7] + 0.01 - 1e-6) print
    end[$7] = $10 + $11 / 1e6 }' "$TMP/r.csv")" ""
ms=$(elapsed "$TMP/r.csv" 10)
ok "a slow target slows its users down ($ms ms)" test "$ms" -ge 395
exits "a trace without users cannot be closed" 2 "$BIN/kvreplay" --full --timing closed --null "$TMP/t.csv"

# Spinning: never, or all the time, as asked; its CPU time is reported apart.
head -n 41 "$TMP/t.csv" >"$TMP/w.csv"
"$BIN/kvreplay" --full --timing trace --config spin=0 --config lateness_budget=1s --no-notes -o "$TMP/r.csv" --summary "$summary" "$TMP/w.csv" \
    2>/dev/null
is "--config spin=0 spins nothing" "$(json "$summary" .spin_s)" 0
exits "--config spin=1s" 0 "$BIN/kvreplay" --full --timing trace --config spin=1s --config lateness_budget=1s --no-notes -o "$TMP/r.csv" --summary "$summary" \
    "$TMP/w.csv"
is "spins, within the CPU time" "$(json "$summary" '.spin_s > 0, .spin_s <= .cpu_s')" "true true"
stderr_like "and says so" 'CPU .* busy-waiting'
exits "a wrong time" 2 "$BIN/kvreplay" --full --timing trace --config spin=soon "$TMP/w.csv"
exits "nothing to spin for" 2 "$BIN/kvreplay" --full --config spin=1ms "$TMP/w.csv"

# What a file names may be years: it is an error before it is waited for, unless the run ends before.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Duration_us,User\n' >"$TMP/head.csv"
{ cat "$TMP/head.csv"; printf '0,Write,1,Tier-1,k,Prefill,1,,u\n31708800,Read,1,Tier-1,k,Decode,1,,u\n'; } >"$TMP/later.csv"
{ cat "$TMP/head.csv"; printf '0,Write,1,Tier-1,k,Prefill,1,,u\n0,Generate,0,,,Decode,1,31708800000000,u\n'; } >"$TMP/long.csv"
for timing in trace 'served --workers 2' closed; do
    with "--timing $timing" exits "--timing $timing, a row after 367 days" 2 timeout 60 "$BIN/kvreplay" --null -o none "$TMP/later.csv"
    stderr_like 'says which, and what to do' '^kvreplay: row 2: comes more than 366 days after the first one: --duration '
    with "--timing $timing" exits "--timing $timing, a Generate of 367 days" 2 timeout 60 "$BIN/kvreplay" --null -o none "$TMP/long.csv"
    stderr_like 'says which, and what to do' '^kvreplay: row 2: its Generate takes more than 366 days: --duration '
done
exits 'with an end' 0 "$BIN/kvreplay" --null -o none --timing trace --duration 10ms "$TMP/later.csv"
exits 'as fast as possible' 0 "$BIN/kvreplay" --null -o none "$TMP/long.csv"
exits 'faster' 0 "$BIN/kvreplay" --null -o none --timing trace --speed 1e9 "$TMP/later.csv"
