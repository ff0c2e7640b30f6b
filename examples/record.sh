#!/bin/sh
# record.sh - How do I record what my own server does, and replay it?
#
# Usage: record.sh [OPTION]... ENGINE
#
#   ENGINE       vllm, sglang, trtllm, mooncake, dynamo or lmcache
#   -m MODEL     the model that it serves (default: llama3.1-8b; see kvgen --list-models)
#   -t TIME      how long to record an engine that publishes (default: 600)
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
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -t -o'
run=no engine='' input='' seconds=600 out=recorded.csv.zst
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    --run) run=yes words=1 ;;
    -i) name "$@" && input=$text ;;
    -*) option "$@" ;;
    *)
        case $1 in
        vllm | sglang | trtllm | mooncake | dynamo | lmcache) ;;
        *) die 2 "$1: unknown engine (known: vllm, sglang, trtllm, mooncake, dynamo, lmcache)" ;;
        esac
        if [ -n "$engine" ]; then die 2 "$1: a second engine (try --help)"; fi
        engine=$1 words=1
        ;;
    esac
    shift "$words"
done

# The words of the line of kvgen, as a shell reads them.
told=''
arguments() { told="$told $(quote "$@")"; } # WORD...: adds words
live() { # [gaps]: of an engine that publishes at 5557; gaps: and answers at 5657 what was lost
    arguments --input "${input:-tcp://HOST:5557}"
    # A file has an end of its own.
    case ${input:-tcp://HOST:5557} in *://*) arguments --duration "${seconds}s" ;; esac
    if [ -z "$input" ] && [ $# -gt 0 ]; then arguments --gap-endpoint tcp://HOST:5657; fi
}
file() { arguments --input "${input:-$1}"; }

timing=trace
case $engine in
vllm)
    title='vLLM publishes its KV events over ZMQ (with data parallelism, rank N at ports 5557+N and 5657+N)'
    start="vllm serve MODEL --kv-events-config '{\"enable_kv_cache_events\": true, \"publisher\": \"zmq\",
    \"endpoint\": \"tcp://*:5557\", \"replay_endpoint\": \"tcp://*:5657\"}'"
    live gaps
    ;;
sglang)
    title='SGLang publishes its KV events over ZMQ (with data parallelism, rank N at ports 5557+N and 5657+N)'
    start="python3 -m sglang.launch_server --model-path MODEL --kv-events-config '{\"publisher\": \"zmq\",
    \"endpoint\": \"tcp://*:5557\", \"replay_endpoint\": \"tcp://*:5657\"}'"
    live gaps
    ;;
trtllm)
    title='TensorRT-LLM keeps KV events that its server gives once, as JSON without times (so: --timing asap)'
    start="# in the YAML of trtllm-serve: kv_cache_config: {enable_block_reuse: true, event_buffer_max_size: 65536}
# collects until you end it with Ctrl-C:
while sleep 1; do curl -sX POST http://HOST:8000/kv_cache_events | jq -c '.[]' >>events.jsonl; done"
    file events.jsonl
    timing=asap
    ;;
mooncake)
    title="Mooncake's master publishes objects without their sizes: give --object-bytes the size of a block of your model"
    start='# mooncake_master must be built with -DENABLE_KV_EVENTS=ON
mooncake_master --enable_kv_events --kv_events_emit_object_key --kv_events_backend_id=pool --kv_events_bind_endpoint=tcp://*:5557'
    live
    arguments --object-bytes 2MiB
    ;;
dynamo)
    title='Dynamo writes a trace of its requests; kvgen simulates them and compares the hit rates'
    start='export DYN_REQUEST_TRACE=1 DYN_REQUEST_TRACE_FILE_PATH=/tmp/dynamo-trace # before the frontend starts
# versions that write no /tmp/dynamo-trace.*: DYN_REQUEST_TRACE_OUTPUT_PATH'
    file '/tmp/dynamo-trace.*'
    ;;
lmcache)
    title='LMCache writes what its tiers stored, read and deleted'
    start='lmcache server --trace-level events --trace-output lmcache.lct
# --trace-level storage has calls instead, with their exact times, but of the host tier only'
    file lmcache.lct
    ;;
*) die 2 "name an engine: vllm, sglang, trtllm, mooncake, dynamo or lmcache (try --help)" ;;
esac
arguments --model "$model" -o "$out"

if [ $run = yes ]; then
    if [ -z "$input" ]; then die 2 "--run needs -i INPUT, the endpoint or file that kvgen reads"; fi
    need kvgen
    eval "kvgen $told"
fi
if printing; then start=$(printf '%s\n' "$start" | sed 's/^\(# \)\{0,1\}/# /'); fi
cat <<END
# $title.
$start
kvgen$told
kvstat $(quote "$out") # what was recorded, and what was not
kvreplay --target /mnt/nvme/kv --timing $timing -o result.csv.zst $(quote "$out")
kvstat --profile latency result.csv.zst # the verdict
END
