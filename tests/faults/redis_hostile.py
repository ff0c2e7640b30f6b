#!/usr/bin/env python3
"""redis_hostile.py KVREPLAY FOLDER [NAME] - a server that speaks as much of Redis as kvreplay needs, and in each case gives one
answer that no server should. Runs kvreplay with --config timeout=1s against each (or the one of that name) and prints what it took
(hostile.py). FOLDER is for its files."""
import os
import re
import socket
import sys
import threading
import time

import hostile

HASH = "0123456789abcdef" * 2
NAME = ("kvtrace:" + HASH).encode()
FLOOD = 1 << 16
END = b"\r\n"


def text(data):
    return b"$%d\r\n%s\r\n" % (len(data), data)


def array(*items):
    return b"*%d\r\n" % len(items) + b"".join(items)


def number(n):
    return b":%d\r\n" % n


def scanned(cursor, *names):
    return array(text(cursor), array(*names))


# ---- answers: functions of (connection, command, how often it was given) ----


def say(data):
    return lambda peer, words, count: peer.sendall(data)


def flood(head, more=b"x" * FLOOD):
    """The head, then as much as the other side takes."""

    def answer(peer, words, count):
        peer.sendall(head)
        while True:
            peer.sendall(more)

    return answer


def drip(data):
    """A byte a second."""

    def answer(peer, words, count):
        for at in range(len(data)):
            peer.sendall(data[at:at + 1])
            time.sleep(1)

    return answer


def silence(peer, words, count):
    time.sleep(30)


def close(peer, words, count):
    peer.shutdown(socket.SHUT_RDWR)


def counting(*names):
    """A listing whose cursor goes on and on."""
    return lambda peer, words, count: peer.sendall(scanned(b"%d" % (count + 1), *names))


def newer(peer, words, count):
    """One whose names are new each time: of objects, without end."""
    name = b"kvtrace:%032x" % (count % 5000)
    peer.sendall(scanned(b"%d" % (count % 977 + 1), text(name)))


def with_more(data):
    """What was asked for, and behind it what nobody asked for."""
    return lambda peer, words, count: peer.sendall(data)


# ---- cases: name, command, which of its answers (from 0 on; None: all), answer, kvreplay's exit statuses ----

READ = 300000 // 4096 * 4096 + 4096
OPENING = [
    ("SELECT: a status without end", "SELECT", 0, flood(b"+"), "3"),
    ("SELECT: an error without end", "SELECT", 0, flood(b"-ERR "), "3"),
    ("SELECT: a number without end", "SELECT", 0, flood(b":", b"1" * FLOOD), "3"),
    ("SELECT: a byte a second", "SELECT", 0, drip(b"+" + b"O" * 60), "3"),
    ("SELECT: nothing", "SELECT", 0, silence, "3"),
    ("SELECT: the connection is closed", "SELECT", 0, close, "3"),
    ("SELECT: an array of 2^31-1", "SELECT", 0, flood(b"*2147483647\r\n", b":1\r\n" * 1000), "3"),
    ("SELECT: an array of statuses", "SELECT", 0, say(array(b"+OK\r\n")), "3"),
    ("SELECT: another status", "SELECT", 0, say(b"+QUEUED\r\n"), "3"),
    ("SELECT: a value of 10 GB", "SELECT", 0, flood(b"$10000000000\r\n"), "3"),
    ("SELECT: arrays in arrays", "SELECT", 0, flood(b"*1\r\n" * 100000, b"*1\r\n" * 1000), "3"),
    ("SELECT: not Redis", "SELECT", 0, say(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "3"),
    ("SELECT: LOADING", "SELECT", 0, say(b"-LOADING Redis is loading the dataset in memory\r\n"), "3"),
    ("INFO: a value of 1 GB", "INFO", 0, flood(b"$1073741824\r\n"), "3"),
    ("INFO: a map of RESP3", "INFO", 0, say(b"%1\r\n+a\r\n+b\r\n"), "3"),
    ("INFO: an integer", "INFO", None, say(b":7\r\n"), "0"),
    ("INFO: a cluster", "INFO", 0, say(text(b"# Cluster\r\ncluster_enabled:1\r\n")), "3"),
    ("GET: an integer", "GET", 0, say(b":7\r\n"), "3"),
    ("GET: MOVED", "GET", 0, say(b"-MOVED 866 10.0.0.1:6379\r\n"), "3"),
    ("GET: a marker of 100 MB", "GET", 1, flood(b"$104857600\r\n"), "3"),
    ("GET: a marker with a NUL", "GET", 1, say(text(b"kvtrace kept\0more")), "3"),
    ("GET: a marker of 2,000 bytes", "GET", 1, say(text(b"kvtrace kept\n" * 160)), "3"),
    ("SET: stores what it should not", "SET", 0, say(b"+OK\r\n"), "3"),
    ("SET: READONLY", "SET", 0, say(b"-READONLY You can't write against a read only replica.\r\n"), "3"),
    ("SET: MISCONF", "SET", 0, say(b"-MISCONF Errors writing to the AOF file\r\n"), "3"),
    ("SET: NOPERM", "SET", 0, say(b"-NOPERM this user has no permissions to run the 'set' command\r\n"), "3"),
    ("UNLINK: NOPERM", "UNLINK", 0, say(b"-NOPERM this user has no permissions to run the 'unlink' command\r\n"), "3"),
    ("TIME: of nil", "TIME", 1, say(array(b"$-1\r\n", b"$-1\r\n")), "3"),
    ("TIME: before 1970", "TIME", 1, say(array(text(b"-5"), text(b"0"))), "3"),
    ("TIME: 2^64", "TIME", 1, say(array(text(b"18446744073709551616"), text(b"0"))), "3"),
    ("TIME: nothing in it", "TIME", 1, say(b"*0\r\n"), "3"),
    ("EVAL: nil", "EVAL", 0, say(b"$-1\r\n"), "3"),
    ("SCAN: nil as a name", "SCAN", 1, say(scanned(b"0", b"$-1\r\n")), "3"),
    ("SCAN: an integer as a name", "SCAN", 1, say(scanned(b"0", b":1\r\n")), "3"),
    ("SCAN: an array as a name", "SCAN", 1, say(scanned(b"0", array(text(b"a")))), "3"),
    ("SCAN: an integer as cursor", "SCAN", 1, say(array(b":0\r\n", b"*0\r\n")), "3"),
    ("SCAN: nil as cursor", "SCAN", 1, say(array(b"$-1\r\n", b"*0\r\n")), "3"),
    ("SCAN: a cursor of 2^64", "SCAN", 1, say(scanned(b"18446744073709551616")), "3"),
    ("SCAN: a cursor of 1,000 digits", "SCAN", 1, say(scanned(b"9" * 1000)), "3"),
    ("SCAN: nil in place of names", "SCAN", 1, say(array(text(b"0"), b"*-1\r\n")), "3"),
    ("SCAN: a text in place of names", "SCAN", 1, say(array(text(b"0"), text(b"a"))), "3"),
    ("SCAN: a cursor alone", "SCAN", 1, say(array(text(b"0"))), "3"),
    ("SCAN: 2^31-1 names", "SCAN", 1, flood(array(text(b"0"))[:0] + b"*2\r\n$1\r\n0\r\n*2147483647\r\n", text(b"a") * 1000), "3"),
    ("SCAN: a name of 1 GB", "SCAN", 1, flood(b"*2\r\n$1\r\n0\r\n*1\r\n$1073741824\r\n"), "3"),
    ("SCAN: the same cursor for ever", "SCAN", None, say(scanned(b"7")), "3"),
    ("SCAN: new cursors and no names", "SCAN", None, counting(), "3"),
    ("SCAN: new cursors and one name", "SCAN", None, counting(text(NAME)), "3"),
    ("SCAN: cursors that go round", "SCAN", None, newer, "3"),
    ("SCAN: a byte a second", "SCAN", 1, drip(scanned(b"0")), "3"),
    ("SCAN: a foreign name with a NUL", "SCAN", 1, say(scanned(b"0", text(b".kvtrace\0x"))), "3"),
    ("SCAN: a foreign name with an escape", "SCAN", 1, say(scanned(b"0", text(b"\x1b[2Jgone"))), "3"),
]
# SET: 0 is the trial of rights, 1 the marker, 2 the first object.
ROWS = [
    ("write: another status", "SET", 2, say(b"+QUEUED\r\n"), "1"),
    ("write: an array of statuses", "SET", 2, say(array(b"+OK\r\n")), "1"),
    ("write: an array of 2^31-1", "SET", 2, flood(b"*2147483647\r\n", b"+OK\r\n" * 1000), "1"),
    ("write: nil", "SET", 2, say(b"$-1\r\n"), "1"),
    ("write: a status without end", "SET", 2, flood(b"+"), "1"),
    ("write: an error without end", "SET", 2, flood(b"-"), "1"),
    ("write: a value of 10 GB", "SET", 2, flood(b"$10000000000\r\n"), "1"),
    ("write: a byte a second", "SET", 2, drip(b"+" + b"O" * 60), "1"),
    ("write: an answer too many", "SET", 2, say(b"+OK\r\n+OK\r\n"), "01"),
    ("write: a thousand too many", "SET", 2, say(b"+OK\r\n" * 1000), "01"),
    ("write: a flood of answers", "SET", 2, flood(b"+OK\r\n", b"+OK\r\n" * 1000), "01"),
    ("read: longer than asked for", "GETRANGE", 1, say(text(b"x" * (READ + 1))), "1"),
    ("read: a value of 10 GB", "GETRANGE", 1, flood(b"$10000000000\r\n"), "1"),
    ("read: a value of 2^63", "GETRANGE", 1, flood(b"$9223372036854775808\r\n"), "1"),
    ("read: a value of -7 bytes", "GETRANGE", 1, say(b"$-7\r\n"), "1"),
    ("read: nil", "GETRANGE", 1, say(b"$-1\r\n"), "1"),
    ("read: an integer", "GETRANGE", 1, say(b":1\r\n"), "1"),
    ("read: in an array", "GETRANGE", 1, say(array(text(b"x" * READ))), "1"),
    ("read: other contents", "GETRANGE", 1, say(text(b"x" * READ)), "1"),
    ("read: cut", "GETRANGE", 1, close, "1"),
    ("read: a byte a second", "GETRANGE", 1, drip(text(b"x" * 60)), "1"),
    ("read: a null of RESP3", "GETRANGE", 1, say(b"_\r\n"), "1"),
    ("delete: two keys", "UNLINK", 1, say(b":2\r\n"), "1"),
    ("delete: minus one", "UNLINK", 1, say(b":-1\r\n"), "1"),
    ("delete: 2^63", "UNLINK", 1, say(b":9223372036854775808\r\n"), "1"),
    ("delete: a text", "UNLINK", 1, say(text(b"1")), "1"),
]
# SCAN: 0 is the trial, 1 the listing at the start, 2 that of the clean-up. EVAL: 0 is the trial, 1 and more the clean-up.
ENDING = [
    ("clean-up: SCAN is refused", "SCAN", 2, say(b"-NOPERM no permissions to run the 'scan' command\r\n"), "1"),
    ("clean-up: SCAN without end", "SCAN", "2-", counting(text(NAME)), "1"),
    ("clean-up: SCAN a byte a second", "SCAN", 2, drip(scanned(b"0")), "1"),
    ("clean-up: SCAN of nil", "SCAN", 2, say(scanned(b"0", b"$-1\r\n")), "1"),
    ("clean-up: the removal is refused", "EVAL", "1-", say(b"-NOPERM no permissions to run the 'unlink' command\r\n"), "1"),
    ("clean-up: removed -5 bytes", "EVAL", "1-", say(array(b":1\r\n", b":-5\r\n")), "1"),
    ("clean-up: the removal says nothing", "EVAL", "1-", silence, "1"),
    ("clean-up: the removal says nil", "EVAL", "1-", say(b"$-1\r\n"), "1"),
    ("clean-up: the marker is gone", "GET", "2-", say(b"$-1\r\n"), "13"),
]
# The second of two runs, which adopts what the first one kept. STRLEN: 0 is the trial of rights.
ADOPTING = [
    ("adopt: minus one bytes", "STRLEN", "1-", say(b":-1\r\n"), "3"),
    ("adopt: 2^62 bytes", "STRLEN", "1-", say(b":4611686018427387904\r\n"), "3"),
    ("adopt: parts without end", "STRLEN", "1-", say(b":4096\r\n"), "01"),
    ("adopt: nothing", "STRLEN", "1-", silence, "3"),
    ("adopt: a byte a second", "STRLEN", "1-", drip(b":" + b"1" * 60), "3"),
    ("adopt: an error", "STRLEN", "1-", say(b"-WRONGTYPE Operation against a key of the wrong kind\r\n"), "01"),
    ("adopt: a list of another length", "GETRANGE", 1, say(text(b"x" * 2000000)), "3"),
    ("adopt: a list that is no text", "GETRANGE", 1, say(b":7\r\n"), "3"),
    ("adopt: a block of 10 GB", "GETRANGE", "1-", flood(b"$10000000000\r\n"), "3"),
]


# ---- the server ----


def read_words(stream):
    """A command and its arguments; none at the end of the stream, or where it is cut."""
    try:
        head = stream.readline()
        if not head.startswith(b"*"):
            return []
        return [stream.read(int(stream.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]
    except ValueError:
        return []


class Server(hostile.Server):
    """One database on a port of its own. answer: in place of the real answer to word, the which-th time."""

    def __init__(self, word=None, which=None, answer=None, data=None):
        self.word, self.answer = word, answer
        first, last = (0, 1 << 60) if which is None else (which, which) if isinstance(which, int) else (int(which[:-1]), 1 << 60)
        self.first, self.last = first, last
        self.data = {} if data is None else data
        self.count = 0
        self.lock = threading.Lock()
        super().__init__(self.converse)

    def converse(self, peer, _):
        stream = peer.makefile("rb")
        while words := read_words(stream):
            self.reply(peer, words)

    def reply(self, peer, words):
        word = words[0].decode().upper()
        hostile_now, count = False, 0
        with self.lock:
            if word == self.word:
                count = self.count
                hostile_now = self.first <= count <= self.last
                self.count += 1
        if hostile_now:
            self.answer(peer, words, count - self.first)
            return
        with self.lock:
            answer = self.execute(word, words)
        peer.sendall(answer)

    def execute(self, word, words):
        data = self.data
        if word in ("SELECT", "AUTH"):
            return b"+OK\r\n"
        if word == "INFO":
            return text(b"redis_version:7.0.0\r\nmaxmemory:0\r\nevicted_keys:0\r\ncluster_enabled:0\r\n")
        if word == "TIME":
            return array(text(b"%d" % time.time()), text(b"0"))
        if word == "GET":
            return text(data[words[1]]) if words[1] in data else b"$-1\r\n"
        if word == "SET":
            options = [w.upper() for w in words[3:]]
            if (b"NX" in options and words[1] in data) or (b"XX" in options and words[1] not in data):
                return b"$-1\r\n"
            data[words[1]] = words[2]
            return b"+OK\r\n"
        if word == "GETRANGE":
            return text(data.get(words[1], b"")[int(words[2]):int(words[3]) + 1])
        if word == "SETRANGE":
            at, old = int(words[2]), data.get(words[1], b"")
            data[words[1]] = old[:at].ljust(at, b"\0") + words[3] + old[at + len(words[3]):]
            return number(len(data[words[1]]))
        if word == "STRLEN":
            return number(len(data.get(words[1], b"")))
        if word == "UNLINK":
            return number(sum(data.pop(key, None) is not None for key in words[1:]))
        if word == "SCAN":
            return scanned(b"0", *(text(key) for key in data))
        if word == "EVAL":
            keys, args = words[3:3 + int(words[2])], words[3 + int(words[2]):]
            if not args:
                size = sum(len(data.get(key, b"")) for key in keys)
                return array(number(sum(data.pop(key, None) is not None for key in keys)), number(size))
            if data.get(keys[0]) != args[0]:
                return number(0)
            if args[1]:
                data[keys[0]] = args[1]
            else:
                del data[keys[0]]
            return number(1)
        return b"-ERR unknown command\r\n"


# ---- the runs ----


def main():
    kvreplay, folder = sys.argv[1:3]
    only = sys.argv[3] if len(sys.argv) > 3 else ""
    trace = os.path.join(folder, "rows.csv")
    reads = os.path.join(folder, "reads.csv")
    head = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n"
    with open(trace, "w") as out:
        out.write(head + "0,Write,300000,Tier-2,a,Prefill\n0,Write,300000,Tier-2,b,Prefill\n0,Read,300000,Tier-2,a,Decode\n"
                  "0,Delete,300000,Tier-2,b,\n")
    with open(reads, "w") as out:
        out.write(head + "0,Read,300000,Tier-2,a,Decode\n0,Read,300000,Tier-2,b,Decode\n")

    def replay(server, rows, *options):
        target = "redis://127.0.0.1:%d/0?connections=1&part=%s" % (server.port, "4KiB" if "--keep" in options else "1MiB")
        return hostile.measured([kvreplay, "--progress", "none", "-o", "none", "--order", "key", "--inflight", "1", "--config", "timeout=1s",
                                 "--target", target, *options, rows], 40)

    def one(case):
        name, word, which, answer, _ = case
        data = {}
        if case in ADOPTING:
            before = Server(data=data)
            replay(before, reads, "--keep")
            before.close()
            if "block" in name:  # all blocks are looked at when the marker says that they may be torn
                data[b".kvtrace"] = re.sub(rb"unsure \d", b"unsure 1", data[b".kvtrace"])
        server = Server(word, which, answer, data)
        result = replay(server, reads, "--keep") if case in ADOPTING else replay(server, trace)
        server.close()
        return result

    cases = [(case[0], case) for case in OPENING + ROWS + ENDING + ADOPTING if only in case[0]]
    with open(os.path.join(folder, "wanted"), "w") as out:
        out.writelines("%s|%s\n" % (name, case[4]) for name, case in cases)
    hostile.run(cases, one)
    os._exit(0)  # threads of servers may still flood


main()
