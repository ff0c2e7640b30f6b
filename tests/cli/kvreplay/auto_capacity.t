#!/bin/sh
# auto_capacity.t - a trace that kvgen makes for what a directory has (--storage-capacity-gb auto:DIR) is taken by kvreplay
# there, however full the file system is, as files and as a slab. A bug looked like a trace that needed 63.6 GiB of the
# 58.1 that kvreplay found, because each program counted by itself. Skipped without root, loop devices and ext4.
# builds: plain (two programs, of which others test each)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts
mkdir "$TMP/m"
truncate -s 2G "$TMP/image"
mkfs.ext4 -q -m 0 -E nodiscard,lazy_itable_init=0 "$TMP/image" 2>"$TMP/err" || skip_all "no mkfs.ext4 here"
mount -o loop "$TMP/image" "$TMP/m" 2>"$TMP/err" || skip_all "no loop devices here"
trap 'umount -l "$TMP/m" 2>/dev/null || true; tap_exit' EXIT
summary=$TMP/summary.json
kib() { df -k --output="$1" "$TMP/m" | tail -n 1 | tr -d ' '; }

for full in 50 85 97; do
    rm -f "$TMP/m/full"
    fallocate -l $(($(kib avail) * full / 100))K "$TMP/m/full"
    exits "$full % full: a trace for what fits" 0 "$BIN/kvgen" --model tiny-1b --num-users 6 --duration 20 --granularity block:32 \
        --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "auto:$TMP/m/d" --seed 1 \
        -o "$TMP/t.csv.zst"
    for layout in files slab; do
        exits "$full % full: kvreplay takes it, $layout" 0 "$BIN/kvreplay" --nvme "$TMP/m/d" --layout $layout \
            --verify header --progress none -o /dev/null --summary "$summary" --limit 1500 "$TMP/t.csv.zst"
        is "$full % full: every row is done, $layout" "$(json "$summary" '.rows.failed, .rows.absent')" "0 0"
    done
done
exits "a share of its own" 2 "$BIN/kvreplay" --nvme "$TMP/m/d" --reserve 101 "$TMP/t.csv.zst"
exits "which is kept to" 3 "$BIN/kvreplay" --nvme "$TMP/m/d" --reserve 90 -o /dev/null "$TMP/t.csv.zst"
done_testing
