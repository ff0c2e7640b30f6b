#!/bin/sh
# knee.t - kvtrace knee finds where twice as many objects in flight give no more, and where P99 leaps: on runs whose figures are given
# (programs that write them), so that nothing depends on the machine. Its answer, its file, its table and its picture agree. Rounds
# go up and down the ladder, a drive that changes between them is told, and a knee is named only where the rounds allow it. A bug
# looked like a knee that was the best of all steps, an interval without the mean, or one that a second run left.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

# A drive of four servers: 100 MB/s by object in flight up to 4, and no more. The second run of a step is 1 % faster, the first as much
# slower; where there is a file drifts, each round is 3 % slower. Where there is a file varies, 8 and 16 objects get 20 % more in each
# second round. P99 of reads is 10 ms up to 4 objects, 20 ms at 8, 70 ms at 16.
mkdir programs disk
cat >programs/kvgen <<'END'
#!/bin/sh
case " $* " in *' --dry-run '*) exit ;; esac
while [ $# -gt 0 ]; do
    case $1 in -o | --summary) echo '{}' >"$2" ;; esac
    shift
done
END
cat >programs/kvreplay <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    --inflight) n=$2 ;;
    --summary) summary=$2 ;;
    -o) result=$2 ;;
    esac
    shift
done
round=${result##*-trial-} round=${round%%.*}
echo "$n" >>order
factor=0.99
if [ $((round % 2)) = 0 ]; then factor=1.01; fi
if [ -e drifts ]; then factor=$(awk -v round="$round" 'BEGIN { print 1 - 0.03 * round }'); fi
if [ -e varies ] && [ "$n" -ge 8 ] && [ $((round % 2)) = 0 ]; then factor=1.2; fi
echo "$n $factor" >"$result"
cat >"$summary" <<JSON
{
  "version": "1",
  "started": "2026-01-01T00:00:00Z",
  "valid": true,
  "elapsed_s": 4,
  "evidence": {
    "own_io_s": $((n * 4)),
    "direct": true
  },
  "kernel": {
    "device_read_bytes": 2097152,
    "device_write_bytes": 1048576,
    "device_read_ios": 2,
    "device_write_ios": 1
  },
  "tiers": [
    {
      "tier": "Tier-2",
      "engine": "io_uring",
      "device": "drive"
    }
  ]
}
JSON
END
cat >programs/kvstat <<END
#!/bin/sh
case \$1 in --plot | --knee) exec "$BIN/kvstat" "\$@" ;; esac
for word; do result=\$word; done
awk '{
    n = \$1; p99 = n <= 4 ? 10000 : n == 8 ? 20000 : 70000
    printf "{\\n  \\"throughput\\": {\\n    \\"wall\\": {\\n      \\"bytes_per_s\\": %.0f\\n    }\\n  },\\n", (n < 4 ? n : 4) * 100000000 * \$2
    print "  \\"groups\\": [\\n    {\\n      \\"by\\": {\\n        \\"tier\\": \\"Tier-2\\",\\n        \\"op\\": \\"Read\\"\\n      },"
    printf "      \\"service_us\\": {\\n        \\"p50\\": %d,\\n        \\"p95\\": %d,\\n        \\"p99\\": %d\\n      }\\n    }\\n  ]\\n}\\n", p99 / 4, p99 / 2, p99
}' "\$result"
END
chmod +x programs/*
knee() { KVTRACE_BIN=$TMP/programs "$TOP/examples/knee.sh" "$@"; }
exits 'four servers' 0 knee -m tiny-1b --in-flight 1,2,4,8,16 --trials 2 -o out disk
is 'up the ladder, and down' "$(tr '\n' ' ' <order)" '1 2 4 8 16 16 8 4 2 1 '
stdout_like 'a table' '^ +4 +0\.400 \([0-9.]+-[0-9.]+\) +2\.5 +5 +10 +4\.0 +1024 +4 KiB$'
is 'the answer is the last line' "$(tail -n 1 stdout)" \
    'This drive takes 4 objects in flight (0.4 GB/s, P99 of reads 10 ms): twice as many give less than 5 % more; P99 grows to more than 3 times at 16.'
json_like out/knee.json <<'END'
who wrote it         | .program, .trials, .device    | kvtrace knee 2 drive
the knee, the cliff  | .knee, .knee_from, .knee_to, .cliff, .cliff_from, .cliff_to | 4 4 4 16 16 16
each step            | .points[].in_flight           | 1 2 4 8 16
what is not known    | .points[0].write_p99_us.mean  | null
each doubling        | [.points[:4][].next_bytes_per_s_ratio.high * 100 | round] | tostring | \[200,200,100,100\]
P99                  | .points[3].next_p99_ratio.mean | 3.5
END
# Of two values 1 % to both sides the deviation is 1 % times the square root of 2; Student's t is 12.706; as many rounds again.
is 'intervals' "$(json out/knee.json '.points[2].bytes_per_s | .mean, (.low / 1e3 | round), (.high / 1e3 | round)')" '400000000 328123 471877'
is 'the table has the same' "$(awk -F, '$1 == 4 { print $2, $5, $11, $14, $15, $16, $17 }' out/knee.csv)" '400000000 2500 10000 4 1048576 4096 1'
is 'two rounds do not tell that the drive changed' "$(json out/knee.json '(.rounds_differ * 1e4 | round), .drive_changed')" '202 false'
stdout_unlike 'nor is it told' 'changed'
if command -v gnuplot >/dev/null; then
    like 'a picture' "$(cat out/knee.svg)" 'knee\.csv: 5 steps of objects in flight, knee at 4'
    like 'of both' "$(cat out/knee.svg)" 'throughput \[GB/s\]'
    for text in 'depth 4\.00' '1\.00 MiB I/O' '4\.00 KiB aligned' '95 % of reruns'; do
        like "beside each step $text" "$(cat out/knee.svg)" "$text"
    done
else
    ok 'a picture # SKIP no gnuplot' true
fi

touch drifts
exits 'a drive that gets slower' 0 knee -m tiny-1b --in-flight 1,2,4,8,16 --trials 4 -o slower disk
rm drifts
stdout_like 'is told' '^The drive itself changed: of 4 rounds the fastest gave 10\.2 % more than the slowest, beyond chance\.$'
is 'and in the file' "$(json slower/knee.json '(.rounds_differ * 1e4 | round), .drive_changed')" '1023 true'
is 'all steps alike, so that the knee stays' "$(json slower/knee.json .knee)" 4
# 0.97, 0.94, 0.91, 0.88: deviation 3.873 % of 1; rounds like the one before: r = 1.25 / 5. 3.182 times 3.873 times the square roots
# of 1 / 2 and of 5 / 3 are 11.25 %.
is 'an interval that is wider' "$(json slower/knee.json '.points[0].bytes_per_s | [.mean, .low, .high | . / 1e4 | round] | tostring')" '[9250,8125,10375]'

touch varies
exits 'steps that vary' 0 knee -m tiny-1b --in-flight 1,2,4,8,16 --trials 4 -o unsure disk
cp stdout unsure.txt
exits 'the last one, too' 0 knee -m tiny-1b --in-flight 1,2,4,8 --trials 4 -o open disk
rm varies
is 'a knee that is not certain' "$(tail -n 1 stdout)" \
    'This drive takes 4 objects in flight (0.4 GB/s, P99 of reads 10 ms) or more: these rounds do not tell what twice as many give; P99 has no cliff.'
is 'is none' "$(json open/knee.json '.knee, .knee_from, .knee_to')" 'null 4 null'
is 'the knee is one of two' "$(json unsure/knee.json '.knee, .knee_from, .knee_to')" 'null 4 8'
like 'which is told' "$(tail -n 1 unsure.txt)" '^This drive takes 4 to 8 objects in flight \(0\.4[0-9]* GB/s, '
is 'and both are marked' "$(awk -F, '$17 == 1 { print $1 }' unsure/knee.csv | tr '\n' ' ')" '4 8 '
if command -v gnuplot >/dev/null; then like 'in the picture' "$(cat unsure/knee.svg)" 'knee between 4 and 8'; fi

exits 'no knee, no cliff' 0 knee -m tiny-1b --in-flight 1,2,4 --trials 2 -o more disk
is 'are said' "$(tail -n 1 stdout)" 'This drive gives more up to 4 objects in flight (0.4 GB/s): no knee; P99 has no cliff.'
# From 4 to 16 objects P99 grows 7 times, which is 2.6 times for each doubling.
exits 'steps that are four times as many' 0 knee -m tiny-1b --in-flight 1,4,16 --trials 2 -o wide disk
is 'count by their doublings' "$(tail -n 1 stdout)" \
    'This drive takes 4 objects in flight (0.4 GB/s, P99 of reads 10 ms): twice as many give less than 5 % more; P99 has no cliff.'
exits 'one round' 0 knee -m tiny-1b --in-flight 1,2,4 --trials 1 -o one disk
is 'tells neither' "$(tail -n 1 stdout)" 'This drive was measured in one round, which tells neither knee nor cliff (--trials).'
is 'and has no interval' "$(json one/knee.json '.knee, .points[0].bytes_per_s.low, .drive_changed')" 'null null null'
exits 'a bad list' 2 knee --in-flight 1,x -o bad disk
stderr_like 'is named' '^knee.sh: --in-flight: "x" is not a whole number above 0$'
done_testing
