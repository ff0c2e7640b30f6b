#!/bin/sh
# curve.t - --curve with an engine's cache: the tokens of prompts that are found by capacity of its lowest tier, as
# in a run of its own for each capacity. A bug looked like a curve of one tier alone, or of other requests than the run's.
# builds: plain (counts of runs that other tests take through the sanitizers)
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

curve=$TMP/curve.csv
serve() {
    told "$BIN/kvgen" --gpu-profile h100 --model llama3.1-8b --gpu-mem 8GiB --input "$DATA/mooncake_first200.jsonl" --max-requests 60 -o none "$@"
}
hits() { cut -d , -f 3 "$curve" | tail -n +2 | tr '\n' ' '; }
# tokens NAME FILTER: the tokens that a run found, of the tiers of the filter.
tokens() { json "$TMP/$1.json" ".cache.tokens | $2" | awk '{ print $1 + $2 + $3 }'; }
# found_by OPTION "SIZE..." ARGUMENTS...: tokens found by a run of its own with each size in place of the option's value.
found_by() {
    option=$1 sizes=$2
    shift 2
    for size in $sizes; do
        serve --summary "$TMP/run.json" "$@" "$option" "$size"
        tokens run '.gpu, .host, .storage'
    done | tr '\n' ' '
}

for cache in vllm lmcache copies; do
    set -- --cache $cache --cpu-mem 4GiB
    serve "$@" --storage-capacity none --curve "$curve" --curve-sizes 4GiB,30GiB --summary "$TMP/summary.json"
    is "$cache: host memory" "$(hits)" "$(found_by --cpu-mem '4GiB 30GiB 1TiB' "$@" --storage-capacity none)"
    is "$cache: the run itself has its own memory" "$(tokens summary '.gpu, .host')" "$(hits | cut -d ' ' -f 1)"
    is "$cache: whose curve it is" "$(json "$TMP/summary.json" .curve.eviction)" $cache
done
set -- --cache copies --cpu-mem 4GiB
serve "$@" --storage-capacity unlimited --curve "$curve" --curve-sizes 16GiB,40GiB
is "files below host memory" "$(hits)" "$(found_by --storage-capacity '16GiB 40GiB unlimited' "$@")"
set -- --cache vllm --cpu-mem 4GiB --storage-capacity none
serve "$@" --tensor-parallel 2 --curve "$curve" --curve-sizes 30GiB
is "two ranks: a capacity holds the copies of both" "$(hits)" "$(found_by --cpu-mem '30GiB 1TiB' "$@" --tensor-parallel 2)"
serve "$@" --curve "$curve" --summary "$TMP/summary.json"
need=$(json "$TMP/summary.json" .curve.ceiling.capacity_bytes)
rises() {
    awk -F, -v need="$need" 'NR > 1 && $1 <= size { exit 1 } NR > 1 { size = $1; rows++ } END { exit !(rows > 8 && size == need) }' "$curve"
}
ok "capacities that nobody chose rise up to the one that is enough" rises
serve --cache vllm --cpu-mem 0 --storage-capacity none --curve "$curve"
like "no tier below the GPU" "$(cat "$TMP/err")" '^kvgen: --curve: needs a tier below the GPU'
serve "$@" --curve "$curve" --config curve_sample=0.1
like "all requests are served" "$(cat "$TMP/err")" '^kvgen: --config curve_sample: does not apply with --cache of an engine'
done_testing
