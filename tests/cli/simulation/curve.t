#!/bin/sh
# curve.t - --curve with an engine's cache: the tokens of prompts that are found by capacity of its lowest tier, as
# in a run of its own for each capacity. A bug looked like a curve of one tier alone, or of other requests than the run's.
# builds: plain (counts of runs that other tests take through the sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

curve=$TMP/curve.csv
# Forty prompts of 36 MiB come again after few others and after many.
awk 'BEGIN {
    for (i = 0; i < 120; i++) {
        of = 3 * ((i * i + int(i / 3)) % 40)
        printf "{\"timestamp\": %d, \"input_length\": 1536, \"output_length\": 4, \"hash_ids\": [%d, %d, %d]}\n", i * 1000, of, of + 1, of + 2
    }
}' >"$TMP/prompts.jsonl"
serve() {
    told "$BIN/kvgen" --gpu-profile h100 --model tiny-1b --params 1e9 --gpu-mem 256MiB --input "$TMP/prompts.jsonl" -o none "$@"
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
    set -- --cache $cache --cpu-mem 64MiB
    serve "$@" --storage-capacity none --curve "$curve" --curve-sizes 64MiB,512MiB --summary "$TMP/summary.json"
    ok "$cache: more is found with more" test "$(hits | tr ' ' '\n' | sort -u | wc -l)" -eq 3
    is "$cache: host memory" "$(hits)" "$(found_by --cpu-mem '64MiB 512MiB 1TiB' "$@" --storage-capacity none)"
    is "$cache: the run itself has its own memory" "$(tokens summary '.gpu, .host')" "$(hits | cut -d ' ' -f 1)"
    is "$cache: whose curve it is" "$(json "$TMP/summary.json" .curve.eviction)" $cache
done
set -- --cache copies --cpu-mem 64MiB
serve "$@" --storage-capacity unlimited --curve "$curve" --curve-sizes 128MiB,512MiB
ok "files: more is found with more" test "$(hits | tr ' ' '\n' | sort -u | wc -l)" -eq 3
is "files below host memory" "$(hits)" "$(found_by --storage-capacity '128MiB 512MiB unlimited' "$@")"
set -- --cache vllm --cpu-mem 64MiB --storage-capacity none
serve "$@" --tensor-parallel 2 --curve "$curve" --curve-sizes 512MiB
ok "two ranks: more is found with more" test "$(hits | tr ' ' '\n' | sort -u | wc -l)" -eq 2
is "two ranks: a capacity holds the copies of both" "$(hits)" "$(found_by --cpu-mem '512MiB 1TiB' "$@" --tensor-parallel 2)"
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
