#!/bin/sh
# fio.t - --fio-job writes a job that fio accepts and runs, with the replay's share of reads within 2 points, its mean
# sizes within 10 %, and its depth by Little's law. Bugs looked like writes with the sizes of reads.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv

# 8,000 operations, 10 ms apart: 70 % reads of 4 to 24 KiB that take 25 ms, 30 % writes of 12 or 36 KiB that take 5 ms.
# So many because fio draws each operation: its share of reads has a deviation of half a point.
{
    head -n 1 "$dozen"
    awk 'BEGIN {
        for (i = 0; i < 8000; i++) {
            if (i % 10 < 7) row("Read", 4096 + (i * 7919 % 1000) * 20, "Decode", 25000)
            else row("Write", i % 20 < 10 ? 12288 : 36864, "Prefill", 5000)
        }
    }
    function row(op, bytes, phase, us) {
        time = i / 100
        printf "%.2f,%s,%d,Tier-2,k%d,%s,,,,,,,,%.2f,,%.2f,%d,1000,ok\n", time, op, bytes, i, phase, time, time, us
    }'
} >"$TMP/run.csv"
# mean_size OP: of the operations in the run.
mean_size() { awk -F, -v op="$1" '$2 == op { n++; bytes += $3 } END { printf "%d", bytes / n }' "$TMP/run.csv"; }

exits '--fio-job' 0 "$kvstat" --full --fio-job "$TMP/job" "$TMP/run.csv"
stdout_like 'beside the report' '^Throughput'
# 5600 x 25 ms + 2400 x 5 ms = 152 s over 80 s: 1.9 in flight, so 2, with a pause of 0.1 x 80 s / 8000.
like 'depth by Little'"'"'s law' "$(cat "$TMP/job")" '^iodepth=2$'
like 'a pause' "$(cat "$TMP/job")" '^thinktime=(99[0-9]|100[0-9])$'
like 'per round' "$(cat "$TMP/job")" '^thinktime_blocks=2$'
like 'reads' "$(cat "$TMP/job")" '^rwmixread=70$'
like 'as many' "$(cat "$TMP/job")" '^number_ios=8000$'
like 'writes in two sizes' "$(cat "$TMP/job")" '^bssplit=.*,12288/50:36864/50$'

exits 'reads alone' 0 "$kvstat" --fio-job "$TMP/reads" "$dozen"
like 'are randread' "$(cat "$TMP/reads")" '^rw=randread$'
like 'of one size' "$(cat "$TMP/reads")" '^bssplit=2097152/100$'
grep -v ',Read,' "$TMP/run.csv" >"$TMP/write.csv"
exits 'writes alone' 0 "$kvstat" --fio-job "$TMP/writes" "$TMP/write.csv"
like 'are randwrite' "$(cat "$TMP/writes")" '^rw=randwrite$'
exits 'a trace' 2 "$kvstat" --fio-job "$TMP/none" "$DATA/mlperf_trace_first400.csv.zst"
stderr_like 'is refused' '^kvstat: --fio-job: .* holds no replayed'
exits 'several' 2 "$kvstat" --fio-job "$TMP/none" "$dozen" "$dozen"
exits 'a folder that is not there' 1 "$kvstat" --fio-job "$TMP/none/job" "$dozen"
not_ok 'no file is left' test -e "$TMP/none"

# ---- fio runs it ----

if ! command -v fio >/dev/null; then
    diag 'fio is not installed: its part is skipped'
    done_testing
    exit 0
fi
# Without pauses, and without O_DIRECT, which the file system of a test may not know.
sed 's/^direct=1/direct=0/; s/^thinktime=.*/thinktime=0/; s/^ioengine=.*/ioengine=psync/' "$TMP/job" >"$TMP/fast.fio"
cd "$TMP" || exit 1
for job in job reads writes; do
    exits "fio accepts $job" 0 env TARGET="$TMP/target" fio --parse-only "$TMP/$job"
done
exits 'and runs it' 0 env TARGET="$TMP/target" fio --output-format=json --output="$TMP/fio.json" "$TMP/fast.fio"
sed -n '/^{/,$p' "$TMP/fio.json" >"$TMP/report.json" # fio may put lines before it
json "$TMP/report.json" '.jobs[0] | (.read, .write | .total_ios), (.read, .write | .io_bytes / .total_ios | floor)' \
    >"$TMP/figures"
read -r reads writes read_size write_size <"$TMP/figures"
operations=$((reads + writes)) read_mean=$(mean_size Read) write_mean=$(mean_size Write)
diag "fio: $reads reads of $read_size bytes, $writes writes of $write_size"
diag "wanted: 5600 of $read_mean, 2400 of $write_mean"
# between NAME GOT LEAST MOST
between() { ok "$1" test "$2" -ge "$3" -a "$2" -le "$4"; }
between 'operations' "$operations" 7990 8010
between 'share of reads within 2 points' $((100 * reads)) $((68 * operations)) $((72 * operations))
between 'mean size of reads within 10 %' $((10 * read_size)) $((9 * read_mean)) $((11 * read_mean))
between 'mean size of writes within 10 %' $((10 * write_size)) $((9 * write_mean)) $((11 * write_mean))
done_testing
