#!/bin/sh
# ranks.sh - rows a second of N ranks on empty engines, against N times those of one rank, for N up to the processors there are.
# Each rank reads the whole trace with two threads (reader and scheduler). So there are two tables: in the first, ranks run where
# they like, and one rank alone may have all processors; in the second each rank has one processor, one rank alone as well.
# Medians of RUNS runs (5), which take turns. Also settable: LOOPS (20) of the trace in each, TRACE (made by kvgen), the tables
# that are WANTED ("all one") and the COUNTS of ranks.
set -eu
export LC_ALL=C
bin=${BUILD:-build}/bin
[ -x "$bin/kvreplay-mpi" ] || { echo 'ranks: built without MPI'; exit 0; }
mpi=openmpi
if ldd "$bin/kvreplay-mpi" | grep -q libmpich; then mpi=mpich; fi
mpirun=$(command -v mpirun.$mpi || command -v mpirun) || { echo 'ranks: no mpirun'; exit 0; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trace=${TRACE:-$tmp/t.csv} wanted=${WANTED:-all one}
[ -n "${TRACE-}" ] || "$bin/kvgen" --users 200 --duration 600 --seed 1 --progress none -o "$trace" 2>/dev/null
cpus=$(getconf _NPROCESSORS_ONLN) counts='' n=1
while [ "$n" -le "$cpus" ]; do counts="$counts $n" n=$((n * 2)); done
counts=${COUNTS:-$counts}

# What a rank runs: with "one" on the processor of its number.
cat >"$tmp/rank" <<'END'
#!/bin/sh
where=$1
shift
[ "$where" = all ] || exec taskset -c "${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${PMI_RANK:-0}}}" "$@"
exec "$@"
END
chmod +x "$tmp/rank"
for _ in $(seq "${RUNS:-5}"); do
    for n in $counts; do
        for where in $wanted; do
            "$mpirun" --bind-to none -np "$n" "$tmp/rank" "$where" "$bin/kvreplay-mpi" --null --config loops="${LOOPS:-20}" -o "$tmp/r-{rank}.csv" \
                --no-notes --summary "$tmp/s.json" "$trace" 2>/dev/null
            jq '.rows.ok / .elapsed_s' "$tmp/s.json" >>"$tmp/$where.$n"
        done
    done
done
median() { sort -g "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for where in $wanted; do
    if [ "$where" = all ]; then echo "ranks on all $cpus processors:"; else echo "ranks on one processor each:"; fi
    one=$(median "$tmp/$where.1")
    for n in $counts; do
        awk -v n="$n" -v rate="$(median "$tmp/$where.$n")" -v one="$one" \
            'BEGIN { printf "  %d: %.0f rows/s, %.2f of %d times one\n", n, rate, rate / one / n, n }'
    done
done
