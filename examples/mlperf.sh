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
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --storage-capacity-gb'
names=option_1,option_2,option_3 model='' users='' seconds='' trials=3 ranks='' pause=0 hosts='' lead=10
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    --closed) pause=90 words=1 ;;
    --ranks) ranks=$(value "$@") && number "$@" ;;
    --hosts) hosts=$(value "$@") && plain_word "$hosts" ;;
    --lead) lead=$(value "$@") && number "$@" ;;
    -w) names=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
need kvgen kvreplay kvstat
if [ -n "$hosts" ]; then
    host_count=$(echo "$hosts" | tr , '\n' | wc -l)
    : "${ranks:=$host_count}"
    if [ -z "$target" ] || [ -z "$storage" ]; then die 2 "--hosts: name DIR and --storage-capacity-gb, of each rank (try --help)"; fi
    plain_word "$target"
fi
: "${ranks:=1}"
folders "$out"
if [ -z "$hosts" ]; then propose; fi

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
host_of() { [ -z "$hosts" ] || echo "$hosts" | tr , '\n' | sed -n "$(($1 % host_count + 1))p"; }
# copy_of RANK: what the names of its files on its host begin with.
copy_of() { echo "/tmp/kvtrace-$$-rank_$1"; }

# load_rank NAME TRIAL RANK: the first trial makes the trace.
load_rank() {
    [ "$2" = 0 ] || return 0
    loads=$1-trial_0-rank_$3 host=$(host_of "$3")
    # That program's trace tells no deletions; a replay must know them to find room.
    load "$loads" "$n" "$t" --compat mlperf --ops Read,Write,Delete,Generate,Miss --seed "$((42 + $3))" --model "$m" \
        --gpu-mem-gb 0 --cpu-mem-gb "$c" --storage-capacity-gb "$storage" --generation-mode "$g"
    if [ -z "$host" ]; then return; fi
    if printing; then
        printf 'ssh %s "cat >%s.csv.zst" <%s\n' "$host" "$(copy_of "$3")" "$(quote "$out/$loads.trace.csv.zst")"
        return
    fi
    on "$host" "cat >$(copy_of "$3").csv.zst" <"$out/$loads.trace.csv.zst" || die 1 "$host: the trace cannot be copied"
}

# execute_there RUN RANK: as execute, on the rank's host, at the time of all ranks.
execute_there() {
    host=$(host_of "$2") copies=$(copy_of '{rank}')
    there="kvreplay --part $2/$ranks --start-at $start --target '$target/rank_{rank}' --timing served --workers $(workers "$n") --duration $t"
    there="$there $replay_options --progress none --summary $copies.json -z -o - $copies.csv.zst"
    if printing; then
        printf 'ssh %s "%s" >%s\n' "$host" "$there" "$(quote "$out/$1.result.csv.zst")"
        return
    fi
    on "$host" "$there" </dev/null >"$out/$1.result.csv.zst" 2>>"$out/$1.log" ||
        die 1 "$1 on $host: kvreplay failed: $(grep -v '^ ' "$out/$1.log" | tail -1)"
    on "$host" "cat $(copy_of "$2").json" </dev/null >"$out/$1.kvreplay.json" || die 1 "$1: the summary is not on $host"
    kvstat --json "$out/$1.result.csv.zst" >"$out/$1.json"
}

# run_rank NAME TRIAL RANK: one replay.
run_rank() {
    run=$1-trial_$2-rank_$3
    if [ -n "$hosts" ]; then
        execute_there "$run" "$3"
    else
        if [ "$ranks" != 1 ]; then target=$target/rank_$3; fi
        execute "$run" "$1-trial_0-rank_$3" --timing served --workers "$(workers "$n")" --duration "$t"
    fi
    typed kvstat --mlperf "$out/$run.mlperf.json" "$out/$run.result.csv.zst" ||
        kvstat --mlperf "$out/$run.mlperf.json" "$out/$run.result.csv.zst" >"$out/$run.txt"
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
            ("$@" "$rank") &
            jobs="$jobs $!"
        fi
        rank=$((rank + 1))
    done
    for job in $jobs; do wait "$job" || failed=$?; done
    if [ "$failed" != 0 ]; then die "$failed" "$2, trial $3: a rank failed, as said above"; fi
}

# each_rank NAME TRIAL: the trial on all ranks, and what it came to.
each_rank() {
    all_ranks load_rank "$@"
    # shellcheck disable=SC2016 # the pipeline's own
    if [ -n "$hosts" ] && printing; then
        echo "start=\$((\$(date +%s) + $lead))"
        start='$start'
    else
        start=$(($(date +%s) + lead))
    fi
    all_ranks run_rank "$@"
    if printing; then return; fi
    rank=0
    while [ "$rank" -lt "$ranks" ]; do
        run=$1-trial_$2-rank_$rank
        runs=$((runs + 1))
        if [ "$(pick valid <"$out/$run.kvreplay.json")" = false ]; then invalid=$((invalid + 1)); fi
        files="$files $out/$run.result.csv.zst"
        results="$results $out/$run.mlperf.json"
        rank=$((rank + 1))
    done
}

# tidy: removes the copies on other hosts.
tidy() {
    rank=0
    while [ "$rank" -lt "$ranks" ]; do
        on "$(host_of "$rank")" "rm -f $(copy_of "$rank").csv.zst $(copy_of "$rank").json" </dev/null 2>/dev/null || :
        rank=$((rank + 1))
    done
}
if [ -n "$hosts" ] && ! printing; then
    trap tidy EXIT
    trap 'exit 130' INT TERM HUP
fi

# row NAME RESULTS...: one line of the table, as that benchmark aggregates: sums over ranks and means over trials; the largest
# P95; a hit rate is the mean of all.
row_head='workload        read GiB/s  write GiB/s  device read P95 ms  device write P95 ms  hit rate  tokens/s  storage tokens/s  read GiB'
row() {
    row_name=$1
    shift
    for file; do
        for member in tier_storage_read_bandwidth_gbps tier_storage_write_bandwidth_gbps storage_read_device_p95_ms \
            storage_write_device_p95_ms cache_hit_rate avg_throughput_tokens_per_sec storage_throughput_tokens_per_sec \
            tier_storage_kv_bytes_read_gb; do
            if grep -q "\"$member\":" "$file"; then printf '%s\n' "$(figure "$file" "$member")"; else echo -; fi
        done | tr '\n' ' '
        echo
    done | awk -v name="$row_name" -v ranks="$ranks" '
        {
            for (i = 1; i <= 8; i++) if ($i != "-") { sum[i] += $i; count[i]++; if ($i + 0 > most[i]) most[i] = $i + 0 }
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
table=$out/table.txt
printing || echo "$row_head" >"$table"
options=''
for name in $(echo "$names" | tr , ' '); do
    workload "$name"
    # kvreplay bounds the writes in flight; the trace itself is the same for every trial.
    replay_options=''
    if [ "$a" != 0 ]; then replay_options="--max-concurrent-allocs $a"; fi
    files='' results='' trial=0
    while [ "$trial" -lt "$trials" ]; do
        tell "$name, trial $trial"
        rest
        each_rank "$name" "$trial"
        rest
        trial=$((trial + 1))
    done
    if printing; then continue; fi
    # shellcheck disable=SC2086 # file names between blanks, as made here
    row "$name" $results >>"$table"
    case $name in option_*) options="$options $files" ;; esac
    # shellcheck disable=SC2086
    if [ "$trials" -gt 1 ]; then kvstat $files >"$out/$name.trials.txt"; fi
done
if printing; then exit 0; fi
# shellcheck disable=SC2086
if [ -n "$options" ]; then kvstat --mlperf "$out/" $options >"$out/options.txt"; fi
cat "$table"
caution
echo "mean of $(counted "$trials" trial) each, P95: the largest; $(counted "$ranks" rank); not an official MLPerf result"
echo "The drive is in read GiB/s and device read P95; in option_1 and option_3 no memory is before it. Storage tokens/s misleads"
echo "there: requests wait for each other's I/O, and it falls as a drive takes more at once. Compare read GiB (decode bytes) instead."
# The answer: the first workload in a sentence.
awk 'NR == 2 { printf "%s: this drive read %s GiB/s and wrote %s GiB/s, with 95 %% of reads of the device within %s ms.\n", $1, $2, $3, $4 }' "$table"
