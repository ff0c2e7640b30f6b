#!/usr/bin/env python3
"""s3_server.py PORT_FILE [DOORS] - a small object store in memory for the tests of S3 targets, with faults on demand.
PORT_FILE gets a line for each of its ports, which all lead to the same objects. With S3_SERVER_TLS it speaks TLS, with
the certificate and key of that file.

It knows PUT (If-None-Match, If-Match), GET (ranges), DELETE, multipart uploads and listings of three names a page, for
any bucket, and checks the signature of each request as it came (sigv4.py; keys below). The host BUCKET.localhost is a bucket, too.

The test commands it by words in the pipe PORT_FILE.ask, a line each, and reads what it says to that from PORT_FILE.answer: a line
"done" and what it prints, or a line "wrong" and why. "admin" of tests/remote.sh does both.
keys                       lists all names; uploads: what is unfinished; kinds: which kinds of requests were signed well so far
get NAME                   an object; put NAME FILE, copy NAME NEW, delete NAME change them
door N, door N open        closes port number N, from 0 on, with its connections; opens it again
region NAME                the region that it wants
denied [VERB,VERB]         denies these to everybody, LIST among them; hung: leaves them without an answer, until others are named
versioning STATE           of its buckets
clock SECONDS              sets the clock wrong
fault VERB KIND COUNT      makes the next COUNT requests with VERB for an object ("*.kv", but the one that a run tries its rights
                           with) go wrong. VERB is PUT, GET, DELETE, or of an upload CREATE, PART, COMPLETE, ABORT. KIND is
    slow (no answer after five seconds), late (half a second), cut (half of the body), flip (a bit), trickle (64 KiB at a time,
    25 times a second), code=HTTP:CODE (refused so, with words; without a CODE by a page of HTML; of HTTP 3xx with the Location
    http://elsewhere.example:9), short (a whole answer of half), die (no answer), 500 (no body), 503 (SlowDown), 403 (a wrong
    signature), 200 (and an error as body), untagged (no ETag), pair (500 unless another one is there at the same time)."""
import functools
import hashlib
import io
import os
import re
import socket
import ssl
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import sigv4

KEYS = {"KEY": ("hush-hush", None), "SESSION": ("hush-hush", "a/token+of==")}
VERBS = set("PUT GET DELETE CREATE PART COMPLETE ABORT".split())
FAULTS = set("slow late cut flip trickle short die 500 503 403 200 untagged pair".split())
PROBE = 32 * "0" + ".kv"  # by which a run tries its rights
store = {}
denied = set()  # verbs
hung = set()
versioning = ""
kinds = set()
region = None
faults = {}
uploads = {}  # its name: (object, {number: data})
serial = 0
skew = 0  # of the clock, in seconds
pair = threading.Barrier(2)
lock = threading.Lock()


@functools.lru_cache(maxsize=4)  # of an object that is read in ranges: once
def etag(data):
    return '"%s"' % hashlib.md5(data).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def setup(self):
        super().setup()
        self.server.open.add(self.connection)

    def finish(self):
        self.server.open.discard(self.connection)
        super().finish()

    def parse_request(self):
        """Keeps the head as it came, in self.head."""
        line = None
        self.head = self.raw_requestline
        head = b""
        while line not in (b"\r\n", b"\n", b""):
            line = self.rfile.readline(65537)
            head += line
        self.head += head
        came, self.rfile = self.rfile, io.BytesIO(head)
        try:
            return super().parse_request()
        finally:
            self.rfile = came

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code, message="no"):
        self.answer(
            status,
            b"<?xml version='1.0'?><Error><Code>%s</Code><Message>%s</Message></Error>" % (code.encode(), message.encode()),
        )

    def verb(self, query):
        if "uploads" in query:
            return "CREATE"
        if "uploadId" in query:
            return {"PUT": "PART", "POST": "COMPLETE", "DELETE": "ABORT"}[self.command]
        return self.command

    def ways(self, query):
        """What else is signed in the request."""
        names = "If-None-Match If-Match Range".split()
        found = ["with " + name for name in names if name in self.headers]
        found += ["as XML"] if self.headers.get("Content-Type") == "application/xml" else []
        found += ["with continuation-token"] if "continuation-token" in query else []
        found += ["with a session token"] if "x-amz-security-token" in self.headers else []
        host = (self.headers.get("Host") or "").split(":")[0]
        return found + (["to the host of the bucket"] if host.endswith(".localhost") else [])

    def fault(self, name, verb):
        with lock:
            kind, left = faults.get(verb, (None, 0))
            if not name.endswith(".kv") or name.endswith(PROBE) or left == 0:
                return None
            faults[verb] = (kind, left - 1)
        if kind == "late":
            time.sleep(0.5)
        if kind == "slow":
            time.sleep(5)
            return "die"
        if kind == "pair":
            try:
                pair.wait(5)
            except threading.BrokenBarrierError:
                return "500"
        return kind

    def refused_by_fault(self, kind):
        if kind == "die":
            self.close_connection = True
        elif kind == "500":
            self.answer(500)
        elif kind == "503":
            self.refuse(503, "SlowDown")
        elif kind == "403":
            self.refuse(403, "SignatureDoesNotMatch")
        elif kind and kind.startswith("code="):
            http, _, code = kind[5:].partition(":")
            text = "<Error><Code>%s</Code><Message>the words of %s</Message></Error>" % (code, code)
            self.answer(
                int(http),
                text.encode() if code else b"<html>no</html>",
                [("Location", "http://elsewhere.example:9" + self.path)] if http[0] == "3" else [],
            )
        elif kind == "200":
            self.refuse(200, "InternalError")
        else:
            return False
        return True

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + skew)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        refusal = sigv4.refusal(self.head, body, KEYS, region, time.time() + skew)
        if refusal:
            self.refuse(*refusal)
            return
        url = urlsplit(self.path)
        name = unquote(url.path.lstrip("/"))
        host = (self.headers.get("Host") or "").split(":")[0]
        if host.endswith(".localhost"):  # the bucket is in the name of the host
            name = "/".join(filter(None, (host[: -len(".localhost")], name)))
        query = parse_qs(url.query, keep_blank_values=True)
        listing = "/" not in name
        verb = "VERSIONING" if "versioning" in query else "LIST" if listing else self.verb(query)
        kinds.add(" ".join([verb, "of a marker" if name.endswith("/.kvtrace") else ""] + self.ways(query)).replace("  ", " ").strip())
        while verb in hung:
            kinds.add("hung " + verb)
            time.sleep(0.05)
        if verb in denied:
            self.refuse(403, "AccessDenied", "Access Denied")
            return
        if verb == "VERSIONING":
            state = "<Status>%s</Status>" % versioning if versioning else ""
            self.answer(200, ("<VersioningConfiguration>%s</VersioningConfiguration>" % state).encode())
            return
        if listing:
            self.listing(name, query)
            return
        kind = self.fault(name, verb)
        if self.refused_by_fault(kind):
            return
        if verb == self.command:
            getattr(self, "on_" + verb)(name, body, kind)
            return
        with lock:
            self.upload(verb, name, body, query, kind)

    do_GET = do_PUT = do_POST = do_DELETE = serve

    def upload(self, verb, name, body, query, kind):
        global serial
        if verb == "CREATE":
            serial += 1
            known = "up/%d+=" % serial  # with what has to be escaped
            uploads[known] = (name, {})
            self.answer(
                200,
                b"<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>"
                % known.encode(),
            )
            return
        known = query["uploadId"][0]
        if known not in uploads or uploads[known][0] != name:
            self.refuse(404, "NoSuchUpload")
            return
        parts = uploads[known][1]
        if verb == "PART":
            if kind == "flip":
                body = body[:5000] + bytes([body[5000] ^ 1]) + body[5001:]
            parts[int(query["partNumber"][0])] = body
            self.answer(200, b"", [] if kind == "untagged" else [("ETag", etag(body))])
        elif verb == "ABORT":
            del uploads[known]
            self.answer(204)
        else:
            self.complete(known, parts, body.decode())

    def complete(self, known, parts, text):
        asked = re.findall(r"<Part><PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag></Part>", text)
        numbers = [int(n) for n, tag in asked]
        if numbers != sorted(numbers) or not numbers:
            self.refuse(400, "InvalidPartOrder")
        elif any(n not in parts or etag(parts[n]) != tag for n, tag in zip(numbers, (tag for _, tag in asked))):
            self.refuse(400, "InvalidPart")
        elif any(len(parts[n]) < 5 << 20 for n in numbers[:-1]):
            self.refuse(400, "EntityTooSmall")
        else:
            store[uploads.pop(known)[0]] = b"".join(parts[n] for n in numbers)
            self.answer(200, b"<CompleteMultipartUploadResult></CompleteMultipartUploadResult>")

    def on_PUT(self, name, body, kind):
        with lock:
            old = store.get(name)
            match = self.headers.get("If-Match")
            if (self.headers.get("If-None-Match") == "*" and old is not None) or (
                match and (old is None or match != etag(old))
            ):
                refused = True
            else:
                refused = False
                if kind == "flip":
                    body = body[:5000] + bytes([body[5000] ^ 1]) + body[5001:]
                store[name] = body
        if refused:
            self.refuse(412, "PreconditionFailed")
        else:
            self.answer(200, b"", [("ETag", etag(body))])

    def on_GET(self, name, body, kind):
        data = store.get(name)
        if data is None:
            self.refuse(404, "NoSuchKey")
            return
        headers, status = [("ETag", etag(data))], 200
        span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if span:
            first, last = int(span[1]), min(int(span[2]), len(data) - 1)
            headers.append(("Content-Range", "bytes %d-%d/%d" % (first, last, len(data))))
            data, status = data[first : last + 1], 206
        if kind == "flip":
            data = data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]
        if kind == "trickle":
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            for at in range(0, len(data), 65536):
                self.wfile.write(data[at : at + 65536])
                time.sleep(0.04)
            return
        if kind == "short":
            data = data[: len(data) // 2]
        if kind == "cut":
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True
            return
        self.answer(status, data, headers)

    def on_DELETE(self, name, body, kind):
        with lock:
            store.pop(name, None)
        self.answer(204)

    def listing(self, bucket, query):
        prefix = bucket + "/" + query.get("prefix", [""])[0]
        after = query.get("continuation-token", [""])[0]
        names = sorted(k for k in store if k.startswith(prefix) and k > after)
        page = names[:3]
        text = "<ListBucketResult><IsTruncated>%s</IsTruncated>" % ("true" if len(names) > 3 else "false")
        for k in page:
            text += "<Contents><Key>%s</Key><Size>%d</Size></Contents>" % (k[len(bucket) + 1 :], len(store[k]))
        if len(names) > 3:
            text += "<NextContinuationToken>%s</NextContinuationToken>" % page[-1]
        self.answer(200, (text + "</ListBucketResult>").encode())


def serve(door):
    try:
        door.serve_forever()
    except (OSError, ValueError):
        pass  # its port was closed


def start(door):
    threading.Thread(target=serve, args=(door,)).start()


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def __init__(self, port=0):
        self.open = set()  # connections
        super().__init__((os.environ.get("S3_SERVER_ADDRESS", "127.0.0.1"), port), Handler)
        if "S3_SERVER_TLS" in os.environ:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.environ["S3_SERVER_TLS"])
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def get_request(self):
        if self.socket.fileno() < 0:
            raise ValueError("its port was closed")  # OSError would have it asked again, at once, for ever
        return super().get_request()

    def handle_error(self, request, client_address):
        pass  # the client has gone

    def die(self):
        """Closes the port and all connections."""
        self.socket.close()
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


# ---- what the test says ----


def named(words):
    """The verbs of a list, or none."""
    verbs = set(words[0].split(",") if words else ())
    if not verbs <= VERBS | {"LIST", "VERSIONING"}:
        raise ValueError("no such verb")
    return verbs


def command(verb, *words):
    global skew, region, versioning, denied, hung
    if verb == "keys":
        return "".join(name + "\n" for name in sorted(store)).encode()
    if verb == "uploads":
        return "".join("%s %s\n" % (known, uploads[known][0]) for known in sorted(uploads)).encode()
    if verb == "kinds":
        return "".join(kind + "\n" for kind in sorted(kinds)).encode()
    if verb == "get":
        return store[words[0]]
    with lock:
        if verb == "put":
            with open(words[1], "rb") as f:
                store[words[0]] = f.read()
        elif verb == "copy":
            store[words[1]] = store[words[0]]
        elif verb == "delete":
            del store[words[0]]
        elif verb == "clock":
            skew = int(words[0])
        elif verb == "region":
            region = words[0]
        elif verb == "denied":
            denied = named(words)
        elif verb == "hung":
            hung = named(words)
        elif verb == "versioning":
            versioning = words[0]
        elif verb == "door" and words[1:] == ("open",):
            doors[int(words[0])].shutdown()
            doors[int(words[0])] = Server(doors[int(words[0])].server_port)
            start(doors[int(words[0])])
        elif verb == "door" and len(words) == 1:
            doors[int(words[0])].die()
        elif verb == "fault":
            wrong, kind, count = words
            if wrong not in VERBS or not (kind in FAULTS or kind.startswith("code=")):
                raise ValueError("no such fault")
            faults[wrong] = (kind, int(count))
        else:
            raise ValueError("no such command")
    return b""


def listen(ask, answer):
    """Words from one pipe, what comes of them into the other, and so on."""
    while True:
        with open(ask) as f:
            words = f.read().split("\n")[:-1]
        if not words:
            continue  # who asked was interrupted
        try:
            said = b"done\n" + command(*words)
        except Exception as problem:
            said = ("wrong\n%s: %r\n" % (" ".join(words), problem)).encode()
        try:
            with open(answer, "wb") as f:
                f.write(said)
        except OSError:
            pass  # nobody wanted all of it


doors = [Server() for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 1)]
for door in doors:
    start(door)
pipes = sys.argv[1] + ".ask", sys.argv[1] + ".answer"
for pipe in pipes:
    if not os.path.exists(pipe):
        os.mkfifo(pipe)
with open(sys.argv[1] + ".new", "w") as f:
    f.write("".join("%d\n" % door.server_port for door in doors))
os.rename(sys.argv[1] + ".new", sys.argv[1])
listen(*pipes)
