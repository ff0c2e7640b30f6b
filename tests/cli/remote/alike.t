#!/bin/sh
# alike.t - one trace with moves, rewrites, deletes and partial reads does the same on each target: one folder, a slab, an
# object store through one endpoint, through three and in parts, and Redis: the same keys, operations, bytes, Status and
# order per key, every byte verified, nothing left. A bug looked like a read that overtook the write before it on one target.
. "$(dirname "$0")/../../lib.sh"
cd "$TMP" || exit 1
servers=
leave() {
    left_with=$?
    for started in $servers; do kill "$started" 2>/dev/null; done
    (exit $left_with)
    tap_exit
}
trap leave EXIT
export AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=hush-hush
unset AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_PROFILE AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_REGION
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,a,Prefill\n' >one.csv
"$BIN/kvreplay" --target 's3://none?endpoint=http://127.0.0.1:1' --target 1=redis+unix:none -o r.csv one.csv 2>one.err || :

# A trace of 60 keys, 6 of them of several parts: written, read whole and in part, written anew longer and shorter, moved
# between tiers, dropped, deleted, and read without having been written.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 60; i++) {
        size = i % 10 == 0 ? 6000000 + i * 1000 : 4096 * (i % 7) + i + 1
        t = i * 0.0001
        row(t, "Write", size, "Tier-2", i, "Prefill"); row(t, "Read", size, "Tier-2", i, "Decode")
        row(t, "Read", int(size / 3) + 1, "Tier-2", i, "Decode")
        if (i % 3 == 0) { row(t, "Write", int(size / 2) + 1, "Tier-2", i, "Prefill"); row(t, "Read", int(size / 2) + 1, "Tier-2", i, "Decode") }
        if (i % 4 == 0) { row(t, "Write", size * 2, "Tier-2", i, "Prefill"); row(t, "Read", size * 2, "Tier-2", i, "Decode") }
        if (i % 5 == 0) { last = i % 4 == 0 ? size * 2 : i % 3 == 0 ? int(size / 2) + 1 : size
            row(t, "Read", last, "Tier-2", i, "Evict"); row(t, "Write", last, "Tier-1", i, "Evict")
            row(t, "Read", last, "Tier-1", i, "Evict"); row(t, "Write", last, "Tier-2", i, "Evict"); row(t, "Read", last, "Tier-2", i, "Decode") }
        if (i % 2 == 0) row(t, "Delete", size, "Tier-2", i, "")
        row(t, "Read", 70000, "Tier-2", "only_read_" i % 8, "Decode")
    }
}
function row(t, op, size, tier, key, phase) { printf "%.6f,%s,%d,%s,k%s,%s\n", t, op, size, tier, key, phase }' >t.csv
# By key, in the order in which its rows started, with what came of each.
by_key() {
    awk -F, 'NR == 1 {while ($++s != "Status"); while ($++b != "Start"); next} {printf "%s %s %.9f %s %s %s %s\n", $5, $4, $b, NR, $2, $3, $s}' r.csv |
        sort -s -k 1,1 -k 3,3g | awk '{print $1, $2, $5, $6, $7}'
}
# alike NAME TARGET: does what was done in the folder.
alike() {
    exits "$1" 0 "$BIN/kvreplay" --no-notes --progress none --order key --verify full -o r.csv --summary s.json --target "$2" t.csv
    by_key >got
    ok "$1: the same rows in the same order per key" cmp got want
    is "$1: nothing corrupt, lost or unverified" "$(json s.json '.rows | .corrupt, .lost, .failed, .unverified_reads')" '0 0 0 0'
}
exits 'in a folder' 0 "$BIN/kvreplay" --no-notes --progress none --order key --verify full -o r.csv --target folder t.csv
by_key >want
is 'all rows' "$(lines want)" $(($(lines t.csv) - 1))
: >slab
alike 'in a slab' slab
if command -v python3 >/dev/null && command -v curl >/dev/null && ! grep -q 'made without libcurl' one.err; then
    "$TOP/tests/faults/s3_server.py" "$TMP/port" 3 2>server.log &
    servers=$!
    until [ -s port ]; do sleep 0.05; done
    door=http://127.0.0.1:$(head -n 1 port)
    three=$(sed 's|^|endpoint=http://127.0.0.1:|' port | paste -s -d '&')
    alike 'S3, one endpoint' "s3://bucket/p?endpoint=$door"
    alike 'S3, three endpoints' "s3://bucket/p?$three"
    alike 'S3, in parts' "s3://bucket/p?$three&part=5MiB"
    alike 'S3, over two connections' "s3://bucket/p?endpoint=$door&connections=2"
    is 'nothing is left on S3' "$(curl -s --noproxy '*' "$door/-/keys"; curl -s --noproxy '*' "$door/-/uploads")" ''
fi
if command -v redis-server >/dev/null && ! "$BIN/kvreplay" --target redis+unix:none -o r.csv one.csv 2>&1 | grep -q 'made without hiredis'; then
    redis-server --port 0 --unixsocket "$TMP/redis.sock" --save '' --appendonly no --databases 4 --dir "$TMP" >redis.log 2>&1 &
    servers="$servers $!"
    until redis-cli -s redis.sock ping 2>&1 | grep -q PONG; do sleep 0.05; done
    alike 'Redis' "redis+unix:$TMP/redis.sock?db=1"
    alike 'Redis, in parts' "redis+unix:$TMP/redis.sock?db=1&part=1MiB&connections=3"
    is 'nothing is left in Redis' "$(redis-cli -s redis.sock -n 1 dbsize)" 0
fi
done_testing
