#!/bin/sh
# compare-drives.sh - Which of two drives holds more users, and by more than the noise?
#
# Usage: compare-drives.sh [OPTION]... DRIVE1 DRIVE2
#
#   DRIVE1 DRIVE2  each a directory on a drive, or a model as of --drive: a file of kvtrace
#                model, or sim:bw=14GB/s,lat=80us
#   -u N         show both at N users (default: each at the most that it holds)
#   -m MODEL, --gpu-profile GPU, --tensor-parallel N, --engine CACHE, --gpu-mem SIZE,
#   --cpu-mem SIZE, --storage-capacity SIZE, --prefill FILE, --prefill-rate RATE@TOKENS
#                the server (default: llama3.1-8b on one h100, vllm; see kvgen(1))
#   --population WHO, --input TRACE, --speed X
#                its load: chat (default), code, documents, mlperf, or a recorded trace
#   --ttft TIME, --tpot TIME, --goodput SHARE, --seeds N
#                served well: 2s to the first token, 100ms a token, for 95% of requests;
#                in how many random loads (default: 5)
#   -t TIME      how long the load runs on the drive, to confirm (default: 15s)
#   -o OUT       directory for 1/answer.json, 2/answer.json, ... (default: kvtrace-compare-drives)
#   --full       measure the drive for ten minutes instead of half a minute
#   --json       print both answers as JSON; --print: show the pipeline, run nothing
#
#   the second is better: /mnt/new holds 7 users more (4-11)
#
#   Drive           /mnt/old                        /mnt/new
#   Users held      31 (29-32)                      38 (36-40)
#   ...
#
# The drives take turns: 1 is measured, then 2; the load of 2 is confirmed, then that of 1.
# Both meet the same users, seed by seed. Exit status: 0 the second holds more, or as many;
# 1 fewer; 2 used wrongly, 3 could not run or show it, 4 not decided.
# Example:
#   examples/compare-drives.sh /mnt/old/kv /mnt/new/kv
case $0 in */*) . "${0%/*}/answer.sh" ;; *) . ./answer.sh ;; esac

out=kvtrace-compare-drives first='' second=''
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    --drive) die 2 "--drive: name the models as the two operands (try --help)" ;;
    -?*) answer_option "$@" ;;
    *)
        operand "$1" && words=1
        if [ -z "$first" ]; then first=$text; elif [ -z "$second" ]; then second=$text; else die 2 "$1: a third drive"; fi
        ;;
    esac
    shift "$words"
done
if [ -z "$second" ]; then die 2 "two drives are needed (try --help)"; fi
options_end
need kvgen kvreplay kvstat
results "$out" "$out/1" "$out/2"
alone
files "$out/1"
files "$out/2"

# One file system is one device.
device() {
    there "$1"
    df -Pk "$place" | awk 'NR == 2 { print $1 }'
}
if ! is_model "$first" && ! is_model "$second" && [ "$(device "$first")" = "$(device "$second")" ]; then
    say "$suite: both folders are on one device, $(device "$first"): this compares it with itself"
fi
# How many runs of this show what: Welch's t test of two means at 99 % finds a difference of t(0.995, 2 n - 2) * sqrt(2 / n)
# standard deviations in n runs of each; t by n from 2 on.
runs_needed() {
    awk -v difference=10 'BEGIN {
        most = split("9.925 4.604 3.707 3.355 3.169 3.055 2.977 2.921 2.878 2.845 2.819 2.797 2.779 2.763 2.750 2.738 2.728 " \
            "2.719 2.712", t, " ") + 1
        for (n = most; n >= 2; n--) {
            shows = t[n - 1] * sqrt(2 / n)
            if (5 * shows <= difference) five = n
            if (10 * shows <= difference) ten = n
        }
        printf "a difference of %d %% takes %d runs to show where a drive varies by 5 %% from run to run, and %d where by 10 %%\n",
            difference, five, ten
    }'
}
say "$suite: the drives take turns, 1 2 2 1; $(runs_needed)"

# side N: sets drive_n and folder to those of that drive; fails for a model, which is neither measured nor confirmed.
side() {
    if [ "$1" = 1 ]; then drive_n=$first; else drive_n=$second; fi
    folder=$out/$1
    ! is_model "$drive_n"
}
# Both have the same room.
if [ -z "$storage" ]; then
    rooms=''
    for n in 1 2; do if side $n; then roomy "$drive_n"; fi; done
    for n in 1 2; do if side $n && [ "${drive_n#*://}" = "$drive_n" ]; then rooms="$rooms $(room "$drive_n")"; fi; done
    storage=$(printf '%s\n' "$rooms" | tr ' ' '\n' | sed '/^$/d' | sort -n | head -n 1)
fi
measured=0
for n in 1 2; do if side $n; then plan "$measuring_s" && measured=$((measured + 1)); fi; done
plan "$searching_s" "$searching_s"
for n in 2 1; do if side $n; then plan $((seconds * 2)) "$seconds"; fi; done
# Whatever is refused is so before anything is measured.
for n in 1 2; do if side $n; then usable "$drive_n"; fi; done
if [ "$measured" != 0 ]; then object_size "$out/1"; fi
for n in 1 2; do
    if side $n; then tier_model=$unmeasured; else tier_model "$drive_n"; fi
    simulate "$folder" "$tier_model" none check
done
for n in 1 2; do
    if side $n; then
        begin "measures $drive_n"
        measure "$drive_n" "$folder"
    fi
done
for n in 1 2; do
    if side $n; then drive_model=$folder/drive.json window=$folder/window.csv.zst; else tier_model "$drive_n" && drive_model=$tier_model window=none; fi
    begin "simulates with $drive_n"
    simulate "$folder" "$drive_model" "$window"
done
confirmed_1=no confirmed_2=no
for n in 2 1; do
    if ! side $n || nothing_to_confirm "$folder"; then continue; fi
    objects_in "$drive_n"
    confirm "$drive_n" "$folder"
    if [ $n = 1 ]; then confirmed_1=yes; else confirmed_2=yes; fi
done
judge "$out/1" $confirmed_1 drive
judge "$out/2" $confirmed_2 drive
set -- kvstat --answer "$out/1/sim.json" --view compare
for n in 1 2; do
    confirmed=$confirmed_1
    if [ $n = 2 ]; then confirmed=$confirmed_2; fi
    if [ $confirmed = yes ]; then
        set -- "$@" --confirm "$out/$n/drive.result.csv.zst" --confirm-model "$out/$n/model.result.csv.zst"
    else
        set -- "$@" --confirm none --confirm-model none
    fi
done
if [ "$json" = yes ]; then set -- "$@" --json; fi
set -- "$@" "$out/2/sim.json"
if typed "$@"; then exit 0; fi
show "$@"
