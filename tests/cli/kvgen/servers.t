#!/bin/sh
# The servers of --tier-model are first come, first served, and never idle while an operation waits. A book of ten lines
# that follows the trace's rows alone gives the waiting times that the summary has, with moves between tiers, promotions
# and few places for writers. A bug looked like a read that waits on an idle tier for the second half of a move, which
# was to begin later. Queues of which theory knows the waiting time follow.
# builds: plain (times; tier_times.t runs the code under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# book TRACE SUMMARY: each server's mean waiting time in us, by the trace and by the summary. Times are in ns.
book() {
    {
        jq -r '.tiers[] | .tier as $t | (.read, .write) as $use | select($use) |
            [$t, (if $use == .read then "Read" else "Write" end), $use.latency_us.count, $use.latency_us.mean] |
            map(tostring) | join(",")' "$2" | sed 's/^/summary,/'
        cat "$1"
    } | awk -F, -v rates="$rates" -v latencies="$latencies" '
        BEGIN {
            n = split(rates, r, " "); split(latencies, l, " ")
            for (i = 1; i <= n; i++) {
                s = "Tier-" int((i - 1) / 2) (i % 2 ? "Read" : "Write"); rate[s] = r[i]; latency[s] = l[i]
            }
        }
        $1 == "summary" {count[$2 $3] = $4; mean[$2 $3] = $5; next}
        $2 == "Read" || $2 == "Write" {
            s = $4 $2; now = $1 * 1e9; transfer = $3 / rate[s]; if (transfer > int(transfer)) transfer = int(transfer) + 1
            begin = now > free[s] ? now : free[s]; free[s] = begin + transfer
            rows[s]++; waited[s] += begin - now; busy[s] += transfer + latency[s]
        }
        END {
            for (s in rows) if (s in count)
                printf "%s %d %d %.6f %.6f\n", s, rows[s], count[s], waited[s] / rows[s] / 1000,
                    mean[s] - busy[s] / rows[s] / 1000
        }' | sort
}
# Of a book: the servers that differ by more than 0.1 % and a ns, or in their number of rows.
wrong() { awk '{d = $4 - $5; if (d < 0) d = -d; if ($2 != $3 || d > 0.001 * $4 + 0.002) print}' "$1"; }

# Ten configurations. Rates are in bytes per ns (GB/s), latencies in ns: of Tier-0 read and write, Tier-1, Tier-2.
configuration() { # NUMBER: sets rates, latencies and the options
    set -- "$(awk -v seed="$1" 'BEGIN {
        srand(seed)
        for (i = 0; i < 6; i++) rates = rates " " int(exp(log(0.4) + rand() * log(100)) * 10) / (i < 2 ? 1 : 10)
        for (i = 0; i < 6; i++) latencies = latencies " " int(rand() * 100000)
        print substr(rates, 2) "|" substr(latencies, 2) "|--num-users " 10 + int(rand() * 40) " --gpu-mem-gb " \
            int(rand() * 3) " --cpu-mem-gb " 1 + int(rand() * 4) " --storage-capacity-gb " 4 + int(rand() * 20) \
            " --config promote=" (rand() < 0.5 ? "none" : "on-hit") (rand() < 0.4 ? " --max-concurrent-allocs 2" : "") \
            " --config eviction=" (rand() < 0.5 ? "lru" : "fifo") " --arrival " \
            (rand() < 0.5 ? "closed" : "poisson --request-rate 8") " --config decode_reads=" (rand() < 0.5 ? "once" : "batch")
    }')"
    rates=${1%%|*} options=${1##*|} latencies=${1#*|}
    latencies=${latencies%%|*}
    options="$options $(echo "$rates $latencies" | awk '{
        for (t = 0; t < 3; t++) if (t > 0 || $0 !~ /none/)
            printf " --tier-model %d=read:%sGB/s,write:%sGB/s,read-lat:%dns,write-lat:%dns", t, $(2 * t + 1),
                $(2 * t + 2), $(2 * t + 7), $(2 * t + 8)
    }')"
    case $options in *"--gpu-mem-gb 0"*) options=$(echo "$options" | sed 's/ --tier-model 0=[^ ]*//') ;; esac
}
moves=0
for number in 1 2 3 4 5 6 7 8 9 10; do
    configuration $number
    with "$options" told "$BIN/kvgen" --model tiny-1b --seed $number --duration 60 --generation-mode fast \
        -o "$TMP/trace.csv" --summary "$TMP/summary.json"
    book "$TMP/trace.csv" "$TMP/summary.json" >"$TMP/book"
    is "configuration $number: each server's waiting time" "$(wrong "$TMP/book")" ""
    like "configuration $number: there are servers" "$(lines "$TMP/book")" '^[46]$'
    ok "configuration $number: the trace is whole" "$BIN/kvstat" --verify-trace "$TMP/trace.csv"
    moves=$((moves + $(grep -c ',Evict,.*,evict,' "$TMP/trace.csv")))
done
ok "objects were demoted ($moves rows)" test "$moves" -gt 5000

# A tier that is hardly busy keeps nobody waiting, also where three tiers move objects.
rates="3352 3352 307.2 307.2 6.8 5.6" latencies="228 228 112 112 80000 15000"
for users in "20 --gpu-mem-gb 8 --cpu-mem-gb 16" "40 --gpu-mem-gb 4 --cpu-mem-gb 8 --storage-capacity-gb 60"; do
    with "--num-users $users" told "$BIN/kvgen" --duration 300 --arrival poisson --request-rate 5 --generation-mode fast \
        --tier-model 0=hbm3 --tier-model 1=ddr5 --tier-model 2=nvme-gen4 -o "$TMP/trace.csv" --summary "$TMP/summary.json"
    book "$TMP/trace.csv" "$TMP/summary.json" >"$TMP/book"
    is "profiles, $users: each server's waiting time" "$(wrong "$TMP/book")" ""
    ok "profiles, $users: a read of Tier-0 takes less than 2 ms" test \
        "$(json "$TMP/summary.json" 'tier("Tier-0").read.latency_us.max | floor')" -lt 2000
done

# Waiting times that theory knows. The bench takes more requests and a tighter limit.
queues=$("$TOP/tests/bench/kvgen-queues.sh" -n 100000 -l 5 2>&1)
diag "$queues"
like "a table" "$queues" '^M/D/3'
unlike "theory" "$queues" 'NO$|error'
done_testing
