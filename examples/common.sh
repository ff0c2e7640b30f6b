# shellcheck shell=sh
# common.sh - what the scripts of this folder share. It is sourced, not run:
#   case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac
# It also puts the programs that were built or installed with the scripts at the head of PATH.
#
# Values are what people and other machines wrote: names with blanks, quotes, newlines, escapes of a terminal. They stay
# words: arguments, files, or the environment of awk (-v reads backslashes), never a part of a program's text. Where text
# becomes a command (--each, ssh, eval, --print), quote makes each word; where it reaches a terminal, readable cleans it.
set -eu
# Numbers have a point, and a character is a byte.
export LC_ALL=C

# A closed descriptor would be taken by the next file that is opened. So closed standard error is /dev/null, closed standard
# input is empty, and writing to closed standard output fails, as it must.
(: 9>&2 2>/dev/null 8<&0 7>&1) || {
    (: 9>&2) || exec 2>/dev/null
    (: 9<&0) 2>/dev/null || exec </dev/null
    (: 9>&1) 2>/dev/null || exec 1</dev/null
}

# The name in messages: kvtrace calls a script by the name of a command.
suite=${KVTRACE_COMMAND:-${0##*/}}

# ---- words ----

newline='
'

# readable TEXT: sets readable to the text as one line that a terminal only shows: "?" for a control character, also for one
# of two bytes (U+0080 to U+009F).
readable() {
    readable=$1
    case $1 in *[!\ -~]*) ;; *) return 0 ;; esac
    readable=$(printf '%s.\n' "$1" | readable_lines | awk '{ printf "%s%s", (NR > 1 ? "?" : ""), $0 }')
    readable=${readable%.}
}

# readable_lines: the same for each line of standard input.
readable_lines() { awk '{ gsub(/\302[\200-\237]|[\001-\037\177]/, "?"); print }'; }

# last_line FILE: of a log, for a message.
last_line() { tail -n 1 <"$1" | readable_lines; }

# say TEXT...: progress and explanations go to standard error, answers to standard output.
say() {
    readable "$*"
    close_line
    printf '%s\n' "$readable" >&2
}
# close_line: a line of progress that stands open on the terminal goes.
open_line=no
close_line() {
    if [ "$open_line" = yes ]; then printf '\r\033[K' >&2; fi
    open_line=no
}
answer() {
    readable "$*"
    printf '%s\n' "$readable"
}

# die STATUS TEXT...: ends the script.
die() {
    status=$1
    shift
    say "$suite: $*"
    exit "$status"
}

# died STATUS TEXT...: ends the script for a program that ended so. What was used wrongly stays so; all else could not be run.
died() {
    status=$1
    shift
    if [ "$status" != 2 ]; then status=3; fi
    die "$status" "$@"
}

# no: ends the script with "no", the answer to its question. A 1 of a program that failed is none.
says_no=no
no() {
    says_no=yes
    exit 1
}

# counted N NOUN: "1 user", "2 users".
counted() { if [ "$1" = 1 ]; then echo "1 $2"; else echo "$1 $2s"; fi; }

# usage FILE: prints the comment at the head of a script, with the name by which it was called.
usage() {
    script=${1##*/} name=$suite path=${KVTRACE_COMMAND:-$0} awk '
        NR == 1 { next }
        !/^#/ { exit }
        {
            sub(/^##? ?/, "")
            file = ENVIRON["script"]
            if (match($0, /^Usage: */) && index(substr($0, RLENGTH + 1), file) == 1)
                $0 = substr($0, 1, RLENGTH) ENVIRON["name"] substr($0, RLENGTH + 1 + length(file))
            else if (match($0, /^ *examples\//) && index(substr($0, RLENGTH + 1), file) == 1) {
                rest = substr($0, RLENGTH + 1 + length(file)); match($0, /^ */)
                $0 = substr($0, 1, RLENGTH) ENVIRON["path"] rest
            }
            print
        }' <"$1" | readable_lines
}

# need PROGRAM...: ends the script when one is missing.
need() {
    for program; do
        command -v "$program" >/dev/null ||
            die 3 "$program is not here; build (make) or install kvtrace first"
    done
}

# ---- signals ----

# A shell hears of a signal only when the program that it waits for has ended. So a script runs as the leader of a session of
# its own, and this process waits for it and passes SIGINT, SIGTERM and SIGHUP on to all of the session: as SIGTERM, for a
# shell lets what it starts in the background ignore SIGINT. It ends when no process of the session is left. What nohup
# ignores stays ignored. Without setsid only those hear of a signal to whom it is sent.

# supervise COMMAND...: runs it so, and ends with its exit status, or with that of the signal.
supervise() {
    worker='' signalled=''
    trap 'pass_on 129' HUP
    trap 'pass_on 130' INT
    trap 'pass_on 143' TERM
    exec 9<&0 # in the background, standard input would be /dev/null
    KVTRACE_SESSION=yes setsid "$@" <&9 9<&- &
    worker=$!
    exec 9<&-
    if [ -n "$signalled" ]; then pass_on "$signalled"; fi
    status=0
    while :; do
        # A signal ends the wait, not the session.
        wait "$worker" && status=0 || status=$?
        kill -s 0 "$worker" 2>/dev/null || break
    done
    if [ -z "$signalled" ]; then exit "$status"; fi
    looks=0
    while kill -s 0 -- "-$worker" 2>/dev/null && [ "$looks" -lt 300 ]; do
        looks=$((looks + 1))
        sleep 0.1
    done
    exit "$signalled"
}
pass_on() {
    signalled=$1
    if [ -z "$worker" ]; then return 0; fi
    kill -s TERM -- "-$worker" 2>/dev/null || kill -s TERM "$worker" 2>/dev/null || :
}

# Here a script becomes two. (common.sh: that is a test of what stands in this file.)
if [ -z "${KVTRACE_SESSION-}" ] && [ "${0##*/}" != common.sh ] && [ "${supervised_later-no}" = no ] && command -v setsid >/dev/null; then
    supervise sh "$0" "$@"
fi

# ---- where our programs and scripts are ----

case $0 in */*) examples=${0%/*}/ ;; *) examples=. ;; esac
examples=$(CDPATH='' cd -- "$examples" && pwd)
for folder in "${KVTRACE_BIN-}" "${BUILD:-$examples/../build}/bin" "$examples/../bin" "$examples/../../bin"; do
    if [ -x "$folder/kvgen" ]; then
        PATH=$(CDPATH='' cd -- "$folder" && pwd):$PATH
        break
    fi
done

# ---- what a run makes, and takes away at its end ----

# Nothing else is ever removed: a folder is of this run when mktemp made it, or a mkdir that would have failed if it had been
# there. A script that has more to take away defines tidy.
scratch='' made_folders='' made_empty=''
tidy() { :; }

# hold_signals, let_signals: in between, a signal does not come between what makes a folder and the note of it.
hold_signals() {
    held=''
    trap 'held=129' HUP
    trap 'held=130' INT
    trap 'held=143' TERM
}
let_signals() {
    on_signals "$at_signal"
    if [ -n "$held" ]; then exit "$held"; fi
}

# need_scratch: sets scratch to a folder for passing files.
need_scratch() {
    if [ -n "$scratch" ]; then return; fi
    hold_signals
    scratch=$(trap '' HUP INT TERM && mktemp -d "${TMPDIR:-/tmp}/kvtrace.XXXXXXXXXX")
    let_signals
}

# make_folder FOLDER: makes it; at the end it goes with all that is in it. Fails where anything has that name.
make_folder() {
    hold_signals
    made=no
    if (trap '' HUP INT TERM && mkdir -- "$1") 2>/dev/null; then
        quoting "$1"
        made=yes made_folders="$made_folders $quoted"
    fi
    let_signals
    [ "$made" = yes ]
}

# not_made FOLDER: the end of the script, with the reason.
not_made() {
    above=$(dirname -- "$1")
    if [ ! -d "$above" ]; then die 3 "$1: cannot be created: there is no folder $above"; fi
    if [ ! -w "$above" ]; then die 3 "$1: cannot be created: $above cannot be written to"; fi
    die 3 "$1: cannot be created"
}

# make_or_die FOLDER: the same, or the end of the script.
make_or_die() {
    make_folder "$1" && return
    if [ -e "$1" ] || [ -L "$1" ]; then die 3 "$1 already exists"; fi
    not_made "$1"
}

# make_empty FOLDER: makes it; at the end it goes if it is empty.
make_empty() {
    mkdir -- "$1" 2>/dev/null || return 1 # what a signal leaves of it is an empty folder
    quoting "$1"
    made_empty="$made_empty $quoted"
}

# drop_folder FOLDER: removes one that make_folder made, now.
drop_folder() {
    quoting "$1"
    case "$made_folders " in
    *" $quoted "*) rm -rf -- "$1" ;;
    *) die 3 "$1: not made here" ;;
    esac
}

# leave STATUS: the end of a script, however it ends. Programs in the background have heard of the signal, too.
leave() {
    trap '' HUP INT TERM
    trap - EXIT
    status=$1
    if [ "$status" = 1 ] && [ "$says_no" = no ]; then status=3; fi
    wait
    tidy || :
    eval "set -- $made_folders"
    for folder; do rm -rf -- "$folder"; done
    if [ -n "$scratch" ]; then rm -rf -- "$scratch"; fi
    # One that others put something in stays.
    eval "set -- $made_empty"
    for folder; do rmdir -- "$folder" 2>/dev/null || :; done
    exit "$status"
}
# on_signals [leave]: a script (leave), or a subshell of it, ends by a signal when its program has. A script does not exit there: a
# shell that an error has ended, as that of a $((...)) whose $(...) the signal killed, runs this in the place of its trap for EXIT.
on_signals() {
    at_signal=${1-exit}
    trap '$at_signal 129' HUP
    trap '$at_signal 130' INT
    trap '$at_signal 143' TERM
}

# ---- the folder for results ----

# A run may take the names of what an earlier one made there, and of nothing else: the list has them.
our_files='' # what stood there at the start, between newlines
results_head='# Files that kvtrace made in this folder. A later run may write them anew.'

# results FOLDER...: makes the folder for results, $out, and those in it.
results() {
    typed mkdir -p "$@" && return
    mkdir -p -- "$@" || die 3 "$out: cannot be created"
    list=$out/.kvtrace-results
    if [ ! -e "$list" ] && [ ! -L "$list" ]; then
        (set -C && printf '%s\n' "$results_head" >"$list") 2>/dev/null || die 3 "$out: cannot be written to"
    elif [ ! -L "$list" ] && [ -f "$list" ] && [ ! -s "$list" ]; then # a disk was full
        printf '%s\n' "$results_head" >>"$list" || die 3 "$out: cannot be written to"
    else
        if [ ! -L "$list" ] && [ -f "$list" ]; then our_files=$newline$(cat <"$list")$newline; fi
        case $our_files in "$newline$results_head$newline"*) ;; *) die 2 "$list was not written by kvtrace: name another folder (-o)" ;; esac
    fi
    number=1
    while [ -e "$out/.earlier/$number" ]; do number=$((number + 1)); done
    earlier=$out/.earlier/$number
}

# ours FILE: nothing has that name in the folder for results, or an earlier run made it.
ours() {
    if [ -L "$1" ]; then return 1; fi
    if [ ! -e "$1" ]; then return 0; fi
    case $our_files in *"$newline${1#"$out/"}$newline"*) ;; *) grep -qxF -e "${1#"$out/"}" <"$out/.kvtrace-results" ;; esac
}

# free FILE...: ends the script before it works where a file that it will write is someone's.
free() {
    if printing; then return 0; fi
    for file; do
        ours "$file" || die 2 "$file already exists and was not made by kvtrace: name another folder (-o)"
    done
}
# free_runs NAME...: the same for all that load and execute write.
free_runs() {
    for run; do
        free "$out/$run.result.csv.zst"
        for kind in trace.csv.zst kvgen.json kvreplay.json json log; do free "${work:-$out}/$run.$kind"; done
    done
}

# writes FILE...: the same; the files are on the list from now on, and what an earlier run called so is kept.
writes() {
    if printing; then return 0; fi
    free "$@"
    for file; do
        keep "$file"
        printf '%s\n' "${file#"$out/"}"
    done >>"$out/.kvtrace-results"
}

# keep FILE: what an earlier run found goes to $out/.earlier/N, one N for a run, before this run writes a file of that name;
# not logs, loads and traces, which say nothing that was measured. A run that cannot use its target moves nothing.
written=$newline
keep() {
    case $written in *"$newline$1$newline"*) return ;; esac
    written=$written$1$newline
    case $1 in *.log | */load.json | *trace.csv.zst) return ;; "$out"/*) ;; *) return ;; esac
    if [ ! -e "$1" ]; then return; fi
    usable "$target"
    if [ -L "$out/.earlier" ]; then die 2 "$out/.earlier is a link: name another folder (-o)"; fi
    if [ ! -d "$earlier" ]; then say "$suite: what an earlier run found is kept in $earlier"; fi
    kept=$earlier/${1#"$out/"}
    if { [ ! -d "${kept%/*}" ] && ! mkdir -p -- "${kept%/*}"; } || ! mv -- "$1" "$kept"; then die 3 "$1 cannot be moved to $kept"; fi
}

# lands FROM FILE: a file of this run gets its name, whole, whatever signals come.
lands() {
    hold_signals
    landed=yes
    (trap '' HUP INT TERM && cp -- "$1" "$2") || landed=no
    let_signals
    [ "$landed" = yes ] || die 3 "$2: cannot be written"
}

# usable TARGET: ends the script if that is a folder, or is to be one, and cannot be written to.
usable() {
    if printing; then return; fi
    case ${1#file:} in '' | *://* | redis+unix:*) return ;; esac
    case $1 in file:*) set -- "${1#file:}" && set -- "${1%%\?*}" ;; esac
    if [ -d "$1" ]; then
        [ -w "$1" ] || die 3 "$1: cannot be written to"
    elif [ ! -e "$1" ] && [ ! -L "$1" ]; then
        { mkdir -- "$1" && rmdir -- "$1"; } 2>/dev/null || not_made "$1"
    fi
}

# would_run KVGEN...: ends the script with what kvgen says if it refuses that command. It leaves what can be read once only.
would_run() {
    if printing; then return; fi
    # No file: a folder for it that begins in a shell of its own would stay.
    refusal=$("$@" --dry-run --progress none 2>&1 >/dev/null) ||
        died $? "$(echo "$refusal" | tail -n 1 | readable_lines)"
}

# ---- the command line ----

# value OPTION ARGS: sets text to the value that stands behind an option, or ends the script.
value() {
    if [ -z "${2-}" ]; then die 2 "$1 needs a value (try --help)"; fi
    case $2 in -?*) if is_option "$2"; then die 2 "$1 needs a value, and $2 is an option (try --help)"; fi ;; esac
    text=$2
}

# is_option WORD: one that the script takes: of the common ones in $takes, or by a pattern of a case in it, or in the
# file $options_in that it sources.
options_in=''
is_option() {
    case $1 in -- | -h | --help | --print) return 0 ;; *[!A-Za-z-]*) return 1 ;; esac
    case " $takes " in *" $1 "* | *" ${1%-gb} "* | *" $1-gb "*) return 0 ;; esac
    {
        cat <"$0"
        if [ -n "$options_in" ]; then cat <"$options_in"; fi
    } | grep -qE -e "(^|[ |])$1( \\|| \\\\$|\\))"
}

# name OPTION ARGS: the same for the name of a file or folder: one that begins with a dash is no option to the programs.
name() { value "$@" && operand "$2"; }
operand() {
    text=$1
    if [ -z "$1" ]; then die 2 "an operand is empty (try --help)"; fi
    case $1 in -?*) text=./$1 ;; esac
}

# number OPTION TEXT: sets text; ends the script unless it is a whole number above 0.
number() {
    text=$2
    case $2 in '' | *[!0-9]* | ????????????????*) die 2 "$1: \"$2\" is not a whole number above 0" ;; esac
    while :; do case $text in 0*) text=${text#0} ;; *) break ;; esac done
    if [ -z "$text" ]; then die 2 "$1: \"$2\" is not a whole number above 0"; fi
}

# gib OPTION TEXT: sets text to a size as kvgen and kvreplay take it, in GiB; a number without a unit is GiB. Storage may
# also be unlimited, none or auto:PATH.
gib() {
    text=$2
    case $1:$2 in --storage-capacity:none | --storage-capacity:unlimited | --storage-capacity:auto:?*) return ;; esac
    case $2 in *[!0-9A-Za-z.]*) text='' ;; esac
    text=$(printf '%s\n' "$text" | awk '
        match($0, /^[0-9]+[.]?[0-9]*/) {
            unit = substr($0, RLENGTH + 1)
            power = unit == "" ? 3 : index("KMGTP", substr(unit, 1, 1))
            if (power == 0 || unit !~ /^([KMGTP](iB|B)?)?$/) exit 1
            size = substr($0, 1, RLENGTH) / 1073741824
            while (power-- > 0) size *= unit ~ /^.B$/ ? 1000 : 1024
            printf "%.12g\n", size
            good = 1
        }
        END { exit !good }') || die 2 "$1: '$2' is not a size (such as 16GiB; without a unit: GiB)"
}

# auto_of SIZE: sets storage to it. The name of a folder at its end gets /. where $(...) would cut a newline off.
auto_of() {
    storage=$1
    case $1 in *"$newline") storage=$1/. ;; esac
}

# sized GIB: a size as it is given to a program: "16GiB"; what is no number stays as it is.
sized() { case $1 in 0 | *[!0-9.]*) printf '%s\n' "$1" ;; *) printf '%sGiB\n' "$1" ;; esac }

# time_of OPTION TEXT: sets text to a time as the programs take it, in whole seconds; a number without a unit is seconds.
time_of() {
    text=$2
    case $2 in *[!0-9smh.]*) text='' ;; esac
    text=$(printf '%s\n' "$text" | awk '
        match($0, /^[0-9]+[.]?[0-9]*/) {
            unit = substr($0, RLENGTH + 1)
            factor = unit == "" || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0
            s = substr($0, 1, RLENGTH) * factor
            if (s >= 1 && s == int(s) && s < 1e9) print s
            good = s >= 1 && s == int(s) && s < 1e9
        }
        END { exit !good }') || die 2 "$1: '$2' is not a time of whole seconds (such as 60s or 5m)"
}

# listed OPTION TEXT: sets text to the names in a list with commas between, as words between blanks.
listed() {
    case $2 in '' | *[!A-Za-z0-9_,\ -]*) die 2 "$1 $2: expected names separated by commas (try --help)" ;; esac
    text=$(printf '%s\n' "$2" | tr , ' ')
}

# numbers OPTION TEXT LEAST MOST: sets text to whole numbers with commas between, ascending, as words.
numbers() {
    numbers_of=$1 least=$3 greatest=$4
    case $2 in *[!0-9A-Za-z.,\ -]*) die 2 "$1: \"$2\" is not a list of whole numbers" ;; esac
    numbers_in='' numbers_last=0 ascending=yes numbers_ifs=$IFS IFS=', '
    for n in $2; do
        IFS=$numbers_ifs
        if [ -z "$n" ]; then continue; fi
        number "$numbers_of" "$n"
        if [ "$text" -lt "$least" ] || [ "$text" -gt "$greatest" ]; then die 2 "$numbers_of: $n is not from $least to $greatest"; fi
        if [ "$text" -le "$numbers_last" ]; then ascending=no; fi
        numbers_in="$numbers_in$text " numbers_last=$text
    done
    IFS=$numbers_ifs text=$numbers_in
    if [ -z "$text" ]; then die 2 "$1: \"$2\" has no numbers"; fi
    if [ $ascending = no ]; then text=$(printf '%s' "$text" | tr ' ' '\n' | sort -n -u | tr '\n' ' '); fi
}

# What most scripts can be told, and the defaults; a script changes some, and names in $takes which it has.
model=llama3.1-8b users=50 seconds=60 trials=1 target='' out=${0##*/} gpu='' cpu='' storage='' print=no
out=kvtrace-${out%.sh}
takes=''
: "$model" # for the scripts

# option ARGS...: takes the first of the arguments: one of those options, with its value, or the folder that -d names.
# Sets words to what it took. Anything else ends the script. Behind -- all are operands: $ended is then a word that makes
# no pattern of an option match. A script's loop is
#   while [ $# -gt 0 ]; do words=2; case $ended$1 in -x) value "$@" && x=$text ;; *) option "$@" ;; esac; shift "$words"; done
ended=''
option() {
    case $ended$1 in
    -h | --help) usage "$0" && exit 0 ;;
    --print)
        print=yes words=1
        return
        ;;
    --)
        ended='operand ' words=1
        return
        ;;
    -?*) ;;
    *)
        case " $takes " in *' -d '*) ;; *) die 2 "$1: unexpected argument (try --help)" ;; esac
        if [ -n "$target" ]; then die 2 "$1: a second folder (try --help)"; fi
        operand "$1" && target=$text words=1
        return
        ;;
    esac
    # Names that an option had before end in -gb.
    case $1 in *[!A-Za-z-]*) die 2 "$1: unknown option (try --help)" ;; esac
    case " $takes " in
    *" $1 "* | *" ${1%-gb} "* | *" $1-gb "*) ;;
    *) die 2 "$1: unknown option (try --help)" ;;
    esac
    value "$@"
    case ${1%-gb} in
    -m) operand "$text" && model=$text ;;
    -u) number "$1" "$text" && users=$text ;;
    -d) operand "$text" && target=$text ;;
    -o) operand "$text" && out=$text ;;
    -t) time_of "$1" "$text" && seconds=$text ;;
    --trials) number "$1" "$text" && trials=$text ;;
    --gpu-mem) gib "$1" "$text" && gpu=$text ;;
    --cpu-mem) gib "$1" "$text" && cpu=$text ;;
    --storage-capacity) gib "${1%-gb}" "$text" && auto_of "$text" ;;
    esac
}

# common_options ARGS...: all of them, for a script without options of its own.
common_options() {
    while [ $# -gt 0 ]; do
        words=2
        option "$@"
        shift "$words"
    done
}

# ---- text that becomes a command ----

# quoting WORD: sets quoted to the word as a shell needs it, on this machine or another. A character that a terminal would
# obey is written by its number.
controls=$(printf '\001\002\003\004\005\006\007\010\013\014\015\016\017\020\021\022\023\024\025\026\027\030\031\032\033\034\035\036\037\177')
quoting() {
    quoted=$1
    case $1 in
    '' | *[!A-Za-z0-9_./:=,@%+-]*) ;;
    *) return 0 ;;
    esac
    quoted="'" unquoted=$1
    while :; do
        case $unquoted in
        *\'*)
            quoted="$quoted${unquoted%%\'*}'\\''"
            unquoted=${unquoted#*\'}
            ;;
        *) break ;;
        esac
    done
    unquoted="$quoted$unquoted'" quoted=''
    while :; do
        case $unquoted in
        *["$controls"]*)
            before=${unquoted%%["$controls"]*}
            unquoted=${unquoted#"$before"}
            after=${unquoted#?}
            quoted="$quoted$before'\"\$(printf '\\$(printf '%03o' "'${unquoted%"$after"}")')\"'"
            unquoted=$after
            ;;
        *) break ;;
        esac
    done
    quoted=$quoted$unquoted
}

# quote WORD...: prints them so, with blanks between.
quote() {
    line=''
    for word; do
        quoting "$word"
        line="$line${line:+ }$quoted"
    done
    printf '%s' "$line"
}

# each_word WORD: as quote, for a command of kvreplay --each, which puts a number in the place of {N}.
each_word() {
    quoting "$1"
    each=$quoted quoted=''
    while :; do
        case $each in
        *'{N}'*)
            quoted="$quoted${each%%'{N}'*}{''N}"
            each=${each#*'{N}'}
            ;;
        *) break ;;
        esac
    done
    quoted=$quoted$each
}

# ---- --print: the commands in place of the run ----

printing() { [ "$print" = yes ]; }

# typed COMMAND...: with --print, shows a command as one types it; else it fails, so that the caller runs the command.
typed() {
    printing || return 1
    typed_text='' typed_piece='' typed_width=0
    for word; do
        # A line for each option where a command is long.
        case $word in -?*) typed_put ;; esac
        quoting "$word"
        typed_piece="$typed_piece${typed_piece:+ }$quoted"
    done
    typed_put
    printf '%s\n' "$typed_text"
}
typed_put() {
    if [ -z "$typed_text" ]; then
        typed_text=$typed_piece typed_width=${#typed_piece}
    elif [ $((typed_width + ${#typed_piece})) -gt 94 ]; then
        typed_text="$typed_text \\$newline    $typed_piece" typed_width=$((4 + ${#typed_piece}))
    else
        typed_text="$typed_text $typed_piece" typed_width=$((typed_width + 1 + ${#typed_piece}))
    fi
    typed_piece=''
}

# tell TEXT...: what comes next: a message, or with --print a comment.
tell() { if printing; then answer "# $*"; else say "$suite: $*"; fi; }

# ---- sizes of this machine ----

# there FOLDER: sets place to the folder, or the one above it that exists.
there() {
    place=$1
    while [ ! -d "$place" ]; do
        case $place in
        */*) place=${place%/*} ;;
        *) place=. ;;
        esac
        if [ -z "$place" ]; then place=/; fi
    done
}

# most: GiB that kvreplay may use, by what df -Pk says of a file system: 5 % of it stay free, but at most half of what
# is free; a 32nd and 8 MiB are for what objects need beside their bytes. kvgen --storage-capacity auto:DIR is the same.
# Of what several df say the least.
most() {
    awk 'NR % 2 == 0 {
        for (i = 2; i < NF && $i !~ /^[0-9]+$/; i++) continue # a device may have blanks
        keep = $i * 0.05
        if (keep > $(i + 2) / 2) keep = $(i + 2) / 2
        room = ($(i + 2) - keep) * 31 / 32 - 8192
        if (room < 0) room = 0
        if (NR == 2 || room < least) least = room
    }
    END { if (NR > 1) printf "%.3f\n", least / 1048576 }'
}

# room FOLDER...: most of where the folder is or will be; of several the least.
room() {
    for folder; do
        there "$folder"
        df -Pk "$place"
    done | most
}

# inside FOLDER: sets place to where kvreplay's objects go: the folder, or where it holds other files the folder kvtrace in
# it. (A script makes its folder for results before, since that may be one of those files.)
inside() {
    place=$1
    if [ -d "$1" ] && [ ! -e "$1/.kvtrace" ] && [ -n "$(ls -A "$1" 2>/dev/null)" ]; then place=${1%/}/kvtrace; fi
}

# proposed OPTION: sets text to what the proposal has behind that option, to the end of its line.
proposed() {
    text=''
    case $proposal in *"$newline  $1 "*) text=${proposal#*"$newline  $1 "} text=${text%%"$newline"*} ;; esac
}

# propose_folder: sets target, where it is still empty, to the folder that discover.sh proposes.
# propose: sets gpu, cpu (GiB), storage, users and target (a directory) for this machine, where they are still empty: what
# discover.sh proposes, and of storage what kvreplay may use there.
propose_folder() {
    proposal=$newline$("$examples/discover.sh")$newline
    proposed --target && : "${target:=$text}"
    if [ -z "$target" ]; then die 3 "no file system that can be written to was found; name a folder (try --help)"; fi
}
propose() {
    propose_folder
    proposed --users && : "${users:=$text}"
    proposed --gpu-mem && : "${gpu:=${text%%[!0-9.]*}}"
    case $text in *' --cpu-mem '*) text=${text#* --cpu-mem } && : "${cpu:=${text%%[!0-9.]*}}" ;; esac
    inside "$target"
    target=$place
    there "$target"
    if [ -z "$storage" ]; then auto_of "auto:$place"; fi
}

# workers USERS: requests that a server of so many users takes at once, as kvgen has it.
workers() { if [ "$1" -lt 500 ]; then echo "$1"; else echo 500; fi; }

# ---- the pipeline ----

# Where load and execute leave what lies beside results: $work, or the folder of the results.
work=''

# load NAME USERS SECONDS KVGEN-OPTIONS...: a workload: NAME.trace.csv.zst, NAME.kvgen.json and NAME.log.
load() {
    loaded=$1 loaded_users=$2 loaded_s=$3 folder=${work:-$out}
    shift 3
    set -- kvgen "$@" --users "$loaded_users" --duration "$loaded_s" --summary "$folder/$loaded.kvgen.json" \
        -o "$folder/$loaded.trace.csv.zst"
    if typed "$@"; then return; fi
    would_run "$@"
    writes "$folder/$loaded.kvgen.json" "$folder/$loaded.trace.csv.zst" "$folder/$loaded.log"
    "$@" --progress none 2>"$folder/$loaded.log" || died $? "$loaded: kvgen failed: $(last_line "$folder/$loaded.log")"
}

# serve NAME USERS SECONDS KVGEN-OPTIONS...: a workload and its replay as an inference server does it.
# Besides what load leaves: NAME.result.csv.zst, NAME.kvreplay.json and NAME.json (kvstat's report).
serve() {
    load "$@"
    execute "$1" "$1" --timing served --workers "$(workers "$2")" --duration "$3"
}

# execute NAME TRACE KVREPLAY-OPTIONS...: replays TRACE.trace.csv.zst as NAME. A run that kvreplay itself calls invalid
# is told as such and kept.
runs=0 invalid=0
execute() {
    executed=$1 executed_trace=$2 folder=${work:-$out}
    shift 2
    set -- kvreplay --target "$target" "$@" --summary "$folder/$executed.kvreplay.json" \
        -o "$out/$executed.result.csv.zst" "$folder/$executed_trace.trace.csv.zst"
    if typed "$@"; then return; fi
    writes "$folder/$executed.kvreplay.json" "$out/$executed.result.csv.zst" "$folder/$executed.json" "$folder/$executed.log"
    "$@" --progress none 2>>"$folder/$executed.log" ||
        died $? "$executed: kvreplay failed: $(last_line "$folder/$executed.log")"
    runs=$((runs + 1))
    if [ "$(pick valid <"$folder/$executed.kvreplay.json")" = false ]; then
        invalid=$((invalid + 1))
        say "$suite: $executed: not valid: $(pick why_invalid.0 <"$folder/$executed.kvreplay.json")"
    fi
    kvstat --json "$out/$executed.result.csv.zst" >"$folder/$executed.json"
}

# execute_served NAME TRACE: the same as an inference server does it, for the users and the time that were asked for.
execute_served() { execute "$1" "$2" --timing served --workers "$(workers "$users")" --duration "$seconds"; }

# caution: before an answer, what is to be known of runs that were not valid.
caution() {
    [ "$invalid" = 0 ] && return
    echo "Caution: $invalid of $(counted "$runs" run) not valid, for the reasons given above. CPU contention makes requests later, and"
    echo "seldom reads and writes slower. Repeat it on a quiet machine."
}

# on_results NAMES COMMAND...: runs the command with the results of those names (words between blanks) behind it.
on_results() {
    of_names=$1
    shift
    for of_name in $of_names; do set -- "$@" "$out/$of_name.result.csv.zst"; done
    "$@"
}

# each_command KVGEN-OPTIONS...: sets command to the one that kvreplay --each runs for a number of users.
each_command() {
    command=kvgen
    for word; do
        each_word "$word"
        command="$command $quoted"
    done
    command="$command --users {N} --progress none"
}

# ---- other hosts ----

# on HOST COMMAND...: runs it there; "-" is this machine. The shell there gets each word quoted. A host that is cut off is
# given up after 30 seconds.
on() {
    on_host=$1
    shift
    if [ "$on_host" = - ]; then "$@"; else
        ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=6 "$on_host" "$(quote "$@")"
    fi
}

# host_name OPTION TEXT: ends the script unless ssh takes it as a host.
host_name() {
    case $2 in
    -) ;;
    '' | -* | *[!A-Za-z0-9_.@:/?=%+-]*) die 2 "$1: \"$2\" is not a host name for ssh" ;;
    esac
}

# far HOST VERB [WORD...]: what a run does on another host besides kvreplay. The verbs:
#   receive FOLDER    makes the folder, which only its user can read, and writes standard input to trace.csv.zst in it
#   discard FOLDER [PART]  ends a kvreplay whose command line has that part of its name (or all of it), waits for it, and
#                     removes the folder
#   make FOLDER       makes it, and prints "made"; nothing where it is there
#   unmake FOLDER     removes it if it is empty
#   unpack FOLDER     unpacks the programs on standard input into FOLDER/programs
#   df FOLDER         says how large its file system is
far() {
    far_host=$1
    shift
    : "${far_script:=$(far_text)}"
    on "$far_host" sh -c "$far_script" kvtrace "$@"
}
far_script=''
far_text() {
    cat <<'END'
set -eu
umask 077
uses() {
    read -r process_name <"$1/comm" && [ "$process_name" = kvreplay ] || return 1
    case $(tr '\0' ' ' <"$1/cmdline") in *"$part"*) ;; *) return 1 ;; esac
}
verb=$1 folder=$2 part=${3:-$2}
case $verb in
receive)
    mkdir -- "$folder" || exit 73
    cat >"$folder/trace.csv.zst"
    ;;
discard)
    looks=0
    for process in /proc/[0-9]*; do
        uses "$process" 2>/dev/null || continue
        kill -s TERM "${process#/proc/}" || :
        while uses "$process" 2>/dev/null && [ "$looks" -lt 300 ]; do
            looks=$((looks + 1))
            sleep 0.1
        done
    done
    rm -rf -- "$folder"
    ;;
make) [ -d "$folder" ] || { (umask 022; mkdir -p -- "$folder") && echo made; } ;;
unmake) rmdir -- "$folder" 2>/dev/null || : ;;
unpack) mkdir -- "$folder/programs" && tar -xzf - -C "$folder/programs" --strip-components=1 ;;
df) df -Pk "$folder" ;;
esac
END
}
# A folder of a run has the same name on all hosts, by which kvstat knows the parts of a run, but for {rank}. Nobody has
# that name: mktemp made it, here; and mkdir fails where it is there. Then receive ends with this status, and nothing is
# to be discarded.
not_made=73
: "$not_made" # for the scripts
# far_name: sets far_name to what such names begin with. --print makes no file.
far_name() {
    if printing; then
        far_name=kvtrace-$(date +%s)-$$
    else
        need_scratch
        far_name=${scratch##*/}
    fi
    : "$far_name"
}

# printed_receive HOST FOLDER FILE: how one does that by hand. The folder is of a name that nobody has, or mkdir fails.
printed_receive() {
    quoting "$2"
    printf 'ssh %s %s <%s\n' "$1" "$(quote "mkdir -m 700 $quoted && cat >$quoted/trace.csv.zst")" "$(quote "$3")"
}

# printed_part HOST PART FILE OPTION...: how one starts a part of a run there at $start, by hand.
printed_part() {
    part_host=$1 part=$2 part_file=$3
    shift 3
    # Between double quotes, for $start.
    printf "ssh %s \"kvreplay --part %s --start-at \$start %s\" >%s &\\n" "$part_host" "$part" \
        "$(quote "$@" | sed 's/[\\"$`]/\\&/g')" "$(quote "$part_file")"
}

# ---- answers ----

# compare NAMES1 NAMES2 [--json]: results against each other, words between blanks on each side; each is a trial.
compare() {
    compare_base=$1 compare_new=$2 compare_form=${3-}
    set --
    if [ -n "$compare_form" ]; then set -- "$compare_form"; fi
    for of_name in $compare_base; do set -- "$@" --compare "$out/$of_name.result.csv.zst"; done
    on_results "$compare_new" compared "$@"
}
compared() { typed kvstat "$@" || kvstat "$@"; }

# better NAME1 NAME2: the answer in a sentence, from what compare --json says on standard input: which of the two is
# better by more than the noise, and in what. Hit rates and the like are of the load and do not count, nor do the times of
# memory: asked is which storage is better.
better() {
    readable "$1"
    better_1=$readable
    readable "$2"
    better_1=$better_1 better_2=$readable awk -v trials="$trials" '
        function value(line) { sub(/^[^:]*: */, "", line); sub(/,$/, "", line); gsub(/"/, "", line); return line }
        function time(ms) { return ms < 1000 ? sprintf("%.4g ms", ms) : sprintf("%.3g s", ms / 1000) }
        function shown(figure, n) {
            if (figure ~ /gib_per_s$/) return sprintf("%.2f GiB/s", n)
            if (figure ~ /bytes_per_s$/) return sprintf("%.2f GiB/s", n / 1073741824)
            if (figure ~ /_us\./) return time(n / 1000)
            return figure ~ /_ms\./ ? time(n) : sprintf("%.4g", n)
        }
        # What is told first is what tells drives apart; the rest is only counted.
        function words(figure) {
            if (figure ~ /Read\/Decode.gib_per_s$/) return "1 bandwidth of reads"
            if (figure ~ /Read\/Decode.service_us.p95$/) return "2 P95 of reads"
            if (figure ~ /Write\/Prefill.gib_per_s$/) return "3 bandwidth of writes"
            if (figure ~ /Write\/Prefill.service_us.p95$/) return "4 P95 of writes"
            if (figure == "requests.end_to_end_ms.p95") return "5 P95 of answers"
            return figure == "throughput.wall.bytes_per_s" ? "6 bytes moved" : ""
        }
        function best(side,   i, n, list) {
            for (i = 1; i <= 6; i++) if (said[side, i] != "" && ++n <= 3) list = list (n > 1 ? ", " : "") said[side, i]
            return n ? list : "in " count[side] " of the figures above"
        }
        /^ *"would_show": [0-9]/ { shows = value($0) + 0 }
        /^ *"would_show": null/ { shows = 0 }
        /^ *"device": "/ { device = value($0) }
        /^ *"tested": / { tested = value($0) + 0 }
        /^ *"name": / { name = value($0) }
        /^ *"base": [^[]/ { base = value($0) + 0 }
        /^ *"new": [^[]/ { new = value($0) + 0 }
        /^ *"changed": true/ {
            if (name ~ /^groups\.Tier-[01]\//) next
            if (name ~ /_(us|ms)\./) side = new < base ? 2 : 1
            else if (name ~ /per_s$/) side = new > base ? 2 : 1
            else next
            count[side]++
            if ((text = words(name)) == "") next
            said[side, substr(text, 1, 1)] = substr(text, 3) " " \
                (side == 2 ? shown(name, new) " against " shown(name, base) : shown(name, base) " against " shown(name, new))
        }
        END {
            one = ENVIRON["better_1"]; two = ENVIRON["better_2"]
            if (device != "") printf "%s and %s are on one device, %s, so this says nothing about two drives. ", one, two, device
            if (trials < 2) print "One run of each does not show how much runs differ by chance: use --trials 3 to 5."
            else if (!tested) print "Nothing could be compared between " one " and " two "."
            else if (count[1] && count[2])
                print "Mixed: by more than the noise, " one " is better in " best(1) "; " two " in " best(2) "."
            else if (count[1]) print one " is better than " two " by more than the noise: " best(1) "."
            else if (count[2]) print two " is better than " one " by more than the noise: " best(2) "."
            else print "No difference beyond the noise between " one " and " two " in " trials " trials of each" \
                (shows ? sprintf("; a change under %.3g %% would not have shown in half of the figures", 100 * shows) : "") "."
        }' | readable_lines
}

# report FILE NAME...: figures out of kvstat's report on a result, a line each, as pick names them.
report() {
    reported=$1
    shift
    kvstat --by tier,op --profile latency --json "$reported" | pick "$@"
}

# bottleneck FILE: what holds requests up most in a result, in words, with its share.
bottleneck() {
    report "$1" bottleneck.what bottleneck.share bottleneck.foremost.0 bottleneck.foremost.1 bottleneck.simulated | tr '\n' ' ' | awk '
        function words(part) { sub(/^storage_io$/, "storage I/O", part); gsub(/_/, " ", part); return part }
        {
            simulated = $5 == "true" ? " (simulated)" : ""
            if ($1 != "-") printf "%s %.0f %%%s\n", words($1), $2 * 100, simulated
            else if ($3 != "-") print "none stands out; the largest: " words($3) ($4 == "-" ? "" : " and " words($4)) simulated
            else print "unknown"
        }'
}

# pick NAME...: values out of a JSON document of our programs on standard input, one a line; "-" for what is null or not there.
# A name is the members on the way with dots between them, each of which may have blanks. An element of a list is named by
# its tier and operation (groups.Tier-2/Read.gib_per_s) or its name (assessment.criteria.storage_read_p95.actual), else by
# its number from 0. NAME.* is all elements of a list, of which each has a line.
pick() {
    names=$(printf '%s\n' "$@") awk '
        function clean(text) { gsub(/\302[\200-\237]|[\001-\037\177]/, "?", text); return text }
        function path(key,   i, s) { for (i = 2; i <= depth; i++) s = s name[i] "."; return s key }
        {
            line = $0; key = ""
            sub(/^ */, "", line); sub(/,$/, "", line)
            if (line ~ /^[]}]$/) { depth--; next }
            if (match(line, /^"[^"]*": /)) { key = substr(line, 2, RLENGTH - 4); line = substr(line, RLENGTH + 1) }
            else if (depth) key = count[depth]++
            if (line ~ /^[[{]$/) { depth++; name[depth] = key; count[depth] = 0; next }
            if (line == "null") next
            if (line ~ /^"/) line = substr(line, 2, length(line) - 2)
            if (name[depth] == "by" && name[depth - 2] == "groups")
                name[depth - 1] = name[depth - 1] ~ /^[0-9]+$/ ? line : name[depth - 1] "/" line
            else if ((key == "name" || key == "tier") && name[depth] ~ /^[0-9]+$/) name[depth] = line
            value[path(key)] = line
        }
        function put(name) { print name in value ? clean(value[name]) : "-" }
        END {
            n = split(ENVIRON["names"], want, "\n")
            for (i = 1; i <= n; i++) {
                list = want[i]
                if (!sub(/[.][*]$/, "", list)) put(list)
                else for (k = 0; (list "." k) in value; k++) put(list "." k)
            }
        }'
}

# json TEXT: as a text of JSON.
json() {
    case $1 in *[!A-Za-z0-9_./:=,@%+\ -]*) ;; *) printf '"%s"' "$1" && return ;; esac
    printf '%s.\n' "$1" | awk '
        BEGIN { for (i = 1; i < 32; i++) code[sprintf("%c", i)] = sprintf("\\u%04x", i) }
        NR > 1 { text = text "\\n" }
        {
            n = length($0)
            for (i = 1; i <= n; i++) {
                c = substr($0, i, 1)
                text = text (c == "\\" || c == "\"" ? "\\" c : c in code ? code[c] : c)
            }
        }
        END { printf "\"%s\"", substr(text, 1, length(text) - 1) }'
}

# figures FILE MEMBER...: numbers, texts or nulls out of a JSON file, a line each, wherever in it the (last) MEMBER stands; "-" where
# there is none.
figures() {
    figures_file=$1
    shift
    awk -v members="$*" '
        { text = text $0 " " }
        END {
            n = split(members, member, " ")
            for (i = 1; i <= n; i++) {
                value = ""
                for (rest = text; match(rest, "\"" member[i] "\" *: *\"?"); rest = value) value = substr(rest, RSTART + RLENGTH)
                sub(/ *[",}].*/, "", value)
                print value == "" ? "-" : value
            }
        }' <"$figures_file" | readable_lines
}

# scenario_row NAME FILE...: one line of the comparison table, below row_head. Several files are trials:
# the line gives their means (kvstat FILE... gives the spread). "objects %" is the cache at the end of the run: which share
# of its objects lay in GPU, host memory and storage.
row_head() { echo 'scenario              GiB/s  Tier-2 read  P95 ms  device ms  hit rate  tokens/s  answer P95 s    objects %  bottleneck'; }
scenario_row() {
    readable "$1"
    label=$readable
    shift
    for file; do
        report "$file" throughput.wall.bytes_per_s groups.Tier-2/Read.gib_per_s \
            groups.Tier-2/Read.service_us.p95 groups.Tier-2/Read.device_us.p95 cache.lookups.all.hit_rate \
            throughput.wall.generated_tokens_per_s requests.end_to_end_ms.p95 cache.tiers.Tier-0.final_objects \
            cache.tiers.Tier-1.final_objects cache.tiers.Tier-2.final_objects bottleneck.what | tr '\n' ' '
        echo
    done | label=$label awk '
        function mean(i, scale, digits) { return count[i] ? sprintf("%.*f", digits, sum[i] / count[i] * scale) : "-" }
        function share(i) { return sprintf("%.0f", sum[i] / (sum[8] + sum[9] + sum[10]) * 100) }
        { for (i = 1; i <= 10; i++) if ($i != "-") { sum[i] += $i; count[i]++ } what = $11 }
        END {
            shares = sum[8] + sum[9] + sum[10] > 0 ? share(8) "/" share(9) "/" share(10) : "-"
            printf "%-20s %6s %12s %7s %10s %9s %9s %13s %12s  %s\n", ENVIRON["label"], mean(1, 1 / 1073741824, 2), mean(2, 1, 2),
                mean(3, 0.001, 1), mean(4, 0.001, 1), mean(5, 1, 3), mean(6, 1, 0), mean(7, 0.001, 2), shares, what
        }'
}

# ---- from here on it is the script's ----

trap 'leave $?' EXIT
on_signals leave
