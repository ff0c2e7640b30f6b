#!/bin/sh
# --tier-model N=drive.json: a drive as kvtrace model measured it. Operations share its rate, which depends on them: times
# as calculated on paper, whole traces with moves and promotions, the same throughput as a queue where the rate is
# constant, the measurement in summary and provenance, bad files refused. A bug looked like a read that ended before the
# write beside it was counted.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

rows() { awk -F, 'NR > 1 {printf "%s %s %s,", $1, $2, $4}' "$1"; }
model() { printf '{"program": "kvtrace model", "device": "disk0", "valid": true, "points": [%s]}' "$1"; } # POINTS
point() { printf '{"size_bytes": %s, "in_flight": %s, "read_share": %s, "bytes_per_s": %s}' "$@"; }

# One object in flight moves at 1 GB/s, two at 1.6 GB/s together; blocks of 12.582912 MB.
model "$(point 1048576 1 1 1e9), $(point 1048576 2 1 1.6e9)" >"$TMP/two.json"
cat >"$TMP/two.jsonl" <<'END'
{"timestamp": 0, "input_length": 512, "output_length": 10, "hash_ids": [1]}
{"timestamp": 0, "input_length": 512, "output_length": 10, "hash_ids": [2]}
{"timestamp": 1000, "input_length": 1024, "output_length": 10, "hash_ids": [1, 2]}
{"timestamp": 1006, "input_length": 512, "output_length": 10, "hash_ids": [3]}
END
exits "two blocks" 0 "$BIN/kvgen" --no-notes --input "$TMP/two.jsonl" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 \
    --tier-model 2="$TMP/two.json" --generation-mode none -o "$TMP/two.csv" --summary "$TMP/s.json"
# Both writes take 2 x 12.582912 MB / 1.6 GB/s = 15.72864 ms. The read of block 1 is alone for 6 ms, then
# beside the write of block 3: 6.582912 MB at 0.8 GB/s are 8.22864 ms. 6 MB of block 3 are left, 7.5 ms beside block 2;
# the last 6.582912 MB of block 2 move alone.
is "when each is issued" "$(rows "$TMP/two.csv")" "0.000000 Miss ,0.000000 Write Tier-2,0.000000 Miss ,\
0.000000 Write Tier-2,0.01572864 Generate ,0.01572864 Generate ,1.000000 Read Tier-2,1.006000 Miss ,\
1.006000 Write Tier-2,1.01422864 Read Tier-2,1.02172864 Generate ,1.028311552 Generate ,"
json_like "$TMP/s.json" <<'END'
writes took        | tier("Tier-2").write.latency_us.min, tier("Tier-2").write.latency_us.max | 15728[.]64 15728[.]64
reads took         | tier("Tier-2").read.latency_us.count, tier("Tier-2").read.latency_us.max | 2 14228[.]64
the measured drive | tier("Tier-2").model.device, tier("Tier-2").model.valid, tier("Tier-2").model.points | disk0 true 2
END

drive=$DATA/drive_model.json
generate() {
    with "$(rows_only "$@")" told "$BIN/kvgen" --model tiny-1b --num-users 30 --duration 40 --seed 5 --generation-mode none \
        --gpu-mem-gb 0.5 --cpu-mem-gb 0.5 --tier-model 0=hbm3 --tier-model 1=bw:2GB/s,lat:50us "$@"
}
for how in "--config promote=none" "--config promote=on-hit" "--max-concurrent-allocs 2" "--granularity block:256" "--tier-model 1=$drive"; do
    with "$how" generate --tier-model 2="$drive" --storage-capacity-gb 2 -o "$TMP/slow.csv"
    ok "$how: the trace is whole" "$BIN/kvstat" --verify-trace "$TMP/slow.csv"
    ok "$how: time never goes back" awk -F, "NR > 2 && \$1 + 0 < last + 0 {exit 1} NR > 1 {last = \$1}" "$TMP/slow.csv"
done
generate --tier-model 2="$drive" --config threads=1 -o "$TMP/a.csv"
generate --tier-model 2="$drive" --config threads=2 -o "$TMP/b.csv"
ok "threads change nothing" cmp "$TMP/a.csv" "$TMP/b.csv"
generate --tier-model 2=nvme-gen4 --tier-model 2="$drive" -o "$TMP/b.csv"
ok "the last model of a tier counts" cmp "$TMP/a.csv" "$TMP/b.csv"

# A constant rate ends the same work at the same time as one operation after the other.
model "$(point 1048576 1 0 1e9)" >"$TMP/one.json"
writes() {
    told "$BIN/kvgen" --model tiny-1b --num-users 50 --duration 300 --max-requests 200 --arrival poisson --request-rate 40 --disable-multi-turn --disable-prefix-caching \
        --generation-mode none --prefill-only --gpu-mem-gb 0 --cpu-mem-gb 0 -o none \
        --summary "$TMP/w.json" --tier-model "$1"
    json "$TMP/w.json" '.trace.simulated_s * (.tiers[] | select(.tier == "Tier-2") | .write.busy_share), .requests.completed'
}
queue=$(writes 2=bw:1GB/s) shared=$(writes 2="$TMP/one.json")
ok "one rate, the same throughput ($queue; $shared)" awk -v a="${queue% *}" -v b="${shared% *}" -v n="${queue#* }" \
    -v m="${shared#* }" 'BEGIN { exit !(n > 0 && n == m && a - b < 1e-5 && b - a < 1e-5) }'

told "$BIN/kvgen" --model tiny-1b --users 5 --duration 5 --tier-model 2="$drive" -o "$TMP/m.csv"
like "the provenance has the measurement" "$(tr -d '"' <"$TMP/m.csv" | grep -o 'model:{file:[^}]*')" \
    'drive_model.json.*device:nvme0n1 Example.*valid:true'
like "the summary says so" "$("$BIN/kvgen" --model tiny-1b --users 5 --duration 5 --tier-model 2="$drive" -o none 2>&1)" \
    '^drive      Tier-2: simulated from nvme0n1 Example [(]good[)]$'

bad() { # NAME WHY ARGS...
    name=$1 why=$2
    shift 2
    exits "$name is refused" 2 "$BIN/kvgen" --model tiny-1b -o none "$@"
    like "$name: why" "$(cat "$TMP/stderr")" "$why"
}
bad "a drive without its tier" 'write --tier-model 2=' --tier-model "$drive"
model "" >"$TMP/bad.json"
bad "no points" 'kvgen: .*bad.json: has no points' --tier-model 2="$TMP/bad.json"
model "$(point 1048576 1 1 1e9), $(point 1048576 1 1 2e9)" >"$TMP/bad.json"
bad "one point twice" 'bad.json: has two points of 1048576 bytes, 1 in flight' --tier-model 2="$TMP/bad.json"
model "$(point 1048576 1 1 1e9), $(point 1048576 0 1 2e9)" >"$TMP/bad.json"
bad "nothing in flight" 'bad.json: points.1.: in_flight is not a whole number' --tier-model 2="$TMP/bad.json"
bad "a number behind a measurement" 'a file stands alone: 2=FILE.json' --tier-model 2="$drive",write:2GB/s
bad "a rate without its unit" '"2=read:3": a rate needs a unit, such as GB/s' --tier-model 2=read:3
bad "no profile" 'unknown profile .known: .*; or FILE.json' --tier-model 2=/tmp
done_testing
