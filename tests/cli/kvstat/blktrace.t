#!/bin/sh
# blktrace.t - --blktrace reads what blktrace recorded beside a run: events of blkparse -d in either byte order, joined to requests
# through merges, splits, parts and what was put back, and latencies of btt. Times are those that the file says, to the last
# nanosecond that a histogram keeps. A cut file gives what is before; what is neither is refused with its place. A bug looked like a
# message of blktrace that was taken for a request.
# builds: plain address
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || {
    echo '1..0 # SKIP there is no python3'
    exit 0
}
cd "$TMP" || exit 1
kvstat=$BIN/kvstat

# As linux/blktrace_api.h says: 48 bytes, and what the driver added.
cat >make.py <<'PY'
import struct, sys
READ, WRITE, SYNC, QUEUE, REQUEUE, ISSUE, COMPLETE, FS, PC, NOTIFY, DISCARD = (1 << b + 16 for b in (0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 13))
def event(order, time, sector, size, act, flags, device=8 << 20, pdu=b""):
    return struct.pack(order + "IIQQIIIIIHH", 0x65617407, 1, time, sector, size, act | flags, 77, device, 1, 0, len(pdu)) + pdu
order, name = sys.argv[1:]
out = b""
def add(*a, **k):
    global out
    out += event(order, *a, **k)
add(0, 0, 0, 0, NOTIFY, pdu=b"\0" * 8)                 # the name of a process
add(5, 0, 0, 7, NOTIFY | ISSUE, pdu=b"a message")      # and words that are no issue
for i in range(100):                                   # reads of 128 KiB, of 1 ms to 100 ms
    t = 10 ** 9 + i * 10 ** 9
    add(t - 500, 1000 + 256 * i, 131072, 1, READ | QUEUE)
    add(t, 1000 + 256 * i, 131072, 7, READ | ISSUE | FS, pdu=b"x" * (i % 40))
    add(t + (i + 1) * 10 ** 6, 1000 + 256 * i, 131072, 8, READ | COMPLETE)
t = 200 * 10 ** 9
add(t, 5000, 4096, 7, WRITE | SYNC | ISSUE, 8 << 20 | 16)   # put back, issued again: 30 us in all
add(t + 10000, 5000, 4096, 6, WRITE | SYNC | REQUEUE, 8 << 20 | 16)
add(t + 20000, 5000, 4096, 7, WRITE | SYNC | ISSUE, 8 << 20 | 16)
add(t + 30000, 5000, 4096, 8, WRITE | SYNC | COMPLETE, 8 << 20 | 16)
add(t + 40000, 0, 8192, 7, WRITE | ISSUE)                   # completed in two parts: 20 us
add(t + 50000, 0, 4096, 8, WRITE | COMPLETE)
add(t + 60000, 8, 4096, 8, WRITE | COMPLETE)
add(t + 70000, 64, 1 << 20, 7, WRITE | ISSUE | DISCARD)
add(t + 70000, 0, 0, 7, WRITE | ISSUE)                      # a flush
add(t + 80000, 999, 512, 8, READ | COMPLETE)                # from before the recording
add(t + 90000, 2000, 512, 7, READ | ISSUE)                  # and one that stays
open(name, "wb").write(out)
PY
python3 make.py '<' little.bin
python3 make.py '>' big.bin
for file in little.bin big.bin; do
    exits "$file" 0 "$kvstat" --json --blktrace $file
    cp stdout b.json
    is "$file: counts" "$(json b.json '.blktrace[0] | .format, .drive_requests, .requeued, .unjoined, .other_requests')" 'blktrace 102 1 1 2'
    is "$file: by device, direction and size" "$(json b.json '.blktrace[0].drive_times[] | [.device, .op, .size, .bytes, .drive_us.count]')" \
        '["8:0","Read","up to 256 KiB",13107200,100] ["8:0","Write","up to 64 KiB",8192,1] ["8:16","Write","up to 4 KiB",4096,1]'
    is "$file: times" "$(json b.json '.blktrace[0].drive_times | (.[0].drive_us | .min, .max), .[1].drive_us.max, .[2].drive_us.max')" \
        '1000 100000 20 30'
    is "$file: percentiles within 1 %" "$(json b.json '.blktrace[0].drive_times[0].drive_us | ((.p50 / 50000 - 1 | fabs) < 0.01), ((.p95 / 95000 - 1 | fabs) < 0.01)')" 'true true'
done
exits 'as text' 0 "$kvstat" --blktrace little.bin
stdout_like 'the counts' '^little.bin: 102 requests joined of 313 events of blktrace; 1 put back, 1 completions without an issue, 2 flushes and discards$'
stdout_like 'a line for each group' '^  8:0 read up to 256 KiB +100 +12.50 MiB +5[01][.0-9]* ms +9[56][.0-9]* ms'
exits 'from a pipe' 0 sh -c "cat little.bin | '$kvstat' --json --blktrace -"
is 'is the same' "$(json stdout '.blktrace[0].drive_requests')" 102

# btt: time and latency of each I/O in seconds.
printf '     0.000123456     0.000100000\n     1.5 0.0002\n\n  2 0.000300000\n' >t_8,0_d2c.dat
exits 'latencies of btt' 0 "$kvstat" --json --blktrace t_8,0_d2c.dat little.bin
is 'and events in one call' "$(json stdout '.blktrace[] | .format, .events')" 'btt 3 blktrace 313'
is 'their times' "$(json stdout '.blktrace[0].latency_us | .count, .min, .max')" '3 100 300'

# Cut anywhere, the figures are those before.
size=$(wc -c <little.bin)
for at in 47 50 100 5000 $((size - 1)); do
    head -c "$at" little.bin >cut.bin
    exits "cut at $at" 2 "$kvstat" --json --blktrace cut.bin
    stderr_like "cut at $at: said" '^kvstat: cut.bin: the file is cut within '
done
is 'nothing is lost but the last event' "$(json stdout '.blktrace[0] | .events, .drive_requests')" '312 102'
refused() { # NAME FILE WORDS
    exits "$1" 2 "$kvstat" --blktrace "$2"
    stderr_like "$1: said" "$3"
}
{ cat little.bin && printf 'nonsense, and more of it than an event of blktrace has bytes'; } >behind.bin
refused 'something behind the events' behind.bin "^kvstat: behind.bin: byte $size: this is no event of blktrace"
printf '0 0.1\n0 0.1 7\n' >three
refused 'three columns' three '^kvstat: three: line 2: neither an event'
printf '0 -1\n' >negative
refused 'a negative latency' negative 'line 1: neither'
printf '0 nan\n' >nan
refused 'no number' nan 'line 1: neither'
printf '0 0.1\000\n' >zero
refused 'a zero byte' zero 'line 1: neither'
head -c 100000 /dev/zero | tr '\0' 1 >long
refused 'a line without end' long 'line 1: neither'
refused 'a result' "$DATA/kvstat_dozen.csv" 'line 1: neither'
refused 'no file' none 'none: cannot open: No such file'
# What blkparse -d wrote of a loop device, and what btt 1.2.0 said of it: 164 D2C, 0.000015399 to 0.030196812 s, 0.012128680 on average.
zstd -dcq "$DATA/blktrace_loop.bin.zst" >recorded.bin
exits 'events of the kernel' 0 "$kvstat" --blktrace --json recorded.bin
is 'as many requests as btt has' "$(json stdout '.blktrace[0].drive_requests, .blktrace[0].unjoined')" '164 0'
is 'and as long' "$(json stdout '[.blktrace[0].drive_times[].drive_us] | (map(.min) | min), (map(.max) | max),
    ((map(.mean * .count) | add) / (map(.count) | add) | . * 10 | round / 10)')" '15.399 30196.812 12128.7'
for option in '--csv' '--by tier' '--run s.json' '--verify-trace' '--compare little.bin'; do
    exits "$option" 2 with "$option" "$kvstat" --blktrace little.bin
    stderr_like "$option is refused" 'does not apply with --(blktrace|compare)'
done
done_testing
