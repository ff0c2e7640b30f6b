#!/bin/sh
# disaggregated.sh - What do prefill nodes and decode nodes need from their storage?
#
# Usage: disaggregated.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  directory for storage objects (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 20)
#   -t TIME      length of each run (default: 30)
#   -o OUT       directory for traces, results and reports (default: kvtrace-disaggregated)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipeline, run nothing
#
# A prefill node computes the cache and writes it out; a decode node only reads objects that
# others wrote. Prefill nodes need write bandwidth, decode nodes read bandwidth and short
# reads. Size the drives of each kind of node by its own line; the third line shows one
# node that does both, for comparison.
#
# Example:
#   examples/disaggregated.sh -u 10 /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --storage-capacity'
users=20 seconds=30
common_options "$@"
need kvgen kvreplay kvstat
results "$out"
propose
for node in prefill-node decode-node both; do free_runs "$node"; done

set -- --model "$model" --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" --generation-mode none
tell "a prefill node"
serve prefill-node "$users" "$seconds" --prefill-only "$@"
tell "a decode node (first its objects are written, outside of the measurement)"
serve decode-node "$users" "$seconds" --decode-only "$@"
tell "both in one"
serve both "$users" "$seconds" "$@"
if printing; then
    for node in prefill-node decode-node both; do typed kvstat "$out/$node.result.csv.zst"; done
    exit 0
fi
row_head
for node in prefill-node decode-node both; do scenario_row "$node" "$out/$node.result.csv.zst"; done
for node in prefill-node decode-node both; do
    report "$out/$node.result.csv.zst" throughput.wall.bytes_per_s cache.read_write_ratio | tr '\n' ' ' |
        awk -v node="$node" '{ printf "%s: %.2f GiB/s, %s\n", node, $1 / 1073741824,
            $2 == "-" ? "nothing written" : sprintf("%.1f bytes read for each written", $2) }'
done
caution
# rate NODE OPERATION: what storage did of it in a second.
rate() { report "$out/$1.result.csv.zst" "groups.Tier-2/$2.gib_per_s" | awk '{ printf "%.2f GiB/s", $1 }'; }
echo "Prefill nodes need write bandwidth, decode nodes read bandwidth: this storage gave a prefill node" \
    "$(rate prefill-node Write) of writes and a decode node $(rate decode-node Read) of reads."
