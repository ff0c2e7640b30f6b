#!/bin/sh
# drive_times.t - a result of kvreplay --device-times: the picture and the page show the drive's own time against ours and what
# was before the drive; profile latency says the drive's P95 beside the time that it judges, and is decided by that time alone;
# profile mlperf knows nothing of it. Where a part of the rows has no such time, as where a cache gave it, none is said. A bug
# looked like a run that passed because its drive was fast.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

# result FILE KNOWN SERVICE_US: 200 reads and 200 writes of that service time, of which a tenth was at the drive and a
# hundredth before it, known of the first KNOWN of each.
result() {
    awk -v known="$2" -v us="$3" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Due,Eligible,Start,Latency_us,Device_us,Status,Queue_us,Drive_us"
        for (i = 0; i < 400; i++) {
            there = int(i / 2) < known
            printf "%d,%s,4096,Tier-2,k%d,Decode,,,%d.0,%.3f,%.3f,ok,%s,%s\n", i, i % 2 ? "Read" : "Write", int(i / 2), i, us, 0.9 * us,
                there ? sprintf("%.3f", us / 100) : "", there ? sprintf("%.3f", us / 10) : ""
        }
    }' >"$TMP/$1"
}
result all.csv 200 150000
result some.csv 150 150000
result slow.csv 200 900000
echo '{"valid": true}' >"$TMP/good.json"
judge() { "$kvstat" --profile "$1" --run "$TMP/good.json" "$2" "$TMP/$3" | tr -s '\n ' ' '; }
drive_of() { "$kvstat" --profile "$1" --run "$TMP/good.json" --json "$TMP/$2" >"$TMP/json" && json "$TMP/json" '.assessment.criteria[] | select(.name == "storage_read_p95") | .drive'; }

like 'the screen has it beside' "$(judge latency --check all.csv)" \
    'read p95 150 ms < 200 ms \(the drive itself 15.0 ms\)'
like 'the text, too' "$(judge latency --full all.csv)" 'storage_read_p95 < 200 ms 150 ms [^@]* PASS at the drive itself \(--device-times\): 15.0 ms'
is 'and JSON' "$(drive_of latency all.csv)" 15
like 'a miss says whose it is' "$(judge latency --full slow.csv)" \
    "storage_read_p95 is 900 ms, not < 200 ms \(95 % bounds [^)]*\), the drive's own P95 is 90.0 ms"
like 'and is one all the same' "$(judge latency --full slow.csv)" 'Profile latency: FAIL'
is 'not where a part of it is unknown' "$(drive_of latency some.csv)" null
unlike 'nor in words' "$(judge latency --full some.csv)" 'the drive itself'
unlike 'nor of the benchmark' "$(judge mlperf --full all.csv)" "the drive itself|the drive's own"
like 'which judges as without' "$(judge mlperf --full all.csv)" 'storage_read_device_p95 < 200 ms 135 ms'

if echo 'set terminal' | gnuplot 2>&1 | grep -q pngcairo; then
    exits 'a picture' 0 "$kvstat" --plot "$TMP/a.svg" "$TMP/all.csv"
    for text in 'Tier-2: time at the drive, and ours' 'Tier-2: from the first I/O to the drive' 'read, drive' 'write, ours' 'read, before'; do
        like "$text" "$(cat "$TMP/a.svg")" "$text"
    done
    exits 'of two runs' 0 "$kvstat" --compare "$TMP/all.csv" "$TMP/slow.csv" --plot "$TMP/b.svg"
    like 'the lines of both' "$(cat "$TMP/b.svg")" 'new read, drive'
    exits 'a page' 0 "$kvstat" --html "$TMP/a.html" "$TMP/all.csv"
    like 'has the panels' "$(cat "$TMP/a.html")" 'Tier-2: time at the drive, and ours'
    cut -d , -f 1-12 "$TMP/all.csv" >"$TMP/without.csv"
    "$kvstat" --plot "$TMP/c.svg" "$TMP/without.csv" >"$TMP/out"
    unlike 'a result without has no such panel' "$(cat "$TMP/c.svg")" 'at the drive'
else
    ok 'pictures # SKIP no gnuplot' true
fi
done_testing
