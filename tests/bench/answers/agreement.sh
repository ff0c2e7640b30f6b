#!/bin/sh
# agreement.sh - holds kvgen's answers against each other over 8 drives from 0.5 to 50 GB/s, 3 models, 4 host memories and
# 3 populations, as tests/cli/answers/agreement_*.t do with 16 like them. Prints each contradiction, and how many cells
# were held. Half an hour on two processors; what was cut off goes on where it was, in build/agreement. A part of it:
#   tests/bench/answers/agreement.sh [POPULATIONS [MODELS [HOSTS [DRIVES]]]]    chat all 24GiB,96GiB 0.5,50
set -eu
top=$(cd "$(dirname "$0")/../../.." && pwd)
case ${1-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
build=${BUILD:-$top/build}
mkdir -p "$build/agreement"
exec "$top/tests/cli/answers/agreement.py" "$build/bin/kvgen" "$build/agreement" "$@"
