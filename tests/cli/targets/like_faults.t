#!/bin/sh
# like_faults.t - an object of an engine's file store goes wrong under the run (tests/faults/fail_io.c): its row says how,
# the other rows end ok, nothing of a store that failed is left, and the run goes on. For each layout. A bug looked like
# a short read that was taken for a truncated object, or a temporary file that a full device left behind.
# builds: plain (sanitizers come before what is preloaded)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
lib=${BIN%/bin}/tests/faults/fail_io.so
[ -e "$lib" ] || skip_all "$lib was not built (make unit)"

large=524288
awk -v large=$large 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request"
    for (turn = 0; turn < 2; turn++)
        for (i = 0; i < 12; i++)
            printf "%.2f,%s,%d,Tier-2,%s,%s,%d\n", turn, turn ? "Read" : "Write", i == 5 ? large : 65536 + i * 4096,
                i == 5 ? "large" : "k" i, turn ? "Decode" : "Prefill", i
}' >"$TMP/t.csv"
# faulty FAULT TARGET ARGUMENTS...: as fast as possible, with all that is stored before what is loaded.
faulty() {
    fault=$1 on=$2
    shift 2
    LD_PRELOAD=$lib FAIL_IO=$fault FAIL_IO_BYTES=$large "$BIN/kvreplay" --progress none --no-notes --full -o "$TMP/o.csv" \
        --summary "$TMP/s.json" --target "$on" "$@" "$TMP/t.csv" 2>"$TMP/stderr"
}
# ends FAULT STORE LOAD STATUS: how the rows of the object end, and the run.
ends() {
    faulty "$1" "file:$TMP/d?like=$like&pages=small&pool=1MiB" --keep
    is "$like, $1: the run" $? "$4" || diag "$(cat "$TMP/stderr")"
    is "$like, $1: the object's rows" "$(awk -F, '$5 == "large" { print $2, $NF }' "$TMP/o.csv" | sort -r | tr '\n' ' ')" \
        "Write $2 Read $3 "
    is "$like, $1: the others" "$(awk -F, 'NR > 1 && $5 != "large" { print $NF }' "$TMP/o.csv" | sort | uniq -c |
        awk '{ print $1, $2 }')" '22 ok'
    is "$like, $1: no temporary file stays" "$(find "$TMP/d" -name '*.tmp')" ''
    is "$like, $1: what stays" "$(find "$TMP/d" -name '*.data' -o -name '*.bin' | wc -l | tr -d ' ')" "$5"
    "$BIN/kvreplay" --progress none -o "$TMP/o.csv" --target "file:$TMP/d?like=$like&pages=small&pool=1MiB" --destroy-data "$TMP/t.csv" 2>/dev/null
    is "$like, $1: the next run is whole" "$? $(find "$TMP" -path "$TMP/d*" | wc -l | tr -d ' ')" '0 0'
}
for like in lmcache-fs lmcache-fs-direct vllm-fs; do
    ends none ok ok 0 12
    ends short-read ok ok 0 12
    ends short-write ok ok 0 12
    ends full ENOSPC absent 1 11
    ends vanished ok lost 1 11
    ends truncated ok corrupt 1 12
    ends corrupt ok corrupt 1 12
done
done_testing
