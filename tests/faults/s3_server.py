#!/usr/bin/env python3
"""s3_server.py PORT_FILE - a small object store in memory for the tests of S3 targets, with faults on demand.

It knows PUT (If-None-Match, If-Match), GET (ranges), DELETE and listings of three names a page, for any bucket, and wants
a signature without checking it. PUT /-/VERB/KIND/COUNT makes the next COUNT requests with VERB for an object ("*.kv")
go wrong: slow (five seconds), cut (half of the body), flip (a bit), short (a whole answer of half), die (no answer),
500 (no body), 503 (SlowDown). GET /-/keys lists all names; PUT /-/data/NAME changes an object without a signature."""
import hashlib
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

store = {}
faults = {}
lock = threading.Lock()


def etag(data):
    return '"%s"' % hashlib.md5(data).hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status, code):
        self.answer(status, b"<?xml version='1.0'?><Error><Code>%s</Code><Message>no</Message></Error>" % code.encode())

    def fault(self, name):
        with lock:
            kind, left = faults.get(self.command, (None, 0))
            if not name.endswith(".kv") or left == 0:
                return None
            faults[self.command] = (kind, left - 1)
        if kind == "slow":
            time.sleep(5)
        return kind

    def refused_by_fault(self, kind):
        if kind == "die":
            self.close_connection = True
        elif kind == "500":
            self.answer(500)
        elif kind == "503":
            self.refuse(503, "SlowDown")
        else:
            return False
        return True

    def admin(self, body):
        part = self.path.split("/")
        if part[2] == "keys":
            self.answer(200, "".join(k + "\n" for k in sorted(store)).encode())
            return
        with lock:
            if part[2] == "data":
                store["/".join(part[3:])] = body
            else:
                faults[part[2]] = (part[3], int(part[4]))
        self.answer(200)

    def serve(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/-/"):
            self.admin(body)
            return
        if not (self.headers.get("Authorization") or "").startswith("AWS4-HMAC-SHA256 Credential=KEY/"):
            self.refuse(403, "AccessDenied")
            return
        url = urlsplit(self.path)
        name = unquote(url.path.lstrip("/"))
        if "/" not in name:
            self.listing(name, parse_qs(url.query))
            return
        kind = self.fault(name)
        if self.refused_by_fault(kind):
            return
        getattr(self, "on_" + self.command)(name, body, kind)

    do_GET = do_PUT = do_DELETE = serve

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
            text += "<Contents><Key>%s</Key></Contents>" % k[len(bucket) + 1 :]
        if len(names) > 3:
            text += "<NextContinuationToken>%s</NextContinuationToken>" % page[-1]
        self.answer(200, (text + "</ListBucketResult>").encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(sys.argv[1] + ".new", "w") as f:
    f.write("%d\n" % server.server_port)

os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
