#!/bin/sh
# kvtrace twin: simulation and replay of one run beside each other, whose figures are those of kvgen and kvreplay. A bug
# looked like a difference between two different runs.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
plain_only
cd "$TMP" || exit 1
mkdir disk
echo mine >disk/file
exits 'on a folder' 0 timeout 120 "$BIN/kvtrace" twin disk tiny-1b 3 -t 3 -g fast --drive "$DATA/drive_model.json" \
    --storage-capacity-gb 4 -o out
stdout_like 'both beside each other' '^3 users of tiny-1b +simulated +replayed +difference$'
stdout_like 'the answer is the last line' '^The twin of disk/kvtrace is [0-9.]+ % off in the P95 of storage reads and [0-9.]+ %'
for what in 'read P50' 'read P95' 'write P50' 'write P95'; do
    op=${what% *} p=$(echo "${what#* }" | tr P p)
    is "storage $what" "$(awk -v name="storage $what ms" 'index($0, name) == 1 { print $5, $6 }' stdout)" "$(
        awk -v a="$(json out/twin.kvgen.json "tier(\"Tier-2\").$op.latency_us.$p")" \
            -v b="$(json out/twin.kvreplay.json "tier(\"Tier-2\").$op.service_us.$p")" \
            'BEGIN { printf "%.4g %.4g", a / 1000, b / 1000 }'
    )"
done
is 'one run: the same reads and writes' "$(json out/twin.kvreplay.json 'tier("Tier-2").read.ops, tier("Tier-2").write.ops')" \
    "$(json out/twin.kvgen.json 'tier("Tier-2").read_ops, tier("Tier-2").write_ops')"
like 'a page' "$(head -c 200 out/twin.html)" '<!DOCTYPE html>'
is 'what others have there stays, alone' "$(ls -A disk) $(cat disk/file)" 'file mine'
exits 'a doubtful measurement' 0 sh -c "sed 's/\"valid\": true/\"valid\": false/' '$DATA/drive_model.json' >bad.json &&
    timeout 120 '$BIN/kvtrace' twin disk tiny-1b 2 -t 1 -g none --drive bad.json --storage-capacity-gb 4 -o out"
stdout_like 'is told' '^Caution: the measurement of the drive is unreliable'
exits 'memory holds all' 0 timeout 120 "$BIN/kvtrace" twin disk tiny-1b 1 -t 1 --cpu-mem-gb 1 --drive "$DATA/drive_model.json" \
    --storage-capacity-gb 4 -o out
stdout_like 'is told' '^No read reached disk/kvtrace'
exits 'an operand too few' 2 "$BIN/kvtrace" twin disk tiny-1b
exits 'no number of users' 2 "$BIN/kvtrace" twin disk tiny-1b many
exits 'no such measurement' 2 "$BIN/kvtrace" twin disk tiny-1b 1 --drive nowhere.json
done_testing
