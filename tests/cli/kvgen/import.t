#!/bin/sh
# Logs of other tools as traces: fio's iolog (2 and 3), the op-log of s3dlio, warp's benchdata. Operations, sizes,
# times and order are theirs; rows that are no reads, writes or deletions are counted; a bad line is named. A bug
# looked like a column that was found by its place, or a line that was left out in silence.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

log=$TMP/in
body() { told "$BIN/kvgen" --no-notes --input "$log" -o - "$@" | tail -n +2; }
core() { sed -E 's/(,[^,]*){9}$//'; } # of rows with what a client measured, the six core columns
refused() { # NAME REGEX
    exits "$1: status 2" 2 "$BIN/kvgen" --source trace --input "$log" -o "$TMP/out.csv"
    stderr_like "$1: says so" "^kvgen: $2"
    is "$1: in one line" "$(lines "$TMP/stderr")" 1
    ok "$1: no file" test ! -e "$TMP/out.csv"
}

# fio.
printf '%s\n' 'fio version 2 iolog' '/mnt/x add' '/mnt/x open' '/mnt/x write 0 4096' '/mnt/x wait 1500 0' \
    '/mnt/x sync 0 0' '/mnt/x read 0 4096' '/mnt/x trim 4096 8192' '/mnt/x close' >"$log"
is "fio 2" "$(body)" "0.000000,Write,4096,Tier-2,/mnt/x@0+4096,Prefill
0.001500,Read,4096,Tier-2,/mnt/x@0+4096,Decode
0.001500,Delete,8192,Tier-2,/mnt/x@4096+8192,Evict"
{
    printf '\357\273\277'
    printf '%s\r\n' 'fio version 3 iolog' '0 x add' '0 x open' '' '7 x write 5000000000 4294967295' \
        '12000000 x read 0 512' '12000001 x close'
} | zstd -qc >"$log"
is "fio 3, compressed, with CR LF and a mark" "$(body)" \
    "0.000007,Write,4294967295,Tier-2,x@5000000000+4294967295,Prefill
12.000000,Read,512,Tier-2,x@0+512,Decode"
fio_log() { # TEXT: an iolog that ends so
    printf 'fio version 3 iolog\n0 x add\n0 x open\n'
    printf %b "$1"
}
fio_log '5 x read 0\n' >"$log"
refused "fio: no length" '.*in:4: expected FILE add'
fio_log '5 x munge 0 1\n' >"$log"
refused "fio: an unknown action" '.*in:4: expected FILE add'
fio_log '5 x read -1 1\n' >"$log"
refused "fio: a negative offset" '.*in:4: offset is "-1"'
fio_log '5 x read 0 99999999999999999999\n' >"$log"
refused "fio: a huge length" '.*in:4: length is "9+", not a number up to 9223372036854775807'
fio_log 'x read 0 1\n' >"$log"
refused "fio: no time" '.*in:4: time is "x"'
fio_log '5 x re\000ad 0 1\n' >"$log"
refused "fio: a NUL" '.*in:4: a NUL byte'
printf 'fio version 4 iolog\n' >"$log"
refused "fio: another version" '.*in:1: not "fio version 2'
printf 'fio version 2 iolog\nx wait 9223372036854775 0\nx wait 9223372036854775 0\n' >"$log"
refused "fio: endless waits" '.*in:3: waits of more'
{ fio_log '' && head -c 3000000 /dev/zero | tr '\0' x; } >"$log"
refused "fio: an endless line" '.*in:4: a line of more than 1 MiB'

# s3dlio.
header='idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\tduration_ns\n'
row() { # OP BYTES FILE ERROR START
    printf '0\t1\t%s\tc\t1\t%s\thttp://h\t%s\t%s\t%s\t\t2025-01-01T00:00:09Z\t5\n' "$@"
}
{
    printf %b "$header"
    row PUT 1048576 /b/1 '' 2025-01-01T00:00:00Z
    row LIST 0 /b '' 2025-01-01T00:00:00Z
    row GET 1048576 /b/1 '' 2025-01-01T01:00:00.000000001+01:00
    row GET 1048576 '"b,c"' '' 2025-01-01T00:00:01.5Z
    row PUT 5 /b/2 'timed out' 2025-01-01T00:00:02Z
    row DELETE '' /b/1 '' 2025-01-01T00:00:03Z
} >"$log"
is "an op-log" "$(body | core)" '1735689600.000000,Write,1048576,Tier-2,/b/1,Prefill
1735689600.000000001,Read,1048576,Tier-2,/b/1,Decode
1735689601.500000,Read,1048576,Tier-2,"""b,c""",Decode
1735689603.000000,Delete,1048576,Tier-2,/b/1,Evict'
like "an op-log: what is left out" "$(cat "$TMP/err")" '^kvgen: .*in:3: not GET, PUT or DELETE: LIST; rows skipped: 2$'
like "an op-log: by kind" "$(cat "$TMP/err")" '^kvgen: .*in: left out: 1 LIST, 1 failed PUT$'
is "an op-log: from zero" "$(body --epoch 0 | head -n 2 | cut -d , -f 1 | tr '\n' ' ')" "0.000000 0.000000001 "
# A log has no size of a deletion.
{
    printf %b "$header"
    row DELETE '' /b/1 '' 2025-01-01T00:00:01Z
    row PUT 7 /b/1 '' 2025-01-01T00:00:02Z
    row PUT 9 /b/1 '' 2025-01-01T00:00:03Z
    row DELETE 0 /b/1 '' 2025-01-01T00:00:04Z
    row DELETE '' /b/1 '' 2025-01-01T00:00:05Z
    row GET 3 /b/2 '' 2025-01-01T00:00:06Z
    row DELETE '' /b/2 '' 2025-01-01T00:00:07Z
    row PUT 4 /b/2 '' 2025-01-01T00:00:08Z
    row DELETE 6 /b/2 '' 2025-01-01T00:00:09Z
} >"$log"
is "an op-log: the size when it is deleted, or 0" "$(body | awk -F, '$2 == "Delete" {printf "%s ", $3}')" "0 9 0 3 6 "
like "an op-log: those of 0 are counted" "$(cat "$TMP/err")" '^kvgen: .*/in: 2 deletions of objects that the log .* size 0$'
# Clients write each operation when it ends: a long one comes after shorter ones that began later.
{
    printf %b "$header"
    row PUT 7 /b/1 '' 2025-01-01T00:00:02Z
    row GET 7 /b/1 '' 2025-01-01T00:00:03Z
    row PUT 9 /b/2 '' 2025-01-01T00:00:00.5Z
    row GET 9 /b/2 '' 2025-01-01T00:00:03Z
} >"$log"
is "an op-log: in order of start" "$(body --epoch 0 | core)" '0.000000,Write,9,Tier-2,/b/2,Prefill
1.500000,Write,7,Tier-2,/b/1,Prefill
2.500000,Read,7,Tier-2,/b/1,Decode
2.500000,Read,9,Tier-2,/b/2,Decode'
body >"$TMP/rows"
ok "an op-log: times grow" sort -s -c -t , -k 1,1n "$TMP/rows"
one_row() {
    printf %b "$header"
    row "$@"
}
one_row PUT many /b/1 '' 2025-01-01T00:00:00Z >"$log"
refused "an op-log: a bad size" '.*in:2: bytes is "many"'
one_row PUT -5 /b/1 '' 2025-01-01T00:00:00Z >"$log"
refused "an op-log: a negative size" '.*in:2: bytes is "-5"'
one_row PUT 5 /b/1 '' yesterday >"$log"
refused "an op-log: a bad time" '.*in:2: start is "yesterday"'
one_row PUT 5 '' '' 2025-01-01T00:00:00Z >"$log"
refused "an op-log: no file" '.*in:2: file is empty'
one_row PUT 5 "a	b" '' 2025-01-01T00:00:00Z >"$log"
refused "an op-log: a tab too many" '.*in:2: 14 fields, the header has 13'
one_row PUT 5 "a" '' 2025-01-01T00:00:00Z | head -c 150 >"$log"
refused "an op-log: cut in a row" '.*in:2: [0-9]* fields, the header has 13'
printf 'idx\tthread\top\tbytes\tstart\n' >"$log"
refused "an op-log: a column missing" '.*in:1: not an op-log: no column file'

# warp: columns in another order, one more time, quotes, remarks.
warp_row() { # INDEX OP BYTES FILE ERROR START END
    printf '%s\t0\t%s\tc\t1\t%s\th\t%s\t%s\t%s\t\t\t%s\t9\t1\n' "$@"
}
{
    printf 'idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tlast_byte\t'
    printf 'end\tduration_ns\tcat\n'
    warp_row 0 PUT 10 '"q""t.bin"' '' 2025-01-01T00:00:00.25Z 2025-01-01T00:00:01Z
    warp_row 1 STAT 0 z '' 2025-01-01T00:00:00.25Z 2025-01-01T00:00:01Z
    echo '# end'
} >"$TMP/warp.csv"
zstd -qc "$TMP/warp.csv" >"$log"
is "benchdata" "$(body | core)" '1735689600.250000,Write,10,Tier-2,"q""t.bin",Prefill'
{
    cat "$TMP/warp.csv"
    warp_row 2 PUT 10 x '"Put ""http://h"":	timed out"' 2025-01-01T00:00:02Z 2025-01-01T00:00:03Z
    warp_row 3 PUT 10 '"a	b"' '' 2025-01-01T00:00:02Z 2025-01-01T00:00:03Z
} >"$log"
is "benchdata: tabs in quotes" "$(body | core | tail -n 1)" "1735689602.000000,Write,10,Tier-2,a	b,Prefill"
like "benchdata: a message in quotes" "$(cat "$TMP/err")" 'rows skipped: 2$'
sed 's/q""t.bin"/qt.bin/' "$TMP/warp.csv" >"$log"
refused "benchdata: a quote that does not close" '.*in:2: field 8: quote is not closed'
zstd -qc "$TMP/warp.csv" | head -c 100 >"$log"
refused "benchdata: cut" '.*in: .*cut'

# What a client measured makes a result: Start from the first row, Latency_us, Status, First_byte_us, Endpoint, Thread.
# The duration is by the client's own clock; without it, from start to end.
measured() { # THREAD OP BYTES ENDPOINT FILE ERROR START FIRST_BYTE END DURATION, minutes and seconds of a day as times
    printf '0\t%s\t%s\tc\t1\t%s\t%s\t%s\t%s\t2025-01-01T00:%sZ\t%s\t2025-01-01T00:%sZ\t%s\n' \
        "$1" "$2" "$3" "$4" "$5" "$6" "$7" "${8:+2025-01-01T00:${8}Z}" "$9" "${10}"
}
results() { body | cut -d , -f 2,3,5,9-; }
{
    printf %b "$header"
    measured 5 PUT 7 http://h b/1 '' 00:02 '' 00:03 1000000001
    measured 6 GET 7 http://h b/1 '' 00:05 00:05.25 00:06.5 ''
} >"$log"
is "a log is a result" "$(results)" 'Write,7,b/1,0.000000,1000000.001,,ok,,http://h,5
Read,7,b/1,3.000000,1500000,,ok,250000,http://h,6'
body >"$TMP/result.csv"
told "$BIN/kvgen" --input "$log" -o "$TMP/result.csv"
is "kvstat reads it" "$("$BIN/kvstat" --json "$TMP/result.csv" >"$TMP/result.json" && json "$TMP/result.json" .rows)" 2
is "an export of it keeps dates and durations" \
    "$(told "$BIN/kvgen" --input "$log" --format sai3 -o - | cut -f 3,6,8,10,12,13 | tail -n +2 | tr '\t' ' ')" \
    'PUT 7 b/1 2025-01-01T00:00:02.000000000Z 2025-01-01T00:00:03.000000001Z 1000000001
GET 7 b/1 2025-01-01T00:00:05.000000000Z 2025-01-01T00:00:06.500000000Z 1500000000'
one_measured() {
    printf %b "$header"
    measured "$@"
}
one_measured 1 GET 5 h f '' 00:09 '' 00:08 '' >"$log"
refused "an op-log: an end before the start" '.*in:2: end is before start'
one_measured 1 GET 5 h f '' 00:09 '' 00:10 -5 >"$log"
refused "an op-log: a bad duration" '.*in:2: duration_ns is "-5"'

# The two layers in which sai3-bench logs an operation on S3 become one row: times of the outer one, the key and the
# first byte of the inner one. Each inner row pairs with one outer row; what has no pair stays. Of two that fit, the one
# that ends first; a log may have the inner row of the same time before the outer.
inner() { measured "$1" "$2" 7 http://h:9000 "$3" '' "$4" "$5" "$6" ''; } # THREAD OP KEY START FIRST_BYTE END
outer() { measured "$1" "$2" 7 s3://b "b/$3" '' "$4" "$4" "$5" ''; }      # THREAD OP KEY START END
{
    printf %b "$header"
    inner 1 GET k 00:01.1 00:01.3 00:01.8
    outer 1 GET k 00:01.0 00:01.9
    inner 1 PUT alone 00:01.2 '' 00:01.4
    outer 1 GET k 00:02.0 00:04.0
    outer 1 GET k 00:02.1 00:03.0
    inner 1 GET k 00:02.2 00:02.3 00:02.9
    inner 1 GET k 00:02.3 00:02.4 00:03.9
    inner 2 GET k 00:05.1 00:05.2 00:05.3
    outer 1 GET k 00:05.0 00:05.4
    inner 1 PUT tie 00:06.0 '' 00:06.5
    outer 1 PUT tie 00:06.0 00:06.6
    inner 1 GET late 00:07.1 00:07.2 00:07.9
    outer 1 GET late 00:07.0 00:07.8
    measured 1 GET 7 http://h:9000 k 'timed out' 00:08.0 '' 00:08.5 ''
    measured 1 LIST 0 s3://b b/ '' 00:09.0 '' 00:09.5 ''
} >"$log"
is "two layers: one row of each operation" "$(results)" 'Read,7,k,0.000000,900000,,ok,300000,s3://b,1
Write,7,alone,0.200000,200000,,ok,,http://h:9000,1
Read,7,k,1.000000,2000000,,ok,400000,s3://b,1
Read,7,k,1.100000,900000,,ok,200000,s3://b,1
Read,7,k,4.000000,400000,,ok,0,s3://b,1
Read,7,k,4.100000,200000,,ok,100000,http://h:9000,2
Write,7,tie,5.000000,600000,,ok,,s3://b,1
Read,7,late,6.000000,800000,,ok,0,s3://b,1
Read,7,late,6.100000,800000,,ok,100000,http://h:9000,1'
like "two layers: how many became one" "$(cat "$TMP/err")" '^kvgen: .*in: 4 operations were logged by two layers'
like "two layers: what is left out" "$(cat "$TMP/err")" '^kvgen: .*in: left out: 1 failed GET, 1 LIST$'
grep -v 's3://' "$log" >"$TMP/inner.tsv"
is "one layer only: as it is" "$("$BIN/kvgen" --no-notes --input "$TMP/inner.tsv" -o - 2>/dev/null | tail -n +2 | wc -l)" 7
{
    printf %b "$header"
    outer 1 GET k 00:01.0 00:01.9
} >"$log"
is "the outer layer only: the file is the key" "$(results | cut -d , -f 3)" b/k

# What sai3-bench recorded on S3; its own report counts the same.
cp "$DATA/sai3_oplog_recorded_2s.tsv.zst" "$log"
is "a recorded log: each operation once, mean latency" "$(body | awk -F, '{n[$2]++; us[$2] += $10; bytes[$2] += $3}
    END {printf "%d %d %.3f; %d", n["Read"], bytes["Read"], us["Read"] / n["Read"], n["Write"]}')" \
    "301 299949076 12051.514; 162"
like "a recorded log: pairs" "$(cat "$TMP/err")" ': 442 operations were logged by two layers'
like "a recorded log: the others" "$(cat "$TMP/err")" ': left out: 1 failed GET, 37 LIST$'

# In and out again in the same format: what remains is the same in all that a log says of an operation. The end is the
# start and the client's duration, which another clock measured than its start and end. warp leaves out zeros at the end
# of a time.
round() { # FILE: of a log, as "OP BYTES FILE START FIRST_BYTE DURATION"
    zstd -dqc "$1" | awk -F'\t' '
        function whole(t) { sub(/Z$/, "", t); return t == "" ? t : substr(t (t ~ /\./ ? "" : ".") "000000000", 1, 29) }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        !/^#/ && $at["op"] ~ /^(GET|PUT|DELETE)$/ && $at["error"] == "" {
            print $at["op"], $at["bytes"], $at["file"], whole($at["start"]), whole($at["first_byte"]),
                $at["duration_ns"] }' |
        LC_ALL=C sort
}
warp=$DATA/warp_mixed_3s.csv.zst
exits "round trip: benchdata" 0 "$BIN/kvgen" --input "$warp" --format warp -o "$TMP/again.csv.zst"
round "$warp" >"$TMP/want"
round "$TMP/again.csv.zst" >"$TMP/got"
is "round trip: benchdata: rows" "$(lines "$TMP/got")" 733
ok "round trip: benchdata: the same" cmp "$TMP/want" "$TMP/got"
# Of two layers, the first one out is what comes in again.
sai3=$DATA/sai3_oplog_recorded_2s.tsv.zst
"$BIN/kvgen" --input "$sai3" --format sai3 --settle 0 -o "$TMP/once.tsv.zst" 2>/dev/null
"$BIN/kvgen" --input "$TMP/once.tsv.zst" --format sai3 --settle 0 -o "$TMP/twice.tsv.zst" 2>/dev/null
ok "round trip: an op-log: the same" cmp "$TMP/once.tsv.zst" "$TMP/twice.tsv.zst"
# Its outer rows, the inner ones that have none, first bytes of the inner ones: each of them is a row of the log.
round "$sai3" | cut -d ' ' -f 1,2,4,6 | sort >"$TMP/all"
round "$TMP/once.tsv.zst" | cut -d ' ' -f 1,2,4,6 | sort >"$TMP/got"
is "round trip: an op-log: rows" "$(lines "$TMP/got")" 463
is "round trip: an op-log: each is one of the log's" "$(comm -13 "$TMP/all" "$TMP/got")" ""
zstd -dqc "$sai3" | awk -F'\t' '$3 == "GET" && $11 != "" && $9 == "" && $7 ~ /^http/ { print $8, $11 }' |
    sort >"$TMP/want"
zstd -dqc "$TMP/once.tsv.zst" | awk -F'\t' '$3 == "GET" { print $8, $11 }' | sort >"$TMP/got"
ok "round trip: an op-log: files and first bytes of the inner layer" cmp "$TMP/want" "$TMP/got"

# A log has no model and no seed, and neither has its copy, whatever the defaults of kvgen's options are.
zstd -qc "$TMP/warp.csv" >"$log"
"$BIN/kvgen" --input "$log" -o "$TMP/copy.csv.zst" 2>/dev/null
"$BIN/kvstat" "$TMP/copy.csv.zst" >"$TMP/report" 2>/dev/null
is "a copy of a log: nothing is known of its run" "$(grep -c '^Run ' "$TMP/report")" 0
provenance "$TMP/copy.csv.zst" >"$TMP/copy.json"
is "a copy of a log: but what was asked for" "$(json "$TMP/copy.json" .converted.options.source)" trace

# What kvgen exports comes back: operations, sizes, times and order of Tier-2.
set -- --num-users 3 --duration 20 --generation-mode none -m tiny-1b --gpu-mem-gb 0.1 --cpu-mem-gb 0.1 \
    --storage-capacity-gb 0.5
"$BIN/kvgen" --no-notes "$@" --only-tier 2 -o "$TMP/want.csv" 2>/dev/null
"$BIN/kvgen" "$@" --format sai3 --settle 0 -o "$TMP/x.tsv.zst" 2>/dev/null
cp "$TMP/x.tsv.zst" "$log"
is "an op-log of our own" "$(body | cut -d , -f 1-3,5)" \
    "$(tail -n +2 "$TMP/want.csv" | cut -d , -f 1-3,5)"
"$BIN/kvgen" "$@" --format fio -o "$TMP/x.iolog" 2>/dev/null
cp "$TMP/x.iolog" "$log"
sums() { awk -F, '$2 != "Delete" {bytes[$2] += $3} END {for (op in bytes) printf "%s %.0f\n", op, bytes[op]}' | sort; }
like "an iolog of our own: reads and writes" "$(body | sums | tr '\n' ' ')" '^Read [1-9][0-9]* Write [1-9]'
is "an iolog of our own: bytes" "$(body | sums)" "$(tail -n +2 "$TMP/want.csv" | sums)"
done_testing
