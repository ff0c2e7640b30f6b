#!/bin/sh
# twin.sh - Does a simulation with the measured drive agree with the drive?
#
# Usage: twin.sh [OPTION]... DIR MODEL USERS
#
#   DIR          a directory on the drive to test
#   MODEL        the model (see kvgen --list-models)
#   USERS        number of simultaneous users
#   -t SECONDS   length of the run (default: 60)
#   -g MODE      generation: realistic (30 ms per token, the default), fast (2 ms), none
#   -o OUT       directory for measurement, trace, results and reports (default: kvtrace-twin)
#   --drive FILE          a measurement by kvtrace model, instead of a new one
#   --gpu-mem-gb GiB, --cpu-mem-gb GiB   memory for the cache (default: 0, all on the drive)
#   --storage-capacity-gb GiB   capacity for the cache (default: the free space minus a
#                reserve)
#   --gpu-profile PROFILE, --prefill FILE   how long prefills take (see kvgen(1))
#   --print      show the pipeline, run nothing
#
# The drive is measured once (kvtrace model). kvgen simulates a run with that measurement;
# kvreplay serves the same requests from the drive itself. The table shows both and their
# differences: how far the simulation can be trusted. The same users with other tiers, policies
# or drives can then be simulated in seconds. OUT/twin.html has the replay's report.
#
# Example: 20 users of Llama 3.1 8B on the drive under /mnt/nvme
#   examples/twin.sh /mnt/nvme/kv llama3.1-8b 20
. "$(dirname "$0")/common.sh"

takes='-d -o -t --gpu-mem-gb --cpu-mem-gb --storage-capacity-gb'
mode=realistic drive='' gpu=0 cpu=0 operands=0 gpu_options=''
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    -g) mode=$(value "$@") ;;
    --drive) drive=$(value "$@") ;;
    --gpu-profile | --prefill)
        text=$(value "$@")
        case $text in *[!A-Za-z0-9_./:=,@%+-]*) die 2 "$1: \"$text\" has a character that this script does not pass on" ;; esac
        gpu_options="$gpu_options $1 $text"
        ;;
    -?*) option "$@" ;;
    *)
        words=1 operands=$((operands + 1))
        case $operands in
        1) target=$1 ;;
        2) model=$1 ;;
        3) number USERS "$1" && users=$1 ;;
        *) die 2 "$1: unexpected argument (try --help)" ;;
        esac
        ;;
    esac
    shift "$words"
done
if [ "$operands" != 3 ]; then
    if ! printing || [ "$operands" != 0 ]; then die 2 "a directory, a model and a number of users are needed (try --help)"; fi
    target=objects
fi
need kvgen kvreplay kvstat
folders "$out"
if [ -z "$drive" ]; then
    drive=$out/drive.json
    if printing; then
        tell "measure the drive: kvtrace model $(quote "$target") -o $(quote "$drive")"
    else
        say "$suite: measuring the drive: ten minutes at most"
        KVTRACE_COMMAND='kvtrace model' "$examples/model.sh" "$target" -o "$drive" >"$out/drive.txt" ||
            die $? "the drive could not be measured"
    fi
elif ! printing && [ ! -r "$drive" ]; then
    die 2 "--drive: $drive cannot be read"
fi
target=$(inside "$target")
: "${storage:=auto:$(there "$target")}"

tell "simulate $(counted "$users" user) of $model for $seconds s, with the measured drive"
# shellcheck disable=SC2086 # words between blanks
load twin "$users" "$seconds" --model "$model" --gpu-mem-gb "$gpu" --cpu-mem-gb "$cpu" --storage-capacity-gb "$storage" \
    --generation-mode "$mode" --tier-model 2="$drive" $gpu_options
tell "serve the same requests from the drive"
execute twin twin --timing served --workers "$(workers "$users")"
if printing; then
    typed kvstat --html "$out/twin.html" "$out/twin.result.csv.zst"
    exit 0
fi
kvstat --html "$out/twin.html" "$out/twin.result.csv.zst" >/dev/null 2>>"$out/twin.log" || say "$suite: no page: $(tail -1 "$out/twin.log")"

# ---- both beside each other ----

{
    pick tiers.Tier-2.read.latency_us.p50 tiers.Tier-2.read.latency_us.p95 tiers.Tier-2.write.latency_us.p50 \
        tiers.Tier-2.write.latency_us.p95 requests.storage_ms.p50 requests.storage_ms.p95 requests.end_to_end_ms.p50 \
        requests.end_to_end_ms.p95 requests.completed tiers.Tier-2.read.latency_us.count \
        tiers.Tier-2.write.latency_us.count trace.simulated_s tiers.Tier-2.read_bytes tiers.Tier-2.write_bytes \
        requests.first_token_ms.p50 requests.first_token_ms.p95 <"$out/twin.kvgen.json" | tr '\n' ' '
    echo
    pick tiers.Tier-2.read.service_us.p50 tiers.Tier-2.read.service_us.p95 tiers.Tier-2.write.service_us.p50 \
        tiers.Tier-2.write.service_us.p95 <"$out/twin.kvreplay.json" | tr '\n' ' '
    kvstat --by tier,op --json "$out/twin.result.csv.zst" >"$out/twin.kvstat.json"
    pick requests.storage_ms.p50 requests.storage_ms.p95 requests.end_to_end_ms.p50 requests.end_to_end_ms.p95 \
        requests.count <"$out/twin.kvstat.json" | tr '\n' ' '
    pick tiers.Tier-2.read.ops tiers.Tier-2.write.ops elapsed_s tiers.Tier-2.read.bytes tiers.Tier-2.write.bytes \
        <"$out/twin.kvreplay.json" | tr '\n' ' '
    pick requests.first_token_ms.p50 requests.first_token_ms.p95 <"$out/twin.kvstat.json" | tr '\n' ' '
    echo
} >"$out/twin.both"
awk -v model="$model" -v users="$(counted "$users" user)" -v drive="$target" '
    function put(name, a, b, unit, scale) {
        if (a == "-" && b == "-") return
        if (a == "-" || b == "-" || a == 0) { printf "%-28s %12s %12s %12s\n", name, a == "-" ? a : a * scale, b == "-" ? b : b * scale, "-"; return }
        difference = (b / a - 1) * 100
        printf "%-28s %12.4g %12.4g %+10.1f %%\n", name, a * scale, b * scale, difference
        return difference
    }
    NR == 1 { n = split($0, s, " ") }
    NR == 2 { split($0, r, " ") }
    END {
        printf "%-28s %12s %12s %12s\n", users " of " model, "simulated", "replayed", "difference"
        put("storage read P50 ms", s[1], r[1], "", 0.001); p95 = put("storage read P95 ms", s[2], r[2], "", 0.001)
        put("storage write P50 ms", s[3], r[3], "", 0.001); put("storage write P95 ms", s[4], r[4], "", 0.001)
        put("request, storage P50 ms", s[5], r[5], "", 1); put("request, storage P95 ms", s[6], r[6], "", 1)
        put("first token P50 ms", s[15], r[15], "", 1); put("first token P95 ms", s[16], r[16], "", 1)
        put("request, end to end P50 ms", s[7], r[7], "", 1); e2e = put("request, end to end P95 ms", s[8], r[8], "", 1)
        put("storage moved GB/s", (s[13] + s[14]) / s[12], (r[13] + r[14]) / r[12], "", 1e-9)
        if (s[2] == "-" || r[2] == "-") printf "No read reached %s: the memory held all, and nothing was checked.\n", drive
        else printf "The twin of %s is %.1f %% off in the P95 of storage reads and %.1f %% off in the P95 of requests.\n", drive,
            p95 < 0 ? -p95 : p95, e2e < 0 ? -e2e : e2e
    }' "$out/twin.both" >"$out/twin.txt"
sed '$d' "$out/twin.txt"
caution
validity=$(pick valid <"$drive")
if [ "$validity" != true ]; then
    echo "Caution: the measurement of the drive is $(if [ "$validity" = false ]; then echo "unreliable: $(pick why_invalid.0 <"$drive")"; else echo "of unknown validity"; fi)."
fi
tail -n 1 "$out/twin.txt"
