#!/bin/sh
# replay-vs-fio.sh [DIR] [PAIRS] [CASES] - kvreplay against fio on one directory: OBJECTS (32) objects of 64 MiB, 1 MiB I/Os,
# depth 16, O_DIRECT, io_uring, registered files and buffers, kvreplay with unique data and header verification. Each case has
# the same work on both sides:
#   fresh   writes of new files: kvreplay's objects, fio's files of 64 MiB one after another (allocated before its clock starts,
#           kvreplay's after); all are removed before each run
#   warm    writes over the very same bytes of one file, kvreplay's slab, which is written and allocated
#   files   reads of the very same files, kvreplay's objects, one after another
#   slab    reads of the very same bytes of that slab
# ABBA pairs (fio, kvreplay, kvreplay, fio), and fio against itself in the same rhythm for the noise. Prints bandwidth ratios and
# their geometric means, also by fio's own; the mean number of I/Os in flight as each program's requests see it, from submission
# to completion (kvreplay: mean_ios_in_flight of its summary; fio: IOPS x mean latency); and CPU seconds per GiB by fio's, for
# writes with refill_buffers=1, which makes its data unique too, and without. Judges nothing. Skips without fio.
set -eu
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "replay-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-12}
CASES=${3:-fresh warm files slab}
OBJECTS=${OBJECTS:-32}
TMP=$(mktemp -d "$DIR/replay-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# trace OP: OBJECTS operations on objects of 64 MiB.
trace() {
    awk -v op="$1" -v n="$OBJECTS" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "0,%s,67108864,Tier-2,k%d,%s\n", op, i, op == "Read" ? "Decode" : "Prefill"
    }'
}
trace Write >"$TMP/Write.csv"
trace Read >"$TMP/Read.csv"

# replay OP TARGET ARGUMENTS...: "GiB/s CPUs-per-GiB in-flight".
replay() {
    op=$1 target=$2
    shift 2
    "$BIN/kvreplay" --nvme "$target" --inflight 4 --iodepth 16 --chunk-size 1MiB --ioengine uring --progress none \
        -o /dev/null --summary "$TMP/s.json" "$@" "$TMP/$op.csv" 2>"$TMP/stderr" || { cat "$TMP/stderr" >&2; exit 1; }
    awk -F'[:,]' -v gib="$OBJECTS" '/"elapsed_s"/ { e = $2 } /"cpu_s_per_gib"/ { c = $2 } /"mean_ios_in_flight"/ { q = $2 }
        END { printf "%.4f %.4f %.2f\n", gib * 64 / 1024 / e, c, q }' "$TMP/s.json"
}

# plain OP REFILL ARGUMENTS...: the same of fio.
plain() {
    op=$1 refill=$2
    shift 2
    rw=$(echo "$op" | tr 'WR' 'wr')
    fio --name=f --rw="$rw" --bs=1m --iodepth=16 --direct=1 --ioengine=io_uring --registerfiles=1 --fixedbufs=1 \
        --refill_buffers="$refill" --file_service_type=sequential --output-format=terse --terse-version=3 "$@" 2>/dev/null |
        awk -F';' -v op="$op" -v gib="$OBJECTS" '{
            bw = op == "Read" ? $7 : $48; ms = op == "Read" ? $9 : $50; q = op == "Read" ? $8 * $40 : $49 * $81
            split($88, u, "%"); split($89, s, "%")
            printf "%.4f %.4f %.2f\n", bw / 1048576, (u[1] + s[1]) / 100 * ms / 1000 / (gib * 64 / 1024), q / 1e6
        }'
}

# a CASE REFILL: fio's run of it. b CASE: kvreplay's.
a() {
    case $1 in
    fresh)
        rm -rf "$TMP/new"
        mkdir "$TMP/new"
        plain Write "$2" --directory="$TMP/new" --nrfiles="$OBJECTS" --filesize=64m --fallocate=native
        rm -rf "$TMP/new"
        ;;
    # Behind the slab's first MiB, which says what it is.
    warm) plain Write "$2" --filename="$TMP/slab/slab.kv" --offset=1m --size=$((OBJECTS * 64))m --overwrite=1 ;;
    files) plain Read "$2" --filename="$names" --filesize=64m --readonly ;;
    slab) plain Read "$2" --filename="$TMP/slab/slab.kv" --offset=1m --size=$((OBJECTS * 64))m --readonly ;;
    esac
}
b() {
    case $1 in
    fresh) replay Write "$TMP/new" ;;
    warm) replay Write "$TMP/slab" --layout slab --keep ;;
    files) replay Read "$TMP/files" --keep ;;
    slab) replay Read "$TMP/slab" --layout slab --keep ;;
    esac
}

for case in $CASES; do
    refill=1
    case $case in
    warm) replay Write "$TMP/slab" --layout slab --keep >/dev/null ;;
    files)
        replay Write "$TMP/files" --keep >/dev/null
        names=$(find "$TMP/files" -name '*.kv' | sort | paste -sd:)
        refill=0
        ;;
    slab) # all of it is kvreplay's again
        replay Write "$TMP/slab" --layout slab --keep >/dev/null
        refill=0
        ;;
    esac
    a "$case" "$refill" >/dev/null # the drive is awake
    b "$case" >/dev/null
    i=0
    while [ "$i" -lt "$PAIRS" ]; do
        echo "$(a "$case" "$refill") $(b "$case") $(b "$case") $(a "$case" "$refill") $(a "$case" "$refill") $(a "$case" "$refill")" \
            "$([ "$refill" = 0 ] || a "$case" 0)"
        i=$((i + 1))
    done | awk -v name="$case" '{
        # 3 figures each: fio, kvreplay, kvreplay, fio, fio, fio; for writes fio without refill_buffers
        r1 = $4 / $1; r2 = $7 / $10; lr += log(r1) + log(r2); ls += log($13 / $16); n++
        lc += log($5 / $2) + log($8 / $11); q += $6 + $9; p += $3 + $12
        if (NF > 18) lw += log($5 / $20) + log($8 / $20)
        printf "%s pair %d: kvreplay/fio %.3f %.3f (fio %.2f GiB/s), fio/fio %.3f, CPU %.2f %.2f, in flight %.2f %.2f (fio %.2f)\n",
            name, n, r1, r2, $1, $13 / $16, $5 / $2, $8 / $11, $6, $9, $3
        fflush()
    } END {
        printf "%s: %d pairs: bandwidth kvreplay/fio %.3f, fio/fio %.3f, the one by the other %.3f; in flight %.2f (fio %.2f); CPU kvreplay/fio %.2f%s\n",
            name, n, exp(lr / 2 / n), exp(ls / n), exp(lr / 2 / n - ls / n), q / 2 / n, p / 2 / n, exp(lc / 2 / n),
            lw ? sprintf(" with refill_buffers=1, %.2f without", exp(lw / 2 / n)) : ""
    }'
done
