#!/bin/sh
# how-many-users.sh - How many users can this machine serve until its storage is too slow?
#
# Usage: how-many-users.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  directory for storage objects (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -l LIMIT     limit of the 95th percentile of storage reads (default: 100ms)
#   -t TIME      length of each search step (default: 20, plus 6 to settle)
#   -x MAX       maximum number of users to try (default: 1000)
#   -o OUT       directory for the summary of all steps (default: kvtrace-how-many-users)
#   --gpu-mem SIZE              size of the GPU tier (default: the proposal of kvtrace
#                discover)
#   --cpu-mem SIZE              size of the host memory tier (default: likewise)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipeline, run nothing
#
# kvreplay serves increasing numbers of users, with a new trace for each number, and finds
# the largest number within the limit. With more users, requests wait for storage. Run it
# twice: on a quiet machine the answers are within a tenth of each other. If they are not,
# something else uses the drive.
# Exit status: 0 a number was found, 1 not even one user can be served.
#
# Example: with 16 GiB of host memory above the drive
#   examples/how-many-users.sh --cpu-mem 16GiB /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -d -o -t --gpu-mem --cpu-mem --storage-capacity'
limit=100ms most=1000 seconds=20
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -l) value "$@" && limit=$text ;;
    -x) value "$@" && most=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
number -x "$most" && most=$text
need kvgen kvreplay
results "$out"
propose

tell "users of $model with $gpu GiB of GPU memory, $cpu GiB of host memory, and storage on $target"
search "$limit" "$most" "$seconds" --model "$model" --gpu-mem "$(sized "$gpu")" --cpu-mem "$(sized "$cpu")" --storage-capacity "$(sized "$storage")"
if printing || [ "$status" -gt 1 ]; then exit "$status"; fi
served "This machine"
exit "$status"
