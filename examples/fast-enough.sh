#!/bin/sh
# fast-enough.sh - is my drive fast enough for model X with N users? PASS or FAIL.
#
#   examples/fast-enough.sh [-m MODEL] [-u USERS] [-d DIR] [-o OUT] [-t SECONDS]
#
#   -m MODEL   llama3.1-8b; -u USERS at once: 50; -t SECONDS of the run: 60
#   -d DIR     a folder on the drive in question; discover.sh's choice unless given
#   -o OUT     the folder for trace, result and report; default kvtrace-fast-enough
#   -g MODE    generation: realistic (30 ms a token, the default), fast (2 ms), none
#   --storage-capacity-gb GiB   what the cache may fill; default: three quarters of what is free there
#
# All of the KV cache goes to the drive, none to memory: if the drive passes this it passes any machine
# with memory before it. PASS wants two things:
#   operations   kvstat's profile "latency": P95 of reads below 200 ms, of writes below 500 ms, from their start and,
#                where they were due at a time, from then
#   answers      at least 90 % of those that users would get in the same time from a drive that takes none, as
#                kvgen simulates it (not with -g none, where no drive keeps up with a model that takes no time)
# A drive can do each operation in time and still keep people waiting, when objects wait in the host for their turn
# on it. After kvstat's report the last lines tell both, the bottleneck, and the verdict. On FAIL with storage as the
# bottleneck, or a queue that storage makes long, fewer users would do, or more bandwidth, or memory before the
# drive (suite.sh).
# When the figures are not to be believed, or too few to judge by, it is INCONCLUSIVE.
# Exit status: 0 PASS, 1 FAIL, 4 INCONCLUSIVE.
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --storage-capacity-gb'
mode=realistic
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -g) mode=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
need kvgen kvreplay kvstat
propose
mkdir -p "$out"

say "$suite: $(counted "$users" user) of $model for $seconds s on $target"
serve run "$users" "$seconds" --model "$model" --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb "$storage" \
    --generation-mode "$mode"
kvstat --profile latency "$out/run.result.csv.zst"
verdict=$(kvstat --profile latency --csv "$out/run.result.csv.zst" | pick assessment.status)
echo
# of OPERATION COLUMN: its 95th percentile against the profile's limit, in words.
of() {
    kvstat --profile latency --csv "$out/run.result.csv.zst" |
        pick "assessment.criteria.$2.actual" "assessment.criteria.$2.target" | tr '\n' ' ' |
        awk -v what="$1" '$1 == "-" { print what " none"; next }
            { printf "%s %.0f ms %s %.0f", what, $1, $1 < $2 ? "of" : "ABOVE", $2 }'
}
echo "Operations: P95 $(of reads storage_read_p95), $(of writes storage_write_p95)"
ideal=$(figure "$out/run.kvgen.json" completed)
answers=$(kvstat --csv "$out/run.result.csv.zst" | pick requests.generation_ms.count)
if [ "$answers" = - ]; then answers=0; fi
few=''
if [ "$mode" != none ] && [ "$((answers * 10))" -lt "$((ideal * 9))" ]; then few=': TOO FEW, below 90 %'; fi
echo "Answers in $seconds s: $answers by this drive, $ideal by one that takes no time$few"
echo "Bottleneck: $(bottleneck "$out/run.result.csv.zst")"
caution
# Too few answers are a FAIL whatever the operations show; few operations pass nothing.
if [ -n "$few" ]; then verdict=FAIL; fi
for_them="fast enough for $(counted "$users" user) of $model"
case $verdict in
PASS) echo "PASS: $target is $for_them" ;;
FAIL) echo "FAIL: $target is not $for_them" ;;
*) echo "INCONCLUSIVE whether $target is $for_them: repeat the run, longer or on a quiet machine" ;;
esac
case $verdict in
PASS) exit 0 ;;
FAIL) exit 1 ;;
*) exit 4 ;;
esac
