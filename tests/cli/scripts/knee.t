#!/bin/sh
# knee.t - kvtrace knee finds where twice as many objects in flight give no more: on a drive of four servers at four of them. What it
# says, its file and its table agree. A bug looked like a knee that was the best of all steps, or an interval without the mean.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
cd "$TMP" || exit 1

# The programs, and a kvreplay on a drive that is simulated: four servers, 20 ms an object, whatever the machine does.
mkdir programs disk
for program in kvgen kvstat; do ln -s "$BIN/$program" programs/; done
cat >programs/kvreplay <<END
#!/bin/sh
for word; do
    shift
    case \$word in
    --target | --iodepth) skip=yes ;;
    *) if [ -n "\${skip-}" ]; then skip=''; else set -- "\$@" "\$word"; fi ;;
    esac
done
exec "$BIN/kvreplay" --tier-engine 2=sim:lat=20ms,servers=4 "\$@"
END
chmod +x programs/kvreplay
KVTRACE_BIN=$TMP/programs exits 'four servers' 0 timeout 100 "$TOP/examples/knee.sh" -m tiny-1b --in-flight 1,2,4,8,16 -t 1 --trials 2 -o out disk
stdout_like 'a table' '^ +4 +[0-9.]+ \([0-9.]+-[0-9.]+\) +[0-9.]+ '
stdout_like 'the answer is the last line' '^This drive \(.*disk\) takes 4 objects in flight \([0-9.]+ GB/s, P99 of reads [0-9.]+ ms\): twice as many give less than 5 % more; '
is 'a bad list' "$(KVTRACE_BIN=$TMP/programs "$TOP/examples/knee.sh" --in-flight 1,x -o bad disk 2>&1)" 'knee.sh: --in-flight: "x" is not a whole number above 0'
json_like out/knee.json <<'END'
who wrote it    | .program, .trials                                                                      | kvtrace knee 2
the knee        | .knee                                                                                  | 4
each step       | .points[].in_flight                                                                     | 1 2 4 8 16
END
is 'means are within their intervals' "$(json out/knee.json '.points | all(.bytes_per_s, .read_p50_us, .read_p99_us |
    .low <= .mean and .mean <= .high)')" true
is 'rates by servers' "$(json out/knee.json '[.points[].bytes_per_s.mean] | (.[1] / .[0] > 1.5 and .[2] / .[1] > 1.5 and
    .[3] / .[2] < 1.05)')" true
is 'the table has the same' "$(json out/knee.json '[.points[].bytes_per_s.mean] | map(. / 1e6 | round)')" \
    "$(awk -F, 'NR > 1 { printf "%s%.0f", (NR > 2 ? "," : "["), $2 / 1e6 } END { print "]" }' out/knee.csv)"
if command -v gnuplot >/dev/null; then
    like 'a picture' "$(cat out/knee.svg)" 'knee\.csv: 5 steps of objects in flight, knee at 4'
    like 'of both' "$(cat out/knee.svg)" 'throughput \[GB/s\]'
else
    ok 'a picture # SKIP no gnuplot' true
fi
done_testing
