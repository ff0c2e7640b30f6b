#!/bin/sh
# knee.sh - How many objects in flight does this drive take before more only wait?
#
# Usage: knee.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  a directory on the drive to test (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model whose objects are moved (default: llama3.1-8b)
#   -u USERS     users of the load (default: 8)
#   -t TIME      length of each run, after 1 s that does not count (default: 2)
#   --trials N   rounds: runs of each step (default: 6)
#   --in-flight N,...     the steps (default: 1,2,4,8,16,32,64,128,256)
#   -o OUT       directory for trace, results, table and picture (default: kvtrace-knee)
#   --storage-capacity SIZE     capacity for the cache (default: 4)
#   --print      show the pipeline, run nothing
#
# One load, whose whole KV cache goes to the drive in objects of 256 tokens, runs as fast as it
# can with so many objects in flight. The first round climbs the ladder of steps, the next goes
# down, and so on: a drive that gets slower or faster meanwhile does so for all steps.
#
# Each figure is the mean of a step's rounds. Its interval holds what the same command finds
# again, in 95 of 100: mean +- t s sqrt(2 / rounds), s being the deviation between rounds, in
# which that within them is, and t Student's (Hahn and Meeker, Statistical Intervals, chapter 4:
# the mean of as many further observations). Where rounds are like the ones before them it is
# sqrt((1 + r) / (1 - r)) times as wide, with the autocorrelation r of all steps together.
#
# The knee is the step after which twice as many give less than 5 % more throughput; the cliff is
# the step whose P99 is more than 3 times that of the one before. Both are compared round by
# round, by the logarithms of the ratios: a step is named when the 95 % interval of their mean
# (t s / sqrt(rounds)) lies on that side, else the steps are named that it may be. Where steps
# are further apart, each doubling between them counts (1.05 and 3 to the power of their number).
#
# The drive itself changed when the rounds differ by more than chance (two-way analysis of
# variance of the logarithms, by step and round; Tukey's range of the means, 95 %).
# knee.json and knee.csv have all figures, knee.svg shows them.
#
# Example: the drive under /mnt/nvme
#   examples/knee.sh /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --trials --storage-capacity'
users=8 seconds=2 trials=6 storage=4 flights=1,2,4,8,16,32,64,128,256
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in --in-flight) value "$@" && flights=$text ;; *) option "$@" ;; esac
    shift "$words"
done
numbers --in-flight "$flights" 1 1024 && flights=$text
need kvgen kvreplay kvstat
results "$out"
propose
names='' down=''
for n in $flights; do down="$n $down"; done
k=1
while [ "$k" -le "$trials" ]; do
    if [ $((k % 2)) = 1 ]; then way=$flights; else way=$down; fi
    for n in $way; do names="$names$n-trial-$k "; done
    k=$((k + 1))
done
with_names() { # COMMAND...: with the names behind it
    for name_of in $names; do set -- "$@" "$name_of"; done
    "$@"
}
with_names free_runs load
free "$out/runs.txt" "$out/knee.txt" "$out/found.txt" "$out/knee.csv" "$out/knee.json" "$out/knee.svg"

tell "the load of $(counted "$users" user) of $model, in $(counted "$trials" round) $seconds s for each number of objects in flight"
load load "$users" 900 --model "$model" --gpu-mem 0 --cpu-mem 0 --arrival closed --generation-mode none \
    --granularity block:256 --storage-capacity "$(sized "$storage")"
for name_of in $names; do
    n=${name_of%%-*}
    depth=$n
    if [ "$depth" -lt 32 ]; then depth=32; fi
    execute "$name_of" load --timing asap --order key --inflight "$n" --iodepth "$depth" \
        --warmup 1 --duration "$((seconds + 1))"
done
if printing; then exit 0; fi

# ---- what each run gave ----

# numbers_of NAME: of a run: bytes a second; P50, P95 and P99 of reads and of writes in us; sum of I/O times, time, bytes and
# I/Os at the device, and whether they were direct.
numbers_of() {
    report "$out/$1.result.csv.zst" throughput.wall.bytes_per_s groups.Tier-2/Read.service_us.p50 groups.Tier-2/Read.service_us.p95 \
        groups.Tier-2/Read.service_us.p99 groups.Tier-2/Write.service_us.p50 groups.Tier-2/Write.service_us.p95 \
        groups.Tier-2/Write.service_us.p99
    pick evidence.own_io_s elapsed_s kernel.device_read_bytes kernel.device_write_bytes kernel.device_read_ios kernel.device_write_ios \
        evidence.direct <"$out/$1.kvreplay.json"
}
writes "$out/runs.txt" "$out/knee.txt" "$out/found.txt" "$out/knee.csv" "$out/knee.json"
for name_of in $names; do
    echo "${name_of%%-*} ${name_of##*-} $(numbers_of "$name_of" | paste -sd ' ' -)"
done >"$out/runs.txt"

# knee.txt has a line a step: objects in flight, then mean, low and high of each figure, and of the ratios of throughput and
# P99 at the next step to those here. found.txt: the first and the last step that may be the knee, the same of the cliff, the
# share by which rounds differ, and whether it is beyond chance. "-" is not known, or not up to the last step. P99 is that of
# reads, or of writes where none were read.
found=$out/found.txt awk '
    BEGIN {
        n = split("12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 2.120 2.110 2.101 " \
            "2.093 2.086 2.080 2.074 2.069 2.064 2.060 2.056 2.052 2.048 2.045 2.042", student, " ")
        # Studentized ranges of 2 and more means, for 10 degrees of freedom: with more of them they are smaller.
        ranges = split("3.15 3.88 4.33 4.65 4.91 5.12 5.30 5.46 5.60 5.72 5.83 5.93 6.03 6.11 6.19 6.27 6.34 6.40 6.47", tukey, " ")
        FIGURES = 10; RATE = 1
    }
    function t95(df) { return student[df < n ? df : n] }
    function put(s, k, i, v) { if (v != "-") { value[s, k, i] = v; count[s, i]++; sum[s, i] += v } }
    !($1 in at) { at[$1] = ++steps; step[steps] = $1 }
    {
        s = at[$1]; if ($2 > rounds) rounds = $2
        for (i = 1; i <= 7; i++) put(s, $2, i, $(i + 2))
        if ($10 != "-" && $11 > 0) put(s, $2, 8, $10 / $11)
        if ($12 != "-" && $14 + $15 > 0) put(s, $2, 9, ($12 + $13) / ($14 + $15))
        put(s, $2, 10, $16 == "true" ? 1 : $16 == "false" ? 0 : "-")
    }
    # How much wider an interval is for rounds that are like those before them; deviations are shares of the mean of a step.
    function wider(i,   s, k, d, last, both, all, like) {
        for (s = 1; s <= steps; s++) {
            last = ""
            if (!count[s, i] || sum[s, i] <= 0) continue
            for (k = 1; k <= rounds; k++) {
                if (!((s, k, i) in value)) { last = ""; continue }
                d = value[s, k, i] * count[s, i] / sum[s, i] - 1
                all += d * d; if (last != "") both += d * last
                last = d
            }
        }
        like = all > 0 && both > 0 ? both / all : 0
        if (like > 0.9) like = 0.9
        return sqrt((1 + like) / (1 - like))
    }
    function figure(s, i,   c, k, mean, square, half) {
        c = count[s, i]
        if (!c) return " - - -"
        mean = sum[s, i] / c
        if (c < 2) return sprintf(" %.6g - -", mean)
        for (k = 1; k <= rounds; k++) if ((s, k, i) in value) square += (value[s, k, i] - mean) ^ 2
        half = t95(c - 1) * sqrt(square / (c - 1) * 2 / c) * wide[i]
        return sprintf(" %.6g %.6g %.6g", mean, mean > half ? mean - half : 0, mean + half)
    }
    # Sets ratio, low and high: figure i of step s + 1 to that of step s. Returns whether there are two rounds.
    function compare(s, i,   k, d, c, all, square, half) {
        for (k = 1; k <= rounds; k++)
            if ((s, k, i) in value && (s + 1, k, i) in value && value[s, k, i] > 0 && value[s + 1, k, i] > 0) {
                d = log(value[s + 1, k, i] / value[s, k, i]); c++; all += d; square += d * d
            }
        ratio = low = high = "-"
        if (c) ratio = exp(all / c)
        if (c < 2) return 0
        square -= all * all / c
        half = t95(c - 1) * sqrt((square > 0 ? square : 0) / (c - 1) / c)
        low = exp(all / c - half); high = exp(all / c + half)
        return 1
    }
    # Of the rounds that all steps have: by what share the fastest is faster than the slowest, and whether that is beyond chance.
    function changed(   s, k, m, all, of, effect, rest, least, most, q) {
        for (s = 1; s <= steps; s++) for (k = 1; k <= rounds; k++) {
            if (!(value[s, k, RATE] > 0)) return "- no"
            m = log(value[s, k, RATE]); all += m; of_step[s] += m / rounds; of_round[k] += m / steps
        }
        if (rounds < 2) return "- no"
        all /= steps * rounds
        for (s = 1; s <= steps; s++) for (k = 1; k <= rounds; k++)
            rest += (log(value[s, k, RATE]) - of_step[s] - of_round[k] + all) ^ 2
        least = most = of_round[1]
        for (k = 2; k <= rounds; k++) { if (of_round[k] < least) least = of_round[k]; if (of_round[k] > most) most = of_round[k] }
        of = (steps - 1) * (rounds - 1)
        q = rounds - 1 <= ranges ? tukey[rounds - 1] : 8.5
        return sprintf("%.4g %s", exp(most - least) - 1, of >= 10 && most - least > q * sqrt(rest / of / steps) ? "yes" : "no")
    }
    END {
        for (i = 1; i <= FIGURES; i++) wide[i] = wider(i)
        P99 = 7; for (s = 1; s <= steps; s++) if (count[s, 4]) P99 = 4
        knee = knee_to = cliff = cliff_to = "-"
        for (s = 1; s <= steps; s++) {
            line = step[s]
            for (i = 1; i <= FIGURES; i++) line = line figure(s, i)
            if (s == steps) { print line " - - - - - -"; break }
            doublings = log(step[s + 1] / step[s]) / log(2)
            sure = compare(s, RATE); bound = 1.05 ^ doublings
            if (knee == "-" && !(sure && low >= bound)) knee = step[s]
            if (knee_to == "-" && sure && high < bound) knee_to = step[s]
            line = line " " ratio " " low " " high
            sure = compare(s, P99); bound = 3 ^ doublings
            if (cliff == "-" && !(sure && high <= bound)) cliff = step[s + 1]
            if (cliff_to == "-" && sure && low > bound) cliff_to = step[s + 1]
            print line " " ratio " " low " " high
        }
        print knee, knee_to, cliff, cliff_to, changed() >ENVIRON["found"]
    }' <"$out/runs.txt" >"$out/knee.txt"
read -r knee_from knee_to cliff_from cliff_to change beyond <"$out/found.txt"
if [ "$knee_from" = "$knee_to" ]; then knee=$knee_from; else knee=-; fi
if [ "$cliff_from" = "$cliff_to" ]; then cliff=$cliff_from; else cliff=-; fi
{
    echo 'In_Flight,Bytes_Per_s,Bytes_Per_s_Low,Bytes_Per_s_High,P50_us,P50_us_Low,P50_us_High,P95_us,P95_us_Low,P95_us_High,P99_us,P99_us_Low,P99_us_High,Device_Depth,IO_Bytes,Alignment_Bytes,Knee'
    awk -v from="$knee_from" -v to="$knee_to" '
        function known(v) { return v == "-" ? "" : v }
        {
            line = $1
            for (i = 2; i <= 4; i++) line = line "," known($i)
            first = $11 != "-" ? 5 : 14
            for (i = first; i < first + 9; i++) line = line "," known($i)
            print line "," known($23) "," known($26) "," ($29 == "-" ? "" : $29 == 1 ? 4096 : 1) "," (to != "-" && $1 >= from + 0 && $1 <= to + 0 ? 1 : 0)
        }' <"$out/knee.txt"
} >"$out/knee.csv"

# ---- the file, the picture and the answer ----

first=$out/${names%% *}.kvreplay.json
one() { pick "$1" <"$first"; }
nullable() { if [ "$1" = - ]; then echo null; else echo "$1"; fi; }
device=$(one tiers.Tier-2.device)
if [ "$device" = - ]; then device=null; else device=$(json "$device"); fi
if [ "$change" = - ]; then changed=null; elif [ "$beyond" = yes ]; then changed=true; else changed=false; fi
{
    printf '{\n  "program": "kvtrace knee",\n  "version": %s,\n  "host": %s,\n  "started": "%s",\n' "$(json "$(one version)")" \
        "$(json "$(uname -n)")" "$(one started)"
    printf '  "target": %s,\n  "device": %s,\n  "engine": %s,\n  "trials": %s,\n  "seconds": %s,\n' \
        "$(json "$target")" "$device" "$(json "$(one tiers.Tier-2.engine)")" "$trials" "$seconds"
    printf '  "knee": %s,\n  "knee_from": %s,\n  "knee_to": %s,\n' "$(nullable "$knee")" "$(nullable "$knee_from")" "$(nullable "$knee_to")"
    printf '  "cliff": %s,\n  "cliff_from": %s,\n  "cliff_to": %s,\n' "$(nullable "$cliff")" "$(nullable "$cliff_from")" \
        "$(nullable "$cliff_to")"
    printf '  "rounds_differ": %s,\n  "drive_changed": %s,\n' "$(nullable "$change")" "$changed"
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
            printf ", %s, %s, \"alignment_bytes\": %s", three("device_depth", 23), three("io_bytes", 26), \
                $29 == "-" ? "null" : $29 == 1 ? 4096 : 1
            printf ", %s, %s}", three("next_bytes_per_s_ratio", 32), three("next_p99_ratio", 35)
        }
        END { print "" }' <"$out/knee.txt"
    printf '  ]\n}\n'
} >"$out/knee.json"
writes "$out/knee.svg"
if ! kvstat --plot "$out/knee.svg" "$out/knee.csv" 2>"$out/load.log"; then say "$suite: no picture: $(last_line "$out/load.log")"; fi
awk 'BEGIN { printf "%9s %20s %9s %9s %9s %9s %9s %10s\n", "in flight", "GB/s (95 % again)", "P50 ms", "P95 ms", "P99 ms", "depth", "I/O KiB", "aligned" }
    function ms(v) { return v == "-" ? "-" : sprintf("%.3g", v / 1000) }
    {
        first = $11 != "-" ? 5 : 14
        printf "%9d %20s %9s %9s %9s %9s %9s %10s\n", $1, \
            $3 == "-" ? sprintf("%.3f", $2 / 1e9) : sprintf("%.3f (%.2f-%.2f)", $2 / 1e9, $3 / 1e9, $4 / 1e9), \
            ms($first), ms($(first + 3)), ms($(first + 6)), $23 == "-" ? "-" : sprintf("%.1f", $23), \
            $26 == "-" ? "-" : sprintf("%.0f", $26 / 1024), $29 == "-" ? "-" : $29 == 1 ? "4 KiB" : "no"
    }' <"$out/knee.txt"
caution
if [ "$beyond" = yes ]; then
    awk -v change="$change" -v rounds="$trials" 'BEGIN {
        printf "The drive itself changed: of %d rounds the fastest gave %.3g %% more than the slowest, beyond chance.\n", rounds, 100 * change }'
fi
readable "$target"
drive=$readable awk -v knee="$knee_from" -v knee_to="$knee_to" -v cliff="$cliff_from" -v cliff_to="$cliff_to" -v rounds="$trials" '
    $1 == (knee_to != "-" ? knee_to : knee) { rate = $2; p99 = $11 != "-" ? $11 : $20; read = $11 != "-" }
    { last = $1; most = $2 }
    END {
        printf "This drive (%s) ", ENVIRON["drive"]
        if (rounds < 2) {
            print "was measured in one round, which tells neither knee nor cliff (--trials)."
            exit
        }
        at = sprintf("(%.3g GB/s, P99 of %s %.3g ms)", rate / 1e9, read ? "reads" : "writes", p99 / 1000)
        if (knee == "-") printf "gives more up to %d objects in flight (%.3g GB/s): no knee", last, most / 1e9
        else if (knee_to == "-") printf "takes %s %s in flight %s or more: these rounds do not tell what twice as many give", knee, \
            knee == 1 ? "object" : "objects", at
        else printf "takes %s%s %s in flight %s: twice as many give less than 5 %% more", \
            (knee != knee_to ? knee " to " : ""), knee_to, knee_to == 1 ? "object" : "objects", at
        if (cliff == "-") print "; P99 has no cliff."
        else if (cliff_to == "-") print "; P99 may grow by more than 3 times at " cliff " or beyond."
        else print "; P99 grows by more than 3 times at " (cliff != cliff_to ? cliff " to " : "") cliff_to "."
    }' <"$out/knee.txt"
