#!/usr/bin/env python3
"""For the tests of recordings. Knows their formats by itself: MessagePack, its containers, JSON, zstd's frames.

recordings.py mix {IN OUT}...          a .zmqrec, .replay.jsonl or .lct again, with unknown fields and events in it, its
                                       maps in another order; prints how many of each
recordings.py set IN OUT NAME VALUE     a .zmqrec again, whose stored blocks have that member (VALUE is JSON)
recordings.py private {--- SAMPLE... -- FILE...}...
                                       what the samples plant (tokens, names, hashes) and each of the files shows, up to three;
                                       a line for each group
"""
import csv
import gzip
import io
import json
import re
import struct
import subprocess
import sys

csv.field_size_limit(1 << 30)


# ---- MessagePack ----

def decode(b, at=0):
    """The value at a place, and the place behind it."""
    t = b[at]
    at += 1

    def take(fmt):
        return struct.unpack_from('>' + fmt, b, at)[0], at + struct.calcsize(fmt)

    def many(n, at, pairs):
        out = []
        for _ in range(n * (2 if pairs else 1)):
            v, at = decode(b, at)
            out.append(v)
        return (dict(zip(out[::2], out[1::2])) if pairs else out), at

    if t < 0x80:
        return t, at
    if t < 0x90:
        return many(t & 15, at, True)
    if t < 0xa0:
        return many(t & 15, at, False)
    if t < 0xc0:
        return b[at:at + (t & 31)].decode(), at + (t & 31)
    if t >= 0xe0:
        return t - 256, at
    if t in (0xc0, 0xc2, 0xc3):
        return {0xc0: None, 0xc2: False, 0xc3: True}[t], at
    if t in (0xca, 0xcb) or 0xcc <= t <= 0xd3:
        return take({0xca: 'f', 0xcb: 'd', 0xcc: 'B', 0xcd: 'H', 0xce: 'I', 0xcf: 'Q',
                     0xd0: 'b', 0xd1: 'h', 0xd2: 'i', 0xd3: 'q'}[t])
    n, at = take({0xc4: 'B', 0xc5: 'H', 0xc6: 'I', 0xd9: 'B', 0xda: 'H', 0xdb: 'I',
                  0xdc: 'H', 0xdd: 'I', 0xde: 'H', 0xdf: 'I'}[t])
    if t <= 0xc6:
        return bytes(b[at:at + n]), at + n
    if t <= 0xdb:
        return b[at:at + n].decode(), at + n
    return many(n, at, t >= 0xde)


def encode(v):
    if v is None or v is True or v is False:
        return {None: b'\xc0', True: b'\xc3', False: b'\xc2'}[v]
    if isinstance(v, float):
        return struct.pack('>Bd', 0xcb, v)
    if isinstance(v, int):
        if 0 <= v < 128:
            return bytes([v])
        return struct.pack('>BQ', 0xcf, v) if v >= 0 else struct.pack('>Bq', 0xd3, v)
    if isinstance(v, bytes):
        return struct.pack('>BB' if len(v) < 256 else '>BI', 0xc4 if len(v) < 256 else 0xc6, len(v)) + v
    if isinstance(v, str):
        text = v.encode()
        head = bytes([0xa0 | len(text)]) if len(text) < 32 else struct.pack('>BI', 0xdb, len(text))
        return head + text
    if isinstance(v, dict):
        return struct.pack('>BI', 0xdf, len(v)) + b''.join(encode(x) for p in v.items() for x in p)
    return struct.pack('>BI', 0xdd, len(v)) + b''.join(map(encode, v))


def zmq_messages(b):
    """Head, frames of each message of a .zmqrec."""
    at = 8
    while at + 16 <= len(b):
        head, frames = b[at:at + 16], []
        at += 16
        for _ in range(struct.unpack('>I', head[12:])[0]):
            n = struct.unpack_from('>I', b, at)[0]
            frames.append(b[at + 4:at + 4 + n])
            at += 4 + n
        yield head, frames


def lct_frames(b):
    at = 0
    while at < len(b):
        n = struct.unpack_from('>I', b, at)[0]
        yield decode(b[at + 4:at + 4 + n])[0]
        at += 4 + n


# ---- mix ----

NEW = {'planted': [910001, None, b'planted', 1.5, -1]}
added = {'fields': 0, 'events': 0}


def more(m, places=0):
    """A map from its end, with a member more; or an array with all its places and a member more."""
    added['fields'] += 1
    if isinstance(m, dict):
        return dict([('new', NEW)] + list(m.items())[::-1])
    return m + [None] * (places - len(m)) + [NEW]


def mix_event(e):
    kind = e[0] if isinstance(e, list) else None
    return more(e, 4 if kind == 'BlockRemoved' else 12)


def mix_batch(batch):
    events = batch['events'] if isinstance(batch, dict) else batch[1]
    dream = ['BlockDreamt', 910001] if events and isinstance(events[0], list) else {'type': 'BlockDreamt', 'x': 910001}
    added['events'] += 1
    mixed = [dream] + [mix_event(e) for e in events]
    if isinstance(batch, dict):
        return more(dict(batch, events=mixed))
    return more([batch[0], mixed] + batch[2:], 3)


def mix_record(r):
    if r['type'] == 'header':
        added['fields'] += 1
        return dict(r, new=NEW)
    args = r['args']
    if 'entries' in args:
        args['entries'] = [more(dict(e, key=more(e['key']))) for e in args['entries']]
    elif r['qualname'].endswith('.finish_write'):
        args['keys'] = [more(dict(k, v=more(k['v']))) for k in args['keys']]
    return more(dict(r, args=more(args)))


def change_batches(b, to, change):
    """The .zmqrec b again, each batch changed."""
    with open(to, 'wb') as out:
        out.write(b[:8])
        for head, frames in zmq_messages(b):
            frames[2] = encode(change(decode(frames[2])[0]))
            out.write(head + b''.join(struct.pack('>I', len(f)) + f for f in frames))


def mix_answers(b, to):
    """A talk with a replay socket again, each payload in it changed. The payload is the last frame; that of the end is empty."""
    with open(to, 'w') as out:
        for talk in json_lines(b.decode()):
            frames = talk.get('frames_hex') or ['']
            if talk['dir'] == 'answer' and frames[-1]:
                frames[-1] = encode(mix_batch(decode(bytes.fromhex(frames[-1]))[0])).hex()
            print(json.dumps(talk), file=out)


def mix(path, to):
    b = open(path, 'rb').read()
    if b[:8] == b'ZMQREC1\n':
        change_batches(b, to, mix_batch)
    elif b[:1] == b'{':
        mix_answers(b, to)
    else:
        with open(to, 'wb') as out:
            for r in lct_frames(b):
                records = [mix_record(r)]
                if r['type'] == 'record':
                    added['events'] += 1
                    records.append({'type': 'record', 'qualname': 'BlockDreamt', 'args': {}})
                for frame in map(encode, records):
                    out.write(struct.pack('>I', len(frame)) + frame)
    print(added['fields'], added['events'])


def mix_all(args):
    for path, to in zip(args[::2], args[1::2]):
        added.update(fields=0, events=0)
        mix(path, to)


def set_member(path, to, name, value):
    def change(batch):
        for event in batch[1]:
            if event['type'] == 'BlockStored':
                event[name] = json.loads(value)
        return batch
    change_batches(open(path, 'rb').read(), to, change)


# ---- private ----

def walk(v, see):
    """Calls see(value) for every number, text and bytes, names of members too."""
    if isinstance(v, dict):
        for k, inner in v.items():
            walk(k, see)
            walk(inner, see)
    elif isinstance(v, (list, tuple)):
        for inner in v:
            walk(inner, see)
    elif v is not None and not isinstance(v, bool):
        see(v)


def json_lines(text):
    for line in text.splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            yield line


def sample_values(path):
    b = open(path, 'rb').read()
    if b[:2] == b'\x1f\x8b':
        b = gzip.decompress(b)
    if b[:8] == b'ZMQREC1\n':
        for _, frames in zmq_messages(b):
            yield frames[0].decode()
            yield decode(frames[2])[0]
    elif b[:1] == b'\0':
        yield from lct_frames(b)
    else:
        yield from json_lines(b.decode())


HEX = re.compile(r'(?<![0-9a-fA-F])(?:0x)?([0-9a-f]{16,})(?![0-9a-f])')
BIG = 1 << 48


class Planted:
    def __init__(self, samples):
        self.numbers, self.texts = set(), set()
        self.known = {}  # what a text shows: most cells of a trace are there many times
        for path in samples:
            for v in sample_values(path):
                walk(v, self.plant)

    def plant_hash(self, n):
        n &= (1 << 64) - 1
        self.numbers |= {n, n - (1 << 64)}
        self.texts |= {'%016x' % n, n.to_bytes(8, 'little').hex()}

    def plant(self, v):
        if isinstance(v, int):
            if 910001 <= v <= 959999:
                self.numbers.add(v)
            elif abs(v) >= BIG:
                self.plant_hash(v)
        elif isinstance(v, bytes) and len(v) == 32:
            self.texts |= {v.hex(), v.hex()[-16:], v.hex()[:16]}
        elif isinstance(v, str):
            self.texts |= set(re.findall(r'planted[\w/.-]*|\bw\d+w\d+\w*|zebra|192\.0\.2\.77', v))
            self.texts |= {h for h in HEX.findall(v)}

    def shown(self, v):
        """What of it a value shows."""
        if isinstance(v, bytes):
            v = v.decode('latin-1')
        if isinstance(v, (int, float)):
            return {v} & self.numbers
        if v not in self.known:
            self.known[v] = self.shown_by(v)
        return self.known[v]

    def shown_by(self, v):
        if v[:1] in ('{', '['):
            try:
                return self.shown_in([json.loads(v)])
            except ValueError:
                pass
        numbers = {int(n) for n in re.findall(r'(?<![\w.])-?\d+(?![\w.])', v)}
        words = {'planted', 'zebra'} | {w for w in re.findall(r'[\w./@-]+|\S+', v)}
        found = {t for t in words if t in self.texts or ('planted' in t and t in v)}
        lower = v.lower()
        found |= {lower[i:i + 16] for i in range(len(lower) - 15) if lower[i:i + 16] in self.texts}
        return (numbers & self.numbers) | {t for t in found if t in v or t in lower}

    def shown_in(self, values):
        found = set()
        for v in values:
            walk(v, lambda x: found.update(self.shown(x)))
        return found


def output_values(path):
    """Everything in an output: rows of CSV, JSON, lines, the frames of a compressed file."""
    b = open(path, 'rb').read()
    texts = [b]
    at = 0
    while len(b) - at >= 8 and 0x184d2a50 <= struct.unpack_from('<I', b, at)[0] <= 0x184d2a5f:
        n = struct.unpack_from('<I', b, at + 4)[0]  # the frames that only our own readers see
        texts.append(b[at + 8:at + 8 + n])
        at += 8 + n
    if path.endswith('.zst'):
        texts.append(subprocess.run(['zstd', '-dcq', path], stdout=subprocess.PIPE, check=True).stdout)
        texts += [t for t in re.findall(rb'\{[ -~\n]{20,}\}', b)]
    for t in texts[1:] if path.endswith('.zst') else texts:
        text = t.decode('utf-8', 'replace')
        if text.startswith('{\n') or text.startswith('[\n'):
            yield json.loads(text)
        elif '\n{' in text or text.startswith('{'):
            yield from json_lines(text)
        else:
            for row in csv.reader(io.StringIO(text)):
                for cell in row:
                    yield int(cell) if re.fullmatch(r'-?\d{1,30}', cell) else cell


def private():
    """Standard input: groups of a line "---", samples, a line "--", files."""
    for group in ('\n' + sys.stdin.read()).split('\n---\n')[1:]:
        samples, files = group.split('\n--\n')
        planted = Planted(samples.splitlines())
        shown = [sorted(map(str, planted.shown_in(output_values(path))))[:3] for path in files.splitlines()]
        print(*sum(shown, []), flush=True)


if __name__ == '__main__':
    {'mix': mix_all, 'set': lambda a: set_member(*a), 'private': lambda a: private()}[sys.argv[1]](sys.argv[2:])
