#!/bin/sh
# worth.sh - What is a drive worth, against computing everything again?
#
# Usage: worth.sh [OPTION]... [DIR]
#
#   DIR          a directory on the drive (default: the one that kvtrace discover proposes); it is
#                filled for the measurement, and what was written is removed at the end
#   -u N         its worth to N users (default: to the most that it holds)
#   --price gpu=2.5/h  money, too; --tbw TB: how long the drive lasts (see kvgen(1))
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
#   gain: 17 users more (14-20), 38 (36-40) instead of 21 (20-22); at 38 users ...
#   ... it saves a day: tokens of prefill, GPU seconds, money; and what kvtrace drive shows
#
# Exit status: 0 a gain, 1 none; 2 used wrongly, 3 could not run or show it, 4 not decided.
# Example:
#   examples/worth.sh --drive sim:bw=14GB/s,lat=80us --price gpu=2.5/h
case $0 in */*) . "${0%/*}/answer.sh" ;; *) . ./answer.sh ;; esac

answer_options "$@"
answer_of worth
