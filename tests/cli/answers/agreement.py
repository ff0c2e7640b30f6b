#!/usr/bin/env python3
"""agreement.py KVGEN FOLDER --small POPULATION MODEL
agreement.py KVGEN FOLDER [POPULATIONS [MODELS [HOSTS [DRIVES]]]]
Asks kvgen --answer about drives, models, host memories and populations, and holds the answers against each other. Prints a
line for each contradiction, and how many cells were held. Lists have commas; "all" is all of them; together 288 cells.
FOLDER/answers keeps what this kvgen answered: begun again, only the rest is asked.

  * The numbers of users do not depend on the number that was asked about, each in a process of its own; the verdict is
    PASS up to the lower end of the interval, FAIL above the upper end, and undecided between them.
  * Without the drive, and with one that takes no time, the speed of the drive means nothing.
  * A faster drive, more host memory or more capacity holds no fewer users, and a drive no more than one that takes no
    time: beyond the intervals. A slow drive may hold fewer than none, since engines wait for what they find. Then a slower
    one may hold more: it serves so few requests that those which wait are within what the criterion allows (5 %). Such
    pairs are printed, too, and are none where the faster drive holds as many as none.
  * A drive is worth users when it holds more than none with each seed: surely where the intervals do not meet, never where
    it holds no more; the gain is the difference of both, and within its own interval.
  * A drive as fast as numbers go holds what the one that takes no time holds."""
import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

HOSTS = ["24GiB", "48GiB", "96GiB", "256GiB"]  # a prompt of 131,072 tokens goes into the least of them
DRIVES = [0.5, 1, 2, 4, 7, 14, 28, 50]  # GB/s of reads; writes half of it
MODELS = ["llama3.1-8b", "gpt-oss-20b", "mistral-7b"]
POPULATIONS = ["chat", "documents", "code"]
CAPACITY, MORE = "1TiB", "8TiB"
SMALL_HOSTS, SMALL_DRIVES = ["24GiB", "96GiB"], [2, 50]
# Of the small grid: long answers in few steps, and long prompts of few blocks, since both are most of the work. Prompts of chat
# have some 1,000 tokens: in larger blocks each drive would be the ideal one.
SMALL = ["--gpu-profile", "l40s", "--gpu-mem", "20GiB", "--spec-tokens", "16"]
SMALL_BLOCKS, BLOCK = {"documents": 4096}, 1024
ENDLESS = 1e6  # GB/s, without latency
VARIANTS = ("this", "none", "ideal")


class Answers:
    """What kvgen answered, in a file: a line each, by the kvgen that was asked and its options."""

    def __init__(self, kvgen, folder):
        self.kvgen, self.folder, self.lock, self.known = kvgen, folder, threading.Lock(), {}
        with open(kvgen, "rb") as f:
            self.name = hashlib.sha256(f.read()).hexdigest()
        if os.path.exists(self.path()):
            with open(self.path()) as f:
                for line in f.read().split("\n")[:-1]:  # the last one may have been cut
                    one = json.loads(line)
                    self.known[one["key"]] = one["answer"]

    def path(self):
        return os.path.join(self.folder, "answers")

    def of(self, options):
        """What a process of its own answers; any thread."""
        key = " ".join([self.name, *options])
        with self.lock:
            if key in self.known:
                return self.known[key]
        path = os.path.join(self.folder, f"{threading.get_ident()}.json")
        command = [self.kvgen, "--answer", path, "-o", "none", "--progress", "none", *options]
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode not in (0, 1, 4):
            sys.exit(f"{' '.join(command)}: status {run.returncode}: {run.stderr}")
        with open(path) as f:
            answer = json.load(f)
        os.remove(path)
        answer = {"users": answer["users"], "verdict": answer["verdict"], "gain": answer["gain"]}
        with self.lock:
            self.known[key] = answer
            with open(self.path(), "a") as f:
                f.write(json.dumps({"key": key, "answer": answer}) + "\n")
        return answer


class Grid:
    """Cells are (population, model, host, drive)."""

    def __init__(self, kvgen, folder, small):
        self.answered = Answers(kvgen, folder)
        # Two seeds have hardly an interval: half as many more stand for it. Five are what the commands have: by chance the
        # intervals of two loads that are alike are apart in 1 of 126 pairs; of three seeds it would be 1 of 10.
        self.seeds, self.slack = (2, 0.5) if small else (5, 0)
        self.options, self.blocks = (SMALL, SMALL_BLOCKS) if small else (["--gpu-mem", "40GiB"], {})
        self.at_once = 1 if small else len(os.sched_getaffinity(0))
        self.contradictions, self.cells, self.harmful = 0, 0, 0
        self.answers = {}

    def wrong(self, *words):
        self.contradictions += 1
        print(*words, flush=True)

    def ask(self, cell, users=None, capacity=CAPACITY):
        population, model, host, drive = cell
        lat = "0" if drive == ENDLESS else "80us"
        options = ["--model", model, *self.options, "--config", "threads=1", "--cpu-mem", host, "--population", population]
        options += ["--cache", f"vllm:block_size={self.blocks.get(population, BLOCK)}"]
        options += ["--storage-capacity", capacity, "--seeds", str(self.seeds)]
        options += ["--tier-model", f"2=read:{drive:.1f}GB/s,write:{drive / 2:.2f}GB/s,lat:{lat}", "--on-full", "evict"]
        options += ["--users", str(users)] if users else []
        return self.answered.of(options)

    def ask_all(self, questions):
        """Asks as many at once as there are processors, so that they are known afterwards."""
        with ThreadPoolExecutor(self.at_once) as pool:
            list(pool.map(lambda q: self.ask(*q), questions))

    def more(self, a, b):
        """Whether a is more than b, beyond both intervals."""
        return a["low"] > b["high"] * (1 + self.slack)

    def at_least(self, what, a, b):
        """a should hold no fewer than b."""
        if self.more(b, a):
            self.wrong(what, "holds fewer:", a, "and", b)

    def faster(self, drive, users, other, theirs):
        """The drive of the other cell is faster than that and should hold no fewer users."""
        if self.more(users["this"], theirs["this"]) and self.more(theirs["none"], theirs["this"]):
            self.harmful += 1
            print(f"{other} holds fewer than without a drive, and than at {drive} GB/s:", theirs, "and", users["this"], flush=True)
        else:
            self.at_least(f"{other}, against {drive} GB/s,", theirs["this"], users["this"])

    def asked_of(self, cell, turn):
        """The number of users that is asked about in a cell: another kind each turn."""
        u = self.ask(cell)["users"]["this"]
        low, high = u["low"], u["high"]
        return max(1, [low, high + 1, (low + high + 1) // 2, low // 2, 2 * high][turn % 5])

    def hold(self, cell, turn):
        """Asks for the users of a cell, then about one number of them, and holds both."""
        answer = self.answers[cell] = self.ask(cell)
        users = answer["users"]
        self.cells += 1
        for v in VARIANTS:
            if not users[v]["low"] <= users[v]["value"] <= users[v]["high"]:
                self.wrong(cell, v, "its value is outside of its interval:", users[v])
        self.at_least(f"{cell}: ideal, against this,", users["ideal"], users["this"])
        gain, this, none = answer["gain"], users["this"], users["none"]
        if (
            gain["value"] != this["value"] - none["value"]
            or not gain["low"] <= gain["value"] <= gain["high"]
            or this["low"] > none["high"] and gain["low"] <= 0
            or none["low"] > this["high"] and gain["high"] >= 0
        ):
            self.wrong(cell, "its gain is", gain, "of", users)
        if turn is None:
            return
        low, high = users["this"]["low"], users["this"]["high"]
        asked = self.asked_of(cell, turn)
        second = self.ask(cell, asked)
        if second["users"] != users:
            self.wrong(cell, "asked about", asked, "other users:", second["users"], "and", users)
        want = "PASS" if asked <= low else "FAIL" if asked > high else "INCONCLUSIVE"
        if (second["verdict"] or "INCONCLUSIVE") != want:
            self.wrong(cell, "about", asked, "is", second["verdict"], "of", users["this"])

    def compare(self, cells):
        """Neighbours in speed and memory, and what the speed of the drive must not change."""
        for cell in cells:
            population, model, host, drive = cell
            users = self.answers[cell]["users"]
            for other in cells:
                theirs = self.answers[other]["users"]
                if other[:3] == cell[:3] and other[3] > drive:
                    self.faster(drive, users, other, theirs)
                    for v in ("none", "ideal"):
                        if theirs[v] != users[v]:
                            self.wrong(other, v, "depends on the drive:", theirs[v], "and", users[v])
                if other[:2] == cell[:2] and other[3] == drive and HOSTS.index(other[2]) > HOSTS.index(host):
                    for v in VARIANTS:
                        if v == "this" or drive == cells[0][3]:  # the others are the same for all drives
                            self.at_least(f"{other} {v}, against {host},", theirs[v], users[v])

    def endless(self, cell):
        """A drive as fast as numbers go is the ideal one."""
        users = self.ask((*cell[:3], ENDLESS))["users"]
        if self.more(users["ideal"], users["this"]) or self.more(users["this"], users["ideal"]):
            self.wrong(cell, "an endless drive is not the ideal one:", users)

    def block(self, cells):
        """Cells of one population and model. A number of users is asked about in every third."""
        turns = {cell: i // 3 for i, cell in enumerate(cells) if i % 3 == 0}
        middle = cells[len(cells) // 2]
        self.ask_all([(cell,) for cell in cells])
        self.ask_all([(cell, self.asked_of(cell, turn)) for cell, turn in turns.items()])
        self.ask_all([((*middle[:3], ENDLESS),), (middle, None, MORE)])
        for cell in cells:
            self.hold(cell, turns.get(cell))
        self.compare(cells)
        self.endless(middle)
        more = self.ask(middle, None, MORE)["users"]
        self.at_least(f"{middle} with {MORE}, against {CAPACITY},", more["this"], self.answers[middle]["users"]["this"])


def chosen(words, of):
    """Of a list those that the words name."""
    return of if words == "all" else [one for one in of if str(one) in words.split(",")]


def main():
    kvgen, folder, *rest = sys.argv[1:]
    small = rest[:1] == ["--small"]
    grid = Grid(kvgen, folder, small)
    started = time.monotonic()
    if small:
        _, population, model = rest
        cells = [(population, model, host, drive) for host in SMALL_HOSTS for drive in SMALL_DRIVES]
        for cell, turn in zip(cells, (0, 1, 2, None)):
            grid.hold(cell, turn)
        grid.compare(cells)
        grid.endless(cells[-1])
    else:
        rest += ["all"] * (4 - len(rest))
        populations, models, hosts, drives = (chosen(*pair) for pair in zip(rest, (POPULATIONS, MODELS, HOSTS, DRIVES)))
        for population in populations:
            for model in models:
                grid.block([(population, model, host, drive) for host in hosts for drive in drives])
                print(f"{time.monotonic() - started:.0f} s: {grid.cells} cells, {grid.contradictions} contradictions", flush=True)
    if grid.harmful:
        print(f"{grid.harmful} pairs in which the faster drive holds fewer than the slower one, and than none")
    print(f"{grid.cells} cells held, {grid.contradictions} contradictions")


main()
