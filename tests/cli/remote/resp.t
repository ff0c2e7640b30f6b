#!/bin/sh
# resp.t - Redis as a target, with a real server: the same rows as on files, every byte verified; whose the database is; what
# an earlier run left; each fault with its row status. A bug looked like an object that another client had changed and that
# was read as good, a foreign key that clean-up had removed, or a run that hung on a server that stood still.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_redis)
[ -z "$why" ] || skip_all "$why"

uri="redis+unix:$socket?db=1"
ended() { kill -KILL "$redis" 2>/dev/null; }
start_redis --databases 4 --maxmemory-policy noeviction
cli() { redis-cli -s "$socket" -n 1 "$@"; }
keys() { cli --raw keys '*' | sort; }
replay() { "$BIN/kvreplay" --no-notes --progress none -o r.csv "$@"; }
stored() { keys | grep -c ^kvtrace:; }
# start OPTIONS: one in the background as $pid, which has written its two objects and waits for more rows.
start() {
    feed "$uri" "$@"
    head -n 3 slow.csv >&9
    until_prints 2 stored
}
go() { # gives it the rows that read them; its status
    tail -n 2 slow.csv >&9
    exec 9>&-
    wait $pid
}
# rows FILE: what must be the same on every target.
rows() { awk -F, 'NR > 1 {print $2, $3, $4, $5, $NF}' "$1" | sort; }

# Moves, rewrites, partial reads, deletes, an object that is read before it was written.
cat >t.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.000000,Write,100000,Tier-2,a,Prefill
0.001000,Read,100000,Tier-2,a,Decode
0.001000,Read,5000,Tier-2,a,Decode
0.001500,Write,9000000,Tier-2,b,Prefill
0.001500,Read,9000000,Tier-2,b,Decode
0.001500,Write,10,Tier-2,b,Prefill
0.001500,Read,10,Tier-2,b,Decode
0.001550,Write,500000,Tier-2,b,Prefill
0.001550,Read,499999,Tier-2,b,Decode
0.001600,Read,300000,Tier-2,c,Decode
0.001700,Write,64,Tier-1,d,Prefill
0.001700,Demote,64,Tier-2,d,Prefill
0.002000,Delete,100000,Tier-2,a,
END
grep -v Demote t.csv >plain.csv
"$BIN/kvgen" --num-users 8 --duration 5 --model tiny-1b --seed 5 --cpu-mem-gb 0.1 --gpu-mem-gb 0 2>/dev/null |
    awk -F, -v OFS=, '$3 ~ /^[1-9]/ {$3 = int($3 / 256)} 1' >g.csv # its objects have up to 2 MB
for trace in plain.csv g.csv; do
    exits "$trace on files" 0 replay --target objects $trace
    rows r.csv >files
    for parameters in '' '&connections=1' '&part=64KiB&connections=3'; do
        exits "$trace on redis $parameters" 0 replay --summary s.json --target "$uri$parameters" --verify full $trace
        is "$trace $parameters: the same rows" "$(rows r.csv)" "$(cat files)"
        is "$trace $parameters: nothing is left" "$(keys)" ''
    done
done
json_like s.json <<'END'
engine                   | tier("Tier-2").engine                       | redis
the server's name        | tier("Tier-2").device                       | redis [0-9.]+
what is in force         | tier("Tier-2").flags[]                      | 3 connections no maxmemory.*
no counters              | .kernel.device_read_bytes                   | null
a network                | .evidence.target                            | network
storage is not known     | .validity[] | select(.figures == "storage") | .state | unknown
all verified             | .rows.unverified_reads                      | 0
END
exits 'under Tier-1' 0 replay --target "1=$uri" --tier-map 2=1 plain.csv
awk -F, 'NR > 1 {print $NF}' r.csv | sort -u >statuses
is 'under Tier-1: every row' "$(cat statuses)" ok

# ---- keeping and adopting ----
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Read,300000,Tier-2,c,Decode\n0,Read,70000,Tier-2,e,Decode\n' >read.csv
exits 'objects are kept' 0 replay --keep --target "$uri&part=64KiB" read.csv
is 'they are there' "$(keys | grep -c '^kvtrace:[0-9a-f]\{32\}-[0-9a-f]\{8\}$')" 2
is 'in parts' "$(keys | grep -c '\.[1-9]$')" 5
exits 'a run that does not keep them is refused' 3 replay --target "$uri&part=64KiB" read.csv
stderr_like 'and says why' 'holds 2 objects that an earlier run of kvreplay kept: --keep uses them'
exits 'they are adopted' 0 replay --keep --summary s.json --target "$uri&part=64KiB" read.csv
is 'both' "$(json s.json '.populated | .adopted_objects, .objects')" '2 0'
victim=$(keys | grep '^kvtrace:[0-9a-f-]*$' | head -n 1)
cli setbit "$victim" 80007 "$((1 - $(cli getbit "$victim" 80007)))" >/dev/null
exits 'a flipped bit' 1 replay --keep --target "$uri&part=64KiB" read.csv
is 'is found' "$(awk -F, '$NF == "corrupt"' r.csv | lines /dev/stdin)" 1
exits 'removed when asked for' 0 replay --destroy-data --keep --target "$uri&part=64KiB" read.csv
victim=$(keys | grep '^kvtrace:[0-9a-f-]*$' | head -n 1)
cli set "$victim.1" x >/dev/null
exits 'a cut value' 1 replay --keep --summary s.json --target "$uri&part=64KiB" read.csv
is 'is not the object that is on the list' "$(json s.json '.populated | .adopted_objects, .stale_objects')" '2 1'
exits 'and all of them at the end' 0 replay --destroy-data --target "$uri&part=64KiB" read.csv
is 'nothing is left of them' "$(keys)" ''
{ head -n 1 t.csv && printf '%s\n' 0,Write,100000,Tier-2,x,Prefill 0.001,Delete,100000,Tier-2,x,; } >gone.csv
exits 'an object of two parts, the second one shorter, is deleted' 0 replay --keep --target "$uri&part=64KiB" gone.csv
is 'with both' "$(keys | grep -c ^kvtrace:)" 0
exits 'and the store is left' 0 replay --destroy-data --target "$uri" gone.csv

# ---- during a run: what is lost, what is stale ----
cat >slow.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,8192,Tier-2,a,Prefill
0.0,Write,8192,Tier-2,b,Prefill
0.0,Read,8192,Tier-2,a,Decode
0.0,Read,8192,Tier-2,b,Decode
END
# meddled NAME STATUS COMMAND: between write and read another client does COMMAND with the two names.
meddled() {
    start
    set -- "$1" "$2" "$3"
    for key in $(keys | grep ^kvtrace:); do set -- "$@" "$key"; done
    cli "$3" "$4" ${6:+"$5"} "$5" >/dev/null
    go
    is "$1: exit status" $? 1
    like "$1: status" "$(awk -F, 'NR > 3 {printf "%s ", $NF}' r.csv)" "$2"
    is "$1: nothing is left" "$(keys)" ''
}
meddled 'lost objects' '^lost lost $' unlink
meddled 'an object under the name of another' 'wrong' rename

# ---- whose it is ----
cli set somebody else >/dev/null
for n in 1 2 3; do
    exits "a database with other keys is refused, $n" 3 replay --target "$uri" plain.csv
    stderr_like "$n: why" 'refused: it holds data that kvtrace did not write \(somebody\)'
done
is 'and not touched' "$(keys)" somebody
cli unlink somebody >/dev/null
cli set .kvtrace other >/dev/null
exits 'a marker that is not ours' 3 replay --target "$uri" plain.csv
is 'is not touched' "$(cli get .kvtrace)" other
cli unlink .kvtrace >/dev/null
start
exits 'a database in use is refused' 3 "$BIN/kvreplay" --no-notes -o r2.csv --target "$uri" plain.csv
stderr_like 'by whom' "in use by kvreplay \(process $pid on host .*, since 20.*Z\)"
cli set somebody else >/dev/null
kill -KILL $pid
exec 9>&-
wait $pid 2>/dev/null
is 'a killed run leaves marker and objects' "$(keys | grep -c -e ^kvtrace: -e '^.kvtrace$')" 3
exits 'with a foreign key among them the next run is refused' 3 replay --target "$uri" plain.csv
cli unlink somebody >/dev/null
exits 'the next run clears them' 0 replay --target "$uri" plain.csv
is 'all' "$(keys)" ''
cli set .kvtrace "$(printf 'kvtrace runs\nprogram kvreplay\npid 1\nhost elsewhere\nboot 0\nstart 1\nseed 1\nkeeps 0\nunsure 0\nrenewed %d\n.' \
    "$(date +%s)" | sed '$d')
" >/dev/null
exits 'a run on another host that renews its marker' 3 replay --target "$uri" plain.csv
stderr_like 'is said' 'in use by kvreplay \(process 1 on host elsewhere'
cli set .kvtrace "$(printf 'kvtrace runs\nprogram kvreplay\npid 1\nhost elsewhere\nboot 0\nstart 1\nseed 1\nkeeps 0\nunsure 0\nrenewed 5')
" >/dev/null
exits 'one that has not for a minute is dead' 0 replay --target "$uri" plain.csv
start
kill -INT $pid
wait $pid
is 'an interrupted run' $? 130
is 'clears its objects' "$(keys)" ''

# ---- faults ----
cli config set maxmemory 5mb >/dev/null
exits 'a server too small for the trace' 3 replay --target "$uri" plain.csv
stderr_like 'is said before' 'the trace needs 8\.[0-9]+ MiB'
# From a pipe nothing is known before.
mkfifo pipe
cat plain.csv >pipe &
exits 'from a pipe it is full in the run' 1 replay --cpu-mem 1MiB --target "$uri" - <pipe
like 'with its own word' "$(cut -d, -f 2,5,13 r.csv)" '^Write,b,RESP:OOM'
stderr_like 'that people read' 'row .*Write, key b, .*: RESP:OOM: the store refused'
is 'nothing is left' "$(keys)" ''
# In parts, some of which are there: the next run looks before it adopts what is kept. A failure in one value leaves the old one.
head -n 2 plain.csv >small.csv
for part in 64KiB 512MiB; do
    cli config set maxmemory 0 >/dev/null
    exits "kept in parts of $part" 0 replay --keep --destroy-data --target "$uri&part=$part" small.csv
    unlike 'whole' "$(cli get .kvtrace)" 'unsure 1'
    cli config set maxmemory 5mb >/dev/null
    cat plain.csv >pipe &
    exits 'kept, and a write failed' 1 replay --keep --cpu-mem 1MiB --target "$uri&part=$part" - <pipe
    like 'which the marker says' "$(cli get .kvtrace)" "unsure $([ $part = 64KiB ] && echo 1 || echo 0)"
done
cli flushdb >/dev/null
cli config set maxmemory 0 >/dev/null

start --config timeout=1s
kill -STOP $redis
# It goes on once both reads have failed.
(exec 9>&- && until [ "$(grep -c ETIMEDOUT r.csv)" = 2 ]; do sleep 0.05; done && kill -CONT $redis) &
waker=$!
go
is 'a server that stands still' $? 1
is 'times out' "$(awk -F, 'NR > 3 {printf "%s ", $NF}' r.csv)" 'ETIMEDOUT ETIMEDOUT '
wait $waker
exits 'what it left is cleared by the next run' 0 replay --target "$uri" plain.csv
is 'all of it' "$(keys)" ''

start
ended
wait $redis 2>/dev/null
go
is 'a server that died' $? 1
is 'refuses' "$(awk -F, 'NR > 3 {printf "%s ", $NF}' r.csv)" 'ECONNREFUSED ECONNREFUSED '
exits 'no server' 3 replay --target "$uri" plain.csv
stderr_like 'no server: why' 'cannot connect'

# ---- retries ----
cat >three.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,300000,Tier-2,a,Prefill
0.4,Read,300000,Tier-2,a,Decode
0.8,Delete,300000,Tier-2,a,
END
start_redis --databases 4
was_read() { grep -c ',Read,.*,ok$' r.csv; }
for at in read delete; do
    rm -f s.json r.csv
    feed "$uri&part=128KiB" --summary s.json --order key --config retries=8 --config timeout=1s
    head -n 2 three.csv >&9
    until_prints 3 stored
    if [ $at = delete ]; then
        sed -n 3p three.csv >&9
        until_prints 1 was_read
    fi
    cli client kill type normal >/dev/null # all connections, but the one that asks
    if [ $at = read ]; then sed -n 3p three.csv >&9; fi
    tail -n 1 three.csv >&9
    exec 9>&-
    wait $pid
    is "connections that are lost before a $at" $? 0
    is "$at: nothing is left" "$(keys)" ''
done
fault_read() { # a server that stands still for two seconds, from before the read on
    rm -f s.json
    feed "$uri" --summary s.json --order key --config timeout=1s "$@"
    head -n 2 three.csv >&9
    until_prints 1 stored
    kill -STOP $redis
    tail -n 2 three.csv >&9
    exec 9>&-
    sleep 2
    kill -CONT $redis
    wait $pid
}
fault_read --config retries=30
is 'a server that stood still is asked again' $? 0
like 'which is counted' "$(json s.json '.evidence.remote_retries, tier("Tier-2").endpoints[0].retries')" '^[1-9][0-9]* [1-9][0-9]*$'
is 'and within the time of the row' "$(awk -F, '$2 == "Read" {print ($10 >= 1000000)}' r.csv)" 1
is 'the removal is one' "$(awk -F, 'NR > 1 {printf "%s ", $NF}' r.csv)" 'ok ok ok '
json_like s.json <<'END'
a socket has no network | .evidence | .network_interfaces, .network_sent_bytes, .tcp_retransmits | null null null
connections             | .evidence.remote_connections                                         | [1-9][0-9]*
END
ended
wait $redis 2>/dev/null

# ---- over TCP ----
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' 2>/dev/null)
if [ -n "$port" ]; then
    start_redis --databases 4 --port "$port" --bind 127.0.0.1
    exits 'over TCP' 0 replay --summary s.json --target "redis://127.0.0.1:$port/1" plain.csv
    like 'the interface is known' "$(json s.json '.evidence | .network_interfaces, .tcp_retransmits')" '^lo [0-9]+$'
    if [ -d /sys/class/net/lo ]; then # a bare root has no /sys, which counts the bytes
        ok 'its bytes, too' test "$(json s.json .evidence.network_sent_bytes)" -gt 9000000
    fi
    ended
    wait $redis 2>/dev/null
fi

# ---- credentials ----
start_redis --requirepass hush-hush
uri="redis+unix:$socket?db=1"
unset REDISCLI_AUTH
exits 'without the password' 3 replay --target "$uri" plain.csv
stderr_like 'it says where it belongs' 'RESP:NOAUTH: .*REDISCLI_AUTH'
REDISCLI_AUTH=hush-hash exits 'a wrong password' 3 env REDISCLI_AUTH=hush-hash "$BIN/kvreplay" --target "$uri" plain.csv
stderr_like 'is said' 'RESP:WRONGPASS'
export REDISCLI_AUTH=hush-hush
start --summary s.json
tr '\0' ' ' <"/proc/$pid/cmdline" >cmdline
go
is 'with the right one' $? 0
"$BIN/kvreplay" --target "$uri" -o r2.csv plain.csv 2>>err
is 'it appears nowhere' "$(cat s.json r.csv r2.csv err cmdline | grep -c hush)" 0
like 'the command line was looked at' "$(cat cmdline)" kvreplay
like 'and the provenance' "$(grep Note r2.csv)" redis
ended
done_testing
