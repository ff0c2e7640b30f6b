#!/bin/sh
# notes.t - Note rows and the columns of some results (Slot_us, First_byte_us, Rank, Endpoint, Thread) change nothing for the
# programs that do not use them: a trace with Notes has the digest, the report and the replay of the same trace without
# them. A bug looked like a Note counted as a row, executed, or found out of order; or a result refused for a column.
. "${0%/*}/../../lib.sh"

"$BIN/kvgen" --num-users 5 --duration 5 --arrival open --config decode_reads=batch --gpu-mem-gb 1 --cpu-mem-gb 1 --model tiny-1b --no-notes -o "$TMP/plain.csv" 2>"$TMP/err"
# A Note before the first row, some between rows, and one at the end, with quotes and a line end in its JSON.
awk 'function note() { printf ",Note,0,,\"{\"\"a\"\": [1,\n2]}\",,,,,,,,\n" }
    { print }
    NR == 1 || NR % 10 == 0 { note() }
    END { note() }' "$TMP/plain.csv" >"$TMP/notes.csv"
zstd -qf "$TMP/notes.csv" -o "$TMP/notes.csv.zst"
ok 'there are Notes' grep -q '^,Note,0,,' "$TMP/notes.csv"
digest() { # digest FILE: as kvgen prints it for the rows that it copies
    "$BIN/kvgen" --source trace --input "$1" -o /dev/null 2>&1 | sed -n 's/.*digest \([0-9a-f]*\)$/\1/p'
}
want=$(digest "$TMP/plain.csv")
like 'a digest' "$want" '^[0-9a-f]{32}$'
for form in csv csv.zst; do
    is "$form: kvgen copies the rows and no Note" "$(digest "$TMP/notes.$form")" "$want"
    is "$form: kvstat reports the same" "$("$BIN/kvstat" --full "$TMP/notes.$form" | sed 1d)" "$("$BIN/kvstat" --full "$TMP/plain.csv" | sed 1d)"
    is "$form: also with one thread" "$("$BIN/kvstat" --full --config threads=1 "$TMP/notes.$form" | sed 1d)" \
        "$("$BIN/kvstat" --full "$TMP/plain.csv" | sed 1d)"
    exits "$form: --verify-trace" 0 "$BIN/kvstat" --verify-trace "$TMP/notes.$form"
    is "$form: finds as many rows" "$(sed -n 's/.*: \([0-9,]* rows.*\)/\1/p' "$TMP/stdout")" \
        "$("$BIN/kvstat" --verify-trace "$TMP/plain.csv" | sed -n 's/.*: \([0-9,]* rows.*\)/\1/p')"
    exits "$form: kvreplay" 0 "$BIN/kvreplay" --null --no-notes -o "$TMP/result.csv" --summary "$TMP/summary.json" "$TMP/notes.$form"
    is "$form: executes the rows only" "$(wc -l <"$TMP/result.csv")" "$(wc -l <"$TMP/plain.csv")"
    not_ok "$form: and carries no Note" grep -q Note "$TMP/result.csv"
    is "$form: its digest is that of the rows" "$(json "$TMP/summary.json" .trace.digest)" "$want"
done
exits 'a bad row behind Notes' 2 sh -c "{ cat '$TMP/notes.csv'; echo bad; } | '$BIN/kvstat' -"
like 'is named by its line in the file' "$(cat "$TMP/stderr")" "standard input:$(($(wc -l <"$TMP/notes.csv") + 1)): 1 field"
exits 'a Note without a Key' 2 sh -c "{ cat '$TMP/plain.csv'; echo ',Note,0,,,,,,,,,,'; } | '$BIN/kvstat' -"
like 'is a bad row' "$(cat "$TMP/stderr")" 'Note row without Key'

# A result of several targets: columns and Status words that only other programs write so far.
awk -F, -v OFS=, 'NR == 1 { print $0, "First_byte_us", "Rank", "Endpoint", "Thread"; next }
    { $NF = NR % 50 == 0 ? "S3:SlowDown" : NR % 50 == 1 ? "lost" : NR % 50 == 2 ? "RESP:NEWER" : $NF
      print $0, "2.125", NR % 3, "\"s3://a,b\"", "t" NR }' "$TMP/result.csv" >"$TMP/many.csv"
exits 'kvstat reads it' 0 "$BIN/kvstat" --by status "$TMP/many.csv"
for status in lost S3:SlowDown RESP:Other; do like "and shows $status" "$(cat "$TMP/stdout")" "$status"; done
exits 'kvgen reads it' 0 "$BIN/kvgen" --source trace --input "$TMP/many.csv" -o "$TMP/copy.csv"
exits 'kvreplay reads it' 0 "$BIN/kvreplay" --null --no-notes -o "$TMP/again.csv" "$TMP/many.csv"
is 'and replaces its result columns' "$(head -n 1 "$TMP/again.csv")" "$(head -n 1 "$TMP/result.csv")"
exits 'a wrong length' 2 sh -c "sed '5s/,2\\.125,/,-2,/' '$TMP/many.csv' | '$BIN/kvgen' --source trace --input - -o /dev/null"
like 'is named' "$(cat "$TMP/stderr")" ":5: First_byte_us '-2' is not a duration"

# Through pipes and files alike, plain output has what frames carry: the provenance first, the summary last; kvreplay
# turns one into the other. A bug looked like a pipe whose report did not say that its GPU was simulated.
kvgen="$BIN/kvgen --num-users 5 --duration 5 --arrival open --config decode_reads=batch --gpu-mem-gb 1 --cpu-mem-gb 1 --model tiny-1b"
note() { # note N FILE: the JSON of the Note in line N ($: the last)
    sed -n "$1p" "$2" | sed 's/^,*Note,0,,"//; s/",*$//; s/""/"/g'
}
$kvgen -o "$TMP/g.csv.zst" 2>/dev/null
$kvgen 2>/dev/null | tee "$TMP/g.csv" | "$BIN/kvreplay" --null -o "$TMP/p.csv" --summary "$TMP/p.json" 2>/dev/null
is 'kvgen: a Note first and last, no others' "$(grep -n '^,Note,' "$TMP/g.csv" | cut -d : -f 1 | tr '\n' ' ')" \
    "2 $(lines "$TMP/g.csv") "
is 'the provenance of the frames' "$(note 2 "$TMP/g.csv")" "$(provenance "$TMP/g.csv.zst")"
note '$' "$TMP/g.csv" >"$TMP/end.json"
is 'rows and digest' "$(json "$TMP/end.json" '.program, .rows, .digest')" "kvgen $(($(lines "$TMP/g.csv") - 3)) $want"
is 'kvreplay: the provenance' "$(note 2 "$TMP/p.csv")" "$(provenance "$TMP/g.csv.zst")"
note '$' "$TMP/p.csv" >"$TMP/end.json"
is 'and the summary' "$(json "$TMP/end.json" .)" "$(json "$TMP/p.json" .)"
is 'in two Notes' "$(grep -c '^,Note,' "$TMP/p.csv")" 2
is 'with as many fields as a row' "$(sed -n '2s/{.*}//; 2p' "$TMP/p.csv" | tr -dc , | wc -c)" 19
"$BIN/kvreplay" --null -o "$TMP/p.csv.zst" "$TMP/p.csv" 2>/dev/null
is 'compressed results have frames' "$(provenance "$TMP/p.csv.zst")" "$(provenance "$TMP/g.csv.zst")"
not_ok 'and no Notes' sh -c "zstd -qdc '$TMP/p.csv.zst' | grep -q '^,Note,'"
"$BIN/kvreplay" --null -o "$TMP/q.csv" "$TMP/p.csv.zst" 2>/dev/null
is 'and plain ones Notes again' "$(note 2 "$TMP/q.csv")" "$(provenance "$TMP/g.csv.zst")"
$kvgen --format mlperf -o "$TMP/six.csv" 2>/dev/null
not_ok 'six columns have none' grep -q Note "$TMP/six.csv"
exits 'a copy of six columns' 0 "$BIN/kvgen" --input "$TMP/six.csv" -o "$TMP/copy.csv"
not_ok 'has none either' grep -q Note "$TMP/copy.csv"
$kvgen --no-notes -o "$TMP/g.csv" 2>/dev/null
not_ok '--no-notes' grep -q Note "$TMP/g.csv"
exits '--no-notes of frames' 2 "$BIN/kvreplay" --null --no-notes -o "$TMP/q.csv.zst" "$TMP/g.csv"
stderr_like 'is refused' 'applies only to results that are not compressed'
done_testing
