# shellcheck shell=sh
# recordings.sh - for the tests of recordings: what must never be seen in an output, chains of blocks, and who plays an
# engine.

# planted FILE...: prints what was planted in the samples (tests/data/README.md) and is found in the files, which may be
# compressed: names, words of a prompt, an address, token ids. Decimals and parts of longer numbers are none.
planted() {
    for planted_file; do
        zstd -dcqf -- "$planted_file" 2>/dev/null | cat - "$planted_file" |
            grep -aoP 'planted|zebra|192\.0\.2\.77|(?<![\w.-])9[1-5]\d{4}(?![\w.])|\bw\d{1,4}w\d+' | head -n 3
    done
}

# longest_chain: of lines PUBLISHER, PARENT, HASH..., the longest chain of parents.
longest_chain() {
    awk '{ n = depth[$1, $2]; for (i = 3; i <= NF; i++) { depth[$1, $i] = ++n; if (n > most) most = n } } END { print most + 0 }'
}

# python_with MODULES: a Python that has these, as $python; fails where there is none.
python_with() {
    python=
    for some_python in /usr/bin/python3 python3; do
        if "$some_python" -c "import $1" 2>/dev/null; then
            python=$some_python
            break
        fi
    done
    [ -n "$python" ]
}
# without_libzmq: kvgen is made so.
without_libzmq() {
    "$BIN/kvgen" --bind ipc:///nowhere/x --duration 1ms -o none 2>"$TMP/err"
    grep -q 'built without libzmq' "$TMP/err"
}
# needs_zmq MODULES WHAT: python_with these, of which zmq is one, and kvgen with libzmq; else all is skipped.
needs_zmq() {
    python_with "$1" || skip_all "no python3 with $2"
    ! without_libzmq || skip_all 'built without libzmq'
}

# all_asleep PID: waits until all threads of a listener sleep and go on sleeping: all that was sent to it has come.
all_asleep() {
    asleep=0
    for _ in $(seq 200); do
        sleep 0.1
        if cat "/proc/$1/task"/*/stat | grep -qv ') S '; then asleep=0; else asleep=$((asleep + 1)); fi
        if [ $asleep -eq 5 ]; then break; fi
    done
}
