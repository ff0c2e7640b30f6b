#!/bin/sh
# pages-vs-fio.sh [DIR] [PAIRS] - kvreplay against fio with the same pages on both sides: writes of new files and reads of
# files, of 64 MiB, 1 MiB and 256 KiB, O_DIRECT, io_uring, 16 I/Os of at most 1 MiB in flight, buffers in ordinary pages
# (pages=small; iomem=mmap) and in huge ones (pages=huge; iomem=mmaphuge, skipped where the host has set none aside). New files
# of one I/O are opened when they are written, and nothing is allocated before; larger ones fio allocates before its
# clock starts, kvreplay after. Nothing is verified on either side; VERIFY=full (or header) shows what it costs kvreplay.
# Prints what fio.sh says of bandwidth, CPU time and the mean number of I/Os in flight, and what huge pages give kvreplay. Skipped
# without fio.
# MIB: of each run (default 256); SIZES: KiB; OPS: "Write Read"; PAGES: "small huge". A file system of its own shows the programs, and not what others
# deleted (fio.sh).
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "pages-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-9}
MIB=${MIB:-256}
TMP=$(mktemp -d "$DIR/pages-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# shellcheck source=tests/bench/against/fio.sh
. "$TOP/tests/bench/against/fio.sh"
verify=${VERIFY:-none} most=$pages
echo "kvreplay: --verify $verify, --iodepth 16, --inflight 16 (of 64 MiB: 4); fio: nothing verified, iodepth=16, openfiles=16, refill_buffers=1"

# trace OP PHASE
trace() {
    awk -v op="$1" -v phase="$2" -v n=$files -v bytes=$((kib * 1024)) 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "0,%s,%d,Tier-2,k%d,%s\n", op, bytes, i, phase }'
}
# replay FOLDER, plain FOLDER: $op there, with buffers in $pages: "MiB/s CPU_S_PER_GIB IN_FLIGHT". They use $kib and $files.
replay() {
    "$BIN/kvreplay" --target "file:$1?pages=$pages" --verify "$verify" --iodepth 16 --inflight $((kib > 1024 ? 4 : 16)) \
        --config ioengine=uring --progress none --keep -o /dev/null --summary "$TMP/s.json" "$TMP/$op.csv" 2>"$TMP/err" ||
        { cat "$TMP/err" >&2; exit 1; }
    jq -r --argjson mib "$MIB" '(.tiers[] | select(.tier == "Tier-2")).mean_ios_in_flight as $queue |
        "\($mib / .elapsed_s) \(.cpu_s_per_gib) \($queue)"' "$TMP/s.json"
}
plain() {
    folder=$1 verb=$(echo "$op" | tr RW rw) memory=mmap
    [ "$pages" = small ] || memory=mmaphuge
    set -- --create_on_open=1 --fallocate=none
    [ "$kib" -le 1024 ] || set -- --fallocate=native
    [ "$op" = Write ] || set -- --readonly
    fio --name=f --directory="$folder" --rw="$verb" --bs="$((kib > 1024 ? 1024 : kib))k" --filesize="${kib}k" --nrfiles="$files" \
        --openfiles=16 --file_service_type=sequential "$@" --iodepth=16 --direct=1 --ioengine=io_uring --registerfiles=0 \
        --refill_buffers=1 --iomem=$memory --output-format=json 2>/dev/null | sed -n '/^{/,$p' |
        jq -r --arg op "$verb" '.jobs[0] | .[$op] as $o | ($o.runtime / 1000) as $s |
            "\($o.io_kbytes / 1024 / $s) \((.usr_cpu + .sys_cpu) / 100 * $s / ($o.io_kbytes / 1048576)) \($o.iops * $o.lat_ns.mean / 1e9)"'
}
# Where a run works: writes in a folder of their own.
folder() {
    if [ "$op" = Read ]; then echo "$TMP/$1"; else new_folder "$MIB"; fi
}
kvreplay_runs() { replay "$(folder k)"; }
fio_runs() { plain "$(folder f)"; }
in_huge() { pages=huge kvreplay_runs; }
in_small() { pages=small kvreplay_runs; }

for kib in ${SIZES:-65536 1024 256}; do
    files=$((MIB * 1024 / kib))
    trace Write Prefill >"$TMP/Write.csv"
    trace Read Decode >"$TMP/Read.csv"
    for op in ${OPS:-Write Read}; do
        if [ "$op" = Read ]; then
            mkdir "$TMP/f"
            op=Write pages=small
            replay "$TMP/k" >/dev/null
            plain "$TMP/f" >/dev/null
            op=Read
        fi
        for pages in ${PAGES:-small huge}; do
            if [ "$pages" = huge ] && [ "$most" = small ]; then
                echo "$op, $kib KiB, huge pages: skipped: fio needs 64 of them set aside (vm.nr_hugepages)"
                continue
            fi
            compare "$op, $kib KiB, $pages pages" "MiB/s, CPU s/GiB, in flight" kvreplay_runs fio_runs
            end_case
        done
        [ -z "${PAGES-}" ] || continue
        compare "$op, $kib KiB, huge pages" "MiB/s, CPU s/GiB, in flight" in_huge in_small "small pages"
        end_case
    done
    rm -rf "$TMP/f" "$TMP/k"
done
