#!/bin/sh
# server_restart.t - a server that dies in the middle of a run and comes back, with its objects or without them: rows in between
# fail, or are repeated (--config retries), those behind them go on over new connections, each row is counted once, and nothing
# hangs or is left behind. A bug looked like a run that never reached the server again, or a row that was counted with each
# attempt.
# builds: plain (when a server goes and comes, not what is read)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"

row() { echo "0.0,$1,9000,Tier-2,$2,${3-}" >&9; }
# begin ARGS...: a run as $pid that waits for rows from row, and has written two objects.
begin() {
    rm -f feed r.csv s.json
    mkfifo feed
    timeout 120 "$BIN/kvreplay" --no-notes --progress none --cpu-mem 1MiB --order key --on-absent skip -o r.csv --summary s.json --target "$uri" "$@" - <feed 2>err &
    pid=$!
    exec 9>feed
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase >&9
    row Write a Prefill
    row Write b Prefill
    until_prints 2 objects
}
# finish: rows for the server that is there again; the status of the run.
finish() {
    row Read a Decode
    row Write c Prefill
    row Read c Decode
    row Delete b
    exec 9>&-
    wait $pid
}
statuses() { awk -F, 'NR == 1 {while ($++s != "Status");} NR > 1 {printf "%s:%s ", $2, $s}' r.csv; }
counted() { json s.json '.rows | .total, .ok, .failed'; }

# comes_back NAME: the server of go_away, come_back, objects and uri.
comes_back() {
    begin
    go_away
    row Read a Decode
    row Read b Decode
    until grep -qs 'Read.*,ECONN' r.csv && [ "$(lines r.csv)" -ge 5 ] || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
    come_back
    finish
    is "$1: it dies and comes back" $? 1
    like "$1: rows in between fail, and those behind go on" "$(statuses)" \
        '^Write:ok Write:ok Read:ECONN(REFUSED|RESET) Read:ECONN(REFUSED|RESET) (Read:ok |Write:ok |Delete:ok ){4}$'
    is "$1: each row is counted once" "$(counted)" '8 6 2'
    is "$1: nothing is left" "$(objects)" 0

    begin --config retries=60
    go_away
    row Read a Decode
    sleep 0.5
    come_back
    finish
    is "$1: with --config retries" $? 0
    is "$1: with --config retries: each row is there once" "$(statuses | tr ' ' '\n' | sort | uniq -c | awk '{printf "%s %s,", $1, $2}')" \
        '1 Delete:ok,3 Read:ok,3 Write:ok,'
    is "$1: with --config retries: each row is counted once" "$(counted)" '7 7 0'
    ok "$1: with --config retries: these are counted" test "$(json s.json .evidence.remote_retries)" -ge 1
    is "$1: with --config retries: nothing is left" "$(objects)" 0
}

why=$(no_s3)
if [ -z "$why" ]; then
    start_s3 1
    uri="s3://bucket/p?endpoint=http://127.0.0.1:$(cat port)"
    objects() { admin keys | grep -c 'kv$'; }
    go_away() { admin door 0; }
    come_back() { admin door 0 open; }
    comes_back S3
else
    diag "$why: not on S3"
fi

why=$(no_redis)
if [ -z "$why" ]; then
    uri="redis+unix:$socket?db=1"
    # It must not hold the end of the pipe that feeds the run.
    come_back() { start_redis --databases 4 --appendonly "$durable" --appendfsync always 9>&-; }
    go_away() {
        kill -KILL "$redis"
        wait "$redis" 2>/dev/null
    }
    objects() { redis-cli -s "$socket" -n 1 keys 'kvtrace:*' 2>/dev/null | grep -c .; }
    durable=yes
    come_back
    comes_back Redis

    # Without its objects: they are lost, and said to be.
    durable=no
    go_away
    come_back
    begin
    go_away
    come_back
    finish
    is 'Redis without its objects, and without the marker' $? 3
    is 'they are lost, and the run goes on' "$(statuses | xargs -n 1 | sort | xargs)" \
        'Delete:lost Read:lost Read:ok Write:ok Write:ok Write:ok'
    like 'what has no marker any more is left alone' "$(cat err)" 'lost during the run: its marker .kvtrace was removed'
    is 'the object that was written later' "$(objects)" 1

    # An operation whose command the server has, and that dies with it: the connection is reset, and all is sent again.
    go_away
    come_back
    printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 0,Write,4096,Tier-2,a,Prefill 2,Write,4096,Tier-2,b,Prefill >two.csv
    rm -f r.csv
    "$BIN/kvreplay" --no-notes --progress json --timing trace --config retries=5 --config timeout=20s -o r.csv --target "$uri" two.csv 2>err &
    pid=$!
    until_prints 1 objects
    kill -s STOP "$redis"
    until grep -q '"in_flight": [1-9]' err || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
    go_away
    come_back
    wait $pid
    is 'what was in flight is sent again' "$(sed -n 's/^2,Write.*,//p' r.csv)" ok
else
    diag "$why: not on Redis"
fi
done_testing
