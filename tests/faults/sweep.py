#!/usr/bin/env python3
"""sweep.py [options] - lets every allocation, system call, thread and request of io_uring of the programs fail, one in each
run, and judges how each run ended. Prints a table; exit status 1 if there are findings.

  --build DIR      the build to test (default: $BUILD, or build)
  --only TEXT      only cases whose name holds TEXT; may be repeated
  --kind KIND      only this kind of failure (see fail_nth.c); may be repeated. Of KIND,KIND... each case has one, the next case
                   the next one
  --sample N       N points of each case and kind, a fixed stride apart (default: every point)
  --seed S         which of them: the first is drawn with this seed (default: 1)
  --point N        only point N: prints the run's output, and where in the program it failed
  --jobs N         runs at the same time (default: one a processor)
  --count          only counts the points, and lets none fail
  --table FILE     keeps the lines of the table in FILE, a case and kind each, and leaves out those that are there already
                   without a finding: a whole run in pieces, which ends with the table of all of it
  --messages       also prints each error message that a program ended with, once

A run has ended well
  right   with status 0 and what the undisturbed run wrote: the same standard output, the same files
  error   with status 1, 2 or 3, and a message "program: what and why"
and in both cases it left no file that the undisturbed run does not leave, unless its messages name it or its folder, and
changed no file of others. Everything else is a finding: a signal, no end, a sanitizer's report, 0 with another output."""
import argparse
import concurrent.futures
import csv
import io
import json
import os
import random
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DATA = os.path.join(TOP, "tests/data")
KINDS = ["memory", "thread", "call", "call-space", "call-interrupted", "call-short", "ring", "ring-short"]
NEVER_ENDS_S = 60
SHOWN = 12
REPORT = "Q56sQ24Q"  # struct report of fail_nth.c
CALLERS = 4


# ---- what of an output must be the same ----

def exact(data):
    return data


def rows(data):
    """Of a result: what was done to which object, and how it ended; not when."""
    table = [r for r in csv.DictReader(io.StringIO(data.decode())) if r["Operation"] != "Note"]
    return sorted(tuple(r[c] for c in ("Operation", "Object_Size_Bytes", "Tier", "Key", "Status")) for r in table)


def compressed_rows(data):
    return rows(subprocess.run(["zstd", "-dcq"], input=data, stdout=subprocess.PIPE, check=True).stdout)


def replay_summary(data):
    tree = json.loads(data)
    moved = [(t["tier"], op, t[op]["ops"], t[op]["bytes"]) for t in tree["tiers"] for op in ("read", "write")]
    return tree["rows"], moved


def fill_summary(data):
    """Without what depends on time."""
    tree = json.loads(data)
    return sorted(tree), tree["complete"], tree["written_bytes"], [(t["path"], t["files"], t["written_bytes"]) for t in tree["targets"]]


def document(data):
    """JSON without when and how it was made."""
    tree = json.loads(data)
    for part in (tree, tree.get("trace", {})):
        for name in ("started", "command", "wall_s", "rows_per_s"):
            part.pop(name, None)
    return tree


def sheets(data):
    """A spreadsheet without the time at which it was written."""
    z = zipfile.ZipFile(io.BytesIO(data))
    return {n: z.read(n) for n in z.namelist() if n != "docProps/core.xml"}


# ---- the cases ----

class Case:
    def __init__(self, name, args, outputs=None, stdin=None, but=(), path=None):
        self.name = name            # "program: what"
        self.args = args.split()    # {in}: the inputs, {data}: tests/data, {top}: the sources
        self.outputs = outputs or {}  # name in the run's folder: what of it must be the same
        self.stdin = stdin
        self.but = but              # kinds that this case has no use for
        self.path = path            # PATH, where a program that it may run must not be found
        self.program = self.args[0]


STDOUT = "-"
# Children of a program die under the filter of system calls (see fail_nth.c).
CALLS = ("call", "call-space", "call-interrupted", "call-short")
RINGS = ("ring", "ring-short")  # no I/O of kvgen and kvstat goes through io_uring
REPLAY = "kvreplay --gpu off --cpu-mem 1MiB --progress none "
REPLAYED = {"r.csv": rows, "s.json": replay_summary}
KVPRECOND = {"s.json": fill_summary}
CASES = [
    Case("kvgen: users", "kvgen --num-users 2 --duration 2 --enable-rag --summary s.json -o o.csv.zst",
         {"o.csv.zst": exact, "s.json": document}),
    Case("kvgen: to standard output", "kvgen --num-users 2 --duration 2 --curve c.csv", {STDOUT: exact, "c.csv": exact}),
    Case("kvgen: sessions", "kvgen --max-requests 20 --input {in}/sessions.tar.zst -o o.csv", {"o.csv": exact}),
    Case("kvgen: conversations", "kvgen --max-requests 20 --input {data}/sharegpt_dummy_250.json.zst -o o.csv", {"o.csv": exact}),
    Case("kvgen: blocks, from standard input", "kvgen --max-requests 20 --source mooncake --input - -o o.csv", {"o.csv": exact},
         stdin="{data}/mooncake_first200.jsonl"),
    Case("kvgen: a trace to fio", "kvgen --source trace --input {in}/t.csv.zst --format fio -o o.iolog",
         {"o.iolog": exact, "o.fio": exact}),
    Case("kvgen: a trace to an op-log", "kvgen --source trace --input {in}/t.csv.zst --format sai3 -o o.tsv.zst", {"o.tsv.zst": exact}),
    Case("kvgen: a configuration", "kvgen --config {top}/examples/kvtrace.yaml --max-requests 1 -o o.csv", {"o.csv": exact}),
    Case("kvgen: a model", "kvgen --model {data}/models/gemma-3-27b.json --show-model", {STDOUT: exact}),
    Case("kvgen: worth", "kvgen --num-users 2 --duration 2 --gpu-mem 1GiB --gpu-profile h100 --tier-model 2=nvme-gen4 -o none --worth",
         {STDOUT: exact}),
    Case("kvgen: engines that share files", "kvgen --max-requests 6 --input {data}/mooncake_first200.jsonl --model tiny-1b "
         "--params 1e9 --cache vllm:shared=yes,block_size=512,share=25% --config engines=3 --config route=round-robin --gpu-mem 1GiB "
         "--cpu-mem 60MiB --storage-capacity 500MiB --on-full evict -o o.csv", {"o.csv": exact}),
    Case("kvgen: a waterfall in steps", "kvgen --max-requests 6 --input {data}/mooncake_first200.jsonl --model tiny-1b "
         "--params 1e9 --gpu-profile h100 --cache waterfall:block_size=512 --config promote=on-hit --gpu-mem 512MiB --cpu-mem 60MiB "
         "--storage-capacity 500MiB -o o.csv", {"o.csv": exact}),
    Case("kvreplay: memory", REPLAY + "--tier-engine 2=mem --summary s.json -o r.csv {in}/small.csv", REPLAYED),
    Case("kvreplay: files, io_uring", REPLAY + "--target folder1 --summary s.json -o r.csv {in}/small.csv", REPLAYED),
    Case("kvreplay: files, psync, served", REPLAY + "--target folder1 --config ioengine=psync --timing served --speed 1000 --workers 2 "
         "--summary s.json -o r.csv {in}/small.csv", REPLAYED),
    Case("kvreplay: files to keep", REPLAY + "--target folder1 --keep --summary s.json -o r.csv.zst {in}/small.csv.zst",
         {"r.csv.zst": compressed_rows, "s.json": replay_summary}),
    Case("kvreplay: what is read was there before", REPLAY + "--target folder1 --chunk-size 8KiB --summary s.json -o r.csv -",
         REPLAYED, stdin="{in}/reads.csv"),
    Case("kvreplay: a slab", REPLAY + "--target folder1 --layout slab --summary s.json -o r.csv {in}/small.csv", REPLAYED),
    Case("kvreplay: several targets", REPLAY + "--target folder1 --target folder2 --summary s.json -o r.csv {in}/small.csv", REPLAYED),
    Case("kvreplay: as LMCache stores", REPLAY + "--target file:folder1?like=lmcache-fs --summary s.json -o r.csv {in}/small.csv", REPLAYED),
    Case("kvreplay: as vLLM stores", REPLAY + "--target file:folder1?like=vllm-fs --summary s.json -o r.csv {in}/small.csv", REPLAYED),
    Case("kvstat: a screen", "kvstat {in}/r.csv.zst", {STDOUT: exact}),
    Case("kvstat: text", "kvstat --full --by user --reuse {in}/r.csv.zst", {STDOUT: exact}),
    Case("kvstat: JSON", "kvstat --json --run {in}/s.json -o o.json {in}/r.csv", {"o.json": document}),
    Case("kvstat: CSV", "kvstat --csv --interval 0.1 -", {STDOUT: exact}, stdin="{in}/r.csv.zst"),
    Case("kvstat: a spreadsheet", "kvstat --xlsx o.xlsx {in}/r.csv.zst", {STDOUT: exact, "o.xlsx": sheets},
         # libxlsxwriter looks neither at what malloc returns nor at what reads and writes of its temporary files do.
         but=("memory", "call", "call-space", "call-interrupted")),
    Case("kvstat: a page, without gnuplot", "kvstat --html o.html {in}/r.csv.zst", {"o.html": exact}, path="{run}"),
    Case("kvstat: a comparison", "kvstat --compare {in}/r.csv.zst {in}/r.csv", {STDOUT: exact}),
    Case("kvstat: trials", "kvstat --json {in}/r.csv.zst {in}/r.csv", {STDOUT: document}),
    Case("kvstat: a summary", "kvstat {in}/g.json", {STDOUT: exact}),
    Case("kvstat: a job for fio", "kvstat --fio-job o.fio {in}/r.csv.zst", {STDOUT: exact, "o.fio": exact}),
    Case("kvstat: a check of a trace", "kvstat --verify-trace {in}/t.csv.zst", {STDOUT: exact}),
    Case("kvprecond: a folder", "kvprecond --size 1M --seed 7 --summary s.json folder1", KVPRECOND),
    Case("kvprecond: to keep, random", "kvprecond --size 256K --seed 7 --mode random --block-size 16K --keep --summary s.json folder1", KVPRECOND),
    Case("kvprecond: objects", "kvprecond --size 1M --seed 7 --mode kv --model {in}/model.json --threads 2 --config iodepth=2 "
         "--summary s.json folder1", KVPRECOND),
    Case("kvprecond: a stream", "kvprecond --mode stream --size 1M --seed 7 --config chunk_size=128K --buffered --config fadvise=dontneed "
         "--summary s.json folder1", KVPRECOND),
    Case("kvprecond: several targets", "kvprecond --size 512K --seed 7 --target folder1 --target folder2 --summary s.json", KVPRECOND),
    Case("kvprecond: a file", "kvprecond --size 512K --seed 7 --json file:folder1", {STDOUT: fill_summary}),
]


def make_inputs(bin_dir, folder):
    head = "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us\n"
    tail = "{i},u{i},batch,user,1,0.{i},\n"
    with open(folder + "/small.csv", "w") as small, open(folder + "/reads.csv", "w") as reads:
        small.write(head)
        reads.write(head)
        for i in range(1, 7):
            for t in (1, 2):
                for op, phase in (("Write", "Prefill"), ("Read", "Decode")):
                    row = f"0.{i},{op},{9000 if t == 2 else 5000},Tier-{t},k{i},{phase}," + tail.format(i=i)
                    small.write(row)
                    if op == "Read":
                        reads.write(row)
    with open(folder + "/model.json", "w") as f:
        json.dump({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 1,
                   "torch_dtype": "bfloat16"}, f)
    run = lambda *args: subprocess.run([bin_dir + "/" + args[0], *args[1:]], cwd=folder, check=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run("kvgen", "--num-users", "2", "--duration", "2", "--summary", "g.json", "-o", "t.csv.zst")
    run("kvgen", "--source", "trace", "--input", "small.csv", "-o", "small.csv.zst")
    for out in ("r.csv.zst", "r.csv"):
        run("kvreplay", "--gpu", "off", "--cpu-mem", "1MiB", "--target", "d", "--summary", "s.json", "-o", out, "small.csv")
    # One session with sub-agents and one without.
    subprocess.run(f"zstd -dcq --long=27 {shlex.quote(DATA)}/agentic_60.tar.zst | tar -x trace_0057.json trace_0291.json && "
                   "tar -c trace_0057.json trace_0291.json | zstd -q >sessions.tar.zst", shell=True, cwd=folder, check=True)


# ---- one run ----

THEIRS = {"theirs": b"not ours\n", "folder1.theirs": b"nor this\n", "tmp/theirs": b"nor that\n"}


class Run:
    """What a run of a case left behind."""

    def __init__(self, at, case, env):
        self.folder = tempfile.mkdtemp(dir=at["runs"])
        os.mkdir(self.folder + "/tmp")
        for name, text in THEIRS.items():
            with open(os.path.join(self.folder, name), "wb") as f:
                f.write(text)
        report = os.path.join(at["runs"], os.path.basename(self.folder) + ".report")
        with open(report, "wb") as f:
            f.write(bytes(struct.calcsize(REPORT)))
        words = {"in": at["in"], "data": DATA, "top": TOP, "run": self.folder}
        args = [a.format(**words) for a in case.args[1:]]
        env = dict(at["env"], TMPDIR=self.folder + "/tmp", FAIL_REPORT=report, **env)
        if case.path:
            env["PATH"] = case.path.format(**words)
        stdin = open(case.stdin.format(**words), "rb") if case.stdin else subprocess.DEVNULL
        p = subprocess.Popen([os.path.join(at["bin"], case.program), *args], cwd=self.folder, env=env, stdin=stdin,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            self.stdout, self.stderr = p.communicate(timeout=NEVER_ENDS_S)
            self.status = p.returncode
        except subprocess.TimeoutExpired:
            p.kill()
            self.stdout, self.stderr = p.communicate()
            self.status = None
        if case.stdin:
            stdin.close()
        with open(report, "rb") as f:
            self.count, failed, program, *frames = struct.unpack(REPORT, f.read())
        self.failed = failed.rstrip(b"\0").decode()
        self.callers = [a - program for a in frames if a > program]  # what lies above it are libraries
        self.stderr = self.stderr.decode(errors="replace")
        self.files = set()
        for base, folders, files in os.walk(self.folder):
            # Without the epoch in names of objects.
            self.files |= {re.sub(r"-[0-9a-f]{8}(?=\.kv$)", "", os.path.relpath(os.path.join(base, n), self.folder)) for n in folders + files}
        os.unlink(report)

    def content(self, name):
        if name == STDOUT:
            return self.stdout
        with open(os.path.join(self.folder, name), "rb") as f:
            return f.read()

    def outputs(self, case):
        return {name: same(self.content(name)) for name, same in case.outputs.items()}

    def drop(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def left_behind(run, usual):
    """Files that an undisturbed run does not leave and no message names: by their path, or that of a folder above."""
    for name in sorted(run.files - usual.files):
        named = name
        while named and named not in ("tmp",) and os.path.basename(named) not in run.stderr:
            named = os.path.dirname(named)
        if not named or named == "tmp":
            yield name


def finding(case, run, usual, wanted):
    """Returns what is wrong with how the run ended; None: nothing."""
    if run.status is None:
        return f"no end in {NEVER_ENDS_S} s"
    if run.status < 0:
        return f"signal {-run.status}"
    if re.search(r"Sanitizer|runtime error:", run.stderr):
        return "a sanitizer's report"
    for name, text in THEIRS.items():
        if name not in run.files or run.content(name) != text:
            return f"changed {name}, which is not its own"
    for name in left_behind(run, usual):
        return f"left {name} behind"
    if run.status == 0:
        missing = usual.files - run.files
        if missing:
            return f"status 0 without {sorted(missing)[0]}"
        try:
            got = run.outputs(case)
        except Exception as e:  # whatever a damaged output does to who reads it
            return f"status 0 with an output that cannot be read ({e!r})"
        for name in wanted:
            if got[name] != wanted[name]:
                return f"status 0 with another {'output' if name == STDOUT else name}"
        return None
    if run.status not in (1, 2, 3):
        return "not a status of this program"
    # Where the message itself could not be written there is none.
    if not re.search(rf"^{case.program}: .", run.stderr, re.M) and run.failed not in ("write", "writev"):
        return "an error without a message"
    return None


def place(binary, callers):
    """Where in the program it was that a call failed: functions and lines, innermost first."""
    size = os.path.getsize(binary)
    ours = [hex(a - 1) for a in callers if a < size][:CALLERS]
    if not ours or not shutil.which("addr2line"):
        return ""
    said = subprocess.run(["addr2line", "-sfe", binary, *ours], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return " < ".join(f"{f} {line.split(' ')[0]}" for f, line in zip(said[::2], said[1::2]))


# ---- all points of a case and a kind ----

def points(count, args, name):
    if args.point:
        return [args.point]
    if not args.sample or args.sample >= count:
        return range(1, count + 1)
    stride = count // args.sample
    return range(1 + random.Random(f"{args.seed} {name}").randrange(stride), count + 1, stride)


def sweep(at, case, kind, args, pool):
    """Returns [points, right, errors] and a list of findings (point, what failed, what is wrong)."""
    usual = Run(at, case, {"FAIL_NTH": kind + ":0"})
    try:
        if usual.status != 0:
            return [0, 0, 0], [(0, "", f"undisturbed: status {usual.status}: {usual.stderr.strip()[-300:]}")]
        wanted = usual.outputs(case)
    finally:
        usual.drop()

    def one(n):
        run = Run(at, case, {"FAIL_NTH": f"{kind}:{n}"})
        try:
            wrong = finding(case, run, usual, wanted)
        finally:
            run.drop()
        if args.point:
            print(run.stdout.decode(errors="replace")[:2000], run.stderr, f"status {run.status}",
                  place(os.path.join(at["bin"], case.program), run.callers), sep="\n")
        return n, run, wrong

    totals, found = [0, 0, 0], []
    if args.count:
        return [usual.count, 0, 0], found
    for n, run, wrong in pool.map(one, points(usual.count, args, f"{case.name} {kind}")):
        if not run.failed:  # threads take turns: this run had fewer
            continue
        totals[0] += 1
        if wrong:
            said = run.stderr.strip().replace(at["scratch"], "").splitlines()
            found.append((n, run.failed, f"{wrong}; status {run.status}: {' | '.join(said[-2:])[:150]}"
                          f"\n        {place(os.path.join(at['bin'], case.program), run.callers)}"))
        else:
            totals[1 if run.status == 0 else 2] += 1
        if run.status and not wrong:
            for line in run.stderr.splitlines():
                at["messages"].setdefault((case.program, kind, run.status, run.failed,
                                           re.sub(r"\d+", "N", line.replace(at["scratch"], ""))[:150]), n)
    return totals, found


COLUMNS = f"{'points':>6} {'right':>6} {'error':>6} {'findings':>8}"


def columns(n):
    return f"{n[0]:6} {n[1]:6} {n[2]:6} {n[3]:8}"


LINE = "%-43s %-17s %s"


def known_lines(path):
    """The whole lines of a table that was kept: points, right, errors and findings of each case and kind."""
    lines = {}
    if path and os.path.exists(path):
        with open(path) as f:
            for line in f:
                numbers = line.split()[-4:]
                if line.endswith("\n") and len(numbers) == 4:
                    lines[line[:43].strip(), line[44:61].strip()] = [int(n) for n in numbers]
    return {name: n for name, n in lines.items() if n[3] == 0}


def print_sums(sums):
    """The table of all cases, by program and kind; the line of all comes last."""
    everything = sums.setdefault(("all", ""), [0] * 4)
    print(f"\n{'program':11} {'failure':17} {COLUMNS}")
    for (program, kind), n in sorted(sums.items()):
        if program != "all" and n[0]:
            print(f"{program:11} {kind:17} {columns(n)}")
    print(f"{'all':29} {columns(everything)}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--build", default=os.environ.get("BUILD", "build"))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--kind", action="append", default=[])
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--point", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--count", action="store_true")
    parser.add_argument("--table", default="")
    parser.add_argument("--messages", action="store_true")
    args = parser.parse_args()
    if args.table and (args.sample or args.count or args.point):
        sys.exit("sweep.py: --table has all points of a case and kind: without --sample, --count and --point")
    build = os.path.join(TOP, args.build)
    library = build + "/tests/faults/fail_nth.so"
    if not os.path.exists(library):
        sys.exit(f"sweep.py: {library} was not built (make unit)")

    with open(build + "/flags") as f:
        flags = f.read()
    sanitized = "fsanitize" in flags
    kinds = args.kind or [k for k in KINDS if not (sanitized and k == "memory")]  # sanitizers have their own allocator
    turns = [k.split(",") for k in kinds]  # each case has one of each
    for k in sum(turns, []):
        if k not in KINDS:
            parser.error(f"{k}: none of {' '.join(KINDS)}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kvtrace-faults.") as scratch, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        at = {"bin": build + "/bin", "in": scratch + "/in", "runs": scratch + "/runs", "scratch": scratch, "messages": {},
              "env": dict(os.environ, LD_PRELOAD=library, ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0:exitcode=199",
                          LC_ALL="C", NO_COLOR="1")}
        if "coverage" in flags:
            at["env"]["FAIL_UNTIL_EXIT"] = "1"
        os.mkdir(at["in"])
        os.mkdir(at["runs"])
        make_inputs(at["bin"], at["in"])
        known = known_lines(args.table)
        sums = {}  # by program and kind: points, right, errors, findings
        print(f"{'program and case':43} {'failure':17} {COLUMNS}")
        for turn, case in enumerate(CASES):
            if args.only and not any(text in case.name for text in args.only):
                continue
            for group in turns:
                its = [k for k in group if k not in case.but and not (k in RINGS and case.program in ("kvgen", "kvstat"))]
                if not its:
                    continue
                kind = its[(turn + args.seed) % len(its)]
                numbers, found = known.get((case.name, kind)), []
                if not numbers:
                    totals, found = sweep(at, case, kind, args, pool)
                    numbers = totals + [len(found)]
                    if args.table:
                        with open(args.table, "a") as f:
                            print(LINE % (case.name, kind, columns(numbers)), file=f)
                if numbers[0] or found:
                    print(LINE % (case.name, kind, columns(numbers)), flush=True)
                for n, failed, wrong in found[:SHOWN]:
                    print(f"    {kind}:{n} ({failed}): {wrong}")
                if len(found) > SHOWN:
                    print(f"    and {len(found) - SHOWN} more")
                for key in ((case.program, kind), ("all", "")):
                    sums[key] = [a + b for a, b in zip(sums.get(key, [0] * 4), numbers)]
        print_sums(sums)
        if args.messages:
            for key, n in sorted(at["messages"].items()):
                print(*key, f"(point {n})")
    print(f"{time.monotonic() - began:.0f} s")
    sys.exit(1 if sums["all", ""][3] else 0)


main()
