#!/bin/sh
# answers_disk.t - the chain of one answer on a folder: measured, simulated, confirmed, said; each file is there, and what others
# have in the folder stays. Bugs looked like a confirmation of operations that had failed, and a cached measurement of another
# drive.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
# shellcheck source=tests/answers.sh
. "$TOP/tests/answers.sh"

mkdir -- disk ./-disk
echo mine >disk/file
# A small drive, of which a measurement has two points of each mix, and each is known after one run.
printf '#!/bin/sh\nprintf "Filesystem 1024-blocks Used Available Capacity Mounted on\\n/dev/x 21000 0 21000 0%%%% /\\n"\n' >known/df
rm known/kvstat
cat >known/kvstat <<END
#!/bin/sh
case " \$* " in
*' --knee '*) "$BIN/kvstat" "\$@" >"$TMP/knee" && sed 's/,0,\([0-9]*,[01]\)\$/,1,\1/' "$TMP/knee" && exit ;;
*' --measured-again chain/later.json '*) echo "\$*" >>"$TMP/heard" ;;
*' --json '*) [ ! -e "$TMP/differs" ] || { "$BIN/kvstat" "\$@" | jq '.confirmed.cause = "drive_slower_than_its_model"' && exit 4; } ;;
esac
exec "$BIN/kvstat" "\$@"
END
chmod +x known/df known/kvstat
chain() { "$examples/drive.sh" -o chain -m tiny-1b --params 1e9 --gpu-mem 1GiB --storage-capacity 1GiB -t 1s "$@"; }
status=0
chain -- -disk >stdout 2>stderr || status=$?
like 'a folder with a dash, after --: an answer' "$status" '^[04]$'
stdout_like 'on what ran on it' '^Confirmed '
for file in drive.json sim.json window.csv.zst drive.result.csv.zst model.result.csv.zst answer.json answer.html; do
    ok "$file is there" test -s "chain/$file"
done
is 'its members' "$(json chain/answer.json '.confirmed | has("measured"), has("model")')" 'true true'
is 'the load asks for objects of a size, which are measured' "$(json chain/drive.json '[.points[].size_bytes] | unique | tostring')" \
    "[$(json chain/load.json '.cache.tiers[] | select(.tier == "Tier-2") | .copy_bytes')]"
is 'four steps' "$(grep -c ' of 4: ' stderr)" 4
is 'nothing stays in the folder' "$(ls -A ./-disk)" ''
cp chain/drive.json first.json
# Where nothing but the drive explains what differs, it is measured again, and kvstat hears of it: for the file and the screen.
touch differs
: >heard
status=0
chain ./-disk >stdout 2>stderr || status=$?
stderr_like 'the same again: the measurement is taken again' ' was measured [0-9]+ minutes? ago; that is taken again'
ok 'as it was' cmp chain/drive.json first.json
ok 'what was measured before is kept' test -s chain/.earlier/1/drive.result.csv.zst
stderr_like 'a drive that differs from its model is measured again' ' 5 of 5: the drive differs from its model: measures it again; '
ok 'there is such a measurement' test -s chain/later.json
is 'which kvstat hears, for the file and for the screen' "$(lines heard)" 2
like 'and the answer ends with what that says' "$status" '^[04]$'
rm differs

answer_there() { find chain -type f ! -name '*.log' ! -name load.json ! -name '.kvtrace-*' -exec md5sum {} + | sort; }
there=$(answer_there)
exits 'a file for a folder' 2 chain disk/file
exits 'an unwritable one' 3 chain /proc/none
exits 'one in no folder, with an answer there' 3 chain nowhere/deep
exits 'one with a colon, in no folder' 3 chain nowhere:1/deep
exits 'one with file:' 3 chain file:nowhere/deep
is 'the answer stays where it is' "$(answer_there)" "$there"
exits 'less room than the engine needs' 2 chain --storage-capacity 1KiB ./-disk
not_ok 'is told before the drive is measured' grep -q 'measures' stderr
rm -f chain/answer.json
exits 'one in no folder' 3 chain nowhere/deep
stderr_like 'is told why' 'nowhere/deep: cannot be created: there is no folder nowhere$'
not_ok 'and no answer before it is told as missing' grep -q 'cannot open' stderr
is 'others keep their files' "$(ls -A disk) $(cat disk/file)" 'file mine'

# A drive that is memory confirms nothing, however well its times agree.
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ]; then
    memory=$(mktemp -d /dev/shm/kvtrace.XXXXXX)
    told "$BIN/kvreplay" --timing trace --target "$memory/objects" -o memory.csv.zst chain/window.csv.zst
    exits 'memory' 4 "$BIN/kvstat" --answer chain/sim.json --confirm memory.csv.zst --confirm-model chain/model.result.csv.zst --json
    is 'is named' "$(json stdout .confirmed.cause)" target_is_memory
    rm -rf "$memory"
fi

# Operations that fail are no answer.
rm known/kvreplay
cat >known/kvreplay <<END
#!/bin/sh
case " \$* " in *window.csv.zst*) echo "kvreplay: 3 operations failed" >&2; exit 1 ;; esac
exec "$BIN/kvreplay" "\$@"
END
chmod +x known/kvreplay
exits 'operations that fail' 3 chain ./-disk
stderr_like 'are told' 'drive.sh: kvreplay: 3 operations failed'
sed 's/echo "kvreplay: 3 .*" >&2;/printf "kvreplay: row 7: %s\\n" first second INVALID >\&2;/' known/kvreplay >failing && cat failing >known/kvreplay
exits 'a row that fails' 3 chain ./-disk
stderr_like 'is told, not what comes of it' 'drive.sh: kvreplay: row 7: first$'
done_testing
