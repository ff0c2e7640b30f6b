#!/bin/sh
# terminal.t - a program whose input would be typed, or whose rows would fill the screen, says so and how to use it. A
# bug looked like a program that hangs, or 15,793 lines after "kvgen" alone.
# builds: plain
. "${0%/*}/../../lib.sh"

has_terminal || skip_all 'no terminals here (script, /dev/pts)'

# at_terminal STATUS COMMAND: runs it with a terminal as standard input, output and error; its answer is in $TMP/out.
at_terminal() {
    rc=0
    timeout 20 script -qec "$2" /dev/null </dev/null >"$TMP/out" 2>&1 || rc=$?
    tr -d '\r' <"$TMP/out" >"$TMP/answer"
    is "$2: status" "$rc" "$1"
}
export PATH="$BIN:$PATH"
: >"$TMP/empty.csv"
cd "$TMP" || exit 1

at_terminal 2 'kvreplay --null'
like 'kvreplay: waits for nobody' "$(cat answer)" '^kvreplay: standard input: is a terminal: name a file, or pipe one in'
at_terminal 2 'kvreplay --null -'
like 'kvreplay -: nor then' "$(cat answer)" '^kvreplay: standard input: is a terminal'
at_terminal 2 kvstat
like 'kvstat: says what to give' "$(cat answer)" '^kvstat: no input: name a trace or result file, or pipe one in'
at_terminal 2 'kvstat -'
like 'kvstat -: nor then' "$(cat answer)" '^kvstat: standard input: is a terminal'
at_terminal 2 'kvgen --input - -o none'
like 'kvgen --input -: nor then' "$(cat answer)" '^kvgen: standard input: is a terminal'
at_terminal 2 'kvprecond --size 1M'
like 'kvprecond: wants a target' "$(cat answer)" '^kvprecond: no target given'

at_terminal 2 kvgen
like 'kvgen: says what to give' "$(cat answer)" '^kvgen: --output: the trace would fill this terminal: give -o FILE, .*or -o -'
is 'kvgen: in one line' "$(lines answer)" 1
at_terminal 0 'kvgen --users 1 --duration 2 -o -'
like 'kvgen -o -: prints it' "$(cat answer)" '^Timestamp,Operation,'
at_terminal 0 'kvgen --list-models'
like 'kvgen --list-models: is no trace' "$(cat answer)" 'llama3.1-8b'
at_terminal 0 'kvgen --print-config'
like 'kvgen --print-config: is none either' "$(cat answer)" '^# '
at_terminal 0 'kvgen --users 1 --duration 1 | cat >piped.csv'
like 'kvgen: into a pipe without -o' "$(sed -n 2p piped.csv)" ','
done_testing
