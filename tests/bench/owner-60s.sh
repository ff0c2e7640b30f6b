#!/bin/bash
# owner-60s.sh - two runs on one Redis database and in one folder without locks, with the real lease of 60 s: the first is
# stopped for 66 s and continued, and another takes its store meanwhile. Prints what each says and how long it waited;
# judges nothing. tests/cli/targets/owners.t has all pairs with a lease of 2 s. The second run is in another PID namespace
# (root).
set -eu
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
command -v redis-server >/dev/null || { echo 'no redis-server'; exit 0; }
unshare -p --fork --mount-proc true 2>/dev/null || { echo 'no right to make namespaces'; exit 0; }
TMP=$(mktemp -d)
redis-server --port 0 --unixsocket "$TMP/redis.sock" --save '' --appendonly no --dir "$TMP" >"$TMP/redis.log" 2>&1 &
redis=$!
trap 'kill $redis || :; rm -rf "$TMP"' EXIT
until redis-cli -s "$TMP/redis.sock" ping 2>/dev/null | grep -q PONG; do sleep 0.1; done

trace() { # PREFIX: ten writes, and one each second for two minutes
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    seq 0 9 | sed "s/.*/0,Write,16384,Tier-2,$1&,Prefill/"
    seq 1 120 | sed "s/.*/&,Write,16384,Tier-2,$1n&,Prefill/"
}
trace a >"$TMP/a.csv"
trace b | head -n 20 >"$TMP/b.csv"
replay() { "$BIN/kvreplay" --progress none --timing trace --target "$1" -o "$TMP/$2.csv" --keep "$TMP/${2%%-*}.csv"; }

both() { # NAME TARGET
    replay "$2" "a-$1" 2>"$TMP/a-$1.err" &
    first=$!
    sleep 5
    program=$(pgrep -f "a-$1.csv" -P $first || echo $first)
    kill -STOP "$program"
    stopped=$SECONDS
    export -f replay
    export BIN TMP
    until unshare -p --fork --mount-proc bash -c "replay \"\$0\" \"b-\$1\"" "$2" "$1" 2>"$TMP/b-$1.err"; do
        echo "$1: after $((SECONDS - stopped)) s: $(tail -n 1 "$TMP/b-$1.err")"
        sleep 20
    done
    echo "$1: after $((SECONDS - stopped)) s the second run has ended well"
    kill -CONT "$program"
    wait $first && status=0 || status=$?
    echo "$1: the first run: exit status $status: $(tail -n 1 "$TMP/a-$1.err")"
}
both redis "redis+unix:$TMP/redis.sock?db=1" &
(
    LD_PRELOAD=${BIN%/bin}/tests/faults/no_flock.so
    export LD_PRELOAD
    both folder "$TMP/folder"
) &
wait %2 %3
