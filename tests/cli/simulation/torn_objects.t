#!/bin/sh
# torn_objects.t - a run that keeps its objects tells the next one when some of them may be torn: a write failed and its file could
# not be removed, or --sync end failed. The next run then looks at them before it adopts them. A bug looked like a marker that
# said "kept" and no more: the torn object was adopted, and its first read was corrupt.
# builds: plain (sanitizers come before what is preloaded)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
faulty=${BIN%/bin}/tests/simulation/faulty.so
[ -e "$faulty" ] || skip_all "$faulty was not built (make unit)"
root=$TMP/root
mkdir "$root"

# replay FAULTS OPTIONS...: on a store in which such calls fail, which faults.log tells.
replay() {
    : >"$TMP/faults.log"
    faults=$1
    shift
    SIM_ROOT=$root SIM_LOG=$TMP/faults.log SIM_FAULTS=$faults LD_PRELOAD=$faulty \
        "$BIN/kvreplay" --keep --progress none -o /dev/null --gpu off --target "$root/d" --summary "$TMP/s.json" "$@"
}
marker() { tr '\n' ' ' <"$root/d/.kvtrace"; }
failed() { sed 's/ .* / /' "$TMP/faults.log" | sort | tr '\n' ' '; }

cat >"$TMP/w.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Write,65536,Tier-2,a,Prefill
END
cat >"$TMP/r.csv" <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0,Read,65536,Tier-2,a,Decode
END

for engine in uring psync; do
    like "$engine: without a fault" "$(replay seed=1 --config ioengine=$engine "$TMP/w.csv" 2>/dev/null && marker)" '^kvtrace kept .* keeps 1 unsure 0 '
    rm -r "$root/d"
    exits 'a write and its removal fail' 1 replay errno=1000000,calls=write+unlink,seed=1 --config ioengine=$engine "$TMP/w.csv"
    like 'both' "$(failed)" '^unlink .* write'
    ok 'a file is left' test -n "$(find "$root/d" -name '*.kv')"
    like 'the marker says so' "$(marker)" '^kvtrace kept .* keeps 1 unsure 1 '
    exits 'the next run looks' 0 replay seed=1 --verify full "$TMP/r.csv"
    is 'and does not adopt it' "$(json "$TMP/s.json" '.populated.adopted_objects, .populated.objects')" '0 1'
    rm -r "$root/d"
done

# The kernel tells a failed flush once: the one at the end of the run does well.
exits 'the sync at the end fails' 1 replay control=500000,calls=syncfs,seed=2 --sync end "$TMP/w.csv"
is 'once' "$(failed)" 'syncfs EIO '
like 'of a folder' "$(marker)" '^kvtrace kept .* keeps 1 unsure 1 '
rm -r "$root/d"
exits 'and of a slab' 1 replay control=300000,calls=sync,seed=1 --sync end --layout slab "$TMP/w.csv"
is 'once, too' "$(failed)" 'sync EIO '
like 'its header says so' "$("${BIN%/bin}/tests/simulation/look" "$root/d")" '^slab kept 1 1 '
done_testing
