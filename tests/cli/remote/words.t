#!/bin/sh
# words.t - what people and servers say of an object store is taken whole or named: an endpoint, a region or a key from the
# environment or a profile follows the rules of the URI, and what is wrong with it is said with the name of its variable; a
# refusal of a server or a proxy keeps its code, and its words are told once. A bug looked like "S3:Other", or a header with a
# line of its own.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"
unset AWS_DEFAULT_REGION
start_s3 1
port=$(cat port)
door=http://127.0.0.1:$port
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,8192,Tier-2,a,Prefill\n0,Read,8192,Tier-2,a,Decode\n' >t.csv
replay() { "$BIN/kvreplay" --no-notes --progress none --order key --on-absent skip -o r.csv "$@" t.csv; }
# with_value NAME VALUE ARGS...: a replay with that variable, whose value may have escapes of printf.
with_value() {
    name=$1
    value=$(printf '%bx' "$2") # the x keeps a line end
    shift 2
    env "$name=${value%x}" "$BIN/kvreplay" --no-notes --progress none -o r.csv --target "$@" t.csv
}

# ---- the environment (D12): variable, value (escapes of printf), exit status, what is said ----
while IFS='|' read -r variable value status said; do
    exits "$variable=$value" "$status" with_value "$variable" "$value" 's3://bucket/p'
    if [ -n "$said" ]; then stderr_like "$variable=$value: why" "^kvreplay: $said"; fi
    stderr_unlike "$variable=$value: no secret" 'hush'
done <<END
AWS_ENDPOINT_URL|$door|0|
AWS_ENDPOINT_URL|$door/|0|
AWS_ENDPOINT_URL_S3|$door//|0|
AWS_ENDPOINT_URL|$door/path|2|AWS_ENDPOINT_URL: it must be a server and, if needed, its port, without a path
AWS_ENDPOINT_URL_S3|$door?a=b|2|AWS_ENDPOINT_URL_S3: it must be a server .*without a path or parameters
AWS_ENDPOINT_URL|$door\n|2|AWS_ENDPOINT_URL: it has a line end
AWS_ENDPOINT_URL|$door\r|2|AWS_ENDPOINT_URL: it has a line end
AWS_ENDPOINT_URL|$door\r\nX-Other: 1|2|AWS_ENDPOINT_URL: it has a line end
AWS_ENDPOINT_URL| $door|2|AWS_ENDPOINT_URL: it has a blank
AWS_ENDPOINT_URL|$door\t|2|AWS_ENDPOINT_URL: it has a blank
AWS_ENDPOINT_URL|\"$door\"|2|AWS_ENDPOINT_URL: it is not http:// or https://
AWS_ENDPOINT_URL|http://|2|AWS_ENDPOINT_URL: it is not http:// or https:// followed by a server
AWS_ENDPOINT_URL|127.0.0.1:$port|2|AWS_ENDPOINT_URL: it is not http:// or https://
AWS_ENDPOINT_URL|http://me:hush@127.0.0.1:$port|2|AWS_ENDPOINT_URL: it must not hold access keys
AWS_ENDPOINT_URL|http://127.0.0.1:0$port$port|2|AWS_ENDPOINT_URL: it has a port that is not a number from 1 to 65535
END
AWS_ENDPOINT_URL=$door
export AWS_ENDPOINT_URL
while IFS='|' read -r variable value status said; do
    exits "$variable=$value" "$status" with_value "$variable" "$value" 's3://bucket/p'
    if [ -n "$said" ]; then stderr_like "$variable=$value: why" "^kvreplay: $said"; fi
    stderr_unlike "$variable=$value: no secret" 'hush'
done <<'END'
AWS_REGION|eu-west-1|0|
AWS_REGION| eu-west-1|2|AWS_REGION: it may have only letters, digits, .* no blank and no line end
AWS_DEFAULT_REGION|eu west|2|AWS_DEFAULT_REGION: it may have only letters
AWS_REGION|eu-west-1\n|2|AWS_REGION: it may have only letters
AWS_REGION|eu-west-1\r\nX-Other: 1|2|AWS_REGION: it may have only letters
AWS_ACCESS_KEY_ID|KEY\n|3|s3://bucket/p: AWS_ACCESS_KEY_ID in the environment has a line end
AWS_SECRET_ACCESS_KEY|hush-hush\r\nX-Other: 1|3|s3://bucket/p: AWS_SECRET_ACCESS_KEY in the environment has a line end
AWS_SESSION_TOKEN|hush hush|3|s3://bucket/p: AWS_SESSION_TOKEN in the environment has a blank
END
# What the URI says, the environment need not.
exits 'the URI has an endpoint' 0 with_value AWS_ENDPOINT_URL "$door/path" "s3://bucket/p?endpoint=$door"
exits 'and a region' 0 with_value AWS_REGION 'eu west' 's3://bucket/p?region=eu-west-1'

# The same of a profile, whose lines may end as those of other systems do.
profile() { # ENDPOINT REGION
    printf '[default]\r\naws_access_key_id = KEY\r\naws_secret_access_key=hush-hush \r\nregion=%s\r\nendpoint_url = %s\r\n' "$2" "$1" >keys
}
of_profile() {
    env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY -u AWS_ENDPOINT_URL AWS_SHARED_CREDENTIALS_FILE="$TMP/keys" AWS_CONFIG_FILE=none \
        "$BIN/kvreplay" --no-notes --progress none -o r.csv --target "$@" t.csv
}
profile "$door/" eu-west-1
exits 'a profile' 0 of_profile s3://bucket/p
profile "$door/path" eu-west-1
exits 'with a path in its endpoint' 2 of_profile s3://bucket/p
stderr_like 'is named' '^kvreplay: endpoint_url of the profile: it must be a server'
exits 'which the URI overrides' 0 of_profile "s3://bucket/p?endpoint=$door"
profile "$door" 'eu west'
exits 'with a blank in its region' 2 of_profile s3://bucket/p
stderr_like 'is named, too' '^kvreplay: region of the profile: it may have only'
exits 'which the URI overrides, too' 0 of_profile 's3://bucket/p?region=eu-west-1'

# ---- refusals (D14, D20): HTTP status, code, Status of the row, what is told ----
statuses() { awk -F, 'NR == 1 {while ($++s != "Status");} NR > 1 {print $s}' r.csv | head -n 1; }
while IFS='|' read -r http code status said; do
    admin fault PUT "code=$http:$code" 1
    exits "$http $code" 1 replay --target s3://bucket/p
    is "$http $code: the row" "$(statuses)" "$status"
    stderr_like "$http $code: what is told" "^kvreplay: the store says $said\$"
done <<'END'
413||S3:HTTP413|S3:HTTP413: the request is larger than the server, or a proxy before it, takes: part=SIZE in the URI makes requests smaller
507||S3:HTTP507|S3:HTTP507
418||S3:Other|S3:HTTP418
503|XMinioServerNotInitialized|S3:XMinioServerNotInitialized|S3:XMinioServerNotInitialized: the words of XMinioServerNotInitialized
503|SomethingNew|S3:Other|S3:SomethingNew: the words of SomethingNew
301|PermanentRedirect|S3:PermanentRedirect|S3:PermanentRedirect: the words of PermanentRedirect; its endpoint is http://elsewhere.example:9
307||S3:HTTP307|S3:HTTP307: its endpoint is http://elsewhere.example:9
END
# Once for each code, not for each row.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n' >many.csv
for key in a b c d e f; do echo "0,Write,8192,Tier-2,$key,Prefill"; done >>many.csv
admin fault PUT code=503:SomethingNew 3
exits 'three refusals' 1 "$BIN/kvreplay" --no-notes --progress none -o r.csv --target s3://bucket/p many.csv
is 'are told once' "$(grep -c 'the store says' "$TMP/stderr")" 1
admin fault PUT code=503:SomethingNew 9
exits 'a stream' 1 "$BIN/kvprecond" --mode stream --size 1M s3://bucket/q
stderr_like 'has the words, too' 'S3:SomethingNew: the words of SomethingNew'
admin fault PUT code=503:SomethingNew 0

# The same of a server that says so from the start: HTTP status, header, body, what is told.
cat >says.py <<'END'
import os, socket
door = socket.create_server(("127.0.0.1", 0))
with open("says.new", "w") as out:
    out.write("%d" % door.getsockname()[1])
os.rename("says.new", "says")
while True:
    peer, _ = door.accept()
    head = b""
    while b"\r\n\r\n" not in head and (piece := peer.recv(65536)):
        head += piece
    with open("answer", "rb") as answer:
        http, header, body = answer.read().split(b"|")[:3]
    peer.sendall(b"HTTP/1.1 %s X\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n\r\n%s" % (http, len(body), header or b"A: b", body))
    peer.shutdown(socket.SHUT_WR)
    peer.recv(65536)
    peer.close()
END
python3 says.py &
ends_too "$!"
until [ -s says ]; do sleep 0.05; done
while IFS='|' read -r http header body said; do
    printf '%s|%s|%s|' "$http" "$header" "$body" >answer
    exits "$http from the start" 3 replay --target "s3://bucket/p?endpoint=http://127.0.0.1:$(cat says)"
    stderr_like "$http from the start: what is told" "^kvreplay: s3://bucket/p: $said\$"
done <<'END'
307|Location: https://other.example/bucket?x|moved|S3:HTTP307: its endpoint is https://other.example
301||<Error><Code>PermanentRedirect</Code><Message>use it</Message><Endpoint>bucket.eu.example</Endpoint></Error>|S3:PermanentRedirect: use it; its endpoint is bucket.eu.example
413||<html>too large</html>|S3:HTTP413: the request is larger than .*
403||<html>a proxy</html>|S3:HTTP403: the access key may not read objects .*\(s3:ListBucket\).*
503||<Error><Code>XMinioServerNotInitialized</Code><Message>Server not initialized yet</Message></Error>|S3:XMinioServerNotInitialized: Server not initialized yet
400||<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region is wrong; expecting eu-west-1, key hush-hush</Message></Error>|S3:AuthorizationHeaderMalformed: the region is wrong; expecting eu-west-1, key \(hidden.*
END

# A name that style=virtual makes, and nobody knows.
exits 'a bucket before an address' 3 replay --target "s3://bucket/p?endpoint=$door&style=virtual"
stderr_like 'the name that was looked for' "does not answer: Could not resolve host: bucket\\.127\\.0\\.0\\.1: style=virtual puts the bucket before"
done_testing
