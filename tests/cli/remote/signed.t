#!/bin/sh
# signed.t - every kind of request to an object store is signed as the strictest server wants it: a server that checks the
# signature of the bytes that came (tests/faults/sigv4.py), whatever the version of libcurl, and a check that can fail. A
# bug looked like a MinIO that refused every request, since libcurl signed a header that it did not send.
# builds: plain (test_s3_sign.c and s3.t run its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"
ok "the checker finds Amazon's examples right, and each wrong when it is changed" python3 "$TOP/tests/faults/sigv4.py"

start_s3 1
door=http://127.0.0.1:$(cat port)
replay() { "$BIN/kvreplay" --no-notes --progress none -o r.csv --order key "$@"; }
kinds() { admin kinds; }
ways() { kinds | sed -n "s/ $1//p" | grep -v If-Match | LC_ALL=C sort; } # which kinds went that way; a renewal may be among them
cat >t.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,12000000,Tier-2,a,Prefill
0.1,Read,12000000,Tier-2,a,Decode
0.1,Read,70000,Tier-2,a,Decode
0.2,Delete,12000000,Tier-2,a,
END
for key in b c d e f g h; do
    echo "0.3,Write,70000,Tier-2,$key,Prefill"
    echo "0.4,Read,70000,Tier-2,$key,Decode"
done >>t.csv
for prefix in p a.b/-c_d/E.9; do # all that a name may hold
    exits "a replay, in parts, below $prefix" 0 replay --keep --target "s3://bucket/$prefix?endpoint=$door&part=5MiB" t.csv
    exits 'and once more, which adopts what is there' 0 replay --keep --target "s3://bucket/$prefix?endpoint=$door" t.csv
    exits 'and cleared' 0 replay --destroy-data --target "s3://bucket/$prefix?endpoint=$door" t.csv
done
admin fault PART 500 1
exits 'an upload that is aborted' 1 replay --on-absent skip --target "s3://bucket/p?endpoint=$door&part=5MiB" t.csv
exits 'without a prefix' 0 replay --target "s3://bucket?endpoint=$door" t.csv
exits 'without conditional writes' 0 replay --target "s3://bucket/p?endpoint=$door&unlocked" t.csv
kinds >plain
virtual=$(echo "$door" | sed 's/127.0.0.1/localhost/')
exits 'the bucket in the name of the host' 0 replay --target "s3://bucket/p?endpoint=$virtual&style=virtual&part=5MiB" t.csv
ways 'to the host of the bucket' >virtual
session() { env AWS_ACCESS_KEY_ID=SESSION "$@" "$BIN/kvreplay" --no-notes -o r.csv --order key --target "s3://bucket/p?endpoint=$door&part=5MiB" t.csv; }
exits 'with a session token' 0 session AWS_SESSION_TOKEN=a/token+of==
ways 'with a session token' >session
exits 'and without it' 3 session
stderr_like 'it is refused by name' 'S3:InvalidToken'
admin region eu-test-1
exits 'another region' 0 replay --target "s3://bucket/p?endpoint=$door&region=eu-test-1" t.csv
exits 'a wrong one' 3 replay --target "s3://bucket/p?endpoint=$door" t.csv
stderr_like 'is refused, and which is right is said' "S3:AuthorizationHeaderMalformed: the region is wrong; expecting 'eu-test-1'"
other() { env AWS_SECRET_ACCESS_KEY=other "$BIN/kvreplay" -o r.csv --target "s3://bucket/p?endpoint=$door&region=eu-test-1" t.csv; }
exits 'a wrong secret' 3 other
stderr_like 'is refused by name' 'S3:SignatureDoesNotMatch'

cat >all <<'END'
ABORT
COMPLETE as XML
CREATE
DELETE
DELETE of a marker
GET
GET of a marker
GET with Range
LIST
LIST with continuation-token
VERSIONING
PART
PUT
PUT of a marker
PUT of a marker with If-Match
PUT of a marker with If-None-Match
END
grep -v 'PUT of a marker$\|If-Match' all | LC_ALL=C sort >run # by one run that keeps nothing and is not unlocked
is 'all kinds of requests were checked' "$(LC_ALL=C sort plain)" "$(LC_ALL=C sort all)"
is 'with the bucket in the name of the host' "$(cat virtual)" "$(cat run)"
is 'with a session token' "$(cat session)" "$(cat run)"
done_testing
