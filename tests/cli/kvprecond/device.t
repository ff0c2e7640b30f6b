#!/bin/sh
# device.t - block devices: a loop device is filled (twice by default), discarded, and refused while it is mounted,
# partitioned, held, read-only or in use, or without --destroy-data. Skipped without root and loop devices;
# test_target_guard tests the guards alone. A bug looked like a device whose partition table was overwritten, or whose
# end was left as it was.
. "${0%/*}/../../lib.sh"
needs_mounts
kvprecond=$BIN/kvprecond
summary=$TMP/summary.json

command -v losetup >/dev/null || skip_all 'no losetup'
[ -d /sys/dev/block ] || skip_all 'no /sys, which tells what a device is used for'

# 20 MiB and 3 sectors: the odd end is no whole block of 4 KiB.
truncate -s $((20 * 1024 * 1024 + 1536)) "$TMP/image"
loop=$(losetup -f --show "$TMP/image" 2>/dev/null) || skip_all 'no loop devices here'
held='' rc=0
release() {
    umount "$TMP/mount" 2>/dev/null
    [ -z "$held" ] || dmsetup remove "$held" 2>/dev/null
    losetup -d "$loop" 2>/dev/null
}
trap 'rc=$?; release; (exit $rc); tap_exit' EXIT

# blocks: whole blocks of the image, different ones, and those that kvtrace wrote.
blocks() { "$TOP/tests/cli/kvprecond/blocks.py" "$TMP/image"; }

# refused NAME ERE [OPTION...]: status 3, the reason, and not a byte changed.
refused() {
    name=$1 why=$2
    shift 2
    sync "$TMP/image"
    before=$(cksum <"$TMP/image")
    exits "$name is refused" 3 "$kvprecond" --size 1M "$@" "$loop"
    stderr_like 'with the reason' "^kvprecond: $loop: .*$why"
    sync "$TMP/image"
    is 'and nothing is written' "$(cksum <"$TMP/image")" "$before"
}

# ---- guards ----

refused 'a device without --destroy-data' 'is a block device: --destroy-data is needed'

mkdir "$TMP/mount"
if mkfs.ext4 -q "$loop" 2>/dev/null && mount -o ro "$loop" "$TMP/mount" 2>/dev/null; then
    refused 'a mounted device' "mounted on $TMP/mount" --destroy-data
    umount "$TMP/mount"
else
    diag 'nothing can be mounted here'
fi

# A master boot record with one partition of 4096 sectors from sector 2048 on, first unknown to the kernel, then known.
# An entry: status, first head/sector/cylinder, type, last head/sector/cylinder, first sector, number of sectors.
put() { dd of="$TMP/image" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
printf '\000\000\000\000\203\000\000\000\000\010\000\000\000\020\000\000' | put 446
printf '\125\252' | put 510
blockdev --flushbufs "$loop" 2>/dev/null
refused 'a table that the kernel has not read' 'it holds a partition table \(MBR\) of partitions' --destroy-data
addpart "$loop" 1 2048 4096 2>/dev/null
if [ -e "/sys/class/block/${loop#/dev/}p1" ]; then
    refused 'a partitioned device' "it is partitioned: it has ${loop#/dev/}p1" --destroy-data
else
    diag 'no partitions can be made here'
fi
delpart "$loop" 1 2>/dev/null
dd if=/dev/zero of="$TMP/image" bs=4096 count=1 conv=notrunc 2>/dev/null
blockdev --flushbufs "$loop"

blockdev --setro "$loop"
refused 'a read-only device' 'it is read-only' --destroy-data
blockdev --setrw "$loop"

held=kvtrace-test-$$
if dmsetup create "$held" --table "0 2048 linear $loop 0" 2>/dev/null; then
    refused 'a held device' 'it is in use by dm-' --destroy-data
    dmsetup remove "$held"
else
    diag 'no device mapper here'
fi
held=

# Another process has it open exclusively.
python3 - "$loop" "$TMP/ready" <<'END' &
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL)
open(sys.argv[2], "w").close()
time.sleep(60)
END
pid=$!
for _ in $(seq 100); do
    [ ! -e "$TMP/ready" ] || break
    sleep 0.05
done
refused 'a device in use' 'the kernel says it is in use' --destroy-data
kill "$pid"
wait "$pid" 2>/dev/null

exits '--keep has no meaning there' 2 "$kvprecond" --destroy-data --keep "$loop"
exits '--reserve neither' 2 "$kvprecond" --destroy-data --reserve 1 "$loop"
exits 'nor --config file_size' 2 "$kvprecond" --destroy-data --config file_size=1M "$loop"

# ---- fills ----

exits 'a device is filled' 0 "$kvprecond" --destroy-data --summary "$summary" "$loop"
is 'twice' "$(json "$summary" '.written_bytes, .complete')" '41943040 true'
is 'JSON: capacity in whole blocks' "$(json "$summary" .target.capacity_bytes)" 20971520
is 'JSON: kind' "$(json "$summary" .target.kind)" device
stdout_like 'text: how often' 'written +40\.00 MiB of 40\.00 MiB, 2\.00 times the device'
is 'every whole block of it' "$(blocks)" '5120 5120 5120'

exits 'it is purged' 0 "$kvprecond" --destroy-data --purge --size 1M --summary "$summary" "$loop"
if [ "$(json "$summary" .purge.error)" = null ]; then
    is 'whole' "$(json "$summary" .purge.discarded_bytes)" 20971520
    is 'and holds the fill only' "$(blocks)" '5120 257 256'
else
    stderr_like 'what is not possible is said' '^kvprecond: .*: cannot be purged: '
fi

exits 'at random' 0 "$kvprecond" --destroy-data --mode random --size 20M --threads 2 --seed 5 "$loop"
is 'every block once' "$(blocks)" '5120 5120 5120'
ln -s "$loop" "$TMP/link"
cat >"$TMP/model.json" <<'END'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 3,
 "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 64, "torch_dtype": "bfloat16"}
END
exits 'by a link, with objects' 0 "$kvprecond" --destroy-data --mode kv --model "$TMP/model.json" \
    --summary "$summary" "$TMP/link"
is 'twice, in whole objects: 13 of 1.5 MiB' "$(json "$summary" '.object_bytes, .written_bytes')" \
    "1572864 $((2 * 13 * 1572864))"
exits 'an object larger than the device is refused' 3 "$kvprecond" --destroy-data --mode kv --model llama3.1-8b "$loop"
stderr_like 'with the reason' 'is smaller than an object'

# ---- a full file system ----

# Room for the bytes, but for 128 files only, some of them its own.
if mkfs.ext4 -q -m 0 -N 128 "$loop" 2>/dev/null && mount "$loop" "$TMP/mount" 2>/dev/null; then
    exits 'a full file system ends it' 1 "$kvprecond" --size 10M --reserve 0 --config file_size=64K --block-size 64K \
        --summary "$summary" "$TMP/mount"
    stderr_like 'with what failed and why' '^kvprecond: .*/fill-[0-9]*\.kv: .*No space left'
    is 'the summary says so' "$(json "$summary" '.ended_by, .complete')" 'ENOSPC false'
    stdout_like 'and what was written' 'written +[67]\.[0-9]* MiB of 10\.00 MiB, ended by ENOSPC'
    is 'the files are removed' "$(ls -A "$TMP/mount")" lost+found
    exits 'a directory is purged' 0 "$kvprecond" --purge --size 1M --summary "$summary" "$TMP/mount"
    if [ "$(json "$summary" .purge.error)" = null ]; then
        is 'the free space of its file system is trimmed' "$(json "$summary" '.purge.discarded_bytes > 5 * 1048576')" \
            true
    else
        stdout_like 'what is not possible is said' 'purge +not possible'
    fi
    umount "$TMP/mount"
fi

done_testing
