#!/bin/sh
# conservation.sh [COUNT [SEED]] - holds the summaries of COUNT (1000) random runs of kvgen against their rows, as
# tests/cli/simulation/conservation.t does with a few. Prints each difference, and how many runs were held.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -r "$scratch"' EXIT
"$top/tests/cli/simulation/conservation.py" "$top/${BUILD:-build}/bin/kvgen" "$top/tests/data" "$scratch" "${1:-1000}" "${2:-40}"
