#!/bin/sh
# precondition-then-measure.sh - a drive as it came, and the same drive after it was brought to a known state.
#
#   examples/precondition-then-measure.sh -s SIZE [-m MODEL] [-u USERS] [-d DIR] [-o OUT] [-t SECONDS]
#
#   -s SIZE    what kvprecond writes: twice the drive's capacity for a verdict (in passes of what is free), less
#              for a try, for instance 64GiB
#   -m MODEL   llama3.1-8b; -u USERS at once: 50; -t SECONDS of each run: 60
#   -d DIR     a folder on the drive in question; discover.sh's choice unless given
#   -o OUT     the folder for trace, results and reports; default kvtrace-precondition-then-measure
#   --trials N before and after each: 3; --storage-capacity-gb GiB: three quarters of what is free there
#
# A new or erased SSD writes faster than it ever will again. The same trace is replayed before and after;
# kvstat --compare then says which figures changed by more than the noise. If write bandwidth fell, the
# second run is the true one: quote that. If nothing changed, the drive was in its steady state already.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --storage-capacity-gb'
size='' trials=3
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -s) size=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
if [ -z "$size" ]; then die 2 "-s SIZE is needed (try --help)"; fi
need kvgen kvreplay kvstat kvprecond
propose
mkdir -p "$out/before" "$out/after"

# rounds FOLDER: the same trace so often, into FOLDER.
rounds() {
    trial=1
    while [ "$trial" -le "$trials" ]; do
        execute "$1/trial-$trial" trace --timing served --workers "$(workers "$users")" --duration "$seconds"
        trial=$((trial + 1))
    done
}
load trace "$users" "$seconds" --model "$model" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$storage" \
    --generation-mode none
say "$suite: before"
rounds before
say "$suite: writing $size"
kvprecond --size "$size" --summary "$out/kvprecond.json" "$target.fill" >"$out/kvprecond.txt"
rm -rf "$target.fill"
say "$suite: after"
rounds after
echo "$row_head"
scenario_row before "$out"/before/*.result.csv.zst
scenario_row after "$out"/after/*.result.csv.zst
echo "Base is before, New is after:"
compare "$out/before" "$out/after"
echo
caution
compare "$out/before" "$out/after" --json | better "the drive before the fill" "the drive after it"
echo "Quote the figures after the fill. Without a difference, the drive was steady before, or $size was too little to tell."
