#!/bin/sh
# points.t - kvstat --knee of a result, as of kvtrace model: the rate while all objects were in flight, the table that it writes and
# reads again, and what it does not take. A bug looked like a rate with the time in which the first objects started.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

# result N GAP FILE: 41 reads of 1,000,000 bytes that start each GAP ms and take as long, with N in flight.
result() {
    awk -v n="$1" -v gap="$2" 'BEGIN {
        print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Due,Eligible,Start,Latency_us,Device_us,Status"
        print ",Note,0,,{},,,,,,,"
        for (i = 0; i <= 40; i++) printf "0,Read,1000000,Tier-2,k%d,Decode,,%.3f,%.3f,%d,%d,ok\n", i, i * gap / 1e3, i * gap / 1e3, gap * 1e3, gap * 1e3
        printf ",Note,0,,\"{\"\"program\"\":\"\"kvreplay\"\",\"\"elapsed_s\"\":2.5,\"\"options\"\":{\"\"inflight\"\":%d}}\",,,,,,,\n", n
    }' >"$3"
}
result 1 10 one.csv
result 2 10 two.csv
exits 'a result' 0 "$BIN/kvstat" --knee one.csv
stdout_like 'its rate' '^ +1 +0\.100 \(0\.100-0\.100\) +10 +10 +10 +1 +0 %$'
exits 'as a table' 0 "$BIN/kvstat" --knee --csv -o runs.csv one.csv
is 'with its parts' "$(sed -n 2p runs.csv)" '1,2.500000000,0.400000,40000000,100000000,100000000,100000000,100000000,100000000,100000000,100000000,100000000,100000000,100000000,,'
is 'and the classes of times' "$(sed 1,2d runs.csv)" '1,,,,,,,,,,,,,,921,41'

# With two in flight the time begins with the second start. The rate is the same: the step is flat.
"$BIN/kvstat" --knee --csv two.csv | sed 1d >>runs.csv
"$BIN/kvstat" --knee --csv two.csv | sed 1d >>runs.csv
exits 'the table' 0 "$BIN/kvstat" --knee --json runs.csv
cp stdout runs.json
json_like runs.json <<'END'
steps         | [.points[].in_flight] == [1, 2]                                          | true
rates         | .points[].bytes_per_s                                                    | 100000000 100000000
runs          | .points[].runs                                                           | 1 2
seconds       | .points[].seconds                                                        | 0.4 0.78
known by two  | .points[].known                                                          | false true
flat          | .points[].flat                                                           | false true
the last run  | .points[].last_run_s                                                     | 2.5 2.5
times         | .points[0] | .p50_us == .p95_us and .p95_us == .p99_us and .p50_us == 10046.7 | true
END
exits 'as CSV' 0 "$BIN/kvstat" --knee --csv runs.csv
is 'a line for each step' "$(tail -n 1 stdout)" '2,100000000,100000000,100000000,10046.7,10046.7,10046.7,0.780,2,2500,1,0,1'
"$BIN/kvstat" --knee --csv - <runs.csv >from_input
ok 'from standard input, too' cmp -s from_input stdout

# ---- what it does not take ----

sed 's/""inflight""/""other""/' <one.csv >other.csv
exits 'a result that does not say how many were in flight' 2 "$BIN/kvstat" --knee other.csv
stderr_like 'why' 'other.csv: does not say how many objects were in flight'
{ cat runs.csv && sed 1d <runs.csv; } >down.csv
exits 'steps that go down' 2 "$BIN/kvstat" --knee down.csv
stderr_like 'why' 'not in ascending order'
sed 's/^1,2/0,2/' <runs.csv >none.csv
exits 'none in flight' 2 "$BIN/kvstat" --knee none.csv
stderr_like 'why' 'none.csv: line 2 is no run of kvtrace model'
exits 'two results' 2 "$BIN/kvstat" --knee one.csv two.csv
stderr_like 'why' 'takes one file, not 2'
done_testing
