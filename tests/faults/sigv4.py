#!/usr/bin/env python3
"""sigv4.py - checks the signature of a request to an object store (AWS Signature Version 4) from the bytes that came, as strict
as the strictest server that is known: the headers that are said to be signed have to be there, but a signed "expect" has the
value 100-continue whatever came (MinIO); host and all x-amz-* headers are signed; x-amz-content-sha256 is given
(versitygw); the query is signed in the order of its names, not in that in which it came.

Used by s3_server.py. Run alone it tests itself: with the examples that Amazon publishes, which are right, and with each of them
changed in one place, which is wrong. Sources: Amazon S3 API Reference, "Authenticating Requests: Using the Authorization
Header", with its examples; "Task 1: Create a canonical request"."""
import hashlib
import hmac
import re
import sys
import time
from calendar import timegm
from urllib.parse import quote, unquote_to_bytes

SKEW_S = 900
ALGORITHM = "AWS4-HMAC-SHA256"


def encoded(data, safe=""):
    """Of bytes, as signatures have them: all but letters, digits and -._~ as %XX."""
    return quote(data, safe="-._~" + safe)


def query_of(text):
    """The canonical query: names and values in one form, in the order of the names. A plus is a blank, as MinIO has it."""
    pairs = []
    for part in text.replace("+", " ").split("&") if text else []:
        name, _, value = part.partition("=")
        pairs.append((encoded(unquote_to_bytes(name)), encoded(unquote_to_bytes(value))))
    return "&".join("%s=%s" % pair for pair in sorted(pairs))


class Request:
    """head: the request line and the headers as they came, with the empty line."""

    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.method, target, _ = lines[0].split(" ")
        self.path, _, self.query = re.sub("^http://[^/]*", "", target).partition("?")  # a proxy gets the whole address
        self.headers = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                self.headers.setdefault(name.lower(), []).append(" ".join(value.split()))

    def value(self, name):
        return ",".join(self.headers.get(name, []))

    def canonical(self, signed):
        values = {name: self.value(name) for name in signed}
        if "expect" in values:
            values["expect"] = "100-continue"
        return "\n".join(
            [
                self.method,
                encoded(unquote_to_bytes(self.path), "/"),
                query_of(self.query),
                "".join("%s:%s\n" % (name, values[name]) for name in signed),
                ";".join(signed),
                self.value("x-amz-content-sha256"),
            ]
        )


def sign(secret, scope, text):
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


FORM = re.compile(
    ALGORITHM + r" *Credential=([^/,]+)/(\d{8}/[^/,]+/s3/aws4_request), *SignedHeaders=([a-z0-9;-]+), *Signature=([0-9a-f]{64})"
)


def refusal(head, body, keys, region=None, now=None):
    """None, or (status, code, message) of the answer to a request that is not signed well. keys: {id: (secret, session token
    or None)}; body: None where it is not known yet; region: the server's, None: any; now: the time of its clock."""
    r = Request(head)
    form = FORM.fullmatch(r.value("authorization"))
    if not form:
        return 403, "AccessDenied", "no signature"
    identity, scope, signed, signature = form[1], form[2], form[3].split(";"), form[4]
    date = r.value("x-amz-date")
    if identity not in keys:
        return 403, "InvalidAccessKeyId", "no such key"
    if not re.fullmatch(r"\d{8}T\d{6}Z", date) or scope[:8] != date[:8]:
        return 403, "AccessDenied", "x-amz-date is none, or of another day than the scope"
    if abs(timegm(time.strptime(date, "%Y%m%dT%H%M%SZ")) - (time.time() if now is None else now)) > SKEW_S:
        return 403, "RequestTimeTooSkewed", "the clocks differ"
    if region and scope.split("/")[1] != region:
        return 400, "AuthorizationHeaderMalformed", "the region is wrong; expecting '%s'" % region
    if signed != sorted(set(signed)):
        return 403, "SignatureDoesNotMatch", "SignedHeaders is not in order"
    for name in ["host"] + [name for name in r.headers if name.startswith("x-amz-")]:
        if name not in signed:
            return 403, "AccessDenied", "%s is not signed" % name
    for name in signed:
        if name not in r.headers and name != "expect":
            return 403, "AccessDenied", "%s is signed, and did not come" % name
    stated = r.value("x-amz-content-sha256")
    if not stated:
        return 400, "InvalidRequest", "x-amz-content-sha256 is missing"
    if stated != "UNSIGNED-PAYLOAD" and body is not None and stated != hashlib.sha256(body).hexdigest():
        return 400, "XAmzContentSHA256Mismatch", "the contents have another sum"
    secret, token = keys[identity]
    if r.value("x-amz-security-token") != (token or ""):
        return 403, "InvalidToken", "the session token is wrong or missing"
    text = "\n".join([ALGORITHM, date, scope, hashlib.sha256(r.canonical(signed).encode()).hexdigest()])
    if not hmac.compare_digest(sign(secret, scope, text), signature):
        return 403, "SignatureDoesNotMatch", "over: %s" % ";".join(signed)
    return None


# ---- the test of itself ----

EMPTY = hashlib.sha256(b"").hexdigest()
KEYS = {"AKIAIOSFODNN7EXAMPLE": ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None)}
PUT_BODY = b"Welcome to Amazon S3."
# Name, request line, headers but host, date and authorization, signed headers, signature.
EXAMPLES = [
    ("GET object", "GET /test.txt", ["Range: bytes=0-9", "x-amz-content-sha256: " + EMPTY], "host;range;x-amz-content-sha256;x-amz-date",
     "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
    ("PUT object", "PUT /test%24file.text",
     ["Date: Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class: REDUCED_REDUNDANCY",
      "x-amz-content-sha256: " + hashlib.sha256(PUT_BODY).hexdigest()],
     "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"),
    ("GET bucket lifecycle", "GET /?lifecycle", ["x-amz-content-sha256: " + EMPTY], "host;x-amz-content-sha256;x-amz-date",
     "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
    ("GET bucket", "GET /?max-keys=2&prefix=J", ["x-amz-content-sha256: " + EMPTY], "host;x-amz-content-sha256;x-amz-date",
     "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
]  # fmt: skip


def example(line, headers, signed, signature):
    return "\r\n".join(
        [line + " HTTP/1.1", "Host: examplebucket.s3.amazonaws.com", "x-amz-date: 20130524T000000Z"]
        + headers
        + [
            "Authorization: %s Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=%s,Signature=%s"
            % (ALGORITHM, signed, signature),
            "",
            "",
        ]
    ).encode()


def test():
    wrong = []
    then = timegm((2013, 5, 24, 0, 0, 0))

    def expect(name, code, head, **more):
        body = more.pop("body", PUT_BODY if head.startswith(b"PUT") else b"")
        found = refusal(head, body, more.pop("keys", KEYS), now=more.pop("now", then), **more)
        if (found and found[1]) != code:
            wrong.append("%s: %s, expected %s" % (name, found, code))

    for name, line, headers, signed, signature in EXAMPLES:
        head = example(line, headers, signed, signature)
        mismatch = "SignatureDoesNotMatch"
        expect(name, None, head)
        expect(name + ", another path", mismatch, head.replace(b" /", b" /x", 1))
        expect(name + ", another verb", mismatch, b"X" + head, body=PUT_BODY if line.startswith("PUT") else b"")
        digit = b"1" if signature.endswith("0") else b"0"
        expect(name + ", a digit of the signature", mismatch, head.replace(signature.encode(), signature[:-1].encode() + digit))
        expect(name + ", another host", mismatch, head.replace(b"examplebucket", b"otherbucket"))
        expect(name + ", another secret", mismatch, head, keys={"AKIAIOSFODNN7EXAMPLE": ("x", None)})
        expect(name + ", another key", "InvalidAccessKeyId", head, keys={"KEY": ("x", None)})
        expect(name + ", no session token", "InvalidToken", head, keys={k: (v[0], "t") for k, v in KEYS.items()})
        expect(name + ", late", "RequestTimeTooSkewed", head, now=then + 1000)
        expect(name + ", another region", "AuthorizationHeaderMalformed", head, region="eu-1")
        expect(name + ", no signature", "AccessDenied", re.sub(rb"Authorization: .*\r\n", b"", head))
        expect(name + ", a header more", "AccessDenied", head.replace(b"Host:", b"x-amz-acl: x\r\nHost:"))
        expect(name + ", a header that did not come", "AccessDenied", head.replace(b"=host", b"=accept;host").replace(b"=date;", b"=accept;date;"))
        expect(name + ", a header that was removed", mismatch, head.replace(b"=host", b"=expect;host").replace(b"=date;", b"=date;expect;"))
        expect(name + ", other contents", "XAmzContentSHA256Mismatch", head, body=b"x")
        expect(name + ", no sum", "AccessDenied", re.sub(rb"x-amz-content-sha256: .*\r\n", b"", head))
    expect("a query out of order", None, example(*EXAMPLES[3][1:]).replace(b"max-keys=2&prefix=J", b"prefix=J&max-keys=2"))
    expect("another query", "SignatureDoesNotMatch", example(*EXAMPLES[3][1:]).replace(b"prefix=J", b"prefix=K"))
    # What a libcurl that keeps the query as it stands signs: the names are not in order.
    r = Request(b"GET /b?uploadId=x&partNumber=1 HTTP/1.1\r\nHost: h\r\n\r\n")
    if query_of(r.query) != "partNumber=1&uploadId=x" or query_of("uploads") != "uploads=" or query_of("p=a/b+c%2b") != "p=a%2Fb%20c%2B":
        wrong.append("the canonical query")
    print("\n".join(wrong) or "ok: %d examples" % len(EXAMPLES))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(test())
