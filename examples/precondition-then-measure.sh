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
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --trials --storage-capacity'
size='' trials=3
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -s) value "$@" && size=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
if [ -z "$size" ]; then die 2 "-s SIZE is needed (try --help)"; fi
need kvgen kvreplay kvstat kvprecond
results "$out" "$out/before" "$out/after"
propose

# What is wrong with the fill is told before the trials. kvprecond reads its options in their order.
tried=$(kvprecond --size "$size" --version 2>&1) || die 2 "-s: ${tried#kvprecond: }"
fill=$target.fill
inside "$fill"
if [ "$place" != "$fill" ]; then die 3 "$fill: holds files that kvtrace did not write, so it cannot be filled"; fi
before='' after='' trial=1
while [ "$trial" -le "$trials" ]; do
    before="$before before/trial-$trial" after="$after after/trial-$trial" trial=$((trial + 1))
done
for run in trace $before $after; do free_runs "$run"; done
free "$out/kvprecond.json" "$out/kvprecond.txt"

# rounds WHEN: the same trace so often, into the folder of that name.
rounds() {
    trial=1
    while [ "$trial" -le "$trials" ]; do
        tell "$1 the fill, trial $trial of $trials"
        execute_served "$1/trial-$trial" trace
        trial=$((trial + 1))
    done
}
tell "the load"
load trace "$users" "$seconds" --model "$model" --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" \
    --generation-mode none
rounds before
tell "the fill: $size"
set -- kvprecond --size "$size" --summary "$out/kvprecond.json" "$fill" # which kvprecond removes
if ! typed "$@"; then
    writes "$out/kvprecond.json" "$out/kvprecond.txt"
    "$@" >"$out/kvprecond.txt" || died $? "kvprecond failed (see above)"
fi
rounds after
if printing; then
    compare "$before" "$after"
    exit 0
fi
row_head
on_results "$before" scenario_row before
on_results "$after" scenario_row after
echo "Base is before, New is after:"
compare "$before" "$after"
echo
caution
# That both lie on one device is the point here.
compare "$before" "$after" --json | sed '/^ *"device": /d' | better "the drive before the fill" "the drive after it"
