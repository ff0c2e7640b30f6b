#!/bin/sh
# ios.t - what the summary says of the I/Os beneath Tier-2: as many as the objects have chunks, those of populating left
# out, never more in flight than --iodepth, nearly as many when there is enough to do, and one by one where the load is so.
# A bug looked like this: a depth that was asked for and not held, which no figure showed.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

tier2() { python3 -c 'import json, sys; print([t for t in json.load(open(sys.argv[1]))["tiers"] if t["tier"] == "Tier-2"][0][sys.argv[2]])' "$TMP/summary.json" "$1"; }
# rows OP N: N operations on objects of 4 MiB.
rows() { awk -v op="$1" -v n="$2" 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"; for (i = 0; i < n; i++) printf "0,%s,4194304,Tier-2,k%d,Decode\n", op, i % 8 }'; }
rows Write 8 >"$TMP/w.csv"
rows Read 64 >"$TMP/r.csv"

plan 42
for layout in files slab; do
    exits "$layout: reads" 0 "$BIN/kvreplay" --nvme "$TMP/d" --layout $layout --chunk-size 512KiB --iodepth 4 -o "$TMP/o.csv" \
        --summary "$TMP/summary.json" "$TMP/r.csv"
    is "$layout: an I/O for each chunk, of the reads only" "$(tier2 ios)" 512
    q=$(tier2 mean_ios_in_flight)
    ok "$layout: some in flight, 4 at most ($q)" awk "BEGIN { exit !($q > 0.5 && $q <= 4) }"
done
exits "object by object, chunk by chunk" 0 "$BIN/kvreplay" --nvme "$TMP/d" --inflight 1 --chunk-size 4MiB --iodepth 4 -o "$TMP/o.csv" \
    --summary "$TMP/summary.json" "$TMP/w.csv"
is "one I/O for each" "$(tier2 ios)" 8
q=$(tier2 mean_ios_in_flight)
ok "one in flight at most ($q)" awk "BEGIN { exit !($q > 0 && $q <= 1) }"
exits "an engine without I/Os" 0 "$BIN/kvreplay" --tier-engine 2=null -o "$TMP/o.csv" --summary "$TMP/summary.json" "$TMP/w.csv"
is "counts none" "$(tier2 ios)" None
is "and has none in flight" "$(tier2 mean_ios_in_flight)" None

# Objects take turns: none waits behind a large one, and of several large ones each has I/Os in flight nearly all of its time.
# A bug looked like this: sixteen objects read at once, fifteen of which waited, which was said to be the host's time.
awk 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 4; i++) printf "0,Read,67108864,Tier-2,k%d,Decode\n", i
    print "0,Read,4096,Tier-2,small,Decode" }' >"$TMP/turns.csv"
turns() {
    "$BIN/kvreplay" --nvme "$TMP/d" --layout "$layout" --chunk-size 256KiB --iodepth 8 --verify none -o "$TMP/o.csv" \
        "$TMP/turns.csv" && python3 -c '
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert rows[0]["Key"] == "small", [r["Key"] for r in rows]
for r in rows[1:]:
    share = float(r["Device_us"]) / float(r["Latency_us"])
    assert share > 0.5, (r["Key"], share)' "$TMP/o.csv"
}
for layout in files slab; do ok "$layout: a small object is done first, and each large one is at the device" tries 5 turns; done

# Sixty-four objects through one I/O; reads, a delete and writes of one key behind a large write of it, among small objects that
# come and go. Each ends well, what is there after the delete is not what was there before, and all bytes are counted.
awk 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    printf "0,Write,16777216,Tier-2,k,Prefill\n0,Read,16777216,Tier-2,k,Decode\n0,Read,10,Tier-2,k,Decode\n0,Delete,0,Tier-2,k,Evict\n"
    printf "0,Read,10,Tier-2,k,Decode\n0,Write,5000,Tier-2,k,Prefill\n0,Read,5000,Tier-2,k,Decode\n0,Write,16777216,Tier-2,k,Prefill\n"
    printf "0,Read,16777216,Tier-2,k,Evict\n0,Read,1,Tier-2,k,Decode\n"
    for (i = 0; i < 100; i++) printf "0,Write,%d,Tier-2,s%d,Prefill\n0,Read,%d,Tier-2,s%d,Decode\n0,Delete,0,Tier-2,s%d,Evict\n", 1 + i * 61, i, 1 + i * 61, i, i
}' >"$TMP/queue.csv"
for layout in files slab; do
    for engine in auto psync; do
        exits "$layout, $engine: one I/O" 0 "$BIN/kvreplay" --nvme "$TMP/d" --layout $layout --ioengine $engine --iodepth 1 --inflight 64 \
            --chunk-size 64KiB --verify full --on-absent skip -o "$TMP/o.csv" --summary "$TMP/summary.json" "$TMP/queue.csv"
        ok "$layout, $engine: each row after those of its key, all bytes" python3 -c '
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
of = [r for r in rows if r["Key"] == "k"]
start = lambda r: float(r["Start"])
end = lambda r: start(r) + float(r["Latency_us"]) / 1e6
order = sorted(of, key=start)
assert [(r["Operation"], r["Status"]) for r in order if r["Operation"] != "Read"] == [("Write", "ok"), ("Delete", "ok"), ("Write", "ok"), ("Write", "ok")]
assert sorted(r["Object_Size_Bytes"] for r in of if r["Status"] == "absent") == ["1", "10"]
for a, b in zip(order, order[1:]):
    both = {a["Operation"], b["Operation"]} == {"Read"}
    assert both or start(b) >= end(a) - 2e-6, (a, b)
for r in rows:
    assert r["Status"] == "ok" or r["Key"] == "k", r
    assert not r["Device_us"] or float(r["Device_us"]) <= float(r["Latency_us"]) + 1e-3, r
t = [t for t in json.load(open(sys.argv[2]))["tiers"] if t["tier"] == "Tier-2"][0]
for op in "Read", "Write":
    assert t[op.lower()]["bytes"] == sum(int(r["Object_Size_Bytes"]) for r in rows if (r["Operation"], r["Status"]) == (op, "ok"))
assert t["mean_ios_in_flight"] <= 1, t' "$TMP/o.csv" "$TMP/summary.json"
    done
done

# Served requests each have an I/O where they are more than the usual depth.
awk 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request"
    for (i = 0; i < 60; i++) printf "0,Read,65536,Tier-2,k%d,Decode,%d\n", i % 8, i }' >"$TMP/served.csv"
depth() { # text wanted options
    depth_name=$1 depth_want=$2
    shift 2
    exits "$depth_name" 0 "$BIN/kvreplay" --nvme "$TMP/d" "$@" -o "$TMP/o.csv" --summary "$TMP/summary.json" "$TMP/served.csv"
    is "$depth_name: $depth_want" "$(tier2 flags | sed 's/.*'\''\([0-9]* I.Os of [0-9]*\) KiB.*/\1/')" "$depth_want"
}
depth "few workers" "32 I/Os of 1024" --timing served --workers 4
depth "many workers" "60 I/Os of 1024" --timing served --workers 60
depth "very many" "256 I/Os of 64" --timing served --workers 1000 --chunk-size 64KiB
depth "large ones" "64 I/Os of 4096" --timing served --workers 1000 --chunk-size 4MiB
depth "as told" "8 I/Os of 1024" --timing served --workers 60 --iodepth 8
depth "without workers" "32 I/Os of 1024"

# Rings and registered buffers take memory that may be locked, of which there may be little: as many I/Os all the same, through
# smaller rings, and where these have no room either, by threads, all of them.
# A bug looked like this: two rings beside two pools of threads, called io_uring, and a ring refused that need not be so large.
locked() (
    # shellcheck disable=SC3045
    ulimit -l "$1" || return
    shift
    drop=
    if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then drop='setpriv --bounding-set=-all --inh-caps=-all'; fi
    $drop "$BIN/kvreplay" --nvme "$TMP/d" --timing served --workers 1000 -o "$TMP/o.csv" --summary "$TMP/summary.json" "$@" "$TMP/served.csv"
)
for rings in 1 4; do
    exits "$rings: little memory to lock" 0 locked 64 --rings $rings
    ok "$rings: one engine, as said" python3 -c '
import json, sys
t = [t for t in json.load(open(sys.argv[1]))["tiers"] if t["tier"] == "Tier-2"][0]
refused = any("io_uring refused" in f for f in t["fallbacks"])
assert t["engine"] == ("psync" if refused else "io_uring"), t
assert any("256 I/Os of 1024 KiB" in f for f in t["flags"]), t' "$TMP/summary.json"
done

# Files are open while their objects are moved, with psync each takes a descriptor: as many as the host allows.
# A bug looked like this: rows that failed with EMFILE under the limits that a shell begins with.
awk 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 600; i++) printf "0,Write,65536,Tier-2,f%d,Prefill\n", i }' >"$TMP/many.csv"
limited() {
    ulimit "$1" "$2" || return
    shift 2
    "$BIN/kvreplay" --nvme "$TMP/n" --ioengine psync --inflight 4096 -o "$TMP/o.csv" "$@" "$TMP/many.csv"
}
exits "a soft limit of open files is raised" 0 limited -Sn 128
exits "a hard one is kept to" 0 limited -n 340 --chunk-size 4KiB
exits "one that is too low is refused" 3 limited -n 128
like "and why" "$(cat "$TMP/stderr")" 'and 64 can be \(ulimit -n\); --layout slab'
