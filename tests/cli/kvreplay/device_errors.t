#!/bin/sh
# device_errors.t - errors of a target keep their names, whichever engine meets them: a medium error that Linux calls
# ENODATA, a file system's EBADMSG, writes that are only told when the file is closed. A bit that changes anywhere on
# the way is found by default. A bug looked like a device whose
# errors were the trace's fault (EINVAL), a corrupt block that nobody had read, and io_uring that saw no error at all
# where threads saw all of them. Skipped without root and FUSE.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
mkdir "$TMP/m"
unmount() { umount -l "$TMP/m" 2>/dev/null; wait "$server" 2>/dev/null; }
# mounted FAULT: serves the file system until unmount.
mounted() {
    python3 "$TOP/tests/cli/kvreplay/faultfs.py" "$TMP/m" "$1" &
    server=$!
    until grep -q " $TMP/m fuse" /proc/self/mounts; do
        kill -s 0 $server 2>/dev/null || return 1
        sleep 0.02
    done
}
[ "$(id -u)" = 0 ] || skip_all "not root"
mounted none || skip_all "FUSE cannot be used here"
trap 'unmount || true; tap_exit' EXIT

awk -v h=$header 'BEGIN { print h
    for (i = 0; i < 20; i++) printf "0,Write,65536,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < 20; i++) printf "0,Read,65536,Tier-2,k%d,Decode\n", i }' >"$TMP/t.csv"
statuses() { awk -F, 'NR > 1 { n[$2 " " $NF]++ } END { for (s in n) print s, n[s] }' "$TMP/o.csv" | sort | tr '\n' ' '; }
replayed() {
    "$BIN/kvreplay" --nvme "$TMP/m/d" --config ioengine="$engine" --progress none --no-notes -o "$TMP/o.csv" "$@" \
        "$TMP/t.csv"
}

engines='uring psync'
for engine in $engines; do exits "$engine: nothing fails" 0 replayed; done
unmount
mounted flush
for engine in $engines; do
    exits "$engine: errors of close" 1 replayed --on-absent skip
    is "$engine: each write has failed" "$(statuses)" "Read absent 20 Write EIO 20 "
    stderr_like "$engine: the device is blamed" 'EIO: the device or its file system failed'
done
unmount
for name in ENODATA EBADMSG EIO; do
    mounted read:$name
    for engine in $engines; do
        exits "$engine: reads that end with $name" 1 replayed
        is "$engine: they keep their name" "$(statuses)" "Read $name 20 Write ok 20 "
        stderr_like "$engine: the device is blamed" "key k[0-9]+, 65536 bytes\): $name: the device or its file system failed"
        stderr_unlike "$engine: no block is invented" 'block 0'
    done
    unmount
done
mounted flip
for engine in $engines; do
    exits "$engine: each write with one bit changed" 1 replayed
    is "$engine: no read is ok" "$(statuses)" "Read corrupt 20 Write ok 20 "
done
done_testing
