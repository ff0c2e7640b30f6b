#!/bin/sh
# mlperf.t - --mlperf writes the results file of the benchmark: every member, under its names, in its units and by its
# definitions, from the figures of a replay, and says that it is no official result. Bugs looked like bandwidths in
# gigabits or divided by the time of the operations instead of the run's, and like a P95 of writes that are demotions.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
results=$TMP/results.json
dozen=$DATA/kvstat_dozen.csv

exits '--mlperf' 0 "$kvstat" --json --mlperf "$results" "$dozen"
# The figures as report.t adds them up.
json_like "$results" <<'END'
says what it is not                         | .note | .* not an official MLPerf result
tokens a second of wall clock: 120, 1.153 s | .summary.avg_throughput_tokens_per_sec | 104[.]0763.*
of storage time without demotions: 0.204 s  | .summary.storage_throughput_tokens_per_sec | 588[.]2352.*
objects in the storage tier                 | .summary.cache_stats.storage_entries | 1
GiB a second read: 24 MiB, 1.153 s          | .summary.cache_stats.tier_storage_read_bandwidth_gbps | 0[.]02032.*
nothing written is 0                        | .summary.cache_stats.tier_storage_write_bandwidth_gbps | 0
P95 of the device, as in the report         | .summary.cache_stats.storage_read_device_p95_ms | 15
of no writes is left out                    | .summary.cache_stats | has("storage_write_device_p95_ms") | false
hit rate                                    | .summary.cache_stats.cache_hit_rate | 0.8
no null but the one of the benchmark        | [paths(. == null) | join(".")] | join(" ") | summary.autoscaling_summary
a list for each request                     | .end_to_end_latencies, .storage_latencies | length | 12 12
demotions have members of their own         | .kvtrace.demotions.cpu_write_ops | 1
END
awk -F, -v OFS=, 'NR > 1 { $18 = "" } { print }' "$dozen" >"$TMP/no_device"
exits 'no device times' 0 "$kvstat" --mlperf "$results" "$TMP/no_device"
is 'are left out too' "$(json "$results" '.summary.cache_stats | has("storage_read_device_p95_ms")')" false

# ---- each figure recomputed from the rows, the structure against that of the benchmark's own files ----

python=$(command -v python3) || python=
recompute=$TOP/tests/cli/kvstat/mlperf_recompute.py schema=$TOP/tests/mlperf_schema.py
tree=$DATA/mlperf_example
if [ -n "$python" ]; then
    exits 'the figures of those rows' 0 "$kvstat" --mlperf "$results" "$dozen"
    ok 'are those of the rows' "$python" "$recompute" "$dozen" "$results"
    ok 'the schema takes the files of the benchmark' "$python" "$schema" rank "$tree"/option_*/trial_0/rank_0/*.json
    sed 's/"total_requests": 8/"total_requests": "8"/' "$tree"/option_1/trial_0/rank_0/*.json >"$TMP/wrong.json"
    not_ok 'and no file with another type' "$python" "$schema" rank "$TMP/wrong.json"
    "$BIN/kvgen" --compat mlperf --ops Read,Write,Delete,Generate,Miss --model tiny-1b --num-users 6 --duration 3 \
        --gpu-mem-gb 0 --storage-capacity-gb 3 --generation-mode none --cpu-mem-gb 0 -o "$TMP/plain.csv.zst" 2>/dev/null
    "$BIN/kvgen" --compat mlperf --ops Read,Write,Delete,Generate,Miss --model tiny-1b --num-users 6 --duration 3 \
        --gpu-mem-gb 0 --storage-capacity-gb 3 --generation-mode fast --cpu-mem-gb 0.2 -o "$TMP/some.csv.zst" 2>/dev/null
    for trace in plain some; do
        "$BIN/kvreplay" --timing served --workers 6 --duration 3 --tier-engine 1=null --tier-engine 2=sim:lat=3ms,bw=900MB/s \
            --progress none -o "$TMP/$trace.result.csv.zst" "$TMP/$trace.csv.zst" 2>"$TMP/$trace.log"
        exits "a replay, CPU tier: $trace" 0 "$kvstat" --mlperf "$TMP/$trace.json" "$TMP/$trace.result.csv.zst"
        zstd -dcq "$TMP/$trace.result.csv.zst" >"$TMP/$trace.result.csv"
        ok 'its figures are those of its rows' "$python" "$recompute" "$TMP/$trace.result.csv" "$TMP/$trace.json"
        ok 'its members and types are those of the benchmark' "$python" "$schema" rank "$TMP/$trace.json"
    done
    is 'without a CPU tier: the same members, and our own' "$(jq -r 'keys[]' "$TMP/plain.json" | tr '\n' ' ')" \
        "$(jq -r 'keys[], "kvtrace", "note", "valid", "why_invalid"' "$tree"/option_1/trial_0/rank_0/*.json | sort | tr '\n' ' ')"
    is 'the same below summary' "$(jq -r '.summary | del(.qos_metrics, .cache_stats.storage_health.criteria) |
        [paths | join(".")] | sort[]' "$TMP/plain.json")" "$(jq -r '.summary | del(.qos_metrics, .cache_stats.storage_health.criteria) |
        [paths | join(".")] | sort[]' "$tree"/option_1/trial_0/rank_0/*.json)"
    is 'demotions are no direct writes' "$(json "$TMP/some.json" '.summary.cache_stats | has("storage_write_p95_ms")')" false
fi
# As a replay of the benchmark's own --io-trace-log leaves it: no tokens, no requests.
cut -d, -f1-6,14-19 "$dozen" >"$TMP/core.csv"
exits 'rows without tokens and requests' 0 "$kvstat" --mlperf "$TMP/core.json" "$TMP/core.csv"
stderr_like 'are told so' '^kvstat: --mlperf: .*core[.]csv tells no tokens: their rates are unknown and left out$'
is 'and have no rate of them' "$(json "$TMP/core.json" '.summary | has("avg_throughput_tokens_per_sec"), has("elapsed_time")')" 'false true'
exits 'a trace' 2 "$kvstat" --mlperf "$TMP/none.json" "$DATA/mlperf_trace_first400.csv.zst"
stderr_like 'is refused' '^kvstat: --mlperf: .* is a trace'
not_ok 'without a file' test -e "$TMP/none.json"
exits 'several files' 2 "$kvstat" --mlperf "$TMP/none.json" "$dozen" "$dozen"
exits 'a folder that is not there' 1 "$kvstat" --mlperf "$TMP/none/x.json" "$dozen"
done_testing
