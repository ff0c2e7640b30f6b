#!/bin/sh
# resp_refused.t - servers that would fail a run in its middle are refused before a key is written, with the command and the
# reason: a user without a right, a replica, a node of a cluster. A password is in no message. Signals are heard while a
# server does not answer: the first one where nothing is stored yet, the second one in the clean-up, which says what is left.
# A bug looked like objects that nobody could remove, or three signals until a program ended.
# builds: plain (what it asks is in resp.t, what is answered in hostile_redis.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_redis)
[ -z "$why" ] || skip_all "$why"

ended() {
    kill -KILL "$redis" 2>/dev/null
    wait "$redis" 2>/dev/null
}
cli() { env -u REDISCLI_AUTH redis-cli -s "$socket" "$@"; }
replay() { "$BIN/kvreplay" --no-notes --progress none -o r.csv "$@"; }
cat >t.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,8192,Tier-2,a,Prefill
0.0,Write,8192,Tier-2,b,Prefill
0.0,Read,8192,Tier-2,a,Decode
END

# ---- rights ----
start_redis --databases 16
cli acl setuser able on '>hush-hush' '~*' +@all >/dev/null
export REDISCLI_AUTH=hush-hush
uri="redis+unix:$socket"
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' 2>/dev/null)
if [ -n "$port" ]; then
    cli config set port "$port" >/dev/null
    uri="redis://able@127.0.0.1:$port/0"
    exits 'a user with all rights' 0 replay --target "$uri" t.csv
    for right in get set getrange strlen unlink scan time eval; do
        cli acl setuser able reset on '>hush-hush' '~*' +@all "-$right" >/dev/null
        exits "without $right" 3 replay --target "$uri" t.csv
        stderr_like "without $right: says so" "RESP:NOPERM: $(echo $right | tr '[:lower:]' '[:upper:]') is refused: .*the user needs GET, SET"
        is "without $right: nothing is written" "$(cli dbsize)" 0
    done
    cli acl setuser able reset on '>hush-hush' '~*' -@all +select +get +set +getrange +strlen +unlink +scan +time +eval >/dev/null
    exits 'with these alone' 0 replay --target "$uri" t.csv
    cli acl setuser able reset on '>hush-hush' '~kvtrace:*' +@all >/dev/null
    exits 'without the key of the marker' 3 replay --target "$uri" t.csv
    stderr_like 'is said' 'RESP:NOPERM: GET is refused'
    cli acl setuser able reset on '>hush-hush' '~.kvtrace' +@all >/dev/null
    exits 'without the keys of objects' 3 replay --target "$uri" t.csv
    stderr_like 'is said, too' 'RESP:NOPERM: SET is refused'
    is 'nothing is written' "$(cli dbsize)" 0
    cli acl setuser able reset on '>hush-hush' '~*' +@all >/dev/null

    # A right that goes while the run is at work: what is left is said.
    feed "$uri"
    cat t.csv >&9
    until_prints 3 cli dbsize
    cli acl setuser able -scan >/dev/null
    exec 9>&-
    wait $pid
    is 'a right that is lost in the run' $? 1
    like 'what is left is said' "$(cat err)" 'RESP:NOPERM: SCAN is refused.*: 2 objects of this run \(16.00 KiB\) are left there'
    cli flushall >/dev/null
    cli acl setuser able +@all >/dev/null
    unset REDISCLI_AUTH
    uri="redis+unix:$socket"

    # ---- a replica ----
    cli config set replica-read-only yes >/dev/null
    cli replicaof 127.0.0.1 1 >/dev/null
    exits 'a replica' 3 replay --target "$uri" t.csv
    stderr_like 'a replica: why' 'name the primary server|RESP:MASTERDOWN'
    cli replicaof no one >/dev/null
fi

# ---- signals ----
unset REDISCLI_AUTH
uri="redis+unix:$socket"
kill -STOP "$redis"
"$BIN/kvreplay" --no-notes --progress none --config timeout=1000s -o r.csv --target "$uri" t.csv 2>err &
pid=$!
catches $pid
rests $pid
kill -INT $pid
wait $pid # the server would not answer for 1000 s
is 'a server that does not answer at the start: the first signal ends it' $? 130
kill -CONT "$redis"

feed "$uri"
cat t.csv >&9
until_prints 3 cli dbsize
rests $pid # the read is done
kill -STOP "$redis"
kill -INT $pid
exec 9>&-
rests $pid
ok 'in the clean-up it goes on after the first signal' kill -s 0 $pid
kill -INT $pid
wait $pid
is 'and ends at the second' $? 130
like 'what is left is said' "$(cat err)" 'the clean-up was abandoned: 2 objects of this run \(16.00 KiB\) are left there'
kill -CONT "$redis"
exits 'the next run clears it' 0 replay --target "$uri" t.csv
is 'all of it' "$(cli dbsize)" 0
ended

# ---- a cluster, and a server that repeats what it does not understand ----
start_redis --cluster-enabled yes
for database in 0 1; do
    exits "a node of a cluster, database $database" 3 replay --target "redis+unix:$socket?db=$database" t.csv
    stderr_like "a node of a cluster, database $database: is said" 'Redis Cluster is not supported'
done
# All slots are its own: it would take every key.
cli cluster addslotsrange 0 16383 >/dev/null 2>&1
serves() { cli cluster info | grep -q cluster_state:ok || { sleep 0.1; false; }; }
tries 100 serves >/dev/null
exits 'a cluster of one node that serves' 3 replay --target "redis+unix:$socket" t.csv
stderr_like 'is said to be one' 'Redis Cluster is not supported'
cli acl setuser default -info >/dev/null
exits 'a user that may not ask what it is' 3 replay --target "redis+unix:$socket" t.csv
stderr_like 'finds it out' 'CROSSSLOT.*Redis Cluster is not supported'
cli acl setuser default +info >/dev/null
is 'no key is written' "$(cli dbsize)" 0
ended
start_redis
exits 'a password with a line end' 3 env REDISCLI_AUTH="hush
" "$BIN/kvreplay" -o r.csv --target "redis+unix:$socket" t.csv
stderr_like 'is said to have one' '\(REDISCLI_AUTH\) is refused: it has a line end'
exits 'TLS' 2 replay --target rediss://127.0.0.1:6379/0 t.csv
stderr_like 'has another way' 'TLS to Redis is not supported: run a TLS proxy'
ended
start_redis --rename-command AUTH ''
for secret in hush-hush 'hush-hush: it is long, and has blanks'; do
    exits 'a server without AUTH' 3 env REDISCLI_AUTH="$secret" "$BIN/kvreplay" -o r.csv --target "redis+unix:$socket" t.csv
    stderr_like 'is told' 'RESP:ERR: the password in the environment \(REDISCLI_AUTH\) is refused'
    stderr_unlike 'but not the password' hush
done
ended
done_testing
