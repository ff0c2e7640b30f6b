#!/bin/sh
# steady.t - rounds until the device is steady: the verdict, the exit status, the text, the
# JSON and the CSV say the same, and it is what SNIA's rule, worked out here from the CSV, says. A
# stop keeps the rounds that have ended. The rule on recorded series is in test_steady. A
# bug looked like this: steady said of four rounds, rounds that were measured and then forgotten.
. "$(dirname "$0")/../../lib.sh"
kvprecond=$BIN/kvprecond

# judge COLUMN: works out of $TMP/rounds.csv when the rule first holds, and compares with the CSV's own
# column and the summary. Prints "steady ROUNDS", "not-steady ROUNDS", or what differs.
judge() {
    python3 - "$1" "$TMP/rounds.csv" "$TMP/summary.json" <<'END'
import csv, json, sys
column, path, summary = sys.argv[1:]
rows = list(csv.DictReader(open(path)))
told = json.load(open(summary))["steady_state"]

# None: so near a limit that the decimals of the CSV cannot tell.
def steady(y):
    if len(y) < 5: return False
    y = y[-5:]
    mean = sum(y) / 5
    if mean <= 0: return False
    slope = sum((x - 2) * (v - mean) for x, v in enumerate(y)) / 10
    over = max((max(y) - min(y)) / mean / 0.2, abs(slope) * 4 / mean / 0.1)
    return None if abs(over - 1) < 1e-4 else over <= 1

y = [float(r[column]) for r in rows]
said = [r["Steady"] == "1" for r in rows]
for n in range(1, len(y) + 1):
    if steady(y[:n]) not in (said[n - 1], None): sys.exit(print("round", n, "is judged wrongly"))
    if said[n - 1] and n < len(y): sys.exit(print("it went on after round", n))
for n, (r, t) in enumerate(zip(rows, told["rounds"]), 1):
    if int(r["Round"]) != n or t["round"] != n: sys.exit(print("round", n, "has another number"))
    if int(r["Bytes"]) != t["bytes"]: sys.exit(print("round", n, "differs in CSV and JSON"))
    if abs(int(r["Bytes"]) / float(r["Seconds"]) / 2**30 - float(r["Bandwidth_GiB_s"])) > 1e-3:
        sys.exit(print("round", n, "has a wrong bandwidth"))
if len(rows) != len(told["rounds"]): sys.exit(print("CSV and JSON differ in length"))
if (said and said[-1]) != told["reached"]: sys.exit(print("the summary's verdict differs"))
print("steady" if told["reached"] else "not-steady", len(rows))
END
}

# agrees NAME RC: the verdict of the last run with its status and its words.
agrees() {
    case $verdict in
    steady\ *)
        is "$1: steady is status 0" "$2" 0
        like "$1: the text says so" "$(cat "$TMP/stdout")" 'steady +yes: over rounds [0-9]+ to [0-9]+ '
        ;;
    'not-steady 25')
        is "$1: not steady after 25 rounds is status 1" "$2" 1
        like "$1: standard error says so" "$(cat "$TMP/stderr")" '^kvprecond: .*: steady state was not reached in 25 rounds \(by '
        like "$1: and the text" "$(cat "$TMP/stdout")" 'steady +no: '
        ;;
    *) is "$1: a verdict" "$verdict" 'steady N or not-steady 25' ;;
    esac
}

run() { # run OPTION...
    rc=0
    "$kvprecond" --until-steady --rounds "$TMP/rounds.csv" --summary "$TMP/summary.json" "$@" "$TMP/dir" \
        >"$TMP/stdout" 2>"$TMP/stderr" || rc=$?
}

run --size 8M --round 40ms --block-size 256K --threads 2
verdict=$(judge Bandwidth_GiB_s)
agrees 'by bandwidth' "$rc"
is 'the columns of the CSV' "$(head -n 1 "$TMP/rounds.csv")" \
    'Round,Start_s,Seconds,Bytes,Bandwidth_GiB_s,IOPS,Latency_mean_us,Latency_p99_us,Steady'
is 'rounds follow each other' "$(sed -n 3p "$TMP/rounds.csv" | cut -d, -f1-3)" '2,0.040,0.040'
like 'the fill came first, and is told apart' "$(cat "$TMP/stdout")" 'written +8\.00 MiB of 8\.00 MiB'
not_ok 'the files are removed' test -e "$TMP/dir"

run --size 4M --mode random --round 40ms --track iops
verdict=$(judge IOPS)
agrees 'by IOPS' "$rc"
run --size 4M --mode random --round 40ms --track latency
verdict=$(judge Latency_mean_us)
agrees 'by latency' "$rc"
# Rounds in which a write or none ends: nearly never steady.
run --size 64M --block-size 64M --iodepth 1 --round 10ms
verdict=$(judge Bandwidth_GiB_s)
agrees 'rounds shorter than a write' "$rc"

interrupted() {
    python3 - "$kvprecond" "$TMP" <<'END'
import os, signal, subprocess, sys, time
program, tmp = sys.argv[1:]
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen([program, "--size", "4M", "--until-steady", "--round", "900ms", "--progress", "json", "--rounds", tmp + "/rounds.csv",
                      "--summary", tmp + "/summary.json", tmp + "/dir"], stderr=subprocess.PIPE, text=True)
for line in p.stderr:
    if '"rounds": 0' not in line: break
p.send_signal(signal.SIGINT)
p.stderr.read()
sys.exit(p.wait(60))
END
}
exits 'SIGINT ends the rounds with 130' 130 interrupted
like 'those that have ended are told' "$(tail -n 1 "$TMP/rounds.csv")" '^[1-4],[0-9.]+,0\.900,[1-9][0-9]*,'
is 'and are not steady' "$(judge Bandwidth_GiB_s | cut -d' ' -f1)" not-steady
like 'the text says why it ended' "$(cat "$TMP/stdout")" 'ended by SIGINT'
not_ok 'nothing is left' test -e "$TMP/dir"

exits 'rounds that cannot be written' 1 "$kvprecond" --size 1M --until-steady --round 10ms --rounds "$TMP/none/r.csv" "$TMP/dir"
exits 'rounds on standard output, where the report is' 2 "$kvprecond" --size 1M --until-steady --rounds - "$TMP/dir"
exits 'a round of no length' 2 "$kvprecond" --size 1M --until-steady --round 0 "$TMP/dir"

done_testing
