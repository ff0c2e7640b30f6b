#!/bin/sh
# in_use.t - a file that something else is built on is refused as the device above it is, with --destroy-data too: the
# image of a loop device (mounted, part of a device mapper's, or only attached), by any of its names and where its name is
# gone; active swap space; an image of an image; a slab and a fill that are kept in a folder; and a loop device whose file
# somebody else uses. Not a byte of it changes. Needs root and loop devices; test_target_users has the rest. A bug looked
# like a mounted file system that was written over through its image.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all 'not root'
command -v losetup >/dev/null || skip_all 'no losetup'
cd "$TMP" || exit 1
truncate -s 24M image
first=$(losetup -f --show image 2>/dev/null) || skip_all 'no loop devices here'
others='' held='' rc=0
attach() { # FILE: sets $loop
    loop=$(losetup -f --show "$1" 2>/dev/null) || return 1
    others="$loop $others"
}
# free LOOP: while something looks at the device, the system waits with it. Its number may be another test's from then on.
free() {
    backs=$(cat "/sys/block/${1#/dev/}/loop/backing_file")
    losetup -d "$1"
    while [ "$(cat "/sys/block/${1#/dev/}/loop/backing_file" 2>/dev/null)" = "$backs" ]; do sleep 0.05; done
}
detach() {
    for loop in $others; do free "$loop" 2>/dev/null; done
    others=''
}
release() {
    [ ! -e swap ] || swapoff swap 2>/dev/null
    [ -z "$held" ] || dmsetup remove "$held" 2>/dev/null
    detach
    umount mount 2>/dev/null
    [ -z "$first" ] || free "$first" 2>/dev/null
}
trap 'rc=$?; release; (exit $rc); tap_exit' EXIT
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,k,Prefill\n' >t.csv

# refused NAME TARGET ERE [FILE]: by both programs, with the reason, and FILE (TARGET) stays as it is.
refused() {
    sync "${4-$2}"
    before=$(cksum <"${4-$2}")
    exits "$1: kvreplay" 3 "$BIN/kvreplay" --progress none -o r.csv --target "$2" --destroy-data t.csv
    stderr_like 'with the reason' "^kvreplay: .*: refused: .*$3"
    exits "$1: kvprecond" 3 "$BIN/kvprecond" --progress none --size 1M --destroy-data "$2"
    stderr_like 'with the reason' "^kvprecond: .*: refused: .*$3"
    sync "${4-$2}"
    is 'and it stays as it is' "$(cksum <"${4-$2}")" "$before"
}

mkdir mount
refused 'the image of a loop device' image "it is the image of $first"
if mkfs.ext4 -q "$first" 2>/dev/null && mount "$first" mount 2>/dev/null; then
    ln image name
    refused 'a mounted image, by another name' name "it is the image of $first \\(mounted on $TMP/mount\\)"
    rm image
    refused 'and where its first name is gone' name "it is the image of $first \\(mounted on $TMP/mount\\)"
    if attach name; then
        refused 'another device on it' "$loop" "writes to $TMP/name, which is the image of $first" name
        detach
    fi
    truncate -s 1M mount/inner
    if attach mount/inner; then
        refused 'an image in an image' mount/inner "it is the image of $loop"
        detach
    fi
    chmod 755 "$TMP"
    mkdir their && ln name their/name && chown -R 65534 their
    if setpriv --reuid 65534 --clear-groups test -x "$BIN/kvreplay" 2>/dev/null; then
        exits 'somebody who may not ask the device' 3 setpriv --reuid 65534 --regid 65534 --clear-groups "$BIN/kvreplay" \
            --progress none -o none --target their/name --destroy-data t.csv
        stderr_like 'hears that it is in use' 'refused: it is (the image of|open elsewhere)'
    fi
    rm -r their
    chown 0 name
    umount mount
    mv name image
else
    diag 'nothing can be mounted here'
fi

if attach "$first"; then
    refused 'a loop device that another is attached to' "$first" "it is the image of $loop"
    exits 'but not the upper one' 0 "$BIN/kvprecond" --progress none --size 1M --destroy-data "$loop"
    detach
fi
held=kvtrace-test-$$
if dmsetup create "$held" --table "0 2048 linear $first 0" 2>/dev/null; then
    refused 'the image below a device mapper' image "it is the image of $first \\(held by dm-"
    attach image && refused 'a device mapper on an image of two devices' "/dev/mapper/$held" "the image of $loop"
    detach
    dmsetup remove "$held"
else
    diag 'no device mapper here'
fi
held=
free "$first"
first=
exits 'free again' 0 "$BIN/kvprecond" --progress none --size 1M --destroy-data image

fallocate -l 2M swap && chmod 600 swap
if mkswap swap >/dev/null 2>&1 && swapon swap 2>/dev/null; then
    refused 'swap space' swap 'it is swap space in use'
    swapoff swap
else
    diag 'no swap space here'
fi

for layout in slab files; do
    ok "objects are kept, $layout" "$BIN/kvreplay" --progress none -o r.csv --target kept --layout $layout --keep t.csv
    object=$(find kept -name '*.kv')
    if attach "$object"; then
        refused "a kept store, $layout" kept "its .*\\.kv is the image of $loop" "$object"
        exits 'that is to be used again' 3 "$BIN/kvreplay" --progress none -o r.csv --target kept --layout $layout --keep \
            t.csv
        detach
    fi
    exits 'free again' 0 "$BIN/kvreplay" --progress none -o r.csv --target kept --destroy-data t.csv
done
done_testing
