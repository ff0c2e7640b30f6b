#!/bin/sh
# validity.t - each kind of figure is doubted when something moved it, by how much it moved it: the tool's own delays move
# response and end-to-end times, gaps in which the replay did not run move service and device times, and a percentile that
# no row in a gap reaches stays good. Bugs looked like a run of ten-second answers thrown away for a millisecond, or device
# times believed while the process was stopped.
# builds: plain (notes_and_flags.t and report.t run its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

# rows N DELAY_US SLOW: a result of N reads of 10 ms, 9 on the device, one a second, each started DELAY_US late by the tool,
# of which the first SLOW take a second more.
rows() {
    head -n 1 "$DATA/kvstat_dozen.csv"
    awk -v n="$1" -v delay="$2" -v slow="$3" 'BEGIN {
        for (i = 0; i < n; i++) {
            more = i < slow ? 1e6 : 0
            printf "%d,Read,4096,Tier-2,k%d,Decode,%d,u,batch,user,1,%d,,%d,%d,%.6f,%d,%d,ok\n", i, i, i, i, i, i,
                i + delay / 1e6, 10000 + more, 9000 + more
        }
    }'
}
# gaps COUNT: the summary of a good run that lists so many gaps of a second, each told by two threads.
gaps() {
    awk -v n="$1" 'BEGIN {
        print "{\"program\": \"kvreplay\", \"valid\": true, \"gaps\": ["
        for (i = 0; i < n; i++) {
            printf "%s{\"thread\": \"main\", \"start_s\": %.3f, \"end_s\": %.3f},\n", i ? "," : "", i + 0.002, i + 0.9
            printf "{\"thread\": \"ring\", \"start_s\": %.3f, \"end_s\": %.3f}\n", i + 0.1, i + 1.002
        }
        print "]}"
    }' >"$TMP/run.json"
}
state() { json "$TMP/stdout" ".validity.figures[] | select(.figures == \"$1\") | .state"; }
report() { exits "$1" 0 "$kvstat" --json --run "$TMP/run.json" "$TMP/rows.csv"; }

# ---- client delay ----

gaps 0
rows 2000 20 0 >"$TMP/rows.csv"
report 'delays of 0.2 %'
is 'all is good' "$(json "$TMP/stdout" '[.validity.figures[].state] | unique[]')" good
is 'and the line says no more' "$(json "$TMP/stdout" .validity.line)" good
rows 2000 300 0 >"$TMP/rows.csv"
report 'delays of 3 %'
is 'are good too' "$(state response) $(state end_to_end)" 'good good'
like 'but told' "$(json "$TMP/stdout" .validity.line)" "^good - response: client delay adds 3\\.0 % to Tier-2 Read p50; end to end: client delay adds 3\\.0 % to p50"
rows 2000 1000 0 >"$TMP/rows.csv"
report 'delays of 10 %'
is 'are not' "$(state response) $(state end_to_end)" 'unreliable unreliable'
is 'service and device times do not have them' "$(state service) $(state device) $(state storage)" 'good good good'
like 'which the line says' "$(json "$TMP/stdout" .validity.line)" \
    "^good for drive figures; unreliable: response: client delay adds 10 % to Tier-2 Read p50"
awk -F, -v OFS=, 'NR > 1 { $15 = "" } { print }' "$TMP/rows.csv" >"$TMP/no_eligible.csv"
exits 'without Eligible' 0 "$kvstat" --json --run "$TMP/run.json" "$TMP/no_eligible.csv"
is 'nobody knows of delays' "$(state response)" good

# ---- gaps ----

gaps 30
rows 2000 0 30 >"$TMP/rows.csv"
report 'gaps in 1.5 % of the rows'
is 'move P99' "$(state service) $(state device)" 'unreliable unreliable'
like 'and are told with it' "$(json "$TMP/stdout" .validity.line)" \
    '^unreliable: service/device: a pause of kvreplay is most of Tier-2 Read p99$'
gaps 10
rows 2000 0 10 >"$TMP/rows.csv"
report 'gaps in 0.5 % of the rows'
is 'move no percentile that is looked at' "$(state service) $(state device)" 'good good'
# Slow rows that no gap explains are the drive's own.
gaps 0
rows 2000 0 30 >"$TMP/rows.csv"
report 'slow rows without gaps'
is 'are good' "$(state service) $(state device)" 'good good'

# In a line that a stop made, rows wait for workers that the stop held: responses have it, though no row was late.
echo '{"program": "kvreplay", "valid": true, "gaps": [{"thread": "process", "start_s": 0, "end_s": 20}]}' >"$TMP/run.json"
{
    head -n 1 "$DATA/kvstat_dozen.csv"
    awk 'BEGIN {
        for (i = 0; i < 2000; i++)
            printf "%d,Read,4096,Tier-2,k%d,Decode,%d,u,batch,user,1,%d,,0,%.3f,%.3f,10000,9000,ok\n", i / 1000, i, i, i / 1000,
                20 + i / 100, 20 + i / 100
    }'
} >"$TMP/rows.csv"
report 'a line that a stop of 20 s left behind'
is 'moves responses, and no service' "$(state response) $(state service) $(state device)" 'unreliable good good'

# A stop of a second, and the burst after it: reads that were due in it started all at once when it was over, and took 50 ms. No
# gap overlaps them, and still the stop made them.
burst() { # STOPS: 600 reads, 150 a second; 140 of them of the burst after a stop of 0.94 s
    printf '{"program": "kvreplay", "valid": true, "gaps": [%s]}' "$1" >"$TMP/run.json"
    rows 0 0 0 # the columns alone
    awk 'BEGIN {
        for (i = 0; i < 600; i++) {
            due = i / 150
            of_burst = due >= 1.01 && due < 1.94
            start = of_burst ? 1.95 : due
            printf "%.6f,Read,4096,Tier-2,k%d,Decode,%d,u,batch,user,1,%.6f,,%.6f,%.6f,%.6f,%d,%d,ok\n", due, i, i, due, due, due,
                start, of_burst ? 50000000 : 1000000, of_burst ? 50000000 : 1000000
        }
    }'
}
burst '{"thread": "process", "start_s": 1.0, "end_s": 1.94}' >"$TMP/rows.csv"
report 'a stop with a burst after it'
is 'moves service and device times' "$(state service) $(state device)" 'unreliable unreliable'
like 'by the pause' "$(json "$TMP/stdout" .validity.line)" 'a pause of kvreplay (is most of|adds .* to) Tier-2 Read p95'
burst '{"thread": "process", "start_s": 0.1, "end_s": 0.25}' >"$TMP/rows.csv"
report 'a stop elsewhere'
is 'leaves them good' "$(state service) $(state device)" 'good good'

# Only the memory tier was held: the drive's figures, and criteria on them, stay as good as they were.
held() { # COUNT: of so many reads of Tier-1, each within a gap, beside 2,000 good ones of Tier-2
    gaps 40
    rows 2000 0 0 | awk -F, -v OFS=, 'NR > 1 { $1 += 100; $7 += 100; $12 += 100; $14 += 100; $15 += 100; $16 += 100 } { print }'
    awk -v n="$1" 'BEGIN {
        for (i = 0; i < n; i++)
            printf "%d,Read,4096,Tier-1,c%d,Decode,%d,u,batch,user,1,%d,,%d,%d,%d,1000000,900000,ok\n", i, i, 5000 + i, i, i, i, i
    }'
}
held 30 >"$TMP/rows.csv"
report 'gaps in rows of Tier-1'
is 'are of Tier-1' "$(json "$TMP/stdout" '.validity.figures[] | select(.figures == "service") | .state, .tier, .op')" \
    'unreliable Tier-1 Read'
is 'what concerns all has no tier' \
    "$(json "$TMP/stdout" '.validity.figures[] | select(.figures == "storage") | .state, .tier, .op')" 'good null null'
like 'and leave the drive alone' "$(json "$TMP/stdout" .validity.line)" '^good for drive figures; unreliable: service/device: a pause of kvreplay .* Tier-1 '
exits 'the drive is judged' 0 "$kvstat" --json --profile latency --run "$TMP/run.json" "$TMP/rows.csv"
is 'on its own' "$(json "$TMP/stdout" '.assessment.criteria[] | select(.name == "storage_read_p95" or .name == "cpu_p95") |
    .name, .passed, (.doubt // "" | test("Tier-1"))')" 'storage_read_p95 true false cpu_p95 null true'
# Every place of which something is said has its own element, the worst first.
{
    held 30
    awk 'BEGIN {
        for (i = 0; i < 30; i++)
            printf "%d,Write,4096,Tier-0,g%d,Prefill,%d,u,batch,user,1,%d,,%d,%d,%d,1000000,900000,ok\n", i, i, 7000 + i, i, i, i, i
    }'
} >"$TMP/rows.csv"
report 'gaps in rows of two tiers'
is 'are told of each' "$(json "$TMP/stdout" '.validity.figures[] | select(.figures == "service") | .state, .tier, .op')" \
    'unreliable Tier-0 Write unreliable Tier-1 Read'
like 'each with its own reason' "$(json "$TMP/stdout" '.validity.figures[] | select(.figures == "device" and .tier == "Tier-1") | .why')" \
    ' Tier-1 Read p[0-9]+$'
exits 'in CSV' 0 "$kvstat" --csv --run "$TMP/run.json" "$TMP/rows.csv"
like 'by their names' "$(csv_rows "$TMP/stdout" | cut -f 1)" '^validity\.figures\.service/Tier-1/Read\.state$'
held 5 >"$TMP/rows.csv"
report 'five rows of it'
is 'show nothing' "$(state service) $(state device)" 'good good'

# ---- what the replay itself says ----

echo '{"valid": true, "validity": [{"figures": "service", "tier": null, "op": null, "state": "good", "why": ""},
    {"figures": "service", "tier": "Tier-1", "op": "Write", "state": "unreliable", "why": "Tier-1 Write moved"},
    {"figures": "service", "tier": "Tier-9", "op": "Write", "state": "unreliable", "why": "no such tier"}]}' >"$TMP/run.json"
rows 2000 0 0 >"$TMP/rows.csv"
report 'a summary that doubts one tier'
is 'is believed' "$(json "$TMP/stdout" .validity.line)" 'good for drive figures; unreliable: service: Tier-1 Write moved'

echo '{"valid": true, "validity": [{"figures": "service", "tier": "Tier-0", "op": "Write", "state": "unreliable", "why": "thread GPU 0 waited"},
    {"figures": "device", "tier": "Tier-0", "op": "Write", "state": "unreliable", "why": "thread GPU 0 waited"},
    {"figures": "service", "tier": "Tier-2", "op": "Read", "state": "unreliable", "why": "thread storage 0 waited"},
    {"figures": "service", "tier": "Tier-2", "op": "Write", "state": "unreliable", "why": "thread storage 0 waited"},
    {"figures": "service", "tier": "Tier-1", "op": "Write", "state": "unknown", "why": "nobody knows"}]}' >"$TMP/run.json"
report 'a summary that doubts three tiers'
is 'all are told, the drive first' "$(json "$TMP/stdout" .validity.line)" \
    'unreliable: service: thread storage 0 waited; service/device: thread GPU 0 waited; unknown: service: nobody knows'

echo '{"valid": true, "validity": [{"figures": "storage", "state": "unreliable", "why": "10 % of reads were cached"},
    {"figures": "end_to_end", "state": "good", "why": ""}, {"figures": "no such", "state": "good"}]}' >"$TMP/run.json"
report 'a summary with states'
is 'is taken' "$(state storage) $(state service) $(state end_to_end)" 'unreliable good good'
is 'with its reason' "$(json "$TMP/stdout" .validity.line)" 'unreliable: storage: 10 % of reads were cached'

# Of several reasons the one that decides comes first, also where the screen has room for one only.
jq -n '"a pause of kvreplay that lasted for a good part of the whole run, and moved what was measured in that tier" as $long |
    {valid: false, why_invalid: ["the target is memory (tmpfs)"], validity: [
    {figures: "service", tier: "Tier-2", op: "Read", state: "unreliable", why: ("a read was held: " + $long)},
    {figures: "device", tier: "Tier-2", op: "Read", state: "unreliable", why: ("a read: " + $long)},
    {figures: "response", tier: "Tier-2", op: "Read", state: "unreliable", why: ("a wait: " + $long)},
    {figures: "end_to_end", state: "unreliable", why: ("a request: " + $long)},
    {figures: "storage", tier: null, op: null, state: "unreliable", why: "the target is memory (tmpfs)"}]}' >"$TMP/run.json"
report 'a summary with one reason that decides, and weaker ones'
like 'the line begins with it' "$(json "$TMP/stdout" .validity.line)" \
    '^unreliable: storage: the target is memory [(]tmpfs[)]; service: a read was held: '
"$kvstat" --run "$TMP/run.json" --profile latency "$TMP/rows.csv" >"$TMP/screen"
like 'so does the screen' "$(cat "$TMP/screen")" '^Validity +unreliable: storage: the target is memory [(]tmpfs[)]'
like 'and the verdict' "$(tr '\n' ' ' <"$TMP/screen" | tr -s ' ')" 'Verdict INCONCLUSIVE .*p95.* unreliable: the target is memory [(]tmpfs[)]'
done_testing
