#!/bin/sh
# stream.sh [DIR] [SIZE] - kvprecond --mode stream of SIZE (default: 8G) in DIR: past the page cache, and through it with
# each --config fadvise. Prints bandwidth, waits, peak memory and what the page cache holds afterwards; wanted: under 160 MiB of
# memory at any SIZE, and under 1 % in the page cache with dontneed. Judges nothing.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
DIR=${1:-${TMPDIR:-/tmp}}
SIZE=${2:-8G}
TMP=$(mktemp -d "$DIR/stream.XXXXXX")
trap 'rm -rf "$TMP"' EXIT

stream() { # stream NAME OPTIONS...
    name=$1
    shift
    "$BIN/kvprecond" --mode stream --size "$SIZE" "$@" --progress none --json "$TMP/dir" | jq -r --arg name "$name" '
        "\($name): \(.gib_per_s * 100 | round / 100) GiB/s, waited \(.stream.waited_for_data_s * 100 | round / 100) s for data, " +
        "\(.stream.waited_for_store_s * 100 | round / 100) s for the store, " +
        "\(.stream.peak_memory_bytes / 1048576 | round) MiB of memory, " +
        "\(.stream.page_cache_bytes / .written_bytes * 1000 | round / 10) % in the page cache"'
}
stream direct
for advice in none sequential dontneed; do stream "$advice" --buffered --config fadvise="$advice"; done
