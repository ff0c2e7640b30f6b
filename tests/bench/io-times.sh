#!/bin/sh
# io-times.sh [FOLDER] - the I/O part of Device_us against the kernel's own times: objects of one I/O, each timed by the
# tracepoints of io_uring (given to the kernel, completed) and by kvreplay. Prints the percentiles of both and by how
# much they differ: within 3 % at P50 and 5 % beyond, or BEYOND that. Needs root, tracefs and io_uring, or says so. FOLDER
# (default: the scratch folder) must be on a drive. On a busy machine completions are seen late, and P99 may show it.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
TMP=$(mktemp -d)
where=${1:-$TMP}
mounted='' instance='' target=''
clean() {
    [ -z "$instance" ] || rmdir "$instance"
    [ -z "$mounted" ] || umount "$TMP/tracefs"
    rm -rf "$TMP" "${target:-$TMP}"
}
trap clean EXIT
target=$(mktemp -d "$where/kvtrace-io-times.XXXXXX")
skip() {
    echo "skipped: $1"
    exit 0
}

[ "$(id -u)" -eq 0 ] || skip 'tracing needs root'
tracefs=/sys/kernel/tracing
if [ ! -d $tracefs/events ]; then
    tracefs=$TMP/tracefs
    mkdir "$tracefs"
    mount -t tracefs none "$tracefs" 2>/dev/null || skip 'tracefs cannot be mounted'
    mounted=yes
fi
[ -d "$tracefs/events/io_uring/io_uring_submit_req" ] || skip 'the kernel has no tracepoints of io_uring'

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 6000; i++) printf "0,Read,262144,Tier-2,k%d,Decode\n", i * 7919 % 1000
}' >"$TMP/t.csv"
mkdir "$tracefs/instances/kvtrace-$$"
instance=$tracefs/instances/kvtrace-$$
echo 65536 >"$instance/buffer_size_kb"
echo mono >"$instance/trace_clock"
echo 0 >"$instance/tracing_on" # until only this replay is traced
for event in io_uring_submit_req io_uring_complete; do echo 1 >"$instance/events/io_uring/$event/enable"; done
echo 1 >"$instance/options/event-fork" # the threads too
sh -c 'echo $$ >"$1/set_event_pid" && echo 1 >"$1/tracing_on" && shift && exec "$@"' sh "$instance" "$BIN/kvreplay" \
    --nvme "$target" --layout slab --inflight 4 --verify none --no-notes -o "$TMP/r.csv" \
    --summary "$TMP/s.json" "$TMP/t.csv" 2>"$TMP/err"
echo 0 >"$instance/tracing_on"
[ "$(jq -r '.tiers[0].engine' "$TMP/s.json")" = io_uring ] || skip 'io_uring is refused here'
cp "$instance/trace" "$TMP/trace"

# "... 12.345678: io_uring_submit_req: ... user_data 0x1, opcode READ_FIXED, ..." Populating writes; the run reads.
awk '
    function data() { match($0, /user_data 0x[0-9a-f]+/); return substr($0, RSTART, RLENGTH) }
    function seconds() { match($0, /[0-9]+\.[0-9]+: io_uring/); return substr($0, RSTART, RLENGTH) + 0 }
    /io_uring_submit_req:.*opcode READ/ { begun[data()] = seconds() }
    /io_uring_complete:/ && data() in begun { printf "%.1f\n", (seconds() - begun[data()]) * 1e6; delete begun[data()] }
' "$TMP/trace" | sort -n >"$TMP/kernel"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "Device_us") at = i } NR > 1 { print $at }' "$TMP/r.csv" |
    sort -n >"$TMP/ours"
percentile() { awk -v p="$2" -v n="$(wc -l <"$1")" 'NR >= p * n { print; exit }' "$1"; }
echo "$(wc -l <"$TMP/kernel") reads by the kernel, $(wc -l <"$TMP/ours") by kvreplay"
[ "$(wc -l <"$TMP/kernel")" -eq "$(wc -l <"$TMP/ours")" ] || { echo "not the same I/Os"; exit 1; }
for limit in 0.50:3 0.90:5 0.99:5; do
    kernel=$(percentile "$TMP/kernel" "${limit%:*}")
    ours=$(percentile "$TMP/ours" "${limit%:*}")
    awk -v p="${limit%:*}" -v k="$kernel" -v o="$ours" -v most="${limit#*:}" 'BEGIN {
        by = 100 * (o / k - 1)
        printf "P%d: kernel %.1f us, kvreplay %.1f us, %+.1f %%: %s %d %%\n", p * 100, k, o, by,
            (by > most || by < -most ? "BEYOND" : "within"), most
    }'
done
