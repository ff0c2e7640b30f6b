#!/bin/sh
# record.sh - How do I record what my own server does, and replay it?
#
# Usage: record.sh [OPTION]... ENGINE
#
#   ENGINE       vllm, sglang, trtllm, mooncake, dynamo or lmcache
#   -m MODEL     the model that it serves (default: llama3.1-8b; see kvgen --list-models)
#   -t SECONDS   how long to record an engine that publishes (default: 600)
#   -i INPUT     the endpoint or file that kvgen reads (default: a name in capitals to edit)
#   -o OUT       the trace to make (default: recorded.csv.zst)
#   --run        run the line of kvgen now; needs -i
#   --print      the same lines, with those for the engine as comments
#
# Prints the shortest way from the engine's own option to the verdict of a replay. No prompt,
# token id or name is kept (kvgen --names).
#
# Example:
#   examples/record.sh -m llama3.1-70b vllm
. "$(dirname "$0")/common.sh"

takes='-m -t -o'
run=no engine='' input='' seconds=600 out=recorded.csv.zst
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    --run) run=yes words=1 ;;
    -i) input=$(value "$@") ;;
    vllm | sglang | trtllm | mooncake | dynamo | lmcache)
        if [ -n "$engine" ]; then die 2 "$1: a second engine (try --help)"; fi
        engine=$1 words=1
        ;;
    *) option "$@" ;;
    esac
    shift "$words"
done

# live PORT: the options of kvgen for an engine that publishes.
live() { echo "--input ${input:-tcp://HOST:$1} --duration ${seconds}s"; }
gaps() { if [ -z "$input" ]; then echo " --gap-endpoint tcp://HOST:$1"; fi; }
file() { echo "--input ${input:-$1}"; }

timing=trace
case $engine in
vllm)
    title='vLLM publishes its KV events over ZMQ'
    start="vllm serve MODEL --kv-events-config '{\"enable_kv_cache_events\": true, \"publisher\": \"zmq\",
    \"endpoint\": \"tcp://*:5557\", \"replay_endpoint\": \"tcp://*:5558\"}'"
    source="$(live 5557)$(gaps 5558)"
    ;;
sglang)
    title='SGLang publishes its KV events over ZMQ'
    start="python3 -m sglang.launch_server --model-path MODEL --kv-events-config '{\"publisher\": \"zmq\",
    \"endpoint\": \"tcp://*:5557\", \"replay_endpoint\": \"tcp://*:5558\"}'"
    source="$(live 5557)$(gaps 5558)"
    ;;
trtllm)
    title='TensorRT-LLM keeps KV events that its server gives as JSON (no times: replay with --timing asap)'
    start="kv_cache_config: {event_buffer_max_size: 65536, enable_block_reuse: true} # in the YAML of trtllm-serve
curl -s http://HOST:8000/kv_cache_events >events.json # again and again, appended"
    source=$(file events.json) timing=asap
    ;;
mooncake)
    title="Mooncake's master publishes stored and removed objects over ZMQ; sizes are not in them"
    start='# switch on the KV event publisher of mooncake_master (tcp://*:5557)
# the size of an object is that of a block of your model: --object-bytes'
    source="$(live 5557) --object-bytes 2MiB"
    ;;
dynamo)
    title='Dynamo writes a trace of its requests; kvgen simulates them and compares the hit rates'
    start='export DYN_REQUEST_TRACE=1 # of the frontend; its documentation says where the segments go
# let it serve, then read the segments, plain or gzip'
    source=$(file 'request-trace*.jsonl*')
    ;;
lmcache)
    title='LMCache writes what its tiers stored, read and deleted'
    start='lmcache server --trace-level events --trace-output lmcache.lct
# level storage has calls instead, with their times, but the host tier only'
    source=$(file lmcache.lct)
    ;;
*) die 2 "name an engine: vllm, sglang, trtllm, mooncake, dynamo or lmcache (try --help)" ;;
esac

if [ $run = yes ]; then
    if [ -z "$input" ]; then die 2 "--run needs -i INPUT, the endpoint or file that kvgen reads"; fi
    need kvgen
    # shellcheck disable=SC2086 # words between blanks
    exec kvgen $source --model "$model" -o "$out"
fi
if printing; then start=$(printf '%s\n' "$start" | sed 's/^\(# \)\{0,1\}/# /'); fi
cat <<END
# $title.
$start
kvgen $source --model $model -o $out
kvstat $out # what was recorded, and what was not
kvreplay --target /mnt/nvme/kv --timing $timing -o result.csv.zst $out
kvstat result.csv.zst # the verdict
END
