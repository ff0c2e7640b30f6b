#!/bin/sh
# soak.sh [MINUTES] [DIR] - a long replay (default: 30 minutes) on a target of 16 GiB in DIR: objects of 64 KiB to 8 MiB are
# written, read whole and in part, rewritten, moved to memory and back, and deleted, 256 at a time, every byte that is read
# verified. Prints how the rows ended, and the replay's memory over time (RSS, from /proc) with its slope over the second
# half, when the target is full. Wanted: 0 lost, 0 corrupt, 0 failed, a slope of about 0. What still grows are histograms:
# each takes 8 KiB for a power of two when the first time falls into it, ever more rarely. Judges nothing.
# KVTRACE_SOAK_GIB: the target's size (default 16).
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
minutes=${1:-30} gib=${KVTRACE_SOAK_GIB:-16}
TMP=$(mktemp -d "${2:-/var/tmp}/soak.XXXXXX")
pid=
trap '[ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid"; } || :; rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM

# Rows without end. Of the capacities a sixteenth stays free, for rows of different keys run at the same time.
rows() {
    awk -v gib="$gib" 'BEGIN {
        srand(27)
        most[1] = 2 ^ 30 * 15 / 16; most[2] = gib * most[1]; keys = gib * 900
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (;; n++) {
            key = int(rand() * keys); at = where[key]; what = rand(); bytes = int(65536 * 2 ^ (rand() * 7))
            if (!at) { if (used[2] + bytes <= most[2]) put(2, bytes, "Prefill") }
            else if (what < 0.5) row("Read", what < 0.1 ? 1 + int(rand() * size[key]) : size[key], at, "Decode")
            else if (what < 0.65) move(3 - at)
            else if (what < 0.9) { if (used[at] - size[key] + bytes <= most[at]) put(at, bytes, "Prefill") }
            else if (what < 0.95) { row("Read", size[key], at, "Evict"); drop() }
            else { row("Delete", 0, at, "Evict"); drop() }
        }
    }
    function row(op, bytes, tier, phase) { printf "%.6f,%s,%d,Tier-%d,k%d,%s\n", n / 1e6, op, bytes, tier, key, phase }
    function drop() { used[where[key]] -= size[key]; delete where[key]; delete size[key] }
    function put(tier, bytes, phase) {
        row("Write", bytes, tier, phase)
        if (key in size) drop()
        where[key] = tier; size[key] = bytes; used[tier] += bytes
    }
    function move(to,  bytes) {
        bytes = size[key]
        if (used[to] + bytes > most[to]) return
        row("Read", bytes, at, "Evict")
        drop()
        put(to, bytes, "Evict")
    }'
}

rows | "$BIN/kvreplay" --target "$TMP/target" --storage-capacity "$gib" --gpu off --cpu-mem 1 --inflight 256 --verify full \
    --duration "${minutes}m" --progress none --no-notes --summary "$TMP/s.json" - >/dev/null 2>"$TMP/stderr" &
pid=$!
began=$(date +%s)
# The shell waits for a program that has ended: until then it is a zombie, which has no VmRSS.
while rss=$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status" 2>/dev/null) && [ -n "$rss" ]; do
    echo "$(($(date +%s) - began)) $rss" >>"$TMP/rss"
    sleep 1
done
status=0
wait "$pid" || status=$?
pid=
tail -n 8 "$TMP/stderr"
[ -s "$TMP/s.json" ] || exit "$status"

jq -r '"rows: \(.rows.total) in \(.elapsed_s | round) s; ok \(.rows.ok), failed \(.rows.failed), lost \(.rows.lost), " +
    "corrupt \(.rows.corrupt), absent \(.rows.absent), unverified reads \(.rows.unverified_reads)",
    (.tiers[] | select(.read.ops + .write.ops > 0) | "\(.tier): read \(.read.bytes / 1073741824 * 10 | round / 10) GiB, wrote " +
    "\(.write.bytes / 1073741824 * 10 | round / 10) GiB, held at most \(.peak_bytes / 1073741824 * 10 | round / 10) GiB")' "$TMP/s.json"
# Without the time in which the objects are removed.
awk -v most="$minutes" '$1 < 60 * most { t[++n] = $1; kib[n] = $2 }
    END {
        printf "memory, MiB:"
        for (i = 0; i <= 10; i++) { k = 1 + int(i * (n - 1) / 10); printf " %.0f (%d s)", kib[k] / 1024, t[k] }
        for (i = int(n / 2) + 1; i <= n; i++) { m++; x += t[i]; y += kib[i]; xx += t[i] * t[i]; xy += t[i] * kib[i] }
        slope = m * xx > x * x ? (m * xy - x * y) / (m * xx - x * x) : 0
        printf "\nsecond half: %.1f MiB on average, slope %+.1f KiB/s\n", y / m / 1024, slope
    }' "$TMP/rss"
echo "exit status $status"
