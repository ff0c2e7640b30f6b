#!/bin/bash
# redis-vs-benchmark.sh [COUNT] - kvreplay's SET and GET of COUNT (default: 2000) values of 1 MiB on Redis against
# redis-benchmark, both over the same number of connections (CONNECTIONS, default: 16) to the same server on loopback TCP.
# PAIRS (default: 7) interleaved pairs, ABBA: medians of the ratios kvreplay / redis-benchmark of throughput (wanted: 0.95 or
# more) and of CPU time, with --verify none; and of --verify full against none. redis-benchmark generates and checks nothing; it
# writes random keys, nearly all different, so that the server needs new memory for both (most of its time), and reads one key.
# Needs redis-server and redis-benchmark. Judges nothing.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
COUNT=${1:-2000}
PAIRS=${PAIRS:-7}
CONNECTIONS=${CONNECTIONS:-16}
for program in redis-server redis-benchmark jq; do
    command -v $program >/dev/null || { echo "no $program: nothing to compare with"; exit 0; }
done
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'kill "$redis" 2>/dev/null || :; rm -rf "$tmp"' EXIT
port=18574
redis-server --port $port --bind 127.0.0.1 --save '' --appendonly no --databases 4 --dir "$tmp" >"$tmp/log" &
redis=$!
until redis-cli -p $port ping 2>/dev/null | grep -q PONG; do kill -s 0 "$redis"; sleep 0.1; done

# ours OP VERIFY: "seconds cpu" of a replay, of the timed part alone.
ours() {
    awk -v n="$COUNT" -v op="$1" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) print "0," (op == "SET" ? "Write" : "Read") ",1048576,Tier-2,k" i ",Decode"
    }' >"$tmp/t.csv"
    "$BIN/kvreplay" --timing asap --inflight "$CONNECTIONS" --verify "$2" --progress none --summary "$tmp/s.json" \
        --target "redis://127.0.0.1:$port/1?connections=$CONNECTIONS" -o "$tmp/r.csv" "$tmp/t.csv" 2>"$tmp/err" || {
        cat "$tmp/err" >&2
        exit 1
    }
    jq -r '"\(.elapsed_s) \(.cpu_s - .spin_s)"' "$tmp/s.json"
}

# theirs OP: likewise; the seconds are those that it reports.
theirs() {
    if [ "$1" = GET ]; then # keys for it to find
        redis-benchmark -p $port --dbnum 2 -t set -d 1048576 -c "$CONNECTIONS" -n "$COUNT" -q >"$tmp/out"
    fi
    if [ "$1" = GET ]; then keys=(); else keys=(-r $((COUNT * 1000))); fi
    TIMEFORMAT='%U %S'
    cpu=$({ time redis-benchmark -p $port --dbnum 2 "${keys[@]}" -t "${1,,}" -d 1048576 -c "$CONNECTIONS" -n "$COUNT" --csv >"$tmp/out" 2>"$tmp/err"; } 2>&1)
    rps=$(awk -F '"' -v op="$1" '$2 == op { print $4 }' "$tmp/out")
    redis-cli -p $port -n 2 flushdb >/dev/null
    echo "$COUNT $rps $cpu" | awk '{ print $1 / $2, $3 + $4 }'
}

median() { sort -g -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { m = int((NR + 1) / 2); printf "%.3f", NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'; }

echo 'op   redis-benchmark GiB/s  CPU s/GiB  kvreplay / it: throughput    CPU   --verify full: throughput    CPU'
for op in SET GET; do
    theirs "$op" >/dev/null
    ours "$op" none >/dev/null
    : >"$tmp/pairs"
    for ((pair = 0; pair < PAIRS; pair++)); do
        if ((pair % 2 == 0)); then
            a=$(theirs "$op") b=$(ours "$op" none) c=$(ours "$op" full)
        else
            c=$(ours "$op" full) b=$(ours "$op" none) a=$(theirs "$op")
        fi
        echo "$a $b $c" | awk -v gib="$(echo "$COUNT" | awk '{ print $1 / 1024 }')" \
            '{ print $1 / $3, $4 / $2, $3 / $5, $6 / $4, gib / $1, $2 / gib }' >>"$tmp/pairs"
    done
    printf '%s  %21s %10s  %25s %6s  %26s %6s\n' "$op" "$(median "$tmp/pairs" 5)" "$(median "$tmp/pairs" 6)" \
        "$(median "$tmp/pairs" 1)" "$(median "$tmp/pairs" 2)" "$(median "$tmp/pairs" 3)" "$(median "$tmp/pairs" 4)"
done
