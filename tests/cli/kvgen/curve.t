#!/bin/sh
# --curve: one pass gives what as many runs give. The LRU hits of the Mooncake sample at four sizes and the
# ceiling are those of two independent programs, those of the agentic sample its own; policies and sources that
# are simulated equal the run with that much storage. A bug looked like a hit more or less at one size.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

MOONCAKE=$DATA/mooncake_first4000.jsonl.zst
C=$TMP/c.csv
S=$TMP/s.json
gen() {
    told "$BIN/kvgen" --config "$TOP/examples/models.yaml" --model block-2k --gpu-mem-gb 0 --cpu-mem-gb 0 \
        -o none "$@"
}
curve() { # name, from the JSON summary's part of that name: its hits
    sed -n '/"curve": {/,$p' "$S" | sed -n "/\"$1\": {/,/}/p" | sed -n 's/.*"hits": *\([0-9]*\).*/\1/p' | head -n 1
}
hits() { cut -d , -f 3 "$1" | tail -n +2 | tr '\n' ' '; }
run_hits() { # arguments: hits of all lookups in a run of its own
    gen --summary "$TMP/run.json" "$@"
    sed -n '/"all": *{/,/}/p' "$TMP/run.json" | sed -n 's/.*"hits": *\([0-9]*\).*/\1/p'
}

# A block is 1 MiB, so sizes in MiB are sizes in blocks.
gen --input "$MOONCAKE" --block-reuse any --curve "$C" --curve-sizes 10000M,1000M,30000MiB,50000M,1000M --summary "$S"
is "the columns" "$(head -n 1 "$C")" Capacity_Bytes,Lookups,Hits,Object_Hit_Rate,Byte_Hit_Rate
is "four sizes and the ceiling" "$(hits "$C")" "4282 21540 32041 34116 34480 "
is "a row" "$(sed -n 2p "$C")" 1048576000,105904,4282,0.040433,0.040433
is "the ceiling in the summary" "$(curve ceiling)" 34480
is "the knee is one of the sizes" "$(curve knee)" 21540
like "for people" "$(cat "$TMP/err")" '^curve +lru: knee 0.2034 at 9.77 GiB, ceiling 0.3256 from 56.01 GiB on$'
need=$(tail -n 1 "$C" | cut -d , -f 1)
gen --input "$MOONCAKE" --block-reuse any --curve "$C" --curve-sizes "$((need - 1)),$need"
is "the ceiling is reached there, not a byte before" "$(hits "$C")" "34451 34480 "
gen --input - --model tiny-1b --block-reuse any --curve "$C" <"$DATA/agentic_60.tar.zst"
is "agentic sessions: the ceiling" "$(tail -n 1 "$C" | cut -d , -f 2,3)" 4647929,4455452
ok "agentic sessions: capacities rise, hits too" awk -F, \
    'NR > 2 && ($1 <= size || $3 < hits) {exit 1} {size = $1; hits = $3}' "$C"

# Under prefix reuse, and by simulation: as a run with that much storage.
for how in "lru prefix" "sieve any" "lfu prefix" "s3fifo any" "fifo prefix"; do
    policy=${how% *} reuse=${how#* }
    head -n 200 "$DATA/mooncake_first200.jsonl" >"$TMP/in.jsonl"
    set -- --input "$TMP/in.jsonl" --eviction "$policy" --block-reuse "$reuse"
    gen "$@" --curve "$C" --curve-sizes 256M,1G,2G
    is "$how: as three runs and an endless one" "$(hits "$C")" "$(for gib in 0.25 1 2 0; do
        run_hits "$@" --storage-capacity-gb $gib
    done | tr '\n' ' ')"
done
set -- --num-users 20 --duration 60 --generation-mode none --seed 3
gen "$@" --curve "$C" --curve-sizes 1G,8G
is "users: as two runs and an endless one" "$(hits "$C")" "$(for gib in 1 8 0; do
    run_hits "$@" --storage-capacity-gb $gib
done | tr '\n' ' ')"
gen "$@" --gpu-mem-gb 1 --cpu-mem-gb 2 --promote on-hit --curve "$TMP/d.csv" --curve-sizes 1G,8G
ok "the tiers of the run do not matter" cmp -s "$C" "$TMP/d.csv"

# Entries in blocks: a cache that lost a block of an earlier turn is not asked for those behind it. The number of
# lookups is that of a cache that lost none, sampled or not.
for policy in lru sieve; do
    set -- --num-users 20 --duration 60 --generation-mode none --seed 3 --granularity block:256 --eviction $policy
    gen "$@" --curve "$C" --curve-sizes 256M,1G,8G --curve-optimal
    is "users, entries in blocks, $policy: as runs of their own" "$(hits "$C")" "$(for gib in 0.25 1 8 0; do
        run_hits "$@" --storage-capacity-gb $gib
    done | tr '\n' ' ')"
done
ok "entries in blocks: hits rise with capacity and keep below the bound" awk -F, \
    'NR > 1 {if ($3 <= last && NR < 6 || $3 > $6 || $6 > $2) exit 1; last = $3}' "$C"
lookups=$(sed -n 2p "$C" | cut -d , -f 2)
gen "$@" --curve "$TMP/d.csv" --curve-sizes 256M,1G,8G --curve-sample 0.3
is "entries in blocks: a sample counts all lookups" "$(sed -n 2p "$TMP/d.csv" | cut -d , -f 2)" "$lookups"
ok "entries in blocks: a sample of them, blocks and all, is near" awk -F, 'NR == FNR {rate[$1] = $4; next}
    FNR > 2 && $1 in rate {n++; d = rate[$1] - $4; if (d > 0.02 || d < -0.02) exit 1} END {exit n < 2}' "$C" "$TMP/d.csv"

# The bound.
gen --input "$MOONCAKE" --block-reuse any --curve "$C" --curve-sizes 1000M,10000M --curve-optimal
is "the bound's columns" "$(head -n 1 "$C" | cut -d , -f 6-)" \
    Optimal_Hits,Optimal_Object_Hit_Rate,Optimal_Byte_Hit_Rate
is "the bound" "$(cut -d , -f 6 "$C" | tail -n +2 | tr '\n' ' ')" "19099 34480 34480 "

# A sample is near, and the same each time.
gen --input "$MOONCAKE" --block-reuse any --curve "$C" --curve-sizes 10000M,30000M --curve-sample 0.1
ok "a sample is near" awk -F, 'NR == 2 && ($3 < 19500 || $3 > 23600) || NR == 3 && ($3 < 30000 || $3 > 34100) {exit 1}' "$C"
is "a sample counts all lookups" "$(sed -n 2p "$C" | cut -d , -f 2)" 105904
like "a sample is said to be one" "$(cat "$TMP/err")" '^curve .*\(sampled\)$'

# What decides no row leaves the digest alone; bad sizes are one line.
a=$("$BIN/kvgen" --num-users 3 --duration 5 -o "$TMP/a.csv.zst" 2>&1 | sed -n 's/.*digest //p')
b=$("$BIN/kvgen" --num-users 3 --duration 5 -o "$TMP/b.csv.zst" --curve "$C" 2>&1 | sed -n 's/.*digest //p')
is "the trace does not change" "$b" "$a"
ok "nor does a byte of its file" cmp -s "$TMP/a.csv.zst" "$TMP/b.csv.zst"
for bad in 12x "1G,,2G" "1G," "," -1 9000000T; do
    exits "--curve-sizes '$bad': status 2" 2 "$BIN/kvgen" -o none --curve "$C" --curve-sizes="$bad"
    like "--curve-sizes '$bad': says so" "$(cat "$TMP/stderr")" '^kvgen: --curve-sizes: '
done
exits "sizes without a curve: status 2" 2 "$BIN/kvgen" -o none --curve-sizes 1G
exits "two for standard output: status 2" 2 "$BIN/kvgen" --curve -
exits "no folder for it: status 1" 1 "$BIN/kvgen" --duration 1 -o none --curve "$TMP/no/c.csv"
done_testing
