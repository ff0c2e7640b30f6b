#!/bin/sh
# kvbench.t - examples/kvbench takes the command line of the Python benchmark: each of its options becomes options of a
# pipeline of kvtrace's programs, or is reported to mean nothing. A bug looked like an option that vanished on the way.
. "$(dirname "$0")/../../lib.sh"
plain_only
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# ---- kvbench: the Python program's command line ----
exits 'kvbench: a run' 0 "$examples/kvbench" --model tiny-1b --num-users 3 --duration 2 --gpu-mem-gb 0 \
    --cpu-mem-gb=0.1 --generation-mode none --performance-profile throughput --storage-capacity-gb 8 --seed 7 \
    --cache-dir objects --log-level INFO --output all.json
stderr_like 'kvbench: the pipeline is shown' '^  kvreplay --nvme objects --timing served --workers 3 --duration 2 '
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
exits 'kvbench: all of it fits into memory' 0 "$examples/kvbench" --model tiny-1b --num-users 2 --duration 1 \
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
exits 'kvbench: trace mode' 0 "$examples/kvbench" --model tiny-1b --num-users 3 --duration 2 --gpu-mem-gb 0 \
    --cpu-mem-gb 0 --generation-mode none --seed 7 --io-trace-log io.csv --output trace.json
is 'kvbench: trace mode writes that columns' "$(head -1 io.csv)" 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase'
exits 'kvbench: both kinds of node at once' 2 "$examples/kvbench" --prefill-only --decode-only
exits 'kvbench: a value for a flag' 2 "$examples/kvbench" --enable-rag=yes
exits 'kvbench: an endless run' 2 "$examples/kvbench" --dry-run --use-burst-trace --burst-trace-path x --trace-speedup 0

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
