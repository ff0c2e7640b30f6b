#!/usr/bin/env python3
"""mlperf_recompute.py ROWS.csv RESULTS.json - computes the figures of a results file of the MLPerf Storage KV-cache
benchmark from the rows of a replay, by that benchmark's definitions and without any of kvstat's code, and compares.
Prints a line for each figure that is off by more than 0.1 %, and at the end how many agree; exit status 1 when one is off."""

import csv
import json
import sys

GIB = 2.0**30
ALLOWED = 0.001


def percentile(values, q):
    """Linear interpolation between order statistics."""
    values = sorted(values)
    place = q * (len(values) - 1)
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def mean(values):
    return sum(values) / len(values)


def number(text):
    return float(text) if text else None


class Rows:
    def __init__(self, path):
        self.moved = {}  # (tier, op): bytes, demotions included
        self.direct = {}  # (tier, op): list of (bytes, service s, device s)
        self.storage = {}  # request: seconds
        self.generation = {}
        self.arrival = {}
        self.qos = {}
        self.end = {}
        self.prefill, self.decode = {}, {}
        self.failed = set()
        self.tokens = self.hits = self.misses = 0
        self.turns = [0, 0]
        self.last = 0.0
        with open(path, newline="") as f:
            for row in csv.DictReader(f):
                if row["Operation"] != "Note":
                    self.add(row)

    def add(self, row):
        start, latency = number(row["Start"]), number(row["Latency_us"])
        if start is not None and start < 0:
            return  # filled the tiers before the run
        ok = row["Status"] in ("", "ok")
        seconds = (latency or 0) / 1e6
        if start is not None:
            self.last = max(self.last, start + seconds)
        demotes = row["Phase"] == "Evict"
        moves = row["Operation"] in ("Read", "Write")
        if row["Operation"] == "Miss" or (row["Operation"] == "Read" and not demotes):
            hit = row["Operation"] == "Read" and row["Status"] != "absent"
            self.hits += hit and ok
            self.misses += not hit
            if row["Class"] == "multi_turn":
                self.turns[hit] += 1
        if row["Operation"] == "Generate" and ok:
            self.tokens += int(row["Tokens"] or 0)
        if moves and ok:
            size, key = int(row["Object_Size_Bytes"]), (row["Tier"], row["Operation"])
            self.moved[key] = self.moved.get(key, 0) + size
            if not demotes and latency is not None:
                self.direct.setdefault(key, []).append((size, seconds, number(row["Device_us"])))
        if row["Request"]:
            self.request(row, start, seconds, ok, demotes)

    def request(self, row, start, seconds, ok, demotes):
        n = int(row["Request"])
        if not ok and row["Status"] != "absent":
            self.failed.add(n)
        if row["QoS"]:
            self.qos[n] = row["QoS"]
        if row["Due"]:
            self.arrival[n] = min(self.arrival.get(n, 1e18), float(row["Due"]))
        if start is not None:
            self.end[n] = max(self.end.get(n, 0), start + seconds)
        if row["Operation"] == "Generate":
            self.generation[n] = self.generation.get(n, 0) + seconds
        elif row["Tier"] and not demotes and row["Latency_us"]:
            self.storage[n] = self.storage.get(n, 0) + seconds
            part = self.prefill if row["Operation"] == "Write" else self.decode
            if row["Operation"] in ("Read", "Write") and row["Class"] != "multi_turn":
                part[n] = part.get(n, 0) + seconds


def figures(rows):
    """Path of the member: value."""
    wall = rows.last
    done = [n for n in rows.end if n not in rows.failed]
    storage = [rows.storage.get(n, 0) for n in done]
    out = {
        "requests_completed": len(done),
        "total_tokens_generated": rows.tokens,
        "total_storage_io_latency": sum(storage),
        "multi_turn_cache_hits": rows.turns[1],
        "multi_turn_cache_misses": rows.turns[0],
        "summary.elapsed_time": wall,
        "summary.avg_throughput_tokens_per_sec": rows.tokens / wall,
        "summary.total_storage_io_time": sum(storage),
        "summary.storage_throughput_tokens_per_sec": rows.tokens / sum(storage),
        "summary.requests_per_second": len(done) / wall,
        "summary.storage_io_latency_ms.mean": 1e3 * mean(storage),
        "summary.cache_stats.cache_hits": rows.hits,
        "summary.cache_stats.cache_misses": rows.misses,
        "summary.cache_stats.cache_hit_rate": rows.hits / (rows.hits + rows.misses),
        "summary.cache_stats.total_read_gb": sum(b for v in
            (rows.direct.get((t, "Read"), []) for t in ("Tier-0", "Tier-1", "Tier-2")) for b, _, _ in v) / GIB,
    }
    points = (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999))
    for name, q in points:
        out["summary.storage_io_latency_ms." + name] = 1e3 * percentile(storage, q)
    for tier, name in (("Tier-0", "gpu"), ("Tier-1", "cpu"), ("Tier-2", "storage")):
        read = sum(b for b, _, _ in rows.direct.get((tier, "Read"), []))
        written = rows.moved.get((tier, "Write"), 0)
        stats = "summary.cache_stats."
        out[stats + "tier_%s_read_bandwidth_gbps" % name] = read / GIB / wall
        out[stats + "tier_%s_write_bandwidth_gbps" % name] = written / GIB / wall
        out[stats + "tier_%s_kv_bytes_read_gb" % name] = read / GIB
        out[stats + "tier_%s_kv_bytes_written_gb" % name] = written / GIB
    for op, word in (("Read", "read"), ("Write", "write")):
        direct = rows.direct.get(("Tier-2", op), [])
        times = {"": [1e3 * s for _, s, _ in direct],
                 "device_": [d / 1e3 for _, _, d in direct if d is not None],
                 "host_": [1e3 * s - d / 1e3 for _, s, d in direct if d is not None]}
        for what, values in times.items():
            for name, q in points:
                member = "summary.cache_stats.storage_%s_%s%s_ms" % (word, what, name)
                out[member] = percentile(values, q) if values else None
    return out


def classes(rows, out):
    """End to end: from the arrival; only where every request has one."""
    done = [n for n in rows.end if n not in rows.failed]
    if not all(n in rows.arrival for n in done):
        return
    all_of = {n: rows.end[n] - rows.arrival[n] for n in done}
    out["summary.end_to_end_latency_ms.p95"] = 1e3 * percentile(list(all_of.values()), 0.95)
    for qos in ("interactive", "responsive", "batch"):
        mine = [1e3 * v for n, v in all_of.items() if rows.qos.get(n) == qos]
        where = "summary.qos_metrics.%s." % qos
        out[where + "total_requests"] = len(mine) if mine else None
        if mine:
            out[where + "latency_ms.p95"] = percentile(mine, 0.95)
            out[where + "latency_ms.max"] = max(mine)


def member(document, path):
    for step in path.split("."):
        if not isinstance(document, dict) or step not in document:
            return None
        document = document[step]
    return document


def main():
    rows = Rows(sys.argv[1])
    with open(sys.argv[2]) as f:
        document = json.load(f)
    expected = figures(rows)
    classes(rows, expected)
    off = 0
    for path, want in expected.items():
        got = member(document, path)
        same = got is None if want is None else got is not None and abs(got - want) <= ALLOWED * max(abs(want), 1e-12) + 1e-9
        if not same:
            print("%s: %s, from the rows %s" % (path, got, want))
            off += 1
    for name, part in (("prefill_latencies", rows.prefill), ("decode_latencies", rows.decode)):
        if abs(sum(document[name]) - sum(part.values())) > ALLOWED * sum(part.values()) + 1e-9:
            print("%s: %s in all, from the rows %s" % (name, sum(document[name]), sum(part.values())))
            off += 1
    print("%d figures agree, %d do not" % (len(expected) + 2 - off, off))
    sys.exit(1 if off else 0)


main()
