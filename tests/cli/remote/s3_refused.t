#!/bin/sh
# s3_refused.t - what a run on an object store finds out before its first object, and what it says of what it leaves behind: a
# right that is missing, endpoints of two stores, a bucket that keeps versions, a place that is another by the time that it is
# asked for, and signals while it is opened and cleared. A bug looked like "all ok" with 31 objects left, since the key had no
# right to delete, or 19 left on the second of two stores.
# builds: plain (what it asks is in s3.t, what is answered in hostile_s3.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"

start_s3 1 other
other=http://127.0.0.1:$(cat other) # the second store
start_s3 2
door=http://127.0.0.1:$(sed -n 1p port) second=http://127.0.0.1:$(sed -n 2p port)
uri="s3://bucket/p?endpoint=$door"
replay() { "$BIN/kvreplay" --no-notes --progress none --order key -o r.csv --summary s.json "$@"; }
names() { admin keys; }
stored() { names | grep -c 'kv$'; }
hangs() { # VERB: waits until such a request has none
    tries 200 hung "$1"
}
hung() { admin kinds | grep -q "hung $1" || { sleep 0.05; false; }; }
{
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase'
    for key in a b c d e f g h; do echo "0.0,Write,8192,Tier-2,$key,Prefill"; done
} >t.csv
{
    cat t.csv
    echo '0.1,Write,6000000,Tier-2,big,Prefill'
} >big.csv

# ---- rights (D7): each is missing in turn; nothing is left but what cannot be removed ----
while read -r verb right left; do
    admin denied "$verb"
    trace=t.csv
    case $verb in CREATE | ABORT) trace=big.csv ;; esac
    exits "$verb is denied" 3 replay --target "$uri&part=5MiB" $trace
    stderr_like "$verb: the right is named" "S3:AccessDenied: the access key may not .*\($right\)"
    admin denied
    is "$verb: what is left" "$(names | wc -l)" "$left"
    exits "$verb: with the right" 0 replay --target "$uri&part=5MiB" $trace
    is "$verb: it goes" "$(names)" ''
done <<'END'
LIST s3:ListBucket 0
PUT s3:PutObject 0
GET s3:GetObject 0
DELETE s3:DeleteObject 2
CREATE s3:PutObject 0
ABORT s3:AbortMultipartUpload 0
END
admin denied CREATE,ABORT
exits 'no object has parts: the right to make them is not needed' 0 replay --target "$uri" big.csv
admin denied

# A right that is lost during the run.
feed "$uri"
cat t.csv >&9
until_prints 8 stored
admin denied DELETE
exec 9>&-
wait $pid
is 'a clean-up that is denied' $? 1
like 'says how much is left, and where' "$(cat err)" \
    '^kvreplay: s3://bucket/p: S3:AccessDenied: the access key may not delete objects .*; 8 objects \(64\.00 KiB\) of kvtrace and its marker are left there'
is 'which is so' "$(names | wc -l)" 9
admin denied
exits 'the next run clears it' 0 replay --target "$uri" t.csv
is 'all' "$(names)" ''

# ---- endpoints (D19) ----
exits 'two endpoints of one store' 0 replay --target "$uri&endpoint=$second" t.csv
exits 'and of two stores' 3 replay --target "$uri&endpoint=$other" t.csv
stderr_like 'are refused by name' "refused: $door and $other are different stores"
exits 'in the other order, too' 3 replay --target "s3://bucket/p?endpoint=$other&endpoint=$door" t.csv
is 'nothing is left on the one' "$(names)" ''
is 'nor on the other' "$(admin_of other keys)" ''

# ---- the place (D2) ----
for place in bucket/p/../q bucket/.. bucket/./p bucket//p bucket/p//q bucket/p/%2e%2e/q ...; do
    exits "s3://$place" 2 replay --target "s3://$place?endpoint=$door" t.csv
done
is 'nothing was written' "$(names)" ''

# ---- versions (D16) ----
admin versioning Enabled
exits 'a bucket that keeps versions' 0 replay --full --target "$uri" t.csv
stderr_like 'is said to' 'fallbacks: .*deleted and overwritten objects stay there as old versions'
like 'in the summary, too' "$(json s.json '.tiers[] | select(.tier == "Tier-2").fallbacks[]')" versioning
admin versioning Suspended
exits 'one that does not' 0 replay --full --target "$uri" t.csv
stderr_unlike 'is not' versions

# ---- progress: an exchange takes longer than --config timeout only while its contents move ----
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,6291456,Tier-2,a,Prefill\n0,Read,6291456,Tier-2,a,Decode\n' >large.csv
admin fault GET trickle 1
exits 'contents that come slowly' 0 replay --config timeout=2s --target "$uri" large.csv
is 'take longer than --config timeout' "$(awk -F, 'NR == 1 {while ($++s != "Latency_us");} $2 == "Read" {print ($s > 2000000)}' r.csv)" 1

# ---- signals ----
# run: one in the background as $pid.
run() {
    "$BIN/kvreplay" --no-notes --progress none --config timeout=1000s -o r.csv --target "$uri" t.csv 2>err &
    pid=$!
}
cleared() { [ -z "$(names)" ] || { replay --target "$uri" t.csv && [ -z "$(names)" ]; }; }
for verb in LIST PUT; do
    admin hung $verb
    run
    hangs $verb
    kill -s INT $pid
    wait $pid # what hangs would last for 1000 s
    is "one signal during the opening, at $verb, ends it" $? 130
    admin hung
    exits "$verb: the store is free" 0 replay --target "$uri" t.csv
    # The PUT that hung may be carried out now, after the next run has ended.
    ok "$verb: nothing is left" tries 3 cleared
done
# The clean-up hangs at the first object. The probe of rights has been deleted before.
feed "$uri" --config timeout=1000s
cat t.csv >&9
until_prints 8 stored
admin hung DELETE
exec 9>&-
hangs DELETE
kill -s INT $pid
rests $pid # nothing happens
kill -s 0 $pid 2>/dev/null
is 'the first signal lets the clean-up go on' $? 0
kill -s INT $pid
wait $pid
is 'the second gives it up' $? 130
like 'and how much is left is said' "$(cat err)" 'a second signal stopped the clean-up; 8 objects \(64\.00 KiB\) of kvtrace and its marker are left there'
admin hung
exits 'the next run clears it, too' 0 replay --target "$uri" t.csv
is 'all of it' "$(names)" ''
done_testing
