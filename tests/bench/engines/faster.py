#!/usr/bin/env python3
"""faster.py [PAIRS [SEED]] - makes only the GPU, or only the drive, twice as fast, and tells whose P95 of the time to the
first token gets worse: schedulers have anomalies. PAIRS (200) random configurations of an engine's cache, engines, routes
and load, whose requests come at given times. Prints each pair that is more than 5 % worse, with what its run did
otherwise (preemptions, tokens found, the longest line), and the counts. Judges nothing. BUILD: the folder of the build."""
import json
import os
import random
import subprocess
import sys
import tempfile

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "../../.."))
KVGEN = os.path.join(TOP, os.environ.get("BUILD", "build"), "bin/kvgen")
DATA = os.path.join(TOP, "tests/data")
FILES = ["mooncake_first200.jsonl", "burstgpt_30rows.csv", "azure_code_2024_excerpt.csv"]


def profile(folder, factor):
    path = f"{folder}/gpu{factor}.json"
    with open(path, "w") as file:
        json.dump({"name": "of-test", "bf16_tflops": 989 * factor, "fp8_tflops": 1979 * factor, "hbm_gb": 80,
                   "hbm_tb_s": 3.35 * factor, "link_gb_s": 64, "watts": 700}, file)
    return path


def drive(draw):
    rate = draw.choice([100, 300, 1000, 3000])
    return lambda factor: f"2=read:{rate * factor}MB/s,write:{rate * factor}MB/s,lat:{2000 // factor}us"


def config(draw):
    engine = draw.choice(["vllm", "lmcache", "lmcache-mp", "sglang", "copies"])
    args = ["--cache", engine, "-m", "tiny-1b", "--params", "1e9", "--input", f"{DATA}/{draw.choice(FILES)}",
            "--max-requests", "100", "--speed", draw.choice(["1", "8", "64"]), "--gpu-mem", draw.choice(["1GiB", "2GiB", "4GiB"]),
            "--cpu-mem", draw.choice(["1GiB", "4GiB"]), "--storage-capacity", "unlimited"]
    if draw.random() < 0.4:
        args += ["--config", "engines=2", "--config", "route=" + draw.choice(["user", "prefix", "round-robin"])]
    if draw.random() < 0.3:
        args += ["--config", "engine_order=priority"]
    return args


def run(args, gpu, tier, folder):
    out = f"{folder}/s.json"
    told = subprocess.run([KVGEN, *args, "--gpu-profile", gpu, "--tier-model", tier, "--summary", out, "-o", "none"],
                          capture_output=True, text=True)
    if told.returncode:
        sys.exit(f"kvgen {' '.join(args)}: {told.stderr[-300:]}")
    with open(out) as file:
        s = json.load(file)
    return {"p95": s["prefill"]["first_token_ms"]["all"]["p95"], "preemptions": s["serving"]["preemptions"],
            "found": s["cache"]["tokens"]["hit_rate"], "line": s["serving"]["waiting_peak"],
            "done": s["requests"]["completed"]}


def main():
    pairs, draw = int(sys.argv[1]) if len(sys.argv) > 1 else 200, random.Random(sys.argv[2] if len(sys.argv) > 2 else 7)
    count = {"GPU": [0, 0, 0], "drive": [0, 0, 0]}
    with tempfile.TemporaryDirectory() as folder:
        slow, fast = profile(folder, 1), profile(folder, 2)
        for _ in range(pairs):
            args, tier = config(draw), drive(draw)
            base = run(args, slow, tier(1), folder)
            for what, other in (("GPU", run(args, fast, tier(1), folder)), ("drive", run(args, slow, tier(2), folder))):
                worse = other["p95"] / base["p95"] - 1 if base["p95"] else 0
                count[what][0] += 1
                count[what][1] += worse > 0.001
                count[what][2] += worse > 0.05
                if worse > 0.05:
                    print(f"{what} {worse:+.1%}: {' '.join(args)} {tier(1)}: {base} -> {other}")
    for what, (all_, worse, much) in count.items():
        print(f"{what} twice as fast: of {all_} pairs {worse} have a worse P95 of the first token, {much} by more than 5 %")


main()
