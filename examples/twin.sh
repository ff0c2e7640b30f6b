#!/bin/sh
# twin.sh - Does a simulation with the measured drive agree with the drive?
#
# Usage: twin.sh [OPTION]... DIR MODEL USERS
#
#   DIR          a directory on the drive to test
#   MODEL        the model (see kvgen --list-models)
#   USERS        number of simultaneous users
#   -t TIME      length of the run (default: 60)
#   -g MODE      generation: realistic (30 ms per token, the default), fast (2 ms), none
#   -o OUT       directory for measurement, trace, results and reports (default: kvtrace-twin)
#   --drive FILE          a measurement by kvtrace model, instead of a new one
#   --gpu-mem GiB, --cpu-mem SIZE     memory for the cache (default: 0, all on the drive)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --gpu-profile PROFILE, --prefill FILE, --engines N, --params N   how long prefills take (see
#                kvgen(1)). The answer then has the time to first token with and without each
#                tier, and from which length on loading beats computing
#   --print      show the pipeline, run nothing
#
# The drive is measured once (kvtrace model). kvgen simulates a run with that measurement;
# kvreplay serves the same requests from the drive itself. The table shows both and their
# differences: how far the simulation can be trusted. The same users with other tiers, policies
# or drives can then be simulated in seconds. OUT/twin.html has the tables, a curve of the time
# to first token by context length, and the replay's report.
#
# Example: 20 users of Llama 3.1 8B on the drive under /mnt/nvme
#   examples/twin.sh /mnt/nvme/kv llama3.1-8b 20
. "$(dirname "$0")/common.sh"

takes='-d -o -t --gpu-mem --cpu-mem --storage-capacity'
mode=realistic drive='' gpu=0 cpu=0 operands=0 gpu_options='' worth=''
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -g) value "$@" && mode=$text ;;
    --drive) name "$@" && drive=$text ;;
    --gpu-profile | --prefill | --engines | --params)
        value "$@"
        gpu_options="$gpu_options $(quote "$1" "$text")" worth=--worth
        ;;
    -?*) option "$@" ;;
    *)
        words=1 operands=$((operands + 1))
        case $operands in
        1) operand "$1" && target=$text ;;
        2) operand "$1" && model=$text ;;
        3) number USERS "$1" && users=$text ;;
        *) die 2 "$1: unexpected argument (try --help)" ;;
        esac
        ;;
    esac
    shift "$words"
done
if [ "$operands" != 3 ]; then
    if ! printing || [ "$operands" != 0 ]; then die 2 "a directory, a model and a number of users are needed (try --help)"; fi
    target=objects
fi
need kvgen kvreplay kvstat
results "$out"
free_runs twin
for file in twin.html twin.kvstat.json twin.figures twin.txt drive.txt; do free "$out/$file"; done
from=$target
inside "$target"
target=$place
there "$target"
if [ -z "$storage" ]; then auto_of "auto:$place"; fi
eval "set -- $gpu_options"
set -- --model "$model" --gpu-mem "$(sized "$gpu")" --cpu-mem "$(sized "$cpu")" --storage-capacity "$(sized "$storage")" --generation-mode "$mode" "$@"
measured=yes
case $drive in '' | *.json) ;; *) measured=no ;; esac
if [ -r "$drive" ] && ! head -c 300 <"$drive" | grep -q '"kvtrace model"'; then measured=no; fi
if [ "$measured" = no ]; then
    die 2 "--drive: $drive: not a measurement of a drive; kvtrace model DIR -o drive.json makes one"
fi
if ! printing; then
    # What is wrong is told before minutes of measuring.
    tried=$(kvgen "$@" --tier-model "2=${drive:-nvme-gen4}" --users "$users" --duration "$seconds" --max-requests 1 -o none \
        --progress none 2>&1) || die 2 "$(printf '%s\n' "$tried" | sed -n '$s/^kvgen: //p')"
fi
if [ -z "$drive" ]; then
    drive=$out/drive.json
    if printing; then
        tell "measure the drive:"
        typed kvtrace model "$from" -o "$drive"
    else
        say "$suite: measuring the drive: ten minutes at most"
        writes "$drive" "$out/drive.txt"
        KVTRACE_COMMAND='kvtrace model' "$examples/model.sh" "$from" -o "$drive" >"$out/drive.txt" ||
            die $? "the drive could not be measured"
    fi
fi

tell "simulate $(counted "$users" user) of $model for $seconds s, with the measured drive"
load twin "$users" "$seconds" "$@" --tier-model "2=$drive" ${worth:+"$worth"}
tell "serve the same requests from the drive"
execute twin twin --timing served --workers "$(workers "$users")"
if printing; then
    typed kvstat --html "$out/twin.html" "$out/twin.result.csv.zst"
    exit 0
fi
writes "$out/twin.html" "$out/twin.kvstat.json" "$out/twin.figures" "$out/twin.txt"
page=$out/twin.html
kvstat --html "$page" "$out/twin.result.csv.zst" >/dev/null 2>>"$out/twin.log" || {
    say "$suite: no HTML page: $(last_line "$out/twin.log")"
    page=''
}
kvstat --by tier,op --json "$out/twin.result.csv.zst" >"$out/twin.kvstat.json"

# ---- both beside each other: twin.awk makes the tables ----

# spread NAME...: the names of what is shown of a distribution.
spread() { for distribution; do printf '%s\n' "$distribution.count" "$distribution.mean" "$distribution.p50" "$distribution.p95"; done; }
# figures PREFIX FILE: the figures whose names are on standard input, a line each with a tab before the value.
figures() {
    cat >"$scratch/names"
    pick "$(cat <"$scratch/names")" <"$2" | paste "$scratch/names" - | sed "s/^/$1./"
}
need_scratch
{
    {
        spread tiers.Tier-2.read.latency_us tiers.Tier-2.write.latency_us requests.storage_ms requests.end_to_end_ms \
            prefill.first_token_ms.all
        printf '%s\n' trace.simulated_s tiers.Tier-2.read_bytes tiers.Tier-2.write_bytes worth.times
        for variant in 'all tiers' 'without Tier-1' 'without Tier-2' 'GPU memory only' 'no cache'; do
            spread "worth.variants.$variant.first_token_ms.all"
            echo "worth.variants.$variant.prefill_gpu_s"
        done
        for tier in Tier-1 Tier-2; do
            for member in verdict mean_change mean_change_by_class.interactive mean_change_by_class.responsive \
                mean_change_by_class.batch measured bytes_per_s break_even_tokens; do echo "worth.tiers.$tier.$member"; done
        done
        seq 0 20 | while read -r n; do
            for member in tokens computed_ms loaded_ms.Tier-0 loaded_ms.Tier-1 loaded_ms.Tier-2; do echo "worth.curve.$n.$member"; done
        done
    } | figures sim "$out/twin.kvgen.json"
    {
        spread tiers.Tier-2.read.service_us tiers.Tier-2.write.service_us
        printf '%s\n' elapsed_s tiers.Tier-2.read.bytes tiers.Tier-2.write.bytes
    } | figures run "$out/twin.kvreplay.json"
    spread requests.storage_ms requests.end_to_end_ms requests.ttft_ms | figures stat "$out/twin.kvstat.json"
} >"$out/twin.figures"
readable "$target"
shown_drive=$readable
readable "$model"
# tables FORM: as text or as a section of a page.
tables() {
    drive=$shown_drive model=$readable awk -v form="$1" -v users="$(counted "$users" user)" -f "$examples/twin.awk" <"$out/twin.figures"
}
tables text >"$out/twin.txt"
if [ -n "$page" ]; then
    tables html >"$scratch/section"
    section=$scratch/section awk '{ print } /^<main>$/ { while ((getline line <ENVIRON["section"]) > 0) print line }' \
        <"$page" >"$scratch/page"
    cat <"$scratch/page" >"$page"
fi
sed '$d' <"$out/twin.txt"
caution
validity=$(pick valid <"$drive")
if [ "$validity" != true ]; then
    answer "Caution: the measurement of the drive is $(if [ "$validity" = false ]; then echo "unreliable: $(pick why_invalid.0 <"$drive")"; else echo "of unknown validity"; fi)."
fi
tail -n 1 <"$out/twin.txt"
