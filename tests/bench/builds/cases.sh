# cases.sh - loads for benches, which source it with $TOP and $TMP set: each is a function that takes the folder of the programs,
# so that two builds can have the same.
# shellcheck shell=sh

# trace_rows ROWS: rows of a trace.
trace_rows() {
    awk -v n="$1" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us"
        for (i = 0; i < n; i++) {
            k = i % 50000
            printf "%.6f,%s,131072,Tier-%d,user_%d_turn,%s,%d,u%d,interactive,user,64,%.6f,\n", i / 1e5,
                i < 50000 ? "Write" : "Read", k % 3, k, i < 50000 ? "Prefill" : "Decode", i / 10, k % 100, i / 1e5
        }
    }'
}
# user_rows BIN ROWS FILE: a .csv.zst of users.
user_rows() {
    "$1/kvgen" --num-users 500 --duration 86400 --generation-mode none --model tiny-1b --gpu-mem-gb 40 --cpu-mem-gb 80 \
        --storage-capacity-gb 2000 --limit "$2" -o "$3"
}
# block_requests: requests of 60 blocks each, in rows of their own ($TMP/runs.jsonl), and drawn one by one, low numbers more
# often ($TMP/skew.jsonl).
block_requests() {
    awk -v runs="$TMP/runs.jsonl" -v skew="$TMP/skew.jsonl" 'BEGIN {
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
}

replay() { "$1/kvreplay" --null --progress none -o "$TMP/out.csv.zst" "$TMP/t.csv.zst"; }
trace() { "$1/kvstat" --config threads=2 "$TMP/t.csv.zst"; }
result() { "$1/kvstat" --config threads=2 "$TMP/r.csv.zst"; }
csv() { "$1/kvstat" --config threads=2 "$TMP/t.csv"; }
gen() { # BIN OPTIONS...
    bin=$1
    shift
    "$bin/kvgen" --progress none --config threads=1 --seed 1 --summary "$TMP/summary.json" "$@"
}
people() { gen "$@" --num-users 100 --generation-mode none; }
users() { people "$1" --duration 1h -o none; }
write() { people "$1" --duration 15m -o "$TMP/g.csv.zst"; }
lookups() {
    gen "$@" --config "$TOP/examples/models.yaml" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 --config block_reuse=any -o none
}
blocks() { lookups "$1" --input "$TMP/runs.jsonl"; }
cached() { lookups "$1" --input "$TMP/skew.jsonl" --storage-capacity-gb 244.140625 --config eviction="$2"; } # 250,000 blocks
lfu() { cached "$1" lfu; }
sieve() { cached "$1" sieve; }
fifo() { cached "$1" fifo; }
lru() { cached "$1" lru; }

# rows_of CASE: what its time is divided by, after a run.
rows_of() {
    case $1 in
    users | write) jq '[.rows_by[].rows] | add' "$TMP/summary.json" ;;
    blocks | lfu | sieve | fifo | lru) jq .lookups.block.lookups "$TMP/summary.json" ;;
    *) echo "$ROWS" ;;
    esac
}
