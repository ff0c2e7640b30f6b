#!/usr/bin/env python3
"""copies.py KVGEN DATA FOLDER COUNT [SEED [KVREPLAY]] - runs COUNT random configurations of kvgen with an engine,
and holds the rows of each against what copies are, and its summary against the rows; with KVREPLAY each trace is replayed,
every byte checked. Prints a line for each difference, and how many runs were held. copies.py --rows TRACE.csv SUMMARY.json holds one trace."""
import csv
import json
import random
import subprocess
import sys
from collections import Counter

FILES = ["mooncake_first200.jsonl", "burstgpt_30rows.csv", "azure_code_2024_excerpt.csv", "sharegpt_dummy_250.json.zst"]


def ns(text):
    whole, _, part = text.partition(".")
    return int(whole + part[:9].ljust(9, "0"))


class Held:
    """One run: its summary, its rows, and what differs between them."""

    def __init__(self, trace, summary):
        self.wrong = []
        with open(summary) as file:
            self.s = json.load(file)
        with open(trace, newline="") as file:
            self.rows = [row for row in csv.DictReader(file) if row["Operation"] != "Note"]
        self.copies()
        self.totals()

    def same(self, what, told, counted):
        if told != counted:
            self.wrong.append(f"{what}: {told} told, {counted} counted")

    def say(self, number, what):
        if len(self.wrong) < 5:
            self.wrong.append(f"row {number}: {what}")

    def copies(self):
        """A copy is a tier and a key. What is read is there, what is written is not, no tier has more than it can. Under
        the waterfall a key has one copy, which moves."""
        single = self.s["cache"]["name"] == "waterfall"
        live, used, n = [{}, {}, {}], [0, 0, 0], [Counter() for _ in range(3)]
        engines, mine = len(self.s["serving"]["engines"]), Counter()
        tiers = {int(tier["tier"][-1]): tier for tier in self.s["tiers"]}
        room = [tiers[t]["capacity_bytes"] if t in tiers else 0 for t in range(3)]
        room = [1 << 62 if size is None else size for size in room]
        last, before, alone, gone, taken = 0, None, Counter(), {}, 0
        of = {}
        for number, row in enumerate(self.rows, 1):
            op, key, name, phase = row["Operation"], row["Key"], row["Class"], row["Phase"]
            if ns(row["Timestamp"]) < last:
                self.say(number, "time goes back")
            last = ns(row["Timestamp"])
            engine = row.get("Engine", "0")
            if engines > 1 and key and not key.endswith("@e" + engine):
                self.say(number, f"{key} of engine {engine}")
            if row["Request"] and of.setdefault(row["Request"], engine) != engine:
                self.say(number, f"request {row['Request']} on two engines")
            if row["Duration_us"].startswith("-"):
                self.say(number, f"takes {row['Duration_us']} us")
            if op not in ("Read", "Write", "Delete"):
                before = row
                continue
            t, size = int(row["Tier"][-1]), int(row["Object_Size_Bytes"])
            n[t][op, name] += 1
            if op == "Write":
                if key in live[t] or (single and any(key in tier for tier in live)):
                    self.say(number, f"{key} is in {t}, and written")
                if phase == "Evict" and not (before["Phase"] == "Evict" and before["Operation"] == "Read" and
                                             before["Key"] == key):
                    self.say(number, f"{key} moves without a Read")
                live[t][key] = [size, name, False]
                used[t] += size
                mine[t, engine] += size
                n[t]["peak"] = max(n[t]["peak"], used[t])
                if mine[t, engine] * engines > room[t]:
                    self.say(number, f"tier {t} has {mine[t, engine]} of {room[t]} / {engines} bytes")
                if not single and name in ("store", "promote", "load") and not self.is_second(row, before, t, name):
                    alone[name] += 1
                    taken += name == "store" and gone.get(key) == row["Timestamp"]
            elif key not in live[t] or live[t][key][0] != size:
                self.say(number, f"{op} of {key} in {t}, where it is not")
            elif op == "Delete" or phase == "Evict":
                written = live[t].pop(key)
                if t == 0:
                    gone[key] = row["Timestamp"]
                used[t] -= size
                mine[t, engine] -= size
                n[t]["never read"] += op == "Delete" and written[1] == ("evict" if single else "store") and not written[2]
            elif name != "store":
                live[t][key][2] = True
            if (op == "Delete") != (phase == "Evict") and not single:
                self.say(number, f"{op} of phase {phase}")
            before = row
        self.used, self.live, self.n, self.of = used, live, n, of
        # A block of an answer may be stored before vLLM names it: it then has no row on the GPU.
        settings = self.s["cache"]["settings"]
        answers = settings.get("offload_prompt_only") is False or settings.get("save_decode_cache") is True
        # A chunk of several blocks that begins before its window is stored without them; its last block is there.
        windows = any("@g" in row["Key"] for row in self.rows) and settings.get("blocks_per_chunk") != 1
        if not windows:
            self.same("blocks left out", self.s["cache"]["left_out_blocks"], 0)
        # What a request offers last, when it has ended, is stored in the step in which another takes its blocks.
        told = self.s["cache"]["unbacked_stores"]
        if alone["store"] > told or alone["promote"] or alone["load"]:
            self.wrong.append(f"copies without a Read before them: {dict(alone)}, {told} told")
        if not answers:
            self.same("copies without a Read before them, but for blocks taken then", alone["store"], taken)
            if settings.get("blocks_per_chunk", 1) == 1 or not taken:
                self.same("unbacked stores", told, taken)

    def is_second(self, row, before, t, name):
        """The rows of a copy follow each other; a chunk of several blocks has several of one of the two."""
        tiers = {tier["tier"]: tier for tier in self.s["cache"]["tiers"]}
        several = any(tier["copy_tokens"] > tiers["Tier-0"]["copy_tokens"] for tier in tiers.values())
        if before["Class"] == name and before["Operation"] == "Write" and several and name == "load":
            return True
        if before["Operation"] != "Read" or (before["Key"] != row["Key"] and not (several and name == "load")):
            return False
        from_tier = int(before["Tier"][-1])
        return from_tier < t if name == "store" else from_tier > t

    def totals(self):
        s, n, cache = self.s, self.n, self.s["cache"]
        for tier in s["tiers"]:
            t = int(tier["tier"][-1])
            self.same(f"{tier['tier']} final bytes", tier["final_bytes"], self.used[t])
            self.same(f"{tier['tier']} final objects", tier["final_objects"], len(self.live[t]))
            self.same(f"{tier['tier']} peak", tier["peak_bytes"], n[t]["peak"])
        for tier in cache["tiers"]:
            t = int(tier["tier"][-1])
            self.same(f"{tier['tier']} dropped", tier["dropped"], n[t]["Delete", "evict"])
            if t == 0:
                continue
            down = "evict" if cache["name"] == "waterfall" else "store"
            self.same(f"{tier['tier']} stored", tier["stored"], n[t]["Write", down])
            self.same(f"{tier['tier']} came up", tier["came_up"], n[t]["Write", "promote"])
            self.same(f"{tier['tier']} never read", tier["never_read"], n[t]["never read"])
            self.same(f"{tier['tier']} unread", tier["unread"],
                      sum(copy[1] == down and not copy[2] for copy in self.live[t].values()))
            no_load = ("evict", "promote") if cache["name"] == "waterfall" else ("store",)
            reads = sum(c for (op, name), c in ((k, c) for k, c in n[t].items() if isinstance(k, tuple))
                        if op == "Read" and name not in no_load)
            self.same(f"{tier['tier']} loaded", tier["loaded"], reads)
        hits = Counter(row["Class"] for row in self.rows
                       if row["Operation"] == "Read" and row["Class"] not in ("store", "promote", "evict"))
        misses = Counter(row["Class"] for row in self.rows if row["Operation"] == "Miss")
        for name, told in s["lookups"].items():
            if name != "all":
                self.same(f"{name} hits and misses", (told["hits"], told["misses"]), (hits[name], misses[name]))
        self.requests()

    def requests(self):
        r, v, tokens = self.s["requests"], self.s["serving"], self.s["cache"]["tokens"]
        self.same("issued", r["issued"], r["completed"] + r["in_progress"] + r["waiting"] + v["too_long"])
        answers = [row for row in self.rows if row["Operation"] == "Generate" and row["Phase"] == "Decode"]
        prefills = [row for row in self.rows if row["Operation"] == "Generate" and row["Phase"] == "Prefill"]
        if r["in_progress"] == 0 and r["waiting"] == 0:
            self.same("generated tokens", r["generated_tokens"], sum(int(row["Tokens"]) for row in answers))
            self.same("tokens by origin", tokens["gpu"] + tokens["host"] + tokens["storage"] + tokens["computed"],
                      r["context_tokens"])
            self.same("prefills", self.s["prefill"]["requests"], len(prefills))
            self.same("stuck", v["stuck"], 0)
            self.little(sum(part["s"] for part in v["request_time"].values()))
        for what in ("requests", "completed", "steps", "preemptions", "busy_s"):
            told = v[what] if what in v else len(self.of) # a request without tokens has no engine
            if r["in_progress"] == 0 and r["waiting"] == 0:
                part = sum(g[what] for g in v["engines"])
                self.same(f"{what} of engines", round(told, 6), round(part, 6))
        if (self.s["prefill"]["busy_share"] or 0) > 1 + 1e-9:
            self.wrong.append(f"engines busy for {self.s['prefill']['busy_share']} of the run")
        time = v["request_time"].values()
        if r["completed"] and r["end_to_end_ms"]:
            share = sum(part["share"] for part in time)
            whole = r["end_to_end_ms"]["mean"] * r["end_to_end_ms"]["count"] / 1000
            if abs(share - 1) > 1e-9 or abs(sum(part["s"] for part in time) - whole) > 0.02 * whole:
                self.wrong.append(f"a request's time: {share} in all, {sum(part['s'] for part in time)} s of {whole}")


    def little(self, waited):
        """Requests that are there, over time, are those that come by the time that each stays (J. Little, 1961). The left
        side is the area under their number, from the moments in the rows; the right one is the summary's."""
        ends, arrived = {}, {}
        for row in self.rows:
            if row["Operation"] == "Generate" and row["Request"]:
                arrived[row["Request"]] = ns(row["Arrival"])
                us = float(row["Duration_us"] or 0)
                ends[row["Request"]] = max(ends.get(row["Request"], 0), ns(row["Timestamp"]) + round(us * 1000))
        moments = sorted([(t, 1) for t in arrived.values()] + [(t, -1) for t in ends.values()])
        area = there = before = 0
        for moment, change in moments:
            area += there * (moment - before)
            there, before = there + change, moment
        if abs(area / 1e9 - waited) > 1e-6 * max(1, waited):
            self.wrong.append(f"requests that are there, over time: {area / 1e9} s of {waited}")


def config(draw, data):
    """The options of a run."""
    engine = draw.choice(["vllm", "vllm", "lmcache", "lmcache-mp", "sglang", "copies", "waterfall"])
    args = ["--cache", engine]
    tiers = draw.choice([("4GiB", "none"), ("512MiB", "none"), ("1GiB", "unlimited"), ("256MiB", "2GiB"),
                         ("768MiB", "unlimited")] + [("0", "none")] * (engine[:7] != "lmcache"))
    if engine == "lmcache-mp" and tiers[1] == "2GiB":
        tiers = ("256MiB", "unlimited")
    choices = {
        "vllm": [("blocks_per_chunk", "124"), ("eviction_policy", ["arc"]), ("offload_prompt_only", ["no"]),
                 ("sync_load_budget_bytes", ["64MiB"])] + [("store_threshold", "2")] * (tiers[1] == "none"),
        "lmcache": [("cache_policy", ["LRU", "LFU", "FIFO", "MRU"]), ("save_decode_cache", ["yes"]),
                    ("enable_async_loading", ["yes"]), ("min_retrieve_tokens", ["512"]), ("fixed", ["yes"]),
                    ("chunk_size", ["128", "512"])],
        "lmcache-mp": [("prefetch_policy", ["retain"]), ("store_policy", ["skip_l1"]),
                       ("eviction_trigger_watermark", ["0.5"])],
        "sglang": [("hicache_write_policy", ["write_through_selective", "write_back"]),
                   ("radix_eviction_policy", ["lfu", "slru", "fifo"])],
        "copies": [("store", ["evicted", "never", "use"]), ("exclusive", ["yes"]), ("through", ["yes"]),
                   ("admission", ["seen", "tinylfu"]), ("host_policy", ["arc", "sieve", "lfu"]), ("high", ["0.9"]),
                   ("gpu_policy", ["arc", "lfu", "s3fifo", "sieve"])],
        "waterfall": [],
    }[engine]
    settings = [f"{key}={draw.choice(values)}" for key, values in choices if draw.random() < 0.4]
    if "high=0.9" in settings:
        settings.append("low=0.7")
    if engine == "sglang":
        settings.append(f"page_size={draw.choice([16, 64])}")
    else:
        settings += [f"block_size={draw.choice([16, 64, 128])}"]
        settings += [text for text in ("async_scheduling=no", "scheduler_reserve_full_isl=no") if draw.random() < 0.3]
    args[1] += ":" + ",".join(settings)
    if engine == "waterfall":
        args += ["--gpu-profile", draw.choice(["h100", "l40s"]), "--config", "promote=" + draw.choice(["none", "on-hit"]),
                 "--config", "eviction=" + draw.choice(["lru", "arc", "lfu", "s3fifo", "sieve", "mru", "fifo"])]
    model = ["-m", "tiny-1b", "--params", "1e9"]
    if engine == "vllm" and draw.random() < 0.3:  # groups of layers
        model = ["-m", f"{data}/models/{draw.choice(['gpt-oss-120b', 'gemma-3-27b'])}.json"]
    args += ["--gpu-mem", draw.choice(["1GiB", "2GiB", "4GiB"]), "--cpu-mem", tiers[0], "--storage-capacity", tiers[1],
             *model, "--seed", str(draw.randrange(10**6))]
    if tiers[1] != "none" and draw.random() < 0.5:
        args += ["--tier-model", "2=" + draw.choice(["nvme-gen4", "read:200MB/s,write:100MB/s,lat:1ms"])]
    if draw.random() < 0.4:
        args += ["--config", "engines=" + str(draw.choice([2, 3, 5])), "--config", "route=" + draw.choice(["user", "prefix", "round-robin"])]
    args += ["--config", "engine_order=priority"] * (draw.random() < 0.3)
    args += ["--config", "spec_tokens=" + draw.choice(["1.8", "3"])] * (draw.random() < 0.2)
    args += ["--prefill-only"] * (draw.random() < 0.1)
    source = draw.choice(["users"] * 3 + FILES)
    if source == "users":
        args += ["--users", str(draw.choice([1, 5, 20]))]
        if draw.random() < 0.5:
            args += ["--duration", f"{draw.randrange(1, 12)}s"]
        else:
            args += ["--duration", "0", "--max-requests", str(draw.choice([5, 40]))]
    else:
        args += ["--input", f"{data}/{source}", "--max-requests", str(draw.choice([10, 100]))]
    return args


def replay(program, folder, args):
    """What a replay of the trace on files says, where it is not that all is well."""
    count = next((arg[len("engines="):] for arg in args if arg.startswith("engines=")), "1")
    room = []
    for name in ("--gpu-mem", "--cpu-mem"):
        size = args[args.index(name) + 1]
        number = size.rstrip("GMiB")
        room += [name, f"{int(number) * int(count)}{size[len(number):]}"]
    run = subprocess.run([program, "--timing", "asap", "--verify", "full", "--progress", "none", *room, "--target",
                          f"{folder}/kv", "--summary", f"{folder}/r.json", "-o", f"{folder}/r.csv", f"{folder}/t.csv"],
                         capture_output=True, text=True, timeout=300)
    subprocess.run(["rm", "-rf", f"{folder}/kv"], check=True)
    return [] if run.returncode == 0 and "all ok" in run.stderr else [f"replay: {run.returncode}: {run.stderr[-300:]}"]


def main():
    if sys.argv[1] == "--rows":
        wrong = Held(sys.argv[2], sys.argv[3]).wrong
        print("\n".join(wrong) if wrong else "held")
        return
    kvgen, data, folder, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    draw = random.Random(int(sys.argv[5]) if len(sys.argv) > 5 else 41)
    for number in range(count):
        args = config(draw, data)
        run = subprocess.run([kvgen, *args, "--no-notes", "--summary", f"{folder}/s.json", "-o", f"{folder}/t.csv"],
                             capture_output=True, text=True, timeout=100)
        if run.returncode != 0:
            print(f"{number}: exit status {run.returncode}: {run.stderr[-300:]}: kvgen {' '.join(args)}")
            continue
        wrong = Held(f"{folder}/t.csv", f"{folder}/s.json").wrong
        if len(sys.argv) > 6:
            wrong += replay(sys.argv[6], folder, args)
        for line in wrong:
            print(f"{number}: {line}: kvgen {' '.join(args)}")
    print(f"{count} held")


main()
