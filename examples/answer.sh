# shellcheck shell=sh
# answer.sh - the chain of one answer, of which drive, users, fast-enough, worth and compare-drives are views. It is sourced,
# and sources common.sh. Programs compute and judge; here they are only run, in this order:
#   measure    kvtrace model --quick      how fast the drive is for the objects of this load     drive.json
#   simulate   kvgen --answer             which load this drive, none and an ideal one hold      sim.json, window.csv.zst
#   confirm    kvreplay                   a window of that load, on the drive and on its model   drive.result, model.result
#   say        kvstat --answer            the answer                                             answer.json, answer.html

case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --gpu-mem --cpu-mem --storage-capacity'
options_in=$examples/answer.sh
users='' seconds=15 drive='' json=no full=no engine='' population='' input='' later=''
# As a shell reads them: options of kvgen about the load and the engine, and about the answer.
load='' asked=''
# Of fast-enough: the users that are asked about unless -u says it, or the speed or rate of an input.
default_users=''
out=kvtrace-answer

# answer_option ARGS...: takes one of the options that these commands have in common, as option does.
answer_option() {
    case $ended$1 in
    --drive) name "$@" && drive=$text ;;
    --full) full=yes words=1 ;;
    --gpu-mem) value "$@" && case $text in auto) gpu=auto ;; *) gib "$1" "$text" && gpu=$text ;; esac ;;
    --json) json=yes words=1 ;;
    --engine) value "$@" && engine=$text ;;
    --input) name "$@" && input=$text load="$load $(quote "$1" "$text")" ;;
    --prefill) name "$@" && load="$load $(quote "$1" "$text")" ;;
    --population) value "$@" && population=$text load="$load $(quote "$1" "$text")" ;;
    --gpu-profile | --prefill-rate | --tensor-parallel | --params) value "$@" && load="$load $(quote "$1" "$text")" ;;
    --speed | --request-rate | --ttft | --tpot | --goodput | --seeds | --price | --tbw) value "$@" && asked="$asked $(quote "$1" "$text")" ;;
    *) option "$@" ;;
    esac
}
answer_options() {
    while [ $# -gt 0 ]; do
        words=2
        answer_option "$@"
        shift "$words"
    done
    options_end
}
# options_end: what follows from all of them.
options_end() {
    if [ -n "$drive" ] && [ -n "$target" ]; then die 2 "$target: --drive names the drive already"; fi
    if [ -n "$target" ] && is_model "$target"; then die 2 "$target: a model of a drive; give it as --drive $target"; fi
    if [ "$full" = yes ]; then measuring_s=600; else measuring_s=30; fi
    searching_takes
    if [ -n "$gpu" ]; then load="$load --gpu-mem $(sized "$gpu")"; fi
    if [ -n "$cpu" ]; then load="$load --cpu-mem $(sized "$cpu")"; fi
}

# ---- one line of progress ----

# searching_takes: sets searching_s to what the search takes on two processors, by what takes most of it: copies of each token
# (sglang), long prompts, and the offers that vllm makes in each step while no room comes free. A recorded trace has any length.
searching_takes() {
    case $engine in
    sglang:*page_size=* | vllm* | lmcache* | '') searching_s=6 ;;
    sglang*) searching_s=20 ;;
    *) searching_s=12 ;;
    esac
    case $population:$engine in
    code:* | documents:*) searching_s=$((searching_s * 5)) ;;
    mlperf: | mlperf:vllm*) searching_s=120 ;;
    esac
    if [ -n "$input" ]; then searching_s=20; fi
}
# plan SECONDS...: how long the next steps may take, one after the other.
steps=0 step=0 rest=''
plan() { steps=$((steps + $#)) rest="$rest $*"; }
# begin TEXT...: the next step, what it does, and when the answer comes. On a terminal the line takes the place of the one before.
begin() {
    if printing; then
        answer "# $*"
        return
    fi
    left=0
    for word in $rest; do left=$((left + word)); done
    next_step
    readable "$suite: $step of $steps: $*; the answer comes in about $left s"
    if [ -t 2 ]; then
        printf '\r\033[K%s' "$readable" >&2
        open_line=yes
    else
        printf '%s\n' "$readable" >&2
    fi
}
next_step() {
    step=$((step + 1)) rest=${rest# }
    rest=${rest#"${rest%% *}"}
}

# ---- the drive ----

# is_model TEXT: a model of a drive, not a folder on it.
is_model() {
    case $1 in sim:*) return 0 ;; esac
    [ -f "$1" ] && head -c 300 <"$1" | grep -q '"kvtrace model"'
}
# tier_model TEXT: sets tier_model to it, as kvgen has it.
tier_model() {
    tier_model=$1
    case $1 in sim:*) ;; *)
        is_model "$1" || die 2 "--drive: $1: not a measurement of a drive (kvtrace model), nor sim:bw=RATE,lat=TIME"
        return
        ;;
    esac
    bandwidth='' latency='' parts=${1#sim:},
    while [ -n "$parts" ]; do
        word=${parts%%,*} parts=${parts#*,}
        case $word in
        bw=?*) bandwidth=${word#bw=} ;;
        lat=0) latency=,lat:0 ;;
        lat=*[0-9.]) die 2 "--drive: $1: a time needs a unit, such as 80us" ;;
        lat=?*) latency=,lat:${word#lat=} ;;
        *) die 2 "--drive: $1: \"$word\" is not bw=RATE or lat=TIME" ;;
        esac
    done
    if [ -z "$bandwidth" ]; then die 2 "--drive: $1: bw=RATE is missing"; fi
    tier_model=read:$bandwidth,write:$bandwidth$latency
}

# In the place of a model of a drive that is still to be measured.
unmeasured=read:1GB/s,write:1GB/s

# ---- the steps, each with its files in FOLDER ----

# objects_in DIR: sets objects to the folder there that kvreplay uses, and storage to the room, unless it was given.
objects_in() {
    case $1 in
    *://*) objects=$1 ;;
    *)
        inside "$1"
        objects=$place
        there "$objects"
        if [ -z "$storage" ]; then auto_of "auto:$place"; fi
        ;;
    esac
}

# roomy DIR: ends the script if no space is free there. kvgen takes a capacity of 0 for one without an end.
roomy() {
    if printing || [ "${1#*://}" != "$1" ] || [ "$(room "$1")" != 0.000 ]; then return; fi
    die 3 "$1: no space is free"
}

# alone: ends the script if another command finds an answer in the folder for results now: each would take the other's files
# for its own. Without flock this is not checked.
alone() {
    if printing || ! command -v flock >/dev/null; then return; fi
    exec 8<"$out/.kvtrace-results"
    flock -n 8 || [ $? != 1 ] || die 3 "$out: another command works in that folder now: wait, or name another folder (-o)"
}

# files FOLDER: nothing of someone is in the way.
files() {
    free "$1/load.json" "$1/load.log" "$1/drive.json" "$1/model.log" "$1/sim.json" "$1/kvgen.log" "$1/window.csv.zst" \
        "$1/later.json" "$1/later.log" "$1/answer.json" "$1/answer.html" "$1/kvstat.log"
    for run in drive model; do free "$1/$run.result.csv.zst" "$1/$run.kvreplay.json" "$1/$run.log"; done
}

# reason LOG: what kvreplay says of the first row that failed stands before its summary; else the last line.
reason() { if ! grep -m 1 '^kvreplay: row ' <"$1" | readable_lines | grep .; then last_line "$1" | sed 's/^kvtrace model: //'; fi; }
# logged LOG COMMAND...: what it says goes to the log, and its end is that of the script if it fails.
logged() {
    log=$1
    shift
    "$@" 2>"$log" || died $? "$(reason "$log")"
}

# has_requests: ends the script if the input has operations of a cache instead of requests: one is the answer to other requests
# on another machine. Sets what is asked about: users of recorded agents, requests a second of conversations, the speed of else.
has_requests() {
    set -- kvgen --input "$input" --limit 1 --summary "$folder/load.json" -o none
    source=''
    if ! printing; then
        writes "$folder/load.json" "$folder/load.log"
        logged "$folder/load.log" "$@" --progress none
        source=$(pick source <"$folder/load.json")
    fi
    case $source in
    trace | kv-events | trtllm | dynamo-kv | lct | strace)
        die 2 "--input: $input has what a cache did, not the requests; record those too (kvtrace record dynamo), or see kvgen(1), --source"
        ;;
    agentic)
        users=${users:-$default_users}
        return
        ;;
    esac
    if [ -n "$users" ]; then die 2 "-u: a trace has its own users; --speed says how fast it is asked"; fi
    if [ -z "$default_users" ]; then return; fi
    if [ "$source" = sharegpt ]; then asked="--request-rate 1$asked"; else asked="--speed 1$asked"; fi
}

# object_size FOLDER: sets size to the bytes of an object of this load. What kvgen refuses is told before minutes of measuring.
object_size() {
    folder=$1 size=2MiB
    if [ -n "$input" ]; then has_requests; fi
    eval "set -- $load"
    set -- kvgen --model "$model" --cache "${engine:-vllm}" "$@" --max-requests 20 --summary "$folder/load.json" -o none
    if typed "$@"; then return; fi
    writes "$folder/load.json" "$folder/load.log"
    logged "$folder/load.log" "$@" --progress none
    size=$(pick cache.tiers.Tier-2.copy_bytes <"$folder/load.json")
    if [ "$size" = - ]; then die 2 "--engine: $engine keeps no copies of one size (kvgen(1), --cache)"; fi
}

# measure DIR FOLDER: how fast the drive is for such objects.
measure() {
    drive_dir=$1 folder=$2
    set -- --sizes "$size" -o "$folder/drive.json" -- "$drive_dir"
    # A measurement is taken again, unless the drive was found to be another one since.
    if printing || [ "$(pick confirmed.cause 2>/dev/null <"$folder/answer.json")" != drive_changed ]; then set -- --reuse 24h "$@"; fi
    if [ "$full" = yes ]; then set -- --full "$@"; else set -- --quick "$@"; fi
    if typed kvtrace model "$@"; then return; fi
    free "$folder/drive.json"
    writes "$folder/model.log"
    need_scratch
    rm -f -- "$scratch/drive.json"
    # What it finds lands beside the folder, until the file there is this run's. One that it takes again stays.
    KVTRACE_COMMAND='kvtrace model' KVTRACE_LANDS=$scratch/drive.json logged "$folder/model.log" "$examples/model.sh" "$@" >/dev/null
    if [ -e "$scratch/drive.json" ]; then
        writes "$folder/drive.json"
        lands "$scratch/drive.json" "$folder/drive.json"
    fi
    age=$(sed -n 's/.* was measured \(.*\) ago and is taken again$/\1/p' <"$folder/model.log")
    if [ -n "$age" ]; then say "$suite: $drive_dir was measured $age ago; that is taken again ($folder/drive.json)"; fi
}

# simulate FOLDER MODEL WINDOW [check]: the search with that model of a drive; its window goes to WINDOW, or none. With check
# nothing runs: what kvgen refuses is told before minutes of measuring, and before an earlier answer makes room.
simulate() {
    folder=$1 drive_model=$2 window=$3 only=${4-all}
    eval "set -- $load $asked"
    set -- kvgen --answer "$folder/sim.json" --model "$model" "$@" --tier-model "2=$drive_model"
    if [ -n "$engine" ]; then set -- "$@" --cache "$engine"; fi
    if [ -n "$storage" ]; then set -- "$@" --storage-capacity "$(sized "$storage")"; fi
    if [ -n "$users" ]; then set -- "$@" --users "$users"; fi
    if [ "$window" != none ]; then set -- "$@" --answer-window "${seconds}s"; fi
    set -- "$@" -o "$window"
    if [ "$only" = check ]; then
        would_run "$@"
        return
    fi
    if typed "$@"; then return; fi
    writes "$folder/sim.json" "$folder/kvgen.log"
    # Nothing of an earlier answer stays beside this one.
    for file in answer.json answer.html window.csv.zst drive.result.csv.zst drive.kvreplay.json model.result.csv.zst \
        model.kvreplay.json later.json; do keep "$folder/$file"; done
    if [ "$window" != none ]; then writes "$window"; fi
    logged "$folder/kvgen.log" "$@" --progress none
}

# nothing_to_confirm FOLDER: no byte of the load reaches the drive.
nothing_to_confirm() {
    if printing; then return 1; fi
    case $(pick window.rows <"$1/sim.json") in - | 0) return 0 ;; esac
    return 1
}
# replay FOLDER NAME WHERE...: the window, on the drive or its model.
replay() {
    folder=$1 run=$2
    shift 2
    set -- kvreplay --timing trace "$@" --summary "$folder/$run.kvreplay.json" -o "$folder/$run.result.csv.zst" "$folder/window.csv.zst"
    if typed "$@"; then return; fi
    writes "$folder/$run.kvreplay.json" "$folder/$run.result.csv.zst" "$folder/$run.log"
    logged "$folder/$run.log" "$@" --progress none
}

# confirm DIR FOLDER: the window on both; objects_in has been called for DIR.
confirm() {
    confirmed_in=$2
    begin "confirms: $seconds s of that load on $1"
    replay "$confirmed_in" drive --target "$objects"
    begin "the same on the drive's model"
    replay "$confirmed_in" model --tier-engine "2=sim:model=$confirmed_in/drive.json"
}

# judged FOLDER yes|no WORD...: kvstat on what is there, with both replays or without.
judged() {
    folder=$1 replayed=$2
    shift 2
    if [ "$replayed" = yes ]; then
        set -- --confirm "$folder/drive.result.csv.zst" --confirm-model "$folder/model.result.csv.zst" "$@"
    fi
    if [ -n "$later" ]; then set -- --measured-again "$later" "$@"; fi
    set -- kvstat --answer "$folder/sim.json" "$@"
    typed "$@" || "$@"
}
# judge FOLDER yes|no VIEW: writes the answer; sets status to what it says: 0 yes or done, 1 no, 4 not decided.
judge() {
    if printing; then
        printf '%s >%s\n' "$(judged "$1" "$2" --view "$3" --json)" "$(quote "$1/answer.json")"
        return
    fi
    writes "$1/answer.json" "$1/kvstat.log"
    status=0
    judged "$1" "$2" --view "$3" --json >"$1/answer.json" 2>"$1/kvstat.log" || status=$?
    # A full disk gives a 1, too: without the last line.
    case $status:$(tail -n 1 <"$1/answer.json") in 0:'}' | 1:'}' | 4:'}') ;; *) die 3 "$(last_line "$1/kvstat.log")" ;; esac
}
# doubt FOLDER DIR VIEW: where nothing but the drive explains what differs, tells whether it has changed since it was measured.
doubt() {
    if printing; then return; fi
    case $(pick confirmed.cause <"$1/answer.json") in drive_slower_than_its_model | drive_faster_than_its_model) ;; *) return ;; esac
    plan 10
    begin "the drive differs from its model: measures it again"
    writes "$1/later.json" "$1/later.log"
    if KVTRACE_COMMAND='kvtrace model' "$examples/model.sh" --quick -t 10 --in-flight 4,16 --sizes "$size" -o "$1/later.json" -- "$2" \
        >/dev/null 2>"$1/later.log"; then
        later=$1/later.json
        judge "$1" yes "$3"
    fi
}
# ends STATUS: the end of the script, with a status of kvstat.
ends() {
    case $1 in 0 | 4) exit "$1" ;; 1) no ;; esac
    exit 3
}
# show COMMAND...: kvstat's answer on standard output, and the end of the script.
show() {
    status=0
    need_scratch
    "$@" >"$scratch/shown" || status=$?
    if [ "$status" = 1 ] && [ ! -s "$scratch/shown" ]; then exit 3; fi
    close_line
    cat <"$scratch/shown" || exit 3
    ends "$status"
}

# answer_of VIEW: the whole chain, for one drive.
answer_of() {
    need kvgen kvreplay kvstat
    if [ -n "$drive" ]; then tier_model "$drive"; fi
    results "$out"
    alone
    files "$out"
    if [ -n "$drive" ]; then
        if [ -n "$input" ]; then folder=$out && has_requests; fi
        plan "$searching_s"
        simulate "$out" "$tier_model" none check
        begin "simulates this drive, no drive and an ideal one"
        simulate "$out" "$tier_model" none
        confirmed=no
    else
        chain
    fi
    judge "$out" "$confirmed" "$1"
    if [ "$confirmed" = yes ]; then doubt "$out" "$target" "$1"; fi
    if printing; then
        judged "$out" "$confirmed" --view "$1" --html "$out/answer.html"
        exit 0
    fi
    if [ "$json" = yes ]; then
        close_line
        cat "$out/answer.json" || exit 3
        ends "$status"
    fi
    writes "$out/answer.html"
    show judged "$out" "$confirmed" --view "$1" --html "$out/answer.html"
}
# chain: measure, simulate, confirm; sets confirmed.
chain() {
    if [ -z "$target" ]; then propose_folder; fi
    given_storage=$storage
    objects_in "$target"
    plan "$measuring_s" "$searching_s" $((seconds * 2)) "$seconds"
    usable "$target"
    if [ -z "$given_storage" ]; then roomy "$target"; fi
    object_size "$out"
    simulate "$out" "$unmeasured" none check
    begin "measures $target"
    measure "$target" "$out"
    begin "simulates this drive, no drive and an ideal one"
    simulate "$out" "$out/drive.json" "$out/window.csv.zst"
    confirmed=no
    if nothing_to_confirm "$out"; then return; fi
    confirmed=yes
    confirm "$target" "$out"
}
