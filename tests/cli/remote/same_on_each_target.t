#!/bin/sh
# same_on_each_target.t - one trace with moves, rewrites, deletes and partial reads does the same on each target: one folder, a slab, an
# object store through one endpoint, through three and in parts, and Redis: the same keys, operations, bytes, Status and
# order per key, every byte verified, nothing left. A bug looked like a read that overtook the write before it on one target.
# builds: plain (resp.t, s3.t, endpoints.t and slab.t run these targets under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"

# A trace of 60 keys, two of them of several parts when they are longer: written, read whole and in part, written anew longer and shorter, moved
# between tiers, dropped, deleted, and read without having been written.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 60; i++) {
        size = i % 10 == 0 && i < 30 ? 2700000 + i * 1000 : 4096 * (i % 7) + i + 1
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
# By key, in the order in which its rows started, with what came of each. Reads between two other rows of a key run side by side, and
# any of them may get its I/O first.
by_key() {
    awk -F, 'NR == 1 {while ($++s != "Status"); while ($++b != "Start"); next} {printf "%s %s %.9f %s %s %s\n", $5, $4, $b, $2, $3, $s}' r.csv |
        sort -s -k 1,1 -k 3,3g | awk '
            {
                if ($1 != key) { key = $1; turn = 0 }
                if ($4 != "Read" || last != "Read" || $1 != last_key) turn++
                last = $4; last_key = $1
                print $1, turn, $2, $4, $5, $6
            }' | sort -k 1,1 -k 2,2n -k 3
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
if [ -z "$(no_s3)" ]; then
    start_s3 3
    door=http://127.0.0.1:$(head -n 1 port)
    three=$(sed 's|^|endpoint=http://127.0.0.1:|' port | paste -s -d '&')
    alike 'S3, one endpoint' "s3://bucket/p?endpoint=$door"
    alike 'S3, three endpoints' "s3://bucket/p?$three"
    alike 'S3, in parts' "s3://bucket/p?$three&part=5MiB"
    alike 'S3, over two connections' "s3://bucket/p?endpoint=$door&connections=2"
    is 'nothing is left on S3' "$(admin keys; admin uploads)" ''
fi
if [ -z "$(no_redis)" ]; then
    start_redis --databases 4
    alike 'Redis' "redis+unix:$TMP/redis.sock?db=1"
    alike 'Redis, in parts' "redis+unix:$TMP/redis.sock?db=1&part=1MiB&connections=3"
    is 'nothing is left in Redis' "$(redis-cli -s redis.sock -n 1 dbsize)" 0
fi
done_testing
