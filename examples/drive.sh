#!/bin/sh
# drive.sh - How fast is this drive for a KV cache? An answer in a minute.
#
# Usage: drive.sh [OPTION]... [DIR]
#
#   DIR, -d DIR  a directory on the drive to test (default: the one that kvtrace discover
#                proposes)
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous requests (default: 8)
#   -t SECONDS   length of the run (default: 40)
#   -o OUT       directory for trace, result and reports (default: kvtrace-drive)
#   --storage-capacity-gb GiB   capacity for the cache (default: the free space minus a
#                reserve)
#   --print      show the pipeline, run nothing
#
# The whole KV cache goes to the drive, none to memory, and a model that takes no time
# keeps the drive busy. The measured bandwidth, divided by the bandwidth of one user who
# waits for each answer (30 ms per token), gives the number of users that it supports. How
# long they wait is another question: kvtrace fast-enough judges a given number of users,
# kvtrace users finds the number. A new drive is faster than it will be later: see kvtrace
# precondition.
#
# Example: the drive under /mnt/nvme
#   examples/drive.sh /mnt/nvme/kv
. "$(dirname "$0")/common.sh"

takes='-m -u -d -o -t --storage-capacity-gb'
users=8 seconds=40
common_options "$@"
need kvgen kvreplay kvstat
folders "$out"
propose

tell "$target under $(counted "$users" request) of $model at once, for $seconds s"
set -- --model "$model" --gpu-mem-gb 0 --cpu-mem-gb 0 --arrival closed
serve drive "$users" "$seconds" "$@" --storage-capacity-gb "$storage" --generation-mode none
tell "what a user asks of it"
set -- kvgen "$@" --num-users "$users" --duration 600 --generation-mode realistic --summary "$out/asked.kvgen.json" -o none
typed "$@" || "$@" --progress none 2>"$out/asked.log" || die 1 "kvgen failed: $(tail -1 "$out/asked.log")"
result=$out/drive.result.csv.zst
if printing; then
    typed kvstat --by tier,op "$result"
    exit 0
fi

# of OP FIGURE...: figures of the operations of that kind on storage.
of() {
    op=$1
    shift
    for figure; do set -- "$@" "groups.Tier-2/$op.$figure" && shift; done
    report "$result" "$@" | paste -sd ' ' -
}
{
    echo "reads $(of Read ops gib_per_s size_bytes.mean service_us.p50 service_us.p95)"
    echo "writes $(of Write ops gib_per_s size_bytes.mean service_us.p50 service_us.p95)"
} >"$out/drive.txt"
awk 'BEGIN { printf "%-8s %8s %10s %12s %9s %9s\n", "", "objects", "GiB/s", "mean MiB", "P50 ms", "P95 ms" }
    function number(n, scale, format) { return n == "-" ? "-" : sprintf(format, n * scale) }
    { printf "%-8s %8s %10s %12s %9s %9s\n", $1, $2, number($3, 1, "%.2f"), number($4, 1 / 1048576, "%.1f"),
        number($5, 0.001, "%.1f"), $2 < 59 ? "too few" : number($6, 0.001, "%.1f") }' "$out/drive.txt"
caution

# Bytes a second that a user asks for: reads and writes of storage in 600 s of virtual time.
asked=$(pick tiers.Tier-2.read_bytes tiers.Tier-2.write_bytes <"$out/asked.kvgen.json" |
    awk -v users="$users" '{ sum += $1 } END { print sum / 600 / users }')
given=$(report "$result" throughput.wall.bytes_per_s)
awk -v drive="$target" -v model="$model" -v asked="$asked" -v given="$given" '
    function rate(n) { return n == "-" ? "nothing" : sprintf("%.2f GiB/s", n) }
    function time(us) { return us < 999500 ? sprintf("%.3g ms", us / 1000) : sprintf("%.3g s", us / 1000000) }
    $1 == "reads" { read = $3; p95 = $2 < 59 ? "" : ", 95 % of the reads within " time($6) }
    $1 == "writes" { written = $3 }
    END {
        users = asked > 0 ? int(given / asked) : 0
        enough = users < 1 ? "not enough bandwidth for one user" : \
            sprintf("bandwidth for %d %s who wait%s for each answer", users, users == 1 ? "user" : "users", users == 1 ? "s" : "")
        printf "This drive (%s) reads %s and writes %s of the KV cache of %s%s: %s.\n", drive, rate(read), rate(written), model,
            p95, enough
    }' "$out/drive.txt"
