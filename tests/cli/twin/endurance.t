#!/bin/sh
# Endurance: what a load writes to Tier-2 a day, drive writes a day and years, as calculated from the same summary; in a
# replay the drive's own log, or why it is not known. A bug looked like years of a drive that nothing is written to.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

run() {
    told "$BIN/kvgen" --model tiny-1b --users 5 --duration 20 --gpu-mem 0 --cpu-mem 0 --generation-mode fast -o "$TMP/t.csv" \
        --summary "$TMP/s.json" "$@"
}
run --storage-capacity 50GiB --tbw 600
is 'as calculated' "$(json "$TMP/s.json" "(.tiers[0].write_bytes / .trace.simulated_s * 86400) as \$day | .endurance |
    [.write_bytes_per_day / \$day, .drive_writes_per_day / (\$day / (50 * 1073741824)), .years / (600e12 / \$day / 365.25)] |
    map(. > 0.999999 and . < 1.000001) | all")" true
is 'tier and rating' "$(json "$TMP/s.json" '.endurance.tier, .endurance.tbw')" 'Tier-2 600'
like 'in the text' "$("$BIN/kvgen" --model tiny-1b --users 5 --duration 20 --gpu-mem 0 --cpu-mem 0 --storage-capacity 50GiB \
    --tbw 600 -o none 2>&1)" '^endurance  [0-9.]+ TB a day, [0-9.]+ drive writes a day, [0-9.]+ years$'
run
is 'without a limit and a rating' "$(json "$TMP/s.json" '.endurance |
    .write_bytes_per_day > 0, .drive_writes_per_day == null, .tbw == null, .years == null')" 'true true true true'
run --cpu-mem 64GiB --tbw 600
is 'nothing is written' "$(json "$TMP/s.json" '.endurance | .write_bytes_per_day, .years')" '0 null'
# With an engine the drive takes the bytes of all ranks; rows have those of one.
told "$BIN/kvgen" --model llama3.1-70b-instruct --users 5 --duration 60 --tensor-parallel 4 --gpu-profile h100 --gpu-mem 1GiB \
    --cpu-mem 0 --storage-capacity 100GiB --tbw 600 -o none --summary "$TMP/s.json"
is 'of four ranks' "$(json "$TMP/s.json" "(4 * tier(\"Tier-2\").write_bytes / .trace.simulated_s * 86400) as \$day | .endurance |
    [.write_bytes_per_day / \$day, .drive_writes_per_day / (\$day / (100 * 1073741824)), .years / (600e12 / \$day / 365.25)] |
    map(. > 0.999999 and . < 1.000001) | all")" true
exits 'no terabytes' 2 "$BIN/kvgen" --tbw 0 -o none
exits 'no drive' 2 "$BIN/kvgen" --tbw 600 --storage-capacity none -o none
stderr_like 'why' '--tbw: there is no Tier-2'

# A folder on something else than an NVMe drive, or on one that this user may not ask.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,a,Prefill\n' >"$TMP/one.csv"
told "$BIN/kvreplay" --target "$TMP/d" --summary "$TMP/r.json" -o /dev/null "$TMP/one.csv"
is 'unknown is null and has a reason' "$(json "$TMP/r.json" '.drive_log |
    .write_amplification == null, (.why_unknown | length > 0)')" 'true true'
told "$BIN/kvreplay" --tier-engine 2=null --summary "$TMP/r.json" -o /dev/null "$TMP/one.csv"
like 'no drive' "$(json "$TMP/r.json" .drive_log.why_unknown)" '^(the target is no NVMe drive|built without libnvme)$'
done_testing
