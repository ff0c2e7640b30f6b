#!/bin/sh
# fio.t - --fio-job writes a job that fio accepts and runs, with the replay's share of reads within 2 points, its mean
# sizes within 10 %, and its depth by Little's law. Bugs looked like writes with the sizes of reads.
. "$(dirname "$0")/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv

# 8,000 operations, 10 ms apart: 70 % reads of 4 to 24 KiB that take 25 ms, 30 % writes of 12 or 36 KiB that take 5 ms. (So
# many because fio draws each operation: its share of reads has a deviation of half a point.)
{
    head -n 1 "$dozen"
    awk 'BEGIN { for (i = 0; i < 8000; i++) { read = i % 10 < 7; t = i / 100
        size = read ? 4096 + (i * 7919 % 1000) * 20 : (i % 20 < 10 ? 12288 : 36864)
        if (read) { n++; bytes += size } else { m++; written += size }
        printf "%.2f,%s,%d,Tier-2,k%d,%s,,,,,,,,%.2f,,%.2f,%d,%d,ok\n", t, read ? "Read" : "Write", size, i, read ? "Decode" : "Prefill", t, t, read ? 25000 : 5000, 1000 } 
        printf "%d %d\n", bytes / n, written / m >"/dev/stderr" }' 2>"$TMP/means"
} >"$TMP/run.csv"
read -r read_mean write_mean <"$TMP/means"

exits '--fio-job' 0 "$kvstat" --fio-job "$TMP/job" "$TMP/run.csv"
like 'beside the report' "$(cat "$TMP/stdout")" '^Throughput'
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
like 'is refused' "$(cat "$TMP/stderr")" '^kvstat: --fio-job: .* holds no replayed'
exits 'several' 2 "$kvstat" --fio-job "$TMP/none" "$dozen" "$dozen"
exits 'a folder that is not there' 1 "$kvstat" --fio-job "$TMP/none/job" "$dozen"
not_ok 'no file is left' test -e "$TMP/none"

# ---- fio runs it ----

if ! command -v fio >/dev/null || ! command -v python3 >/dev/null; then
    diag 'fio or python3 is not installed: its part is skipped'
    done_testing
    exit 0
fi
# Pauses and O_DIRECT are not what is looked at here: a test's file system may not know the latter.
sed 's/^direct=1/direct=0/; s/^thinktime=.*/thinktime=0/; s/^ioengine=.*/ioengine=psync/' "$TMP/job" >"$TMP/fast.fio"
cd "$TMP" || exit 1
for job in job reads writes; do
    exits "fio accepts $job" 0 env TARGET="$TMP/target" fio --parse-only "$TMP/$job"
done
exits 'and runs it' 0 env TARGET="$TMP/target" fio --output-format=json --output="$TMP/fio.json" "$TMP/fast.fio"
python3 - "$TMP/fio.json" >"$TMP/figures" <<'EOF'
import json, sys
text = open(sys.argv[1]).read()
job = json.loads(text[text.index("{"):])["jobs"][0]
r, w = job["read"], job["write"]
print(r["total_ios"], w["total_ios"], r["io_bytes"] // r["total_ios"], w["io_bytes"] // w["total_ios"])
EOF
read -r reads writes read_size write_size <"$TMP/figures"
diag "fio: $reads reads of $read_size bytes, $writes writes of $write_size; wanted 5600 of $read_mean, 2400 of $write_mean"
ok 'operations' test "$((reads + writes))" -ge 7990 -a "$((reads + writes))" -le 8010
# within NAME GOT WANTED: 10 %.
within() { ok "$1 within 10 %" test "$((10 * $2))" -ge "$((9 * $3))" -a "$((10 * $2))" -le "$((11 * $3))"; }
ok 'share of reads within 2 points' test "$((100 * reads))" -ge "$((68 * (reads + writes)))" -a "$((100 * reads))" -le "$((72 * (reads + writes)))"
within 'mean size of reads' "$read_size" "$read_mean"
within 'mean size of writes' "$write_size" "$write_mean"
done_testing
