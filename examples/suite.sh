#!/bin/sh
# suite.sh - What is each part of the memory hierarchy worth? Eight scenarios, one table.
#
# Usage: suite.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  directory for storage objects (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; kvgen --list-models, or a Hugging Face
#                config.json)
#   -u USERS     number of simultaneous users (default: the proposal of kvtrace discover)
#   -t TIME      length of each run (default: 60)
#   -w NAMES     only these, separated by commas: gpu-only cpu-only storage-only gpu-cpu
#                cpu-storage gpu-cpu-storage storage-saturation production; besides
#                mlperf_submission, the runs of mlperf.sh for earlier submissions
#   --wrapper    the scenarios as the script of the MLPerf Storage KV-cache benchmark has
#                them; autoscale and capacity-autoscale besides
#   -U USERS     with --wrapper, users of its three heavy scenarios (default: 10 for each GiB
#                of memory, at least 50, at most 300)
#   --trials N   each scenario so often (default: 1); storage varies much from run to run,
#                three to five are the rule
#   --xlsx       also write the table of all runs to OUT/suite.xlsx
#   -o OUT       directory for results (default: kvtrace-suite): kvstat OUT has a row for
#                each; traces, logs and summaries are in OUT/.work
#   --gpu-mem SIZE, --cpu-mem SIZE   sizes of the tiers (default: those of kvtrace discover)
#   --storage-capacity SIZE     what the cache may fill (default: what is free, less a reserve)
#   --print      show the pipelines, run nothing
#
# "answer P95 s" is what users feel, from question to last token; "Tier-2 read" (GiB/s),
# "P95 ms" and "device ms" of its reads are the drive. A tier is worth its money when rows
# with it answer sooner than rows without. More, and what --wrapper runs: kvtrace(1).
#
# Example:
#   examples/suite.sh -u 20 --trials 3 /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --trials --gpu-mem --cpu-mem --storage-capacity'
names='' xlsx=no users='' seconds='' wrapper=no heavy=''
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    --wrapper) wrapper=yes words=1 ;;
    -U) value "$@" && number "$1" "$text" && heavy=$text ;;
    --xlsx) xlsx=yes words=1 ;;
    -w) value "$@" && names=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
need kvgen kvreplay kvstat
work=$out/.work
given_users=$users given_s=$seconds given_model=$model
if [ "$wrapper" = yes ]; then
    : "${users:=50}"
    : "${heavy:=$(awk -v least="$users" '/^MemTotal:/ {
        n = int($2 / 1048576) * 10
        n = n > 300 ? 300 : n < 50 ? 50 : n
        print n > least ? n : least }' /proc/meminfo)}"
elif [ -n "$heavy" ]; then
    die 2 "-U applies only with --wrapper (try --help)"
fi
results "$out" "$work"
propose
: "${names:=gpu-only,cpu-only,storage-only,gpu-cpu,cpu-storage,gpu-cpu-storage,storage-saturation,production$(
    if [ "$wrapper" = yes ]; then echo ,autoscale; fi)}"
# A machine without a GPU still has its scenarios: a tier of 16 GiB, simulated.
real_gpu=$gpu
if [ "$gpu" = 0 ]; then gpu=16; fi

# scenario NAME: the sizes, and how long a token takes to generate. "none" for storage takes it away:
# what fits nowhere is then deleted and has to be written anew. Generation "none" leaves only the moving
# of data, "realistic" (30 ms a token) is a server at work.
scenario() {
    g=$gpu c=$cpu s=$storage generation=none crowd=$users model=$given_model seconds=${given_s:-60}
    if [ "$wrapper" = yes ]; then
        wrapper_scenario "$1"
        return
    fi
    case $1 in
    gpu-only) c=0 s=none ;;
    cpu-only) g=0 s=none ;;
    storage-only) g=0 c=0 ;;
    gpu-cpu) s=none ;;
    cpu-storage) g=0 ;;
    gpu-cpu-storage) ;;
    storage-saturation) g=0 c=0 crowd=$((users * 4)) ;;
    production) generation=realistic ;;
    autoscale) die 2 "-w autoscale: a search of the benchmark's (--wrapper); how many users a drive holds is a question to kvtrace users" ;;
    *) die 2 "-w $1: no such scenario (try --help)" ;;
    esac
}
# wrapper_scenario NAME: the same, as the benchmark's wrapper has it; of a search also its mode, and the users of its first step.
wrapper_scenario() {
    generation=realistic seconds=${given_s:-120} search=''
    small=$(printf '%s\n' "$cpu" | awk '{ n = int($1 / 4); print n < 1 ? 1 : n }')
    case $1 in
    gpu-only) c=4 ;;
    cpu-only) g=0 ;;
    storage-only) g=0 c=4 ;;
    gpu-cpu) ;;
    cpu-storage) g=0 c=$small crowd=$heavy ;;
    gpu-cpu-storage) c=$small crowd=$heavy ;;
    storage-saturation) g=0 c=4 crowd=$heavy seconds=${given_s:-180} ;;
    production) g=$real_gpu seconds=${given_s:-180} ;;
    autoscale)
        g=$real_gpu c=$small seconds=${given_s:-300}
        search="qos --start-users 20 --target-saturation 0.8"
        ;;
    capacity-autoscale)
        g=0 c=4 generation=none seconds=${given_s:-300}
        if [ "$model" = llama3.1-8b ]; then model=llama3.1-70b-instruct; fi
        search="capacity --start-users 10"
        ;;
    *) die 2 "-w $1: no such scenario (try --help)" ;;
    esac
    search="$search --search-time ${seconds}s"
}
# judge NAME RESULT: what the conclusion needs of a scenario: name, end-to-end P95 in s, what holds requests up, its share of
# waiting in the queue, "simulated" or "measured", and "same" if its users and model are those of the others.
judge() {
    set -- "$1" "$(report "$2" requests.end_to_end_ms.p95 bottleneck.what bottleneck.shares.queue run.simulated.0 | paste -sd ' ' -)"
    case $1 in
    storage-saturation | production) load=other ;;
    cpu-storage | gpu-cpu-storage) if [ "$wrapper" = yes ]; then load=other; else load=same; fi ;;
    *) load=same ;;
    esac
    printf '%s\n' "$1 $2 $load" | awk '{ print $1, ($2 == "-" ? "-" : sprintf("%.2f", $2 / 1000)), $3, $4,
        ($5 == "-" ? "measured" : "simulated"), $6 }' >>"$work/conclusion"
}
# conclude: in words. Which tiers are worth most is said of measured runs under the same load.
conclude() {
    awk '
        $5 == "simulated" { simulated = simulated " " $1 }
        $5 == "measured" && $6 == "same" && $2 != "-" {
            n++
            if (soonest == "" || $2 + 0 < least) { soonest = $1; least = $2 + 0 }
            if (latest == "" || $2 + 0 > most) { latest = $1; most = $2 + 0 }
        }
        $3 ~ /^storage/ { drive = drive " " $1 }
        $3 == "generation" { model = model " " $1 }
        $4 != "-" && $4 >= 0.4 { full = full " " $1 }
        END {
            if (drive != "") print "Requests wait for storage in:" drive "."
            if (full != "") print "Overloaded, requests queue faster than they are served, in:" full "."
            if (model != "") print "Storage is fast enough, the model takes the time, in:" model "."
            if (simulated != "") print "The GPU was simulated in:" simulated "; its times are a model, not this machine."
            if (n > 1) printf "Of what was measured, answers came soonest with %s (P95 %.2f s) and latest with %s (P95 %.2f s).\n",
                soonest, least, latest, most
            else print "Too few scenarios were measured under one load to say which tiers are worth most."
        }' <"$work/conclusion"
}
# of_scenario COMMAND...: runs it with kvgen's options for the scenario behind it.
of_scenario() {
    "$@" --model "$model" --gpu-mem "$(sized "$g")" --cpu-mem "$(sized "$c")" --storage-capacity "$(sized "$s")" \
        --generation-mode "$generation" --compat mlperf --ops Read,Write,Delete,Generate,Miss
}
# autoscale NAME: the search of a scenario. qos: how many users before a read of storage takes 100 ms at the 95th percentile;
# capacity: before more of them move no more.
autoscale() {
    of_scenario each_command --duration "$((seconds + 30))"
    searched=$1
    set -- kvreplay --target "$target" --autoscale
    for word in $search; do set -- "$@" "$word"; done # a mode and its options
    set -- "$@" --step-warmup "$((seconds / 12 + 1))" --step-duration "$((seconds / 6 + 1))" --summary "$out/$searched.json" \
        --each "$command"
    if typed "$@"; then return; fi
    writes "$out/$searched.json" "$work/$searched.log"
    : >"$out/$searched.json"
    status=0
    "$@" --progress none 2>"$work/$searched.log" >/dev/null || status=$?
    # 1: not even one user
    if [ "$status" -gt 1 ] || [ ! -s "$out/$searched.json" ]; then die 3 "$searched: $(last_line "$work/$searched.log")"; fi
}
# submit NAME: the runs of mlperf.sh, with what was given here.
submit() {
    workloads=8b-cpu0,8b-cpu4,70b-cpu0,70b-cpu4 given='150 and 40 users, 600 s each'
    if [ "$wrapper" = yes ]; then workloads=option_1,option_2,option_3 given='200, 100 and 70 users, 300 s each'; fi
    if [ -n "$given_users$given_s" ] || [ "$given_model" != llama3.1-8b ]; then given=''; fi
    set -- "$examples/mlperf.sh" -w "$workloads" -d "$target" -o "$out/$1" --trials "$trials" --storage-capacity "$(sized "$storage")"
    if [ -n "$given_users" ]; then given="-u $given_users" && set -- "$@" -u "$given_users"; fi
    if [ -n "$given_s" ]; then given="$given -t $given_s" && set -- "$@" -t "$given_s"; fi
    if [ "$given_model" != llama3.1-8b ]; then given="$given -m $given_model" && set -- "$@" -m "$given_model"; fi
    tell "mlperf_submission: ${given# }, $(counted "$trials" trial)"
    if typed "$@"; then return; fi
    writes "$out/mlperf_submission.txt"
    "$@" >"$out/mlperf_submission.txt"
}

# All of the names are good, and nothing of someone is in the way, before anything runs.
table=$out/table.txt results=''
listed -w "$names" && names=$text
free "$table" "$work/conclusion" "$out/suite.xlsx"
for name in $names; do
    case $name in
    mlperf_submission)
        free "$out/$name.txt"
        continue
        ;;
    esac
    scenario "$name"
    free "$out/$name.trials.txt"
    trial=1
    while [ "$trial" -le "$trials" ]; do
        if [ "$trial" = 1 ]; then run=$name; else run=$name-$trial; fi
        free_runs "$run"
        case $name in autoscale | capacity-autoscale) free "$out/$name.json" ;; *) results="$results $run" ;; esac
        trial=$((trial + 1))
    done
done
# Results of a run before stay, and kvstat OUT shows them too.
for file in "$out"/*.result.csv.zst; do
    if [ ! -e "$file" ] || printing; then continue; fi
    run=${file##*/}
    case "$results " in
    *" ${run%.result.csv.zst} "*) ;;
    *) say "$suite: $file is from an earlier run; it stays, and kvstat $out reports it, too" ;;
    esac
done
if ! printing; then
    writes "$table" "$work/conclusion"
    row_head >"$table"
    : >"$work/conclusion"
fi
for name in $names; do
    if [ "$name" = mlperf_submission ]; then
        submit "$name"
        continue
    fi
    scenario "$name"
    tell "$name"
    case $name in
    autoscale | capacity-autoscale)
        autoscale "$name"
        continue
        ;;
    esac
    of_trials=''
    trial=1
    while [ "$trial" -le "$trials" ]; do
        if [ "$trial" = 1 ]; then
            of_scenario serve "$name" "$crowd" "$seconds"
            of_trials=$name
        else
            execute "$name-$trial" "$name" --timing served --workers "$(workers "$crowd")" --duration "$seconds"
            of_trials="$of_trials $name-$trial"
        fi
        trial=$((trial + 1))
    done
    if printing; then continue; fi
    on_results "$of_trials" scenario_row "$name" >>"$table"
    judge "$name" "$out/$name.result.csv.zst"
    if [ "$trials" -gt 1 ]; then
        writes "$out/$name.trials.txt"
        on_results "$of_trials" kvstat >"$out/$name.trials.txt"
    fi
done
if printing; then
    typed kvstat "$out"
    exit 0
fi

# The rows of simulated scenarios are marked.
{
    awk '$5 == "simulated" { print "=", $1 }' <"$work/conclusion"
    cat <"$table"
} | awk '$1 == "=" { simulated[$2] = 1; next } { print $0 ($1 in simulated ? " (simulated)" : "") }'
for name in $names; do
    case $name in autoscale | capacity-autoscale) ;; *) continue ;; esac
    found=$(pick autoscaling.users <"$out/$name.json" | sed 's/^-$/0/')
    case $name in
    autoscale) echo "autoscale: $(counted "$found" user) with 95 % of storage reads within 100 ms" ;;
    capacity-autoscale) echo "capacity-autoscale: $(counted "$found" user); more users do not move more data" ;;
    esac
done
case " $names " in *' mlperf_submission '*) cat <"$out/mlperf_submission.txt" ;; esac
if [ "$trials" -gt 1 ]; then answer "mean of $trials trials each; their spread is in $out/*.trials.txt"; fi
if [ "$xlsx" = yes ] && [ -n "$results" ]; then
    writes "$out/suite.xlsx"
    on_results "$results" kvstat --xlsx "$out/suite.xlsx" >/dev/null
fi
echo
echo "How many users this drive holds is another question: kvtrace users."
caution
if [ -s "$work/conclusion" ]; then conclude; fi
