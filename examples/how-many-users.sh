#!/bin/sh
# how-many-users.sh - how many users can this machine serve before its storage is too slow for them?
#
#   examples/how-many-users.sh [-m MODEL] [-d DIR] [-o OUT] [-l LIMIT] [-x MAX] [-t SECONDS]
#
#   -m MODEL   llama3.1-8b; -d DIR where objects go and the sizes of the tiers (--gpu-mem-gb, --cpu-mem-gb,
#              --storage-capacity-gb GiB): discover.sh's proposal unless given
#   -l LIMIT   what a read of storage may take at the 95th percentile: 100ms
#   -x MAX     users to try at most: 1000; -t SECONDS of each step: 20, a quarter of it more to settle
#   -o OUT     the folder for the summary of all steps; default kvtrace-how-many-users
#
# kvreplay tries numbers of users, a fresh trace for each, and closes in on the largest that keeps the
# limit. The answer is that number, on the last line: beyond it, users wait for storage. Ask twice; on a quiet machine the
# answers lie within a tenth of each other. If they don't, something else uses the drive.
. "$(dirname "$0")/common.sh"

takes='-m -d -o -t --gpu-mem-gb --cpu-mem-gb --storage-capacity-gb'
limit=100ms most=1000 seconds=20
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    -l) limit=$(value "$@") ;;
    -x) most=$(value "$@") ;;
    *) option "$@" ;;
    esac
    shift 2
done
need kvgen kvreplay
propose
mkdir -p "$out"

settle=$((seconds / 4 + 1)) status=0
rm -f "$out/autoscale.json" "$out/kvgen.log"
# The trace of each step is longer than the step: no run ends for want of requests.
kvreplay --nvme "$target" --autoscale qos --storage-p95 "$limit" --start-users 2 --max-users "$most" \
    --step-warmup "$settle" --step-duration "$seconds" --summary "$out/autoscale.json" \
    --each "kvgen --model $model --gpu-mem-gb $gpu --cpu-mem-gb $cpu --storage-capacity-gb $storage \
        --duration $((seconds + settle + 30)) --num-users {N} --progress none 2>>'$out/kvgen.log'" >/dev/null || status=$?
found=$(sed -n '/"autoscaling": {/,/}/s/.*"users": \([0-9]*\).*/\1/p' "$out/autoscale.json" 2>/dev/null || :)
if [ "${found:-0}" = 0 ]; then
    [ "$status" = 1 ] && echo "Not even one user of $model is served with 95 % of storage reads within $limit."
    [ "$status" = 2 ] && grep '^kvgen: ' "$out/kvgen.log" >&2
    exit "$status"
fi
echo "$(counted "$found" user) of $model can be served with 95 % of storage reads within $limit."
if [ "$found" = "$most" ]; then echo "That is the most that were tried: give a larger -x to look for more."; fi
exit "$status"
