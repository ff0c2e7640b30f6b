#!/bin/sh
# compare-drives.sh - Which of two drives is better, and by more than the noise?
#
# Usage: compare-drives.sh [OPTION]... DIR1 DIR2
#
#   DIR1 DIR2    a directory on each drive; it is created and removed again
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 50)
#   -t TIME      length of each run (default: 60)
#   --trials N   runs on each drive (default: 3); what so many can show is said before the first
#   -o OUT       directory for trace, results and reports (default: kvtrace-compare-drives)
#   --storage-capacity SIZE     capacity for the cache (default: the free space of both,
#                minus a reserve)
#   --print      show the pipeline, run nothing
#
# Both drives replay one trace, in turn (A B B A ...), so that other work on the machine
# affects both alike. kvstat --compare shows each figure's change and whether it exceeds the
# noise of the trials (99 %, corrected for the number of figures); the last line says
# which drive is better, and in which figure. Without memory tiers, the read bandwidth
# distinguishes drives best; do not decide by a difference that is marked as noise.
#
# Example:
#   examples/compare-drives.sh -u 20 /mnt/old/kv /mnt/new/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -o -t --trials --storage-capacity'
trials=3 first='' second=''
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -?*) option "$@" ;;
    *)
        operand "$1" && words=1
        if [ -z "$first" ]; then first=$text; elif [ -z "$second" ]; then second=$text; else die 2 "$1: a third folder"; fi
        ;;
    esac
    shift "$words"
done
if [ -z "$second" ]; then die 2 "two folders are needed, one on each drive (try --help)"; fi
need kvgen kvreplay kvstat
results "$out" "$out/1" "$out/2"
inside "$first" && first=$place
inside "$second" && second=$place
if [ "$first" = "$second" ]; then die 2 "$first: the same folder twice"; fi
: "${storage:=$(room "$first" "$second")}"

# One file system is one device, which is said before the runs; kvstat finds two file systems of one device after them.
device() {
    there "$1"
    df -Pk "$place" | awk 'NR == 2 { print $1 }'
}
if [ "$(device "$first")" = "$(device "$second")" ]; then
    say "$suite: both folders are on one device, $(device "$first"): this compares it with itself"
fi

say "$suite: $(trials_needed "$trials")"

# Each drive has its results in a folder of its own.
first_runs='' second_runs='' trial=1
while [ "$trial" -le "$trials" ]; do
    first_runs="$first_runs 1/trial-$trial" second_runs="$second_runs 2/trial-$trial" trial=$((trial + 1))
done
for run in trace $first_runs $second_runs; do free_runs "$run"; done

tell "the load"
load trace "$users" "$seconds" --model "$model" --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" \
    --generation-mode none
# replay N TRIAL: one replay on drive N.
replay() {
    if [ "$1" = 1 ]; then target=$first; else target=$second; fi
    tell "$target, trial $2 of $trials"
    execute_served "$1/trial-$2" trace
}
trial=1
while [ "$trial" -le "$trials" ]; do
    if [ $((trial % 2)) = 1 ]; then order='1 2'; else order='2 1'; fi
    for n in $order; do replay "$n" "$trial"; done
    trial=$((trial + 1))
done
if printing; then
    compare "$first_runs" "$second_runs"
    exit 0
fi
row_head
on_results "$first_runs" scenario_row "$first"
on_results "$second_runs" scenario_row "$second"
answer "Base is $first, New is $second:"
compare "$first_runs" "$second_runs"
echo
caution
compare "$first_runs" "$second_runs" --json | better "$first" "$second"
