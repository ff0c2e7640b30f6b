#!/usr/bin/env python3
"""Plays a sample to kvgen as its engine did: the messages of X.zmqrec, each source on a PUB socket of its own, and a replay
socket (ROUTER) that answers with the very frames of X.replay.jsonl. ENDPOINTS is a file that gets them, one a line, the replay
socket's last. Waits for the subscribers, and ends when all was sent and, if anything was lost, asked for. Prints the requests
that it got, as hex. Needs Python 3 with zmq.

  replay_socket.py ENDPOINTS X.zmqrec X.replay.jsonl [REQUEST]   answers each request as the engine answered REQUEST (hex)
  replay_socket.py --whole X.zmqrec X.replay.jsonl          prints X.zmqrec with what was answered in its place
"""
import json, os, struct, sys

def messages(path):  # (source, [topic, number, payload], the bytes of the message)
    data, at, out = open(path, "rb").read(), 8, []
    while at < len(data):
        start, (source, count) = at, struct.unpack_from(">II", data, at + 8)
        at, frames = at + 16, []
        for _ in range(count):
            (n,) = struct.unpack_from(">I", data, at)
            frames.append(data[at + 4 : at + 4 + n])
            at += 4 + n
        out.append((source, frames, data[start:at]))
    return out

def talk(path):  # what a DEALER asked, and all answers to it
    out, answers = {}, None
    for line in open(path):
        d = json.loads(line)
        frames = [bytes.fromhex(f) for f in d["frames_hex"]] if d.get("frames_hex") else []
        if d["socket"] != "DEALER":
            continue
        if d["dir"] == "request":
            answers = out.setdefault(frames[1], [])
        elif d["dir"] == "answer":
            answers.append(frames)
    return out

def whole(sample, dialogue):
    out, held = sys.stdout.buffer, {f[-2]: f[-1] for a in talk(dialogue).values() for f in a}
    out.write(b"ZMQREC1\n")
    expected = {}
    for source, frames, raw in messages(sample):
        (seq,) = struct.unpack(">Q", frames[1])
        for lost in range(expected.get(source, seq), seq):
            number = struct.pack(">Q", lost)
            out.write(raw[:16])
            for f in (frames[0], number, held[number]):
                out.write(struct.pack(">I", len(f)) + f)
        expected[source] = seq + 1
        out.write(raw)

def play(endpoints, sample, dialogue, answer_as):
    import zmq
    ctx, answers = zmq.Context(), talk(dialogue)
    sources = messages(sample)
    pub = [ctx.socket(zmq.XPUB) for _ in range(1 + max(s for s, _, _ in sources))]
    router = ctx.socket(zmq.ROUTER)
    for s in pub + [router]:
        s.bind("tcp://127.0.0.1:*")
    with open(endpoints + ".new", "w") as out:
        for s in pub + [router]:
            print(s.getsockopt(zmq.LAST_ENDPOINT).rstrip(b"\0").decode(), file=out)
    os.rename(endpoints + ".new", endpoints)
    for s in pub:
        if not s.poll(20000):
            sys.exit("nobody subscribes")
        s.recv()
    for source, frames, _ in sources:
        pub[source].send_multipart(frames)
    if not router.poll(20000):
        sys.exit("nobody asks for what was lost")
    while router.poll(1000):
        peer, *request = router.recv_multipart()
        print(b",".join(f.hex().encode() for f in request).decode())
        for frames in answers[answer_as or request[-1]]:
            router.send_multipart([peer] + frames)

if sys.argv[1] == "--whole":
    whole(sys.argv[2], sys.argv[3])
else:
    play(sys.argv[1], sys.argv[2], sys.argv[3], bytes.fromhex(sys.argv[4]) if len(sys.argv) > 4 else None)
