#!/usr/bin/env python3
"""What no reader may be brought down by, for every reader of every program.

readers.py list                                 the names of the readers, one a line
readers.py floods|edges BIN DATA TMP READER...  runs each of them on bad inputs; prints "== READER", and a line for each
                                                run that ends badly

floods: small files that unpack to millions of the same: a sample that the reader takes, with MIB of one text in it,
before it, behind its first line, or at its end. It comes plain, in gzip or in zstd, from a file or from a pipe.
edges: the sample with a number in it replaced by one at an edge of the integers, of fractions or of what is a number.

A run must end with status 0 to 2, within a time and a memory that do not follow the input, and a status of 2 needs a
message of one line. READERS_ALL=1 in the environment gives every reader everything in all places and by all ways, which
takes an hour; otherwise these take turns, and READERS_STRIDE=N gives each number every N-th edge. READERS_SHOW=1: a line
for each run. READERS_SANITIZED=1: for a sanitizer build, which sees more; no bound of memory, more time, more turns.
"""
import gzip
import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
import recordings

MIB = 2          # more than any buffer of fixed size holds
LARGE_MIB = 80   # more than the 64 MiB that an element of JSON may have
MEMORY_MIB = 192
SECONDS = 20        # a busy machine is slow
SANITIZED = os.environ.get('READERS_SANITIZED') == '1'
ALL = os.environ.get('READERS_ALL') == '1'
STRIDE = 1 if ALL else int(os.environ.get('READERS_STRIDE', '24' if SANITIZED else '37'))
THIN = 1 if SANITIZED else 2

TRACE = 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n'
WRITE, READ = '0.0,Write,4096,Tier-2,a,Prefill\n', '1.0,Read,4096,Tier-2,a,Decode\n'
FULL = TRACE.rstrip('\n') + ',Request,User,QoS,Class,Tokens,Arrival,Duration_us,Due,Eligible,Start,Latency_us,Device_us,' \
    'Status,Slot_us,First_byte_us,Rank,Endpoint,Thread\n' \
    '0.000000,Write,2097152,Tier-2,base,Prefill,,,,prepop,200,,,,,-1.000000,5000,4000,ok,,,,,\n' \
    '0.000000,Write,1048576,Tier-0,k0,Prefill,0,u0,interactive,user,100,0.000000,,0.000000,0.000000,0.011000,2000,1500,ok,9,8,0,e,t\n' \
    '0.010000,Read,2097152,Tier-2,base,Decode,0,u0,interactive,prepop,200,0.000000,,0.010000,0.012000,0.013000,3000,2500,ok,9,8,1,e,t\n' \
    '0.020000,Generate,0,,,Decode,0,u0,interactive,user,5,0.000000,9000.5,0.020000,0.020000,0.021000,9000,,ok,9,8,1,e,t\n'
RESULT_LESS = '\n'.join(','.join(line.split(',')[:13]) for line in FULL.split('\n'))
LOOK_UPS = TRACE.rstrip('\n') + ',Request,User,QoS,Class,Tokens,Arrival,Duration_us\n' + ''.join(
    f'{r}.0,Miss,0,,block_{k},,{r},u{r},batch,block,,{r}.0,\n{r}.0,Write,4096,Tier-0,block_{k},Prefill,{r},u{r},batch,block,64,{r}.0,\n'
    f'{r}.0,Read,4096,Tier-0,block_{k},Decode,{r},u{r},batch,block,64,{r}.0,\n{r}.0,Generate,0,,,Prefill,{r},u{r},batch,,70,{r}.0,5\n'
    f'{r}.5,Generate,0,,,Decode,{r},u{r},batch,,9,{r}.0,5\n' for r, k in ((1, 7), (2, 8)))
CONFIGURATION = '../fuzz/corpus/fuzz_conf/kvgen'
CAPTURE = '{"kvtrace":"capture","version":1,"times":false,"reads":true,"unrecorded":"results","key":"0123456789abcdef"}\n' \
          '{"ts":5,"publisher":"000102030405060708090a0b0c0d0e0f","rank":0,"seq":1,"event":"stored","medium":"GPU",' \
          '"tokens":16,"hashes":["100102030405060708090a0b0c0d0e0f"]}\n'


class Reader:
    """sample: a text that the program takes, or the name of a file of tests/data. args: {} is the file. suffix: of its
    name. plain: it reads no compressed files. few: what it reads with is another reader's, too; it gets fewer floods.
    most: status of a run that ends where the sample alone ends it. edges: the sample whose numbers are replaced, if that
    is another; more: command lines that take it besides."""

    def __init__(self, name, sample, args, suffix='', plain=False, few=False, most=0, edges=None, more=()):
        self.name, self.sample, self.args, self.suffix = name, sample, args, suffix
        self.plain, self.few, self.most = plain, few, most
        self.edges, self.more = edges or sample, more


def kvgen(name, sample, *args, source=None, **how):
    """A source of requests; source: its word for --source, unless that is its name."""
    return Reader('kvgen ' + name, sample, ['kvgen', '--source', source or name, '--input', '{}', '-o', 'none', *args], **how)


R = 'recordings/'
READERS = [
    Reader('kvgen, told by content', 'mooncake_first200.jsonl', ['kvgen', '--input', '{}', '-o', 'none']),
    kvgen('mooncake', 'mooncake_first200.jsonl'),
    kvgen('burst', 'burstgpt_30rows.csv'),
    kvgen('azure', 'azure_code_2024_excerpt.csv'),
    kvgen('bailian', '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 30, "output_length": 5, '
          '"type": "text", "turn": 1, "hash_ids": [1, 2]}\n', few=True),
    kvgen('lmcache', '{"timestamp": 1.5, "request_id": "a", "model_name": "m", "chunk_size": 256, "seq_len": 600, '
          '"chunk_hashes": ["0xab", "0xcd"]}\n', few=True),
    kvgen('dynamo', R + 'dynamo-1.6.1-request-trace-sessions-payload.jsonl'),
    kvgen('satf', R + 'dynamo-1.6.1.satf.json'),
    kvgen('agentic-rows', R + 'dynamo-1.6.1-agentic-mooncake-v2.jsonl', source='mooncake'),
    kvgen('agentic', '{"id": "x", "block_size": 64, "hash_id_scope": "local", '
          '"requests": [{"t": 0, "type": "s", "in": 99, "out": 2, "hash_ids": [1]}]}\n'),
    kvgen('agentic archive', 'agentic_60.tar.zst', source='agentic'),
    kvgen('sharegpt', '[{"id": "x", "conversations": [{"from": "human", "value": "abcd"}, '
          '{"from": "gpt", "value": "efgh"}]}]\n'),
    kvgen('kv-events', R + 'vllm-0.33.0-bytes.zmqrec'),
    kvgen('capture', CAPTURE, source='kv-events'),
    kvgen('trtllm', R + 'trtllm-kv_cache_events.jsonl'),
    kvgen('dynamo-kv', R + 'dynamo-1.6.1-routerevents.jsonl', '--object-bytes', '1MiB'),
    kvgen('lct', R + 'lmcache-0.5.6-events.lct'),
    kvgen('strace', R + 'lmcache-0.5.6-fs.strace'),
    kvgen('trace', TRACE + WRITE + READ, '--retier', edges=RESULT_LESS,
          more=[['kvgen', '--input', '{}', '--retier', '--curve', '/dev/null', '--config', 'curve_optimal=true', '-o', 'none']] +
               [['kvgen', '--input', '{}', '--format', f, '-o', '/dev/null']
                for f in ('kvtrace', 'mlperf', 'warp', 'libcachesim', 'oracle')] +
               [['kvgen', '--input', '{}', '--format', f, '-o', '{tmp}/out'] for f in ('sai3', 'fio')]),
    kvgen('requests of a trace', LOOK_UPS, '--retier', '--cache', 'vllm', '-m', 'tiny-1b', '--params', '1e9', source='trace', few=True),
    Reader('kvgen trace, copied', TRACE + WRITE + READ, ['kvgen', '--input', '{}', '-o', '/dev/null'], few=True),
    kvgen('fio', 'fio version 3 iolog\n0 x add\n0 x open\n5 x write 0 4096\n6 x read 0 4096\n', '--retier', source='trace'),
    kvgen('oplog', 's3dlio_oplog_example.tsv', '--retier', source='trace'),
    kvgen('warp', 'warp_mixed_3s.csv.zst', '--retier', source='trace', few=True),
    Reader('kvgen --requests', R + 'dynamo-1.6.1-request-trace.000000.jsonl.gz',
           ['kvgen', '--input', '{data}/recordings/dynamo-1.6.1-mocker-events.zmqrec', '--requests', '{}', '-o', 'none']),
    Reader('kvgen --users-file', 'mlperf_reference/users_seed1.csv',
           ['kvgen', '--users-file', '{}', '--users', '200', '--max-requests', '10', '-o', 'none']),
    Reader('kvgen --names', '0123456789abcdef',
           ['kvgen', '--input', '{data}/recordings/vllm-0.33.0-bytes.zmqrec', '--names', '{}', '-o', 'none'], plain=True),
    Reader('kvgen --config', 'qos_profiles:\n',
           ['kvgen', '--config', '{}', '--users', '1', '--max-requests', '1', '-o', 'none'], plain=True,
           edges=CONFIGURATION),
    Reader('kvgen --model', 'models/llama-3.1-8b.json', ['kvgen', '--model', '{}', '--show-model'], '.json', few=True),
    Reader('kvgen --tier-model, a drive', 'drive_model.json',
           ['kvgen', '--tier-model', '2={}', '--users', '1', '--max-requests', '1', '-o', 'none'], '.json', few=True),
    Reader('kvgen --tier-model, a run', 'screens/served.json',
           ['kvgen', '--tier-model', '2={}', '--users', '1', '--max-requests', '1', '-o', 'none'], '.json', few=True),
    Reader('kvgen --gpu-profile', '{"name": "x", "bf16_tflops": 100, "link_gb_s": 32, "hbm_tb_s": 2}\n',
           ['kvgen', '--gpu-profile', '{}', '--users', '1', '--max-requests', '1', '-o', 'none'], '.json', few=True),
    Reader('kvgen --prefill', json.dumps({'points': [{'cached': c, 'new': n, 'ms': n / 10 + 1}
                                                     for c in (0, 1000) for n in (100, 1000, 5000)]}) + '\n',
           ['kvgen', '--prefill', '{}', '--users', '1', '--max-requests', '1', '-o', 'none'], '.json', few=True),
    Reader('kvreplay trace', TRACE + WRITE + READ, ['kvreplay', '--null', '-o', 'none', '{}'], edges=FULL,
           more=[['kvreplay', '--null', '--timing', timing, '--speed', '1e9', '--duration', '100ms', '-o', '/dev/null', '{}', *more]
                 for timing, more in (('trace', []), ('closed', []), ('served', ['--workers', '2']), ('served', ['--overflow', 'wrap']))]),
    Reader('kvreplay --config', 'autoscale:\n', ['kvreplay', '--target', '{tmp}/target', '--autoscale', 'qos', '--each', 'false',
                                                 '--config', '{}'], plain=True, few=True, most=2,
           edges=CONFIGURATION),
    Reader('kvreplay --ceiling',
           '{"program":"kvreplay","options":{"null":true,"timing":"asap"},"trace":{"digest":"x"},"rows_per_s":9}\n',
           ['kvreplay', '--tier-engine', '2=null', '-o', 'none', '--ceiling', '{}', '{trace}'], '.json', few=True),
    Reader('kvreplay --tier-engine', 'drive_model.json',
           ['kvreplay', '--tier-engine', '2=sim:model={}', '-o', 'none', '{trace}'], '.json', few=True),
    Reader('kvprecond --config', 'model_configs:\n', ['kvprecond', '--mode', 'kv', '--config', '{}', '--size', '4KiB', '/proc'],
           plain=True, few=True, most=3, edges=CONFIGURATION),
    Reader('kvstat', TRACE + WRITE + READ, ['kvstat', '{}'], edges=RESULT_LESS, more=[['kvstat', '--json', '--reuse', '{}']]),
    Reader('kvstat, a result', 'kvstat_dozen.csv', ['kvstat', '--full', '--reuse', '{}'], edges=FULL,
           more=[['kvstat', '--json', '--interval', '1s', '--by', 'tier,op,user,endpoint,thread', '{}'],
                 ['kvstat', '--csv', '--warmup', '1ms', '--profile', 'mlperf', '--slo', '{}'],
                 ['kvstat', '--verify-trace', '{}'], ['kvstat', '--merge', '{}', '{}'], ['kvstat', '--ranks', '{}', '{}'],
                 ['kvstat', '--compare', '{}', '{data}/kvstat_dozen.csv'], ['kvstat', '--reference', '{}', '{}'],
                 ['kvstat', '--mlperf', '{tmp}/mlperf.json', '--hgrm', '{tmp}/hgrm', '--fio-job', '{tmp}/job', '{}']]),
    Reader('kvstat --verify-trace', TRACE + WRITE + READ, ['kvstat', '--verify-trace', '{}'], few=True, most=1),
    Reader('kvstat, an op-log', 's3dlio_oplog_example.tsv', ['kvstat', '{}']),
    Reader('kvstat, a document', 'screens/served.json', ['kvstat', '{}'], '.json'),
    Reader('kvstat, documents', '{"elapsed_time": 1, "num_requests": 2, "total_num_tokens": 3}\n', ['kvstat', '{}'],
           '.jsonl'),
    Reader('kvstat, told by content', '{"elapsed_time": 1, "num_requests": 2, "total_num_tokens": 3}\n', ['kvstat', '{}'],
           plain=True, few=True),
    Reader('kvstat --run', 'screens/served.json', ['kvstat', '--run', '{}', '{data}/screens/served.csv.zst'], '.json', few=True),
    Reader('kvstat --config', 'qos_profiles:\n',
           ['kvstat', '--slo', '--config', '{}', '{data}/kvstat_dozen.csv'], plain=True, few=True, edges=CONFIGURATION),
    Reader('kvstat --reference', 'kvstat_dozen.csv', ['kvstat', '--reference', '{}', '{data}/kvstat_dozen.csv'], few=True),
    Reader('kvstat --compare', 'kvstat_dozen.csv', ['kvstat', '--compare', '{}', '{data}/kvstat_dozen.csv'], few=True),
    Reader('kvstat --compare, runs of the benchmark',
           'mlperf_example/kvcache_run_summary_20261122_152145.json',
           ['kvstat', '--compare', '{}', '{data}/mlperf_example/kvcache_run_summary_20261122_152145.json'], '_summary.json', few=True),
    Reader('kvstat --plot', 'Capacity_Bytes,Object_Hit_Rate\n1,0.5\n2,0.75\n', ['kvstat', '--plot', '{tmp}/plot.svg', '{}'],
           '.csv'),
]

# A reader gets half of the first floods, or a quarter, and a twelfth of the others, or none; in a sanitizer build twice as many.
FIRST = {
    'LF': b'\n', 'CRLF': b'\r\n', 'CR': b'\r', 'NUL': b'\0', 'byte-order marks': b'\xef\xbb\xbf', 'comments': b'# a comment\n',
    'letters': b'a', 'opening quotes': b',"', 'spaces': b' ',
}
OTHERS = {
    'tabs': b'\t', 'hashes': b'#', 'digits': b'9', 'commas': b',', 'empty rows': b',,,,,\n', 'quotes': b'"', 'backslashes': b'\\',
    'arrays': b'[', 'objects': b'{"a":', 'braces': b'{', 'elements': b'1,', 'texts': b'"a",', 'list items': b'- ', 'lists': b'- a\n',
    'keys': b'? ', 'anchors': b'&a *a ', 'high bytes': b'\xff', 'tab lines': b'\t\n', 'colons': b'a: ', 'brackets': b'[]',
}
UNITS = {**FIRST, **OTHERS}
# Floods that no reader is spared: blank lines, lines without end, and what only traces of ours have.
EACH = {'LF', 'letters', 'comments', 'notes', 'an endless note', 'notes of 1 MiB', 'keys of 64 KiB'}
NUMBERS = 36 # of a sample, unless all are wanted
# What replaces a number.
EDGES = [
    '', '0', '1', '-1', '-0', '1.5', str(2**31 - 1), str(2**31), str(2**32), str(2**53 + 1), str(2**63 - 1), str(2**63), str(-2**63),
    str(-2**63 - 1), str(2**64 - 1), str(2**64), '999999999999999999999999', '9223372036.854775807', '-9223372036.854775808',
    '9223372036.854775808', '9223372036854775.807', '9223372036854775.808', '4611686018.427387904', '-4611686018.427387904',
    '0.000000001', '0.0000000001', '1e19', '1e308', '-1e308', '1e309', '1e-320', 'nan', 'NaN', 'inf', '-Infinity', '0x10', 'null',
]

PLACES = ['before', 'behind the first line', 'at the end']
WAYS = ['file', 'pipe', 'file.gz', 'pipe.gz', 'file.zst', 'pipe.zst']


def zstd(data):
    return subprocess.run(['zstd', '-q', '-1', '-c'], input=data, stdout=subprocess.PIPE, check=True).stdout


def load(data, sample):
    """The bytes of a sample, unpacked; of lines and of an archive's files no more than 40,000: what a reader does, it does there."""
    if sample.endswith('\n') or '.' not in sample:
        return sample.encode()
    raw = open(os.path.join(data, sample), 'rb').read()
    if sample.endswith('.zst'):
        raw = subprocess.run(['zstd', '-qdc'], input=raw, stdout=subprocess.PIPE, check=True).stdout
    elif sample.endswith('.gz'):
        raw = gzip.decompress(raw)
    if raw[257:262] == b'ustar':
        end = 0
        while end < 40000:
            end += 512 + (int(raw[end + 124:end + 135], 8) + 511) // 512 * 512
        return raw[:end] + bytes(1024)
    at = raw.find(b'\n', 40000)
    return raw if b'\0' in raw[:4096] or at < 0 else raw[:at + 1]


def flooded(sample, unit, size, place):
    flood = unit * (size // len(unit))
    if place == 'before':
        return flood + sample
    if place == 'at the end':
        return sample + flood
    at = sample.find(b'\n') + 1
    return sample[:at] + flood + sample[at:]


def write_large(path, sample, unit, place, plain):
    """The same in a file, without having it in memory: what a child uses is counted from what this process has."""
    block = unit * ((1 << 20) // len(unit))
    at = {'before': 0, 'behind the first line': sample.find(b'\n') + 1, 'at the end': len(sample)}[place]
    with open(path, 'wb') as out:
        packer = None if plain else subprocess.Popen(['zstd', '-q', '-1', '-c'], stdin=subprocess.PIPE, stdout=out)
        to = out if plain else packer.stdin
        to.write(sample[:at])
        for _ in range(LARGE_MIB):
            to.write(block)
        to.write(sample[at:])
        if packer:
            to.close()
            packer.wait()


def special(sample):
    """Floods of another form: name, what makes the bytes, whether they are compressed already."""
    lines = sample.splitlines(keepends=True) or [b'']
    size = MIB << 20

    def long_name():
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        body = packer.compress(sample) + packer.flush()
        return b'\x1f\x8b\x08\x08' + bytes(6) + b'n' * size + b'\0' + body + struct.pack(
            '<II', zlib.crc32(sample), len(sample))

    made = [
        ('the last line again', lambda: lines[0] + lines[-1] * (size // max(1, len(lines[-1]))), False),
        ('the first line again', lambda: lines[0] * (size // max(1, len(lines[0]))), False),
        ('a first line with columns',
         lambda: lines[0].rstrip(b'\n') + b',a' * (size // 2) + b'\n' + b''.join(lines[1:]), False),
        ('empty zstd frames', lambda: zstd(b'') * 200000 + zstd(sample), True),
        ('skippable frames', lambda: struct.pack('<II', 0x184D2A50, 0) * 400000 + zstd(sample), True),
        ('provenance frames', lambda: (struct.pack('<II', 0x184D2A5B, 1 << 16) + b'{"a":"' + b' ' * 65528 + b'"}') * 100 +
         zstd(sample), True),
        ('a skippable frame without end', lambda: struct.pack('<II', 0x184D2A50, 0xffffffff) + zstd(sample), True),
        ('a frame cut', lambda: zstd(sample + b'\n' * size)[:-5], True),
        ('empty gzip members', lambda: gzip.compress(b'', mtime=0) * 100000 + gzip.compress(sample, mtime=0), True),
        ('a gzip name without end', long_name, True),
    ]
    if lines[0] == TRACE.encode():
        note = b'0.0,Note,0,,"{""a"":1}",\n'
        made += [
            ('notes', lambda: lines[0] + note * (size // len(note)) + lines[1], False),
            ('an endless note', lambda: lines[0] + b'0.0,Note,0,,"' + b'a' * size + b'",\n', False),
            ('notes of 1 MiB', lambda: lines[0] + (b'0.0,Note,0,,' + b'a' * ((1 << 20) - 1) + b',\n') * MIB, False),
            ('keys of 64 KiB', lambda: lines[0] + b''.join(b'0.0,Write,1,Tier-2,%05d%s,Both\n' % (i, b'k' * 65531)
                                                          for i in range(size >> 16)), False),
        ]
    return made


def separator_of(rows):
    """What stands between the fields of lines; None: they have none."""
    return '\t' if '\t' in rows[0] else ',' if ',' in rows[-1] and ',' in rows[0] and rows[-1][0] not in '[{' else None


def is_lines(sample):
    """Whether a line of it may come again."""
    rows = sample.rstrip('\n').split('\n')
    return separator_of(rows) is not None or all(r[:1] == '{' for r in rows) or rows[0].startswith('fio')


def numbers(sample):
    """Where the numbers of a sample stand, one of each column or member: pairs of begin and end."""
    rows = sample.rstrip('\n').split('\n')
    separator = separator_of(rows)
    if separator: # all fields of the second row and of the last
        for row in sorted({1, len(rows) - 1}):
            at = sum(len(r) + 1 for r in rows[:row])
            for field in rows[row].split(separator):
                if re.fullmatch(r'-?[\d.]*', field):
                    yield at, at + len(field)
                at += len(field) + 1
        return
    seen = set()
    for m in re.finditer(r'(?<![\w."-])-?\d[\d.]*(?:[eE][+-]?\d+)?(?![\w"])', sample):
        name = re.sub(r'\d', '', sample[max(0, m.start() - 24):m.start()])
        if name not in seen:
            seen.add(name)
            yield m.span()


def values():
    """The edges that are numbers, as MessagePack has them: pairs of text and value."""
    for text in EDGES:
        try:
            value = int(text)
            yield text, value if -2**63 <= value < 2**64 else float(value)
        except ValueError:
            try:
                yield text, float(text)
            except ValueError:
                pass


def coded(data, number, value):
    """A .zmqrec or .lct again, with the value in place of the number-th of its numbers; None: it has fewer."""
    left = number

    def change(v):
        nonlocal left
        if isinstance(v, dict):
            return {k: change(x) for k, x in v.items()}
        if isinstance(v, list):
            return [change(x) for x in v]
        if isinstance(v, (int, float)) and not isinstance(v, bool):
            left -= 1
            return value if left == -1 else v
        return v

    if data.startswith(b'ZMQREC1\n'):
        out = data[:8]
        for head, frames in recordings.zmq_messages(data):
            frames[2] = recordings.encode(change(recordings.decode(frames[2])[0]))
            out += head + b''.join(struct.pack('>I', len(f)) + f for f in frames)
    else:
        frames = [recordings.encode(change(r)) for r in recordings.lct_frames(data)]
        out = b''.join(struct.pack('>I', len(f)) + f for f in frames)
    return out if left < 0 else None


class Runner:
    def __init__(self, folder, data, tmp):
        self.folder, self.data, self.tmp, self.turn, self.runs = folder, data, tmp, 0, 0
        self.trace = os.path.join(tmp, 'trace.csv')
        with open(self.trace, 'w') as f:
            f.write(TRACE + WRITE + READ)

    def command(self, args, path):
        words = {'{}': path, '{data}': self.data, '{tmp}': self.tmp, '{trace}': self.trace}
        args = [re.sub(r'\{\w*\}', lambda m: words[m.group()], a) for a in args]
        args[0] = os.path.join(self.folder, args[0])
        return args

    def run(self, reader, name, path, pipe=False, statuses=None, args=None):
        """Runs the reader on a file, or on its bytes through a pipe."""
        source = path
        if pipe:
            path = os.path.join(self.tmp, 'pipe' + reader.suffix)
            if not os.path.lexists(path):
                os.symlink('/dev/stdin', path)
        said = os.path.join(self.tmp, 'said')
        with open(said, 'wb') as err:
            p = subprocess.Popen(self.command(args or reader.args, path), stdin=subprocess.PIPE if pipe else subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=err)
        timer = threading.Timer(SECONDS * (10 if SANITIZED else 1), p.kill)
        timer.start()
        begin = time.monotonic()
        if pipe:
            try:
                with open(source, 'rb') as f:
                    shutil.copyfileobj(f, p.stdin)
                p.stdin.close()
            except BrokenPipeError:
                pass
        _, status, usage = os.wait4(p.pid, 0)
        timer.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        mib, seconds = usage.ru_maxrss / 1024, time.monotonic() - begin
        self.runs += 1
        text = open(said, 'rb').read()
        wrong = []
        if p.returncode not in (statuses or {0, 1, 2, reader.most}):
            wrong.append('killed after %d s' % seconds if p.returncode == -signal.SIGKILL else 'status %d' % p.returncode)
        if mib > MEMORY_MIB and not SANITIZED:
            wrong.append('%d MiB of memory' % mib)
        if re.search(rb'[\0-\x09\x0b-\x1f\x7f]', text):
            wrong.append('control characters in its message')
        if p.returncode == 2 and not re.search(rb'(?m)^%s: ' % reader.args[0].encode(), text):
            wrong.append('no message')
        if len(text) > 8000:
            wrong.append('a message of %d bytes' % len(text))
        if os.environ.get('READERS_SHOW'):
            print('%-34s %-60s %3d %4d MiB %5.2f s %s' % (reader.name, name, p.returncode, mib, seconds,
                                                        text[:200].decode(errors='replace').strip().replace('\n', ' | ')))
        for w in wrong:
            print('%s: %s: %s' % (reader.name, name, w))
            if p.returncode < 0 or p.returncode > 4:
                print(text[:2000].decode(errors='replace'))
        sys.stdout.flush()

    def give(self, reader, name, data, ways, statuses=None):
        made = {}
        for way in ways:
            kind = way[4:]
            if kind not in made:
                made[kind] = data if kind == '' else zstd(data) if kind == '.zst' else gzip.compress(data, 1, mtime=0)
            path = os.path.join(self.tmp, 'in' + reader.suffix + kind)
            with open(path, 'wb') as f:
                f.write(made[kind])
            self.run(reader, name + ', ' + way, path, way.startswith('pipe'), statuses)

    def floods(self, reader):
        sample = load(self.data, reader.sample)
        ways = [w for w in WAYS if not reader.plain or '.' not in w]
        number = READERS.index(reader)
        # The sample alone must be taken, for otherwise the floods are refused for what is wrong with it.
        self.give(reader, 'nothing', sample, ways[:1], {0, reader.most})
        for i, (name, unit) in enumerate(UNITS.items()):
            share = THIN * (6 if name in OTHERS else 2 if reader.few else 1)
            share = 1 if name in EACH and not reader.few else share
            if not ALL and ((i + number) % share != 0 or reader.few and name in OTHERS):
                continue
            for j, place in enumerate(PLACES):
                if not ALL and j != (i + number // 3) % len(PLACES):
                    continue
                self.turn += 1
                self.give(reader, name + ' ' + place, flooded(sample, unit, MIB << 20, place),
                          ways if ALL else [ways[self.turn % len(ways)]])
        for i, (name, make, packed) in enumerate(special(sample)):
            self.turn += 1
            if packed and reader.plain or not ALL and (i + number) % (4 if packed else 1 if name in EACH else THIN) != 0:
                continue
            of = [w for w in ways if not packed or '.' not in w]
            self.give(reader, name, make(), of if ALL else [of[self.turn % len(of)]])
        if (SANITIZED or reader.few) and not ALL:
            return
        for i, (name, place) in enumerate((('LF', 'before'), ('letters', PLACES[1]), ('elements', 'at the end'))):
            if not ALL and (i + number) % 6 != 0:
                continue
            path = os.path.join(self.tmp, 'in' + reader.suffix + ('' if reader.plain else '.zst'))
            write_large(path, sample, UNITS[name], place, reader.plain)
            self.run(reader, '%d MiB of %s %s, file' % (LARGE_MIB, name, place), path, False)


    def edge(self, reader, name, data):
        """One of the reader's command lines, or all."""
        path = os.path.join(self.tmp, 'in' + reader.suffix)
        with open(path, 'wb') as f:
            f.write(data)
        lines = [reader.args, *reader.more]
        self.turn += 1
        for args in lines if ALL else [lines[self.turn // 2 % len(lines)]]:
            shutil.rmtree(os.path.join(self.tmp, 'hgrm'), ignore_errors=True)
            self.run(reader, '%s, %s' % (name, ' '.join(args)), path, args=args)

    def edges(self, reader):
        sample = load(self.data, reader.edges)
        turn = READERS.index(reader)
        if b'\0' in sample[:4096]:
            for i in range(1000 if ALL else 31):
                for j, (edge, value) in enumerate(values()):
                    if (i + j + turn) % (2 * min(STRIDE, 24)) == 0: # of few places each number is tried somewhere
                        data = coded(sample, i, value)
                        if data is None:
                            return
                        self.edge(reader, 'number %d is %s' % (i, edge), data)
            return
        text = sample.decode()
        stride = STRIDE if ALL or not reader.few else 3 * min(STRIDE, 24)
        places = list(numbers(text))
        places = places[::1 if ALL else 1 + len(places) // NUMBERS]
        for i, (begin, end) in enumerate(places):
            before, old, after = text[:begin], text[begin:end], text[end:]
            line = text.rfind('\n', 0, begin) + 1
            for j, edge in enumerate(EDGES):
                if (i + j + turn) % stride != 0:
                    continue
                changed = before + edge + after
                again = changed[line:].split('\n')[0] + '\n' # so that sums of it are made
                for many in [False] if not is_lines(text) else [False, True] if ALL else [line > 0 and self.turn % 2 == 1]:
                    self.edge(reader, '"%s" at %d is "%s"%s' % (old, begin, edge, ', many times' if many else ''),
                              (changed + again * 3 * many).encode())


def main():
    if sys.argv[1] == 'list':
        print('\n'.join(r.name for r in READERS))
        return
    runner = Runner(*sys.argv[2:5])
    test = {'floods': runner.floods, 'edges': runner.edges}[sys.argv[1]]
    # Address space, not to take a machine down; the bound of a test is that of what is touched.
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    else: # a report goes to standard error, and to nobody's log
        for name in 'ASAN', 'UBSAN', 'LSAN', 'TSAN', 'MSAN':
            os.environ[name + '_OPTIONS'] = 'halt_on_error=1:exitcode=199:print_stacktrace=1'
    for name in sys.argv[5:]:
        print('==', name, flush=True)
        test(next(r for r in READERS if r.name == name))


main()
