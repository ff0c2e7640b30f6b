#!/bin/sh
# phases.t - INT, TERM and HUP are heard in every phase of every program: while a FIFO's other end is awaited or
# silent, a reader takes nothing, a configuration or model does not come, a trace is surveyed, objects are written that a
# trace only reads, a kept store is looked through, an old store is emptied, memory and space are taken, files are filled
# and removed, a command or a picture does not come. One signal ends it within moments, two where a reader must be given
# up; the exit status is the signal's; a HUP that is ignored, as under nohup, is not heard. Nothing is left, but what was
# there and what is kept. A bug looked like a program that needs a second or third signal, or leaves its store behind.
# builds: plain (when a signal comes, not what is read; interrupt.t and ends_early.t run under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'

TSAN_OPTIONS="${TSAN_OPTIONS:+$TSAN_OPTIONS:}report_thread_leaks=0"
export TSAN_OPTIONS BIN TMP

mkdir "$TMP/bin"
printf '#!/bin/sh\nexec sleep 1000\n' >"$TMP/bin/gnuplot"
chmod +x "$TMP/bin/gnuplot"
rows() { # AWK STATEMENT, which prints what stands between the columns
    awk "BEGIN { print \"Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\"; $1 }"
}
rows 'for (i = 0; i < 5000; i++) printf "%.2f,Write,4096,Tier-2,k%d,Prefill\n", i, i' >"$TMP/slow.csv"
# A thousand million rows, which take minutes to read.
for _ in 0 1 2 3 4 5 6 7 8 9 10; do
    if [ -e "$TMP/more.zst" ]; then cat "$TMP/more.zst" "$TMP/more.zst"; else
        rows 'for (i = 0; i < 1000000; i++) printf "0,Read,4096,Tier-2,k%d,Decode\n", i % 100' | sed 1d | zstd -qc
    fi >"$TMP/new.zst"
    mv "$TMP/new.zst" "$TMP/more.zst"
done
{ rows '' | zstd -qc && cat "$TMP/more.zst"; } >"$TMP/reads.csv.zst"
rows 'for (i = 0; i < 60; i++) printf "0,Write,4194304,Tier-2,k%d,Prefill\n", i' >"$TMP/writes.csv"
rows 'for (i = 0; i < 6000; i++) printf "0,Read,4194304,Tier-2,k%d,Decode\n", i % 60' >"$TMP/again.csv"
rows 'for (i = 0; i < 256; i++) printf "%d,Write,4194304,Tier-1,k%d,Prefill\n", 1000 * (i > 254), i' >"$TMP/memory.csv"
"$BIN/kvreplay" --null --progress none -o "$TMP/result.csv" "$TMP/slow.csv" 2>"$TMP/stderr"

cat >"$TMP/phases.py" <<'END'
import concurrent.futures, os, shutil, signal, subprocess, sys, time

BIN, TMP = os.environ["BIN"], os.environ["TMP"]
PATIENCE = 8  # seconds after a signal in which the program waits; those in which it works or is not let do not count
STATUS = {"INT": 130, "TERM": 143, "HUP": 129}
MARKER = ("running 1\nkvprecond\ncreated\nseed 1\n" + 256 * "\n")[:256]


def handles(pid):
    """Whether the program has installed its handlers, that of SIGTERM last; or has ended."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return any(line.startswith("SigCgt:") and int(line.split()[1], 16) & 1 << 14 for line in f)
    except OSError:
        return True


def waits(pid):
    """Whether all its threads wait for what does not come."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat") as f:
                if f.read().rpartition(")")[2].split()[0] in "RD":
                    return False
    except OSError:
        pass  # it ends, or that thread did
    return True


def ends(run):
    """Whether it ends before it has waited for PATIENCE."""
    waited = 0
    while waited < PATIENCE * 20:
        try:
            run.wait(0.05)
            return True
        except subprocess.TimeoutExpired:
            waited += waits(run.pid)
    return False


def answers(run, err):
    """Waits until it says that it stops, so that the next signal is another one (STOP_TWICE_MS)."""
    while run.poll() is None:
        with open(err) as f:
            if ": stopping: " in f.read():
                break
        time.sleep(0.02)
    time.sleep(0.2)


def silent(folder):
    """A FIFO that somebody has open, and does not use."""
    os.mkfifo(folder + "/f")
    return os.open(folder + "/f", os.O_RDWR)


def nobody(folder):
    """A FIFO that nobody has open."""
    os.mkfifo(folder + "/f")


def nobody_json(folder):
    os.mkfifo(folder + "/f.json")


def old_store(folder):
    """What a run left that was killed."""
    os.mkdir(folder + "/d")
    with open(folder + "/d/.kvtrace", "w") as f:
        f.write(MARKER)
    first = f"{folder}/d/fill-000000.kv"
    open(first, "w").close()
    for i in range(1, 20000):  # links, which cost no inodes
        os.link(first, f"{folder}/d/fill-{i:06d}.kv")


def kept(*layout):
    """A store whose objects may be torn: they are verified before they are used."""

    def make(folder):
        subprocess.run([BIN + "/kvreplay", "--progress", "none", "--target", folder + "/d", *layout, "--keep", "-o", "none",
                        TMP + "/writes.csv"], stderr=subprocess.DEVNULL, check=True)
        marker = folder + "/d/.kvtrace"
        with open(marker) as f:
            text = f.read()
        with open(marker, "w") as f:
            f.write(text.replace("unsure 0", "unsure 1", 1))

    return make


def written(folder):
    """The store holds something."""
    try:
        return sum(len(files) for _, _, files in os.walk(folder + "/d")) > 1
    except OSError:
        return False


gen = "kvgen --progress none --num-users 50 --duration 1000000 --model tiny-1b "
# Name, command (@: the folder of this run), and what is different: before (makes what is to be there), ready (when to
# send), reader (False: standard output is a pipe that nobody reads), signals (how many it takes), left (what may stay).
PHASES = [
    ("kvgen: a configuration that nobody writes", gen + "-c @f", {"before": nobody}),
    ("kvgen: a configuration that does not end", gen + "-c @f", {"before": silent}),
    ("kvgen: a recording that nobody writes", "kvgen --source mooncake --input @f -o none", {"before": nobody}),
    ("kvgen: a recording that does not come", "kvgen --source sharegpt --input @f -o none", {"before": silent}),
    ("kvgen: users that nobody writes", "kvgen --users-file @f -o none", {"before": nobody}),
    ("kvgen: an output that nobody reads", gen + "-o @f", {"before": nobody}),
    ("kvgen: a reader that takes nothing", gen, {"reader": False, "signals": 2}),
    ("kvgen: a reader that takes nothing, compressed", gen + "-z", {"reader": False, "signals": 2}),
    ("kvgen: a summary that nobody reads", "kvgen --num-users 5 --duration 10 --model tiny-1b -o none --summary @f",
     {"before": nobody}),
    ("kvgen: rows", gen + "-o @o.csv.zst", {"left": ["o.csv.zst"]}),
    ("kvgen: a curve", gen + "-o none --curve @c.csv", {"left": ["c.csv"]}),
    ("kvgen: a trace is read", "kvgen --progress none --source trace --input $reads.csv.zst -o @o.csv", {"left": ["o.csv"]}),
    ("kvreplay: a trace that nobody writes", "kvreplay --null -o none @f", {"before": nobody}),
    ("kvreplay: a trace that does not come", "kvreplay --null -o none @f", {"before": silent}),
    ("kvreplay: a result that nobody reads", "kvreplay --null -o @f $slow.csv", {"before": nobody}),
    ("kvreplay: a reader that takes nothing", "kvreplay --null -o - $reads.csv.zst", {"reader": False, "signals": 2}),
    ("kvreplay: a summary that nobody reads", "kvreplay --null -o none --limit 10 --summary @f $slow.csv",
     {"before": nobody}),
    ("kvreplay: the survey", "kvreplay --target @d -o none $reads.csv.zst", {}),
    ("kvreplay: an old store is emptied", "kvreplay --target @d --timing trace -o none $slow.csv",
     {"before": old_store, "left": ["d"]}),
    ("kvreplay: kept files are verified", "kvreplay --target @d --keep -o none $again.csv",
     {"before": kept(), "left": ["d"]}),
    ("kvreplay: a kept slab is verified", "kvreplay --target @d --layout slab --keep -o none $again.csv",
     {"before": kept("--layout", "slab"), "left": ["d"]}),
    ("kvreplay: objects are written before", "kvreplay --target @d -o none $again.csv", {"ready": written}),
    ("kvreplay: memory is taken", "kvreplay --cpu-mem 1GiB --timing trace -o none $memory.csv", {}),
    ("kvreplay: rows", "kvreplay --target @d --timing trace -o @r.csv $slow.csv", {"ready": written, "left": ["r.csv"]}),
    ("kvreplay: the start", "kvreplay --null --start-at +1000 -o none $slow.csv", {}),
    ("kvreplay: a command that writes nothing", ["kvreplay", "--null", "--autoscale", "qos", "--each", "sleep 1000"], {}),
    ("kvstat: a file that nobody writes", "kvstat @f", {"before": nobody}),
    ("kvstat: a pipe that does not come", "kvstat @f", {"before": silent, "signals": 2}),
    ("kvstat: a trace", "kvstat $reads.csv.zst", {}),
    ("kvstat: reuse", "kvstat --reuse $reads.csv.zst", {}),
    ("kvstat: verification", "kvstat --verify-trace $reads.csv.zst", {}),
    ("kvstat: a report that nobody reads", "kvstat -o @f $result.csv", {"before": nobody}),
    ("kvstat: a reader that takes nothing", "kvstat --csv --interval 1s $result.csv", {"reader": False, "signals": 2}),
    ("kvstat: a picture that does not come", "kvstat --plot @p.svg $result.csv", {}),
    ("kvprecond: a model that nobody writes", "kvprecond --mode kv --model @f.json --size 16M @d", {"before": nobody_json}),
    ("kvprecond: a fill", "kvprecond --size 4G --config iodepth=1 --threads 1 @d", {"ready": written}),
    ("kvprecond: rounds", "kvprecond --size 16M --until-steady --round 100s @d", {"ready": written}),
    ("kvprecond: a stream", "kvprecond --mode stream --size 8G @d", {}),
    ("kvprecond: files are removed", "kvprecond --size 512M --config file_size=4K --block-size 4K @d", {"ready": written}),
    ("kvprecond: an old store is emptied", "kvprecond --size 8G @d", {"before": old_store, "left": ["d"]}),
    ("kvprecond: a summary that nobody reads", "kvprecond --size 1M --summary @f @d", {"before": nobody}),
]


def full_pipe():
    """Both ends of a pipe with no room."""
    ends = os.pipe()
    os.set_blocking(ends[1], False)
    try:
        while True:
            os.write(ends[1], bytes(4096))
    except BlockingIOError:
        os.set_blocking(ends[1], True)
    return ends


def interrupted(folder, command, how, name):
    """What was wrong with one run; "" for nothing."""
    words = command.split() if isinstance(command, str) else command
    words = [w.replace("@", folder + "/").replace("$", TMP + "/") for w in words]
    open_ends = [how["before"](folder)] if "before" in how else []
    there = set(os.listdir(folder))
    pipe = full_pipe() if not how.get("reader", True) else None
    err = folder + ".err"
    with open(err, "w") as errors:
        run = subprocess.Popen([BIN + "/" + words[0], *words[1:]], cwd=folder, stdin=subprocess.DEVNULL,
                               stdout=pipe[1] if pipe else subprocess.DEVNULL, stderr=errors,
                               env={**os.environ, "PATH": TMP + "/bin:" + os.environ["PATH"]})
    begun = time.monotonic()
    early = not handles(run.pid)
    while run.poll() is None and time.monotonic() - begun < 60 and not (
            handles(run.pid) and ("ready" not in how or how["ready"](folder))):
        time.sleep(0.01)
        # What is read before the handlers are there may be what does not come. Then the default action does.
        if early and time.monotonic() - begun > 0.5 and "before" in how and not handles(run.pid):
            break
    time.sleep(0.15)
    wrong = []
    if run.poll() is not None:
        wrong.append(f"it ended before, with {run.returncode}")
    for number in range(1, 4):
        if run.poll() is not None:
            break
        run.send_signal(getattr(signal, "SIG" + name))
        if number < how.get("signals", 1):
            answers(run, err)
        elif not ends(run):
            wrong.append(f"signal {number} was not heard")
    if run.poll() is None:
        run.kill()
        run.wait()
    if run.returncode not in (STATUS[name], -getattr(signal, "SIG" + name)):
        wrong.append(f"status {run.returncode}")
    left = set(os.listdir(folder)) - there - set(how.get("left", []))
    if left:
        wrong.append(f"left: {' '.join(sorted(left))}")
    for end in [e for e in open_ends if e is not None] + list(pipe or []):
        os.close(end)
    with open(err) as f:
        told = f.read()[-300:]
    return "; ".join(wrong) + (f" ({told})" if wrong else "")


def tried(number):
    """The signals have one handler: each phase takes one of them, in turn, or all (PHASES_ALL=1)."""
    phase, name = PHASES[number // 3], list(STATUS)[number % 3]
    folder = f"{TMP}/{number}"
    os.mkdir(folder)
    wrong = interrupted(folder, phase[1], phase[2], name)
    shutil.rmtree(folder)
    return f"{phase[0]}, {name}\t{' '.join(wrong.split())}"


with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
    each = range(3 * len(PHASES))
    if os.environ.get("PHASES_ALL") != "1":
        each = [3 * phase + phase % 3 for phase in range(len(PHASES))]
    for line in pool.map(tried, each):
        print(line, flush=True)
END
python3 "$TMP/phases.py" >"$TMP/phases" 2>"$TMP/stderr"
is 'all phases were tried' "$?$(cat "$TMP/stderr")" 0
while IFS='	' read -r name wrong; do
    is "$name" "$wrong" ''
done <"$TMP/phases"

# Under nohup a HUP is not heard.
(
    trap '' HUP
    exec "$BIN/kvgen" --progress none --num-users 50 --duration 1000000 --model tiny-1b -o "$TMP/o.csv.zst" 2>"$TMP/stderr"
) &
pid=$!
catches $pid
kill -s HUP $pid
written() { wc -c <"$TMP/o.csv.zst"; }
before=$(written)
until [ "$(written)" -gt $((before + 2000000)) ] || ! kill -s 0 $pid; do sleep 0.05; done
unlike 'a HUP that was ignored at the start stays so' "$(cat "$TMP/stderr")" stopping
kill -s TERM $pid
wait $pid
is 'and TERM is heard' $? 143
done_testing
