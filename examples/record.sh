#!/bin/sh
# record.sh - the shortest way from an engine's own option to the verdict of a replay, in eight lines.
#
#   record.sh [--run] vllm | sglang | trtllm | mooncake | dynamo | lmcache
#
# Prints the lines; edit the names in capitals. With --run the line of kvgen is executed: set INPUT to the endpoint or file
# that it reads, and MODEL, OUT and SECONDS_LONG where they differ. No prompt, token id or name is kept (kvgen --names).
# Exit status: that of kvgen with --run; 0; 2 usage.
set -eu

run=no
if [ "${1-}" = --run ]; then
    run=yes
    shift
fi
MODEL=${MODEL:-llama3.1-8b} OUT=${OUT:-recorded.csv.zst} SECONDS_LONG=${SECONDS_LONG:-600}

# live PORT: the options of kvgen for an engine that publishes.
live() { echo "--input ${INPUT:-tcp://HOST:$1} --duration ${SECONDS_LONG}s"; }
gaps() { if [ -z "${INPUT-}" ]; then echo " --gap-endpoint tcp://HOST:$1"; else echo "${GAPS:+ --gap-endpoint $GAPS}"; fi; }
file() { echo "--input ${INPUT:-$1}"; }

case ${1-} in
vllm)
    title='vLLM publishes its KV events over ZMQ'
    engine="vllm serve MODEL --kv-events-config '{\"enable_kv_cache_events\": true, \"publisher\": \"zmq\",
    \"endpoint\": \"tcp://*:5557\", \"replay_endpoint\": \"tcp://*:5558\"}'"
    source="$(live 5557)$(gaps 5558)"
    ;;
sglang)
    title='SGLang publishes its KV events over ZMQ'
    engine="python3 -m sglang.launch_server --model-path MODEL --kv-events-config '{\"publisher\": \"zmq\",
    \"endpoint\": \"tcp://*:5557\", \"replay_endpoint\": \"tcp://*:5558\"}'"
    source="$(live 5557)$(gaps 5558)"
    ;;
trtllm)
    title='TensorRT-LLM keeps KV events that its server gives as JSON (no times: replay with --timing asap)'
    engine="kv_cache_config: {event_buffer_max_size: 65536, enable_block_reuse: true} # in the YAML of trtllm-serve
curl -s http://HOST:8000/kv_cache_events >events.json # again and again, appended"
    source=$(file events.json)
    ;;
mooncake)
    title="Mooncake's master publishes stored and removed objects over ZMQ; sizes are not in them"
    engine='# switch on the KV event publisher of mooncake_master (tcp://*:5557)
# the size of an object is that of a block of your model: --object-bytes'
    source="$(live 5557) --object-bytes ${OBJECT_BYTES:-2MiB}"
    ;;
dynamo)
    title='Dynamo writes a trace of its requests; kvgen simulates them and compares the hit rates'
    engine='export DYN_REQUEST_TRACE=1 # of the frontend; its documentation says where the segments go
# let it serve, then read the segments, plain or gzip'
    source=$(file 'request-trace*.jsonl*')
    ;;
lmcache)
    title='LMCache writes what its tiers stored, read and deleted'
    engine='lmcache server --trace-level events --trace-output lmcache.lct
# level storage has calls instead, with their times, but the host tier only'
    source=$(file lmcache.lct)
    ;;
*)
    echo 'record.sh: usage: record.sh [--run] vllm | sglang | trtllm | mooncake | dynamo | lmcache' >&2
    exit 2
    ;;
esac

if [ $run = yes ]; then
    [ -n "${INPUT-}" ] || {
        echo "record.sh: --run: INPUT is not set: the endpoint or file that kvgen reads" >&2
        exit 2
    }
    # shellcheck disable=SC2086
    exec kvgen $source --model "$MODEL" -o "$OUT"
fi
timing=trace
case $1 in trtllm) timing=asap ;; esac
cat <<END
# $title.
$engine
kvgen $source --model $MODEL -o $OUT
kvstat $OUT # what was recorded, and what was not
kvreplay --nvme /mnt/nvme --timing $timing $OUT -o result.csv.zst
kvstat result.csv.zst # the verdict
END
