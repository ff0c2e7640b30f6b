#!/bin/sh
# knee.t - kvtrace knee finds where twice as many objects in flight give no more, and where P99 leaps: on runs whose figures are given
# (programs that write them), so that nothing depends on the machine. Its answer, its file, its table and its picture agree. A bug
# looked like a knee that was the best of all steps, or an interval without the mean.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
cd "$TMP" || exit 1

# A drive of four servers: 100 MB/s by object in flight up to 4, and no more. The second run of a step is 1 % faster, the first as much
# slower. P99 of reads is 10 ms up to 4 objects, 20 ms at 8, 70 ms at 16.
mkdir programs disk
cat >programs/kvgen <<'END'
#!/bin/sh
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
case $result in *trial-1*) factor=0.99 ;; *) factor=1.01 ;; esac
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
case \$1 in --plot) exec "$BIN/kvstat" "\$@" ;; esac
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
stdout_like 'a table' '^ +4 +0\.400 \([0-9.]+-[0-9.]+\) +2\.5 +5 +10 +4\.0 +1024 +4 KiB$'
is 'the answer is the last line' "$(tail -n 1 stdout)" \
    'This drive (disk) takes 4 objects in flight (0.4 GB/s, P99 of reads 10 ms): twice as many give less than 5 % more; P99 grows by more than 3 times at 16.'
json_like out/knee.json <<'END'
who wrote it         | .program, .trials, .device    | kvtrace knee 2 drive
the knee, the cliff  | .knee, .cliff                 | 4 16
each step            | .points[].in_flight           | 1 2 4 8 16
what is not known    | .points[0].write_p99_us.mean  | null
END
# Of two values 1 % to both sides the deviation is 1 % times the square root of 2; Student's t is 12.706.
is 'intervals' "$(json out/knee.json '.points[2].bytes_per_s | .mean, (.low / 1e3 | round), (.high / 1e3 | round)')" '400000000 349176 450824'
is 'the table has the same' "$(awk -F, '$1 == 4 { print $2, $5, $7, $8 }' out/knee.csv)" '4e+08 2500 10000 1'
if command -v gnuplot >/dev/null; then
    like 'a picture' "$(cat out/knee.svg)" 'knee\.csv: 5 steps of objects in flight, knee at 4'
    like 'of both' "$(cat out/knee.svg)" 'throughput \[GB/s\]'
else
    ok 'a picture # SKIP no gnuplot' true
fi
exits 'no knee, no cliff' 0 knee -m tiny-1b --in-flight 1,2,4 --trials 1 -o more disk
is 'are said' "$(tail -n 1 stdout)" 'This drive (disk) gives more up to 4 objects in flight (0.396 GB/s): no knee; P99 has no cliff.'
is 'one run has no interval' "$(json more/knee.json '.knee, .points[0].bytes_per_s.low')" 'null null'
exits 'a bad list' 2 knee --in-flight 1,x -o bad disk
stderr_like 'is named' '^knee.sh: --in-flight: "x" is not a whole number above 0$'
done_testing
