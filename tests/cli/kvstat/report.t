#!/bin/sh
# report.t - the figures of a replay of twelve requests equal what is added up on paper, in text and JSON,
# with any number of threads, from a file, a pipe or several files.
#
# tests/data/kvstat_dozen.csv: request i (0..11) arrives at 100 i ms, waits 1 ms (request 0: 11 ms), writes 1 MiB to
# Tier-0 in 2 ms (1.5 on the device; 100 tokens), reads 2 MiB of Tier-2 from 2 ms after its start on, in 10 ms
# (even i, interactive; 6 on the device) or 20 ms (odd i, batch; 15) (200 tokens), and generates 10 tokens in 30 ms.
# Requests 1, 2 and 3 miss a multi-turn lookup first; reads from 4 on are multi-turn. Request 5 moves 1 MiB from
# Tier-0 to Tier-1 (1 ms each), which is deleted later. One 2 MiB object was written before the start.
#
# End to end: 43 ms for five interactive requests, 53 for the first and for six batch ones: 586 ms in all.
# Storage: 12 ms for six, 22 for five, 24 for request 5, of which 2 are a demotion: 206 ms. Bugs looked like these figures being others.
# builds: plain address (threads of the reader: interval.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=tests/data/kvstat_dozen.csv
cd "$TOP" || exit 1

# report FILE: the JSON without the lines about the host and the time.
report() { sed '/"program":/,/"started":/d' "$1"; }

exits 'text' 0 "$kvstat" --full "$dozen"
cp "$TMP/stdout" "$TMP/text"
ok 'the text is as expected' diff -u tests/golden/kvstat_dozen.txt "$TMP/text"
sections='Bottleneck|Throughput|Requests|Tiers and operations|Service time|Cache hits|Phases'
is 'what matters most comes first' "$(grep -oE "^($sections)( |$)" "$TMP/text" | tr -d ' ' | tr '\n' ' ')" \
    'Bottleneck Throughput Requests Tiersandoperations Servicetime Cachehits Phases Servicetime '
is 'every section fits a screen' "$(awk 'BEGIN { RS = "" } { if (split($0, line, "\n") > 24) print }' "$TMP/text")" ''
is 'lines fit 100 columns' "$(awk 'length > 100' "$TMP/text")" ''
not_ok 'with a CPU tier, tokens by storage time do not mislead' grep -q mislead "$TMP/text"
awk -F , '$4 != "Tier-1"' "$dozen" >"$TMP/no-cpu.csv"
exits 'no CPU tier' 0 "$kvstat" --full "$TMP/no-cpu.csv"
stdout_like 'tokens by storage time mislead' '^  No CPU tier: tokens by storage time mislead, '
is 'below decode bytes' "$(grep -A 2 '^  decode bytes' "$TMP/stdout" | tail -1)" '  Compare decode bytes.'
is 'and those lines fit, too' "$(sed "s|^$TMP/||" "$TMP/stdout" | awk 'length > 100')" ''
exits 'JSON' 0 "$kvstat" --json "$dozen"
cp "$TMP/stdout" "$TMP/json"
report "$TMP/json" >"$TMP/report"
ok 'the JSON is as expected' diff -u tests/golden/kvstat_dozen.json "$TMP/report"

# ---- a request that the end of the run cut off ----

awk -F , -v OFS=, '!($7 == 11 && $2 == "Generate")' "$dozen" >"$TMP/cut-off.csv"
exits 'cut off' 0 "$kvstat" --full "$TMP/cut-off.csv"
stdout_like 'it is said that the times have it' '^  1 request was cut off by the end of the run: counted up to the last row[.]$'
exits 'cut off, on one screen' 0 "$kvstat" "$TMP/cut-off.csv"
stdout_like 'also there' '1 request cut$'
awk -F , '$2 != "Generate"' "$dozen" >"$TMP/none.csv"
is 'where no request generates, none is cut off' "$("$kvstat" --json "$TMP/none.csv" | json /dev/stdin .requests.cut_off)" 0

# ---- on paper ----

# Request 5 has operations of 54 ms in 52, which f = 52 / 54 fits in. The time in the queue, 22 ms of 586, goes to what
# held the requests.
# The rate of Tier-2: 24 MiB between 13 ms (request 0 starts to read) and 1,123 ms (request 11 has read).
json_like "$TMP/json" <<'END'
rows: 12 x 3, 3 misses, 2 of the move, 1 deletion, 1 before the start | .rows | 43
elapsed: 1.1 s + 53 ms             | .elapsed_s | 1.153
tokens generated                   | .throughput.wall.generated_tokens | 120
120 tokens / 1.153 s               | .throughput.wall.generated_tokens_per_s | 104[.]0763.*
120 tokens / 0.204 s               | .throughput.storage.generated_tokens_per_s | 588[.]2352.*
storage time without the demotion  | .throughput.storage.busy_s | 0.204
12 x 200 tokens / 1.153 s          | .throughput.tier2.tokens_per_s | 2081[.]5264.*
12 x 2 MiB decoded                 | .throughput.decode_bytes_read | 25165824
(25 + 13) MiB / 1.153 s            | .throughput.wall.bytes_per_s | 34558445[.]7.*
26 reads and writes / 1.153 s      | .throughput.wall.ops_per_s | 22[.]5498.*
the bottleneck                     | .bottleneck.what | generation
(330 + 30 f) / 564                 | .bottleneck.share | 0[.]636327.*
queue 22 / 586                     | .bottleneck.shares.queue | 0[.]037542.*
generation (330 + 30 f) / 586      | .bottleneck.shares.generation | 0[.]612438.*
GPU (22 + 3 f) / 586               | .bottleneck.shares.gpu | 0[.]042472.*
CPU f / 586                        | .bottleneck.shares.cpu | 0[.]001643.*
storage I/O (111 + 15 f) / 586     | .bottleneck.shares.storage_io | 0[.]214069.*
not told apart (49 + 5 f) / 586    | .bottleneck.shares.storage_unknown | 0[.]091834.*
slots are not known                | .bottleneck.shares.storage_slot | null
nothing between                    | .bottleneck.shares.rows | 0
all lookups                        | .cache.lookups.all.lookups | 15
hit rate 12 / 15                   | .cache.lookups.all.hit_rate | 0.8
multi-turn hits                    | .cache.lookups.multi_turn.hits | 8
multi-turn misses                  | .cache.lookups.multi_turn.misses | 3
hit rate of a class without lookups is not known | .cache.lookups.rag.hit_rate | null
bytes read / written: 25 / 13      | .cache.read_write_ratio | 1[.]92307.*
tokens read / generated: 2400 / 120 | .cache.read_amplification | 20
end to end 586 / 12 ms             | .requests.end_to_end_ms.mean | 48[.]8333.*
queue, longest                     | .requests.queue_ms.max | 11
storage 206 / 12 ms                | .requests.storage_ms.mean | 17[.]1666.*
generation                         | .requests.generation_ms.min | 30
interactive: 5 of 6 within 50 ms   | .requests.by_qos.interactive.sla.compliance | 0[.]8333.*
is not met                         | .requests.by_qos.interactive.sla.met | false
batch: all within 1 s              | .requests.by_qos.batch.sla.compliance | 1
is met                             | .requests.by_qos.batch.sla.met | true
Tier-0 peak                        | .cache | tier("Tier-0").peak_bytes | 11534336
Tier-1 is empty again              | .cache | tier("Tier-1").final_bytes | 0
GiB/s of Tier-2 reads              | tier("Tier-2").read.gib_per_s | 0[.]02111.*
over the elapsed time: 1.153 s      | tier("Tier-2").read.gib_per_elapsed_s | 0[.]02032.*
END

# ---- the same by other ways ----

# same: the report in $TMP/stdout is that of the file, but for the name of the file.
unnamed() { sed 's/"tests.data.kvstat_dozen[^"]*"/"X"/; s/"-"/"X"/'; }
same() {
    unnamed <"$TMP/report" >"$TMP/report.unnamed"
    report "$TMP/stdout" | unnamed | cmp - "$TMP/report.unnamed"
}
for threads in 1 2 7; do
    exits "$threads threads" 0 "$kvstat" --json --config threads="$threads" "$dozen"
    ok 'give the same report' same
done
piped() { sed "" "$dozen" | "$kvstat" --json; }
exits 'from a pipe' 0 piped
ok 'the same' same
zstd -q -c "$dozen" >"$TMP/dozen.zst"
compressed() { "$kvstat" --json - <"$TMP/dozen.zst"; }
exits 'compressed, whatever its name' 0 compressed
ok 'the same' same
exits '-o' 0 "$kvstat" --full -o "$TMP/out" "$dozen"
ok 'writes the same text' cmp "$TMP/out" "$TMP/text"

# CRLF, quotes, a column of another program in front, the six result columns at the end in the other order.
awk -F, '{
    line = NR == 1 ? "Other" : "\"a,b\""
    if (NR > 1) $5 = "\"" $5 "\""
    for (i = 1; i <= 13; i++) line = line "," $i
    for (i = 19; i >= 14; i--) line = line "," $i
    print line "\r"
}' "$dozen" >"$TMP/foreign.csv"
exits 'foreign CSV' 0 "$kvstat" --json "$TMP/foreign.csv"
sed "s|$TMP/foreign.csv|X|" "$TMP/stdout" >"$TMP/x" && cp "$TMP/x" "$TMP/stdout"
ok 'reads the same' same

# ---- several files ----

exits 'two files' 0 "$kvstat" --full "$dozen" "$dozen"
stdout_like 'are two trials' '^2 trials$'
exits 'as JSON' 0 "$kvstat" --json "$dozen" "$dozen"
is 'with two reports' "$(json "$TMP/stdout" '.reports[].kind')" 'result result'
exits 'pooled' 0 "$kvstat" --json --merge "$dozen" "$dozen"
json_like "$TMP/stdout" <<'END'
rows add up                      | .rows | 86
elapsed times add up             | .elapsed_s | 2.306
so rates are those of one        | .throughput.wall.generated_tokens_per_s | 104[.]0763.*
requests add up, though numbers are the same | .requests.count | 24
peaks do not                     | .cache | tier("Tier-0").peak_bytes | 11534336
nor does bandwidth               | tier("Tier-2").read.gib_per_s | 0[.]02111.*
END

# ---- groups ----

exits 'by user and operation' 0 "$kvstat" --json --by user,op "$dozen"
is '3 users x 3 operations, misses of two, moves and deletion' "$(json "$TMP/stdout" '.groups | length')" 13
exits 'by class' 0 "$kvstat" --full --by class,qos "$dozen"
stdout_like 'Generate and Miss rows are counted' '^  interactive user +14 '
stdout_like 'but not as latencies of operations' '^  interactive user +8 +4\.00 ms '
stdout_like 'in the text' '^  multi_turn interactive|^  interactive multi_turn'

# The name of a user with an escape sequence, which must not reach the terminal.
is 'the shares are all of the time' \
    "$(json "$TMP/json" '[.bottleneck.shares[]] | add | . > 0.999999 and . < 1.000001')" true
awk -F, -v OFS=, 'NR == 3 { $8 = "a\033[31mb" } { print }' "$dozen" >"$TMP/steer.csv"
cut -d, -f 1-18 "$dozen" >"$TMP/no_status"
exits 'a result without the column Status' 0 "$kvstat" --json "$TMP/no_status"
is 'does not know it' "$(json "$TMP/stdout" .status)" null

# Many parts of a request's time: all but the largest go to a line of their own.
{
    head -n 1 "$dozen"
    for i in 1 2 3 4; do
        echo "0,Read,4096,Tier-0,a$i,Decode,$i,u,batch,user,1,0,,0,0,2,100000,90000,ok"
        echo "0,Read,4096,Tier-1,a$i,Decode,$i,u,batch,user,1,0,,0,0,2.1,120000,90000,ok"
        echo "0,Read,4096,Tier-2,a$i,Decode,$i,u,batch,user,1,0,,0,0,2.3,300000,190000,ok"
        echo "0,Generate,0,,,,$i,u,batch,user,1,0,,0,0,3,400000,,ok"
    done
} >"$TMP/parts"
exits 'many shares' 0 "$kvstat" --full "$TMP/parts"
is 'lines fit 100 columns' "$(sed "s|^$TMP/||" "$TMP/stdout" | awk 'length > 100')" ''
stdout_like 'the largest first' \
    '^Bottleneck   none stands out; the largest: waiting for other operations and generation$'
stdout_like 'all below' \
    '^             \(queue 58\.8, generation 11\.8, GPU 2\.9, CPU 3\.5, I/O 5\.6, storage 3\.2, waits 14\.1\)$'

# Wide, combining and accented characters fill as many columns as they have on a terminal; a long name is cut between
# characters.
long=a$(printf '%200s' '' | sed 's/ /\xe7\x94\xa8\xe6\x88\xb7/g')
awk -F, -v OFS=, '
    BEGIN { user[0] = "\347\224\250\346\210\267"; user[1] = "e\314\201"; user[2] = "\303\251"; user[3] = "plain" }
    NR > 1 { $8 = user[NR % 4] }
    { print }' "$dozen" >"$TMP/wide.csv"
exits 'names that are not ASCII' 0 "$kvstat" --full --by user "$TMP/wide.csv"
is 'keep the columns in line' "$(sed -n '/^Groups of/,/^$/p' "$TMP/stdout" | python3 -c '
import sys, unicodedata
width = lambda s: sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
print(*{width(line.rstrip("\n")) for line in open(0, encoding="utf-8") if line.startswith("  ")})')" \
    "$(sed -n '/^Groups of/,/^$/s/^\(  group .*\)/\1/p' "$TMP/stdout" | awk '{ print length }')"
awk -F, -v OFS=, -v long="$long" 'NR > 1 { $8 = long } { print }' "$dozen" >"$TMP/wide.csv"
for form in '--by user' '--by user --json'; do
    with "$form" exits "a long one, $form" 0 "$kvstat" "$TMP/wide.csv"
    not_ok 'is not cut within a character' grep -q '户?\|a?' "$TMP/stdout"
    ok 'and stays UTF-8' iconv -f UTF-8 -t UTF-16 "$TMP/stdout"
done
exits 'a name with control characters' 0 "$kvstat" --full --by user "$TMP/steer.csv"
stdout_like 'is shown without' '^  a\?\[31mb '

# ---- targets and run ----

printf 'qos_profiles:\n  interactive:\n    target_latency_p95_ms: 60\n' >"$TMP/conf.yaml"
exits '--config' 0 "$kvstat" --config "$TMP/conf.yaml" --json "$dozen"
is 'gives the target, which is met' "$(json "$TMP/stdout" '.requests.by_qos.interactive.sla | .target_p95_ms, .met')" \
    '60 true'
cat >"$TMP/run.json" <<'EOF'
{"program": "kvreplay", "valid": false, "why_invalid": ["late", "lag"], "seed": 7,
 "model": {"name": "tiny-1b", "bytes_per_token": 24576}, "options": {"num-users": 50},
 "tiers": [{"tier": "Tier-0", "simulated": true}, {"tier": "Tier-2", "simulated": false}]}
EOF
exits '--run' 0 "$kvstat" --full --run "$TMP/run.json" "$dozen"
stdout_like 'what was simulated is marked' '^Tiers +Tier-0 SIMULATED$'
stdout_like 'what is known is told' '^Run +tiny-1b, 24576 bytes a token; 50 users; seed 7$'
stdout_like 'a run that is not valid too' '^Validity +unreliable: late; lag$'
sed 's/"seed": 7/"seed": 18446744073709551614/; s/tiny-1b/tiny\\u001b[31m/' "$TMP/run.json" >"$TMP/odd.json"
exits 'a great seed and an odd name' 0 "$kvstat" --full --run "$TMP/odd.json" "$dozen"
stdout_like 'are told, and no terminal is steered' '^Run +tiny\?\[31m, .*; seed 18446744073709551614$'

# Rows without tokens: 2 x 131,072 bytes in a second, of a rank that keeps an eighth of a sequence, are 16 tokens, whether
# 8 ranks divide 8 heads or 16 ranks keep one head each.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,131072,Tier-2,a,Prefill\n1,Read,131072,Tier-2,a,Decode\n' \
    >"$TMP/six.csv"
for ranks in '8' '16 0.125'; do
    case $ranks in *' '*) share=${ranks#* } ;; *) share=null ;; esac
    cat >"$TMP/ranks.json" <<EOF
{"program": "kvreplay", "options": {"tensor-parallel": ${ranks% *}},
 "model": {"name": "x", "bytes_per_token": 131072, "rank_share": $share}}
EOF
    exits "$ranks" 0 "$kvstat" --json --run "$TMP/ranks.json" "$TMP/six.csv"
    is "tokens of Tier-2, of one of ${ranks%% *} ranks" \
        "$(jq '[.. | objects | .tokens_per_s? | numbers][0]' "$TMP/stdout")" 16
done

# What a replay's summary tells of the device and of --autoscale.
cat >"$TMP/run.json" <<'EOF'
{"program": "kvreplay", "valid": false, "why_invalid": ["late"],
 "kernel": {"device_read_bytes": 3145728, "device_write_bytes": 1048576, "page_cache_resident_share": 0.125},
 "autoscaling": {"mode": "qos", "users": 1200, "throughput_tokens_per_s": 5000.4, "reason": "limit of Tier-2 reads"}}
EOF
exits 'counters of the kernel, autoscaling' 0 "$kvstat" --full --run "$TMP/run.json" --profile throughput "$dozen"
stdout_like 'the device' \
    '^Device +3\.00 MiB read and 1\.00 MiB written, .*; page cache holds 12\.5 % of the objects$'
stdout_like 'how many users' '^Autoscaling +qos: 1,200 users, 5,000 tokens/s; limit of Tier-2 reads$'
stdout_like 'an invalid run has no verdict' '^Profile throughput: INCONCLUSIVE$'
exits 'as JSON' 0 "$kvstat" --run "$TMP/run.json" --json "$dozen"
json_like "$TMP/stdout" <<'END'
members of run.kernel      | .run.kernel | .device_read_bytes, .device_write_bytes | 3145728 1048576
share of the page cache    | .run.kernel.page_cache_resident_share | 0.125
members of run.autoscaling | .run.autoscaling | .mode, .users, .throughput_tokens_per_s | qos 1200 5000.4
END
cat >"$TMP/run.json" <<'EOF'
{"autoscaling": {"mode": "capacity", "users": null, "throughput_tokens_per_s": null, "reason": "no trace"}}
EOF
exits 'a replay that found no users' 0 "$kvstat" --run "$TMP/run.json" --json "$dozen"
is 'has null for them' "$(json "$TMP/stdout" '.run | (.autoscaling | .users, .throughput_tokens_per_s), .kernel')" \
    'null null null'

# ---- warm-up ----

# Requests 0, 1 and 2 start before 250 ms; request 2 still generates then.
exits 'the first 250 ms left out' 0 "$kvstat" --json --warmup 250ms "$dozen"
json_like "$TMP/stdout" <<'END'
all rows are counted                         | .rows, .status.ok | 43 43
those left out too: 9 and the two misses     | .warmup.seconds, .warmup.rows | 0.25 11
the time begins after them                   | .elapsed_s | 0.903
nine requests                                | .requests.count | 9
and their tokens                             | .throughput.wall.generated_tokens | 90
nine reads of Tier-2                         | .throughput.decode_bytes_read | 18874368
contents are those of all rows               | .cache | tier("Tier-0").peak_bytes | 11534336
END
exits 'as text' 0 "$kvstat" --full --warmup 250ms "$dozen"
stdout_like 'says so' '^Warm-up +11 rows in the first 250 ms; not counted below$'
echo '{"warmup": {"seconds": 0.25, "rows": 11}}' >"$TMP/run.json"
exits 'as --run tells' 0 "$kvstat" --json --run "$TMP/run.json" "$dozen"
is 'the same requests' "$(json "$TMP/stdout" .requests.count)" 9
exits '--warmup 0' 0 "$kvstat" --json --warmup 0 --run "$TMP/run.json" "$dozen"
is 'overrides it' "$(json "$TMP/stdout" .requests.count)" 12
exits 'a trace' 2 "$kvstat" --full --warmup 1s "$DATA/mlperf_trace_first400.csv.zst"
stderr_like 'has none' '^kvstat: --warmup: .*is a trace'
exits 'a replay that was nothing but warm-up' 0 "$BIN/kvreplay" --null --warmup 1h \
    -o "$TMP/warm.csv.zst" "$DATA/mlperf_trace_first400.csv.zst"
exits 'is known by its summary' 0 "$kvstat" --json "$TMP/warm.csv.zst"
is 'all of it is left out' "$(json "$TMP/stdout" '.warmup.seconds, .warmup.rows, .throughput.decode_bytes_read')" \
    "3600 $(json "$TMP/stdout" .rows) 0"
piped_warm() { dd if="$TMP/warm.csv.zst" 2>"$TMP/dd" | "$kvstat" --full; }
exits 'from a pipe it is told too late' 0 piped_warm
stderr_like 'and that is said' '^kvstat: -: the warm-up of 3600 s is included'

# ---- failures ----

# The read of request 3 (batch) fails early, that of request 5 is corrupt, that of 7 finds nothing.
awk -F, -v OFS=, '$2 == "Read" && $6 == "Decode" && $7 == 3 { $17 = 5; $19 = "EIO" }
    $2 == "Read" && $6 == "Decode" && $7 == 5 { $19 = "corrupt" }
    $2 == "Read" && $6 == "Decode" && $7 == 7 { $19 = "absent" } { print }' "$dozen" >"$TMP/failed.csv"
exits 'requests of which a row failed' 0 "$kvstat" --json "$TMP/failed.csv"
json_like "$TMP/stdout" <<'END'
two, as a miss is no failure | .requests.failed | 2
are requests                 | .requests.count | 12
in no time of requests       | .requests.end_to_end_ms.count | 10
and within no target         | .requests.by_qos.batch.sla.compliance | 0[.]6666.*
END
exits 'as text' 0 "$kvstat" --full "$TMP/failed.csv"
stdout_like 'are told' '^  2 of 12 requests FAILED'
stdout_like 'and count in their class' '^  batch +6 .* 66\.67 %  NOT MET$'
sed '2,$s/,ok$/,EIO/' "$dozen" >"$TMP/all.csv"
exits 'nothing but failures' 0 "$kvstat" --full "$TMP/all.csv"
stdout_like 'has its section of requests' '^  12 of 12 requests FAILED'
stdout_unlike 'no bottleneck, no rates, no tiers that hold nothing' '^(Bottleneck|Throughput|Tier contents)'
head -n 2 "$dozen" >"$TMP/one.csv"
exits 'one row' 0 "$kvstat" --full "$TMP/one.csv"
stdout_like 'is one row' ': replay results, 1 row over '

# ---- the benchmark's own trace ----

trace=tests/data/mlperf_trace_first400.csv.zst
exits "the benchmark's trace" 0 "$kvstat" --json "$trace"
zstd -dcq "$trace" | awk -F, '$2 == "Read" { n++; bytes += $3 } END { printf "%d %.0f\n", n, bytes }' >"$TMP/reads"
is 'reads and their bytes' "$(json "$TMP/stdout" '.cache | tier("Tier-2") | .read_ops, .read_bytes')" \
    "$(cat "$TMP/reads")"
is 'it has no requests' "$(json "$TMP/stdout" .requests)" null
is 'and no known hit rate' "$(json "$TMP/stdout" .cache.lookups.all.hit_rate)" null
is 'no latency' "$(json "$TMP/stdout" 'tier("Tier-2").read.service_us')" null
exits 'as text' 0 "$kvstat" --full "$trace"
stdout_unlike 'no table of latencies' 'p99'
done_testing
