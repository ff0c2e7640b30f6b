#!/bin/sh
# closed_descriptors.t - programs that are started with standard input, output or error closed. A bug looked like progress text in
# the trace, in the results or in an object on the target, because the first file that was opened got the number 2.
# builds: plain (what is closed, not what is read)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 2000; i++) printf "%.6f,Write,4096,Tier-2,k%d,Prefill\n", i / 1000, i
}' >t.csv
# Progress is told after a second.
cat >slow <<'END'
head -n 1000 t.csv
sleep 1.3
tail -n +1001 t.csv
END
exits 'kvgen without standard error' 0 sh -c "sh slow | '$BIN/kvgen' --source trace --input - --progress json -o u.csv 2>&-"
ok 'its trace is clean' cmp t.csv u.csv
exits 'kvreplay without standard error' 0 sh -c "'$BIN/kvreplay' --null --no-notes --timing trace --progress json -o r.csv 2>&- <t.csv"
is 'its results are rows' "$(wc -l <r.csv) $(grep -vc ',ok$' r.csv)" '2001 1'
exits 'kvreplay without any' 0 sh -c "'$BIN/kvreplay' --nvme d --keep --no-notes --timing trace --progress json -o r.csv t.csv <&- >&- 2>&-"
is 'its results are rows, too' "$(wc -l <r.csv) $(grep -vc ',ok$' r.csv)" '2001 1'
exits 'what was kept is whole' 0 "$BIN/kvreplay" --nvme d --destroy-data --verify full -o r.csv t.csv
exits 'kvprecond without standard error' 0 sh -c "'$BIN/kvprecond' --size 4M --mode random --progress json f 2>&- >/dev/null"
exits 'kvstat without standard error' 0 sh -c "'$BIN/kvstat' --progress json -o k.txt r.csv 2>&-"
not_ok 'its report is clean' grep -q '^{' k.txt

# What needs the closed one says so.
for command in "kvgen --model tiny-1b --num-users 1 --duration 1" "kvreplay --null t.csv" "kvstat r.csv"; do
    exits "${command%% *} without standard output" 1 sh -c "'$BIN'/$command >&-"
    stderr_like 'is told' 'standard output: .*Bad file descriptor'
done
exits 'kvstat without standard input' 2 sh -c "'$BIN/kvstat' - <&-"
stderr_like 'is told, too' 'standard input: .*Bad file descriptor'
done_testing
