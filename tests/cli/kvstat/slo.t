#!/bin/sh
# slo.t - --slo: the targets of each QoS class, P95 to P99.99, are judged by their bounds; end to end where generation took
# no time, else what storage decides of the time to the first token: from arrival to the end of the last read before the
# request's Generate row. Bugs looked like a run of one-second generations held against 50 ms, or one target of four judged.
# builds: plain (verdicts; report.t runs the code under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
echo '{"valid": true}' >"$TMP/good.json"

# result N READ_MS GENERATE_MS LATE_MS: N requests of class interactive, one a second, each with a read that starts LATE_MS
# after its arrival (the tool was not late: it became eligible then), a Generate row, and a read of 80 ms behind that.
result() {
    awk -v n="$1" -v read="$2" -v generate="$3" -v late="$4" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival," \
            "Duration_us,Due,Eligible,Start,Latency_us,Device_us,Status"
        for (i = 0; i < n; i++) {
            start = i + late / 1e3
            generated = start + read / 1e3
            after = generated + generate / 1e3
            of = i ",u,interactive,user,1," i
            printf "%d,Read,4096,Tier-2,k%d,Decode,%s,,%d,%.6f,%.6f,%d,%d,ok\n", i, i, of, i, start, start, read * 1e3, read * 900
            printf "%d,Generate,0,,,,%s,%d,%d,%.6f,%.6f,%d,,ok\n", i, of, generate * 1e3, i, generated, generated, generate * 1e3
            if (generate > 0)
                printf "%d,Read,4096,Tier-2,l%d,Decode,%s,,%d,%.6f,%.6f,80000,70000,ok\n", i, i, of, i, after, after
        }
    }'
}
judge() { # NAME STATUS ARGS...
    name=$1 status=$2
    shift 2
    exits "$name" "$status" "$kvstat" --slo --check --json --run "$TMP/good.json" "$@" "$TMP/rows.csv"
}
criterion() { json "$TMP/stdout" ".assessment.criteria[] | select(.name == \"interactive_$1\") | $2"; }
all() { json "$TMP/stdout" '[.assessment.criteria[] | .passed | tostring] | join(" ")'; }

result 40000 40 0 0 >"$TMP/rows.csv"
judge 'within every target, without generation' 0
is 'is a PASS' "$(json "$TMP/stdout" '.assessment | .status, .profile, .slo_of')" 'PASS slo end_to_end_ms'
is 'of four percentiles, against the targets of the class' "$(json "$TMP/stdout" '[.assessment.criteria[] |
    select(.unit == "ms") | .name, .target] | join(" ")')" \
    'interactive_end_to_end_p95 50 interactive_end_to_end_p99 100 interactive_end_to_end_p999 150 interactive_end_to_end_p9999 200'
is 'with their bounds and samples' "$(criterion end_to_end_p95 '.actual == .low, .actual == .high, .samples')" 'true true 40000'
result 2000 40 0 0 >"$TMP/rows.csv"
judge 'too few samples for P99.9' 4
is 'leave it open' "$(all)" 'true true null null true'
like 'which the last words say' "$(json "$TMP/stdout" .assessment.sentence)" 'interactive_end_to_end_p999 is '
result 2000 51 0 0 >"$TMP/rows.csv"
judge 'P95 missed, the others met' 1
is 'is a FAIL' "$(criterion end_to_end_p95 .passed) $(criterion end_to_end_p99 .passed)" 'false true'

# Generation, and what comes after it, is none of storage's: nor of the target's.
result 40000 40 900 0 >"$TMP/rows.csv"
judge 'generation of 0.9 s' 0
is 'first tokens are judged' "$(json "$TMP/stdout" .assessment.slo_of) $(criterion first_token_p95 .actual)" 'first_token_ms 40'
is 'figures: the part before the first token' "$(json "$TMP/stdout" '.requests.first_token_ms.max,
    .requests.by_qos.interactive.first_token_ms.count, (.requests.end_to_end_ms.max | round)')" '40 40000 1020'
is 'believed as such' "$(json "$TMP/stdout" '.validity.figures[] | select(.figures == "first_token") | .state')" good
exits 'in text' 0 "$kvstat" --full --slo --run "$TMP/good.json" "$TMP/rows.csv"
stdout_like 'the report says which' '^  targets of the classes: what storage decides of the time to the first token'
result 2000 40 900 20 >"$TMP/rows.csv"
judge 'a wait in line of 20 ms before the read' 1
is 'counts from the arrival' "$(criterion first_token_p95 '.actual, .passed')" '60 false'

# The tool's own delays move a first token further than an end-to-end time of a second.
result 2000 40 900 12 | awk -F, -v OFS=, '$14 != "" && NR > 1 { $15 = $14 } { print }' >"$TMP/rows.csv"
judge 'reads that the tool was late with' 4
like 'leave it open' "$(criterion first_token_p95 .doubt)" '^unreliable: client delay (adds [0-9.]+ % to|is most of) p[0-9]+'

# Not judged: requests without an arrival, and those that stood in line when the run ended.
result 2000 40 0 0 | awk -F, -v OFS=, 'NR > 1 { $14 = "" } { print }' >"$TMP/rows.csv"
judge 'a run without a schedule' 4
is 'tells no time from arrival' "$(criterion end_to_end_p95 .doubt)" 'unknown: the file does not tell when all requests arrived'
result 2000 40 0 0 >"$TMP/rows.csv"
echo '{"valid": true, "served": {"queue_by_qos_ms": {"interactive": {"count": 2400, "waiting": 400, "mean": 1}}}}' >"$TMP/line.json"
exits 'requests in line at the end' 4 "$kvstat" --slo --check --json --run "$TMP/line.json" "$TMP/rows.csv"
is 'may be those beyond' "$(criterion end_to_end_p95 .doubt)" 'unknown: 400 requests were still in line at the end'

# Ten requests: the reason stands with each criterion, in every form.
result 10 40 0 0 >"$TMP/rows.csv"
judge 'ten requests' 4
is 'say what they lack' "$(criterion end_to_end_p9999 '.samples, .samples_to_decide, .reason')" \
    '10 29956 10 samples, about 29,956 would decide'
is 'what is decided needs no reason' "$(json "$TMP/stdout" '.assessment.criteria[] | select(.name == "failed_rows") | .reason')" null
exits 'on the screen' 0 "$kvstat" --slo --run "$TMP/good.json" "$TMP/rows.csv"
like 'too' "$(tr -s ' \n' ' ' <"$TMP/stdout")" \
    'slo: interactive end to end p95: only 10 samples, about 59 would decide; interactive end to end p99: only 10 samples, about 299'
exits 'with all tables' 0 "$kvstat" --full --slo --run "$TMP/good.json" "$TMP/rows.csv"
like 'below each line' "$(sed -n '/interactive_end_to_end_p9999 /{n;p;}' "$TMP/stdout")" '^ +10 samples, about 29,956 would decide$'
is 'within 100 columns' "$(sed "s|^$TMP/||" "$TMP/stdout" | awk 'length > 100')" ''

# The times of the trace were divided: what holds generation is not the trace's own, and is judged neither way.
echo '{"program": "kvreplay", "valid": true, "options": {"timing": "trace", "speed": 10}}' >"$TMP/fast.json"
scaled() { # NAME STATUS ARGS...
    name=$1 status=$2
    shift 2
    exits "$name" "$status" "$kvstat" --check --run "$TMP/fast.json" "$@" "$TMP/rows.csv"
}
result 40000 40 900 0 >"$TMP/rows.csv"
scaled 'ten times the speed, with generation' 4 --slo --json
is 'is not judged' "$(criterion first_token_p95 '.passed, .reason')" \
    'null unknown: --speed 10 divided generation and pauses; judge a run at --speed 1'
is 'neither are the targets of the report' "$(json "$TMP/stdout" '.requests.by_qos.interactive.sla.met')" null
is 'and the run says its timing' "$(json "$TMP/stdout" '.run | .timing, .speed, .workers')" 'trace 10 null'
scaled 'as a text' 4 --slo
like 'in the verdict itself' "$(tr -s ' \n' ' ' <"$TMP/stdout")" \
    'Verdict INCONCLUSIVE slo \(trace at 10 times its speed\): .* unknown: --speed 10 divided generation and pauses'
stdout_like 'and with the targets' '^Targets +not judged: --speed 10 divided generation and pauses$'
result 40000 40 0 0 >"$TMP/rows.csv"
scaled 'without generation only the load is another' 0 --slo
like 'which the verdict says' "$(cat "$TMP/stdout")" '^Verdict +PASS +slo \(trace at 10 times its speed\):'
scaled 'a profile' 0 --profile latency --full
stdout_like 'says so too' '^Profile latency: PASS \(trace at 10 times its speed\)$'
stdout_like 'to the last words' '^Verdict: PASS \(trace at 10 times its speed\): '
sed -i 's/"speed": 10/"speed": 1/' "$TMP/fast.json"
result 40000 40 900 0 >"$TMP/rows.csv"
scaled 'at the speed of the trace' 0 --slo
stdout_unlike 'nothing is said of it' 'times its speed|divided'

# With a profile, of a configuration, of several runs.
result 2000 40 0 0 >"$TMP/rows.csv"
judge 'with a profile' 4 --profile latency
is 'both are judged' "$(json "$TMP/stdout" '.assessment.profile, ([.assessment.criteria[].name] | contains(["storage_read_p95",
    "interactive_end_to_end_p95", "failed_rows"]))')" 'latency+slo true'
echo 'qos_profiles: {interactive: {target_latency_p95_ms: 39}}' >"$TMP/c.yaml"
judge 'a target of the configuration' 1 --config "$TMP/c.yaml"
is 'is judged' "$(criterion end_to_end_p95 '.target, .passed')" '39 false'
exits 'of two runs' 4 "$kvstat" --full --slo --check "$TMP/rows.csv" "$TMP/rows.csv"
stdout_like 'the worst counts' '^Verdict: INCONCLUSIVE: 0 of 2 runs pass profile slo; '
"$BIN/kvgen" --num-users 3 --duration 3s --model tiny-1b -o "$TMP/t.csv" 2>/dev/null
exits 'a trace' 4 "$kvstat" --full --slo --check "$TMP/t.csv"
stdout_like 'has nothing to judge' '^Verdict: INCONCLUSIVE: the file holds nothing that profile slo judges'
done_testing
