#!/bin/bash
# s3-vs-curl.sh [GIB] - kvreplay's GET and PUT of 1, 8 and 64 MiB objects on S3 against curl --parallel, 16 in flight, on nginx
# (its dav module, files in memory, signatures ignored). GIB are moved by each run (default: 2). PAIRS (default: 7) interleaved
# pairs, ABBA: medians of the ratios kvreplay / curl of throughput (wanted: 0.95 or more) and of the client's CPU time (at
# most 1.2 for GET, 1.3 for PUT), with --verify none; and of --verify full against none, what verification adds.
# SIZES and OPS may be set ("1 8 64", "PUT GET"). Needs nginx and curl. Judges nothing.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
GIB=${1:-2}
PAIRS=${PAIRS:-7}
PATH=$PATH:/usr/sbin
for program in nginx curl jq; do
    command -v $program >/dev/null || { echo "no $program: nothing to compare with"; exit 0; }
done
tmp=$(mktemp -d "${TMPDIR:-/dev/shm}/kvtrace-bench.XXXXXX")
trap 'kill "$nginx" 2>/dev/null || :; rm -rf "$tmp"' EXIT
export AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=secret
unset AWS_SESSION_TOKEN http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY

port=18573
mkdir -p "$tmp/root/bucket/p" "$tmp/root/bucket/curl" "$tmp/body"
cat >"$tmp/nginx.conf" <<END
daemon off;
worker_processes 2;
pid $tmp/pid;
error_log $tmp/error.log;
$([ "$(id -u)" != 0 ] || echo 'user root;')
events { worker_connections 512; }
http {
    access_log off;
    client_max_body_size 0;
    client_body_temp_path $tmp/body;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    server {
        listen 127.0.0.1:$port;
        root $tmp/root;
        dav_methods PUT DELETE;
        create_full_put_path on;
        location = /bucket {
            return 200 '<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>';
        }
    }
}
END
nginx -c "$tmp/nginx.conf" &
nginx=$!
until [ "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/bucket")" = 200 ]; do
    kill -s 0 "$nginx"
    sleep 0.1
done

# ours OP MIB VERIFY: "seconds cpu" of a replay, of the timed part alone.
ours() {
    awk -v n=$((GIB * 1024 / $2)) -v size=$(($2 * 1048576)) -v op="$1" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
        for (i = 0; i < n; i++) print "0," (op == "PUT" ? "Write" : "Read") "," size ",Tier-2,k" i ",Decode"
    }' >"$tmp/t.csv"
    "$BIN/kvreplay" --timing asap --inflight 16 --verify "$3" --progress none --summary "$tmp/s.json" \
        --target "s3://bucket/p?endpoint=http://127.0.0.1:$port&unlocked" -o none "$tmp/t.csv" 2>"$tmp/err" || {
        cat "$tmp/err" >&2
        exit 1
    }
    jq -r '"\(.elapsed_s) \(.cpu_s - .spin_s)"' "$tmp/s.json"
}

# theirs OP MIB: likewise of curl, whole.
theirs() {
    TIMEFORMAT='%R %U %S'
    { time curl -s -f --parallel --parallel-immediate --parallel-max 16 -K "$tmp/$1-$2" >"$tmp/out" 2>"$tmp/err"; } 2>&1 | awk '{ print $1, $2 + $3 }'
}

# lists MIB: what curl is told to do.
lists() {
    head -c $(($1 * 1048576)) /dev/urandom >"$tmp/file"
    for ((i = 0; i < GIB * 1024 / $1; i++)); do
        printf 'next\nupload-file = "%s"\nurl = "http://127.0.0.1:%d/bucket/curl/%d"\nheader = "Expect:"\nsilent\nfail\n' "$tmp/file" $port "$i" >&3
        printf 'next\nurl = "http://127.0.0.1:%d/bucket/curl/%d"\noutput = "/dev/null"\nsilent\nfail\n' $port "$i" >&4
    done 3>"$tmp/PUT-$1" 4>"$tmp/GET-$1"
    sed -i 1d "$tmp/PUT-$1" "$tmp/GET-$1"
}

# median FILE COLUMN
median() { sort -g -k "$2,$2" "$1" | awk -v c="$2" '{ v[NR] = $c } END { m = int((NR + 1) / 2); printf "%.3f", NR % 2 ? v[m] : (v[m] + v[m + 1]) / 2 }'; }

echo 'op    size  curl GiB/s  CPU s/GiB  kvreplay / curl: throughput    CPU   --verify full: throughput    CPU'
for mib in ${SIZES:-1 8 64}; do
    lists "$mib"
    for op in ${OPS:-PUT GET}; do
        theirs "$op" "$mib" >/dev/null
        ours "$op" "$mib" none >/dev/null
        : >"$tmp/pairs"
        for ((pair = 0; pair < PAIRS; pair++)); do
            if ((pair % 2 == 0)); then
                a=$(theirs "$op" "$mib") b=$(ours "$op" "$mib" none) c=$(ours "$op" "$mib" full)
            else
                c=$(ours "$op" "$mib" full) b=$(ours "$op" "$mib" none) a=$(theirs "$op" "$mib")
            fi
            echo "$a $b $c" | awk -v gib="$GIB" '{ print $1 / $3, $4 / $2, $3 / $5, $6 / $4, gib / $1, $2 / gib }' >>"$tmp/pairs"
        done
        printf '%s %4d MiB  %10s %10s  %26s %6s  %26s %6s\n' "$op" "$mib" "$(median "$tmp/pairs" 5)" "$(median "$tmp/pairs" 6)" \
            "$(median "$tmp/pairs" 1)" "$(median "$tmp/pairs" 2)" "$(median "$tmp/pairs" 3)" "$(median "$tmp/pairs" 4)"
    done
    rm -rf "$tmp/root/bucket/curl"
    mkdir "$tmp/root/bucket/curl"
done
