#!/bin/sh
# agreement.sh - holds kvgen's answers against each other over 8 drives from 0.5 to 50 GB/s, 3 models, 4 host memories and
# 3 populations, as tests/cli/answers/agreement_*.t do with 24 of such cells. Prints each contradiction, and how many cells
# were held. About an hour on two processors.
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -r "$scratch"' EXIT
"$top/tests/cli/answers/agreement.py" "$top/${BUILD:-build}/bin/kvgen" "$scratch"
