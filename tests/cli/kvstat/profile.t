#!/bin/sh
# profile.t - --profile: PASS just inside the limit of each criterion, FAIL just outside it, INCONCLUSIVE where samples,
# figures or belief are missing; limits from the configuration, and the exit status of --check. Bugs looked like a run at
# its limit that passed, one without device times that passed, or two answers that passed.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

# result FILE WRITE_US READ_US CPU_US HITS: 100 writes and 100 reads of Tier-2 with these device times (service: 1 ms
# more), 100 writes of Tier-1 with that service time, and HITS of 1,000 lookups that hit, 100 of them the reads.
result() {
    awk -v write_us="$2" -v read_us="$3" -v cpu_us="$4" -v hits="$5" '
        # A row of request i at that time; size, tier, key and phase as one text; tokens, latency and device time.
        function row(time, op, object, class, tokens, latency, device) {
            printf "%d.0,%s,%s,%d,u,batch,%s,%s,,,", time, op, object, i, class, tokens
            printf "%d.0,,%d.0,%s,%s,ok\n", time, time, latency, device
        }
        function us(value) { return sprintf("%.3f", value) }
        BEGIN {
            printf "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,"
            print "Duration_us,Due,Eligible,Start,Latency_us,Device_us,Status"
            for (i = 0; i < 100; i++) {
                row(i, "Write", "4096,Tier-2,k" i ",Prefill", "user", 1, us(write_us + 1000), us(write_us))
                row(i, "Read", "4096,Tier-2,k" i ",Decode", "user", 1, us(read_us + 1000), us(read_us))
                row(i, "Write", "4096,Tier-1,k" i ",Evict", "evict", 1, us(cpu_us), "")
                row(i, "Generate", "0,,,", "user", 7, 0, "")
            }
            for (; i < 1000; i++)
                if (i < hits) row(100, "Read", "4096,Tier-0,x" i ",Decode", "user", 1, 1, "")
                else row(100, "Miss", "0,,x" i ",", "user", "", 0, "")
        }' >"$TMP/$1"
}
echo '{"valid": true}' >"$TMP/good.json"
# judged NAME STATUS FILE ARGS...: the exit status of --check, and the text in $TMP/stdout. The run is a good one unless
# ARGS say otherwise.
profile=mlperf
judged() {
    name=$1 status=$2 file=$3
    shift 3
    case " $* " in *' --json '*) form= ;; *) form=--full ;; esac
    exits "$name" "$status" "$kvstat" $form --profile $profile --check --run "$TMP/good.json" "$@" "$TMP/$file"
}
# verdict CRITERION: its word in the text.
verdict() { sed -n "s/^  $1  *[<>].*  \([A-Z]*\)\$/\1/p" "$TMP/stdout"; }
# answer: the last words of the text, on one line.
answer() { awk '/^Verdict: / { on = 1 } on' "$TMP/stdout" | tr '\n' ' ' | sed 's/ $//'; }

result inside 499999.999 199999.999 149999.999 301
judged 'just inside every limit' 0 inside
stdout_like 'is a PASS' '^Profile mlperf: PASS$'
for c in storage_write_device_p95 storage_read_device_p95 cpu_p95 hit_rate failed_rows; do is "$c passes" "$(verdict $c)" PASS; done
stdout_like 'bounds and service P95 are there' \
    '^  storage_read_device_p95 +< +200 ms +200 ms +200 ms +200 ms +201 ms  PASS$'
is 'the last words say what it meets' "$(answer)" 'Verdict: PASS: the run meets all 5 criteria of profile mlperf.'

# outside CRITERION ARGS...: one value at its limit, which is not within it.
outside() {
    criterion=$1
    shift
    result outside "$@"
    judged "$criterion at its limit" 1 outside
    stdout_like 'is a FAIL' '^Profile mlperf: FAIL$'
    is 'of this criterion' "$(verdict "$criterion")" FAIL
    is 'alone' "$(grep -Ec '  PASS$' "$TMP/stdout")" 4
    like 'which the last words name' "$(answer)" '^Verdict: FAIL: the run misses 1 of 5 criteria of profile mlperf: '
    like 'with its value and limit' "$(answer)" "mlperf: $criterion is [0-9.]+ (ms|%), not [<>] [0-9.]+ (ms|%)( \\(|\\.)"
}
outside storage_write_device_p95 500000 1000 1000 301
outside storage_read_device_p95 1000 200000 1000 301
outside cpu_p95 1000 1000 150000 301
outside hit_rate 1000 1000 1000 300
exits 'without --check' 0 "$kvstat" --full --profile mlperf "$TMP/outside"

# Of 100 samples 1 beyond the limit is too few to doubt P95, 10 are enough to refuse it; between them they do not tell.
slow() { # N: the run with so many slow reads
    awk -F, -v OFS=, -v n="$1" '
        $2 == "Read" && $4 == "Tier-2" && ++k <= n { $18 = "300000"; $17 = "300001" }
        { print }' "$TMP/inside"
}
for n in 1 3 10; do slow $n >"$TMP/slow$n"; done
judged 'one slow read of 100' 0 slow1
judged 'three' 4 slow3
is 'leave it open' "$(verdict storage_read_device_p95)" INCONCLUSIVE
like 'in one word' "$(answer)" '^Verdict: INCONCLUSIVE: 1 of 5 criteria of profile mlperf is not decided: storage_read'
like 'with its bounds, its samples and how many would do' "$(answer)" \
    ' by its bounds 200 ms to 300 ms, against 200 ms, on 100 samples( worth [0-9]+ independent ones)?, about .* would decide\.$'
judged 'ten' 1 slow10

# ---- limits from the configuration ----

limits() { # WRITE_MS READ_MS CPU_MS HIT_RATE
    printf 'storage_health: {write_device_p95_ms: %s, read_device_p95_ms: %s, cpu_p95_ms: %s, hit_rate: %s}\n' "$@" \
        >"$TMP/limits.yaml"
}
result small 1000 2000 3000 500
limits 1.001 2.001 3.001 0.499
judged 'limits just above' 0 small --config "$TMP/limits.yaml"
is 'the file is used without a warning' "$(cat "$TMP/stderr")" ''
limits 1 2.001 3.001 0.499
judged 'write limit' 1 small --config "$TMP/limits.yaml"
limits 1.001 2 3.001 0.499
judged 'read limit' 1 small --config "$TMP/limits.yaml"
limits 1.001 2.001 3 0.499
judged 'CPU limit' 1 small --config "$TMP/limits.yaml"
limits 1.001 2.001 3.001 0.5
judged 'hit rate limit' 1 small --config "$TMP/limits.yaml"

# ---- few samples, rows that failed, runs that are not to be believed ----

awk -F, '$2 == "Generate" || $1 != "100.0" { print }' "$TMP/small" | head -n 21 >"$TMP/few"
exits 'P95s of five' 0 "$kvstat" --profile mlperf --json --run "$TMP/good.json" "$TMP/few"
is 'say so' "$(json "$TMP/stdout" '.assessment.criteria[].samples')" '5 5 5 null null'
is 'and decide nothing' "$(json "$TMP/stdout" '.assessment.status, .assessment.criteria[].passed')" \
    'INCONCLUSIVE null null null true true'
judged 'nor with --check' 4 few
head -n 9 "$TMP/small" >"$TMP/two"
judged 'two answers' 4 two
rows() { # N: a result with N reads of 5 ms
    awk -F, -v n="$1" 'NR == 1 { print } $2 == "Read" && $4 == "Tier-2" { row = $0 }
        END { for (i = 0; i < n; i++) print row }' "$TMP/inside" | sed 's/,200999.999,199999.999,/,5000,4000,/'
}
rows 58 >"$TMP/58" && rows 59 >"$TMP/59"
judged '58 samples' 4 58 --config /dev/null
judged '59 samples' 0 59 --config /dev/null

sed '$s/,ok$/,corrupt/' "$TMP/inside" >"$TMP/corrupt"
judged 'a corrupt row' 1 corrupt
is 'fails the run' "$(verdict failed_rows)" FAIL
for p in latency throughput; do
    exits "in profile $p too" 1 "$kvstat" --full --profile $p --check --run "$TMP/good.json" "$TMP/corrupt"
done
sed '$s/,ok$/,lost/' "$TMP/inside" >"$TMP/lost"
judged 'a lost row' 1 lost
sed '$s/,ok$/,absent/' "$TMP/inside" >"$TMP/absent"
judged 'an absent one' 0 absent
cut -d, -f 1-18 "$TMP/inside" >"$TMP/no_status"
judged 'no Status' 4 no_status
like 'leaves failures unknown' "$(answer)" 'failed_rows is unknown: the file does not carry it\.$'

exits 'rows without a summary' 4 "$kvstat" --full --profile mlperf --check "$TMP/inside"
like 'are not known to be good' "$(answer)" \
    'INCONCLUSIVE: .*storage_write_device_p95 is unknown: no summary of the replay came with the rows'
echo '{"valid": false, "why_invalid": ["the tool was late"]}' >"$TMP/invalid.json"
judged 'a run that is not valid' 4 inside --run "$TMP/invalid.json"
like 'is believed in nothing' "$(answer)" 'storage_write_device_p95 is unreliable: the tool was late'
"$kvstat" --profile mlperf --json --run "$TMP/invalid.json" "$TMP/inside" >"$TMP/invalid.report.json"
exits 'nor in its report' 4 "$kvstat" --profile mlperf --check "$TMP/invalid.report.json"
is 'among others' "$(answer | sed "s|$TMP/||")" \
    'Verdict: INCONCLUSIVE: 0 of 1 run pass profile mlperf; these do not: invalid.report.json.'
# doubt FIGURES STATE: the summary of a run some of whose figures are not good.
doubt() {
    echo "{\"valid\": true, \"validity\": [{\"figures\": \"$1\", \"state\": \"$2\", \"why\": \"so it is\"}]}" \
        >"$TMP/doubt.json"
}
doubt device unreliable
judged 'times made longer that pass all the same' 0 inside --run "$TMP/doubt.json"
result outside 1000 200000 1000 301
judged 'such that do not' 4 outside --run "$TMP/doubt.json"
doubt storage unreliable
judged 'reads made faster by a cache' 4 inside --run "$TMP/doubt.json"
doubt response unreliable
judged 'doubts about other figures' 1 outside --run "$TMP/doubt.json"
doubt all unknown
judged 'all is unknown' 4 inside --run "$TMP/doubt.json"

# ---- what does not apply, what is not known ----

grep -v 'Tier-1' "$TMP/inside" >"$TMP/no_cpu"
judged 'no CPU tier' 0 no_cpu
is 'is no criterion' "$(verdict cpu_p95)" ''
awk -F, -v OFS=, 'NR > 1 { $18 = "" } { print }' "$TMP/inside" >"$TMP/no_device"
judged 'no device times' 4 no_device
stdout_like 'is no PASS' '^Profile mlperf: INCONCLUSIVE$'
like 'and why' "$(answer)" ' storage_read_device_p95 is unknown: the file does not carry it\.$'
judged 'as JSON' 4 no_device --json
is 'says null' "$(json "$TMP/stdout" '.assessment | .status, .criteria[0].passed')" 'INCONCLUSIVE null'
exits 'a trace' 4 "$kvstat" --full --profile throughput --check "$DATA/mlperf_trace_first400.csv.zst"
stdout_like 'has no verdict' '^Profile throughput: INCONCLUSIVE$'

# ---- latency: what a drive is asked for ----

profile=latency
judged 'latency' 1 inside
judged 'as JSON' 1 inside --json
is 'goes by service times' "$(json "$TMP/stdout" '.assessment.criteria[] | select(.passed == false) | .name')" \
    'storage_write_p95 storage_read_p95 storage_write_response_p95 storage_read_response_p95'
result inside 400000 100000 100000 301
judged 'within all' 0 inside
is 'with the device P95 beside' "$(sed -n 's/^  storage_read_p95 .* \([0-9.]* ms\)  PASS$/\1/p' "$TMP/stdout")" '100 ms'
is 'hit rate is none of it' "$(verdict hit_rate)" ''
is 'no line grows' "$(verdict backlog_growth)" PASS
# Every operation starts later than the one before it by a tenth of the time.
awk -F, -v OFS=, '$1 != "100.0" { if (NR > 1) $16 = $16 * 1.1; print }' "$TMP/inside" >"$TMP/growing"
judged 'a line that grows' 1 growing
is 'is found' "$(verdict backlog_growth)" FAIL
# Likewise, but it waits in the tier, for an I/O slot.
awk -F, -v OFS=, '$1 != "100.0" {
    slot = NR == 1 ? "Slot_us" : $17 ~ /[1-9]/ ? $1 * 1e5 : ""
    if (NR > 1 && slot != "") $17 += slot
    print $0, slot
}' "$TMP/inside" >"$TMP/growing"
judged 'a line for I/O slots that grows' 1 growing
is 'is found too' "$(verdict backlog_growth)" FAIL
awk -F, -v OFS=, 'NR > 1 { $14 = "" } { print }' "$TMP/inside" >"$TMP/asap"
judged 'without a schedule' 0 asap
is 'there is no line' "$(verdict backlog_growth)$(verdict storage_read_response_p95)" ''
result outside 1000 200000 1000 301
profile=mlperf

# ---- throughput ----

exits 'throughput' 0 "$kvstat" --full --profile throughput --check --run "$TMP/good.json" "$TMP/inside"
stdout_like 'passes' '^  storage_read_bandwidth .*  PASS$'
is 'in words' "$(answer)" 'Verdict: PASS: the run meets all 4 criteria of profile throughput.'
stdout_like 'with its figure of merit' '^  figure of merit: [0-9.]+ generated tokens/s'
for op in Read Write; do
    sed "/,$op,4096,Tier-2,/s/,ok\$/,EIO/" "$TMP/inside" >"$TMP/failed"
    exits "every $op failed" 1 "$kvstat" --full --profile throughput --check --run "$TMP/good.json" "$TMP/failed"
    is 'is no bandwidth' "$(sed -n 's/^  \(storage_[a-z]*_bandwidth\) .*  FAIL$/\1/p' "$TMP/stdout")" \
        "storage_$(echo $op | tr RW rw)_bandwidth"
done
grep -v ',Read,4096,Tier-2,' "$TMP/inside" >"$TMP/no_reads"
exits 'no reads' 0 "$kvstat" --full --profile throughput --check --run "$TMP/good.json" "$TMP/no_reads"
stdout_unlike 'are no criterion' 'storage_read_bandwidth'

# ---- JSON, several files, refusals ----

judged 'JSON' 1 outside --json
is 'status' "$(json "$TMP/stdout" .assessment.status)" FAIL
is 'profile' "$(json "$TMP/stdout" .assessment.profile)" mlperf
is 'criteria' "$(json "$TMP/stdout" '[.assessment.criteria[].passed] | sort[]')" 'false true true true true'
is 'with bounds and samples' "$(json "$TMP/stdout" \
    '.assessment.criteria[1] | .low < .actual * 1.01, .high >= .actual, .samples, .independent_samples')" \
    'true true 100 100'
exits 'two of which nothing tells whether they are good' 4 "$kvstat" --full --profile mlperf --check "$TMP/inside" "$TMP/outside"
is 'are named' "$(answer | sed "s|$TMP/||g")" \
    'Verdict: INCONCLUSIVE: 0 of 2 runs pass profile mlperf; these do not: inside; outside.'
exits 'a FAIL among several makes the run FAIL' 1 "$kvstat" --full --profile mlperf --check "$TMP/inside" "$TMP/corrupt" "$TMP/inside"
is 'and is named' "$(answer | sed "s|$TMP/||g")" \
    'Verdict: FAIL: 0 of 3 runs pass profile mlperf; these do not: inside; corrupt; inside.'
exits '--check alone' 2 "$kvstat" --full --check "$TMP/inside"
stderr_like 'is refused' '^kvstat: --check: needs --profile'
done_testing
