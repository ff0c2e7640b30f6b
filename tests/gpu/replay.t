#!/bin/sh
# A trace over all three tiers on a real GPU: Tier-0 must be executed by CUDA, not simulated, and every
# read, demotions from GPU to host to storage included, must verify to the last byte. A bug
# looked like a corrupt read, or a report that called modelled times real. The same on two devices where
# there are two: both must take part, and no read be corrupt. Skips without a GPU.
. "$(dirname "$0")/../lib.sh"

cd "$TMP" || exit 1
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4097,Tier-0,k,Prefill\n' >probe.csv
"$BIN/kvreplay" --gpu require -o probe.out probe.csv 2>/dev/null || skip_all "no GPU here"

plan 13
"$BIN/kvgen" --source mooncake --input "$DATA/mooncake_first200.jsonl" --max-requests 40 \
    --model tiny-1b --gpu-mem-gb 2 --cpu-mem-gb 1 -o trace.csv.zst 2>/dev/null
ok "a trace over three tiers replays on the GPU" \
    "$BIN/kvreplay" --gpu require --nvme kv --verify full --summary s.json -o r.csv.zst trace.csv.zst
field() {
    python3 -c "import json; d = json.load(open('s.json')); print($1)"
}
is "Tier-0 was executed by CUDA" "$(field 'd["tiers"][0]["engine"]')" cuda
is "and is not marked simulated" "$(field 'd["tiers"][0]["simulated"]')" False
is "the GPU has a name" "$(field 'bool(d["tiers"][0]["device"])')" True
is "every row is ok" "$(field 'd["rows"]["ok"] == d["rows"]["total"]')" True
is "every read was verified" "$(field 'd["rows"]["unverified_reads"]')" 0
is "nothing was read before it was written" "$(field 'd["reads_before_write"]')" 0

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
on_two is "both are named" "$(field 'd["tiers"][0]["target"]')" 'GPU 0, GPU 1'
on_two is "each with its PCI address and share of the bytes" "$(field 'sum("PCI " in f and "% of the bytes moved" in f
    and ", 0 % of" not in f for f in d["tiers"][0]["flags"])')" 2
on_two is "every row is ok on two" "$(field 'd["rows"]["ok"] == d["rows"]["total"]')" True
on_two is "every read was verified on two" "$(field 'd["rows"]["unverified_reads"]')" 0
on_two is "each PCI address is another" "$(field 'len({f.split("PCI ")[1].split(",")[0] for f in d["tiers"][0]["flags"]})')" 2
