#!/bin/sh
# replay.t - a trace over all three tiers on a real GPU: CUDA executes Tier-0, which is not simulated, and every read,
# also of demotions from GPU to host to storage, is verified to the last byte. The same on two GPUs, where there are
# two: both take part. A bug looked like a corrupt read, or a report that called modelled times real. Skipped without a
# GPU.
. "${0%/*}/../lib.sh"

cd "$TMP" || exit 1
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4097,Tier-0,k,Prefill\n' >probe.csv
"$BIN/kvreplay" --gpu require -o probe.out probe.csv 2>/dev/null || skip_all "no GPU here"

plan 13
"$BIN/kvgen" --source mooncake --input "$DATA/mooncake_first200.jsonl" --max-requests 40 \
    --model tiny-1b --gpu-mem-gb 2 --cpu-mem-gb 1 -o trace.csv.zst 2>/dev/null
ok "a trace over three tiers replays on the GPU" \
    "$BIN/kvreplay" --gpu require --nvme kv --verify full --summary s.json -o r.csv.zst trace.csv.zst
json_like s.json <<'END'
Tier-0 was executed by CUDA              | tier("Tier-0").engine | cuda
and is not marked simulated              | tier("Tier-0").simulated | false
the GPU has a name                       | tier("Tier-0").device | .*[A-Za-z].*
every row is ok                          | .rows.ok == .rows.total | true
every read was verified                  | .rows.unverified_reads | 0
nothing was read before it was written   | .reads_before_write | 0
END

# On two devices; with one, each of these is skipped.
two='two devices'
"$BIN/kvreplay" --gpu 0,1 -o probe.out probe.csv 2>/dev/null || two=''
on_two() {
    if [ -n "$two" ]; then
        "$@"
    else
        ok "$2 # SKIP one GPU here" true
    fi
}
on_two ok "the trace replays on two GPUs" \
    "$BIN/kvreplay" --gpu 0,1 --nvme kv --verify full --summary s.json -o r.csv.zst trace.csv.zst
flags='tier("Tier-0").flags[] | select(test("PCI "))'
on_two is "both are named" "$(json s.json 'tier("Tier-0").target')" 'GPU 0, GPU 1'
on_two is "each with its PCI address and share of the bytes" \
    "$(json s.json "[$flags | select(test(\"% of the bytes moved\") and (test(\", 0 % of\") | not))] | length")" 2
on_two is "every row is ok on two" "$(json s.json '.rows.ok == .rows.total')" true
on_two is "every read was verified on two" "$(json s.json .rows.unverified_reads)" 0
on_two is "each PCI address is another" \
    "$(json s.json "[$flags | capture(\"PCI (?<address>[^,]*)\").address] | unique | length")" 2
