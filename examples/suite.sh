#!/bin/sh
# suite.sh - nine scenarios on this machine, and one table that compares them: what each part of the memory
# hierarchy is worth for this model.
#
#   examples/suite.sh [-m MODEL] [-w NAMES] [-d DIR] [-o OUT] [--trials N] [--xlsx]
#
#   -m MODEL     llama3.1-8b unless given (kvgen --list-models, or a Hugging Face config.json)
#   -w NAMES     only these, with commas between: gpu-only cpu-only storage-only gpu-cpu cpu-storage
#                gpu-cpu-storage storage-saturation production autoscale, and mlperf_submission, which is not among
#                them unless named: the runs of mlperf.sh that earlier submissions had, in OUT/mlperf_submission
#   -d DIR       where the objects of storage go; chosen by discover.sh unless given
#   -o OUT       the folder for traces, results and reports; default kvtrace-suite
#   --trials N   each scenario so often; storage varies much from run to run, three to five are the rule
#   --xlsx       the table of all runs as OUT/suite.xlsx besides
#   -u USERS     people who talk at once: as discover.sh proposes for this machine; -t SECONDS of each run: 60
#   --gpu-mem-gb, --cpu-mem-gb, --storage-capacity-gb GiB   sizes instead of discover.sh's proposal
#
# What to look at: "answer P95 s" is what users feel, from question to last token. "Tier-2 read" (GiB/s) and the
# 95th percentiles of its reads, "P95 ms" for the whole of one and "device ms" for the drive's part, are the
# drive. A tier is worth its money when the rows with it answer sooner than the rows without. Where the bottleneck
# is the queue, the machine is overloaded: its latencies say little, its GiB/s much. Where it is generation,
# storage is fast enough for this load.
# Without a GPU its tier is simulated, and kvreplay's reports say so.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --gpu-mem-gb --cpu-mem-gb --storage-capacity-gb'
names='' xlsx=no users=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    --xlsx) xlsx=yes && shift && continue ;;
    -w) names=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
need kvgen kvreplay kvstat
# What was given is for mlperf.sh, too.
submission=''
if [ -n "$users" ]; then submission="-u $users"; fi
if [ "$seconds" != 60 ]; then submission="$submission -t $seconds"; fi
if [ "$model" != llama3.1-8b ]; then submission="$submission -m $model"; fi
propose
: "${names:=gpu-only,cpu-only,storage-only,gpu-cpu,cpu-storage,gpu-cpu-storage,storage-saturation,production,autoscale}"
# A machine without a GPU still has its scenarios: a tier of 16 GiB, simulated.
if [ "$gpu" = 0 ]; then gpu=16; fi
mkdir -p "$out"

# scenario NAME: the sizes, and how long a token takes to generate. "none" for storage takes it away:
# what fits nowhere is then deleted and has to be written anew. Generation "none" leaves only the moving
# of data, "realistic" (30 ms a token) is a server at work.
scenario() {
    g=$gpu c=$cpu s=$storage generation=none crowd=$users
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
options() { echo --model "$model" --gpu-mem-gb "$g" --cpu-mem-gb "$c" --storage-capacity-gb "$s" \
    --generation-mode "$generation"; }

table=$out/table.txt
echo "$row_head" >"$table"
results=''
for name in $(echo "$names" | tr , ' '); do
    if [ "$name" = mlperf_submission ]; then
        say "$suite: $name: ${submission:-150 and 40 users, 600 s each}, $(counted "$trials" trial)"
        # shellcheck disable=SC2086 # words between blanks
        "$examples/mlperf.sh" -w 8b-cpu0,8b-cpu4,70b-cpu0,70b-cpu4 -d "$target" -o "$out/$name" --trials "$trials" \
            --storage-capacity-gb "$storage" $submission >"$out/$name.txt"
        continue
    fi
    scenario "$name"
    say "$suite: $name"
    if [ "$name" = autoscale ]; then
        # How many users before a read of storage takes 100 ms at the 95th percentile.
        rm -f "$out/autoscale.json"
        kvreplay --nvme "$target" --autoscale qos --start-users 2 --max-users "$((users * 8))" \
            --step-warmup "$((seconds / 12 + 1))" --step-duration "$((seconds / 6 + 1))" --progress none --summary "$out/autoscale.json" \
            --each "kvgen $(options) --duration $((seconds + 30)) --num-users {N} --progress none" 2>"$out/autoscale.log" >/dev/null ||
            { [ $? -eq 1 ] && [ -s "$out/autoscale.json" ]; } || # not even one user
            die 1 "autoscale: $(tail -1 "$out/autoscale.log")"
        continue
    fi
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
    # shellcheck disable=SC2086 # file names between blanks, as made here
    scenario_row "$name" $files >>"$table"
    # shellcheck disable=SC2086
    if [ "$trials" -gt 1 ]; then kvstat $files >"$out/$name.trials.txt"; fi
    results="$results $files"
done

cat "$table"
if [ -s "$out/autoscale.json" ]; then
    echo "autoscale: $(sed -n 's/^kvreplay: //p' "$out/autoscale.log" | tail -1) (95 % of storage reads within 100 ms)"
fi
if [ -s "$out/mlperf_submission.txt" ]; then cat "$out/mlperf_submission.txt"; fi
if [ "$trials" -gt 1 ]; then echo "mean of $trials trials each; their spread is in $out/*.trials.txt"; fi
# shellcheck disable=SC2086
if [ "$xlsx" = yes ] && [ -n "$results" ]; then kvstat --xlsx "$out/suite.xlsx" $results >/dev/null; fi
echo
caution
# What the table says, in words: by its last two columns, when answers came and what held them up.
awk 'NR > 1 {
        at = $(NF - 1)
        if (at != "-") {
            n++
            if (soonest == "" || at + 0 < least) { soonest = $1; least = at + 0 }
            if (latest == "" || at + 0 > most) { latest = $1; most = at + 0 }
        }
        what = $NF
        if (what ~ /^storage/) drive = drive " " $1
        if (what == "queue") full = full " " $1
        if (what == "generation") model = model " " $1
    }
    END {
        if (n > 1) printf "Answers came soonest with %s (P95 %s s), latest with %s (%s s).\n", soonest, least, latest, most
        if (drive != "") print "The storage is what people wait for in:" drive "."
        if (full != "") print "Overloaded, with a line before the machine:" full "."
        if (model != "") print "Storage is fast enough, and the model is what takes the time, in:" model "."
    }' "$table"
