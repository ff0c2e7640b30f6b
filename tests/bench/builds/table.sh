#!/bin/sh
# table.sh BEFORE [AFTER] [DIR] - how fast the programs of two builds are, in interleaved pairs: BEFORE and AFTER (build) are
# folders of `make BUILD=...`; files lie in DIR (/tmp), best on a disk of its own.
#
#   users                kvgen -o none, 100 users for an hour, a thread
#   blocks               kvgen, block lookups of a trace, its JSON included, all blocks stay
#   lfu sieve fifo lru   kvgen, block lookups with skew, their JSON included, 250,000 blocks of a million stay
#   csv zst              kvstat on ROWS (10,000,000) rows, two threads
#   null                 kvreplay --null, a .csv.zst of 2,000,000 rows in, a .csv.zst out
#   ranks                kvreplay-mpi --null, two ranks on all processors: rows/s, and the share of twice one rank
#   files                reads of files of 256 KiB, verified in full, --inflight 16: rows/s, and I/Os in flight
#   fio                  each build against fio: random reads of 16 KiB, reads of files of 256 KiB, and reads and writes of files of
#                        1 and 64 MiB; buffers in huge pages, where the host has set some aside (sysctl vm.nr_hugepages=160)
#   others               AFTER against libCacheSim and NIXL, where they are installed
#
# CASES (all of them) and PAIRS (9) may be set. Prints what pairs.sh says; judges nothing. Takes under 20 minutes on two
# processors, which must do nothing else. Needs jq, zstd, fio and mpirun.
set -eu
export LC_ALL=C
[ $# -ge 1 ] || {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit 2
}
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
before=$(cd "$1" && pwd)
after=$(cd "${2:-$TOP/build}" && pwd)
DIR=${3:-${TMPDIR:-/tmp}}
PAIRS=${PAIRS:-9}
ROWS=${ROWS:-10000000}
CASES=${CASES:-users blocks lfu sieve fifo lru csv zst null ranks files fio others}
TMP=$(mktemp -d "$DIR/kvtrace-bench.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
export PAIRS we=after

# shellcheck source=tests/bench/builds/cases.sh
. "$TOP/tests/bench/builds/cases.sh"
# shellcheck source=tests/bench/against/fio.sh
. "$TOP/tests/bench/against/fio.sh"

run_csv() { "$1/kvstat" --config threads=2 "$TMP/u.csv"; }
run_zst() { "$1/kvstat" --config threads=2 "$TMP/u.csv.zst"; }
run_null() { replay "$1"; }
# ready CASE: makes what it needs, once.
ready() {
    case $1 in
    blocks | lfu | sieve | fifo | lru) [ -s "$TMP/skew.jsonl" ] || block_requests ;;
    csv | zst)
        [ -s "$TMP/u.csv" ] || {
            user_rows "$after/bin" "$ROWS" "$TMP/u.csv.zst" 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
            zstd -dq "$TMP/u.csv.zst"
        }
        ;;
    null) trace_rows 2000000 | zstd -q -3 -o "$TMP/t.csv.zst" ;;
    ranks) "$after/bin/kvgen" --users 200 --duration 600 --seed 1 --progress none -o "$TMP/ranks.csv" 2>/dev/null ;;
    files)
        for op in Write Read; do
            awk -v op=$op 'BEGIN {
                print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
                for (i = 0; i < (op == "Read" ? 4096 : 1024); i++) printf "0,%s,262144,Tier-2,k%d,%s\n", op, i % 1024, op == "Read" ? "Decode" : "Prefill"
            }' >"$TMP/$op.csv"
        done
        read_files "$before" Write >/dev/null
        read_files "$after" Write >/dev/null
        ;;
    esac
}

# read_files BUILD OP: rows/s and I/Os in flight, in files that this build has written.
read_files() {
    "$1/bin/kvreplay" --target "file:$TMP/files.$(echo "$1" | tr / _)?pages=$pages" --verify full --iodepth 16 --inflight 16 \
        --config ioengine=uring --progress none --keep -o /dev/null --summary "$TMP/s.json" "$TMP/$2.csv" 2>"$TMP/err" ||
        { cat "$TMP/err" >&2; exit 1; }
    jq -r '"\(.rows.ok / .elapsed_s) \((.tiers[] | select(.tier == "Tier-2")).mean_ios_in_flight)"' "$TMP/s.json"
}
# two_ranks BUILD: rows/s of two, and their share of twice one.
two_ranks() {
    BUILD=$1 RUNS=1 LOOPS=${LOOPS:-5} TRACE=$TMP/ranks.csv WANTED=all COUNTS="1 2" sh "$TOP/tests/bench/ranks.sh" |
        awk '$1 == "2:" { print $2, $4 }'
}
# rate BUILD: rows/s of $case, by the clock on the wall.
rate() {
    function=$case rows=$ROWS
    case $case in
    csv | zst | null) function=run_$case ;;
    esac
    begin=$(date +%s%N)
    "$function" "$1/bin" >"$TMP/text" 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
    end=$(date +%s%N)
    case $case in
    null) rows=2000000 ;;
    csv | zst) ;;
    *) rows=$(rows_of "$case") ;;
    esac
    awk -v rows="$rows" -v ns=$((end - begin)) 'BEGIN { print rows / ns * 1e9 }'
}
# figures BUILD: those of a run of $case.
figures() {
    case $case in
    ranks) two_ranks "$1" ;;
    files) read_files "$1" Read ;;
    *) rate "$1" ;;
    esac
}
after_runs() { figures "$after"; }
before_runs() { figures "$before"; }

# against_fio: each build against fio, line by line.
against_fio() {
    unset we
    for side in before after; do
        [ $side = before ] && build=$before || build=$after
        {
            BUILD=$build READS=60000 sh "$TOP/tests/bench/against/small-objects.sh" "$DIR" "$PAIRS"
            BUILD=$build SIZES=256 OPS=Read PAGES=$pages sh "$TOP/tests/bench/against/pages-vs-fio.sh" "$DIR" "$PAIRS"
            BUILD=$build SIZES="1024 65536" PAGES=$pages sh "$TOP/tests/bench/against/pages-vs-fio.sh" "$DIR" "$PAIRS"
        } | sed "s/^/$side: /"
    done
    export we=after
}
others() {
    unset we
    BUILD=$after sh "$TOP/tests/bench/against/kvgen-vs-libcachesim.sh" -s
    BUILD=$after sh "$TOP/tests/bench/against/files-vs-nixl.sh" "$DIR" "$PAIRS"
}

began=$(date +%s)
echo "before: $before, after: $after, $(nproc) processors, $PAIRS pairs; buffers of reads and writes in $pages pages"
for case in $CASES; do
    case $case in
    ranks) names="rows/s, share of twice one rank" ;;
    files) names="rows/s, I/Os in flight" ;;
    blocks | lfu | sieve | fifo | lru) names=operations/s ;;
    *) names=rows/s ;;
    esac
    case $case in
    fio) against_fio ;;
    others) others ;;
    *)
        ready "$case"
        compare "$case" "$names" after_runs before_runs before
        ;;
    esac
done
echo "took $(($(date +%s) - began)) s"
