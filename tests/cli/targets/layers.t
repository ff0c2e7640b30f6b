#!/bin/sh
# layers.t - what lies below a target is followed to the last devices, whose counters count: a loop device without direct I/O
# is a page cache, with it a way to the disk; btrfs and an overlay have the device of what they lie on; memory below a file
# system is memory. A bug looked like a disk that read 0 of 32 MB, and "good", and a btrfs without counters.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
needs_mounts

summary=$TMP/s.json
loops=
leave() {
    left=$?
    umount "$TMP/outer" "$TMP/inner" "$TMP/btrfs" "$TMP/over" "$TMP/memory" 2>/dev/null
    for l in $loops; do losetup -d "$l"; done
    (exit $left)
    tap_exit
}
trap leave EXIT
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 32; i++) printf "0,Write,2097152,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < 64; i++) printf "0.1,Read,2097152,Tier-2,k%d,Prefill\n", i % 32
}' >"$TMP/t.csv"
replay() { "$BIN/kvreplay" --inflight 4 --target "$1/kv" --summary "$summary" -o /dev/null "$TMP/t.csv" 2>"$TMP/err"; }
figures() { json "$summary" '.evidence.target, .evidence.layers, (.kernel.device_read_bytes | . != null and . > 120000000), (.validity[] |
    select(.figures == "storage") | .state, .why)'; }
# loop NAME MIB DIO: an ext4 in $TMP/NAME.img, mounted on $TMP/NAME.
loop() {
    truncate -s "$2M" "$TMP/$1.img" && mkfs.ext4 -q -F "$TMP/$1.img" && mkdir -p "$TMP/$1" &&
        device=$(losetup --find --show --direct-io="$3" "$TMP/$1.img") && loops="$device $loops" && mount "$device" "$TMP/$1"
}

mkdir "$TMP/here"
replay "$TMP/here"
if [ "$(json "$summary" '.evidence.target, (.kernel.device_read_bytes > 120000000), .evidence.cache_below')" != 'storage true null' ]; then
    skip_all 'the scratch folder is on no device that counts'
fi
below=$(json "$summary" .evidence.layers)

mkdir "$TMP/memory" "$TMP/over" "$TMP/lower" "$TMP/upper" "$TMP/work"
mount -t tmpfs none "$TMP/memory"
if mount -t overlay overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/upper,workdir=$TMP/work" "$TMP/over" 2>/dev/null; then
    replay "$TMP/over"
    is 'overlay on a disk' "$(figures)" "storage overlay on $below true good "
    umount "$TMP/over"
    mkdir "$TMP/memory/upper" "$TMP/memory/work"
    mount -t overlay overlay -o "lowerdir=$TMP/lower,upperdir=$TMP/memory/upper,workdir=$TMP/memory/work" "$TMP/over"
    replay "$TMP/over"
    is 'overlay in memory' "$(json "$summary" '.evidence | .target, .layers')" 'memory overlay on tmpfs'
    umount "$TMP/over"
else
    ok 'overlay # SKIP none can be mounted' true
fi

if losetup --find >/dev/null 2>&1 && loop inner 300 off; then
    replay "$TMP/inner"
    like 'loop device without direct I/O' "$(figures)" \
        "^storage ext4 on ${device#/dev/} \\(no direct I/O\\) on $below false unreliable [0-9]+ % of the bytes read came from the page cache below ${device#/dev/}, "
    is 'which makes the run invalid' "$(json "$summary" '.valid, .evidence.cache_below')" "false ${device#/dev/}"
    umount "$TMP/inner"
    if loop outer 400 on && [ "$(cat "/sys/block/${device#/dev/}/loop/dio")" = 1 ]; then
        outer="ext4 on ${device#/dev/} on $below"
        replay "$TMP/outer"
        is 'loop device with direct I/O' "$(figures)" "storage $outer true good "
        truncate -s 250M "$TMP/outer/x.img"
        if command -v mkfs.btrfs >/dev/null && mkfs.btrfs -q -f "$TMP/outer/x.img" >/dev/null 2>&1 &&
            device=$(losetup --find --show --direct-io=on "$TMP/outer/x.img") && mkdir "$TMP/btrfs" && mount "$device" "$TMP/btrfs"; then
            loops="$device $loops"
            replay "$TMP/btrfs"
            is 'btrfs on a loop device in a loop device' "$(figures)" "storage btrfs on ${device#/dev/} on $outer true good "
            umount "$TMP/btrfs"
        else
            ok 'btrfs # SKIP no mkfs.btrfs, or none can be mounted' true
        fi
    else
        ok 'direct I/O # SKIP a loop device has none here' true
    fi
else
    ok 'loop devices # SKIP there are none' true
fi
done_testing
