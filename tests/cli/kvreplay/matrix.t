#!/bin/sh
# matrix.t - one trace of writes, rewrites of other sizes, reads, moves and deletes, on objects of odd sizes from 1 byte
# up, through every layout and engine and several depths, with each byte verified: no row is corrupt, absent or failed.
# Then damage in files and slabs: full verification finds a flipped bit anywhere, headers show a swapped or stale block.
# KVREPLAY_BIG=1 adds objects of 3 GiB. A bug looked like a padded last block that was written over the next object.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# trace ROWS KEYS MAX TIERS: rows that a tier must be able to serve. Only at the start they read objects that were not
# written.
trace() {
    awk -v rows="$1" -v keys="$2" -v max="$3" -v tiers="$4" 'BEGIN {
        srand(7)
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < rows; i++) {
            tier = 3 - tiers + int(rand() * tiers); key = int(rand() * keys); id = tier " " key; what = rand()
            if (id in size && what < 0.5) row("Read", rand() < 0.2 ? 1 + int(rand() * size[id]) : size[id], "Decode")
            else if (id in size && what < 0.6) { row("Read", size[id], "Evict"); delete size[id] }
            else if (id in size && what < 0.7) { row("Delete", 0, "Evict"); delete size[id] }
            else if (!(id in seen) && what < 0.3) { size[id] = odd_size(); row("Read", size[id], "Decode") }
            else { size[id] = odd_size(); row("Write", size[id], "Prefill") }
            seen[id] = 1
        }
    }
    function odd_size(    bytes) {
        bytes = int(exp(rand() * log(max)))
        return rand() < 0.1 ? 1 : bytes < 1 ? 1 : bytes
    }
    function row(op, bytes, phase) { printf "%.4f,%s,%d,Tier-%d,k%d,%s\n", i / 1000, op, bytes, tier, key, phase }'
}
statuses() { awk -F, 'NR > 1 { n[$NF]++ } END { for (status in n) printf "%s %d", status, n[status] }' "$TMP/o.csv"; }
# right NAME ARGS...: every row is ok.
right() {
    name=$1
    shift
    "$BIN/kvreplay" --progress none --verify full --no-notes -o "$TMP/o.csv" "$@" 2>"$TMP/stderr"
    is "$name" "$? $(statuses)" "0 ok $rows"
}

rows=200
! sanitized || rows=100 # what goes wrong in a few rows is seen
trace $rows 40 400000 1 >"$TMP/t.csv"
for inflight in 1 7 256; do
    right "files, $inflight in flight" --nvme "$TMP/d" --inflight $inflight "$TMP/t.csv"
    right "slab, $inflight in flight" --nvme "$TMP/d" --layout slab --inflight $inflight "$TMP/t.csv"
    right "host memory, $inflight in flight" --tier-engine 2=mem --inflight $inflight "$TMP/t.csv"
    right "simulated, $inflight in flight" --tier-engine 2=sim:bw=4GB/s,servers=4 --inflight $inflight "$TMP/t.csv"
done
for layout in files slab; do
    set -- --nvme "$TMP/d" --layout $layout --chunk-size 128KiB
    right "$layout, psync" "$@" --config ioengine=psync --iodepth 8 "$TMP/t.csv"
    right "$layout, psync, rings" "$@" --config ioengine=psync --config rings=2 "$TMP/t.csv"
    right "$layout, rings" "$@" --config rings=3 --inflight 64 "$TMP/t.csv"
    right "$layout, blocks of 4 KiB" --nvme "$TMP/d" --layout $layout --chunk-size 4KiB --iodepth 128 "$TMP/t.csv"
    right "$layout, depth 1" "$@" --iodepth 1 --inflight 64 "$TMP/t.csv"
    right "$layout, buffered" "$@" --buffered "$TMP/t.csv"
    right "$layout, polled" "$@" --config sqpoll=true --config iopoll=true "$TMP/t.csv"
    right "$layout, compressible" "$@" --config compress_ratio=2 --config dedup_ratio=3 "$TMP/t.csv"
    right "$layout, in time" "$@" --timing trace --speed 10 --config lateness_budget=10s --config lag_limit=1m "$TMP/t.csv"
    mkfifo "$TMP/$layout.fifo"
    cat "$TMP/t.csv" >"$TMP/$layout.fifo" &
    right "$layout, from a pipe" "$@" --cpu-mem 1MiB "$TMP/$layout.fifo"
done
right "host memory, three threads" --tier-engine 2=mem:threads=3 "$TMP/t.csv"
for wrong in mem:threads=0 mem:threads=17 mem:threads=x mem:bw=1; do
    exits "an engine that is none: $wrong" 2 "$BIN/kvreplay" --tier-engine "2=$wrong" "$TMP/t.csv"
done
trace $rows 30 200000 3 >"$TMP/three.csv"
for layout in files slab; do
    right "three tiers, $layout" --nvme "$TMP/d" --layout $layout --gpu off "$TMP/three.csv"
done
not_ok "nothing is left" test -e "$TMP/d"

# ---- damage ----

cat >"$TMP/w.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Write,40001,Tier-2,a,Prefill
0,Write,40001,Tier-2,b,Prefill
END
sed 's/Write/Read/; s/Prefill/Decode/' "$TMP/w.csv" >"$TMP/r.csv"
flip() {
    byte=$(od -An -tu1 -j "$2" -N 1 "$1")
    printf %b "$(printf '\\0%03o' $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
# corrupt NAME LAYOUT VERIFY: a run over the kept objects says that one row is corrupt.
corrupt() {
    "$BIN/kvreplay" --nvme "$TMP/k" --layout "$2" --keep --verify "$3" --progress none --no-notes -o "$TMP/o.csv" "$TMP/r.csv" \
        2>"$TMP/stderr"
    is "$1" "$? $(grep -Ec ',(corrupt|stale)$' "$TMP/o.csv")" "1 1"
}
# write_both LAYOUT: two objects of ten blocks each, kept.
write_both() {
    "$BIN/kvreplay" --nvme "$TMP/k" --layout "$1" --keep --inflight 1 --progress none -o /dev/null "$TMP/w.csv" \
        2>/dev/null
}
# copy_block FROM_BLOCK TO_BLOCK: from the file before into the file, blocks counted from its first object.
copy_block() {
    dd if="$TMP/before" of="$file" bs=4096 skip=$((start / 4096 + $1)) seek=$((start / 4096 + $2)) count=1 \
        conv=notrunc 2>/dev/null
}
for layout in files slab; do
    rm -rf "$TMP/k"
    write_both $layout
    file=$TMP/k/slab.kv start=1048576
    [ $layout = slab ] || { file=$(find "$TMP/k" -name '*.kv' | LC_ALL=C sort | head -n 1) && start=0; }
    for at in 0 7 39 40 47 48 4095 4096 20000 40000 40001 40959; do
        flip "$file" $((start + at))
        corrupt "$layout: a bit flipped at $at" $layout full
        flip "$file" $((start + at))
    done
    cp "$file" "$TMP/before"
    copy_block 3 6
    corrupt "$layout: a swapped block" $layout header
    write_both $layout
    [ $layout = slab ] || file=$(find "$TMP/k" -name '*.kv' | LC_ALL=C sort | head -n 1) # of the later run
    copy_block 3 3
    corrupt "$layout: a stale block" $layout header
done

if [ -n "${KVREPLAY_BIG:-}" ]; then
    printf '%s\n' 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' '0,Write,3221225471,Tier-2,a,Prefill' \
        '0,Read,3221225471,Tier-2,a,Decode' '0,Write,3221221377,Tier-2,a,Prefill' '0,Read,3221221377,Tier-2,a,Evict' \
        >"$TMP/b.csv"
    rows=4
    for layout in files slab; do right "$layout, 3 GiB" --nvme "$TMP/d" --layout $layout "$TMP/b.csv"; done
fi
done_testing
