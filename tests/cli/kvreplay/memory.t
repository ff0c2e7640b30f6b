#!/bin/sh
# memory.t - Tier-1 takes the peak that the trace needs, or what was asked for, and says what it takes. A bug looked like
# 9.8 GB wanted for a peak of 332 MiB, because 64 of the largest objects were added.
# builds: plain (sanitizers map terabytes)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# The trace says that its Tier-1 had 32 GiB.
"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 1 --arrival open --config decode_reads=batch --gpu-mem-gb 0 -o "$TMP/t.csv.zst" --summary "$TMP/g.json" \
    2>"$TMP/err"
peak=$(json "$TMP/g.json" 'tier("Tier-1").peak_bytes')
like "a trace of more than a hundred MiB ($peak bytes)" "$peak" '^1[0-9]{8}$'

small() { prlimit --as=$((4000000 * 1024)) "$@"; }
for timing in 'asap' 'served --workers 4 --speed 1000'; do
    with "--timing $timing" exits "$timing: in 4 GB of address space" 0 small "$BIN/kvreplay" --full -o "$TMP/r.csv" \
        --summary "$TMP/s.json" "$TMP/t.csv.zst"
    stderr_like "it says what it takes" '^Tier-1: memory, 1[0-9][0-9][.][0-9]* MiB of host memory'
    is "the tier's capacity is the peak" "$(json "$TMP/s.json" 'tier("Tier-1").capacity_bytes')" "$peak"
done
exits "from a pipe: half of what may be mapped" 0 sh -c \
    "ulimit -v 4000000; cat '$TMP/t.csv.zst' | '$BIN/kvreplay' --full -o '$TMP/r.csv'"
stderr_like "it says up to how much" '^Tier-1: memory, up to 1[.][0-9]* GiB of host memory'
exits "asked for less than the peak: refused" 3 "$BIN/kvreplay" --full --cpu-mem-gb 0.1 -o "$TMP/r.csv" "$TMP/t.csv.zst"
exits "asked for more: no more is taken" 0 small "$BIN/kvreplay" --full --cpu-mem-gb 64 -o "$TMP/r.csv" "$TMP/t.csv.zst"
done_testing
