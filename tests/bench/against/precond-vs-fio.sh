#!/bin/sh
# precond-vs-fio.sh [DIR] [PAIRS] - kvprecond against fio's sequential write on one regular file: 1 MiB writes, depth
# 32, O_DIRECT, io_uring with registered buffers and files, space allocated before. Twice: fio makes new data for each
# write, as kvprecond does, or writes the same buffers again and again, which costs it nothing. Prints what fio.sh says of
# bandwidth and CPU time. SIZE_MIB sets the size. Skipped without fio.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "precond-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-9}
SIZE_MIB=${SIZE_MIB:-2048}
TMP=$(mktemp -d "$DIR/precond-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

# shellcheck source=tests/bench/against/fio.sh
. "$TOP/tests/bench/against/fio.sh"
echo "kvprecond: pages=$pages, --config iodepth=32; fio: iomem=$memory, iodepth=32; nothing verified"

# Both print "GiB/s CPU-seconds-per-GiB". The file exists and is allocated in both cases: --keep leaves it.
precond() {
    "$BIN/kvprecond" --size "${SIZE_MIB}M" --block-size 1M --config iodepth=32 --config ioengine=uring --destroy-data --keep \
        --progress none --json --target "file:$TMP/file?pages=$pages" 2>/dev/null | jq -r '"\(.gib_per_s) \(.cpu_s_per_gib)"'
}
# Terse output of fio: $48 KiB/s and $50 ms of writes, $88 and $89 CPU time of user and system in per cent.
plain() {
    fio --name=f --filename="$TMP/file" --rw=write --bs=1m --iodepth=32 --direct=1 --ioengine=io_uring \
        --registerfiles=1 --fixedbufs=1 --iomem=$memory --size="${SIZE_MIB}m" --refill_buffers="$refill" --overwrite=1 \
        --output-format=terse --terse-version=3 2>/dev/null |
        awk -F';' -v mib="$SIZE_MIB" '{
            split($88, user, "%"); split($89, kernel, "%")
            printf "%.4f %.4f\n", $48 / 1048576, (user[1] + kernel[1]) / 100 * $50 / 1000 / (mib / 1024)
        }'
}

: >"$TMP/file"
for refill in 1 0; do
    compare "refill_buffers=$refill" "GiB/s, CPU s/GiB" precond plain
done
