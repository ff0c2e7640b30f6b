#!/bin/sh
# An engine with nothing else to do goes on with a request as soon as what it loads is there, not with the next arrival.
# The third request here loads its prompt from host memory; the fourth comes a quarter of an hour later. A bug looked like
# a first token after 980 s, so that a drive seemed to hold fewer users than none.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

while read -r ms tokens from to; do
    printf '{"timestamp": %s, "input_length": %s, "output_length": 5, "hash_ids": [%s]}\n' "$ms" "$tokens" \
        "$(seq -s, "$from" "$to")"
done >"$TMP/in.jsonl" <<'END'
0 5120 1 10
10000 20480 11 50
20000 5632 1 11
1000000 512 60 60
END
# first_token OPTIONS...: whole seconds at which the third request's first token is there; what it found.
first_token() {
    told "$BIN/kvgen" --model tiny-1b --params 1e9 --input "$TMP/in.jsonl" --gpu-mem 512MiB -o "$TMP/t.csv" "$@"
    awk -F, '$2 == "Generate" && $6 == "Decode" && $7 == 3 {printf "%d\n", $1}' "$TMP/t.csv"
}
is 'from host memory' "$(first_token --cache vllm --cpu-mem 4 --storage-capacity none)" 20
like '(it was loaded)' "$(sed -n 's/^cache .*host \([0-9.]*\).*/\1/p' "$TMP/err")" '^11'
is 'from files' "$(first_token --cache vllm --cpu-mem 64MiB --tier-model 2=read:1GB/s,write:1GB/s,lat:1ms)" 20
is 'in the process of LMCache' "$(first_token --cache lmcache --cpu-mem 4)" 20
is 'from the server of LMCache' "$(first_token --cache lmcache-mp --cpu-mem 4)" 20
is 'of SGLang' "$(first_token --cache sglang --cpu-mem 4)" 20
done_testing
