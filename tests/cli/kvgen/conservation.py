#!/usr/bin/env python3
"""conservation.py KVGEN DATA FOLDER COUNT [SEED] - runs COUNT random configurations of kvgen and holds each summary
against the rows of its trace. Prints a line for each difference, and how many runs were held."""
import csv
import json
import random
import subprocess
import sys
from fractions import Fraction

kvgen, data, folder, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
draw = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 40)
NS = 10**9


def configuration():
    """The arguments of a run, and what the checks must know of it."""
    source = draw.choice(["users"] * 4 + ["mooncake_first200.jsonl", "burstgpt_30rows.csv", "azure_code_2024_excerpt.csv",
                                          "sharegpt_dummy_250.json.zst"])
    model = draw.choice(["tiny-1b", "llama3.1-8b"])
    args = ["-m", model, "--seed", str(draw.randrange(10**6))]
    if source == "users":
        args += ["--users", str(draw.choice([1, 2, 3, 7, 20])), "--duration", f"{draw.choice([1, 3, 10, 30])}s",
                 "--arrival", draw.choice(["open", "closed"])]
        if draw.random() < 0.3:
            args += ["--enable-rag", "--rag-num-docs", str(draw.choice([1, 3, 20])), "--rag-ingest",
                     draw.choice(["before", "timed"])]
        if draw.random() < 0.2:
            args.append("--disable-multi-turn")
        if draw.random() < 0.3:
            args += ["--granularity", f"block:{draw.choice([16, 256])}"]
    else:
        args += ["--input", f"{data}/{source}"]
        if not source.startswith("sharegpt"):  # it has no times
            args += ["--speed", str(draw.choice([0.5, 1, 10]))]
        if draw.random() < 0.5:
            args += ["--duration", f"{draw.choice([1, 20, 90])}s"]
    node = draw.choice([None, None, None, "--prefill-only", "--decode-only"]) if source == "users" else None
    if node:
        args.append(node)
    compute = draw.random() < 0.4 and node != "--decode-only"
    if compute:
        args += ["--gpu-profile", draw.choice(["h100", "l40s"]), "--engines", str(draw.choice([1, 2, 4]))]
        if model == "tiny-1b":
            args += ["--params", "1e9"]
    else:
        args += ["--generation-mode", draw.choice(["none", "fast", "realistic"])]
    sizes = [draw.choice(choice.split()) for choice in ("0 64MiB 1GiB 4GiB", "0 256MiB 2GiB 8GiB", "none 0 1GiB 16GiB")]
    if sizes == ["0", "0", "none"]:
        sizes[2] = "8GiB"
    args += ["--gpu-mem", sizes[0], "--cpu-mem", sizes[1], "--storage-capacity", sizes[2]]
    rates = {}
    if draw.random() < 0.5:
        for tier in [n for n in (0, 1, 2) if sizes[n] != ("0", "0", "none")[n]]:
            rates[tier] = [draw.choice([50, 500, 5000]) * 10**6 for _ in "rw"]
            args += ["--tier-model", f"{tier}=read:{rates[tier][0] // 10**6}MB/s,write:{rates[tier][1] // 10**6}MB/s,"
                     f"lat:{draw.choice(['0', '100us', '3ms'])}"]
    args += ["--eviction", draw.choice("lru fifo lfu s3fifo sieve".split()), "--promote", draw.choice(["none", "on-hit"]),
             "--workers", str(draw.choice([0, 1, 2, 8]))]
    if node != "--prefill-only" and not source.startswith("mooncake"):
        args += ["--decode-reads", draw.choice("batch once none".split())]
    if draw.random() < 0.3:
        args += ["--max-requests", str(draw.choice([1, 5, 40]))]
    return args, compute, rates, node


def ns(text):
    return int(Fraction(text) * NS)


def end_of(row):
    return ns(row["Timestamp"]) + int(Fraction(row["Duration_us"]) * 1000)


def check(args, compute, rates, node):
    """The differences between the rows and the summary of one run."""
    run = subprocess.run([kvgen, *args, "--no-notes", "--summary", f"{folder}/s.json", "-o", f"{folder}/t.csv"],
                         capture_output=True, text=True, timeout=100)
    if run.returncode != 0:
        return [f"exit status {run.returncode}: {run.stderr[-300:]}"]
    with open(f"{folder}/s.json") as file:
        s = json.load(file)
    with open(f"{folder}/t.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    end = int(round(s["trace"]["simulated_s"] * NS))
    wrong = []

    def same(what, told, counted):
        if told != counted:
            wrong.append(f"{what}: {told} told, {counted} counted")

    # Requests: each that arrived is in one place.
    r = s["requests"]
    same("issued", r["issued"], r["completed"] + r["in_progress"] + r["waiting"])
    same("served", r["served"], r["completed"] + r["in_progress"])
    if r["waiting_by_qos"]:
        same("waiting by class", r["waiting"], sum(r["waiting_by_qos"].values()))
        same("queued", r["issued"], sum(q["count"] if q else 0 for q in r["queue_by_qos_ms"].values()))
    for part in ("end_to_end_ms", "queue_ms", "storage_ms", "generation_ms"):
        same(part, r[part]["count"] if r[part] else 0, r["completed"])
    answers = [row for row in rows if row["Operation"] == "Generate" and row["Phase"] != "Prefill"]
    cut = "--duration" in args and ns(args[args.index("--duration") + 1][:-1]) == end
    if not (node == "--prefill-only" and compute):
        ended = [row for row in answers if end_of(row) < end + (not cut)]
        same("completed", r["completed"], len(ended))
        same("generated tokens", r["generated_tokens"], sum(int(row["Tokens"] or 0) for row in ended))

    # Bytes: what was written to a tier is there, or has left it.
    place, held, came, went = {}, [0] * 3, [0] * 3, [0] * 3
    for row in rows:
        op, key = row["Operation"], row["Key"]
        if op not in ("Write", "Delete"):
            continue
        tier, size = int(row["Tier"][-1]), int(row["Object_Size_Bytes"])
        if key in place:
            old = place.pop(key)
            if op == "Write" and row["Phase"] != "Evict":
                wrong.append(f"{key}: written where it lies")
            went[old] += size
        elif op == "Delete" or row["Phase"] == "Evict":
            wrong.append(f"{key}: {op} of what is not there")
        if op == "Write":
            place[key] = tier
            came[tier] += size
    for tier in s["tiers"]:
        n = int(tier["tier"][-1])
        same(f"Tier-{n} written", tier["write_bytes"], came[n])
        if not rates:  # what is under way is in no row yet
            same(f"Tier-{n} live", tier["final_bytes"], came[n] - went[n])

    # Engines and tiers: busy for as long as their rows say, up to the end.
    if compute:
        busy = sum(min(end, end_of(row)) - ns(row["Timestamp"])
                   for row in rows if row["Operation"] == "Generate" and row["Phase"] == "Prefill")
        same("engine_s", s["prefill"]["engine_s"], busy / NS)
        if s["prefill"]["busy_share"] and s["prefill"]["busy_share"] > 1:
            wrong.append("busy_share above 1")
    for tier in s["tiers"]:
        n = int(tier["tier"][-1])
        if n not in rates:
            continue
        for op, rate, name in (("Read", rates[n][0], "read"), ("Write", rates[n][1], "write")):
            free = work = moved = 0
            for row in rows:
                # What is there before the first request took no time.
                if row["Operation"] == op and row["Tier"] == tier["tier"] and row["Request"]:
                    time = -(-int(row["Object_Size_Bytes"]) * NS // rate)
                    free = max(free, ns(row["Timestamp"])) + time
                    work += time
                    moved += 1
            share = (work - max(0, free - end)) / end if end else None
            told = tier[name]["busy_share"]
            if moved and told is not None and abs(told - share) > 1e-9 * (1 + moved):
                wrong.append(f"Tier-{n} {name} busy_share: {told} told, {share} counted")
    return wrong


for number in range(count):
    drawn = configuration()
    for line in check(*drawn):
        print(f"{number}: {line}: kvgen {' '.join(drawn[0])}")
print(f"{count} held")
