#!/bin/sh
# profile.t - --profile: PASS just inside the limit of each criterion, FAIL just outside it, limits from the
# configuration, the exit status of --check, and no verdict where a file lacks the figures to judge by. Bugs looked like
# a run at its limit that passed, or one without device times that passed.
. "$(dirname "$0")/../../lib.sh"
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
# judged NAME STATUS FILE ARGS...: the exit status of --check, and the text in $TMP/stdout.
judged() {
    name=$1 status=$2 file=$3
    shift 3
    exits "$name" "$status" "$kvstat" --profile latency --check "$@" "$TMP/$file"
}
# verdict CRITERION: its word in the text.
verdict() { sed -n "s/^  $1  *[<>].*  \([A-Z ]*[A-Z]\)\( \*\)*\$/\1/p" "$TMP/stdout"; }
# answer: the last words of the text, on one line.
answer() { awk '/^Verdict: / { on = 1 } on' "$TMP/stdout" | tr '\n' ' ' | sed 's/ $//'; }

result inside 499999.999 199999.999 149999.999 301
judged 'just inside every limit' 0 inside
stdout_like 'is a PASS' '^Profile latency: PASS$'
for c in storage_write_device_p95 storage_read_device_p95 cpu_p95 hit_rate; do is "$c passes" "$(verdict $c)" PASS; done
stdout_like 'device and service P95 are both there' '^  storage_read_device_p95 +< +200 ms +200 ms +201 ms  PASS \*$'
like 'the last words say what it meets' "$(answer)" '^Verdict: PASS: the run meets all 4 criteria of profile latency\. '
like 'and on how few samples' "$(answer)" \
    ' storage_write_device_p95 rests on 100 samples\. .*cpu_p95 rests on 100 samples\.$'

# outside CRITERION ARGS...: one value at its limit, which is not within it.
outside() {
    criterion=$1
    shift
    result outside "$@"
    judged "$criterion at its limit" 1 outside
    stdout_like 'is a FAIL' '^Profile latency: FAIL$'
    is 'of this criterion' "$(verdict "$criterion")" FAIL
    is 'alone' "$(grep -Ec '  PASS( \*)?$' "$TMP/stdout")" 3
    like 'which the last words name' "$(answer)" '^Verdict: FAIL: the run misses 1 of 4 criteria of profile latency: '
    like 'with its value and limit' "$(answer)" "latency: $criterion is [0-9.]+ (ms|%), not [<>] [0-9.]+ (ms|%)\\."
}
outside storage_write_device_p95 500000 1000 1000 301
outside storage_read_device_p95 1000 200000 1000 301
outside cpu_p95 1000 1000 150000 301
outside hit_rate 1000 1000 1000 300
exits 'without --check' 0 "$kvstat" --profile latency "$TMP/outside"

# P95 is the value of rank 95 of 100: five slow reads do not count, six do.
slow() { # N: the run with so many slow reads
    awk -F, -v OFS=, -v n="$1" '
        $2 == "Read" && $4 == "Tier-2" && ++k <= n { $18 = "300000"; $17 = "300001" }
        { print }' "$TMP/inside"
}
slow 5 >"$TMP/five" && slow 6 >"$TMP/six"
judged 'five slow reads of 100' 0 five
judged 'six' 1 six

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

# ---- few samples, a run that is not valid ----

awk -F, '$2 == "Generate" || $1 != "100.0" { print }' "$TMP/small" | head -n 21 >"$TMP/few"
exits 'P95s of five' 0 "$kvstat" --profile latency --json "$TMP/few"
is 'say so' "$(json "$TMP/stdout" '.assessment.criteria[].samples')" '5 5 5 null'
{ head -n 1 "$TMP/small" && for _ in 1 2 3; do sed 1d "$TMP/small"; done; } >"$TMP/many"
judged '300 samples' 0 many
is 'are enough' "$(answer)" 'Verdict: PASS: the run meets all 4 criteria of profile latency.'
echo '{"valid": false, "why_invalid": ["the tool was late"]}' >"$TMP/invalid.json"
judged 'a run that is not valid' 1 many --run "$TMP/invalid.json"
stdout_like 'has met its limits' '^Profile latency: PASS - of a run that is NOT VALID$'
like 'which does not count' "$(answer)" '^Verdict: PASS: .* The run is NOT VALID: the verdict does not count\.$'
"$kvstat" --profile latency --json --run "$TMP/invalid.json" "$TMP/many" >"$TMP/invalid.report.json"
exits 'nor does its report' 1 "$kvstat" --profile latency --check "$TMP/invalid.report.json"
is 'among others' "$(answer | sed "s|$TMP/||")" 'Verdict: 0 of 1 run pass profile latency; not so invalid.report.json.'

# ---- what does not apply, what is not known ----

grep -v 'Tier-1' "$TMP/inside" >"$TMP/no_cpu"
judged 'no CPU tier' 0 no_cpu
is 'is no criterion' "$(verdict cpu_p95)" ''
awk -F, -v OFS=, 'NR > 1 { $18 = "" } { print }' "$TMP/inside" >"$TMP/no_device"
judged 'no device times' 1 no_device
stdout_like 'is no PASS' '^Profile latency: NOT KNOWN$'
like 'and why' "$(answer)" '^Verdict: NOT KNOWN: the file does not carry what profile latency judges by: '
like 'with the criteria' "$(answer)" ' judges by: storage_write_device_p95; storage_read_device_p95\.'
exits 'JSON' 1 "$kvstat" --profile latency --check --json "$TMP/no_device"
is 'says null' "$(json "$TMP/stdout" .assessment.status)" null
exits 'a trace' 1 "$kvstat" --profile throughput --check "$DATA/mlperf_trace_first400.csv.zst"
stdout_like 'has no verdict' '^Profile throughput: NOT KNOWN$'

# ---- throughput ----

exits 'throughput' 0 "$kvstat" --profile throughput --check "$TMP/inside"
stdout_like 'passes' '^  storage_read_bandwidth .*  PASS$'
is 'in words' "$(answer)" 'Verdict: PASS: the run meets all 2 criteria of profile throughput.'
stdout_like 'with its figure of merit' '^  figure of merit: [0-9.]+ generated tokens/s'
for op in Read Write; do
    sed "/,$op,4096,Tier-2,/s/,ok\$/,EIO/" "$TMP/inside" >"$TMP/failed"
    exits "every $op failed" 1 "$kvstat" --profile throughput --check "$TMP/failed"
    is 'is no bandwidth' "$(sed -n 's/^  \(storage_[a-z]*_bandwidth\) .*  FAIL$/\1/p' "$TMP/stdout")" \
        "storage_$(echo $op | tr RW rw)_bandwidth"
done
grep -v ',Read,4096,Tier-2,' "$TMP/inside" >"$TMP/no_reads"
exits 'no reads' 0 "$kvstat" --profile throughput --check "$TMP/no_reads"
stdout_unlike 'are no criterion' 'storage_read_bandwidth'

# ---- JSON, several files, refusals ----

exits 'JSON' 1 "$kvstat" --json --profile latency --check "$TMP/outside"
is 'status' "$(json "$TMP/stdout" .assessment.status)" FAIL
is 'profile' "$(json "$TMP/stdout" .assessment.profile)" latency
is 'criteria' "$(json "$TMP/stdout" '[.assessment.criteria[].passed] | sort[]')" 'false true true true'
exits 'one of two fails' 1 "$kvstat" --profile latency --check "$TMP/inside" "$TMP/outside"
is 'which is named' "$(answer | sed "s|$TMP/||")" 'Verdict: 1 of 2 runs passes profile latency; not so outside.'
exits 'none of two' 0 "$kvstat" --profile latency --check "$TMP/inside" "$TMP/small"
exits '--check alone' 2 "$kvstat" --check "$TMP/inside"
stderr_like 'is refused' '^kvstat: --check: needs --profile'
done_testing
