# shellcheck shell=sh disable=SC2034,SC2154
# common.sh - what the suites of this folder share. It is sourced, not run:
#   . "$(dirname "$0")/common.sh"
# Besides the functions below it sets suite (the name of the script that runs) and puts the programs of
# this source tree, when they are built here, at the head of PATH.
set -eu

suite=${0##*/}
examples=$(cd "$(dirname "$0")" && pwd)
for folder in "${BUILD:-$examples/../build}/bin" "$examples/../bin"; do
    if [ -x "$folder/kvgen" ]; then
        PATH=$(cd "$folder" && pwd):$PATH
        break
    fi
done

# say TEXT...: progress and explanations go to standard error, answers to standard output.
say() { printf '%s\n' "$*" >&2; }

# die STATUS TEXT...: ends the suite.
die() {
    status=$1
    shift
    say "$suite: $*"
    exit "$status"
}

# counted N NOUN: "1 user", "2 users".
counted() { if [ "$1" = 1 ]; then echo "1 $2"; else echo "$1 $2s"; fi; }

# usage FILE: prints the comment at the head of a script.
usage() { sed -n '2,/^[^#]/s/^#\{1,2\} \{0,1\}//p' "$1"; }

# need PROGRAM...: ends the suite when one is missing.
need() {
    for program; do
        command -v "$program" >/dev/null ||
            die 3 "$program is not here; build (make) or install kvtrace first"
    done
}

# value OPTION ARGS: the value that stands behind an option, or the end of the suite.
value() {
    if [ $# -lt 2 ]; then die 2 "$1 needs a value (try --help)"; fi
    printf '%s\n' "$2"
}

# number OPTION TEXT: ends the suite unless TEXT is a whole number above 0.
number() {
    case $2 in
    '' | *[!0-9]* | 0) die 2 "$1: \"$2\" is not a whole number above 0" ;;
    esac
}

# What most suites can be told, and the defaults; a suite changes some, and names in $takes which it has.
model=llama3.1-8b users=50 seconds=60 trials=1 target='' out=kvtrace-${suite%.sh} gpu='' cpu='' storage=''
takes=''

# option OPTION ARGS...: takes one of those options with its value; any other ends the suite.
option() {
    case " $takes " in
    *" $1 "*) ;;
    *) die 2 "$1: unknown option (try --help)" ;;
    esac
    text=$(value "$@") || exit 2
    case $1 in
    -m) model=$text ;;
    -u) number "$1" "$text" && users=$text ;;
    -d) target=$text ;;
    -o) out=$text ;;
    -t) number "$1" "$text" && seconds=$text ;;
    --trials) number "$1" "$text" && trials=$text ;;
    --gpu-mem-gb) gpu=$text ;;
    --cpu-mem-gb) cpu=$text ;;
    --storage-capacity-gb) storage=$text ;;
    esac
}

# most: GiB, three quarters of what is free, out of what df -Pk says of a file system.
most() { awk 'NR == 2 { printf "%.2f\n", $4 * 0.75 / 1048576 }'; }

# room FOLDER...: most of where the folder is or will be; of several the least.
room() {
    for place; do
        while [ ! -d "$place" ]; do place=$(dirname "$place"); done
        df -Pk "$place" | most
    done | sort -n | head -n 1
}

# propose: sets gpu, cpu and storage (GiB), users and target (a directory) to what discover.sh proposes for
# this machine, where they are still empty. A target that was given decides the room of storage.
propose() {
    if [ -n "$target" ]; then : "${storage:=$(room "$target")}"; fi
    proposal=$("$examples/discover.sh")
    set -- "$(printf '%s\n' "$proposal" | sed -n 's/^ *--gpu-mem-gb \([^ ]*\) .*/\1/p')" \
        "$(printf '%s\n' "$proposal" | sed -n 's/.* --cpu-mem-gb \([^ ]*\) .*/\1/p')" \
        "$(printf '%s\n' "$proposal" | sed -n 's/.* --storage-capacity-gb \(.*\)/\1/p')" \
        "$(printf '%s\n' "$proposal" | sed -n 's/^ *--nvme \(.*\)/\1/p')" \
        "$(printf '%s\n' "$proposal" | sed -n 's/^ *--num-users \(.*\)/\1/p')"
    : "${gpu:=$1}" "${cpu:=$2}" "${storage:=$3}" "${target:=$4}" "${users:=$5}"
    if [ -z "$target" ]; then die 3 "no file system that can be written to was found; name a folder (try --help)"; fi
}

# workers USERS: requests that a server of so many users takes at once, as kvgen has it.
workers() { if [ "$1" -lt 500 ]; then echo "$1"; else echo 500; fi; }

# load NAME USERS SECONDS KVGEN-OPTIONS...: a workload. Leaves in $out: NAME.trace.csv.zst, NAME.kvgen.json and
# NAME.log.
load() {
    loaded=$1 loaded_users=$2 loaded_s=$3
    shift 3
    kvgen "$@" --num-users "$loaded_users" --duration "$loaded_s" --progress none \
        --summary "$out/$loaded.kvgen.json" -o "$out/$loaded.trace.csv.zst" 2>"$out/$loaded.log" ||
        die 1 "$loaded: kvgen failed: $(tail -1 "$out/$loaded.log")"
}

# serve NAME USERS SECONDS KVGEN-OPTIONS...: a workload and its replay as an inference server does it.
# Besides what load leaves: NAME.result.csv.zst, NAME.kvreplay.json and NAME.json (kvstat's report).
# kvreplay's own options come from $replay_options, words between blanks.
serve() {
    load "$@"
    execute "$1" "$1" --timing served --workers "$(workers "$2")" --duration "$3"
}

# execute NAME TRACE KVREPLAY-OPTIONS...: replays $out/TRACE.trace.csv.zst as NAME. A run that kvreplay
# itself calls invalid is told as such and kept.
execute() {
    executed=$1 executed_trace=$2
    shift 2
    # shellcheck disable=SC2086 # words between blanks
    kvreplay --nvme "$target" "$@" ${replay_options-} --progress none \
        --summary "$out/$executed.kvreplay.json" -o "$out/$executed.result.csv.zst" \
        "$out/$executed_trace.trace.csv.zst" 2>>"$out/$executed.log" ||
        die 1 "$executed: kvreplay failed: $(tail -1 "$out/$executed.log")"
    runs=$((runs + 1))
    if grep -q '^INVALID: ' "$out/$executed.log"; then
        invalid=$((invalid + 1))
        sed -n "s|^INVALID: |$suite: $executed: not valid: |p" "$out/$executed.log" >&2
    fi
    kvstat --json "$out/$executed.result.csv.zst" >"$out/$executed.json"
}

# caution: after an answer, what is to be known of runs that were not valid.
runs=0 invalid=0
caution() {
    [ "$invalid" = 0 ] && return
    echo "Caution: not valid, as said above: $invalid of $(counted "$runs" run). Where the tool itself was late, other work"
    echo "had the processors, or virtual ones woke slowly: answers are later for it, times of reads and writes hardly."
    echo "Repeat it on a quiet machine."
}

# figure FILE MEMBER: a number, text or null out of a JSON file of ours: the last MEMBER in it.
figure() { tr -d '\n' <"$1" | sed 's/.*"'"$2"'": *"\{0,1\}\([^",}]*\).*/\1/'; }

# compare FOLDER1 FOLDER2 [--json]: the results of two folders against each other, each file a trial.
compare() {
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
            if (device != "") print "Both lie on one device, " device "."
            if (trials < 2) print "One run of each does not tell how much runs differ by chance: take --trials 3 to 5."
            else if (!tested) print "Nothing could be compared between " one " and " two "."
            else if (count[1] && count[2])
                print "Mixed: by more than the noise, " one " is better in " best(1) "; " two " in " best(2) "."
            else if (count[1]) print one " is better than " two " by more than the noise: " best(1) "."
            else if (count[2]) print two " is better than " one " by more than the noise: " best(2) "."
            else print "No difference beyond the noise between " one " and " two " in " trials " trials of each" \
                (shows ? sprintf("; a change under %.2g %% would not have shown in half of the figures", 100 * shows) : "") "."
        }'
}

# bottleneck FILE: what holds requests up most in a result, in words, with its share.
bottleneck() { kvstat "$1" | sed -n 's/^Bottleneck  *\(.*\) of end-to-end time.*/\1/p; s/^Bottleneck  *\(none stands.*\)/\1/p'; }

# pick NAME... : from one run's CSV (kvstat --csv) on standard input, the values of the named columns in
# this order, one a line; "-" for a column that is not there or empty. Texts in quotes may hold commas.
pick() {
    awk -v names="$*" '
        function split_csv(line, into,   n, c, i, text, quoted) {
            n = 1; text = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) { into[n++] = text; text = "" }
                else text = text c
            }
            into[n] = text
            return n
        }
        NR == 1 { n = split_csv($0, head); for (i = 1; i <= n; i++) at[head[i]] = i; next }
        NR == 2 {
            split_csv($0, field)
            n = split(names, want, " ")
            for (i = 1; i <= n; i++) print want[i] in at && field[at[want[i]]] != "" ? field[at[want[i]]] : "-"
        }'
}

# scenario_row NAME FILE...: one line of the comparison table, below $row_head. Several files are trials:
# the line gives their means (kvstat FILE... gives the spread).
row_head='scenario              GiB/s  Tier-2 read  P95 ms  device ms  hit rate  tokens/s  answer P95 s  bottleneck'
scenario_row() {
    label=$1
    shift
    for file; do
        kvstat --by tier,op --csv "$file" | pick throughput.wall.bytes_per_s groups.Tier-2/Read.gib_per_s \
            groups.Tier-2/Read.service_us.p95 groups.Tier-2/Read.device_us.p95 cache.lookups.all.hit_rate \
            throughput.wall.generated_tokens_per_s requests.end_to_end_ms.p95 bottleneck.what | tr '\n' ' '
        echo
    done | awk -v label="$label" '
        function mean(i, scale, digits) { return count[i] ? sprintf("%.*f", digits, sum[i] / count[i] * scale) : "-" }
        { for (i = 1; i <= 7; i++) if ($i != "-") { sum[i] += $i; count[i]++ } what = $8 }
        END {
            printf "%-20s %6s %12s %7s %10s %9s %9s %13s  %s\n", label, mean(1, 1 / 1073741824, 2), mean(2, 1, 2),
                mean(3, 0.001, 1), mean(4, 0.001, 1), mean(5, 1, 3), mean(6, 1, 0), mean(7, 0.001, 2), what
        }'
}
