#!/bin/sh
# replay-admission.sh - whether an order of admission can get kvreplay stuck. TRACES (1,000) random traces with moves,
# shared prefixes and little room, served with fake time by 1 to 64 workers, qos and fifo (the unit test, which has fewer);
# then RUNS (24) traces of kvgen through memory engines that have the room of the trace's cache and no more, for real.
# Exit status 1 when a run hangs, a read comes before its write, or a row is left.
export LC_ALL=C
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$(cd "$(dirname "$0")/../.." && pwd)/$BUILD ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=0

unit=$BUILD/tests/unit/kvreplay/test_admission
if [ -x "$unit" ]; then
    TEST_TRACES=${TRACES:-1000} "$unit" >"$work/unit" 2>&1 || { cat "$work/unit"; failed=1; }
    sed -n 's/^\([0-9]* traces:.*\)/\1/p' "$work/unit"
else
    echo "test_admission is not built (make unit)"
fi

printf '%-6s %-5s %7s %9s %9s %10s %8s %8s %8s\n' seed admit workers requests inherited 'in turn' exceeded beyond failed
seed=0
while [ "$seed" -lt "${RUNS:-24}" ]; do
    seed=$((seed + 1))
    workers=$((1 << seed % 7))
    "$BUILD/bin/kvgen" --seed "$seed" --model tiny-1b --num-users $((20 + seed * 5)) --duration 20 --gpu-mem-gb 0.5 \
        --cpu-mem-gb 0.7 --storage-capacity-gb 1.5 --generation-mode none --arrival open --config input_len=$((64 << seed % 4)) \
        -o "$work/t.csv.zst" 2>/dev/null || exit 1
    for admit in qos fifo; do
        timeout 120 "$BUILD/bin/kvreplay" --timing served --workers "$workers" --config admit="$admit" --speed 100 \
            --tier-engine 0=sim:bw=40GB/s --tier-engine 1=sim:bw=20GB/s --tier-engine 2=sim:bw=10GB/s,servers=4 \
            --config lateness_budget=1h --progress none --summary "$work/s.json" -o /dev/null "$work/t.csv.zst" 2>"$work/err"
        status=$?
        jq -r --arg seed "$seed" --arg admit "$admit" '.served as $s | [$seed, $admit, $s.workers, $s.admitted,
            $s.admitted_by_inheritance, $s.admitted_in_turn, $s.capacity_exceeded, $s.admitted_beyond_workers,
            .rows.failed] | @tsv' "$work/s.json" |
            awk '{ printf "%-6s %-5s %7s %9s %9s %10s %8s %8s %8s\n", $1, $2, $3, $4, $5, $6, $7, $8, $9 }'
        if [ "$status" -ge 2 ] ||
            [ "$(jq '.reads_before_write == 0 and .ended_by == "trace"' "$work/s.json")" != true ]; then
            echo "seed $seed, $admit: status $status"
            cat "$work/err"
            failed=1
        fi
    done
done
exit $failed
