#!/bin/sh
# --source trace: a copy has the same rows and digest, filters leave out the rows that they name, and --retier gives the
# rows that a run with these tiers would have given. A bug looked like a row lost at the end of a pipe, a date that was
# added twice, or an object that was in a tier and not in the rows.
# builds: plain address (threads of the reader and the writer: tests/unit/trace, deterministic.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

original=$TMP/original.csv.zst
generate() {
    with "$(rows_only "$@")" told "$BIN/kvgen" "$@"
}
copy=$TMP/b.csv
digest() { sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$TMP/err"; }
rows() { zstd -qdc "$1" | tail -n +2; }
small="--gpu-mem-gb 0.25 --cpu-mem-gb 0.5"

with "$small" generate --num-users 5 --duration 20 --arrival open --config decode_reads=batch --generation-mode none -m tiny-1b -o "$original"
made=$(digest)
rows "$original" >"$TMP/original.rows"

generate --source trace --input "$original" -o "$TMP/copy.csv.zst"
is "a copy: the digest" "$(digest)" "$made"
columns() { zstd -qdc "$1" | head -n 1; }
is "a copy: the columns" "$(columns "$TMP/copy.csv.zst")" "$(columns "$original")"
like "(there are some)" "$(columns "$original")" '^Timestamp,'
generate --input - -o none <"$original"
like "recognised, from a pipe" "$(cat "$TMP/err")" "^hit rate "
zstd -qdc "$original" | generate --input - -o "$copy"
is "plain, through pipes: the digest" "$(digest)" "$made"
zstd -qdc "$original" | zstd -qc | generate --input - -o "$copy"
is "in a frame of somebody else's: the digest" "$(digest)" "$made"
provenance "$TMP/copy.csv.zst" >"$TMP/provenance.json"
is "provenance: what made the rows" "$(json "$TMP/provenance.json" '.seed, .model.name')" '42 tiny-1b'
is "provenance: that it is a copy" "$(json "$TMP/provenance.json" '.converted | has("version")')" true
"$BIN/kvstat" --json "$TMP/copy.csv.zst" >"$TMP/k.json" 2>/dev/null
is "kvstat still knows the seed" "$(json "$TMP/k.json" .run.seed)" 42

# A cut file: the rows before the cut are used, and the cut is reported.
head -c $(($(wc -c <"$original") / 2)) "$original" >"$TMP/cut.csv.zst"
for how in '' --retier; do
    exits "cut, $how: exit 2" 2 "$BIN/kvgen" --source trace --input "$TMP/cut.csv.zst" $how --no-notes -o "$copy" \
        --summary "$TMP/s.json"
    like "cut, $how: where" "$(tail -n 1 "$TMP/stderr")" "^kvgen: $TMP/cut.csv.zst: cut after row [1-9][0-9]* "
    is "cut, $how: the rows before it" "$(tail -n +2 "$copy" | wc -l)" "$(json "$TMP/s.json" .trace.rows)"
done
generate --input "$TMP/cut.csv.zst" -o "$copy" 2>/dev/null
n=$(tail -n +2 "$copy" | wc -l)
ok "cut: there are some" test "$n" -gt 10
is "cut: a copy of them" "$(tail -n +2 "$copy")" "$(head -n "$n" "$TMP/original.rows")"

generate --input "$original" --only-tier 2 -o "$copy"
is "a tier of it" "$(tail -n +2 "$copy")" "$(grep ',Tier-2,' "$TMP/original.rows")"
generate --input "$original" --limit 7 -o "$copy"
is "the head of it" "$(tail -n +2 "$copy")" "$(head -n 7 "$TMP/original.rows")"
generate --input "$original" --format mlperf --epoch 0 -o "$copy"
is "its six columns" "$(tail -n +2 "$copy" | cut -d , -f 2-6)" \
    "$(grep -E '^[^,]*,(Read|Write),' "$TMP/original.rows" | cut -d , -f 2-6)"
is "times of six decimals" "$(tail -n +2 "$copy" | grep -cvE '^[0-9]+\.[0-9]{6},')" 0
is "and nothing else" "$(head -n 1 "$copy")" Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
generate --input "$original" --format mlperf -o "$TMP/dated.csv"
like "dates for that" "$(sed -n 2p "$TMP/dated.csv")" '^17356896[0-9][0-9]\.'
generate --input "$TMP/dated.csv" --format mlperf -o "$TMP/again.csv"
ok "dates are not added twice" cmp -s "$TMP/dated.csv" "$TMP/again.csv"
first=$(sed -n 2p "$TMP/dated.csv" | cut -d , -f 1)
generate --input "$TMP/dated.csv" --epoch 5 -o "$TMP/again.csv"
is "dates move with the first" "$(sed -n 2p "$TMP/again.csv" | cut -d , -f 1)" 5.000000
isnt "which was another" "$first" 5.000000

# A result file keeps its columns.
exits "a replay" 0 "$BIN/kvreplay" --null --no-notes -o "$TMP/r.csv" "$original"
generate --input "$TMP/r.csv" -o "$copy"
ok "its results: the same" cmp "$TMP/r.csv" "$copy"

# Other tiers.
like "a copy's summary" "$(generate --input "$original" -o none --summary -)" '"model": *null'
for tiers in "$small" "--gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 100" "--gpu-mem-gb 0.1 --cpu-mem-gb 0" \
    "$small --config eviction=sieve" "$small --config promote=on-hit"; do
    with "$tiers" generate --num-users 5 --duration 20 --arrival open --config decode_reads=batch --generation-mode none -m tiny-1b -o "$TMP/direct.csv"
    with "$tiers" generate --input "$original" --retier -o "$TMP/retier.csv"
    ok "--retier $tiers: as if generated so" cmp -s "$TMP/direct.csv" "$TMP/retier.csv"
done
# Objects that are written before the first request, and the demotions that they cause: a row of another class among
# them would start a replay's clock. A bug looked like demotions of class evict there.
for first in "--enable-rag --rag-num-docs 4" --decode-only; do
    with "$first" generate --num-users 3 --duration 5 -m tiny-1b --gpu-mem-gb 0.2 --cpu-mem-gb 0.1 --storage-capacity-gb 0.3 \
        -o "$TMP/direct.csv"
    with "$first" generate --num-users 3 --duration 5 -m tiny-1b -o "$TMP/wide.csv"
    generate --input "$TMP/wide.csv" --retier --gpu-mem-gb 0.2 --cpu-mem-gb 0.1 --storage-capacity-gb 0.3 \
        -o "$TMP/retier.csv"
    awk -F, '$7 == ""' "$TMP/direct.csv" >"$TMP/direct.head"
    awk -F, '$7 == ""' "$TMP/retier.csv" >"$TMP/retier.head"
    ok "$first: demotions before the first request" grep -q ,Evict, "$TMP/direct.head"
    is "$first: the same through --retier" "$(diff "$TMP/direct.head" "$TMP/retier.head" | head -n 2)" ''
done
blocks="--config $TOP/examples/models.yaml --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0"
for reuse in any prefix; do
    with "$blocks" generate --input "$DATA/mooncake_first4000.jsonl.zst" --config block_reuse=$reuse --storage-capacity-gb 1 \
        -o "$TMP/m.csv.zst"
    with "$blocks" generate --input "$DATA/mooncake_first4000.jsonl.zst" --config block_reuse=$reuse --storage-capacity-gb 40 \
        -o "$TMP/direct.csv" --curve "$TMP/c1.csv" --curve-sizes 1G,5G
    want=$(digest)
    generate --input "$TMP/m.csv.zst" --retier --gpu-mem-gb 0 --cpu-mem-gb 0 --config block_reuse=$reuse \
        --storage-capacity-gb 40 -o "$TMP/retier.csv" --curve "$TMP/c2.csv" --curve-sizes 1G,5G
    is "blocks, $reuse: a larger store from a smaller one's trace" "$(digest)" "$want"
    is "blocks, $reuse: the curve is that of the requests" "$(sed -n 2,3p "$TMP/c2.csv")" "$(sed -n 2,3p "$TMP/c1.csv")"
done

# By hand: a lost object is written again when it is read, unless it is an earlier turn; objects of unknown size.
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Class \
    '0,Write,600000000,Tier-0,"a,""b",Prefill,1,user' 1,Write,600000000,Tier-0,c,Prefill,2,user \
    '2,Read,600000000,Tier-0,"a,""b",Decode,3,user' 3,Read,600000000,Tier-0,c,Decode,4,multi_turn \
    4,Miss,0,,d,,5,user '5,Read,600000000,Tier-0,"a,""b",Evict,,evict' >"$TMP/hand.csv"
generate --input "$TMP/hand.csv" --retier --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 1 -o "$copy"
cat >"$TMP/want" <<'END'
0.000000,Write,"a,""b",Prefill,1,user
1.000000,Delete,"a,""b",Evict,2,evict
1.000000,Write,c,Prefill,2,user
2.000000,Miss,"a,""b",,3,user
2.000000,Delete,c,Evict,3,evict
2.000000,Write,"a,""b",Prefill,3,user
3.000000,Miss,c,,4,multi_turn
4.000000,Miss,d,,5,user
END
is "by hand" "$(tail -n +2 "$copy" | cut -d , -f 1,2,5-)" "$(cat "$TMP/want")"

# The curve of rows that are no blocks, with and without requests, and of requests that are served side by side, equals
# runs with that much storage. A bug looked like no hits after the first miss, or a miss counted for another request.
run_hits() { # TRACE GIB
    generate --input "$1" --retier --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$2" -o none \
        --summary "$TMP/s.json"
    json "$TMP/s.json" .lookups.all.hits
}
generate --num-users 20 --duration 60 --generation-mode none -m tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 -o "$TMP/all.csv"
grep -v ,Miss, "$TMP/all.csv" | cut -d , -f 1-6 >"$TMP/six.csv"
generate --input "$DATA/mooncake_first200.jsonl" -m tiny-1b --tier-model 0=hbm3 --tier-model 1=ddr5 \
    --tier-model 2=nvme-gen4 \
    --gpu-mem-gb 0.5 --cpu-mem-gb 1 --trace-speedup 50 -o "$TMP/timed.csv" --summary "$TMP/s.json" --curve "$TMP/c.csv"
asked() { json "$TMP/s.json" .curve.lookup_bytes; }
want=$(asked)
like "bytes asked for" "$want" '^[1-9]'
generate --input "$TMP/timed.csv" --retier --curve "$TMP/c.csv" -o none --summary "$TMP/s.json"
is "requests that mix: the bytes asked for" "$(asked)" "$want"
for trace in all six timed; do
    generate --input "$TMP/$trace.csv" --retier --curve "$TMP/c.csv" --curve-sizes 1G,4G -o none
    is "$trace: the curve is that of runs" "$(tail -n +2 "$TMP/c.csv" | cut -d , -f 3 | tr '\n' ' ')" \
        "$(for gib in 1 4 0; do run_hits "$TMP/$trace.csv" $gib; done | tr '\n' ' ')"
done

# Rows without a class are lookups of no class: the first 400 rows of the benchmark have 337 reads and no misses.
generate --input "$DATA/mlperf_trace_first400.csv.zst" -o none --summary "$TMP/s.json"
is "no class: counted as such" "$(json "$TMP/s.json" '.lookups | .all[], .user[]')" "337 337 0 1 0 0 0 null"
unlike "no class: no hit rate of users" "$(cat "$TMP/err")" '^hit rates'

bad() { # name regex arguments
    bad_name=$1 bad_like=$2
    shift 2
    exits "$bad_name: status 2" 2 "$BIN/kvgen" -o "$TMP/out.csv" "$@"
    stderr_like "$bad_name: says so" "^kvgen: $bad_like"
    is "$bad_name: in one line" "$(lines "$TMP/stderr")" 1
    ok "$bad_name: no file" test ! -e "$TMP/out.csv"
}
bad "a model" "--model: .*nothing is generated" --input "$original" -m tiny-1b
bad "tiers" "--gpu-mem: .*--retier" --input "$original" --gpu-mem-gb 1
bad "a curve" "--curve: .*--retier" --input "$original" --curve "$TMP/c.csv"
bad "--retier of users" "--retier: .*--source trace" --retier
bad "a folder of traces" ".*several files" --input "$TMP"/'*.csv'
bad "no trace" ".*not a trace" --source trace --input "$DATA/mooncake_first200.jsonl"
head -c 3000 "$original" >"$TMP/cut.csv.zst"
bad "a cut trace" ".*cut.csv.zst: .*cut" --input "$TMP/cut.csv.zst"
zstd -qdc "$original" | sed '5s/Tier-[0-9]/Tier-7/;5s/^/x/' >"$TMP/row.csv"
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase -9223372036,Write,4096,Tier-2,a,Prefill \
    9223372036,Read,4096,Tier-2,a,Decode >"$TMP/ages.csv"
generate --input "$TMP/ages.csv" -o "$copy"
is "times 584 years apart" "$(tail -n +2 "$copy" | cut -d , -f 1 | tr '\n' ' ')" \
    "-9223372036.000000 9223372036.000000 "
like "simulated time stops at what a clock can hold" "$(cat "$TMP/err")" '^requests +0 issued in 2562047 h'
bad "times that --epoch moves out of range" "row 2: its time and the epoch" --input "$TMP/ages.csv" --epoch 1
bad "a bad row" ".*row.csv:5: " --input "$TMP/row.csv"
bad "a bad row to be put elsewhere" ".*row.csv:5: " --input "$TMP/row.csv" --retier
done_testing
