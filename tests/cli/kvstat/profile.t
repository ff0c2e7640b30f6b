#!/bin/sh
# profile.t - --profile: PASS just inside the limit of each criterion, FAIL just outside it, limits from the
# configuration, the exit status of --check, and no verdict where a file does not carry what is judged. Bugs looked
# like a run at its limit that passed, or one without device times that did.
. "$(dirname "$0")/../../lib.sh"
kvstat=$BIN/kvstat

# result FILE WRITE_US READ_US CPU_US HITS: 100 writes and 100 reads of Tier-2 with these device times (service: 1 ms
# more), 100 writes of Tier-1 with that service time, and HITS of 1,000 lookups that hit, 100 of them the reads.
result() {
    awk -v w="$2" -v r="$3" -v c="$4" -v hits="$5" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us,Due,Eligible,Start,Latency_us,Device_us,Status"
        for (i = 0; i < 100; i++) {
            printf "%d.0,Write,4096,Tier-2,k%d,Prefill,%d,u,batch,user,1,,,%d.0,,%d.0,%.3f,%.3f,ok\n", i, i, i, i, i, w + 1000, w
            printf "%d.0,Read,4096,Tier-2,k%d,Decode,%d,u,batch,user,1,,,%d.0,,%d.0,%.3f,%.3f,ok\n", i, i, i, i, i, r + 1000, r
            printf "%d.0,Write,4096,Tier-1,k%d,Evict,%d,u,batch,evict,1,,,%d.0,,%d.0,%.3f,,ok\n", i, i, i, i, i, c
            printf "%d.0,Generate,0,,,,%d,u,batch,user,7,,,%d.0,,%d.0,0,,ok\n", i, i, i, i
        }
        for (i = 100; i < 1000; i++)
            if (i < hits) printf "100.0,Read,4096,Tier-0,x%d,Decode,%d,u,batch,user,1,,,100.0,,100.0,1,,ok\n", i, i
            else printf "100.0,Miss,0,,x%d,,%d,u,batch,user,,,,100.0,,100.0,0,,ok\n", i, i
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
like 'is a PASS' "$(cat "$TMP/stdout")" '^Profile latency: PASS$'
for c in storage_write_device_p95 storage_read_device_p95 cpu_p95 hit_rate; do is "$c passes" "$(verdict $c)" PASS; done
like 'device and service P95 are both there' "$(cat "$TMP/stdout")" '^  storage_read_device_p95 +< +200 ms +200 ms +201 ms  PASS \*$'
like 'the last words say what it meets, and on how few samples' "$(answer)" \
    '^Verdict: PASS: the run meets all 4 criteria of profile latency\. storage_write_device_p95 rests on 100 samples\. .*cpu_p95 rests on 100 samples\.$'

# outside CRITERION ARGS...: one value at its limit, which is not within it.
outside() {
    criterion=$1
    shift
    result outside "$@"
    judged "$criterion at its limit" 1 outside
    like 'is a FAIL' "$(cat "$TMP/stdout")" '^Profile latency: FAIL$'
    is 'of this criterion' "$(verdict "$criterion")" FAIL
    is 'alone' "$(grep -Ec '  PASS( \*)?$' "$TMP/stdout")" 3
    like 'which the last words name' "$(answer)" "^Verdict: FAIL: the run misses 1 of 4 criteria of profile latency: $criterion is [0-9.]+ (ms|%), not [<>] [0-9.]+ (ms|%)\\."
}
outside storage_write_device_p95 500000 1000 1000 301
outside storage_read_device_p95 1000 200000 1000 301
outside cpu_p95 1000 1000 150000 301
outside hit_rate 1000 1000 1000 300
exits 'without --check' 0 "$kvstat" --profile latency "$TMP/outside"

# P95 is the value of rank 95 of 100: five slow reads do not count, six do.
slow() { awk -F, -v OFS=, -v n="$1" '$2 == "Read" && $4 == "Tier-2" && ++k <= n { $18 = "300000"; $17 = "300001" } { print }' "$TMP/inside"; }
slow 5 >"$TMP/five" && slow 6 >"$TMP/six"
judged 'five slow reads of 100' 0 five
judged 'six' 1 six

# ---- limits from the configuration ----

limits() { printf 'storage_health:\n  write_device_p95_ms: %s\n  read_device_p95_ms: %s\n  cpu_p95_ms: %s\n  hit_rate: %s\n' "$@" >"$TMP/limits.yaml"; }
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
is 'say so' "$(sed -n 's/^ *"samples": //p' "$TMP/stdout" | tr '\n' ' ')" '5, 5, 5, null, '
{ head -n 1 "$TMP/small" && for _ in 1 2 3; do sed 1d "$TMP/small"; done; } >"$TMP/many"
judged '300 samples' 0 many
is 'are enough' "$(answer)" 'Verdict: PASS: the run meets all 4 criteria of profile latency.'
echo '{"valid": false, "why_invalid": ["the tool was late"]}' >"$TMP/invalid.json"
judged 'a run that is not valid' 1 many --run "$TMP/invalid.json"
like 'has met its limits' "$(cat "$TMP/stdout")" '^Profile latency: PASS - of a run that is NOT VALID$'
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
like 'is no PASS' "$(cat "$TMP/stdout")" '^Profile latency: NOT KNOWN$'
like 'and why' "$(answer)" '^Verdict: NOT KNOWN: the file does not carry what profile latency judges by: storage_write_device_p95; storage_read_device_p95\.'
exits 'JSON' 1 "$kvstat" --profile latency --check --json "$TMP/no_device"
like 'says null' "$(cat "$TMP/stdout")" '"status": null'
exits 'a trace' 1 "$kvstat" --profile throughput --check "$DATA/mlperf_trace_first400.csv.zst"
like 'has no verdict' "$(cat "$TMP/stdout")" '^Profile throughput: NOT KNOWN$'

# ---- throughput ----

exits 'throughput' 0 "$kvstat" --profile throughput --check "$TMP/inside"
like 'passes' "$(cat "$TMP/stdout")" '^  storage_read_bandwidth .*  PASS$'
is 'in words' "$(answer)" 'Verdict: PASS: the run meets all 2 criteria of profile throughput.'
like 'with its figure of merit' "$(cat "$TMP/stdout")" '^  figure of merit: [0-9.]+ generated tokens/s'
for op in Read Write; do
    sed "/,$op,4096,Tier-2,/s/,ok\$/,EIO/" "$TMP/inside" >"$TMP/failed"
    exits "every $op failed" 1 "$kvstat" --profile throughput --check "$TMP/failed"
    is 'is no bandwidth' "$(sed -n 's/^  \(storage_[a-z]*_bandwidth\) .*  FAIL$/\1/p' "$TMP/stdout")" \
        "storage_$(echo $op | tr RW rw)_bandwidth"
done
grep -v ',Read,4096,Tier-2,' "$TMP/inside" >"$TMP/no_reads"
exits 'no reads' 0 "$kvstat" --profile throughput --check "$TMP/no_reads"
unlike 'are no criterion' "$(cat "$TMP/stdout")" 'storage_read_bandwidth'

# ---- JSON, several files, refusals ----

exits 'JSON' 1 "$kvstat" --json --profile latency --check "$TMP/outside"
like 'status' "$(cat "$TMP/stdout")" '"status": "FAIL"'
like 'profile' "$(cat "$TMP/stdout")" '"profile": "latency"'
is 'criteria' "$(grep -c '"passed": true' "$TMP/stdout") $(grep -c '"passed": false' "$TMP/stdout")" '3 1'
exits 'one of two fails' 1 "$kvstat" --profile latency --check "$TMP/inside" "$TMP/outside"
is 'which is named' "$(answer | sed "s|$TMP/||")" 'Verdict: 1 of 2 runs passes profile latency; not so outside.'
exits 'none of two' 0 "$kvstat" --profile latency --check "$TMP/inside" "$TMP/small"
exits '--check alone' 2 "$kvstat" --check "$TMP/inside"
like 'is refused' "$(cat "$TMP/stderr")" '^kvstat: --check: needs --profile'
done_testing
