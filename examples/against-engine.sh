#!/bin/sh
# against-engine.sh - the comparison of the MLPerf benchmark's validation scripts: a cache in four hierarchies beside what a
# real engine measured with the same conversations, figure by figure, with the 5 % that those scripts allow.
#
#   examples/against-engine.sh -r REFERENCE.json -f SHAREGPT.json [-m MODEL] [-n PROMPTS] [-g GIB] [-w NAMES] [-d DIR] [-o OUT]
#
#   -r FILE    what the engine measured: vllm bench throughput --output-json, vllm bench serve, LMCache's runs in those scripts,
#              a validation trace (an array of requests), or results of the benchmark itself (kvstat --reference)
#   -f FILE    the ShareGPT dataset (JSON, plain or zstd) that the engine was given
#   -m MODEL   llama3.1-8b; -n PROMPTS conversations, and requests: 500; -u USERS at once: 50
#   -g GIB     all of the cache's memory, in every hierarchy: 16
#   -w NAMES   only these, with commas between: gpu_only gpu_cpu gpu_cpu_nvme nvme_only
#   -d DIR     where the objects of storage go; discover.sh's choice unless given
#   -o OUT     the folder for traces, results and reports; default kvtrace-against-engine
#   --storage-capacity-gb GiB   what the cache may fill; default: three quarters of what is free there
#
# Exit status: 0 every figure that both know is within 5 % in one hierarchy at least; 1 in none; 4 nothing is known of both.
# The rates of a cache without a model behind it are those of its storage: they meet an engine's where the engine waits for
# its cache. What should agree in any case are the tokens, the hit rate and the ratio of reads to writes.
# Without a GPU its tier is simulated, and kvreplay's reports say so.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o --storage-capacity-gb'
reference='' dataset='' prompts=500 memory=16 names=gpu_only,gpu_cpu,gpu_cpu_nvme,nvme_only gpu=0 cpu=0
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    -r) reference=$(value "$@") ;;
    -f) dataset=$(value "$@") ;;
    -n) prompts=$(value "$@") && number "$@" ;;
    -g) memory=$(value "$@") ;;
    -w) names=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
if [ -z "$reference" ] || [ -z "$dataset" ]; then die 2 "-r REFERENCE.json and -f SHAREGPT.json are needed (try --help)"; fi
for file in "$reference" "$dataset"; do
    if [ ! -r "$file" ]; then die 2 "$file: cannot be read"; fi
done
need kvgen kvreplay kvstat
propose
folders "$out"

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

verdict=4
for name in $(echo "$names" | tr , ' '); do
    hierarchy "$name"
    say "$suite: $name"
    load "$name" "$users" 0 --compat mlperf --ops Read,Write,Delete,Generate,Miss --dataset-path "$dataset" \
        --max-conversations "$prompts" --max-requests "$prompts" --workers "$(workers "$users")" --model "$model" \
        --gpu-mem-gb "$g" --cpu-mem-gb "$c" --storage-capacity-gb "$s" --generation-mode none
    execute "$name" "$name" --timing served --workers "$(workers "$users")"
    kvstat --reference "$reference" "$out/$name.result.csv.zst" >"$out/$name.txt"
    kvstat --json --reference "$reference" "$out/$name.result.csv.zst" >"$out/$name.reference.json"
    echo "$name"
    sed -n '/^Reference - /,$p' "$out/$name.txt"
    # The last of these members is that of the whole reference; null: no figure is known of both.
    case $(figure "$out/$name.reference.json" within) in
    true*) verdict=0 ;;
    false*) if [ "$verdict" = 4 ]; then verdict=1; fi ;;
    esac
    echo
done
caution
case $verdict in
0) echo "PASS: within 5 % of $reference in all that both know" ;;
1) echo "FAIL: in no hierarchy within 5 % of $reference" ;;
4) echo "INCONCLUSIVE: $reference and the runs have no figure in common" ;;
esac
exit "$verdict"
