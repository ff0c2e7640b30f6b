#!/bin/sh
# kept_list.t - a kept store on Redis and on S3 knows what it holds: what is on its list and gone is lost, what is there in
# another write is stale, and an object that is written again gets a new name, of which the old one goes. A bug looked like
# removed objects that were silently written again.
# builds: plain (kvreplay/kept_list.t has its lists, s3.t and resp.t its stores)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
rows() { # OPERATION PHASE COUNT
    echo $header
    seq 0 $(($3 - 1)) | sed "s/.*/0,$1,20000,Tier-2,k&,$2/"
}
rows Write Prefill 40 >w.csv
rows Write Prefill 12 >w12.csv
rows Read Decode 40 >r.csv
replay() { "$BIN/kvreplay" --full --no-notes --progress none -o r.out --summary s.json --target "$uri" "$@"; }
statuses() { awk -F, 'NR == 1 {while ($++s != "Status");} NR > 1 { n[$s]++ } END { for (s in n) print s, n[s] }' r.out | sort | tr '\n' ' '; }
populated() { json s.json '.populated | .adopted_objects, .objects, .lost_objects, .stale_objects, .missing_objects'; }
state() { json s.json .kept_list.state; }

# kept NAME: the store at $uri, which names lists; remove and save take names, and restore what was saved and the name that it gets.
kept() {
    exits "$1: 40 objects are kept" 0 replay --keep w.csv
    exits "$1: and found" 0 replay --keep r.csv
    is "$1: all of them" "$(populated) $(state)" '40 0 0 0 0 whole'
    names >listed
    head -n 7 listed | remove
    exits "$1: 7 of them removed" 1 replay --keep r.csv
    is "$1: are lost" "$(statuses) $(populated)" 'lost 7 ok 33  33 0 7 0 0'
    is "$1: and were not written again" "$(names | wc -l)" 33
    exits "$1: written again by rows" 0 replay --keep w.csv
    is "$1: once each" "$(names | wc -l)" 40
    exits "$1: they are there" 0 replay --keep r.csv
    is "$1: all of them" "$(populated)" '40 0 0 0 0'

    names | sort >before
    save <before
    exits "$1: 12 are written once more" 0 replay --keep w12.csv
    is "$1: under new names, in the place of the old ones" "$(names | sort | comm -13 before - | wc -l) $(names | wc -l)" '12 40'
    names | sort | comm -13 before - | awk -F - 'NR == FNR {old[$1] = $0; next} {print old[$1], $0}' before - >replaced
    restore <replaced
    exits "$1: replaced by their older versions" 1 replay --keep r.csv
    is "$1: they are stale" "$(statuses) $(populated)" 'ok 28 stale 12  40 0 0 12 0'

    # A run that only reads is killed: it has removed nothing. One that removes may have.
    { cat r.csv; echo '600,Read,20000,Tier-2,k0,Decode'; } >slow.csv
    exits "$1: kept again" 0 replay --keep w.csv
    for change in none removes; do
        [ $change = none ] || { rows Write Prefill 40; echo '600,Read,20000,Tier-2,k0,Decode'; } >slow.csv
        rm -f k.csv
        "$BIN/kvreplay" --progress none --timing trace --target "$uri" --keep -o k.csv slow.csv 2>/dev/null &
        pid=$!
        catches $pid
        until grep -qs 'k39,.*,ok' k.csv || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
        kill -s KILL $pid
        wait $pid 2>/dev/null || true
        names >listed
        head -n 5 listed | remove
        expect=1
        [ $change = none ] || expect=0
        exits "$1: killed ($change), and 5 objects removed" $expect replay --keep r.csv
        if [ $change = none ]; then
            is "$1: they are lost" "$(statuses) $(json s.json .populated.lost_objects)" 'lost 5 ok 35  5'
        else
            is "$1: the killed run may have removed them" "$(statuses) $(json s.json '.populated | .objects, .lost_objects')" 'ok 40  5 0'
        fi
        exits "$1: whole again" 0 replay --keep w.csv
    done
    i=0
    while [ $((i += 1)) -le 10 ]; do replay --keep w12.csv 2>/dev/null; done
    ok "$1: the list stays short" test "$(all | grep -c '\.kvtrace-list')" -le 10
    exits "$1: the store is given up" 0 replay --destroy-data r.csv
    is "$1: nothing is left, the list included" "$(all | wc -l)" 0
}

why=$(no_redis)
if [ "$why" ]; then
    ok "Redis # SKIP $why" true
else
    start_redis --databases 16
    uri=redis+unix:$socket
    cli() { redis-cli -s "$socket" "$@"; }
    all() { cli --scan; }
    names() { all | grep '^kvtrace:'; }
    remove() { sed 's/^/del /' | cli >/dev/null; }
    save() { sed 's/.*/copy & & db 3/' | cli >/dev/null; }
    restore() { sed 's/.*/copy & db 0 replace/' | cli -n 3 >/dev/null; }
    kept Redis
fi
why=$(no_s3)
if [ "$why" ]; then
    ok "S3 # SKIP $why" true
else
    start_s3 1
    door=http://127.0.0.1:$(head -n 1 port)
    uri="s3://bucket/pre?endpoint=$door"
    all() { admin keys | sed -n 's|.*bucket/pre/||p'; }
    names() { all | grep '\.kv$'; }
    remove() { while read -r name; do admin delete "bucket/pre/$name"; done; }
    save() { while read -r name; do admin copy "bucket/pre/$name" "saved/$name"; done; }
    restore() { while read -r old name; do admin copy "saved/$old" "bucket/pre/$name"; done; }
    kept S3
fi
done_testing
