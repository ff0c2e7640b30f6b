#!/bin/sh
# rows.t - result rows: the input's columns verbatim (quotes, unknown columns, order), then seven more; the right Status
# for absent objects, misses, generations and reads beyond an object's end; plain, compressed, from a pipe. A bug looked
# like a key with a comma that lost its quotes, or a promoted object that was in both tiers.
# builds: plain address (threads of the engines: matrix.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
result='Due,Eligible,Start,Latency_us,Device_us,Slot_us,Status'

cat >"$TMP/t.csv" <<'END'
Key,Operation,Tier,Object_Size_Bytes,Note,Timestamp,Phase
"a,""b",Write,Tier-1,5000,"x, y",0.0,Prefill
"a,""b",Read,Tier-1,5000,,0.1,Decode
"a,""b",Read,Tier-1,5001,,0.2,Decode
"a,""b",Read,Tier-1,5000,,0.3,Evict
"a,""b",Write,Tier-2,5000,,0.3,Evict
"a,""b",Read,Tier-1,5000,,0.4,Decode
"a,""b",Read,Tier-2,100,,0.5,Decode
"a,""b",Delete,Tier-2,5000,,0.6,Evict
"a,""b",Delete,Tier-2,5000,,0.7,Evict
END
exits "one failed row is exit 1" 1 "$BIN/kvreplay" --full --nvme "$TMP/d" --inflight 1 --no-notes -o "$TMP/r.csv" "$TMP/t.csv"
is "header" "$(head -n 1 "$TMP/r.csv")" "Key,Operation,Tier,Object_Size_Bytes,Note,Timestamp,Phase,$result"
without_result() { sed 's/\(,[^,]*\)\{7\}$//'; }
is "rows verbatim" "$(without_result <"$TMP/r.csv")" "$(cat "$TMP/t.csv")"
is "statuses" "$(sed '1d; s/.*,//' "$TMP/r.csv" | tr '\n' ' ')" "ok ok EINVAL ok ok absent ok ok absent "

cat >"$TMP/g.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us
0.0,Write,4096,Tier-1,p,Prefill,,,,prepop,,,
0.0,Miss,0,,m,,1,u,batch,block,10,0.0,
0.0,Read,4096,Tier-1,p,Decode,1,u,batch,block,10,0.0,
0.0,Generate,0,,,,1,u,batch,user,10,0.0,3600000000
END
exits "Generate takes no time as fast as possible" 0 "$BIN/kvreplay" --full --no-notes -o "$TMP/g.out" "$TMP/g.csv"
is "prepop has a negative Start, the others not" \
    "$(awk -F, 'NR > 1 { printf "%s%s ", $10, ($16 < 0 ? "-" : "+") }' "$TMP/g.out")" "prepop- block+ block+ user+ "
stderr_like "prepop is reported apart" 'before the clock: 1 row of'

"$BIN/kvreplay" --full --nvme "$TMP/d" --inflight 1 -o "$TMP/r.csv.zst" "$TMP/t.csv" 2>/dev/null
is "compressed rows have the same columns" "$(zstd -dcq "$TMP/r.csv.zst" | without_result)" "$(cat "$TMP/t.csv")"
is "a summary frame is inside" "$(grep -ac '"program":' "$TMP/r.csv.zst")" 1
exits "a result is a trace again" 1 "$BIN/kvreplay" --full --nvme "$TMP/d" --no-notes -o "$TMP/r2.csv" "$TMP/r.csv.zst"
is "with one set of result columns" "$(head -n 1 "$TMP/r2.csv")" "$(head -n 1 "$TMP/r.csv")"

cat >"$TMP/a.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Read,70000,Tier-2,x,Decode
0.1,Read,90000,Tier-2,x,Decode
0.2,Read,10,Tier-1,y,Evict
END
exits "objects read before written are created" 0 "$BIN/kvreplay" --full --nvme "$TMP/d" -o "$TMP/o" "$TMP/a.csv"
stderr_like "before the clock starts" 'populated: 2 objects written'
"$BIN/kvreplay" --full --nvme "$TMP/d" --only-tier 1 <"$TMP/a.csv" >"$TMP/o" 2>"$TMP/stderr"
stderr_like "from a regular file on standard input or a pipe alike" ' 1 ok.* 2 left out'
like "a pipe creates them on the way" "$(tail -n +1 "$TMP/a.csv" | "$BIN/kvreplay" --full --cpu-mem 1MiB --nvme "$TMP/d" 2>&1 >"$TMP/o")" \
    'created during the run'
exits "--on-absent skip" 0 "$BIN/kvreplay" --full --nvme "$TMP/d" --on-absent skip -o "$TMP/o" "$TMP/a.csv"
stderr_like "counts them" '0 ok, 3 absent'
exits "--on-absent fail stops" 1 "$BIN/kvreplay" --full --nvme "$TMP/d" --on-absent fail -o "$TMP/o" "$TMP/a.csv"

# The first users only, with the objects that were there before, but for those that only other users read.
cat >"$TMP/u.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,User
0.0,Write,4096,Tier-1,a,Prefill,ann
0.0,Write,4096,Tier-1,n,Prefill,
0.1,Read,4096,Tier-1,b,Decode,bob
0.2,Read,8192,Tier-1,c,Decode,cid
0.3,Read,4096,Tier-1,a,Decode,ann
0.4,Write,4096,Tier-1,d,Prefill,dan
0.5,Read,4096,Tier-1,b,Decode,bob
END
exits "--config only_users=2" 0 "$BIN/kvreplay" --full --config only_users=2 --inflight 1 --no-notes -o "$TMP/r.csv" --summary "$TMP/s.json" "$TMP/u.csv"
is "rows of the first two and of nobody" "$(sed 1d "$TMP/r.csv" | cut -d, -f5,7 | sort | tr '\n' ' ')" \
    "a,ann a,ann b,bob b,bob n, "
is "one object was there before, two rows were left out" "$(json "$TMP/s.json" '.populated.bytes, .rows.skipped')" \
    "4096 2"
cut -d, -f1-6 "$TMP/u.csv" >"$TMP/core.csv"
exits "without a column User there are no users" 2 "$BIN/kvreplay" --full --config only_users=2 --null "$TMP/core.csv"

# ---- no rows ----
mkdir "$TMP/empty" && cd "$TMP/empty" || exit 1
for shell in 'exec "$@"' 'exec "$@" | cat'; do
    exits "-o none" 0 sh -c "$shell" - "$BIN/kvreplay" --null --summary ../s.json -o none "$TMP/g.csv"
    is "makes no file" "$(ls)" ''
    is "writes no row" "$(cat "$TMP/stdout")" ''
    stderr_like "says what was done" '^4 rows in '
    is "keeps the summary" "$(json "$TMP/s.json" .rows.total)" 4
done
exits "a file of that name" 0 "$BIN/kvreplay" --null --no-notes -o ./none "$TMP/g.csv"
is "has the rows" "$(lines none)" 5
exits "rows that there are not cannot be compressed" 2 "$BIN/kvreplay" --null -z -o none "$TMP/g.csv"
stderr_like "why" '^kvreplay: --zstd: no result rows are written \(-o none\)$'
exits "a part without rows" 0 "$BIN/kvreplay" --null --part 0/2 -o none "$TMP/g.csv"
done_testing
