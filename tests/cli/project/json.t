#!/bin/sh
# json.t - the members that the summary of kvreplay and the JSON of kvstat promise are all there, null where something is not
# known; and what kvreplay saw of its own run stands in kvstat's report value by value, through a frame, a Note and a pool. A
# bug looked like a report that had lost the evidence, or a member that vanished instead of being null.
# builds: plain (members of documents that others write)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

"$BIN/kvgen" --num-users 4 --duration 3s --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 --generation-mode fast 2>/dev/null |
    grep -v ',Note,' | head -n 12 >"$TMP/t.csv"
replay() { # OUT [options]
    out=$1
    shift
    told "$BIN/kvreplay" --nvme "$TMP/d" --progress none --summary "$TMP/s.json" "$@" -o "$TMP/$out" "$TMP/t.csv"
}
replay served.zst --timing served --workers 2
cp "$TMP/s.json" "$TMP/served.json"
replay r.csv
replay r.zst
"$kvstat" --json --profile latency --slo --interval 1s "$TMP/r.zst" >"$TMP/k.json"

# members FILE, a filter and the members of what it gives on each line of standard input, as "filter | member member...":
# prints those that are missing.
members() {
    while IFS='|' read -r filter names; do
        json "$TMP/$1" "$filter as \$o | \"$names\" | split(\" \")[] as \$m | select(\$m != \"\" and (\$o | has(\$m) | not)) |
            \"$filter: no \" + \$m"
    done
}
identity='program version command host started'
hist='count mean min p50 p90 p95 p99 p999 p9999 max'
evidence="$(tr -d '\n' <"$TOP/lib/facts/fact.h" | grep -oE ', EVIDENCE, +"[a-z_]+"' | cut -d '"' -f 2) overload"
times='service_us response_us device_us wait_us slot_us meta_us io_us flush_us host_us'
is 'kvreplay: members' "$(members s.json <<END | tr -d "\n"
.| $identity trace valid why_invalid validity rows populated elapsed_s cpu_s spin_s cpu_s_per_gib lateness_us lag_s
.| reads_before_write tiers kernel evidence gaps gaps_more
.trace| digest rows
.rows| total ok absent corrupt failed skipped
.populated| objects bytes
.lateness_us| p50 p99 max
.lag_s| max
.tiers[0]| tier engine simulated target device flags fallbacks ios mean_ios_in_flight read write
.tiers[0].read| ops bytes gib_per_s $times
.tiers[0].read.service_us| $hist
.kernel| device_read_bytes device_write_bytes device_queue_s page_cache_resident_share
.evidence| $(echo "$evidence" | tr '\n' ' ')
.validity[0]| figures tier op state why
END
)" ''
is 'kvstat: members' "$(members k.json <<END | tr -d "\n"
.| $identity files elapsed_s rows groups run throughput bottleneck cache requests assessment series validity
.groups[0]| by ops bytes gib_per_s size_bytes service_us wait_us response_us device_us
.run| seed model users tensor_parallel num_gpus generation_mode capacities valid simulated kernel evidence autoscaling
.run.kernel| device_read_bytes device_write_bytes page_cache_resident_share
.run.evidence| $(echo "$evidence" | tr '\n' ' ')
.throughput| wall storage tier2 decode_bytes_read
.throughput.wall| generated_tokens_per_s bytes_per_s ops_per_s
.throughput.storage| generated_tokens_per_s busy_s
.throughput.tier2| tokens_per_s
.bottleneck| what share shares
.bottleneck.shares| queue generation gpu cpu storage_slot storage_meta storage_io storage_flush host rows
.cache| lookups read_write_ratio read_amplification tiers
.requests| count failed end_to_end_ms queue_ms storage_ms generation_ms by_qos
.assessment| profile status criteria
.assessment.criteria[0]| name target actual low high samples independent_samples unit passed
.validity.figures[0]| figures tier op state why
END
)" ''

# What kvreplay saw.
same='[.run.evidence | del(.client_delay_us.few_samples?) | to_entries[] | "\(.key)=\(.value)"] | sort[]'
of_summary() { json "$TMP/$1" "{run: {evidence}} | $same"; }
is 'the evidence of a result in frames' "$(json "$TMP/k.json" "$same")" "$(of_summary s.json)"
isnt 'which knows something' "$(json "$TMP/k.json" '.run.evidence.client_delay_us.count')" null
"$kvstat" --json "$TMP/served.zst" >"$TMP/served.k.json"
is 'of a served run' "$(json "$TMP/served.k.json" "$same")" "$(of_summary served.json)"
replay r.csv
"$kvstat" --json - <"$TMP/r.csv" >"$TMP/pipe.json"
is 'of one in Notes, through a pipe' "$(json "$TMP/pipe.json" "$same")" "$(of_summary s.json)"
"$kvstat" --json --merge "$TMP/r.zst" "$TMP/r.zst" >"$TMP/pool.json"
is 'of two that are pooled: times add up, shares do not' "$(json "$TMP/pool.json" '.run.evidence | .gaps, .pages,
    (.own_read_bytes // 0), .client_delay_us')" \
    "$(json "$TMP/k.json" '.run.evidence | .gaps * 2, .pages, (.own_read_bytes // 0) * 2, null')"
grep -v ',Note,' "$TMP/r.csv" >"$TMP/bare.csv"
"$kvstat" --json --merge "$TMP/r.zst" "$TMP/bare.csv" >"$TMP/pool.json"
is 'of two, one of which says nothing' "$(json "$TMP/pool.json" .run.evidence)" null

# Runs whose buffers lie in other pages are no equals.
for pages in huge small; do
    sed "\$s/\"\"pages\"\":\(\"\"[a-z]*\"\"\|null\)/\"\"pages\"\":\"\"$pages\"\"/" "$TMP/r.csv" >"$TMP/$pages.csv"
done
exits 'buffers in huge and in small pages' 0 "$kvstat" --compare "$TMP/small.csv" --json "$TMP/huge.csv"
is 'differ' "$(json "$TMP/stdout" .compare.pages_differ)" true
like 'which the last words say' "$(json "$TMP/stdout" .compare.sentence)" \
    'Buffers were in other pages \(base: small, new: huge\): part of a difference may be theirs'
exits 'in the same' 0 "$kvstat" --compare "$TMP/small.csv" --json "$TMP/small.csv"
is 'do not' "$(json "$TMP/stdout" .compare.pages_differ)" false

# Runs of other timing are no equals either, and that comes before any figure.
while read -r timing speed workers; do
    sed "\$s/\"\"timing\"\":\"\"[a-z]*/\"\"timing\"\":\"\"$timing/; \$s/\"\"speed\"\":[0-9.]*/\"\"speed\"\":$speed/;
        \$s/\"\"workers\"\":[0-9]*/\"\"workers\"\":$workers/" "$TMP/r.csv" >"$TMP/$timing.csv"
done <<'END'
asap 1 0
trace 10 0
served 10 8
END
exits 'as fast as possible, and at ten times the speed' 0 "$kvstat" --compare "$TMP/asap.csv" --json "$TMP/trace.csv"
is 'differ' "$(json "$TMP/stdout" .compare.timings_differ)" true
like 'which the verdict begins with' "$(json "$TMP/stdout" .compare.sentence)" \
    '^the loads differ, by their timing \(base: --timing asap; new: --timing trace --speed 10\): '
exits 'on the screen' 0 "$kvstat" --compare "$TMP/trace.csv" "$TMP/served.csv"
like 'before the figures' "$(tr -s ' \n' ' ' <"$TMP/stdout" | sed 's/bytes moved.*//')" \
    'timing \(base: --timing trace --speed 10; new: --timing served --workers 8 --speed 10\)'
exits 'with all tables' 0 "$kvstat" --full --compare "$TMP/trace.csv" "$TMP/served.csv"
like 'before the figures, too' "$(tr -s ' \n' ' ' <"$TMP/stdout" | sed 's/ figures that could be tested.*//')" 'Timing differs, so figures are of different loads:'
exits 'of one timing' 0 "$kvstat" --compare "$TMP/served.csv" --json "$TMP/served.csv"
is 'do not' "$(json "$TMP/stdout" .compare.timings_differ)" false
done_testing
