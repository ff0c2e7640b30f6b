#!/bin/sh
# how-many-users.sh - How many users can this machine serve until its storage is too slow?
#
# Usage: how-many-users.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  where the objects of storage go (default: the folder that kvtrace
#                discover proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -l LIMIT     what a read of storage may take at the 95th percentile (default: 100ms)
#   -t SECONDS   length of each step of the search (default: 20, and 6 to settle)
#   -x MAX       most users to try (default: 1000)
#   -o OUT       folder for the summary of all steps (default: kvtrace-how-many-users)
#   --gpu-mem-gb GiB            size of the GPU's tier (default: what kvtrace discover
#                proposes)
#   --cpu-mem-gb GiB            size of the host memory's tier (default: likewise)
#   --storage-capacity-gb GiB   what the cache may fill (default: what is free, less a
#                reserve)
#   --print      show the pipeline, run nothing
#
# kvreplay serves growing numbers of users, a fresh trace for each, and closes in on the
# most that keep the limit. Beyond that number users wait for storage. Ask twice: on a
# quiet machine the answers lie within a tenth of each other. If they do not, something
# else uses the drive.
# Exit status: 0 a number was found, 1 not even one user is served.
#
# Example: with 16 GiB of memory before the drive
#   examples/how-many-users.sh --cpu-mem-gb 16 /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -d -o -t --gpu-mem-gb --cpu-mem-gb --storage-capacity-gb'
limit=100ms most=1000 seconds=20
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    -l) limit=$(value "$@") ;;
    -x) most=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
number -x "$most"
need kvgen kvreplay
folders "$out"
propose

tell "users of $model with $gpu GiB of GPU memory, $cpu GiB of host memory, and storage on $target"
search "$limit" "$most" "$seconds" --model "$model" --gpu-mem-gb "$gpu" --cpu-mem-gb "$cpu" --storage-capacity-gb "$storage"
if printing || [ "$status" -gt 1 ]; then exit "$status"; fi
served "This machine"
exit "$status"
