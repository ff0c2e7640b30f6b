#!/usr/bin/env python3
"""Holds our caches against programs that predict an engine's operations from its rules alone, on scenarios that nobody
recorded: settings mixed at random, small pools, few keys. --check DIR has the programs (check_lmcache.py,
check_lmcache_mp.py, check_sglang.py, replay_vllm_cpu.py, verify_vllm.py, as they come with the recordings).
Each scenario is written as the recordings are, tests/engines/run --write adds what ours decide, and the programs judge.
A line for each difference, with the folder (kept with --keep DIR); the last line counts. Exit 1: something differs."""
import argparse, collections, csv, json, os, random, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUN = os.path.join(HERE, "..", "..", "engines", "run")


def write_rows(folder, rows, plain):
    path = os.path.join(folder, "input.jsonl")
    with open(path, "w") as f:
        for r in rows:
            f.write(json.dumps(r) + "\n")
    if not plain:
        subprocess.run(["zstd", "-q", "--rm", "-f", path], check=True)


class Ids:
    """An id always has the same ids before it."""

    def __init__(self):
        self.next = 0

    def new(self, n):
        self.next += n
        return list(range(self.next - n, self.next))


def conversations(rng, n, unit, longest, outputs):
    """Prompts that grow, share their beginnings, repeat, and are cut short; `longest` ids at most."""
    ids, rows = Ids(), []
    starts = [ids.new(rng.randint(1, max(1, longest // 3))) for _ in range(rng.randint(1, 8))]
    live = []
    partial = {}  # how many tokens of an id that a prompt ends with
    for _ in range(n):
        what = rng.random()
        if live and what < 0.5:
            h = rng.choice(live)
        elif live and what < 0.65:
            c = rng.choice(live)
            h = c[:rng.randint(1, len(c))]
        else:
            h = list(rng.choice(starts))
        if rng.random() < 0.7:
            h = h + ids.new(rng.randint(1, max(1, longest // 4)))
        if len(h) > longest:
            h = h[:longest]
        live.append(h)
        if len(live) > 12:
            live.pop(rng.randrange(len(live)))
        tokens = len(h) * unit
        if rng.random() < 0.6:
            tail = rng.randrange(1, unit)
            h, tokens = (h[:-1], tokens - unit) if len(h) > 1 and rng.random() < 0.5 else (h, tokens)
            h, tokens = h + ids.new(1), tokens + tail
        rows.append(dict(timestamp=0, input_length=tokens, output_length=rng.randint(1, outputs), hash_ids=h))
    return rows


# ---- LMCache ----

def lmcache(rng, folder):
    chunk = rng.choice([64, 128, 256, 512])
    longest = rng.randint(2, 8)
    per = longest * 512 // chunk
    l2 = rng.choice([0, rng.randint(1, 6 * per), rng.randint(per, 12 * per)])
    asynchronous = rng.random() < 0.25
    config = dict(
        engine="LMCache", mode="in-process LMCacheEngine", chunk_size=chunk, l1_capacity_chunks=rng.randint(1, 5 * per),
        l2_capacity_chunks=l2, cache_policy=rng.choice(["LRU", "LFU", "FIFO", "MRU"]), local_cpu=l2 == 0 or rng.random() < 0.8,
        save_unfull_chunk=rng.random() < 0.3, save_decode_cache=rng.random() < 0.3,
        min_retrieve_tokens=rng.choice([0, 0, 0, rng.randint(1, 3000)]),
        prefill_step_tokens=rng.choice([None, None, 512, 1024, rng.randint(100, 3000)]), enable_async_loading=asynchronous,
        disk_io_threads=1, overlap=1, disk_writes_held_for_requests=0)
    if config["save_unfull_chunk"]:  # the programs do not say when a chunked prefill stores its tail
        config["prefill_step_tokens"] = None
    if asynchronous:  # nor whether a load that is too small begins
        config["min_retrieve_tokens"] = 0
    if not config["local_cpu"]:  # buffers for one call at least, as the engine needs them
        config["l1_capacity_chunks"] = max(config["l1_capacity_chunks"], per + 2)
    rows = conversations(rng, rng.randint(20, 120), 512, longest, rng.choice([1, 20, 700]))
    return config, rows, ["check_lmcache.py"]


def lmcache_mp(rng, folder):
    chunk = rng.choice([64, 128, 256, 512])
    longest = rng.randint(2, 8)
    per = longest * 512 // chunk
    l2 = rng.choice([0, -1, rng.randint(per, 12 * per)])
    bounded = l2 > 0
    config = dict(
        engine="LMCache", mode="multi-process StorageManager", chunk_size=chunk, l1_capacity_chunks=rng.randint(2, 5 * per),
        l2_capacity_chunks=l2, eviction_policy="LRU", trigger_watermark=rng.choice([0.8, 0.5, 0.95, 1.0]),
        eviction_ratio=rng.choice([0.2, 0.05, 0.5, 1.0]), l2_trigger_watermark=rng.choice([0.8, 0.6]) if bounded else None,
        l2_eviction_ratio=rng.choice([0.2, 0.4]) if bounded else None,
        store_policy=rng.choice(["default", "default", "skip_l1"]) if l2 else "default",
        prefetch_policy=rng.choice(["default", "retain"]), eviction_tick_every_requests=rng.choice([1, 1, 3, 7]))
    rows = conversations(rng, rng.randint(20, 120), 512, longest, 1)
    if rng.random() < 0.3:  # one request after the other, all that the loop finds was used: the order of LRU
        config["eviction_policy"] = "ARC"
    return config, rows, ["check_lmcache_mp.py"]


# ---- SGLang ----

def sglang(rng, folder):
    page = rng.choice([16, 32, 64, 128])
    longest, outputs = rng.randint(2, 6), rng.choice([1, 30, 700])
    need = (longest + 2) * 512 + outputs + 4 * page
    device = (need + rng.randint(0, 5 * need)) // page * page
    host = rng.choice([None, device // 2, device, 2 * device, 3 * device])
    policy = rng.choice(["write_through", "write_through_selective", "write_back"])
    config = dict(
        engine="SGLang", page_size=page, device_capacity_tokens=device,
        host_capacity_tokens=host // page * page + page if host else None, write_policy=policy if host else None,
        write_through_threshold={"write_through": 1, "write_through_selective": 2}.get(policy, 1) if host else None,
        load_back_threshold=10, radix_eviction_policy="lru", storage=None, storage_max_pages=0,
        decode_tokens=rng.random() < 0.7, chunked_prefill=rng.choice([0, 0, 512, 1024, 2048, rng.randint(2, 20) * page]),
        overlap=1)
    return config, conversations(rng, rng.randint(20, 120), 512, longest, outputs), ["check_sglang.py"]


# ---- vLLM ----

def vllm(rng, folder):
    block = 16
    longest = rng.randint(2, 16)
    outputs = rng.choice([1, 8, 60])
    most = longest + 2 + outputs // block + 1
    gpu = most + rng.randint(0, 6 * most) + 1
    scheduler = dict(max_num_batched_tokens=rng.choice([64, 128, 2048, rng.randint(20, 400)]),
                     max_num_seqs=rng.choice([1, 2, 4, 8, 64]))
    if rng.random() < 0.2:
        scheduler["watermark"] = 0.1
    if rng.random() < 0.2:
        scheduler["policy"] = "priority"
    if rng.random() < 0.2:
        scheduler["scheduler_reserve_full_isl"] = False
    if rng.random() < 0.2:
        scheduler["long_prefill_token_threshold"] = rng.choice([20, 64])
        if rng.random() < 0.5:
            scheduler["long_prefill_token_threshold_adaptive"] = True
    if rng.random() < 0.15:
        scheduler["prefill_schedule_interval"] = rng.randint(2, 4)
    if rng.random() < 0.15 and scheduler["max_num_batched_tokens"] >= 2048:
        scheduler["enable_chunked_prefill"] = False
    asynchronous = rng.random() < 0.25
    if asynchronous:
        scheduler["async_scheduling"] = True
    config = dict(name="drawn", engine="vllm 0.33.0", block_size=block, tokens_per_hash_id=block, max_model_len=4096,
                  num_gpu_blocks=gpu, scheduler=scheduler, load_latency_steps=rng.choice([1, 1, 2, 4]),
                  store_latency_steps=rng.choice([1, 1, 2, 4]))
    checks = ["verify_vllm.py"]
    if rng.random() < 0.8:
        extra = {}
        chunk = rng.choice([1, 1, 1, 2, 4])
        tiers = rng.random() < 0.25
        if chunk > 1:
            extra["blocks_per_chunk"] = chunk
        if rng.random() < 0.4:
            extra["eviction_policy"] = "arc"
        if rng.random() < 0.3:
            extra["offload_prompt_only"] = False
        if rng.random() < 0.2 and not tiers:
            extra["store_threshold"] = rng.choice([1, 2, 3])
            extra["max_tracker_size"] = rng.choice([8, 64, 64000])
        if rng.random() < 0.15:
            extra["sync_load_budget_bytes"] = rng.choice([4096, 40960])
        if tiers:
            extra["spec_name"] = "TieringOffloadingSpec"
            extra["secondary_tiers"] = [{"type": rng.choice(["fs", "example"])}]
        # Smaller than a fetch the engine never ends; that is told elsewhere.
        cpu = rng.randint(most if tiers else 1, 8 * most)
        config["connector"] = dict(kv_connector="OffloadingConnector", cpu_chunks=cpu, extra_config=extra)
        if chunk == 1 and not tiers and not asynchronous:
            checks.append("replay_vllm_cpu.py")
    elif rng.random() < 0.4:
        config["groups"] = ["full", "swa%d" % rng.choice([32, 64])]
        config["num_gpu_blocks"] = 2 * gpu  # a request needs blocks of each
        if rng.random() < 0.5:
            config["cache"] = dict(prefix_cache_retention_interval=None)
    rows = conversations(rng, rng.randint(20, 100), block, longest, outputs)
    t = 0
    for r in rows:
        t += rng.choice([0, 0, 1, 1, 2, 10])
        r["timestamp"] = t
        if scheduler.get("policy") == "priority":
            r["priority"] = rng.randint(0, 3)
    connector = config.get("connector", {}).get("extra_config", {})
    if "connector" in config and "secondary_tiers" not in connector and rng.random() < 0.2:  # windows over host memory
        config["groups"] = ["full", "swa%d" % rng.choice([32, 64])]
        config["num_gpu_blocks"] = 2 * gpu
        checks = ["verify_vllm.py"]
    return config, rows, checks


def write_requests(folder, rows):
    """requests.csv, by the steps."""
    first, done, tokens = {}, {}, collections.Counter()
    hits = {}
    with open(os.path.join(folder, "steps.jsonl")) as f:
        for line in f:
            o = json.loads(line)
            for r, kind, local, external, _ in o.get("adm", []):
                if kind in ("new", "load") and r not in hits:
                    hits[r] = (local, external)
            for r in o.get("fin", []):
                done[r] = o["t"]
    with open(os.path.join(folder, "requests.csv"), "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["request", "local_hit_tokens", "external_hit_tokens", "finish_step", "output_tokens"])
        for r, row in enumerate(rows):
            local, external = hits.get(r, (0, 0))
            w.writerow([r, local, external, done.get(r, ""), row["output_length"] if r in done else 0])


DRAWN = dict(lmcache=lmcache, mp=lmcache_mp, sglang=sglang, vllm=vllm)


def differs(check, out):
    if "KeyError: None" in out.stderr:  # no victim: the program knows none of that, the engine refuses the store
        return False
    if out.returncode:
        return True
    if check == "replay_vllm_cpu.py":
        return not (out.stdout.rstrip().endswith("None") or out.stdout.rstrip().endswith("not modelled"))
    return not out.stdout


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--check", required=True, metavar="DIR", help="folder of the programs that predict")
    p.add_argument("--engine", choices=sorted(DRAWN), action="append", help="only this one (several: again)")
    p.add_argument("--seeds", type=int, default=100, help="scenarios of each engine (100)")
    p.add_argument("--first", type=int, default=1, help="the first seed (1)")
    p.add_argument("--limit", type=float, default=60, help="seconds that a scenario may take (60)")
    p.add_argument("--keep", metavar="DIR", help="where scenarios that differ are kept")
    a = p.parse_args()
    bad = total = 0
    for engine in a.engine or sorted(DRAWN):
        for seed in range(a.first, a.first + a.seeds):
            rng = random.Random("%s %d" % (engine, seed))
            folder = tempfile.mkdtemp(prefix="%s-%d-" % (engine, seed))
            config, rows, checks = DRAWN[engine](rng, folder)
            with open(os.path.join(folder, "config.json"), "w") as f:
                json.dump(config, f, indent=1)
            write_rows(folder, rows, engine == "vllm")
            why = None
            try:
                out = subprocess.run([RUN, "--write", folder], capture_output=True, text=True, timeout=a.limit)
            except subprocess.TimeoutExpired:
                out = None
            if not out:
                why = "run: it does not end"
            elif out.returncode:
                why = "run: %d %s" % (out.returncode, out.stderr.strip())
            elif engine == "vllm":
                write_requests(folder, rows)
            else:
                subprocess.run(["zstd", "-q", "--rm", "-f", os.path.join(folder, "ops.jsonl")], check=True)
            for check in checks if not why else []:
                out = subprocess.run([sys.executable, os.path.join(a.check, check), folder], capture_output=True, text=True)
                if differs(check, out):
                    why = "%s: %s" % (check, (out.stdout + out.stderr).strip()[:600])
                    break
            total += 1
            if why:
                bad += 1
                kept = ""
                if a.keep:
                    os.makedirs(a.keep, exist_ok=True)
                    kept = os.path.join(a.keep, "%s-%d" % (engine, seed))
                    shutil.rmtree(kept, ignore_errors=True)
                    shutil.copytree(folder, kept)
                print("%s seed %d: %s %s" % (engine, seed, why, kept), flush=True)
            shutil.rmtree(folder)
    print("%d scenarios, %d differ" % (total, bad))
    sys.exit(bad > 0)


main()
