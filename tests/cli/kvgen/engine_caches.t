#!/bin/sh
# Our caches decide as engines' own code did: some recordings run through them, operation by operation (tests/engines/run;
# whence they come: tests/data/README.md). A recording in which one name, one number or one operation is changed is told
# apart, with the place. A bug looked like a victim chosen by another order, or a run that compared nothing.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

BUILD=${BIN%/bin}
export BUILD
engines=$TOP/tests/data/engines

for folder in "$engines"/*-*/; do
    exits "${folder#"$engines"/}" 0 "$TOP/tests/engines/run" "$folder"
    stdout_like "its operations" ' [1-9][0-9]* steps +[1-9][0-9]{3,} compared +0 different$'
done

# change FOLDER SED: a copy of a recording in which its operations are changed.
change() {
    rm -rf "$TMP/changed"
    cp -r "$engines/$1" "$TMP/changed"
    zstd -dcq "$engines/$1/ops.jsonl.zst" | sed "$2" >"$TMP/changed/ops.jsonl"
    rm "$TMP/changed/ops.jsonl.zst"
}
change 17-lm-async '100s/\["l2.store","[^ "]*/["l2.store","0.0/'
exits "a change" 1 "$TOP/tests/engines/run" "$TMP/changed"
stdout_like "a name" ' 1 different: request 99, operation [0-9]+: recorded l2.store 0.0, here l2.store '
change 36-lmmp-oom-tick5 '50s/"_hit_l1":[0-9]*/"_hit_l1":777/'
exits "a change" 1 "$TOP/tests/engines/run" "$TMP/changed"
stdout_like "a number" ' 1 different: request 49: _hit_l1 recorded 777, here '
change 44-sg-wt-l3max '200s/,\["l3.dup[^]]*\]//; 200s/,\["l3.store[^]]*\]//'
exits "a change" 1 "$TOP/tests/engines/run" "$TMP/changed"
stdout_like "operations" ' [1-9][0-9]* different: request 199, operation [0-9]+: recorded nothing , here l3'
exits "no folder" 2 "$TOP/tests/engines/run" "$TMP/nowhere"
done_testing
