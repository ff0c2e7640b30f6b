#!/bin/sh
# kvtrace model on stores over the network: a server of S3 and one of Redis are measured as folders are, and left empty. A
# bug looked like objects that stay on the server.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"
start_s3 1
door=http://127.0.0.1:$(cat port)

model() { timeout 120 "$BIN/kvtrace" model --sizes 262144 --in-flight 2 --storage-capacity-gb 0.02 --point 1 -t 60 -o drive.json "$@"; }
exits 'an object store' 0 model "s3://bucket/some/prefix?endpoint=$door"
stdout_like 'the answer' '^s3://bucket/some/prefix.* reads up to [0-9.]+ GB/s and writes up to [0-9.]+ GB/s; drive.json has [0-9]+ points'
like 'its engine' "$(json drive.json .engine)" '[Ss]3'
is 'nothing stays' "$(admin keys | grep -v marker)" ''
unlike 'no key is in the file' "$(cat drive.json)" hush
done_testing
