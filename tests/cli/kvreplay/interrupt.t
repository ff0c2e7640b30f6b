#!/bin/sh
# interrupt.t - runs that are stopped at random moments. By SIGINT, SIGTERM and SIGHUP: the result file is whole, all its
# rows are finished operations, the directory is gone (a slab that is a file is empty), the exit status is the signal's, and
# a slab that was to be kept has every object whose write the result shows. By SIGKILL: the next run clears what was
# left, and the result file can be read up to its last whole frame. KVTRACE_RUNS=50 stops more runs, KVTRACE_SEED=N
# others. A bug looked like a result that ended within a frame, a row without its result, a file that outlived its run,
# or a kept slab without its last objects.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
summary=$TMP/summary.json

runs=${KVTRACE_RUNS:-8} seed=${KVTRACE_SEED:-1}
# Rewrites, reads, moves and deletes of objects of odd sizes, some read first; more rows than any run here gets to.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival,Duration_us"
    for (i = 0; i < 20000; i++) {
        size = 1 + i * 7919 % 200000; t = i / 20000
        printf "%.4f,Write,%d,Tier-2,k%d,Prefill,%d,%.4f,\n", t, size, i, i, t
        printf "%.4f,Read,%d,Tier-2,k%d,Decode,%d,%.4f,\n", t, size, i, i, t
        if (i % 3 == 0) printf "%.4f,Delete,%d,Tier-2,k%d,Evict,%d,%.4f,\n", t, size, i, i, t
        else printf "%.4f,Read,%d,Tier-2,k%d,Evict,%d,%.4f,\n", t, size, i, i, t
        if (i % 100 == 0) printf "%.4f,Read,100,Tier-2,old%d,Evict,%d,%.4f,\n", t, i, i, t
    }
}' >"$TMP/t.csv"
moments() {
    awk -v n="$1" -v seed="$seed" 'BEGIN {
        srand(seed)
        for (i = 0; i < n; i++) printf "%.2f\n", 0.02 + rand() * 0.2
    }'
}
# await CONDITION...: waits until it holds or the run (pid) is over. Moments count from there, however slow a build is.
await() { until "$@" || ! kill -0 "$pid" 2>/dev/null; do sleep 0.02; done; }
# begun: signals are handled; written PATH: it holds more than its marker or header.
begun() { catches "$pid"; }
written() { [ -n "$(du -s --threshold=65K "$1" 2>/dev/null)" ]; }
replay() { exec "$BIN/kvreplay" --iodepth 8 --config frames=many -o "$TMP/r.csv.zst" --progress none "$@" 2>"$TMP/stderr"; }

# judged STATUS: what is wrong with a run that ended with that status.
judged() {
    [ "$1" -eq "$want" ] || echo "exit status $1, wanted $want: $(cat "$TMP/stderr")"
    [ ! -e "$TMP/d" ] || echo "the directory is still there"
    [ ! -s "$TMP/slab" ] || echo "the slab is not empty"
    if [ -e "$TMP/r.csv.zst" ]; then
        zstd -tq "$TMP/r.csv.zst" 2>&1
        zstd -dcq "$TMP/r.csv.zst" | awk -F, '
            NR == 1 { columns = NF }
            NF != columns || (NR > 1 && $NF != "ok") || $14 == "" { bad++ }
            END { if (bad || !NR) print bad + 0 " bad rows of " NR - 1 }'
    else
        grep -qv 'stopping: finishing' "$TMP/stderr" && echo "no result, and: $(cat "$TMP/stderr")"
    fi
}

kept=$(((runs + 3) / 4))
plan $((runs + kept * 2 + 11))
# stopped MOMENT CONDITION ARGUMENTS...: a run that gets a signal so many seconds after the condition on its target
# holds; sets signal, want (the exit status to expect) and status.
stopped() {
    moment=$1 condition=$2
    shift 2
    case $moment in *[0369]) signal=INT want=130 ;; *[147]) signal=HUP want=129 ;; *) signal=TERM want=143 ;; esac
    rm -f "$TMP/r.csv.zst"
    replay "$@" &
    pid=$!
    await "$condition" "$target"
    sleep "$moment"
    kill -s $signal $pid
    status=0
    wait $pid || status=$?
}

run=0 rows=0
for moment in $(moments "$runs"); do
    run=$((run + 1))
    target=$TMP/d
    # Some signals come while the trace is looked through and the target prepared, before the first row.
    if [ $((run % 4)) -eq 0 ]; then condition=begun; else condition=written; fi
    case $((run % 6)) in
    0) how='--timing served --workers 20' ;;
    1) how='--inflight 64' ;;
    2) how='--timing trace --config ioengine=psync' ;;
    3) how='--inflight 1 --verify full' ;;
    4) how='--layout slab --config rings=2' ;;
    5) how='--timing trace --verify full' target=$TMP/slab && : >"$TMP/slab" ;;
    esac
    with "$how" stopped "$moment" $condition --nvme "$target" --limit 50000 "$TMP/t.csv"
    is "run $run: SIG$signal after $moment s, $how" "$(judged "$status")" ""
    [ ! -e "$TMP/r.csv.zst" ] || rows=$((rows + $(zstd -dcq "$TMP/r.csv.zst" | wc -l)))
done
ok "rows were done in them ($rows, with headers)" test "$rows" -gt "$runs"

# Kept: 500 objects, each written many times, in a slab that another run adopts.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 50000; i++) printf "0,Write,%d,Tier-2,k%d,Prefill\n", 1 + i % 500 * 7919 % 200000, i % 500
}' >"$TMP/w.csv"
{ sed -n 1p "$TMP/w.csv"; sed -n '2,501s/Write\(.*\)Prefill/Read\1Decode/p' "$TMP/w.csv"; } >"$TMP/read.csv"
total=0 target=$TMP/slab
for moment in $(moments "$kept"); do
    : >"$TMP/slab"
    stopped "$moment" written --nvme "$TMP/slab" --keep "$TMP/w.csv"
    is "kept slab: SIG$signal after $moment s" "$status" "$want"
    keys=$({ [ ! -e "$TMP/r.csv.zst" ] || zstd -dcq "$TMP/r.csv.zst"; } |
        awk -F, '$NF == "ok" && !seen[$5]++ { n++ } END { print n + 0 }')
    "$BIN/kvreplay" --nvme "$TMP/slab" --destroy-data --verify full --progress none -o "$TMP/r.csv" \
        --summary "$summary" "$TMP/read.csv" 2>"$TMP/stderr"
    is "what it wrote is adopted, $keys objects, and whole" \
        "$? $(json "$summary" '.populated.adopted_objects, .rows.ok')" "0 $keys 500"
    total=$((total + keys))
done
ok "something was written in them ($total)" test "$total" -gt 0

# Killed when the result has a whole frame and the start of another: nearly all rows go to an empty tier, which is fast.
frame=$(printf '\050\265\057\375') # the magic number of zstd
two_frames() { [ "$(LC_ALL=C grep -aoF "$frame" "$TMP/r.csv.zst" 2>/dev/null | wc -l)" -ge 2 ]; }
rm -f "$TMP/r.csv.zst"
awk -F, -v OFS=, 'NR > 1 && NR % 2000 != 1 { $4 = "Tier-1" } { print }' "$TMP/t.csv" >"$TMP/fast.csv"
"$BIN/kvreplay" --nvme "$TMP/d" --tier-engine 1=null --config loops=100 -o "$TMP/r.csv.zst" --progress none "$TMP/fast.csv" \
    2>"$TMP/stderr" &
pid=$!
await two_frames
kill -s KILL $pid
wait $pid 2>/dev/null
is "SIGKILL: the marker and objects are left" "$(find "$TMP/d" -type f | wc -l | awk '{ print ($1 > 1) }')" 1
"$BIN/kvstat" --json -o "$TMP/k.json" "$TMP/r.csv.zst" 2>"$TMP/stderr"
isnt "the result is cut" $? 0
stderr_like "is said" 'r.csv.zst'
whole=$(zstd -dcq "$TMP/r.csv.zst" 2>/dev/null | grep -c ',ok$')
ok "its whole frames read ($whole rows)" test "$whole" -gt 1000
is "no row of them is unfinished" \
    "$(zstd -dcq "$TMP/r.csv.zst" 2>/dev/null | sed '1d;$d' | grep -Evc ',(ok|absent)$')" 0
(replay --nvme "$TMP/d" --limit 100 "$TMP/t.csv")
is "the next run is well" $? 0
not_ok "and clears what was left" test -e "$TMP/d"

# What goes wrong after the signal is said: here the result does not fit where it goes.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 1000; i++) printf "%d,Write,4096,Tier-1,k%d,Prefill\n", i * 60, i
}' >"$TMP/slow.csv"
"$BIN/kvreplay" --timing trace --tier-engine 1=null --progress none -o /dev/full "$TMP/slow.csv" 2>"$TMP/stderr" &
pid=$!
await catches "$pid"
rests $pid
kill -s TERM $pid
status=0
wait $pid || status=$?
is "stopped, with a result that cannot be written" "$status" 143
stderr_like "that is said" '/dev/full: .*(ENOSPC|No space)'
