#!/bin/sh
# Inputs compressed by gzip are read as plain ones, of one member or of many one behind the other, as programs write that
# flush now and then. A bug looked like a file that ended behind its first member, or a cut one that was taken as whole.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

plain=$DATA/mooncake_first200.jsonl
gzip -c "$plain" >"$TMP/one.jsonl.gz"
"$BIN/kvgen" --input "$TMP/one.jsonl.gz" -o none 2>"$TMP/err"
! grep -q 'without zlib' "$TMP/err" || skip_all 'built without zlib'

digest() { sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$TMP/stderr"; }
taken() { # NAME KVGEN-ARGS...
    name=$1
    shift
    exits "$name" 0 "$BIN/kvgen" "$@" -o "$TMP/out.csv"
    is "$name: the same rows" "$(digest)" "$same"
}
exits "plain" 0 "$BIN/kvgen" --input "$plain" -o "$TMP/out.csv"
same=$(digest)
like "a digest is printed" "$same" '^[0-9a-f]{32}$'
taken "one member" --input "$TMP/one.jsonl.gz"
split -l 30 "$plain" "$TMP/part."
mkdir "$TMP/folder"
for part in "$TMP"/part.*; do gzip -c "$part"; done >"$TMP/folder/many.jsonl.gz"
taken "many members, in a folder" --input "$TMP/folder"
cat "$TMP/folder/many.jsonl.gz" >"$TMP/many.gz"
taken "many members, from a pipe" --input - <"$TMP/many.gz"
taken "read twice" --input "$TMP/many.gz" --replay-cycles 1

refused() { # NAME REGEX
    exits "$1: status 2" 2 "$BIN/kvgen" --input "$TMP/bad.gz" -o none
    stderr_like "$1: says so" "^kvgen: .*bad.gz.*: .*$2"
}
head -c 9000 "$TMP/one.jsonl.gz" >"$TMP/bad.gz"
refused "cut" "cut in the middle of a gzip member"
head -c $(($(wc -c <"$TMP/one.jsonl.gz") - 3)) "$TMP/one.jsonl.gz" >"$TMP/bad.gz"
refused "cut in the checksum" "cut in the middle of a gzip member"
{ cat "$TMP/one.jsonl.gz" && echo more; } >"$TMP/bad.gz"
refused "something behind it" "no gzip member where one should begin"
{ cat "$TMP/one.jsonl.gz" && printf '\037'; } >"$TMP/bad.gz"
refused "half a magic behind it" "cut in the middle"
{ head -c 5000 "$TMP/one.jsonl.gz" && printf '\377\377\377\377' && tail -c +5005 "$TMP/one.jsonl.gz"; } >"$TMP/bad.gz"
refused "damaged" "(damaged gzip data|not JSON|hash_ids|bad)"
done_testing
