#!/bin/sh
# kept_list.t - a kept store knows what it holds: an object on its list that is gone is lost, one that is there in another
# write is stale; both are failed rows with exit status 1, and nothing is silently written again. So it is after a kill too,
# for all that the killed run had listed. What is no file in the place of an object is never waited for. Stores that earlier
# versions kept, and lists that are damaged, are used as they were without lists, which is said. A bug looked like seven
# removed files that were written again and read, exit status 0, an older version of an object that was ok, and a pipe that
# hung the run.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
rows() { # OPERATION PHASE COUNT [BYTES]
    echo $header
    seq 0 $(($3 - 1)) | sed "s/.*/0,$1,${4-20000},Tier-2,k&,$2/"
}
rows Write Prefill 40 >w.csv
rows Write Prefill 12 >w12.csv
rows Read Decode 40 >r.csv
replay() { timeout 60 "$BIN/kvreplay" --full --no-notes --progress none -o r.out --summary s.json "$@"; }
statuses() { awk -F, 'NR > 1 { n[$NF]++ } END { for (s in n) print s, n[s] }' r.out | sort | tr '\n' ' '; }
# adopted, written, lost, stale, not listed
populated() { json s.json '.populated | .adopted_objects, .objects, .lost_objects, .stale_objects, .unlisted_objects'; }
state() { json s.json .kept_list.state; }
files() { find d -name "${1-*.kv}" -type f | sort; }

for layout in files lmcache-fs vllm-fs; do
    case $layout in
    files) set -- --target d && name='*.kv' ;;
    lmcache-fs) set -- --target 'file:d?like=lmcache-fs' && name='*.data' ;;
    vllm-fs) set -- --target 'file:d?like=vllm-fs' && name='*.bin' ;;
    esac
    exits "$layout: 40 objects are kept" 0 replay "$@" --keep w.csv
    is "$layout: nothing was adopted, there is no list to speak of" "$(state)" null
    exits "$layout: and found" 0 replay "$@" --keep r.csv
    is "$layout: all of them" "$(populated) $(state)" '40 0 0 0 0 whole'
    files "$name" | head -n 7 | xargs rm
    exits "$layout: 7 of them removed" 1 replay "$@" --keep r.csv
    is "$layout: are lost" "$(statuses)" 'lost 7 ok 33 '
    is "$layout: and were not written again" "$(populated) $(files "$name" | wc -l)" '33 0 7 0 0 33'
    stderr_like "$layout: which is said" 'kept store: its list is whole; 7 lost, 0 stale, 0 not written by kvtrace'
    stderr_like "$layout: with what it means" 'is lost: it is on the list of kept objects, but not in the store'
    exits "$layout: they are lost the next time too" 1 replay "$@" --keep --verify none r.csv
    is "$layout: whatever is verified" "$(statuses)" 'lost 7 ok 33 '
    exits "$layout: written again by rows" 0 replay "$@" --keep w.csv
    exits "$layout: they are there" 0 replay "$@" --keep r.csv
    is "$layout: once each" "$(populated) $(files "$name" | wc -l)" '40 0 0 0 0 40'

    cp -r d before
    exits "$layout: 12 are written once more" 0 replay "$@" --keep w12.csv
    is "$layout: in the place of the old ones" "$(files "$name" | wc -l)" 40
    (
        cd d || exit
        find . -name "$name" | while read -r f; do
            hash=${f%-????????.kv}
            cmp -s "$f" ../before/"$f" || cat ../before/"$hash"* >"$f"
        done
    )
    for verify in full none; do
        exits "$layout: replaced by their older versions" 1 replay "$@" --keep --verify $verify r.csv
        is "$layout: they are stale, with --verify $verify" "$(statuses) $(populated)" 'ok 28 stale 12  40 0 0 12 0'
        is "$layout: and corrupt rows" "$(json s.json '.rows | .corrupt, .stale, .failed')" '12 12 0'
    done
    "$BIN/kvstat" --json r.out >kvstat.json
    is "$layout: for kvstat too" "$(json kvstat.json '.status | .ok, .corrupt, .failed')" '28 12 0'
    exits "$layout: all are removed" 0 replay "$@" --destroy-data --keep w12.csv
    exits "$layout: without --keep" 0 replay "$@" --destroy-data r.csv
    not_ok "$layout: nothing stays, the list included" test -e d
    rm -rf before
done

# ---- a kill ----
listed() { echo $(($(cat d/.kvtrace-list* | wc -c) / 40)); } # records of 40 bytes each
# killed N TRACE: a run that keeps, which is killed once it has listed that it runs, twice, and N objects written or removed.
killed() {
    before=$(listed)
    "$BIN/kvreplay" --progress none --timing trace --target d --keep -o k.csv "$2" 2>/dev/null &
    pid=$!
    until [ "$(listed)" -ge $((before + 2 + $1)) ] || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
    kill -s KILL $pid
    wait $pid 2>/dev/null || true
}
{ cat w.csv; echo '600,Write,20000,Tier-2,late,Prefill'; } >slow.csv
{ rows Write Prefill 12; seq 20 29 | sed 's/.*/0,Read,20000,Tier-2,k&,Evict/'; seq 30 39 | sed 's/.*/0,Read,20000,Tier-2,k&,Decode/'
    echo '600,Write,20000,Tier-2,late,Prefill'; } >mixed.csv
exits 'kept' 0 replay --target d --keep w12.csv
killed $((12 * 2 + 28)) slow.csv
exits 'a run that keeps is killed: what it wrote' 0 replay --target d --keep r.csv
is 'is there' "$(populated) $(state)" '40 0 0 0 0 whole'
killed $((12 * 2 + 10)) mixed.csv
cp -r d killed
exits 'a run that removes and writes over is killed' 0 replay --target d --keep r.csv
is 'what it removed is not lost, and is written' "$(populated) $(statuses)" '30 10 0 0 0 ok 40 '
rm -rf d && cp -r killed d
(cd d && find . -name '*.kv' | sort | head -n 5 | xargs rm)
exits 'files removed behind the back of the killed run' 1 replay --target d --keep r.csv
is 'are lost' "$(populated) $(statuses)" '25 10 5 0 0 lost 5 ok 35 '
rm -rf d killed

# ---- what is no file ----
exits 'kept' 0 replay --target d --keep w.csv
set --
for file in $(files | head -n 5); do set -- "$@" "$file"; done
rm "$@"
mkfifo "$1"
kinds=2
if command -v python3 >/dev/null; then
    python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('$2')" && kinds=$((kinds + 1))
fi
mknod "$3" c 1 5 2>/dev/null && kinds=$((kinds + 1)) # needs root
ln -s /dev/zero "$4"
mkdir "$5"
exits 'a pipe, a socket, a device, a link and a folder in the place of objects' 1 replay --target d --keep r.csv
is 'are lost objects' "$(statuses)" 'lost 5 ok 35 '
exits 'written over' 0 replay --target d --keep w.csv
exits 'they are objects' 0 replay --target d --keep r.csv
is 'all of them' "$(populated)" '40 0 0 0 0'
rm -rf d
exits 'an earlier version has kept them' 0 replay --target d --keep w.csv
rm d/.kvtrace-list*
set -- "$(files | head -n 1)"
rm "$1"
mkfifo "$1"
exits 'without a list' 0 replay --target d --keep r.csv
is 'a pipe is no object, which is written' "$(populated) $(state)" '39 1 0 0 39 none'
rm -rf d

# ---- earlier versions, and lists that cannot be used ----
exits 'kept' 0 replay --target d --keep w.csv
rm d/.kvtrace-list*
files | while read -r f; do mv "$f" "${f%-????????.kv}.kv"; done # as they named them
exits 'a store that an earlier version kept' 0 replay --target d --keep r.csv
is 'is adopted' "$(populated) $(state)" '40 0 0 0 40 none'
stderr_like 'which is said' 'kept store: written by a version without lists of kept objects'
exits 'from then on' 0 replay --target d --keep r.csv
is 'there is a list' "$(populated) $(state)" '40 0 0 0 0 whole'
exits 'written again' 0 replay --target d --keep w12.csv
is 'they have new names, and the old ones are gone' "$(files | wc -l) $(files | grep -c -- -)" '40 12'
for damage in flip cut gone head; do
    case $damage in
    flip) # each of its bytes may be anything
        list=$(find d -name '.kvtrace-list.*' | sort | head -n 1)
        other=x
        [ "$(head -c 101 "$list" | tail -c 1 | od -An -c | tr -d ' ')" != x ] || other=y
        printf %s $other | dd of="$list" bs=1 seek=100 conv=notrunc 2>/dev/null
        ;;
    cut) find d -name '.kvtrace-list.*' | sort | tail -n 1 | xargs truncate -s -10 ;;
    gone) find d -name '.kvtrace-list.*' | sort | head -n 1 | xargs rm ;;
    head) echo nonsense >d/.kvtrace-list ;;
    esac
    exits "a list that is damaged: $damage" 0 replay --target d --keep r.csv
    is "$damage: its objects are used all the same" "$(populated)" '40 0 0 0 40'
    exits "$damage: after that" 0 replay --target d --keep r.csv
    is "$damage: there is a list again" "$(populated)" '40 0 0 0 0'
done
i=0
while [ $((i += 1)) -le 12 ]; do replay --target d --keep w12.csv 2>/dev/null; done
ok 'the list does not grow with the runs' test "$(cat d/.kvtrace-list* | wc -c)" -lt 60000
is 'nor does the store' "$(files | wc -l)" 40
mkfifo d/.kvtrace-list.ffffffff d/.kvtrace-list.0000ffff
exits 'a pipe in the place of a segment' 0 replay --target d --keep r.csv
rm -rf d

# ---- what a stopped run had under way ----
rm -f k.csv
"$BIN/kvreplay" --progress none --timing trace --duration 4s --target d -o k.csv slow.csv 2>err &
pid=$!
catches $pid
until grep -qs 'k39,.*,ok' k.csv || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
for file in $(files | head -n 3); do cp "$file" "${file%-????????.kv}-deadbeef.kv"; done
wait $pid && status=0 || status=$?
is 'a run into whose store objects of another run came' "$status $(ls -d d 2>/dev/null)" '0 '
like 'has removed and counted them' "$(cat err)" 'd: 3 objects arrived late from a run that had lost this store, and were removed'

# ---- slabs have an index instead ----
exits 'a slab is kept' 0 replay --target d --layout slab --keep w.csv
cp d/slab.kv old.kv
exits 'and written over' 0 replay --target d --layout slab --keep w.csv
# The space of the old one under the index of the new one: both lie at the same places.
dd if=old.kv of=d/slab.kv bs=1M skip=1 seek=1 count=1 conv=notrunc 2>/dev/null
exits 'objects of an older write under a newer index' 1 replay --target d --layout slab --keep r.csv
is 'are stale' "$(statuses) $(populated)" 'stale 40  40 0 0 40 0'
is 'a slab has no second list' "$(find d -name '.kvtrace-list*')" ''
done_testing
