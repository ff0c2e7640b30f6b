#!/bin/sh
# fast-enough.sh - Is my drive fast enough for model X with N users? PASS or FAIL.
#
# Usage: fast-enough.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  a directory on the drive to test (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 50)
#   -t TIME      length of the run (default: 60)
#   -g MODE      generation: realistic (30 ms per token, the default), fast (2 ms), none
#   -o OUT       directory for trace, result and reports (default: kvtrace-fast-enough)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipeline, run nothing
#
# The whole KV cache goes to the drive, none to memory: a drive that passes this test also
# passes on any machine with memory tiers above it. PASS requires two things:
#   operations   P95 of reads below 200 ms and of writes below 500 ms: kvstat's profile
#                "latency". This needs at least 59 reads and 59 writes
#   answers      at least 90 % of the answers that users would get in the same time from
#                a drive that takes no time, as simulated by kvgen (not with -g none:
#                no drive keeps up with a model that takes no time)
# A drive can complete each operation in time and still keep users waiting, if objects
# queue for it. On FAIL with storage as the bottleneck, try fewer users, more bandwidth, or
# memory tiers above the drive (kvtrace suite). INCONCLUSIVE: too few operations, or
# unreliable figures.
# Exit status: 0 PASS, 1 FAIL, 4 INCONCLUSIVE.
#
# Example: is the drive under /mnt/nvme fast enough for 20 users?
#   examples/fast-enough.sh -u 20 /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --storage-capacity'
mode=realistic
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    -g) value "$@" && mode=$text ;;
    *) option "$@" ;;
    esac
    shift "$words"
done
need kvgen kvreplay kvstat
results "$out"
propose

tell "$(counted "$users" user) of $model for $seconds s on $target"
serve run "$users" "$seconds" --model "$model" --gpu-mem 0 --cpu-mem 0 --storage-capacity "$(sized "$storage")" \
    --generation-mode "$mode"
result=$out/run.result.csv.zst
typed kvstat --profile latency "$result" && exit 0
kvstat --profile latency "$result"
echo

# of WHAT CRITERION: its 95th percentile against the profile's limit, in words.
of() {
    report "$result" "assessment.criteria.$2.actual" "assessment.criteria.$2.target" | tr '\n' ' ' |
        awk -v what="$1" '$1 == "-" { print what " none"; next }
            { printf "%s %.0f ms %s %.0f ms", what, $1, $1 < $2 ? "<" : "NOT BELOW", $2 }'
}
echo "Operations: P95 $(of reads storage_read_p95), $(of writes storage_write_p95)"
ideal=$(pick requests.completed <"$out/run.kvgen.json")
answers=$(report "$result" requests.generation_ms.count | sed 's/^-$/0/')
echo "Answers in $seconds s: $answers by this drive, $ideal by one that takes no time"
echo "Bottleneck: $(bottleneck "$result")"
caution

# Answers: "enough", or "late" when so few of 9 in 10 would come by chance less than once in 20 times, else "few".
if [ "$mode" = none ]; then
    came=enough
else
    came=$(awk -v n="$ideal" -v x="$answers" 'BEGIN {
        if (x >= 0.9 * n) { print "enough"; exit }
        if (n > 300) { print (x - 0.9 * n) / sqrt(0.09 * n) < -1.645 ? "late" : "few"; exit } # normal, its fifth percent
        p = exp(n * log(0.1)) # binomial, term by term
        for (k = 0; k <= x; k++) { sum += p; p *= (n - k) / (k + 1) * 9 }
        print sum < 0.05 ? "late" : "few"
    }')
fi
# lacking WHAT CRITERION: what a verdict lacks, where it is not decided.
lacking() {
    report "$result" "assessment.criteria.$2.passed" "assessment.criteria.$2.samples" \
        "assessment.criteria.$2.independent_samples" "assessment.criteria.$2.samples_to_decide" "assessment.criteria.$2.doubt" | paste -sd ' ' - |
        awk -v what="$1" '
            function counted(n) { return sprintf("%d %s%s", n, what, n == 1 ? "" : "s") }
            $1 != "-" || $2 == "-" { next }
            $2 < 59 { print "only " counted($2) " (59 are the least)"; next }
            $3 != "-" && $3 < 59 { print counted($2) " count as only " int($3) " independent ones (59 are the least)"; next }
            $5 == "-" && $4 != "-" { printf "%s, where about %.0f would decide\n", counted($2), $4; next }
            { print "the times of " what "s cannot be believed" }'
}
verdict=$(report "$result" assessment.status)
if [ "$came" = late ]; then verdict=FAIL; fi
if [ "$came" = few ] && [ "$verdict" = PASS ]; then verdict=INCONCLUSIVE; fi
for_them="fast enough for $(counted "$users" user) of $model"
case $verdict in
PASS)
    answer "PASS: $target is $for_them."
    exit 0
    ;;
FAIL)
    if [ "$came" = late ]; then why="people get $answers of $ideal answers"; else why="reads or writes take too long"; fi
    answer "FAIL: $target is not $for_them: $why."
    exit 1
    ;;
esac
why=$({ lacking read storage_read_p95 && lacking write storage_write_p95; } | paste -sd ';' - | sed 's/;/, /g')
if [ -z "$why" ]; then why="only $answers of $ideal answers came, too few to judge by"; fi
case $why in
"the times"*) todo="repeat it on a quiet machine" ;;
*) if [ "$seconds" -lt 60 ]; then todo="run longer (-t 60)"; else todo="run longer (-t $((seconds * 4)))"; fi ;;
esac
answer "INCONCLUSIVE whether $target is $for_them: $why; $todo."
exit 4
