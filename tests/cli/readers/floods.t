#!/bin/sh
# floods.t - every reader of every program, given small files that unpack to millions of blank lines, comments, notes,
# quotes or other things without end (readers.py): it passes over them or refuses them in one line, with status 0 or
# 2, in a memory and a time that do not follow what comes. A bug looked like a heap overflow from a .zst of 115 bytes,
# whose blank lines were kept until the first line that is not blank.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/readers.sh
. "$TOP/tests/readers.sh"

# A source that is not in the list would not be tested.
"$BIN/kvgen" --help all | tr -d '\n' | sed 's/  */ /g; s/.*one of auto, users, \([^)]*\)).*/\1/' | tr -d ',' | tr ' ' '\n' |
    while read -r source; do grep -q "^kvgen $source\$" "$TMP/readers" || echo "$source"; done >"$TMP/missing"
is 'every source of kvgen is in the list' "$(cat "$TMP/missing")" ''

each_reader floods
done_testing
