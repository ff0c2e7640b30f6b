#!/usr/bin/env python3
"""s3_hostile.py KVREPLAY FOLDER [NAME] - a server that speaks as much of S3 as kvreplay needs, and in each case gives answers
that no server should. Runs kvreplay with --config timeout=1s against each (or the one of that name) and prints what it took
(hostile.py). FOLDER is for its files, among them wanted: the exit statuses that a case may have.

A case: NAME: (which requests, what is answered instead, exit statuses). Requests are MARKER, NEW-MARKER (a PUT of
it), LIST, and of objects PUT, GET, DELETE, CREATE, PART, COMPLETE, ABORT, VERSIONING, or ANY. A number behind one ("LIST 2")
is the first that goes wrong."""
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import hostile

SECRETS = "hush-hush-secret", "a-token-hush", "KEY-hush"
FLOOD = b"x" * (1 << 16)
ENTRY = "<Contents><Key>p/%s</Key><Size>4096</Size></Contents>"
HASH = "0123456789abcdef" * 2


# ---- answers: functions of the handler ----


def head(status, *lines):
    return ("HTTP/1.1 %d X\r\n" % status + "".join(line + "\r\n" for line in lines)).encode()


def say(status, text, *lines):
    """A whole answer."""
    body = text if isinstance(text, bytes) else text.encode()
    return lambda h: h.write(head(status, "Content-Length: %d" % len(body), *lines) + b"\r\n" + body)


def flood(begin, more=FLOOD):
    """The beginning, then as much as the other side takes."""

    def answer(h):
        h.write(begin)
        while True:
            h.write(more)

    return answer


def drip(begin, more=b" "):
    """The beginning, then a byte from time to time."""

    def answer(h):
        h.write(begin)
        while True:
            time.sleep(0.3)
            h.write(more)

    return answer


def silence(h):
    time.sleep(30)


def close(h):
    h.close_connection = True


def cut(h):
    h.write(head(200, "Content-Length: 1000") + b"\r\nhalf")
    h.close_connection = True


def page(inside, more=False, token=None):
    return "<ListBucketResult>%s<IsTruncated>%s</IsTruncated>%s</ListBucketResult>" % (
        inside,
        "true" if more else "false",
        "<NextContinuationToken>%s</NextContinuationToken>" % token if token is not None else "",
    )


def tokens(inside):
    """A page, and the token for another one, without end."""

    def answer(h):
        h.server.serial += 1
        say(200, page(inside, True, "t%d" % h.server.serial))(h)

    return answer


def echo(status):
    """An error that sends back all that the request told."""
    return lambda h: say(status, "<Error><Code>AccessDenied</Code><Message>you said %s %s %s</Message></Error>"
                         % (h.headers.get("x-amz-security-token"), SECRETS[0], SECRETS[2]))(h)  # fmt: skip


def nothing_deleted(h):
    say(204, "")(h)


def other_contents(h):
    h.server.store.pop(h.name, None)
    say(200, "", "ETag: x")(h)


def slow_upload(h):
    """Takes the body a byte at a time."""
    for _ in range(100):
        h.rfile.read(1)
        time.sleep(0.3)


HTML = say(200, "<!DOCTYPE html><html><body>Welcome</body></html>")
NESTED = "<a>" * 100
CASES = {
    # the listing, on a fresh prefix
    "list: HTML": ("LIST", HTML, "3"),
    "list: well-formed HTML": ("LIST", say(200, "<html><body/></html>"), "3"),
    "list: empty body": ("LIST", say(200, ""), "3"),
    "list: cut XML": ("LIST", say(200, page("")[:40]), "3"),
    "list: connection cut": ("LIST", cut, "3"),
    "list: binary": ("LIST", say(200, bytes(range(256))), "3"),
    "list: NUL bytes": ("LIST", say(200, b"\0" * 1000), "3"),
    "list: nests 100 deep": ("LIST", say(200, page(NESTED)), "3"),
    "list: another root": ("LIST", say(200, "<ListAllMyBucketsResult/>"), "3"),
    "list: an error with 200": ("LIST", say(200, "<Error><Code>InternalError</Code></Error>"), "3"),
    "list: 204 without a body": ("LIST", say(204, ""), "3"),
    "list: two documents": ("LIST", say(200, page("") * 2), "3"),
    "list: nothing said about more": ("LIST", say(200, "<ListBucketResult></ListBucketResult>"), "3"),
    "list: more, and no token": ("LIST", say(200, page("", True)), "3"),
    "list: the token repeats": ("LIST", say(200, page("", True, "t")), "3"),
    "list: empty pages without end": ("LIST", tokens(""), "3"),
    "list: one page again and again": ("LIST", tokens(ENTRY % (HASH + ".kv")), "3"),
    "list: token of 1 MB": ("LIST", say(200, page("", True, "t" * 1000000)), "3"),
    "list: a key of 300 &amp;": ("LIST", say(200, page(ENTRY % ("&amp;" * 300))), "3"),
    "list: a key of 1 MB": ("LIST", say(200, page(ENTRY % ("k" * 1000000))), "3"),
    "list: a key outside of the prefix": ("LIST", say(200, page("<Contents><Key>q/x</Key></Contents>")), "3"),
    "list: a key that steers a terminal": ("LIST", say(200, page(ENTRY % "&#27;]0;x&#7;")), "3"),
    "list: wrong KeyCount": ("LIST", say(200, page(ENTRY % (HASH + ".kv") + "<KeyCount>5</KeyCount>")), "3"),
    "list: encoded keys": ("LIST", say(200, page("<EncodingType>url</EncodingType>")), "3"),
    "list: an entity that is none": ("LIST", say(200, page(ENTRY % "&bomb;")), "3"),
    "list: DOCTYPE with entities": ("LIST", say(200, '<!DOCTYPE a [<!ENTITY b "bbbb">]>' + page("")), "3"),
    "list: body without end": ("LIST", flood(head(200) + b"\r\n<ListBucketResult>", b" " * (1 << 16)), "3"),
    "list: a byte now and then": ("LIST", drip(head(200) + b"\r\n<ListBucketResult>"), "3"),
    "list: length of 10 GB": ("LIST", drip(head(200, "Content-Length: 10000000000") + b"\r\n"), "3"),
    "list: length that is none": ("LIST", say(200, page(""), "Content-Length: -5"), "3"),
    "list: chunk of 2^63": ("LIST", drip(head(200, "Transfer-Encoding: chunked") + b"\r\n7fffffffffffffff\r\n"), "3"),
    "list: redirect to itself": ("LIST", say(307, "", "Location: /"), "3"),
    "list: echo of the keys": ("LIST", echo(403), "3"),
    "list: fails when cleared": ("LIST 2", HTML, "1"),
    # any answer
    "any: silence": ("ANY", silence, "3"),
    "any: closes": ("ANY", close, "3"),
    "any: no HTTP": ("ANY", flood(b"220 mail.example ESMTP\r\n"), "3"),
    "any: status line without end": ("ANY", flood(b"HTTP/1.1 200 "), "3"),
    "any: a status line, slowly": ("ANY", drip(b"HTTP/1.1 200 ", b"O"), "3"),
    "any: header of 1 MB": ("ANY", say(200, "", "X: " + "h" * 1000000), "3"),
    "any: headers without end": ("ANY", flood(head(200), b"X: y\r\n" * 1000), "3"),
    "any: headers, slowly": ("ANY", drip(head(200), b"X: y\r\n"), "3"),
    "any: 1xx without end": ("ANY", flood(b"", head(100) + b"\r\n"), "3"),
    "any: 1xx, slowly": ("ANY", drip(b"", head(103) + b"\r\n"), "3"),
    "any: HTML": ("ANY", HTML, "3"),
    "any: 500 without end": ("ANY", flood(head(500) + b"\r\n"), "3"),
    # the marker
    "marker: 200 to anything": ("MARKER", HTML, "3"),
    "marker: is not there when it is read": ("NEW-MARKER", other_contents, "3"),
    "marker: body without end": ("MARKER", flood(head(200) + b"\r\n"), "3"),
    "marker: answer to a PUT never ends": ("NEW-MARKER", drip(head(200) + b"\r\n"), "3"),
    "marker: upload taken slowly": ("NEW-MARKER", slow_upload, "3"),
    "versioning: HTML": ("VERSIONING", HTML, "0"),
    "versioning: silence": ("VERSIONING", silence, "0"),
    # objects; the first PUT, GET and DELETE of each case try the rights
    "put: 200 and HTML": ("PUT 2", HTML, "1"),
    "put: 200 and an error": ("PUT 2", say(200, "<Error><Code>InternalError</Code></Error>"), "1"),
    "put: echo of the keys": ("PUT 2", echo(403), "1"),
    "put: body without end": ("PUT 2", flood(head(200) + b"\r\n"), "1"),
    "put: error without end": ("PUT 2", flood(head(503) + b"\r\n"), "1"),
    "put: a byte now and then": ("PUT 2", drip(head(200) + b"\r\n"), "1"),
    "put: taken slowly": ("PUT 2", slow_upload, "1"),
    "put: status line without end": ("PUT 2", flood(b"HTTP/1.1 200 "), "1"),
    "put: headers, slowly": ("PUT 2", drip(head(200), b"X: y\r\n"), "1"),
    "put: header of 1 MB": ("PUT 2", say(200, "", "ETag: " + "h" * 1000000), "1"),
    "put: 1xx without end": ("PUT 2", flood(b"", head(100) + b"\r\n"), "1"),
    "get: body without end": ("GET 2", flood(head(200) + b"\r\n"), "1"),
    "get: length of 10 GB": ("GET 2", flood(head(200, "Content-Length: 10000000000") + b"\r\n"), "1"),
    "get: a byte now and then": ("GET 2", drip(head(200, "Content-Length: 8192") + b"\r\n"), "1"),
    "get: headers without end": ("GET 2", flood(head(200), b"X: y\r\n" * 1000), "1"),
    "get: error without end": ("GET 2", flood(head(404) + b"\r\n"), "1"),
    "get: chunks of a byte": ("GET 2", drip(head(200, "Transfer-Encoding: chunked") + b"\r\n", b"1\r\nx\r\n"), "1"),
    "get: redirect": ("GET 2", say(301, "", "Location: http://127.0.0.1:1/"), "1"),
    "get: empty": ("GET 2", say(200, ""), "1"),
    "get: HTML": ("GET 2", HTML, "1"),
    "get: status line without end": ("GET 2", flood(b"HTTP/1.1 200 "), "1"),
    "get: a code that steers a terminal": ("GET 2", say(500, "<Error><Code>&#27;]0;x&#7;</Code></Error>"), "1"),
    "get: a code of 1 MB": ("GET 2", say(500, "<Error><Code>%s</Code></Error>" % ("C" * 1000000)), "1"),
    "get: ranges are not known": ("GET", say(200, "all of it"), "3"),
    "delete: silence": ("DELETE 2", silence, "1"),
    "delete: says yes, and keeps": ("DELETE", nothing_deleted, "1"),
    "delete: denied": ("DELETE", echo(403), "3"),
    "delete: denied at the end": ("DELETE 2", echo(403), "1"),
    # multipart uploads
    "create: HTML": ("CREATE 2", HTML, "1"),
    "create: HTML at the start": ("CREATE", HTML, "3"),
    "create: no name": ("CREATE 2", say(200, "<InitiateMultipartUploadResult/>"), "1"),
    "create: a name of 1 MB": ("CREATE 2", say(200, "<InitiateMultipartUploadResult><UploadId>%s</UploadId>"
                                               "</InitiateMultipartUploadResult>" % ("u" * 1000000)), "1"),
    "create: body without end": ("CREATE 2", flood(head(200) + b"\r\n<InitiateMultipartUploadResult>"), "1"),
    "part: a tag of 1 KB": ("PART", say(200, "", "ETag: " + "t" * 1000), "1"),
    "part: silence": ("PART", silence, "1"),
    "complete: HTML": ("COMPLETE", HTML, "1"),
    "complete: empty": ("COMPLETE", say(200, ""), "1"),
    "complete: an error with 200": ("COMPLETE", say(200, "  <Error><Code>InternalError</Code></Error>"), "1"),
    "complete: blanks without end": ("COMPLETE", drip(head(200) + b"\r\n"), "1"),
    "abort: silence": ("PART ABORT 2", silence, "1"),
}  # fmt: skip


# ---- the server ----


class Gone(Exception):
    pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def write(self, data):
        try:
            self.connection.sendall(data)
        except OSError:
            raise Gone from None

    def kind(self, query):
        if "versioning" in query:
            return "VERSIONING"
        if "uploads" in query:
            return "CREATE"
        if "uploadId" in query:
            return {"PUT": "PART", "POST": "COMPLETE", "DELETE": "ABORT"}[self.command]
        if "/" not in self.name:
            return "LIST"
        if self.name.endswith("/.kvtrace"):
            return {"GET": "MARKER", "PUT": "NEW-MARKER", "DELETE": "OLD-MARKER"}[self.command]
        return self.command

    def wrong(self, kind):
        """Does this request go wrong in this case?"""
        server = self.server
        for word in re.findall(r"[A-Z-]+(?: \d+)?", server.where):
            asked, _, first = word.partition(" ")
            if asked in (kind, "ANY"):
                with server.lock:
                    server.count[asked] = server.count.get(asked, 0) + 1
                    return server.count[asked] >= int(first or 1)
        return False

    def serve(self):
        url = urlsplit(self.path)
        self.name = unquote(url.path.lstrip("/"))
        query = parse_qs(url.query, keep_blank_values=True)
        kind = self.kind(query)
        try:
            if self.wrong(kind):
                self.close_connection = True
                self.server.answer(self)
            else:
                self.well(kind, self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        except (Gone, OSError):
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_DELETE = serve

    def well(self, kind, body):
        store = self.server.store
        if kind == "LIST":
            keys = sorted(k.partition("/")[2] for k in store)
            entries = "".join("<Contents><Key>%s</Key><Size>%d</Size></Contents>" % (k, len(store[self.name + "/" + k])) for k in keys)
            say(200, page(entries))(self)
        elif kind in ("PUT", "NEW-MARKER"):
            if self.headers.get("If-None-Match") and self.name in store:
                say(412, "<Error><Code>PreconditionFailed</Code></Error>")(self)
                return
            store[self.name] = body
            say(200, "", 'ETag: "x"')(self)
        elif kind in ("GET", "MARKER"):
            data = store.get(self.name)
            span = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            if data is None:
                say(404, "<Error><Code>NoSuchKey</Code></Error>")(self)
            elif span:
                part = data[int(span[1]) : int(span[2]) + 1]
                say(206, part, "Content-Range: bytes %s-%s/%d" % (span[1], span[2], len(data)))(self)
            else:
                say(200, data, 'ETag: "x"')(self)
        elif kind in ("DELETE", "OLD-MARKER"):
            store.pop(self.name, None)
            say(204, "")(self)
        elif kind == "VERSIONING":
            say(200, "<VersioningConfiguration/>")(self)
        elif kind == "CREATE":
            say(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")(self)
        elif kind == "PART":
            say(200, "", 'ETag: "x"')(self)
        elif kind == "COMPLETE":
            store[self.name] = b"whole"
            say(200, "<CompleteMultipartUploadResult/>")(self)
        else:
            say(204, "")(self)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, where, answer):
        self.where, self.answer = where, answer
        self.store, self.count, self.serial, self.lock = {}, {}, 0, threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    def handle_error(self, request, client_address):
        pass


ROWS = """Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
0.0,Write,8192,Tier-2,a,Prefill
0.1,Read,8192,Tier-2,a,Decode
0.2,Write,%d,Tier-2,b,Prefill
"""


def holds_secret(text):
    return any(secret in text for secret in SECRETS)


def statuses(result):
    with open(result) as f:
        rows = [line.rstrip("\n").split(",") for line in f if not line.startswith("#")]
    at = rows[0].index("Status")
    return "rows: " + " ".join(row[at] for row in rows[1:])


def told(found, files):
    """What a run took, with the statuses of rows that failed, and as -1 if it tells a secret."""
    status, seconds, mib, text = found
    if status == 1 and not text.startswith("kvreplay: "):
        text = statuses(files[0])
    for name in files:
        if os.path.exists(name):
            with open(name, errors="replace") as f:
                text += " TELLS A SECRET" if holds_secret(f.read()) else ""
    return -1 if holds_secret(text) or "TELLS A SECRET" in text else status, seconds, mib, text


def main():
    program, folder = sys.argv[1:3]
    with open(os.path.join(folder, "hostile.csv"), "w") as f:
        f.write(ROWS % 4096)
    with open(os.path.join(folder, "parts.csv"), "w") as f:
        f.write(ROWS % 5300000)
    cases = [(name, (name,) + CASES[name]) for name in CASES if len(sys.argv) < 4 or sys.argv[3] == name]
    with open(os.path.join(folder, "wanted"), "w") as f:
        f.write("".join("%s|%s\n" % (name, what[3]) for name, what in cases))

    def one(what):
        name, where, answer, _ = what
        server = Server(where, answer)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        parts = re.match("CREATE|PART|COMPLETE", where)
        result = os.path.join(folder, re.sub("[^a-z0-9]", "_", name) + ".csv")
        env = {"AWS_ACCESS_KEY_ID": SECRETS[2], "AWS_SECRET_ACCESS_KEY": SECRETS[0], "AWS_SESSION_TOKEN": SECRETS[1]}
        try:
            found = hostile.measured(
                [program, "--no-notes", "--progress", "none", "--order", "key", "--on-absent", "skip", "--config", "timeout=1s", "-o", result, "--summary", result + ".json", "--target",
                 "s3://bucket/p?endpoint=http://127.0.0.1:%d%s" % (server.server_port, "&part=5MiB" if parts else ""),
                 os.path.join(folder, "parts.csv" if parts else "hostile.csv")], 30, env)  # fmt: skip
        finally:
            server.shutdown()
            server.server_close()
        return told(found, [result, result + ".json"])

    hostile.run(cases, one)


main()
