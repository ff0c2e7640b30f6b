#!/bin/sh
# The summary of kvgen says what its rows say, whatever the run: requests that arrived are complete, in progress or waiting,
# bytes that were written are there or have left, and tiers were busy for as long as their rows took until the run ended.
# A bug looked like a tier that was busy for longer than the run, or documents that waited among the requests. Engines:
# copies.t. tests/bench/conservation.sh holds a thousand runs.
# builds: plain
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
plan 1

is 'random configurations: no difference' \
    "$(python3 "$TOP/tests/cli/simulation/conservation.py" "$BIN/kvgen" "$DATA" "$TMP" 60)" '60 held'
