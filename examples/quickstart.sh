#!/bin/sh
# quickstart.sh - from nothing to a report in a minute: installs what is missing, builds, and takes the
# first requests of a real trace through all four steps of a pipeline on this machine's disk.
#
#   examples/quickstart.sh [FOLDER]     FOLDER: where the scratch folder is made, to test another
#                                       drive; default: the current one
#
# It moves about 6 GiB of KV cache in all, 1.2 GiB of it to and from storage, needs 2 GiB of disk and 1 GiB
# of memory, and cleans up.
set -eu

where=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."

# 1. A compiler and a few libraries, if they are not here yet; then the programs, into build/bin.
./install-deps.sh
make -s -j"$(getconf _NPROCESSORS_ONLN)"
PATH=$PWD/build/bin:$PATH

# 2. A scratch folder on the disk to be measured, gone at the end however this script ends.
scratch=$(mktemp -d "$where/kvtrace-quickstart.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# 3. The workload: the first requests of Mooncake's published conversation trace, served by a small
#    model (24,576 bytes of KV per token, so a block of 512 tokens is an object of 12 MiB) on a
#    machine with very little memory: what does not fit on the GPU goes to host memory, then to storage.
#    kvgen only simulates: it writes down what would be moved, when and where.
kvgen --source mooncake --input tests/data/mooncake_first200.jsonl --max-requests 7 \
    --model tiny-1b --block-reuse any \
    --gpu-mem-gb 0.125 --cpu-mem-gb 0.15 --storage-capacity-gb 4 \
    --output "$scratch/trace.csv.zst"

# 4. The measurement: kvreplay does for real what each row says. Storage rows become files below the
#    scratch folder, read and written past the page cache; host memory is copied; a GPU is used when
#    there is one, and else its times are modelled and marked as such. Every read is verified.
kvreplay --nvme "$scratch/objects" --output "$scratch/result.csv.zst" "$scratch/trace.csv.zst"

# 5. The answer, from the rows and their times. (In a shell the three are one pipeline:
#    kvgen ... | kvreplay --nvme DIR | kvstat)
kvstat "$scratch/result.csv.zst"
