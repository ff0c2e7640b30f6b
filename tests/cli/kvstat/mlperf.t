#!/bin/sh
# mlperf.t - --mlperf writes the members that the benchmark's aggregator reads, under its names and in its units, from
# the figures of a replay, and says that it is no official result. Bugs looked like bandwidths in gigabits.
. "$(dirname "$0")/../../lib.sh"
kvstat=$BIN/kvstat
results=$TMP/results.json
dozen=$DATA/kvstat_dozen.csv

exits '--mlperf' 0 "$kvstat" --json --mlperf "$results" "$dozen"
# The figures as report.t adds them up.
json_like "$results" <<'END'
says what it is not                         | .note | .* not an official MLPerf result
tokens a second of wall clock: 120, 1.153 s | .summary.avg_throughput_tokens_per_sec | 104[.]0763.*
of storage time: 120, 0.206 s               | .summary.storage_throughput_tokens_per_sec | 582[.]5242.*
objects in the storage tier                 | .summary.cache_stats.storage_entries | 1
GiB a second read: 24 MiB, 1.11 s           | .summary.cache_stats.tier_storage_read_bandwidth_gbps | 0[.]02111.*
nothing written is 0                        | .summary.cache_stats.tier_storage_write_bandwidth_gbps | 0
P95 of the device, as in the report         | .summary.cache_stats.storage_read_device_p95_ms | 15
of no writes is left out                    | .summary.cache_stats | has("storage_write_device_p95_ms") | false
hit rate                                    | .summary.cache_stats.cache_hit_rate | 0.8
no null                                     | [.. | nulls] | length | 0
END
awk -F, -v OFS=, 'NR > 1 { $18 = "" } { print }' "$dozen" >"$TMP/no_device"
exits 'no device times' 0 "$kvstat" --mlperf "$results" "$TMP/no_device"
is 'are left out too' "$(json "$results" '.summary.cache_stats | has("storage_read_device_p95_ms")')" false
exits 'a trace' 2 "$kvstat" --mlperf "$TMP/none.json" "$DATA/mlperf_trace_first400.csv.zst"
stderr_like 'is refused' '^kvstat: --mlperf: .* is a trace'
not_ok 'without a file' test -e "$TMP/none.json"
exits 'several files' 2 "$kvstat" --mlperf "$TMP/none.json" "$dozen" "$dozen"
exits 'a folder that is not there' 1 "$kvstat" --mlperf "$TMP/none/x.json" "$dozen"
done_testing
