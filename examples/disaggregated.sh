#!/bin/sh
# disaggregated.sh - prefill and decode on nodes of their own: what each asks of its storage.
#
#   examples/disaggregated.sh [-m MODEL] [-u USERS] [-d DIR] [-o OUT] [-t SECONDS]
#
#   -m MODEL   llama3.1-8b; -u USERS at once: 20; -t SECONDS of each run: 30
#   -d DIR     where the objects of storage go; discover.sh's choice unless given
#   -o OUT     the folder for traces, results and reports; default kvtrace-disaggregated
#   --storage-capacity-gb GiB   what the cache may fill; default: three quarters of what is free there
#
# A prefill node computes the cache and writes it out; a decode node only reads what others wrote. The first
# needs write bandwidth, the second read bandwidth and short reads. Size the drives of each kind of node by
# its own line; the third line is one node that does both, for comparison.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --storage-capacity-gb'
users=20 seconds=30
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    *) option "$@" ;;
    esac
    shift 2
done
need kvgen kvreplay kvstat
propose
mkdir -p "$out"

set -- --model "$model" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$storage" --generation-mode none
say "$suite: a prefill node"
serve prefill-node "$users" "$seconds" --prefill-only "$@"
say "$suite: a decode node (first its objects are written, outside of the measurement)"
serve decode-node "$users" "$seconds" --decode-only "$@"
say "$suite: both in one"
serve both "$users" "$seconds" "$@"
echo "$row_head"
for node in prefill-node decode-node both; do scenario_row "$node" "$out/$node.result.csv.zst"; done
for node in prefill-node decode-node both; do
    kvstat --csv "$out/$node.result.csv.zst" | pick throughput.wall.bytes_per_s cache.read_write_ratio | tr '\n' ' ' |
        awk -v node="$node" '{ printf "%s: %.2f GiB/s, %s\n", node, $1 / 1073741824,
            $2 == "-" ? "nothing written" : sprintf("%.1f bytes read for each written", $2) }'
done
caution
# rate NODE OPERATION: what storage did of it in a second.
rate() {
    kvstat --by tier,op --csv "$out/$1.result.csv.zst" | pick "groups.Tier-2/$2.gib_per_s" |
        awk '{ printf "%.2f GiB/s", $1 }'
}
echo "This storage gave a prefill node $(rate prefill-node Write) of writes, a decode node $(rate decode-node Read) of reads:"
echo "for nodes that are to do more, choose the one's drives by their writes, the other's by their reads."
