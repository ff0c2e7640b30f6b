#!/bin/sh
# report.t - the figures of a replay of twelve requests equal what is added up on paper, in text and JSON,
# with any number of threads, from a file, a pipe or several files.
#
# tests/data/kvstat_dozen.csv: request i (0..11) arrives at 100 i ms, waits 1 ms (request 0: 11 ms), writes 1 MiB to
# Tier-0 in 2 ms (1.5 on the device; 100 tokens), reads 2 MiB of Tier-2 from 2 ms after its start on, in 10 ms
# (even i, interactive; 6 on the device) or 20 ms (odd i, batch; 15) (200 tokens), and then generates 10 tokens in 30 ms.
# Requests 1, 2 and 3 miss a multi-turn lookup first; reads from 4 on are multi-turn. Request 5 moves 1 MiB from
# Tier-0 to Tier-1 (1 ms each), which is deleted later. One 2 MiB object was written before the start.
#
# End to end: 43 ms for five interactive requests, 53 for the first and for six batch ones: 586 ms in all.
# Storage: 12 ms for six, 22 for five, 24 for request 5: 206 ms. Bugs looked like these figures being others.
. "$(dirname "$0")/../../lib.sh"
kvstat=$BIN/kvstat
J=$TMP/json
dozen=tests/data/kvstat_dozen.csv
cd "$TOP" || exit 1

# report FILE: the JSON without what tells the host and the time.
report() { sed '/"program":/,/"started":/d' "$1"; }

exits 'text' 0 "$kvstat" "$dozen"
cp "$TMP/stdout" "$TMP/text"
ok 'the text is as expected' diff -u tests/golden/kvstat_dozen.txt "$TMP/text"
is 'what matters most comes first' "$(grep -oE '^(Bottleneck|Throughput|Requests|Tiers and operations|Service time|Cache hits|Phases)( |$)' "$TMP/text" | tr -d ' ' | tr '\n' ' ')" \
    'Bottleneck Throughput Requests Tiersandoperations Servicetime Cachehits Phases Servicetime '
is 'every section fits a screen' "$(awk 'BEGIN { RS = "" } { if (split($0, line, "\n") > 24) print }' "$TMP/text")" ''
is 'lines fit 110 columns' "$(awk 'length > 110' "$TMP/text")" ''
exits 'JSON' 0 "$kvstat" --json "$dozen"
cp "$TMP/stdout" "$TMP/json"
report "$TMP/json" >"$TMP/report"
ok 'the JSON is as expected' diff -u tests/golden/kvstat_dozen.json "$TMP/report"

# ---- on paper ----

is 'rows: 12 x 3, 3 misses, 2 of the move, 1 deletion, 1 before the start' "$(value "$J" rows)" 43
is 'elapsed: 1.1 s + 53 ms' "$(value "$J" elapsed_s)" 1.153
is 'tokens generated' "$(value "$J" generated_tokens)" 120
like '120 tokens / 1.153 s' "$(value "$J" generated_tokens_per_s wall)" '^104\.0763'
like '120 tokens / 0.206 s' "$(value "$J" generated_tokens_per_s storage)" '^582\.5242'
is 'storage time of the requests' "$(value "$J" busy_s)" 0.206
like '12 x 200 tokens / 1.153 s' "$(value "$J" tokens_per_s tier2)" '^2081\.5264'
is '12 x 2 MiB decoded' "$(value "$J" decode_bytes_read)" 25165824
like '(25 + 13) MiB / 1.153 s' "$(value "$J" bytes_per_s)" '^34558445\.7'
like '26 reads and writes / 1.153 s' "$(value "$J" ops_per_s)" '^22\.5498'
is 'the bottleneck' "$(value "$J" what)" '"generation"'
like '360 / 586' "$(value "$J" share)" '^0\.614334'
like 'queue 22 / 586' "$(value "$J" queue shares)" '^0\.037542'
like 'GPU 25 / 586' "$(value "$J" gpu shares)" '^0\.042662'
like 'CPU 1 / 586' "$(value "$J" cpu shares)" '^0\.001706'
like 'storage host 54 / 586' "$(value "$J" storage_host shares)" '^0\.092150'
like 'storage device 126 / 586' "$(value "$J" storage_device shares)" '^0\.215017'
is 'all lookups' "$(value "$J" lookups all)" 15
is 'hit rate 12 / 15' "$(value "$J" hit_rate cache)" 0.8
is 'multi-turn hits' "$(value "$J" hits multi_turn)" 8
is 'multi-turn misses' "$(value "$J" misses multi_turn)" 3
is 'hit rate of a class without lookups is not known' "$(value "$J" hit_rate rag)" null
like 'bytes read / written: 25 / 13' "$(value "$J" read_write_ratio)" '^1\.92307'
is 'tokens read / generated: 2400 / 120' "$(value "$J" read_amplification)" 20
like 'end to end 586 / 12 ms' "$(value "$J" mean end_to_end_ms)" '^48\.8333'
is 'queue, longest' "$(value "$J" max queue_ms)" 11
like 'storage 206 / 12 ms' "$(value "$J" mean storage_ms)" '^17\.1666'
is 'generation' "$(value "$J" min generation_ms)" 30
like 'interactive: 5 of 6 within 50 ms' "$(value "$J" compliance interactive)" '^0\.8333'
is 'is not met' "$(value "$J" met interactive)" false
is 'batch: all within 1 s' "$(value "$J" compliance batch)" 1
is 'is met' "$(value "$J" met batch)" true
is 'Tier-0 peak' "$(value "$J" peak_bytes cache)" 11534336
is 'Tier-1 is empty again' "$(sed -n '/"tiers": \[/,$p' "$TMP/json" | sed -n 's/.*"final_bytes": \([0-9]*\),*/\1/p' | sed -n 2p)" 0
# 24 MiB between 13 ms (request 0 starts to read) and 1,123 ms (request 11 has read).
like 'GiB/s of Tier-2 reads' "$(sed -n '/"tier": "Tier-2"/,$p' "$TMP/json" | sed -n 's/.*"gib_per_s": \(.*\),/\1/p' | head -n 1)" '^0\.02111'

# ---- the same by other ways ----

same() { report "$TMP/stdout" >"$TMP/other" && sed 's/"tests.data.kvstat_dozen[^"]*"/"X"/; s/"-"/"X"/' "$TMP/other" >"$TMP/other.x" &&
    sed 's/"tests.data.kvstat_dozen[^"]*"/"X"/' "$TMP/report" | cmp - "$TMP/other.x"; }
for threads in 1 2 7; do
    exits "$threads threads" 0 "$kvstat" --json --threads "$threads" "$dozen"
    ok 'give the same report' same
done
piped() { sed "" "$dozen" | "$kvstat" --json; }
exits 'from a pipe' 0 piped
ok 'the same' same
zstd -q -c "$dozen" >"$TMP/dozen.zst"
compressed() { "$kvstat" --json - <"$TMP/dozen.zst"; }
exits 'compressed, whatever its name' 0 compressed
ok 'the same' same
exits '-o' 0 "$kvstat" -o "$TMP/out" "$dozen"
ok 'writes the same text' cmp "$TMP/out" "$TMP/text"

# CRLF, quotes, other columns, another order.
awk -F, -v OFS=, '{ $5 = "\"" $5 "\""; print "\"a,b\"", $19, $18, $17, $16, $15, $14, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 "\r" }' \
    "$dozen" >"$TMP/order.csv"
sed '1s/"a,b"/Other/; 1s/"Key"/Key/' "$TMP/order.csv" |
    awk -F, -v OFS=, '{ sub(/\r$/, ""); other = $1; n = 2; if (NR > 1) { n = 3; other = $1 "," $2 }
        line = other; for (i = n + 6; i <= NF; i++) line = line OFS $i
        for (i = n + 5; i >= n; i--) line = line OFS $i
        print line "\r" }' >"$TMP/foreign.csv"
exits 'foreign CSV' 0 "$kvstat" --json "$TMP/foreign.csv"
sed "s|$TMP/foreign.csv|X|" "$TMP/stdout" >"$TMP/x" && cp "$TMP/x" "$TMP/stdout"
ok 'reads the same' same

# ---- several files ----

exits 'two files' 0 "$kvstat" "$dozen" "$dozen"
like 'are two trials' "$(cat "$TMP/stdout")" '^2 trials$'
exits 'as JSON' 0 "$kvstat" --json "$dozen" "$dozen"
is 'with two reports' "$(grep -c '"kind": "result"' "$TMP/stdout")" 2
exits 'pooled' 0 "$kvstat" --json --merge "$dozen" "$dozen"
cp "$TMP/stdout" "$TMP/json"
is 'rows add up' "$(value "$J" rows)" 86
is 'elapsed times add up' "$(value "$J" elapsed_s)" 2.306
like 'so rates are those of one' "$(value "$J" generated_tokens_per_s wall)" '^104\.0763'
is 'requests add up, though numbers are the same' "$(value "$J" count requests)" 24
is 'peaks do not' "$(value "$J" peak_bytes cache)" 11534336
like 'nor does bandwidth' "$(sed -n '/"tier": "Tier-2"/,$p' "$TMP/json" | sed -n 's/.*"gib_per_s": \(.*\),/\1/p' | head -n 1)" '^0\.02111'

# ---- groups ----

exits 'by user and operation' 0 "$kvstat" --json --by user,op "$dozen"
cp "$TMP/stdout" "$TMP/json"
is '3 users x 3 operations, misses of two, moves and deletion' "$(grep -c '"by":' "$TMP/json")" 13
exits 'by class' 0 "$kvstat" --by class,qos "$dozen"
like 'Generate and Miss rows are counted' "$(cat "$TMP/stdout")" '^  interactive user +14 '
like 'but not as latencies of operations' "$(cat "$TMP/stdout")" '^  interactive user +8 +4\.00 ms '
like 'in the text' "$(cat "$TMP/stdout")" '^  multi_turn interactive|^  interactive multi_turn'

# A user's name goes to the terminal, too.
awk -F, -v OFS=, 'NR == 3 { $8 = "a\033[31mb" } { print }' "$dozen" >"$TMP/steer.csv"
cut -d, -f 1-18 "$dozen" >"$TMP/no_status"
exits 'a result without the column Status' 0 "$kvstat" --json "$TMP/no_status"
like 'does not know it' "$(cat "$TMP/stdout")" '^  "status": null,$'

# Many parts of a request's time: those beside the largest go to a line of their own.
{
    head -n 1 "$dozen"
    for i in 1 2 3 4; do
        echo "0,Read,4096,Tier-0,a$i,Decode,$i,u,batch,user,1,0,,0,0,2,100000,90000,ok"
        echo "0,Read,4096,Tier-1,a$i,Decode,$i,u,batch,user,1,0,,0,0,2.1,120000,90000,ok"
        echo "0,Read,4096,Tier-2,a$i,Decode,$i,u,batch,user,1,0,,0,0,2.3,300000,190000,ok"
        echo "0,Generate,0,,,,$i,u,batch,user,1,0,,0,0,3,400000,,ok"
    done
} >"$TMP/parts"
exits 'many shares' 0 "$kvstat" "$TMP/parts"
is 'lines fit 110 columns' "$(awk 'length > 110' "$TMP/stdout")" ''
like 'the largest first' "$(cat "$TMP/stdout")" '^Bottleneck   waiting in the queue: 58\.8 % of end-to-end time$'
like 'the others below' "$(cat "$TMP/stdout")" '^             \(GPU 2\.9, CPU 3\.5, host 3\.2, device 5\.6, generation 11\.8, waits between 14\.1\)$'

# Wide, combining and accented characters fill as many columns as they have on a terminal; a long name is cut between
# characters.
long=a$(printf '%200s' '' | sed 's/ /\xe7\x94\xa8\xe6\x88\xb7/g')
awk -F, -v OFS=, -v long="$long" 'NR > 1 { $8 = NR % 4 == 0 ? "\347\224\250\346\210\267" : NR % 4 == 1 ? "e\314\201" : NR % 4 == 2 ? "\303\251" : "plain" } { print }' "$dozen" >"$TMP/wide.csv"
exits 'names that are not ASCII' 0 "$kvstat" --by user "$TMP/wide.csv"
is 'keep the columns in line' "$(sed -n '/^Groups of/,/^$/p' "$TMP/stdout" | python3 -c '
import sys, unicodedata
width = lambda s: sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
print(*{width(line.rstrip("\n")) for line in open(0, encoding="utf-8") if line.startswith("  ")})')" \
    "$(sed -n '/^Groups of/,/^$/s/^\(  group .*\)/\1/p' "$TMP/stdout" | awk '{ print length }')"
awk -F, -v OFS=, -v long="$long" 'NR > 1 { $8 = long } { print }' "$dozen" >"$TMP/wide.csv"
for form in '--by user' '--by user --json'; do
    # shellcheck disable=SC2086 # words
    exits "a long one, $form" 0 "$kvstat" $form "$TMP/wide.csv"
    not_ok 'is not cut within a character' grep -q '户?\|a?' "$TMP/stdout"
    ok 'and stays UTF-8' iconv -f UTF-8 -t UTF-16 "$TMP/stdout"
done
exits 'a name with control characters' 0 "$kvstat" --by user "$TMP/steer.csv"
like 'is shown without' "$(cat "$TMP/stdout")" '^  a\?\[31mb '

# ---- targets and run ----

printf 'qos_profiles:\n  interactive:\n    target_latency_p95_ms: 60\n' >"$TMP/conf.yaml"
exits '--config' 0 "$kvstat" --config "$TMP/conf.yaml" --json "$dozen"
cp "$TMP/stdout" "$TMP/json"
is 'gives the target' "$(value "$J" target_p95_ms interactive)" 60
is 'which is met' "$(value "$J" met interactive)" true
cat >"$TMP/run.json" <<'EOF'
{"program": "kvreplay", "valid": false, "why_invalid": ["late", "lag"], "seed": 7,
 "model": {"name": "tiny-1b", "bytes_per_token": 24576}, "options": {"num-users": 50},
 "tiers": [{"tier": "Tier-0", "simulated": true}, {"tier": "Tier-2", "simulated": false}]}
EOF
exits '--run' 0 "$kvstat" --run "$TMP/run.json" "$dozen"
like 'what was simulated is marked' "$(cat "$TMP/stdout")" '^Tiers +Tier-0 SIMULATED$'
like 'what is known is told' "$(cat "$TMP/stdout")" '^Run +tiny-1b, 24576 bytes a token; 50 users; seed 7$'
like 'a run that is not valid too' "$(cat "$TMP/stdout")" '^Validity +NOT VALID: late; lag'
sed 's/"seed": 7/"seed": 18446744073709551614/; s/tiny-1b/tiny\\u001b[31m/' "$TMP/run.json" >"$TMP/odd.json"
exits 'a great seed and an odd name' 0 "$kvstat" --run "$TMP/odd.json" "$dozen"
like 'are told, and no terminal is steered' "$(cat "$TMP/stdout")" '^Run +tiny\?\[31m, .*; seed 18446744073709551614$'

# What a replay's summary tells of the device and of --autoscale.
cat >"$TMP/run.json" <<'EOF'
{"program": "kvreplay", "valid": false, "why_invalid": ["late"],
 "kernel": {"device_read_bytes": 3145728, "device_write_bytes": 1048576, "page_cache_resident_share": 0.125},
 "autoscaling": {"mode": "qos", "users": 1200, "throughput_tokens_per_s": 5000.4, "reason": "limit of Tier-2 reads"}}
EOF
exits 'counters of the kernel, autoscaling' 0 "$kvstat" --run "$TMP/run.json" --profile throughput "$dozen"
like 'the device' "$(cat "$TMP/stdout")" '^Device +3\.00 MiB read and 1\.00 MiB written, .*; page cache holds 12\.5 % of the objects$'
like 'how many users' "$(cat "$TMP/stdout")" '^Autoscaling +qos: 1,200 users, 5,000 tokens/s; limit of Tier-2 reads$'
like 'a verdict on an invalid run says so' "$(cat "$TMP/stdout")" '^Profile throughput: PASS - of a run that is NOT VALID$'
exits 'as JSON' 0 "$kvstat" --run "$TMP/run.json" --json "$dozen"
cp "$TMP/stdout" "$TMP/json"
is 'members of run.kernel' "$(value "$J" device_read_bytes kernel) $(value "$J" device_write_bytes kernel) $(value "$J" page_cache_resident_share kernel)" '3145728 1048576 0.125'
is 'members of run.autoscaling' "$(value "$J" mode autoscaling) $(value "$J" users autoscaling) $(value "$J" throughput_tokens_per_s autoscaling)" '"qos" 1200 5000.4'
echo '{"autoscaling": {"mode": "capacity", "users": null, "throughput_tokens_per_s": null, "reason": "no trace"}}' >"$TMP/run.json"
exits 'a replay that found no users' 0 "$kvstat" --run "$TMP/run.json" --json "$dozen"
cp "$TMP/stdout" "$TMP/json"
is 'has null for them' "$(value "$J" users autoscaling) $(value "$J" throughput_tokens_per_s autoscaling) $(value "$J" kernel run)" 'null null null'

# ---- warm-up ----

# Requests 0, 1 and 2 start before 250 ms; request 2 still generates then.
exits 'the first 250 ms left out' 0 "$kvstat" --json --warmup 250ms "$dozen"
cp "$TMP/stdout" "$TMP/json"
is 'rows are counted' "$(value "$J" rows) $(value "$J" ok)" '43 43'
is 'those left out too: 9 and the two misses' "$(value "$J" seconds warmup) $(value "$J" rows warmup)" '0.25 11'
is 'the time begins behind them' "$(value "$J" elapsed_s)" 0.903
is 'nine requests' "$(value "$J" count requests)" 9
is 'and what they generated' "$(value "$J" generated_tokens)" 90
is 'nine reads of Tier-2' "$(value "$J" decode_bytes_read)" 18874368
is 'contents are those of all rows' "$(value "$J" peak_bytes cache)" 11534336
exits 'as text' 0 "$kvstat" --warmup 250ms "$dozen"
like 'says so' "$(cat "$TMP/stdout")" '^Warm-up +11 rows in the first 250 ms; not counted below$'
echo '{"warmup": {"seconds": 0.25, "rows": 11}}' >"$TMP/run.json"
exits 'as --run tells' 0 "$kvstat" --json --run "$TMP/run.json" "$dozen"
cp "$TMP/stdout" "$TMP/json"
is 'the same requests' "$(value "$J" count requests)" 9
exits '--warmup 0' 0 "$kvstat" --json --warmup 0 --run "$TMP/run.json" "$dozen"
cp "$TMP/stdout" "$TMP/json"
is 'overrides it' "$(value "$J" count requests)" 12
exits 'a trace' 2 "$kvstat" --warmup 1s "$DATA/mlperf_trace_first400.csv.zst"
like 'has none' "$(cat "$TMP/stderr")" '^kvstat: --warmup: .*is a trace'
exits 'a replay that was nothing but warm-up' 0 "$BIN/kvreplay" --null --warmup 1h -o "$TMP/warm.csv.zst" "$DATA/mlperf_trace_first400.csv.zst"
exits 'is known by its summary' 0 "$kvstat" --json "$TMP/warm.csv.zst"
cp "$TMP/stdout" "$TMP/json"
is 'all of it is left out' "$(value "$J" seconds warmup) $(value "$J" rows warmup) $(value "$J" decode_bytes_read)" "3600 $(value "$J" rows) 0"
piped_warm() { dd if="$TMP/warm.csv.zst" 2>"$TMP/dd" | "$kvstat"; }
exits 'from a pipe it is told too late' 0 piped_warm
like 'and that is said' "$(cat "$TMP/stderr")" '^kvstat: -: its warm-up of 3600 s is counted'

# ---- failures ----

# The read of request 3 (batch) fails early, that of request 5 is corrupt, that of 7 finds nothing.
awk -F, -v OFS=, '$2 == "Read" && $6 == "Decode" && $7 == 3 { $17 = 5; $19 = "EIO" }
    $2 == "Read" && $6 == "Decode" && $7 == 5 { $19 = "corrupt" }
    $2 == "Read" && $6 == "Decode" && $7 == 7 { $19 = "absent" } { print }' "$dozen" >"$TMP/failed.csv"
exits 'requests of which a row failed' 0 "$kvstat" --json "$TMP/failed.csv"
cp "$TMP/stdout" "$TMP/json"
is 'two, as a miss is no failure' "$(value "$J" failed requests)" 2
is 'are requests' "$(value "$J" count requests)" 12
is 'in no time of requests' "$(value "$J" count end_to_end_ms)" 10
like 'and within no target' "$(value "$J" compliance batch)" '^0\.6666'
exits 'as text' 0 "$kvstat" "$TMP/failed.csv"
like 'are told' "$(cat "$TMP/stdout")" '^  2 of 12 requests FAILED'
like 'and count in their class' "$(cat "$TMP/stdout")" '^  batch +6 .* 66\.67 %  NOT MET$'
sed '2,$s/,ok$/,EIO/' "$dozen" >"$TMP/all.csv"
exits 'nothing but failures' 0 "$kvstat" "$TMP/all.csv"
like 'has its section of requests' "$(cat "$TMP/stdout")" '^  12 of 12 requests FAILED'
unlike 'no bottleneck, no rates, no tiers that hold nothing' "$(cat "$TMP/stdout")" '^(Bottleneck|Throughput|Tier contents)'
head -n 2 "$dozen" >"$TMP/one.csv"
exits 'one row' 0 "$kvstat" "$TMP/one.csv"
like 'is one row' "$(cat "$TMP/stdout")" ': replay results, 1 row over '

# ---- the benchmark's own trace ----

trace=tests/data/mlperf_trace_first400.csv.zst
exits "the benchmark's trace" 0 "$kvstat" --json "$trace"
cp "$TMP/stdout" "$TMP/json"
zstd -dcq "$trace" | awk -F, '$2 == "Read" { n++; b += $3 } END { printf "%d %.0f\n", n, b }' >"$TMP/reads"
is 'reads and their bytes' "$(value "$J" read_ops) $(value "$J" read_bytes)" "$(cat "$TMP/reads")"
is 'it has no requests' "$(value "$J" requests)" null
is 'and no known hit rate' "$(value "$J" hit_rate)" null
is 'no latency' "$(value "$J" service_us)" null
exits 'as text' 0 "$kvstat" "$trace"
unlike 'no table of latencies' "$(cat "$TMP/stdout")" 'p99'
done_testing
