#!/bin/sh
# device_times.t - --device-times tells what the drive itself took, by the kernel's own events: as many requests and bytes as the
# device's counters have, and no time shorter than a drive of known delay takes. Without the rights it says so, and the run goes
# on or fails as asked. A bug looked like times that were missing without a word, or an instance that was left behind.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
needs_mounts

summary=$TMP/s.json
loops='' children=''
leave() {
    left=$?
    umount "$TMP/inner" 2>/dev/null
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
left_behind() { find $tracing/instances -mindepth 1 -maxdepth 1 -name 'kvtrace-*' | wc -l; }

mkdir "$TMP/here"
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
    as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all "$BIN/kvreplay" "$@"; }
    if as_nobody --help >/dev/null 2>&1; then
        exits 'without rights' 0 as_nobody --device-times auto --target "$TMP/own/kv" -o /dev/null "$TMP/t.csv"
        stderr_like 'it says so' '^kvreplay: device times: not permitted: run as root$'
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

"$BIN/kvstat" --full "$TMP/r.csv.zst" >"$TMP/full"
like 'in the report' "$(tr -s '\n ' ' ' <"$TMP/full")" 'Drive times requests to read: [0-9,]+, p50 [0-9.]+ .s, p95 [0-9.]+ .s; to write: .* at the drive on average'

# What a killed run leaves, the next one removes.
mkdir $tracing/instances/kvtrace-4194303
replay --device-times yes --target "$TMP/inner/kv" "$TMP/t.csv"
is 'nor by a run that was killed' "$(left_behind)" 0

# A drive that takes 20 ms for each read: no request is told to be faster, nor slower than the row that waited for it.
mkdir "$TMP/slow"
if command -v python3 >/dev/null; then
    python3 "$(dirname "$0")/../kvreplay/faultfs.py" "$TMP/slow" delay:20 >"$TMP/took" &
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
