#!/bin/sh
# read_interrupt.t - a signal ends the reading of any file at once, also one in which nothing comes: 16 GB of blank lines
# in half a megabyte. A bug looked like a program that reads on for minutes, looks at signals behind the next row
# only, and dies of the second one without a word.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

yes '' | head -c 16777216 | zstd -q -1 >"$TMP/blank.zst"
for _ in 1 2 3 4 5; do
    cat "$TMP/blank.zst" "$TMP/blank.zst" "$TMP/blank.zst" "$TMP/blank.zst" >"$TMP/four.zst"
    mv "$TMP/four.zst" "$TMP/blank.zst"
done
mv "$TMP/blank.zst" "$TMP/blank.jsonl.zst"
{
    printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Read,4096,Tier-2,k,Decode\n' | zstd -q
    cat "$TMP/blank.jsonl.zst"
} >"$TMP/trace.csv.zst"

# interrupted NAME COMMAND...: a signal ends it while it reads: it handles signals, and has worked for 50 ms. One that goes on
# reaches the limit of a test.
interrupted() {
    name=$1
    shift
    "$@" >"$TMP/stdout" 2>"$TMP/stderr" &
    pid=$!
    catches $pid
    until [ "$(cut -d ' ' -f 14 /proc/$pid/stat)" -ge 5 ] || grep -q '^State:.Z' /proc/$pid/status; do sleep 0.02; done
    kill -s INT $pid
    wait $pid
    is "$name" $? 130
}
interrupted "kvstat" "$BIN/kvstat" "$TMP/trace.csv.zst"
interrupted "kvstat, reuse" "$BIN/kvstat" --reuse "$TMP/trace.csv.zst"
interrupted "kvstat, verify" "$BIN/kvstat" --verify-trace "$TMP/trace.csv.zst"
interrupted "kvreplay" "$BIN/kvreplay" --null -o "$TMP/r.csv" "$TMP/trace.csv.zst"
interrupted "kvgen, a trace" "$BIN/kvgen" --source trace --input "$TMP/trace.csv.zst" -o none
for source in mooncake sharegpt burst; do
    interrupted "kvgen, $source" "$BIN/kvgen" --source $source --input "$TMP/blank.jsonl.zst" -o none
done
interrupted "kvgen, users" "$BIN/kvgen" --users-file "$TMP/blank.jsonl.zst" -o none
done_testing
