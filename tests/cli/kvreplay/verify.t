#!/bin/sh
# verify.t - the next run adopts the objects that --keep leaves, and finds one flipped byte in them: any byte by
# default, one of a header with --verify header. The row is corrupt, key and block are named, the exit status is 1. A bug
# looked like kept objects that were written anew, so that nothing could ever be found.
# builds: plain address (threads of the engines: matrix.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
summary=$TMP/summary.json

# flip FILE OFFSET: inverts one byte.
flip() {
    byte=$(dd if="$1" bs=1 skip="$2" count=1 2>/dev/null | od -An -tu1 | tr -d ' ')
    printf %b "$(printf '\\0%03o' $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

plan 23
cat >"$TMP/w.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Write,100000,Tier-2,the key,Prefill
0,Write,5000,Tier-2,other,Prefill
END
cat >"$TMP/r.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Read,100000,Tier-2,the key,Decode
0,Read,5000,Tier-2,other,Decode
END
exits "written and kept" 0 "$BIN/kvreplay" --nvme "$TMP/d" --keep -o /dev/null "$TMP/w.csv"
big=$(find "$TMP/d" -name '*.kv' -size +20k)
exits "adopted and read" 0 "$BIN/kvreplay" --nvme "$TMP/d" --keep --verify full -o /dev/null \
    --summary "$TMP/s.json" "$TMP/r.csv"
is "both are adopted" "$(json "$TMP/s.json" .populated.adopted_objects)" 2
# An object that must not be created is still found among the kept ones.
exits "--on-absent fail finds both" 0 "$BIN/kvreplay" --nvme "$TMP/d" --keep --on-absent fail -o /dev/null \
    --summary "$summary" "$TMP/r.csv"
is "and creates nothing" "$(json "$summary" '.populated | .adopted_objects, .objects')" "2 0"
cat >"$TMP/some.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Read,100000,Tier-2,the key,Decode
0,Read,5000,Tier-2,nobody,Decode
0,Read,9000,Tier-2,other,Decode
0,Read,5000,Tier-1,other,Decode
0,Delete,0,Tier-2,the key,Evict
0,Read,200000,Tier-2,the key,Decode
END
cp -R "$TMP/d" "$TMP/copy"
exits "--on-absent skip" 0 "$BIN/kvreplay" --nvme "$TMP/copy" --keep --inflight 1 --on-absent skip --no-notes -o "$TMP/o.csv" \
    --summary "$summary" "$TMP/some.csv"
is "adopts what has the size and was not deleted" "$(sed '1d; s/.*,//' "$TMP/o.csv" | tr '\n' ' ')" \
    "ok absent absent absent ok absent "
is "one object, and creates nothing" "$(json "$summary" '.populated | .adopted_objects, .objects')" "1 0"
exits "what was deleted is not there again" 1 "$BIN/kvreplay" --nvme "$TMP/copy" --destroy-data --on-absent fail \
    --no-notes -o "$TMP/o.csv" "$TMP/r.csv"
stderr_like "and named" 'row 1 \(Tier-2 Read, key the key\): the object is not there'
flip "$big" 50000
exits "a flipped byte of the body passes the headers" 0 "$BIN/kvreplay" --nvme "$TMP/d" --keep --verify header \
    -o /dev/null "$TMP/r.csv"
exits "by default it is found" 1 "$BIN/kvreplay" --nvme "$TMP/d" --keep --no-notes -o "$TMP/o.csv" "$TMP/r.csv"
stderr_like "key, block and offset are named" 'key the key\): corrupt: block 12 at offset 50000'
is "one row is corrupt" "$(awk -F, '$NF == "corrupt" { print $5 }' "$TMP/o.csv")" "the key"
is "the other is ok" "$(awk -F, '$NF == "ok" { print $5 }' "$TMP/o.csv")" "other"
flip "$big" 50000
exits "mended" 0 "$BIN/kvreplay" --nvme "$TMP/d" --keep --verify full -o /dev/null "$TMP/r.csv"
flip "$big" 8200
exits "a flipped byte of a header is found by its checksum" 1 "$BIN/kvreplay" --nvme "$TMP/d" --keep \
    --verify header -o /dev/null "$TMP/r.csv"
stderr_like "in its block" 'block 2 '
exits "--verify none does not look" 0 "$BIN/kvreplay" --nvme "$TMP/d" --keep --verify none -o /dev/null "$TMP/r.csv"
exits "without --keep" 3 "$BIN/kvreplay" --nvme "$TMP/d" -o /dev/null "$TMP/r.csv"
stderr_like "what is kept stays" "d: holds 2 objects [(]108.00 KiB[)] that an earlier run of kvreplay kept: --keep .*--destroy-data"
exits "with --destroy-data" 0 "$BIN/kvreplay" --nvme "$TMP/d" --destroy-data --verify none -o /dev/null "$TMP/r.csv"
not_ok "nothing is left" test -e "$TMP/d"
