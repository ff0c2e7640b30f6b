#!/bin/sh
# precond-vs-fio.sh [DIR] [PAIRS] - kvprecond against fio's sequential write on one regular file: 1 MiB writes, depth
# 32, O_DIRECT, io_uring with registered buffers and files, space allocated before, buffers in the same pages on
# both sides: huge ones where the host has set 64 aside, else ordinary ones. Twice: fio writes the same buffers
# again and again, which costs it nothing, or makes new data for each write, as kvprecond does. ABBA pairs (fio,
# kvprecond, kvprecond, fio), and fio against itself in the same rhythm for the noise. Prints the ratios of bandwidth
# and CPU and their geometric means; judges nothing. SIZE_MIB sets the size. Skipped without fio.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "precond-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-6}
SIZE_MIB=${SIZE_MIB:-2048}
TMP=$(mktemp -d "$DIR/precond-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

# shellcheck source=tests/bench/against/same-pages.sh
. "$TOP/tests/bench/against/same-pages.sh"
echo "kvprecond: pages=$pages; fio: iomem=$memory"

# Both print "GiB/s CPU-seconds-per-GiB". The file exists and is allocated in both cases: --keep leaves it.
precond() {
    "$BIN/kvprecond" --size "${SIZE_MIB}M" --block-size 1M --iodepth 32 --ioengine uring --destroy-data --keep \
        --progress none --json --target "file:$TMP/file?pages=$pages" 2>/dev/null | jq -r '"\(.gib_per_s) \(.cpu_s_per_gib)"'
}
# Terse output of fio: $48 KiB/s and $50 ms of writes, $88 and $89 CPU time of user and system in per cent.
plain() { # plain REFILL
    fio --name=f --filename="$TMP/file" --rw=write --bs=1m --iodepth=32 --direct=1 --ioengine=io_uring \
        --registerfiles=1 --fixedbufs=1 --iomem=$memory --size="${SIZE_MIB}m" --refill_buffers="$1" --overwrite=1 \
        --output-format=terse --terse-version=3 2>/dev/null |
        awk -F';' -v mib="$SIZE_MIB" '{
            split($88, user, "%"); split($89, kernel, "%")
            printf "%.4f %.4f\n", $48 / 1048576, (user[1] + kernel[1]) / 100 * $50 / 1000 / (mib / 1024)
        }'
}

: >"$TMP/file"
precond >/dev/null # the file is there, the drive awake
plain 0 >/dev/null
for refill in 0 1; do
    i=0
    while [ "$i" -lt "$PAIRS" ]; do
        a=$(plain $refill) b=$(precond) c=$(precond) d=$(plain $refill)
        e=$(plain $refill) f=$(plain $refill)
        echo "$a $b $c $d $e $f"
        i=$((i + 1))
    done | awk -v refill="$refill" '{
        ours_1 = $3 / $1; ours_2 = $5 / $7; noise = $9 / $11; cpu_1 = $4 / $2; cpu_2 = $6 / $8; n++
        log_ours += log(ours_1) + log(ours_2); log_noise += log(noise); log_cpu += log(cpu_1) + log(cpu_2)
        printf "pair %d: kvprecond/fio %.3f %.3f (fio %.2f GiB/s), ", n, ours_1, ours_2, $1
        printf "fio/fio %.3f, CPU %.2f %.2f\n", noise, cpu_1, cpu_2
    } END {
        printf "refill_buffers=%d: geometric means of %d pairs: ", refill, n
        printf "bandwidth kvprecond/fio %.3f (wanted: 0.95), ", exp(log_ours / 2 / n)
        printf "fio/fio %.3f, CPU %.2f\n", exp(log_noise / n), exp(log_cpu / 2 / n)
    }'
done
