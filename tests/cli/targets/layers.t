#!/bin/sh
# layers.t - what lies below a target is followed to the last devices, whose counters count: a loop device without direct I/O
# is a page cache, with it a way to the disk; btrfs and an overlay have the device of what they lie on; memory below a file
# system is memory. A bug looked like a disk that read 0 of 32 MB, and "good", and a btrfs without counters. It prints a table
# of what was found. Device mapper, RAID, bcachefs and ZFS are in test_target_layers.c, by recorded trees of /sys.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts

summary=$TMP/s.json
loops=
leave() {
    left=$?
    umount "$TMP/over" 2>/dev/null
    for l in $loops; do # the newest first: it may lie in an older one
        umount "$TMP/${l#*:}" 2>/dev/null
        losetup -d "${l%%:*}"
    done
    umount "$TMP/memory" 2>/dev/null
    (exit $left)
    tap_exit
}
trap leave EXIT
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 32; i++) printf "0,Write,1048576,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < 64; i++) printf "0.1,Read,1048576,Tier-2,k%d,Prefill\n", i % 32
}' >"$TMP/t.csv"

# seen NAME TARGET: a replay there. Sets found to what is said: of the target, its layers, whether the device's counters have
# what was read, the device with a cache below, whether the run is valid, and what the figures of storage are doubted for (a
# cache, memory; what other programs do on the same disk is no matter here). It becomes a row of the table.
seen() {
    "$BIN/kvreplay" --inflight 4 --destroy-data --target "$2" --summary "$summary" -o /dev/null "$TMP/t.csv" 2>"$TMP/err" || cat "$TMP/err"
    found=$(jq -r '[.evidence.target, .evidence.layers, (.kernel.device_read_bytes | . != null and . > 60000000),
        (.evidence.cache_below // "-"), .valid, ([.validity[] | select(.figures == "storage") | .why // ""] | join("; ") |
            if test("page cache") then "cache" elif test("is memory") then "memory" else "-" end)] | join("|")' "$summary")
    printf '%s|%s\n' "$1" "$found" >>"$TMP/table"
}
# place NAME TARGET MEDIUM LAYERS COUNTED CACHE DOUBT: one that is as said. COUNTED is any where the disk need not be read:
# others read there, too.
place() {
    seen "$1" "$2"
    IFS='|' read -r medium layers counted cache _ doubt <<END
$found
END
    [ "$5" = any ] || is "$1: device counters" "$counted" "$5"
    is "$1" "$medium|$layers|$cache|$doubt" "$3|$4|$6|$7"
}
# image NAME FILE_SYSTEM MIB DIO FOLDER: one of that size in FOLDER, on a loop device, $device, mounted on $TMP/NAME unless the
# file system is none. Fails where the machine has no such thing.
image() {
    mkdir -p "$TMP/$1" && truncate -s "$3M" "$5/$1.img" || return 1
    case $2 in
    ext4) mkfs.ext4 -q -F "$5/$1.img" ;;
    xfs) mkfs.xfs -q -f "$5/$1.img" ;;
    btrfs) mkfs.btrfs -q -f "$5/$1.img" ;;
    esac >/dev/null 2>&1 || return 1
    device=$(losetup --find --show --direct-io="$4" "$5/$1.img" 2>/dev/null) || return 1
    loops="$device:$1 $loops"
    [ "$4" = off ] || [ "$(cat "/sys/block/${device#/dev/}/loop/dio")" = 1 ] || return 1
    [ "$2" = none ] || mount "$device" "$TMP/$1" 2>/dev/null
}
without() { ok "$1 # SKIP this machine has none" true; }

mkdir "$TMP/here" "$TMP/memory" "$TMP/over" "$TMP/lower" "$TMP/upper" "$TMP/work"
seen 'a folder here' "$TMP/here/kv"
case $found in
storage\|*\|true\|-\|*) ;;
*) skip_all 'the scratch folder is on no device that counts' ;;
esac
below=$(json "$summary" .evidence.layers)

mount -t tmpfs none "$TMP/memory"
place tmpfs "$TMP/memory/kv" memory tmpfs false - memory
if mount -t overlay overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/upper,workdir=$TMP/work" "$TMP/over" 2>/dev/null; then
    place 'overlay on a disk' "$TMP/over/kv" storage "overlay on $below" true - -
    umount "$TMP/over"
    mkdir "$TMP/memory/upper" "$TMP/memory/work"
    mount -t overlay overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/memory/upper,workdir=$TMP/memory/work" "$TMP/over"
    place 'overlay on tmpfs' "$TMP/over/kv" memory 'overlay on tmpfs' false - memory
    umount "$TMP/over"
else
    without overlay
fi

# A loop device without direct I/O caches; with it, it is a way to the disk.
if image cached ext4 300 off "$TMP"; then
    cached=${device#/dev/}
    place 'loop, no dio: ext4' "$TMP/cached/kv" storage "ext4 on $cached (no direct I/O) on $below" any "$cached" cache
    is 'which makes the run invalid' "$(json "$summary" .valid)" false
    umount "$TMP/cached"
else
    without 'a loop device'
fi
for kind in ext4 xfs btrfs; do
    if image "$kind" "$kind" 400 on "$TMP"; then
        place "loop, dio: $kind" "$TMP/$kind/kv" storage "$kind on ${device#/dev/} on $below" true - -
        umount "$TMP/$kind"
    else
        without "$kind on a loop device with direct I/O"
    fi
done
# A layer that compresses is told, by an attribute of the folder and by an option of the mount.
if image packed btrfs 400 on "$TMP" && mkdir "$TMP/packed/folder" && chattr +c "$TMP/packed/folder" 2>/dev/null; then
    place 'btrfs, chattr +c' "$TMP/packed/folder" storage "compressed folder on btrfs on ${device#/dev/} on $below" any - -
    is 'reduces' "$(json "$summary" .evidence.reduces)" true
    place 'btrfs, another folder' "$TMP/packed/kv" storage "btrfs on ${device#/dev/} on $below" true - -
    is 'does not' "$(json "$summary" .evidence.reduces)" false
    mount -o remount,compress=zstd "$TMP/packed"
    place 'btrfs, compress' "$TMP/packed/kv" storage "btrfs (compresses) on ${device#/dev/} on $below" any - -
    is 'does' "$(json "$summary" .evidence.reduces)" true
    mkdir "$TMP/packed/nocow" && chattr +C "$TMP/packed/nocow"
    place 'btrfs, compress, chattr +C' "$TMP/packed/nocow/kv" storage "btrfs on ${device#/dev/} on $below" any - -
    is 'does not' "$(json "$summary" .evidence.reduces)" false
    umount "$TMP/packed"
else
    without 'btrfs that compresses'
fi
if image raw none 200 on "$TMP"; then
    place 'loop, dio: raw' "$device" storage "${device#/dev/} on $below" true - -
else
    without 'a loop device with direct I/O'
fi
if image outer ext4 600 on "$TMP"; then
    outer="ext4 on ${device#/dev/} on $below"
    if image nested ext4 300 on "$TMP/outer"; then
        place 'loop in loop, dio in both' "$TMP/nested/kv" storage "ext4 on ${device#/dev/} on $outer" true - -
        umount "$TMP/nested"
    else
        without 'a loop device in a loop device'
    fi
    if image inner ext4 250 off "$TMP/outer"; then
        inner=${device#/dev/}
        place 'loop, no dio, in loop' "$TMP/inner/kv" storage "ext4 on $inner (no direct I/O) on $outer" any "$inner" cache
        umount "$TMP/inner"
    else
        without 'a loop device in one with direct I/O'
    fi
else
    without 'a loop device for others'
fi

{
    echo 'target|is|layers|device counters|cache below|valid|doubted for'
    cat "$TMP/table"
} | while IFS='|' read -r name medium layers counted cache valid doubt; do
    diag "$(printf '%-26s %-8s %-66s %-16s %-12s %-6s %s' "$name" "$medium" "$layers" "$counted" "$cache" "$valid" "$doubt")"
done
done_testing
