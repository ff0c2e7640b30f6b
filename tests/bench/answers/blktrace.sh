#!/bin/sh
# blktrace.sh BIN FOLDER [ROWS] - what kvreplay --device-times says of the requests at a loop device, against blktrace of the same run:
# the kernel's own events of blktrace (the tracer blk in binary, where debugfs is closed to the program), read by blkparse, counted
# and timed by btt, and read by kvstat --blktrace. Needs root, python3, blkparse and btt, and no other user of the tracer.
# Prints requests, and P50, P95 and P99 of D2C, of each; judges nothing.
set -eu
export LC_ALL=C
[ $# -ge 2 ] || {
    sed -n '2,5s/^# //p' "$0"
    exit 2
}
bin=$(cd "$1" && pwd)
image=$2/kvtrace-bench-$$.img
ROWS=${3:-20000}
[ -n "${KVTRACE_OWN_MOUNTS-}" ] || KVTRACE_OWN_MOUNTS=yes exec unshare -m "$0" "$@"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
cd "$tmp"
tracing=/sys/kernel/tracing
mount -t tracefs none $tracing
clock=$(grep -o '\[.*\]' $tracing/trace_clock | tr -d '[]')
loop='' reader=''
leave() {
    [ -z "$reader" ] || kill "$reader"
    echo nop >$tracing/current_tracer
    echo nobin >$tracing/trace_options
    echo "$clock" >$tracing/trace_clock
    [ -z "$loop" ] || losetup -d "$loop"
    rm -rf "$tmp" "$image"
}
trap leave EXIT
truncate -s 600M "$image"
loop=$(losetup --find --show --direct-io=on "$image")
awk -v n="$ROWS" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 400; i++) printf "0,Write,131072,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < n; i++)
        printf "0,%s,131072,Tier-2,k%d,%s\n", i % 7 ? "Read" : "Write", (i * 37) % 400, i % 7 ? "Decode" : "Prefill"
}' >t.csv

echo mono >$tracing/trace_clock
echo blk >$tracing/current_tracer
echo bin >$tracing/trace_options
echo 16384 >$tracing/buffer_size_kb
echo 1 >"/sys/block/${loop#/dev/}/trace/enable"
cat $tracing/trace_pipe >events &
reader=$!
"$bin/kvreplay" --progress none --device-times yes --inflight 8 --order key --target "$loop" --destroy-data --summary s.json \
    -o r.csv t.csv 2>err
echo 0 >"/sys/block/${loop#/dev/}/trace/enable"
sleep 1 # what is left in the buffers
kill "$reader"
reader=''

# Before each event stand a process, a processor and a time (8 + 8 bytes); blktrace has a file for each processor, and numbers.
python3 - <<'END'
import struct
data, at, of = open("events", "rb").read(), 0, {}
while at + 64 <= len(data):
    head = data[at + 16:at + 64]
    time, cpu, extra = struct.unpack_from("<Q", head, 8)[0], struct.unpack_from("<I", head, 40)[0], struct.unpack_from("<H", head, 46)[0]
    of.setdefault(cpu, []).append((time, head, data[at + 64:at + 64 + extra]))
    at += 64 + extra
for cpu, events in of.items():
    events.sort(key=lambda e: e[0])
    with open(f"run.blktrace.{cpu}", "wb") as out:
        for i, (_, head, pdu) in enumerate(events):
            out.write(head[:4] + struct.pack("<I", i + 1) + head[8:] + pdu)
END
blkparse -i run -O -d run.bin >/dev/null
blkparse -i run 2>/dev/null | sed -n '/^Total/,$p' >blkparse.txt
grep -q . blkparse.txt || blkparse -i run 2>/dev/null | sed -n '/^CPU/,$p' >blkparse.txt
btt -i run.bin -l d2c >btt.txt 2>/dev/null
"$bin/kvstat" --blktrace --json run.bin >k.json
python3 - "${loop#/dev/}" <<'END'
import csv, glob, json, re, sys
def of(values, p):
    values = sorted(values)
    return values[max(0, -(-len(values) * p // 100) - 1)]
def line(name, n, p):
    print(f"{name:34} {n:9} " + " ".join(f"{v:11.1f}" for v in p))
parse = open("blkparse.txt").read()
done = sum(int(n) for n in re.findall(r"(?:Reads|Writes) Completed: +(\d+)", parse))
us = [float(l.split()[1]) * 1e6 for f in glob.glob("d2c*.dat") for l in open(f)]
print(f"{'':34} {'requests':>9} {'P50 us':>11} {'P95 us':>11} {'P99 us':>11}")
print(f"{'blkparse: completed':34} {done:9}")
line("btt: D2C", len(us), [of(us, p) for p in (50, 95, 99)])
rows = list(csv.DictReader(l for l in open("r.csv") if l[0] != "#"))
us = [float(r["Drive_us"]) for r in rows if r["Drive_us"]] # one request each
line("--device-times: Drive_us of rows", len(us), [of(us, p) for p in (50, 95, 99)])
s = json.load(open("s.json"))
def groups(found, name):
    for g in found:
        t = g["drive_us"]
        line(f"{name}: {g['op']} {g['size']}", t["count"], [t["p50"], t["p95"], t["p99"]])
    print(f"{name + ': all':34} {sum(g['drive_us']['count'] for g in found):9}")
groups([g for g in s["drive_times"] if g["device"] == sys.argv[1]], "--device-times")
def find(v):
    if isinstance(v, dict):
        if "drive_us" in v: yield v
        for x in v.values(): yield from find(x)
    elif isinstance(v, list):
        for x in v: yield from find(x)
groups(list(find(json.load(open("k.json")))), "--blktrace")
END
