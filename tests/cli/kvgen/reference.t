#!/bin/sh
# kvgen --compat mlperf against measured runs of the MLPerf Storage KV-cache benchmark: the same users, the mean of a
# few seeds of kvgen, and the limits of tests/bench/against/kvgen-vs-benchmark.sh, which compares all configurations. A bug
# looked like a table with a NO: reads that the benchmark does not make, a tier that fills differently, requests that
# are never counted. Then the benchmark's trace against kvgen's in the same format: the same columns, the same kinds
# of values.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# a: conversations in host memory and storage; h: a decode node; i: documents, with a queue that grows.
compare() { "$TOP/tests/bench/against/kvgen-vs-benchmark.sh" -n 4 "$@" "$DATA/mlperf_reference" a h i 2>&1; }
table=$(compare)
like "everything is compared" "$table" '^within: [0-9]+ of 3[0-9]; '
is "and within its limit" "$(echo "$table" | grep ' NO ')" ""
is "which is the verdict" "$(echo "$table" | tail -n 1)" PASS
for quantity in issued completed rows/Read/Tier-2/Decode bytes/Write/Tier-1/Prefill size_p95 turns_mean hit_rate_all; do
    like "$quantity among it" "$table" "^a +1  $quantity "
done
like "a run that is overloaded: what is completed" "$table" '^i +1  completed '
like "and where it reads" "$table" '^i +1  share/Read/Tier-1/Decode '
# Plain kvgen is another program: what shows it is explained in kvgen(1).
plain=$(compare -p)
for row in 'a +1  rows/Read/Tier-2/Decode' 'a +1  hit_rate_all' 'h +1  rows/Read/Tier-2/Decode' 'h +1  hit_rate_all'; do
    like "without --compat it differs: $row" "$plain" "^$row .* NO "
done

like "without --compat the verdict is another" "$plain" '^FAIL: [0-9]+ single lines'
exits "and the status" 1 "$TOP/tests/bench/against/kvgen-vs-benchmark.sh" -n 1 -p "$DATA/mlperf_reference" h
# Every argument of the benchmark, as of mid-2026, but those of other sources.
mkdir "$TMP/every"
cp "$DATA/mlperf_reference/users_seed1.csv" "$TMP/every"
jq '.arguments += " --log-level INFO --num-gpus 1 --tensor-parallel 1 --cache-dir /mnt/kv --performance-profile latency --rag-num-docs 10
    --autoscaler-mode qos --target-saturation 0.8 --burst-trace-path BurstGPT.csv --validation-trace v.json --max-conversations 500
    --output o.json --seed 1 --max-concurrent-allocs 16 --request-rate 0 --max-requests 0 --xlsx-output o.xlsx --config=c.yaml
    --storage-capacity-gb 0 --precondition --precondition-size-gb 0 --precondition-threads 0 --trace-speedup 1.0 --replay-cycles 0
    --io-trace-log t.csv --enable-latency-tracing"' "$DATA/mlperf_reference/a.json" >"$TMP/every/a.json"
exits "every argument of the benchmark" 0 "$TOP/tests/bench/against/kvgen-vs-benchmark.sh" -n 4 "$TMP/every" a
jq '.arguments += " --enable-rag --disable-multi-turn --disable-prefix-caching --prefill-only --rag-num-docs 3"' \
    "$TMP/every/a.json" >"$TMP/every/b.json"
"$TOP/tests/bench/against/kvgen-vs-benchmark.sh" -n 1 "$TMP/every" b >"$TMP/stdout" 2>"$TMP/stderr"
isnt "and its switches run" $? 2
exits "a configuration that cannot run is no result" 2 \
    "$TOP/tests/bench/against/kvgen-vs-benchmark.sh" -n 1 -x --nonsense "$DATA/mlperf_reference" h i
stderr_like "and says so" '^kvgen-vs-benchmark.sh: h, seed 1: kvgen failed: kvgen: --nonsense: unknown'
exits "nor is one that is not there" 2 "$TOP/tests/bench/against/kvgen-vs-benchmark.sh" -n 1 "$DATA/mlperf_reference" h z
stderr_like "and is named" 'there is no configuration .*/z.json'

# The shape of a trace: its columns, and the kinds of values in each. (The benchmark's lines end with CR LF.)
shape() {
    tr -d '\r' <"$1" | awk -F, '
        function kind(column, value) {if (!((column, value) in seen)) {seen[column, value]; print column, value}}
        NR == 1 {for (i = 1; i <= NF; i++) name[i] = $i; print; next}
        {
            for (i = 1; i <= NF; i++) {
                value = $i
                if (name[i] == "Timestamp" || name[i] == "Key") gsub(/[0-9]+/, "N", value)
                if (name[i] == "Object_Size_Bytes") value = $i > 0 && $i % 131072 == 0 ? "tokens" : $i
                kind(name[i], value)
            }
            kind("together", $2 " " $4 " " $6)
            kind("fields", NF)
            kind("order", $1 + 0 >= last + 0 ? "up" : "down")
            kind("date", $1 > 1e9 ? "yes" : "no")
            last = $1
            if ($2 == "Read" && !($5 in written)) kind("read before it is written", $5)
            written[$5]
        }' | sort
}
zstd -qdc "$DATA/mlperf_trace_first400.csv.zst" >"$TMP/theirs.csv"
"$BIN/kvgen" --compat mlperf --format mlperf --model llama3.1-8b --num-users 50 --gpu-mem-gb 0 --cpu-mem-gb 0 \
    --generation-mode none --storage-capacity-gb 64 --duration 10 \
    --users-file "$DATA/mlperf_reference/users_seed1.csv" -o "$TMP/ours.csv" 2>/dev/null
is "the same columns and kinds of values" "$(shape "$TMP/ours.csv")" "$(shape "$TMP/theirs.csv")"
like "(there are some)" "$(shape "$TMP/ours.csv")" '^Key conv_user_N_N_turn_N$'

# The names in the summary, which other programs read.
"$BIN/kvgen" --enable-rag --num-users 20 --duration 20 --generation-mode none -o "$TMP/t.csv" --summary "$TMP/s.json" \
    2>/dev/null
jq -r 'paths | map(if type == "number" then "*" else . end) | join(".")' "$TMP/s.json" | sort -u >"$TMP/names"
for name in program version command host started seed model.name model.bytes_per_token trace.rows trace.digest \
    trace.simulated_s trace.wall_s trace.rows_per_s requests.issued requests.completed requests.context_tokens \
    requests.generated_tokens requests.by_qos.interactive requests.by_qos.responsive requests.by_qos.batch \
    conversations.count conversations.turns_mean 'rows_by.*.op' 'rows_by.*.tier' 'rows_by.*.phase' 'rows_by.*.rows' \
    'rows_by.*.bytes' lookups.all lookups.user lookups.multi_turn lookups.system lookups.rag lookups.block \
    lookups.rag.lookups lookups.rag.hits lookups.rag.misses lookups.rag.hit_rate \
    'tiers.*.tier' 'tiers.*.capacity_bytes' 'tiers.*.read_ops' 'tiers.*.read_bytes' \
    'tiers.*.write_ops' 'tiers.*.write_bytes' 'tiers.*.evict_ops' \
    'tiers.*.delete_ops' 'tiers.*.peak_bytes' 'tiers.*.final_bytes' 'tiers.*.final_objects'; do
    grep -Fqx "$name" "$TMP/names" || echo "$name"
done >"$TMP/missing"
is "every name of the summary is there" "$(cat "$TMP/missing")" ""
is "turns_mean is turns by conversations" \
    "$(json "$TMP/s.json" '.conversations | .turns_mean * .count + 0.5 | floor')" \
    "$(awk -F, '$5 ~ /^conv_/ && $6 == "Prefill"' "$TMP/t.csv" | wc -l)"
done_testing
