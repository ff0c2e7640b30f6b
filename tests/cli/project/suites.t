#!/bin/sh
# suites.t - the scripts of examples/, each for real on a tiny size: they end with status 0, their tables
# have the lines they should, and what they say is what the programs say when asked directly. A bug looked
# like this: a scenario that reused the trace of another, a PASS for a run without reads, an option of a suite that
# did nothing. Those that search or check are in suites_search.t, kvbench in kvbench.t.
. "$(dirname "$0")/../../lib.sh"
plain_only
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# tiny SUITE ARGS...: on the small model, few users, a second or two, a folder of its own.
tiny() {
    tiny_suite=$1
    shift
    "$examples/$tiny_suite" -m tiny-1b -o "$tiny_suite.out" "$@"
}

for suite in "$examples"/*.sh "$examples/kvbench"; do
    case $suite in */common.sh | */quickstart.sh) continue ;; esac
    name=${suite##*/}
    exits "$name --help" 0 "$suite" --help
    like "$name: the help begins with its name" "$(head -1 "$TMP/stdout")" "^$name - "
    exits "$name: an unknown option" 2 "$suite" --no-such-option 1
done

# ---- sizes: a folder that was named decides, not the largest file system of the machine ----
if [ -d /dev/shm ]; then
    # near FOLDER PLACE: what is free changes, but hardly by a GiB in the meantime, and not each time.
    near() {
        near=$(sized "$1")
        awk -v got="$near" -v want="$(df -Pk "$2" | awk 'NR == 2 { print $4 * 0.75 / 1048576 }')" \
            'BEGIN { print got, want; exit !(got > want - 1 && got < want + 1) }'
    }
    # shellcheck disable=SC2016
    sized() { sh -c '. "$0"; target=$1 gpu=0 cpu=1; propose; echo "$storage"' "$examples/common.sh" "$1"; }
    ok 'sizes: the room of a folder in memory' tries 5 near /dev/shm/not/there /dev/shm
    ok 'sizes: the room of one on disk' tries 5 near "$TMP/new" "$TMP"
fi

# ---- fast-enough: the verdict and the bandwidth are kvstat's own, the bandwidth is kvreplay's own ----
tiny fast-enough.sh -u 3 -t 2 -d objects -g fast >stdout 2>stderr
is 'fast-enough: the exit status is the verdict' "$?" "$(sed -n 's/^PASS: objects is fast .*/0/p; s/^FAIL: objects is not .*/1/p; s/^NOT KNOWN whether .*/1/p' stdout)"
kvstat --by tier,op --json fast-enough.sh.out/run.result.csv.zst >run.json
ok 'fast-enough: the read bandwidth is that of kvreplay' python3 -c '
import json
own = json.load(open("fast-enough.sh.out/run.kvreplay.json"))["tiers"][0]["read"]["gib_per_s"]
said = [g["gib_per_s"] for g in json.load(open("run.json"))["groups"] if g["by"] == {"tier": "Tier-2", "op": "Read"}][0]
assert own > 0 and abs(own / said - 1) < 0.001, (own, said)'
not_ok 'fast-enough: nothing stays on the drive' test -e objects/00
# Drives as fast as said, in place of the real one: operations in time are not enough where people wait.
mkdir -p simulated/bin
ln -s "$BIN/kvgen" "$BIN/kvstat" simulated/bin
cat >simulated/bin/kvreplay <<EOF
#!/bin/sh
shift 2 # --nvme DIR
exec "$BIN/kvreplay" --lateness-budget "\${BUDGET:-1h}" --tier-engine "2=sim:\$SPEED" "\$@"
EOF
chmod +x simulated/bin/kvreplay
# Where the machine is busy elsewhere for long, answers come too late.
quick() {
    BUILD=$TMP/simulated SPEED=lat=1us "$examples/fast-enough.sh" -m tiny-1b -u 3 -t 4 -d objects -o quick >stdout || {
        tail -5 stdout
        return 1
    }
}
ok 'fast-enough: a drive that takes no time' tries 3 quick
like 'fast-enough: passes' "$(cat stdout)" '^PASS: objects is fast enough for 3 users of tiny-1b$'
exits 'fast-enough: in a run that is not valid' 1 env BUILD="$TMP/simulated" SPEED=lat=1us BUDGET=1ns \
    "$examples/fast-enough.sh" -m tiny-1b -u 3 -t 2 -d objects -o late
like 'fast-enough: passes nothing' "$(tail -1 stdout)" '^NOT KNOWN whether objects is fast enough for 3 users of tiny-1b: '
like 'fast-enough: and says what that is' "$(cat stdout)" '^Caution: not valid, as said above: 1 of 1 run[.]'
slow() {
    BUILD=$TMP/simulated SPEED=bw=1GB/s "$examples/fast-enough.sh" -m tiny-1b -u 3 -t 3 -d objects -o slow >stdout && return 1
    tail -5 stdout
    grep -q '^Profile latency: PASS' stdout && grep -Eq '^Bottleneck: (queue|storage)' stdout
}
ok 'fast-enough: one that serves some only' tries 3 slow
like 'fast-enough: with each operation in time' "$(cat stdout)" '^Profile latency: PASS'
like 'fast-enough: answers too few' "$(cat stdout)" '^FAIL: objects is not fast enough for 3 users of tiny-1b$'
like 'fast-enough: says how slow each operation is' "$(cat stdout)" \
    '^Operations: device P95 reads [0-9]+ ms of 200, writes [0-9]+ ms of 500$'
like 'fast-enough: says what holds people up' "$(cat stdout)" '^Bottleneck: (queue|storage)'
exits 'fast-enough: a user count that is none' 2 tiny fast-enough.sh -u none
exits 'fast-enough: an option of another suite' 2 tiny fast-enough.sh --trials 2

# ---- suite.sh ----
exits 'suite: all scenarios but the search' 0 tiny suite.sh -u 2 -t 1 -d objects --gpu-mem-gb 0.2 \
    --cpu-mem-gb 0.3 --storage-capacity-gb 8 \
    -w gpu-only,cpu-only,storage-only,gpu-cpu,cpu-storage,gpu-cpu-storage,storage-saturation,production
is 'suite: a line for each' "$(awk '!NF { exit } NR > 1 { print $1 }' stdout | paste -sd ' ' -)" \
    'gpu-only cpu-only storage-only gpu-cpu cpu-storage gpu-cpu-storage storage-saturation production'
is 'suite: storage works where it is all there is, and not where there is none' \
    "$(awk '$1 == "storage-only" { print ($3 > 0) } $1 == "gpu-only" { print $3 }' stdout | paste -sd ' ' -)" '- 1'
like 'suite: in words' "$(cat stdout)" '^Answers came soonest with [a-z-]+ [(]P95 [0-9.]+ s[)], latest with [a-z-]+ [(][0-9.]+ s[)][.]$'
exits 'suite: trials' 0 tiny suite.sh -w storage-only --trials 2 -u 2 -t 1 -d objects --storage-capacity-gb 8
ok 'suite: the spread of the trials' grep -q '^ *2 trials' suite.sh.out/storage-only.trials.txt
is 'suite: four times the users saturate' "$(sed -n 's/.*"users": *\([0-9]*\).*/\1/p' suite.sh.out/storage-saturation.json)" 8
exits 'suite: an unknown scenario' 2 tiny suite.sh -d objects -w nothing

# ---- what compares ----
exits 'sharegpt-vs-synthetic' 0 tiny sharegpt-vs-synthetic.sh -u 2 -t 1 -d objects --cpu-mem-gb 0.1 \
    -f "$DATA/sharegpt_dummy_250.json.zst"
is 'sharegpt-vs-synthetic: two lines' "$(awk '!NF { exit } { print $1 }' stdout | paste -sd ' ' -)" 'scenario synthetic sharegpt'
like 'sharegpt-vs-synthetic: what each moved, in words' "$(cat stdout)" '^The conversations moved [0-9.e-]+ GiB/s, '
exits 'sharegpt-vs-synthetic: a file that is not there' 2 tiny sharegpt-vs-synthetic.sh -f none.json
exits 'sharegpt-vs-synthetic: needs its file' 2 tiny sharegpt-vs-synthetic.sh
exits 'compare-drives' 0 tiny compare-drives.sh -u 2 -t 1 --trials 2 --storage-capacity-gb 8 one two
like 'compare-drives: a line for each drive' "$(cat stdout)" '^two '
like 'compare-drives: the verdict of kvstat' "$(cat stdout)" '^[0-9]+ of [0-9]+ figures that could be tested'
like 'compare-drives: ends with an answer' "$(tail -1 stdout)" \
    '^(No difference beyond the noise between one and two|(one|two) is better than|Mixed: by more than the noise, one is|Nothing could be comp)'
exits 'compare-drives: needs two folders' 2 tiny compare-drives.sh one
# Drives a hundred times apart, whatever else the machine does.
sed "s/--tier-engine.*/--tier-engine 2=sim:lat=\$(case \$drive in *slow) echo 20ms ;; *) echo 200us ;; esac) \"\$@\"/; s/^shift.*/drive=\$2\n&/" \
    simulated/bin/kvreplay >simulated/kvreplay
chmod +x simulated/kvreplay && mv simulated/kvreplay simulated/bin/kvreplay
apart() {
    BUILD=$TMP/simulated "$examples/compare-drives.sh" -m tiny-1b -o apart -u 2 -t 1 --trials 3 --storage-capacity-gb 8 \
        slow quick >stdout || return
    tail -1 stdout
    tail -1 stdout | grep -Eq '^quick is better than slow by more than the noise: bandwidth of reads .*, P95 of reads '
}
ok 'compare-drives: a slow one and a quick one' tries 3 apart
like 'compare-drives: which is better, and in what' "$(tail -1 stdout)" \
    '^quick is better than slow by more than the noise: bandwidth of reads [0-9.]+ GiB/s against [0-9.]+ GiB/s, P95 of reads [0-9.]+ ms against '
exits 'compare-drives: one run each' 0 env BUILD="$TMP/simulated" \
    "$examples/compare-drives.sh" -m tiny-1b -o once -u 2 -t 1 --trials 1 --storage-capacity-gb 8 slow quick
like 'compare-drives: is no comparison' "$(tail -1 stdout)" '^One run of each does not tell .* --trials 3 to 5[.]$'

# figures NAME:BASE:NEW:CHANGED...: as kvstat --json --compare writes them.
figures() {
    echo '  "tested": 3,'
    for figure; do
        echo "$figure" | awk -F : '{ printf "\"name\": \"%s\",\n\"base\": %s,\n\"new\": %s,\n\"changed\": %s\n", $1, $2, $3, $4 }'
    done
}
# shellcheck disable=SC2016
said() { figures "$@" | sh -c '. "$0"; trials=5; better A B' "$examples/common.sh"; }
read=groups.Tier-2/Read/Decode
is 'better: none' "$(said $read.gib_per_s:1:2:false)" 'No difference beyond the noise between A and B in 5 trials of each.'
is 'better: a rate that rose' "$(said $read.gib_per_s:1:2:true)" \
    'B is better than A by more than the noise: bandwidth of reads 2.00 GiB/s against 1.00 GiB/s.'
is 'better: a time that rose' "$(said $read.service_us.p95:90000:1500000:true)" \
    'A is better than B by more than the noise: P95 of reads 90 ms against 1.5 s.'
is 'better: one each' "$(said $read.gib_per_s:1:2:true requests.end_to_end_ms.p95:10:20:true)" \
    'Mixed: by more than the noise, A is better in P95 of answers 10 ms against 20 ms; B in bandwidth of reads 2.00 GiB/s against 1.00 GiB/s.'
is 'better: in what has no name' "$(said throughput.wall.ops_per_s:1:2:true)" \
    'B is better than A by more than the noise: in 1 of the figures above.'
is 'better: a hit rate is no merit of a drive' "$(said cache.lookups.all.hit_rate:0.1:0.2:true)" \
    'No difference beyond the noise between A and B in 5 trials of each.'

exits 'precondition-then-measure' 0 tiny precondition-then-measure.sh -s 16M -u 2 -t 1 --trials 2 -d objects \
    --storage-capacity-gb 8
like 'precondition-then-measure: both lines' "$(awk '{ print $1 }' stdout | paste -sd ' ' -)" '^scenario before after'
like 'precondition-then-measure: the answer' "$(tail -2 stdout | head -1)" 'the drive (before the fill|after it) '
not_ok 'precondition-then-measure: the fill is gone' test -e objects.fill

exits 'disaggregated' 0 tiny disaggregated.sh -u 2 -t 1 -d objects --storage-capacity-gb 8
like 'disaggregated: a prefill node writes, and reads only what was there' "$(cat stdout)" '^prefill-node: [0-9.]+ GiB/s, '
like 'disaggregated: a decode node only reads' "$(cat stdout)" '^decode-node: [0-9.]+ GiB/s, nothing written$'
like 'disaggregated: what the drives are for' "$(cat stdout)" 'a prefill node [0-9.]+ GiB/s of writes, a decode node [0-9.]+ GiB/s of reads:$'

# ---- replay-elsewhere: programs and trace travel, sizes are those of the other side, nothing stays there ----
mkdir -p packed/kvtrace
ln -s "$BIN" packed/kvtrace/bin
tar -C packed -czf kvtrace.tar.gz kvtrace
exits 'replay-elsewhere' 0 tiny replay-elsewhere.sh - far/away --tarball kvtrace.tar.gz -u 2 -t 1
like 'replay-elsewhere: the report, here' "$(cat stdout)" '^this machine: bottleneck '
not_ok 'replay-elsewhere: nothing stays' test -e far/away
mkdir small
printf '#!/bin/sh\necho; echo disk 9999999 0 700000 1%% /\n' >small/df
chmod +x small/df
PATH=$TMP/small:$PATH exits 'replay-elsewhere: little room there' 0 tiny replay-elsewhere.sh - far/away \
    --tarball kvtrace.tar.gz -u 4 -t 1
isnt 'replay-elsewhere: is enough' "$(zstd -dcq replay-elsewhere.sh.out/trace.csv.zst | grep -c ,Delete,)" 0
tar -C small -czf without.tar.gz df
exits 'replay-elsewhere: programs that do not start' 127 tiny replay-elsewhere.sh - far/away --tarball without.tar.gz \
    -u 2 -t 1
not_ok 'replay-elsewhere: nothing stays then either' test -e far/away

# ---- cache-size: the table ends at the ceiling, and agrees with a run at that size ----
exits 'cache-size' 0 tiny cache-size.sh -i "$DATA/mooncake_first200.jsonl"
like 'cache-size: the knee' "$(tail -3 stdout | head -1)" '^The knee is [0-9.]+ [MG]iB, where [0-9.]+ % of all lookups hit: '
is 'cache-size: the first size with most of its hits' "$(tail -2 stdout | head -1 | awk '{ printf "%s %s %.1f", $2, $3, $4 }')" \
    "$(awk -F , 'NR > 1 { size[++n] = $1 / 1073741824; hits[n] = $4 * 100 }
        END { for (i = 1; hits[i] < 0.95 * hits[n];) i++; printf "%.4g GiB %.1f", size[i], hits[i] }' cache-size.sh.out/curve.csv)"
is 'cache-size: the ceiling' "$(tail -1 stdout)" "$(tail -1 cache-size.sh.out/curve.csv | awk -F , '{
    printf "The ceiling is %.1f %%, reached with %.4g GiB: more capacity brings nothing.", $4 * 100, $1 / 1073741824 }')"
kvgen --input "$DATA/mooncake_first200.jsonl" --model tiny-1b --gpu-mem-gb 0 --cpu-mem-gb 0 -o none --summary whole.json \
    2>whole.log
is 'cache-size: the ceiling is the hit rate of an endless tier' \
    "$(tail -1 cache-size.sh.out/curve.csv | awk -F , '{ printf "%.6f", $4 }')" \
    "$(python3 -c 'import json; print("%.6f" % json.load(open("whole.json"))["lookups"]["block"]["hit_rate"])')"

exits 'cache-size: two sizes' 0 tiny cache-size.sh -i "$DATA/mooncake_first200.jsonl" -s 1GiB,3GiB
is 'cache-size: and the ceiling' "$(awk '$1 ~ /^[0-9.]+$/ { print $1 }' stdout | sed 3q | paste -sd ' ' -)" "1.00 3.00 $(tail -1 cache-size.sh.out/curve.csv |
    awk -F , '{ printf "%.2f", $1 / 1073741824 }')"
like 'cache-size: what lies between two sizes' "$(tail -2 stdout | head -1)" \
    '^From 1 GiB to 3 GiB: 0[.]2 points more of all lookups hit [(]3[.]6 % instead of 3[.]4 %[)][.]$'
exits 'cache-size: in blocks' 0 tiny cache-size.sh -u 5 -t 20 --granularity block:256
is 'cache-size: objects are blocks' "$(sed -n 's/.*"lookups": \([0-9]*\),*$/\1/p' cache-size.sh.out/kvgen.json | tail -1 |
    awk '{ print ($1 > 1000) }')" 1
printf '{"timestamp": 0, "input_length": 500, "output_length": 1, "hash_ids": [1]}\n' >never.jsonl
exits 'cache-size: no hit at all' 0 tiny cache-size.sh -i never.jsonl
like 'cache-size: says so' "$(tail -1 stdout)" '^Nothing was asked for twice'

# ---- mlperf: the tree that the benchmark's aggregator reads ----
exits 'mlperf' 0 tiny mlperf.sh -u 2 -t 1 --trials 2 -d objects --storage-capacity-gb 8 -w option_1,option_2,8b-cpu4
is 'mlperf: a file for each trial' \
    "$(cd mlperf.sh.out && find option_1 option_2 -name 'kvcache_results_*.json' | sed 's/kvcache_.*//' | sort | paste -sd ' ' -)" \
    'option_1/trial_0/rank_0/ option_1/trial_1/rank_0/ option_2/trial_0/rank_0/ option_2/trial_1/rank_0/'
like 'mlperf: not official' "$(cat stdout)" 'not an official MLPerf result'
exits 'mlperf: more is written than the drive holds' 0 tiny mlperf.sh -u 4 -t 1 --trials 1 -d objects \
    --storage-capacity-gb 0.5 -w option_1
isnt 'mlperf: and deleted' "$(zstd -dcq mlperf.sh.out/option_1-trial_0.trace.csv.zst | grep -c ,Delete,)" 0
exits 'mlperf: an unknown workload' 2 tiny mlperf.sh -d objects -w option_9

done_testing
