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
# can with that many objects in flight. The first round climbs the ladder of steps, the next goes
# down, and so on: a drive that gets slower or faster meanwhile does so for all steps.
#
# Each figure is the mean of a step's rounds. Its interval holds what the same command finds
# again, in 95 of 100: mean +- t s sqrt(2 / rounds), s being the deviation between rounds,
# which includes that within them, and t Student's (Hahn and Meeker, Statistical Intervals,
# chapter 4: the mean of as many further observations). Where each round resembles the one
# before, it is sqrt((1 + r) / (1 - r)) times as wide, with the autocorrelation r of all steps
# together.
#
# The knee is the step after which twice as many give less than 5 % more throughput; the cliff is
# the step whose P99 is more than 3 times that of the one before. Both are compared round by
# round, by the logarithms of the ratios: a step is named when the 95 % interval of their mean
# (t s / sqrt(rounds)) lies on that side, else all steps are named that it may be. Where steps
# are further apart, each doubling between them counts (1.05 and 3 to the power of their number).
#
# The drive itself changed when the rounds differ by more than chance (two-way analysis of
# variance of the logarithms, by step and round; Tukey's range of the means, 95 %).
# knee.json and knee.csv have all figures, knee.svg shows them.
#
# Example: the drive under /mnt/nvme
#   examples/knee.sh /mnt/nvme/kv
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

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
free "$out/rounds.csv" "$out/knee.csv" "$out/knee.json" "$out/knee.svg"

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

# fields_of NAME: of a run, as in the head of rounds.csv: bytes a second; P50, P95 and P99 of reads and of writes; sum of the times of
# I/Os, time of the run; bytes and I/Os at the device; and whether they were direct.
fields_of() {
    {
        report "$out/$1.result.csv.zst" throughput.wall.bytes_per_s groups.Tier-2/Read.service_us.p50 groups.Tier-2/Read.service_us.p95 \
            groups.Tier-2/Read.service_us.p99 groups.Tier-2/Write.service_us.p50 groups.Tier-2/Write.service_us.p95 \
            groups.Tier-2/Write.service_us.p99
        pick evidence.own_io_s elapsed_s kernel.device_read_bytes kernel.device_write_bytes kernel.device_read_ios \
            kernel.device_write_ios evidence.direct <"$out/$1.kvreplay.json"
    } | sed 's/^-$//; s/^true$/1/; s/^false$/0/' | paste -sd , -
}
writes "$out/rounds.csv" "$out/knee.csv" "$out/knee.json" "$out/knee.svg"
{
    echo 'In_Flight,Round,Bytes_Per_s,Read_P50_us,Read_P95_us,Read_P99_us,Write_P50_us,Write_P95_us,Write_P99_us,IO_s,Elapsed_s,Device_Read_Bytes,Device_Write_Bytes,Device_Read_IOs,Device_Write_IOs,Direct'
    for name_of in $names; do echo "${name_of%%-*},${name_of##*-},$(fields_of "$name_of")"; done
} >"$out/rounds.csv"

# ---- the files, the picture and the answer ----

kvstat --knee --csv "$out/rounds.csv" >"$out/knee.csv"
first=$out/${names%% *}.kvreplay.json
one() { pick "$1" <"$first"; }
device=$(one tiers.Tier-2.device)
if [ "$device" = - ]; then device=null; else device=$(json "$device"); fi
{
    printf '{\n  "program": "kvtrace knee",\n  "version": %s,\n  "host": %s,\n  "started": "%s",\n' "$(json "$(one version)")" \
        "$(json "$(uname -n)")" "$(one started)"
    printf '  "target": %s,\n  "device": %s,\n  "engine": %s,\n  "trials": %s,\n  "seconds": %s,\n  "invalid_runs": %s,\n' \
        "$(json "$target")" "$device" "$(json "$(one tiers.Tier-2.engine)")" "$trials" "$seconds" "$invalid"
    kvstat --knee --json "$out/rounds.csv" | sed '1,/^  "started": /d' # without what names kvstat
} >"$out/knee.json"
if ! kvstat --plot "$out/knee.svg" "$out/knee.csv" 2>"$out/load.log"; then say "$suite: no picture: $(last_line "$out/load.log")"; fi
caution
kvstat --knee "$out/rounds.csv"
