#!/bin/sh
# answer.t - kvstat --answer shows what kvgen found, in the view of each question, and takes in what a run on the drive
# says of it: within 15 % of the model it is confirmed, else the answer is INCONCLUSIVE with the cause that the run shows.
# Bugs looked like a PASS beside times that were a cache's, one sentence for all causes, or a screen that wraps.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
cp "$DATA/answers/gain.json" "$TMP" && cd "$TMP" || exit 1

narrow() { # NAME: the lines in stdout
    is "$1: lines fit 80 columns" "$(awk 'length > 80' stdout)" ''
}
# with_asked N VERDICT LIMIT: an answer on another number.
with_asked() {
    sed -e "s/\"asked\": 35/\"asked\": $1/" -e "s/\"verdict\": \"PASS\"/\"verdict\": $2/" gain.json
}
# unreached: an answer in which host memory holds all.
unreached() {
    sed -e 's/"reached": true/"reached": false/' -e 's/"none": {"value": 21, "low": 20, "high": 22}/"none": {"value": 38, "low": 36, "high": 40}/' gain.json
}

# ---- views ----

exits 'drive' 0 "$kvstat" --answer gain.json
narrow drive
cat >drive.txt <<'END'
llama3.1-8b on one H100 (by calculation), vllm 0.33, chat users
/mnt/nvme (nvme0n1 Example, 3.84 TB, measured 2026-01-01 00:00)

Users held      this drive 38 (36-40)   no drive 21 (20-22)   ideal 44 (42-46)
                held in 4 of 5 random loads (seeds); brackets: in all, in any
At 38 users     first token p95 1.84 s (limit 2 s); without the drive 5.9 s
The drive       reads 0.25 GB/s of 6.5, writes 0.09 of 4.9 at this mix and depth
                8 TB written a day: full after 12 h, then the oldest go
                a hit waits 41 ms (p95 96 ms) for the drive and for room in
                memory; computing it takes 310 ms on an idle GPU
Knee            16 reads of 4.00 MiB in flight, 6.4 GB/s at p95 12 ms; this load
                keeps 2.9
Tokens from     GPU 34 %, host memory 21 %, drive 28 %, computed 17 %
What ends it    prefill on the GPU: a faster drive adds at most 6 users
Confirmed       no: this load never ran on the drive, all is by its model
Verdict holds   if the GPU's prefill is 0.7 to 1.6 times as fast as assumed
Wear            2.1 drive writes a day at this load; its rated writes last 3.9
                years

The GPU's speed is an estimate: give yours (--prefill-rate RATE@TOKENS).
END
ok 'is the screen' diff -u drive.txt stdout
sed 's/"limit": {"kind".*/"limit": null,/' gain.json >unlimited.json
exits 'an answer that knows no limit' 0 "$kvstat" --answer unlimited.json
stdout_like 'says what a drive can add' '^What ends it    a faster drive adds at most 6 users$'
sed 's/"by": "calculation"/"by": "measurement"/' gain.json >measured.json
exits 'a GPU that was measured' 0 "$kvstat" --answer measured.json
stdout_like 'is said to be' '^llama3.1-8b on one H100 \(measured\), vllm'
stdout_unlike 'and not asked for' 'prefill-rate'

# The knee is that of the load's mix, and a step of four times as many counts by its doublings: 6.25 % are 3.1 % each.
sed 's/"read": {"asked_bytes_s": 250000000/"read": {"asked_bytes_s": 25000000/' gain.json >mostly.json
exits 'a load that writes' 0 "$kvstat" --answer mostly.json
stdout_like 'has the knee of writes' '^Knee            4 writes of 4\.00 MiB in flight, 4\.5 GB/s at p95 4\.3 ms;'
sed 's/6800000000/7200000000/' gain.json >steep.json
exits 'a drive that gives more up to the last step' 0 "$kvstat" --answer steep.json
stdout_like 'has none' '^Knee            none up to 64 reads of 4\.00 MiB in flight, 7\.2 GB/s at p95$'
"$kvstat" --answer steep.json --json >steep.out
is 'which the file has' "$(json steep.out '.knee | .found, .in_flight, .bytes_per_s, .p95_s, .size_bytes, .read_share')" 'false 64 7200000000 0.044 4194304 1'
sed '/"in_flight": 2\.9/d; s/, "p95_us": [0-9]*//' gain.json >timeless.json
exits 'points without times' 0 "$kvstat" --answer timeless.json
stdout_like 'have the rate alone' '^Knee            16 reads of 4\.00 MiB in flight, 6\.4 GB/s$'
sed '/"size_bytes"/d; s/"points": \[/"points": []/; /^      \]$/d' gain.json >plain.json
exits 'a drive that was not measured' 0 "$kvstat" --answer plain.json
stdout_unlike 'has no knee' '^Knee'
"$kvstat" --answer plain.json --json >plain.out
is 'in the file neither' "$(json plain.out .knee)" null
sed 's/"p95_us": 2900/"p95_us": "long"/' gain.json >bad.json
exits 'a time that is no number' 2 "$kvstat" --answer bad.json
stderr_like 'is named' 'bad.json: settings.drive.points\[0\].p95_us is no number'

exits 'users' 0 "$kvstat" --answer gain.json --view users
narrow users
stdout_like 'has the numbers that were tried' '^ +38 +3 of 5 +95\.3 % +1\.84 s +1\.42   prefill on the GPU$'
stdout_unlike 'those of the drive alone' '^ +21 '
stdout_like 'and which of them pass' '^PASS up to 36 users, INCONCLUSIVE from 37 to 40, FAIL above 40$'
is 'in their order' "$(awk '$1 ~ /^[0-9]/ && $3 == "of" { print $1 }' stdout | tr '\n' ' ')" '32 36 38 40 48 '

# A load that was given up has no figures, and a long table has the rows of what the screen names.
sed '/"variant": "this", "users": 48/s/"goodput".*"limit": "[^"]*"/"goodput": null, "first_token_p95_s": null, "requests_s": null, "limit": null/' \
    gain.json >given_up.json
exits 'a load that was given up' 0 "$kvstat" --answer given_up.json --view users
stdout_like 'says so' '^ +48 +0 of 5   given up before it was warm$'
stdout_unlike 'and no row has a dash' '^ +[0-9]+ +[0-9] of 5 .* - '
sed 's/"goodput": 0.72, "first_token_p95_s": 4.2, "requests_s": 1.62/"goodput": null, "first_token_p95_s": null, "requests_s": null/' gain.json >given_up.json
exits 'for a reason' 0 "$kvstat" --answer given_up.json --view users
stdout_like 'which is told' '^ +48 +0 of 5   given up before it was warm: prefill on the GPU$'
jq '.tried |= [.[0] as $row | range(1; 36) | $row + {users: .}, ($row + {users: (. + 100)})] + .[1:4]' gain.json >long.json
exits 'a long table' 0 "$kvstat" --answer long.json --view users
is 'is cut, but for what is named' "$(awk '$3 == "of" { n++; if ($1 == 35 || $1 == 36 || $1 == 38 || $1 == 40) named++ } END { print n, named }' stdout)" '12 4'
sed 's/"low": 36, "high": 40/"low": 3, "high": 130/; s/"low": 14, "high": 20/"low": -17, "high": 20/' long.json | jq '.users.this.low = 3 | .users.this.high = 130' >wide.json
exits 'of a wide interval' 0 "$kvstat" --answer wide.json --view users
is 'too' "$(awk '$3 == "of" && ($1 == 3 || $1 == 38 || $1 == 130) { n++ } END { print n }' stdout)" 3

first() { head -n 1 stdout; }
exits 'fast enough' 0 "$kvstat" --answer gain.json --view fast-enough
narrow fast-enough
is 'is said first' "$(first)" 'PASS: 35 users are held, and up to 36 in each of 5 seeds'
with_asked 20 '"PASS"' >easy.json
exits 'a number that no drive holds, too' 0 "$kvstat" --answer easy.json --view fast-enough
is 'is told to need none' "$(first)" 'PASS: 20 users are held, and up to 36 in each of 5 seeds; without the drive, too'
with_asked 45 '"FAIL"' >fail.json
exits 'not fast enough' 1 "$kvstat" --answer fail.json --view fast-enough
is 'is said first, with what ends it' "$(first)" \
    'FAIL: 45 users are not held: 40 at most in any of 5 seeds; what ends it: prefill'
with_asked 38 '"INCONCLUSIVE"' >between.json
exits 'between' 4 "$kvstat" --answer between.json --view fast-enough
like 'is not decided' "$(first)" \
    '^INCONCLUSIVE: 38 users are held in some of 5 seeds only: up to 36 in all, up to$'
with_asked 38 null >between.json
exits 'a number without a verdict is not decided' 4 "$kvstat" --answer between.json --json
is 'nor in JSON' "$(json stdout .verdict)" INCONCLUSIVE
with_asked null null >open.json
exits 'without a number there is no verdict' 0 "$kvstat" --answer open.json --json
is 'which is null' "$(json stdout .verdict) $(json stdout .why)" 'null null'

sed 's/"seeds": 5/"seeds": 1/' gain.json >one.json
exits 'one seed' 0 "$kvstat" --answer one.json --view fast-enough
is 'is not told' "$(first)" 'PASS: 35 users are held, and up to 36'
sed 's/"written_bytes_day": [0-9.e+]*/"written_bytes_day": 0/' gain.json >read.json
exits 'nothing is written' 0 "$kvstat" --answer read.json
stdout_unlike 'is not told' 'written a day|Wear'

exits 'worth' 0 "$kvstat" --answer gain.json --view worth
narrow worth
like 'is the gain' "$(first)" '^gain: 17 users more \(14-20\), 38 \(36-40\) instead of 21 \(20-22\); at 38 users it$'
stdout_like 'in tokens, GPU seconds and money' '^ +saves a day 88\.8 million tokens of prefill, 22,320 GPU seconds, 15\.5 USD$'
# There is a gain exactly where each seed has one, also where the intervals meet.
gained() { # LOW HIGH NONE: 38 (36-40) against NONE, seed by seed LOW to HIGH more
    sed -e "s/\"none\": {\"value\": 21, \"low\": 20, \"high\": 22}/\"none\": {\"value\": $3, \"low\": 33, \"high\": 41}/" \
        -e "s/\"gain\": {.*}/\"gain\": {\"value\": $((38 - $3)), \"low\": $1, \"high\": $2}/" gain.json
}
gained 1 6 34 >near.json
exits 'a gain with each seed' 0 "$kvstat" --answer near.json --view worth
like 'is one, though the brackets overlap' "$(first)" '^gain: 4 users more \(1-6\), 38 \(36-40\) instead of 34 \(33-41\);'
like 'which the screen says' "$(tr '\n' ' ' <stdout)" ' a gain: seed by seed, this drive holds 1 to 6 users more than +no +drive '
gained 0 6 34 >undecided.json
exits 'with some seeds only' 4 "$kvstat" --answer undecided.json --view worth
like 'is not decided' "$(tr '\n' ' ' <stdout)" '^INCONCLUSIVE: this drive holds 38 \(36-40\), no drive 34 \(33-41\); seed by seed, +this drive holds 0 to 6 users more '
like 'on the screen, too' "$(tr '\n' ' ' <stdout)" ' gain not decided: seed by seed, this drive holds 0 to 6 users +more than no drive'
"$kvstat" --answer undecided.json --view worth --json >undecided.out
is 'nor in JSON' "$(json undecided.out '.gain | .value, .low, .high, .is_there, length')" '4 0 6 null 4'
gained -2 6 34 >undecided.json
exits 'with fewer in some' 4 "$kvstat" --answer undecided.json --view worth
like 'is said' "$(tr '\n' ' ' <stdout)" 'seed by seed, +this drive holds 2 users fewer to 6 more '
gained -3 0 39 >less.json
exits 'with none' 1 "$kvstat" --answer less.json --view worth
is 'is no gain' "$(first)" 'no gain: this drive holds 38 (36-40), no drive 39 (33-41)'
"$kvstat" --answer less.json --json >less.out
is 'nor in JSON' "$(json less.out .gain.is_there)" false

sed -e 's/"value": \([0-9]*\), "low": [0-9]*, "high": [0-9]*/"value": \1, "low": \1, "high": \1/' gain.json >exact.json
exits 'no interval' 0 "$kvstat" --answer exact.json --view worth
like 'is not told' "$(first)" '^gain: 17 users more, 38 instead of 21;'
stdout_unlike 'nor what brackets are' 'brackets'
with_asked null null >unasked.json
exits 'a gain, where no number was asked for' 0 "$kvstat" --answer unasked.json
stdout_like 'is one for these speeds of the GPU' '^Drive helps     if the GPU.s prefill is 0\.7 to 1\.6 times as fast as assumed$'
sed 's/"asked": 35/"asked": null/' less.json >unasked.json
exits 'no gain' 0 "$kvstat" --answer unasked.json
stdout_unlike 'is none for any' '^(Drive helps|Verdict holds)'
sed -e 's/"this": {"value": 38, "low": 36, "high": 40}/"this": {"value": 21, "low": 20, "high": 22}/' \
    -e 's/"gain": {.*}/"gain": {"value": 0, "low": 0, "high": 0}/' gain.json >same.json
exits 'as many as without it' 1 "$kvstat" --answer same.json --view worth
is 'are no gain' "$(first)" 'no gain: this drive holds 21 (20-22), no drive 21 (20-22)'
stdout_like 'that brackets would hide' '^ +no gain: this drive holds no more than no drive$'
sed 's/"read": {"asked_bytes_s": 250000000/"read": {"asked_bytes_s": 600000/' gain.json >writes.json
exits 'next to no reads' 0 "$kvstat" --answer writes.json
stdout_like 'have no limit of their own' '^The drive       reads 0\.0006 GB/s, writes 0\.09 of 4\.9 at this mix and depth$'

sed 's/"settled": true/"settled": false/' gain.json >cold.json
exits 'tiers that still fill' 0 "$kvstat" --answer cold.json
stdout_like 'are told' '^Warm            no: after 4 h of this load these shares still change$'

unreached >host.json
exits 'a drive that nothing reaches' 0 "$kvstat" --answer host.json
stdout_like 'is said' '^The drive       nothing reaches the drive: host memory holds all 41\.0 GiB$'
stdout_unlike 'and not judged' '^(Confirmed|Wear)'
exits 'is worth nothing' 1 "$kvstat" --answer host.json --view worth
is 'for that reason' "$(first)" 'no gain: nothing reaches the drive: host memory holds all 41.0 GiB'
exits 'the users are held all the same' 0 "$kvstat" --answer host.json --view fast-enough
like 'which says nothing of the drive' "$(tr '\n' ' ' <stdout)" '^PASS: 35 users .*; the drive is not +judged: nothing reaches'

sed -e 's/"this": {"value": 38, "low": 36, "high": 40}/"this": {"value": 30, "low": 28, "high": 31}/' \
    -e 's|/mnt/nvme|/mnt/sata|' gain.json >sata.json
exits 'two answers, of which the second holds fewer' 1 "$kvstat" --answer gain.json --view compare sata.json
narrow compare
is 'the better one first' "$(first)" 'the first is better: /mnt/nvme holds 8 users more (5-12)'
stdout_like 'in two columns' '^Drive           /mnt/nvme +/mnt/sata$'
stdout_like 'with the knee of each' '^Knee            16 reads in flight, 6\.4 GB/s +16 reads in flight, 6\.4 GB/s$'
stdout_like 'with what ends it' '^What ends it    prefill on the GPU +prefill on the GPU$'
exits 'the other way round' 0 "$kvstat" --answer sata.json --view compare gain.json
like 'it is the second' "$(first)" '^the second is better: /mnt/nvme holds 8 users more'
sed 's|/mnt/nvme|/mnt/other|' gain.json >other.json
exits 'two that are alike' 0 "$kvstat" --answer gain.json --view compare other.json
like 'cannot be told apart' "$(first)" '^no difference found: 38 \(36-40\) and 38 \(36-40\) users; a difference under 4 users$'
sed 's/"low": 36, "high": 40/"low": 38, "high": 38/' gain.json >exact.json
exits 'two without intervals' 0 "$kvstat" --answer exact.json --view compare exact.json
is 'have no difference that would not show' "$(first)" 'no difference found: 38 and 38 users'
exits 'in JSON' 1 "$kvstat" --answer gain.json --view compare --json sata.json
json_like stdout <<'END'
both answers | .answers | length | 2
the difference | .difference.value, .difference.low, .difference.high | -8 -12 -5
the better one | .better | first
END
sed 's/"cpu_mem_bytes": 44023414784/"cpu_mem_bytes": 1/' gain.json >memory.json
exits 'answers on different loads' 2 "$kvstat" --answer gain.json --view compare memory.json
stderr_like 'are not compared' 'memory.json: is an answer on another load than gain.json: settings.cpu_mem_bytes differs'

jq '.users.this = {value: 40, low: 40, high: 40} | .gain = {value: 19, low: 18, high: 20} | .tried |= map(select(.variant != "this" or .users <= 40))' gain.json >most.json
exits 'a drive that holds all that was tried' 0 "$kvstat" --answer most.json --view users
stdout_like 'fails at none of them' '^PASS up to 40 users, more was not tried$'

# ---- JSON ----

exits 'JSON' 0 "$kvstat" --answer gain.json --json
json_like stdout <<'END'
is kvgen's | .program | kvgen
with its figures | .users.this.value | 38
unchanged | .drive.written_bytes_day | 8000000000000
the verdict | .verdict | PASS
the gain | .gain.is_there | true
and nothing confirmed | .confirmed | null
END
is 'each member stands once' "$(grep -c '^  "verdict"' stdout)" 1
ok 'and is read again' "$kvstat" --answer stdout

# ---- confirmation ----

# rows FILE SUMMARY SCALE [SLOW]: the result of 200 reads, ten a second, of about 10 ms, times SCALE; from second SLOW on three
# times as long. SUMMARY: members of kvreplay's summary.
rows() {
    {
        head -n 1 "$DATA/kvstat_dozen.csv"
        note '{"program":"kvgen"}'
        awk -v scale="$3" -v slow="${4-99}" -v n="${5-200}" 'BEGIN {
            for (i = 0; i < n; i++) {
                us = (10000 + (i * 37) % 101 * 40) * scale * (i / 10 >= slow ? 3 : 1)
                printf "%.1f,%s,4194304,Tier-2,k%d,Decode,%d,u,batch,user,1,%.1f,,%.1f,%.1f,%.1f,%d,%d,ok\n", i / 10,
                    i % 20 == 19 ? "Write" : "Read", i, i, i / 10, i / 10, i / 10, i / 10, us, us
            }
        }'
        note "{\"program\":\"kvreplay\",\"valid\":true$2}"
    } >"$1"
}
note() { printf ',Note,0,,"%s",,,,,,,,,,,,,,\n' "$(printf %s "$1" | sed 's/"/""/g')"; }
good=',"validity":[]'
rows model.csv "$good" 1
# says NAME STATUS ERE: the answer with the run in drive.csv.
says() {
    exits "$1" "$2" "$kvstat" --answer gain.json --confirm drive.csv --confirm-model "${4-model.csv}" --json
    like "$1: $3" "$(json stdout '.confirmed.cause') $(json stdout .why)" "$3"
}
rows drive.csv "$good" 1.1
exits 'a drive 10 % slower' 0 "$kvstat" --answer gain.json --confirm drive.csv --confirm-model model.csv
stdout_like 'confirms its model' '^Confirmed       20 s on the drive: reads p50 13\.2 ms, p95 15\.2 ms \(model 12 ms,$'
exits 'in JSON' 0 "$kvstat" --answer gain.json --confirm drive.csv --confirm-model model.csv --json
json_like stdout <<'END'
it agrees | .confirmed.agrees | true
no cause | .confirmed.cause | null
the verdict stays | .verdict | PASS
reads | .confirmed.measured.reads | 190
the model's P50 | .confirmed.model.read_p50_s | 0\.01195.*
the run's validity | .validity | good
END
rows drive.csv "$good" 3
says 'a drive that is slower' 4 '^drive_slower_than_its_model reads p95 of 41\..* ms instead of the model.s 13\.8 ms: nothing disturbed the run'
is 'does not agree' "$(json stdout .confirmed.agrees) $(json stdout .verdict)" 'false INCONCLUSIVE'
# again RATE: a later measurement: reads of 4 MiB, 16 in flight.
again() {
    printf '{"program": "kvtrace model", "valid": %s, "points": [{"size_bytes": 4194304, "in_flight": 16, "read_share": 1, "bytes_per_s": %s}]}' \
        "${2-true}" "$1" >later.json
    "$kvstat" --answer gain.json --confirm drive.csv --confirm-model model.csv --measured-again later.json --json >stdout
    echo "$? $(json stdout '.confirmed.cause') $(json stdout .why)"
}
like 'its rates are others now' "$(again 3200000000)" \
    '^4 drive_changed reads p95 of .*: the drive has changed by 50 %: reads of 4\.00 MiB, 16 in flight, move 3\.2 GB/s now, and moved 6\.4 GB/s'
like 'its rates are the same' "$(again 6000000000)" '^4 model_does_not_fit reads p95 of .*not slower than its model by more than 15 %: the model does not tell what this load takes; the times'
like 'a measurement that was disturbed shows nothing' "$(again 3200000000 false)" '^4 drive_slower_than_its_model '
exits 'and one without a run' 2 "$kvstat" --answer gain.json --measured-again later.json
stderr_like 'is refused' 'measured-again: belongs to one answer, with --confirm'
exits 'an answer for a measurement' 2 "$kvstat" --answer gain.json --confirm drive.csv --confirm-model model.csv --measured-again gain.json
rows drive.csv "$good" 0.4
says 'a drive that is faster' 4 '^drive_faster_than_its_model reads'
rows drive.csv "$good" 1 10
says 'a drive that slows down' 4 '^drive_slowed_down .* became slower after 10\.0 s and [0-9.]+ MB written: .*; its model is'
rows drive.csv "$good" 1 99 40
rows few.csv "$good" 1 99 40
says 'few reads' 4 '^too_few_samples only 38 reads in 4 s; 59 would decide: run for 10 s$' few.csv
is 'are not known to agree' "$(json stdout .confirmed.agrees)" null

doubt() { # FIGURES STATE WHY
    printf ',"validity":[{"figures":"%s","state":"%s","why":"%s"}]' "$1" "$2" "$3"
}
rows drive.csv "$(doubt storage unreliable 'the target is memory (tmpfs)'),\"evidence\":{\"reads\":{\"asked_bytes\":9,\"memory_bytes\":9}}" 1
says 'memory' 4 '^target_is_memory the target is memory \(tmpfs\); name a folder'
rows drive.csv "$(doubt storage unreliable '40 % of the bytes read came from a cache')" 1
says 'a cache' 4 '^cache 40 % of the bytes read came from a cache; '
rows drive.csv "$(doubt storage unknown 'no counters for nfs')" 1
says 'a network' 4 '^no_counters no counters for nfs; '
rows drive.csv "$good,\"evidence\":{\"file_system\":\"btrfs\",\"layers\":\"btrfs (compresses) on vda\",\"reduces\":true}" 3
says 'a file system that compresses' 4 '^file_system reads p95 of .*: the target \(btrfs \(compresses\) on vda\) is set to compress or deduplicate: what'
rows drive.csv "$good,\"evidence\":{\"file_system\":\"xfs\",\"reduces\":false}" 1
says 'a file system of which the model says nothing' 0 '^null '
sed 's/^\( *\)"started": .*/&\n\1"file_system": "ext4",/' gain.json >on_ext4.json
exits 'another one than the model was measured on' 4 "$kvstat" --answer on_ext4.json --confirm drive.csv --confirm-model model.csv
stdout_like 'is told' 'this run was on xfs, and'
rows drive.csv "$(doubt service unreliable 'a pause'),\"evidence\":{\"largest_gap_us\":1200000}" 1
says 'a stop' 4 '^process_stopped kvreplay was stopped for 1\.20 s; run again'
rows drive.csv "$good,\"evidence\":{\"throttled_s\":9,\"cpu_quota\":0.5}" 3
says 'a quota' 4 '^cpu_quota reads .*: a quota of 0\.5 processors held kvreplay back for 9\.00 s; raise'
foreign='"own_read_bytes":1000000000,"own_write_bytes":0,"device_read_bytes":3000000000,"device_write_bytes":0'
rows drive.csv "$good,\"evidence\":{$foreign}" 2
says 'others on the drive' 4 '^foreign_traffic reads .*: others moved 2 GB on the drive meanwhile, this test 1 GB; '
rows drive.csv "$good,\"evidence\":{\"run_delay_share\":0.3,\"steal_share\":0.1,\"largest_gap_us\":9000}" 2
says 'busy processors' 4 '^busy_processors reads .*: kvreplay waited for one in 40 % of the run, once for 9\.00 ms; '
rows drive.csv "$good,\"evidence\":{\"run_delay_share\":0.06,\"largest_gap_us\":20000}" 9
says 'processors that explain a part only' 4 '^drive_slower_than_its_model '
rows drive.csv "$(doubt service unreliable 'CPU contention')" 1
says 'another doubt' 4 '^doubtful_run CPU contention; run again'
rows drive.csv "$good" 0.4
rows disturbed.csv "$(doubt service unreliable 'a pause')" 1
says 'a replay of the model that was disturbed' 4 '^doubtful_run_of_the_model .*: a pause; run again' disturbed.csv
rows drive.csv "$good" 3
sed 's/"validity": "good"/"validity": "unreliable: others wrote"/' gain.json >doubted.json
exits 'a model that was doubtful' 4 "$kvstat" --answer doubted.json --confirm drive.csv --confirm-model model.csv --json
like 'is to blame' "$(json stdout .why)" 'the measurement that its model is of was unreliable: others wrote; measure'
exits 'a screen' 4 "$kvstat" --answer gain.json --view fast-enough --confirm drive.csv --confirm-model model.csv
narrow 'a verdict that is not confirmed'
like 'begins with it' "$(first)" '^INCONCLUSIVE: reads p95 of'
is 'and says why once' "$(grep -c INCONCLUSIVE stdout)" 1
exits 'the gain too' 4 "$kvstat" --answer gain.json --view worth --confirm drive.csv --confirm-model model.csv
like 'is by the model' "$(tr '\n' ' ' <stdout)" '^INCONCLUSIVE: reads .* By the +model: gain: 17 users'
exits 'a FAIL that is not confirmed is none' 4 "$kvstat" --answer fail.json --confirm drive.csv --confirm-model model.csv
exits 'of two drives, one is not confirmed' 4 "$kvstat" --answer gain.json --view compare --confirm drive.csv \
    --confirm-model model.csv --confirm model.csv --confirm-model model.csv sata.json
is 'so neither is better' "$(first)" "INCONCLUSIVE: the first drive's model is not confirmed by its run"
sed '/Tier-2/d' model.csv >empty.csv
exits 'a window without a row' 0 "$kvstat" --answer host.json --confirm empty.csv --confirm-model empty.csv
stdout_like 'confirms nothing, and doubts nothing' '^Confirmed       no: nothing in the window reaches the drive$'
exits 'a trace' 2 "$kvstat" --answer gain.json --confirm "$DATA/mlperf_trace_first400.csv.zst" --confirm-model model.csv
stderr_like 'is no confirmation' 'is a trace: a confirmation is a replay.s result'

# An answer that is concluded stays so: its views say what those of the command that wrote it said.
# concluded NAME ARGS...: each view of an answer, and of its JSON.
concluded() {
    name=$1
    shift
    "$kvstat" --answer "$@" --json >concluded.json
    for view in drive users fast-enough worth; do
        one=$("$kvstat" --answer "$@" --view $view 2>&1; echo "status $?")
        is "$name: $view" "$("$kvstat" --answer concluded.json --view $view 2>&1; echo "status $?")" "$one"
    done
    "$kvstat" --answer concluded.json --json >two
    ok "$name: its JSON" cmp concluded.json two
}
rows drive.csv "$good" 3
concluded 'not confirmed' gain.json --confirm drive.csv --confirm-model model.csv
exits 'its page' 4 "$kvstat" --answer concluded.json --html page.html
ok 'has the verdict' grep -q '<strong class="doubt">INCONCLUSIVE</strong>' page.html
ok 'and what was measured' grep -q '<data title="confirmed.measured.read_p50_s"' page.html
exits 'beside another' 4 "$kvstat" --answer concluded.json --view compare gain.json
is 'it is not confirmed there' "$(first)" "INCONCLUSIVE: the first drive's model is not confirmed by its run"
exits 'another confirmation of it' 2 "$kvstat" --answer concluded.json --confirm drive.csv --confirm-model model.csv
stderr_like 'is refused' 'concluded.json: is concluded already'
while IFS='|' read -r words want; do
    sed "$words" concluded.json >bad.json
    exits "$want" 2 "$kvstat" --answer bad.json
    stderr_like '... is refused' "bad.json: confirmed\.$want"
done <<'END'
s/"agrees": false/"agrees": "no"/|agrees must be true, false or null
s/"cause": ".*"/"cause": "weather"/|cause is no cause that this kvstat knows
s/"read_p95_s": /"read_p95_s": -/|model\.read_p95_s must be a number
s/"reads": 190/"reads": "190"/|model\.reads must be a number
s/"reads": 190/"reads": 1e30/|model\.reads must be a number
END
rows drive.csv "$good" 1.1
concluded 'confirmed' gain.json --confirm drive.csv --confirm-model model.csv
concluded 'a number that is not held' fail.json
concluded 'no number' open.json
concluded 'a window without a row' host.json --confirm empty.csv --confirm-model empty.csv

# ---- the page ----

# page NAME ARGS...: writes page.html
page() {
    name=$1
    shift
    ok "$name: a page" "$kvstat" --html page.html -o screen "$@"
}
mkdir no_gnuplot
page_alone() { PATH="$TMP/no_gnuplot" page "$@"; } # without pictures
title() { sed -n 's/^<h1>\(.*\)<\/h1>$/\1/p' page.html; }
rows drive.csv "$good" 1.1
page 'an answer that is confirmed' --answer gain.json --confirm drive.csv --confirm-model model.csv
is 'its title is the question' "$(title)" 'Does /mnt/nvme hold 35 users of llama3.1-8b?'
is 'also of the window' "$(sed -n 's/^.*<title>\(.*\)<\/title>.*$/\1/p' page.html)" 'Does /mnt/nvme hold 35 users of llama3.1-8b? - kvstat'
ok 'its answer comes first' grep -q '^<p class="verdict"><strong class="good">PASS</strong>' page.html
is 'the run is said to be good once' "$(grep -c 'The run on the drive: good' page.html)" 1
ok 'each value has its name in the JSON' grep -q '<data title="users.this.low" value="36">36</data>' page.html
ok 'the knee, too' grep -q '<data title="knee.in_flight" value="16">16</data>' page.html
ok 'as the screen shows it' grep -q '<data title="drive.written_bytes_day" value="8000000000000">8 TB</data>' page.html
ok 'the bar has all tokens' grep -q 'width:34.00%.*width:21.00%.*width:28.00%.*width:17.00%' page.html
is 'nothing is asked of elsewhere' "$(grep -cE '(src|href)="?(http|/)' page.html)" 0
if command -v gnuplot >/dev/null; then
    is 'three pictures' "$(grep -c '^<figure><img alt="[A-Z]' page.html)" 3
    page 'an answer by a model without points' --answer plain.json
    is 'has the one of users' "$(grep -c '^<figure><img alt="Good requests by load"' page.html) $(grep -c '^<figure>' page.html)" '1 1'
fi
page_alone 'no number was asked for' --answer open.json
is 'the question is how many' "$(title)" 'How many users of llama3.1-8b does /mnt/nvme hold?'
ok 'and so is the answer' grep -q '^<p class="verdict"><strong>38 users</strong>' page.html
sed 's/"this": {"value": 38, "low": 36/"this": {"value": 1, "low": 1/' open.json >single.json
page_alone 'one user' --answer single.json
ok 'is held' grep -q '^is held by this drive' page.html
page_alone 'the worth' --answer gain.json --view worth
is 'is another question' "$(title)" 'What is /mnt/nvme worth to users of llama3.1-8b?'
ok 'which the gain answers' grep -q '^<p class="verdict"><strong>gain</strong>' page.html
is 'and no verdict on a number' "$(grep -c '<strong class="good">PASS' page.html)" 0
sed 's|/mnt/nvme|<script>x\&y</script>|' gain.json >hostile.json
page 'a hostile name' --answer hostile.json
is 'is text' "$(grep -c '<script' page.html)" 0
exits 'two answers have no page' 2 "$kvstat" --answer gain.json --view compare --html page.html sata.json
exits 'a page beside a screen' 2 "$kvstat" --answer gain.json --html -

# ---- what is refused ----

for member in asked users tried origin 'written_bytes_day' 'goodput": 0.957' reached; do
    case $member in
    users | origin) sed "s/^  \"$member\"/  \"other\"/" gain.json ;;
    goodput*) sed 's/"goodput": 0.957, "first_token_s"/"first_token_s"/' gain.json ;;
    *) sed "s/\"$member\"/\"other\"/" gain.json ;;
    esac >bad.json
    "$kvstat" --answer bad.json 2>&1
    echo "$?"
done >missing
is 'each member must be there' "$(cat missing)" "kvstat: bad.json: asked is missing: is this the JSON of kvgen --answer?
2
kvstat: bad.json: users is missing: is this the JSON of kvgen --answer?
2
kvstat: bad.json: tried is missing: is this the JSON of kvgen --answer?
2
kvstat: bad.json: origin is missing: is this the JSON of kvgen --answer?
2
kvstat: bad.json: drive.written_bytes_day is missing: is this the JSON of kvgen --answer?
2
kvstat: bad.json: variants.this.goodput is missing: is this the JSON of kvgen --answer?
2
kvstat: bad.json: drive.reached is missing: is this the JSON of kvgen --answer?
2"
# refused NAME SED ERE
refused() {
    sed "$2" gain.json >bad.json
    exits "$1" 2 "$kvstat" --answer bad.json
    stderr_like "$1: says so" "$3"
}
refused 'a text for a number' 's/"at": 38/"at": "38"/' 'bad.json: at is no number'
refused 'a share above 1' 's/"gpu": 0.34/"gpu": 34/' 'origin.gpu is a share: 1 at most'
refused 'less than nothing' 's/"full_after_s": 41472/"full_after_s": -1/' 'drive.full_after_s must be 0 or more'
refused 'a value outside of its interval' 's/"value": 38, "low": 36/"value": 38, "low": 39/' 'users.this has a value outside'
refused 'a gain, too' 's/"gain": {"value": 17/"gain": {"value": 21/' 'gain has a value outside of its interval'
refused 'a number twice' 's/"variant": "this", "users": 36/"variant": "this", "users": 38/' 'tried has a number twice'
refused 'another word' 's/"verdict": "PASS"/"verdict": "OK"/' 'verdict must be PASS, FAIL, INCONCLUSIVE or null'
refused 'another variant' 's/"variant": "ideal", "users": 44/"variant": "best", "users": 44/' 'tried\[9\]\.variant must be this'
refused 'another version' 's/"answer": 1/"answer": 2/' 'is an answer of version 2; this kvstat reads version 1'
head -c 900 gain.json >bad.json
exits 'a file that is cut' 2 "$kvstat" --answer bad.json
exits 'no file' 2 "$kvstat" --answer none.json
exits 'a result instead' 2 "$kvstat" --answer model.csv
exits 'an answer among runs' 2 "$kvstat" gain.json
stderr_like 'is shown by its option' 'gain.json: is an answer: --answer shows it'
exits 'one side of a confirmation' 2 "$kvstat" --answer gain.json --confirm model.csv
stderr_like 'needs the other' 'confirm-model go together'
exits 'two answers need a comparison' 2 "$kvstat" --answer gain.json sata.json
exits 'and a comparison two' 2 "$kvstat" --answer gain.json --view compare
exits 'a view of no answer' 2 "$kvstat" --view users model.csv
stderr_like 'is none' 'view: needs --answer'
for option in --full --csv '--interval 1s' '--profile latency' --check '--run x' '--by user'; do
    with "$option" "$kvstat" --answer gain.json >stdout 2>&1
    grep -q 'does not apply with --answer' stdout || echo "$option"
done >options
is 'options of other reports do not apply' "$(cat options)" ''
exits 'an output that is the answer' 2 "$kvstat" --answer gain.json --json -o gain.json

# Texts from files steer no terminal.
sed 's/"model": "llama3.1-8b"/"model": "x\\u001b[31mred"/' gain.json >hostile.json
exits 'control characters' 0 "$kvstat" --answer hostile.json
ok 'are none on the screen' test "$(tr -d '\n -~' <stdout | wc -c)" -eq 0

# Of two drives one may have run, and the other not.
exits 'neither ran' 0 "$kvstat" --answer gain.json --view compare --confirm none --confirm-model none --confirm none --confirm-model none gain.json
stdout_like 'which is told' '^Confirmed +not run on the drive +not run on the drive$'
exits 'none, of one of both' 2 "$kvstat" --answer gain.json --confirm none --confirm-model gain.json
stderr_like 'is refused' '^kvstat: --confirm: none goes with --confirm-model none'
done_testing
