#!/bin/sh
# The measurements of other clients as results: warp's benchdata, and the op-log of sai3-bench, whose own figures kvstat
# gives. What is no read, write or deletion is counted apart. A bug looked like an operation that counted twice, or a
# comparison of two clients that did not say so.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

warp=$DATA/warp_mixed_3s.csv.zst
sai3=$DATA/sai3_oplog_recorded_2s.tsv.zst
# Counts, bytes, means and maxima are exact; percentiles are those of a histogram, within 0.1 %.

exits 'benchdata: a result' 0 "$BIN/kvstat" --json "$warp"
cp "$TMP/stdout" "$TMP/warp.json"
json_like "$TMP/warp.json" <<'END'
benchdata: kind and client | .kind, .run.client | result warp
benchdata: GET | .groups[] | select(.by.op == "Read") | .ops, .bytes | 471 30867456
benchdata: GET, mean and max | .groups[] | select(.by.op == "Read") | .service_us | (.mean * 1000 | round), (.max * 10 | round) | 4922742 296239
benchdata: no evidence of how far to believe it | .validity.line | unknown: another client's log \(warp\) carries no evidence
benchdata: GET, p90 | .groups[] | select(.by.op == "Read") | .service_us.p90 / 9794.514 - 1 | fabs < 0.001 | true
benchdata: PUT | .groups[] | select(.by.op == "Write") | .ops, .bytes | 154 10092544
benchdata: PUT, mean and max | .groups[] | select(.by.op == "Write") | .service_us | (.mean, .max) * 1000 | round | 44212986 274309532
benchdata: PUT, p50 | .groups[] | select(.by.op == "Write") | .service_us.p50 / 19925.753 - 1 | fabs < 0.001 | true
benchdata: PUT, p90 | .groups[] | select(.by.op == "Write") | .service_us.p90 / 121385.959 - 1 | fabs < 0.001 | true
benchdata: PUT, p99 | .groups[] | select(.by.op == "Write") | .service_us.p99 / 258330.954 - 1 | fabs < 0.001 | true
benchdata: DELETE | .groups[] | select(.by.op == "Delete") | .ops, (.service_us.mean * 1000 | round) | 108 14894102
benchdata: STAT is counted apart | .run.notes[0] | 318 STAT counted apart: latency 4339\.051 us on average.*
benchdata: STAT in JSON | .run.apart[] | .op, .ops, (.service_us.mean * 1000 | round) | STAT 318 4339051
END

# Times to the first byte are figures like the others, of files that have them: warp's of GETs, as awk finds them.
zstd -dqc "$warp" | awk -F '\t' '
    function s(t,  p) { split(t, p, /[T:Z]/); return ((p[2] * 60 + p[3]) * 60 + p[4]) }
    $3 == "GET" && $11 != "" { d = (s($11) - s($10)) * 1e6; sum += d; n++; max = d > max ? d : max }
    END { printf "%d %.0f %.0f", n, sum / n, max }' >"$TMP/first"
is 'benchdata: first bytes' "$(json "$TMP/warp.json" \
    '.groups[] | select(.by.op == "Read") | .first_byte_us | .count, (.mean, .max | round)')" \
    "$(cat "$TMP/first")"
exits 'benchdata: in text' 0 "$BIN/kvstat" --full "$warp"
stdout_like 'benchdata: a table of them' '^First byte - from the start to the first byte of the answer$'
exits 'benchdata: in CSV' 0 "$BIN/kvstat" --csv "$warp"
like 'benchdata: under their name' "$(csv_rows "$TMP/stdout" | cut -f 1)" '^groups\.Tier-2/Read/Decode\.first_byte_us\.p99$'
exits 'a result of ours without them' 0 "$BIN/kvstat" --json "$DATA/kvstat_dozen.csv"
stdout_unlike 'has none' first_byte_us

exits 'an op-log: a result' 0 "$BIN/kvstat" --json "$sai3"
cp "$TMP/stdout" "$TMP/sai3.json"
json_like "$TMP/sai3.json" <<'END'
an op-log: each operation once | .groups[] | select(.by.op == "Read") | .service_us.count, .bytes | 301 299949076
an op-log: each PUT, too | .groups[] | select(.by.op == "Write") | .ops | 162
an op-log: one GET failed | .groups[] | select(.by.op == "Read") | .ops, .failed | 302 1
an op-log: in all | .status.failed | 1
an op-log: GET, mean and max | .groups[] | select(.by.op == "Read") | .service_us | (.mean, .max) * 1000 | round | 12051514 39055483
an op-log: GET, p50 | .groups[] | select(.by.op == "Read") | .service_us.p50 / 10807.171 - 1 | fabs < 0.001 | true
an op-log: GET, p99 | .groups[] | select(.by.op == "Read") | .service_us.p99 / 37606.514 - 1 | fabs < 0.001 | true
an op-log: LIST in JSON | .run.apart[] | .op, .ops | LIST 37
an op-log: what is counted apart | [.run.notes[] | split(":")[0]] | join(", ") | 37 LIST counted apart, 442 operations were logged by two layers
END
exits 'an op-log: --check sees it' 1 "$BIN/kvstat" --profile throughput --check --json "$sai3"
is 'an op-log: as failed rows' "$(json "$TMP/stdout" '.assessment.criteria[] | select(.name == "failed_rows") | .actual')" 1
exits 'benchdata: STAT in CSV' 0 "$BIN/kvstat" --csv "$warp"
like 'benchdata: under its name' "$(csv_rows "$TMP/stdout" | cut -f 1)" '^run\.apart\.STAT\.ops$'

# The same by way of a trace of ours, of a pipe, and in a folder.
"$BIN/kvgen" --input "$warp" -o "$TMP/ours.csv.zst" 2>/dev/null
"$BIN/kvstat" --json "$TMP/ours.csv.zst" >"$TMP/ours.json"
"$BIN/kvstat" --json <"$warp" >"$TMP/pipe.json"
zstd -dqc "$warp" | "$BIN/kvstat" --json --config threads=3 >"$TMP/plain.json"
(cd "$TMP" && jq -c .groups warp.json ours.json pipe.json plain.json >groups)
{ read -r of_warp && read -r of_ours && read -r of_pipe && read -r of_plain; } <"$TMP/groups"
is 'by way of a result of ours: the same groups' "$of_ours" "$of_warp"
is 'from standard input' "$of_pipe" "$of_warp"
is 'plain, of a pipe' "$of_plain" "$of_warp"
is 'by way of a result of ours: whose it is' "$(json "$TMP/ours.json" '.run.client, .validity.line')" \
    "warp unknown: another client's log (warp) carries no evidence"
# A replay of it that was killed has the log's provenance and no summary, but columns that kvreplay alone writes.
"$BIN/kvreplay" --progress none --null -o "$TMP/replayed.csv" "$TMP/ours.csv.zst" 2>/dev/null
sed '$d' "$TMP/replayed.csv" >"$TMP/killed.csv"
exits 'a killed replay of it' 2 "$BIN/kvstat" --json "$TMP/killed.csv"
is 'is no log of that client' "$(json "$TMP/stdout" '.run.client, .validity.line')" \
    'kvreplay unknown: no summary of the replay came with the rows'
mkdir "$TMP/runs"
cp "$warp" "$sai3" "$TMP/runs"
exits 'a folder of them' 0 "$BIN/kvstat" --json "$TMP/runs"
is 'a folder of them: two runs' "$(json "$TMP/stdout" '.runs | length')" 2

# The report says whose measurements they are, of the log and of its copy.
exits 'on one screen' 0 "$BIN/kvstat" "$warp"
stdout_like 'on one screen: whose log it is' '   log of warp, 3\.07 s$'
exits 'in text' 0 "$BIN/kvstat" --full "$warp"
stdout_like 'in text: whose log it is' 'warp_mixed_3s\.csv\.zst: another client.s log \(warp\), 733 rows over '
exits 'a copy in text' 0 "$BIN/kvstat" --full "$TMP/ours.csv.zst"
stdout_like 'a copy in text: likewise' 'another client.s log \(warp\), 733 rows over '
"$BIN/kvgen" --input "$sai3" -o "$TMP/ours2.csv" 2>/dev/null
exits 'copies of two clients' 0 "$BIN/kvstat" --compare "$TMP/ours.csv.zst" --json "$TMP/ours2.csv"
like 'copies of two clients: differ' "$(json "$TMP/stdout" '.compare.clients_differ, .compare.sentence')" '^true .*base: warp, new: s3dlio or'
"$BIN/kvreplay" --null --progress none -o "$TMP/replayed.zst" "$TMP/ours2.csv" 2>/dev/null
exits 'a replay of a copy' 0 "$BIN/kvstat" --json "$TMP/replayed.zst"
is 'a replay of a copy: is of kvreplay' "$(json "$TMP/stdout" .run.client)" kvreplay

# What needs the keys or the order of our own traces says so.
for option in --reuse --verify-trace; do
    exits "$option of a log" 2 "$BIN/kvstat" $option "$warp"
    stderr_like "$option of a log: what to give" "^kvstat: $option: .*warp_mixed_3s.csv.zst is a log of another client: give the copy that"
    exits "$option of its copy" "$([ $option = --reuse ] && echo 0 || echo 2)" "$BIN/kvstat" $option "$TMP/ours.csv.zst"
done

# Some clients note the end of a GET as its first byte, or the start of a PUT: when it came is not known then.
first_bytes() { # FIRST BYTE OF THE SECOND GET, OF THE THIRD
    printf 'idx\tthread\top\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\n'
    row() { printf '0\t0\t%s\t7\thttp://h\tx%s\t\t2025-01-01T00:00:%sZ\t2025-01-01T00:00:%sZ\t2025-01-01T00:00:%sZ\n' "$@"; }
    row GET 1 02 02.5 03
    row GET 2 03 "$1" 04
    row GET 3 04 "$2" 05
    row PUT 4 05 05 06
    row PUT 5 06 06.5 07
}
first() { json "$TMP/stdout" '.groups[] | .by.op, .first_byte_us.count'; }
first_bytes 03.5 05 >"$TMP/some.tsv"
exits 'a short GET ends with its first byte' 0 "$BIN/kvstat" --json "$TMP/some.tsv"
is 'which is one' "$(first)" 'Read 3 Write 1'
is 'and nothing is noted' "$(json "$TMP/stdout" '.run.notes | length')" 0
first_bytes 04 05 >"$TMP/most.tsv"
exits 'most GETs do' 0 "$BIN/kvstat" --json "$TMP/most.tsv"
is 'those are not known' "$(first)" 'Read 1 Write 1'
like 'and why is said' "$(json "$TMP/stdout" '.run.notes[]')" 'the first byte of 2 of 3 GETs at their end: when it came is not known'
exits 'as a trace of ours' 0 "$BIN/kvgen" --input "$TMP/most.tsv" -o "$TMP/most.csv"
like 'they are not known either' "$(cat "$TMP/stderr")" 'the first byte of 2 of 3 GETs'
exits 'in its rows' 0 "$BIN/kvstat" --json "$TMP/most.csv"
is 'with the same first bytes and no others' "$(first)" 'Read 1 Write 1'

# A log with a hole: rates over the whole time include it.
{
    sed 1q "$TMP/most.tsv"
    sed -n '2,3p' "$TMP/most.tsv"
    sed -n '2,3p' "$TMP/most.tsv" | sed 's/T00:00:/T00:10:/g'
} >"$TMP/hole.tsv"
exits 'a hole' 0 "$BIN/kvstat" --json "$TMP/hole.tsv"
like 'is said' "$(json "$TMP/stdout" '.run.notes[]')" \
    'nothing was under way for 9 min 58 s, the longest time 9 min 58 s \(1 hole of 1 s or more\): rates'
unlike 'none is not' "$("$BIN/kvstat" --json "$TMP/most.tsv")" 'under way'

# The text of an error becomes a code.
{
    printf 'idx\tthread\top\tbytes\tendpoint\tfile\terror\tstart\tend\n'
    while IFS='|' read -r endpoint text; do
        printf '0\t0\tGET\t7\t%s\tx\t%s\t2025-01-01T00:00:02Z\t2025-01-01T00:00:03Z\n' "$endpoint" "$text"
    done <<'END'
http://h|S3 error: code=SlowDown, please
http://h|The specified key does not exist.
http://h|dial tcp: connection refused
http://h|context deadline exceeded
http://h|something else
file:///mnt/x/|something else
http://h|
END
} >"$TMP/errors.tsv"
exits 'errors' 0 "$BIN/kvstat" --json --by status "$TMP/errors.tsv"
json_like "$TMP/stdout" <<'END'
errors: their codes | [.groups[] | "\(.by.status) \(.ops)"] | sort[] | ECONNREFUSED 1 EIO 1 ETIMEDOUT 1 S3:NoSuchKey 1 S3:Other 1 S3:SlowDown 1 ok 1
errors: only what succeeded has times | .groups[] | select(.service_us) | .by.status | ok
END
"$BIN/kvgen" --input "$TMP/errors.tsv" --no-notes -o "$TMP/errors.csv" 2>/dev/null
is 'errors: are none of a trace' "$(lines "$TMP/errors.csv")" 2

# Comparisons say when the clients differ.
exits 'two clients' 0 "$BIN/kvstat" --full --compare "$DATA/kvstat_dozen.csv" "$warp"
stdout_like 'two clients: says so' 'clients differ \(base: not known,?'
exits 'two foreign clients' 0 "$BIN/kvstat" --compare "$warp" --json "$sai3"
is 'two foreign clients: says so' "$(json "$TMP/stdout" .compare.clients_differ)" true
exits 'one client' 0 "$BIN/kvstat" --full --compare "$warp" "$warp"
stdout_unlike 'one client: says nothing' 'clients differ'

# By client thread and by endpoint: as awk counts them.
zstd -dqc "$warp" | awk -F '\t' '$3 == "GET" && $9 == "" { n[$2]++ } END { for (t in n) print t, n[t] }' | sort >"$TMP/threads"
exits 'by thread' 0 "$BIN/kvstat" --json --by op,thread "$warp"
is 'by thread: operations of each' "$(json "$TMP/stdout" '.groups[] | select(.by.op == "Read") | .by.thread, .ops')" \
    "$(tr '\n' ' ' <"$TMP/threads" | sed 's/ $//')"
exits 'by endpoint and thread' 0 "$BIN/kvstat" --json --by endpoint,thread "$sai3"
jq '([.groups[].by.endpoint] | unique | length), ([.groups[].ops] | add)' "$TMP/stdout" >"$TMP/by"
{ read -r endpoints && read -r all; } <"$TMP/by"
is 'by endpoint: one of each' "$endpoints" \
    "$("$BIN/kvgen" --input "$sai3" -o - 2>/dev/null | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "Endpoint") c = i; next }
        $2 != "Note" && !seen[$c]++ { n++ } END { print n }')"
is 'by endpoint and thread: all operations' "$all" "$(jq '[.groups[].ops] | add' "$TMP/sai3.json")"
exits 'in text' 0 "$BIN/kvstat" --by thread "$TMP/ours.csv.zst"
stdout_like 'a table by thread, of a result of ours too' '^  0  '
exits 'too many' 2 "$BIN/kvstat" --by thread --config max_groups=2 "$warp"
stderr_like 'are told' 'too many groups by user, endpoint, thread or engine'
exits 'results without these columns' 0 "$BIN/kvstat" --json --by endpoint,op "$DATA/kvstat_dozen.csv"
like 'have one group of each operation' "$(json "$TMP/stdout" '.groups[].by.endpoint')" '^null( null)*$'

# An operation that is counted apart is counted, too, when its times make no sense.
{
    printf 'idx\tthread\top\tbytes\tfile\terror\tstart\tend\n'
    printf '0\t0\tLIST\t0\tx\t\t2025-01-01T00:00:02Z\t2025-01-01T00:00:01Z\n'
    printf '1\t0\tGET\t5\tx\t\t2025-01-01T00:00:02Z\t2025-01-01T00:00:03Z\n'
} >"$TMP/odd.tsv"
exits 'an end before the start, counted apart' 0 "$BIN/kvstat" --json "$TMP/odd.tsv"
is 'an end before the start: no latency' "$(json "$TMP/stdout" '.run.notes[0]')" '1 LIST counted apart'

# Refused.
zstd -dqc "$warp" | sed '3s/GET/GET\tx/' >"$TMP/bad.csv"
exits 'a bad row' 2 "$BIN/kvstat" --full "$TMP/bad.csv"
stderr_like 'a bad row: where' '^kvstat: .*bad\.csv:3: 16 fields, the header has 15'
exits 'bad rows cannot be skipped' 2 "$BIN/kvstat" --full --skip-bad-rows "$warp"
stderr_like 'bad rows cannot be skipped: says so' '^kvstat: --skip-bad-rows: does not apply to .*log'
head -c 20000 "$warp" >"$TMP/cut.csv.zst"
exits 'a cut log' 2 "$BIN/kvstat" --full "$TMP/cut.csv.zst"
stderr_like 'a cut log: says so' 'cut'
done_testing
