#!/bin/sh
# smoke.sh - Does everything work on this machine? Nine quick checks of single behaviours.
#
# Usage: smoke.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  directory for storage objects (default: the one that kvtrace discover
#                proposes)
#   -w NAMES     only these, separated by commas: storage-only three-tiers autoscale-qos
#                autoscale-capacity saturation-8b saturation-70b rag everything sharegpt
#   -t TIME      length of each check (default: 10)
#   -u USERS     number of simultaneous users (default: 8)
#   -m MODEL     instead of the 8B and 70B models, for a first try on a small machine
#   -f FILE      the ShareGPT dataset of the last check (default: the small one of the
#                source tree)
#   -o OUT       directory for the files of the checks (default: kvtrace-smoke)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipelines, run nothing
#
# Prints a line for each check: its result, and ok or FAILED. The checks show that the
# machine and the programs work together; for reliable numbers use kvtrace suite with trials.
# Exit status: 0 all checks are ok, 1 a check failed.
#
# Example:
#   examples/smoke.sh -m tiny-1b -t 3 /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o -t --storage-capacity'
names='' dataset='' model='' users=8 seconds=10
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -w) value "$@" && names=$text ;;
    -f) name "$@" && dataset=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
need kvgen kvreplay kvstat
results "$out"
propose
: "${names:=storage-only,three-tiers,autoscale-qos,autoscale-capacity,saturation-8b,saturation-70b,rag,everything,sharegpt}"
: "${dataset:=$examples/../tests/data/sharegpt_dummy_250.json.zst}"
small=${model:-llama3.1-8b} large=${model:-llama3.1-70b-instruct}
failed=0 checked=0

# sees NAME TEXT CONDITION: the verdict on one check; CONDITION is words for test(1).
sees() {
    if printing; then return; fi
    check=$1 seen=$2
    shift 2
    checked=$((checked + 1))
    if test "$@"; then verdict=ok; else verdict=FAILED failed=$((failed + 1)); fi
    printf '%-20s %-6s %s\n' "$check" "$verdict" "$seen"
}

# uses NAME TIER: reads and writes of that tier in a check's result.
uses() {
    if printing; then return; fi
    report "$out/$1.result.csv.zst" "groups.$2/Read.ops" "groups.$2/Write.ops" |
        awk '{ sum += $1 } END { print sum + 0 }'
}

# bad NAME: rows that were not honoured.
bad() {
    if printing; then return; fi
    report "$out/$1.result.csv.zst" status.absent status.corrupt status.failed |
        awk '{ sum += $1 } END { print sum + 0 }'
}

# autoscale NAME MODE KVGEN-OPTIONS...: sets n to the users that the search ends with.
autoscale() {
    searched=$1 mode=$2
    shift 2
    each_command "$@" --duration "$((seconds + 10))"
    set -- kvreplay --target "$target" --autoscale "$mode" --start-users 2 --max-users "$((users * 4))" \
        --step-warmup 1 --step-duration "$((seconds / 5 + 1))" --summary "$out/$searched.json" --each "$command"
    if typed "$@"; then return; fi
    writes "$out/$searched.json" "$out/$searched.log"
    : >"$out/$searched.json"
    status=0
    "$@" --progress none 2>"$out/$searched.log" >/dev/null || status=$?
    # 1: not even one user
    if [ "$status" -gt 1 ] || [ ! -s "$out/$searched.json" ]; then die 3 "$searched: $(last_line "$out/$searched.log")"; fi
    n=$(pick autoscaling.users <"$out/$searched.json" | sed 's/^-$/0/')
}

# All of the names are good, and nothing of someone is in the way, before anything runs.
listed -w "$names" && names=$text
for name in $names; do
    case $name in
    storage-only | three-tiers | autoscale-qos | autoscale-capacity | saturation-8b | saturation-70b | rag | everything | sharegpt) ;;
    *) die 2 "-w $name: no such check (try --help)" ;;
    esac
    free_runs "$name"
done
for name in $names; do
    if printing; then tell "$name"; fi
    case $name in
    storage-only) # no memory tiers: everything goes to the drive
        serve "$name" "$users" "$seconds" --model "$small" --gpu-mem 0 --cpu-mem 0 \
            --storage-capacity "$(sized "$storage")" --generation-mode none
        n=$(uses "$name" Tier-2)
        sees "$name" "$n reads and writes of storage, $(bad "$name") rows not honoured" "$n" -gt 0 -a "$(bad "$name")" -eq 0
        ;;
    three-tiers) # memory for two requests each, so that all three are in use
        serve "$name" "$users" "$seconds" --model tiny-1b --gpu-mem 0.1GiB --cpu-mem 0.1GiB \
            --storage-capacity "$(sized "$storage")" --generation-mode none
        sees "$name" "reads and writes: $(uses "$name" Tier-0) GPU, $(uses "$name" Tier-1) CPU, $(uses "$name" Tier-2) storage" \
            "$(uses "$name" Tier-0)" -gt 0 -a "$(uses "$name" Tier-1)" -gt 0 -a "$(uses "$name" Tier-2)" -gt 0
        ;;
    autoscale-qos) # the most users whose reads stay within 100 ms
        autoscale "$name" qos --model tiny-1b --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")"
        if printing; then continue; fi
        sees "$name" "$(counted "$n" user) with the 95th percentile of reads within its limit" "${n:-0}" -gt 0
        ;;
    autoscale-capacity) # the users at which throughput rises no more
        autoscale "$name" capacity --model tiny-1b --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" \
            --generation-mode none
        if printing; then continue; fi
        sees "$name" "throughput has its peak at $(counted "$n" user)" "${n:-0}" -gt 0
        ;;
    saturation-8b | saturation-70b) # more users than the drive can serve: a queue must grow
        if [ "$name" = saturation-8b ]; then m=$small; else m=$large; fi
        serve "$name" "$((users * 4))" "$seconds" --model "$m" --gpu-mem 0 --cpu-mem 0 \
            --storage-capacity "$(sized "$storage")" --generation-mode none
        if printing; then continue; fi
        issued=$(pick requests.issued <"$out/$name.kvgen.json")
        begun=$(report "$out/$name.result.csv.zst" requests.count | sed 's/^-$/0/')
        sees "$name" "$(counted "$issued" request) asked for, $begun begun in $seconds s" \
            "$(bad "$name")" -eq 0 -a "$begun" -gt 0 -a "$begun" -lt "$issued"
        ;;
    rag) # documents are ingested before, and their chunks are read
        serve "$name" "$users" "$seconds" --model tiny-1b --gpu-mem 0 --cpu-mem 0 --enable-rag \
            --storage-capacity "$(sized "$storage")" --generation-mode none
        if printing; then continue; fi
        n=$(report "$out/$name.result.csv.zst" cache.lookups.rag.hits)
        sees "$name" "$n chunks of documents read" "$n" != - -a "$n" != 0
        ;;
    everything) # the large model, all tiers, conversations, prompts, documents and generation at once
        serve "$name" "$users" "$seconds" --model "$large" --enable-rag --gpu-mem 1GiB --cpu-mem 2GiB \
            --storage-capacity "$(sized "$storage")" --generation-mode fast
        sees "$name" "$(bad "$name") rows not honoured" "$(bad "$name")" -eq 0
        ;;
    sharegpt) # real conversations
        if [ ! -r "$dataset" ]; then
            answer "$(printf '%-20s %-6s %s' "$name" skip "no $dataset; give one with -f")"
            continue
        fi
        serve "$name" "$users" "$seconds" --source sharegpt --input "$dataset" --model "$small" --gpu-mem 0 --cpu-mem 0 \
            --storage-capacity "$(sized "$storage")" --generation-mode none --request-rate "$users"
        if printing; then continue; fi
        n=$(report "$out/$name.result.csv.zst" requests.count)
        sees "$name" "$n questions of real conversations answered" "$n" -gt 0 -a "$(bad "$name")" -eq 0
        ;;
    esac
done
if printing; then exit 0; fi
caution >&2
if [ "$failed" = 0 ]; then echo "All of it works here: $(counted "$checked" check) ok."; exit 0; fi
answer "$failed of $(counted "$checked" check) FAILED; what each did is in $out/NAME.log."
no
