#!/bin/sh
# paths.t - several paths as one store: one trace with moves, rewrites, deletes and partial reads on one folder, on four,
# by hash and by capacity, and on slabs gives the same rows in the same order of each key, all verified, and leaves nothing.
# A changed, stale or swapped object is found on each of them. What is kept is found again by the same targets in any order,
# and by no others; a killed run leaves what the next one clears or adopts. A bug looked like an object that was looked for
# on another target than the one it was written to, or three of four targets that were emptied.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
replay() { "$BIN/kvreplay" --full --no-notes --progress none --verify full -o r.csv --summary s.json "$@"; }
four='--target a --target b --target c --target d'
column() { awk -F, -v name="$1" 'NR == 1 {while ($++s != name);} NR > 1 {print $s}' r.csv; }
# The rows with their Status, by key, in the order in which they ended; reads of one key that run together in any order.
rows() {
    awk -F, 'NR == 1 {while ($++s != "Status");}
        NR > 1 {alone = $2 != "Read" || $6 == "Evict"; n[$5] += alone; print $5, n[$5], !alone, $2, $3, $4, $s; n[$5] += alone}' \
        r.csv | sort -k 1,1 -k 2n -k 3
}

awk -v header=$header 'BEGIN {
    srand(3)
    print header
    for (i = 0; i < 200; i++) {
        key = int(rand() * 40); what = rand()
        if (key in size && what < 0.45) row("Read", rand() < 0.3 ? 1 + int(rand() * size[key]) : size[key], "Decode")
        else if (key in size && what < 0.55) { row("Read", size[key], "Evict"); delete size[key] }
        else if (key in size && what < 0.65) { row("Delete", 0, "Evict"); delete size[key] }
        else if (!(key in seen) && what < 0.3) { size[key] = 1 + int(rand() * 60000); row("Read", size[key], "Decode") }
        else { size[key] = 1 + int(rand() * 60000); row("Write", size[key], "Prefill") }
        seen[key] = 1
    }
}
function row(op, bytes, phase) { printf "%.4f,%s,%d,Tier-2,k%d,%s\n", i / 1000, op, bytes, key, phase }' >t.csv
exits 'one folder' 0 replay --target one t.csv
rows >rows.one
is 'one place has no column' "$(head -n 1 r.csv | grep -c Endpoint)" 0
: >f1 && : >f2 && : >f3
i=0
while read -r name args; do
    i=$((i + 1))
    with "$args" exits "$name" 0 replay t.csv
    ok "$name: the same rows, in the same order of each key" sh -c 'cmp -s rows.one -' <<END
$(rows)
END
    json_like s.json <<END
$name: all are good | .rows.ok, .rows.corrupt, .rows.lost, .rows.unverified_reads | 200 0 0 0
END
    is "$name: nothing is left" "$(find a b c d -name '*' 2>/dev/null | wc -l)$(cat f1 f2 f3)" 0
done <<END
four-folders $four
by-capacity $four --config spread=capacity
three-and-eight-rings $four --config rings=2 --iodepth 7
slabs $four --layout slab
psync $four --config ioengine=psync
buffered $four --buffered --sync object
files-and-a-folder --target f1 --target f2 --target a --target f3
timed $four --timing trace --speed 20
END
is 'each run was made' $i 8
tail -n +1 t.csv | with "$four" replay --cpu-mem 1MiB - 2>err # from a pipe nothing is known ahead
is 'from a pipe' "$(rows | cmp -s rows.one - && echo same)" same
tail -n +1 t.csv | with "$four" replay --cpu-mem 1MiB --layout slab --storage-capacity 100MiB - 2>err
is 'from a pipe into slabs' "$(rows | cmp -s rows.one - && echo same)" same
with "$four" exits 'slabs of a stated capacity' 0 replay --layout slab --storage-capacity 4MiB t.csv
is 'with the same rows' "$(rows | cmp -s rows.one - && echo same)" same
with "$four" exits 'more than the targets have' 3 replay --layout slab --storage-capacity 0.1MiB t.csv

# ---- figures of each ----
with "$four" exits 'with figures' 0 replay t.csv
is 'rows name the target' "$(column Endpoint | sort -u | tr '\n' ' ')" 'a b c d '
is 'one key, one target' "$(awk -F, 'NR == 1 {while ($++s != "Endpoint");} NR > 1 {print $5, $s}' r.csv | sort -u | cut -d' ' -f1 |
    uniq -d | wc -l)" 0
json_like s.json <<'END'
names            | tier("Tier-2").endpoints | map(.endpoint) | join(" ")               | a b c d
shares           | tier("Tier-2").endpoints | map(.share) | add                        | 1
reads add up     | tier("Tier-2") | (.endpoints | map(.read.ops) | add) == .read.ops   | true
bytes add up     | tier("Tier-2") | (.endpoints | map(.write.bytes) | add) == .write.bytes | true
deletes add up   | tier("Tier-2") | (.endpoints | map(.delete.ops) | add) == .delete.ops | true
imbalance        | tier("Tier-2").imbalance | . >= 1 and . < 3                         | true
one device       | [tier("Tier-2").flags[] | select(test("^4 targets on 1 device$"))] | length | 1
END
"$BIN/kvstat" --by endpoint --json r.csv >stat.json
is 'and counts the same' "$(json stat.json '[.groups[] | .ops] | add')" 200
is 'each by name' "$(json stat.json '[.groups[].by.endpoint] | unique | join(" ")')" 'a b c d'

# ---- refused ----
exits 'the same path twice' 2 replay --target a --target a t.csv
stderr_like 'is named' 'a and a are the same place'
exits 'written in two ways' 2 replay --target a --target ./a t.csv
mkdir a && ln -s a link
exits 'by two names' 2 replay --target a --target link t.csv
stderr_like 'too' 'a and link are the same place'
rm link && rmdir a
exits '--config spread without several' 2 replay --target a --config spread=capacity t.csv
exits 'a path and a server' 2 replay --target a --target redis://localhost/1 t.csv
exits 'a result in the second' 2 replay --target a --target b -o b t.csv
mkdir other && echo x >other/mine
exits 'other data in the last' 3 replay --target a --target b --target other t.csv
is 'leaves the others as they were' "$(ls -d a b 2>/dev/null)$(cat other/mine)" x

# ---- kept ----
{ echo $header; seq 0 39 | sed 's/.*/0,Write,65536,Tier-2,k&,Prefill/'; } >w.csv
sed 's/Write/Read/; s/Prefill/Decode/' w.csv >read.csv
populated() { json s.json '.populated | .adopted_objects, .objects'; }
for layout in files slab; do
    with "$four" exits "$layout: kept" 0 replay --layout $layout --keep w.csv
    is "$layout: the markers say so" "$(head -qn 1 a/.kvtrace b/.kvtrace c/.kvtrace d/.kvtrace | sort -u)" 'kvtrace kept 2'
    with "$four" exits "$layout: found again" 0 replay --layout $layout --keep --on-absent fail read.csv
    is "$layout: all of them" "$(populated)" '40 0'
    exits "$layout: in another order" 0 replay --target d --target b --target a --target c --layout $layout --keep \
        --on-absent fail read.csv
    is "$layout: too" "$(populated)" '40 0'
    exits "$layout: without one" 3 replay --target a --target b --target c --layout $layout --keep read.csv
    stderr_like "$layout: which is said" 'give all its targets, in any order, and no others'
    exits "$layout: one alone" 3 replay --target b --layout $layout --keep read.csv
    with "$four" exits "$layout: with one more" 3 replay --target e --layout $layout --keep read.csv
    not_ok "$layout: it is not made" test -e e
    with "$four" exits "$layout: without --keep" 3 replay --layout $layout read.csv
    is "$layout: they are still there" "$(head -qn 1 a/.kvtrace b/.kvtrace c/.kvtrace d/.kvtrace | sort -u)" 'kvtrace kept 2'

    # Another process changes an object on each target in turn.
    for t in a d; do
        file=$(find $t -name '*.kv' | sort | head -n 1)
        cp "$file" saved
        at=$([ $layout = files ] && echo 5000 || echo $((1048576 + 5000)))
        printf '\377\376\375' | dd of="$file" bs=1 seek="$at" conv=notrunc 2>/dev/null
        with "$four" exits "$layout: a changed object on $t" 1 replay --layout $layout --keep read.csv
        is "$layout: is corrupt" "$(column Status | sort | uniq -c | tr -s ' ' | tr '\n' ' ')" ' 1 corrupt  39 ok '
        is "$layout: and on $t" "$(awk -F, 'NR == 1 {while ($++s != "Status"); while ($++p != "Endpoint");}
            NR > 1 && $s == "corrupt" {print $p}' r.csv)" $t
        cp saved "$file"
    done
    with "$four" exits "$layout: restored" 0 replay --layout $layout --keep read.csv
    with "$four" exits "$layout: --destroy-data" 0 replay --layout $layout --destroy-data w.csv
    is "$layout: nothing is left" "$(ls -d a b c d 2>/dev/null)" ''
done
exits 'one keeps alone' 0 replay --target a --keep w.csv
with "$four" exits 'and is no part of several' 3 replay --keep read.csv
stderr_like 'which is said' 'kept its objects here alone'
with "$four" exits 'unless they may go' 0 replay --destroy-data --keep w.csv
with "$four" exits 'then they are divided' 0 replay --keep --on-absent fail read.csv
is 'all of them' "$(populated)" '40 0'
rm -rf c # a drive that was replaced by an empty one
with "$four" exits 'a new target in place of one' 0 replay --keep read.csv
is 'gets what was on it' "$(json s.json '.populated | .adopted_objects + .objects, (.objects > 0)')" '40 true'
with "$four" exits 'removed' 0 replay --destroy-data read.csv

# A stale object: an earlier version that another process puts back while the run goes on.
{ echo $header; seq 0 19 | sed 's/.*/0,Write,65536,Tier-2,k&,Prefill/'; seq 0 19 | sed 's/.*/1.5,Write,65536,Tier-2,k&,Prefill/'
    seq 0 19 | sed 's/.*/5,Read,65536,Tier-2,k&,Decode/'; } >stale.csv
plant() {
    with "$four" replay --timing trace stale.csv 2>err &
    pid=$!
    until [ "$(find a b c d -size +15 -name '*.kv' 2>/dev/null | wc -l)" -eq 20 ]; do
        kill -s 0 $pid 2>/dev/null || return 1
        sleep 0.05
    done
    sleep 0.3
    rm -rf old && mkdir old && cp -r a b c d old/
    files=$(for t in a b c d; do (cd old && find $t -name '*.kv' | sort | head -n 1); done)
    for file in $files; do # once it is written over
        while cmp -s "$file" "old/$file"; do
            kill -s 0 $pid 2>/dev/null || return 1
            sleep 0.05
        done
        sleep 0.3
        cp "old/$file" "$file" || { wait $pid; return 1; }
    done
    wait $pid
    [ "$(column Status | grep -c stale)" -eq 4 ]
}
ok 'a stale object on each is found' tries 4 plant
like 'and named as stale' "$(cat err)" 'stale: block 0 .*another write of this object'

# ---- killed ----
{ cat w.csv; echo '600,Write,65536,Tier-2,late,Prefill'; } >slow.csv
killed() {
    rm -f k.csv
    with "$four" exec "$BIN/kvreplay" --progress none -o k.csv --timing trace "$@" slow.csv 2>/dev/null &
    pid=$!
    until [ "$(grep -cs ',ok[^,]*\(,[^,]*\)*$' k.csv)" -ge 40 ]; do
        kill -s 0 $pid 2>/dev/null || return 1
        sleep 0.05
    done
    kill -s KILL $pid
    wait $pid 2>/dev/null || true
}
killed
like 'a run is killed' "$(head -qn 1 a/.kvtrace d/.kvtrace)" '^kvtrace runs '
with "$four" exits 'the next one clears all' 0 replay w.csv
is 'and leaves nothing' "$(ls -d a b c d 2>/dev/null)" ''
killed --keep
with "$four" exits 'one that keeps is killed' 0 replay --keep --on-absent fail read.csv
is 'the next one adopts all' "$(populated)" '40 0'
file=$(find b -name '*.kv' | sort | head -n 1)
dd if=/dev/zero of="$file" bs=4096 seek=3 count=1 conv=notrunc 2>/dev/null
with "$four" exits 'a torn one' 0 replay --keep read.csv
is 'is written anew' "$(populated) $(json s.json .populated.torn_objects)" '39 1 1'
with "$four" exits 'removed again' 0 replay --destroy-data read.csv
is 'nothing is left' "$(ls -d a b c d 2>/dev/null)" ''

# ---- what a URI says of its path ----
exits 'like= takes one path' 2 replay --target 'file:a?like=vllm-fs' --target b w.csv
stderr_like 'like=: why, and what to do' 'like= takes one path: these engines keep .* or leave out like= to spread objects'
exits 'not as the second either' 2 replay --target a --target 'file:b?like=vllm-fs' w.csv
exits 'nor the same engine for both' 2 replay --target 'file:a?like=vllm-fs' --target 'file:b?like=vllm-fs' w.csv
is 'nothing was made' "$(ls -d a b 2>/dev/null)" ''
exits 'pages= of one only' 2 replay --target a --target 'file:b?pages=small' w.csv
stderr_like 'pages=: why' 'pages= must be the same for all paths'
exits 'pages= of both' 0 replay --target 'file:a?pages=small' --target 'file:b?pages=small' w.csv
json_like s.json <<END
is in force, and the doors have the paths' names | .evidence.pages, .tiers[].endpoints[].endpoint | small a b
of a path what only a network has is not known | .tiers[].endpoints[].requests, .tiers[].endpoints[].tcp_retransmits | null null null null
END

# ---- parts ----
for spread in hash capacity; do
    for rank in 0 1; do
        exits "part $rank by $spread" 0 "$BIN/kvreplay" --progress none --no-notes --part $rank/2 --config spread=$spread \
            --target a --target b --keep -o 'p{rank}.csv' --summary 'p{rank}.json' w.csv
    done
    is "parts by $spread have a folder on each path" "$(find a b -name "rank-[01]" | wc -l)" 4
    is "the column has its name by $spread" "$(awk -F, 'NR == 1 {while ($++s != "Endpoint");} NR > 1 {print $s}' p1.csv | sort -u |
        paste -sd ' ' -)" 'a/rank-1 b/rank-1'
    rm -rf a b
done
done_testing
