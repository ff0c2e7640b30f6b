#!/bin/sh
# Cells like those of tests/bench/answers/agreement.sh: documents users of gpt-oss-20b, little host memory
# and much, a slow drive and a fast one. agreement.py says what must hold. A bug looked like a verdict that was not
# that of the search, or like a faster drive that held fewer users.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
plan 1

is 'answers agree' "$(python3 "$TOP/tests/cli/answers/agreement.py" "$BIN/kvgen" "$TMP" --small documents gpt-oss-20b)" \
    '4 cells held, 0 contradictions'
