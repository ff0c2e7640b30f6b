#!/bin/sh
# ten-runs.sh - the same question N times: kvtrace drive on one folder with one setting, each run measuring the drive anew. Prints a line
# for each run, then how far the answers are apart, and how many were confirmed.
#   tests/bench/answers/ten-runs.sh [DIR [N [OPTION...]]]    default: /var/tmp, 10; options are those of kvtrace drive
# About a minute and a half a run: run it on a quiet machine. Needs jq.
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/../../.." && pwd)
PATH=${BUILD:-$top/build}/bin:$PATH
case ${1-} in -h | --help) sed -n '2,5s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
disk=${1:-/var/tmp}
times=${2:-10}
if [ $# -gt 2 ]; then shift 2; else set --; fi
tmp=$(mktemp -d "$disk/ten-runs.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

tab=$(printf '\t')
: >"$tmp/table"
printf '%3s %5s  %-18s %-14s %-14s %-24s %s\n' run s 'this drive' 'no drive' ideal 'reads, p50 and p95' confirmed
n=0
while [ "$n" -lt "$times" ]; do
    n=$((n + 1)) status=0 begin=$(date +%s)
    kvtrace drive -o "$tmp/out" "$@" "$tmp/objects" >"$tmp/screen" 2>"$tmp/log" || status=$?
    case $status in
    0 | 1 | 4) ;;
    *)
        echo "$n: status $status: $(tail -n 1 "$tmp/log")"
        continue
        ;;
    esac
    took=$(($(date +%s) - begin))
    jq -r --arg took "$took" '
        def held: "\(.value) (\(.low)-\(.high))";
        def ms: if . then "\(. * 1e4 | round / 10)" else "-" end;
        [$took, (.users.this | held), (.users.none | held), (.users.ideal | held),
        if .confirmed then "\(.confirmed.measured | (.read_p50_s | ms) + ", " + (.read_p95_s | ms)) (\(.confirmed.model | (.read_p50_s | ms) + ", " + (.read_p95_s | ms))) ms" else "-" end,
        if .confirmed.agrees == true then "yes" else "no: \(.confirmed.why // .why // "nothing ran on the drive")" end,
        .users.this.value, .users.this.low, .users.this.high] | @tsv' "$tmp/out/answer.json" >"$tmp/line"
    while IFS=$tab read -r s this none ideal reads confirmed rest; do
        printf '%3d %5s  %-18s %-14s %-14s %-24s %s\n' "$n" "$s" "$this" "$none" "$ideal" "$reads" "$confirmed"
    done <"$tmp/line"
    cat "$tmp/line" >>"$tmp/table"
    rm -f "$tmp/out/drive.json" # else the next run takes the measurement again
done
echo
awk -F '\t' '{ print $7 }' "$tmp/table" | sort -n | awk '
    { v[NR] = $1 }
    END {
        if (!NR) exit
        printf "%d answers: least %d, median %d, most %d; apart by %.1f %% of the median\n", NR, v[1], v[int((NR + 1) / 2)], v[NR],
            v[int((NR + 1) / 2)] ? 100 * (v[NR] - v[1]) / v[int((NR + 1) / 2)] : 0
    }'
awk -F '\t' -v file="$tmp/table" '
    { low[NR] = $8; high[NR] = $9; confirmed += $6 == "yes"; if ($1 > slowest) slowest = $1; sum += $1 }
    END {
        for (i = 1; i <= NR; i++) for (k = i + 1; k <= NR; k++) apart += low[i] > high[k] || low[k] > high[i]
        printf "confirmed: %d of %d; pairs of intervals that do not meet: %d of %d; %.0f s a run, %d s at most\n", confirmed, NR, apart,
            NR * (NR - 1) / 2, NR ? sum / NR : 0, slowest
    }' "$tmp/table"
