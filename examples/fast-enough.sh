#!/bin/sh
# fast-enough.sh - Is this drive fast enough for a model and N users? PASS or FAIL.
#
# Usage: fast-enough.sh [OPTION]... [DIR]
#
#   DIR          a directory on the drive (default: the one that kvtrace discover proposes); it is
#                filled for the measurement, and what was written is removed at the end
#   -u N         users at once (default: 50)
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
#   --json       print answer.json; --print: show the pipeline, run nothing
#
#   PASS: 20 users are held, and up to 36 in each of 5 seeds
#   ... and what kvtrace drive shows
#
# Each seed is a random load. PASS up to the number that is held in all of them, FAIL above the
# most that is held in any. INCONCLUSIVE between both, and where the drive does not confirm its
# model: the screen names the cause.
#
# Exit status: 0 PASS, 1 FAIL, 4 INCONCLUSIVE; 2 used wrongly, 3 could not run or show it.
# Example:
#   examples/fast-enough.sh -u 20 /mnt/nvme/kv
case $0 in */*) . "${0%/*}/answer.sh" ;; *) . ./answer.sh ;; esac

answer_options "$@"
default_users=50
if [ -z "$input" ]; then users=${users:-$default_users}; fi
answer_of fast-enough
