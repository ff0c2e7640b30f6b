#!/bin/sh
# kvbench.t - examples/kvbench takes the Python benchmark's command line: each option of it becomes those of a pipeline
# of ours, or is said to mean nothing. A bug looked like this: an option that vanished on the way.
. "$(dirname "$0")/../../lib.sh"
plain_only
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# ---- kvbench: the Python program's command line ----
exits 'kvbench: a run' 0 "$examples/kvbench" --model tiny-1b --num-users 3 --duration 2 --gpu-mem-gb 0 \
    --cpu-mem-gb=0.1 --generation-mode none --performance-profile throughput --storage-capacity-gb 8 --seed 7 \
    --cache-dir objects --log-level INFO --output all.json
like 'kvbench: the pipeline is shown' "$(cat stderr)" '^  kvreplay --nvme objects --timing served --workers 3 --duration 2 '
like 'kvbench: what means nothing says why' "$(cat stderr)" 'log-level: '
like 'kvbench: the answer in short' "$(cat stderr)" '^kvbench: profile throughput: (PASS|FAIL).*; bottleneck: [a-z]'
unlike 'kvbench: storage was used' "$(cat stderr)" 'nothing went to storage'
ok 'kvbench: one document with everything' python3 -c '
import json, sys
d = json.load(open("all.json"))
assert d["kvgen"]["seed"] == 7 and d["kvreplay"]["valid"] in (True, False)
assert d["kvstat"]["assessment"]["profile"] == "throughput" and d["kvprecond"] is None
assert [p.split()[0] for p in d["pipeline"]] == ["kvgen", "kvreplay", "kvstat"]'
exits 'kvbench: all of it fits into memory' 0 "$examples/kvbench" --model tiny-1b --num-users 2 --duration 1 --cpu-mem-gb 1 \
    --generation-mode none --seed 7 --cache-dir objects --output memory.json
like 'kvbench: and says nothing of the drive' "$(cat stderr)" '^kvbench: nothing went to storage, memory held it all'
exits 'kvbench: as that program' 0 "$examples/kvbench" --dry-run --compat --cache-dir objects
like 'kvbench: with deletions, which make room' "$(cat stderr)" '^  kvgen .*--compat mlperf .*--ops [A-Za-z,]*Delete'
# As many GPUs as are wanted, of those that the machine has (here: two, by a program in the driver's place).
mkdir fake
printf '#!/bin/sh\nprintf "GPU 0: A\\nGPU 1: A\\n"\n' >fake/nvidia-smi
chmod +x fake/nvidia-smi
for want in '1 ' '2 --gpu 0,1' '3 --gpu all'; do
    exits "kvbench: GPUs, $want" 0 env PATH="$PWD/fake:$PATH" "$examples/kvbench" --dry-run --num-gpus "${want%% *}" --cache-dir objects
    is "kvbench: GPUs, $want: as kvreplay takes them" "$(grep -o -e '^  kvreplay.*' stderr | grep -o -e '--gpu [a-z0-9,]*')" "${want#* }"
done
exits 'kvbench: trace mode' 0 "$examples/kvbench" --model tiny-1b --num-users 3 --duration 2 --gpu-mem-gb 0 \
    --cpu-mem-gb 0 --generation-mode none --seed 7 --io-trace-log io.csv --output trace.json
is 'kvbench: trace mode writes that columns' "$(head -1 io.csv)" 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase'
exits 'kvbench: both kinds of node at once' 2 "$examples/kvbench" --prefill-only --decode-only
exits 'kvbench: a value for a flag' 2 "$examples/kvbench" --enable-rag=yes
exits 'kvbench: an endless run' 2 "$examples/kvbench" --dry-run --use-burst-trace --burst-trace-path x --trace-speedup 0

# Every option of that program, in one command line that is only shown (facts of its mid-2026 version).
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
    like "kvbench: $word is in the pipeline" "$(cat stderr)" "$(printf '%s' "$word" | sed 's/[{}.]/\\&/g')"
done

done_testing
