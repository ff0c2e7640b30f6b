#!/bin/sh
# mlperf.sh - What does this drive give in MLPerf Storage's KV-cache workloads?
#
# Usage: mlperf.sh [OPTION]... [DIR]
#
#   -w NAMES     with commas between; default option_1,option_2,option_3, the three of the current rules:
#                  option_1   llama3.1-8b, 200 users, no CPU tier, 16 concurrent allocations
#                  option_2   llama3.1-8b, 100 users, CPU tier of 4 GiB, 16
#                  option_3   llama3.1-70b-instruct, 70 users, no CPU tier, 4
#                and the runs of earlier submissions (generation realistic, 600 s):
#                  8b-cpu0 8b-cpu4     llama3.1-8b, 150 users, CPU tier of 0 or 4 GiB
#                  70b-cpu0 70b-cpu4   llama3.1-70b-instruct, 40 users
#   DIR, -d DIR  where the objects of storage go (default: the folder that discover.sh proposes)
#   -o OUT       folder of the results (default: kvtrace-mlperf)
#   -t SECONDS   length of each run (default: 300; 600 for the earlier ones)
#   --trials N   runs of each workload (default: 3)
#   -u USERS     in place of the numbers above, for a first try on a small machine
#   -m MODEL     likewise
#   --storage-capacity-gb GiB   what the cache may fill (default: what is free, less a reserve)
#   --print      show the pipelines, run nothing
#
# The options write OUT/option_<1-3>/trial_<0-2>/rank_0/kvcache_results_*.json, as that benchmark's
# aggregator reads them: it averages trials and takes the largest P95. The seed is 42 in every trial: the
# load is the same, so what differs is the drive. What to look at: storage read and write bandwidth,
# and the device P95 of reads, of option 1 for a drive alone and of option 2 with a little memory before it.
# These are not official MLPerf results: those need the benchmark's own program.
#
# Example:
#   examples/mlperf.sh -w option_1 -u 10 -t 60 /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --storage-capacity-gb'
names=option_1,option_2,option_3 model='' users='' seconds='' trials=3
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    -w) names=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
need kvgen kvreplay kvstat
folders "$out"
propose

# workload NAME: model m, users n, GiB of CPU tier c, concurrent allocations a, generation g, seconds t.
workload() {
    a=0 g=none t=300
    case $1 in
    option_1) m=llama3.1-8b n=200 c=0 a=16 ;;
    option_2) m=llama3.1-8b n=100 c=4 a=16 ;;
    option_3) m=llama3.1-70b-instruct n=70 c=0 a=4 ;;
    8b-cpu0) m=llama3.1-8b n=150 c=0 g=realistic t=600 ;;
    8b-cpu4) m=llama3.1-8b n=150 c=4 g=realistic t=600 ;;
    70b-cpu0) m=llama3.1-70b-instruct n=40 c=0 g=realistic t=600 ;;
    70b-cpu4) m=llama3.1-70b-instruct n=40 c=4 g=realistic t=600 ;;
    *) die 2 "-w $1: no such workload (try --help)" ;;
    esac
    m=${model:-$m} n=${users:-$n} t=${seconds:-$t}
}

table=$out/table.txt
printing || echo "$row_head" >"$table"
for name in $(echo "$names" | tr , ' '); do
    workload "$name"
    # kvreplay bounds the writes in flight; the trace itself is the same for every trial.
    replay_options=''
    if [ "$a" != 0 ]; then replay_options="--max-concurrent-allocs $a"; fi
    files=''
    trial=0
    while [ "$trial" -lt "$trials" ]; do
        run=$name-trial_$trial
        tell "$name, trial $trial"
        if [ "$trial" = 0 ]; then
            # That program's trace tells no deletions; a replay must know them to find room.
            serve "$run" "$n" "$t" --compat mlperf --ops Read,Write,Delete,Generate,Miss --seed 42 --model "$m" --gpu-mem-gb 0 --cpu-mem-gb "$c" \
                --storage-capacity-gb "$storage" --generation-mode "$g"
        else
            execute "$run" "$name-trial_0" --timing served --workers "$(workers "$n")" --duration "$t"
        fi
        folder=$out/$name/trial_$trial/rank_0
        folders "$folder"
        typed kvstat --mlperf "$folder/kvcache_results_DATE.json" "$out/$run.result.csv.zst" ||
            kvstat --mlperf "$folder/kvcache_results_$(date -u +%Y%m%d_%H%M%S).json" \
                "$out/$run.result.csv.zst" >"$folder/report.txt"
        files="$files $out/$run.result.csv.zst"
        trial=$((trial + 1))
    done
    if printing; then continue; fi
    # shellcheck disable=SC2086 # file names between blanks, as made here
    scenario_row "$name" $files >>"$table"
    # shellcheck disable=SC2086
    if [ "$trials" -gt 1 ]; then kvstat $files >"$out/$name.trials.txt"; fi
done
if printing; then exit 0; fi
cat "$table"
caution
echo "mean of $(counted "$trials" trial) each; not an official MLPerf result"
echo "The drive is in the columns Tier-2 read (GiB/s) and device ms (P95 of reads); in option_1 no memory is before it."
