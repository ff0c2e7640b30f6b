#!/bin/sh
# --curve: one pass gives the hits of one run for each size. For LRU, the hits of the Mooncake sample at four sizes and
# its ceiling come from two independent programs. Other policies and sources are compared with runs that have that much
# storage. A bug looked like one hit more or less at one size.
# builds: plain (counts of hits; test_curve runs the code under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

mooncake=$DATA/mooncake_first4000.jsonl.zst
curve=$TMP/curve.csv
summary=$TMP/summary.json
generate() {
    told "$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 \
        -o none "$@"
}
hits() { cut -d , -f 3 "$curve" | tail -n +2 | tr '\n' ' '; }
# hits_of_runs "GIB..." ARGUMENTS...: hits of all lookups in a run of its own for each size; 0 GiB is without end.
hits_of_runs() {
    sizes=$1
    shift
    for gib in $sizes; do
        generate --summary "$TMP/run.json" --storage-capacity-gb "$gib" "$@"
        json "$TMP/run.json" .lookups.all.hits
    done | tr '\n' ' '
}

# A block is 1 MiB, so sizes in MiB are sizes in blocks.
generate --input "$mooncake" --config block_reuse=any --curve "$curve" --summary "$summary" \
    --curve-sizes 10000M,1000M,30000MiB,50000M,1000M
is "the columns" "$(head -n 1 "$curve")" Capacity_Bytes,Lookups,Hits,Object_Hit_Rate,Byte_Hit_Rate
is "four sizes and the ceiling" "$(hits)" "4282 21540 32041 34116 34480 "
is "a row" "$(sed -n 2p "$curve")" 1048576000,105904,4282,0.040433,0.040433
is "the ceiling in the summary" "$(json "$summary" .curve.ceiling.hits)" 34480
is "the knee is one of the sizes" "$(json "$summary" .curve.knee.hits)" 21540
like "for people" "$(cat "$TMP/err")" '^curve +lru: knee 0.2034 at 9.77 GiB, ceiling 0.3256 from 56.01 GiB on$'
need=$(tail -n 1 "$curve" | cut -d , -f 1)
generate --input "$mooncake" --config block_reuse=any --curve "$curve" --curve-sizes "$((need - 1))B,${need}B"
is "the ceiling is reached there, not a byte before" "$(hits)" "34451 34480 "
# agentic.t has the hits of all of these sessions.
agents() { generate --input - --model tiny-1b --config block_reuse=any --max-requests 500 "$@" <"$DATA/agentic_60.tar.zst"; }
agents --curve "$curve"
agents --summary "$summary"
is "agentic sessions: the ceiling" "$(tail -n 1 "$curve" | cut -d , -f 2,3)" \
    "$(json "$summary" .lookups.block.lookups),$(json "$summary" .lookups.block.hits)"
ok "agentic sessions: capacities rise, hits too" awk -F, \
    "NR > 2 && (\$1 <= size || \$3 < hits) {exit 1} {size = \$1; hits = \$3}" "$curve"

# Under prefix reuse, and by simulation: as a run with that much storage.
for how in "lru prefix" "sieve any" "lfu prefix" "s3fifo any" "fifo prefix"; do
    policy=${how% *} reuse=${how#* }
    head -n 200 "$DATA/mooncake_first200.jsonl" >"$TMP/in.jsonl"
    set -- --input "$TMP/in.jsonl" --config eviction="$policy" --config block_reuse="$reuse"
    generate "$@" --curve "$curve" --curve-sizes 256M,1G,2G
    is "$how: as three runs and an endless one" "$(hits)" "$(hits_of_runs "0.25 1 2 0" "$@")"
done
set -- --num-users 20 --duration 60 --generation-mode none --seed 3
generate "$@" --curve "$curve" --curve-sizes 1G,8G
is "users: as two runs and an endless one" "$(hits)" "$(hits_of_runs "1 8 0" "$@")"
generate "$@" --gpu-mem-gb 1 --cpu-mem-gb 2 --config promote=on-hit --curve "$TMP/tiers.csv" --curve-sizes 1G,8G
ok "the tiers of the run do not matter" cmp -s "$curve" "$TMP/tiers.csv"

# Entries in blocks: once a cache has lost a block of an earlier turn, it is not asked for the blocks behind it. The
# curve counts the lookups of a cache that lost none, sampled or not.
for policy in lru sieve; do
    set -- --num-users 20 --duration 60 --config decode_reads=batch --generation-mode none --seed 3 --granularity block:256 --config eviction=$policy
    generate "$@" --curve "$curve" --curve-sizes 256M,1G,8G --config curve_optimal=true
    is "users, entries in blocks, $policy: as runs of their own" "$(hits)" "$(hits_of_runs "0.25 1 8 0" "$@")"
done
ok "entries in blocks: hits rise with capacity and keep below the bound" awk -F, \
    "NR > 1 {if (\$3 <= last && NR < 6 || \$3 > \$6 || \$6 > \$2) exit 1; last = \$3}" "$curve"
lookups=$(sed -n 2p "$curve" | cut -d , -f 2)
generate "$@" --curve "$TMP/sample.csv" --curve-sizes 256M,1G,8G --config curve_sample=0.3
is "entries in blocks: a sample counts all lookups" "$(sed -n 2p "$TMP/sample.csv" | cut -d , -f 2)" "$lookups"
is "entries in blocks: a sample of them, blocks and all, is near" "$(awk -F, '
    NR == FNR {rate[$1] = $4; next}
    FNR > 2 && $1 in rate {off = rate[$1] - $4; if (off > -0.02 && off < 0.02) near++; else far++}
    END {print (near >= 2), far + 0}' "$curve" "$TMP/sample.csv")" "1 0"

# The bound.
generate --input "$mooncake" --config block_reuse=any --curve "$curve" --curve-sizes 1000M,10000M --config curve_optimal=true
is "the bound's columns" "$(head -n 1 "$curve" | cut -d , -f 6-)" \
    Optimal_Hits,Optimal_Object_Hit_Rate,Optimal_Byte_Hit_Rate
is "the bound" "$(cut -d , -f 6 "$curve" | tail -n +2 | tr '\n' ' ')" "19099 34480 34480 "

# A sample is near, and the same each time.
generate --input "$mooncake" --config block_reuse=any --curve "$curve" --curve-sizes 10000M,30000M --config curve_sample=0.1
is "a sample is near" "$(awk -F, '
    NR == 2 {print ($3 > 19500 && $3 < 23600)}
    NR == 3 {print ($3 > 30000 && $3 < 34100)}' "$curve" | tr '\n' ' ')" "1 1 "
is "a sample counts all lookups" "$(sed -n 2p "$curve" | cut -d , -f 2)" 105904
like "a sample is said to be one" "$(cat "$TMP/err")" '^curve +[a-z0-9]+ \(sampled\): knee '

# A curve changes no row of the trace. Bad sizes are refused in one line.
digest() { "$BIN/kvgen" --num-users 3 --duration 5 "$@" 2>&1 | sed -n 's/.*digest //p'; }
without=$(digest -o "$TMP/without.csv.zst")
is "the trace does not change" "$(digest -o "$TMP/with.csv.zst" --curve "$curve")" "$without"
ok "nor does a byte of its file" cmp "$TMP/without.csv.zst" "$TMP/with.csv.zst"
for bad in 12x "1G,,2G" "1G," "," -1 9000000T; do
    exits "--curve-sizes '$bad': status 2" 2 "$BIN/kvgen" -o none --curve "$curve" --curve-sizes="$bad"
    stderr_like "--curve-sizes '$bad': says so" '^kvgen: --curve-sizes: '
done
exits "sizes without a curve: status 2" 2 "$BIN/kvgen" -o none --curve-sizes 1G
exits "two for standard output: status 2" 2 "$BIN/kvgen" --curve -
exits "no folder for it: status 1" 1 "$BIN/kvgen" --duration 1 -o none --curve "$TMP/no/c.csv"
done_testing
