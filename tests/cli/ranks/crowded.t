#!/bin/sh
# crowded.t - kvreplay-mpi where others have all processors: a rank that waits for another one's clock gives its processor away once,
# and learns from how long it was gone to sleep instead. A bug looked like ranks that compared clocks for 20 s before each step.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi
cd "$TMP" || exit 1
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 0,Write,4096,Tier-2,a,Prefill 0,Read,4096,Tier-2,a,Decode >t.csv
export YIELDS="$TMP/yields"
exits "two ranks" 0 timeout 60 "$mpirun" -np 2 env LD_PRELOAD="${BIN%/bin}/tests/faults/slow_yield.so" "$BIN/kvreplay-mpi" --timing trace --config spin=0 \
    --tier-engine 2=sim:bw=1GB/s --summary s.json -o r.csv t.csv
touch yields
ok "yield a few times" test "$(lines yields)" -lt 20
is "clocks are compared" "$(json s.json '.ranks.list[1].offset_error_us > 0')" true
done_testing
