#!/bin/sh
# replay-vs-fio.sh [DIR] [PAIRS] - kvreplay against fio on one directory: objects of 64 MiB, 1 MiB I/Os, depth 16,
# O_DIRECT, io_uring, unique data and header verification on. ABBA pairs (fio, kvreplay, kvreplay, fio), and fio against
# itself in the same rhythm for the noise. Prints bandwidth and CPU ratios and their geometric means; judges
# nothing. Skips without fio.
set -eu
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "replay-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-12}
OBJECTS=${OBJECTS:-32}
TMP=$(mktemp -d "$DIR/replay-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

# trace OP: OBJECTS operations on objects of 64 MiB.
trace() {
    awk -v op="$1" -v n="$OBJECTS" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "0,%s,67108864,Tier-2,k%d,%s\n", op, i, op == "Read" ? "Decode" : "Prefill"
    }'
}
trace Write >"$TMP/Write.csv"
trace Read >"$TMP/Read.csv"

# replay OP: "GiB/s CPUs-per-GiB". Objects stay for the reads.
replay() {
    "$BIN/kvreplay" --nvme "$TMP/kv" --keep --inflight 4 --iodepth 16 --chunk-size 1MiB --ioengine uring --progress none \
        -o /dev/null --summary "$TMP/s.json" "$TMP/$1.csv" 2>/dev/null
    awk -F'[:,]' -v gib="$OBJECTS" '/"elapsed_s"/ { e = $2 } /"cpu_s_per_gib"/ { c = $2 }
        END { printf "%.4f %.4f\n", gib * 64 / 1024 / e, c }' "$TMP/s.json"
}

# plain OP REFILL: the same of fio, on a file of its own.
plain() {
    rw=$(echo "$1" | tr 'WR' 'wr')
    fio --name=f --filename="$TMP/fio" --rw="$rw" --bs=1m --iodepth=16 --direct=1 --ioengine=io_uring --registerfiles=1 \
        --fixedbufs=1 --size=$((OBJECTS * 64))m --refill_buffers="$2" --output-format=terse --terse-version=3 \
        --fallocate=none 2>/dev/null |
        awk -F';' -v op="$1" -v gib="$OBJECTS" '{
            bw = op == "Read" ? $7 : $48; ms = op == "Read" ? $9 : $50
            split($88, u, "%"); split($89, s, "%")
            printf "%.4f %.4f\n", bw / 1048576, (u[1] + s[1]) / 100 * ms / 1000 / (gib * 64 / 1024)
        }'
}

for op in Write Read; do
    refill=$([ "$op" = Write ] && echo 1 || echo 0)
    plain "$op" "$refill" >/dev/null # the file is there, the drive awake
    replay "$op" >/dev/null
    i=0
    while [ "$i" -lt "$PAIRS" ]; do
        a=$(plain "$op" "$refill") b=$(replay "$op") c=$(replay "$op") d=$(plain "$op" "$refill")
        e=$(plain "$op" "$refill") f=$(plain "$op" "$refill")
        echo "$a $b $c $d $e $f"
        i=$((i + 1))
    done | awk -v op="$op" '{
        r1 = $3 / $1; r2 = $5 / $7; s = $9 / $11
        lr += log(r1) + log(r2); ls += log(s); lc += log($4 / $2) + log($6 / $8); n++
        printf "%s pair %d: kvreplay/fio %.3f %.3f (fio %.2f GiB/s), fio/fio %.3f, CPU %.2f %.2f\n", op, n, r1, r2, $1, s, $4 / $2, $6 / $8
    } END {
        printf "%s: geometric means of %d pairs: bandwidth kvreplay/fio %.3f, fio/fio %.3f, CPU kvreplay/fio %.2f%s\n", op, n,
            exp(lr / 2 / n), exp(ls / n), exp(lc / 2 / n), op == "Write" ? " (refill_buffers=1)" : ""
    }'
done
