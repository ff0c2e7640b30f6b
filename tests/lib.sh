# shellcheck shell=sh
# lib.sh - helpers of the shell tests. Every tests/cli/*/*.t begins with:  . "${0%/*}/../../lib.sh"
# A test is started by a path, which has a "/": tests/cli/kvgen/size.t, ./size.t
#
# Variables
#   TOP    root of the repository            BIN   folder of the programs (BUILD is respected)
#   DATA   tests/data                        TMP   scratch folder of this script, removed when it ends
#
# The head says what is expected, what a bug looked like and, in a line "# builds: ...", for which builds the test is
# (tests/run --help).
#
# Checks: each prints one TAP line
#   ok "name" cmd args...         passes when the command succeeds; a failure shows the command's output
#   not_ok "name" cmd args...     passes when the command fails by itself; death by a signal does not count
#   exits "name" N cmd args...    passes when the exit status is N; leaves the output in $TMP/stdout and $TMP/stderr
#   is "name" got want            passes when both texts are equal
#   isnt "name" got other         passes when they differ
#   like "name" text ere          passes when a line of the text matches the extended regular expression
#   unlike "name" text ere        passes when no line matches
#   stdout_like "name" ere        like and unlike, for the output of the last exits
#   stdout_unlike, stderr_like, stderr_unlike
#   json_like FILE                one check for each line "name | filter | ere" of standard input: what json (see
#                                 below) prints for the filter must match the whole expression; no "|" in name and ere
#
# The plan
#   plan N                        number of checks; without it the script ends with done_testing
#   done_testing                  prints the plan if there was none
#   skip_all "why"                ends the script as skipped; only before the first check
#
#   needs_mounts                  starts the script anew in a mount namespace of its own: what it mounts goes with it,
#                                 whatever ends it. Skips it without root or such namespaces. Comes first in a script
#   has_terminal                  succeeds where a program can be given a terminal (script, /dev/pts)
#   needs_mpi                     skips it where mpirun cannot start ranks here; sets $mpirun, and $mpi to openmpi or mpich
#   by_rank COMMAND... [:: COMMAND...]...   mpirun with a rank for each of the commands, 100 s at most
#
# Tools
#   json FILE FILTER              prints what a jq filter finds in a JSON file; several results in one line, with
#                                 blanks between. tier("Tier-2") is the element of .tiers with that name
#   provenance FILE               prints the JSON at the head of a compressed trace, which says how it was made
#   lines FILE                    prints the number of lines of a file
#   with LIST cmd args...         runs a command with the words of LIST, split at blanks and taken as they are, as its last
#                                 arguments
#   told cmd args...              runs a command, its standard error in $TMP/err; shows that when the command fails
#   arrivals FILE                 prints the Timestamps of a trace's Generate rows, in one line
#   tries N cmd args...           succeeds as soon as the command does; runs it at most N times and shows the output
#                                 of failures. For what a busy machine may spoil now and then, and a bug each time
#   unless_busy FILE "name" cmd args...   five tries of a command that runs kvreplay with this summary, as one check; skipped
#                                 when all fail and kvreplay found each time that it waited for a processor
#   catches PID                   waits until a background process is one of our programs and handles signals. Before
#                                 that it is a shell, which ignores SIGINT
#   rests PID                     waits until the process waits: none of its threads has had or wanted the processor for 0.2 s
#   as_nobody cmd args...         runs a command as the user 65534, whom no capability reaches, not even a file's, but those of
#                                 $nobody_may (",+dac_override")
#   become_nobody cmd args...     the same in the place of the shell: $! is the command's after "become_nobody cmd &"
#   ends_too PID                  that child of the script, a server, is killed when the script ends. A number that is no
#                                 child any more may be another process by now: the system gives each again within minutes
#   scaled N                      prints how often to repeat what is only repeated: N, or less in a sanitizer build
#                                 (TEST_SCALE, set by tests/run)
#   sanitized                     succeeds when the programs were built with a sanitizer
#   rows_only ARGS...             prints --no-notes for a command with these arguments that writes plain rows, and nothing
#                                 for one that cannot take it. For tests that look at each line of the rows
#   diag "text"                   a remark for people
# The script exits non-zero when a check failed or fewer ran than planned.

export LC_ALL=C.UTF-8 # numbers have a point, whatever the locale of the one who runs the test
case $0 in
/*) TOP=${0%/*} ;;
*) TOP=$PWD/${0%/*} ;;
esac
case $TOP in */.*) TOP=$(cd "$TOP" && pwd) || exit 1 ;; esac
while [ ! -e "$TOP/tests/lib.sh" ]; do TOP=${TOP%/*}; done
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
DATA=$TOP/tests/data
: "$DATA" # for the tests
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-test.XXXXXX") || exit 1

tap_run=0
tap_failed=0
tap_planned=
tap_servers=

tap_exit() {
    tap_status=$?
    if [ -n "$tap_servers" ]; then
        for tap_child in $(pgrep -P $$); do
            case $tap_servers in *" $tap_child "*) kill -s KILL "$tap_child" ;; esac
        done
    fi
    rm -rf "$TMP" 2>/dev/null || { chmod -R u+rwX "$TMP"; rm -rf "$TMP"; }
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

needs_mounts() {
    [ -z "${KVTRACE_OWN_MOUNTS-}" ] || return 0
    if [ "$(id -u)" != 0 ] || ! unshare -m true 2>/dev/null; then skip_all 'needs root and mount namespaces'; fi
    rm -rf "$TMP"
    KVTRACE_OWN_MOUNTS=yes exec unshare -m "$0"
}

has_terminal() { timeout 20 script -qec true /dev/null </dev/null >/dev/null 2>&1; }

needs_mpi() {
    [ -x "$BIN/kvreplay-mpi" ] || skip_all 'built without MPI'
    # The launcher of the library that the programs are linked with.
    mpi=openmpi
    if ldd "$BIN/kvreplay-mpi" | grep -q libmpich; then mpi=mpich; fi
    mpirun=$(command -v mpirun.$mpi || command -v mpirun) || skip_all 'no mpirun'
    # Open MPI starts faster when it is told which components to use.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_pml=ob1 PMIX_MCA_gds=hash PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe TMPDIR="$TMP"
    timeout -k 5 40 "$mpirun" -np 2 true >"$TMP/out" 2>&1 || skip_all "mpirun does not start here, or not in 40 s: $(head -n 1 "$TMP/out")"
}
# All ranks are started with all commands, and each goes on as its own: mpirun of Open MPI 5.0.7 crashes when it is given several.
by_rank() {
    ranks=1
    for word; do [ "$word" != :: ] || ranks=$((ranks + 1)); done
    timeout 100 "$mpirun" -np $ranks sh -c "
        before=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}
        for word; do
            shift
            if [ \"\$word\" = :: ]; then before=\$((before - 1)); elif [ \$before -eq 0 ]; then set -- \"\$@\" \"\$word\"; fi
        done
        exec \"\$@\"" - "$@"
}

nobody_may=
become_nobody() { exec setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set "-all$nobody_may" "$@"; }
as_nobody() { (become_nobody "$@"); }

ends_too() { tap_servers="$tap_servers $1 "; }

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

unless_busy() {
    tap_summary=$1 tap_what=$2 tap_idle=no
    shift 2
    : >"$TMP/.tries"
    for _ in 1 2 3 4 5; do
        if "$@" >>"$TMP/.tries" 2>&1; then
            tap_line 0 "$tap_what"
            return
        fi
        [ "$(json "$tap_summary" '.evidence | .run_delay_share > 0.02 or .largest_gap_us > 10000')" = true ] || tap_idle=yes
    done
    if [ $tap_idle = no ]; then
        tap_line 0 "$tap_what # SKIP kvreplay waited for a processor, five times"
    else
        tap_line 1 "$tap_what" || tap_cut '' <"$TMP/.tries"
    fi
}

# Programs install the handler of SIGTERM last: bit 14 of the mask of caught signals.
catches() {
    while kill -s 0 "$1" 2>/dev/null && ! grep -qs '^State:.Z' "/proc/$1/status"; do
        case $(cat "/proc/$1/comm" 2>/dev/null) in
        kv*) ! grep -Eqs '^SigCgt:.*[4-7c-f][0-9a-f]{3}$' "/proc/$1/status" || return 0 ;;
        esac
        sleep 0.02
    done
}

rests() {
    tap_rest=0
    while [ $tap_rest -lt 4 ] && tap_now=$(cut -d ' ' -f 14,15 "/proc/$1/stat" 2>/dev/null); do
        tap_rest=$((tap_rest + 1))
        if [ "$tap_now" != "$tap_used" ] || grep -qs '^State:.[RDT]' "/proc/$1"/task/*/status; then tap_rest=0; fi
        tap_used=$tap_now
        sleep 0.05
    done
}
tap_used=

with() {
    tap_words=$1
    shift
    set -f
    for tap_word in $tap_words; do set -- "$@" "$tap_word"; done
    set +f
    "$@"
}

told() { "$@" 2>"$TMP/err" || diag "$(cat "$TMP/err")" >&2; }

rows_only() {
    tap_before=
    for tap_argument; do
        case "$tap_before $tap_argument" in '-o '*.zst | ' '*.zst | *' -z' | '-o none' | *' --format' | *' --config frames') return ;; esac
        tap_before=$tap_argument
    done
    echo --no-notes
}

lines() { wc -l <"$1"; }
# csv_rows FILE: the rows of kvstat --csv as lines "name of the JSON<tab>value<tab>run<tab>time_s<tab>unit". Those of the last file
# are kept, since tests ask for a figure at a time.
csv_rows() {
    tap_csv=
    [ ! -e "$TMP/.csv_of" ] || read -r tap_csv <"$TMP/.csv_of"
    if [ "$tap_csv" != "$1" ] || [ -z "$(find "$TMP/.csv" -newer "$1")" ]; then
        tap_csv_lines "$1" >"$TMP/.csv"
        echo "$1" >"$TMP/.csv_of"
    fi
    cat "$TMP/.csv"
}
tap_csv_lines() {
    awk '
        function split_csv(line, into,   n, c, i, quoted) {
            if (!index(line, "\"")) return split(line, into, ",")
            n = 1; quoted = 0; into[n] = ""
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"" && quoted && substr(line, i + 1, 1) == "\"") { into[n] = into[n] c; i++ }
                else if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) into[++n] = ""
                else into[n] = into[n] c
            }
        }
        NR == 1 { split_csv($0, head); for (i in head) at[head[i]] = i; next }
        {
            split_csv($0, field)
            name = field[at["figure"]]; part = field[at["part"]]; op = field[at["op"]]
            if (name ~ /^((series|trials)\.)?tiers/) op = tolower(op)
            key = field[at["tier"]]
            separator = name ~ /^(trials\.|compare\.)?groups/ ? "/" : "."
            if (op != "") key = key (key != "" ? separator : "") op
            if (part != "") key = key (key != "" ? separator : "") part
            tail = name ~ /by_qos\.sla\./ ? "sla.[^.]*$" : "[^.]*$"
            if (key != "" && name ~ /^((series|trials)\.)?(run\.capacities|tiers|requests\.by_qos)$/) name = name "." key
            else if (key != "" && match(name, tail)) name = substr(name, 1, RSTART - 1) key "." substr(name, RSTART)
            if (field[at["statistic"]] != "") name = name "." field[at["statistic"]]
            print name "\t" field[at["value"]] "\t" field[at["run"]] "\t" field[at["time_s"]] "\t" field[at["unit"]]
        }' "$1"
}
# csv_figure FILE NAME [RUN]: the values of that figure, one a line; of the runs whose name ends so.
csv_figure() {
    csv_rows "$1" | awk -F '\t' -v name="$2" -v run="${3-}" '
        $1 == name && substr($3, length($3) - length(run) + 1) == run { print $2 }'
}

arrivals() { awk -F, '$2 == "Generate" {print $1}' "$1" | tr '\n' ' '; }

json_definitions="def tier(\$name): .tiers[] | select(.tier == \$name); def line(\$all): \$all | map(tostring) | join(\" \");"
# tests/json.c knows the most used filters, and takes a twentieth of jq's time.
json() { "${BIN%/bin}/tests/json" "$1" "$2" 2>/dev/null || jq -r "$json_definitions line([$2])" "$1"; }

# The first frame of the file: a magic number and a length of four bytes each, then the JSON.
provenance() { tail -c +9 "$1" | head -c "$(od -An -tu4 -j4 -N4 "$1" | tr -d ' ')"; }

built_with() { grep -qE "$1" "${BIN%/bin}/flags" 2>/dev/null; }
sanitized() { built_with fsanitize; }

diag() { printf '%s\n' "$1" | sed 's/^/# /'; }

# tap_line STATUS NAME: prints the TAP line and returns STATUS, so that a helper can add diagnostics.
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

# Shows at most 40 lines of 2,000 characters each, since a whole trace may be what went wrong.
tap_cut() { cut -c 1-2000 | head -n 40 | sed "s/^/#   $1/"; }
tap_show() { printf '%s\n' "$2" | tap_cut "$1"; }

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

# tap_match NAME FILE ERE, tap_differ NAME FILE ERE: whether a line of the file matches. Binary files are texts too.
tap_match() {
    tap_found=0
    grep -aEq -- "$3" "$2" || tap_found=1
    tap_line "$tap_found" "$1"
}
tap_differ() {
    tap_found=1
    grep -aEq -- "$3" "$2" || tap_found=0
    tap_line "$tap_found" "$1"
}

# tap_within TEXT ERE: whether a line of the text matches. A plain word needs no grep: a search takes less than its start.
tap_within() {
    case $2 in
    '' | *[][\\.*+?{}\(\)^$\|]* | *"
"*)
        printf '%s\n' "$1" >"$TMP/.text"
        grep -aEq -- "$2" "$TMP/.text"
        ;;
    *) case $1 in *"$2"*) ;; *) return 1 ;; esac ;;
    esac
}

like() {
    tap_found=0
    tap_within "$2" "$3" || tap_found=1
    tap_line "$tap_found" "$1" && return 0
    tap_show 'got:    ' "$2"
    tap_show 'wanted: ' "$3"
    return 0
}

unlike() {
    tap_found=1
    tap_within "$2" "$3" || tap_found=0
    tap_line "$tap_found" "$1" && return 0
    tap_show 'got:      ' "$2"
    tap_show 'unwanted: ' "$3"
    return 0
}

# output_like FILE NAME ERE, output_unlike FILE NAME ERE: the checks behind stdout_like and the others.
output_like() {
    tap_match "$2" "$1" "$3" && return 0
    tap_cut 'got:    ' <"$1"
    tap_show 'wanted: ' "$3"
    return 0
}
output_unlike() {
    tap_differ "$2" "$1" "$3" && return 0
    tap_cut 'got:      ' <"$1"
    tap_show 'unwanted: ' "$3"
    return 0
}
stdout_like() { output_like "$TMP/stdout" "$@"; }
stderr_like() { output_like "$TMP/stderr" "$@"; }
stdout_unlike() { output_unlike "$TMP/stdout" "$@"; }
stderr_unlike() { output_unlike "$TMP/stderr" "$@"; }

# One run of tests/json, or of jq, finds all: jq takes longer to start than to search.
json_like() {
    tap_file=$1
    set --
    sed 's/^ *//; /^$/d' >"$TMP/.lines"
    while IFS= read -r tap_check; do
        tap_check=${tap_check#*|}
        set -- "$@" "${tap_check%|*}"
    done <"$TMP/.lines"
    if ! "${BIN%/bin}/tests/json" "$tap_file" "$@" >"$TMP/.found" 2>/dev/null; then
        tap_filters=$(printf 'line([%s])\n' "$@" | paste -sd , -)
        jq -r "$json_definitions $tap_filters" "$tap_file" >"$TMP/.found"
    fi
    while IFS= read -r tap_check <&3; do
        IFS= read -r tap_got <&4 || tap_got='(nothing: jq failed)'
        tap_name=${tap_check%%|*} tap_want=${tap_check##*|}
        while :; do
            case $tap_want in ' '*) tap_want=${tap_want# } ;; *) break ;; esac
        done
        while :; do
            case $tap_name in *' ') tap_name=${tap_name% } ;; *) break ;; esac
        done
        case $tap_want in
        *[][\\.*+?{}\(\)^$]*) like "$tap_name" "$tap_got" "^($tap_want)\$" ;;
        *) is "$tap_name" "$tap_got" "$tap_want" ;;
        esac
    done 3<"$TMP/.lines" 4<"$TMP/.found"
}

done_testing() { [ -n "$tap_planned" ] || plan "$tap_run"; }
