#!/bin/sh
# kept_objects.t - what was kept stays: a run without --keep is refused, one that keeps and is killed leaves it, and what the
# killed run left is used only after its blocks were looked at. Links that somebody planted in a directory are never
# written through. Contents differ from run to run unless a seed is given. A bug looked like 200 kept objects that the
# next run removed without a word, or a file outside of the directory that became an object.
# builds: plain address (threads of the engines: matrix.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
summary=$TMP/summary.json
{ echo $header; seq 0 19 | sed 's/.*/0,Write,65536,Tier-2,k&,Prefill/'; } >"$TMP/w.csv"
{ echo $header; seq 0 19 | sed 's/.*/0,Read,65536,Tier-2,k&,Decode/'; } >"$TMP/r.csv"
# Reads and a write, and then a row that comes too late to be reached.
{ cat "$TMP/r.csv"; printf '%s,Write,65536,Tier-2,%s,Prefill\n' 0 soon 600 late; } >"$TMP/slow.csv"
replay() { "$BIN/kvreplay" --full --progress none -o "$TMP/o.csv" --summary "$summary" "$@"; }
populated() { json "$summary" '.populated | .adopted_objects, .objects, .torn_objects'; }
# killed ARGUMENTS...: a run that is killed once it has written an object.
killed() {
    : >"$TMP/k.csv"
    "$BIN/kvreplay" --full --progress none -o "$TMP/k.csv" "$@" 2>/dev/null &
    pid=$!
    catches $pid
    until grep -q ',Write,' "$TMP/k.csv" || ! kill -s 0 $pid 2>/dev/null; do sleep 0.02; done
    kill -s KILL $pid
    wait $pid 2>/dev/null || true
}
state() { head -n 1 "$TMP/d/.kvtrace"; }

for layout in files slab lmcache-fs lmcache-fs-direct vllm-fs; do
    case $layout in
    files | slab) set -- --nvme "$TMP/d" --layout $layout ;;
    *) set -- --target "file:$TMP/d?like=$layout" ;;
    esac
    exits "$layout: kept" 0 replay "$@" --keep "$TMP/w.csv"
    is "$layout: the marker says so" "$(state)" 'kvtrace kept 2'
    exits "$layout: a run without --keep" 3 replay "$@" "$TMP/r.csv"
    stderr_like "$layout: is told what is there" \
        'd: holds [0-9]+ objects? \([0-9.]+ MiB\) that an earlier run of kvreplay kept'
    exits "$layout: a fill" 3 "$BIN/kvprecond" --size 1M --keep "$TMP/d"
    stderr_like "$layout: too" 'that an earlier run of kvreplay kept: --destroy-data removes them'
    killed "$@" --keep --timing trace "$TMP/slow.csv"
    like "$layout: a run that keeps is killed" "$(state)" '^kvtrace runs '
    exits "$layout: what was kept before is kept still" 3 replay "$@" "$TMP/r.csv"
    exits "$layout: and is there" 0 replay "$@" --keep --on-absent fail "$TMP/r.csv"
    is "$layout: whole" "$(populated)" "20 0 0"

    # What was adopted after a kill is looked at again each time: a block that is not whole is found.
    if [ $layout = slab ]; then file=$TMP/d/slab.kv; else file=$(find "$TMP/d" -type f -size +60k | head -n 1); fi
    dd if=/dev/zero of="$file" bs=4096 seek=9 count=1 conv=notrunc 2>/dev/null
    [ $layout != slab ] || dd if=/dev/zero of="$file" bs=4096 seek=265 count=1 conv=notrunc 2>/dev/null
    exits "$layout: a torn object is written anew" 0 replay "$@" --keep "$TMP/r.csv"
    is "$layout: that one only" "$(populated)" "19 1 1"
    stderr_like "$layout: which is said" 'a run that was to keep its objects was killed here: 1 not whole'
    is "$layout: all of them are read" "$(json "$summary" .rows.ok)" 20
    exits "$layout: --destroy-data" 0 replay "$@" --destroy-data "$TMP/r.csv"
    is "$layout: uses them" "$(populated)" "20 0 0"
    not_ok "$layout: and removes them" test -e "$TMP/d"
done

# A slab in a file: what a run does not use stays beside what it writes, also when the slab grows for it.
: >"$TMP/f"
{ echo $header; seq 0 59 | sed 's/.*/0,Write,65536,Tier-2,new&,Prefill/'; } >"$TMP/more.csv"
exits "a slab in a file" 0 replay --nvme "$TMP/f" --keep "$TMP/w.csv"
exits "without --keep" 3 replay --nvme "$TMP/f" "$TMP/more.csv"
stderr_like "it says what is there" 'f: holds 20 objects \(1\.25 MiB\) that an earlier run kept'
exits "with it" 0 replay --nvme "$TMP/f" --keep "$TMP/more.csv"
exits "what was kept first" 0 replay --nvme "$TMP/f" --keep --on-absent fail "$TMP/r.csv"
is "is all there" "$(populated)" "20 0 0"
sed 's/Write/Read/; s/Prefill/Decode/' "$TMP/more.csv" >"$TMP/more_r.csv"
exits "what was kept beside it" 0 replay --nvme "$TMP/f" --keep --on-absent fail "$TMP/more_r.csv"
is "too" "$(populated)" "60 0 0"
# Many runs that write a little more each: the slab grows in its own time, and its index never touches the old one.
for i in $(seq 6); do
    printf '%s\n' $header "0,Write,3000000,Tier-2,grown$i,Prefill" >"$TMP/one.csv"
    "$BIN/kvreplay" --full --nvme "$TMP/f" --keep --progress none -o /dev/null "$TMP/one.csv" 2>"$TMP/stderr" || break
done
is "grown in $i steps" "$(grep -c "INVALID\|rror" "$TMP/stderr")" 0
for i in $(seq 6); do echo "0,Read,3000000,Tier-2,grown$i,Decode"; done >"$TMP/grown"
{ cat "$TMP/r.csv" "$TMP/grown"; sed 1d "$TMP/more_r.csv"; } >"$TMP/all.csv"
exits "all that was ever kept in it" 0 replay --nvme "$TMP/f" --keep --on-absent fail "$TMP/all.csv"
is "is there" "$(populated)" "86 0 0"
truncate -s 3M "$TMP/f"
exits "a slab that was cut" 3 replay --nvme "$TMP/f" --keep "$TMP/r.csv"
stderr_like "is not taken for an empty one" 'f: is shorter than the objects kept in it: --destroy-data discards them'
exits "unless it is to be" 0 replay --nvme "$TMP/f" --destroy-data --keep "$TMP/w.csv"
exits "and kept again" 0 replay --nvme "$TMP/f" --keep "$TMP/more.csv"
exits "written over in place, not twice" 0 replay --nvme "$TMP/f" --keep "$TMP/w.csv"
exits "in the end" 0 replay --nvme "$TMP/f" --destroy-data --on-absent fail "$TMP/r.csv"
is "the file is empty" "$(stat -c %s "$TMP/f")" 0

# A fill that was kept.
exits "a fill is kept" 0 "$BIN/kvprecond" --size 1M --keep "$TMP/d"
exits "a replay without --keep" 3 replay --nvme "$TMP/d" "$TMP/w.csv"
stderr_like "leaves it" 'd: holds 1 object \(1\.00 MiB\) that an earlier run of kvprecond kept'
exits "with it" 0 replay --nvme "$TMP/d" --keep "$TMP/w.csv"
is "it stays beside" "$(stat -c %s "$TMP/d/fill-000000.kv")" 1048576
exits "with --destroy-data" 0 replay --nvme "$TMP/d" --destroy-data "$TMP/w.csv"
not_ok "it goes" test -e "$TMP/d"

# Planted links: the object is written, the file that the link names is not.
echo precious >"$TMP/precious"
"$BIN/kvreplay" --full --nvme "$TMP/d" --keep -o /dev/null "$TMP/w.csv" 2>/dev/null
for file in $(find "$TMP/d" -name '*.kv' | head -n 5); do ln -f "$TMP/precious" "$file"; done
for file in $(find "$TMP/d" -name '*.kv' -size +100 | head -n 5); do ln -sf "$TMP/precious" "$file"; done
for trace in r w; do # the objects are lost; writes make them anew
    lost=$([ $trace = w ] || echo 1)
    exits "links in the place of objects: $trace" "${lost:-0}" replay --nvme "$TMP/d" --keep "$TMP/$trace.csv"
    is "$trace: nothing is written through them" "$(cat "$TMP/precious")" precious
done
for file in $(find "$TMP/d" -name '*.kv' | head -n 5); do ln -f "$TMP/precious" "$file"; done
exits "and written over" 0 replay --nvme "$TMP/d" --keep "$TMP/w.csv"
is "nothing is written through them" "$(cat "$TMP/precious")" precious
ln "$TMP/precious" "$TMP/d/slab.kv"
exits "a slab.kv that is somebody's" 3 replay --nvme "$TMP/d" --keep --layout slab "$TMP/w.csv"
stderr_like "is refused" 'its slab\.kv was not written by kvtrace'
is "and stays" "$(cat "$TMP/precious")" precious
rm -rf "$TMP/d"
: >"$TMP/f"
ln "$TMP/f" "$TMP/g"
exits "a file with two names" 3 replay --nvme "$TMP/f" "$TMP/w.csv"
stderr_like "is refused" 'f: refused: it has 2 names \(hard links\)'
rm "$TMP/g"

# A file of somebody's in a home folder is not even for --destroy-data.
mkdir "$TMP/home"
echo precious >"$TMP/home/notes"
exits "a file in a home folder" 3 env HOME="$TMP/home" "$BIN/kvreplay" --full --nvme "$TMP/home/notes" --destroy-data \
    -o /dev/null "$TMP/w.csv"
stderr_like "is refused" 'notes: refused: holds data that is not kvtrace.s, in a home folder'
is "and stays" "$(cat "$TMP/home/notes")" precious
exits "the folder itself" 3 env HOME="$TMP/home" "$BIN/kvreplay" --full --nvme "$TMP/home" -o /dev/null "$TMP/w.csv"
stderr_like "is refused too" 'home: refused: .*/home is a home folder; name a directory below it'

# Contents.
digest() { cat "$TMP"/d/*/*.kv | cksum; }
for seed in 7 7 8 0 0; do
    "$BIN/kvreplay" --full --nvme "$TMP/d" --keep --config data_seed=$seed --inflight 1 --summary "$summary" -o /dev/null \
        "$TMP/w.csv" 2>"$TMP/stderr"
    echo "$seed $(digest)"
    rm -rf "$TMP/d"
done >"$TMP/digests"
is "runs with one seed write the same, others do not" "$(sort -u "$TMP/digests" | wc -l)" 4
"$BIN/kvreplay" --full --nvme "$TMP/d" --keep --inflight 1 --summary "$summary" -o /dev/null "$TMP/w.csv" 2>"$TMP/stderr"
seed=$(json "$summary" .data_seed)
like "the marker has the seed" "$(cat "$TMP/d/.kvtrace")" "^seed $seed$"
first=$(digest)
exits "kept objects of another seed verify" 0 replay --nvme "$TMP/d" --keep --config data_seed=9 "$TMP/r.csv"
rm -rf "$TMP/d"
"$BIN/kvreplay" --full --nvme "$TMP/d" --keep --inflight 1 --config data_seed="$seed" -o /dev/null "$TMP/w.csv" 2>"$TMP/stderr"
is "the seed in the summary makes the same contents" "$(digest)" "$first"
done_testing
