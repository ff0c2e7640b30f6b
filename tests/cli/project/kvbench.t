#!/bin/sh
# kvbench.t - examples/kvbench takes the command line of the Python benchmark: each of its options becomes options of a
# pipeline of kvtrace's programs, or is reported to mean nothing. A bug looked like an option that vanished on the way.
# builds: plain
. "${0%/*}/../../lib.sh"
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# Objects of a tenth of what tiny-1b has: touching and filling memory for these takes longer than all that kvbench does.
cat >m.yaml <<'END'
model_configs:
  own:
    name: Own
    num_layers: 4
    hidden_dim: 256
    num_heads: 4
    kv_heads: 2
cache_sizing:
  gpu_memory_gb: 16
END

# ---- kvbench: the Python program's command line ----
exits 'kvbench: a run' 0 "$examples/kvbench" --config m.yaml --model own --num-users 3 --duration 1 --gpu-mem-gb 0 \
    --cpu-mem-gb=0.01 --generation-mode none --performance-profile throughput --storage-capacity-gb 8 --seed 7 \
    --cache-dir objects --log-level INFO --output all.json
stderr_like 'kvbench: the pipeline is shown' '^  kvreplay --nvme objects --timing served --workers 3 --duration 1 '
stderr_like 'kvbench: what means nothing says why' 'log-level: '
stderr_like 'kvbench: the answer in short' '^kvbench: profile throughput: (PASS|FAIL|INCONCLUSIVE).*; bottleneck: [a-z]'
stderr_unlike 'kvbench: storage was used' 'nothing went to storage'
json_like all.json <<'END'
kvbench: one document with the summary of kvgen | .kvgen.seed | 7
kvbench: of kvreplay  | .kvreplay.valid | type | boolean
kvbench: of kvstat    | .kvstat.assessment.profile | throughput
kvbench: none         | .kvprecond | null
kvbench: the pipeline | .pipeline[] | split(" ")[0] | kvgen kvreplay kvstat
END
# The file is the benchmark's own, too.
exits 'kvbench: kvstat reads its file' 0 kvstat all.json
stdout_like 'kvbench: as results of the benchmark' '^all[.]json +mlperf '
if command -v python3 >/dev/null; then
    ok "kvbench: which it is by that program's schema" python3 "$TOP/tests/mlperf_schema.py" rank all.json
fi

# Programs with a drive of their own kind: a search needs one that serves somebody.
mkdir -p simulated
printf "#!/bin/sh\\nshift 2\\nexec \"%s\" --config spin=0 --config lateness_budget=1h --tier-engine 1=null --tier-engine \"2=sim:\$SPEED\" \"\$@\"\\n" "$BIN/kvreplay" >simulated/kvreplay
chmod +x simulated/kvreplay
ln -s "$BIN/kvgen" "$BIN/kvstat" "$BIN/kvprecond" simulated
mkdir programs
ln -s ../simulated programs/bin
# run NAME ARGS...: a short run, its document in NAME.json and whole.
run() {
    run=$1
    shift
    exits "kvbench: $run" 0 env BUILD="${programs:-$BUILD}" "$examples/kvbench" --config m.yaml --model own --num-users 2 --duration 1 --gpu-mem-gb 0 \
        --cpu-mem-gb 0 --generation-mode none --storage-capacity-gb 0.02 --seed 7 --cache-dir objects --output "$run.json" "$@"
    is "kvbench: $run: everything is in the document" \
        "$(json "$run.json" '.kvgen, .kvreplay, .kvstat, .summary | type' | tr ' ' '\n' | sort -u)" object
}
run tracing --enable-latency-tracing </dev/null
stderr_like 'kvbench: tracing: the fio job is shown' '^rw=rand'
run precondition --precondition
is 'kvbench: precondition: twice the capacity' "$(grep -c '^  kvprecond .*--size 20972KiB' stderr)" 2
is 'kvbench: precondition: of objects of the model' "$(json precondition.json .kvprecond.model)" own
run prefill --prefill-store
ok 'kvbench: prefill: the store was full before the clock started' awk -v rows="$(json prefill.json .kvstat.populated.bytes)" \
    'BEGIN { exit !(rows > 0.02 * 1073741824 * 0.7) }'
ok 'kvbench: prefill: and stays so' awk -v bytes="$(json prefill.json '.kvgen.tiers[] | select(.tier == "Tier-2").peak_bytes')" \
    'BEGIN { exit !(bytes > 0.02 * 1073741824 * 0.7) }'
run burst --use-burst-trace --burst-trace-path "$DATA/burstgpt_30rows.csv" --trace-speedup 0
stderr_like 'kvbench: burst: served by two' 'kvreplay .* --workers 2 '
zstd -dcq "$DATA/sharegpt_dummy_250.json.zst" >conversations
# On a drive that takes its time: as fast as this one is, it has thousands of rows.
export SPEED=lat=10ms
programs=$TMP/programs
run sharegpt --dataset-path conversations
ok 'kvbench: sharegpt: lasts as long as it was told' awk -v s="$(json sharegpt.json .summary.elapsed_time)" 'BEGIN { exit !(s >= 0.5) }'
is 'kvbench: sharegpt: by beginning again' "$(json sharegpt.json .kvgen.requests.issued)" 5000
programs=''
autoscaled() {
    exits "kvbench: a search, $1" "$2" env BUILD="$TMP/programs" SPEED="$1" "$examples/kvbench" --model tiny-1b --num-users 2 \
        --duration 5 --gpu-mem-gb 0 --cpu-mem-gb 0 --generation-mode none --storage-capacity-gb 1 --seed 7 --cache-dir objects \
        --enable-autoscaling --xlsx-output search.xlsx --output search.json --config limits.yaml
}
# A busy machine takes long even so.
printf 'saturation_detection:\n  read_latency_p95_threshold_ms: %s\n' 60000 >limits.yaml
autoscaled lat=1us 0
json_like search.json <<'END'
kvbench: a search: the answer's run, told by kvgen | .kvgen.requests.issued > 0 | true
kvbench: by kvstat   | .kvstat.run.users == .kvreplay.autoscaling.users, .kvstat.run.users > 0 | true true
kvbench: and as the benchmark does | .summary.total_requests > 0 | true
END
stderr_like 'kvbench: a search: in --duration' '--search-time 5s'
ok 'kvbench: a search: the spreadsheet' sh -c 'test -s search.xlsx || test -s search.csv'
rm search.json
printf 'saturation_detection:\n  read_latency_p95_threshold_ms: %s\n' 100 >limits.yaml
autoscaled lat=2s 1
is 'kvbench: a search without an answer has its steps' "$(json search.json '.kvreplay.autoscaling.users, .kvstat')" 'null null'
exits 'kvbench: all of it fits into memory' 0 "$examples/kvbench" --config m.yaml --model own --num-users 2 --duration 1 \
    --cpu-mem-gb 1 --generation-mode none --seed 7 --cache-dir objects --output memory.json
stderr_like 'kvbench: and says nothing of the drive' '^kvbench: nothing went to storage, memory held it all'
exits 'kvbench: as that program' 0 "$examples/kvbench" --dry-run --cache-dir objects
stderr_like 'kvbench: with deletions, which make room' '^  kvgen .*--compat mlperf .*--ops [A-Za-z,]*Delete'
exits 'kvbench: as an engine' 0 "$examples/kvbench" --dry-run --compat none --cache-dir objects
stderr_like 'kvbench: has its deletions anyway' '^  kvgen .*--compat none'
stderr_unlike 'kvbench: and needs no list of operations' '--ops'
# As many GPUs as asked for, if the machine has them: here two, from a program in the driver's place.
mkdir fake
printf '#!/bin/sh\nprintf "GPU 0: A\\nGPU 1: A\\n"\n' >fake/nvidia-smi
chmod +x fake/nvidia-smi
for want in '1 ' '2 --gpu 0,1' '3 --gpu all'; do
    exits "kvbench: GPUs, $want" 0 env PATH="$PWD/fake:$PATH" "$examples/kvbench" --dry-run --num-gpus "${want%% *}" \
        --cache-dir objects
    is "kvbench: GPUs, $want: as kvreplay takes them" \
        "$(grep -o -e '^  kvreplay.*' stderr | grep -o -e '--gpu [a-z0-9,]*')" "${want#* }"
done
exits 'kvbench: trace mode' 0 "$examples/kvbench" --config m.yaml --model own --num-users 3 --duration 2 --gpu-mem-gb 0 \
    --cpu-mem-gb 0 --generation-mode none --seed 7 --io-trace-log io.csv --output trace.json
is 'kvbench: trace mode writes that columns' "$(head -1 io.csv)" 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase'
exits 'kvbench: documents during the run' 0 "$examples/kvbench" --dry-run --enable-rag --rag-ingest timed --cache-dir objects
stderr_like 'kvbench: are told to kvgen' '^  kvgen .*--enable-rag --rag-num-docs 10 --rag-ingest timed'
exits 'kvbench: both kinds of node at once' 2 "$examples/kvbench" --prefill-only --decode-only
exits 'kvbench: a value for a flag' 2 "$examples/kvbench" --enable-rag=yes
exits 'kvbench: all requests at once, until --duration' 0 "$examples/kvbench" --dry-run --use-burst-trace --burst-trace-path x \
    --trace-speedup 0 --num-users 700
stderr_like 'kvbench: which the number of requests ends' 'kvgen .* --replay-cycles 0 .*--max-requests 300000 '
stderr_like 'kvbench: served by as many as that program has' 'kvgen .* --workers 500 '

# Every option of that program, as of mid-2026, in one command line that is only shown.
exits 'kvbench: every option' 0 "$examples/kvbench" --dry-run --log-level INFO --model llama3.1-8b --num-users 10 \
    --duration 60 --gpu-mem-gb 16 --num-gpus 2 --tensor-parallel 2 --cpu-mem-gb 32 --cache-dir "$TMP/new/k v" \
    --generation-mode fast --performance-profile latency --disable-multi-turn --disable-prefix-caching \
    --enable-rag --rag-num-docs 5 --enable-autoscaling --autoscaler-mode capacity --target-saturation 0.7 \
    --burst-trace-path x.csv --validation-trace v.csv --max-conversations 10 --output o.json --seed 1 \
    --max-concurrent-allocs 4 --request-rate 3 --max-requests 100 --xlsx-output o.xlsx --config c.yaml \
    --storage-capacity-gb 64 --precondition --precondition-size-gb 10 --precondition-threads 2 \
    --trace-speedup 2 --replay-cycles 1 --prefill-only --enable-latency-tracing
for word in --model\ llama3.1-8b '--each' '{N}' --enable-rag '--rag-num-docs 5' '--tensor-parallel 2' \
    '--max-concurrent-allocs 4' '--target-saturation 0.7' '--autoscale capacity' '--max-requests 100' \
    '--config c.yaml' '--prefill-only' '--disable-multi-turn' '--disable-prefix-caching' \
    "--size 10GiB" '--threads 2' "'$TMP/new/k v'"; do
    stderr_like "kvbench: $word is in the pipeline" "$(printf '%s' "$word" | sed 's/[{}.]/\\&/g')"
done

done_testing
