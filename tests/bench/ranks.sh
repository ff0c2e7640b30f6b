#!/bin/sh
# ranks.sh - rows a second of N ranks on empty engines, against N times those of one rank, for N up to the processors there are.
# Each rank reads the whole trace; there are two threads in each (reader and scheduler), so N ranks have 2 N threads.
set -eu
bin=${BUILD:-build}/bin
[ -x "$bin/kvreplay-mpi" ] || { echo 'ranks: built without MPI'; exit 0; }
mpirun=$(command -v mpirun.openmpi || command -v mpirun) || { echo 'ranks: no mpirun'; exit 0; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$bin/kvgen" --users 200 --duration 600 --seed 1 --progress none -o "$tmp/t.csv" 2>/dev/null
cpus=$(getconf _NPROCESSORS_ONLN) n=1 one=''
while [ "$n" -le "$cpus" ]; do
    "$mpirun" -np "$n" "$bin/kvreplay-mpi" --null --loops 20 -o "$tmp/r-{rank}.csv" --no-notes --summary "$tmp/s.json" "$tmp/t.csv" 2>/dev/null
    rate=$(jq '.rows.ok / .elapsed_s' "$tmp/s.json")
    : "${one:=$rate}"
    awk -v n="$n" -v rate="$rate" -v one="$one" -v cpus="$cpus" \
        'BEGIN { printf "%d ranks of %d processors: %.0f rows/s, %.2f of %d times one\n", n, cpus, rate, rate / one / n, n }'
    n=$((n * 2))
done
