#!/bin/sh
# cost-pairs.sh OLD NEW [ROWS] - what a change costs in CPU: the programs of folder NEW against those of folder OLD, both
# `bin` folders of a build. 15 interleaved pairs, ABBA, of each of
#   replay   kvreplay --null, a .csv.zst in and a .csv.zst out
#   trace    kvstat on that trace
#   result   kvstat on a result of OLD's replay
#   csv      kvstat on that trace as plain CSV
#   users    kvgen, 100 users for an hour, -o none
#   write    kvgen, 100 users for 15 minutes, a .csv.zst out
#   blocks   kvgen, block lookups with their JSON, all blocks stay
#   lfu sieve fifo lru   kvgen, block lookups with skew, a quarter of a million of a million blocks stay
# with the median of the ratios NEW / OLD of user + system time, and its 95 % interval (4th and 12th of 15, by the sign
# test). "beyond 5 %" is said where the whole interval lies above 1.05. PAIRS (15) and CASES (all) may be set. Judges
# nothing else. Needs jq and zstd.
set -eu
export LC_ALL=C
[ $# -ge 2 ] || {
    sed -n '2,14s/^# //p' "$0"
    exit 2
}
old=$1
new=$2
ROWS=${3:-3000000}
PAIRS=${PAIRS:-15}
CASES=${CASES:-replay trace result csv users write blocks lfu sieve fifo lru}
models=$(cd "$(dirname "$0")/../../examples" && pwd)/models.yaml
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

awk -v n="$ROWS" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us"
    for (i = 0; i < n; i++) {
        k = i % 50000
        printf "%.6f,%s,131072,Tier-%d,user_%d_turn,%s,%d,u%d,interactive,user,64,%.6f,\n", i / 1e5,
            i < 50000 ? "Write" : "Read", k % 3, k, i < 50000 ? "Prefill" : "Decode", i / 10, k % 100, i / 1e5
    }
}' | zstd -q -3 -o "$tmp/t.csv.zst"
zstd -dq "$tmp/t.csv.zst"
# Requests of 60 blocks each: in rows of their own, and drawn one by one, low numbers more often.
awk -v runs="$tmp/runs.jsonl" -v skew="$tmp/skew.jsonl" 'BEGIN {
    srand(1)
    for (r = 0; r < 60000; r++) {
        head = sprintf("{\"timestamp\": %d, \"input_length\": 30720, \"output_length\": 100, \"hash_ids\": [", r * 20)
        printf "%s", head >runs
        printf "%s", head >skew
        first = int(rand() * 18000) * 60
        for (i = 0; i < 60; i++) {
            printf "%s%d", i ? ", " : "", first + i >runs
            printf "%s%d", i ? ", " : "", int(rand() * rand() * 1e6) >skew
        }
        print "]}" >runs
        print "]}" >skew
    }
}'
"$old/kvreplay" --null --progress none -o "$tmp/r.csv.zst" "$tmp/t.csv.zst" 2>"$tmp/err" || {
    cat "$tmp/err"
    exit 1
}

replay() { "$1/kvreplay" --null --progress none -o "$tmp/out.csv.zst" "$tmp/t.csv.zst"; }
trace() { "$1/kvstat" --threads 2 "$tmp/t.csv.zst"; }
result() { "$1/kvstat" --threads 2 "$tmp/r.csv.zst"; }
csv() { "$1/kvstat" --threads 2 "$tmp/t.csv"; }
gen() { # BIN OPTIONS...
    bin=$1
    shift
    "$bin/kvgen" --progress none --threads 1 --seed 1 --summary "$tmp/summary.json" "$@"
}
people() { gen "$@" --num-users 100 --generation-mode none; }
users() { people "$1" --duration 1h -o none; }
write() { people "$1" --duration 15m -o "$tmp/g.csv.zst"; }
lookups() { gen "$@" --config "$models" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 --block-reuse any -o none; }
blocks() { lookups "$1" --input "$tmp/runs.jsonl"; }
cached() { lookups "$1" --input "$tmp/skew.jsonl" --storage-capacity-gb 244.140625 --eviction "$2"; } # 250,000 blocks
lfu() { cached "$1" lfu; }
sieve() { cached "$1" sieve; }
fifo() { cached "$1" fifo; }
lru() { cached "$1" lru; }

# rows_of CASE: what its time is divided by, after a run.
rows_of() {
    case $1 in
    users | write) jq '[.rows_by[].rows] | add' "$tmp/summary.json" ;;
    blocks | lfu | sieve | fifo | lru) jq .lookups.block.lookups "$tmp/summary.json" ;;
    *) echo "$ROWS" ;;
    esac
}

# cpu CASE BIN: its user + system seconds, of the children's clock of a shell of its own.
cpu() {
    (
        "$1" "$2" >"$tmp/text" 2>&1 || :
        times >"$tmp/times"
        awk 'NR == 2 { split($1, u, /[ms]/); split($2, s, /[ms]/); print u[1] * 60 + u[2] + s[1] * 60 + s[2] }' "$tmp/times"
    )
}

for case in $CASES; do
    cpu "$case" "$old" >/dev/null
    cpu "$case" "$new" >/dev/null
    rows=$(rows_of "$case")
    pair=0
    : >"$tmp/ratios"
    while [ $pair -lt "$PAIRS" ]; do
        if [ $((pair % 2)) = 0 ]; then
            a=$(cpu "$case" "$old")
            b=$(cpu "$case" "$new")
        else
            b=$(cpu "$case" "$new")
            a=$(cpu "$case" "$old")
        fi
        echo "$a $b" | awk -v rows="$rows" '{ print $2 / $1, $1 / rows * 1e9, $2 / rows * 1e9 }' >>"$tmp/ratios"
        pair=$((pair + 1))
    done
    sort -n "$tmp/ratios" | awk -v name="$case" -v n="$PAIRS" '
        function order(share) { k = int(n * share + 0.5); return k < 1 ? 1 : k }
        { ratio[NR] = $1; a[NR] = $2; b[NR] = $3; sum_a += $2; sum_b += $3 }
        END {
            # 95 % by the sign test: for 15 the 4th and the 12th.
            low = n == 15 ? 4 : order(0.25); high = n + 1 - low
            printf "%-7s %5.1f ns a row before, %5.1f now; ratio %.3f, 95 %% %.3f to %.3f%s\n", name, sum_a / n,
                sum_b / n, ratio[int((n + 1) / 2)], ratio[low], ratio[high], (ratio[low] > 1.05 ? ": beyond 5 %" : "")
        }'
done
