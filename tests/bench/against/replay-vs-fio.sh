#!/bin/sh
# replay-vs-fio.sh [DIR] [PAIRS] [CASES] - kvreplay against fio on one directory: OBJECTS (32) objects of 64 MiB, 1 MiB
# I/Os, depth 16, O_DIRECT, io_uring, registered files and buffers, unique data in all writes. Nothing is verified on
# either side; VERIFY=full (or header) shows what it costs kvreplay.
# Each case has the same work on both sides:
#   fresh   writes of new files: kvreplay's objects, fio's files of 64 MiB, one after another (fio allocates before its
#           clock starts, kvreplay after)
#   warm    writes over the same bytes of one file, kvreplay's slab, which is written and allocated
#   files   reads of the same files, kvreplay's objects, one after another
#   slab    reads of the same bytes of that slab
# Prints what fio.sh says of bandwidth, CPU time, and the mean number of I/Os in flight from submission to completion
# (kvreplay: mean_ios_in_flight of its summary; fio: IOPS x mean latency). Skipped without fio.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "replay-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-9}
CASES=${3:-fresh warm files slab}
OBJECTS=${OBJECTS:-32}
TMP=$(mktemp -d "$DIR/replay-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck source=tests/bench/against/fio.sh
. "$TOP/tests/bench/against/fio.sh"
verify=${VERIFY:-none}
echo "kvreplay: pages=$pages, --verify $verify, --inflight 4, --iodepth 16; fio: iomem=$memory, nothing verified, iodepth=16, refill_buffers=1"

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
        --config ioengine=uring --progress none --keep -o /dev/null --summary "$TMP/s.json" "$@" "$TMP/$op.csv" 2>"$TMP/stderr" ||
        { cat "$TMP/stderr" >&2; exit 1; }
    jq -r --argjson objects "$OBJECTS" '(.tiers[] | select(.tier == "Tier-2")).mean_ios_in_flight as $queue |
        "\($objects * 64 / 1024 / .elapsed_s) \(.cpu_s_per_gib) \($queue)"' "$TMP/s.json"
}

# plain OP ARGUMENTS...: the same from fio. Its terse output: KiB/s, IOPS, ms and mean latency in us of reads in
# $7, $8, $9 and $40, of writes in $48, $49, $50 and $81; CPU time of user and system in per cent in $88 and $89.
plain() {
    op=$1
    shift
    rw=$(echo "$op" | tr 'WR' 'wr')
    fio --name=f --rw="$rw" --bs=1m --iodepth=16 --direct=1 --ioengine=io_uring --registerfiles=1 --fixedbufs=1 \
        --iomem=$memory --refill_buffers=1 --file_service_type=sequential --output-format=terse --terse-version=3 "$@" \
        2>/dev/null |
        awk -F';' -v op="$op" -v mib="$((OBJECTS * 64))" '{
            rate = op == "Read" ? $7 : $48; ms = op == "Read" ? $9 : $50; queue = op == "Read" ? $8 * $40 : $49 * $81
            split($88, user, "%"); split($89, kernel, "%")
            cpu_s = (user[1] + kernel[1]) / 100 * ms / 1000
            printf "%.4f %.4f %.2f\n", rate / 1048576, cpu_s / (mib / 1024), queue / 1e6
        }'
}

# fio_runs, kvreplay_runs: a run of $case.
fio_runs() {
    case $case in
    fresh) plain Write --directory="$(new_folder $((OBJECTS * 64)))" --nrfiles="$OBJECTS" --filesize=64m --fallocate=native ;;
    # The first MiB of the slab describes it.
    warm) plain Write --filename="$TMP/slab/slab.kv" --offset=1m --size=$((OBJECTS * 64))m --overwrite=1 ;;
    files) plain Read --filename="$names" --filesize=64m --readonly ;;
    slab) plain Read --filename="$TMP/slab/slab.kv" --offset=1m --size=$((OBJECTS * 64))m --readonly ;;
    esac
}
kvreplay_runs() {
    case $case in
    fresh) replay Write "$(new_folder $((OBJECTS * 64)))" ;;
    warm) replay Write "$TMP/slab" --layout slab ;;
    files) replay Read "$TMP/files" ;;
    slab) replay Read "$TMP/slab" --layout slab ;;
    esac
}

for case in $CASES; do
    case $case in
    warm | slab) replay Write "$TMP/slab" --layout slab >/dev/null ;; # fio may have written over it
    files)
        replay Write "$TMP/files" >/dev/null
        names=$(find "$TMP/files" -name '*.kv' | sort | paste -sd:)
        ;;
    esac
    compare "$case" "GiB/s, CPU s/GiB, in flight" kvreplay_runs fio_runs
    end_case
done
