#!/bin/sh
# mlperf_readers.t - kvstat reads what the tools around the MLPerf Storage KV-cache benchmark leave: whole results trees with
# run summaries, metadata and files about the hosts; files of January 2026; and, as references, its validation trace and
# the JSON of the engines that its own scripts compare it with. Bugs looked like a summary that was "no report", like
# every rank under one cut name, and like tokens of prompts taken for generated ones.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv # 12 requests, 100 and 10 tokens each, 1.153 s; hit rate 0.8
tree=$DATA/mlperf_example
cell() { csv_figure "$TMP/stdout" "$2" "$1"; } # cell RUN FIGURE

# ---- a results tree ----
exits 'a results tree' 0 "$kvstat" "$tree"
stdout_like 'its ranks have option, trial and rank in their names' '^option_2/trial_0/rank_0  mlperf '
stdout_like 'its summary has a line for each option' '^summary option 3 +mlperf +- +110 +- +0\.391 +0\.095 +2\.29 s +441 ms'
is 'metadata is left out quietly' "$(cat "$TMP/stderr")" ''
exits 'as CSV' 0 "$kvstat" --csv "$tree"
is 'the option of the summary is that of the rank' "$(cell 'summary option 1' tiers.Tier-2.read.gib_per_elapsed_s)" \
    "$(cell option_1/trial_0/rank_0 tiers.Tier-2.read.gib_per_elapsed_s)"
is 'bytes that serve requests' "$(cell option_1/trial_0/rank_0 throughput.decode_bytes_read)" 6601900032
exits 'metadata alone' 2 "$kvstat" "$tree/kv_cache_20261122_152145_metadata.json"
stderr_like 'is no run' 'tells about a run of the MLPerf benchmark and has no figures'
cp -r "$tree" "$TMP/tree"
mv "$TMP/tree/kvcache_run_summary_20261122_152145.json" "$TMP/tree/summary.json"
printf '{"cluster_information": {"num_hosts": 1}}' >"$TMP/tree/kv_cache_20261122_152145_cluster.json"
exits 'a tree of version 3.0, with a file about the hosts' 0 "$kvstat" --csv "$TMP/tree"
is 'is the same' "$(cell 'summary option 2' tiers.Tier-2.write.device_us.p95)" 397869.0329998926
is 'quietly' "$(cat "$TMP/stderr")" ''
cp "$TMP/tree/summary.json" "$TMP/tree/kvcache_run_summary_20261122_152145.json"
exits 'the summary under both names' 0 "$kvstat" "$TMP/tree"
is 'counts once' "$(grep -c '^summary option 1' "$TMP/stdout")" 1
"$kvstat" --mlperf "$TMP/own.json" "$dozen" >/dev/null
jq '.valid = false | .why_invalid = ["slow"]' "$TMP/own.json" >"$TMP/invalid.json"
exits 'a run of our own that is not valid' 0 "$kvstat" "$TMP/invalid.json"
stdout_like 'is told so' 'NOT VALID'

# ---- beside a published run ----
# The figures of a published result of version 3.0; a summary of that version has these members only.
cat >"$TMP/published.json" <<'END'
{"schema_version": "1.0", "run_datetime": "20260704_140000", "npernode": 1, "host_count": 1, "total_ranks": 1,
 "trials_per_option": 3, "options": {
 "1": {"option": 1, "aggregated_read_bandwidth_gbps": 7.98, "aggregated_write_bandwidth_gbps": 1.77,
       "aggregated_avg_throughput_tokens_per_sec": 480, "aggregated_storage_throughput_tokens_per_sec": 7.93,
       "aggregated_p95_latency_ms": 63368, "rank_count": 1, "trial_count": 3},
 "2": {"option": 2, "aggregated_read_bandwidth_gbps": 1.79, "aggregated_p95_latency_ms": 15143}}}
END
exits 'a folder beside a published summary' 0 "$kvstat" --compare "$TMP/published.json" "$tree"
stdout_like 'option by option' '^Option 2  .*base'
is 'what both have' "$(grep -c '^  storage reads, GiB/s' "$TMP/stdout")" 2
stdout_like 'with the change' '^  storage reads, GiB/s +7\.98 +0\.615 +-92\.3 %$'
stdout_like 'what was measured differently' '^  trials an option +3 +1$'
stdout_like 'and what is not known' '^  users +not known +6$'
stdout_unlike 'both clients are Python' '^  client '
cp "$dozen" "$TMP/option_1-trial_0-rank_0.csv"
"$kvstat" --mlperf "$TMP/ours/" "$TMP/option_1-trial_0-rank_0.csv" >/dev/null
exits 'a run of our own beside it' 0 "$kvstat" --json --compare "$TMP/published.json" "$TMP/ours"
json_like "$TMP/stdout" <<'END'
its client is another | .compare_runs.measured_differently[] | select(.what == "client") | .base, .new | the benchmark's own program .Python. kvreplay
the option that both have | .compare_runs.options[].option | 1
the difference            | .compare_runs.options[0].figures[] | select(.name == "aggregated_avg_throughput_tokens_per_sec") | .base, (.new | floor) | 480 104
END
exits 'a difference without trials decides nothing' 4 "$kvstat" --check --compare "$tree" "$tree"
exits 'a folder without a summary' 2 "$kvstat" --compare "$tree/option_1" "$tree"
stderr_like 'is refused' 'holds no summary of a run of the MLPerf benchmark'
cp -r "$tree" "$TMP/ours/second"
exits 'a folder of two runs' 2 "$kvstat" --compare "$TMP/ours" "$tree"
stderr_like 'is to be named' 'holds several runs'
exits 'rows beside a run' 2 "$kvstat" --compare "$tree" "$dozen"
stderr_like 'are no run' 'two runs of the MLPerf benchmark'

# ---- January 2026 ----
cat >"$TMP/january.json" <<'END'
{"summary": {"total_requests": 3, "total_tokens": 30, "elapsed_time": 2, "avg_throughput_tokens_per_sec": 15,
 "cache_stats": {"cache_hit_rate": 0.5, "nvme_entries": 7, "nvme_read_p95_ms": 4, "nvme_read_device_p95_ms": 3,
 "nvme_write_p95_ms": 9, "nvme_write_device_p95_ms": 8, "total_read_gb": 0.25}}}
END
exits 'a file of January 2026' 0 "$kvstat" --csv "$TMP/january.json"
is 'calls the tier nvme' "$(cell january.json tiers.Tier-2.read.device_us.p95) $(cell january.json tiers.Tier-2.read.service_us.p95) \
$(cell january.json tiers.Tier-2.write.device_us.p95) $(cell january.json cache.tiers.Tier-2.final_objects)" '3000 4000 8000 7'
is 'total_read_gb' "$(cell january.json throughput.decode_bytes_read)" 268435456

# ---- references ----
# within LABEL: the last word of its line.
within() { awk -v label="  $1  " 'index($0, label) == 1 { print /not known$/ ? "not known" : $NF }' "$TMP/stdout"; }
cat >"$TMP/requests.json" <<'END'
[{"timestamp": 0.0, "cache_hit": true, "read_bytes": 2500, "write_bytes": 0, "context_tokens": 90, "generation_tokens": 10},
 {"timestamp": 0.1, "cache_hit": true, "read_bytes": 0, "write_bytes": 650, "context_tokens": 110, "generation_tokens": 10},
 {"timestamp": 0.2, "cache_hit": true, "read_bytes": 0, "write_bytes": 650, "context_tokens": 100, "generation_tokens": 10},
 {"timestamp": 0.3, "cache_hit": true, "read_bytes": 0, "write_bytes": 0, "context_tokens": 100, "generation_tokens": 10},
 {"timestamp": 0.48, "cache_hit": false, "read_bytes": 0, "write_bytes": 0, "context_tokens": 100, "generation_tokens": 10}]
END
exits 'its validation trace' 0 "$kvstat" --check --reference "$TMP/requests.json" "$dozen"
for figure in 'hit rate of all lookups' 'bytes read / written' 'context tokens a request' 'generated tokens a request' \
    'generated tokens a second'; do
    is "$figure is within 5 %" "$(within "$figure")" yes
done
sed 's/"cache_hit": true/"cache_hit": false/' "$TMP/requests.json" >"$TMP/misses.json"
exits 'one with no hit' 1 "$kvstat" --check --reference "$TMP/misses.json" "$dozen"
is 'is not' "$(within 'hit rate of all lookups')" NO
sed 's/, "context_tokens": [0-9]*//' "$TMP/requests.json" >"$TMP/short.json"
exits 'one without context' 0 "$kvstat" --check --reference "$TMP/short.json" "$dozen"
is 'does not tell it' "$(within 'context tokens a request')" 'not known'

# 12 requests of 110 tokens in 1.153 s: 10.41 requests and 1144.8 tokens a second.
printf '{"elapsed_time": 1.153, "num_requests": 12, "total_num_tokens": 1320, "requests_per_second": 10.4, "tokens_per_second": %s}' \
    1144 >"$TMP/vllm.json"
exits "vLLM's throughput" 0 "$kvstat" --check --reference "$TMP/vllm.json" "$dozen"
is 'requests and all tokens a second' "$(within 'requests a second') $(within 'all tokens a second')" 'yes yes'
is 'says nothing of generated tokens' "$(within 'generated tokens a second')" 'not known'
sed 's/1144/1050/' "$TMP/vllm.json" >"$TMP/slow.json"
exits 'another rate' 1 "$kvstat" --check --reference "$TMP/slow.json" "$dozen"
is 'is outside' "$(within 'all tokens a second')" NO
exits 'as JSON' 1 "$kvstat" --json --check --reference "$TMP/slow.json" "$dozen"
is 'has both' "$(json "$TMP/stdout" '.reference.figures[5:][] | .name, .within')" 'requests_per_second true tokens_per_second false'
printf '{"tier": "gpu_only", "num_prompts": 12, "total_tokens": 120, "elapsed_time": 1.153, "tokens_per_second": 104.08,
    "requests_per_second": 10.4, "backend": "lmcache"}' >"$TMP/lmcache.json"
exits "LMCache's" 0 "$kvstat" --check --reference "$TMP/lmcache.json" "$dozen"
is 'are generated tokens' "$(within 'generated tokens a second') $(within 'generated tokens a request')" 'yes yes'
exits 'another reference' 0 "$kvstat" --reference "$dozen" "$dozen"
is 'has no such rates' "$(within 'requests a second')" ''
done_testing
