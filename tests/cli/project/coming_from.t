#!/bin/sh
# coming_from.t - "Coming from kv-cache.py" in kvtrace(7) names each option that examples/kvbench accepts and each member
# of the benchmark's results, and what it says of our programs is there: their options, and the members of kvstat --json.
# A bug looked like an option that was added to kvbench and not to the page, or a page that names an option of before.
# builds: plain
. "${0%/*}/../../lib.sh"

sed -n '/^\.Sh COMING FROM KV-CACHE.PY/,/^\.Sh FILES/p' "$TOP/man/kvtrace.7" >"$TMP/page"
ok 'the page is there' test -s "$TMP/page"

# The options of kvbench: the words of its cases.
sed -n "/^    case \\\$option in/,/^    esac/p" "$TOP/examples/kvbench" | grep -o -e '--[a-z][a-z-]*' | grep -vx -e '--help' |
    sort -u >"$TMP/accepted"
ok 'kvbench has options' test "$(lines "$TMP/accepted")" -gt 35
sed -n 's/^\.It Fl -\([a-z-]*\)$/--\1/p' "$TMP/page" | sort -u >"$TMP/named"
is 'each option of kvbench is in the page' "$(comm -23 "$TMP/accepted" "$TMP/named")" ''
is 'and no other' "$(comm -13 "$TMP/accepted" "$TMP/named")" ''

# What stands beside them: "kvgen --users" is an option that kvgen lists.
for program in kvgen kvreplay kvstat kvprecond; do
    "$BIN/$program" --list-options | cut -f 1 | sed "s/^/$program --/"
done >"$TMP/options"
grep -o -E 'kv(gen|replay|stat|precond) --[a-z0-9-]+' "$TMP/page" | sort -u >"$TMP/referred"
ok 'the page refers to options' test "$(lines "$TMP/referred")" -gt 30
is 'each of them is there' "$(grep -vxFf "$TMP/options" "$TMP/referred")" ''

# The members of a results file of the benchmark, without statistics and percentiles.
members='requests_completed total_tokens_generated total_storage_io_latency total_generation_latency end_to_end_latencies
storage_latencies generation_latencies prefill_latencies decode_latencies throughput_timeline multi_turn_cache_hits
multi_turn_cache_misses seed total_requests total_tokens elapsed_time avg_throughput_tokens_per_sec total_storage_io_time
storage_throughput_tokens_per_sec requests_per_second end_to_end_latency_ms storage_io_latency_ms generation_latency_ms
cache_hit_rate cache_hits cache_misses gpu_entries cpu_entries storage_entries gpu_memory_used_gb cpu_memory_used_gb
offloads_cpu offloads_storage storage_health prefill_writes decode_reads system_prompt_hits common_phrase_hits
user_cache_hits multi_turn_hits total_read_bytes total_write_bytes total_read_gb total_write_gb read_write_ratio
read_iops write_iops storage_tokens_processed prefix_cache_stats multi_turn_stats qos_metrics autoscaling_summary'
is 'each member of its results is in the page' "$(for member in $members; do
    grep '^\.It Va ' "$TMP/page" | grep -q -w "$member" || echo "$member"
done)" ''

# Where they are: the members named there are in a report.
told "$BIN/kvgen" --model tiny-1b --users 4 --duration 5 --gpu-mem 0 --cpu-mem 100MiB -o "$TMP/t.csv.zst"
told "$BIN/kvreplay" --timing served --workers 4 --tier-engine 2=null --speed 10 -o "$TMP/r.csv.zst" "$TMP/t.csv.zst"
"$BIN/kvstat" --json --profile mlperf "$TMP/r.csv.zst" >"$TMP/r.json"
for path in requests.count throughput.wall.generated_tokens run.seed elapsed_s throughput.wall.generated_tokens_per_s \
    throughput.storage.busy_s throughput.storage.generated_tokens_per_s requests.end_to_end_ms requests.storage_ms \
    requests.generation_ms cache.lookups.multi_turn cache.lookups.all 'cache.tiers[0].final_objects' \
    'cache.tiers[0].offload_ops' 'groups[0].gib_per_s' 'groups[0].service_us' 'groups[0].device_us' \
    throughput.tier2.tokens_per_s cache.read_write_ratio requests.by_qos assessment; do
    plain=$(printf '%s' "$path" | sed 's/\[0\]/[]/')
    ok "$path is in the page" grep -qF -- "$plain" "$TMP/page"
    isnt "$path is in a report" "$(json "$TMP/r.json" ".$path | type")" null
done
done_testing
