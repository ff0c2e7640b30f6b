#!/bin/sh
# signals.t - Ctrl-C once, twice, three times. Once: a line at once, then the program finishes what is under way, with
# whole files and its summary. Twice: operations in flight are abandoned (Status ECANCELED), files and summary are as
# whole. Three times: it dies. kvstat behind a pipe waits for what the others still write, so that Ctrl-C in a terminal
# shows the report of a pipeline. A bug looked like an empty file after the second signal, a pipeline without its report,
# or a program that read on.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# The second signal leaves the threads of a tier that hangs behind.
TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}report_thread_leaks=0"
export TSAN_OPTIONS

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 6000; i++) printf "%.6f,Write,4096,Tier-2,k%d,Prefill\n", i / 100, i
}' >"$TMP/t.csv"

# signalled SIGNAL...: sends these to $pid. Two that wait are one, and so are two within 0.1 s: each comes once the line that
# answers the first is there, and a moment later.
signalled() {
    for signal; do
        ! said_stopping || sleep 0.2
        kill -s "$signal" "$pid" 2>/dev/null
        until said_stopping || ! kill -s 0 "$pid" 2>/dev/null; do sleep 0.02; done
    done
}
said_stopping() { grep -q ': stopping: ' "$TMP/stderr"; }
ended() { wait "$pid" 2>/dev/null; }
# hangs ERE TRACE: a replay on a tier whose operations take an hour each, once its progress is like that.
hangs() {
    rm -f "$TMP"/r.*
    "$BIN/kvreplay" --full --tier-engine 2=sim:lat=3600s --timing trace --progress json -o "$TMP/r.csv.zst" "$2" 2>"$TMP/stderr" &
    pid=$!
    until grep -Eq "$1" "$TMP/stderr" || ! kill -s 0 $pid; do sleep 0.05; done
}
many='"in_flight": [1-9][0-9]'

# ---- kvreplay ----
hangs "$many" "$TMP/t.csv"
signalled INT
stderr_like 'kvreplay, one signal: a line at once' '^kvreplay: stopping: finishing [1-9][0-9]* operations; again to abort$'
ok 'it waits for what is in flight' kill -s 0 $pid
signalled INT
ended
is 'two: it ends' $? 130
ok 'the file is whole' zstd -tq "$TMP/r.csv.zst"
ok 'what was in flight is ECANCELED' test "$(zstd -dcq "$TMP/r.csv.zst" | grep -c ',ECANCELED$')" -gt 10
stderr_like 'there is a summary' '^[0-9]+ rows in .* 0 ok, .* [1-9][0-9]* failed'
stderr_unlike 'and no line for each of them' 'kvreplay: row'
exits 'which the file has, too' 0 "$BIN/kvstat" --json -o "$TMP/k.json" "$TMP/r.csv.zst"
hangs "$many" "$TMP/t.csv"
signalled INT INT TERM
ended
like 'three: it ends' $? '^(143|130)$'

# While objects are written that the trace only reads.
sed 's/Write\(.*\)Prefill/Read\1Decode/' "$TMP/t.csv" >"$TMP/reads.csv"
hangs '"phase": "populate"' "$TMP/reads.csv"
signalled INT
stderr_like 'before the run, one signal: a line' '^kvreplay: stopping: finishing [1-9][0-9]* writes; again to abort$'
signalled INT
ended
is 'two: it ends' $? 130

# A target that is abandoned and answers: it is cleaned up all the same.
"$BIN/kvreplay" --nvme "$TMP/d" --timing trace --progress none -o "$TMP/r.csv.zst" "$TMP/t.csv" 2>"$TMP/stderr" &
pid=$!
until [ "$(find "$TMP/d" -name '*.kv' 2>/dev/null | wc -l)" -gt 20 ]; do sleep 0.05; done
signalled INT INT
ended
is 'two signals on a directory' $? 130
not_ok 'leave nothing there' test -e "$TMP/d"
ok 'and a whole file' zstd -tq "$TMP/r.csv.zst"

# ---- kvgen ----
"$BIN/kvgen" --num-users 50 --duration 100000 --model tiny-1b --progress none -o "$TMP/g.csv.zst" 2>"$TMP/stderr" &
pid=$!
until [ -s "$TMP/g.csv.zst" ]; do sleep 0.05; done
signalled INT
ended
is 'kvgen, one signal' $? 130
stderr_like 'a line' '^kvgen: stopping: finishing the output; again to abort$'
ok 'a whole file' zstd -tq "$TMP/g.csv.zst"
mkfifo "$TMP/fifo"
exec 3<>"$TMP/fifo"
"$BIN/kvgen" --num-users 50 --duration 100000 --model tiny-1b --progress none >"$TMP/fifo" 2>"$TMP/stderr" &
pid=$!
catches $pid
rests $pid
signalled INT INT
ended
is 'two, where nobody reads' $? 130
exec 3>&-

# ---- kvprecond ----
for times in 1 2; do
    "$BIN/kvprecond" --size 1G --mode random --config iodepth=1 --config ioengine=psync --progress none --summary "$TMP/p.json" "$TMP/p" \
        >"$TMP/stdout" 2>"$TMP/stderr" &
    pid=$!
    until [ -s "$TMP/p/fill-000000.kv" ] || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
    if [ $times -eq 1 ]; then signalled INT; else signalled INT INT; fi
    ended
    is "kvprecond, $times" $? 130
    stderr_like 'a line' '^kvprecond: stopping: finishing the writes in flight; again to abort$'
    is 'a summary' "$(json "$TMP/p.json" .ended_by)" SIGINT
    not_ok 'nothing is left' test -e "$TMP/p"
done

# ---- kvstat ----
"$BIN/kvreplay" --null --no-notes --progress none -o "$TMP/r.csv" "$TMP/t.csv" 2>"$TMP/stderr"
# feeding: rows that come for as long as $TMP/feed is there.
feeding() {
    touch "$TMP/feed"
    {
        head -n 1001 "$TMP/r.csv"
        while [ -e "$TMP/feed" ]; do sleep 0.1; done
        sed -n '1002,2001p' "$TMP/r.csv"
    } >"$TMP/fifo" &
    "$BIN/kvstat" --full --progress none <"$TMP/fifo" >"$TMP/stdout" 2>"$TMP/stderr" &
    pid=$!
    catches $pid
    rests $pid
}
feeding
signalled INT
stderr_like 'kvstat, one signal: a line' '^kvstat: stopping: reporting on what arrives; again to report now$'
ok 'it reads on' kill -s 0 $pid
rm "$TMP/feed"
ended
is 'to the end' $? 130
stdout_like 'and reports on all of it' '2,000 rows over'
feeding
signalled INT INT
ended
is 'two: it ends' $? 130
rm "$TMP/feed"
stdout_like 'with a report on what came' '1,000 rows over'
stderr_like 'says so' 'standard input: reading was interrupted'

# A file of blank lines that takes minutes to read; rows come before them.
yes '' | head -c 200000000 | zstd -qc >"$TMP/blank.zst"
for _ in 1 2 3 4 5 6 7 8 9 10; do cat "$TMP/blank.zst" "$TMP/blank.zst" >"$TMP/long.zst" && mv "$TMP/long.zst" "$TMP/blank.zst"; done
{ zstd -qc "$TMP/r.csv" && cat "$TMP/blank.zst"; } >"$TMP/long.zst"
for program in "kvstat $TMP/long.zst" "kvgen --source trace --input $TMP/long.zst -o /dev/null" \
    "kvreplay --null -o /dev/null $TMP/long.zst"; do
    with "${program#* }" exec timeout 100 "$BIN/${program%% *}" >"$TMP/stdout" 2>"$TMP/stderr" &
    wrapper=$!
    until pid=$(pgrep -P $wrapper); do sleep 0.02; done
    catches "$pid"
    until [ "$(sed -n 's/^rchar: //p' "/proc/$pid/io")" -gt 200000 ] 2>/dev/null || ! kill -s 0 "$pid" 2>/dev/null; do sleep 0.02; done
    ok "${program%% *} reads a long file" kill -s 0 "$pid"
    kill -s INT "$pid"
    wait $wrapper
    is 'one signal ends it' $? 130
done

# ---- a terminal ----
screen=$TMP/screen
told_stopping() { grep -q '^kvstat: stopping: ' "$screen"; }
was_read() { awk '/^rchar/ { print $2 }' "/proc/$pid/io" 2>/dev/null || echo 0; }
if has_terminal; then
    pipeline="'$BIN/kvgen' --num-users 50 --duration 36000 --model tiny-1b --progress none 2>'$TMP/gen' |
        '$BIN/kvreplay' --tier-engine 0=null --tier-engine 1=null --tier-engine 2=null --timing trace --progress none \
            2>'$TMP/replay' | sh -c 'echo \$\$ >\"\$0\" && exec \"\$@\"' '$TMP/reader' '$BIN/kvstat' --full --progress none >'$TMP/report'"
    for times in 1 2 3; do
        rm -f "$TMP/reader"
        {
            # Once rows have come to the end of the pipeline.
            until [ -s "$TMP/reader" ]; do sleep 0.05; done
            pid=$(cat "$TMP/reader")
            catches "$pid"
            before=$(was_read)
            until [ "$(was_read)" -gt $((before + 8000)) ] || ! kill -s 0 "$pid"; do sleep 0.05; done
            # A second one comes when the first was heard, a third when kvstat, which it would kill, has ended.
            printf '\003'
            if [ $times -gt 1 ]; then
                until told_stopping || ! kill -s 0 "$pid"; do sleep 0.05; done
                sleep 0.2
                printf '\003'
            fi
            until ! kill -s 0 "$pid"; do sleep 0.05; done
            [ $times -lt 3 ] || printf '\003'
        } | timeout 100 script -qec "$pipeline" /dev/null >"$TMP/screen" 2>&1
        like "Ctrl-C, $times times: the report of the pipeline" "$(cat "$TMP/report")" 'replay results, [1-9][0-9,]* rows'
        like 'and the summary of the replay' "$(cat "$TMP/replay")" '^[0-9]+ rows? in '
        like 'kvstat says what it does' "$(cat "$TMP/screen")" '^kvstat: stopping: '
    done
else
    ok 'Ctrl-C in a terminal # SKIP no terminals here (script, /dev/pts)' true
fi
done_testing
