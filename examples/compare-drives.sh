#!/bin/sh
# compare-drives.sh - two drives under the same load: which is better, and by more than the noise?
#
#   examples/compare-drives.sh [-m MODEL] [-u USERS] [-o OUT] [-t SECONDS] [--trials N] DIR1 DIR2
#
#   DIR1 DIR2  a folder on each drive; the folders are made and go again
#   -m MODEL   llama3.1-8b; -u USERS at once: 50; -t SECONDS of each run: 60; --trials N: 3
#   -o OUT     the folder for trace, results and reports; default kvtrace-compare-drives
#   --storage-capacity-gb GiB   what the cache may fill; default: three quarters of what is free on both
#
# Both replay one trace, in turn (A B B A ...), so that what else happens on the machine meets both alike.
# kvstat --compare shows each figure's change and whether it exceeds the noise of the trials (99 %, corrected
# for the number of figures); the last line says in words which drive is better, and in what. With no memory tiers,
# the read bandwidth tells drives apart best; do not buy by a difference that is marked as noise.
. "$(dirname "$0")/common.sh"

takes='-m -u -o -t --trials --storage-capacity-gb'
trials=3 first='' second=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -*) option "$@" ;;
    *)
        if [ -z "$first" ]; then first=$1; elif [ -z "$second" ]; then second=$1; else die 2 "$1: a third folder"; fi
        shift && continue
        ;;
    esac
    shift 2
done
if [ -z "$second" ]; then die 2 "two folders are needed, one on each drive (try --help)"; fi
need kvgen kvreplay kvstat
: "${storage:=$(room "$first" "$second")}"
mkdir -p "$out/1" "$out/2"

load trace "$users" "$seconds" --model "$model" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$storage" \
    --generation-mode none
# on N TRIAL: one replay on drive N.
on() {
    if [ "$1" = 1 ]; then target=$first; else target=$second; fi
    say "$suite: $target, trial $2"
    execute "$1/trial-$2" trace --timing served --workers "$(workers "$users")" --duration "$seconds"
}
trial=1
while [ "$trial" -le "$trials" ]; do
    if [ $((trial % 2)) = 1 ]; then on 1 "$trial" && on 2 "$trial"; else on 2 "$trial" && on 1 "$trial"; fi
    trial=$((trial + 1))
done
echo "$row_head"
scenario_row "$first" "$out"/1/*.result.csv.zst
scenario_row "$second" "$out"/2/*.result.csv.zst
echo "Base is $first, New is $second:"
compare "$out/1" "$out/2"
echo
caution
compare "$out/1" "$out/2" --json | better "$first" "$second"
