#!/bin/sh
# csv.t - --csv has the numbers of --json under the same names, one row for each figure; --hgrm has the distributions, as
# HdrHistogram's percentile text. Bugs looked like a figure of another tier when a run lacks a group of another.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=tests/data/kvstat_dozen.csv
cd "$TOP" || exit 1

# figure NAME [RUN]: its value, by its name in the JSON.
figure() { csv_figure "$TMP/stdout" "$@"; }
"$kvstat" --json --profile latency "$dozen" >"$TMP/dozen.json"

exits 'CSV' 0 "$kvstat" --csv --profile latency "$dozen"
is 'the columns' "$(head -n 1 "$TMP/stdout")" 'run,figure,tier,op,part,statistic,value,unit,time_s'
is 'as many fields in each row' "$(sed 's/"[^"]*"//g' "$TMP/stdout" | awk -F, '{ print NF }' | sort -u)" 9
is 'no figure twice' "$(cut -d, -f1-6,9 "$TMP/stdout" | sort | uniq -d)" ''
is 'a row' "$(grep ',groups.service_us,Tier-2,Read,Decode,max,' "$TMP/stdout")" \
    "$dozen,groups.service_us,Tier-2,Read,Decode,max,20000,us,"
is 'all rows of the run' "$(sed 1d "$TMP/stdout" | cut -d, -f1 | sort -u)" "$dozen"
is 'file' "$(figure files)" "$dozen"
is 'elapsed time' "$(figure elapsed_s)" 1.153
is 'a rate' "$(figure throughput.storage.generated_tokens_per_s | cut -c 1-12)" \
    "$(json "$TMP/dozen.json" .throughput.storage.generated_tokens_per_s | cut -c 1-12)"
is 'a percentile of a group' "$(figure groups.Tier-2/Read/Decode.service_us.max)" 20000
is 'what few samples support' "$(figure groups.Tier-2/Read/Decode.service_us.few_samples)" \
    'p50; p90; p95; p99; p999; p9999'
is 'a tier' "$(figure cache.tiers.Tier-0.peak_bytes)" 11534336
is 'a target met' "$(figure requests.by_qos.batch.sla.met)" true
is 'not known is empty' "$(figure cache.lookups.rag.hit_rate)" ''
is 'the verdict' "$(figure assessment.status) $(figure assessment.criteria.cpu_p95.actual)" 'INCONCLUSIVE 1'
# Every number of the JSON, in its order, but for those of the host.
numbers() { grep -E '^-?[0-9][-+.0-9e]*$' | awk '{ printf "%.12g\n", $1 }'; }
json "$TMP/dozen.json" 'del(.host) | .. | numbers' | tr ' ' '\n' | numbers >"$TMP/json"
csv_rows "$TMP/stdout" | cut -f2 | numbers >"$TMP/csv"
ok 'many numbers' test "$(lines "$TMP/csv")" -gt 100
ok 'every number of the JSON' diff "$TMP/json" "$TMP/csv"
# And each under its name. What is null in the JSON is in the CSV, empty.
jq -r 'def key: to_entries[0].value | if type == "object" then [.[] | . // "-"] | join("/") else . end;
    def walk_names($path): if type == "object" then to_entries[] | .key as $k | .value |
            walk_names(if $path == "" then $k else "\($path).\($k)" end)
        elif type == "array" and (.[0] | type) == "object" then .[] | key as $k |
            (to_entries[1:] | from_entries) | walk_names("\($path).\($k)")
        else "\($path)\t\(if type == "array" then join("; ") elif . == null then "" else tostring end)" end;
    del(.program, .version, .command, .host, .started) | walk_names("")' "$TMP/dozen.json" >"$TMP/names.json"
csv_rows "$TMP/stdout" | cut -f1,2 >"$TMP/names.csv"
# Groups without a tier have none in the CSV; shortest digits may be written in two ways.
tidy() {
    sed -E 's|groups\.-/|groups.|' "$1" | awk -F '\t' -v OFS='\t' '
        $2 ~ /^-?[0-9]+\.[0-9]*([eE][-+][0-9]+)?$/ { $2 = sprintf("%.14g", $2) } { print }' | sort
}
tidy "$TMP/names.json" >"$TMP/a" && tidy "$TMP/names.csv" >"$TMP/b"
ok 'each under its name' diff "$TMP/a" "$TMP/b"
is 'units' "$(csv_rows "$TMP/stdout" | cut -f5 | sort -u | tr '\n' ' ')" ' 1/s GiB/s bytes bytes/s ms rows s share tokens/s us '
is 'a unit of a criterion' "$(csv_rows "$TMP/stdout" | awk -F '\t' '$1 == "assessment.criteria.cpu_p95.actual" { print $5 }')" ms

# A run with another set of groups.
grep -v Tier-1 "$dozen" | sed 's/,Read,2097152,/,Read,4194304,/' >"$TMP/other.csv"
exits 'two runs' 0 "$kvstat" --csv "$TMP/other.csv" "$dozen"
is 'each under its run' \
    "$(figure throughput.decode_bytes_read other.csv) $(figure throughput.decode_bytes_read "$dozen")" '50331648 25165824'
group=groups.Tier-1/Delete/Evict.ops
is 'a group that the first lacks' "$(figure $group other.csv)+$(figure $group "$dozen")" '+1'
is 'the mean of both' "$(figure trials.throughput.decode_bytes_read.mean)" 37748736
is 'with its spread' "$(figure trials.throughput.decode_bytes_read.count) $(figure trials.throughput.decode_bytes_read.cv | cut -c 1-6)" '2 0.4714'
is 'of a percentile too' "$(figure trials.groups.Tier-2/Read/Decode.service_us.p95.sd)" 0
"$kvstat" --json "$TMP/other.csv" "$dozen" | jq -r '.trials.figures[] | .name as $n | del(.name) | to_entries[] |
    select(.value != null) | "trials.\($n).\(.key)\t\(.value)"' | sed -E 's|groups\.-/|groups.|' >"$TMP/names.json"
csv_rows "$TMP/stdout" | grep '^trials\.' | cut -f1,2 | grep -v '	$' >"$TMP/names.csv"
tidy "$TMP/names.json" >"$TMP/a" && tidy "$TMP/names.csv" >"$TMP/b"
ok 'all of them those of the JSON' diff "$TMP/a" "$TMP/b"
exits 'pooled' 0 "$kvstat" --csv --merge "$dozen" "$dozen"
is 'one run' "$(sed 1d "$TMP/stdout" | cut -d, -f1 | sort -u | wc -l) $(figure rows)" '1 86'
sed 's/,u1,/,"a,""b",/' "$dozen" >"$TMP/user.csv"
exits 'a user with comma and quote' 0 "$kvstat" --csv --by user "$TMP/user.csv"
like 'is quoted' "$(cat "$TMP/stdout")" ',groups.ops,,,"a,""b",,'
sed 's/,u1,/,"a""b",/' "$dozen" >"$TMP/user.csv"
exits 'a user with a quote alone' 0 "$kvstat" --csv --by user "$TMP/user.csv"
like 'is quoted, too' "$(cat "$TMP/stdout")" ',groups.ops,,,"a""b",,'
# A name that is too long for a column is cut between characters, and bytes that are no text become '?'.
awk -F, -v OFS=, 'NR > 1 { $8 = ""; for (i = 0; i < 300; i++) $8 = $8 "\303\274" } { print }' "$dozen" >"$TMP/long.csv"
exits 'a long user' 0 "$kvstat" --csv --by user "$TMP/long.csv"
is 'is cut between characters' "$(iconv -f UTF-8 -t UTF-8 "$TMP/stdout" | grep -c ',groups.ops,,,ü*,')" 1
odd=$(printf '%s/n\377.csv' "$TMP")
cp "$dozen" "$odd"
exits 'a file of a name that is no text' 0 "$kvstat" --csv "$odd" "$DATA/mlperf_measured_k.json"
is 'has one name' "$(cut -d, -f1 "$TMP/stdout" | grep -cxF "$TMP/n?.csv") $(grep -c ',files,' "$TMP/stdout")" \
    "$(grep -c 'n?[.]csv,' "$TMP/stdout") 1"
exits '-o' 0 "$kvstat" --csv -o "$TMP/out" "$dozen"
is 'writes it there' "$(head -c 4 "$TMP/out") $(wc -c <"$TMP/stdout")" 'run, 0'
exits 'a comparison' 0 "$kvstat" --csv --compare "$dozen" "$TMP/other.csv"
is 'has a row for each of its figures' "$(figure compare.groups.Tier-2/Read/Decode.gib_per_s.new)" \
    "$("$kvstat" --json "$TMP/other.csv" | jq '.groups[] | select(.by.tier == "Tier-2" and .by.op == "Read").gib_per_s')"
"$kvstat" --json --compare "$dozen" "$TMP/other.csv" | jq -r '.compare | (.figures[] | .name as $n | del(.name) |
    to_entries[] | "compare.\($n).\(.key)\t\(if .value == null then "" else .value end)"), (del(.figures) | to_entries[] |
    "compare.\(.key)\t\(.value | if type == "array" then .[0] elif . == null then "" else . end)")' |
    sed -E 's|groups\.-/|groups.|' >"$TMP/names.json"
csv_rows "$TMP/stdout" | cut -f1,2 >"$TMP/names.csv"
tidy "$TMP/names.json" >"$TMP/a" && tidy "$TMP/names.csv" >"$TMP/b"
ok 'those of the JSON' diff "$TMP/a" "$TMP/b"
exits '--json too' 2 "$kvstat" --csv --json "$dozen"
exits 'a trace beside a result' 2 "$kvstat" --csv "$dozen" "$DATA/mlperf_trace_first400.csv.zst"
stderr_like 'is refused' '^kvstat: .*mlperf.*: is a trace'

# ---- HdrHistogram ----

# 1000 writes that take 1..1000 us.
{
    head -n 1 "$dozen"
    awk 'BEGIN {
        for (i = 1; i <= 1000; i++) {
            printf "0.0,Write,4096,Tier-2,k%d,Prefill,%d,u,batch,user,1,,,0.0,0.0,", i, i
            printf "%d.0,%d,%d,ok\n", i, i, i
        }
    }'
} >"$TMP/ramp.csv"
exits '--hgrm' 0 "$kvstat" --full --hgrm "$TMP/h" "$TMP/ramp.csv"
stdout_like 'beside the report' '^Throughput'
hgrm="$TMP/h/Tier-2_Write_Prefill_service_us.hgrm"
is 'its first lines' "$(sed -n '1,3p' "$hgrm")" '       Value     Percentile TotalCount 1/(1-Percentile)

       1.000 0.000000000000          1           1.00'
# Five steps to a half, five more to three quarters. The value of a level is the first at or above it, rounded up to the
# end of its bucket (0.1 %).
is 'levels' "$(awk 'NF == 4 && NR > 3 && NR < 15 { printf "%g ", $2 }' "$hgrm")" \
    '0.1 0.2 0.3 0.4 0.5 0.55 0.6 0.65 0.7 0.75 0.775 '
values() { awk 'NF >= 3 && NR > 2 && $1 + 0 > 0' "$hgrm"; }
ok 'many values' test "$(values | wc -l)" -gt 20
is 'counts are the values' "$(values | awk '$1 < $3 * 0.999 || $1 > $3 * 1.001')" ''
is 'at or above its level' "$(values | awk '$3 < $2 * 1000 - 0.001')" ''
like 'the end' "$(tail -n 4 "$hgrm" | head -n 1)" '^ +1000\.000 1\.000000000000 +1000$'
like 'mean and deviation' "$(cat "$hgrm")" '^#\[Mean    = +500\.500, StdDeviation   = +288\.6[0-9]*\]$'
like 'max and count' "$(cat "$hgrm")" '^#\[Max     = +1000\.000, Total count    = +1000\]$'
ok 'requests' test -s "$TMP/h/requests_storage_ms.hgrm"
exits 'again, in the folder that is there' 0 "$kvstat" --hgrm "$TMP/h" --merge "$TMP/ramp.csv" "$TMP/ramp.csv"
like 'pooled' "$(cat "$hgrm")" 'Total count    = +2000\]$'
exits 'several reports' 2 "$kvstat" --hgrm "$TMP/h" "$dozen" "$dozen"
exits 'by user' 2 "$kvstat" --hgrm "$TMP/h" --by user "$dozen"
stderr_like 'is refused' '^kvstat: --hgrm: '
exits 'standard output is no folder' 2 "$kvstat" --hgrm - "$dozen"
not_ok 'and none is made of that name' test -e ./-
exits 'a folder that cannot be' 1 "$kvstat" --hgrm "$TMP/none/h" "$dozen"
stderr_like 'is said' '^kvstat: .*none/h: '
exits 'by class' 0 "$kvstat" --hgrm "$TMP/h2" --by class "$dozen"
is 'no name begins with a dash' "$(find "$TMP/h2" -name '-*')" ''

# Texts of files that a spreadsheet would run have an apostrophe before them. A bug looked like =cmd|... as a cell.
mkdir "$TMP/cells"
cd "$TMP/cells" || exit 1
name="=cmd|' -C calc'!A0.csv"
{
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us'
    for user in =1+1 +7+1 @SUM -2+3 'a;=b' '"a,=b"' '"=x""y"' -7 - plain; do
        printf '0.0,Write,4096,Tier-2,k,Prefill,1,%s,batch,user,1,0.0,\n' "$user"
    done
    printf '0.0,Write,4096,Tier-2,kt,Prefill,1,"\t=x",batch,user,1,0.0,\n'
} >"$name"
exits 'names like formulas' 0 "$kvstat" --csv --by user "$name"
is 'the name of the file' "$(sed 1d "$TMP/stdout" | cut -d, -f1 | sort -u)" "'$name"
stdout_unlike 'no cell begins a formula' '(^|,|;|")([=+@]|-[^/,;0-9])'
is 'the users' "$(grep ',groups.bytes,' "$TMP/stdout" | sed "s/^[^,]*,groups.bytes,,,//; s/,,4096,.*//" | sort | tr '\n' ' ')" \
    "$(printf '%s\n' "'=1+1" "'+7+1" "'@SUM" "'-2+3" "a;'=b" "\"a,'=b\"" "\"'=x\"\"y\"" -7 - plain '?=x' | sort | tr '\n' ' ')"
cd "$TOP" || exit 1
done_testing
