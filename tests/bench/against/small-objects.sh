#!/bin/sh
# small-objects.sh [DIR] [PAIRS] - random reads of objects of 16 KiB in a slab, 64 in flight, against
# fio's random reads of that size from the same file (io_uring, O_DIRECT, registered file and buffers, depth 64).
# Nothing is verified on either side; VERIFY=full (or header) shows what it costs kvreplay.
# Prints what fio.sh says of IOPS, CPU time and the mean number of I/Os in flight. Skipped without fio. OBJECTS and READS
# change the load.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "small-objects: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-9}
OBJECTS=${OBJECTS:-65536}
READS=${READS:-100000}
TMP=$(mktemp -d "$DIR/small-objects.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

# shellcheck source=tests/bench/against/fio.sh
. "$TOP/tests/bench/against/fio.sh"
verify=${VERIFY:-none}
echo "kvreplay: pages=$pages, --verify $verify, --inflight 64, --iodepth 64; fio: iomem=$memory, nothing verified, iodepth=64"

# trace OP ROWS: rows on random objects; writes go through them in order.
trace() {
    awk -v op="$1" -v rows="$2" -v n="$OBJECTS" 'BEGIN {
        srand(1)
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < rows; i++)
            if (op == "Write") printf "0,Write,16384,Tier-2,k%d,Prefill\n", i
            else printf "0,Read,16384,Tier-2,k%d,Decode\n", int(rand() * n)
    }'
}
trace Write "$OBJECTS" >"$TMP/Write.csv"
trace Read "$READS" >"$TMP/Read.csv"
: >"$TMP/slab"

# replay OP: "IOPS CPU-us-per-object in-flight".
replay() {
    "$BIN/kvreplay" --target "file:$TMP/slab?pages=$pages" --verify "$verify" --keep --inflight 64 --iodepth 64 \
        --chunk-size "${CHUNK:-64KiB}" \
        --config ioengine=uring --config rings="${RINGS:-1}" --progress none -o /dev/null --summary "$TMP/s.json" "$TMP/$1.csv" \
        2>"$TMP/stderr" || { cat "$TMP/stderr" >&2; exit 1; }
    jq -r '(.tiers[] | select(.tier == "Tier-2")).mean_ios_in_flight as $queue |
        "\(.rows.ok / .elapsed_s) \(.cpu_s_per_gib * 1e6 / 65536) \($queue)"' "$TMP/s.json"
}
reads() { replay Read; }

# plain: the same from fio, of the part of the file that holds the objects. Its terse output has IOPS, ms and mean latency in us
# in $8, $9 and $40, CPU time of user and system in per cent in $88 and $89.
plain() {
    fio --name=f --filename="$TMP/slab" --rw=randread --bs=16k --iodepth=64 --direct=1 --ioengine=io_uring \
        --registerfiles=1 --fixedbufs=1 --iomem=$memory --norandommap=1 --offset=1m --size=$((OBJECTS * 16))k \
        --io_size=$((READS * 16))k --output-format=terse --terse-version=3 --readonly 2>/dev/null |
        awk -F';' -v reads="$READS" '{
            split($88, user, "%"); split($89, kernel, "%")
            print $8, (user[1] + kernel[1]) / 100 * $9 * 1000 / reads, $8 * $40 / 1e6
        }'
}

replay Write >/dev/null
compare "16 KiB reads" "IOPS, CPU us each, in flight" reads plain
