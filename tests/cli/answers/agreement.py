#!/usr/bin/env python3
"""agreement.py KVGEN FOLDER [--small POPULATION MODEL PART] - asks kvgen --answer about drives, models, host memories and
populations, and holds the answers against each other. Prints a line for each contradiction, and how many cells were held.

  * The numbers of users do not depend on the number that was asked about, each in a process of its own; the verdict is
    PASS up to the lower end of the interval, FAIL above the upper end, and undecided between them.
  * Without the drive, and with one that takes no time, the speed of the drive means nothing.
  * A faster drive, more host memory or more capacity holds no fewer users, and a drive no more than one that takes no
    time: beyond the intervals. (A slow drive may hold fewer than none: engines wait for what they find.)
  * A drive is worth users when it holds more than none beyond the intervals, and not when it holds fewer.
  * A drive as fast as numbers go holds what the one that takes no time holds."""
import json
import os
import subprocess
import sys
import time

HOSTS = ["24GiB", "48GiB", "96GiB", "256GiB"]  # a prompt of 131,072 tokens goes into the least of them
DRIVES = [0.5, 1, 2, 4, 7, 14, 28, 50]  # GB/s of reads; writes half of it
MODELS = ["llama3.1-8b", "gpt-oss-20b", "mistral-7b"]
POPULATIONS = ["chat", "documents", "code"]
CAPACITY, MORE = "1TiB", "8TiB"
PARTS = {  # of the small grid: hosts, drives, which of the five numbers is asked about
    "slow": (["24GiB"], [2, 50], 0),
    "memory": (["24GiB", "96GiB"], [7], 1),
    "fast": (["96GiB"], [2, 50], 2),
}
ENDLESS = 1e6  # GB/s, without latency
VARIANTS = ("this", "none", "ideal")


class Grid:
    """Cells are (population, model, host, drive)."""

    def __init__(self, kvgen, folder, small):
        self.kvgen, self.path = kvgen, os.path.join(folder, "answer.json")
        # Two seeds have hardly an interval: half as many more stand for it.
        self.seeds, self.slack = (2, 0.5) if small else (3, 0)
        self.gpu = ["--gpu-profile", "l40s", "--gpu-mem", "20GiB"] if small else ["--gpu-mem", "40GiB"]
        self.contradictions, self.cells, self.asked = 0, 0, 0
        self.answers = {}

    def wrong(self, *words):
        self.contradictions += 1
        print(*words, flush=True)

    def ask(self, cell, users=None, capacity=CAPACITY):
        """What a process of its own answers."""
        population, model, host, drive = cell
        lat = "0" if drive == ENDLESS else "80us"
        command = [self.kvgen, "--answer", self.path, "-o", "none", "--progress", "none", "--model", model, *self.gpu,
                   "--cpu-mem", host, "--population", population, "--storage-capacity", capacity,
                   "--cache", "vllm:block_size=1024", "--seeds", str(self.seeds),
                   "--tier-model", f"2=read:{drive:.1f}GB/s,write:{drive / 2:.2f}GB/s,lat:{lat}"]
        command += ["--on-full", "evict"]
        command += ["--users", str(users)] if users else []
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if run.returncode not in (0, 1, 4):
            sys.exit(f"{' '.join(command)}: status {run.returncode}: {run.stderr}")
        self.asked += 1
        with open(self.path) as f:
            return json.load(f)

    def more(self, a, b):
        """Whether a is more than b, beyond both intervals."""
        return a["low"] > b["high"] * (1 + self.slack)

    def at_least(self, what, a, b):
        """a should hold no fewer than b."""
        if self.more(b, a):
            self.wrong(what, "holds fewer:", a, "and", b)

    def hold(self, cell, turn):
        """Asks for the users of a cell, then about one number of them, and holds both."""
        answer = self.answers[cell] = self.ask(cell)
        users = answer["users"]
        self.cells += 1
        for v in VARIANTS:
            if not users[v]["low"] <= users[v]["value"] <= users[v]["high"]:
                self.wrong(cell, v, "its value is outside of its interval:", users[v])
        self.at_least(f"{cell}: ideal, against this,", users["ideal"], users["this"])
        gain = answer["worth"]["users"]
        if self.more(users["this"], users["none"]) and gain <= 0 or self.more(users["none"], users["this"]) and gain >= 0:
            self.wrong(cell, "its gain is", gain, "of", users)
        if gain != users["this"]["value"] - users["none"]["value"]:
            self.wrong(cell, "its gain is", gain, "of", users)
        if turn is None:
            return
        low, high = users["this"]["low"], users["this"]["high"]
        asked = max(1, [low, high + 1, (low + high + 1) // 2, low // 2, 2 * high][turn % 5])
        second = self.ask(cell, users=asked)
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
                    self.at_least(f"{other}, against {drive} GB/s,", theirs["this"], users["this"])
                    for v in ("none", "ideal"):
                        if theirs[v] != users[v]:
                            self.wrong(other, v, "depends on the drive:", theirs[v], "and", users[v])
                if other[:2] == cell[:2] and other[3] == drive and HOSTS.index(other[2]) > HOSTS.index(host):
                    for v in VARIANTS:
                        self.at_least(f"{other} {v}, against {host},", theirs[v], users[v])

    def endless(self, cell):
        """A drive as fast as numbers go is the ideal one."""
        users = self.ask((*cell[:3], ENDLESS))["users"]
        if self.more(users["ideal"], users["this"]) or self.more(users["this"], users["ideal"]):
            self.wrong(cell, "an endless drive is not the ideal one:", users)

    def all(self):
        started = time.monotonic()
        for population in POPULATIONS:
            for model in MODELS:
                cells = [(population, model, host, drive) for host in HOSTS for drive in DRIVES]
                for i, cell in enumerate(cells):
                    self.hold(cell, i)
                self.compare(cells)
                cell = cells[len(cells) // 2]
                self.endless(cell)
                more = self.ask(cell, capacity=MORE)["users"]
                self.at_least(f"{cell} with {MORE}, against {CAPACITY},", more["this"], self.answers[cell]["users"]["this"])
                print(f"{time.monotonic() - started:.0f} s: {self.cells} cells, {self.contradictions} contradictions",
                      flush=True)


def main():
    kvgen, folder, *small = sys.argv[1:]
    grid = Grid(kvgen, folder, bool(small))
    if small:
        _, population, model, part = small
        hosts, drives, turn = PARTS[part]
        cells = [(population, model, host, drive) for host in hosts for drive in drives]
        for i, cell in enumerate(cells):
            grid.hold(cell, turn if i == 0 else None)
        grid.compare(cells)
        if part == "memory":
            grid.endless(cells[-1])
    else:
        grid.all()
    print(f"{grid.cells} cells held, {grid.contradictions} contradictions")


main()
