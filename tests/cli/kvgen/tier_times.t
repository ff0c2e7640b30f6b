#!/bin/sh
# Tiers that take time: the rows of a small trace are issued at exact nanoseconds, latencies are in the summary, traces
# with slow tiers are whole (kvstat finds nothing, kvreplay reads every object back), and tier models come from
# profiles, numbers and a measured run. A bug looked like a read before the end of its object's write, or a Generate
# row before the end of the last read.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

rows() { awk -F, 'NR > 1 {printf "%s %s %s,", $1, $2, $4}' "$1"; }

# Two blocks of 512 tokens x 24,576 bytes are 12.582912 ms each at 1 GB/s, and 1 ms of latency.
cat >"$TMP/two.jsonl" <<'END'
{"timestamp": 0, "input_length": 1024, "output_length": 10, "hash_ids": [1, 2]}
{"timestamp": 10, "input_length": 1024, "output_length": 10, "hash_ids": [1, 3]}
{"timestamp": 1000, "input_length": 1024, "output_length": 10, "hash_ids": [1, 2]}
END
exits "two blocks" 0 "$BIN/kvgen" --no-notes --input "$TMP/two.jsonl" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 \
    --tier-model 2=read:2GB/s,write:1GB/s,write-lat:1ms,read-lat:500us --generation-mode fast \
    -o "$TMP/two.csv" --summary "$TMP/two.json"
# The second request waits for block 1, reads it until 20.374368 ms, and writes block 3 behind block 2.
is "when each is issued" "$(rows "$TMP/two.csv")" "0.000000 Miss ,0.000000 Write Tier-2,\
0.013582912 Miss ,0.013582912 Write Tier-2,0.013582912 Read Tier-2,\
0.020374368 Miss ,0.020374368 Write Tier-2,0.027165824 Generate ,0.039748736 Generate ,\
1.000000 Read Tier-2,1.006791456 Read Tier-2,1.013582912 Generate ,"
json_like "$TMP/two.json" <<'END'
a request's time in the tiers        | .requests.storage_ms.min, .requests.storage_ms.max | 13.582912 29.748736
end to end, with 20 ms of generation | .requests.end_to_end_ms.max | 49.748736
simulated to the end of generation   | .trace.simulated_s | 1.033582912
the server's share                   | tier("Tier-2").write.busy_share | 0[.]03652[0-9]*
END

# 12.58 ms and a part of a nanosecond: a transfer takes no less than its rate says.
printf '{"timestamp": 0, "input_length": 512, "output_length": 10, "hash_ids": [1]}\n' >"$TMP/one.jsonl"
exits "one block, at a rate that does not divide it" 0 "$BIN/kvgen" --no-notes --input "$TMP/one.jsonl" --model tiny-1b --gpu-mem-gb 0 \
    --cpu-mem-gb 0 --tier-model 2=write:1001MB/s --generation-mode fast -o "$TMP/one.csv"
is "is rounded up" "$(rows "$TMP/one.csv")" "0.000000 Miss ,0.000000 Write Tier-2,0.012570342 Generate ,"

generate() {
    with "$(rows_only "$@")" told "$BIN/kvgen" --model tiny-1b --num-users 30 --duration 40 --seed 5 --generation-mode none \
        --gpu-mem-gb 0.5 \
        --cpu-mem-gb 0.5 --tier-model 0=hbm3 --tier-model 1=bw:2GB/s,lat:50us "$@"
}
check() { # NAME TRACE
    ok "$1: the trace is whole" "$BIN/kvstat" --verify-trace "$2"
    ok "$1: time never goes back" awk -F, "NR > 2 && \$1 + 0 < last + 0 {exit 1} NR > 1 {last = \$1}" "$2"
}
for how in "--config promote=none" "--config promote=on-hit" "--max-concurrent-allocs 2"; do
    with "$how" generate --tier-model 2=read:600MB/s,write:300MB/s,lat:1ms --storage-capacity-gb 2 -o "$TMP/slow.csv"
    check "$how" "$TMP/slow.csv"
done
like "the rows of a move may lie apart" "$(awk -F, '
    $2 == "Read" && $10 == "evict" {moved = $5}
    $2 != "Read" && moved != "" {print ($5 == moved ? "together" : "apart"); moved = ""}' "$TMP/slow.csv" |
    sort -u | tr '\n' ' ')" apart

generate --tier-model 2=nvme-gen4,write:500MB/s --config threads=1 -o "$TMP/a.csv"
generate --tier-model 2=nvme-gen4,write:500MB/s --config threads=2 -o "$TMP/b.csv"
ok "threads change nothing" cmp "$TMP/a.csv" "$TMP/b.csv"

# Storage too slow for all: interactive requests wait least, and every tenth is of the class that has waited longest.
crowd() {
    "$BIN/kvgen" --model tiny-1b --num-users 200 --duration 20 --seed 5 --arrival open --workers 10 \
        --generation-mode none --gpu-mem-gb 0 --cpu-mem-gb 0 "$@" 2>"$TMP/stderr"
}
exits "more requests than storage can serve" 0 crowd --tier-model 2=bw:10GB/s -o "$TMP/crowd.csv" --summary "$TMP/c.json"
is "the waits by class are told" \
    "$(json "$TMP/c.json" '.requests.queue_by_qos_ms | [.interactive, .responsive, .batch] | all(.mean > 0)')" true
is "interactive waits least" \
    "$(json "$TMP/c.json" '.requests.queue_by_qos_ms | .interactive.mean * 1.2 < .batch.mean')" true
is "all that arrived count" \
    "$(json "$TMP/c.json" '.requests | ([.queue_by_qos_ms[].count] | add) == .issued')" true
is "those waiting at the end" \
    "$(json "$TMP/c.json" '.requests | ([.waiting_by_qos[]] | add) == .waiting and .waiting > 0')" true
is "batch is served in turn" "$(awk -F, '
    NR > 1 && $7 != "" && !seen[$7]++ { n++; batch += $9 == "batch" }
    END { print (batch >= n * 0.04 && batch <= n * 0.2 ? "yes" : batch " of " n) }' "$TMP/crowd.csv")" yes
crowd --compat mlperf --tier-model 2=bw:10GB/s -o "$TMP/crowd.csv"
is "the benchmark's program knows priority alone" \
    "$(awk -F, '$1 > 10 && $9 == "batch"' "$TMP/crowd.csv" | wc -l)" 0
crowd -o none --summary "$TMP/c.json"
is "without times there are no queues" "$(json "$TMP/c.json" '.requests.queue_by_qos_ms')" null

# Every object is read back as it was written. Three layers with one head make it small.
jq '.num_hidden_layers = 3 | .num_key_value_heads = 1' "$DATA/models/llama-3.1-8b.json" >"$TMP/small.json"
generate --tier-model 2=nvme-gen4,write:500MB/s --model "$TMP/small.json" --gpu-mem 8MiB --cpu-mem 8MiB --storage-capacity 32MiB \
    --limit 110 --duration 0 -o "$TMP/r.csv"
exits "it replays" 0 "$BIN/kvreplay" --nvme "$TMP/d" --tier-engine 0=mem --tier-engine 1=mem --verify full \
    --summary "$TMP/m.json" -o /dev/null "$TMP/r.csv"
is "every row is ok" "$(json "$TMP/m.json" '.rows.ok == .rows.total')" true
is "none is corrupt or absent" "$(json "$TMP/m.json" '.rows.corrupt, .rows.absent')" "0 0"

# The rates that this run measured make a model.
generate --tier-model "$TMP/m.json" -o "$TMP/m.csv.zst"
ok "as measured" "$BIN/kvstat" --verify-trace "$TMP/m.csv.zst"
generate --tier-model 2="$TMP/m.json" --storage-capacity-gb 1 -o "$TMP/m.csv.zst"
provenance "$TMP/m.csv.zst" >"$TMP/provenance.json"
for direction in read write; do
    rate=$(json "$TMP/m.json" "tier(\"Tier-2\").$direction.gib_per_s * 1073741824 | floor")
    like "it measured a rate of Tier-2, $direction" "$rate" '^[1-9]'
    is "which is in the provenance" "$(json "$TMP/provenance.json" "tier(\"Tier-2\").$direction.bytes_per_s")" "$rate"
done

bad() { # NAME REGEX OPTIONS...
    name=$1 why=$2
    shift 2
    exits "$name" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$name: why" "$why"
}
bad "an unknown profile" 'unknown profile .known: hbm3, ddr5' --tier-model 2=floppy
bad "an unknown number" 'expected read:RATE' --tier-model 2=speed:3GB/s
bad "no bandwidth" 'expected read:RATE' --tier-model 2=read:0
bad "nothing" 'nothing behind' --tier-model 2=
bad "an unknown tier" 'a tier from 0 to 2' --tier-model 3=hbm3
bad "an absent tier" 'there is no such tier' --tier-model 0=hbm3 --gpu-mem-gb 0
bad "no such file" 'nowhere.json' --tier-model "$TMP/nowhere.json"
bad "another summary" 'neither a summary of kvreplay nor a measurement' --tier-model "$TMP/two.json"
echo '{"program": "kvreplay", "tiers": [{"tier": "Tier-1", "read": {"gib_per_s": null}}]}' >"$TMP/empty.json"
bad "a run that measured nothing" 'no measured rates of Tier-1' --tier-model 1="$TMP/empty.json"
bad "writers without time" 'needs --tier-model: without it writes take no time' --max-concurrent-allocs 4
done_testing
