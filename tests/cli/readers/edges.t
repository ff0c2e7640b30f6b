#!/bin/sh
# edges.t - every number that the programs read from files, at the edges of the integers (0, -1, 2^31, 2^53, 2^63, 2^64),
# of fractions and of what is a number, alone and in sums (readers.py): the run ends in order, or with one line that
# says what is wrong and where. In a sanitizer build no sum may overflow. A bug looked like a Start of
# 9223372036.854775807, to which a microsecond was added.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/readers.sh
. "$TOP/tests/readers.sh"

each_reader edges

# What brought one down.
{
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Due,Eligible,Start,Latency_us,Device_us,Status'
    echo '0.0,Write,4096,Tier-2,k,Prefill,0.0,0.0,9223372036.854775807,9223372036854775.807,9223372036854775.807,ok'
    echo '9223372036.854775807,Read,4096,Tier-2,k,Decode,-9223372036.854775807,0.0,-9223372036.854775807,0,9223372036854775.807,ok'
} >"$TMP/start.csv"
for form in --full --json --csv '--interval 300000h --json' '--reuse --full' '--profile mlperf --slo'; do
    with "$form" exits "the last nanosecond, $form" 0 "$BIN/kvstat" "$TMP/start.csv"
done

# Numbers of messages that leap to the end of the range, twice. A bug looked like few that are missing.
{
    echo '{"kvtrace":"capture","version":1,"times":false,"reads":true,"unrecorded":"results","key":"0123456789abcdef"}'
    for seq in 1 18446744073709551615 1 18446744073709551615 18446744073709551615; do
        printf '{"ts":5,"publisher":"000102030405060708090a0b0c0d0e0f","rank":0,"seq":%s,"event":"cleared","medium":"GPU"}\n' $seq
    done
} >"$TMP/leaps.jsonl"
exits 'leaps of numbers' 0 "$BIN/kvgen" --input "$TMP/leaps.jsonl" -o none --summary "$TMP/leaps.json"
is 'are missing' "$(grep -o '"missing": *[0-9]*' "$TMP/leaps.json")" '"missing": 18446744073709551615'

# Sizes whose sum has more than 64 bits. A bug looked like a summary of a few bytes.
{
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase'
    for i in 1 2 3; do echo "$i.0,Write,9223372036854775807,Tier-2,k$i,Prefill"; done
} >"$TMP/sizes.csv"
for how in '' --retier '--retier --curve /dev/null'; do
    with "$how" exits "sizes that do not fit, kvgen $how" 2 "$BIN/kvgen" --input "$TMP/sizes.csv" -o none
    stderr_like 'said' '^kvgen: .*sizes.csv: row 1: the objects up to this row have more than 512 PiB: not a valid trace$'
done

# A model whose objects add up to more than 64 bits. A bug looked like 0.98 EiB for 224 writes of 60 PiB and more.
cat >"$TMP/large.yaml" <<'END'
model_configs:
  large: {name: large, num_layers: 10000, hidden_dim: 16777216, num_heads: 65536, kv_heads: 65536, kv_dim_per_head: 65536, dtype: float32}
END
exits 'a model of 312 TiB a token' 0 "$BIN/kvgen" --config "$TMP/large.yaml" --model large --users 20 --cpu-mem 0 --gpu-mem 0 \
    --max-requests 200 -o none
stderr_like 'sums at their end' '^Tier-2 .* writes 16.0 EiB'
done_testing
