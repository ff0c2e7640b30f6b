#!/bin/sh
# verify.t - --verify-trace finds each contradiction, at its row, and nothing in the traces of kvgen. Bugs looked like a
# demoted object that was still expected in its old tier, or a table of keys that lost some as it grew.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

# trace FILE: rows from standard input, "TIME OP SIZE TIER KEY PHASE", behind a header.
trace() { { echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase' && tr ' ' ,; } >"$TMP/$1"; }
finds() { stdout_like "$@"; } # NAME ERE: a line of the report

trace good <<'EOF'
0.0 Write 100 Tier-0 a Prefill
0.1 Read 100 Tier-0 a Decode
0.1 Write 50 Tier-0 b Prefill
0.2 Read 100 Tier-0 a Evict
0.2 Write 100 Tier-2 a Evict
0.3 Read 100 Tier-2 a Decode
0.4 Write 60 Tier-0 b Prefill
0.5 Delete 60 Tier-0 b Evict
0.6 Write 70 Tier-0 b Prefill
0.7 Miss 0  c 
EOF
exits 'a good trace' 0 "$kvstat" --verify-trace "$TMP/good"
finds 'passes' '/good: 10 rows, 2 keys: PASS$'
finds 'contents of a tier' '^  Tier-0 +- +150 B +70 B +2$'
finds 'and of another' '^  Tier-2 +- +100 B +100 B +1$'

trace bad <<'EOF'
1.0 Write 100 Tier-0 a Prefill
1.1 Read 100 Tier-0 x Decode
1.2 Read 100 Tier-1 a Decode
1.3 Read 99 Tier-0 a Decode
1.2 Read 100 Tier-0 a Evict
1.4 Read 100 Tier-0 a Decode
1.5 Write 101 Tier-1 a Evict
1.6 Delete 101 Tier-2 a Evict
1.7 Delete 101 Tier-1 a Evict
1.8 Delete 101 Tier-1 a Evict
1.9 Write 10 Tier-0 d Prefill
2.0 Write 11 Tier-2 d Prefill
EOF
exits 'a bad trace' 1 "$kvstat" --verify-trace "$TMP/bad"
finds 'fails' '/bad: 12 rows, 2 keys: FAIL$'
finds 'never written' '^  row 2: absent: Read "x" in Tier-0, which was never written$'
finds 'in another tier' '^  row 3: tier: Read "a" in Tier-1, which is in Tier-0$'
finds 'another size' '^  row 4: size: Read "a" with 99 bytes; written were 100$'
finds 'out of order' '^  row 5: order: Timestamp 1\.200000 is before that of the row before, 1\.300000$'
finds 'moved away' '^  row 6: absent: Read "a" in Tier-0, which is gone$'
finds 'deleted in the wrong tier' '^  row 8: tier: Delete "a" in Tier-2, which is in Tier-1$'
finds 'deleted twice' '^  row 10: absent: Delete "a" in Tier-1, which is gone$'
finds 'copies of two sizes' '^  row 12: size: Write "d" with 11 bytes; its copy in another tier has 10$'
is 'and nothing else' "$(grep -c '^  row' "$TMP/stdout")" 8
exits 'JSON' 1 "$kvstat" --verify-trace --json "$TMP/bad"
is 'status' "$(json "$TMP/stdout" '.verify[].status')" FAIL
is 'rows of the findings' "$(json "$TMP/stdout" '.verify[].findings[].row')" '2 3 4 5 6 8 10 12'
is 'counts' "$(json "$TMP/stdout" '.verify[].counts.absent')" 3

# Capacities come from --run or the provenance.
echo '{"tiers": [{"tier": "Tier-0", "capacity_bytes": 149}]}' >"$TMP/run.json"
exits 'a capacity' 1 "$kvstat" --verify-trace --run "$TMP/run.json" "$TMP/good"
finds 'that is exceeded' '^  row 3: capacity: Tier-0 holds 150 bytes of 149 after Write "b"$'
echo '{"tiers": [{"tier": "Tier-0", "capacity_bytes": 150}]}' >"$TMP/run.json"
exits 'one that is just enough' 0 "$kvstat" --verify-trace --run "$TMP/run.json" "$TMP/good"

# ---- what kvgen writes, and what the benchmark wrote ----

for policy in '--gpu-mem-gb 1 --cpu-mem-gb 1' '--gpu-mem-gb 0 --cpu-mem-gb 0' \
    '--gpu-mem-gb 2 --cpu-mem-gb 0 --generation-mode none'; do
    with "$policy" "$BIN/kvgen" --num-users 20 --duration 20s -o "$TMP/kvgen.zst" 2>/dev/null
    exits "kvgen $policy" 0 "$kvstat" --verify-trace "$TMP/kvgen.zst"
done
finds 'its capacity is known' '^  Tier-0 +2\.00 GiB '
# Copies of an engine: one below the GPU may be of several blocks, and its key is that of the last one.
for cache in vllm vllm:blocks_per_chunk=4 lmcache lmcache-mp sglang:page_size=16 copies; do
    told "$BIN/kvgen" -m llama3.1-8b --gpu-profile h100 --cache "$cache" --users 4 --duration 20s --config input_len=2000 \
        --gpu-mem 2 --cpu-mem 3 --storage-capacity 4 -o "$TMP/copies.zst" --summary "$TMP/copies.json"
    exits "copies of $cache" 0 "$kvstat" --verify-trace --json "$TMP/copies.zst"
    is '... and what is left of them' "$(json "$TMP/stdout" '.verify[].tiers[].final_bytes, .verify[].tiers[].final_objects')" \
        "$(json "$TMP/copies.json" '.tiers[].final_bytes, .tiers[].final_objects')"
done
{
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Class'
    echo '0.0,Write,10,Tier-0,a,Prefill,block'
    echo '0.1,Write,40,Tier-1,a,Prefill,store'
    echo '0.2,Write,41,Tier-2,a,Prefill,store'
} >"$TMP/part"
exits 'a copy of a block and a part of one' 1 "$kvstat" --verify-trace "$TMP/part"
finds 'is none' '^  row 3: size: Write "a" with 41 bytes; its copy in another tier has 10$'
is 'and nothing else' "$(grep -c '^  row' "$TMP/stdout")" 1
exits 'the benchmark' 0 "$kvstat" --verify-trace "$DATA/mlperf_trace_first400.csv.zst"

# ---- many keys, many findings, other forms ----

awk 'BEGIN { for (i = 0; i < 50000; i++) print i ".0 Write " i " Tier-2 key" i " Prefill"
             for (i = 0; i < 50000; i++) print 50000 + i ".0 Read " i " Tier-2 key" i " Decode" }' | trace many
exits '50,000 keys' 0 "$kvstat" --verify-trace "$TMP/many"
finds 'are all found again' ': 100,000 rows, 50,000 keys: PASS$'
sed '2,50001d; s/Read/Delete/' "$TMP/many" >"$TMP/none"
exits '50,000 findings' 1 "$kvstat" --verify-trace "$TMP/none"
finds 'are counted' '^  absent +50,000 findings, the first 20:$'
is 'and 20 told' "$(grep -c '^  row' "$TMP/stdout")" 20
awk -F, -v OFS=, '{ print $5, $1, $2, $3, $4, $6 }' "$TMP/good" >"$TMP/moved"
exits 'columns in another order' 1 "$kvstat" --verify-trace "$TMP/moved"
finds 'are a finding of the header' '^  header: the first six columns'
exits 'two files' 1 "$kvstat" --verify-trace "$TMP/good" "$TMP/bad"
is 'are told one by one' "$(grep -c 'PASS$' "$TMP/stdout") $(grep -c 'FAIL$' "$TMP/stdout")" '1 1'
zstd -q -c "$TMP/many" | head -c 100000 >"$TMP/cut.zst"
exits 'a cut file' 2 "$kvstat" --verify-trace "$TMP/cut.zst"
finds 'is checked up to there' ' PASS, CUT$'
printf '0.0,Read,1,Tier-0,a\033[31m,Decode\n' | trace escape
exits 'a key that would colour the terminal' 1 "$kvstat" --verify-trace "$TMP/escape"
finds 'cannot' 'Read "a\?\[31m"'

# ---- refusals ----

exits 'a result file' 2 "$kvstat" --verify-trace "$DATA/kvstat_dozen.csv"
stderr_like 'is refused' '^kvstat: .*kvstat_dozen\.csv: is a result file'
exits 'no trace' 2 "$kvstat" --verify-trace "$TMP/run.json"
awk 'BEGIN { for (i = 0; i < 3; i++) print "0.0 Write 9223372036854775807 Tier-2 key" i " Prefill" }' | trace huge
exits 'sums beyond 64 bits' 2 "$kvstat" --verify-trace "$TMP/huge"
for option in --csv --by=op --merge --interval=1s --profile=latency; do
    exits "$option" 2 "$kvstat" --verify-trace "$option" "$TMP/good"
done
done_testing
