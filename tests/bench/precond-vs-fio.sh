#!/bin/sh
# precond-vs-fio.sh [DIR] [PAIRS] - kvprecond against fio's sequential write on one regular file: 1 MiB writes, depth 32,
# O_DIRECT, io_uring with registered buffers and files, space allocated before. Twice: against fio that writes the same
# buffers again and again, which costs it nothing, and against fio that makes new data for each write as kvprecond does.
# ABBA pairs (fio, kvprecond, kvprecond, fio), and fio against itself in the same rhythm for the noise. Prints the ratios
# of bandwidth and CPU and their geometric means; judges nothing. SIZE_MIB sets the size. Skips without fio.
set -eu
TOP=$(cd "$(dirname "$0")/../.." && pwd)
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

# Both print "GiB/s CPU-seconds-per-GiB". The file is there and allocated in both cases: --keep leaves it.
precond() {
    "$BIN/kvprecond" --size "${SIZE_MIB}M" --block-size 1M --iodepth 32 --ioengine uring --destroy-data --keep --progress none \
        --json "$TMP/file" 2>/dev/null |
        awk -F'[:,]' '/"gib_per_s"/ { b = $2 } /"cpu_s_per_gib"/ { c = $2 } END { printf "%.4f %.4f\n", b, c }'
}
plain() { # plain REFILL
    fio --name=f --filename="$TMP/file" --rw=write --bs=1m --iodepth=32 --direct=1 --ioengine=io_uring --registerfiles=1 \
        --fixedbufs=1 --size="${SIZE_MIB}m" --refill_buffers="$1" --overwrite=1 --output-format=terse --terse-version=3 2>/dev/null |
        awk -F';' -v mib="$SIZE_MIB" '{
            split($88, u, "%"); split($89, s, "%")
            printf "%.4f %.4f\n", $48 / 1048576, (u[1] + s[1]) / 100 * $50 / 1000 / (mib / 1024)
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
        r1 = $3 / $1; r2 = $5 / $7; s = $9 / $11
        lr += log(r1) + log(r2); ls += log(s); lc += log($4 / $2) + log($6 / $8); n++
        printf "pair %d: kvprecond/fio %.3f %.3f (fio %.2f GiB/s), fio/fio %.3f, CPU %.2f %.2f\n", n, r1, r2, $1, s, $4 / $2, $6 / $8
    } END {
        printf "refill_buffers=%d: geometric means of %d pairs: bandwidth kvprecond/fio %.3f (wanted: 0.95), fio/fio %.3f, CPU %.2f\n",
            refill, n, exp(lr / 2 / n), exp(ls / n), exp(lc / 2 / n)
    }'
done
