#!/bin/sh
# sharegpt-vs-synthetic.sh - Do real conversations load a machine like synthetic users?
#
# Usage: sharegpt-vs-synthetic.sh -f FILE [OPTION]... [DIR]
#
#   -f FILE      a ShareGPT dataset (JSON, plain or zstd)
#   -r RATE      its requests per second (default: the number of users)
#   DIR, -d DIR  directory for storage objects (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 50)
#   -t TIME      length of each run (default: 60)
#   -o OUT       directory for traces, results and reports (default:
#                kvtrace-sharegpt-vs-synthetic)
#   --cpu-mem SIZE              host memory for the cache (default: 4)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipeline, run nothing
#
# Compare the two lines. Real chats are short (hundreds of tokens) and reuse their earlier
# turns: the hit rate is high and storage is almost idle. Synthetic users have thousands of
# tokens each, the hard case for a drive. A drive that is enough for the first line may be
# too slow for the second.
#
# Example:
#   examples/sharegpt-vs-synthetic.sh -f ShareGPT_V3.json -u 20 /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --cpu-mem --storage-capacity'
dataset='' rate='' cpu=4
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -f) name "$@" && dataset=$text ;;
    -r) value "$@" && rate=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
if [ -z "$dataset" ]; then die 2 "-f FILE is needed (try --help)"; fi
if [ ! -r "$dataset" ]; then die 2 "-f $dataset: cannot be read"; fi
need kvgen kvreplay kvstat
results "$out"
propose
free_runs synthetic sharegpt

set -- --model "$model" --gpu-mem 0 --cpu-mem "$(sized "$cpu")" --storage-capacity "$(sized "$storage")" --generation-mode none
tell "synthetic users"
serve synthetic "$users" "$seconds" "$@"
tell "the dataset"
serve sharegpt "$users" "$seconds" --source sharegpt --input "$dataset" --request-rate "${rate:-$users}" --replay-cycles 0 "$@"
if printing; then
    typed kvstat --by tier,op "$out/synthetic.result.csv.zst"
    typed kvstat --by tier,op "$out/sharegpt.result.csv.zst"
    exit 0
fi
row_head
scenario_row synthetic "$out/synthetic.result.csv.zst"
scenario_row sharegpt "$out/sharegpt.result.csv.zst"
echo
caution
# moved NAME: GiB of all tiers in a second, then the operations on storage.
moved() {
    report "$out/$1.result.csv.zst" throughput.wall.bytes_per_s groups.Tier-2/Read.ops groups.Tier-2/Write.ops
}
{ moved synthetic && moved sharegpt; } | tr '\n' ' ' | awk -v users="$(counted "$users" user)" -v cpu="$cpu" '
    function storage(reads, writes) {
        if (reads + writes == 0) return "all of it in the " cpu " GiB of memory"
        return sprintf("with %d reads and %d writes of storage", reads, writes)
    }
    {
        printf "The conversations moved %.3g GiB/s, %s; %s, synthetic, moved %.3g GiB/s, %s%s.\n", $4 / 1073741824,
            storage($5, $6), users, $1 / 1073741824, storage($2, $3),
            $2 + $3 + $5 + $6 ? "" : ": neither tells anything of the drive, take a smaller --cpu-mem or more users"
    }'
