#!/bin/sh
# shared.t - kvreplay-mpi --shared-target: all ranks work in one directory, prefix or database, which rank 0 takes, and cleans
# up when the last of them has left it. Each object is there once with --split keys; else each rank has its own. A bug looked
# like a rank that was refused what rank 0 had taken, objects that two ranks wrote in turn, a store that was cleaned up under a
# rank at work, or one that nobody cleaned up.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"

# shared N TARGET ARGUMENTS...
shared() {
    n=$1 target=$2
    shift 2
    timeout 60 "$mpirun" -np "$n" "$BIN/kvreplay-mpi" --shared-target --target "$target" --summary s.json -o r.csv "$@"
}
# Twenty objects, of which half are there before the run.
{
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    for i in $(seq 20); do
        if [ $((i % 2)) = 0 ]; then echo "0,Write,65536,Tier-2,k$i,Prefill"; fi
        echo "0,Read,65536,Tier-2,k$i,Decode"
    done
} >t.csv
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 0,Write,65536,Tier-2,a,Prefill >one.csv

# stores NAME TARGET [SHORT]: does all of it there, or what the store itself has a part in; objects prints how many it has.
stores() {
    rows='.rows.ok, .rows.unverified_reads'
    exits "$1: shares of the keys" 0 shared 3 "$2" --split keys --keep --verify full t.csv
    is "$1: each object is there once" "$(objects) $(json s.json "$rows, .populated.objects")" '20 30 0 10'
    if [ -n "${3-}" ]; then
        exits "$1: these are not kept" 0 shared 2 "$2" --destroy-data --verify full t.csv
        is "$1: so they go" "$(objects) $(json s.json "$rows")" '0 60 0'
        return
    fi
    exits "$1: again" 0 shared 2 "$2" --split keys --keep --verify full t.csv
    is "$1: what was kept is used" "$(objects) $(json s.json "$rows, .populated.objects, .populated.adopted_objects")" '20 30 0 0 10'
    rm -f r.csv
    exits "$1: neither kept nor destroyed" 3 shared 2 "$2" --split keys t.csv
    stderr_like "$1: is refused by rank 0" '^kvreplay-mpi: rank 0 on [^:]*: .*: holds 20 objects'
    is "$1: nothing is written" "$(objects) $(find . -name '*r.csv*')" '20 '
    exits "$1: more ranks than keys, not kept" 0 shared 2 "$2" --destroy-data --split keys one.csv
    is "$1: nothing is left" "$(objects) $(json s.json "$rows")" '0 1 0'
    exits "$1: the whole trace each" 0 shared 2 "$2" --keep --verify full t.csv
    is "$1: on objects of their own" "$(objects) $(json s.json "$rows")" '40 60 0'
    exits "$1: these are not kept either" 0 shared 2 "$2" --destroy-data t.csv
    is "$1: so they go" "$(objects)" 0
}

# ---- a directory ----

objects() { find "$TMP/d" -name '*.kv' 2>/dev/null | wc -l; }
stores "directory" "$TMP/d"
not_ok "the directory is gone" test -e d
exits "as an engine lays files out" 0 shared 2 "file:$TMP/d?like=lmcache-fs" --verify full t.csv
is "is the same" "$(json s.json .rows.ok) $(find . -path './d/*')" '60 '
rm -f r.csv
exits "a slab" 2 shared 2 "$TMP/d" --layout slab t.csv
stderr_like "is refused" 'ranks cannot share a slab'
: >image
exits "a file" 2 shared 2 "$TMP/image" --destroy-data t.csv
stderr_like "is one" 'rank 0 on .*/image is not a directory: ranks cannot share a slab'
exits "a target of each" 2 shared 2 "$TMP/d-{rank}" t.csv
stderr_like "is refused, too" 'makes a target of each rank'
exits "one process" 2 "$BIN/kvreplay" --shared-target --target "$TMP/d" -o r.csv t.csv
stderr_like "has nobody to share with" 'shared-target: applies only to kvreplay-mpi'
exits "simulated tiers" 2 timeout 60 "$mpirun" -np 2 "$BIN/kvreplay-mpi" --shared-target --tier-engine 2=sim:bw=1GB/s -o r.csv t.csv
stderr_like "are nothing to share" 'shared-target: applies only with --target'
not_ok "nothing is written" test -e r.csv

# A rank of another host that does not see what rank 0 has taken: here its folder has the same name and is another one.
mkdir a b
exits "two directories of one name" 3 by_rank env -C "$TMP/a" "$BIN/kvreplay-mpi" --shared-target --target d -o "$TMP/r.csv" "$TMP/t.csv" :: \
    env -C "$TMP/b" "$BIN/kvreplay-mpi" --shared-target --target d -o "$TMP/r.csv" "$TMP/t.csv"
stderr_like "are no shared store" '^kvreplay-mpi: rank 1 on [^:]*: d: cannot be opened|is not the store of rank 0'
is "nothing is left of it" "$(find a b | tr '\n' ' ')" 'a b '

# ---- a database, and a prefix ----

if [ -z "$(no_redis)" ]; then
    start_redis --databases 4
    objects() { redis-cli -s redis.sock -n 1 --scan --pattern 'kvtrace:*' | wc -l; }
    stores "Redis" "redis+unix:$TMP/redis.sock?db=1" short
    is "the marker is gone" "$(redis-cli -s redis.sock -n 1 dbsize)" 0
fi
if [ -z "$(no_s3)" ]; then
    start_s3 1
    objects() { admin keys | grep -c '\.kv$'; }
    stores "S3" "s3://bucket/p?endpoint=http://127.0.0.1:$(cat port)" short
    is "nothing is left" "$(admin keys)" ''
fi
done_testing
