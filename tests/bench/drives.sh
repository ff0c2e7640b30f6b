#!/bin/sh
# drives.sh [BIN [DIR]] - several threads and several targets.
#   memory   a memory engine with 1, 2 and 4 threads: GiB/s of reads, the ratio to as many times that of one thread, and CPU
#            seconds per GiB, which stay the same where only processors are missing.
#            A replay has two threads of its own (scheduler, reader): what needs more processors than there are is marked.
#   shm      the storage engine on 1, 2 and 4 folders of /dev/shm (a thread each), in the same way
#   disk     four folders of DIR against one folder of it: the median of the ratios of 10 interleaved pairs, ABBA, with its
#            95 % interval (2nd and 9th of 10, by the sign test), of bytes a second of the whole run
# Objects of 8 MiB, --verify none. PAIRS and TRIALS may be set (10, 5). Judges nothing.
set -eu
export LC_ALL=C
bin=${1:-build/bin}
dir=${2:-${TMPDIR:-/tmp}}
PAIRS=${PAIRS:-10}
TRIALS=${TRIALS:-5}
tmp=$(mktemp -d "$dir/kvtrace-bench.XXXXXX")
shm=$(mktemp -d /dev/shm/kvtrace-bench.XXXXXX 2>/dev/null || :)
trap 'rm -rf "$tmp" ${shm:+"$shm"}' EXIT

# trace OBJECTS READS
trace() {
    awk -v objects="$1" -v reads="$2" 'BEGIN {
        srand(1)
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < objects; i++) printf "0,Write,8388608,Tier-2,k%d,Prefill\n", i
        for (i = 0; i < reads; i++) printf "0,Read,8388608,Tier-2,k%d,Decode\n", int(rand() * objects)
    }'
}
trace 64 1500 >"$tmp/memory.csv"
trace 64 200 >"$tmp/disk.csv"

replay() { "$bin/kvreplay" --progress none --verify none -o /dev/null --summary "$tmp/s.json" "$@" 2>"$tmp/err" || cat "$tmp/err"; }
reads() { jq -r '"\(.tiers[] | select(.tier == "Tier-2").read.gib_per_s) \(.cpu_s_per_gib)"' "$tmp/s.json"; }
all() { jq '(.tiers[] | select(.tier == "Tier-2") | .read.bytes + .write.bytes) / .elapsed_s / 1073741824' "$tmp/s.json"; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# scale NAME: prints the figures of 1, 2 and 4 threads; run_N runs with N of them.
cpus=$(nproc)
scale() {
    : >"$tmp/one"
    for n in 1 2 4; do
        : >"$tmp/got"
        for _ in $(seq "$TRIALS"); do
            "$1" $n
            reads >>"$tmp/got"
        done
        rate=$(cut -d ' ' -f 1 "$tmp/got" | median)
        [ $n -gt 1 ] || echo "$rate" >"$tmp/one"
        awk -v name="$1" -v n=$n -v rate="$rate" -v one="$(cat "$tmp/one")" -v cpus="$cpus" \
            -v cpu="$(cut -d ' ' -f 2 "$tmp/got" | median)" 'BEGIN {
            few = (n + 2 > cpus) ? "  (needs " n + 2 " processors, here are " cpus ")" : ""
            printf "%-7s %d thread%s  %6.2f GiB/s  %.2f of linear  CPU %.3f s/GiB%s\n", name, n, (n > 1 ? "s" : " "), rate,
                rate / (n * one), cpu, few
        }'
    done
}
memory() { replay --tier-engine "2=mem:threads=$1" "$tmp/memory.csv"; }
in_folders() { # PLACE N TRACE OPTIONS...: N folders there
    place=$1 folders=$2 trace=$3
    shift 3
    for i in $(seq "$folders"); do set -- "$@" --target "$place/t$i"; done
    replay "$@" "$trace"
}
shm() { in_folders "$shm" "$1" "$tmp/memory.csv"; }
disk() { in_folders "$tmp" "$1" "$tmp/disk.csv" --sync end; }

scale memory
[ -z "$shm" ] || scale shm
disk 1
disk 4
pair=0
: >"$tmp/ratios"
while [ $pair -lt "$PAIRS" ]; do
    for n in $([ $((pair % 2)) = 0 ] && echo 1 4 || echo 4 1); do
        disk "$n"
        all >"$tmp/rate.$n"
    done
    awk -v one="$(cat "$tmp/rate.1")" -v four="$(cat "$tmp/rate.4")" 'BEGIN { print four / one, one, four }' >>"$tmp/ratios"
    pair=$((pair + 1))
done
sort -n "$tmp/ratios" | awk '{ v[NR] = $1; one += $2; four += $3 } END {
    low = int(NR * 0.5 - 0.98 * sqrt(NR)); low = low < 1 ? 1 : low
    printf "disk    1 folder %.2f GiB/s, 4 folders %.2f GiB/s: median ratio %.3f [%.3f, %.3f] of %d pairs\n",
        one / NR, four / NR, (NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2), v[low], v[NR + 1 - low], NR
}'
