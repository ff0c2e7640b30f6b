#!/bin/sh
# replay-vs-fio.sh [DIR] [PAIRS] [CASES] - kvreplay against fio on one directory: OBJECTS (32) objects of 64 MiB, 1 MiB
# I/Os, depth 16, O_DIRECT, io_uring, registered files and buffers, kvreplay with unique data. Nothing is verified on
# either side; VERIFY=full (or header) shows what it costs kvreplay.
# Each case has the same work on both sides, and buffers in the same pages: huge ones where the host has set 64 aside, else
# ordinary ones.
#   fresh   writes of new files: kvreplay's objects, fio's files of 64 MiB, one after another (fio allocates before its
#           clock starts, kvreplay after); all are removed before each run
#   warm    writes over the same bytes of one file, kvreplay's slab, which is written and allocated
#   files   reads of the same files, kvreplay's objects, one after another
#   slab    reads of the same bytes of that slab
# ABBA pairs (fio, kvreplay, kvreplay, fio), and fio against itself in the same rhythm for the noise. Prints bandwidth
# ratios and their geometric means, also divided by fio's own; the mean number of I/Os in flight from submission to
# completion (kvreplay: mean_ios_in_flight of its summary; fio: IOPS x mean latency); and CPU seconds per GiB divided by
# fio's, for writes with refill_buffers=1, which makes its data unique too, and without. Judges nothing. Skipped without
# fio.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
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

# shellcheck source=tests/bench/against/same-pages.sh
. "$TOP/tests/bench/against/same-pages.sh"
verify=${VERIFY:-none}
echo "kvreplay: pages=$pages, --verify $verify; fio: iomem=$memory, nothing verified"

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
    "$BIN/kvreplay" --target "file:$target?pages=$pages" --verify "$verify" --inflight 4 --iodepth 16 --chunk-size 1MiB \
        --ioengine uring --progress none -o /dev/null --summary "$TMP/s.json" "$@" "$TMP/$op.csv" 2>"$TMP/stderr" || { cat "$TMP/stderr" >&2; exit 1; }
    jq -r --argjson objects "$OBJECTS" '(.tiers[] | select(.tier == "Tier-2")).mean_ios_in_flight as $queue |
        "\($objects * 64 / 1024 / .elapsed_s) \(.cpu_s_per_gib) \($queue)"' "$TMP/s.json"
}

# plain OP REFILL ARGUMENTS...: the same from fio. Its terse output: KiB/s, IOPS, ms and mean latency in us of reads in
# $7, $8, $9 and $40, of writes in $48, $49, $50 and $81; CPU time of user and system in per cent in $88 and $89.
plain() {
    op=$1 refill=$2
    shift 2
    rw=$(echo "$op" | tr 'WR' 'wr')
    fio --name=f --rw="$rw" --bs=1m --iodepth=16 --direct=1 --ioengine=io_uring --registerfiles=1 --fixedbufs=1 \
        --iomem=$memory --refill_buffers="$refill" --file_service_type=sequential --output-format=terse --terse-version=3 "$@" \
        2>/dev/null |
        awk -F';' -v op="$op" -v mib="$((OBJECTS * 64))" '{
            rate = op == "Read" ? $7 : $48; ms = op == "Read" ? $9 : $50; queue = op == "Read" ? $8 * $40 : $49 * $81
            split($88, user, "%"); split($89, kernel, "%")
            cpu_s = (user[1] + kernel[1]) / 100 * ms / 1000
            printf "%.4f %.4f %.2f\n", rate / 1048576, cpu_s / (mib / 1024), queue / 1e6
        }'
}

# fio_runs CASE REFILL, kvreplay_runs CASE: the run of that case.
fio_runs() {
    case $1 in
    fresh)
        rm -rf "$TMP/new"
        mkdir "$TMP/new"
        plain Write "$2" --directory="$TMP/new" --nrfiles="$OBJECTS" --filesize=64m --fallocate=native
        rm -rf "$TMP/new"
        ;;
    # The first MiB of the slab describes it.
    warm) plain Write "$2" --filename="$TMP/slab/slab.kv" --offset=1m --size=$((OBJECTS * 64))m --overwrite=1 ;;
    files) plain Read "$2" --filename="$names" --filesize=64m --readonly ;;
    slab) plain Read "$2" --filename="$TMP/slab/slab.kv" --offset=1m --size=$((OBJECTS * 64))m --readonly ;;
    esac
}
kvreplay_runs() {
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
    slab) # fio may have written over it
        replay Write "$TMP/slab" --layout slab --keep >/dev/null
        refill=0
        ;;
    esac
    fio_runs "$case" "$refill" >/dev/null # the drive is awake
    kvreplay_runs "$case" >/dev/null
    i=0
    while [ "$i" -lt "$PAIRS" ]; do
        {
            fio_runs "$case" "$refill"
            kvreplay_runs "$case"
            kvreplay_runs "$case"
            for _ in 1 2 3; do fio_runs "$case" "$refill"; done
            [ "$refill" = 0 ] || fio_runs "$case" 0
        } | paste -sd ' ' -
        i=$((i + 1))
    done | awk -v name="$case" '{
        # 3 figures each: fio, kvreplay, kvreplay, fio, fio, fio; for writes fio without refill_buffers
        ours_1 = $4 / $1; ours_2 = $7 / $10; noise = $13 / $16; cpu_1 = $5 / $2; cpu_2 = $8 / $11; n++
        log_ours += log(ours_1) + log(ours_2); log_noise += log(noise); log_cpu += log(cpu_1) + log(cpu_2)
        queue += $6 + $9; fio_queue += $3 + $12
        if (NF > 18) log_cpu_plain += log($5 / $20) + log($8 / $20)
        printf "%s pair %d: kvreplay/fio %.3f %.3f (fio %.2f GiB/s), fio/fio %.3f, ", name, n, ours_1, ours_2, $1, noise
        printf "CPU %.2f %.2f, in flight %.2f %.2f (fio %.2f)\n", cpu_1, cpu_2, $6, $9, $3
        fflush()
    } END {
        printf "%s: %d pairs: bandwidth kvreplay/fio %.3f, ", name, n, exp(log_ours / 2 / n)
        printf "fio/fio %.3f, the one by the other %.3f; ", exp(log_noise / n), exp(log_ours / 2 / n - log_noise / n)
        printf "in flight %.2f (fio %.2f); ", queue / 2 / n, fio_queue / 2 / n
        printf "CPU kvreplay/fio %.2f", exp(log_cpu / 2 / n)
        if (log_cpu_plain) printf " with refill_buffers=1, %.2f without", exp(log_cpu_plain / 2 / n)
        print ""
    }'
done
