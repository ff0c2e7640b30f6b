#!/bin/sh
# new-files-vs-fio.sh [DIR] [PAIRS] - new small files: kvreplay's objects of 64 KiB, 256 KiB and 1 MiB, each a new file, against
# fio's new files of that size (opened when they are written, nothing allocated before), O_DIRECT, io_uring, 16 in flight,
# both with buffers in ordinary pages (pages=small; iomem=mmap) and in huge ones (mmaphuge where the host has them set
# aside, else transparent ones are left out). ABBA pairs. Prints files a second and CPU seconds per GiB of both, and the
# geometric mean of the ratios; judges nothing. Skipped without fio. MIB: of each run (default 512). SIZES: KiB.
set -eu
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v fio >/dev/null 2>&1 || { echo "new-files-vs-fio: skipped, fio is not installed"; exit 0; }
DIR=${1:-${TMPDIR:-/tmp}}
PAIRS=${2:-3}
MIB=${MIB:-512}
TMP=$(mktemp -d "$DIR/new-files-vs-fio.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM

# Both: "FILES_PER_S CPU_S_PER_GIB".
replay() { # KIB FILES PAGES
    "$BIN/kvreplay" --target "file:$TMP/k?pages=$3" --inflight 16 --iodepth 16 --ioengine uring --progress none \
        -o /dev/null --summary "$TMP/s.json" "$TMP/$1.csv" 2>"$TMP/err" || { cat "$TMP/err" >&2; exit 1; }
    jq -r '"\(.rows.ok / .elapsed_s) \(.cpu_s_per_gib)"' "$TMP/s.json"
}
plain() {
    memory=mmap
    [ "$3" = small ] || memory=mmaphuge
    mkdir "$TMP/f"
    fio --name=f --directory="$TMP/f" --rw=write --bs="$1k" --filesize="$1k" --nrfiles="$2" --openfiles=16 \
        --file_service_type=sequential --create_on_open=1 --fallocate=none --iodepth=16 --direct=1 --ioengine=io_uring \
        --refill_buffers=1 --iomem=$memory --output-format=json 2>/dev/null | sed -n '/^{/,$p' |
        jq -r --argjson files "$2" '.jobs[0] | (.write.runtime / 1000) as $s |
            "\($files / $s) \((.usr_cpu + .sys_cpu) / 100 * $s / (.write.io_kbytes / 1048576))"'
    rm -rf "$TMP/f"
}
kinds=small
[ "$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)" -lt 64 ] || kinds='small huge'
for kib in ${SIZES:-64 256 1024}; do
    files=$((MIB * 1024 / kib))
    awk -v n=$files -v bytes=$((kib * 1024)) 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "0,Write,%d,Tier-2,k%d,Prefill\n", bytes, i }' >"$TMP/$kib.csv"
    for pages in $kinds; do
        i=0
        while [ $i -lt "$PAIRS" ]; do
            echo "$(plain $kib $files $pages) $(replay $kib $files $pages) $(replay $kib $files $pages) $(plain $kib $files $pages)"
            i=$((i + 1))
        done | awk -v kib=$kib -v pages=$pages '{
            n++; rate += log($3 / $1) + log($5 / $7); cpu += log($4 / $2) + log($6 / $8); f += ($1 + $7) / 2
            k += ($3 + $5) / 2; fc += ($2 + $8) / 2; kc += ($4 + $6) / 2
        } END { printf "%5d KiB, %s pages: kvreplay %.0f files/s, %.2f CPU s/GiB; fio %.0f, %.2f; kvreplay/fio %.2f, CPU %.2f\n",
            kib, pages, k / n, kc / n, f / n, fc / n, exp(rate / 2 / n), exp(cpu / 2 / n) }'
    done
done
