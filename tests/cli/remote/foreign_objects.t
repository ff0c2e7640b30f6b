#!/bin/sh
# foreign_objects.t - a store with objects of others beside its prefix or database, through runs that are interrupted, killed or
# refused: a listing before and after shows that nothing of theirs was touched, and the next run clears what a killed one
# left. Two runs that start together on one place: one is refused. KVTRACE_TEST_INTERRUPTS sets how often (5).
# A bug looked like a clean-up that took a neighbour of the prefix with it.
# builds: plain (runs as those of s3.t and resp.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
times=${KVTRACE_TEST_INTERRUPTS:-5}
{
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase'
    for n in 1 2 3 4 5 6; do for key in a b c d e f; do echo "$((n - 1)).0,Write,$((n * 9000)),Tier-2,$key,Prefill"; done; done
} >t.csv

# run URI: one in the background as $pid, which has written something.
run() {
    : >r.csv
    "$BIN/kvreplay" --no-notes --progress none --timing trace -o r.csv --target "$1" t.csv 2>err &
    pid=$!
    until [ "$(lines r.csv)" -gt 1 ] || ! kill -s 0 $pid 2>/dev/null; do sleep 0.02; done
}
# untouched NAME URI: interrupted and killed runs, in turn.
untouched() {
    others >before
    bad=''
    n=0
    while [ "$n" -lt "$times" ]; do
        n=$((n + 1))
        run "$2"
        if [ $((n % 2)) = 0 ]; then signal=KILL; else signal=INT; fi
        kill -s $signal $pid
        wait $pid 2>/dev/null
        status=$?
        others | cmp -s before - || bad="$bad touched:$n"
        if [ $signal = INT ]; then
            [ $status = 130 ] || bad="$bad status:$n:$status"
            [ "$(ours)" = 0 ] || bad="$bad left:$n"
        else
            [ "$(ours)" -gt 1 ] || bad="$bad gone:$n"
        fi
    done
    is "$1: $times interrupted runs" "$bad" ''
    head -n 7 t.csv >short.csv
    exits "$1: a whole one after them" 0 "$BIN/kvreplay" --no-notes -o r.csv --target "$2" short.csv
    is "$1: clears what is left" "$(ours)" 0
    ok "$1: the others are as before" cmp before after_others
    # Two at once.
    "$BIN/kvreplay" --no-notes --progress none --timing trace -o r1.csv --target "$2" t.csv 2>err1 &
    pid=$!
    "$BIN/kvreplay" --no-notes --progress none --timing trace -o r2.csv --target "$2" t.csv 2>err2
    two=$?
    wait $pid
    one=$?
    is "$1: of two at once one is refused" "$(printf '%s\n' $one $two | sort | tr '\n' ' ')" '0 3 '
    like "$1: which says by whom" "$(cat err1 err2)" 'in use by kvreplay|other runs are taking it at the same time'
    is "$1: nothing is left" "$(ours)" 0
    others >after_others
    ok "$1: nor touched" cmp before after_others
}

why=$(no_s3)
if [ -z "$why" ]; then
    start_s3 1
    door=http://127.0.0.1:$(cat port)
    echo theirs >theirs
    for name in p p2/x pq/0123456789abcdef0123456789abcdef.kv q/p/y .kvtrace; do admin put "bucket/$name" "$TMP/theirs"; done
    ours() { admin keys | grep -c '^bucket/p/.'; }
    others() {
        for key in $(admin keys | grep -v '^bucket/p/.'); do
            echo "$key $(admin get "$key")"
        done
    }
    others >after_others
    untouched S3 "s3://bucket/p?endpoint=$door"
else
    diag "$why: not on S3"
fi
why=$(no_redis)
if [ -z "$why" ]; then
    start_redis --databases 4
    cli() { redis-cli -s redis.sock --raw "$@"; }
    for key in mine kvtrace:0123456789abcdef0123456789abcdef .kvtrace; do cli -n 0 set $key theirs >/dev/null; done
    ours() { cli -n 1 dbsize; }
    others() { for key in $(cli -n 0 keys '*' | sort); do echo "$key $(cli -n 0 get "$key")"; done; }
    others >after_others
    untouched Redis "redis+unix:$TMP/redis.sock?db=1"
else
    diag "$why: not on Redis"
fi
done_testing
