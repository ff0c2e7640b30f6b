#!/bin/sh
# io-segments.sh [FOLDER] - how the kernel cuts I/O by the pages that its buffers lie in: objects of 8 MiB are stored and
# loaded with like=lmcache-fs-direct, from the engine's pages, small and huge ones, and by engine_truth.c. Prints for each
# the mean run of adjacent pages, the requests to the device for an object (block_getrq), their mean size, and how many
# segments such a request has when its runs are of that length. Needs root and tracefs, or says so. FOLDER (default: the
# scratch folder) must be on a drive. KVTRACE_OBJECTS: how many (default 40).
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
TMP=$(mktemp -d)
objects=${KVTRACE_OBJECTS:-40}
mounted='' instance='' target=''
clean() {
    [ -z "$instance" ] || rmdir "$instance"
    [ -z "$mounted" ] || umount "$TMP/tracefs"
    rm -rf "$TMP" "${target:-$TMP}"
}
trap clean EXIT
target=$(mktemp -d "${1:-$TMP}/kvtrace-io-segments.XXXXXX")
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
[ -d "$tracefs/events/block/block_getrq" ] || skip 'the kernel has no tracepoints of block devices'
"${CC:-cc}" -O2 -D_GNU_SOURCE -pthread -o "$TMP/engine_truth" "$TOP/tests/bench/engines/engine_truth.c"
mkdir "$tracefs/instances/kvtrace-$$"
instance=$tracefs/instances/kvtrace-$$
echo 0 >"$instance/tracing_on" # until only this program is traced
echo 8192 >"$instance/buffer_size_kb"
for event in getrq bio_backmerge bio_frontmerge; do echo 1 >"$instance/events/block/block_$event/enable"; done
echo 1 >"$instance/options/event-fork" # the threads too

awk -v n="$objects" 'BEGIN { for (i = 0; i < n; i++) print i / 50, 8388608 }' >"$TMP/schedule"
trace() {
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    awk -v op="$1" -v phase="$2" '{ printf "%s,%s,%d,Tier-2,k%d,%s\n", $1, op, $2, NR, phase }' "$TMP/schedule"
}
trace Write Prefill >"$TMP/store.csv"
trace Read Decode >"$TMP/load.csv"
# traced COMMAND...: leaves the kernel's events in $TMP/trace.
traced() {
    : >"$instance/trace"
    sh -c 'echo $$ >"$1/set_event_pid" && echo 1 >"$1/tracing_on" && shift && exec "$@"' sh "$instance" "$@"
    echo 0 >"$instance/tracing_on"
    cp "$instance/trace" "$TMP/trace"
}
# row NAME STEP RUN: requests without those of the file system for itself.
row() {
    awk -v name="$1" -v step="$2" -v run="${3:-0}" -v objects="$objects" -v kind="$([ "$2" = store ] && echo W || echo R)" '
        match($0, /block_(getrq|bio_backmerge|bio_frontmerge): [0-9]+,[0-9]+ [A-Z]+ [0-9]+ [+] [0-9]+/) {
            split(substr($0, RSTART, RLENGTH), word, " ")
            if (index(word[3], kind) != 1 || index(word[3], "M"))
                next
            requests += word[1] ~ /getrq/
            sectors += word[6]
        }
        END {
            kib = requests ? sectors / 2 / requests : 0
            mean = (run > 0) ? sprintf("%.1f", run) : "-"
            segments = (run > 0) ? sprintf("%.0f", kib / 4 / run) : "-"
            printf "%-8s %-6s %9s %17.1f %14.0f %9s\n", name, step, mean, requests / objects, kib, segments
        }' "$TMP/trace"
}
printf '%-8s %-6s %9s %17s %14s %9s\n' pages step 'a run' 'requests/object' 'KiB/request' segments
for pages in engine small huge; do
    for step in store load; do
        traced "$BIN/kvreplay" --progress none --no-notes --timing trace --config lag_limit=10m --keep -o "$TMP/o.csv" --verify none \
            --summary "$TMP/s.json" --target "file:$target/d?like=lmcache-fs-direct&pages=$pages" "$TMP/$step.csv" 2>"$TMP/err" ||
            { cat "$TMP/err"; exit 1; }
        row $pages $step "$(jq -r '.evidence.pages_run // 0' "$TMP/s.json")"
    done
    rm -rf "$target/d"
done
mkdir "$target/d"
for step in store load; do
    traced "$TMP/engine_truth" $step 1 6 "$target/d" <"$TMP/schedule" >"$TMP/o" 2>"$TMP/err"
    row truth $step "$(sed -n 's/^pool: runs of \([0-9.]*\).*/\1/p' "$TMP/err")"
done
