#!/bin/sh
# input.t - bad input: one line `kvstat: where: what and why`, the right exit status, and nothing that
# looks like a report where there is none. A bug looked like a report of half a file with status 0.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv
head -n 1 "$dozen" >"$TMP/header"

# complains NAME STATUS ERE ARGS...: exits so, with one line on standard error that matches, and no output.
complains() {
    name=$1 status=$2 ere=$3
    shift 3
    exits "$name" "$status" "$kvstat" "$@"
    stderr_like "$name: said" "^kvstat: $ere"
    is "$name: in one line, without a report" "$(lines "$TMP/stderr") $(wc -c <"$TMP/stdout")" '1 0'
}

complains 'a missing file' 2 '.*none\.csv: .*No such file' "$TMP/none.csv"
complains 'an unknown option' 2 '.*--jason.*' --jason "$dozen"
complains 'an unknown column to group by' 2 '--by: no column "tear"' --by tear "$dozen"
complains 'a column twice' 2 '--by: column op twice' --by op,tier,op "$dozen"
complains '--run for several' 2 '--run: takes one file' --run x.json "$dozen" "$dozen"
complains 'a summary that is not there' 2 '.*none\.json.*' --run "$TMP/none.json" "$dozen"
complains 'a configuration that is not there' 2 '.*none\.yaml.*' --config "$TMP/none.yaml" "$dozen"
complains 'too many threads' 2 '--config threads: .*' --config threads=1000 "$dozen"
complains 'a trace pooled with results' 2 '--merge: .*' --merge "$dozen" "$DATA/mlperf_trace_first400.csv.zst"
: >"$TMP/empty"
complains 'an empty file' 2 '.*empty: .*' "$TMP/empty"
echo 'a,b,c' >"$TMP/other"
# A header that is blank once its line end is cut twice was a layout without fields: memory before a buffer was read.
for end in '\r\r' '\r\r\n' '\r\r\n\n\n\0001,,,,,\n' '\n\r\r\n1,2\n'; do
    printf %b "$end" >"$TMP/returns"
    complains "a header of carriage returns, $end" 2 '.*returns: the header is blank: not a trace' "$TMP/returns"
done
complains 'a file of something else' 2 '.*other: .*Timestamp.*' "$TMP/other"

sed '3s/,Write,[0-9]*,/,Write,many,/' "$dozen" >"$TMP/bad.csv"
complains 'a bad number' 2 '.*bad\.csv:3: .*' "$TMP/bad.csv"
sed '3s/,Write,[0-9]*,/,Write,-5,/' "$dozen" >"$TMP/negative.csv"
complains 'a negative size' 2 '.*negative\.csv:3: .*' "$TMP/negative.csv"
exits '--skip-bad-rows' 0 "$kvstat" --full --skip-bad-rows "$TMP/bad.csv"
stderr_like 'counts it' '^kvstat: 1 bad row skipped, the first: .*bad\.csv:3'
stdout_like 'also in the report' '^1 bad row was skipped'
awk -F, -v OFS=, 'NR > 1 { $3 = "9223372036854775807" } { print }' "$dozen" >"$TMP/huge.csv"
complains 'sizes whose sum is no number' 2 '.*64 bits.*|.*63 bits.*' "$TMP/huge.csv"

# What is read is never written over, under whatever name.
cp "$dozen" "$TMP/mine.csv"
ln -s mine.csv "$TMP/alias.svg"
complains 'a report over its input' 2 '.*mine\.csv: is read \(the input\), and --output would overwrite it' --json \
    -o "$TMP/./mine.csv" "$TMP/mine.csv"
complains 'a picture over its input' 2 '.*alias\.svg: is read \(the input\), and --plot would overwrite it' --plot "$TMP/alias.svg" "$TMP/mine.csv"
complains 'a comparison over its base' 2 '.*: is read \(--compare\), and --output would overwrite it' --compare "$TMP/mine.csv" \
    -o "$TMP/mine.csv" "$dozen"
complains 'a report over its reference' 2 '.*: is read \(--reference\), and --output would overwrite it' --reference "$TMP/mine.csv" \
    -o "$TMP/mine.csv" "$dozen"
ok 'it is as it was' cmp "$dozen" "$TMP/mine.csv"

# Only one thing goes to standard output.
for option in --mlperf --fio-job; do
    complains "$option beside the report" 2 "$option: would mix with the report on standard output" $option - "$dozen"
    exits "$option alone" 0 "$kvstat" --full $option - -o "$TMP/report" "$dozen"
    stdout_like 'is written' '^(\{|\[kvcache\])$'
done
complains 'both there' 2 '--mlperf: would mix ' --mlperf - --fio-job - -o "$TMP/report" "$dozen"

exits 'a header without rows' 0 "$kvstat" --full "$TMP/header"
stdout_like 'is a report of nothing' ' 0 rows'

# A cut file: 4,000 rows in one frame, of which the first blocks are whole.
{
    cat "$TMP/header"
    awk 'BEGIN {
        for (i = 0; i < 40000; i++) {
            printf "%d.%06d,Write,%d,Tier-2,key_%d,Prefill", i, i * 7919 % 1000000, i * 104729 % 16777216, i
            printf ",,,,,,,,,,%d.000000,%d.%03d,1.000,ok\n", i, i * 31 % 1000, i % 1000
        }
    }'
} >"$TMP/long.csv"
zstd -q -c "$TMP/long.csv" >"$TMP/long.zst"
size=$(wc -c <"$TMP/long.zst")
head -c $((size * 2 / 3)) "$TMP/long.zst" >"$TMP/cut.zst"
for threads in 1 2; do
    exits "a cut file, $threads threads" 2 "$kvstat" --full --config threads="$threads" "$TMP/cut.zst"
    stderr_like 'is said to be cut' '^kvstat: .*cut\.zst: cut after row [0-9]+'
    stdout_like 'and reported as far as it goes' '^The file is CUT'
    rows=$(sed -n 's/.*cut after row \([0-9]*\).*/\1/p' "$TMP/stderr")
    is 'all its whole rows are counted' "$(sed -n '1s/.*results, \([0-9,]*\) rows.*/\1/p' "$TMP/stdout" | tr -d ,)" \
        "$rows"
    ok 'which are some, not all' test "$rows" -gt 1000 -a "$rows" -lt 40000
done

# ---- output ----

if [ -c /dev/full ]; then
    full() { "$kvstat" --full "$dozen" >/dev/full; }
    exits 'a full disk' 1 full
    stderr_like 'is said' '^kvstat: standard output: .*No space'
    full_json() { "$kvstat" --json "$dozen" >/dev/full; }
    exits 'a full disk, JSON' 1 full_json
fi
exits 'a folder that is not there' 1 "$kvstat" --full -o "$TMP/none/out" "$dozen"
stderr_like 'is said' '^kvstat: .*none/out: '
exits 'a name that is empty' 2 "$kvstat" --full ""
is 'is shown' "$(cat "$TMP/stderr")" 'kvstat: "": cannot open: No such file or directory'
exits 'a bad row and -o' 2 "$kvstat" --full -o "$TMP/out" "$TMP/bad.csv"
not_ok 'leave no file' test -e "$TMP/out"
done_testing
