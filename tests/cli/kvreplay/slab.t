#!/bin/sh
# slab.t - objects in a slab: in a directory, in a regular file, on a block device where the test may make one. Targets
# that are taken and refused, files that are left behind, kept objects that are adopted, damage that is found as in
# files. A bug looked like a foreign file that was removed or overwritten, or a block of an earlier run that was taken
# for one of this run.
# builds: plain address (threads of the engines: matrix.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
summary=$TMP/summary.json

# flip FILE OFFSET: inverts one byte.
flip() {
    byte=$(dd if="$1" bs=1 skip="$2" count=1 2>/dev/null | od -An -tu1 | tr -d ' ')
    printf %b "$(printf '\\0%03o' $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
bytes() { wc -c <"$1" | tr -d ' '; }
replay() { "$BIN/kvreplay" --full --progress none -o /dev/null "$@"; }

cat >"$TMP/w.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Write,100000,Tier-2,a,Prefill
0,Write,5000,Tier-2,b,Prefill
0,Read,100000,Tier-2,a,Decode
0,Write,200000,Tier-2,c,Prefill
0,Delete,0,Tier-2,c,Evict
END
cat >"$TMP/r.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Read,100000,Tier-2,a,Decode
0,Read,5000,Tier-2,b,Decode
END

exits "a slab in a directory" 0 replay --nvme "$TMP/d" --layout slab --keep --verify full "$TMP/w.csv"
ok "is slab.kv" test -f "$TMP/d/slab.kv"
stderr_like "and named" '^Tier-2: .*/d/slab\.kv'
exits "adopted" 0 replay --nvme "$TMP/d" --layout slab --keep --verify full --summary "$TMP/s.json" "$TMP/r.csv"
adopted() { json "$TMP/s.json" .populated.adopted_objects; }
is "both objects" "$(adopted)" 2
exits "and again, as nothing was changed" 0 replay --nvme "$TMP/d" --layout slab --keep --summary "$TMP/s.json" \
    "$TMP/r.csv"
is "both objects still" "$(adopted)" 2
# The slab grows by the objects that are written beside adopted ones.
{
    cat "$TMP/r.csv"
    for i in $(seq 20); do echo "0,Write,100000,Tier-2,new$i,Prefill"; done
    echo '0,Read,100000,Tier-2,nobody,Decode'
} >"$TMP/beside.csv"
exits "adopted, not created, and written beside" 0 replay --nvme "$TMP/d" --layout slab --keep --verify full \
    --on-absent skip --summary "$summary" "$TMP/beside.csv"
is "nothing is created, one is absent" \
    "$(json "$summary" '(.populated | .adopted_objects, .objects), (.rows | .ok, .absent)')" "2 0 22 1"
exits "all is kept" 0 replay --nvme "$TMP/d" --layout slab --keep --on-absent fail "$TMP/r.csv"
exits "without --keep" 3 replay --nvme "$TMP/d" --layout slab "$TMP/r.csv"
stderr_like "what is kept stays" 'd: holds 1 object \([0-9.]+ MiB\) that an earlier run of kvreplay kept: .*--destroy-data'
exits "with --destroy-data" 0 replay --nvme "$TMP/d" --layout slab --destroy-data "$TMP/r.csv"
not_ok "nothing is left" test -e "$TMP/d"

printf 'precious' >"$TMP/foreign"
exits "a file with foreign data is refused" 3 replay --nvme "$TMP/foreign" "$TMP/w.csv"
stderr_like "and why" 'foreign: .*--destroy-data'
is "and untouched" "$(cat "$TMP/foreign")" precious
exits "--destroy-data in a directory" 0 replay --nvme "$TMP/d" --destroy-data "$TMP/w.csv"
not_ok "and none was made" test -e "$TMP/d"
: >"$TMP/f"
exits "files in a file" 2 replay --nvme "$TMP/f" --layout files "$TMP/w.csv"

exits "an empty file grows" 0 replay --nvme "$TMP/f" --keep --verify full "$TMP/w.csv"
ok "and holds the objects" test "$(bytes "$TMP/f")" -gt 300000
# Objects lie from 1 MiB on, in the order of their writing, as nothing else is in the slab.
flip "$TMP/f" $((1048576 + 4096 * 3 + 1000))
exits "a flipped byte of the body passes the headers" 0 replay --nvme "$TMP/f" --keep --verify header "$TMP/r.csv"
exits "by default it is found" 1 replay --nvme "$TMP/f" --keep "$TMP/r.csv"
stderr_like "key, block and offset are named" 'key a\): corrupt: block 3 at offset 13288'
dd if="$TMP/f" bs=4096 skip=258 count=1 2>/dev/null | dd of="$TMP/f" bs=4096 seek=261 conv=notrunc 2>/dev/null
exits "a block in another's place is found by its header" 1 replay --nvme "$TMP/f" --keep --verify header "$TMP/r.csv"
stderr_like "and named" 'block 5 .*block belongs elsewhere in this object'
cp "$TMP/f" "$TMP/old"
exits "written anew" 0 replay --nvme "$TMP/f" --keep "$TMP/w.csv"
dd if="$TMP/old" bs=4096 skip=260 count=1 2>/dev/null | dd of="$TMP/f" bs=4096 seek=260 conv=notrunc 2>/dev/null
exits "a block of an earlier run is found by its header" 1 replay --nvme "$TMP/f" --keep --verify header "$TMP/r.csv"
stderr_like "as such" 'block 4 .*another write of this object'
flip "$TMP/f" 0
exits "without its header it is a foreign file" 3 replay --nvme "$TMP/f" "$TMP/r.csv"
flip "$TMP/f" 0
exits "without --keep" 3 replay --nvme "$TMP/f" "$TMP/w.csv"
stderr_like "what is kept stays" 'f: holds 2 objects \(108\.00 KiB\) that an earlier run kept: .*--destroy-data'
exits "the last run" 0 replay --nvme "$TMP/f" --destroy-data --verify full "$TMP/w.csv"
is "empties it again" "$(bytes "$TMP/f")" 0
printf '%s\n' 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' '0,Write,200000000000000,Tier-2,a,Prefill' \
    >"$TMP/vast.csv"
exits "an empty file that may not grow as far as is needed" 3 replay --nvme "$TMP/f" "$TMP/vast.csv"
is "stays empty" "$(bytes "$TMP/f")" 0
exits "the slab's file is no place for results" 2 "$BIN/kvreplay" --full --nvme "$TMP/f" -o "$TMP/f" "$TMP/w.csv"
stderr_like "and why" 'f: is the target'
exits "nor for the summary" 2 replay --nvme "$TMP/f" --summary "$TMP/f" "$TMP/w.csv"
exits "the trace is no target" 2 replay --nvme "$TMP/vast.csv" --destroy-data "$TMP/vast.csv"
exits "kept in a directory again" 0 replay --nvme "$TMP/d" --layout slab --keep "$TMP/w.csv"
exits "a slab in use by its name is not taken by its directory's" 3 \
    flock "$TMP/d/slab.kv" "$BIN/kvreplay" --full --nvme "$TMP/d" --keep --layout slab -o /dev/null "$TMP/w.csv"
stderr_like "and why" 'slab\.kv is in use'
# The lock is held when the run begins, and for 300 ms more.
waits() {
    (flock 9 && : >"$TMP/held" && exec sleep 0.3) 9<"$TMP/d/slab.kv" &
    until [ -e "$TMP/held" ]; do sleep 0.01; done
    rm "$TMP/held"
    replay --nvme "$TMP/d" --layout slab --keep "$TMP/r.csv"
}
ok "a lock that is released within a second is waited for" tries 3 waits
exits "and is as it was" 0 replay --nvme "$TMP/d" --layout slab --destroy-data --summary "$TMP/s.json" "$TMP/r.csv"
is "kept" "$(adopted)" 2

# Killed before its first write to Tier-2: the file that grew is known as ours.
printf '%s\n' 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' '0,Write,5000,Tier-1,b,Prefill' \
    '60,Write,9000,Tier-2,a,Prefill' >"$TMP/late.csv"
"$BIN/kvreplay" --full --progress none --nvme "$TMP/f" --timing trace -o "$TMP/late.out" "$TMP/late.csv" 2>"$TMP/stderr" &
pid=$!
for _ in $(seq 2500); do
    [ -e "$TMP/late.out" ] && break
    sleep 0.02
done
kill -s KILL $pid
wait $pid 2>/dev/null
ok "a run was killed with its slab" test "$(bytes "$TMP/f")" -gt 0
exits "the next one takes the file" 0 replay --nvme "$TMP/f" --verify full "$TMP/w.csv"
is "and empties it" "$(bytes "$TMP/f")" 0

dd if=/dev/zero of="$TMP/fixed" bs=1048576 count=6 2>/dev/null
exits "a file of zeros is foreign" 3 replay --nvme "$TMP/fixed" "$TMP/w.csv"
exits "taken with --destroy-data" 0 replay --nvme "$TMP/fixed" --destroy-data --verify full "$TMP/w.csv"
is "it keeps its size" "$(bytes "$TMP/fixed")" 6291456
exits "and is ours now" 0 replay --nvme "$TMP/fixed" --verify full --config ioengine=psync "$TMP/w.csv"
printf '%s\n' 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' '0,Write,6000000,Tier-2,a,Prefill' >"$TMP/big.csv"
exits "too small for the peak" 3 replay --nvme "$TMP/fixed" "$TMP/big.csv"
stderr_like "which is named" 'needs 5.72 MiB at its peak, a slab of .* and .*fixed has 6.00 MiB'
tail -n +1 "$TMP/w.csv" | replay --cpu-mem 1MiB --nvme "$TMP/fixed" --verify full 2>"$TMP/stderr"
is "from a pipe" $? 0
tail -n +1 "$TMP/w.csv" | replay --cpu-mem 1MiB --nvme "$TMP/d" --layout slab --verify full --buffered 2>"$TMP/stderr"
is "from a pipe, in a directory, buffered" $? 0
for how in '--config rings=3' '--sync object' '--config iopoll=true' '--config sqpoll=true' '--config ioengine=psync --config rings=2' '--chunk-size 4KiB'; do
    with "$how" exits "with $how" 0 replay --nvme "$TMP/fixed" --verify full "$TMP/w.csv"
done
exits "synced at the end" 0 replay --nvme "$TMP/fixed" --sync end --summary "$TMP/s.json" "$TMP/w.csv"
like "with its time" "$(json "$TMP/s.json" .sync_s)" '^[0-9]'

# A pipe in the place of the slab is not waited for.
exits "a slab is kept" 0 replay --nvme "$TMP/kept" --layout slab --keep "$TMP/w.csv"
rm "$TMP/kept/slab.kv"
mkfifo "$TMP/kept/slab.kv"
for how in '' --buffered; do
    exits "a pipe in its place is refused $how" 3 replay --nvme "$TMP/kept" --layout slab $how --keep "$TMP/w.csv"
    stderr_like "and said $how" 'slab[.]kv (is not a regular file|cannot be opened)'
done

# A block device, where one can be made. kvreplay finds in sysfs what may be overwritten.
if [ "$(id -u)" -eq 0 ] && [ -d /sys/dev/block ] && loop=$(losetup --show -f "$TMP/fixed" 2>/dev/null); then
    exits "a device needs --destroy-data" 3 replay --nvme "$loop" "$TMP/w.csv"
    stderr_like "and says so" '--destroy-data'
    exits "and works" 0 replay --nvme "$loop" --destroy-data --keep --verify full "$TMP/w.csv"
    exits "kept" 0 replay --nvme "$loop" --destroy-data --verify full --summary "$TMP/s.json" "$TMP/r.csv"
    is "and adopted" "$(adopted)" 2
    losetup -d "$loop"
else
    diag "no loop device or no /sys: a device as target is not tried"
fi
done_testing
