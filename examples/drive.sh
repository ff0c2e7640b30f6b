#!/bin/sh
# drive.sh - How fast is this drive for a KV cache? An answer in a minute.
#
# Usage: drive.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  a directory on the drive to test (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous requests (default: 8)
#   -t TIME      length of the run (default: 40)
#   -o OUT       directory for trace, result and reports (default: kvtrace-drive)
#   --storage-capacity SIZE     capacity for the cache (default: the free space minus a
#                reserve)
#   --like ENGINE  also show what the file store of an engine gets: lmcache-fs,
#                lmcache-fs-direct or vllm-fs (see kvreplay(1))
#   --print      show the pipeline, run nothing
#
# The whole KV cache goes to the drive, none to memory, and a model that takes no time
# keeps the drive busy. The measured bandwidth, divided by the bandwidth of one user who
# waits for each answer (30 ms per token), gives the number of users that it supports. How
# long they wait is another question: kvtrace fast-enough judges a given number of users,
# kvtrace users finds the number. A new drive is faster than it will be later: see kvtrace
# precondition.
#
# Examples: the drive under /mnt/nvme, and what LMCache gets from it
#   examples/drive.sh /mnt/nvme/kv
#   examples/drive.sh --like lmcache-fs /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --storage-capacity'
users=8 seconds=40 like=''
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in --like) value "$@" && like=$text ;; *) option "$@" ;; esac
    shift "$words"
done
case $like in
'' | lmcache-fs | lmcache-fs-direct | vllm-fs) ;;
*) die 2 "--like: \"$like\" is not lmcache-fs, lmcache-fs-direct or vllm-fs" ;;
esac
need kvgen kvreplay kvstat
results "$out"
propose
free_runs drive like
free "$out/asked.kvgen.json" "$out/asked.log" "$out/drive.txt"

tell "$target under $(counted "$users" request) of $model at once, for $seconds s"
set -- --model "$model" --gpu-mem 0 --cpu-mem 0 --arrival closed
if [ -n "$like" ]; then set -- "$@" --granularity block:256; fi # an engine moves a block with one call
serve drive "$users" "$seconds" "$@" --storage-capacity "$(sized "$storage")" --generation-mode none
if [ -n "$like" ]; then
    tell "the same as $like does it"
    drive=$target target="file:$target?like=$like"
    execute like drive --timing served --workers "$(workers "$users")" --duration "$seconds"
    target=$drive
fi
tell "what a user asks of it"
set -- kvgen "$@" --users "$users" --duration 600 --generation-mode realistic --summary "$out/asked.kvgen.json" -o none
if ! typed "$@"; then
    writes "$out/asked.kvgen.json" "$out/asked.log"
    "$@" --progress none 2>"$out/asked.log" || die 1 "kvgen failed: $(last_line "$out/asked.log")"
fi
result=$out/drive.result.csv.zst
if printing; then
    typed kvstat --by tier,op "$result"
    if [ -n "$like" ]; then typed kvstat --by tier,op "$out/like.result.csv.zst"; fi
    exit 0
fi

# of RESULT OP: figures of the operations of that kind on storage.
of() {
    in=$1 op=$2
    set --
    for figure in ops gib_per_s size_bytes.mean service_us.p50 service_us.p95; do
        set -- "$@" "groups.Tier-2/$op.$figure"
    done
    report "$in" "$@" | paste -sd ' ' -
}
writes "$out/drive.txt"
{
    echo "reads $(of "$result" Read)"
    echo "writes $(of "$result" Write)"
    if [ -n "$like" ]; then
        echo "$like:reads $(of "$out/like.result.csv.zst" Read)"
        echo "$like:writes $(of "$out/like.result.csv.zst" Write)"
    fi
} >"$out/drive.txt"
awk 'BEGIN { printf "%-25s %8s %10s %12s %9s %9s\n", "", "objects", "GiB/s", "mean MiB", "P50 ms", "P95 ms" }
    function number(n, scale, format) { return n == "-" ? "-" : sprintf(format, n * scale) }
    { sub(/:/, ", ", $1); printf "%-25s %8s %10s %12s %9s %9s\n", $1, $2, number($3, 1, "%.2f"), number($4, 1 / 1048576, "%.1f"),
        number($5, 0.001, "%.1f"), $2 < 59 ? "too few" : number($6, 0.001, "%.1f") }' <"$out/drive.txt"
if [ -n "$like" ]; then
    cached=$(pick evidence.cached_read_share <"$out/like.kvreplay.json")
    case $like in *-direct) cached=- ;; esac
    if [ "$cached" != - ]; then
        echo "$like reads through the page cache: $(awk -v c="$cached" 'BEGIN { printf "%.0f", 100 * c }') % of its bytes came from there."
    fi
    echo "The engine's own time (Python, copies into its pool) is not in these figures."
fi
caution

# Bytes a second that a user asks for: reads and writes of storage in 600 s of virtual time.
asked=$(pick tiers.Tier-2.read_bytes tiers.Tier-2.write_bytes <"$out/asked.kvgen.json" |
    awk -v users="$users" '{ sum += $1 } END { print sum / 600 / users }')
given=$(report "$result" throughput.wall.bytes_per_s)
readable "$target"
drive=$readable
readable "$model"
drive=$drive model=$readable awk -v asked="$asked" -v given="$given" '
    function rate(n) { return n == "-" ? "nothing" : sprintf("%.2f GiB/s", n) }
    function time(us) { return us < 999500 ? sprintf("%.3g ms", us / 1000) : sprintf("%.3g s", us / 1000000) }
    $1 == "reads" { read = $3; p95 = $2 < 59 ? "" : ", 95 % of the reads within " time($6) }
    $1 == "writes" { written = $3 }
    $1 ~ /:reads$/ { engine = $1; sub(/:.*/, "", engine); as_engine = rate($3) }
    $1 ~ /:writes$/ { as_engine = "; as " engine " does it, it reads " as_engine " and writes " rate($3) }
    END {
        users = asked > 0 ? int(given / asked) : 0
        enough = users < 1 ? "not enough bandwidth for one user" : \
            sprintf("bandwidth for %d %s who wait%s for each answer", users, users == 1 ? "user" : "users", users == 1 ? "s" : "")
        printf "This drive (%s) reads %s and writes %s of the KV cache of %s%s: %s%s.\n", ENVIRON["drive"], rate(read), rate(written), ENVIRON["model"],
            p95, enough, as_engine
    }' <"$out/drive.txt"
