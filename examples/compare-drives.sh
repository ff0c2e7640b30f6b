#!/bin/sh
# compare-drives.sh - Which of two drives is better, and by more than the noise?
#
# Usage: compare-drives.sh [OPTION]... DIR1 DIR2
#
#   DIR1 DIR2    a directory on each drive; it is created and removed again
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 50)
#   -t TIME      length of each run (default: 60)
#   --trials N   runs on each drive (default: 3)
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
    case $1 in
    -?*) option "$@" ;;
    *)
        if [ -z "$first" ]; then first=$1; elif [ -z "$second" ]; then second=$1; else die 2 "$1: a third folder"; fi
        words=1
        ;;
    esac
    shift "$words"
done
if [ -z "$second" ]; then die 2 "two folders are needed, one on each drive (try --help)"; fi
need kvgen kvreplay kvstat
folders "$out/1" "$out/2"
first=$(inside "$first") second=$(inside "$second")
if [ "$first" = "$second" ]; then die 2 "$first: the same folder twice"; fi
: "${storage:=$(room "$first" "$second")}"

# One file system is one device, which is said before the runs; kvstat finds two file systems of one device after them.
device() { df -Pk "$(there "$1")" | awk 'NR == 2 { print $1 }'; }
if [ "$(device "$first")" = "$(device "$second")" ]; then
    say "$suite: both folders are on one device, $(device "$first"): this compares it with itself"
fi

tell "the load"
load trace "$users" "$seconds" --model "$model" --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" \
    --generation-mode none
# on N TRIAL: one replay on drive N.
on() {
    if [ "$1" = 1 ]; then target=$first; else target=$second; fi
    tell "$target, trial $2 of $trials"
    execute "$1/trial-$2" trace --timing served --workers "$(workers "$users")" --duration "$seconds"
}
trial=1
while [ "$trial" -le "$trials" ]; do
    if [ $((trial % 2)) = 1 ]; then on 1 "$trial" && on 2 "$trial"; else on 2 "$trial" && on 1 "$trial"; fi
    trial=$((trial + 1))
done
if printing; then
    compare "$out/1" "$out/2"
    exit 0
fi
echo "$row_head"
scenario_row "$first" "$out"/1/*.result.csv.zst
scenario_row "$second" "$out"/2/*.result.csv.zst
echo "Base is $first, New is $second:"
compare "$out/1" "$out/2"
echo
caution
compare "$out/1" "$out/2" --json | better "$first" "$second"
