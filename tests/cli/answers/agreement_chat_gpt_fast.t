#!/bin/sh
# Two of the cells of tests/bench/answers/agreement.sh: chat users of gpt-oss-20b,
# much host memory and two drives. agreement.py says what must hold. A bug looked like a
# verdict that was not that of the search, or like a faster drive that held fewer users.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
plan 1

is 'answers agree' "$(python3 "$TOP/tests/cli/answers/agreement.py" "$BIN/kvgen" "$TMP" --small chat gpt-oss-20b fast)" \
    '2 cells held, 0 contradictions'
