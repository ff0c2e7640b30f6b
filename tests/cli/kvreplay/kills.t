#!/bin/sh
# kills.t - kill -9 at random moments costs at most the last second of rows, whether they go to a compressed file, to
# plain CSV or into a pipe, and kvstat reports on the rest: "incomplete", exit status 2. KVTRACE_RUNS=20 kills more runs,
# KVTRACE_SEED=N at other moments. A bug looked like a run of minutes that left an empty file, or a file without its end
# that passed for whole.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

runs=${KVTRACE_RUNS:-3} seed=${KVTRACE_SEED:-1}
# 200 rows a second: far too few to fill a frame.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 12000; i++) printf "%.6f,Write,4096,Tier-2,k%d,Prefill\n", i / 200, i % 500
}' >"$TMP/t.csv"
moments=$(awk -v n="$runs" -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.2f\n", 1.3 + rand() * 2 }')

now() { date +%s.%N; }
# killed FORM MOMENT: a run that is killed so many seconds after its start; sets elapsed.
killed() {
    rm -f "$TMP"/r.*
    began=$(now)
    case $1 in
    pipe)
        mkfifo "$TMP/r.fifo"
        cat "$TMP/r.fifo" >"$TMP/r.pipe" &
        reader=$!
        "$BIN/kvreplay" --null --timing trace --progress none "$TMP/t.csv" >"$TMP/r.fifo" 2>"$TMP/err" &
        ;;
    *) "$BIN/kvreplay" --null --timing trace --progress none -o "$TMP/r.$1" "$TMP/t.csv" 2>"$TMP/err" & ;;
    esac
    pid=$!
    sleep "$2"
    kill -s KILL $pid
    elapsed=$(awk -v a="$(now)" -v b="$began" 'BEGIN { print a - b }')
    wait $pid 2>/dev/null
    [ "$1" != pipe ] || wait "$reader"
}
rows_of() { case $1 in *.zst) zstd -dcq "$1" 2>/dev/null ;; *) cat "$1" ;; esac; }
# within FORM MOMENT: a killed run has its rows up to a second before; starting up and a busy machine take another.
within() {
    killed "$1" "$2"
    last=$(rows_of "$TMP/r.$1" | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "Start") start = i }
        $2 == "Write" && $NF == "ok" { t = $start }
        END { print t + 0 }')
    awk -v last="$last" -v elapsed="$elapsed" 'BEGIN { print last, elapsed; exit !(last > elapsed - 2) }'
}

for form in csv.zst csv pipe; do
    for moment in $moments; do
        ok "$form, killed after $moment s: the rows are there" tries 3 within $form "$moment"
        if [ $form = csv.zst ]; then # a plain file that ends at a row's end does not tell
            rows=$(rows_of "$TMP/r.$form" | grep -c ',ok$')
            exits "is incomplete" 2 "$BIN/kvstat" --full "$TMP/r.$form"
            stderr_like "as kvstat says" \
                "^kvstat: .*r\.csv\.zst: incomplete: the run was killed after [0-9.]+ m?s; $rows rows recovered\$"
            stdout_like "and reports on the rest" "$rows rows over"
            exits "also with --check" 2 "$BIN/kvstat" --full --profile mlperf --check "$TMP/r.$form"
        fi
    done
done

# A kill while objects are written for the run to find: no row yet.
{
    sed -n 1p "$TMP/t.csv"
    echo 0.5,Read,4096,Tier-2,old,Decode
} >"$TMP/first.csv"
"$BIN/kvreplay" --tier-engine 2=sim:lat=60s --progress none -o "$TMP/r.csv.zst" "$TMP/first.csv" 2>"$TMP/err" &
pid=$!
until [ -s "$TMP/r.csv.zst" ] || ! kill -0 $pid; do sleep 0.05; done
rests $pid
kill -s KILL $pid
wait $pid 2>/dev/null
exits "killed before its first row" 2 "$BIN/kvstat" --full "$TMP/r.csv.zst"
stderr_like "is said" 'incomplete: the run was killed after its start; 0 rows recovered'

# Plain text tells by its last row, or by the Note that a finished file ends with where it begins with one.
"$BIN/kvreplay" --null --limit 9 --progress none --no-notes -o "$TMP/r.csv" "$TMP/t.csv" 2>"$TMP/err"
head -c -5 "$TMP/r.csv" >"$TMP/cut.csv"
for threads in 1 2; do
    exits "plain text that ends within a row, $threads threads" 2 "$BIN/kvstat" --full --config threads=$threads "$TMP/cut.csv"
    stderr_like "is incomplete" 'cut\.csv: incomplete: the run was killed after [0-9.]+ [mu]?s, or .*: cut after row 8 '
    stdout_like "and reported" '8 rows over'
done
exits "as a trace too" 2 "$BIN/kvreplay" --null --progress none -o "$TMP/again.csv" "$TMP/cut.csv"
is "its rows are replayed" "$(grep -c ',ok$' "$TMP/again.csv")" 8
"$BIN/kvreplay" --null --limit 9 --progress none -o "$TMP/ended.csv" "$TMP/t.csv" 2>"$TMP/err"
sed '$d' "$TMP/ended.csv" >"$TMP/begun.csv"
for threads in 1 2; do
    exits "a Note at the begin and at the end, $threads threads" 0 "$BIN/kvstat" --full --config threads=$threads "$TMP/ended.csv"
    exits "none at the end" 2 "$BIN/kvstat" --full --config threads=$threads "$TMP/begun.csv"
    stderr_like "is incomplete" 'begun\.csv: incomplete: the run was killed after [0-9.]+ [mu]?s; 9 rows recovered$'
done

# Cut later, within a frame: what came before is reported. And a trace that was cut is called so.
"$BIN/kvreplay" --null --progress none -o "$TMP/r.csv.zst" "$TMP/t.csv" 2>"$TMP/err"
head -c $(($(wc -c <"$TMP/r.csv.zst") / 4)) "$TMP/r.csv.zst" >"$TMP/cut.csv.zst"
exits "a result that is cut within a frame" 2 "$BIN/kvstat" --full "$TMP/cut.csv.zst"
stderr_like "may be either" 'incomplete: the run was killed after .*, or the file was cut there: cut after row [0-9]+ '
"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 5 -o "$TMP/w.csv.zst" 2>"$TMP/err"
head -c -20 "$TMP/w.csv.zst" >"$TMP/cut.csv.zst"
exits "a trace without its end" 2 "$BIN/kvstat" --full "$TMP/cut.csv.zst"
stderr_like "is cut" 'cut after row'
done_testing
