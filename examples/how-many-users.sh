#!/bin/sh
# how-many-users.sh - How many users does this drive hold, and what ends it?
#
# Usage: how-many-users.sh [OPTION]... [DIR]
#
#   DIR          a directory on the drive (default: the one that kvtrace discover proposes); it is
#                filled for the measurement, and what was written is removed at the end
#   -u N         show the figures at N users, too (default: at the most that are held)
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
#   Users held      this drive 38 (36-40)   no drive 21 (20-22)   ideal 44 (42-45)
#   ...
#       Users seeds held     good  first token p95  requests/s   what ends it
#          32     5 of 5   99.0 %           1.20 s        1.61
#          38     4 of 5   96.0 %           1.84 s        1.90
#          44     0 of 5   81.0 %           4.31 s        2.02   prefill
#
#   PASS up to 36 users, INCONCLUSIVE from 37 to 40, FAIL above 40
#
# Exit status: 0 done, 2 used wrongly, 3 could not run or show it, 4 not decided (not confirmed);
# with -u N: 1 N are not held.
# Example:
#   examples/how-many-users.sh --cpu-mem 16GiB /mnt/nvme/kv
case $0 in */*) . "${0%/*}/answer.sh" ;; *) . ./answer.sh ;; esac

answer_options "$@"
answer_of users
