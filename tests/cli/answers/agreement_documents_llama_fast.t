#!/bin/sh
# Two of the cells of tests/bench/answers/agreement.sh: documents users of llama3.1-8b,
# much host memory and two drives. agreement.py says what must hold. A bug looked like a
# verdict that was not that of the search, or like a faster drive that held fewer users.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
plan 1

is 'answers agree' "$(python3 "$TOP/tests/cli/answers/agreement.py" "$BIN/kvgen" "$TMP" --small documents llama3.1-8b fast)" \
    '2 cells held, 0 contradictions'
