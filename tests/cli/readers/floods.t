#!/bin/sh
# floods.t - every reader of every program, given small files that unpack to millions of blank lines, comments, notes,
# quotes or other things without end (readers.py): it passes over them or refuses them in one line, with status 0 or
# 2, in a memory and a time that do not follow what comes. A bug looked like a heap overflow from a .zst of 115 bytes,
# whose blank lines were kept until the first line that is not blank.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
command -v python3 >/dev/null || skip_all 'needs python3'
if sanitized; then export READERS_SANITIZED=1; fi
readers=$TOP/tests/cli/readers/readers.py
python3 "$readers" list >"$TMP/readers"
# A sanitizer takes its time: every third reader, unless all are asked for.
if sanitized && [ "${READERS_ALL-}" != 1 ]; then third=3; else third=1; fi
awk -v third=$third "NR % third == 0" "$TMP/readers" >"$TMP/tried"

# A source that is not in the list would not be tested.
"$BIN/kvgen" --help all | tr -d '\n' | sed 's/  */ /g; s/.*one of auto, users, \([^)]*\)).*/\1/' | tr -d ',' | tr ' ' '\n' |
    while read -r source; do grep -q "^kvgen $source\$" "$TMP/readers" || echo "$source"; done >"$TMP/missing"
is 'every source of kvgen is in the list' "$(cat "$TMP/missing")" ''

while IFS= read -r reader <&3; do
    mkdir "$TMP/run"
    is "$reader" "$(python3 "$readers" floods "$BIN" "$DATA" "$TMP/run" "$reader" 2>&1)" ''
    rm -rf "$TMP/run"
done 3<"$TMP/tried"
done_testing
