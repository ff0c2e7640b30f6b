#!/bin/sh
# device_times.t - --device-times tells what the drive itself took, by the kernel's own events: as many requests and bytes as the
# device's counters have, and no time shorter than a drive of known delay takes. Without the rights it says so, and the run goes
# on or fails as asked. Each row knows the requests that its own I/O became, on files, slabs, parts of disks, ext4 and xfs, and its
# parts are no longer than the whole; where its place on the drive is not known, it says so. A bug looked like times that were missing without a word, or an instance that was left behind.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts

summary=$TMP/s.json
loops='' children=''
leave() {
    left=$?
    umount "$TMP/inner" "$TMP/xfs" 2>/dev/null
    for l in $loops; do losetup -d "$l"; done
    umount "$TMP/slow" 2>/dev/null
    for child in $children; do kill "$child"; done 2>/dev/null
    (exit $left)
    tap_exit
}
trap leave EXIT
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 16; i++) printf "0,Write,1048576,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < 64; i++) printf "0.1,Read,1048576,Tier-2,k%d,Prefill\n", i % 16
}' >"$TMP/t.csv"
replay() { "$BIN/kvreplay" --full --summary "$summary" -o "$TMP/r.csv.zst" "$@" 2>"$TMP/err"; }
tracing=/sys/kernel/tracing
# Instances of processes that have ended: other runs may be going on.
left_behind() {
    for instance in "$tracing"/instances/kvtrace-*; do
        [ ! -d "$instance" ] || kill -s 0 "${instance##*-}" 2>/dev/null || echo "$instance"
    done | wc -l
}

mkdir "$TMP/here" "$TMP/xfs"
umount $tracing /sys/kernel/debug/tracing 2>/dev/null
replay --target "$TMP/here/kv" "$TMP/t.csv"
is 'not asked for' "$(json "$summary" '.evidence.device_times, .drive_times')" 'null null'
if ! grep -q ' tracefs ' /proc/self/mounts; then
    ok 'auto: the run goes on' replay --device-times auto --target "$TMP/here/kv" "$TMP/t.csv"
    like 'and says why not' "$(cat "$TMP/err")" '^kvreplay: device times: .*tracefs is not mounted'
    like 'in the summary' "$(json "$summary" .evidence.device_times.state)" 'not mounted'
    is 'what is not known is null' "$(json "$summary" '.evidence.device_times | .drive_requests, .drive_read_us')" 'null null'
    exits 'yes: the run fails' 3 "$BIN/kvreplay" --device-times yes --target "$TMP/here/kv" -o /dev/null "$TMP/t.csv"
    stderr_like 'and says why' '^kvreplay: --device-times: .*not mounted'
fi
exits 'no target' 2 "$BIN/kvreplay" --device-times yes --null -o /dev/null "$TMP/t.csv"
mount -t tracefs none $tracing 2>/dev/null || { done_testing; exit; }
exits 'no device' 3 "$BIN/kvreplay" --device-times yes --target /dev/shm/kvtrace-test-$$ -o /dev/null "$TMP/t.csv"
stderr_like 'is the reason' 'no block device is known below the target'
rm -rf "/dev/shm/kvtrace-test-$$"
if command -v setpriv >/dev/null; then
    chmod 755 "$TMP"
    mkdir "$TMP/own" && chown 65534 "$TMP/own"
    if as_nobody "$BIN/kvreplay" --help >/dev/null 2>&1; then
        exits 'without rights' 0 as_nobody "$BIN/kvreplay" --device-times auto --target "$TMP/own/kv" -o /dev/null "$TMP/t.csv"
        stderr_like 'it says so' '^kvreplay: device times: not permitted: run as root, or '
    fi
fi

# A device of our own: its counters hold nobody else's requests.
if ! losetup --find >/dev/null 2>&1; then
    ok 'loop devices # SKIP there are none' true
    done_testing
    exit
fi
truncate -s 100M "$TMP/inner.img" && mkfs.ext4 -q -F "$TMP/inner.img" && mkdir "$TMP/inner"
device=$(losetup --find --show --direct-io=on "$TMP/inner.img") && loops=$device && mount "$device" "$TMP/inner"
name=${device#/dev/}
read_counters() { awk '{ printf "%.0f %.0f\n", $1, $3 * 512 }' "/sys/block/$name/stat"; }
sync -f "$TMP/inner"
before=$(read_counters)
ok 'a run' replay --device-times yes --inflight 4 --chunk-size 256K --target "$TMP/inner/kv" "$TMP/t.csv"
after=$(read_counters)
# (Of the disk below, whose requests others make, too, some may have been issued before.)
is 'is measured' "$(json "$summary" '.evidence.device_times | .state, .lost_events')" 'measured 0'
reads=".drive_times | map(select(.device == \"$name\" and .op == \"Read\"))"
is 'bytes that were asked for' "$(json "$summary" "[$reads | .[].bytes] | add")" 67108864
# The counters also have what the file system read of its own before and after the timed part.
echo "$before $after $(json "$summary" "[$reads | .[].drive_us.count] | add")" >"$TMP/counts"
is 'requests that the device counted' "$(awk '{ print ($5 <= $3 - $1 && $5 >= 64), ($4 - $2 >= 67108864) }' "$TMP/counts")" '1 1'
is 'times are within our own' "$(json "$summary" '.evidence | .device_times.drive_read_us.p50 > 0 and
    .device_times.drive_io_s > 0')" true
like 'in the text' "$(cat "$TMP/err")" "^drive $name, reads up to [0-9]+ [KM]iB: [0-9]+ requests, [0-9.]+ MiB, P50 "
is 'no instance is left' "$(left_behind)" 0

# Each row knows the requests that it became, whatever lies between it and the device.
column() { zstd -dcq "$TMP/r.csv.zst" | awk -F, -v want="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == want) c = i; next } { print $c }'; }
rows_of_requests() { json "$summary" '.evidence.device_times | .rows, .rows_without_requests, .rows_not_placed'; }
# add_up NAME: the part before the drive and that at it are no more than the row's time.
add_up() {
    column Queue_us >"$TMP/queue" && column Drive_us >"$TMP/drive" && column Latency_us >"$TMP/latency"
    is "$1: every row has both times" "$(paste -d ' ' "$TMP/queue" "$TMP/drive" | grep -Ec '^[0-9.]+ [0-9.]+$')" "$2"
    is "$1: no more than its own time" "$(paste "$TMP/queue" "$TMP/drive" "$TMP/latency" | awk -F '\t' '$1 + $2 > $3 + 5')" ''
}
is 'files on ext4: each row is joined' "$(rows_of_requests)" '80 0 0'
add_up 'files on ext4' 80
is 'of as many rows by direction' "$(json "$summary" '[.drive_rows[] | [.op, .rows]]')" '[["Read",64],["Write",16]]'
is 'with all bytes at least' "$(json "$summary" '.drive_rows | all(.bytes_per_row >= 1048576 and .requests_per_row >= 1)')" true
is 'the depth over the run has the same sum' "$(json "$summary" '[.drive_depth[].mean_depth] | length > 0 and all(. >= 0)')" true
for how in '--layout slab' '--config ioengine=psync' '--config spread=hash --target'; do
    case $how in
    *target) mkdir "$TMP/inner/two" && how="$how $TMP/inner/two/kv" ;;
    esac
    ok "$how: a run" with "$how" replay --device-times yes --inflight 4 --target "$TMP/inner/kv" "$TMP/t.csv"
    is "$how: each row is joined" "$(rows_of_requests)" '80 0 0'
    add_up "$how" 80
done
# Objects that are written anew, in other sizes, and removed, lie elsewhere each time.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (round = 0; round < 6; round++)
        for (k = 0; k < 16; k++) {
            size = 65536 * (1 + (round + k) % 3)
            printf "%d,Write,%d,Tier-2,k%d,Prefill\n", round, size, k
            for (i = 0; i < 3; i++) printf "%d,Read,%d,Tier-2,k%d,Decode\n", round, size, k
            if ((round + k) % 4 == 0) printf "%d,Delete,%d,Tier-2,k%d,\n", round, size, k
        }
}' >"$TMP/anew.csv"
for how in '--layout files' '--layout slab'; do
    ok "$how, written anew: a run" with "$how" "$BIN/kvreplay" --device-times yes --inflight 4 --summary "$summary" -o "$TMP/r.csv.zst" \
        --target "$TMP/inner/kv" "$TMP/anew.csv"
    is "$how, written anew: each row is joined" "$(rows_of_requests)" '384 0 0'
    add_up "$how, written anew" 384
done
# I/O that io_uring could not begin at once: none where there is none, some where the kernel always does so; else not known.
workers() { json "$summary" '.evidence.device_times | .reads_to_workers, .writes_to_workers, .calls_to_workers'; }
why_workers() { json "$summary" .evidence.device_times.workers_why; }
replay --device-times yes --buffered --target "$TMP/inner/kv" --chunk-size 256K "$TMP/t.csv"
if ! grep -q ' opcode;' "$tracing/events/io_uring/io_uring_queue_async_work/format" 2>/dev/null ||
    [ "$(readlink /proc/self/ns/pid)" != 'pid:[4026531836]' ]; then
    is 'a kernel, or container, without numbers of workers' "$(workers)" 'null null null'
    like 'says so' "$(why_workers)" '^not known: '
elif [ "$(json "$summary" 'tier("Tier-2").engine')" = io_uring ]; then
    is 'buffered writes on ext4 go to workers, no read does' \
        "$(json "$summary" '.evidence.device_times | .reads_to_workers, .writes_to_workers > 0')" '0 true'
    like 'and why' "$(why_workers)" '^buffered writes, which ext4 could not take without waiting'
    like 'for people, too' "$(cat "$TMP/err")" \
        '^io_uring gave to threads that wait: 0 reads, [1-9][0-9]* writes, [0-9]+ other calls; buffered writes, which ext4 '
    like 'on the screen' "$("$BIN/kvstat" "$TMP/r.csv.zst" | tr -s '\n ' ' ')" ' Drive reads [^;]*; writes [^;]*; [0-9]+ I/Os by threads that wait '
    like 'in the report' "$("$BIN/kvstat" --full "$TMP/r.csv.zst" | tr -s '\n ' ' ')" \
        ' io_uring 0 reads and [1-9][0-9]* writes given to threads that wait: buffered writes, which ext4 '
    replay --device-times yes --target "$TMP/inner/kv" --chunk-size 256K --inflight 4 "$TMP/t.csv"
    is 'direct reads do not' "$(json "$summary" .evidence.device_times.reads_to_workers)" 0
    is 'creating and allocating files do' "$(json "$summary" '.evidence.device_times.calls_to_workers >= 16')" true
    replay --device-times yes --config ioengine=psync --target "$TMP/inner/kv" "$TMP/t.csv"
    is 'without io_uring there are no workers' "$(workers) $(why_workers)" '0 0 0 null'
    is 'and no word of it' "$(grep -c '^io_uring gave' "$TMP/err")" 0
fi
ok 'an engine that hides its files' replay --device-times yes --inflight 4 --target "file:$TMP/inner/e?like=lmcache-fs&pages=small&pool=1MiB" "$TMP/t.csv"
is 'its rows are not placed' "$(rows_of_requests)" '0 0 80'
is 'its lookups stay apart' "$(json "$summary" 'tier("Tier-2") | .lookup.ops, .lookup.service_us.count, .read.service_us.count')" '64 64 64'
is 'and have no times' "$(column Drive_us | sort -u | tr -d '\n')" ''
like 'which is said' "$(cat "$TMP/err")" '^rows without requests at the drive: 0; whose place on it is not known: 80$'
replay --device-times yes --target "$TMP/inner/kv" --chunk-size 256K --inflight 4 "$TMP/t.csv"

"$BIN/kvstat" --json "$TMP/r.csv.zst" >"$TMP/k.json"
is 'kvstat has the times' "$(json "$TMP/k.json" '.tiers[] | select(.tier == "Tier-2") | .read.queue_us.count, .read.drive_us.count, .write.drive_us.count')" \
    '64 64 16'
like 'the screen has them' "$("$BIN/kvstat" "$TMP/r.csv.zst")" '^Drive +reads p50 [0-9.]+ .s, p95 [0-9.]+ .s; writes p50 '
"$BIN/kvstat" --full "$TMP/r.csv.zst" >"$TMP/full"
like 'and shows them' "$(cat "$TMP/full")" '^At the drive - from the first request to the last completion there$'
like 'in the report' "$(tr -s '\n ' ' ' <"$TMP/full")" 'Drive times requests to read: [0-9,]+, p50 [0-9.]+ .s, p95 [0-9.]+ .s; to write: .* at the drive on average'

# What a killed run leaves, the next one removes.
mkdir $tracing/instances/kvtrace-4194303
replay --device-times yes --target "$TMP/inner/kv" "$TMP/t.csv"
is 'nor by a run that was killed' "$(left_behind)" 0

# A part of a disk: the kernel counts sectors from the disk's beginning. And xfs.
truncate -s 400M "$TMP/parts.img"
if command -v sfdisk >/dev/null && echo 'start=40960, size=204800' | sfdisk -q "$TMP/parts.img" 2>/dev/null &&
    device=$(losetup --find --show --partscan --direct-io=on "$TMP/parts.img") && loops="$device $loops" && [ -b "${device}p1" ]; then
    ok 'a part of a disk' replay --device-times yes --inflight 4 --target "${device}p1" --destroy-data "$TMP/t.csv"
    is 'a part of a disk: each row is joined' "$(rows_of_requests)" '80 0 0'
    add_up 'a part of a disk' 80
else
    ok 'a part of a disk # SKIP no sfdisk, or no nodes of parts of loop devices' true
fi
if command -v mkfs.xfs >/dev/null && device=$(losetup --find --show --direct-io=on "$TMP/parts.img") && loops="$device $loops" &&
    mkfs.xfs -q -f "$device" 2>/dev/null && mount "$device" "$TMP/xfs" 2>/dev/null; then
    ok 'files on xfs' replay --device-times yes --inflight 4 --target "$TMP/xfs/kv" "$TMP/t.csv"
    is 'files on xfs: each row is joined' "$(rows_of_requests)" '80 0 0'
    add_up 'files on xfs' 80
else
    ok 'files on xfs # SKIP no mkfs.xfs, or the kernel has no xfs' true
fi

# A drive that takes 20 ms for each read: no request is told to be faster, nor slower than the row that waited for it.
mkdir "$TMP/slow"
if command -v python3 >/dev/null; then
    python3 "$TOP/tests/cli/kvreplay/faultfs.py" "$TMP/slow" delay:20 >"$TMP/took" &
    children=$!
    while kill -s 0 $children 2>/dev/null && ! grep -q " $TMP/slow fuse" /proc/self/mounts; do sleep 0.05; done
fi
if grep -q " $TMP/slow fuse" /proc/self/mounts && truncate -s 32M "$TMP/slow/disk" &&
    device=$(losetup --find --show --direct-io=on "$TMP/slow/disk"); then
    loops="$device $loops"
    awk 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < 4; i++) printf "0,Write,65536,Tier-2,k%d,Prefill\n", i
        for (i = 0; i < 40; i++) printf "0.1,Read,65536,Tier-2,k%d,Prefill\n", i % 4
    }' >"$TMP/slow.csv"
    ok 'a drive of known delay' replay --device-times yes --inflight 1 --target "$device" --destroy-data "$TMP/slow.csv"
    is 'takes that long' "$(json "$summary" ".evidence.device_times.drive_read_us | .count >= 40, .min >= 20000")" 'true true'
    is 'one request for each row, with its bytes' "$(json "$summary" '[.drive_rows[] | .requests_per_row, .bytes_per_row] | unique')" \
        '[1,65536]'
    is 'each row is joined' "$(rows_of_requests)" '44 0 0'
    add_up 'a drive of known delay' 44
    column Start >"$TMP/start" && column Device_us >"$TMP/device"
    is 'rows are in the order of their ends' \
        "$(paste "$TMP/start" "$TMP/latency" | awk '{ end = $1 * 1e6 + $2; if (end < last - 0.1) print; last = end }')" ''
    is 'no read was shorter than the delay' "$(tail -n 40 "$TMP/drive" | awk '$1 < 20000')" ''
    paste "$TMP/queue" "$TMP/drive" "$TMP/device" | tail -n 40 |
        awk '{ q += $1; d += $2; all += $3 } END { printf "# of the device time of reads %.3f %% before the drive, %.3f %% at it, %.3f %% behind it\n", 100 * q / all, 100 * d / all, 100 * (all - q - d) / all }'
    is 'and no longer than its rows' "$(json "$summary" '(.evidence.device_times.drive_read_us.p50 - 1) <=
        (tier("Tier-2").read.io_us.p50 * 1.001)')" true
    python3 - "$TMP/took" "$(json "$summary" .evidence.device_times.drive_read_us.p50)" <<'END' | sed 's/^/# /'
import statistics, sys
served = statistics.median(int(line) for line in open(sys.argv[1])) / 1e3
print(f"P50: the file system served in {served:.0f} us, D2C {float(sys.argv[2]):.0f} us")
END
else
    ok 'a drive of known delay # SKIP no FUSE, python3 or loop device on it' true
fi
done_testing
