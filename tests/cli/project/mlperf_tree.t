#!/bin/sh
# mlperf_tree.t - examples/mlperf.sh leaves the run folder of the benchmark's wrapper: metadata, summary, a file for each
# option, trial and rank; its table and its summary are sums over ranks, means over trials, and the largest P95. Bugs looked
# like a mean of P95s, like two files in one rank's folder after a second run, and like "No valid benchmark runs found".
# builds: plain
. "${0%/*}/../../lib.sh"
mlperf=$TOP/examples/mlperf.sh
command -v python3 >/dev/null && schema=$TOP/tests/mlperf_schema.py || schema=
cd "$TMP" || exit 1

# A drive that takes no room, and a clock that does not wait.
mkdir -p programs/bin clock
ln -s "$BIN/kvgen" "$BIN/kvstat" "$BIN/kvprecond" programs/bin
printf "#!/bin/sh\\nprintf \"%%s\\\\n\" \"\$2\" >>\"%s/targets\"\\nshift 2\\nexec \"%s\" --config spin=0 --tier-engine 2=sim:lat=2ms,bw=800MB/s \"\$@\"\\n" \
    "$TMP" "$BIN/kvreplay" >programs/bin/kvreplay
printf "#!/bin/sh\\nprintf \"%%s\\\\n\" \"\$1\" >>\"%s/slept\"\\n" "$TMP" >clock/sleep
chmod +x programs/bin/kvreplay clock/sleep

exits 'two trials of two options, two ranks' 0 env BUILD="$TMP/programs" PATH="$TMP/clock:$PATH" "$mlperf" -m tiny-1b -u 3 -t 2 \
    -d objects -o out --storage-capacity-gb 4 -w option_1,option_3 --trials 2 --ranks 2
cp stdout table
stderr_like 'no pauses, which is said' 'no pauses between trials'
not_ok 'and so' test -e slept
run=$(ls -d out/kv_cache/tiny-1b/run/*)
like 'the folder of the run' "${run##*/}" '^[0-9]{8}_[0-9]{6}$'
is 'a file for each rank' "$(cd "$run" && find . -name 'kvcache_results_*.json' | sed 's|/kvcache_.*||; s|^\./||' | sort | paste -sd ' ' -)" \
    "$(for o in 1 3; do for t in 0 1; do for r in 0 1; do echo "option_$o/trial_$t/rank_$r"; done; done; done | paste -sd ' ' -)"
is 'one metadata file, both names of the summary' "$(cd "$run" && printf '%s\n' ./*.json | sed 's|[0-9]\{8\}_[0-9]\{6\}|DATE|' | paste -sd ' ' -)" \
    './kv_cache_DATE_metadata.json ./kvcache_run_summary_DATE.json ./summary.json'
is 'rank 1 has seed 43 and a folder of its own' \
    "$(json "$(find "$run/option_1/trial_0/rank_1" -name '*.json')" .seed) $(sort -u targets | paste -sd ' ' -)" \
    '43 objects/rank_0 objects/rank_1'
if [ -n "$schema" ]; then
    ok 'the schema of the benchmark takes the files of all ranks' sh -c "find '$run' -name 'kvcache_results_*' | xargs python3 '$schema' rank"
    ok 'its summary' python3 "$schema" summary "$run/summary.json"
    ok 'and metadata' python3 "$schema" metadata "$run"/*_metadata.json
fi

rows() { zstd -dcq "$1" | grep -v ',Note,' | md5sum; }
# The aggregation once more, with jq, from the files of the ranks.
ranks() { jq -s "$2" "$run/option_$1"/trial_*/rank_*/*.json; }
same() { ok "$1" awk -v a="$2" -v b="$3" 'BEGIN { print a, b; exit !(a - b < 1e-9 * b && b - a < 1e-9 * b && b > 0) }'; }
for option in 1 3; do
    aggregated() { json "$run/summary.json" ".options[\"$option\"].aggregated_$1"; }
    same "option $option: bandwidth of reads: sums over ranks, mean of trials" "$(aggregated read_bandwidth_gbps)" \
        "$(ranks $option '[.[].summary.cache_stats.tier_storage_read_bandwidth_gbps] | add / 2')"
    same "option $option: tokens a second of storage time" "$(aggregated storage_throughput_tokens_per_sec)" \
        "$(ranks $option '[.[].summary.storage_throughput_tokens_per_sec] | add / 2')"
    same "option $option: device P95 of reads: the largest" "$(aggregated device_read_p95_ms)" \
        "$(ranks $option '[.[].summary.cache_stats.storage_read_device_p95_ms] | max')"
    same "option $option: P95 of requests: the largest" "$(aggregated p95_latency_ms)" \
        "$(ranks $option '[.[].summary.storage_io_latency_ms.p95] | max')"
    is "option $option: the table has that P95" "$(awk -v name="option_$option" '$1 == name { print $4 }' table)" \
        "$(aggregated device_read_p95_ms | awk '{ printf "%.1f", $1 }')"
    is "option $option: and that bandwidth" "$(awk -v name="option_$option" '$1 == name { print $2 }' table)" \
        "$(aggregated read_bandwidth_gbps | awk '{ printf "%.3f", $1 }')"
done
like 'what misleads is said' "$(cat table)" 'Storage tokens/s misleads'

# ---- the load is that of kvbench with the same options, and of the benchmark's own behaviour ----

exits "kvbench with the options of option 1" 0 env BUILD="$TMP/programs" "$TOP/examples/kvbench" --model tiny-1b \
    --num-users 3 --duration 2 --gpu-mem-gb 0 --cpu-mem-gb 0 --max-concurrent-allocs 16 --generation-mode none \
    --storage-capacity-gb 4 --seed 42 --cache-dir objects/bench --keep-files "bench" --output "bench.json"
digest() { json "$1" .trace.digest; }
like "option 1: the trace has a digest" "$(digest "bench/kvreplay.json")" '^[0-9a-f]{16}'
is "option 1: it is that of mlperf.sh" "$(digest "bench/kvreplay.json")" \
    "$(digest "out/option_1-trial_0-rank_0.kvreplay.json")"
is "option 1: and so are the bytes of all rows" "$(rows "bench/trace.csv.zst")" \
    "$(rows "out/option_1-trial_0-rank_0.trace.csv.zst")"
isnt "option 1: another seed is another load" "$(rows "bench/trace.csv.zst")" \
    "$(rows "out/option_1-trial_0-rank_1.trace.csv.zst")"
exits 'once more into the same folder' 0 env BUILD="$TMP/programs" PATH="$TMP/clock:$PATH" "$mlperf" -m tiny-1b -u 3 -t 1 \
    -d objects -o out --storage-capacity-gb 4 -w option_1 --trials 1 --closed
is 'is a run of its own' "$(find out/kv_cache/tiny-1b/run -mindepth 1 -maxdepth 1 | wc -l)" 2
is 'and leaves the first as it was' "$(find "$run" -name 'kvcache_results_*' | wc -l)" 8
is '--closed: pauses before and after' "$(paste -sd ' ' slept)" '90 90'

# ---- kvstat --mlperf FOLDER by itself ----

cp out/option_1-trial_0-rank_0.result.csv.zst a.csv.zst
cp a.csv.zst b.csv.zst
exits 'files without option, trial and rank' 0 "$BIN/kvstat" --mlperf plain/ a.csv.zst b.csv.zst
is 'are trials of option 1' "$(find plain -name 'kvcache_results_*' | sed 's|.*/\(option.*\)/kvcache_.*|\1|' | sort | paste -sd ' ' -)" \
    'option_1/trial_0/rank_0 option_1/trial_1/rank_0'
cp a.csv.zst option_1-trial_0-rank_1.csv.zst
cp a.csv.zst option_1-trial_0-rank_0.csv.zst
cp a.csv.zst option_1-trial_1-rank_0.csv.zst
exits 'a rank that is missing' 0 "$BIN/kvstat" --mlperf holes/ option_1-trial_0-rank_1.csv.zst option_1-trial_0-rank_0.csv.zst \
    option_1-trial_1-rank_0.csv.zst
is 'is told' "$(json "$(find holes -name summary.json)" '.partial_failure, .options["1"].missing_files[]')" \
    'true option_1/trial_1/rank_1'
exits 'two files of one rank' 2 "$BIN/kvstat" --mlperf twice/ option_1-trial_0-rank_0.csv.zst ./option_1-trial_0-rank_0.csv.zst
stderr_like 'are refused' 'another file is option 1, trial 0, rank 0 too'
exits 'an option that the benchmark does not have' 2 sh -c "cp a.csv.zst option_9.csv.zst; '$BIN/kvstat' --mlperf nine/ option_9.csv.zst"
exits '--merge' 2 "$BIN/kvstat" --merge --mlperf pooled/ a.csv.zst b.csv.zst
done_testing
