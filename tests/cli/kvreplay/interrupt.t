#!/bin/sh
# interrupt.t - runs stopped at random moments. By SIGINT and SIGTERM: the result file reads whole, its rows are all
# finished operations, the directory is gone (a slab that is a file is empty), the exit status is the signal's; a slab that was to
# be kept has every object whose write the result shows. By SIGKILL: the next run clears what was left, and the result file reads
# to its last whole frame. KVTRACE_RUNS=50 does more of it, KVTRACE_SEED others.
# A bug looked like this: a result that ended within a frame, a row without its result, a file that outlived its run, a kept slab
# without its last objects.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

runs=${KVTRACE_RUNS:-8} seed=${KVTRACE_SEED:-1}
# Rewrites, reads, moves and deletes of objects of odd sizes, without end as far as a run here goes; some are read first.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival,Duration_us"
    for (i = 0; i < 80000; i++) {
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
        for (i = 0; i < n; i++) printf "%.2f\n", 0.05 + rand() * 0.8
    }'
}
# await CONDITION...: until it holds, or the run (pid) is over; so moments are of the run, however slow its build is.
await() { until "$@" || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done; }
# begun: signals are caught; written PATH: more than its marker or header is there.
begun() { catches "$pid"; }
written() { [ "$(du -sk "$1" 2>/dev/null | cut -f 1)" -gt 64 ] 2>/dev/null; }
replay() { exec "$BIN/kvreplay" --iodepth 8 --frames many -o "$TMP/r.csv.zst" --progress none "$@" 2>"$TMP/stderr"; }

# judged STATUS: what is wrong with a run that ended with that status; nothing: nothing.
judged() {
    [ "$1" -eq "$want" ] || echo "exit status $1, wanted $want: $(cat "$TMP/stderr")"
    [ ! -e "$TMP/d" ] || echo "the directory is still there"
    [ ! -s "$TMP/slab" ] || echo "the slab is not empty"
    if [ -e "$TMP/r.csv.zst" ]; then
        zstd -tq "$TMP/r.csv.zst" 2>&1
        zstd -dcq "$TMP/r.csv.zst" | awk -F, 'NR == 1 { n = NF } NF != n || (NR > 1 && $NF != "ok") || $14 == "" { bad++ }
            END { if (bad || !NR) print bad + 0 " bad rows of " NR - 1 }'
    else
        grep -q . "$TMP/stderr" && echo "no result, and: $(cat "$TMP/stderr")"
    fi
}

kept=$(((runs + 3) / 4))
plan $((runs + kept * 2 + 9))
# stopped MOMENT CONDITION ARGUMENTS...: a run that gets a signal then, counted from when the condition on its target holds;
# sets signal, want and status.
stopped() {
    moment=$1 condition=$2
    shift 2
    case $moment in *[02468]) signal=INT want=130 ;; *) signal=TERM want=143 ;; esac
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
    2) how='--timing trace --ioengine psync' ;;
    3) how='--inflight 1 --verify full' ;;
    4) how='--layout slab --rings 2' ;;
    5) how='--timing trace --verify full' target=$TMP/slab && : >"$TMP/slab" ;;
    esac
    # shellcheck disable=SC2086
    stopped "$moment" $condition --nvme "$target" --limit 50000 $how "$TMP/t.csv"
    is "run $run: SIG$signal after $moment s, $how" "$(judged $status)" ""
    [ ! -e "$TMP/r.csv.zst" ] || rows=$((rows + $(zstd -dcq "$TMP/r.csv.zst" | wc -l)))
done
ok "rows were done in them ($rows, with headers)" test "$rows" -gt "$runs"

# Kept: 500 objects, each written again and again, in a slab that another run takes over.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 100000; i++) printf "0,Write,%d,Tier-2,k%d,Prefill\n", 1 + i % 500 * 7919 % 200000, i % 500
}' >"$TMP/w.csv"
{ sed -n 1p "$TMP/w.csv"; sed -n '2,501s/Write\(.*\)Prefill/Read\1Decode/p' "$TMP/w.csv"; } >"$TMP/read.csv"
total=0 target=$TMP/slab
for moment in $(moments "$kept"); do
    : >"$TMP/slab"
    stopped "$moment" written --nvme "$TMP/slab" --keep "$TMP/w.csv"
    is "kept slab: SIG$signal after $moment s" "$status" "$want"
    keys=$({ [ ! -e "$TMP/r.csv.zst" ] || zstd -dcq "$TMP/r.csv.zst"; } | awk -F, '$NF == "ok" && !seen[$5]++ { n++ } END { print n + 0 }')
    "$BIN/kvreplay" --nvme "$TMP/slab" --verify full --progress none -o "$TMP/r.csv" --summary "$TMP/summary.json" "$TMP/read.csv" 2>"$TMP/stderr"
    is "what it wrote is adopted, $keys objects, and whole" "$? $(member populated.adopted_objects) $(member rows.ok)" "0 $keys 500"
    total=$((total + keys))
done
ok "something was written in them ($total)" test "$total" -gt 0

# Killed: with the objects kept in place, one frame and more behind it.
frames() { python3 -c '
import struct, sys
b, at, n = open(sys.argv[1], "rb").read(), 0, 0
while (at := b.find(struct.pack("<I", 0xFD2FB528), at)) >= 0: at, n = at + 1, n + 1
print(n)' "$1"; }
rm -f "$TMP/r.csv.zst"
"$BIN/kvreplay" --nvme "$TMP/d" --tier-engine 1=null --loops 100 -o "$TMP/r.csv.zst" --progress none "$(
    { head -n 1 "$TMP/t.csv"; sed 1d "$TMP/t.csv" | awk -F, -v OFS=, '{ if (NR % 2000) $4 = "Tier-1"; print }'; } >"$TMP/k.csv"; echo "$TMP/k.csv")" \
    2>"$TMP/stderr" &
pid=$!
framed() { [ -s "$1" ] && [ "$(frames "$1")" -ge 2 ]; }
await framed "$TMP/r.csv.zst"
kill -s KILL $pid
wait $pid 2>/dev/null
is "SIGKILL: the marker and objects are left" "$(find "$TMP/d" -type f | wc -l | awk '{ print ($1 > 1) }')" 1
"$BIN/kvstat" --json -o "$TMP/k.json" "$TMP/r.csv.zst" 2>"$TMP/stderr"
isnt "the result is cut" $? 0
like "is said" "$(cat "$TMP/stderr")" 'r.csv.zst'
whole=$(zstd -dcq "$TMP/r.csv.zst" 2>/dev/null | grep -c ',ok$')
ok "its whole frames read ($whole rows)" test "$whole" -gt 1000
is "no row of them is unfinished" "$(zstd -dcq "$TMP/r.csv.zst" 2>/dev/null | sed '1d;$d' | grep -Evc ',(ok|absent)$')" 0
(replay --nvme "$TMP/d" --limit 500 "$TMP/t.csv")
is "the next run is well" $? 0
not_ok "and clears what was left" test -e "$TMP/d"
