#!/bin/sh
# drive.sh - What does this drive give my users, beside no drive and an ideal one?
#
# Usage: drive.sh [OPTION]... [DIR]
#
#   DIR          a directory on the drive (default: the one that kvtrace discover proposes); it is
#                filled for the measurement, and what was written is removed at the end
#   -u N         show the figures at N users (default: at the most that are held)
#   -m MODEL, --gpu-profile GPU, --tensor-parallel N, --engine CACHE, --gpu-mem SIZE,
#   --cpu-mem SIZE, --storage-capacity SIZE, --prefill FILE, --prefill-rate RATE@TOKENS
#                the server (default: llama3.1-8b on one h100, vllm; see kvgen(1))
#   --population WHO, --input TRACE, --speed X
#                its load: chat (default), code, documents, mlperf, or a recorded trace
#   --ttft TIME, --tpot TIME, --goodput SHARE, --seeds N
#                served well: 2s to the first token, 100ms a token, for 95% of requests;
#                in how many random loads (default: 5)
#   -t TIME      how long the load runs on the drive, to confirm (default: 15s)
#   -o OUT       directory for answer.json, answer.html and all else (default: kvtrace-answer)
#   --full       measure the drive for ten minutes instead of half a minute
#   --drive MODEL  in place of DIR a file of kvtrace model, or sim:bw=14GB/s,lat=80us
#   --price gpu=2.5/h,...  money, too; --tbw TB: how long the drive lasts (see kvgen(1))
#   --json       print answer.json; --print: show the pipeline, run nothing;
#                keys of kvtrace.conf(5) can be added to its kvgen line
#
#   llama3.1-8b on one h100 (by calculation), vllm 0.33.0, chat users
#   /mnt/nvme (nvme0n1, 3.84 TB, measured 2026-01-01 00:00)
#
#   Users held      this drive 38 (36-40)   no drive 21 (20-22)   ideal 44 (42-45)
#                   held in 4 of 5 random loads (seeds); brackets: in all, in any
#   At 38 users     first token p95 1.84 s (limit 2 s); without the drive 5.9 s
#   The drive       reads 0.25 GB/s of 6.5, writes 0.09 of 4.9 at this mix and depth
#                   a hit waits 43 ms (p95 99 ms) for the drive and for room in memory
#   Knee            16 reads of 4 MiB in flight, 6.4 GB/s at p95 12 ms; this load keeps 2.9
#   Tokens from     GPU 34 %, host memory 21 %, drive 28 %, computed 17 %
#   What ends it    prefill on the GPU: a faster drive adds at most 6 users
#   Confirmed       15 s on the drive: reads p50 43 ms, p95 99 ms (model 41 ms, 96 ms)
#
# Exit status: 0 done, 2 used wrongly, 3 could not run or show it, 4 undecided or unconfirmed; -u N: 1 not held.
# Example:
#   examples/drive.sh /mnt/nvme/kv
case $0 in */*) . "${0%/*}/answer.sh" ;; *) . ./answer.sh ;; esac

answer_options "$@"
answer_of drive
