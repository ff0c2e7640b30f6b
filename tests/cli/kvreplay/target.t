#!/bin/sh
# target.t - names of targets, in kvreplay and kvprecond: paths under their old and new names, and errors for what is not
# understood. A bug looked like a folder named "s3:" that a run had made, or a password in a message.
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

cat >t.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.000000,Write,100000,Tier-2,a,Prefill
0.001000,Read,100000,Tier-2,a,Decode
0.002000,Delete,100000,Tier-2,a,
END
rows=$(lines t.csv)
replay() { "$BIN/kvreplay" -o r.csv --no-notes "$@" t.csv; }

for name in --target --nvme --cache-dir; do
    exits "$name takes a path" 0 replay $name objects
done
exits 'file: and a path' 0 replay --target file:objects
exits 'tier and path' 0 replay --target 2=objects
is 'every row' "$(lines r.csv)" "$rows"

# refused NAME WHY URI: exit status 2, the reason, and nothing that was made in the folder.
refused() {
    before=$(ls)
    exits "$1" 2 replay --target "$3"
    stderr_like "$1: why" "^kvreplay: --target: .*$2"
    stderr_unlike "$1: no secret" secret
    is "$1: nothing is made" "$(ls)" "$before"
}
refused 'an unknown kind' 'ftp: is no kind of target' ftp://host/x
refused 'a slip' 'did you mean redis://HOST' redi://host
refused 'an unknown parameter' 'did you mean connections=' 'redis://h?conection=4'
refused 'a password' 'REDISCLI_AUTH' redis://me:secret@host/0
refused 'a path under another tier' 'serves tier 2 only' 1=objects
exits 'two targets of a tier' 2 replay --target a --target redis://h
stderr_like 'two targets of a tier: why' 'tier 2 has a target already'
exits 'a target and an engine' 2 replay --target a --tier-engine 2=mem
exits 'an option of paths without one' 2 replay --layout slab --tier-engine 2=mem
stderr_like 'an option of paths without one: why' '--layout: applies only with --target PATH'

exits 'kvprecond takes a path' 0 "$BIN/kvprecond" --size 1M --target file:fill
exits 'kvprecond takes one target' 2 "$BIN/kvprecond" --size 1M --target fill other
exits 'kvprecond has no tiers' 2 "$BIN/kvprecond" --size 1M --target 2=fill
exits 'kvprecond fills no server' 2 "$BIN/kvprecond" --size 1M redis://localhost
stderr_like 'kvprecond fills no server: why' 'takes --mode stream only'
not_ok 'nothing is left' test -e fill
done_testing
