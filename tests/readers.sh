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

# each_reader TEST: a check for each of them, by this test of readers.py; two at a time.
each_reader() {
    test=$1
    for half in 0 1; do
        mkdir "$TMP/run.$half"
        awk -v half=$half 'NR % 2 == half' "$TMP/tried" >"$TMP/half.$half"
        (
            set --
            while IFS= read -r reader; do set -- "$@" "$reader"; done <"$TMP/half.$half"
            python3 "$readers" "$test" "$BIN" "$DATA" "$TMP/run.$half" "$@" >"$TMP/wrong.$half" 2>&1
        ) &
    done
    wait
    while IFS= read -r reader <&3; do
        is "$reader" "$(reader=$reader awk '
            /^== / { on = $0 == "== " ENVIRON["reader"]; tried += on; next }
            on
            END { if (!tried) print "was not tried" }' "$TMP/wrong.0" "$TMP/wrong.1")" ''
    done 3<"$TMP/tried"
}
