#!/bin/sh
# kvtrace model on stores over the network: a server of S3 and one of Redis are measured as folders are, and left empty. A
# bug looked like objects that stay on the server.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
plain_only
cd "$TMP" || exit 1
"$BIN/kvreplay" --target 's3://none?endpoint=http://127.0.0.1:1' -o r.csv /dev/null 2>&1 | grep -q 'made without libcurl' &&
    skip_all 'built without libcurl'
"$TOP/tests/faults/s3_server.py" "$TMP/port" 2>server.log &
server=$!
# shellcheck disable=SC2154 # it is set there
trap 'status=$?; kill "$server" 2>/dev/null; (exit $status); tap_exit' EXIT
until [ -s port ]; do sleep 0.05; done
door=http://127.0.0.1:$(cat port)
export AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=hush-hush
unset AWS_SESSION_TOKEN AWS_ENDPOINT_URL AWS_ENDPOINT_URL_S3 AWS_PROFILE AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE AWS_REGION

model() { timeout 120 "$BIN/kvtrace" model --sizes 65536 --in-flight 1,2 --storage-capacity-gb 0.02 --point 1 -t 60 -o drive.json "$@"; }
exits 'an object store' 0 model "s3://bucket/some/prefix?endpoint=$door"
stdout_like 'the answer' '^s3://bucket/some/prefix.* reads up to [0-9.]+ GB/s and writes up to [0-9.]+ GB/s; drive.json has [0-9]+ points'
like 'its engine' "$(json drive.json .engine)" '[Ss]3'
is 'nothing stays' "$(curl -s --noproxy '*' "$door/-/keys" | grep -v marker)" ''
unlike 'no key is in the file' "$(cat drive.json)" hush
done_testing
