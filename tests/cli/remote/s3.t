#!/bin/sh
# s3.t - an object store that speaks S3 as a target, with the small faulty server of tests/faults: the same rows as on files,
# every byte verified; whose the prefix is; each fault with its row status; keys that appear nowhere. A bug looked like an
# object that was changed on the server and read as good, or a run that hung on a server that said nothing.
# KVTRACE_TEST_S3 names one more store ("s3://BUCKET/PREFIX?endpoint=URL", with its keys in the environment), such as
# s3rver (npm: s3rver@3.7.1, keys S3RVER and S3RVER, "&unlocked"), for what needs no faults.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"

start_s3 1
door=http://127.0.0.1:$(cat port)
uri="s3://bucket/some/prefix?endpoint=$door"
names() { admin keys; }
uploads() { admin uploads; }
fault() { admin fault "$@"; }
replay() { "$BIN/kvreplay" --no-notes --progress none -o r.csv "$@"; }
rows() { awk -F, 'NR == 1 {while ($++s != "Status");} NR > 1 {print $2, $3, $4, $5, $s}' "$1" | sort; }
statuses() { awk -F, 'NR == 1 {while ($++s != "Status");} NR > 1 {printf "%s ", $s}' r.csv; }

cat >t.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.000000,Write,100000,Tier-2,a,Prefill
0.001000,Read,100000,Tier-2,a,Decode
0.001000,Read,5000,Tier-2,a,Decode
0.001500,Write,5300000,Tier-2,b,Prefill
0.001500,Read,5300000,Tier-2,b,Decode
0.001500,Write,10,Tier-2,b,Prefill
0.001500,Read,10,Tier-2,b,Decode
0.001550,Write,500000,Tier-2,b,Prefill
0.001550,Read,499999,Tier-2,b,Decode
0.001600,Read,300000,Tier-2,c,Decode
0.002000,Delete,100000,Tier-2,a,
END
"$BIN/kvgen" --num-users 4 --duration 3 --model tiny-1b --seed 5 --cpu-mem-gb 0.1 --gpu-mem-gb 0 2>/dev/null |
    awk -F, -v OFS=, '$3 ~ /^[1-9]/ {$3 = int($3 / 512)} 1' >g.csv # its objects are 0.1 to 1 MB
for trace in t.csv g.csv; do
    exits "$trace on files" 0 replay --target objects $trace
    rows r.csv >"files-$trace"
done
same() { # NAME URI: the rows are those of a replay on files
    for trace in t.csv g.csv; do
        exits "$1: $trace" 0 replay --summary s.json --verify full --target "$2" $trace
        is "$1: $trace: the same rows" "$(rows r.csv)" "$(cat files-$trace)"
    done
}
same 'one endpoint' "$uri"
same 'two connections' "$uri&connections=2"
same 'three endpoints' "$uri&endpoint=$door/&endpoint=$door"
is 'nothing is left' "$(names)" ''
json_like s.json <<'END'
engine               | tier("Tier-2").engine                                            | s3
endpoints            | tier("Tier-2").flags[0]                                          | 3 endpoints, at most 64 connections
no counters          | .kernel.device_read_bytes                                        | null
a network            | .evidence.target                                                 | network
storage is not known | .validity[] | select(.figures == "storage") | .state              | unknown
all verified         | .rows.unverified_reads                                           | 0
END
same 'in parts of 5 MiB' "$uri&part=5MiB"
is 'parts: nothing is left' "$(names; uploads)" ''
exits 'without a prefix, under Tier-1' 0 replay --target "1=s3://bucket?endpoint=$door" --tier-map 2=1 t.csv

# ---- keeping and adopting ----
echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' >read.csv
for key in c d e f g; do echo "0,Read,70000,Tier-2,$key,Decode"; done >>read.csv
exits 'objects are kept' 0 replay --keep --target "$uri" read.csv
is 'they and the marker are there' "$(names | grep -c -e '\.kv$' -e '\.kvtrace$')" 6
exits 'a run that does not keep them is refused' 3 replay --target "$uri" read.csv
stderr_like 'and says why' 'holds 5 objects that an earlier run of kvreplay kept: --keep uses them'
exits 'they are adopted' 0 replay --keep --summary s.json --target "$uri" read.csv
is 'all' "$(json s.json '.populated | .adopted_objects, .objects')" '5 0'
victim=$(names | grep 'kv$' | tail -n 1)
admin put "$victim" /dev/null
exits 'a cut object is no object' 0 replay --keep --summary s.json --target "$uri" read.csv
is 'it is written again' "$(json s.json '.populated | .adopted_objects, .objects')" '4 1'
exits 'they are removed when asked for' 0 replay --destroy-data --target "$uri" read.csv
is 'all of them' "$(names)" ''

# ---- whose it is ----
admin put bucket/some/prefix/else "$TMP/t.csv"
admin put bucket/some/prefixed "$TMP/t.csv"
for n in 1 2 3; do
    exits "a prefix with another object is refused, $n" 3 replay --target "$uri" t.csv
    stderr_like "$n: why" 'refused: it holds data that kvtrace did not write \(else\)'
done
is 'and not touched' "$(names | tr '\n' ' ')" 'bucket/some/prefix/else bucket/some/prefixed '
exits 'a neighbour of the prefix is nobody' 0 replay --target "s3://bucket/some/pre?endpoint=$door" t.csv
exits 'another prefix is free' 0 replay --target "s3://bucket/other?endpoint=$door" t.csv
exits 'the bucket is not' 3 replay --target "s3://bucket?endpoint=$door" t.csv
uri="s3://bucket/fresh?endpoint=$door"
cat >slow.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,8192,Tier-2,a,Prefill
0.0,Write,8192,Tier-2,b,Prefill
0.0,Read,8192,Tier-2,a,Decode
0.0,Read,8192,Tier-2,b,Decode
END
stored() { names | grep -c 'fresh/.*kv$'; }
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
start --summary s.json
tr '\0' ' ' <"/proc/$pid/cmdline" >cmdline
exits 'a prefix in use is refused' 3 "$BIN/kvreplay" --no-notes -o r2.csv --target "$uri" t.csv
stderr_like 'by whom' "in use by kvreplay \(process $pid on host .*, since 20.*Z\)"
go
is 'the first run is well' $? 0
"$BIN/kvreplay" --target "$uri" -o r2.csv t.csv 2>>err
is 'the secret appears nowhere' "$(cat s.json r.csv r2.csv err cmdline | grep -c hush)" 0
like 'the command line was looked at' "$(cat cmdline)" kvreplay
start
kill -KILL $pid
exec 9>&-
wait $pid 2>/dev/null
is 'a killed run leaves marker and objects' "$(names | grep -c fresh)" 3
exits 'the next run clears them' 0 replay --target "$uri" t.csv
is 'all' "$(names | grep -c fresh)" 0
start
kill -INT $pid
wait $pid
is 'an interrupted run' $? 130
is 'clears its objects' "$(names | grep -c fresh)" 0

# stale or exchanged by another client, between write and read
start
victim=$(names | grep 'fresh/.*kv$' | tail -n 1)
admin put "$victim" "$DATA/kvstat_dozen.csv"
go
is 'an object that another client wrote' "$(statuses | grep -c corrupt)" 1

# ---- faults: VERB KIND STATUS, of one row in three ----
cat >three.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,300000,Tier-2,a,Prefill
0.1,Read,300000,Tier-2,a,Decode
0.2,Delete,300000,Tier-2,a,
END
# went_wrong URI TRACE: a fault of one row, which ends with that status; all goes on, and nothing is left.
went_wrong() {
    fault "$verb" "$kind" 1
    if [ "$kind" = slow ]; then timeout=2s; else timeout=60s; fi # a busy machine is slow, too
    exits "$verb $kind" 1 replay --config timeout=$timeout --on-absent skip --order key --target "$1" --summary s.json "$2"
    like "$verb $kind: status" "$(statuses)" "$status"
    case $status in *corrupt*) counted='0 1' ;; *) counted='1 0' ;; esac
    is "$verb $kind: counted once" "$(json s.json '.rows | .failed, .corrupt')" "$counted"
    is "$verb $kind: nothing is left" "$(names | grep -c fresh; uploads)" 0
}
while read -r verb kind status; do
    went_wrong "$uri" three.csv
done <<'END'
GET slow ^ok.ETIMEDOUT.ok.$
GET cut ^ok.ECONNRESET.ok.$
GET flip ^ok.corrupt.ok.$
GET short ^ok.corrupt.ok.$
GET die ^ok.ECONNRESET.ok.$
GET 500 ^ok.S3:HTTP500.ok.$
GET 503 ^ok.S3:SlowDown.ok.$
GET 403 ^ok.S3:SignatureDoesNotMatch.ok.$
PUT 403 ^S3:SignatureDoesNotMatch
PUT slow ^ETIMEDOUT
PUT flip ^ok.corrupt.ok.$
PUT die ^ECONNRESET
PUT 500 ^S3:HTTP500
PUT 503 ^S3:SlowDown
DELETE 500 ^ok.ok.S3:HTTP500.$
END
# ---- uploads in parts: one fault, and the upload is gone; a 200 may hold a refusal ----
cat >parts.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,5300000,Tier-2,a,Prefill
0.1,Read,5300000,Tier-2,a,Decode
0.2,Delete,5300000,Tier-2,a,
END
while read -r verb kind status; do
    went_wrong "$uri&part=5MiB" parts.csv
done <<'END'
CREATE 503 ^S3:SlowDown
CREATE 200 ^S3:InternalError
PART 500 ^S3:HTTP500
PART die ^ECONNRESET
PART slow ^ETIMEDOUT
PART untagged ^EPROTO
PART flip ^ok.corrupt.ok.$
COMPLETE 200 ^S3:InternalError
COMPLETE 503 ^S3:SlowDown
GET short ^ok.corrupt.ok.$
GET 503 ^ok.S3:SlowDown.ok.$
END
fault PART pair 2
exits 'parts go at the same time' 0 replay --order key --target "$uri&part=5MiB" parts.csv
fault GET pair 2
exits 'and ranges' 0 replay --order key --target "$uri&part=5MiB" parts.csv
fault PART 500 1
fault ABORT 500 1
exits 'an upload that cannot be aborted' 1 replay --on-absent skip --order key --target "$uri&part=5MiB&connections=1" --summary s.json parts.csv
is 'is said' "$(json s.json 'tier("Tier-2").fallbacks[]')" '1 unfinished upload could not be aborted'
is 'and is there' "$(uploads | wc -l)" 1

# ---- the first byte ----
echo 0.1,Read,300000,Tier-2,a,Decode >>three.csv
sed -i '/Delete/d' three.csv
fault GET late 1
exits 'an answer that comes late' 0 replay --order key --target "$uri" three.csv
is 'First_byte_us is the last column' "$(head -n 1 r.csv | awk -F, '{print $NF}')" First_byte_us
is 'of reads, within the latency' "$(awk -F, 'NR > 1 {print $2, ($NF == "" ? "none" : $NF > 0 && $NF <= $10 ? "within" : "not")}' r.csv | tr '\n' ' ')" \
    'Write none Read within Read within '
is 'of the late one' "$(awk -F, 'NR > 1 && $NF >= 500000 {n++} END {print n}' r.csv)" 1
"$BIN/kvstat" --json r.csv >stat.json
like 'kvstat has it' "$(json stat.json '.groups[] | select(.by.op == "Read") | .first_byte_us.count, .first_byte_us.max')" '^2 ([5-9].....|[1-9]......)(\.[0-9]+)?$'

# ---- ways to the store ----
exits 'the endpoint of the environment' 0 env AWS_ENDPOINT_URL="$door" "$BIN/kvreplay" --no-notes -o r.csv --target s3://bucket/fresh t.csv
virtual=$(echo "$door" | sed 's/127.0.0.1/localhost/')
exits 'the bucket in the name of the host' 0 replay --summary s.json --target "s3://bucket/fresh?endpoint=$virtual&style=virtual&part=5MiB" parts.csv
is 'nothing is left there' "$(names | grep -c fresh)" 0
unset http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY
proxy() { env http_proxy="$1" "$BIN/kvreplay" --no-notes --progress none -o r.csv --summary s.json --target "$2" t.csv; }
exits 'a proxy is not used' 0 proxy http://me:hush-hush@127.0.0.1:1 "$uri"
like 'and that is said' "$(json s.json 'tier("Tier-2").flags[]')" "environment's proxy is not used"
is 'without its password' "$(cat s.json r.csv "$TMP/stderr" | grep -c hush)" 0
exits 'unless asked for' 0 proxy "$door" 's3://bucket/fresh?endpoint=http://nowhere.invalid&proxy=env'
admin clock -1000
exits 'clocks that differ' 3 replay --target "$uri" t.csv
stderr_like 'are said' 'S3:RequestTimeTooSkewed: the server.s clock is (999|100.) s behind the clock of this host'
admin clock 0
printf '[default]\naws_access_key_id = x\naws_secret_access_key = hush-hush\n[work]\naws_access_key_id = KEY\naws_secret_access_key = hush-hush\n' >keys
printf '[profile work]\nendpoint_url = %s\n' "$door" >config
profile() { env -u AWS_ACCESS_KEY_ID AWS_SHARED_CREDENTIALS_FILE=keys AWS_CONFIG_FILE=config "$@" -o r.csv --summary s.json t.csv; }
exits 'keys and endpoint of a profile' 0 profile "$BIN/kvreplay" --target 's3://bucket/fresh?profile=work'
is 'its secret appears nowhere' "$(cat s.json r.csv "$TMP/stderr" | grep -c hush)" 0
exits 'of AWS_PROFILE' 0 profile AWS_PROFILE=work "$BIN/kvreplay" --target s3://bucket/fresh
exits 'another profile is refused by the server' 3 profile "$BIN/kvreplay" --target "$uri"
stderr_like 'by name' 'S3:InvalidAccessKeyId'
exits 'a profile that is not there' 3 profile "$BIN/kvreplay" --target "$uri&profile=home"
stderr_like 'says where it was looked for' 'there is no profile home in keys or config'
export HOME="$PWD"
exits 'without keys' 3 env -u AWS_SECRET_ACCESS_KEY "$BIN/kvreplay" --target "$uri" t.csv
stderr_like 'it says where they belong' 'AWS_ACCESS_KEY_ID'
exits 'other keys' 3 env AWS_ACCESS_KEY_ID=x "$BIN/kvreplay" --target "$uri" t.csv
stderr_like 'are refused by name' 'S3:InvalidAccessKeyId: no such key'
kill $server
exits 'no server' 3 replay --target "$uri" t.csv
stderr_like 'no server: why, and which' '^kvreplay: s3://bucket/.*: http://127\.0\.0\.1:[0-9]+ does not answer: '

if [ -n "${KVTRACE_TEST_S3-}" ]; then
    export AWS_ACCESS_KEY_ID="$real_id" AWS_SECRET_ACCESS_KEY="$real_key"
    same 'the store of the environment' "$KVTRACE_TEST_S3"
    same 'the store of the environment, in parts' "$KVTRACE_TEST_S3&part=5MiB"
    exits 'it keeps' 0 replay --keep --target "$KVTRACE_TEST_S3" read.csv
    exits 'and gives back' 0 replay --keep --summary s.json --target "$KVTRACE_TEST_S3" read.csv
    is 'all objects' "$(json s.json '.populated | .adopted_objects, .objects')" '5 0'
    exits 'and is cleared' 0 replay --destroy-data --target "$KVTRACE_TEST_S3" read.csv
fi
done_testing
