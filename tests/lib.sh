# shellcheck shell=sh disable=SC2034
# lib.sh - what every tests/cli/*/*.t sources first:  . "$(dirname "$0")/../../lib.sh"
#
# Variables:  TOP   root of the repository        BIN   folder of the programs (BUILD is respected)
#             DATA  tests/data                    TMP   scratch folder of this script, removed at its end
# Helpers, each one TAP line on standard output:
#   plan N                   says how many tests follow (or call done_testing at the end instead)
#   ok "name" cmd args...    passes when the command succeeds; shows what it printed when not
#   not_ok "name" cmd ...    passes when the command fails (by itself: a death by signal is no failure)
#   exits "name" N cmd ...   passes when the command's exit status is N; its output is left in
#                            $TMP/stdout and $TMP/stderr
#   is "name" got want       passes when the texts are equal
#   isnt "name" got other    passes when they differ
#   like "name" text ere     passes when a line of text matches the extended regular expression
#   unlike "name" text ere   passes when none does
#   skip_all "why"           ends the script as skipped, at its start
#   plain_only               ends it as skipped, at its start, in a sanitizer build: what it tests is scripts,
#                            sources or pages, and the programs that it starts have tests of their own
#   single_threaded          the same under the thread sanitizer: no program that it starts has a second
#                            thread but to compress and read traces, which the tests of the trace do
#   scaled N                 prints how large to make what is only repeated, the same each time: N, in a
#                            sanitizer build a part of it (TEST_SCALE, set by tests/run)
#   diag "text"              a remark for people
#   tries N cmd args...      succeeds as soon as the command does, run N times at most: for what a busy machine may spoil
#                            now and then and a broken program spoils each time; the output of a failure is shown
#   catches PID              waits until a process in the background is a program of ours with its handlers of signals (a
#                            shell ignores SIGINT for it, and has handlers of its own until then)
#   told cmd args...         runs the command, its standard error in $TMP/err and shown when it fails
#   value FILE NAME [IN]     the first member of that name in a JSON file, one behind the member or the text IN if given,
#                            as it stands there
#   source_name FILE         what the JSON of kvgen's summary says that its requests came from
#   arrivals FILE            the Timestamps of a trace's Generate rows, in a line
#   member PATH              one member of $TMP/summary.json ("target.kept"), as Python prints it
#   sanitized                succeeds when the programs were built with a sanitizer or for coverage
#   done_testing             the plan, when none was given
# The script exits non-zero when a test failed or fewer ran than planned.

TOP=$(cd "$(dirname "$0")" && pwd) || exit 1
while [ ! -e "$TOP/tests/lib.sh" ]; do TOP=${TOP%/*}; done
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
DATA=$TOP/tests/data
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-test.XXXXXX") || exit 1

tap_run=0
tap_failed=0
tap_planned=

tap_exit() {
    tap_status=$?
    chmod -R u+rwX "$TMP" 2>/dev/null
    rm -rf "$TMP"
    [ "$tap_failed" -eq 0 ] || exit 1
    if [ -n "$tap_planned" ] && [ "$tap_planned" -ne "$tap_run" ]; then exit 1; fi
    exit "$tap_status"
}
trap tap_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

plan() {
    tap_planned=$1
    echo "1..$1"
}

skip_all() {
    echo "1..0 # SKIP $1"
    exit 0
}

plain_only() { ! built_with fsanitize || skip_all 'the sanitizer sees nothing of what it tests'; }

single_threaded() { ! built_with fsanitize=thread || skip_all 'one thread does it all'; }

scaled() {
    tap_scaled=$(($1 / ${TEST_SCALE:-1}))
    if [ "$tap_scaled" -gt 0 ]; then echo "$tap_scaled"; else echo 1; fi
}

tries() {
    tap_tries=$1
    shift
    while [ "$tap_tries" -gt 0 ]; do
        tap_tries=$((tap_tries - 1))
        if "$@" >"$TMP/.try" 2>&1; then return 0; fi
        cat "$TMP/.try"
    done
    return 1
}

# In the mask of signals caught SIGTERM, which comes last, is bit 14.
catches() {
    while kill -s 0 "$1" 2>/dev/null && ! grep -qs '^State:.Z' "/proc/$1/status"; do
        case $(cat "/proc/$1/comm" 2>/dev/null) in
        kv*) ! grep -Eqs '^SigCgt:.*[4-7c-f][0-9a-f]{3}$' "/proc/$1/status" || return 0 ;;
        esac
        sleep 0.02
    done
}

told() { "$@" 2>"$TMP/err" || diag "$(cat "$TMP/err")" >&2; }

value() { sed -n "/\"${3:-$2}\"\(: \|,*\$\)/,\$ s/^ *\"$2\": *\(.*[^,]\),*\$/\1/p" "$1" | head -n 1; }

source_name() { value "$1" source | tr -d '"'; }

arrivals() { awk -F, '$2 == "Generate" {print $1}' "$1" | tr '\n' ' '; }

member() {
    python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."): v = v[k]
print(v)' "$TMP/summary.json" "$1"
}

built_with() { grep -qE "$1" "${BIN%/bin}/flags" 2>/dev/null; }
sanitized() { built_with 'fsanitize|coverage'; }

diag() { printf '%s\n' "$1" | sed 's/^/# /'; }

# tap_line STATUS NAME: the TAP line itself; returns STATUS so that a helper can add diagnostics.
tap_line() {
    tap_run=$((tap_run + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_run - $2"
    else
        tap_failed=$((tap_failed + 1))
        echo "not ok $tap_run - $2"
    fi
    return "$1"
}

# Diagnostics are cut at 40 lines and 2,000 characters a line: a trace may be what went wrong.
tap_show() { printf '%s\n' "$2" | cut -c 1-2000 | head -n 40 | sed "s/^/#   $1/"; }

ok() {
    tap_name=$1
    shift
    tap_rc=0
    "$@" >"$TMP/.tap" 2>&1 || tap_rc=$?
    tap_line "$tap_rc" "$tap_name" && return 0
    diag "exit status $tap_rc: $*"
    tap_show '' "$(cat "$TMP/.tap")"
    return 0
}

not_ok() {
    tap_name=$1
    shift
    tap_rc=0
    "$@" >"$TMP/.tap" 2>&1 || tap_rc=$?
    [ "$tap_rc" -gt 0 ] && [ "$tap_rc" -lt 128 ]
    tap_line $? "$tap_name" && return 0
    diag "should have failed, exit status $tap_rc: $*"
    tap_show '' "$(cat "$TMP/.tap")"
    return 0
}

exits() {
    tap_name=$1
    tap_want=$2
    shift 2
    tap_rc=0
    "$@" >"$TMP/stdout" 2>"$TMP/stderr" || tap_rc=$?
    [ "$tap_rc" -eq "$tap_want" ]
    tap_line $? "$tap_name" && return 0
    diag "exit status $tap_rc, wanted $tap_want: $*"
    tap_show '' "$(tail -n 20 "$TMP/stderr")"
    return 0
}

is() {
    [ "$2" = "$3" ]
    tap_line $? "$1" && return 0
    tap_show 'got:    ' "$2"
    tap_show 'wanted: ' "$3"
    return 0
}

isnt() {
    [ "$2" != "$3" ]
    tap_line $? "$1" && return 0
    tap_show 'should differ from: ' "$3"
    return 0
}

like() {
    printf '%s\n' "$2" | grep -Eq -- "$3"
    tap_line $? "$1" && return 0
    tap_show 'got:    ' "$2"
    tap_show 'wanted: ' "$3"
    return 0
}

unlike() {
    ! printf '%s\n' "$2" | grep -Eq -- "$3"
    tap_line $? "$1" && return 0
    tap_show 'got:      ' "$2"
    tap_show 'unwanted: ' "$3"
    return 0
}

done_testing() { [ -n "$tap_planned" ] || plan "$tap_run"; }
