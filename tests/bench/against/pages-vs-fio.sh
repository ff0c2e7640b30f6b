#!/bin/sh
# pages-vs-fio.sh [DIR] [PAIRS] - kvreplay against fio with the same pages on both sides: writes of new files and reads of
# files, of 64 MiB, 1 MiB and 256 KiB, O_DIRECT, io_uring, 16 I/Os of at most 1 MiB in flight, buffers in ordinary pages
# (pages=small; iomem=mmap) and in huge ones (pages=huge; iomem=mmaphuge, skipped where the host has set none aside). New files
# of one I/O are opened when they are written, and nothing is allocated before; larger ones fio allocates before its
# clock starts. ABBA pairs (fio, kvreplay, kvreplay, fio). Prints the best and the mean rate of both, CPU seconds per GiB,
# the geometric mean of kvreplay / fio, and what huge pages give kvreplay; judges nothing. Skipped without fio.
# MIB: of each run (default 256); SIZES: KiB. ext4 searches all inodes that were deleted in the last minutes before it
# makes a file: a file system of its own shows the programs, and not what others deleted.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "pages-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-2}
MIB=${MIB:-256}
TMP=$(mktemp -d "$DIR/pages-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# trace OP PHASE
trace() {
    awk -v op="$1" -v phase="$2" -v n=$files -v bytes=$((kib * 1024)) 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "0,%s,%d,Tier-2,k%d,%s\n", op, bytes, i, phase }'
}
# replay OP PAGES ARGUMENTS..., plain OP PAGES: "MiB/s CPU_S_PER_GIB". They use $kib and $files.
replay() {
    row=$1 kind=$2
    shift 2
    "$BIN/kvreplay" --target "file:$TMP/k?pages=$kind" --iodepth 16 --inflight $((kib > 1024 ? 4 : 16)) --ioengine uring \
        --progress none -o /dev/null --summary "$TMP/s.json" "$@" "$TMP/$row.csv" 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
    jq -r --argjson mib "$MIB" '"\($mib / .elapsed_s) \(.cpu_s_per_gib)"' "$TMP/s.json"
}
plain() {
    verb=$(echo "$1" | tr RW rw) memory=mmap
    [ "$2" = small ] || memory=mmaphuge
    set -- --create_on_open=1 --fallocate=none
    [ "$kib" -le 1024 ] || set -- --fallocate=native
    [ "$verb" = write ] || set -- --readonly
    fio --name=f --directory="$TMP/f" --rw="$verb" --bs="$((kib > 1024 ? 1024 : kib))k" --filesize="${kib}k" --nrfiles="$files" \
        --openfiles=16 --file_service_type=sequential "$@" --iodepth=16 --direct=1 --ioengine=io_uring --registerfiles=0 \
        --refill_buffers=1 --iomem=$memory --output-format=json 2>/dev/null | sed -n '/^{/,$p' |
        jq -r --arg op "$verb" '.jobs[0] | .[$op] as $o | ($o.runtime / 1000) as $s |
            "\($o.io_kbytes / 1024 / $s) \((.usr_cpu + .sys_cpu) / 100 * $s / ($o.io_kbytes / 1048576))"'
}
# once SIDE OP PAGES: a run with what must be there before and must go after it.
once() {
    case $1.$2 in
    fio.Write)
        mkdir "$TMP/f"
        plain Write "$3"
        rm -rf "$TMP/f"
        ;;
    fio.Read) plain Read "$3" ;;
    kvreplay.Write) replay Write "$3" ;;
    kvreplay.Read) replay Read "$3" --keep ;;
    esac
}
kinds='small huge'
free=$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)
printf '%-22s %18s %18s %14s %16s\n' '' 'kvreplay MiB/s' 'fio MiB/s' 'kvreplay/fio' 'CPU s/GiB'
for kib in ${SIZES:-65536 1024 256}; do
    files=$((MIB * 1024 / kib))
    trace Write Prefill >"$TMP/Write.csv"
    trace Read Decode >"$TMP/Read.csv"
    for op in Write Read; do
        if [ "$op" = Read ]; then
            replay Write huge --keep >/dev/null
            mkdir "$TMP/f"
            plain Write small >/dev/null
        fi
        for pages in $kinds; do
            if [ "$pages" = huge ] && [ "${free:-0}" -lt 64 ]; then
                printf '%-22s skipped: fio needs 64 huge pages, and this host has set aside %s (vm.nr_hugepages)\n' \
                    "$op, $kib KiB, huge" "${free:-0}"
                continue
            fi
            i=0
            while [ $i -lt "$PAIRS" ]; do
                echo "$(once fio "$op" "$pages") $(once kvreplay "$op" "$pages") $(once kvreplay "$op" "$pages") $(once fio "$op" "$pages")"
                i=$((i + 1))
            done | awk -v what="$op, $kib KiB, $pages" '
                function max(a, b) { return a > b ? a : b }
                { n++; rate += log($3 / $1) + log($5 / $7); f += ($1 + $7) / 2; k += ($3 + $5) / 2; fc += ($2 + $8) / 2
                    kc += ($4 + $6) / 2; fb = max(fb, max($1, $7)); kb = max(kb, max($3, $5)) }
                END { printf "%-22s %8.0f %9.0f %8.0f %9.0f %14.2f %8.2f %7.2f\n", what, kb, k / n, fb, f / n, exp(rate / 2 / n),
                    kc / n, fc / n }'
        done
        i=0
        while [ $i -lt "$PAIRS" ]; do # what huge pages give, where fio can have none too
            echo "$(once kvreplay "$op" small) $(once kvreplay "$op" huge) $(once kvreplay "$op" huge) $(once kvreplay "$op" small)"
            i=$((i + 1))
        done | awk -v what="$op, $kib KiB" '{ n++; rate += log($3 / $1) + log($5 / $7) }
            END { printf "%-22s kvreplay, huge by small pages: %.2f\n", what, exp(rate / 2 / n) }'
        if [ "$op" = Read ]; then
            rm -rf "$TMP/f"
            "$BIN/kvreplay" --target "$TMP/k" --destroy-data --progress none -o /dev/null "$TMP/Read.csv" 2>/dev/null
        fi
    done
done
