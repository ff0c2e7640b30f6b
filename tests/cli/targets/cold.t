#!/bin/sh
# cold.t - --cold drives what is there out of the page cache and proves it: then the device reads what rows ask for, also where an
# engine leaves the cache alone. What cannot be proven is "not cold", with the reason. A bug looked like a cold run of which the
# device had read a half.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts

summary=$TMP/s.json
loop='' child=''
leave() {
    left=$?
    [ -z "$child" ] || kill "$child" 2>/dev/null
    umount "$TMP/inner" "$TMP/memory" 2>/dev/null
    [ -z "$loop" ] || losetup -d "$loop"
    (exit $left)
    tap_exit
}
trap leave EXIT
# Each object is read once, so that no read finds what another has brought.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 32; i++) printf "0.1,Read,1048576,Tier-2,k%d,Prefill\n", i
}' >"$TMP/reads.csv"
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 32; i++) printf "0,Write,1048576,Tier-2,w%d,Prefill\n", i
    for (i = 0; i < 32; i++) printf "0.1,Read,1048576,Tier-2,w%d,Prefill\n", i
}' >"$TMP/both.csv"
replay() { "$BIN/kvreplay" --full --summary "$summary" -o "$TMP/r.csv.zst" "$@" 2>"$TMP/err"; }
cold() { json "$summary" .evidence.cold; }
engine="?like=lmcache-fs&cache=keep&pages=small&pool=16MiB"

mkdir "$TMP/here"
replay --target "$TMP/here/a" "$TMP/reads.csv"
is 'not asked for' "$(cold)" null
if [ "$(json "$summary" '.evidence.target, (.kernel.device_read_bytes >= 33554432), .evidence.cache_below, (.evidence.own_read_bytes == null)')" != 'storage true null false' ]; then
    skip_all 'the scratch folder is on no device that counts'
fi
replay --target "file:$TMP/here/b$engine" "$TMP/reads.csv"
is 'what was populated is in the page cache' "$(json "$summary" '.evidence.reads | .page_cache_bytes > .asked_bytes * 0.9')" true
replay --cold --target "file:$TMP/here/c$engine" "$TMP/reads.csv"
is 'with --cold it is not' "$(cold)" cold
is 'and the device reads all' "$(json "$summary" '.evidence.reads | .device_bytes == .asked_bytes')" true
like 'in the text' "$(cat "$TMP/err")" '^cold$'
like 'in the report' "$("$BIN/kvstat" --full "$TMP/r.csv.zst")" '^Page cache +cold$'
replay --cold --target "$TMP/here/d" --layout slab "$TMP/reads.csv"
is 'a slab' "$(cold)" cold
replay --cold --target "file:$TMP/here/e$engine" "$TMP/both.csv"
like 'what the run itself wrote' "$(cold)" '^not cold: [0-9.]+ % of the bytes read did not come from the device$'
like 'is told on standard error' "$(cat "$TMP/err")" '^kvreplay: not cold: '

if command -v python3 >/dev/null; then
    replay --keep --target "$TMP/here/f" "$TMP/reads.csv"
    python3 - "$TMP/here/f" "$TMP/holds" <<'END' &
import mmap, pathlib, sys, time
held = []
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.kv"))[:8]:
    with open(path, "rb") as f:
        held.append(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))
        held[-1][::4096]
open(sys.argv[2], "w").close()
time.sleep(1000)
END
    child=$!
    while [ ! -e "$TMP/holds" ] && kill -s 0 $child; do sleep 0.05; done
    replay --cold --keep --target "$TMP/here/f" "$TMP/reads.csv"
    like 'what somebody holds' "$(cold)" '^not cold: 25 % of the objects stayed in the page cache'
    kill $child
    child=
else
    ok 'what somebody holds # SKIP no python3' true
fi

mkdir "$TMP/memory"
mount -t tmpfs none "$TMP/memory"
replay --cold --target "$TMP/memory/kv" "$TMP/reads.csv"
like 'memory' "$(cold)" '^not cold: '
if losetup --find >/dev/null 2>&1 && truncate -s 200M "$TMP/x.img" && mkfs.ext4 -q -F "$TMP/x.img" && mkdir "$TMP/inner" &&
    loop=$(losetup --find --show --direct-io=off "$TMP/x.img") && mount "$loop" "$TMP/inner"; then
    replay --cold --target "$TMP/inner/kv" "$TMP/reads.csv"
    is 'a cache below' "$(cold)" "not cold: the cache of ${loop#/dev/}, below the target, stays as it is"
else
    ok 'a cache below # SKIP no loop device' true
fi
exits 'nothing to drive out' 2 "$BIN/kvreplay" --cold --null -o /dev/null "$TMP/reads.csv"
done_testing
