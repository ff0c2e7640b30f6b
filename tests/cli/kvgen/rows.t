#!/bin/sh
# The rows themselves: columns, the rows that each format and filter keeps, order of time, and a golden trace of a small
# run that shows every kind of row. A bug looked like a Miss in an mlperf file, a time that went back, or a row that was
# changed by accident.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

generate() {
    with "$(rows_only "$@")" told "$BIN/kvgen" --model tiny-1b --num-users 20 --duration 20 --seed 3 --generation-mode fast \
        --gpu-mem-gb 1 \
        --cpu-mem-gb 2 --storage-capacity-gb 3 --arrival open --config decode_reads=batch "$@"
}
rows() { tail -n +2 "$1"; }
core_columns=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase

generate -o "$TMP/all.csv"
is "all columns" "$(head -n 1 "$TMP/all.csv")" "$core_columns,Request,User,QoS,Class,Tokens,Arrival,Duration_us"
is "every kind of row" "$(rows "$TMP/all.csv" | cut -d, -f2 | sort -u | tr '\n' ' ')" \
    "Delete Generate Miss Read Write "
is "every tier" "$(rows "$TMP/all.csv" | cut -d, -f4 | sort -u | tr '\n' ' ')" " Tier-0 Tier-1 Tier-2 "
ok "time never goes back" awk -F, "NR > 2 && \$1 + 0 < last + 0 {exit 1} NR > 1 {last = \$1}" "$TMP/all.csv"
ok "no row before its arrival" awk -F, "NR > 1 && \$1 + 0 < \$12 + 0 {exit 1}" "$TMP/all.csv"
head -n 400 "$TMP/all.csv" >"$TMP/head.csv"
ok "the golden trace" cmp "$TOP/tests/golden/kvgen_small.csv" "$TMP/head.csv"
like "the golden trace shows a demotion" "$(cat "$TMP/head.csv")" ',Read,[0-9]+,Tier-0,conv_[a-z0-9_]+,Evict,'

generate --format mlperf -o "$TMP/six.csv"
is "mlperf: six columns" "$(head -n 1 "$TMP/six.csv")" "$core_columns"
is "mlperf: Read and Write only" "$(rows "$TMP/six.csv" | cut -d, -f2 | sort -u | tr '\n' ' ')" "Read Write "
is "mlperf: six fields everywhere" "$(rows "$TMP/six.csv" | awk -F, '{print NF}' | sort -u)" 6
is "mlperf: those rows of the full trace" "$(rows "$TMP/six.csv" | cut -d, -f2-)" \
    "$(rows "$TMP/all.csv" | awk -F, '$2 == "Read" || $2 == "Write"' | cut -d, -f2-6)"
like "mlperf: times are dates" "$(rows "$TMP/six.csv" | head -n 1)" '^17356896[0-9]{2}\.'
is "mlperf: times have six decimals" "$(rows "$TMP/six.csv" | grep -cvE '^[0-9]+\.[0-9]{6},')" 0
generate --format mlperf --epoch 0 -o "$TMP/zero.csv"
is "mlperf: unless told, rounded to six decimals" "$(rows "$TMP/zero.csv" | cut -d, -f1)" \
    "$(rows "$TMP/all.csv" | awk -F '[,.]' '$3 == "Read" || $3 == "Write" {
        us = substr($2, 1, 6) + (substr($2, 7, 1) >= 5); printf "%d.%06d\n", $1 + int(us / 1000000), us % 1000000}')"
generate --epoch 1000.5 --limit 1 -o "$TMP/one.csv"
is "--limit counts rows written" "$(rows "$TMP/one.csv" | wc -l)" 1
ok "--epoch moves both times" awk -F, "NR == 2 {exit !(\$1 > 1000.5 && \$12 > 1000.5)}" "$TMP/one.csv"

generate --only-tier 0,2 -o "$TMP/two.csv"
is "--only-tier" "$(rows "$TMP/two.csv")" "$(rows "$TMP/all.csv" | awk -F, '$4 == "Tier-0" || $4 == "Tier-2"')"
generate --only-tier 1 --limit 7 -o "$TMP/seven.csv"
is "--limit counts after filters" "$(rows "$TMP/seven.csv")" \
    "$(rows "$TMP/all.csv" | awk -F, '$4 == "Tier-1"' | head -n 7)"

generate --disable-multi-turn --disable-prefix-caching --config decode_reads=none --max-requests 5 -o "$TMP/plain.csv"
is "one write and one generation each, no more" "$(rows "$TMP/plain.csv" | cut -d, -f2,6,10 | sort | uniq -c |
    awk '{print $1, $2}' | tr '\n' ';')" "5 Generate,,;5 Write,Prefill,user;"
is "keys without conversations" "$(rows "$TMP/plain.csv" | cut -d, -f5 | sed '/^$/d;s/user_[0-9]*/U/' | tr '\n' ' ')" \
    "U_req_1 U_req_2 U_req_3 U_req_4 U_req_5 "

# Half the bytes on each of two ranks.
generate --max-requests 5 --disable-prefix-caching --num-gpus 2 --tensor-parallel 2 -o "$TMP/half.csv"
generate --max-requests 5 --disable-prefix-caching -o "$TMP/whole.csv"
is "--tensor-parallel divides" "$(awk -F, '$6 == "Prefill" {print $3 * 2}' "$TMP/half.csv")" \
    "$(awk -F, '$6 == "Prefill" {print $3}' "$TMP/whole.csv")"

# A zstd file tells which options decided its rows, and none of those of the output.
generate -o "$TMP/p.csv.zst"
provenance "$TMP/p.csv.zst" >"$TMP/provenance.json"
json_like "$TMP/provenance.json" <<'END'
provenance: program and version | .program, .version | kvgen [0-9.]+
provenance: format and seed     | .format, .seed | 1 3
provenance: model               | .model.name, .model.bytes_per_token | tiny-1b 24576
provenance: tiers               | tier("Tier-0").capacity_bytes | 1073741824
END
unlike "provenance: not the output" "$(cat "$TMP/provenance.json")" '"(output|threads|progress|level)"'
done_testing
