#!/bin/sh
# suite.sh - What is each part of the memory hierarchy worth? Nine scenarios, one table.
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
#                cpu-storage gpu-cpu-storage storage-saturation production autoscale; besides
#                mlperf_submission, only where named: the runs of mlperf.sh for earlier
#                submissions, in OUT/mlperf_submission
#   --wrapper    the scenarios as the script of the MLPerf Storage KV-cache benchmark has
#                them, see below; capacity-autoscale besides
#   -U USERS     with --wrapper, users of its three heavy scenarios (default: 10 for each GiB
#                of memory, at least 50, at most 300)
#   --trials N   each scenario so often (default: 1); storage varies much from run to run,
#                three to five are the rule
#   --xlsx       also write the table of all runs to OUT/suite.xlsx
#   -o OUT       directory for results (default: kvtrace-suite): kvstat OUT has a row for
#                each; traces, logs and summaries are in OUT/.work
#   --gpu-mem SIZE              size of the GPU tier (default: the proposal of kvtrace
#                discover)
#   --cpu-mem SIZE              size of the host memory tier (default: likewise)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipelines, run nothing
#
# What to look at: "answer P95 s" is what users feel, from question to last token. "Tier-2
# read" (GiB/s) and the 95th percentiles of its reads, "P95 ms" for the whole of one and
# "device ms" for the drive's part, are the drive. A tier is worth its money when the rows
# with it answer sooner than the rows without. Where requests queue, the machine is
# overloaded: its latencies say little, its GiB/s much. Where it is generation, storage is
# fast enough for this load. Without a GPU its tier is simulated: such rows are marked,
# and left out of the conclusion. "objects %" says where the cache's objects lay at the end:
# in GPU, host memory and storage.
#
# --wrapper: the same names mean other runs there. Storage is behind all of them, tokens take
# their time (realistic), and there are 50 users.
#   gpu-only, storage-only       CPU tier of 4 GiB, with and without the GPU's
#   cpu-only, gpu-cpu            CPU tier of --cpu-mem
#   production                   the same, the GPU's tier where there is a GPU; 180 s
#   cpu-storage, gpu-cpu-storage a quarter of --cpu-mem, at least 1 GiB, and -U users
#   storage-saturation           CPU tier of 4 GiB, -U users; 180 s
#   autoscale                    from 20 users on, a saturation of 0.8; 300 s
#   capacity-autoscale           llama3.1-70b-instruct, or -m, no generation, from 10 users on; 300 s
#   mlperf_submission            the three workloads of today: mlperf.sh
# Runs take 120 s where nothing else is said; -t is for all of them.
#
# Example:
#   examples/suite.sh -u 20 --trials 3 /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --gpu-mem --cpu-mem --storage-capacity'
names='' xlsx=no users='' seconds='' wrapper=no heavy=''
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    --wrapper) wrapper=yes words=1 ;;
    -U) heavy=$(value "$@") && number "$1" "$heavy" ;;
    --xlsx) xlsx=yes words=1 ;;
    -w) names=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
need kvgen kvreplay kvstat
work=$out/.work
folders "$out" "$work"
# What was given is for mlperf.sh, too.
submission=''
if [ -n "$users" ]; then submission="-u $users"; fi
if [ -n "$seconds" ]; then submission="$submission -t $seconds"; fi
if [ "$model" != llama3.1-8b ]; then submission="$submission -m $model"; fi
given_s=$seconds given_model=$model
if [ "$wrapper" = yes ]; then
    : "${users:=50}"
    : "${heavy:=$(awk -v least="$users" '/^MemTotal:/ {
        n = int($2 / 1048576) * 10
        n = n > 300 ? 300 : n < 50 ? 50 : n
        print n > least ? n : least }' /proc/meminfo)}"
elif [ -n "$heavy" ]; then
    die 2 "-U applies only with --wrapper (try --help)"
fi
propose
: "${names:=gpu-only,cpu-only,storage-only,gpu-cpu,cpu-storage,gpu-cpu-storage,storage-saturation,production,autoscale}"
# A machine without a GPU still has its scenarios: a tier of 16 GiB, simulated.
real_gpu=$gpu
if [ "$gpu" = 0 ]; then gpu=16; fi

# scenario NAME: the sizes, and how long a token takes to generate. "none" for storage takes it away:
# what fits nowhere is then deleted and has to be written anew. Generation "none" leaves only the moving
# of data, "realistic" (30 ms a token) is a server at work.
scenario() {
    g=$gpu c=$cpu s=$storage generation=none crowd=$users model=$given_model seconds=${given_s:-60}
    # Of a search: its mode, limits, and the users of its first and largest step.
    search="qos --start-users 2 --max-users $((users * 8))"
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
    autoscale) generation=realistic ;;
    *) die 2 "-w $1: no such scenario (try --help)" ;;
    esac
}
# wrapper_scenario NAME: the same, as the benchmark's wrapper has it.
wrapper_scenario() {
    generation=realistic seconds=${given_s:-120}
    small=$(echo "$cpu" | awk '{ n = int($1 / 4); print n < 1 ? 1 : n }')
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
    echo "$1 $2 $load" | awk '{ print $1, ($2 == "-" ? "-" : sprintf("%.2f", $2 / 1000)), $3, $4,
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
        }' "$work/conclusion"
}
options() { echo --model "$model" --gpu-mem "$(sized "$g")" --cpu-mem "$(sized "$c")" --storage-capacity "$(sized "$s")" \
    --generation-mode "$generation" --compat mlperf --ops Read,Write,Delete,Generate,Miss; }

table=$out/table.txt
if ! printing; then
    rm -f "$out"/*.result.csv.zst "$out/autoscale.json" "$out/capacity-autoscale.json" # of a run before, which kvstat OUT would show too
    echo "$row_head" >"$table"
    : >"$work/conclusion"
fi
results=''
for name in $(echo "$names" | tr , ' '); do
    if [ "$name" = mlperf_submission ]; then
        workloads=8b-cpu0,8b-cpu4,70b-cpu0,70b-cpu4 lasting='150 and 40 users, 600 s each'
        if [ "$wrapper" = yes ]; then
            workloads=option_1,option_2,option_3 lasting='200, 100 and 70 users, 300 s each'
        fi
        tell "$name: ${submission:-$lasting}, $(counted "$trials" trial)"
        # shellcheck disable=SC2086 # words between blanks
        set -- "$examples/mlperf.sh" -w "$workloads" -d "$target" -o "$out/$name" --trials "$trials" \
            --storage-capacity "$(sized "$storage")" $submission
        typed "$@" || "$@" >"$out/$name.txt"
        continue
    fi
    scenario "$name"
    tell "$name"
    case $name in
    autoscale | capacity-autoscale)
        # qos: how many users before a read of storage takes 100 ms at the 95th percentile; capacity: before more of them
        # move no more.
        # shellcheck disable=SC2086 # words between blanks
        set -- kvreplay --target "$target" --autoscale $search \
            --step-warmup "$((seconds / 12 + 1))" --step-duration "$((seconds / 6 + 1))" --summary "$out/$name.json" \
            --each "kvgen $(options) --duration $((seconds + 30)) --users {N} --progress none"
        if typed "$@"; then continue; fi
        "$@" --progress none 2>"$work/$name.log" >/dev/null ||
            { [ $? -eq 1 ] && [ -s "$out/$name.json" ]; } || # not even one user
            die 1 "$name: $(tail -1 "$work/$name.log")"
        continue
        ;;
    esac
    files=''
    trial=1
    while [ "$trial" -le "$trials" ]; do
        if [ "$trial" = 1 ]; then
            # shellcheck disable=SC2046 # words between blanks
            serve "$name" "$crowd" "$seconds" $(options)
            files=$out/$name.result.csv.zst
        else
            execute "$name-$trial" "$name" --timing served --workers "$(workers "$crowd")" --duration "$seconds"
            files="$files $out/$name-$trial.result.csv.zst"
        fi
        trial=$((trial + 1))
    done
    if printing; then continue; fi
    # shellcheck disable=SC2086 # file names between blanks, as made here
    scenario_row "$name" $files >>"$table"
    judge "$name" "$out/$name.result.csv.zst"
    # shellcheck disable=SC2086
    if [ "$trials" -gt 1 ]; then kvstat $files >"$out/$name.trials.txt"; fi
    results="$results $files"
done
if printing; then
    typed kvstat "$out"
    exit 0
fi

sed "$(sed -n 's/^\([^ ]*\) .* simulated .*/s|^\1 .*|\& (simulated)|;/p' "$work/conclusion")" "$table"
if [ -s "$out/autoscale.json" ]; then
    found=$(pick autoscaling.users <"$out/autoscale.json" | sed 's/^-$/0/')
    echo "autoscale: $(counted "$found" user) with 95 % of storage reads within 100 ms"
fi
if [ -s "$out/capacity-autoscale.json" ]; then
    found=$(pick autoscaling.users <"$out/capacity-autoscale.json" | sed 's/^-$/0/')
    echo "capacity-autoscale: $(counted "$found" user), beyond which no more is moved"
fi
if [ -s "$out/mlperf_submission.txt" ]; then cat "$out/mlperf_submission.txt"; fi
if [ "$trials" -gt 1 ]; then echo "mean of $trials trials each; their spread is in $out/*.trials.txt"; fi
# shellcheck disable=SC2086
if [ "$xlsx" = yes ] && [ -n "$results" ]; then kvstat --xlsx "$out/suite.xlsx" $results >/dev/null; fi
echo
caution
if [ -s "$work/conclusion" ]; then conclude; fi
