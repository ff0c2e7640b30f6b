#!/bin/sh
# mlperf.t - --mlperf writes the members that the benchmark's aggregator reads, under its names and in its units, from
# the figures of a replay, and says that it is no official result. Bugs looked like bandwidths in gigabits.
. "$(dirname "$0")/../../lib.sh"
kvstat=$BIN/kvstat
J=$TMP/results.json
dozen=$DATA/kvstat_dozen.csv

exits '--mlperf' 0 "$kvstat" --json --mlperf "$TMP/results.json" "$dozen"
like 'says what it is not' "$(value "$J" note)" 'not an official MLPerf result'
# The figures as report.t adds them up.
like 'tokens a second of wall clock: 120 / 1.153 s' "$(value "$J" avg_throughput_tokens_per_sec)" '^104\.0763'
like 'of storage time: 120 / 0.206 s' "$(value "$J" storage_throughput_tokens_per_sec)" '^582\.5242'
is 'objects in the storage tier' "$(value "$J" storage_entries)" 1
like 'GiB a second read: 24 MiB / 1.11 s' "$(value "$J" tier_storage_read_bandwidth_gbps)" '^0\.02111'
is 'nothing written is 0' "$(value "$J" tier_storage_write_bandwidth_gbps)" 0
is 'P95 of the device, as in the report' "$(value "$J" storage_read_device_p95_ms)" 15
is 'of no writes is left out' "$(value "$J" storage_write_device_p95_ms)" ''
is 'hit rate' "$(value "$J" cache_hit_rate)" 0.8
like 'where they belong' "$(tr -d ' \n' <"$TMP/results.json")" '"summary":\{"avg_throughput[^{]*"cache_stats":\{[^{]*"storage_entries":1,'
unlike 'no null' "$(cat "$TMP/results.json")" 'null'
awk -F, -v OFS=, 'NR > 1 { $18 = "" } { print }' "$dozen" >"$TMP/no_device"
exits 'no device times' 0 "$kvstat" --mlperf "$TMP/results.json" "$TMP/no_device"
is 'are left out too' "$(value "$J" storage_read_device_p95_ms)" ''
exits 'a trace' 2 "$kvstat" --mlperf "$TMP/none.json" "$DATA/mlperf_trace_first400.csv.zst"
like 'is refused' "$(cat "$TMP/stderr")" '^kvstat: --mlperf: .* is a trace'
not_ok 'without a file' test -e "$TMP/none.json"
exits 'several files' 2 "$kvstat" --mlperf "$TMP/none.json" "$dozen" "$dozen"
exits 'a folder that is not there' 1 "$kvstat" --mlperf "$TMP/none/x.json" "$dozen"
done_testing
