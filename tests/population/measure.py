#!/usr/bin/env python3
"""Measures the habits of kvgen's populations (kvgen --population help) from public traces.

usage: measure.py MOONCAKE SHAREGPT AGENTS

MOONCAKE: JSON lines of Mooncake's conversation trace (kvcache-ai/Mooncake, FAST25-release); SHAREGPT: JSON lines with
input_toks; AGENTS: a tar of coding-agent conversations, or one of them as .json. All may be .zst, which the program
zstd unpacks. Prints each figure with its unit and numbers, as kvgen lists them, and below it where it comes from.
"""
import io
import json
import subprocess
import sys
import tarfile
from collections import defaultdict

SHARES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 100)  # percent, of a table's numbers
LONG_TOKENS = 8192  # a first prompt from here on is a document
WINDOW_TOKENS = 131072  # no longer context is asked for
BLOCK_TOKENS = 512  # of Mooncake
HORIZON_S = 600  # requests this near to the end of the trace may still have gone on
WORDS_A_MINUTE = 240
WORDS_OF_1000_TOKENS = 750
TOKEN_S = 0.03  # until an answer is there, of each token
BREAK_S = 3600  # who is longer away has gone


def unpacked(path):
    """The bytes of a file, unpacked if its name says so."""
    if path.endswith(".zst"):
        return subprocess.run(["zstd", "--long=27", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    with open(path, "rb") as f:
        return f.read()


def json_lines(path):
    return [json.loads(line) for line in unpacked(path).splitlines() if line.strip()]


def agent_sessions(path):
    data = unpacked(path)
    if path.removesuffix(".zst").endswith(".json"):
        return [json.loads(data)]
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return [json.load(tar.extractfile(m)) for m in tar.getmembers() if m.name.endswith(".json")]


def table(values, most):
    """Quantiles of values, which are held within 1 and most. The value at a share is the nearest one."""
    ordered = sorted(min(max(int(v + 0.5), 1), most) for v in values)
    return [ordered[(2 * (len(ordered) - 1) * p + 100) // 200] for p in SHARES]


def put(name, unit, numbers, source):
    print(f"{name} {unit}", *numbers)
    print(f"    {source}")


def put_table(name, unit, values, source, most=WINDOW_TOKENS):
    if not values:
        put(name, unit, ["none"], source)
        return
    mean = sum(min(max(v, 1), most) for v in values) / len(values)
    put(name, unit, table(values, most), f"{source}; {len(values)} values, mean {mean:.0f}")


# ---- conversations of Mooncake ----


def conversations(rows):
    """Lists of requests. One goes on with another if its blocks begin with all full blocks of that one's input."""
    last, found = {}, []
    for r in rows:
        full = min(r["input_length"] // BLOCK_TOKENS, len(r["hash_ids"]))
        talk = None
        for k in range(full, 1, -1):  # all requests have the first block, the system prompt
            before = last.get(r["hash_ids"][k - 1])
            if before and before[0] == k and before[1][-1]["input_length"] < r["input_length"]:
                talk = before[1]
                break
        if talk is None:
            talk = []
            found.append(talk)
        talk.append(r)
        if full > 0:
            last[r["hash_ids"][full - 1]] = (full, talk)
    return found


def went_on(talks, end_ms):
    """Shares of first and of later requests after which the conversation went on."""
    asked, further = [0, 0], [0, 0]
    for talk in talks:
        for i, r in enumerate(talk):
            if r["timestamp"] <= end_ms - HORIZON_S * 1000:
                asked[i > 0] += 1
                further[i > 0] += i + 1 < len(talk)
    return [further[i] / asked[i] if asked[i] else 0 for i in (0, 1)]


def next_tokens(talks):
    return [b["input_length"] - a["input_length"] - a["output_length"] for t in talks for a, b in zip(t, t[1:])]


def pauses_ms(talks):
    """Times between requests, without those of the answer and of reading it."""
    token_ms = 1000 * TOKEN_S + WORDS_OF_1000_TOKENS * 60 / WORDS_A_MINUTE
    return [
        max(b["timestamp"] - a["timestamp"] - a["output_length"] * token_ms, 1000) for t in talks for a, b in zip(t, t[1:])
    ]


def measure_people(rows, sharegpt):
    talks = conversations(rows)
    short = [t for t in talks if t[0]["input_length"] < LONG_TOKENS]
    long = [t for t in talks if t[0]["input_length"] >= LONG_TOKENS]
    system = min(r["input_length"] for r in rows)
    first = [t[0]["input_length"] - system for t in short]
    asked = [r["input_toks"] for r in sharegpt]
    second, further = went_on(short, rows[-1]["timestamp"])
    put("chat.system", "tokens", [system], "Mooncake: the least input; all begin with the same block")
    put_table(
        "chat.first",
        "tokens",
        first * len(asked) + asked * len(first),
        f"half first prompts of Mooncake below {LONG_TOKENS} tokens, without chat.system, half prompts of ShareGPT",
    )
    put_table("chat.next", "tokens", next_tokens(short), "Mooncake: tokens that a further turn adds to its conversation")
    answers = [r["output_length"] for t in short for r in t]
    put_table("chat.answer", "tokens", answers, "Mooncake: answers in these conversations")
    put(
        "chat.second",
        "ppm",
        [round((second + 0.73) / 2 * 1e6)],
        f"conversations with a second turn: half Mooncake ({second:.3f}), half ShareGPT (0.73, CachedAttention, ATC 2024)",
    )
    put("chat.further", "ppm", [round(further * 1e6)], "Mooncake: later turns after which the conversation went on")
    put_table("chat.pause", "ms", pauses_ms(short), "Mooncake: times between turns, without answer and reading", 10**9)
    put_table(
        "documents.length",
        "tokens",
        [t[0]["input_length"] - system for t in long],
        f"Mooncake: first prompts of {LONG_TOKENS} tokens and more, without chat.system",
    )
    put_table("documents.question", "tokens", next_tokens(long), "Mooncake: tokens that a further turn adds to these")
    answers = [r["output_length"] for t in long for r in t]
    put_table("documents.answer", "tokens", answers, "Mooncake: answers in these conversations")
    put_table("documents.pause", "ms", pauses_ms(long), "Mooncake: times between turns, without answer and reading", 10**9)


# ---- coding agents ----


def steps_of(requests):
    return [r for r in requests if r.get("type") != "subagent"]


def added(threads):
    return [b["in"] - a["in"] - a["out"] for t in threads for a, b in zip(t, t[1:]) if b["in"] >= a["in"]]


def median(values):
    return sorted(values)[(len(values) - 1) // 2] if values else "none"


def system_of(thread):
    return (thread.get("tool_tokens") or 0) + (thread.get("system_tokens") or 0)


def measure_agents(sessions):
    agents = [r for s in sessions for r in s["requests"] if r.get("type") == "subagent"]
    main = [steps_of(s["requests"]) for s in sessions]
    sub = [steps_of(a["requests"]) for a in agents]
    after = [(a.get("stop"), b["think_time"]) for t in main for a, b in zip(t, t[1:]) if "think_time" in b]
    breaks = [1000 * min(t, BREAK_S) for stop, t in after if stop == "end_turn"]
    tools = [max(1000 * min(t, BREAK_S), 500) for stop, t in after if stop != "end_turn"]
    put("code.system", "tokens", [median([system_of(s) for s in sessions])], "agents: tools and system prompt, median")
    put_table(
        "code.first",
        "tokens",
        [t[0]["in"] - system_of(s) for s, t in zip(sessions, main)],
        "agents: first requests, without tools and system prompt",
    )
    put_table("code.growth", "tokens", added(main), "agents: tokens that a step adds, without the answer before it")
    put_table("code.answer", "tokens", [r["out"] for t in main + sub for r in t], "agents: answers")
    put_table("code.steps", "steps", [len(t) for t in main], "agents: steps of a session")
    put_table("code.tool", "ms", tools, "agents: times from an answer to the next step, where no person asks", 10**9)
    put("code.person", "ppm", [round(len(breaks) / len(after) * 1e6)], "agents: steps whose answer goes to a person")
    put_table("code.break", "ms", breaks, f"agents: times until that person asks again, at most {BREAK_S} s", 10**9)
    put("code.agent_system", "tokens", [median([system_of(a) for a in agents])], "sub-agents: tools and system prompt, median")
    put_table(
        "code.agent_first",
        "tokens",
        [t[0]["in"] - system_of(a) for a, t in zip(agents, sub)],
        "sub-agents: first requests, without tools and system prompt",
    )
    put_table("code.agent_growth", "tokens", added(sub), "sub-agents: tokens that a step adds")
    put_table("code.agent_steps", "steps", [len(t) for t in sub], "sub-agents: steps")
    steps = sum(len(t) for t in main) / len(main)
    put(
        "code.agent",
        "ppm",
        [round(59 / 710 / steps * 1e6)],
        f"steps that start a sub-agent: 59 in the 710 sessions that this is a selection of, {steps:.1f} steps each",
    )


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[2])
    measure_people(json_lines(sys.argv[1]), json_lines(sys.argv[2]))
    measure_agents(agent_sessions(sys.argv[3]))


main()
