# shellcheck shell=sh
# remote.sh - for the tests of stores over the network, after lib.sh: servers that end with the test, keys that no server
# but ours takes, and what this build and machine have. The test runs in $TMP from here on.
cd "$TMP" || exit 1
real_id=${AWS_ACCESS_KEY_ID-} real_key=${AWS_SECRET_ACCESS_KEY-}
: "$real_id" "$real_key" # for the tests
export AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=hush-hush
unset AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_PROFILE AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_REGION

# made_without LIBRARY URI: the programs lack it.
made_without() {
    printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,a,Prefill\n' >one.csv
    "$BIN/kvreplay" --target "$2" -o r.csv one.csv 2>&1 | grep -q "made without $1"
}

# no_s3, no_redis: print why the test cannot use such a server, or nothing.
no_s3() {
    if ! command -v python3 >/dev/null; then
        echo 'no python3'
    elif made_without libcurl 's3://none?endpoint=http://127.0.0.1:1'; then
        echo 'built without libcurl'
    fi
}
no_redis() {
    if ! command -v redis-server >/dev/null; then
        echo 'no redis-server (Debian: apt install redis-server)'
    elif made_without hiredis redis+unix:none; then
        echo 'built without hiredis'
    fi
}

# start_s3 DOORS [FILE]: the faulty server of tests/faults as $server, its ports in the file (port).
start_s3() {
    rm -f "${2-port}"
    "$TOP/tests/faults/s3_server.py" "$TMP/${2-port}" "$1" 2>>server.log &
    server=$!
    ends_too $server
    until [ -s "${2-port}" ]; do
        kill -s 0 $server 2>/dev/null || { cat server.log; exit 1; }
        sleep 0.05
    done
}
# admin COMMAND: what it is told, and prints (s3_server.py); admin_of FILE COMMAND the same of another. Status 1 when it cannot do
# that, or does not answer. One at a time, not two in a pipeline: all use the same pair of pipes.
admin() { admin_of port "$@"; }
admin_of() {
    admin_file=$1 admin_rc=0
    shift
    timeout 20 sh -c "
        pipes=\$1
        shift
        [ -p \"\$pipes.ask\" ] || exit 2
        printf '%s\\n' \"\$@\" >\"\$pipes.ask\" || exit 2
        {
            read -r said || exit 2
            [ \$said = done ] || exec >&2
            cat
            [ \$said = done ]
        } <\"\$pipes.answer\"" - "$TMP/$admin_file" "$@" || admin_rc=$?
    [ $admin_rc -lt 2 ] || echo "the store of $TMP/$admin_file does not answer: $*" >&2
    [ $admin_rc = 0 ]
}

# feed URI OPTIONS...: a run on it in the background as $pid, whose rows are what is written to descriptor 9; its messages
# are in err.
feed() {
    feed_uri=$1
    shift
    rm -f feed
    mkfifo feed
    "$BIN/kvreplay" --no-notes --progress none --cpu-mem 1MiB -o r.csv --target "$feed_uri" "$@" - <feed 2>err &
    pid=$!
    exec 9>feed
}
# until_prints TEXT COMMAND...: waits until the command prints that, or the run $pid has ended.
until_prints() {
    awaited=$1
    shift
    until [ "$("$@")" = "$awaited" ] || ! kill -s 0 "$pid" 2>/dev/null; do sleep 0.05; done
}

# start_redis OPTIONS: one as $redis, on $socket, where redis-cli finds it.
socket=$TMP/redis.sock
start_redis() {
    redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --dir "$TMP" "$@" >redis.log 2>&1 &
    redis=$!
    ends_too $redis
    until redis-cli -s "$socket" ping 2>&1 | grep -Eq 'PONG|NOAUTH'; do
        kill -s 0 $redis 2>/dev/null || { cat redis.log; exit 1; }
        sleep 0.05
    done
}

# hostile SERVER PROGRAM CASES [SECONDS]: runs the program against the hostile server of tests/faults (hostile.py), and checks
# the lines that come, at least so many, against the exit statuses of the file wanted and the seconds (6), and shows them.
hostile() {
    python3 "$TOP/tests/faults/$1_hostile.py" "$BIN/$2" "$TMP" >table
    most_mib=256
    if sanitized; then most_mib=4096; fi # shadow memory
    ok "at least $3 answers" [ "$(lines table)" -ge "$3" ]
    awk -F '|' -v most=$most_mib -v long="${4:-6}" 'NR == FNR { may[FNR] = $2; next }
        { print ($2 >= 0 && index(may[FNR], $2) ? "" : "status") ($3 > long ? " time" : "") ($4 > most ? " memory" : "") }' wanted table >judged
    while IFS='|' read -r name status seconds mib message <&3 && IFS= read -r found <&4; do
        is "$name" "$found" ''
        printf '# %-36s exit %s %5s s %4s MiB  %.150s\n' "$name" "$status" "$seconds" "$mib" "$message"
    done 3<table 4<judged
    is 'all were tried' "$(lines table)" "$(lines wanted)"
}
