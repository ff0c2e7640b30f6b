#!/bin/sh
# Rows of an engine's cache are copies: what is read is there, what is written is not, the two rows of a copy follow each
# other, no tier has more than it can; and the summary says what the rows say. A bug looked like a load of what had been
# dropped, a store that was counted and not written, or a request whose time did not add up.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
plan 1

is 'random configurations: no difference' \
    "$(python3 "$TOP/tests/cli/simulation/copies.py" "$BIN/kvgen" "$DATA" "$TMP" 15)" '15 held'
