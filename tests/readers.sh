# shellcheck shell=sh
# readers.sh - for the tests of all readers (tests/cli/readers/readers.py), after lib.sh: the files readers, which lists them,
# and tried, those of this build.
command -v python3 >/dev/null || skip_all 'needs python3'
if sanitized; then export READERS_SANITIZED=1; fi
readers=$TOP/tests/cli/readers/readers.py
python3 "$readers" list >"$TMP/readers"
# A sanitizer takes its time: every third reader, unless all are asked for.
if sanitized && [ "${READERS_ALL-}" != 1 ]; then third=3; else third=1; fi
awk -v third=$third "NR % third == 0" "$TMP/readers" >"$TMP/tried"

# each_reader TEST: a check for each of them, by this test of readers.py.
each_reader() {
    while IFS= read -r reader <&3; do
        mkdir "$TMP/run"
        is "$reader" "$(python3 "$readers" "$1" "$BIN" "$DATA" "$TMP/run" "$reader" 2>&1)" ''
        rm -rf "$TMP/run"
    done 3<"$TMP/tried"
}
