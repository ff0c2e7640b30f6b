#!/bin/sh
# bombs.t - a small file that makes very many groups ends with an error that names the option that allows more, and so does
# one that says it is a part of very many. A bug looked like 5.1 GB for a file of half a megabyte with 200,000 users and
# --by user, or a list without end of the parts that are missing.
# builds: plain (sanitizers map terabytes)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us"
    for (i = 0; i < 200000; i++) printf "%d.0,Read,4096,Tier-2,k,Decode,%d,u%d,batch,user,1,%d.0,\n", i, i, i, i
}' | zstd -q >"$TMP/users.csv.zst"
small() { prlimit --as=$((1500000 * 1024)) "$@"; }
exits "200,000 users by user" 2 small "$BIN/kvstat" --by user "$TMP/users.csv.zst"
stderr_like "named, with the option" '^kvstat: --by: the rows make too many groups by user, endpoint, thread or engine \(--config max_groups allows more'
exits "without groups by user they are counted" 0 small "$BIN/kvstat" "$TMP/users.csv.zst"
zstd -dcq "$TMP/users.csv.zst" | head -n 101 >"$TMP/few.csv"
exits "as many as are allowed" 0 "$BIN/kvstat" --by user,op --config max_groups=100 "$TMP/few.csv"
exits "one less is allowed" 2 "$BIN/kvstat" --by user,op --config max_groups=99 "$TMP/few.csv"

# A part of a run says how many parts there are: the missing ones are named.
"$BIN/kvreplay" --null --progress none --part 0/2 -o "$TMP/part-{rank}.csv" "$TMP/few.csv" 2>"$TMP/stderr"
sed 's/\("rank"":0,""count"":\)2/\19000000000000000000/' "$TMP/part-0.csv" >"$TMP/parts.csv"
not_ok 'a part of 9 quintillion' cmp "$TMP/part-0.csv" "$TMP/parts.csv"
exits 'is no part of a run' 2 small timeout 60 "$BIN/kvstat" --ranks --json "$TMP/parts.csv"
stderr_like 'says so' 'is no part of a run'
done_testing
