#!/bin/sh
# reference.t - --reference says of each figure whether it is within 5 % of another run's or of a benchmark's. A figure
# just inside the limit is, one just outside is not, and one that a side lacks is not known. Bugs looked like 5 % of the
# wrong side.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv # hit rate 0.8, 25 / 13 bytes, 100 and 10 tokens a request, 120 tokens in 1.153 s

# mlperf FILE HIT RATIO RATE: results of the benchmark.
mlperf() {
    cat >"$TMP/$1" <<END
{"summary": {"total_requests": 12, "total_tokens": 120, "avg_throughput_tokens_per_sec": $4,
             "cache_stats": {"cache_hit_rate": $2, "read_write_ratio": $3}}}
END
}
# engine FILE INPUT OUTPUT RATE: a result of vLLM, 12 requests.
engine() {
    cat >"$TMP/$1" <<END
{"duration": 1, "completed": 12, "total_input_tokens": $2, "total_output_tokens": $3, "output_throughput": $4}
END
}
# verdict LABEL: its word.
verdict() { sed -n "s|^  $1 .*[-%]  \([a-zA-Z ]*\)\$|\1|p" "$TMP/stdout"; }
# against FILE ARGS...: the text in $TMP/stdout.
against() {
    name=$1 status=$2 file=$3
    shift 3
    exits "$name" "$status" "$kvstat" --full --reference "$TMP/$file" "$@" "$dozen"
}

mlperf same 0.8 1.9230769230769231 104.07632263660018
against 'the same' 0 same --check
stdout_like 'the report stands before it' '^Bottleneck '
for figure in 'hit rate of all lookups' 'bytes read / written' 'generated tokens a request' \
    'generated tokens a second'; do
    is "$figure is within" "$(verdict "$figure")" yes
done
is 'the context is not told by it' "$(verdict 'context tokens a request')" 'not known'

# The reference is 100 %: 0.8 is 5 % below 0.842105, and 5 % above 0.761905.
mlperf inside 0.84210 2.02429 99.1204
against 'all just inside' 0 inside --check
mlperf inside 0.76191 1.83151 109.553
against 'on the other side too' 0 inside --check
stdout_like 'the difference is told' '^  hit rate of all lookups +76\.19 % +80\.00 % +\+5\.0 %  yes$'
# outside NAME HIT RATIO RATE: this one alone is outside.
outside() {
    mlperf out "$2" "$3" "$4"
    against "$1 just outside" 1 out --check
    is 'is not within' "$(verdict "$1")" NO
    is 'alone' "$(grep -c '  NO$' "$TMP/stdout")" 1
}
for hit in 0.84211 0.76190; do outside 'hit rate of all lookups' $hit 1.923 104.076; done
for ratio in 2.02430 1.83150; do outside 'bytes read / written' 0.8 $ratio 104.076; done
for rate in 109.555 99.1202; do outside 'generated tokens a second' 0.8 1.923 $rate; done
against 'without --check' 0 out

engine tokens 1263 126 104.076
against 'tokens of an engine just inside' 0 tokens --check
is 'both are known' "$(verdict 'context tokens a request') $(verdict 'generated tokens a request')" 'yes yes'
is 'its hit rate is not' "$(verdict 'hit rate of all lookups')" 'not known'
engine tokens 1264 126 104.076
against 'one context token more' 1 tokens --check
is 'is outside' "$(verdict 'context tokens a request')" NO
engine tokens 1200 127 104.076
against 'one generated token more' 1 tokens --check
is 'is outside' "$(verdict 'generated tokens a request')" NO

exits 'a result as reference' 0 "$kvstat" --full --check --reference "$dozen" "$dozen"
is 'is like itself' "$(grep -c '  yes$' "$TMP/stdout")" 5
exits 'a trace of the core columns' 0 "$kvstat" --full --reference "$DATA/mlperf_trace_first400.csv.zst" "$dozen"
is 'tells one figure' "$(grep -c 'not known$' "$TMP/stdout")" 4
exits 'the means of several runs' 0 "$kvstat" --full --reference "$DATA/mlperf_measured_k.json" "$dozen" "$dozen"
stdout_like 'behind the trials' '^2 trials'
mean=$(json "$DATA/mlperf_measured_k.json" '[.. | .cache_hit_rate? // empty] | add / length' |
    awk '{ printf "%.2f", 100 * $1 }')
stdout_like 'the reference is their mean' "^  hit rate of all lookups +$mean % +80\\.00 %"
exits 'a document against another' 0 "$kvstat" --check --reference "$TMP/same" "$TMP/same"
exits 'as JSON' 1 "$kvstat" --json --check --reference "$TMP/out" "$dozen"
is 'the verdict' "$(json "$TMP/stdout" .reference.within)" false
is 'null where not known' "$(json "$TMP/stdout" '[.reference.figures[] | select(.within == null)] | length')" 1

exits 'a reference that is not there' 2 "$kvstat" --full --reference "$TMP/none" "$dozen"
echo '{"a": 1}' >"$TMP/other.json"
exits 'one that is none' 2 "$kvstat" --full --reference "$TMP/other.json" "$dozen"
mkdir "$TMP/folder"
echo 'a,b' >"$TMP/folder/other.csv"
exits 'a folder without a run' 2 "$kvstat" --full --reference "$TMP/folder" "$dozen"
stderr_like 'is refused' '^kvstat: .*/folder: holds no run$'
cp "$dozen" "$TMP/folder"
exits 'a folder with a run and a foreign file' 0 "$kvstat" --full --check --reference "$TMP/folder" "$dozen"
is 'is a reference' "$(grep -c '  yes$' "$TMP/stdout")" 5
exits 'with --csv' 2 "$kvstat" --csv --reference "$dozen" "$dozen"
exits 'with --compare' 2 "$kvstat" --full --compare "$dozen" --reference "$dozen" "$dozen"
done_testing
