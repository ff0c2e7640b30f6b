#!/bin/sh
# kvtrace model --quick: one size, three mixes; --reuse takes a file again only when it holds the same measurement, of the same
# drive, and is young. A bug looked like a drive that was exchanged and kept its figures.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

# A name that JSON writes otherwise.
disk=$(printf 'd "\\\ni')
mkdir "$disk"
quick() { timeout 120 "$BIN/kvtrace" model "$disk" --quick --storage-capacity 1GiB -o quick.json "$@"; }
exits 'quickly, one size and three mixes' 0 quick --sizes 1MiB --in-flight 1,2 -t 4 --point 1
json_like quick.json <<'END'
sizes with units, three mixes | ([.points[], .skipped[] | "\(.size_bytes) \(.read_share)"] | unique | join(", ")) | 1048576 0, 1048576 0[.]7, 1048576 1
writes come first             | .points[0].read_share | 0
what it depends on            | (.kernel, .file_system, .settings | length > 0) | true true true
END
cp quick.json first.json
exits 'the same again' 0 quick --sizes 1MiB --in-flight 1,2 -t 4 --point 1 --reuse 1h
stderr_like 'is taken from the file' 'quick.json was measured [0-9]+ minutes? ago and is taken again'
ok 'which stays' cmp quick.json first.json

# Else it measures, which is seen by a kvreplay that does not.
mkdir programs
ln -s "$BIN/kvgen" "$BIN/kvstat" programs
printf '#!/bin/sh\ncase " $* " in *" --inflight "*) echo "would measure" >&2; exit 1 ;; esac\nexec "%s/kvreplay" "$@"\n' "$BIN" >programs/kvreplay
chmod +x programs/kvreplay
again() { KVTRACE_BIN=$TMP/programs "$TOP/examples/kvtrace" model "$disk" --quick --storage-capacity 1GiB -o quick.json -t 4 --point 1 --reuse 1h "$@"; }
exits 'other settings' 3 again --sizes 1MiB --in-flight 2
stderr_like 'are measured' 'would measure$'
for change in 'started": "2020-01-01T00:00:00Z' 'kernel": "another' 'file_system": "another'; do
    sed "s/${change%%\"*}\": \"[^\"]*/$change/" <first.json >quick.json
    not_ok "$change: was something else" cmp quick.json first.json
    exits "$change" 3 again --sizes 1MiB --in-flight 1,2
    stderr_like '... is measured' 'would measure$'
done
cp first.json quick.json
exits 'and what is the same is not' 0 again --sizes 1MiB --in-flight 1,2
is 'nothing stays' "$(ls -A "$disk")" ''
done_testing
