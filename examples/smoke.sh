#!/bin/sh
# smoke.sh - nine quick checks of single behaviours on this machine: does each do what it should?
#
#   examples/smoke.sh [-d DIR] [-o OUT] [-t SECONDS] [-u USERS] [-w NAMES] [-f SHAREGPT.json]
#
#   -d DIR      where the objects of storage go; chosen by discover.sh unless given
#   -o OUT      the folder for what the checks leave; default kvtrace-smoke
#   -t SECONDS  of each check: 10; -u USERS at once: 8; --storage-capacity-gb GiB: discover.sh's proposal
#   -w NAMES    only these, with commas between: storage-only three-tiers autoscale-qos autoscale-capacity
#               saturation-8b saturation-70b rag everything sharegpt
#   -f FILE     the ShareGPT dataset of the last check; default: the small one of the source tree
#   -m MODEL    instead of the 8B and 70B models, for a first try on a small machine
#
# A line for each check: what it saw, and ok or FAILED. Exit status 1 when one failed. What they prove is that
# the machine and the tools work together; for numbers to trust take suite.sh with trials.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --storage-capacity-gb'
names='' dataset='' model='' users=8 seconds=10
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -w) names=$(value "$@") ;;
    -f) dataset=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
need kvgen kvreplay kvstat
propose
: "${names:=storage-only,three-tiers,autoscale-qos,autoscale-capacity,saturation-8b,saturation-70b,rag,everything,sharegpt}"
: "${dataset:=$examples/../tests/data/sharegpt_dummy_250.json.zst}"
small=${model:-llama3.1-8b} large=${model:-llama3.1-70b-instruct}
mkdir -p "$out"
failed=0 checked=0

# sees NAME TEXT CONDITION: the verdict on one check; CONDITION is words for test(1).
sees() {
    check=$1 seen=$2
    shift 2
    checked=$((checked + 1))
    if test "$@"; then verdict=ok; else verdict=FAILED failed=$((failed + 1)); fi
    printf '%-20s %-6s %s\n' "$check" "$verdict" "$seen"
}

# uses NAME TIER: reads and writes of that tier in a check's result.
uses() {
    kvstat --by tier,op --csv "$out/$1.result.csv.zst" | pick "groups.$2/Read.ops" "groups.$2/Write.ops" |
        awk '{ sum += $1 } END { print sum + 0 }'
}

# bad NAME: rows that were not honoured.
bad() {
    kvstat --csv "$out/$1.result.csv.zst" | pick status.absent status.corrupt status.failed |
        awk '{ sum += $1 } END { print sum + 0 }'
}

# autoscale NAME MODE KVGEN-OPTIONS...: the users that the search ends with.
autoscale() {
    searched=$1 mode=$2
    shift 2
    rm -f "$out/$searched.json"
    kvreplay --nvme "$target" --autoscale "$mode" --start-users 2 --max-users "$((users * 4))" \
        --step-warmup 1 --step-duration "$((seconds / 5 + 1))" --progress none --summary "$out/$searched.json" \
        --each "kvgen $* --duration $((seconds + 10)) --num-users {N} --progress none" 2>"$out/$searched.log" >/dev/null ||
        { [ $? -eq 1 ] && [ -s "$out/$searched.json" ]; } || # not even one user
        die 1 "$searched: $(tail -1 "$out/$searched.log")"
    tr -d '\n' <"$out/$searched.json" | sed 's/.*"autoscaling": *{[^}]*"users": *\([0-9]*\).*/\1/'
}

for name in $(echo "$names" | tr , ' '); do
    case $name in
    storage-only) # no memory tiers: everything goes to the drive
        serve "$name" "$users" "$seconds" --model "$small" --gpu-mem-gb 0 --cpu-mem-gb 0 \
            --storage-capacity-gb "$storage" --generation-mode none
        n=$(uses "$name" Tier-2)
        sees "$name" "$n reads and writes of storage, $(bad "$name") rows not honoured" "$n" -gt 0 -a "$(bad "$name")" -eq 0
        ;;
    three-tiers) # memory for two requests each, so that all three are in use
        serve "$name" "$users" "$seconds" --model tiny-1b --gpu-mem-gb 0.1 --cpu-mem-gb 0.1 \
            --storage-capacity-gb "$storage" --generation-mode none
        sees "$name" "reads and writes: $(uses "$name" Tier-0) GPU, $(uses "$name" Tier-1) CPU, $(uses "$name" Tier-2) storage" \
            "$(uses "$name" Tier-0)" -gt 0 -a "$(uses "$name" Tier-1)" -gt 0 -a "$(uses "$name" Tier-2)" -gt 0
        ;;
    autoscale-qos) # the most users whose reads stay within 100 ms
        n=$(autoscale "$name" qos --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$storage")
        sees "$name" "$(counted "$n" user) with the 95th percentile of reads within its limit" "${n:-0}" -gt 0
        ;;
    autoscale-capacity) # the users at which throughput rises no more
        n=$(autoscale "$name" capacity --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$storage" \
            --generation-mode none)
        sees "$name" "throughput has its peak at $(counted "$n" user)" "${n:-0}" -gt 0
        ;;
    saturation-8b | saturation-70b) # more users than the drive can serve: a queue must grow
        if [ "$name" = saturation-8b ]; then m=$small; else m=$large; fi
        serve "$name" "$((users * 4))" "$seconds" --model "$m" --gpu-mem-gb 0 --cpu-mem-gb 0 \
            --storage-capacity-gb "$storage" --generation-mode none
        issued=$(figure "$out/$name.kvgen.json" issued)
        begun=$(kvstat --csv "$out/$name.result.csv.zst" | pick requests.count | sed 's/^-$/0/')
        sees "$name" "$(counted "$issued" request) asked for, $begun begun in $seconds s" \
            "$(bad "$name")" -eq 0 -a "$begun" -gt 0 -a "$begun" -lt "$issued"
        ;;
    rag) # documents are ingested before, and their chunks are read
        serve "$name" "$users" "$seconds" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 --enable-rag \
            --storage-capacity-gb "$storage" --generation-mode none
        n=$(kvstat --csv "$out/$name.result.csv.zst" | pick cache.lookups.rag.hits)
        sees "$name" "$n chunks of documents read" "$n" != - -a "$n" != 0
        ;;
    everything) # the large model, all tiers, conversations, prompts, documents and generation at once
        serve "$name" "$users" "$seconds" --model "$large" --enable-rag --gpu-mem-gb 1 --cpu-mem-gb 2 \
            --storage-capacity-gb "$storage" --generation-mode fast
        sees "$name" "$(bad "$name") rows not honoured" "$(bad "$name")" -eq 0
        ;;
    sharegpt) # real conversations
        if [ ! -r "$dataset" ]; then
            printf '%-20s %-6s %s\n' "$name" skip "no $dataset; give one with -f"
            continue
        fi
        serve "$name" "$users" "$seconds" --dataset-path "$dataset" --model "$small" --gpu-mem-gb 0 --cpu-mem-gb 0 \
            --storage-capacity-gb "$storage" --generation-mode none --request-rate "$users"
        n=$(kvstat --csv "$out/$name.result.csv.zst" | pick requests.count)
        sees "$name" "$n questions of real conversations answered" "$n" -gt 0 -a "$(bad "$name")" -eq 0
        ;;
    *) die 2 "-w $name: no such check (try --help)" ;;
    esac
done
caution >&2
if [ "$failed" = 0 ]; then echo "All of it works here: $(counted "$checked" check) ok."; exit 0; fi
echo "$failed of $(counted "$checked" check) FAILED; what each did is in $out/NAME.log."
exit 1
