#!/bin/sh
# mlperf.sh - How fast is this drive in MLPerf Storage's KV-cache workloads?
#
# Usage: mlperf.sh [OPTION]... [DIR]
#
#   -w NAMES     separated by commas; default option_1,option_2,option_3, the three workloads of the current rules:
#                  option_1   llama3.1-8b, 200 users, no CPU tier, 16 concurrent allocations
#                  option_2   llama3.1-8b, 100 users, CPU tier of 4 GiB, 16
#                  option_3   llama3.1-70b-instruct, 70 users, no CPU tier, 4
#                and the runs of earlier submissions (generation realistic, 600 s):
#                  8b-cpu0 8b-cpu4     llama3.1-8b, 150 users, CPU tier of 0 or 4 GiB
#                  70b-cpu0 70b-cpu4   llama3.1-70b-instruct, 40 users
#   DIR, -d DIR  directory for storage objects (default: the one that discover.sh proposes)
#   -o OUT       folder of the results (default: kvtrace-mlperf)
#   -t SECONDS   length of each run (default: 300; 600 for the earlier ones)
#   --trials N   runs of each workload (default: 3)
#   -u USERS     instead of the numbers above, for a first try on a small machine
#   -m MODEL     likewise
#   --storage-capacity-gb GiB   capacity for the cache (default: the free space minus a reserve)
#   --ranks N    number of simultaneous runs, each with its own directory DIR/rank_R (default: 1). Rank R has seed 42 + R;
#                bandwidths and rates are the sums over all ranks
#   --hosts LIST hosts of the ranks, separated by commas: rank R runs on host R, and from the first one on again. ssh logs in to
#                them without asking, and kvreplay is in their PATH; "-" is this machine. DIR and --storage-capacity-gb, of each
#                rank, are then needed. Traces are made here and copied; all ranks start at one time by their clocks (NTP);
#                results come back through ssh
#   --lead SECONDS  with --hosts: time that all ranks have to get ready before the start (default: 10)
#   --closed     pause for 90 s before and after each trial, as the rules of CLOSED require
#   --print      show the pipelines, run nothing
#
# The options write OUT/kv_cache/MODEL/run/DATE_TIME with metadata, summary.json and
# option_<1-3>/trial_<0-2>/rank_<R>/kvcache_results_*.json, like that benchmark's wrapper; a second run into OUT gets its own
# directory there. Each trial has the same load, so differences come from the drive. Look at storage read and write
# bandwidth (bytes over the time of the run), and at the device P95 of reads, the largest of all trials and ranks: of
# option 1 for a drive alone, and of option 2 for a drive with a little memory above it.
# These are not official MLPerf results: those need the benchmark's own program.
#
# Examples:
#   examples/mlperf.sh -w option_1 -u 10 -t 60 /mnt/nvme/kv
#   examples/mlperf.sh --hosts node1,node2 --storage-capacity-gb 500 /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --trials --storage-capacity-gb'
names=option_1,option_2,option_3 model='' users='' seconds='' trials=3 ranks='' pause=0 hosts='' lead=10
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    --closed) pause=90 words=1 ;;
    --ranks) value "$@" && number "$1" "$text" && ranks=$text ;;
    --hosts) value "$@" && hosts=$text ;;
    --lead) value "$@" && number "$1" "$text" && lead=$text ;;
    -w) value "$@" && names=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
need kvgen kvreplay kvstat
if [ -n "$hosts" ]; then
    case $hosts in *[!A-Za-z0-9_.@:%,-]*) die 2 "--hosts: \"$hosts\" is not a list of hosts separated by commas" ;; esac
    hosts=$(printf '%s\n' "$hosts" | tr , ' ') host_count=0
    for host in $hosts; do
        host_name --hosts "$host"
        host_count=$((host_count + 1))
    done
    : "${ranks:=$host_count}"
    if [ -z "$target" ] || [ -z "$storage" ]; then die 2 "--hosts: name DIR and --storage-capacity-gb, of each rank (try --help)"; fi
fi
: "${ranks:=1}"
if [ -z "$hosts" ]; then propose; fi
results "$out"

# workload NAME: model m, users n, GiB of CPU tier c, concurrent allocations a, generation g, seconds t.
workload() {
    a=0 g=none t=300
    case $1 in
    option_1) m=llama3.1-8b n=200 c=0 a=16 ;;
    option_2) m=llama3.1-8b n=100 c=4 a=16 ;;
    option_3) m=llama3.1-70b-instruct n=70 c=0 a=4 ;;
    8b-cpu0) m=llama3.1-8b n=150 c=0 g=realistic t=600 ;;
    8b-cpu4) m=llama3.1-8b n=150 c=4 g=realistic t=600 ;;
    70b-cpu0) m=llama3.1-70b-instruct n=40 c=0 g=realistic t=600 ;;
    70b-cpu4) m=llama3.1-70b-instruct n=40 c=4 g=realistic t=600 ;;
    *) die 2 "-w $1: no such workload (try --help)" ;;
    esac
    m=${model:-$m} n=${users:-$n} t=${seconds:-$t}
}

# host_of RANK: where it runs; "": here, without ssh.
host_of() {
    before=$1
    while [ -n "$hosts" ]; do
        for host in $hosts; do
            if [ "$before" = 0 ]; then echo "$host" && return; fi
            before=$((before - 1))
        done
    done
}
# copy_of RANK NAME: the folder of its files for that workload on its host.
copy_of() { printf '/tmp/%s-%s-rank_%s\n' "$far_name" "$2" "$1"; }

# load_rank NAME TRIAL RANK: the first trial makes the trace.
load_rank() {
    [ "$2" = 0 ] || return 0
    loads=$1-trial_0-rank_$3 host=$(host_of "$3")
    # That program's trace tells no deletions; a replay must know them to find room.
    load "$loads" "$n" "$t" --compat mlperf --ops Read,Write,Delete,Generate,Miss --seed "$((42 + $3))" --model "$m" \
        --gpu-mem-gb 0 --cpu-mem-gb "$c" --storage-capacity-gb "$storage" --generation-mode "$g"
    if [ -z "$host" ]; then return; fi
    if printing; then
        printed_receive "$host" "$(copy_of "$3" "$1")" "$out/$loads.trace.csv.zst"
        return
    fi
    status=0
    : >"$scratch/$1-rank_$3" # a rank is a process of its own; tidy looks for the file
    far "$host" receive "$(copy_of "$3" "$1")" <"$out/$loads.trace.csv.zst" || status=$?
    if [ "$status" = "$not_made" ]; then rm -- "$scratch/$1-rank_$3"; fi
    if [ "$status" != 0 ]; then die 3 "$host: cannot copy the trace to it"; fi
}

# execute_there RUN RANK NAME: as execute, on the rank's host, at the time of all ranks.
execute_there() {
    host=$(host_of "$2")
    copy=$(copy_of '{rank}' "$3") part=$2/$ranks files=$out/$1 summary=$(copy_of "$2" "$3")/kvreplay.json
    set -- --target "$target/rank_{rank}" --timing served --workers "$(workers "$n")" --duration "$t"
    if [ "$a" != 0 ]; then set -- "$@" --max-concurrent-allocs "$a"; fi
    set -- "$@" --progress none --summary "$copy/kvreplay.json" -z -o - "$copy/trace.csv.zst"
    if printing; then
        printed_part "$host" "$part" "$files.result.csv.zst" "$@"
        return
    fi
    writes "$files.result.csv.zst" "$files.log" "$files.kvreplay.json" "$files.json"
    on "$host" kvreplay --part "$part" --start-at "$start" "$@" </dev/null >"$files.result.csv.zst" 2>>"$files.log" ||
        die 3 "${files##*/} on $host: kvreplay failed: $(grep -v '^ ' <"$files.log" | tail -n 1 | readable_lines)"
    on "$host" cat "$summary" </dev/null >"$files.kvreplay.json" || die 3 "${files##*/}: the summary is not on $host"
    kvstat --json "$files.result.csv.zst" >"$files.json"
}

# run_rank NAME TRIAL RANK: one replay.
run_rank() {
    run=$1-trial_$2-rank_$3
    if [ -n "$hosts" ]; then
        execute_there "$run" "$3" "$1"
    else
        if [ "$ranks" != 1 ]; then target=$target/rank_$3; fi
        rank_trace=$1-trial_0-rank_$3
        set -- --timing served --workers "$(workers "$n")" --duration "$t"
        # kvreplay bounds the writes in flight; the trace itself is the same for every trial.
        if [ "$a" != 0 ]; then set -- "$@" --max-concurrent-allocs "$a"; fi
        execute "$run" "$rank_trace" "$@"
    fi
}
# judge_rank NAME TRIAL RANK: the benchmark's own file on it.
judge_rank() {
    run=$1-trial_$2-rank_$3
    if printing && [ -n "$hosts" ]; then
        copy=$(copy_of "$3" "$1")
        printf 'ssh %s %s >%s\n' "$(host_of "$3")" "$(quote "cat $copy/kvreplay.json")" "$(quote "$out/$run.kvreplay.json")"
    fi
    if typed kvstat --mlperf "$out/$run.mlperf.json" "$out/$run.result.csv.zst"; then return; fi
    writes "$out/$run.mlperf.json" "$out/$run.txt"
    kvstat --mlperf "$out/$run.mlperf.json" "$out/$run.result.csv.zst" >"$out/$run.txt"
}

run_and_judge_rank() {
    run_rank "$@"
    judge_rank "$@"
}

# rest: the pause before and after a trial.
rest() { [ "$pause" = 0 ] || typed sleep "$pause" || sleep "$pause"; }

# all_ranks DO NAME TRIAL: that for all ranks at once; ends the suite when one fails.
all_ranks() {
    rank=0 jobs='' failed=0
    while [ "$rank" -lt "$ranks" ]; do
        if printing; then
            ("$@" "$rank")
        else
            (on_signals; "$@" "$rank") &
            jobs="$jobs $!"
        fi
        rank=$((rank + 1))
    done
    for job in $jobs; do wait "$job" || failed=$?; done
    if [ "$failed" != 0 ]; then die "$failed" "$2, trial $3: a rank failed (see above)"; fi
}

# each_rank NAME TRIAL: the trial on all ranks, and what it came to.
each_rank() {
    all_ranks load_rank "$@"
    if [ -n "$hosts" ] && printing; then
        echo "start=\$((\$(date +%s) + $lead))"
        all_ranks run_rank "$@"
        echo wait
        all_ranks judge_rank "$@"
    else
        start=$(($(date +%s) + lead))
        all_ranks run_and_judge_rank "$@"
    fi
    if printing; then return; fi
    rank=0
    while [ "$rank" -lt "$ranks" ]; do
        run=$1-trial_$2-rank_$rank
        runs=$((runs + 1))
        if [ "$(pick valid <"$out/$run.kvreplay.json")" = false ]; then invalid=$((invalid + 1)); fi
        of_trials="$of_trials $run"
        rank=$((rank + 1))
    done
}

# tidy: removes the copies on other hosts.
tidy() {
    if [ -z "$hosts" ] || [ -z "$scratch" ]; then return; fi
    for name in $names; do
        rank=0
        while [ "$rank" -lt "$ranks" ]; do
            if [ -e "$scratch/$name-rank_$rank" ]; then
                far "$(host_of "$rank")" discard "$(copy_of "$rank" "$name")" "/tmp/$far_name-" </dev/null 2>/dev/null || :
            fi
            rank=$((rank + 1))
        done
    done
}

# on_mlperf NAMES COMMAND...: runs the command with those files of the benchmark's behind it.
on_mlperf() {
    of_names=$1
    shift
    for of_name in $of_names; do set -- "$@" "$out/$of_name.mlperf.json"; done
    "$@"
}
# row NAME RESULTS...: one line of the table, as that benchmark aggregates: sums over ranks and means over trials; the largest
# P95; a hit rate is the mean of all.
row_head='workload        read GiB/s  write GiB/s  device read P95 ms  device write P95 ms  hit rate  tokens/s  storage tokens/s  read GiB'
row() {
    row_name=$1
    shift
    for file; do
        figures "$file" tier_storage_read_bandwidth_gbps tier_storage_write_bandwidth_gbps storage_read_device_p95_ms \
            storage_write_device_p95_ms cache_hit_rate avg_throughput_tokens_per_sec storage_throughput_tokens_per_sec \
            tier_storage_kv_bytes_read_gb
    done | awk -v name="$row_name" -v ranks="$ranks" '
        $0 != "-" {
            i = (NR - 1) % 8 + 1
            sum[i] += $0; count[i]++
            if ($0 + 0 > most[i]) most[i] = $0 + 0
        }
        function total(i, digits) { return count[i] ? sprintf("%.*f", digits, sum[i] / count[i] * ranks) : "-" }
        function worst(i) { return count[i] ? sprintf("%.1f", most[i]) : "-" }
        END {
            printf "%-15s %10s %12s %19s %20s %9s %9s %17s %9s\n", name, total(1, 3), total(2, 3), worst(3), worst(4),
                count[5] ? sprintf("%.3f", sum[5] / count[5]) : "-", total(6, 1), total(7, 2), total(8, 2)
        }'
}

if [ "$pause" = 0 ]; then tell "no pauses between trials (--closed: 90 s before and after each)"; fi
if [ -z "$hosts" ] && [ "$ranks" != 1 ]; then storage=$(awk -v all="$(room "$target")" -v n="$ranks" 'BEGIN { printf "%.3f", all / n }'); fi
# All of the names are good, and nothing of someone is in the way, before anything runs.
table=$out/table.txt options=''
listed -w "$names" && names=$text
free "$table" "$out/options.txt"
for name in $names; do
    workload "$name"
    free "$out/$name.trials.txt"
    trial=0
    while [ "$trial" -lt "$trials" ]; do
        rank=0
        while [ "$rank" -lt "$ranks" ]; do
            run=$name-trial_$trial-rank_$rank
            free_runs "$run"
            free "$out/$run.mlperf.json" "$out/$run.txt"
            rank=$((rank + 1))
        done
        trial=$((trial + 1))
    done
done
if ! printing; then
    writes "$table"
    echo "$row_head" >"$table"
fi
if [ -n "$hosts" ]; then far_name; fi
for name in $names; do
    workload "$name"
    of_trials='' trial=0
    while [ "$trial" -lt "$trials" ]; do
        tell "$name, trial $trial"
        rest
        each_rank "$name" "$trial"
        rest
        trial=$((trial + 1))
    done
    if printing; then continue; fi
    on_mlperf "$of_trials" row "$name" >>"$table"
    case $name in option_*) options="$options $of_trials" ;; esac
    if [ "$trials" -gt 1 ]; then
        writes "$out/$name.trials.txt"
        on_results "$of_trials" kvstat >"$out/$name.trials.txt"
    fi
done
if printing; then
    for name in $names; do
        rank=0
        while [ -n "$hosts" ] && [ "$rank" -lt "$ranks" ]; do
            printf 'ssh %s %s\n' "$(host_of "$rank")" "$(quote "rm -r $(copy_of "$rank" "$name")")"
            rank=$((rank + 1))
        done
    done
    exit 0
fi
if [ -n "$options" ]; then
    writes "$out/options.txt"
    on_results "$options" kvstat --mlperf "$out/" >"$out/options.txt"
fi
cat <"$table"
caution
answer "mean of $(counted "$trials" trial) each; P95 is the largest of them; $(counted "$ranks" rank); not an official MLPerf result"
echo "The drive is in read GiB/s and device read P95; in option_1 and option_3 no memory is before it. Storage tokens/s misleads"
echo "there: requests wait for each other's I/O, and it falls as a drive takes more at once. Compare read GiB (decode bytes) instead."
# The answer: the first workload in a sentence.
awk 'NR == 2 { printf "%s: this drive read %s GiB/s and wrote %s GiB/s, with 95 %% of reads of the device within %s ms.\n", $1, $2, $3, $4 }' <"$table"
