#!/usr/bin/env python3
"""conservation.py KVGEN DATA FOLDER COUNT [SEED] - runs COUNT random configurations of kvgen and holds each summary
against the rows of its trace. Prints a line for each difference, and how many runs were held."""
import csv
import json
import random
import subprocess
import sys
from collections import Counter

kvgen, data, folder, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
draw = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 40)
NS = 10**9
TRACE = ["-m", "tiny-1b", "--users", "5", "--duration", "60s", "--seed", "7"]  # that --retier runs through other tiers
FILES = ["mooncake_first200.jsonl", "burstgpt_30rows.csv", "azure_code_2024_excerpt.csv", "sharegpt_dummy_250.json.zst",
         "agentic_60.tar.zst", "recordings/dynamo-1.6.1-mooncake.jsonl", "recordings/dynamo-1.6.1.satf.json"]
RECORDED = ["recordings/vllm-0.33.0-bytes.zmqrec", "recordings/sglang-0.5.23.zmqrec",
            "recordings/trtllm-kv_cache_events.jsonl"]
LAST = ["0", "0", "none"]  # what a tier has that is not there


class Config:
    """The options of a run, and what the checks must know of them."""

    def __init__(self):
        self.source = draw.choice(["users"] * 6 + ["people"] * 2 + FILES + RECORDED + ["trace"] * 2)
        self.given = self.source == "trace" or self.source in RECORDED  # rows and no requests
        self.model = draw.choice(["tiny-1b", "llama3.1-8b"])
        self.node, self.rates, self.cut_ns = None, {}, None
        self.args = [] if self.source == "trace" else ["-m", self.model]
        if self.source == "users":
            self.users()
        elif self.source == "people":
            self.people()
        else:
            self.file()
        if not self.given:
            self.serving()
        self.tiers()
        self.args += draw.choice([[], [], ["--limit", str(draw.choice([1, 10, 100, 1000]))]])
        self.limited = "--limit" in self.args

    def duration(self):
        ns = draw.choice([draw.randrange(1, 1000), draw.randrange(1, 30000)]) * 10**6
        self.cut_ns = ns
        self.args += ["--duration", f"{ns // 10**6}ms"]

    def users(self):
        self.args += ["--seed", str(draw.randrange(10**6)), "--users", str(draw.choice([1, 2, 3, 7, 20]))]
        self.args += draw.choice([["--arrival", "open"], ["--arrival", "closed"],
                                  ["--arrival", "poisson", "--request-rate", "5"],
                                  ["--arrival", "gamma", "--request-rate", "5", "--config", "arrival_cv=3"]])
        self.duration()
        if draw.random() < 0.3:
            self.args += ["--enable-rag", "--rag-num-docs", str(draw.choice([1, 3, 20])), "--rag-ingest",
                          draw.choice(["before", "timed"])]
        if draw.random() < 0.2:
            self.args.append("--disable-multi-turn")
        if draw.random() < 0.3:
            self.args += ["--granularity", f"block:{draw.choice([16, 256])}"]
        self.node = draw.choice([None, None, None, "--prefill-only", "--decode-only"])
        if self.node:
            self.args.append(self.node)

    def people(self):
        self.args += ["--seed", str(draw.randrange(10**6)), "--users", str(draw.choice([1, 2, 7, 20])), "--population",
                      draw.choice(["chat", "code", "documents", "chat=70,code=20,documents=10"])]
        minutes = draw.choice([1, 10, 30])
        self.cut_ns = minutes * 60 * NS
        self.args += ["--duration", f"{minutes}m"]
        if draw.random() < 0.3:
            self.args += ["--granularity", f"block:{draw.choice([16, 256])}"]
        if draw.random() < 0.3:
            self.args.append("--prefill-only")
            self.node = "--prefill-only"

    def file(self):
        self.args += ["--input", f"{folder}/trace.csv" if self.source == "trace" else f"{data}/{self.source}"]
        if self.given:
            self.args.append("--retier")
            if self.source in RECORDED:
                self.args += ["--object-bytes", "1MiB"]
            return
        self.args += ["--seed", str(draw.randrange(10**6))]
        if not self.source.startswith("sharegpt"):  # it has no times
            self.args += ["--speed", str(draw.choice([0.5, 1, 10]))]
        if self.source.startswith("agentic"):
            self.args += ["--users", str(draw.choice([1, 5])), "--max-requests", str(draw.choice([1, 20]))]
        if draw.random() < 0.6:
            self.duration()

    def serving(self):
        self.args += ["--generation-mode", draw.choice(["none", "fast", "realistic"])]
        self.args += ["--workers", str(draw.choice([0, 1, 2, 8]))]
        blocks = self.source in ("users", "people") or self.source[:8] in ("burstgpt", "azure_co", "sharegpt")
        if self.node != "--prefill-only" and blocks:
            self.args += ["--config", "decode_reads=" + draw.choice("batch once none".split())]
        if draw.random() < 0.3 and "--max-requests" not in self.args:
            self.args += ["--max-requests", str(draw.choice([1, 5, 40]))]

    def tiers(self):
        sizes = [draw.choice(choice.split())
                 for choice in ("0 64MiB 1GiB 4GiB", "0 256MiB 2GiB 8GiB", "none 0 1GiB 16GiB")]
        if sizes == LAST:
            sizes[2] = "8GiB"
        self.args += ["--gpu-mem", sizes[0], "--cpu-mem", sizes[1], "--storage-capacity", sizes[2]]
        self.args += ["--config", "eviction=" + draw.choice("lru fifo lfu s3fifo sieve".split()),
                      "--config", "promote=" + draw.choice(["none", "on-hit"])]
        if self.given or draw.random() < 0.5:
            return
        for tier in [n for n in (0, 1, 2) if sizes[n] != LAST[n]]:
            self.rates[tier] = [draw.choice([50, 500, 5000]) * 10**6 for _ in "rw"]
            self.args += ["--tier-model", f"{tier}=read:{self.rates[tier][0] // 10**6}MB/s,"
                          f"write:{self.rates[tier][1] // 10**6}MB/s,lat:{draw.choice(['0', '100us', '3ms'])}"]
        if draw.random() < 0.3 and self.rates:
            self.args += ["--max-concurrent-allocs", str(draw.choice([1, 3]))]


def scaled(text, digits):
    """A number without an exponent, in units of 10^-digits, cut off behind them. (Fraction takes ten times as long.)"""
    whole, _, part = text.partition(".")
    return int(whole + part[:digits].ljust(digits, "0"))


def ns(text):
    return scaled(text, 9)


def end_of(row):
    return ns(row["Timestamp"]) + scaled(row["Duration_us"], 3)


class Held:
    """One run: its summary, its rows, and what differs between them."""

    def __init__(self, config):
        self.c, self.wrong = config, []
        run = subprocess.run([kvgen, *config.args, "--no-notes", "--summary", f"{folder}/s.json", "-o",
                              f"{folder}/t.csv"], capture_output=True, text=True, timeout=100)
        if run.returncode != 0:
            self.wrong.append(f"exit status {run.returncode}: {run.stderr[-300:]}")
            return
        with open(f"{folder}/s.json") as file:
            self.s = json.load(file)
        with open(f"{folder}/t.csv", newline="") as file:
            self.rows = list(csv.DictReader(file))
        self.end = int(round(self.s["trace"]["simulated_s"] * NS))
        self.same("rows", self.s["trace"]["rows"], len(self.rows))
        self.requests()
        self.tiers()
        self.lookups()
        for tier in self.s["tiers"]:
            if int(tier["tier"][-1]) in config.rates:
                self.servers(tier)

    def same(self, what, told, counted):
        if told != counted:
            self.wrong.append(f"{what}: {told} told, {counted} counted")

    def requests(self):
        """Each that arrived is in one place."""
        r, c = self.s["requests"], self.c
        self.same("issued", r["issued"], r["completed"] + r["in_progress"] + r["waiting"])
        self.same("served", r["served"], r["completed"] + r["in_progress"])
        if r["waiting_by_qos"]:
            self.same("waiting by class", r["waiting"], sum(r["waiting_by_qos"].values()))
            self.same("queued", r["issued"], sum(q["count"] if q else 0 for q in r["queue_by_qos_ms"].values()))
        if not c.given:  # a Generate row of a recording has no class
            self.same("completed by class", r["completed"], sum(r["by_qos"].values()))
        for part in ("end_to_end_ms", "queue_ms", "storage_ms", "generation_ms"):
            self.same(part, r[part]["count"] if r[part] else 0, 0 if c.given else r["completed"])
        answers = [row for row in self.rows if row["Operation"] == "Generate" and row["Phase"] != "Prefill"]
        if not c.given and "timed" not in c.args:  # documents have numbers, too
            numbers = {int(row["Request"]) for row in self.rows if row["Request"]}
            if len(numbers) > r["served"] or (numbers and max(numbers) > r["issued"]):
                self.same("requests with rows, at most", r["served"], len(numbers))
        # A run that ends at its last answer has that answer; one that is cut has what ended before.
        whole = not c.limited and self.end != c.cut_ns
        ended = [row for row in answers if c.given or end_of(row) < self.end + whole]
        if not c.limited:
            self.same("completed", r["completed"], len(ended))
            self.same("generated tokens", r["generated_tokens"], sum(int(row["Tokens"] or 0) for row in ended))
        elif len(ended) > r["completed"]:
            self.same("completed, at least", r["completed"], len(ended))

    def tiers(self):
        """What was written to a tier is there, or has left it: moved, or deleted."""
        place, n = {}, [Counter() for _ in range(3)]
        for row in self.rows:
            op, key, phase = row["Operation"], row["Key"], row["Phase"]
            if op not in ("Read", "Write", "Delete"):
                continue
            t, size = int(row["Tier"][-1]), int(row["Object_Size_Bytes"])
            what, moves = n[t], phase == "Evict"
            what[op] += 1
            what[op + " bytes"] += size
            if op == "Write":
                if key in place or (moves and key + " moves" not in place):
                    self.wrong.append(f"{key}: {'moved without a read' if moves else 'written where it lies'}")
                if moves and place.pop(key + " moves", size) != size:
                    self.wrong.append(f"{key}: changed its size")
                place[key] = t, size
                what["bytes"] += size
                what["objects"] += 1
                what["peak"] = max(what["peak"], what["bytes"])
            elif place.get(key) != (t, size):
                if not self.c.given or op == "Delete" or moves:
                    self.wrong.append(f"{key}: {op} of {size} in {t}, it is {place.get(key)}")
            elif op == "Delete" or moves:
                del place[key]
                what["bytes"] -= size
                what["objects"] -= 1
                what["promoted" if row["Class"] == "promote" and op == "Read" else
                     "deleted" if op == "Delete" else "evicted"] += 1
                if op == "Read":
                    place[key + " moves"] = size
        for tier in self.s["tiers"]:
            c = n[int(tier["tier"][-1])]
            for told, counted in (("read_ops", "Read"), ("read_bytes", "Read bytes"), ("write_ops", "Write"),
                                  ("write_bytes", "Write bytes"), ("delete_ops", "deleted"), ("evict_ops", "evicted"),
                                  ("peak_bytes", "peak"), ("final_bytes", "bytes"), ("final_objects", "objects")):
                self.same(f"{tier['tier']} {told}", tier[told], c[counted])
        by = Counter((row["Operation"], row["Tier"] or None, row["Phase"] or None) for row in self.rows)
        self.same("rows_by", {(x["op"], x["tier"], x["phase"]): x["rows"] for x in self.s["rows_by"]}, dict(by))

    def lookups(self):
        hits = Counter(row["Class"] for row in self.rows if row["Operation"] == "Read" and row["Phase"] != "Evict")
        misses = Counter(row["Class"] for row in self.rows if row["Operation"] == "Miss")
        for name, told in self.s["lookups"].items():
            if name != "all":
                self.same(f"{name} hits and misses", (told["hits"], told["misses"]), (hits[name], misses[name]))

    def servers(self, tier):
        """Busy for as long as the rows say, up to the end: one server reads, and one writes."""
        number = int(tier["tier"][-1])
        for op, rate, name in (("Read", self.c.rates[number][0], "read"), ("Write", self.c.rates[number][1], "write")):
            free = work = moved = 0
            for row in self.rows:
                # What is there before the first request took no time.
                if row["Operation"] == op and row["Tier"] == tier["tier"] and row["Request"]:
                    time = -(-int(row["Object_Size_Bytes"]) * NS // rate)
                    free = max(free, ns(row["Timestamp"])) + time
                    work += time
                    moved += 1
            share = (work - max(0, free - self.end)) / self.end if self.end else None
            told = tier[name]["busy_share"]
            if moved and told is not None and (abs(told - share) > 1e-9 * (1 + moved) or told > 1):
                self.same(f"{tier['tier']} {name} busy_share", told, share)


subprocess.run([kvgen, *TRACE, "--gpu-mem", "1GiB", "--progress", "none", "-o", f"{folder}/trace.csv"], check=True,
               capture_output=True)
for number in range(count):
    config = Config()
    for line in Held(config).wrong:
        print(f"{number}: {line}: kvgen {' '.join(config.args)}")
print(f"{count} held")
