#!/bin/sh
# sharegpt-vs-synthetic.sh - real conversations against synthetic users, on the same hardware.
#
#   examples/sharegpt-vs-synthetic.sh -f SHAREGPT.json [-m MODEL] [-u USERS] [-d DIR] [-o OUT] [-t SECONDS]
#
#   -f FILE    a ShareGPT dataset (JSON, plain or zstd); -r RATE its requests a second: as many as users
#   -m MODEL   llama3.1-8b; -u USERS at once: 50; -t SECONDS of each run: 60
#   -d DIR     where the objects of storage go; discover.sh's choice unless given; --cpu-mem-gb GiB: 4
#   -o OUT     the folder for traces, results and reports; default kvtrace-sharegpt-vs-synthetic
#   --storage-capacity-gb GiB   what the cache may fill; default: three quarters of what is free there
#
# Two lines to compare. Real chats are short (hundreds of tokens) and come back to what was said before: the
# hit rate is high and storage hardly works. Synthetic users carry thousands of tokens each, the case
# that a drive has to survive. A drive bought for the first line may disappoint under the second.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --cpu-mem-gb --storage-capacity-gb'
dataset='' rate='' cpu=4
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -f) dataset=$(value "$@") ;;
    -r) rate=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
if [ -z "$dataset" ]; then die 2 "-f SHAREGPT.json is needed (try --help)"; fi
if [ ! -r "$dataset" ]; then die 2 "-f $dataset: cannot be read"; fi
need kvgen kvreplay kvstat
propose
mkdir -p "$out"

set -- --model "$model" --gpu-mem-gb 0 --cpu-mem-gb "$cpu" --storage-capacity-gb "$storage" --generation-mode none
say "$suite: synthetic users"
serve synthetic "$users" "$seconds" "$@"
say "$suite: the dataset"
serve sharegpt "$users" "$seconds" --dataset-path "$dataset" --request-rate "${rate:-$users}" --replay-cycles 0 "$@"
echo "$row_head"
scenario_row synthetic "$out/synthetic.result.csv.zst"
scenario_row sharegpt "$out/sharegpt.result.csv.zst"
echo
caution
# moved NAME: GiB of all tiers in a second, then the operations on storage.
moved() {
    kvstat --by tier,op --csv "$out/$1.result.csv.zst" |
        pick throughput.wall.bytes_per_s groups.Tier-2/Read.ops groups.Tier-2/Write.ops
}
{ moved synthetic && moved sharegpt; } | tr '\n' ' ' | awk -v users="$(counted "$users" user)" -v cpu="$cpu" '
    function storage(reads, writes) {
        if (reads + writes == 0) return "all of it in the " cpu " GiB of memory"
        return sprintf("with %d reads and %d writes of storage", reads, writes)
    }
    {
        printf "%s, synthetic, moved %.3g GiB/s, %s.\n", users, $1 / 1073741824, storage($2, $3)
        printf "The conversations moved %.3g GiB/s, %s.\n", $4 / 1073741824, storage($5, $6)
        if ($2 + $3 + $5 + $6 == 0) print "Neither tells anything of the drive: take a smaller --cpu-mem-gb, or more users."
    }'
