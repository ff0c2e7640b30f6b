#!/bin/sh
# kvgen-vs-benchmark.sh - compares kvgen --compat mlperf with measured runs of the MLPerf Storage KV-cache benchmark.
#
#   kvgen-vs-benchmark.sh [-n SEEDS] [-p] [-x OPTIONS] FOLDER [CONFIG...]
#
#   -n SEEDS    runs of kvgen for each measured run (10)
#   -p          plain kvgen, without --compat
#   -x OPTIONS  more options of kvgen
#
# FOLDER holds CONFIG.json (the arguments of a run and its counts for each seed) and users_seedN.csv (the users that the
# seed drew). kvgen runs with these users and seeds of its own. For each quantity the table has the measured run, the
# mean of kvgen's runs, their difference, the limit, and whether it is within. "one run" is the standard deviation of
# kvgen's runs. The benchmark, which has one run for each seed, scatters as much, so that the last column, the
# difference in these deviations, shows how much chance explains. A line "all" follows for each quantity: the mean of
# the differences over the measured seeds and, after "+-", their standard deviation, which is the scatter of the
# benchmark itself, since both sides have the same users. A systematic difference stands out there.
#
# The last lines: how many differences are within their limit, and how many of the others lie within two deviations of
# one run; how many a program that does exactly what the benchmark does would have beyond the limits by chance; and how
# many of the lines "all" are within. Then the verdict, on both: PASS, or FAIL where a line "all" is beyond its limit,
# or more single ones than chance explains: its mean and three deviations. Lines of one run move together, about four
# at a time (rows and bytes, what moves and what is read), which doubles the deviation. A single run says little: the
# benchmark's own scatter by up to 7 %.
#
# Exit status: 0 PASS, or skipped; 1 FAIL; 2 a configuration cannot run, or has nothing to compare, and says so.
#
# Where the benchmark's workers keep up, everything is compared. In b, d and i they do not: there only the completed
# requests and the tiers of the decode reads are compared.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
seeds=10 compat='--compat mlperf' extra=
while getopts n:px: option; do
    case $option in
    n) seeds=$OPTARG ;;
    p) compat= ;;
    x) extra=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || { echo "kvgen-vs-benchmark.sh: skipped (give the folder of the measured runs)"; exit 0; }
command -v jq >/dev/null || { echo "kvgen-vs-benchmark.sh: skipped (needs jq)"; exit 0; }
folder=$1
shift
[ $# -gt 0 ] || set -- a b c d e g h i j k
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvgen-vs.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM

# Ends the script, also from within a pipe, whose reader goes on: the table is then cut, and its end looks for the file.
cannot_run() { # WHY
    echo "kvgen-vs-benchmark.sh: $1" | tee "$TMP/failed" >&2
    exit 2
}
[ -x "$BIN/kvgen" ] || cannot_run "$BIN/kvgen is not there: build it"
for config; do
    [ -r "$folder/$config.json" ] || cannot_run "there is no configuration $folder/$config.json"
    # What the other loop needs to know of it, since jq takes longer to start than kvgen to run.
    jq -r '"\(.bytes_per_token / .tensor_parallel) \((.arguments | capture("--duration (?<s>[0-9]+)").s | tonumber * 500) // "")",
        (.seeds | keys | join(" ")), .arguments' "$folder/$config.json" >"$TMP/about.$config" || cannot_run "$config: no measured run"
    seeds_of=$(sed -n 2p "$TMP/about.$config")
    [ -n "$seeds_of" ] || cannot_run "$config: no measured run"
    for seed in $seeds_of; do
        [ -r "$folder/users_seed$seed.csv" ] || cannot_run "$config: there is no $folder/users_seed$seed.csv"
    done
done

# The counts of a run, as lines "NAME VALUE". Sizes are in tokens.
measured() { # CONFIG SEED
    jq -r --arg seed "$2" '.seeds[$seed] | . as $r |
        "issued \(.requests_issued)", "completed \(.requests_completed)",
        (.rows_by_op_tier_phase | to_entries[] | "rows/\(.key) \(.value)"),
        (.bytes_by_op_tier_phase | to_entries[] | "bytes/\(.key) \(.value)"),
        (.rows_by_op_tier_phase | with_entries(select(.key | test("^Read/.*/Decode$"))) | add as $all |
            to_entries[] | "share/\(.key) \(100 * .value / $all)"),
        (.prefill_write_tokens | select(.n > 0) | "size_mean \(.mean)", "size_p50 \(.p50)", "size_p95 \(.p95)"),
        (.turns_per_conversation_begun_first_half | select(. != null) | "turns_mean \(.mean)"),
        "hit_rate_all \(.cache_hit_rate)",
        (select(.multi_turn_hit_rate > 0) | "hit_rate_multi_turn \(.multi_turn_hit_rate)")' "$folder/$1.json"
}
counted() { # SUMMARY...
    jq -r '"issued \(.requests.issued)", "completed \(.requests.completed)",
        (.rows_by[] | select(.op == "Read" or .op == "Write") |
            "rows/\(.op)/\(.tier)/\(.phase) \(.rows)", "bytes/\(.op)/\(.tier)/\(.phase) \(.bytes)"),
        ([.rows_by[] | select(.op == "Read" and .phase == "Decode")] | (map(.rows) | add) as $all | .[] |
            "share/Read/\(.tier)/Decode \(100 * .rows / $all)"),
        (.lookups | "hit_rate_all \(.all.hit_rate)",
            (.multi_turn.hit_rate | select(. != null) | "hit_rate_multi_turn \(.)"))' "$@"
}
# The sizes of the objects that requests wrote, and the turns of conversations that began in the first half; a key
# ends in the time of the beginning and the turn.
sizes_and_turns() { # the writes on standard input
    sort -n | awk -F '[ _]' -v half="$half_ms" '
        $1 >= 0 {size[++n] = $1; sum += $1}
        $2 == "conv" && $(NF - 2) < half {
            turns++
            key = $0
            sub(/^[0-9]+ /, "", key)
            sub(/_turn_[0-9]+$/, "", key)
            if (!(key in begun)) {begun[key] = 1; conversations++}
        }
        function percentile(p,  at, low) {
            at = 1 + (n - 1) * p / 100; low = int(at)
            return low < n ? size[low] + (at - low) * (size[low + 1] - size[low]) : size[n]
        }
        END {
            if (n > 0) print "size_mean", sum / n "\nsize_p50", percentile(50) "\nsize_p95", percentile(95)
            if (conversations > 0) print "turns_mean", turns / conversations
        }'
}
# Of the arguments of a run, those that decide its trace. The others say what the benchmark does with it (its drive, its
# outputs, how many writes it makes at once, what it is judged by), how the users were drawn (the seed, whose users are in
# a file here), or have no effect in trace mode. --request-rate does nothing for synthetic users there.
arguments() { # CONFIG
    sed 1,2d "$TMP/about.$1" | tr -s ' =' '\n' | awk '
        skip > 0 {skip--; next}
        /^--(config|cache-dir|output|xlsx-output|log-level|performance-profile|seed|io-trace-log|validation-trace)$/ ||
        /^--(max-concurrent-allocs|autoscaler-mode|target-saturation|precondition-size-gb|precondition-threads)$/ {skip = 1; next}
        /^--(enable-latency-tracing|precondition|enable-autoscaling)$/ {next}
        /^--request-rate$/ {rate = 1; next}
        rate == 1 {rate = $0; next}
        /^--max-conversations$/ {conversations = 1; next}
        conversations == 1 {conversations = $0; next}
        /^--(trace-speedup|replay-cycles)$/ {name = $0; next}
        name != "" {timed = timed name "\n" $0 "\n"; name = ""; next}
        /^--rag-num-docs$/ {documents = 1; next}
        documents == 1 {documents = $0; next}
        /^--enable-rag$/ {rag = 1}
        /^--use-burst-trace$/ {burst = 1}
        /^--burst-trace-path$/ {path = 1; next}
        path == 1 {path = $0; next}
        /^--dataset-path$/ {dataset = 1}
        {print}
        END {
            if (burst && path) print "--burst-trace-path\n" path
            if (burst || dataset) printf "%s", timed
            if (dataset && rate) print "--request-rate\n" rate
            if (dataset && conversations) print "--max-conversations\n" conversations
            if (rag && documents) print "--rag-num-docs\n" documents
        }'
}
run() { # CONFIG USERS SEED: one run of kvgen, with $TMP/arguments
    run_config=$1 run_users=$2 run_seed=$3
    set --
    while IFS= read -r word; do set -- "$@" "$word"; done <"$TMP/arguments"
    for word in $compat $extra; do set -- "$@" "$word"; done
    "$BIN/kvgen" "$@" --users-file "$run_users" --seed "$run_seed" --summary "$TMP/summary.$run_seed" --progress none --format mlperf --epoch 0 -o - \
        2>"$TMP/err" |
        awk -F, -v unit="$token_bytes" '$6 == "Prefill" && $5 !~ /^(prepop|kv_system|system)_/ {
            printf "%.0f %s\n", $3 / unit, $5}' >"$TMP/writes"
    # kvgen saves its summary last, and only where it did not fail.
    [ -s "$TMP/summary.$run_seed" ] || cannot_run "$run_config, seed $run_seed: kvgen failed: $(cat "$TMP/err")"
    sizes_and_turns <"$TMP/writes"
}

# The table's lines of one measured run, from $TMP/measured and, of all runs of kvgen, $TMP/simulated.
beside() { # CONFIG SEED
    awk -v config="$1" -v seed="$2" -v runs="$seeds" '
        FNR == 1 {file++}
        file == 1 {want[$1] = $2; order[++names] = $1; next}
        {if (!($1 in got) && !($1 in want)) {want[$1] = 0; order[++names] = $1}
         got[$1] += $2; square[$1] += $2 * $2}
        function mean(name) {return got[name] / runs}
        function spread(name,  m, v) {
            m = mean(name); v = square[name] / runs - m * m
            return v > 0 ? sqrt(v) : 0
        }
        function line(name, difference, limit, unit, sd,  a, b, places, digits) {
            a = want[name]; b = mean(name); places = a < 100 ? 4 : 0; digits = unit == "" ? 4 : 2
            printf "%-2s %4s  %-26s %19.*f %19.*f ", config, seed, name, places, a, places, b
            printf "%+8.*f%-2s %6g%-2s  ", digits, difference, unit, limit, unit
            printf "%-3s  ", (difference <= limit && difference >= -limit ? "yes" : "NO")
            printf "%7.*f%-2s %8.1f\n", digits, sd, unit, (sd > 0 ? difference / sd : 0)
        }
        function relative(name, limit,  a) {
            a = want[name]
            if (a != 0) line(name, 100 * (mean(name) / a - 1), limit, "%", 100 * spread(name) / a)
            else line(name, 100, limit, "%", 0)
        }
        function absolute(name, limit, unit) {line(name, mean(name) - want[name], limit, unit, spread(name))}
        # Less than one row in a hundred on both sides is not compared.
        function small(name,  rows) {
            rows = name; sub(/^[a-z]*/, "rows", rows)
            return want[rows] < all / 100 && mean(rows) < all / 100
        }
        END {
            overloaded = config ~ /^[bdi]$/
            for (i = 1; i <= names; i++) if (order[i] ~ /^rows/) all += want[order[i]]
            for (i = 1; i <= names; i++) {
                name = order[i]
                if (overloaded) {
                    if (name == "completed") relative(name, 10)
                    else if (name ~ /^share/) absolute(name, 5, "pt")
                } else if (name ~ /^(issued|completed)$/) relative(name, 3)
                else if (name ~ /^(rows|bytes)/ && !small(name)) relative(name, 6)
                else if (name ~ /^size/) relative(name, 5)
                else if (name ~ /^turns/) relative(name, 10)
                else if (name ~ /^hit_rate/) absolute(name, 0.02, "")
            }
        }' "$TMP/measured" "$TMP/simulated"
}

# The lines of one configuration, and after them the lines "all".
together() {
    awk '{
            print
            unit = $6; gsub(/[-+.0-9]/, "", unit); difference = $6 + 0
            if (!($3 in n)) {name[++names] = $3; of[$3] = unit}
            n[$3]++; sum[$3] += difference; square[$3] += difference * difference; config = $1; limit[$3] = $7
        }
        END {
            for (i = 1; i <= names; i++) {
                q = name[i]; mean = sum[q] / n[q]; digits = of[q] == "" ? 4 : 2
                variance = n[q] > 1 ? (square[q] - n[q] * mean * mean) / (n[q] - 1) : 0
                within = mean <= limit[q] + 0 && mean >= -limit[q] ? "yes" : "NO"
                printf "%-2s %4s  %-26s %19s %19s ", config, "all", q, "", ""
                printf "%+8.*f%-2s %8s  %-3s  ", digits, mean, of[q], limit[q], within
                printf "+- %.*f%s\n", digits, (variance > 0 ? sqrt(variance) : 0), of[q]
            }
        }'
}

printf '%-2s %4s  %-26s %19s %19s %10s %8s  %-4s %9s %8s\n' '' seed quantity benchmark "kvgen, mean of $seeds" \
    difference limit within 'one run' 'in sigma'
for config; do
    {
        read -r token_bytes half_ms
        read -r seeds_of
    } <"$TMP/about.$config"
    arguments "$config" >"$TMP/arguments"
    for seed in $seeds_of; do
        measured "$config" "$seed" >"$TMP/measured"
        : >"$TMP/simulated"
        i=0
        while [ $((i += 1)) -le "$seeds" ]; do
            run "$config" "$folder/users_seed$seed.csv" $i >>"$TMP/simulated"
        done
        counted "$TMP"/summary.* >>"$TMP/simulated"
        rm "$TMP"/summary.*
        beside "$config" "$seed" >"$TMP/lines"
        [ -s "$TMP/lines" ] || cannot_run "$config, seed $seed: nothing to compare"
        cat "$TMP/lines"
    done | together
    [ ! -e "$TMP/failed" ] || exit 2
done | tee "$TMP/table"
[ ! -e "$TMP/failed" ] || exit 2
awk '# The probability of a normal deviate beyond z, on either side; Abramowitz and Stegun, 7.1.26.
    function beyond(z,  t, sum) {
        z /= sqrt(2)
        t = 1 / (1 + 0.3275911 * z)
        sum = 0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
        return t * sum * exp(-z * z)
    }
    $2 == "all" {all++; if ($6 == "yes") kept++; else off = off " " $1 ":" $3; next}
    $9 + 0 > 0 {p = beyond(($7 + 0) / ($9 * sqrt(1 + 1 / runs))); chances += p; variance += p * (1 - p)}
    {n++; if ($8 == "yes") yes++; else if ($NF <= 2 && $NF >= -2) chance++}
    END {
        print "within: " yes + 0 " of " n "; of the others within two deviations of one run: " chance + 0
        printf "beyond: %d; of a program that is the benchmark, ", n - yes
        printf "%.1f +- %.1f would be by chance\n", chances, sqrt(variance)
        print "all seeds together, within: " kept + 0 " of " all
        most = chances + 3 * 2 * sqrt(variance)
        if (kept < all) print "FAIL: beyond the limits over all seeds:" off
        if (n - yes > most)
            printf "FAIL: %d single lines are beyond the limits, by chance at most %.0f\n", n - yes, most
        if (kept < all || n - yes > most) exit 1
        print "PASS"
    }' runs="$seeds" "$TMP/table"
