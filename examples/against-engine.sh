#!/bin/sh
# against-engine.sh - Do hit rates agree with what vLLM or LMCache measured?
#
# Usage: against-engine.sh -r REFERENCE -f SHAREGPT [OPTION]... [DIR]
#
#   -r FILE      what the engine measured: vllm bench throughput --output-json, vllm bench
#                serve, LMCache's runs in the benchmark's validation scripts, a validation
#                trace (an array of requests), or results of the benchmark itself
#   -f FILE      the ShareGPT dataset (JSON, plain or zstd) that the engine was given
#   DIR, -d DIR  where the objects of storage go (default: the folder that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b)
#   -n PROMPTS   conversations, and requests (default: 500)
#   -u USERS     users at once (default: 50)
#   -g SIZE      all memory of the cache, in every hierarchy (default: 16GiB)
#   -w NAMES     only these, with commas between: gpu_only gpu_cpu gpu_cpu_nvme nvme_only
#   -o OUT       folder for traces, results and reports (default: kvtrace-against-engine)
#   --storage-capacity SIZE     what the cache may fill (default: what is free, less a
#                reserve)
#   --print      show the pipelines, run nothing
#
# The comparison of the MLPerf benchmark's validation scripts: a cache in four hierarchies
# beside what a real engine measured with the same conversations, figure by figure, with the
# 5 % that those scripts allow. Rates of a cache without a model are those of its storage:
# they agree with an engine's where the engine waits for its cache. Tokens, hit rate and
# the ratio of reads to writes should agree in any case. Without a GPU its tier is simulated.
# Exit status: 0 all figures that both have are within 5 % in one hierarchy at least; 1 in
# none; 4 they have no figure in common.
#
# Example:
#   examples/against-engine.sh -r vllm.json -f sharegpt.json /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-m -u -d -o --storage-capacity'
reference='' dataset='' prompts=500 memory=16 names=gpu_only,gpu_cpu,gpu_cpu_nvme,nvme_only gpu=0 cpu=0
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -r) name "$@" && reference=$text ;;
    -f) name "$@" && dataset=$text ;;
    -n) value "$@" && number "$1" "$text" && prompts=$text ;;
    -g) value "$@" && gib "$1" "$text" && memory=$text ;;
    -w) value "$@" && names=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
if [ -z "$reference" ] || [ -z "$dataset" ]; then die 2 "-r REFERENCE.json and -f SHAREGPT.json are needed (try --help)"; fi
for file in "$reference" "$dataset"; do
    if [ ! -r "$file" ]; then die 2 "$file: cannot be read"; fi
done
need kvgen kvreplay kvstat
results "$out"
propose

# hierarchy NAME: GiB of GPU g and host memory c, storage s.
hierarchy() {
    g=0 c=0 s=$storage
    case $1 in
    gpu_only) g=$memory s=none ;;
    gpu_cpu) g=$(share 2) c=$g s=none ;;
    gpu_cpu_nvme) g=$(share 4) c=$g ;;
    nvme_only) ;;
    *) die 2 "-w $1: no such hierarchy (try --help)" ;;
    esac
}
share() { awk -v all="$memory" -v parts="$1" 'BEGIN { printf "%g", all / parts }'; }

# All of the names are good, and nothing of someone is in the way, before anything runs.
listed -w "$names" && names=$text
for name in $names; do
    hierarchy "$name"
    free_runs "$name"
    free "$out/$name.txt" "$out/$name.reference.json"
done
verdict=4
for name in $names; do
    hierarchy "$name"
    tell "$name"
    load "$name" "$users" 0 --compat mlperf --ops Read,Write,Delete,Generate,Miss --source sharegpt --input "$dataset" \
        --max-conversations "$prompts" --max-requests "$prompts" --workers "$(workers "$users")" --model "$model" \
        --gpu-mem "$(sized "$g")" --cpu-mem "$(sized "$c")" --storage-capacity "$(sized "$s")" --generation-mode none
    execute "$name" "$name" --timing served --workers "$(workers "$users")"
    typed kvstat --reference "$reference" "$out/$name.result.csv.zst" && continue
    writes "$out/$name.txt" "$out/$name.reference.json"
    kvstat --reference "$reference" "$out/$name.result.csv.zst" >"$out/$name.txt"
    kvstat --json --reference "$reference" "$out/$name.result.csv.zst" >"$out/$name.reference.json"
    echo "$name"
    sed -n '/^Reference - /,$p' <"$out/$name.txt"
    # The last of these members is that of the whole reference; null: no figure is known of both.
    case $(figures "$out/$name.reference.json" within) in
    true*) verdict=0 ;;
    false*) if [ "$verdict" = 4 ]; then verdict=1; fi ;;
    esac
    echo
done
if printing; then exit 0; fi
caution
case $verdict in
0) answer "PASS: within 5 % of $reference in every figure that both have" ;;
1) answer "FAIL: no hierarchy is within 5 % of $reference" ;;
4) answer "INCONCLUSIVE: $reference and the runs have no figure in common" ;;
esac
if [ "$verdict" = 1 ]; then no; fi
exit "$verdict"
