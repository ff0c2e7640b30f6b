#!/bin/sh
# precondition-then-measure.sh - How fast is a drive after its first days?
#
# Usage: precondition-then-measure.sh -s SIZE [OPTION]... [DIR]
#
#   -s SIZE      bytes that kvprecond writes: twice the drive's capacity for a verdict (in
#                passes over the free space), less for a first try, for instance 64GiB
#   DIR, -d DIR  a directory on the drive to test (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 50)
#   -t TIME      length of each run (default: 60)
#   --trials N   runs before and runs after (default: 3)
#   -o OUT       directory for trace, results and reports (default:
#                kvtrace-precondition-then-measure)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipeline, run nothing
#
# A new or erased SSD writes faster than it will in use. The same trace is replayed
# before and after a fill; kvstat --compare then says which figures changed by more than
# the noise. If write bandwidth fell, quote the second run. If nothing changed, the drive
# was already in its steady state, or SIZE was too small to show the difference.
#
# Example:
#   examples/precondition-then-measure.sh -s 64GiB /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --storage-capacity'
size='' trials=3
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    -s) size=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
if [ -z "$size" ]; then die 2 "-s SIZE is needed (try --help)"; fi
need kvgen kvreplay kvstat kvprecond
folders "$out/before" "$out/after"
propose

# rounds FOLDER: the same trace so often, into FOLDER.
rounds() {
    trial=1
    while [ "$trial" -le "$trials" ]; do
        tell "$1 the fill, trial $trial of $trials"
        execute "$1/trial-$trial" trace --timing served --workers "$(workers "$users")" --duration "$seconds"
        trial=$((trial + 1))
    done
}
tell "the load"
load trace "$users" "$seconds" --model "$model" --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" \
    --generation-mode none
rounds before
tell "the fill: $size"
set -- kvprecond --size "$size" --summary "$out/kvprecond.json" "$target.fill"
typed "$@" || "$@" >"$out/kvprecond.txt"
typed rm -rf "$target.fill" || rm -rf "$target.fill"
rounds after
if printing; then
    compare "$out/before" "$out/after"
    exit 0
fi
echo "$row_head"
scenario_row before "$out"/before/*.result.csv.zst
scenario_row after "$out"/after/*.result.csv.zst
echo "Base is before, New is after:"
compare "$out/before" "$out/after"
echo
caution
# That both lie on one device is the point here.
compare "$out/before" "$out/after" --json | sed '/^ *"device": /d' | better "the drive before the fill" "the drive after it"
