#!/bin/sh
# compare-targets.sh - What do several targets, drives or servers, give the same trace?
#
# Usage: compare-targets.sh [OPTION]... TARGET TARGET...
#
#   TARGET       a folder, redis://HOST:PORT/DB or s3://BUCKET/PREFIX?endpoint=URL (see
#                kvreplay(1), --target); folders are made and removed again, and servers are
#                left as they were
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     users at once (default: 8)
#   -n REQUESTS  requests of the trace (default: 50)
#   --trials N   runs on each target (default: 3)
#   -o OUT       folder for trace, results and reports (default: kvtrace-compare-targets)
#   --storage-capacity SIZE     what the cache may fill (default: what is free in each
#                folder, less a reserve; with a server at most 4, since servers do not
#                tell how much they take)
#   --print      show the pipeline, run nothing
#
# Each replays the whole trace, so all do the same operations, in turn and back (A B C, C B A,
# ...), so that what else happens on the machine meets all alike. The table shows the means of
# the trials; then each target is compared with the one that reads fastest (99 %, corrected for
# the number of figures), and the last line says in words what may be concluded. Passwords and
# keys come from the environment (REDISCLI_AUTH, AWS_ACCESS_KEY_ID, ...), never from a URI.
#
# Example:
#   examples/compare-targets.sh -u 4 /mnt/nvme/kv redis://10.0.0.2:6379/1
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -o --trials --storage-capacity'
trials=3 users=8 requests=50 targets=0
# kind TARGET: of its engine, by its name.
kind() {
    case $1 in
    redis://* | rediss://* | redis+unix:*) echo Redis ;;
    s3://*) echo S3 ;;
    *) echo folder ;;
    esac
}
# The n-th target is $target_N; only N goes through eval. nth N: sets target to it.
nth() { eval "target=\$target_$1"; }
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -n) value "$@" && number "$1" "$text" && requests=$text ;;
    -?*) option "$@" ;;
    [012]=*) die 2 "$1: targets are compared as Tier-2: leave out ${1%%=*}=" ;;
    *)
        operand "${1#file:}" && place=$text words=1
        if [ "$(kind "$place")" = folder ]; then inside "$place"; fi
        n=1
        while [ "$n" -le "$targets" ]; do
            nth "$n"
            if [ "$target" = "$place" ]; then die 2 "$1: the same target twice"; fi
            n=$((n + 1))
        done
        targets=$n
        eval "target_$n=\$place"
        ;;
    esac
    shift "$words"
done
if [ "$targets" -lt 2 ]; then die 2 "two targets or more are needed (try --help)"; fi
need kvgen kvreplay kvstat
numbers=$(seq "$targets") back=$(seq "$targets" -1 1)

set -- "$out"
for n in $numbers; do set -- "$@" "$out/$n"; done
results "$@"
servers=0 rooms=''
for n in $numbers; do
    nth "$n"
    if [ "$(kind "$target")" = folder ]; then rooms="$rooms $(room "$target")"; else servers=$((servers + 1)); fi
done
if [ -z "$storage" ]; then
    if [ "$servers" -gt 0 ]; then rooms="$rooms 4"; fi
    storage=$(for room in $rooms; do echo "$room"; done | sort -g | head -n 1)
fi
# runs_of N: the names of its runs, words.
runs_of() {
    trial=1
    while [ "$trial" -le "$trials" ]; do
        printf '%s/trial-%s ' "$1" "$trial"
        trial=$((trial + 1))
    done
}
for n in $numbers; do
    for run in trace $(runs_of "$n"); do free_runs "$run"; done
    free "$out/$n/measured" "$out/$n/against.json"
done

tell "the load"
load trace "$users" 86400 --max-requests "$requests" --model "$model" --gpu-mem 0 --cpu-mem 0 \
    --storage-capacity "$(sized "$storage")" --generation-mode none
trial=1
while [ "$trial" -le "$trials" ]; do
    if [ $((trial % 2)) = 1 ]; then order=$numbers; else order=$back; fi
    for n in $order; do
        nth "$n"
        tell "$target, trial $trial of $trials"
        execute "$n/trial-$trial" trace --timing served --workers "$(workers "$users")"
    done
    trial=$((trial + 1))
done
if printing; then
    for n in $numbers; do
        if [ "$n" != 1 ]; then compare "$(runs_of 1)" "$(runs_of "$n")"; fi
    done
    exit 0
fi

# ---- the table ----

# measured N: a line for each trial of a target: read GiB/s, P50 and P95 (us), write GiB/s, P95, operations not ok, seconds,
# operations, bytes.
measured() {
    for run in $(runs_of "$1"); do
        pick tiers.Tier-2.read.gib_per_s tiers.Tier-2.read.service_us.p50 tiers.Tier-2.read.service_us.p95 \
            tiers.Tier-2.write.gib_per_s tiers.Tier-2.write.service_us.p95 tiers.Tier-2.read.not_ok \
            tiers.Tier-2.write.not_ok elapsed_s tiers.Tier-2.read.ops tiers.Tier-2.write.ops tiers.Tier-2.read.bytes \
            tiers.Tier-2.write.bytes <"$out/$run.kvreplay.json" | tr '\n' ' '
        echo
    done
}
echo '    kind    read GiB/s  P50 ms  P95 ms  write GiB/s  P95 ms  failed  seconds  target'
fastest=1 most=-1 failed=''
for n in $numbers; do
    nth "$n"
    writes "$out/$n/measured" "$out/$n/against.json"
    measured "$n" >"$out/$n/measured"
    readable "$target"
    awk -v n="$n" -v kind="$(kind "$target")" '
        function mean(i, scale, digits) { return count[i] ? sprintf("%.*f", digits, sum[i] / count[i] * scale) : "-" }
        { for (i = 1; i <= 8; i++) if ($i != "-") { sum[i] += $i; count[i]++ } }
        END {
            printf "%2d  %-6s  %10s  %6s  %6s  %11s  %6s  %6d  %7s  ", n, kind, mean(1, 1, 2), mean(2, 0.001, 1),
                mean(3, 0.001, 1), mean(4, 1, 2), mean(5, 0.001, 1), sum[6] + sum[7], mean(8, 1, 1)
        }' <"$out/$n/measured"
    printf '%s\n' "$readable"
    if awk '{ failed += $6 + $7 } END { exit !failed }' <"$out/$n/measured"; then failed="$failed $n"; fi
    reads=$(awk '$1 != "-" { sum += $1 } END { print sum / NR }' <"$out/$n/measured")
    if awk -v a="$reads" -v b="$most" 'BEGIN { exit !(a > b) }'; then fastest=$n most=$reads; fi
done
echo

# ---- what may be concluded ----

done_by=$(for n in $numbers; do awk '{ print $9, $10, $11, $12 }' <"$out/$n/measured"; done | sort -u)
if [ "$(printf '%s\n' "$done_by" | wc -l)" = 1 ]; then
    echo "$done_by" | awk '{ printf "Each did the same: %d reads of %.2f GiB and %d writes of %.2f GiB.\n", $1, $3 / 1073741824, $2, $4 / 1073741824 }'
else
    echo "They did not do the same: some operations of the trace had no object to work on. Compare times, not totals."
fi
for n in $failed; do
    nth "$n"
    answer "Some operations of $target failed (kvstat $out/$n/*.result.csv.zst shows which): its figures cover only the others."
done
for n in $numbers; do
    nth "$n"
    case $(kind "$target") in
    Redis) answer "$target: times include the network; objects are in the server's memory, so a completed write is not durable." ;;
    S3) answer "$target: times include the network and the server; what the server's drives did is not known here." ;;
    esac
done
caution
nth "$fastest"
best=$target beaten='' even='' reads=compare.figures.groups.Tier-2/Read/Decode
for n in $numbers; do
    if [ "$n" = "$fastest" ]; then continue; fi
    nth "$n"
    other=$target
    compare "$(runs_of "$n")" "$(runs_of "$fastest")" --json >"$out/$n/against.json"
    better "$other" "$best" <"$out/$n/against.json"
    # A trace that gives the times itself moves as many bytes a second on both: then its reads are answered sooner.
    if pick "$reads.gib_per_s.changed" "$reads.service_us.p50.better" <"$out/$n/against.json" | grep -q true; then
        beaten="$beaten, $other"
    else
        even="$even, $other"
    fi
done
rate=$(printf '%.2f GiB/s' "$most")
if [ "$trials" -lt 2 ]; then
    answer "$best read fastest ($rate), in one run of each, which does not show how much runs differ by chance: use --trials 3 to 5."
elif [ -z "$even" ]; then
    answer "$best reads fastest ($rate), by more than the noise: against ${beaten#, }."
elif [ -z "$beaten" ]; then
    answer "$best read fastest ($rate), but not by more than the noise: against ${even#, }."
else
    answer "$best reads fastest ($rate), by more than the noise against ${beaten#, }; not against ${even#, }."
fi
