#!/bin/sh
# --compat mlperf gives options that are not on the command line the defaults of the MLPerf Storage KV-cache benchmark;
# without it they are those of an engine. The digests are those of the configurations that were measured with the
# benchmark (tests/data/mlperf_reference), as kvgen made them when the benchmark's defaults were its own. A bug looked
# like another digest, an option of the command line that the table overrode, or a table in kvgen(1) that is not the one
# in the code.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

digest_of() { # OPTIONS...
    told "$BIN/kvgen" -o /dev/null --summary "$TMP/s.json" --progress none --seed 1 "$@"
    json "$TMP/s.json" .trace.digest
}

while read -r name digest options; do
    is "compat: configuration $name" "$(with "$options" digest_of --compat mlperf --duration 60)" "$digest"
done <<'END'
a 27f2e9d708178275c55861d816a7cd6e --model llama3.1-8b --num-users 50 --gpu-mem-gb 0 --cpu-mem-gb 4 --generation-mode none
b 0bd452ae2e395a1ae08cb26defe2717e --model llama3.1-8b --num-users 50 --gpu-mem-gb 16 --cpu-mem-gb 32 --generation-mode realistic
c 88cdc92a6282f1acb702e49cf26ed138 --model llama3.1-70b-instruct --num-users 40 --gpu-mem-gb 0 --cpu-mem-gb 0 --generation-mode none
d 2c87609c556c56587f25f5e08e2eeb21 --model llama3.1-70b-instruct --num-users 128 --num-gpus 8 --gpu-mem-gb 141 --tensor-parallel 8 --cpu-mem-gb 32 --generation-mode realistic
e 2f3531de3387b368eaa516ccfe93664a --model deepseek-v3 --num-users 64 --gpu-mem-gb 16 --cpu-mem-gb 32 --generation-mode fast
g 88a26ce410c99cbe50bb42fe589659aa --model llama3.1-8b --num-users 50 --gpu-mem-gb 0 --cpu-mem-gb 4 --generation-mode none --prefill-only
h 9317a2eb7718201bc1f5edefeb30ffb3 --model llama3.1-8b --num-users 50 --gpu-mem-gb 0 --cpu-mem-gb 4 --generation-mode none --decode-only
i 21089f6984fab9371c3ab0328f4f1fbe --model llama3.1-8b --num-users 30 --gpu-mem-gb 16 --cpu-mem-gb 32 --generation-mode realistic --enable-rag
j cd3ad9eefe1070894d4ffee6d6c39720 --model llama3.1-8b --num-users 50 --gpu-mem-gb 0 --cpu-mem-gb 4 --generation-mode none --disable-multi-turn --disable-prefix-caching
k a99ec01a819ee12417536871c674af31 --model llama3.1-8b --num-users 50 --gpu-mem-gb 0 --cpu-mem-gb 0 --generation-mode none --storage-capacity-gb 64
END
is 'compat: a dataset' "$(digest_of --seed 42 --input "$DATA/sharegpt_dummy_250.json.zst" --compat mlperf \
    --request-rate 50 --num-users 20)" 5b07c482cb60de8ffcb5d8ba2400c26a

# What was the default before is an option now.
set -- --duration 60 --num-users 50 --gpu-mem-gb 16 --cpu-mem-gb 32 --generation-mode realistic
is 'the defaults of before, as options' "$(digest_of "$@" --arrival open --config decode_reads=batch)" \
    80bd5747a44277448d0a8410b4efc70d
is 'the defaults of an engine' "$(digest_of "$@")" "$(digest_of "$@" --arrival closed --config decode_reads=once)"
is 'the command line wins' "$(digest_of "$@" --compat mlperf --arrival closed --config decode_reads=once)" \
    "$(digest_of "$@" --config decode_reads=once --arrival closed --compat mlperf)"
isnt 'over --compat' "$(digest_of "$@" --compat mlperf --arrival closed)" "$(digest_of "$@" --compat mlperf)"

# In the trace's own provenance stand the values that hold, wherever they come from.
"$BIN/kvgen" --compat mlperf --duration 1 -o "$TMP/p.csv.zst" 2>/dev/null
provenance "$TMP/p.csv.zst" >"$TMP/p.json"
is 'the provenance tells what holds' "$(json "$TMP/p.json" '.options.arrival, .options["decode-reads"]')" 'open batch'

# kvgen(1) prints the table.
sed -n '/mlperf_defaults\[\]/,/^};/s/^ *{"\([a-z-]*\)", "\([a-z]*\)"},$/\1 \2/p' "$TOP/kvgen/sim/compat.c" >"$TMP/code"
ok 'the code has a table' test -s "$TMP/code"
sed -n '/^\.\\" the defaults of --compat/,/^\.El/s/^\.It [CV][am] \([a-z_]*\) Ta Cm \([a-z]*\) Ta.*/\1 \2/p' \
    "$TOP/man/kvgen.1" | tr _ - >"$TMP/page"
is 'which is that of kvgen(1)' "$(cat "$TMP/page")" "$(cat "$TMP/code")"
done_testing
