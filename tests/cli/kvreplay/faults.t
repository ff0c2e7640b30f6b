#!/bin/sh
# faults.t - one of several objects in flight fails: only its row says why, the others end ok and are counted once, the
# exit status is 1, and nothing of it stays, with every layout and engine. A run that ends with the first failure, by a
# signal or by --duration has a result for each row that it began, and keeps whole objects only.
# A bug looked like rows that failed beside the first one and had no result, because the run was ending.
# builds: plain address (threads of the engines: matrix.t; that are stopped: interrupt.t, ends_early.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
summary=$TMP/summary.json

# rows OP: twenty objects of 64 KiB and odd sizes, of which "large" has 4 MiB, and nobody else.
rows() {
    awk -v op="$1" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < 20; i++)
            if (i == 7) printf "0,%s,4194304,Tier-2,large,Decode\n", op
            else printf "0,%s,%d,Tier-2,k%d,Decode\n", op, 65536 + i * 997, i
    }'
}
rows Write >"$TMP/w.csv"
rows Read >"$TMP/r.csv"
{ cat "$TMP/w.csv"; sed 1d "$TMP/r.csv"; } >"$TMP/wr.csv"
statuses() { awk -F, 'NR > 1 { n[$NF]++ } END { for (status in n) print status, n[status] }' "$TMP/o.csv" | sort |
    tr '\n' ' '; }
of_large() { awk -F, '$5 == "large" { print $NF }' "$TMP/o.csv"; }
moved() { json "$summary" 'tier("Tier-2") | .read, .write | .ops, .bytes'; }
# as WAY: sets at, the arguments of an engine of ours, or of a layout like another one's.
as() {
    case $1 in
    slab) at="--nvme $TMP/d --layout slab" ;;
    files) as auto ;;
    *-fs*) at="--target file:$TMP/d?like=$1&pages=small&pool=1MiB&workers=2" ;;
    *) at="--nvme $TMP/d --chunk-size 64KiB --iodepth 4 --config ioengine=$1" ;;
    esac
}
as auto
objects() { find "$TMP/d" -type f ! -name '.kvtrace*' ! -name config.json; }
# below KIB ARGUMENTS...: a run that cannot make a larger file.
below() (
    ulimit -f $(($1 * 2)) || return
    shift
    with "$at" "$BIN/kvreplay" --progress none "$@"
)
into() {
    with "$at" "$BIN/kvreplay" --destroy-data --progress none --no-notes -o "$TMP/o.csv" --summary "$summary" "$@"
}
bytes=$(awk -F, 'NR > 1 && $5 != "large" { n += $3 } END { print n }' "$TMP/w.csv")

for engine in auto psync lmcache-fs lmcache-fs-direct vllm-fs; do
    as $engine
    exits "$engine: one object that may not be so large" 1 below 2048 --keep --no-notes -o "$TMP/o.csv" \
        --summary "$summary" "$TMP/wr.csv"
    is "$engine: its write fails, its read finds nothing, the others are ok" "$(statuses)" "EFBIG 1 absent 1 ok 38 "
    is "$engine: it is that one" "$(of_large | tr '\n' ' ')" "EFBIG absent "
    is "$engine: counted once" "$(json "$summary" '.rows.ok, .rows.failed, .rows.absent')" "38 1 1"
    is "$engine: what was moved" "$(moved)" "19 $bytes 19 $bytes"
    is "$engine: nothing of it is kept" "$(objects | wc -l)" 19
    exits "$engine: the others are" 0 into --on-absent skip --verify full "$TMP/r.csv"
    is "$engine: whole" "$(json "$summary" .populated.adopted_objects) $(statuses)" "19 absent 1 ok 19 "

    # Here all rows fail, so those in flight beside the one that ends the run have failed too: each has its result.
    sed -E '2,$s/,[0-9]+,Tier/,4194304,Tier/' "$TMP/w.csv" >"$TMP/all.csv"
    exits "$engine: the first failure ends it" 1 below 2048 --inflight 16 --config on_error=stop \
        --no-notes -o "$TMP/o.csv" --summary "$summary" "$TMP/all.csv"
    is "$engine: each of 16 rows in flight has a result" \
        "$(awk -F, 'NR > 1 && $NF == "EFBIG"' "$TMP/o.csv" | wc -l | awk '{ print ($1 >= 16) }')" 1
    is "$engine: as counted" "$(json "$summary" .rows.failed)" "$(sed 1d "$TMP/o.csv" | wc -l)"
    not_ok "$engine: and leaves nothing" test -e "$TMP/d"
done
as auto
exits "a slab that may not be so large" 3 below 2048 --layout slab --no-notes -o "$TMP/o.csv" "$TMP/w.csv"
stderr_like "is refused at the start" '^kvreplay: .*/d: cannot be made [0-9]+ bytes long: '

# block_of_largest FILE: the number of a block of 4 KiB in the middle of the largest object of a slab. A block begins with
# KVTRACE1 and 16 bytes that identify its object.
block_of_largest() {
    python3 - "$1" <<'END'
import os, sys
blocks = {}
file, end = os.open(sys.argv[1], os.O_RDONLY), 0
while end < os.path.getsize(sys.argv[1]):
    try:
        begin = os.lseek(file, end, os.SEEK_DATA)
    except OSError:
        break # nothing but a hole
    end = os.lseek(file, begin, os.SEEK_HOLE)
    for part in range(begin, end, 1 << 20):
        data = os.pread(file, min(1 << 20, end - part), part)
        for at in range(0, len(data), 4096):
            if data[at:at + 8] == b"KVTRACE1": blocks.setdefault(data[at + 8:at + 24], []).append((part + at) // 4096)
largest = max(blocks.values(), key=len)
print(largest[len(largest) // 2])
END
}
# A block in the middle of one object is overwritten between two runs.
for layout in files slab; do
    ways='auto psync lmcache-fs lmcache-fs-direct vllm-fs'
    [ $layout = files ] || ways='auto psync'
    for engine in $ways; do
        as "$engine"
        case $engine in *-fs*) ;; *) at="$at --layout $layout --storage-capacity 16MiB" ;; esac
        into --keep "$TMP/w.csv" 2>"$TMP/err"
        if [ $layout = files ]; then
            file=$(find "$TMP/d" -type f -size +4000k) middle=512
        else
            file=$TMP/d/slab.kv middle=$(block_of_largest "$TMP/d/slab.kv")
        fi
        dd if=/dev/zero of="$file" bs=4096 seek="$middle" count=1 conv=notrunc 2>"$TMP/err"
        exits "$layout, $engine: a block that is not ours" 1 into "$TMP/r.csv"
        is "$layout, $engine: one row is corrupt" "$(of_large) $(statuses)" "corrupt corrupt 1 ok 19 "
        is "$layout, $engine: counted once" "$(json "$summary" '(tier("Tier-2").read | .ops, .bytes), .rows.corrupt')" \
            "19 $bytes 1"
    done
done

# A full device: a file system of 1 MiB holds some of 200 objects of a page and a byte, which take two pages each.
awk 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 200; i++) printf "0,Write,4097,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < 200; i++) printf "0,Read,4097,Tier-2,k%d,Decode\n", i }' >"$TMP/full.csv"
mkdir "$TMP/m"
full() {
    unshare -Urm sh -c "mount -t tmpfs -o size=1m tmpfs \"\$1\" && shift && exec \"\$@\"" - "$TMP/m" "$BIN/kvreplay" \
        --reserve 0 --cpu-mem 1MiB --progress none --verify full --on-absent skip "$@" --no-notes -o "$TMP/o.csv" \
        --summary "$summary" <"$TMP/pipe"
}
# sums: whether some writes fit, all writes, whether as many reads find an object, all reads.
sums() {
    awk -F, 'NR > 1 { n[$2 " " $NF]++ } END {
        fit = n["Write ok"]
        print (fit > 50 && fit < 200), fit + n["Write ENOSPC"], (n["Read ok"] == fit), n["Read ok"] + n["Read absent"]
    }' "$TMP/o.csv"
}
mkfifo "$TMP/pipe"
for engine in auto psync lmcache-fs lmcache-fs-direct vllm-fs; do
    case $engine in
    *-fs*) on="--target file:$TMP/m/d?like=$engine&pages=small&pool=1MiB" ;;
    *) on="--nvme $TMP/m/d --config ioengine=$engine" ;;
    esac
    if unshare -Urm mount -t tmpfs tmpfs "$TMP/m" 2>"$TMP/err"; then
        cat "$TMP/full.csv" >"$TMP/pipe" &
        with "$on" exits "$engine: a device that fills up" 1 full
        is "$engine: what fits is written and read, the rest fails" "$(sums)" "1 200 1 200"
        stderr_like "$engine: and it is said" 'ENOSPC: '
    else
        for what in 'exit status' rows text; do ok "$engine: a full device: $what # SKIP no mount here" true; done
    fi
done

# Room for bytes, and none for files.
if unshare -Urm mount -t tmpfs tmpfs "$TMP/m" 2>"$TMP/err"; then
    exits "a file system without inodes" 1 unshare -Urm sh -c "mount -t tmpfs -o size=64m,nr_inodes=250 tmpfs \"\$1\" &&
        shift && exec \"\$@\"" - "$TMP/m" "$BIN/kvreplay" --nvme "$TMP/m/d" --progress none --on-absent skip \
        -o "$TMP/o.csv" "$TMP/full.csv"
    stderr_like "what is free is not called the reason" \
        'ENOSPC: no room: 4097 bytes needed; [0-9]+ seem free on the target now: another limit \(inodes, a quota\)'
fi

# Ended between turns: forty objects of up to 1 MiB, written again and again through two I/Os, kept. Their keys are long, so that
# a hundred rows fill what kvreplay writes of its output at a time.
awk -v long="$(printf '%01000d' 0)" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 4000; i++) printf "0,Write,%d,Tier-2,k%d.%s,Prefill\n", 64 + i % 40 * 25003, i % 40, long
}' >"$TMP/again.csv"
{ sed -n 1p "$TMP/again.csv"; sed -n '2,41s/Write/Read/p' "$TMP/again.csv"; } >"$TMP/once.csv"
again() {
    case $1 in
    *-fs*) on="--target file:$TMP/d?like=$1&pages=small&pool=1MiB&workers=2" ;;
    *) on="--nvme $TMP/d --layout $1 --iodepth 2 --chunk-size 256KiB" ;;
    esac
    with "$on" exec "$BIN/kvreplay" --keep --inflight 32 --progress none \
        --no-notes -o "$TMP/o.csv" "$TMP/again.csv" "${2:---config}" "${3:-loops=50}"
}
# whole NAME LAYOUT: all results are of finished rows, and each of their objects is there and whole.
whole() {
    [ -e "$TMP/o.csv" ] || sed -n 1p "$TMP/again.csv" >"$TMP/o.csv" # the run ended before its first row
    is "$1: every row has a result" "$(sed 1d "$TMP/o.csv" | grep -vc ',ok$')" 0
    keys=$(awk -F, 'NR > 1 && !seen[$5]++ { n++ } END { print n + 0 }' "$TMP/o.csv")
    as "$2"
    into --on-absent skip --verify full "$TMP/once.csv" 2>"$TMP/err"
    is "$1: what it wrote is whole, nothing else is there" \
        "$? $(json "$summary" '.populated.adopted_objects, .rows.ok')" "0 $keys $keys"
}
for layout in files slab lmcache-fs vllm-fs; do
    (again $layout --duration 100ms) 2>"$TMP/stderr"
    is "$layout: the end of --duration" $? 0
    whole "$layout, --duration" $layout
    rm "$TMP/o.csv"
    again $layout 2>"$TMP/stderr" &
    pid=$!
    # Into the second time that they are written: that row has ended.
    until [ -n "$(sed -n '42{p;q}' "$TMP/o.csv" 2>/dev/null)" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.03; done
    kill -s INT $pid
    wait $pid
    is "$layout: SIGINT" $? 130
    whole "$layout, SIGINT" $layout
done
done_testing
