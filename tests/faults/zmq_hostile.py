#!/usr/bin/env python3
"""zmq_hostile.py KVGEN FOLDER [NAME] - publishers of KV events and replay sockets that say what no engine says, byte by byte in
ZMTP 3.0 (RFC 23). Runs kvgen against each (or the one of that name) and prints what it took (hostile.py). Each publisher sends a
good message, then what is wrong, then another good one, whose rows must be there all the same. FOLDER is for files."""
import os
import re
import socket
import struct
import sys
import time

import hostile

GREETING = b"\xff" + b"\0" * 8 + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" * 32
MORE, LONG, COMMAND = 1, 2, 4


MIB = b"x" * (1 << 20)


# ---- MessagePack ----


def pack(v):
    if v is None:
        return b"\xc0"
    if isinstance(v, Raw):
        return v
    if isinstance(v, int):
        return b"\xcf" + struct.pack(">Q", v) if v >= 0 else b"\xd3" + struct.pack(">q", v)
    if isinstance(v, float):
        return b"\xcb" + struct.pack(">d", v)
    if isinstance(v, (str, bytes)):
        v = v.encode() if isinstance(v, str) else v
        return b"\xdb" + struct.pack(">I", len(v)) + v
    return b"\xdd" + struct.pack(">I", len(v)) + b"".join(pack(x) for x in v)


class Raw(bytes):
    """What is packed already, or never was."""


def stored(hashes, medium=None, block_size=16, parent=None):
    return ["BlockStored", hashes, parent, [], block_size, None, medium]


def events(*list_of, ts=None):
    return pack([time.time() if ts is None else ts, list(list_of)])


# ---- frames ----


def frame(data, flags=0, size=None):
    size = len(data) if size is None else size
    if size > 255:
        return struct.pack(">BQ", flags | LONG, size) + data
    return struct.pack(">BB", flags, size) + data


def message(*frames):
    return b"".join(frame(f, MORE) for f in frames[:-1]) + frame(frames[-1])


def batch(seq, payload, topic=b"kv"):
    return message(topic, struct.pack(">Q", seq % (1 << 64)), payload)


def ready(kind):
    return frame(b"\x05READY" + b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind +
                 b"\x08Identity" + struct.pack(">I", 0), COMMAND)


def good(n, seq):
    return batch(seq, events(stored([n * 10 + 1, n * 10 + 2])))


def large(seq, mib):
    """A good message without events, with so many MiB beside them, in pieces."""
    head = pack([1.0, [], 0, Raw(b"\xc6" + struct.pack(">I", mib << 20))])
    yield frame(b"kv", MORE) + frame(struct.pack(">Q", seq), MORE) + frame(head, 0, len(head) + (mib << 20))
    for _ in range(mib):
        yield MIB


def forever(peer, data):
    while True:
        peer.sendall(data)


# ---- cases: name, what is wrong, the exit statuses of kvgen ----


def send(*data, last=1):
    """last: the number of the last of these."""

    def wrong(peer):
        for piece in data:
            peer.sendall(piece)
        return last

    return wrong


def send_and_close(*data):
    def wrong(peer):
        for piece in data:
            peer.sendall(piece)
        time.sleep(0.2)
        peer.shutdown(socket.SHUT_RDWR)
        return 0

    return wrong


def flood(make):
    def wrong(peer):
        n = 1
        while True:
            peer.sendall(make(n))
            n += 1

    return wrong


def pieces(seq, mib, pause=0):
    def wrong(peer):
        for piece in large(seq, mib):
            peer.sendall(piece)
        time.sleep(pause)
        return seq

    return wrong


def large_flood(peer):
    n = 1
    while True:
        pieces(n, 32)(peer)
        n += 1


def answered(n):
    head = pack([1.0, [], 0, Raw(b"\xc6" + struct.pack(">I", 8 << 20))])
    yield frame(b"", MORE) + frame(struct.pack(">Q", n), MORE) + frame(head, 0, len(head) + (8 << 20))
    for _ in range(8):
        yield MIB


def drip(data):
    def wrong(peer):
        for at in range(len(data)):
            peer.sendall(data[at:at + 1])
            time.sleep(1)

    return wrong


def topics(peer):
    payload = events(stored([5]))
    for n in range(0, 70000, 100):
        peer.sendall(b"".join(batch(0, payload, b"kv%d" % k) for k in range(n, n + 100)))
    return 0


NAN, INF = float("nan"), float("inf")
FUTURE = events(stored([5]), ts=time.time() + 1e9)
PUBLISHERS = [
    ("an unknown medium", send(batch(1, events(stored([5], "SOMEWARE")))), "1"),
    ("1,000 unknown media", send(*(batch(n, events(stored([5], "M%d" % n))) for n in range(1, 1001)), last=1000), "1"),
    ("a medium with an escape", send(batch(1, events(stored([5], "\x1b[2J\0x")))), "1"),
    ("a medium of 1 MB", send(batch(1, events(stored([5], "M" * 1000000)))), "1"),
    ("a medium that is a number", send(batch(1, events(stored([5], 7)))), "1"),
    ("a known event, then an unknown medium", send(batch(1, events(stored([5]), stored([6], "X"), stored([7])))), "1"),
    ("no MessagePack", send(batch(1, b"\xc1" * 100)), "1"),
    ("an empty payload", send(batch(1, b"")), "1"),
    ("a payload that is cut", send(batch(1, events(stored([5, 6, 7]))[:-9])), "1"),
    ("more behind the payload", send(batch(1, events(stored([5])) + b"\0")), "1"),
    ("a text in place of events", send(batch(1, pack([time.time(), "no events"]))), "1"),
    ("nil in place of an event", send(batch(1, pack([time.time(), [None]]))), "1"),
    ("arrays 100,000 deep", send(batch(1, pack([time.time(), [Raw(b"\x91" * 100000)]]))), "1"),
    ("an array of 2^32-1", send(batch(1, pack([time.time(), Raw(b"\xdd\xff\xff\xff\xff")]))), "1"),
    ("a map of 2^32-1", send(batch(1, pack([time.time(), [Raw(b"\xdf\xff\xff\xff\xff")]]))), "1"),
    ("hashes that are nil", send(batch(1, events(stored([None, None])))), "1"),
    ("a good event before a damaged one", send(batch(1, events(stored([5]), stored([None])))), "1"),
    ("blocks of 2^32-1 tokens", send(batch(1, events(stored([5], None, (1 << 32) - 1)))), "01"),
    ("blocks of 2^64-1 tokens", send(batch(1, events(stored([5], None, (1 << 64) - 1)))), "1"),
    ("blocks without tokens", send(batch(1, events(stored([5], None, None)))), "1"),
    ("a time that is not a number", send(batch(1, events(stored([5]), ts=NAN))), "1"),
    ("a time without end", send(batch(1, events(stored([5]), ts=INF))), "1"),
    ("a time before 1970", send(batch(1, events(stored([5]), ts=-1.0))), "1"),
    ("a time in 30 years", send(batch(1, FUTURE)), "1"),
    ("one frame", send(message(b"kv")), "1"),
    ("two frames", send(message(b"kv", b"\0" * 8)), "1"),
    ("four frames", send(message(b"kv", b"\0" * 7 + b"\1", events(stored([5])), b"more")), "1"),
    ("10,000 frames", send(b"".join(frame(b"x", MORE) for _ in range(10000)) + frame(b"x")), "1"),
    ("a number of seven bytes", send(message(b"kv", b"\0" * 7, events(stored([5])))), "1"),
    ("a number of 1 MB", send(message(b"kv", b"\0" * 1000000, events(stored([5])))), "1"),
    ("a topic of 1 MB", send(batch(1, events(stored([5])), b"t" * 1000000)), "1"),
    ("70,000 topics", topics, "01"),
    ("number 2^63", send(batch(1 << 63, events(stored([5]))), last=1 << 63), "0"),
    ("number 2^64-1", send(batch((1 << 64) - 1, events(stored([5]))), last=(1 << 64) - 1), "0"),
    ("numbers that jump", send(*(batch((n % 2) << 63, events(stored([5]))) for n in range(1000)), last=1 << 63), "0"),
    ("one number, 1,000 times", send(*(batch(3, events(stored([5]))) for n in range(1000)), last=3), "0"),
    ("60 MiB of a good message", pieces(1, 60), "0"),
    ("60 MiB, and the next message half a second later", pieces(1, 60, 0.5), "0"),
    ("a frame of 65 MiB", pieces(1, 65), "0"),
    ("a frame that says 4 GB", send_and_close(frame(b"kv", MORE) + frame(b"x" * 1000000, 0, 1 << 32)), "0"),
    ("a frame that says 2^63", send_and_close(frame(b"kv", MORE) + frame(b"x" * 1000000, 0, 1 << 63)), "0"),
    ("a command of 1 GB", send_and_close(frame(b"\x05OTHER" + b"x" * 1000000, COMMAND, 1 << 30)), "0"),
    ("closed at once", send_and_close(), "0"),
    ("--config max_message=2KiB and one of 4 KiB", send_and_close(batch(1, events(stored(list(range(100, 600)))))), "0"),
]
# Their second message never comes: --duration ends them.
ENDLESS = [
    ("a flood of small messages", flood(lambda n: b"".join(good(1, k) for k in range(n * 100, n * 100 + 100))), "0"),
    ("a flood of messages of 32 MiB", large_flood, "0"),
    ("a flood of damaged messages", flood(lambda n: batch(n, b"\xc1" * 1000) * 50), "1"),
    ("frames without end", lambda peer: forever(peer, frame(MIB, MORE)), "01"),
    ("a byte a second", drip(good(2, 1)), "0"),
    ("nothing any more", lambda peer: time.sleep(30), "0"),
]
# In place of the greeting and what follows, at the first connection.
GREETINGS = [
    ("greeting: not ZMTP", lambda peer: peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10), "01"),
    ("greeting: nothing", lambda peer: time.sleep(0.5), "0"),
    ("greeting: zeros", lambda peer: peer.sendall(b"\0" * 100000), "0"),
    ("greeting: another mechanism", lambda peer: peer.sendall(GREETING.replace(b"NULL", b"CURV")), "0"),
    ("greeting: READY of 4 GB", lambda peer: peer.sendall(GREETING + frame(b"\x05READY" + b"x" * 100000, COMMAND, 1 << 32)), "0"),
    ("greeting: properties without end", lambda peer: peer.sendall(GREETING + frame(b"\x05READY\x0bSocket-Type\xff\xff\xff\xffPUB", COMMAND)), "0"),
    ("greeting: another kind of socket", lambda peer: peer.sendall(GREETING + ready(b"REP")), "0"),
]


# What the replay socket says to a request for messages from the first one on: without end, and others.
REPLAYS_ENDLESS = [
    ("replay: numbers that were not asked for", lambda peer, first: forever(peer, message(b"", struct.pack(">Q", 99), events(stored([5])))), "0"),
    ("replay: the same number for ever", lambda peer, first: forever(peer, message(b"", struct.pack(">Q", first), events(stored([5])))), "0"),
    ("replay: without a number", lambda peer, first: forever(peer, message(b"", b"kv")), "0"),
    ("replay: of another topic", lambda peer, first: forever(peer, message(b"", b"other", struct.pack(">Q", first), events(stored([5])))), "0"),
]
REPLAYS = REPLAYS_ENDLESS + [
    ("replay: nothing", lambda peer, first: None, "0"),
    ("replay: no more", lambda peer, first: peer.sendall(message(b"", b"\xff" * 8, b"")), "0"),
    ("replay: the numbers", lambda peer, first: [peer.sendall(message(b"", struct.pack(">Q", n), events(stored([50 + n])))) for n in range(first, 9)], "0"),
    ("replay: 10,000 frames", lambda peer, first: peer.sendall(b"".join(frame(b"x", MORE) for _ in range(10000)) + frame(b"x")), "0"),
    ("replay: damaged", lambda peer, first: [peer.sendall(message(b"", struct.pack(">Q", n), b"\xc1" * 9)) for n in range(first, 9)], "1"),
    ("replay: a frame that says 4 GB", lambda peer, first: peer.sendall(frame(b"", MORE) + frame(b"x" * 1000000, 0, 1 << 32)), "0"),
    ("replay: a byte a second", lambda peer, first: drip(message(b"", struct.pack(">Q", first), b"x"))(peer), "0"),
    ("replay: closed", lambda peer, first: peer.shutdown(socket.SHUT_RDWR), "0"),
    ("replay: 2^63 numbers of 8 MiB", lambda peer, first: [peer.sendall(piece) for n in range(first, 1 << 62) for piece in answered(n)], "01"),
]


# ---- what a server reads ----


def read(peer, n):
    data = b""
    while len(data) < n:
        piece = peer.recv(n - len(data))
        if not piece:
            raise OSError("closed")
        data += piece
    return data


def read_frame(peer):
    flags = read(peer, 1)[0]
    size = struct.unpack(">Q", read(peer, 8))[0] if flags & LONG else read(peer, 1)[0]
    return flags, read(peer, size)


def greet(peer, kind):
    peer.sendall(GREETING)
    read(peer, 64)
    peer.sendall(ready(kind))
    read_frame(peer)  # its READY


def stay(peer):
    while peer.recv(1 << 16):
        pass


def publisher(wrong, second=None):
    """second: the number of the second good message; None: the one behind what was wrong."""

    def talk(peer, number):
        greet(peer, b"PUB")
        read_frame(peer)  # the subscription
        last = 0
        if number == 0:
            peer.sendall(good(1, 0))
            last = wrong(peer)
        peer.sendall(good(2, (last + 1) % (1 << 64) if second is None else second))
        stay(peer)

    return talk


def greeting(wrong):
    def talk(peer, number):
        if number == 0:
            return wrong(peer)
        return publisher(lambda _: 0)(peer, number)

    return talk


def replay(answer):
    def talk(peer, number):
        greet(peer, b"ROUTER")
        while True:
            flags, data = read_frame(peer)
            if not flags & MORE and len(data) == 8:
                answer(peer, struct.unpack(">Q", data)[0])

    return talk


# ---- the runs ----


def main():
    kvgen, folder = sys.argv[1:3]
    only = sys.argv[3] if len(sys.argv) > 3 else ""

    def tried(case, seconds):
        """What it took, and how many rows were written."""
        name, wrong, _ = case
        base = os.path.join(folder, re.sub("[^a-z0-9]", "_", name.lower()))
        replays = None
        argv = [kvgen, "-m", "tiny-1b", "--progress", "none", "--no-notes", "--config", "reorder=1ms", "-o", base + ".csv", "--capture",
                base + ".jsonl", "--duration", "%dms" % (seconds * 1000)]
        if case in REPLAYS:  # message 9 comes behind message 0
            replays = hostile.Server(replay(wrong))
            server = hostile.Server(publisher(lambda _: 0, 1 << 62 if "2^63" in name else 9))
            argv += ["--gap-endpoint", "tcp://127.0.0.1:%d" % replays.port]
        else:
            server = hostile.Server(greeting(wrong) if case in GREETINGS else publisher(wrong))
        argv += ["--input", "tcp://127.0.0.1:%d" % server.port]
        if name.startswith("--config max_message"):
            argv += name.split()[:2]
        result = hostile.measured(argv, 30)
        server.close()
        if replays:
            replays.close()
        if not os.path.exists(base + ".csv"):
            return result, 0
        with open(base + ".csv") as out:
            return result, len([line for line in out if ",Write," in line])

    def one(case):
        need = 2 if case in ENDLESS or case in GREETINGS else 4
        endless = case in ENDLESS or case in REPLAYS_ENDLESS
        for seconds in 1.5 if endless else 5 if case in REPLAYS else 3, 8, 20:  # a busy machine needs longer ones
            result, rows = tried(case, seconds)
            result = (result[0], result[1] - seconds) + result[2:]  # the time beyond --duration
            if rows >= need:
                return result
        return (-98,) + result[1:3] + ("%d rows only, exit status %d: %s" % (rows, result[0], result[3]),)

    cases = [(case[0], case) for case in PUBLISHERS + ENDLESS + GREETINGS + REPLAYS if only in case[0]]
    with open(os.path.join(folder, "wanted"), "w") as out:
        out.writelines("%s|%s\n" % (name, case[2]) for name, case in cases)
    hostile.run(cases, one, 12)  # which wait most of the time
    os._exit(0)  # threads of servers may still flood


main()
