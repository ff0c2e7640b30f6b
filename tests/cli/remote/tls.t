#!/bin/sh
# tls.t - an object store behind TLS. A certificate that is refused says why, each reason for itself (self-signed, of an unknown
# authority, of another name, expired), and what to do about it: ca= or insecure. ca=, AWS_CA_BUNDLE and SSL_CERT_FILE name
# authorities, in this order. A bug looked like "does not answer: SSL peer certificate or SSH remote key was not OK".
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
why=$(no_s3)
[ -z "$why" ] || skip_all "$why"
command -v openssl >/dev/null || skip_all 'no openssl'
unset SSL_CERT_FILE SSL_CERT_DIR AWS_CA_BUNDLE

# ---- certificates ----
quiet() { "$@" >openssl.log 2>&1 || { cat openssl.log; exit 1; }; }
key() { quiet openssl ecparam -name prime256v1 -genkey -noout -out "$1.key"; }
# signed NAME ALT_NAME OPTIONS...: NAME.pem, of the authority, with its key.
signed() {
    name=$1 alt=$2
    shift 2
    key "$name"
    quiet openssl req -new -key "$name.key" -subj "/CN=$name" -out "$name.csr"
    echo "subjectAltName=$alt" >"$name.ext"
    quiet openssl x509 -req -in "$name.csr" -CA authority.crt -CAkey authority.key -CAcreateserial -extfile "$name.ext" -out "$name.crt" "$@"
    cat "$name.crt" "$name.key" >"$name.pem"
}
key authority
quiet openssl req -x509 -key authority.key -subj /CN=authority -days 2 -out authority.crt
key self
quiet openssl req -x509 -key self.key -subj /CN=self -addext subjectAltName=IP:127.0.0.1 -days 2 -out self.crt
cat self.crt self.key >self.pem
signed good IP:127.0.0.1 -days 2
signed other DNS:other.example -days 2
signed expired IP:127.0.0.1 -days -1

printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,8192,Tier-2,a,Prefill\n0,Read,8192,Tier-2,a,Decode\n' >t.csv
replay() { "$BIN/kvreplay" --no-notes --progress none --order key --full -o r.csv --target "$@" t.csv; }
serve() { # CERTIFICATE: $uri is a store that has it
    S3_SERVER_TLS=$TMP/$1.pem
    export S3_SERVER_TLS
    start_s3 1
    uri="s3://bucket/p?endpoint=https://127.0.0.1:$(cat port)"
}
refuses() { # NAME WHY OPTIONS...: that it is refused
    name=$1 reason=$2
    shift 2
    exits "$name: refused" 3 replay "$@"
    stderr_like "$name: why" "^kvreplay: s3://bucket/p: https://127\\.0\\.0\\.1:[0-9]+ does not answer: $reason: name the certificate or its authority \\(ca=FILE in the URI, or AWS_CA_BUNDLE\\), or accept any \\(insecure\\)\$"
}

# ---- why it is refused ----
serve self
refuses 'self-signed' 'its certificate is self-signed' "$uri"
exits 'self-signed, and named' 0 replay "$uri&ca=$TMP/self.crt"
exits 'self-signed, insecure' 0 replay "$uri&insecure"
stderr_like 'which is said' 'insecure: certificates are not verified'
http="s3://bucket/p?endpoint=http://127.0.0.1:$(cat port)"
exits 'without TLS' 3 replay "$http"
stderr_like 'says that it may have TLS' '\(a server with TLS is https://\)$'
serve good
refuses 'of an unknown authority' 'its certificate is of an authority that is not trusted here' "$uri"
refuses 'of another authority' 'its certificate is of an authority that is not trusted here' "$uri&ca=$TMP/self.crt"
good=$uri
serve other
refuses 'of another name' 'its certificate is for another name of the server' "$uri&ca=$TMP/authority.crt"
exits 'of another name, insecure' 0 replay "$uri&insecure"
serve expired
refuses 'expired' 'its certificate has expired, or the clock of this host is wrong' "$uri&ca=$TMP/authority.crt"
unset S3_SERVER_TLS
start_s3 1
cat >plain.py <<'END'
import os, socket
door = socket.create_server(("127.0.0.1", 0))
with open("plain.new", "w") as out:
    out.write("%d" % door.getsockname()[1])
os.rename("plain.new", "plain")
while True:
    peer, _ = door.accept()
    peer.recv(9)
    peer.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    peer.recv(1 << 16)
    peer.close()
END
python3 plain.py &
ends_too "$!"
until [ -s plain ]; do sleep 0.05; done
exits 'a server without TLS' 3 replay "s3://bucket/p?endpoint=https://127.0.0.1:$(cat plain)"
stderr_like 'is said to be one' 'no TLS connection: .* \(a server without TLS is http://\)$'

# ---- authorities ----
uri=$good
exits 'ca=' 0 replay "$uri&ca=$TMP/authority.crt"
for variable in AWS_CA_BUNDLE SSL_CERT_FILE; do
    exits "$variable" 0 env $variable="$TMP/authority.crt" "$BIN/kvreplay" --no-notes --full --progress none -o r.csv --target "$uri" t.csv
    stderr_like "$variable: is said" "trusted authorities of $variable"
    exits "$variable: no such file" 2 env $variable="$TMP/none.crt" "$BIN/kvreplay" -o r.csv --target "$uri" t.csv
    stderr_like "$variable: is named" "^kvreplay: $variable: cannot read the certificates of .*/none.crt: No such file"
    exits "$variable: no certificates" 3 env $variable="$TMP/t.csv" "$BIN/kvreplay" -o r.csv --target "$uri" t.csv
    stderr_like "$variable: are named" 't\.csv'
    exits "$variable: the URI comes first" 0 env $variable="$TMP/self.crt" "$BIN/kvreplay" -o r.csv --target "$uri&ca=$TMP/authority.crt" t.csv
done
exits 'AWS_CA_BUNDLE comes before SSL_CERT_FILE' 0 env AWS_CA_BUNDLE="$TMP/authority.crt" SSL_CERT_FILE="$TMP/self.crt" \
    "$BIN/kvreplay" -o r.csv --target "$uri" t.csv
exits 'ca= of no file' 2 replay "$uri&ca=$TMP/none.crt"
stderr_like 'is named, too' '^kvreplay: ca=: cannot read the certificates of .*/none.crt'
exits 'without TLS no file is looked at' 0 env AWS_CA_BUNDLE="$TMP/none.crt" "$BIN/kvreplay" -o r.csv \
    --target "s3://bucket/p?endpoint=http://127.0.0.1:$(cat port)" t.csv
done_testing
