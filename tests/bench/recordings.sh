#!/bin/sh
# recordings.sh [DIR] [RECORDS] - how fast kvgen reads recordings that are made of the samples again and again, in DIR
# (default: /tmp). Wanted: a million records of LMCache's .lct a second, Dynamo's request trace at five times jq, which
# prints one member of each line of the same file, and an hour of one publisher's KV events (50 messages a second) in
# seconds. Each is read three times; the least time of a processor counts, which other programs disturb least. Judges
# nothing.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
RECORDS=${2:-300000}
TMP=$(mktemp -d "${1:-${TMPDIR:-/tmp}}/recordings.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
samples=$TOP/tests/data/recordings

# again SAMPLE COUNT OUT: the sample as often as COUNT records or messages take, each time later, and numbered on. Prints
# how many it has.
again() {
    python3 - "$@" <<'END'
import re, struct, sys
sample, count, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
b = open(sample, 'rb').read()
kv_events = b[:8] == b'ZMQREC1\n'
head = 8 if kv_events else 4 + struct.unpack('>I', b[:4])[0]
body, starts, at = bytearray(b[head:]), [], 0
while at < len(body):
    starts.append(at)
    if kv_events:
        at += 16
        for frame in range(3):
            at += 4 + struct.unpack_from('>I', body, at)[0]
    else:
        at += 4 + struct.unpack_from('>I', body, at)[0]
first = {}
places = []  # offset, format, value, step from one time to the next
def patch(offset, fmt, step, scale=1):
    value = struct.unpack_from(fmt, body, offset)[0]
    if fmt == '>d':
        first.setdefault(0, value)
        value = first[0] + (value - first[0]) * scale
    places.append((offset, fmt, value, step))
if kv_events:
    for number, s in enumerate(starts):
        topic = struct.unpack_from('>I', body, s + 16)[0]
        seq = s + 16 + 4 + topic + 4
        struct.pack_into('>Q', body, seq, number)
        patch(seq, '>Q', len(starts))
        # Behind the heads of array and number; the sample takes 13 s, and here 1.54 s.
        patch(seq + 8 + 4 + 2, '>d', 1.54, 0.1)
else:
    for m in re.finditer(rb'\xa6t_wall\xcb|\xa2ts\xcb', bytes(body)):
        patch(m.end(), '>d', 60.0)
    for m in re.finditer(rb'\xabincarnation\xce', bytes(body)):
        patch(m.end(), '>I', 1)
with open(out, 'wb') as f:
    f.write(b[:head])
    times = -(-count // len(starts))
    for k in range(times):
        for offset, fmt, value, step in places:
            struct.pack_into(fmt, body, offset, value + k * step)
        f.write(body)
print(times * len(starts), times * places[1][3] if kv_events else '')
END
}
seconds() { # COMMAND...: of a processor, the least of three runs
    python3 - "$@" <<'END'
import resource, subprocess, sys
def used():
    u = resource.getrusage(resource.RUSAGE_CHILDREN)
    return u.ru_utime + u.ru_stime
def run():
    before = used()
    subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return used() - before
print('%.3f' % min(run() for _ in range(3)))
END
}
read_all() { seconds "$BIN/kvgen" -m tiny-1b --input "$1" -o none; }

for level in storage events; do
    records=$(again "$samples/lmcache-0.5.6-$level.lct" "$RECORDS" "$TMP/in.lct")
    s=$(read_all "$TMP/in.lct")
    echo "$records" | awk -v level=$level -v s="$s" -v bytes="$(stat -c %s "$TMP/in.lct")" '{
        printf "lct, level %s: %.2f million records a second (%.0f MB/s; %d records in %s s)\n",
            level, $1 / s / 1e6, bytes / s / 1e6, $1, s }'
done
rm "$TMP/in.lct"

for what in 'requests and payloads' requests; do
    sample=$samples/dynamo-1.6.1-request-trace-sessions-payload.jsonl
    if [ "$what" = requests ]; then
        grep request_end "$sample" >"$TMP/requests"
        sample=$TMP/requests
    fi
    awk -v n=$((RECORDS / 300)) '{ line[NR] = $0 } END { for (k = 0; k < n; k++) for (i = 1; i <= NR; i++) print line[i] }' \
        "$sample" >"$TMP/in.jsonl"
    s=$(read_all "$TMP/in.jsonl")
    jq_s=$(seconds jq .event.request.input_tokens "$TMP/in.jsonl")
    awk -v what="$what" -v s="$s" -v jq="$jq_s" -v lines="$(wc -l <"$TMP/in.jsonl")" 'BEGIN {
        printf "dynamo, %s: %.1f times jq (%s s and %s s for %d lines)\n", what, jq / s, s, jq, lines }'
done
rm "$TMP/in.jsonl"

again "$samples/vllm-0.33.0-manager-bytes.zmqrec" 180000 "$TMP/in.zmqrec" >"$TMP/made"
s=$(read_all "$TMP/in.zmqrec")
awk -v s="$s" '{ printf "kv-events, one publisher: an hour (%d messages of %d s) in %s s\n", $1, $2, s }' "$TMP/made"
