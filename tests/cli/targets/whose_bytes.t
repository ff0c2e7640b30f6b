#!/bin/sh
# whose_bytes.t - a read that finds another object's contents is wrong, one that finds another write of its own object is stale,
# and one that finds what belongs to nobody is corrupt: in files, in a slab and in an engine's store, whichever part of the object
# it is; each is a failed row, counted by tier, in the summary and by kvstat. A bug looked like a mixed-up store that was told
# to be damaged.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
write() { # SIZE: three objects
    printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    for key in a b c; do echo "0,Write,$1,Tier-2,$key,Prefill"; done
}
replay() {
    case $store in
    files | slab) set -- --target d --layout "$store" "$@" ;;
    *) set -- --target "file:d?like=$store" "$@" ;;
    esac
    "$BIN/kvreplay" --full --inflight 1 --keep --progress none --no-notes -o r.csv --summary s.json "$@"
}
statuses() { awk -F, 'NR > 1 { print $NF }' r.csv | sort | tr '\n' ' '; }
# headers FILE: where each block of an object begins, and the key and generation that it names.
headers() {
    grep -obUa KVTRACE1 "$1" | cut -d: -f1 | while read -r at; do
        echo "$at $(od -An -v -tx1 -j $((at + 8)) -N 24 "$1" | tr -d ' \n')"
    done
}
copy() { dd if="$1" of="$3" bs=1 skip="$2" seek="$4" count="$5" conv=notrunc 2>/dev/null; }

while read -r store size verify; do
    name="$store of $size bytes, --verify $verify"
    rm -rf d old
    write "$size" >w.csv
    sed 's/Write/Read/; s/Prefill/Decode/' w.csv >r1.csv
    replay w.csv 2>/dev/null
    cp -R d old
    replay w.csv 2>/dev/null
    ok "$name: as written" replay --verify "$verify" r1.csv
    is "$name: nothing differs" "$(json s.json '.rows | .corrupt, .stale, .wrong')" '0 0 0'

    # Of each object a block of another one, of its last write, and of nobody.
    case $store in
    slab)
        headers old/slab.kv >before
        headers d/slab.kv >after
        awk '{ print substr($2, 1, 32) }' after | uniq >keys
        { read -r a && read -r b && read -r c; } <keys
        first() { awk -v key="$1" 'substr($2, 1, 32) == key { print $1; exit }' "$2"; }
        one=$(first "$a" after) two=$(first "$b" after) three=$(first "$c" after)
        copy d/slab.kv "$two" d/slab.kv "$one" 4096
        copy old/slab.kv "$(first "$b" before)" d/slab.kv "$two" 4096
        copy /dev/zero 0 d/slab.kv "$three" 4096
        ;;
    *)
        # Names of engines do not change with a write; those of files do.
        key_of() { od -An -v -tx1 -j 8 -N 16 "$1" | tr -d ' \n'; }
        find d -type f \( -name '*.kv' -o -name '*.data' \) | LC_ALL=C sort >files
        { read -r a && read -r b && read -r c; } <files
        find old -type f \( -name '*.kv' -o -name '*.data' \) | while read -r file; do
            [ "$(key_of "$file")" != "$(key_of "$b")" ] || echo "$file"
        done >same
        cat "$b" >"$a"
        cat "$(cat same)" >"$b"
        size_of=$(wc -c <"$c")
        head -c "$size_of" /dev/zero >"$c"
        ;;
    esac
    exits "$name: mixed up" 1 replay --verify "$verify" r1.csv
    is "$name: one of each" "$(statuses)" 'corrupt stale wrong '
    stderr_like "$name: wrong is named" 'wrong: block 0 at offset 0: block belongs to another object'
    stderr_like "$name: in all" '0 ok, 0 absent, 3 corrupt \(1 stale, 1 wrong\), 0 failed'
    stderr_like "$name: by tier" '^corrupt in Tier-2: 3 \(1 stale, 1 wrong\)$'
    is "$name: in the summary" "$(json s.json '(.rows | .corrupt, .stale, .wrong, .failed), (tier("Tier-2") | .corrupt, .stale, .wrong)')" \
        '3 1 1 0 3 1 1'
    "$BIN/kvstat" --json r.csv >k.json
    is "$name: by kvstat" "$(json k.json '(.status | .ok, .corrupt, .stale, .wrong, .failed),
        (.cache.tiers[] | select(.tier == "Tier-2") | .corrupt, .stale, .wrong)')" '0 3 1 1 0 3 1 1'
done <<'STORES'
files 40001 header
files 100 full
slab 40001 header
lmcache-fs 40001 header
lmcache-fs 1000 full
STORES
"$BIN/kvstat" --full r.csv >full
like 'in the report' "$(tr -s ' \n' '  ' <full)" \
    'Failed rows 0 absent, 3 corrupt, 0 with an I/O error of the corrupt: 1 stale \(another write of the object\), 1 wrong \(another object\)'
"$BIN/kvstat" --check --profile latency r.csv >verdict 2>&1
is 'a wrong row is a FAIL' $? 1
done_testing
