#!/bin/sh
# --source trace: a copy has the same rows and digest, filters leave out what they say, and --retier gives the
# rows that the tiers would have given in the first place. A bug looked like a row lost at the end of a pipe, a
# date counted twice, or an object that one of the tiers had and the rows did not.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

A=$TMP/a.csv.zst
gen() { told "$BIN/kvgen" "$@"; }
digest() { sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$TMP/err"; }
rows() { zstd -qdc "$1" | tail -n +2; }
small="--gpu-mem-gb 0.25 --cpu-mem-gb 0.5"

# shellcheck disable=SC2086
gen --num-users 5 --duration 20 --generation-mode none -m tiny-1b $small -o "$A"
made=$(digest)
rows "$A" >"$TMP/a.rows"

gen --source trace --input "$A" -o "$TMP/b.csv.zst"
is "a copy: the digest" "$(digest)" "$made"
ok "a copy: the columns" sh -c 'test "$(zstd -qdc "$1" | head -n 1)" = "$(zstd -qdc "$2" | head -n 1)"' - "$A" "$TMP/b.csv.zst"
gen --input - -o none <"$A"
like "recognised, from a pipe" "$(cat "$TMP/err")" "^hit rates"
zstd -qdc "$A" | gen --input - -o "$TMP/b.csv"
is "plain, through pipes: the digest" "$(digest)" "$made"
zstd -qdc "$A" | zstd -qc | gen --input - -o "$TMP/b.csv"
is "in a frame of somebody else's: the digest" "$(digest)" "$made"
like "provenance: what made the rows" "$(head -c 4000 "$TMP/b.csv.zst" | tr -d '\0')" '"seed":42,"model":{"name":"tiny-1b"'
like "provenance: that it is a copy" "$(head -c 4000 "$TMP/b.csv.zst" | tr -d '\0')" '"converted":\{"version":'
"$BIN/kvstat" --json "$TMP/b.csv.zst" >"$TMP/k.json" 2>/dev/null
like "kvstat still knows the seed" "$(cat "$TMP/k.json")" '"seed": *42'

# A cut file: what came before the cut is used, and the cut told.
head -c $(($(wc -c <"$A") / 2)) "$A" >"$TMP/cut.zst"
for how in '' --retier; do
    # shellcheck disable=SC2086
    exits "cut, $how: exit 2" 2 "$BIN/kvgen" --source trace --input "$TMP/cut.zst" $how -o "$TMP/b.csv" --summary "$TMP/s.json"
    like "cut, $how: where" "$(tail -n 1 "$TMP/stderr")" "^kvgen: $TMP/cut.zst: cut after row [1-9][0-9]* "
    is "cut, $how: the rows before it" "$(tail -n +2 "$TMP/b.csv" | wc -l)" "$(sed -n 's/.*"rows": \([0-9]*\),/\1/p' "$TMP/s.json" | head -n 1)"
done
gen --input "$TMP/cut.zst" -o "$TMP/b.csv" 2>/dev/null
n=$(tail -n +2 "$TMP/b.csv" | wc -l)
ok "cut: there are some" test "$n" -gt 10
is "cut: a copy of them" "$(tail -n +2 "$TMP/b.csv")" "$(head -n "$n" "$TMP/a.rows")"

gen --input "$A" --only-tier 2 -o "$TMP/b.csv"
is "a tier of it" "$(tail -n +2 "$TMP/b.csv")" "$(grep ',Tier-2,' "$TMP/a.rows")"
gen --input "$A" --limit 7 -o "$TMP/b.csv"
is "the head of it" "$(tail -n +2 "$TMP/b.csv")" "$(head -n 7 "$TMP/a.rows")"
gen --input "$A" --format mlperf --epoch 0 -o "$TMP/b.csv"
is "its six columns" "$(tail -n +2 "$TMP/b.csv")" "$(grep -E '^[^,]*,(Read|Write),' "$TMP/a.rows" | cut -d , -f 1-6)"
is "and nothing else" "$(head -n 1 "$TMP/b.csv")" Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
gen --input "$A" --format mlperf -o "$TMP/dated.csv"
like "dates for that" "$(sed -n 2p "$TMP/dated.csv")" '^17356896[0-9][0-9]\.'
gen --input "$TMP/dated.csv" --format mlperf -o "$TMP/again.csv"
ok "dates are not added twice" cmp -s "$TMP/dated.csv" "$TMP/again.csv"
first=$(sed -n 2p "$TMP/dated.csv" | cut -d , -f 1)
gen --input "$TMP/dated.csv" --epoch 5 -o "$TMP/again.csv"
is "dates move with the first" "$(sed -n 2p "$TMP/again.csv" | cut -d , -f 1)" 5.000000
isnt "which was another" "$first" 5.000000

# A result file keeps its columns.
"$BIN/kvreplay" --null -o "$TMP/r.csv" "$A" >/dev/null 2>&1
if [ -s "$TMP/r.csv" ]; then
    gen --input "$TMP/r.csv" -o "$TMP/s.csv"
    ok "results: the same" cmp -s "$TMP/r.csv" "$TMP/s.csv"
fi

# Other tiers.
like "a copy's summary" "$(gen --input "$A" -o none --summary -)" '"model": *null'
for tiers in "$small" "--gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 100" "--gpu-mem-gb 0.1 --cpu-mem-gb 0" \
    "$small --eviction sieve" "$small --promote on-hit"; do
    # shellcheck disable=SC2086
    gen --num-users 5 --duration 20 --generation-mode none -m tiny-1b $tiers -o none -o "$TMP/direct.csv"
    # shellcheck disable=SC2086
    gen --input "$A" --retier $tiers -o "$TMP/retier.csv"
    ok "--retier $tiers: as if generated so" cmp -s "$TMP/direct.csv" "$TMP/retier.csv"
done
# What is written before the first request, and what it moves: a row of another class among it would begin a replay's
# clock. A bug looked like demotions of class evict there.
for first in "--enable-rag --rag-num-docs 4" --decode-only; do
    # shellcheck disable=SC2086
    gen --num-users 3 --duration 5 -m tiny-1b $first --gpu-mem-gb 0.2 --cpu-mem-gb 0.1 --storage-capacity-gb 0.3 -o "$TMP/direct.csv"
    # shellcheck disable=SC2086
    gen --num-users 3 --duration 5 -m tiny-1b $first -o "$TMP/wide.csv"
    gen --input "$TMP/wide.csv" --retier --gpu-mem-gb 0.2 --cpu-mem-gb 0.1 --storage-capacity-gb 0.3 -o "$TMP/retier.csv"
    awk -F, '$7 == ""' "$TMP/direct.csv" >"$TMP/direct.head"
    awk -F, '$7 == ""' "$TMP/retier.csv" >"$TMP/retier.head"
    ok "$first: demotions before the first request" grep -q ,Evict, "$TMP/direct.head"
    is "$first: the same through --retier" "$(diff "$TMP/direct.head" "$TMP/retier.head" | head -n 2)" ''
done
blocks="--config $TOP/examples/models.yaml --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0"
for reuse in any prefix; do
    # shellcheck disable=SC2086
    gen --input "$DATA/mooncake_first4000.jsonl.zst" $blocks --block-reuse $reuse --storage-capacity-gb 1 -o "$TMP/m.csv.zst"
    # shellcheck disable=SC2086
    gen --input "$DATA/mooncake_first4000.jsonl.zst" $blocks --block-reuse $reuse --storage-capacity-gb 40 -o "$TMP/direct.csv" \
        --curve "$TMP/c1.csv" --curve-sizes 1G,5G
    want=$(digest)
    gen --input "$TMP/m.csv.zst" --retier --gpu-mem-gb 0 --cpu-mem-gb 0 --block-reuse $reuse --storage-capacity-gb 40 \
        -o "$TMP/retier.csv" --curve "$TMP/c2.csv" --curve-sizes 1G,5G
    is "blocks, $reuse: a larger store from a smaller one's trace" "$(digest)" "$want"
    is "blocks, $reuse: the curve is that of the requests" "$(sed -n 2,3p "$TMP/c2.csv")" "$(sed -n 2,3p "$TMP/c1.csv")"
done

# By hand: what is gone is written again when it is read, but not an earlier turn; sizes that are not known.
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Class \
    '0,Write,600000000,Tier-0,"a,""b",Prefill,1,user' 1,Write,600000000,Tier-0,c,Prefill,2,user \
    '2,Read,600000000,Tier-0,"a,""b",Decode,3,user' 3,Read,600000000,Tier-0,c,Decode,4,multi_turn \
    4,Miss,0,,d,,5,user '5,Read,600000000,Tier-0,"a,""b",Evict,,evict' >"$TMP/hand.csv"
gen --input "$TMP/hand.csv" --retier --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 1 -o "$TMP/b.csv"
is "by hand" "$(tail -n +2 "$TMP/b.csv" | cut -d , -f 1,2,5- | tr '\n' ' ')" \
    '0.000000,Write,"a,""b",Prefill,1,user 1.000000,Delete,"a,""b",Evict,2,evict 1.000000,Write,c,Prefill,2,user 2.000000,Miss,"a,""b",,3,user 2.000000,Delete,c,Evict,3,evict 2.000000,Write,"a,""b",Prefill,3,user 3.000000,Miss,c,,4,multi_turn 4.000000,Miss,d,,5,user '

# The curve of rows that are no blocks, with and without requests, and of requests that are served side by side: as a
# run with that much storage. A bug looked like no hits behind the first miss, or a miss forgotten for another request.
run_hits() { # trace, GiB of storage
    gen --input "$1" --retier --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$2" -o none --summary "$TMP/s.json"
    sed -n '/"all": *{/,/}/p' "$TMP/s.json" | sed -n 's/.*"hits": *\([0-9]*\).*/\1/p'
}
gen --num-users 20 --duration 60 --generation-mode none -m tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 -o "$TMP/all.csv"
grep -v ,Miss, "$TMP/all.csv" | cut -d , -f 1-6 >"$TMP/six.csv"
gen --input "$DATA/mooncake_first200.jsonl" -m tiny-1b --tier-model 0=hbm3 --tier-model 1=ddr5 --tier-model 2=nvme-gen4 \
    --gpu-mem-gb 0.5 --cpu-mem-gb 1 --trace-speedup 50 -o "$TMP/timed.csv" --summary "$TMP/s.json" --curve "$TMP/c.csv"
asked() { sed -n 's/.*"lookup_bytes": *\([0-9]*\).*/\1/p' "$TMP/s.json"; }
want=$(asked)
gen --input "$TMP/timed.csv" --retier --curve "$TMP/c.csv" -o none --summary "$TMP/s.json"
is "requests that mix: the bytes asked for" "$(asked)" "$want"
for trace in all six timed; do
    gen --input "$TMP/$trace.csv" --retier --curve "$TMP/c.csv" --curve-sizes 1G,4G -o none
    is "$trace: the curve is that of runs" "$(tail -n +2 "$TMP/c.csv" | cut -d , -f 3 | tr '\n' ' ')" \
        "$(for gib in 1 4 0; do run_hits "$TMP/$trace.csv" $gib; done | tr '\n' ' ')"
done

# What means nothing is refused; bad rows are one line.
# Rows without a class are lookups of none: the first 400 rows of the benchmark have 337 reads and no misses.
is "no class: counted as such" "$("$BIN/kvgen" --input "$DATA/mlperf_trace_first400.csv.zst" -o none --summary - 2>"$TMP/err" |
    tr -d ' \n' | sed 's/.*"lookups":{"all":{\([^}]*\)},"user":{\([^}]*\)}.*/\1 \2/')" \
    '"lookups":337,"hits":337,"misses":0,"hit_rate":1 "lookups":0,"hits":0,"misses":0,"hit_rate":null'
unlike "no class: no hit rate of users" "$(cat "$TMP/err")" '^hit rates'

bad() { # name regex arguments
    bad_name=$1 bad_like=$2
    shift 2
    exits "$bad_name: status 2" 2 "$BIN/kvgen" -o "$TMP/out.csv" "$@"
    like "$bad_name: says so" "$(cat "$TMP/stderr")" "^kvgen: $bad_like"
    is "$bad_name: in one line" "$(wc -l <"$TMP/stderr" | tr -d ' ')" 1
    ok "$bad_name: no file" test ! -e "$TMP/out.csv"
}
bad "a model" "--model: .*nothing is generated" --input "$A" -m tiny-1b
bad "tiers" "--gpu-mem-gb: .*--retier" --input "$A" --gpu-mem-gb 1
bad "a curve" "--curve: .*--retier" --input "$A" --curve "$TMP/c.csv"
bad "--retier of users" "--retier: .*--source trace" --retier
bad "a folder of traces" ".*several files" --input "$TMP"/'*.csv'
bad "no trace" ".*not a trace" --source trace --input "$DATA/mooncake_first200.jsonl"
head -c 3000 "$A" >"$TMP/cut.zst"
bad "a cut trace" ".*cut.zst: .*cut" --input "$TMP/cut.zst"
zstd -qdc "$A" | sed '5s/Tier-[0-9]/Tier-7/;5s/^/x/' >"$TMP/row.csv"
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase -9223372036,Write,4096,Tier-2,a,Prefill \
    9223372036,Read,4096,Tier-2,a,Decode >"$TMP/ages.csv"
gen --input "$TMP/ages.csv" -o "$TMP/b.csv"
is "times 584 years apart" "$(tail -n +2 "$TMP/b.csv" | cut -d , -f 1 | tr '\n' ' ')" "-9223372036.000000 9223372036.000000 "
like "simulated time stops at what a clock can hold" "$(cat "$TMP/err")" '^time +2562047 h'
bad "times that --epoch moves out of range" "row 2: its time and the epoch" --input "$TMP/ages.csv" --epoch 1
bad "a bad row" ".*row.csv:5: " --input "$TMP/row.csv"
bad "a bad row to be put elsewhere" ".*row.csv:5: " --input "$TMP/row.csv" --retier
done_testing
