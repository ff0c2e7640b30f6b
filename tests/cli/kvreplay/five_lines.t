#!/bin/sh
# five_lines.t - the summary on standard error is five lines of 80 columns at most, that a new user understands: rows, what
# moved where, times, requests of a served run, validity. What is left out is counted, and --full has it. Bugs looked like a
# summary that scrolled the errors away, a P99 of a few reads, or an invalid run that did not say so.
# builds: plain
. "${0%/*}/../../lib.sh"
"$BIN/kvgen" --model tiny-1b --num-users 6 --duration 6 --seed 7 --gpu-mem-gb 0.1 --cpu-mem-gb 0.2 -o "$TMP/t.csv" 2>"$TMP/err"

# five NAME LINES ARGS...: a run whose standard error has so many lines.
five() {
    name=$1 want=$2
    shift 2
    exits "$name" 0 "$BIN/kvreplay" --progress none -o "$TMP/r.csv" "$@"
    is "$name: $want lines" "$(lines "$TMP/stderr")" "$want"
    is "$name: of 80 columns" "$(awk 'length > 80' "$TMP/stderr")" ''
}
rows=$(($(lines "$TMP/t.csv") - 3)) # header, and two Notes
five 'no device' 4 --null "$TMP/t.csv"
stderr_like 'rows first' "^$rows rows in [0-9.]+ [num]?s \([0-9,]+ rows/s\): all ok$"
stderr_like 'that nothing was done' '^nothing was executed \(empty engines\) of [0-9.]+ [GM]iB to read, [0-9.]+ [GM]iB to write$'
stderr_like 'times of storage' '^storage reads p50 [0-9]+ ns.*; max [0-9.]+ [num]?s$'
stderr_like 'the last line is on validity' '^validity: unknown: nothing was executed \(empty engines\)$'
five 'simulated tiers' 5 --tier-engine 2=sim --tier-engine 1=sim --tier-engine 0=null "$TMP/t.csv"
stderr_like 'what was simulated, and what not at all' '^read [0-9.]+ [GM]iB, wrote [0-9.]+ [GM]iB; simulated: storage, memory; nothing executed: GPU$'
exits 'a longer warm-up than the run' 0 "$BIN/kvreplay" --progress none --tier-engine 2=sim --tier-engine 1=sim --warmup 1h \
    --summary "$TMP/s.json" -o none "$TMP/t.csv"
is 'leaves nothing to judge' "$(json "$TMP/s.json" '.valid, .validity[0].figures, .validity[0].state')" 'null all unknown'
stderr_like 'and says so' '^validity: unknown: all rows started in the warm-up of 1 h 00 min: none is left'

# Sixty reads bound a P95 and no P99; of four writes nothing is known but the longest.
{
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request'
    for i in $(seq 60); do echo "$i,Read,4096,Tier-2,k$i,Decode,$i"; done
    for i in $(seq 4); do echo "$((60 + i)),Write,4096,Tier-2,w$i,Prefill,$((60 + i))"; done
} >"$TMP/few.csv"
exits 'a directory' 0 "$BIN/kvreplay" --progress none --nvme "$TMP/d" -o "$TMP/r.csv" "$TMP/few.csv"
stderr_like 'where it was moved' '^read 240 KiB, wrote 16\.0 KiB: storage \((io_uring|psync) on .+\)$'
stderr_like 'percentiles that their samples bound' '^storage reads p50 [0-9.]+ [num]?s, p95 [0-9.]+ [num]?s; writes: 4; max '
ok 'five lines at most' test "$(lines "$TMP/stderr")" -le 5

five 'served' 5 --tier-engine 2=sim --tier-engine 1=sim --tier-engine 0=sim --timing served --workers 2 --speed 50 "$TMP/t.csv"
stderr_like 'has its requests' '^[0-9]+ requests were let in to 2 workers; queue wait p50 .*, max '

# Rows that are not ok, and a run that is not valid.
exits 'nothing is there' 0 "$BIN/kvreplay" --progress none --nvme "$TMP/d" --on-absent skip -o "$TMP/r.csv" "$TMP/few.csv"
stderr_like 'is counted' '^64 rows in .*: 4 ok, 60 absent$'
exits 'a run that is late' 0 "$BIN/kvreplay" --progress none --null --timing trace --config lateness_budget=1ns -o "$TMP/r.csv" \
    --speed 1000 "$TMP/few.csv"
stderr_like 'is not valid' '^INVALID: '
exits '--full' 0 "$BIN/kvreplay" --progress none --full --null -o "$TMP/r.csv" "$TMP/t.csv"
stderr_like 'has a table by tier, operation and phase' '^  tier +op +phase +ops '
done_testing
