# shellcheck shell=sh disable=SC2034,SC2154
# common.sh - what the scripts of this folder share. It is sourced, not run:
#   . "$(dirname "$0")/common.sh"
# It also puts the programs that were built or installed with the scripts at the head of PATH.
set -eu

# The name in messages: kvtrace calls a script by the name of a command.
suite=${KVTRACE_COMMAND:-${0##*/}}
examples=$(cd "$(dirname "$0")" && pwd)
for folder in "${KVTRACE_BIN-}" "${BUILD:-$examples/../build}/bin" "$examples/../bin" "$examples/../../bin"; do
    if [ -x "$folder/kvgen" ]; then
        PATH=$(cd "$folder" && pwd):$PATH
        break
    fi
done

# ---- words ----

# say TEXT...: progress and explanations go to standard error, answers to standard output.
say() { printf '%s\n' "$*" >&2; }

# die STATUS TEXT...: ends the script.
die() {
    status=$1
    shift
    say "$suite: $*"
    exit "$status"
}

# counted N NOUN: "1 user", "2 users".
counted() { if [ "$1" = 1 ]; then echo "1 $2"; else echo "$1 $2s"; fi; }

# usage FILE: prints the comment at the head of a script, with the name by which it was called.
usage() {
    sed -n '2,/^[^#]/s/^#\{1,2\} \{0,1\}//p' "$1" |
        sed "s|^\(Usage: *\)${0##*/}|\1$suite|; s|^\( *\)examples/${0##*/}|\1${KVTRACE_COMMAND:-$0}|"
}

# need PROGRAM...: ends the script when one is missing.
need() {
    for program; do
        command -v "$program" >/dev/null ||
            die 3 "$program is not here; build (make) or install kvtrace first"
    done
}

# ---- the command line ----

# value OPTION ARGS: the value that stands behind an option, or the end of the script.
value() {
    if [ $# -lt 2 ]; then die 2 "$1 needs a value (try --help)"; fi
    printf '%s\n' "$2"
}

# number OPTION TEXT: ends the script unless TEXT is a whole number above 0.
number() {
    case $2 in
    '' | *[!0-9]* | 0) die 2 "$1: \"$2\" is not a whole number above 0" ;;
    esac
}

# gib OPTION TEXT: a size as kvgen and kvreplay take it, in GiB; a number without a unit is GiB. Storage may also be
# unlimited, none or auto:PATH.
gib() {
    case $1:$2 in --storage-capacity:none | --storage-capacity:unlimited | --storage-capacity:auto:?*)
        printf '%s\n' "$2"
        return
        ;;
    esac
    printf '%s\n' "$2" | awk '
        match($0, /^[0-9]+[.]?[0-9]*/) {
            unit = substr($0, RLENGTH + 1)
            power = unit == "" ? 3 : index("KMGTP", substr(unit, 1, 1))
            if (power == 0 || unit !~ /^([KMGTP](iB|B)?)?$/) exit 1
            printf "%.12g\n", substr($0, 1, RLENGTH) * (unit ~ /^.B$/ ? 1000 : 1024) ^ power / 1024 ^ 3
            good = 1
        }
        END { exit !good }' || die 2 "$1: '$2' is not a size (such as 16GiB; without a unit: GiB)"
}

# sized GIB: a size as it is given to a program: "16GiB"; what is no number stays as it is.
sized() { case $1 in 0 | *[!0-9.]*) printf '%s\n' "$1" ;; *) printf '%sGiB\n' "$1" ;; esac }

# time_of OPTION TEXT: a time as the programs take it, in whole seconds; a number without a unit is seconds.
time_of() {
    printf '%s\n' "$2" | awk '
        match($0, /^[0-9]+[.]?[0-9]*/) {
            unit = substr($0, RLENGTH + 1)
            factor = unit == "" || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0
            s = substr($0, 1, RLENGTH) * factor
            if (s >= 1 && s == int(s)) print s
            good = s >= 1 && s == int(s)
        }
        END { exit !good }' || die 2 "$1: '$2' is not a time of whole seconds (such as 60s or 5m)"
}

# What most scripts can be told, and the defaults; a script changes some, and names in $takes which it has.
model=llama3.1-8b users=50 seconds=60 trials=1 target='' out=${0##*/} gpu='' cpu='' storage='' print=no
out=kvtrace-${out%.sh}
takes=''

# option ARGS...: takes the first of the arguments: one of those options, with its value, or the folder that -d names.
# Sets words to what it took. Anything else ends the script. A script's loop is
#   while [ $# -gt 0 ]; do words=2; case $1 in -x) x=$(value "$@") ;; *) option "$@" ;; esac; shift "$words"; done
option() {
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    --print)
        print=yes words=1
        return
        ;;
    -?*) ;;
    *)
        case " $takes " in *' -d '*) ;; *) die 2 "$1: unexpected argument (try --help)" ;; esac
        if [ -n "$target" ]; then die 2 "$1: a second folder (try --help)"; fi
        target=$1 words=1
        return
        ;;
    esac
    # Names that an option had before end in -gb.
    case " $takes " in
    *" $1 "* | *" ${1%-gb} "* | *" $1-gb "*) ;;
    *) die 2 "$1: unknown option (try --help)" ;;
    esac
    text=$(value "$@") || exit 2
    case $1 in --*-mem* | --storage-capacity*) text=$(gib "${1%-gb}" "$text") || exit 2 ;; esac
    case ${1%-gb} in
    -m) model=$text ;;
    -u) number "$1" "$text" && users=$text ;;
    -d) target=$text ;;
    -o) out=$text ;;
    -t) seconds=$(time_of "$1" "$text") || exit 2 ;;
    --trials) number "$1" "$text" && trials=$text ;;
    --gpu-mem) gpu=$text ;;
    --cpu-mem) cpu=$text ;;
    --storage-capacity) storage=$text ;;
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

# ---- --print: the commands in place of the run ----

printing() { [ "$print" = yes ]; }

# quote WORD: as a shell would need it.
quote() {
    case $1 in
    '' | *[!A-Za-z0-9_./:=,@%+-]*) printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
    *) printf '%s' "$1" ;;
    esac
}

# typed COMMAND...: with --print, shows a command as one types it; else it fails, so that the caller runs the command.
typed() {
    printing || return 1
    for word; do
        # A line for each option where a command is long.
        case $word in -?*) printf '\n' ;; *) printf ' ' ;; esac
        quote "$word"
    done | awk '
        NR == 1 { text = substr($0, 2); width = length(text); next }
        width + length($0) > 94 { text = text " \\\n    " $0; width = 4 + length($0); next }
        { text = text " " $0; width += 1 + length($0) }
        END { print text }' || exit 1
}

# tell TEXT...: what comes next: a message, or with --print a comment.
tell() { if printing; then printf '# %s\n' "$*"; else say "$suite: $*"; fi; }

# folders NAME...: makes them.
folders() { typed mkdir -p "$@" || mkdir -p "$@"; }

# ---- sizes of this machine ----

# there FOLDER: the folder, or the one above it that exists.
there() {
    place=$1
    while [ ! -d "$place" ]; do place=$(dirname "$place"); done
    printf '%s\n' "$place"
}

# most: GiB that kvreplay may use, by what df -Pk says of a file system: 5 % of it stay free, but at most half of what
# is free; a 32nd and 8 MiB are for what objects need beside their bytes. kvgen --storage-capacity auto:DIR is the same.
most() {
    awk 'NR == 2 {
        keep = $2 * 0.05
        if (keep > $4 / 2) keep = $4 / 2
        room = ($4 - keep) * 31 / 32 - 8192
        printf "%.3f\n", (room > 0 ? room : 0) / 1048576
    }'
}

# room FOLDER...: most of where the folder is or will be; of several the least.
room() { for place; do df -Pk "$(there "$place")" | most; done | sort -n | head -n 1; }

# inside FOLDER: where kvreplay's objects go: the folder, or where it holds other files the folder kvtrace in it. (A script
# makes its folder for results before, since that may be one of those files.)
inside() {
    if [ -d "$1" ] && [ ! -e "$1/.kvtrace" ] && [ -n "$(ls -A "$1" 2>/dev/null)" ]; then
        printf '%s\n' "${1%/}/kvtrace"
    else
        printf '%s\n' "$1"
    fi
}

# propose: sets gpu, cpu (GiB), storage, users and target (a directory) for this machine, where they are still empty: what
# discover.sh proposes, and of storage what kvreplay may use there.
propose() {
    proposal=$("$examples/discover.sh")
    set -- "$(printf '%s\n' "$proposal" | sed -n 's/^ *--gpu-mem \([0-9.]*\).*/\1/p')" \
        "$(printf '%s\n' "$proposal" | sed -n 's/.* --cpu-mem \([0-9.]*\).*/\1/p')" \
        "$(printf '%s\n' "$proposal" | sed -n 's/^ *--target \(.*\)/\1/p')" \
        "$(printf '%s\n' "$proposal" | sed -n 's/^ *--users \(.*\)/\1/p')"
    : "${gpu:=$1}" "${cpu:=$2}" "${target:=$3}" "${users:=$4}"
    if [ -z "$target" ]; then die 3 "no file system that can be written to was found; name a folder (try --help)"; fi
    target=$(inside "$target")
    : "${storage:=auto:$(there "$target")}"
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
    "$@" --progress none 2>"$folder/$loaded.log" || die 1 "$loaded: kvgen failed: $(tail -1 "$folder/$loaded.log")"
}

# serve NAME USERS SECONDS KVGEN-OPTIONS...: a workload and its replay as an inference server does it.
# Besides what load leaves: NAME.result.csv.zst, NAME.kvreplay.json and NAME.json (kvstat's report).
# kvreplay's own options come from $replay_options, words between blanks.
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
    # shellcheck disable=SC2086 # words between blanks
    set -- kvreplay --target "$target" "$@" ${replay_options-} --summary "$folder/$executed.kvreplay.json" \
        -o "$out/$executed.result.csv.zst" "$folder/$executed_trace.trace.csv.zst"
    if typed "$@"; then return; fi
    "$@" --progress none 2>>"$folder/$executed.log" ||
        die 1 "$executed: kvreplay failed: $(tail -1 "$folder/$executed.log")"
    runs=$((runs + 1))
    if [ "$(pick valid <"$folder/$executed.kvreplay.json")" = false ]; then
        invalid=$((invalid + 1))
        say "$suite: $executed: not valid: $(pick why_invalid.0 <"$folder/$executed.kvreplay.json")"
    fi
    kvstat --json "$out/$executed.result.csv.zst" >"$folder/$executed.json"
}

# caution: before an answer, what is to be known of runs that were not valid.
caution() {
    [ "$invalid" = 0 ] && return
    echo "Caution: $invalid of $(counted "$runs" run) not valid, for the reasons given above. CPU contention makes requests later, and"
    echo "seldom reads and writes slower. Repeat it on a quiet machine."
}

# search LIMIT MOST SECONDS KVGEN-OPTIONS...: the most users whose reads of storage keep the limit (P95), tried for so many
# seconds each and a quarter of that to settle. Sets found (empty or 0: none) and status (kvreplay's); leaves
# autoscale.json and kvgen.log. The trace of a step is longer than the step, so that none ends for want of requests.
search() {
    limit=$1 most=$2 step=$3 settle=$(($3 / 4 + 1)) status=0
    shift 3
    each=kvgen
    for word in "$@" --duration "$((step + settle + 30))" --users '{N}' --progress none; do
        if [ "$word" = '{N}' ]; then each="$each {N}"; else each="$each $(quote "$word")"; fi
    done
    if printing; then quiet=''; else quiet=" 2>>$(quote "$out/kvgen.log")"; fi
    set -- kvreplay --target "$target" --autoscale qos --storage-p95 "$limit" --start-users 2 --max-users "$most" \
        --step-warmup "$settle" --step-duration "$step" --summary "$out/autoscale.json" --each "$each$quiet"
    if typed "$@"; then return; fi
    rm -f "$out/autoscale.json" "$out/kvgen.log"
    "$@" >/dev/null || status=$?
    if [ "$status" = 2 ] && [ -s "$out/kvgen.log" ]; then grep '^kvgen: ' "$out/kvgen.log" >&2; fi
    found=-
    if [ -s "$out/autoscale.json" ]; then found=$(pick autoscaling.users <"$out/autoscale.json"); fi
    if [ "$found" = - ]; then found=0; fi
}

# tried N: what 95 % of reads took at most in the steps with so many users; "-": not tried, or none read.
tried() {
    step=0 worst=-
    while tried_users=$(pick "autoscaling_stats.$step.users" <"$out/autoscale.json") && [ "$tried_users" != - ]; do
        if [ "$tried_users" = "$1" ]; then
            took=$(pick "autoscaling_stats.$step.storage_read_p95_ms" <"$out/autoscale.json")
            worst=$(printf '%s\n' "$worst" "$took" | sort -g | tail -n 1)
        fi
        step=$((step + 1))
    done
    printf '%s\n' "$worst" | awk '$1 == "-" { print; next } { print $1 < 999.5 ? sprintf("%.3g ms", $1) : sprintf("%.3g s", $1 / 1000) }'
}

# served WHAT: the answer of a search, in a sentence.
served() {
    limits="with 95 % of storage reads within $(echo "$limit" | sed 's/\([0-9]\)\([a-z]\)/\1 \2/')"
    if [ "$found" = 0 ]; then
        alone=$(tried 1)
        if [ "$alone" = - ]; then alone=''; else alone=": with one, 95 % of reads take up to $alone"; fi
        echo "$1 does not serve even one user of $model $limits$alone."
    elif [ "$found" = "$most" ]; then
        echo "$1 serves $(counted "$found" user) of $model $limits; that is the most that were tried (-x), so it may serve more."
    else
        # The next number that was tried and was too much.
        next=$(awk -F '[:,]' -v found="$found" '/"users":/ && $2 + 0 > found && (!least || $2 + 0 < least) { least = $2 + 0 }
            END { print least + 0 }' "$out/autoscale.json")
        over=$(tried "$next")
        if [ "$over" = - ]; then over=''; else over="; with $next, 95 % of reads take up to $over"; fi
        echo "$1 serves $(counted "$found" user) of $model $limits$over."
    fi
}

# ---- other hosts ----

# on HOST COMMAND: runs it there; "-" is this machine. A host that is cut off is given up after 30 seconds.
on() {
    if [ "$1" = - ]; then sh -c "$2"; else
        ssh -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=6 "$1" "$2"
    fi
}

# plain_word TEXT: ends the script unless a shell on any host takes it as it is.
plain_word() {
    case $1 in '' | *[!A-Za-z0-9_.@/:,?=%+-]*) die 2 "$1: use names without blanks and quotes" ;; esac
}

# ---- answers ----

# compare FOLDER1 FOLDER2 [--json]: the results of two folders against each other, each file a trial.
compare() {
    if printing; then
        # shellcheck disable=SC2016 # as it is
        printf 'kvstat $(printf " --compare %%s" %s/*.result.csv.zst) %s/*.result.csv.zst\n' "$(quote "$1")" "$(quote "$2")"
        return
    fi
    folder=$2 form=${3-}
    set -- "$1"/*.result.csv.zst
    for file; do
        shift
        set -- "$@" --compare "$file"
    done
    # shellcheck disable=SC2086 # no word or one
    kvstat $form "$@" "$folder"/*.result.csv.zst
}

# better NAME1 NAME2: the answer in a sentence, from what compare --json says on standard input: which of the two is
# better by more than the noise, and in what. Hit rates and the like are of the load and do not count.
better() {
    better_1=$1 better_2=$2 awk -v trials="$trials" '
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
            if (trials < 2) print "One run of each does not tell how much runs differ by chance: take --trials 3 to 5."
            else if (!tested) print "Nothing could be compared between " one " and " two "."
            else if (count[1] && count[2])
                print "Mixed: by more than the noise, " one " is better in " best(1) "; " two " in " best(2) "."
            else if (count[1]) print one " is better than " two " by more than the noise: " best(1) "."
            else if (count[2]) print two " is better than " one " by more than the noise: " best(2) "."
            else print "No difference beyond the noise between " one " and " two " in " trials " trials of each" \
                (shows ? sprintf("; a change under %.3g %% would not have shown in half of the figures", 100 * shows) : "") "."
        }'
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
# its number from 0.
pick() {
    names=$(printf '%s\n' "$@") awk '
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
        END { n = split(ENVIRON["names"], want, "\n"); for (i = 1; i <= n; i++) print want[i] in value ? value[want[i]] : "-" }'
}

# figure FILE MEMBER: a number, text or null out of a JSON file, wherever in it the (last) MEMBER stands.
figure() { tr -d '\n' <"$1" | sed 's/.*"'"$2"'": *"\{0,1\}\([^",}]*\).*/\1/'; }

# scenario_row NAME FILE...: one line of the comparison table, below $row_head. Several files are trials:
# the line gives their means (kvstat FILE... gives the spread). "objects %" is the cache at the end of the run: which share
# of its objects lay in GPU, host memory and storage.
row_head='scenario              GiB/s  Tier-2 read  P95 ms  device ms  hit rate  tokens/s  answer P95 s    objects %  bottleneck'
scenario_row() {
    label=$1
    shift
    for file; do
        report "$file" throughput.wall.bytes_per_s groups.Tier-2/Read.gib_per_s \
            groups.Tier-2/Read.service_us.p95 groups.Tier-2/Read.device_us.p95 cache.lookups.all.hit_rate \
            throughput.wall.generated_tokens_per_s requests.end_to_end_ms.p95 cache.tiers.Tier-0.final_objects \
            cache.tiers.Tier-1.final_objects cache.tiers.Tier-2.final_objects bottleneck.what | tr '\n' ' '
        echo
    done | awk -v label="$label" '
        function mean(i, scale, digits) { return count[i] ? sprintf("%.*f", digits, sum[i] / count[i] * scale) : "-" }
        function share(i) { return sprintf("%.0f", sum[i] / (sum[8] + sum[9] + sum[10]) * 100) }
        { for (i = 1; i <= 10; i++) if ($i != "-") { sum[i] += $i; count[i]++ } what = $11 }
        END {
            shares = sum[8] + sum[9] + sum[10] > 0 ? share(8) "/" share(9) "/" share(10) : "-"
            printf "%-20s %6s %12s %7s %10s %9s %9s %13s %12s  %s\n", label, mean(1, 1 / 1073741824, 2), mean(2, 1, 2),
                mean(3, 0.001, 1), mean(4, 0.001, 1), mean(5, 1, 3), mean(6, 1, 0), mean(7, 0.001, 2), shares, what
        }'
}
