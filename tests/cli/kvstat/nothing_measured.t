#!/bin/sh
# nothing_measured.t - a run that executed nothing (kvreplay --null), and one whose warm-up was longer than it: nothing in
# their reports is an answer about a device. A bug looked like empty engines that were "SIMULATED" and "good", or a PASS
# of no operation.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
cd "$TMP" || exit 1
"$BIN/kvgen" --model tiny-1b --users 4 --duration 20 --gpu-mem 0.1GiB --cpu-mem 0.25GiB --seed 11 -o trace.csv.zst 2>err
flat() { tr -s ' \n' ' ' <stdout; }

told "$BIN/kvreplay" --null -o null.csv.zst trace.csv.zst
exits 'a run without engines' 0 "$kvstat" null.csv.zst
stdout_like 'is not judged good' '^Validity +unknown: nothing was executed \(empty engines\)$'
stdout_unlike 'nor simulated' 'SIMULATED|sim\.|simulated'
like 'its times are of no device' "$(flat)" 'Notes GPU, memory, storage NOT EXECUTED \(null\): empty engines, whose times are kvreplay.s own'
stdout_like 'rows are marked' '^Storage write \(null\) '
is 'no line is wider than before' "$(awk 'length > 80' stdout)" ''
for profile in latency throughput mlperf; do
    exits "profile $profile" 4 "$kvstat" --check --profile $profile null.csv.zst
    like 'nothing is decided' "$(flat)" 'Verdict INCONCLUSIVE [a-z]+: .* unknown: nothing was executed'
done
exits 'targets' 4 "$kvstat" --check --slo null.csv.zst
exits 'as JSON' 0 "$kvstat" --json null.csv.zst
is 'the tiers are named' "$(json stdout '.run.empty[]')" 'Tier-0 Tier-1 Tier-2'
is 'no figure is good' "$(json stdout '[.validity.figures[].state] | unique[]')" unknown
exits 'all tables' 0 "$kvstat" --full null.csv.zst
stdout_like 'say so' '^Tiers .*Tier-2 NOT EXECUTED'
exits 'trials' 0 "$kvstat" null.csv.zst null.csv.zst
stdout_like 'too' 'Tier-2 NOT EXECUTED'
exits 'a page' 0 "$kvstat" --html page.html null.csv.zst
ok 'too' grep -q 'Tier-2 NOT EXECUTED' page.html

told "$BIN/kvreplay" --tier-engine 2=null --tier-engine 1=sim -o two.csv.zst trace.csv.zst
exits 'one tier without an engine' 0 "$kvstat" --json two.csv.zst
is 'is named' "$(json stdout '.run.empty[]')" Tier-2
# A busy machine may add a doubt of its own.
is 'its figures are unknown' \
    "$(json stdout '[.validity.figures[] | select(.figures == "service" and .tier == "Tier-2") | .state] | index("good") == null and index("unknown") != null')" true
exits 'pooled with another' 0 "$kvstat" --merge two.csv.zst null.csv.zst
stdout_like 'is kept' '^Validity .*'
like 'and the doubt' "$(flat)" 'Validity un[a-z]*: .*nothing was executed'

# Two results of one trace, of which one ran at another speed: the pool is of another load than the trace's.
for speed in 1 4; do
    told "$BIN/kvreplay" --tier-engine 2=sim --tier-engine 1=sim --timing trace --speed "${speed}0" -o "speed$speed.csv.zst" trace.csv.zst
done
exits 'pooled runs of two speeds' 4 "$kvstat" --check --slo --merge speed1.csv.zst speed4.csv.zst
like 'are not judged as the trace' "$(flat)" 'Verdict INCONCLUSIVE slo \(trace at 10 times its speed\): '

# ---- a warm-up that is longer than the run: of kvstat, and of kvreplay ----

told "$BIN/kvreplay" --tier-engine 2=sim --tier-engine 1=sim -o whole.csv.zst trace.csv.zst
told "$BIN/kvreplay" --tier-engine 2=sim --tier-engine 1=sim --warmup 1h -o warm.csv.zst trace.csv.zst
for run in '--warmup 1h whole.csv.zst' warm.csv.zst; do
    with "$run" exits "$run" 4 "$kvstat" --check --profile latency
    stdout_like "$run: is not judged good" '^Validity +unknown: all rows started in the warm-up of 1 h 00 min$'
    like "$run: no verdict, and why" "$(flat)" 'Verdict INCONCLUSIVE latency: all rows started in the warm-up: none is left to judge'
    with "$run" exits "$run: all tables" 0 "$kvstat" --full --profile latency
    stdout_like "$run: the last words" '^Verdict: INCONCLUSIVE: all rows started in the warm-up'
    with "$run" exits "$run: as JSON" 0 "$kvstat" --json
    is "$run: no figure is good" "$(json stdout '[.validity.figures[].state] | unique[]')" unknown
done
exits 'a warm-up within the run' 0 "$kvstat" --warmup 1us whole.csv.zst
stdout_unlike 'leaves it alone' 'all rows started in the warm-up'
done_testing
