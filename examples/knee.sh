#!/bin/sh
# knee.sh - How many objects in flight does this drive take before more only wait?
#
# Usage: knee.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  a directory on the drive to test (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model whose objects are moved (default: llama3.1-8b)
#   -u USERS     users of the load (default: 8)
#   -t TIME      length of each run, after 2 s that do not count (default: 4)
#   --trials N   runs of each step (default: 3)
#   --in-flight N,...     the steps (default: 1,2,4,8,16,32,64,128,256)
#   -o OUT       directory for trace, results, table and picture (default: kvtrace-knee)
#   --storage-capacity SIZE     capacity for the cache (default: 4)
#   --print      show the pipeline, run nothing
#
# One load, whose whole KV cache goes to the drive in objects of 256 tokens, runs as fast as it
# can with so many objects in flight. The knee is the step after which twice as many give less than 5 % more
# throughput; the cliff is the step whose P99 is more than 3 times that of the one before.
# Each figure is the mean of the runs of a step, with its 95 % interval (Student's t).
# knee.json and knee.csv have all of them, knee.svg shows them.
#
# Example: the drive under /mnt/nvme
#   examples/knee.sh /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --storage-capacity'
users=8 seconds=4 trials=3 storage=4 flights=1,2,4,8,16,32,64,128,256
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in --in-flight) value "$@" && flights=$text ;; *) option "$@" ;; esac
    shift "$words"
done
numbers --in-flight "$flights" 1 1024 && flights=$text
need kvgen kvreplay kvstat
results "$out"
propose
names=''
for n in $flights; do
    k=1
    while [ "$k" -le "$trials" ]; do
        names="$names$n-trial-$k "
        k=$((k + 1))
    done
done
with_names() { # COMMAND...: with the names behind it
    for name_of in $names; do set -- "$@" "$name_of"; done
    "$@"
}
with_names free_runs load
free "$out/runs.txt" "$out/knee.txt" "$out/knee.csv" "$out/knee.json" "$out/knee.svg"

tell "the load of $(counted "$users" user) of $model, for each number of objects in flight $(counted "$trials" time) $seconds s"
load load "$users" 900 --model "$model" --gpu-mem 0 --cpu-mem 0 --arrival closed --generation-mode none \
    --granularity block:256 --storage-capacity "$(sized "$storage")"
for name_of in $names; do
    n=${name_of%%-*}
    depth=$n
    if [ "$depth" -lt 32 ]; then depth=32; fi
    execute "$name_of" load --timing asap --order key --inflight "$n" --iodepth "$depth" \
        --warmup 2 --duration "$((seconds + 2))"
done
if printing; then exit 0; fi

# ---- what each run gave ----

# numbers_of NAME: of a run: objects in flight; bytes a second; P50, P95 and P99 of reads and of writes in us; I/Os at the device
# on average, their size in bytes, and whether they were direct.
numbers_of() {
    report "$out/$1.result.csv.zst" throughput.wall.bytes_per_s groups.Tier-2/Read.service_us.p50 groups.Tier-2/Read.service_us.p95 \
        groups.Tier-2/Read.service_us.p99 groups.Tier-2/Write.service_us.p50 groups.Tier-2/Write.service_us.p95 \
        groups.Tier-2/Write.service_us.p99
    pick evidence.own_io_s elapsed_s kernel.device_read_bytes kernel.device_write_bytes kernel.device_read_ios kernel.device_write_ios \
        evidence.direct <"$out/$1.kvreplay.json"
}
writes "$out/runs.txt" "$out/knee.txt" "$out/knee.csv" "$out/knee.json"
for name_of in $names; do
    echo "${name_of%%-*} $(numbers_of "$name_of" | paste -sd ' ' -)"
done >"$out/runs.txt"

# A line a step: objects in flight, then mean, low and high of each figure; "-" is not known.
awk '
    BEGIN { split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262", quantile, " ") }
    function add(n, i, v) { if (v != "-") { count[n, i]++; sum[n, i] += v; square[n, i] += v * v } }
    !($1 in seen) { seen[$1] = 1; step[++steps] = $1 }
    {
        for (i = 2; i <= 8; i++) add($1, i - 1, $i)
        if ($9 != "-" && $10 > 0) add($1, 8, $9 / $10)
        if ($11 != "-" && $13 + $14 > 0) add($1, 9, ($11 + $12) / ($13 + $14))
        add($1, 10, $15 == "true" ? 1 : $15 == "false" ? 0 : "-")
    }
    END {
        for (s = 1; s <= steps; s++) {
            n = step[s]; line = n
            for (i = 1; i <= 10; i++) {
                c = count[n, i]
                if (!c) { line = line " - - -"; continue }
                mean = sum[n, i] / c; spread = c > 1 ? (square[n, i] - c * mean * mean) / (c - 1) : 0
                half = c > 1 ? (c <= 10 ? quantile[c - 1] : 2.0) * sqrt(spread > 0 ? spread : 0) / sqrt(c) : 0
                line = line sprintf(" %.6g %s", mean, c > 1 ? sprintf("%.6g %.6g", mean > half ? mean - half : 0, mean + half) : "- -")
            }
            print line
        }
    }' <"$out/runs.txt" >"$out/knee.txt"
# The knee and the cliff: numbers of objects, "-": not up to the last step. P99 is that of reads, or of writes where none were read.
found=$(awk '
    { n[NR] = $1; rate[NR] = $2; p99[NR] = $11 != "-" ? $11 : $20 }
    END {
        knee = cliff = "-"
        for (i = 1; i < NR; i++) {
            if (knee == "-" && rate[i + 1] < 1.05 * rate[i]) knee = n[i]
            if (cliff == "-" && p99[i] != "-" && p99[i] > 0 && p99[i + 1] != "-" && p99[i + 1] > 3 * p99[i]) cliff = n[i + 1]
        }
        print knee, cliff
    }' <"$out/knee.txt")
knee=${found% *} cliff=${found#* }
{
    echo 'In_Flight,Bytes_Per_s,Bytes_Per_s_Low,Bytes_Per_s_High,P50_us,P95_us,P99_us,Knee'
    awk -v OFS=, -v knee="$knee" '{
        first = $11 != "-" ? 5 : 14
        print $1, $2, $3 == "-" ? "" : $3, $4 == "-" ? "" : $4, $first, $(first + 3), $(first + 6), ($1 == knee ? 1 : 0)
    }' <"$out/knee.txt" | sed 's/-//g'
} >"$out/knee.csv"

# ---- the file, the picture and the answer ----

first=$out/${names%% *}.kvreplay.json
one() { pick "$1" <"$first"; }
nullable() { if [ "$1" = - ]; then echo null; else echo "$1"; fi; }
device=$(one tiers.Tier-2.device)
if [ "$device" = - ]; then device=null; else device=$(json "$device"); fi
{
    printf '{\n  "program": "kvtrace knee",\n  "version": %s,\n  "host": %s,\n  "started": "%s",\n' "$(json "$(one version)")" \
        "$(json "$(uname -n)")" "$(one started)"
    printf '  "target": %s,\n  "device": %s,\n  "engine": %s,\n  "trials": %s,\n  "seconds": %s,\n  "knee": %s,\n  "cliff": %s,\n' \
        "$(json "$target")" "$device" "$(json "$(one tiers.Tier-2.engine)")" "$trials" "$seconds" "$(nullable "$knee")" "$(nullable "$cliff")"
    printf '  "invalid_runs": %s,\n  "points": [\n' "$invalid"
    awk '
        function known(v) { return v == "-" ? "null" : v }
        function three(name, i) {
            return sprintf("\"%s\": {\"mean\": %s, \"low\": %s, \"high\": %s}", name, known($i), known($(i + 1)), known($(i + 2)))
        }
        {
            printf "%s    {\"in_flight\": %s, %s", (NR > 1 ? ",\n" : ""), $1, three("bytes_per_s", 2)
            printf ", %s, %s, %s", three("read_p50_us", 5), three("read_p95_us", 8), three("read_p99_us", 11)
            printf ", %s, %s, %s", three("write_p50_us", 14), three("write_p95_us", 17), three("write_p99_us", 20)
            printf ", %s, %s, \"alignment_bytes\": %s}", three("device_depth", 23), three("io_bytes", 26), \
                $29 == "-" ? "null" : $29 == 1 ? 4096 : 1
        }
        END { print "" }' <"$out/knee.txt"
    printf '  ]\n}\n'
} >"$out/knee.json"
writes "$out/knee.svg"
if ! kvstat --plot "$out/knee.svg" "$out/knee.csv" 2>"$out/load.log"; then say "$suite: no picture: $(last_line "$out/load.log")"; fi
awk 'BEGIN { printf "%9s %18s %9s %9s %9s %9s %9s %10s\n", "in flight", "GB/s (95 %)", "P50 ms", "P95 ms", "P99 ms", "depth", "I/O KiB", "aligned" }
    function ms(v) { return v == "-" ? "-" : sprintf("%.3g", v / 1000) }
    {
        first = $11 != "-" ? 5 : 14
        printf "%9d %18s %9s %9s %9s %9s %9s %10s\n", $1, \
            $3 == "-" ? sprintf("%.3f", $2 / 1e9) : sprintf("%.3f (%.2f-%.2f)", $2 / 1e9, $3 / 1e9, $4 / 1e9), \
            ms($first), ms($(first + 3)), ms($(first + 6)), $23 == "-" ? "-" : sprintf("%.1f", $23), \
            $26 == "-" ? "-" : sprintf("%.0f", $26 / 1024), $29 == "-" ? "-" : $29 == 1 ? "4 KiB" : "no"
    }' <"$out/knee.txt"
caution
readable "$target"
drive=$readable awk -v knee="$knee" -v cliff="$cliff" '
    $1 == knee { rate = $2; p99 = $11 != "-" ? $11 : $20; read = $11 != "-" }
    { last = $1; most = $2 }
    END {
        printf "This drive (%s) ", ENVIRON["drive"]
        if (knee == "-") printf "gives more up to %d objects in flight (%.3g GB/s): no knee", last, most / 1e9
        else printf "takes %d %s in flight (%.3g GB/s, P99 of %s %.3g ms): twice as many give less than 5 %% more", knee, \
            knee == 1 ? "object" : "objects", rate / 1e9, read ? "reads" : "writes", p99 / 1000
        print (cliff == "-" ? "; P99 has no cliff." : "; P99 grows by more than 3 times at " cliff ".")
    }' <"$out/knee.txt"
