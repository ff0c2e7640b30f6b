#!/bin/sh
# runs.t - folders and JSON documents become a table with a row for each run, under kvstat's names: kvstat's own JSON,
# summaries of kvgen, kvreplay and kvprecond, results of the MLPerf benchmark, of vLLM and SGLang. Bugs looked like two
# documents of one run that differ by a factor of 1000, or a folder that failed because of a foreign file.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv

# figures RUN NAME...: the values of those figures, of the run whose name ends so; with blanks between.
figures() {
    run=$1
    shift
    csv_rows "$TMP/stdout" | awk -F '\t' -v run="$run" -v names="$*" '
        substr($3, length($3) - length(run) + 1) == run { value[$1] = $2; found[$1] = 1 }
        END {
            count = split(names, name, " ")
            for (i = 1; i <= count; i++)
                printf "%s%s", (i > 1 ? " " : ""), (name[i] in found ? value[name[i]] : "no figure")
            print ""
        }'
}
figure() { figures "$2" "$1"; } # NAME RUN

mkdir -p "$TMP/runs/deeper"
cp "$dozen" "$TMP/runs/deeper/result.csv"
"$kvstat" --json --profile latency -o "$TMP/runs/report.json" "$dozen"
"$kvstat" --json -o "$TMP/runs/trials.json" "$dozen" "$dozen"
"$kvstat" --mlperf "$TMP/runs/mlperf.json" "$dozen" >/dev/null
"$BIN/kvgen" --no-notes --num-users 2 --duration 5 --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 -o "$TMP/trace.csv" \
    --summary "$TMP/runs/kvgen.json" 2>/dev/null
"$BIN/kvreplay" --null -o "$TMP/replay.csv" --summary "$TMP/runs/kvreplay.json" "$TMP/trace.csv" 2>/dev/null
"$BIN/kvprecond" --size 1M --config file_size=1M --json "$TMP/fill" >"$TMP/runs/kvprecond.json" 2>/dev/null
cat >"$TMP/runs/full.json" <<'EOF'
{"requests_completed": 12, "end_to_end_latencies": [1.0, 2.0], "summary": {"total_requests": 12, "total_tokens": 120,
 "elapsed_time": 1.153, "avg_throughput_tokens_per_sec": 104.0763, "storage_throughput_tokens_per_sec": 582.5,
 "total_storage_io_time": 0.206, "end_to_end_latency_ms": {"mean": 48.8, "p50": 53, "p95": 53, "p99": 53},
 "cache_stats": {"cache_hit_rate": 0.8, "read_write_ratio": 1.923, "decode_bytes_read_gb": 0.0234375,
  "storage_entries": 1, "tier_storage_read_bandwidth_gbps": 0.0211,
  "storage_read_device_p95_ms": 15, "storage_read_p95_ms": 20}}}
EOF
cat >"$TMP/runs/vllm.json" <<'EOF'
{"date": "20260101-000000", "backend": "vllm", "duration": 10.5, "completed": 12, "total_input_tokens": 1200,
 "total_output_tokens": 120, "request_throughput": 1.14, "output_throughput": 11.43, "total_token_throughput": 125.7,
 "input_lens": [100, 100], "generated_texts": ["a,b", "c"],
 "mean_e2el_ms": 50.5, "median_e2el_ms": 49, "p99_e2el_ms": 60}
EOF
for seconds in 21 22; do
    printf '{"backend": "sglang", "duration": %d, "completed": 10, "total_input_tokens": 500, ' $seconds
    printf '"total_output_tokens": 200, "output_throughput": 10, "mean_e2e_latency_ms": 70, '
    printf '"median_e2e_latency_ms": 66, "p99_e2e_latency_ms": 99}\n'
done >"$TMP/runs/sglang.jsonl"
cp "$DATA/mlperf_measured_k.json" "$TMP/runs"
zstd -q -c "$TMP/runs/vllm.json" >"$TMP/runs/packed.json.zst"
echo 'a,b' >"$TMP/runs/other.csv"
echo '{"a": 1}' >"$TMP/runs/other.json"
echo 'x' >"$TMP/runs/notes.txt"
echo '{broken' >"$TMP/runs/.hidden.json"

exits 'a folder' 0 "$kvstat" "$TMP/runs"
stdout_like 'is a table' "^16 runs in $TMP/runs/\$"
is 'of lines that fit 110 columns' "$(awk 'length > 110 && !/runs in/' "$TMP/stdout")" ''
stdout_like 'a line of it' '^deeper/result\.csv +result +1\.15 s +104 +80\.00 % +0\.020 +- +15\.0 ms +- +53\.0 ms$'
stderr_like 'foreign files are named' 'runs/other\.csv: left out: '
stderr_like 'also of JSON' 'runs/other\.json: left out: '
is 'and nothing else' "$(lines "$TMP/stderr")" 2

exits 'as CSV' 0 "$kvstat" --csv "$TMP/runs"
is 'sixteen runs' "$(sed 1d "$TMP/stdout" | cut -d, -f1 | sort -u | wc -l)" 16
cat >"$TMP/want" <<'EOF'
deeper/result.csv,result
full.json,mlperf
kvgen.json,kvgen
kvprecond.json,kvprecond
kvreplay.json,kvreplay
mlperf.json,mlperf
mlperf_measured_k.json seed 1,mlperf
mlperf_measured_k.json seed 2,mlperf
mlperf_measured_k.json seed 3,mlperf
packed.json.zst,engine
report.json,result
sglang.jsonl:1,engine
sglang.jsonl:2,engine
trials.json 1,result
trials.json 2,result
vllm.json,engine
EOF
is 'named and of their kinds' \
    "$(awk -F, -v OFS=, '$2 == "kind" { print $1, $7 }' "$TMP/stdout" | sed "s|$TMP/runs/||")" "$(cat "$TMP/want")"
is 'no figure twice' "$(cut -d, -f1-6,9 "$TMP/stdout" | sort | uniq -d)" ''
# One replay, told by three documents.
for name in throughput.wall.generated_tokens_per_s throughput.storage.generated_tokens_per_s \
    cache.lookups.all.hit_rate \
    tiers.Tier-2.read.gib_per_elapsed_s tiers.Tier-2.read.device_us.p95 cache.tiers.Tier-2.final_objects; do
    for run in report.json 'trials.json 2' runs/mlperf.json; do
        is "$name of $run" "$(figure $name "$run")" "$(figure $name result.csv)"
    done
    like "$name is known" "$(figure $name result.csv)" '^[0-9]'
done
is 'its bandwidth is the benchmark'"'"'s, over the elapsed time, and no other' "$(figure tiers.Tier-2.read.gib_per_s runs/mlperf.json)" 'no figure'
is 'hit rate' "$(figure cache.lookups.all.hit_rate result.csv)" 0.8
is 'kvstat JSON has its other figures too' \
    "$(figures report.json groups.Tier-2/Read/Decode.service_us.max assessment.status)" '20000 INCONCLUSIVE'
# The other documents.
is 'MLPerf: a time in us' "$(figure tiers.Tier-2.read.service_us.p95 full.json)" 20000
is 'bytes' "$(figure throughput.decode_bytes_read full.json)" 25165824
is 'tokens a request' "$(figure requests.generated_tokens_mean full.json)" 10
is 'vLLM' "$(figures vllm.json elapsed_s throughput.wall.generated_tokens_per_s requests.context_tokens_mean \
    requests.end_to_end_ms.mean)" '10.5 11.43 100 50.5'
is 'compressed' "$(figure requests.end_to_end_ms.p99 packed.json.zst)" 60
is 'SGLang' "$(figures sglang.jsonl:2 elapsed_s requests.generated_tokens_mean requests.end_to_end_ms.mean)" '22 20 70'
measured() { json "$DATA/mlperf_measured_k.json" ".seeds[\"2\"] | $1"; }
ratio=$(measured ".bytes_by_op_tier_phase | to_entries |
    def bytes(\$op): [.[] | select(.key | startswith(\$op)).value] | add;
    bytes(\"Read\") / bytes(\"Write\")")
is 'the measured runs' "$(figures 'k.json seed 2' requests.count elapsed_s)" "$(measured .requests_completed) 60"
is 'their read/write ratio' "$(figure cache.read_write_ratio 'k.json seed 2' | awk '{ printf "%.6f", $1 }')" \
    "$(echo "$ratio" | awk '{ printf "%.6f", $1 }')"
rows=$(($(lines "$TMP/trace.csv") - 1))
like 'kvgen' "$(figures kvgen.json trace.rows requests.context_tokens_mean)" "^$rows [1-9]"
is 'kvreplay' "$(figures kvreplay.json rows.total options.null)" "$rows true"
is 'kvprecond' "$(figures kvprecond.json written_bytes tiers.Tier-2.write.gib_per_s)" \
    "1048576 $(figure gib_per_s kvprecond.json)"

# kvgen's summary and kvstat's report of the same trace say the same.
exits 'a trace and its summary' 0 "$kvstat" --csv "$TMP/trace.csv" "$TMP/runs/kvgen.json"
for name in cache.lookups.all.hit_rate cache.read_write_ratio requests.context_tokens_mean; do
    is "$name" "$(figure $name kvgen.json | cut -c 1-9)" "$(figure $name trace.csv | cut -c 1-9)"
    like "$name is known" "$(figure $name trace.csv)" '^[0-9]'
done
# Tokens, too, unless the end of time cut requests short.
both() {
    "$BIN/kvgen" --num-users 5 --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 "$@" -o "$TMP/cuts.csv" \
        --summary "$TMP/cuts.json" 2>/dev/null
    "$kvstat" --csv "$TMP/cuts.csv" "$TMP/cuts.json" >"$TMP/stdout"
}
both --duration 300 --max-requests 10
like 'when all requests were done: tokens' "$(figure throughput.wall.generated_tokens cuts.csv)" '^[1-9]'
for name in throughput.wall.generated_tokens requests.generated_tokens_mean; do
    is "$name" "$(figure $name cuts.json)" "$(figure $name cuts.csv)"
done
both --duration 30
is 'and otherwise not' "$(figures cuts.json throughput.wall.generated_tokens requests.generated_tokens_mean)" \
    'no figure no figure'
# kvreplay's and kvstat's of the same replay.
exits 'a result and its summary' 0 "$kvstat" --csv "$TMP/replay.csv" "$TMP/runs/kvreplay.json"
for name in tiers.Tier-2.read.ops tiers.Tier-2.read.bytes tiers.Tier-2.write.bytes; do
    is "$name" "$(figure $name kvreplay.json)" "$(figure $name replay.csv)"
done

exits 'as JSON' 0 "$kvstat" --json -o "$TMP/table.json" "$TMP/runs/report.json" "$TMP/runs/vllm.json"
exits 'which is read again' 0 "$kvstat" --csv "$TMP/table.json"
is 'with its names' "$(figure elapsed_s report.json) $(figure elapsed_s vllm.json)" '1.153 10.5'
exits 'a JSON without a name that says so' 0 "$kvstat" --csv - "$TMP/table.json" <"$dozen"
cp "$TMP/runs/vllm.json" "$TMP/plain"
exits 'is known by its first byte' 0 "$kvstat" "$TMP/plain"
stdout_like 'as what it is' '^plain +engine '

# ---- foreign files ----

mkdir "$TMP/mixed"
cp "$dozen" "$TMP/mixed/result.csv"
: >"$TMP/mixed/empty.json"
printf '{"program": "kvrep' >"$TMP/mixed/half.json"
cat "$TMP/runs/sglang.jsonl" "$TMP/mixed/half.json" >"$TMP/mixed/log.jsonl"
exits 'a folder with documents that are cut' 0 "$kvstat" --csv "$TMP/mixed"
is 'has the runs that are whole' "$(sed 1d "$TMP/stdout" | cut -d, -f1 | uniq | sed "s|$TMP/mixed/||" | tr '\n' ' ')" \
    'log.jsonl:1 log.jsonl:2 result.csv '
for file in 'empty\.json:1' 'half\.json:1' 'log\.jsonl:3'; do
    stderr_like "$file is left out" "^kvstat: $TMP/mixed/$file: left out: not JSON"
done
exits 'a report into the folder' 0 "$kvstat" --json -o "$TMP/mixed/table.json" "$TMP/mixed"
exits 'and once more' 0 "$kvstat" --json -o "$TMP/mixed/table.json" "$TMP/mixed"
is 'does not report itself' "$(json "$TMP/mixed/table.json" '.runs[].kind')" 'engine engine result'
printf '{"program": "kvstat", "kind": "\\u001b[31m", "files": ["a"], "throughput": {"a": 1}}' >"$TMP/steer.json"
mkdir "$TMP/steer"
cp "$dozen" "$TMP/runs/other.csv" "$TMP/steer"
mv "$TMP/steer/other.csv" "$TMP/steer/$(printf '\033[31m').csv"
exits 'a name that would steer the terminal' 0 "$kvstat" "$TMP/steer"
is 'does not' "$(tr -d '\n -~' <"$TMP/stderr" | wc -c)" 0
exits 'a kind that would' 0 "$kvstat" "$TMP/steer.json"
is 'does not' "$(tr -d '\n -~' <"$TMP/stdout" | wc -c)" 0

# ---- verdicts, refusals ----

exits 'a folder with a profile' 4 "$kvstat" --profile latency --check "$TMP/runs/deeper" "$TMP/runs/report.json"
exits 'and one without a verdict' 4 "$kvstat" --profile latency --check "$TMP/runs/deeper" "$TMP/runs/vllm.json"
exits "another profile's verdict" 4 "$kvstat" --profile throughput --check "$TMP/runs/report.json"
exits 'JSON of something else' 2 "$kvstat" "$TMP/runs/other.json"
stderr_like 'is refused' '^kvstat: .*other\.json: is JSON, but no '
exits 'broken JSON' 2 "$kvstat" "$TMP/runs/.hidden.json"
mkdir "$TMP/empty"
exits 'an empty folder' 2 "$kvstat" "$TMP/empty"
stderr_like 'is refused' '^kvstat: .*empty: holds no '
"$kvstat" --json --compare "$dozen" "$dozen" >"$TMP/compare.json"
ok 'a comparison' test -s "$TMP/compare.json"
exits 'is no run' 2 "$kvstat" "$TMP/compare.json"
for option in --merge --interval=1s "--hgrm=$TMP/h" "--plot=$TMP/p.svg" "--run=$TMP/runs/kvgen.json"; do
    exits "$option" 2 "$kvstat" "$option" "$TMP/runs/report.json"
    stderr_like 'is refused' "^kvstat: ${option%%=*}: means nothing with "
done
done_testing
