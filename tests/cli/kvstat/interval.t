#!/bin/sh
# interval.t - --interval: each row counts in the interval in which it completed, in text, JSON and CSV, with any
# number of threads; the intervals add up to the whole. Bugs looked like an interval without rows that was left out,
# or contents that forgot what was there before the start.
# builds: plain address thread
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv

# column NAME: its values, one a line.
column() { csv_figure "$TMP/stdout" "series.$1"; }
row() { column "$1" | tr '\n' ' '; }

# Reads complete at 23, 123, 213, 323... ms (see report.t): request i at 100 i + 13 or 23.
exits 'CSV' 0 "$kvstat" --csv --interval 500ms "$dozen"
is 'intervals' "$(row t_s)" '0 0.5 1 '
is 'each row with the begin of its interval' "$(csv_rows "$TMP/stdout" | awk -F '\t' '$1 == "series.t_s" && $2 != $4')" ''
is 'beside the figures of the whole run' "$(csv_figure "$TMP/stdout" elapsed_s)" 1.153
is 'reads' "$(row tiers.Tier-2.read.ops)" '5 5 2 '
is 'bytes' "$(row tiers.Tier-0.write.bytes)" '5242880 5242880 2097152 '
is 'rate: 10 MiB in 0.5 s' "$(row tiers.Tier-2.read.gib_per_s)" '0.01953125 0.01953125 0.0078125 '
is 'contents: what was there before the start, too' "$(row tiers.Tier-2.contents_bytes)" '2097152 2097152 2097152 '
is 'what moved away is gone' "$(row tiers.Tier-0.contents_bytes)" '5242880 9437184 11534336 '
is 'hit rate: 3 misses first' "$(row hit_rate)" '0.625 1 1 '
is 'tokens' "$(row generated_tokens_per_s)" '100 100 40 '
is 'slowest read' "$(row tiers.Tier-2.read.service_us.max)" '20000 20000 20000 '
# The middles of buckets of 3 %: 23, 13 and 3 ms.
is 'slowest response' "$(row tiers.Tier-2.read.response_us.max)" '22806.527 22806.527 22806.527 '
is 'longest wait' "$(row tiers.Tier-2.read.wait_us.max)" '12976.127 2981.887 2981.887 '
is 'all of it the tool' "$(row tiers.Tier-2.read.lateness_us.max)" '12976.127 2981.887 2981.887 '
cp "$TMP/stdout" "$TMP/one"
for threads in 1 3; do
    exits "$threads threads" 0 "$kvstat" --csv --interval 500ms --config threads=$threads "$dozen"
    ok 'the same' cmp "$TMP/stdout" "$TMP/one"
done
exits 'short intervals' 0 "$kvstat" --csv --interval 10ms "$dozen"
is 'also idle ones, up to the last completion' "$(column t_s | wc -l)" 116
is 'add up to all reads' "$(column tiers.Tier-2.read.ops | awk '{ n += $1 } END { print n }')" 12
# A move that found nothing to move is no lookup.
sed -E 's/^(.*,Read,.*,Tier-0,.*,Evict,.*),ok$/\1,absent/' "$dozen" >"$TMP/absent"
exits 'a move of an absent object' 0 "$kvstat" --csv --interval 500ms "$TMP/absent"
is 'fails' "$(row failed)" '0 1 0 '
is 'and is no miss' "$(row hit_rate)" '0.625 1 1 '
exits 'JSON' 0 "$kvstat" --json --interval 1s "$dozen"
is 'two intervals' "$(json "$TMP/stdout" '.series.intervals | length')" 2
is 'beside the report' "$(json "$TMP/stdout" .elapsed_s)" 1.153
exits 'a warm-up' 0 "$kvstat" --csv --warmup 600ms --interval 500ms "$dozen"
is 'is in the series' "$(row t_s)" '0 0.5 1 '
is 'and marked' "$(row warmup)" 'true true false '
exits 'in the text' 0 "$kvstat" --full --warmup 500ms --interval 500ms "$dozen"
is 'too' "$(grep -c '^ .* warm-up$' "$TMP/stdout")" 1
exits 'text' 0 "$kvstat" --full --interval 1s "$dozen"
stdout_like 'a line each, with response, wait and lateness beside service' \
    '^ +1 s .* 20\.0 ms +22\.8 ms +2\.98 ms +2\.98 ms 100\.0 %$'
is 'lines fit 100 columns' "$(awk 'length > 100' "$TMP/stdout")" ''
is 'headings end where their columns do' "$(sed -n '/^Each 1 s/,/^$/p' "$TMP/stdout" | sed '1d; $d' | awk '{ print length }' | sort -u | wc -l)" 1

# Many rows, several pieces, threads: 100,000 reads, 1 ms apart, in a file that is not in order of time.
{
    head -n 1 "$dozen"
    awk 'BEGIN {
        for (i = 0; i < 100000; i++) {
            time = (i * 7919 % 100000) / 1000
            printf "%.3f,Read,1000,Tier-2,k%d,Decode,,,,,,,,,,%.3f,100,90,ok\n", time, i, time
        }
    }'
} >"$TMP/many.csv"
for threads in 1 2 4; do
    exits "many rows, $threads threads" 0 "$kvstat" --csv --interval 1s --config threads=$threads "$TMP/many.csv"
    is 'as many in each interval' "$(column tiers.Tier-2.read.ops | sort -u | tr '\n' ' ')" '1000 '
    is 'intervals' "$(column t_s | wc -l)" 100
done

# A trace: by Timestamp, from its first interval on, although the times are Unix times.
exits 'a trace' 0 "$kvstat" --csv --interval 1s "$DATA/mlperf_trace_first400.csv.zst"
is 'from 0' "$(column t_s | head -n 1)" 0
is 'all its rows' "$(column tiers.Tier-2.read.ops | awk '{ n += $1 } END { print n }')" \
    "$(zstd -dcq "$DATA/mlperf_trace_first400.csv.zst" | grep -c ',Read,')"

exits 'too many intervals' 2 "$kvstat" --full --interval 10us "$dozen"
stderr_like 'is said' '^kvstat: --interval: 1e-05 s makes more than 10000 intervals'
sed '$s/,0.550000,100,0,ok$/,9000000000.0,100,0,ok/' "$dozen" >"$TMP/late.csv"
exits 'a row at the end of time' 2 "$kvstat" --full --interval 1s "$TMP/late.csv"
exits 'several files' 2 "$kvstat" --full --interval 1s "$dozen" "$dozen"
stderr_like 'are refused' '^kvstat: --interval: takes one file'
exits 'no duration' 2 "$kvstat" --full --interval soon "$dozen"
done_testing
