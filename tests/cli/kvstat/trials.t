#!/bin/sh
# trials.t - several files are trials of one load: mean, deviation and confidence interval of each figure are those
# computed by hand. --compare finds a planted difference of 10 % in noise of 3 %, between single runs and between
# trials, and finds nothing in at least 38 of 40 pairs drawn from one distribution. Bugs looked like a false alarm in
# every third pair, because one of forty tested figures was beyond 99 % by chance.
# builds: plain address (threads of the reader: tests/unit/trace, interval.t)
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=tests/data/kvstat_dozen.csv
cd "$TOP" || exit 1

# figure SECTION LABEL: the line of that figure.
figure() {
    awk -v section="$1 " -v label="  $2 " '
        !/^  / { in_section = index($0, section) == 1 }
        in_section && index($0, label) == 1' "$TMP/stdout"
}

# ---- trials: reads of 10, 12 and 14 ms ----

for ms in 10 12 14; do
    head -n 1 "$dozen" >"$TMP/$ms.csv"
    awk -v us="${ms}000" 'BEGIN {
        for (i = 0; i < 20; i++) {
            printf "%d.0,Read,4096,Tier-2,k%d,Decode,%d,u,batch,user,1,%d.0,,", i, i, i, i
            printf "%d.0,%d.0,%d.0,%d,%d,ok\n", i, i, i, us, us / 2
        }
    }' >>"$TMP/$ms.csv"
done
# trial NAME, changed NAME: a member of that figure in the JSON of trials, or of a comparison.
trial() { json "$TMP/stdout" ".trials.figures[] | select(.name == \"$figure\") | $1"; }
changed() { json "$TMP/stdout" ".compare.figures[] | select(.name == \"$figure\") | $1"; }
exits 'three files' 0 "$kvstat" --full "$TMP/10.csv" "$TMP/12.csv" "$TMP/14.csv"
stdout_like 'are trials' '^3 trials$'
is 'each is named' "$(grep -c '\.csv: 20 rows over 19\.0 s; validity unknown$' "$TMP/stdout")" 3
like 'mean 12, deviation 2, 17 %, 12 +- 4.303 x 2 / sqrt 3' "$(figure 'Tier-2 Read Decode' 'service, mean')" \
    ' 3 +12\.0 ms +2\.00 ms +16\.7 % +7\.03 ms +17\.0 ms$'
like 'device time' "$(figure 'Tier-2 Read Decode' 'device, mean')" ' 3 +6\.00 ms +1\.00 ms '
is 'throughput and requests come first' "$(sed -n 's/  *trials .*//p' "$TMP/stdout" | tr '\n' ';')" \
    'Throughput and cache;Requests;Tier-2 Read Decode;'
is 'lines fit 110 columns' "$(awk 'length > 110' "$TMP/stdout")" ''
exits 'as JSON' 0 "$kvstat" --json "$TMP/10.csv" "$TMP/12.csv" "$TMP/14.csv"
is 'with each report' "$(json "$TMP/stdout" '.reports[].kind')" 'result result result'
figure=groups.Tier-2/Read/Decode.service_us.mean
is 'count, mean, deviation' "$(trial '.count, .mean, .sd')" '3 12000 2000'
like 'variation' "$(trial .cv)" '^0\.16666'
like 'interval' "$(trial '.ci95_low, .ci95_high')" '^7031\.7[0-9]* 16968\.2'
exits 'two' 0 "$kvstat" --full "$TMP/10.csv" "$TMP/14.csv"
like '12.706 x 2.828 / sqrt 2' "$(figure 'Tier-2 Read Decode' 'service, mean')" \
    ' 2 +12\.0 ms +2\.83 ms +23\.6 % +-13\.4 ms +37\.4 ms$'
exits 'a figure that one file lacks' 0 "$kvstat" --full "$TMP/10.csv" "$dozen"
like 'comes from the other' "$(figure 'Throughput and cache' 'generated, wall clock')" ' 1 +104 tok/s +- +- +- +-$'
# Its 2,082 tokens a second and 1.05 of the other: the interval reaches far below zero.
like 'a number below -1,000 keeps its sign' "$(figure 'Throughput and cache' 'KV through Tier-2')" \
    ' -12,1[0-9][0-9] tok/s +14,2[0-9][0-9] tok/s$'
# A longer generation was "worse", and a Miss had a service time.
for by in op tier,op op,status; do
    exits "by $by" 0 "$kvstat" --full --by $by "$dozen" "$dozen"
    is 'rows that move nothing are not compared' "$(grep -cE '^.*(Generate|Miss|Delete).* trials ' "$TMP/stdout")" 0
done
exits 'with a profile' 4 "$kvstat" --full --profile latency --check "$TMP/10.csv" "$dozen" "$TMP/12.csv" --config /dev/stdin \
    <<'EOC'
storage_health: {read_device_p95_ms: 5.5}
EOC
is 'each has its verdict' "$(grep -o 'latency: .*' "$TMP/stdout" | tr '\n' ' ')" \
    'latency: INCONCLUSIVE; validity unknown latency: INCONCLUSIVE; validity unknown latency: INCONCLUSIVE; validity unknown '
exits 'a trace among them' 2 "$kvstat" --full "$dozen" "$DATA/mlperf_trace_first400.csv.zst"
stderr_like 'is refused' '^kvstat: .*: is a trace, unlike the files before'

# ---- planted differences ----

# draws, of lines FILE SEED FACTOR RUN [N]: N reads (400) and N writes with 3 % noise each around FACTOR x 10 ms (writes: 5 ms), and
# noise of the run itself, RUN %. Park and Miller's generator, exact in doubles; Box and Muller's normals.
draws() {
    awk -v folder="$TMP" -v head="$(head -n 1 "$dozen")" '
        function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
        function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
        function row(op, key, phase, us) {
            printf "%d.0,%s,4096,Tier-2,%s%d,%s,%d,u,batch,user,1,%d.0,,", i, op, key, i, phase, i, i >file
            printf "%d.0,%d.0,%d.0,%.3f,%.3f,ok\n", i, i, i, us, us * 0.9 >file
        }
        {
            file = folder "/" $1
            print head >file
            state = $2 * 7919 + 1
            for (i = 0; i < 10; i++) uniform()
            factor = $3 * (1 + $4 / 100 * normal())
            n = $5 ? $5 : 400
            for (i = 0; i < n; i++) {
                row("Read", "k", "Decode", 10000 * factor * (1 + 0.03 * normal()))
                row("Write", "w", "Prefill", 5000 * factor * (1 + 0.03 * normal()))
            }
            close(file)
        }'
}
printf '%s\n' 'base 1 1 0' 'slower 2 1.1 0' | draws
exits '10 % in 3 %' 0 "$kvstat" --full --compare "$TMP/base" "$TMP/slower"
about_ten='(9\.[0-9]|1[01]\.[0-9]) %'
for label in 'service, mean' 'service, p50' 'service, p95'; do
    like "$label of reads has changed" "$(figure 'Tier-2 Read Decode' "$label")" " $about_ten .*CHANGED$"
    like 'which stands in front too' "$(figure Changed "Tier-2 Read Decode: $label")" \
        " ms +1?[0-9.]+ ms +$about_ten .*CHANGED$"
done
like 'so has the device time of writes' "$(figure 'Tier-2 Write Prefill' 'device, mean')" " $about_ten .*CHANGED$"
is 'only changed figures stand in front' \
    "$(awk '/^Changed/ { on = 1; next } on && !/^  / { exit } on && !/CHANGED$/' "$TMP/stdout")" ''
like 'a percentile that 400 rows do not support is not known' "$(figure 'Tier-2 Read Decode' 'service, p99')" \
    ' not known$'
like 'nor rates of single runs' "$(figure 'Throughput and cache' 'operations')" ' not known$'
stdout_like 'it says so' '^One run on each side'
is 'lines fit 110 columns' "$(awk 'length > 110' "$TMP/stdout")" ''
# answer: the verdict, its lines as one.
answer() { awk '/^Verdict: / { on = 1 } on' "$TMP/stdout" | tr '\n' ' ' | sed 's/ $//'; }
like 'the last words answer' "$(answer)" \
    "^Verdict: new is worse than base: .* is $about_ten higher \\([0-9.]+ ms, was [0-9.]+ ms\\), and [0-9]+ more "
like 'with all that differs' "$(answer)" ' more figures are worse; none is better\. Each side has only one run\.$'
exits 'JSON' 0 "$kvstat" --json --compare "$TMP/base" "$TMP/slower"
figure=groups.Tier-2/Read/Decode.service_us.mean
is 'changed' "$(changed .changed)" true
like 'by' "$(changed .change)" '^0\.(09|10)'
is 'for the worse' "$(changed .better) $(json "$TMP/stdout" .compare.verdict)" 'false worse'
like 'in words' "$(json "$TMP/stdout" .compare.sentence)" '^new is worse than base: '
exits '--check' 1 "$kvstat" --full --check --compare "$TMP/base" "$TMP/slower"
exits 'of what is better' 0 "$kvstat" --full --check --compare "$TMP/slower" "$TMP/base"
exits 'and of what is the same' 0 "$kvstat" --full --check --compare "$TMP/base" "$TMP/base"
exits 'JSON once more' 0 "$kvstat" --json --compare "$TMP/base" "$TMP/slower"
figure=throughput.wall.ops_per_s
is 'not known is null' "$(changed .changed)" null

head -n 2 "$TMP/base" >"$TMP/one_row"

# Of 100 pairs, as of each rule alone: tests/unit/kvstat/test_statistics.c.
alarms=0
seq 40 | awk '{ print "one" $1, 1000 + 2 * $1, 1, 0; print "other" $1, 1001 + 2 * $1, 1, 0 }' | draws
for i in $(seq 40); do
    compared=$("$kvstat" --full --compare "$TMP/one$i" "$TMP/other$i" --config threads=1 --config min_change=0.01%) || alarms=1000
    case $compared in *CHANGED*) alarms=$((alarms + 1)) ;; esac
done
diag "$alarms of 40 pairs of one distribution with a change"
ok 'no change in at least 38 of 40 pairs' test "$alarms" -le 2

# A shift of 10 % in 20,000 rows of one run a side.
found=0 pairs=$(scaled 10)
for i in $(seq "$pairs"); do
    printf '%s\n' "one $((2000 + 2 * i)) 1 0 10000" "other $((2001 + 2 * i)) 1.1 0 10000" | draws
    "$kvstat" --full --compare "$TMP/one" "$TMP/other" --config threads=1 >"$TMP/stdout"
    case $(figure 'Tier-2 Read Decode' 'service, mean') in *CHANGED) found=$((found + 1)) ;; esac
done
diag "$found of $pairs shifts of 10 % found"
is 'a shift of 10 % is found in all' $found "$pairs"

seq 5 | awk '{ print "base" $1, 20 + $1, 1, 3; print "new" $1, 30 + $1, 1.1, 3; print "same" $1, 40 + $1, 1, 3 }' | draws
five() { # NAME: five trials of that name against those of the base
    set -- "$TMP/${1}1" "$TMP/${1}2" "$TMP/${1}3" "$TMP/${1}4" "$TMP/${1}5"
    for i in 1 2 3 4 5; do set -- "$@" --compare "$TMP/base$i"; done
    "$kvstat" --full "$@"
}
exits 'five trials each' 0 five new
like 'have changed' "$(figure 'Tier-2 Read Decode' 'service, mean')" 'CHANGED$'
like 'p99 too: the noise is that between trials' "$(figure 'Tier-2 Write Prefill' 'service, p99')" 'CHANGED$'
like 'and are worse' "$(answer)" '^Verdict: new is worse than base: .*; none is better\.$'
exits 'five trials of the same' 0 five same
stdout_unlike 'have not' 'CHANGED'
like 'which the last words say, and what would have shown' "$(answer)" \
    '^Verdict: no difference .*the noise; with these 5 and 5 trials a change under [3-9][.0-9]* % would not show in half of '
exits 'one new run' 0 "$kvstat" --full --compare "$TMP/base1" --compare "$TMP/base2" --compare "$TMP/base3" "$TMP/same1"
like "is judged by the others' noise" "$(figure 'Tier-2 Read Decode' 'service, mean')" 'noise$'

# ---- the verdict in words ----

like 'one run against many' "$(answer)" '^Verdict: no difference between new and base exceeds the noise; with these 3 and 1 trials a change under '
exits 'the other way round' 0 "$kvstat" --json --compare "$TMP/slower" "$TMP/base"
figure=groups.Tier-2/Read/Decode.service_us.mean
is 'is better' "$(json "$TMP/stdout" .compare.verdict) $(changed .better)" 'better true'
# Reads 10 % slower, writes 10 % faster.
{ head -n 1 "$dozen" && grep ',Read,' "$TMP/slower" && grep ',Write,' "$TMP/base"; } >"$TMP/reads"
{ head -n 1 "$dozen" && grep ',Read,' "$TMP/base" && grep ',Write,' "$TMP/slower"; } >"$TMP/writes"
exits 'for better and worse' 0 "$kvstat" --full --compare "$TMP/reads" "$TMP/writes"
like 'says that it is better' "$(answer)" \
    '^Verdict: new is better than base in [2-9] figures: Tier-2 Read Decode .* is (9|1[01])\.[0-9] % lower \(.*\); and worse in '
like 'and worse' "$(answer)" '\); and worse in [2-9]: .*Tier-2 Write Prefill .* higher \('
exits 'too little to test' 0 "$kvstat" --full --compare "$TMP/one_row" "$TMP/one_row"
like 'is not known' "$(answer)" \
    '^Verdict: not known: no figure could be tested against the noise; run several trials\. Each side has only one run\.$'
exits 'which decides nothing' 4 "$kvstat" --full --check --compare "$TMP/one_row" "$TMP/one_row"
exits 'as JSON' 0 "$kvstat" --json --compare "$TMP/one_row" "$TMP/one_row"
is 'is null' "$(json "$TMP/stdout" .compare.verdict)" null
# The times of a trace are asked for, not achieved.
cut -d, -f 1-13 "$TMP/base" >"$TMP/trace"
awk -F, 'NR == 1 || $2 == "Read"' "$TMP/trace" >"$TMP/half"
exits 'two traces' 0 "$kvstat" --json --compare "$TMP/trace" --compare "$TMP/trace" "$TMP/half" "$TMP/half"
like 'differ' "$(json "$TMP/stdout" '.compare | .verdict, .sentence')" '^different new differs from base: '
# Two replays know their traces.
for users in 1 2; do
    "$BIN/kvgen" --num-users $users --duration 5s -o "$TMP/load$users.csv" 2>"$TMP/stderr"
    "$BIN/kvreplay" --null --progress none -o "$TMP/load$users.zst" "$TMP/load$users.csv" >"$TMP/stdout" 2>&1
done
exits 'other loads' 0 "$kvstat" --full --compare "$TMP/load1.zst" "$TMP/load2.zst"
like 'are told' "$(answer)" ' The runs are of different traces\.'
exits 'one load' 0 "$kvstat" --full --compare "$TMP/load1.zst" "$TMP/load1.zst"
unlike 'is not' "$(answer)" 'different traces'

# ---- refusals ----

exits '--compare alone' 2 "$kvstat" --full --compare "$dozen"
stderr_like 'is refused' '^kvstat: --compare: needs a base and a new file'
exits 'a trace with a result' 2 "$kvstat" --full --compare "$dozen" "$DATA/mlperf_trace_first400.csv.zst"
for option in --merge '--interval=1s' "--hgrm=$TMP/h" '--profile=latency' '--run=x'; do
    exits "$option" 2 "$kvstat" --full --compare "$dozen" "$option" "$dozen"
    stderr_like 'is refused' "^kvstat: ${option%%=*}: "
done
exits 'users' 2 "$kvstat" --full --compare "$dozen" --by user "$dozen"
# A figure that changes its place in the JSON drops out of trials without a message, so each is looked for.
"$kvstat" --full "$dozen" "$dozen" >"$TMP/stdout"
for label in 'generated, wall clock' 'generated, storage time' 'KV through Tier-2' 'bytes moved' 'operations' \
    'hit rate of all lookups' 'tokens read per generated'; do
    like "$label is among the figures of trials" "$(figure 'Throughput and cache' "$label")" ' 2 '
done
like 'requests too' "$(figure Requests 'end to end, p95')" ' 2 +53\.0 ms +0 ns '
echo '{"runs": []}' >"$TMP/figures.json"
exits 'a base of figures' 2 "$kvstat" --full --compare "$TMP/figures.json" "$dozen"
stderr_like 'is told where it goes' '^kvstat: .*/figures\.json: --compare takes traces and result files \(--reference'
exits 'figures as the new side' 2 "$kvstat" --full --compare "$dozen" "$TMP/figures.json"
stderr_like 'are told too' '^kvstat: .*/figures\.json: --compare takes traces'
exits 'a base that is not there' 2 "$kvstat" --full --compare "$TMP/none" "$dozen"

# ---- settings, and sizes that matter ----

# What differs beside the figures stands before any percentage. Files, targets and what is shown are no settings.
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 0,Write,4096,Tier-2,a,Prefill 0,Read,4096,Tier-2,a,Decode >"$TMP/t.csv"
ran() { # NAME OPTIONS...
    name=$1
    shift
    told "$BIN/kvreplay" --progress none "$@" -o "$TMP/$name.zst" --target "$TMP/$name.d" "$TMP/t.csv"
}
settings() { "$kvstat" --json --compare "$TMP/$1.zst" "$TMP/$2.zst" | json /dev/stdin '.compare | .settings_differ, .sentence'; }
ran s1 --inflight 8 --buffered
ran s2 --buffered --inflight=8 --full
ran s3 --inflight 64 --buffered
ran s4 --inflight 8 --config ioengine=psync --sync object
like 'the same settings' "$(settings s1 s2)" '^null n'
like 'another depth' "$(settings s1 s3)" '^inflight 8, 64 settings differ: inflight 8, 64: n'
like 'options that one side lacks' "$(settings s1 s4)" '^buffered yes, default; ioengine default, psync; sync default, object settings differ: '
# A change that is sure and small is none.
printf '%s\n' 'small_base 51 1 0 6000' 'small_new 52 1.005 0 6000' | draws
exits 'a change of 0.5 % in a noise of less' 0 "$kvstat" --json --compare "$TMP/small_base" "$TMP/small_new"
like 'is none' "$(json "$TMP/stdout" '.compare | .verdict, .sentence')" '^same no difference between new and base exceeds the noise by 1 % or more[.]'
exits 'unless it is asked for' 0 "$kvstat" --json --config min_change=0.1% --compare "$TMP/small_base" "$TMP/small_new"
like 'then it is one' "$(json "$TMP/stdout" '.compare | .min_change, .verdict')" '^0[.]001 (worse|better)'
exits 'a larger size asked for' 0 "$kvstat" --json --config min_change=50% --compare "$TMP/small_base" "$TMP/small_new"
like 'is told' "$(json "$TMP/stdout" .compare.sentence)" ' by 50 % or more'
exits 'a size without a comparison' 2 "$kvstat" --config min_change=2% "$TMP/small_base"
stderr_like 'is refused' '^kvstat: --config min_change: needs --compare'
done_testing
