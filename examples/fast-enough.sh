#!/bin/sh
# fast-enough.sh - is my drive fast enough for model X with N users? PASS or FAIL.
#
#   examples/fast-enough.sh [-m MODEL] [-u USERS] [-d DIR] [-o OUT] [-t SECONDS]
#
#   -m MODEL   llama3.1-8b; -u USERS at once: 50; -t SECONDS of the run: 60
#   -d DIR     a folder on the drive in question; discover.sh's choice unless given
#   -o OUT     the folder for trace, result and report; default kvtrace-fast-enough
#   -g MODE    generation: realistic (30 ms a token, the default), fast (2 ms), none
#
# All of the KV cache goes to the drive, none to memory: if the drive passes this it passes any machine
# with memory before it. The verdict is kvstat's profile "latency": device P95 of reads below 200 ms, of
# writes below 500 ms, hit rate above 30 %. On FAIL look at the bottleneck line: "queue" or "storage,
# device time" mean that the drive is too slow for so many; "storage, host time" that objects waited in
# the host for their turn on the drive, so fewer users would do, or more bandwidth.
# Exit status: 0 PASS, 1 FAIL.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --storage-capacity-gb'
mode=realistic
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -g) mode=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
need kvgen kvreplay kvstat
propose
mkdir -p "$out"

serve run "$users" "$seconds" --model "$model" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$storage" \
    --generation-mode "$mode"
kvstat --profile latency --check "$out/run.result.csv.zst"
