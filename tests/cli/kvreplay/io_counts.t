#!/bin/sh
# io_counts.t - what the summary says of the I/Os beneath Tier-2: one for each chunk of the objects, without those of
# populating; never more in flight than --iodepth, nearly as many when there is enough to do, and one at a time where
# the load has one at a time. A bug looked like a depth that was asked for and not reached, which no figure showed.
# builds: plain address (threads of the engines: matrix.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
tier2() { json "$summary" "tier(\"Tier-2\") | $1"; }
# rows OP N BYTES: N operations on objects of that size.
rows() {
    awk -v op="$1" -v n="$2" -v bytes="$3" -v header=$header 'BEGIN {
        print header
        for (i = 0; i < n; i++) printf "0,%s,%d,Tier-2,k%d,Decode\n", op, bytes, i % 8
    }'
}
rows Write 8 4194304 >"$TMP/w.csv"
rows Read 24 4194304 >"$TMP/r.csv"
rows Read 24 524288 >"$TMP/chunks.csv"

plan 64
for layout in files slab; do
    exits "$layout: reads" 0 "$BIN/kvreplay" --nvme "$TMP/d" --layout $layout --chunk-size 512KiB --iodepth 4 \
        --no-notes -o "$TMP/o.csv" --summary "$summary" "$TMP/r.csv"
    is "$layout: an I/O for each chunk, of the reads only" "$(tier2 .ios)" 192
    q=$(tier2 .mean_ios_in_flight)
    ok "$layout: some in flight, 4 at most ($q)" awk "BEGIN { exit !($q > 0.5 && $q <= 4) }"
done
exits "object by object, chunk by chunk" 0 "$BIN/kvreplay" --nvme "$TMP/d" --inflight 1 --chunk-size 4MiB --iodepth 4 \
    --no-notes -o "$TMP/o.csv" --summary "$summary" "$TMP/w.csv"
is "one I/O for each" "$(tier2 .ios)" 8
q=$(tier2 .mean_ios_in_flight)
ok "one in flight at most ($q)" awk "BEGIN { exit !($q > 0 && $q <= 1) }"
# Files that are opened ahead and verified behind have no I/O in flight beyond --inflight, on one path or two, and their wait for
# a slot is before their Start.
for paths in 1 2; do
    set -- --nvme "$TMP/a$paths"
    [ $paths = 1 ] || set -- "$@" --nvme "$TMP/b$paths"
    exits "$paths paths, three at a time" 0 "$BIN/kvreplay" "$@" --inflight 3 --chunk-size 512KiB --iodepth 32 \
        --full --no-notes -o "$TMP/o.csv" --summary "$summary" "$TMP/chunks.csv"
    q=$(tier2 .mean_ios_in_flight)
    ok "$paths paths: three in flight at most ($q)" awk "BEGIN { exit !($q > 0 && $q <= 3) }"
    is "$paths paths: Start is after Eligible, and Device_us and Slot_us are within Latency_us" "$(awk -F, '
        NR > 1 && ($8 > $9 || $11 + $12 > $10 + 0.01)' "$TMP/o.csv" | wc -l)" 0
    is "$paths paths: all are right" "$(json "$summary" .rows.ok)" 24
done
exits "an engine without I/Os" 0 "$BIN/kvreplay" --tier-engine 2=null --no-notes -o "$TMP/o.csv" --summary "$summary" "$TMP/w.csv"
is "counts none" "$(tier2 .ios)" null
is "and has none in flight" "$(tier2 .mean_ios_in_flight)" null

# Objects take turns: none waits for a large one to end, and each of several large ones has I/Os in flight nearly all
# of its time. A bug looked like sixteen objects that were read at once, fifteen of which waited; that time was reported
# as the host's.
{
    echo $header
    for i in 0 1 2 3; do echo "0,Read,33554432,Tier-2,k$i,Decode"; done
    echo 0,Read,4096,Tier-2,small,Decode
} >"$TMP/turns.csv"
turns() {
    "$BIN/kvreplay" --nvme "$TMP/d" --layout "$layout" --chunk-size 256KiB --iodepth 8 --verify none --no-notes -o "$TMP/o.csv" \
        "$TMP/turns.csv" || return
    # Columns: ... 5 Key, 10 Latency_us, 11 Device_us, 12 Slot_us, 13 Status.
    awk -F, '
        NR == 2 && $5 != "small" { print "first: " $5; bad = 1 }
        NR > 2 && $11 / $10 <= 0.5 { print $5 ": " $11 / $10 " of its time at the device"; bad = 1 }
        END { exit bad || NR != 6 }' "$TMP/o.csv"
}
for layout in files slab; do
    ok "$layout: a small object is done first, and each large one is at the device" tries 5 turns
done

# Sixty-four objects in flight through one I/O. Reads, a deletion and writes of one key follow a large write of it,
# among small objects that come and go. Each row ends well, no read after the deletion finds the object before it, and
# all bytes are counted.
{
    echo $header
    printf '0,%s\n' Write,4194304,Tier-2,k,Prefill Read,4194304,Tier-2,k,Decode Read,10,Tier-2,k,Decode \
        Delete,0,Tier-2,k,Evict Read,10,Tier-2,k,Decode Write,5000,Tier-2,k,Prefill Read,5000,Tier-2,k,Decode \
        Write,4194304,Tier-2,k,Prefill Read,4194304,Tier-2,k,Evict Read,1,Tier-2,k,Decode
    awk 'BEGIN {
        for (i = 0; i < 100; i++) {
            size = 1 + i * 61
            printf "0,Write,%d,Tier-2,s%d,Prefill\n0,Read,%d,Tier-2,s%d,Decode\n", size, i, size, i
            printf "0,Delete,0,Tier-2,s%d,Evict\n", i
        }
    }'
} >"$TMP/queue.csv"
# The rows of k in the order of their starts: the writes and the deletion one after the other, the reads of 10 bytes
# (after the deletion) and of 1 byte (after the move) without an object, no two of them at once but reads.
check_queue() {
    sed 1d "$TMP/o.csv" | awk -F, '$5 == "k"' | sort -t , -k 9,9n >"$TMP/of_k"
    awk -F, '$2 != "Read" { print $2, $NF }' "$TMP/of_k" | tr '\n' ' '
    awk -F, '$NF == "absent" { print $3 }' "$TMP/of_k" | sort -n | tr '\n' ' '
    awk -F, '
        NR > 1 && !(op == "Read" && $2 == "Read") && $9 < end - 2e-6 { print "starts early: " $0 }
        { op = $2; end = $9 + $10 / 1e6 }' "$TMP/of_k"
    awk -F, '
        NR > 1 && $5 != "k" && $NF != "ok" { print "not ok: " $0 }
        NR > 1 && $11 != "" && $11 + $12 > $10 + 2e-3 { print "longer in its parts than in all: " $0 }
        NR > 1 && ($11 == "") != ($12 == "") { print "one of device and slot is known: " $0 }' "$TMP/o.csv"
}
ok_bytes() { awk -F, -v op="$1" '$2 == op && $NF == "ok" { n += $3 } END { print n }' "$TMP/o.csv"; }
for layout in files slab; do
    for engine in auto psync; do
        exits "$layout, $engine: one I/O" 0 "$BIN/kvreplay" --nvme "$TMP/d" --layout $layout --config ioengine=$engine \
            --iodepth 1 --inflight 64 --chunk-size 64KiB --verify full --on-absent skip --no-notes -o "$TMP/o.csv" \
            --summary "$summary" "$TMP/queue.csv"
        is "$layout, $engine: each row after those of its key" "$(check_queue)" \
            'Write ok Delete ok Write ok Write ok 1 10 '
        json_like "$summary" <<END
$layout, $engine: all bytes, one I/O at most | tier("Tier-2") | .read.bytes, .write.bytes, .mean_ios_in_flight <= 1 | $(ok_bytes Read) $(ok_bytes Write) true
$layout, $engine: the parts of the times | tier("Tier-2").write | .slot_us.count == .ops, .flush_us.max == 0, .slot_us.mean > 0 | true true true
$layout, $engine: which add up | tier("Tier-2").write | (.device_us.mean - .meta_us.mean - .io_us.mean | fabs < 0.01), (.service_us.mean - .slot_us.mean - .device_us.mean - .host_us.mean | fabs < 0.1) | true true
END
    done
done

# More served requests than the usual depth have an I/O each.
awk -v header=$header 'BEGIN {
    print header ",Request"
    for (i = 0; i < 60; i++) printf "0,Read,65536,Tier-2,k%d,Decode,%d\n", i % 8, i
}' >"$TMP/served.csv"
depth() { # NAME "N I/Os of KIB" OPTIONS...
    name=$1 want=$2
    shift 2
    exits "$name" 0 "$BIN/kvreplay" --nvme "$TMP/d" "$@" --no-notes -o "$TMP/o.csv" --summary "$summary" "$TMP/served.csv"
    like "$name: $want" "$(tier2 '.flags[]')" "(^|[^0-9])$want KiB"
}
depth "few workers" "32 I/Os of 1024" --timing served --workers 4
depth "many workers" "60 I/Os of 1024" --timing served --workers 60
depth "very many" "256 I/Os of 64" --timing served --workers 1000 --chunk-size 64KiB
depth "large ones" "64 I/Os of 4096" --timing served --workers 1000 --chunk-size 4MiB
depth "as told" "8 I/Os of 1024" --timing served --workers 60 --iodepth 8
depth "without workers" "32 I/Os of 1024"

# Rings and registered buffers take lockable memory, of which there may be little. Then there are as many I/Os, through
# smaller rings or, where these have no room either, all by threads. A bug looked like two rings and two pools of
# threads together, reported as io_uring, and a ring that was refused because it was larger than needed.
locked() {
    limit=$(($1 * 1024))
    shift
    set -- "$BIN/kvreplay" --nvme "$TMP/d" --timing served --workers 1000 --no-notes -o "$TMP/o.csv" --summary "$summary" "$@" \
        "$TMP/served.csv"
    if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then set -- setpriv --bounding-set=-all --inh-caps=-all "$@"; fi
    prlimit --memlock=$limit "$@"
}
for rings in 1 4; do
    exits "$rings: little memory to lock" 0 locked 64 --config rings=$rings
    engine=io_uring
    case $(tier2 '.fallbacks[]') in *'io_uring refused'*) engine=psync ;; esac
    is "$rings: one engine, as said" "$(tier2 .engine)" $engine
    like "$rings: as many I/Os" "$(tier2 '.flags[]')" '256 I/Os of 1024 KiB'
done

# Files are open while their objects are moved, and with psync each takes a descriptor: as many as the host allows.
# A bug looked like rows that failed with EMFILE under the limits of a new shell.
awk -v header=$header 'BEGIN {
    print header
    for (i = 0; i < 600; i++) printf "0,Write,16384,Tier-2,f%d,Prefill\n", i
}' >"$TMP/many.csv"
limited() {
    ulimit "$1" "$2" || return
    shift 2
    "$BIN/kvreplay" --nvme "$TMP/n" --config ioengine=psync --inflight 4096 --no-notes -o "$TMP/o.csv" "$@" "$TMP/many.csv"
}
exits "a soft limit of open files is raised" 0 limited -Sn 128
exits "a hard one is kept to" 0 limited -n 340 --chunk-size 4KiB
exits "one that is too low is refused" 3 limited -n 128
stderr_like "and why" 'but the limit is 128 in all \(ulimit -n\); --layout slab'
