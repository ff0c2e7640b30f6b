#!/bin/sh
# files-vs-nixl.sh [DIR] [PAIRS] - kvreplay against NIXL's POSIX backend on io_uring (nixlbench), O_DIRECT, in DIR: reads and
# writes of 256 KiB and 1 MiB, 16 in flight, and of 64 MiB, 4 in flight, over and over in the same bytes of one file that is
# allocated and open before the clock starts (kvreplay's slab). nixlbench hands in a batch and waits for all of it; kvreplay
# hands in the next when one is done, and cuts 64 MiB into I/Os of 1 MiB. Nothing is verified on either side. Buffers lie in
# huge pages where the host has set some aside and nixlbench takes them, else in ordinary ones on both sides. Prints what
# pairs.sh says of GB/s. SIZES (KiB), OPS ("Read Write") and MIB (of each run, 512) may be set. Skipped without nixlbench.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v nixlbench >/dev/null 2>&1 || { echo "files-vs-nixl: skipped, nixlbench is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-9}
MIB=${MIB:-512}
TMP=$(mktemp -d "$DIR/files-vs-nixl.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck source=tests/bench/against/fio.sh
. "$TOP/tests/bench/against/fio.sh"
set -- --backend=POSIX --posix_api_type=URING --storage_enable_direct --filepath="$TMP/nixl" \
    --large_blk_iter_ftr=1 --warmup_iter=1
if [ "$pages" = huge ] && nixlbench --help 2>&1 | grep -q use_hugepages; then
    set -- "$@" --use_hugepages
else
    pages=small
fi
mkdir "$TMP/nixl"
echo "kvreplay: pages=$pages, --layout slab, --verify none; nixlbench: $*"
printf '%s\n' '#!/bin/sh' "exec nixlbench $* \"\$@\"" >"$TMP/nixlbench"

# trace ROWS: of $op on $depth objects of $kib.
trace() {
    awk -v op="$op" -v n="$1" -v depth="$depth" -v bytes=$((kib * 1024)) 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "0,%s,%d,Tier-2,k%d,%s\n", op, bytes, i % depth, op == "Read" ? "Decode" : "Prefill" }'
}
kvreplay_runs() {
    "$BIN/kvreplay" --target "file:$TMP/k?pages=$pages" --layout slab --verify none --iodepth 16 --inflight "$depth" \
        --config ioengine=uring --progress none --keep -o /dev/null --summary "$TMP/s.json" "$TMP/$op.csv" 2>"$TMP/err" ||
        { cat "$TMP/err" >&2; exit 1; }
    jq --argjson mib "$MIB" '$mib * 1048576 / 1e9 / .elapsed_s' "$TMP/s.json"
}
# Its table has a line for the block and batch asked for; columns are found by their names, which two spaces part.
nixl_runs() {
    bytes=$((kib * 1024))
    sh "$TMP/nixlbench" --op_type="$(echo "$op" | tr '[:lower:]' '[:upper:]')" --total_buffer_size=$((bytes * depth)) \
        --start_block_size=$bytes --max_block_size=$bytes --start_batch_size="$depth" --max_batch_size="$depth" \
        --num_iter=$((MIB * 1024 / kib / depth)) >"$TMP/text" 2>"$TMP/err" || { tail -n 20 "$TMP/text" "$TMP/err" >&2; exit 1; }
    awk -v block=$bytes -v depth="$depth" '
        /^Block Size/ { n = split($0, name, /  +/); for (i = 1; i <= n; i++) if (name[i] == "B/W (GB/Sec)") at = i }
        at && $1 == block && $2 == depth { print $at }' "$TMP/text"
}

for kib in ${SIZES:-256 1024 65536}; do
    depth=$((kib > 1024 ? 4 : 16))
    for op in ${OPS:-Read Write}; do
        if [ "$op" = Read ]; then
            op=Write
            trace "$depth" >"$TMP/Write.csv"
            kvreplay_runs >/dev/null
            op=Read
        fi
        trace $((MIB * 1024 / kib)) >"$TMP/$op.csv"
        compare "$op, $kib KiB, $pages pages" GB/s kvreplay_runs nixl_runs NIXL
    done
    rm -rf "$TMP/k" "$TMP/nixl"/*
done
