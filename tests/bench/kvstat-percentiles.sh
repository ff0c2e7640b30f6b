#!/bin/sh
# kvstat-percentiles.sh - tests/cli/kvstat/percentiles.t with 10 million rows of each distribution (ROWS): how far off
# the worst percentile is. Takes minutes, and 3 GiB in TMPDIR; fails when a percentile is off by more than 0.1 %.
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
ROWS=${ROWS:-10000000} exec "$top/tests/cli/kvstat/percentiles.t"
