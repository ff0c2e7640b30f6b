#!/bin/sh
# replay-null.sh [ROWS] - how many rows a second kvreplay itself can do, and its CPU time: --null, a .csv.zst in and a
# .csv.zst out, order by request. Prints; judges nothing.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
ROWS=${1:-2000000}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT

# shellcheck source=tests/bench/builds/cases.sh
. "$TOP/tests/bench/builds/cases.sh"
trace_rows "$ROWS" | zstd -q -3 -o "$TMP/t.csv.zst"
for pass in 1 2 3; do
    "$BIN/kvreplay" --null --progress none -o "$TMP/r.csv.zst" --summary "$TMP/s.json" "$TMP/t.csv.zst" 2>/dev/null
    jq -r '"\(.rows_per_s) \(.elapsed_s) \(.cpu_s)"' "$TMP/s.json" | awk -v pass="$pass" '{
        printf "pass %d: %.0f rows/s, %.3f s elapsed, %.3f CPU s (%.2f cores)\n", pass, $1, $2, $3, $3 / $2 }'
done
