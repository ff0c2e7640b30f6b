#!/bin/sh
# reduce.t - written data compresses and deduplicates as asked, within 3 %; by default not at all. zstd and a count of
# different blocks look at the files themselves. Read back in full, nothing is corrupt. KVREPLAY_BIG=GiB writes that
# much data by default in a directory below $TMPDIR. A bug looked like zeros that a compressing drive never wrote,
# reported as bandwidth.
# builds: plain (what zstd makes of the bytes; test_data.c runs its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# trace OP OBJECTS: rows of objects of 1 MiB.
trace() {
    awk -v op="$1" -v n="$2" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) printf "0,%s,1048576,Tier-2,k%d,%s\n", op, i, op == "Read" ? "Decode" : "Prefill"
    }'
}
# written ARGS...: keeps objects in $TMP/d.
written() { "$BIN/kvreplay" --full --nvme "$TMP/d" --keep --progress none -o /dev/null "$@"; }
contents() { find "$TMP/d" -name '*.kv' -exec cat {} +; }
# The size over that of zstd -3, and the number of blocks over that of different blocks.
compressed() { contents | zstd -3 -q -c | wc -c | awk -v whole="$(contents | wc -c)" '{ printf "%.4f", whole / $1 }'; }
deduplicated() {
    find "$TMP/d" -name '*.kv' -exec "$TOP/tests/cli/kvprecond/blocks.py" {} + | awk '{ printf "%.4f", $1 / $2 }'
}
near() { awk -v got="$1" -v want="$2" 'BEGIN { exit !(got > want * 0.97 && got < want * 1.03) }'; }

trace Write 8 >"$TMP/w.csv"
trace Read 8 >"$TMP/r.csv"
exits "written" 0 written "$TMP/w.csv"
ratio=$(compressed)
ok "zstd makes nothing of it ($ratio)" awk -v r="$ratio" 'BEGIN { exit !(r <= 1 / 0.99) }'
is "no two blocks are alike" "$(deduplicated)" 1.0000

for r in 2 1.5 4; do
    exits "--config compress_ratio=$r" 0 written --config compress_ratio=$r "$TMP/w.csv"
    got=$(compressed)
    ok "measures $r ($got)" near "$got" $r
    is "without blocks alike" "$(deduplicated)" 1.0000
    exits "and reads back" 0 written --config compress_ratio=$r --verify full --summary "$TMP/s.json" "$TMP/r.csv"
    is "as it was kept" "$(json "$TMP/s.json" .populated.adopted_objects)" 8
done
for r in 2 2.5; do
    exits "--config dedup_ratio=$r" 0 written --config dedup_ratio=$r "$TMP/w.csv"
    got=$(deduplicated)
    ok "measures $r ($got)" near "$got" $r
    exits "and reads back" 0 written --config dedup_ratio=$r --verify full --summary "$TMP/s.json" "$TMP/r.csv"
    stderr_like "with a note on the limits of header verification" 'note: --config dedup_ratio'
done
exits "of another ratio" 0 written --verify full --summary "$TMP/s.json" "$TMP/r.csv"
is "it is written anew" "$(json "$TMP/s.json" .populated.objects)" 8
exits "out of range" 2 written --config dedup_ratio=0.5 "$TMP/w.csv"

if [ -n "${KVREPLAY_BIG:-}" ]; then
    rm -rf "$TMP/d"
    trace Write $((KVREPLAY_BIG * 1024)) >"$TMP/big.csv"
    exits "$KVREPLAY_BIG GiB written" 0 written "$TMP/big.csv"
    ratio=$(compressed)
    ok "zstd makes nothing of it ($ratio)" awk -v r="$ratio" 'BEGIN { exit !(r <= 1 / 0.99) }'
    # Compares 120 bytes after the header of each block: whole blocks are too much to sort.
    alike=$(contents | od -An -v -tx8 -w4096 | cut -c 103-357 | LC_ALL=C sort | uniq -d | wc -l)
    is "no two blocks are alike" "$alike" 0
fi
done_testing
