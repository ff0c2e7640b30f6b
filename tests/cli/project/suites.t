#!/bin/sh
# suites.t - the scripts of examples/, each for real on a tiny size: they end with status 0, their tables have the lines
# they should, and their answers are those of the programs when asked directly. A bug looked like a scenario that used
# the trace of another, a PASS for a run without reads, or an option of a suite that did nothing. Scripts that
# check are in suites_search.t, those of one answer in ../scripts/answers.t, kvbench in kvbench.t. The scripts mostly wait, so several run at the same time.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# Objects of a tenth of what tiny-1b has: touching and filling memory for these takes longer than all that the scripts do.
echo '{"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 4,
    "torch_dtype": "bfloat16"}' >model.json
model=$TMP/model.json
# tiny SUITE NAME ARGS...: on that model, a few users, a second or two; its results in NAME.out.
tiny() {
    tiny_suite=$1 tiny_name=$2
    shift 2
    "$examples/$tiny_suite" -m "$model" -o "$tiny_name.out" "$@"
}
# run NAME COMMAND...: keeps its output in NAME.stdout and NAME.stderr, and its exit status in NAME.status.
run() {
    run_name=$1
    shift
    status=0
    "$@" >"$run_name.stdout" 2>"$run_name.stderr" || status=$?
    echo "$status" >"$run_name.status"
}
# ended "text" STATUS NAME: waits for that run; its exit status is STATUS, its output is in stdout and stderr.
ended() {
    until [ -s "$3.status" ]; do sleep 0.1; done
    cp "$3.stdout" stdout
    cp "$3.stderr" stderr
    is "$1" "$(cat "$3.status")" "$2"
    [ "$(cat "$3.status")" -eq "$2" ] || diag "$(tail -n 20 stderr)"
}

# ---- what runs in the background: one line after the other in each lane ----

# kvreplay in a folder of its own, with other engines: simulated NAME OPTION...
simulated() {
    mkdir -p "$1/bin"
    ln -s "$BIN/kvgen" "$BIN/kvstat" "$1/bin"
    printf '#!/bin/sh\n%s\nexec "%s" %s "$@"\n' "$2" "$BIN/kvreplay" "$3" >"$1/bin/kvreplay"
    chmod +x "$1/bin/kvreplay"
}
# Memory that takes no time: touching 4 GiB takes longer than all that the script does.
simulated no_memory '' '--config spin=0 --tier-engine 1=null'

lane_suite() {
    run suite tiny suite.sh suite -u 2 -t 1 -d objects.suite --gpu-mem-gb 0.02 --cpu-mem-gb 0.03 --storage-capacity-gb 8 \
        -w gpu-only,cpu-only,storage-only,gpu-cpu,cpu-storage,gpu-cpu-storage,storage-saturation,production
    run suite_trials tiny suite.sh suite_trials -w storage-only --trials 2 -u 2 -t 1 -d objects.suite \
        --storage-capacity-gb 8
    run submission env BUILD="$TMP/no_memory" "$examples/suite.sh" -m "$model" -o submission.out -w mlperf_submission -u 2 -t 1 \
        -d objects.suite --storage-capacity-gb 8
    run wrapper env BUILD="$TMP/no_memory" "$examples/suite.sh" -m "$model" -o wrapper.out --wrapper -w storage-only -u 2 -t 1 \
        -d objects.suite --storage-capacity-gb 8
    run sharegpt tiny sharegpt-vs-synthetic.sh sharegpt -u 2 -t 1 -d objects.suite --cpu-mem-gb 0.01 \
        -f "$DATA/sharegpt_dummy_250.json.zst"
}
lane_drives() {
    run elsewhere tiny replay-elsewhere.sh elsewhere - far/away --tarball kvtrace.tar.gz -u 2 -t 1
    run little_room env PATH="$TMP/small:$PATH" "$examples/replay-elsewhere.sh" - far/little -m "$model" \
        -o little_room.out --tarball kvtrace.tar.gz -u 4 -t 1
    run without tiny replay-elsewhere.sh without - far/without --tarball without.tar.gz -u 2 -t 1
}
lane_nodes() {
    run precondition tiny precondition-then-measure.sh precondition -s 16M -u 2 -t 1 --trials 2 -d filled \
        --storage-capacity-gb 8
    run disaggregated tiny disaggregated.sh disaggregated -u 2 -t 1 -d objects.nodes --storage-capacity-gb 8
    run mlperf env BUILD="$TMP/no_memory" "$examples/mlperf.sh" -m "$model" -o mlperf.out -u 2 -t 1 --trials 1 \
        -d objects.nodes --storage-capacity-gb 8 -w option_1,option_2,8b-cpu4
    run mlperf_full tiny mlperf.sh mlperf_full -u 4 -t 1 --trials 1 -d objects.nodes --storage-capacity-gb 0.04 \
        -w option_1
}
mkdir -p packed/kvtrace small
ln -s "$BIN" packed/kvtrace/bin
tar -C packed -czf kvtrace.tar.gz kvtrace
printf '#!/bin/sh\necho; echo disk 9999999 0 70000 1%% /\n' >small/df
chmod +x small/df
tar -C small -czf without.tar.gz df
lane_suite &
lane_drives &
lane_nodes &
model=tiny-1b # whose sizes are known

# ---- help ----

exits 'suite.sh --help' 0 "$examples/suite.sh" --help # kvtrace.t has those of the others
like 'the help begins with its name' "$(cat stdout)" '^suite.sh - '
for suite in "$examples"/*.sh "$examples/kvbench"; do
    { read -r _ && read -r head; } <"$suite"
    like "${suite##*/}: its help begins with its name, too" "$head" "^# ${suite##*/} - "
done

# ---- sizes: what kvreplay may use in the folder that was named, however full its file system is ----

sized() { sh -c '. "$0"; target=$1 gpu=0 cpu=1; propose; echo "$storage"' "$examples/common.sh" "$1"; }
is 'sizes: kvgen looks at the folder' "$(sized "$TMP/new/one")" "auto:$TMP"
is 'sizes: at the one that is there' "$(sized "$TMP")" "auto:$TMP"
mkdir proposes
printf '#!/bin/sh\nprintf "  --gpu-mem 2 --storage-capacity 3\\n  --target .\\n  --users 7\\n"\n' >proposes/discover.sh
chmod +x proposes/discover.sh
is 'sizes: what is not proposed stays empty' \
    "$(sh -c '. "$0"; examples=proposes storage=4 gpu="" cpu="" users="" target=""; propose; echo "$gpu/$cpu/$users"' \
        "$examples/common.sh")" 2//7
# near FOLDER: the rule of the scripts is that of the programs; other work changes the free space, but not each time.
near() {
    sh -c '. "$0"; room "$1"' "$examples/common.sh" "$1" >near.room
    kvgen --model tiny-1b --max-requests 1 --storage-capacity-gb "auto:$1" -o none --summary near.json 2>near.err || return
    awk -v got="$(cat near.room)" -v want="$(json near.json 'tier("Tier-2").capacity_bytes / 1073741824')" \
        'BEGIN { print got, want; exit !(got > want * 0.99 - 0.01 && got < want * 1.01 + 0.01) }'
}
ok 'sizes: the room of a folder' tries 5 near "$TMP"
if [ -d /dev/shm ]; then ok 'sizes: the room of one in memory' tries 5 near /dev/shm; fi
# A file system of 1 GiB, of which 15 % are free: 5 % of it stay free.
full() { printf 'x\nx 1048576 891290 157286 85%% /\n' | sh -c '. "$0"; most' "$examples/common.sh"; }
is 'sizes: a file system that is 85 % full' "$(full)" "$(awk 'BEGIN { printf "%.3f", ((157286 - 52428.8) * 31 / 32 - 8192) / 1048576 }')"

# ---- cache-size: the table ends at the ceiling, and agrees with a run at that size ----

blocks=$DATA/mooncake_first200.jsonl
exits 'cache-size' 0 tiny cache-size.sh cache -i "$blocks"
like 'cache-size: the knee' "$(tail -2 stdout | head -1)" \
    '^The knee is [0-9.]+ [MG]iB, where [0-9.]+ % of all lookups hit: '
is 'cache-size: the first size with most of its hits' \
    "$(tail -1 stdout | sed 's/A cache of \(.*\) is large enough: \(.*\) % of all lookups hit, at least 95 % .*/\1 \2/')" \
    "$(awk -F , 'NR > 1 { gib[++n] = $1 / 1073741824; percent[n] = $4 * 100 }
        END { for (i = 1; percent[i] < 0.95 * percent[n];) i++
            printf "%.4g GiB %.1f", gib[i], percent[i] }' cache.out/curve.csv)"
ceiling() { tail -1 cache.out/curve.csv | cut -d , -f "$1"; } # 1: bytes, 4: hit rate
is 'cache-size: the ceiling' "$(tail -3 stdout | head -1)" "$(awk -v bytes="$(ceiling 1)" -v rate="$(ceiling 4)" 'BEGIN {
    printf "The ceiling is %.1f %%, reached with %.4g GiB", rate * 100, bytes / 1073741824
    print ": more capacity adds nothing." }')"
kvgen --input "$blocks" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 -o none --summary whole.json 2>whole.log
is 'cache-size: the ceiling is the hit rate of an endless tier' "$(ceiling 4 | awk '{ printf "%.6f", $1 }')" \
    "$(json whole.json .lookups.block.hit_rate | awk '{ printf "%.6f", $1 }')"

once() { "$TOP/examples/cache-size.sh" -i "$1" -m "$model" -o cache_once; }
mkfifo requests
zstdcat -f "$blocks" >requests &
exits 'cache-size: a FIFO' 0 once requests
wait
cp stdout of_fifo
for from in - /dev/stdin; do
    zstdcat -f "$blocks" | once "$from" >stdout 2>stderr
    is "cache-size: $from, again" "$(cat stdout)" "$(cat of_fifo)"
done
exits 'cache-size: two sizes' 0 tiny cache-size.sh cache -i "$blocks" -s 1GiB,3GiB
is 'cache-size: and the ceiling' "$(awk '$1 ~ /^[0-9.]+$/ { print $1 }' stdout | sed 3q | paste -sd ' ' -)" \
    "1.00 3.00 $(ceiling 1 | awk '{ printf "%.2f", $1 / 1073741824 }')"
like 'cache-size: what lies between two sizes' "$(tail -1 stdout)" \
    '^From 1 GiB to 3 GiB, 0[.]2 points more of all lookups hit [(]3[.]6 % instead of 3[.]4 %[)][.]$'
exits 'cache-size: in blocks' 0 tiny cache-size.sh cache -u 5 -t 300 --granularity block:256
is 'cache-size: objects are blocks' "$(json cache.out/kvgen.json '.curve.lookups > 1000')" true
printf '{"timestamp": 0, "input_length": 500, "output_length": 1, "hash_ids": [1]}\n' >never.jsonl
exits 'cache-size: no hit at all' 0 tiny cache-size.sh cache -i never.jsonl
like 'cache-size: says so' "$(tail -1 stdout)" '^Nothing was asked for twice'

# ---- which of two drives is better, from a comparison as kvstat --json --compare writes it ----

# said NAME:BASE:NEW:CHANGED...: the script's words for those figures.
said() {
    {
        echo '  "tested": 3,'
        printf '%s\n' "$@" |
            awk -F : '{ printf "\"name\": \"%s\",\n\"base\": %s,\n\"new\": %s,\n\"changed\": %s\n", $1, $2, $3, $4 }'
    } | sh -c '. "$0"; trials=5; better A B' "$examples/common.sh"
}
read=groups.Tier-2/Read/Decode
is 'better: none' "$(said $read.gib_per_s:1:2:false)" \
    'No difference beyond the noise between A and B in 5 trials of each.'
is 'better: a rate that rose' "$(said $read.gib_per_s:1:2:true)" \
    'B is better than A by more than the noise: bandwidth of reads 2.00 GiB/s against 1.00 GiB/s.'
is 'better: a time that rose' "$(said $read.service_us.p95:90000:1500000:true)" \
    'A is better than B by more than the noise: P95 of reads 90 ms against 1.5 s.'
is 'better: memory is not asked' "$(said groups.Tier-1/Read/Decode.gib_per_s:1:2:true $read.gib_per_s:2:1:true)" \
    'A is better than B by more than the noise: bandwidth of reads 2.00 GiB/s against 1.00 GiB/s.'
is 'better: memory alone' "$(said groups.Tier-1/Read/Decode.service_us.p95:1:2:true)" \
    'No difference beyond the noise between A and B in 5 trials of each.'
answers='A is better in P95 of answers 10 ms against 20 ms'
reads='B in bandwidth of reads 2.00 GiB/s against 1.00 GiB/s'
is 'better: one each' "$(said $read.gib_per_s:1:2:true requests.end_to_end_ms.p95:10:20:true)" \
    "Mixed: by more than the noise, $answers; $reads."
is 'better: in what has no name' "$(said throughput.wall.ops_per_s:1:2:true)" \
    'B is better than A by more than the noise: in 1 of the figures above.'
is 'better: a hit rate is no merit of a drive' "$(said cache.lookups.all.hit_rate:0.1:0.2:true)" \
    'No difference beyond the noise between A and B in 5 trials of each.'

# ---- wrong use ----

exits 'suite: an unknown scenario' 2 tiny suite.sh wrong -d objects -w nothing
exits 'sharegpt-vs-synthetic: a file that is not there' 2 tiny sharegpt-vs-synthetic.sh wrong -f none.json
exits 'sharegpt-vs-synthetic: needs its file' 2 tiny sharegpt-vs-synthetic.sh wrong
exits 'mlperf: an unknown workload' 2 tiny mlperf.sh wrong -d objects -w option_9

# ---- suite.sh ----

first_words() { awk '!NF { exit } { print $1 }' stdout | paste -sd ' ' -; } # of the table
ended 'suite: all scenarios but the search' 0 suite
is 'suite: a line for each' "$(first_words)" \
    'scenario gpu-only cpu-only storage-only gpu-cpu cpu-storage gpu-cpu-storage storage-saturation production'
is 'suite: storage works where it is all there is, and not where there is none' \
    "$(awk '$1 == "storage-only" { print ($3 ~ /^[0-9]/) } $1 == "gpu-only" { print $3 }' stdout | paste -sd ' ' -)" '- 1'
stdout_like 'suite: in words' \
    '^Of what was measured, answers came soonest with [a-z-]+ [(]P95 [0-9.]+ s[)] and latest with [a-z-]+ [(]P95 [0-9.]+ s[)][.]$'
is 'suite: four times the users saturate' "$(json suite.out/.work/storage-saturation.json .run.users)" 8
kvstat --json suite.out >runs.json
is 'suite: kvstat shows a run for each scenario' "$(json runs.json '.runs | length')" 8
if [ "$(json suite.out/.work/gpu-only.json .run.simulated[])" = Tier-0 ]; then
    stdout_like 'suite: a simulated GPU is marked in the table' '^gpu-only .*[(]simulated[)]$'
    stdout_like 'suite: and named' '^The GPU was simulated in: gpu-only gpu-cpu gpu-cpu-storage production; '
    stdout_unlike 'suite: but wins nothing' '^Of what was measured, .*(gpu-|production)'
fi
stdout_unlike 'suite: other loads are not compared' '^Of what was measured, .*(storage-saturation|production)'
# objects NAME FILE: where that scenario's objects lay at the end, by kvstat itself.
objects() {
    kvstat --json "$1" >objects.json
    for objects_tier in Tier-0 Tier-1 Tier-2; do
        json objects.json "[.cache.tiers[] | select(.tier == \"$objects_tier\").final_objects] | add // 0"
    done | awk '{ n[NR] = $1; all += $1 } END { for (i = 1; i <= 3; i++) printf "%.0f%s", n[i] / all * 100, i < 3 ? "/" : "\n" }'
}
is 'suite: where the objects lay, of one tier' "$(awk '$1 == "gpu-only" || $1 == "storage-only" { print $9 }' stdout | paste -sd ' ' -)" \
    '100/0/0 0/0/100'
is 'suite: of two' "$(awk '$1 == "cpu-storage" { print $9 }' stdout)" "$(objects suite.out/cpu-storage.result.csv.zst)"
ended 'suite: trials' 0 suite_trials
ok 'suite: the spread of the trials' grep -q '^ *2 trials' suite_trials.out/storage-only.trials.txt
ended 'suite: the submission of the benchmark' 0 submission
stdout_like 'suite: has its four runs' '^70b-cpu4 '
stdout_like 'suite: with the users that were given' '^8b-cpu0 .* [0-9.]+$'

# The scenarios of the benchmark's wrapper have its sizes, users and times.
# sizes: of each scenario GPU and CPU tier (GiB), generation, users, seconds; of a search what it was told.
sizes() {
    sed -e ':a' -e '/\\$/{N;s/\\\n *//;ba' -e '}' stdout | awk '
        function after(option,   i) { for (i = 1; i < NF; i++) if ($i == option) return $(i + 1) }
        { gsub("\047", ""); gsub("GiB", "") }
        /^# / { name = $2 }
        $1 == "kvgen" || /--autoscale/ { print name, after("--gpu-mem"), after("--cpu-mem"), after("--generation-mode"), \
            after("--users"), after($1 == "kvgen" ? "--duration" : "--search-time") }'
}
exits 'suite: the wrapper' 0 "$examples/suite.sh" --wrapper --print -U 90 -d objects --gpu-mem-gb 24 --cpu-mem-gb 32
is 'suite: the wrapper: its scenarios' "$(sizes)" "$(sed 's/^ *//' <<'END'
    gpu-only 24 4 realistic 50 120
    cpu-only 0 32 realistic 50 120
    storage-only 0 4 realistic 50 120
    gpu-cpu 24 32 realistic 50 120
    cpu-storage 0 8 realistic 90 120
    gpu-cpu-storage 24 8 realistic 90 120
    storage-saturation 0 4 realistic 90 180
    production 24 32 realistic 50 180
    autoscale 24 8 realistic {N} 300s
END
)"
stdout_unlike 'suite: the wrapper: storage is behind all of them' '--storage-capacity-gb none'
exits 'suite: the wrapper: its other search' 0 "$examples/suite.sh" --wrapper --print -w capacity-autoscale,mlperf_submission \
    -d objects
stdout_like 'suite: the wrapper: for capacity, with a large model' '--autoscale capacity'
is 'suite: the wrapper: which is' "$(sizes)" 'capacity-autoscale 0 4 none {N} 300s'
stdout_like 'suite: the wrapper: the workloads of today' 'mlperf.sh -w option_1,option_2,option_3 '
exits 'suite: its users without it' 2 "$examples/suite.sh" -U 90 --print -d objects
ended 'suite: the wrapper, one of them for real' 0 wrapper
is 'suite: the wrapper: generation takes time' \
    "$(json wrapper.out/.work/storage-only.json '.requests.generation_ms.max > 0')" true
stdout_like 'suite: the wrapper: has its line' '^storage-only '

ended 'sharegpt-vs-synthetic' 0 sharegpt
is 'sharegpt-vs-synthetic: two lines' "$(first_words)" 'scenario synthetic sharegpt'
stdout_like 'sharegpt-vs-synthetic: what each moved, in words' '^The conversations moved [0-9.e-]+ GiB/s, '

# ---- nodes, mlperf ----

ended 'precondition-then-measure' 0 precondition
like 'precondition-then-measure: both lines' "$(first_words)" '^scenario before after'
like 'precondition-then-measure: the answer' "$(tail -1 stdout)" 'the drive (before the fill|after it) '
not_ok 'precondition-then-measure: the fill is gone' test -e filled.fill
ended 'disaggregated' 0 disaggregated
stdout_like 'disaggregated: a prefill node writes, and reads only what was there' '^prefill-node: [0-9.]+ GiB/s, '
stdout_like 'disaggregated: a decode node only reads' '^decode-node: [0-9.]+ GiB/s, nothing written$'
stdout_like 'disaggregated: what the drives are for' \
    'this storage gave a prefill node [0-9.]+ GiB/s of writes and a decode node [0-9.]+ GiB/s of reads[.]$'
ended 'mlperf: three workloads' 0 mlperf
stdout_like 'mlperf: not official' 'not an official MLPerf result'
ended 'mlperf: more is written than the drive holds' 0 mlperf_full
isnt 'mlperf: and deleted' "$(zstd -dcq mlperf_full.out/option_1-trial_0-rank_0.trace.csv.zst | grep -c ,Delete,)" 0

# ---- another machine ----

# Programs and trace travel, sizes are those of the other side, nothing stays there.
ended 'replay-elsewhere' 0 elsewhere
stdout_like 'replay-elsewhere: the report, here' 'Tier-2|Storage read'
like 'replay-elsewhere: the answer' "$(tail -1 stdout)" \
    '^This machine read ([0-9.]+ GiB/s|nothing) and wrote [0-9.]+ GiB/s under this load; bottleneck: [a-z]'
not_ok 'replay-elsewhere: nothing stays' test -e far/away
ended 'replay-elsewhere: little room there' 0 little_room
isnt 'replay-elsewhere: is enough' "$(zstd -dcq little_room.out/trace.csv.zst | grep -c ,Delete,)" 0
ended 'replay-elsewhere: programs that do not start' 127 without
not_ok 'replay-elsewhere: nothing stays then either' test -e far/without
wait
done_testing
