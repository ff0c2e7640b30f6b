#!/bin/sh
# --tier-engine N=sim:model=drive.json: the server of kvgen --tier-model, in real time. A served replay of a simulated run
# has its service times, deletes take none, summary and report name the measurement, bad files are refused before the
# run. A bug looked like a replay whose drive was twice as fast as the simulated one.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

drive=$DATA/drive_model.json
told "$BIN/kvgen" --model tiny-1b --users 20 --duration 300 --max-requests 90 --gpu-mem 0 --cpu-mem 0 \
    --generation-mode fast --tier-model 2="$drive" -o "$TMP/t.csv.zst" --summary "$TMP/g.json"
replay() {
    told "$BIN/kvreplay" --timing served --workers 20 --tier-engine 2=sim:model="$drive" -o "$TMP/r.csv.zst" \
        --summary "$TMP/r.json" "$TMP/t.csv.zst"
    # Every operation that the simulation completed, at the same times, within 3 % (P50) and 5 % (P95).
    jq -rn --slurpfile g "$TMP/g.json" --slurpfile r "$TMP/r.json" '
        def of($d; $op): $d[0].tiers[] | select(.tier == "Tier-2") | .[$op];
        ["read", "write"] | map(. as $op | of($g; $op).latency_us as $a | of($r; $op).service_us as $b |
            [$b.p50 / $a.p50 - 1, $b.p95 / $a.p95 - 1] | map(if . < 0 then -. else . end) |
            .[0] <= 0.03 and .[1] <= 0.05) | all'
}
alike() { test "$(replay)" = true; }
unless_busy "$TMP/r.json" "service times as simulated" alike
json_like "$TMP/r.json" <<'END'
simulated            | tier("Tier-2").simulated, tier("Tier-2").engine | true simulated
the measurement      | tier("Tier-2").flags[0] | times from a measured drive, nvme0n1 Example, 2026-01-01T00:00:00Z: good
all rows             | .rows.ok == .rows.total | true
END
like "the report says it" "$("$BIN/kvstat" "$TMP/r.csv.zst" | tr -s ' \n' ' ')" \
    'storage SIMULATED .*measured drive, nvme0n1 Example.*: good'
sed 's/"valid": true/"valid": false/; s/"why_invalid": \[\]/"why_invalid": ["a busy neighbour"]/' "$drive" >"$TMP/bad.json"
head -c 100000 /dev/zero | tr '\0' ' ' >>"$TMP/bad.json"
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,a,Prefill\n1,Delete,0,Tier-2,a,Evict\n' >"$TMP/one.csv"
told "$BIN/kvreplay" --tier-engine 2=sim:model="$TMP/bad.json" --summary "$TMP/r.json" -o "$TMP/doubt.csv.zst" "$TMP/one.csv"
like "kvreplay's own line doubts what comes of it" "$(cat "$TMP/err")" \
    '^validity: device unreliable: Tier-2 is simulated from a measurement'
like "kvstat says the same" "$("$BIN/kvstat" --full "$TMP/doubt.csv.zst" | tr -s ' \n' ' ')" \
    'Validity unreliable: service/device: Tier-2 is simulated from a measurement that is unreliable: a busy neighbour'
json_like "$TMP/r.json" <<'END'
a doubtful measurement | tier("Tier-2").flags[0] | .*: unreliable: a busy neighbour
its figures           | [.validity[] | select(.state == "unreliable") | .figures + " " + .op] | sort | join(", ") | device Write, service Write
deletes take no time   | (.groups[] | select(.op == "Delete") | .ops, .device_us.max) | 1 0
END

# An engine that serves steps: a row of a request runs at its time of the simulation or when the row before it is done, whatever
# is later, and a load, too, when its copy has come from the drive, which takes as long as it does now. A bug looked like requests
# that waited for room, or for a store of what they read. All rows are read while the second request is yet to come.
awk 'BEGIN { srand(7); for (n = 0; n < 40; n++) {
    t += n == 1 ? 2000 : -log(1 - rand()) * 60; text = int(12 * rand())
    printf "{\"timestamp\": %d, \"input_length\": 2560, \"output_length\": 8, \"hash_ids\": [", t
    for (i = 0; i < 8; i++) printf "%d, ", text * 8 + i
    printf "%d, %d]}\n", 1000 + 2 * n, 1001 + 2 * n } }' >"$TMP/requests.jsonl"
told "$BIN/kvgen" --model tiny-1b --params 1e9 --cache vllm:block_size=64 --gpu-mem 192MiB --cpu-mem 192MiB \
    --tier-model 2="$drive" --input "$TMP/requests.jsonl" --block-size 256 -o "$TMP/steps.csv"
keeps_steps() {
    told "$BIN/kvreplay" --timing served --workers 100 --tier-engine 0=null --tier-engine 1=null --tier-engine 2=sim:model="$drive" \
        --summary "$TMP/r.json" -o "$TMP/r.csv" "$TMP/steps.csv"
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["Operation"]) == "Note" { next }
        $(at["Class"]) == "promote" { promoted++ }
        (q = $(at["Request"])) == "" || q == 1 { next }
        # Copies wait for what took time before them, and not for a look-up that is told late.
        { low = high = $(at["Timestamp"]); if (done[q] > low) low = done[q]; if (told[q] > high) high = told[q]
          told[q] = $(at["Start"]) + $(at["Latency_us"]) / 1e6; if ($(at["Operation"]) != "Miss") done[q] = told[q] }
        $(at["Operation"]) == "Read" && $(at["Tier"]) == "Tier-1" { loads++ }
        $(at["Eligible"]) < low - 1e-4 || ($(at["Tier"]) == "" && $(at["Eligible"]) > high + 1e-4) { print; bad++ }
        $(at["Operation"]) == "Generate" && $(at["Latency_us"]) < $(at["Duration_us"]) - 1 { print; bad++ }
        $(at["Phase"]) == "Prefill" && $(at["Operation"]) == "Generate" { prefills++ }
        END { exit bad || !promoted || !loads || prefills != 39 }' "$TMP/r.csv"
}
unless_busy "$TMP/r.json" "an engine's steps are those of the simulation" keeps_steps

# Where the step itself loads (LMCache), the load is no part of the Generate row: it takes its time in the replay, once. (Reads
# that share the drive with writes take longer than in the simulation, which reads alone: so the median.)
told "$BIN/kvgen" --model tiny-1b --params 1e9 --cache lmcache --gpu-mem 192MiB --cpu-mem 192MiB --gpu-profile h100 \
    --tier-model 2="$drive" --input "$TMP/requests.jsonl" --block-size 256 --summary "$TMP/g.json" -o "$TMP/loads.csv"
isnt "a step loads" "$(json "$TMP/g.json" '.serving.request_time.loading.share * 100 | round')" 0
loads_once() {
    told "$BIN/kvreplay" --timing served --workers 100 --tier-engine 0=null --tier-engine 1=null --tier-engine 2=sim:model="$drive" \
        --summary "$TMP/r.json" -o "$TMP/r.csv" "$TMP/loads.csv"
    jq -n --slurpfile g "$TMP/g.json" --slurpfile r "$TMP/r.json" '
        $r[0].first_token_ms.batch.p50 / $g[0].prefill.first_token_ms.all.p50' >"$TMP/ratio"
    jq -e '. > 0.97 and . < 1.03' "$TMP/ratio"
}
unless_busy "$TMP/r.json" "the first token comes as simulated" loads_once

sed 's/"valid": true/"valid": null/' "$drive" >"$TMP/unknown.json"
told "$BIN/kvreplay" --tier-engine 2=sim:model="$TMP/unknown.json" -o /dev/null "$TMP/one.csv"
like "of a measurement that does not say" "$(cat "$TMP/err")" \
    '^validity: device unknown: Tier-2 is simulated from a measurement of unknown'
told "$BIN/kvreplay" --tier-engine 2=sim:model="$drive" -o /dev/null "$TMP/one.csv"
unlike "of a good one" "$(cat "$TMP/err")" 'simulated from a measurement'

bad() { # NAME WHY ENGINE
    exits "$1 is refused" 2 "$BIN/kvreplay" --tier-engine "$3" -o "$TMP/never.csv" "$TMP/one.csv"
    like "$1: why" "$(cat "$TMP/stderr")" "$2"
    ok "$1: before anything is written" test ! -e "$TMP/never.csv"
}
bad "no file" 'kvreplay: .*nowhere.json: ' 2=sim:model="$TMP/nowhere.json"
bad "a summary" 'r.json: not a file of kvtrace model' 2=sim:model="$TMP/r.json"
bad "numbers beside the model" 'model=FILE.json alone' "2=sim:bw=1GB/s,model=$drive"
echo '{"program": "kvtrace model", "points": [{"size_bytes": 1}]}' >"$TMP/bad.json"
bad "a bad point" 'bad.json: points.0.: in_flight' 2=sim:model="$TMP/bad.json"
done_testing
