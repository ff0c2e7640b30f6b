#!/bin/sh
# eight_lines.t - the summary on standard error is eight lines of 80 columns at most: requests, tokens, the tiers in use, hit
# rates, what was dropped or the curve or the latencies, and the trace with its digest. The rest is in --summary.
# A run that reads files has a line more, of what they were taken for. A bug looked
# like a table that wrapped, or a tier that overflowed and was not told.
# builds: plain
. "${0%/*}/../../lib.sh"

# eight NAME ARGS...: a run whose standard error fits.
eight() {
    name=$1
    shift
    exits "$name" 0 "$BIN/kvgen" --progress none --summary "$TMP/s.json" -o "$TMP/t.csv" "$@"
    ok "$name: eight lines at most" test "$(grep -vc '^input ' "$TMP/stderr")" -le 8
    is "$name: of 80 columns" "$(awk 'length > 80' "$TMP/stderr")" ''
}
eight 'three tiers' --model tiny-1b --num-users 20 --duration 20 --seed 5 --gpu-mem-gb 0.1 --cpu-mem-gb 0.2
is 'the order' "$(awk '{ print $1 }' "$TMP/stderr" | tr '\n' ' ')" 'requests tokens Tier-0 Tier-1 Tier-2 hit latency trace '
stderr_like 'requests and the time that they took' '^requests +[0-9,]+ issued in [0-9.]+ s: [0-9,]+ completed, [0-9,]+ in progress$'
is 'with every request that was issued' "$(awk '/^requests/ { gsub(",", ""); print $2 - $7 - $9 }' "$TMP/stderr")" 0
eight 'more than the workers take' --model tiny-1b --users 20 --duration 20 --seed 5 --workers 2 --arrival open
stderr_like 'those in the queue too' '^requests +[0-9,]+ issued in [0-9.]+ s: [0-9,]+ completed, 2 in progress, [0-9,]+ waiting$'
is 'all of them' "$(awk '/^requests/ { gsub(",", ""); print $2 - $7 - $9 - $12 }' "$TMP/stderr")" 0
json_like "$TMP/s.json" <<'END'
as in the JSON | .requests | .issued - .completed - .waiting - .in_progress | 0
END
eight 'three tiers again' --model tiny-1b --num-users 20 --duration 20 --seed 5 --gpu-mem-gb 0.1 --cpu-mem-gb 0.2
stderr_like 'a tier, and how full it was' '^Tier-1 +[0-9,]+ reads [0-9.]+ [GM]iB, [0-9,]+ writes [0-9.]+ [GM]iB, peak [0-9]+ % of 205 MiB$'
stderr_like 'hits, by class' "^hit rate +$(json "$TMP/s.json" '.lookups.all.hit_rate * 1000 | round / 10') % of .* lookups: user 100\\.0 %"
stderr_like 'the digest' "^trace +[0-9,]+ rows, digest $(json "$TMP/s.json" .trace.digest)\$"

eight 'a tier that is not used' --model tiny-1b --num-users 2 --duration 5 --gpu-mem-gb 0 --cpu-mem-gb 0
stderr_unlike 'has no line' '^Tier-[01]'
eight 'objects larger than a tier' --model llama3.1-70b-instruct --num-users 20 --duration 20 --gpu-mem-gb 0 --cpu-mem-gb 0 \
    --storage-capacity-gb 0.001 --summary "$TMP/s.json"
stderr_like 'are told' '^(dropped|oversized) '
eight 'a curve' --input "$DATA/mooncake_first200.jsonl" --gpu-mem-gb 0.1 --cpu-mem-gb 0.2 --curve "$TMP/c.csv"
stderr_like 'has a line' '^curve +lru: knee '
stderr_like 'what the input was taken for has another' '^input +Mooncake; times in ms; blocks of 512; tokens given$'
eight 'a model with a state' --num-users 2 --duration 5 --model tiny-1b --seed 18446744073709551615
done_testing
