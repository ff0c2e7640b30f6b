#!/bin/sh
# pages.t - pages= of a target's URI: kvreplay and kvprecond take buffers in such pages and every report names them; a
# comparison of runs with different pages says so. A bug looked like a lead of 40 % over another program that was one of
# pages, and that no report told.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

for i in 1 2 3 4 5 6 7 8; do echo "$i,Write,3000000,Tier-2,k$i,Prefill"; done |
    sed '1i Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' >"$TMP/t.csv"
replay() {
    "$BIN/kvreplay" --progress none -o "$TMP/$1.csv.zst" --summary "$TMP/$1.json" --full --target "$2" "$TMP/t.csv" \
        2>"$TMP/$1.txt" || cat "$TMP/$1.txt"
}
replay small "file:$TMP/d?pages=small"
[ "$(json "$TMP/small.json" .evidence.pages)" != null ] || skip_all "the kernel does not tell of pages"
is 'small ones: evidence' "$(json "$TMP/small.json" .evidence.pages)" small
like 'small ones: on screen' "$(cat "$TMP/small.txt")" 'in force: .*buffers in small pages'
for layout in files slab; do
    ok "--layout $layout" "$BIN/kvreplay" --progress none -o "$TMP/l.csv" --summary "$TMP/l.json" --layout $layout \
        --target "file:$TMP/d?pages=small" "$TMP/t.csv"
    is "--layout $layout: small" "$(json "$TMP/l.json" .evidence.pages)" small
done
exits 'kvstat' 0 "$BIN/kvstat" --full "$TMP/small.csv.zst"
stdout_like 'kvstat names them' 'buffers in small pages'

replay huge "file:$TMP/d?pages=huge"
replay plain "$TMP/d"
is 'huge ones are the default' "$(json "$TMP/plain.json" .evidence.pages)" "$(json "$TMP/huge.json" .evidence.pages)"
if [ "$(json "$TMP/huge.json" .evidence.pages)" = huge ]; then
    exits 'a comparison' 0 "$BIN/kvstat" --compare "$TMP/small.csv.zst" "$TMP/huge.csv.zst"
    like 'tells the pages' "$(tr '\n' ' ' <"$TMP/stdout" | tr -s ' ')" 'base: small, new: huge'
fi

exits 'kvprecond' 0 "$BIN/kvprecond" --size 8MiB --block-size 1MiB --summary "$TMP/p.json" --target "file:$TMP/p?pages=small"
stdout_like 'kvprecond: in its report' 'engine .*small pages'
is 'kvprecond: in its summary' "$(json "$TMP/p.json" .pages)" small

exits 'an unknown word' 2 "$BIN/kvreplay" --target "file:$TMP/d?pages=tiny" "$TMP/t.csv"
stderr_like 'what it may be' 'pages= takes huge or small'
marked() {
    replay marked "$1"
    json "$TMP/marked.json" .tiers[0].target
}
is 'a path may have a question mark' "$(marked "$TMP/x?size=small")" "$TMP/x?size=small"
is 'behind file: the last one begins parameters' "$(marked "file:$TMP/x?pages=small?")" "$TMP/x?pages=small"
exits 'a parameter without file:' 2 "$BIN/kvreplay" --target "$TMP/x?pages=small" "$TMP/t.csv"
stderr_like 'where it belongs' 'pages= takes effect behind file: only: file:.*/x\?pages=small '
done_testing
