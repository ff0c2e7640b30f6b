#!/bin/sh
# endpoints.t - an object store with several doors (endpoints), and requests that are repeated, on the faulty server of
# tests/faults. Rows and figures say which door; a dead door is an error of its own operations; each retry is counted and is
# within the row's time. A bug looked like a run that ended with one door of three, or a retry that hid in a good latency.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"

# serve: a server of three doors, to which $uri leads.
serve() {
    start_s3 3
    uri="s3://bucket/p?$(sed 's|^|endpoint=http://127.0.0.1:|' port | paste -s -d '&')"
    one_alive="s3://bucket/p?endpoint=http://127.0.0.1:$(sed -n 2p port)"
    one="s3://bucket/p?endpoint=http://127.0.0.1:$(head -n 1 port)"
}
serve
names() { admin keys; }
stored() { names | grep -c 'kv$'; }
fault() { admin fault "$@"; }
replay() { "$BIN/kvreplay" --no-notes --progress none -o r.csv --summary s.json "$@"; }
column() { awk -F, -v name="$1" 'NR == 1 {while ($++s != name);} NR > 1 {print $s}' r.csv; }
statuses() { column Status | tr '\n' ' '; }
ends() { json s.json "tier(\"Tier-2\").endpoints$1"; } # PATH: of the endpoints of Tier-2

# ---- rows and figures by door ----
echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' >t.csv
for key in a b c d e f g h i j k l; do
    echo "0,Write,50000,Tier-2,$key,Prefill"
done >>t.csv
for key in a b c d e f g h i j k l; do
    echo "0.2,Read,50000,Tier-2,$key,Decode"
done >>t.csv
exits 'three doors' 0 replay --full --target "$uri" t.csv
is 'each row says which' "$(column Endpoint | sort -u)" "$(sed 's|^|http://127.0.0.1:|' port | sort)"
stderr_like 'the summary shows each' '^  http://127\.0\.0\.1:[0-9]+: read .* at .*, P99 .*; write .*; 0 not ok$'
json_like s.json <<'END'
their figures are those of the tier    | tier("Tier-2") | [.read.ops, .write.ops, .read.bytes] == (.endpoints | [map(.read.ops), map(.write.ops), map(.read.bytes)] | map(add)) | true
requests are new or reused connections | tier("Tier-2").endpoints | map(.requests == .new_connections + .reused_connections) | all | true
all of them                            | tier("Tier-2").endpoints | map(.requests) | add | 24
END
is 'and of its rows' "$(ends '[].read.ops')" "$(awk -F, 'NR == FNR {door[NR] = "http://127.0.0.1:" $1; next}
    $2 == "Read" {n[$NF]++} END {print n[door[1]], n[door[2]], n[door[3]]}' port r.csv)"
is 'no retries' "$(ends '[].retries')" '0 0 0'
"$BIN/kvstat" --by op,endpoint --json r.csv >k.json
is 'kvstat has groups of them' "$(json k.json '[.groups[] | select(.by.op == "Read")] | length, (map(.ops) | add)')" '3 12'
exits 'one door' 0 replay --target "$one" t.csv
is 'is no column' "$(head -n 1 r.csv | grep -c Endpoint)" 0
is 'and has figures' "$(ends '[0].read.ops') $(ends '[0].write.ops')" '12 12'

# ---- exports ----
"$BIN/kvgen" --source trace --input r.csv --format sai3 --epoch 0 >export.sai3 2>/dev/null
"$BIN/kvgen" --source trace --input r.csv --format warp --epoch 0 >export.warp 2>/dev/null
is 'sai3 has the first bytes of reads' "$(awk -F '\t' '$3 == "GET" {n += $11 > $10 && $11 <= $12} END {print n}' export.sai3)" 12
if command -v zstd >/dev/null; then
    is 'so has warp' "$(zstd -dcq export.warp | awk -F '\t' '$3 == "GET" {n += $11 > $10 && $11 <= $12} END {print n}')" 12
fi

# ---- the network ----
exits 'with notes' 0 "$BIN/kvreplay" --progress none -o n.csv --summary s.json --full --target "$uri" t.csv
if [ -r /sys/class/net/lo/statistics/rx_bytes ]; then
    json_like s.json <<'END'
the interface | .evidence.network_interfaces   | lo
its bytes     | .evidence | .network_received_bytes >= 24 * 50000, .network_sent_bytes >= 24 * 50000 | true true
END
    stderr_like 'in words' '^network lo: received .*, sent .* \(rows read 585.94 KiB and wrote 585.94 KiB there\)$'
fi
json_like s.json <<'END'
requests      | .evidence.remote_requests | 24
connections   | .evidence | .remote_connections >= 3 and .remote_connections <= 24 | true
retransmitted | .evidence.tcp_retransmits | [0-9nul]+
no device     | .evidence.device_read_bytes | null
END
stderr_like 'requests in words' '^24 requests over [0-9]+ new connections, 0 retries, ([0-9]+ TCP retransmissions?|TCP retransmissions not known)$'
"$BIN/kvstat" --full n.csv >report
like 'the report has it in place of the device' "$(tr -s ' \n' ' ' <report)" ' Network .*24 requests, [0-9]+ new connections, 0 retries'
unlike 'of which nothing is known' "$(cat report)" '^Device +[0-9]'
like 'and names the kind of target' "$(cat report)" '^Storage +s3 on s3://bucket/p'
"$BIN/kvstat" --json n.csv >k.json
is 'as figures' "$(json k.json '.run.evidence | .remote_requests, .remote_retries, .device_read_bytes')" '24 0 null'
exits 'a folder' 0 replay --target objects t.csv
is 'has no doors' "$(ends '[]')$(json s.json '.evidence | .remote_requests, .network_sent_bytes, .tcp_retransmits')" 'null null null'

# ---- dead doors ----
sed 's/^0.2,/4,/' t.csv >slow.csv # a busy machine has written all by then
begin() { # a run in the background as $pid, which has written its objects
    "$BIN/kvreplay" --no-notes --progress none -o r.csv --summary s.json --timing trace --target "$uri" slow.csv 2>err &
    pid=$!
    until_prints 12 stored
}
dead=http://127.0.0.1:$(sed -n 1p port)
begin
admin door 0
wait $pid
is 'one door of three dies' $? 1
is 'rows through it fail' "$(awk -F, -v dead="$dead" '$2 == "Read" {for (i = 1; $i != "ok" && i <= NF; i++);
    print ($NF == dead), (i <= NF)}' r.csv | sort -u | tr '\n' ' ')" '0 1 1 0 '
like 'as not reached' "$(grep "Read.*$dead" r.csv)" ',(ECONNREFUSED|ECONNRESET),'
like 'and are counted there' "$(ends '[].read.not_ok')" '^[1-9][0-9]* 0 0$'
is 'nothing is left all the same' "$(names)" ''
"$BIN/kvstat" --by op,status,endpoint --json r.csv >k.json
is 'kvstat says which' "$(json k.json '[.groups[] | select(.by.op == "Read" and .by.status != "ok") | .by.endpoint] | unique[]')" "$dead"
exits 'a run with a dead door from the start' 1 replay --target "$uri" t.csv
like 'has the others' "$(ends '[].write.ops')" '^0 [1-9][0-9]* [1-9][0-9]*$'
is 'and leaves nothing' "$(names)" ''

# Objects that are there before the run are all written, or it does not begin.
sed 's/,Write,/,Read,/' t.csv >reads.csv
rm -f s.json
exits 'a dead door while objects are populated' 3 replay --target "$uri" reads.csv
stderr_like 'is said' '^kvreplay: populate: cannot write the objects .*: Connection refused'
ok 'no row was run' test ! -e s.json
is 'those of the other doors are removed' "$(names)" ''
fault PUT die 1
exits 'a lost connection while objects are populated' 3 replay --target "$one_alive" reads.csv
is 'what was written is removed' "$(names)" ''
fault PUT die 1
exits 'is repeated with --config retries' 0 replay --config retries=2 --target "$one_alive" reads.csv
is 'and the run has all its objects' "$(json s.json '.populated.objects, .rows.ok, .rows.total')" '12 24 24'
again() {
    kill "$server"
    wait "$server" 2>/dev/null
    serve
}
again
begin
for n in 0 1 2; do admin door "$n"; done
wait $pid
is 'all doors die' $? 1
is 'every read fails' "$(awk -F, '$2 == "Read"' r.csv | grep -c ',ECONN')" 12
like 'the store cannot be cleared' "$(cat err)" 's3://bucket/p: none of 3 endpoints answers; the last was http://127\.0\.0\.1:[0-9]+: '
exits 'then nothing begins' 3 replay --target "$uri" t.csv
again

# ---- retries: VERB KIND, of a row that succeeds at the second attempt ----
cat >three.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,300000,Tier-2,a,Prefill
0.1,Read,300000,Tier-2,a,Decode
0.2,Delete,300000,Tier-2,a,
END
sed 's/300000/5300000/' three.csv >parts.csv
while read -r verb kind trace; do
    fault "$verb" "$kind" 1
    if [ "$kind" = slow ]; then timeout=2s; else timeout=60s; fi
    exits "$verb $kind: once" 0 replay --config retries=2 --config timeout=$timeout --order key --target "$one&part=5MiB" "$trace.csv"
    if [ "$kind" = slow ]; then # others may be slow on a busy machine, too
        ok "$verb $kind: counted" test "$(ends '[0].retries')" -ge 1
    else
        is "$verb $kind: counted" "$(json s.json 'tier("Tier-2").endpoints[0].retries, .evidence.remote_retries')" '1 1'
    fi
    is "$verb $kind: nothing is left" "$(names; admin uploads)" ''
done <<'END'
GET slow three
GET cut three
GET die three
GET 500 three
GET 503 three
PUT die three
PUT 503 three
DELETE 500 three
CREATE 503 parts
PART 500 parts
PART die parts
COMPLETE 200 parts
COMPLETE 503 parts
GET cut parts
END
fault GET 503 3
exits 'three times' 1 replay --config retries=2 --order key --on-absent skip --target "$one" three.csv
is 'is once too often' "$(statuses)" 'ok S3:SlowDown ok '
is 'both retries are counted' "$(ends '[0].retries') $(ends '[0].requests')" '2 5'
is 'and within the time of the row' "$(awk -F, '$2 == "Read" {print ($10 >= 70000)}' r.csv)" 1
while read -r verb kind trace why; do
    fault "$verb" "$kind" 1
    exits "$verb $kind: $why" 1 replay --config retries=2 --order key --on-absent skip --target "$one&part=5MiB" "$trace.csv"
    is "$verb $kind: is not repeated" "$(ends '[0].retries')" 0
done <<'END'
GET flip three corrupt
GET short three corrupt
GET 403 three a refusal
COMPLETE die parts may have been done
CREATE die parts may have been done
END
# A server that dies, and comes back before the last attempt.
exits 'its store is empty' 0 replay --target "$one" three.csv
"$BIN/kvreplay" --no-notes --progress none -o r.csv --summary s.json --timing trace --order key --config retries=9 --target "$one" three.csv 2>err &
pid=$!
until [ "$(names | grep -c 'kv$')" = 1 ] || ! kill -s 0 $pid 2>/dev/null; do sleep 0.02; done
kill -STOP "$server"
sleep 0.2
kill -CONT "$server"
wait $pid
is 'a server that stood still for a moment' $? 0
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,9000,Tier-2,a,Prefill\n0.1,Read,9000,Tier-2,a,Decode\n6,Read,9000,Tier-2,a,Decode\n' >idle.csv
exits 'a pause of six seconds' 0 replay --timing trace --order key --target "$one" idle.csv
ok 'is followed by a new connection: the server may just be closing the old one' \
    test "$(ends '[0].new_connections')" -ge 2
exits 'without --config retries' 0 replay --target "$one" three.csv
exits '--config retries and a folder' 2 replay --config retries=2 --target objects three.csv
stderr_like 'is refused' '^kvreplay: --config retries: applies only with a redis:// or s3:// target$'
done_testing
