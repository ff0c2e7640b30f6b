#!/bin/sh
# small-objects.sh [DIR] [PAIRS] - random reads of objects of 16 KiB in a slab, 64 in flight, against
# fio's random reads of that size from the same file (io_uring, O_DIRECT, registered file and buffers, depth 64), with
# buffers in the same pages: huge ones where the host has set 64 aside, else ordinary ones. Nothing is verified on
# either side; VERIFY=full (or header) shows what it costs kvreplay.
# ABBA pairs (fio, kvreplay, kvreplay, fio), and fio against itself in the same rhythm for the noise. Prints IOPS
# ratios and their geometric mean; judges nothing. Skips without fio. OBJECTS and READS change the load.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "small-objects: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-6}
OBJECTS=${OBJECTS:-65536}
READS=${READS:-100000}
TMP=$(mktemp -d "$DIR/small-objects.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

# shellcheck source=tests/bench/against/same-pages.sh
. "$TOP/tests/bench/against/same-pages.sh"
verify=${VERIFY:-none}
echo "kvreplay: pages=$pages, --verify $verify; fio: iomem=$memory, nothing verified"

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

# replay OP: reads per second.
replay() {
    "$BIN/kvreplay" --target "file:$TMP/slab?pages=$pages" --verify "$verify" --keep --inflight 64 --iodepth 64 \
        --chunk-size "${CHUNK:-64KiB}" \
        --ioengine uring --rings "${RINGS:-1}" --progress none -o /dev/null --summary "$TMP/s.json" "$TMP/$1.csv" \
        2>/dev/null
    jq -r '.rows.ok / .elapsed_s | floor' "$TMP/s.json"
}

# plain: fio's reads per second, from the part of the file that holds the objects.
plain() {
    fio --name=f --filename="$TMP/slab" --rw=randread --bs=16k --iodepth=64 --direct=1 --ioengine=io_uring \
        --registerfiles=1 --fixedbufs=1 --iomem=$memory --norandommap=1 --offset=1m --size=$((OBJECTS * 16))k \
        --io_size=$((READS * 16))k --output-format=terse --terse-version=3 --readonly 2>/dev/null |
        awk -F';' '{ print $8 }'
}

replay Write >/dev/null
replay Read >/dev/null
i=0
while [ "$i" -lt "$PAIRS" ]; do
    echo "$(plain) $(replay Read) $(replay Read) $(plain) $(plain) $(plain)"
    i=$((i + 1))
done | awk '{
    ours_1 = $2 / $1; ours_2 = $3 / $4; noise = $5 / $6; n++
    log_ours += log(ours_1) + log(ours_2); log_noise += log(noise)
    printf "pair %d: kvreplay/fio %.3f %.3f (fio %d IOPS), fio/fio %.3f\n", n, ours_1, ours_2, $1, noise
} END {
    printf "geometric means of %d pairs: kvreplay/fio %.3f, ", n, exp(log_ours / 2 / n)
    printf "fio/fio %.3f\n", exp(log_noise / n)
}'
