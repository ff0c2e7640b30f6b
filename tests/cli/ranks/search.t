#!/bin/sh
# search.t - kvreplay-mpi --autoscale: N users are divided over the ranks, each step starts on all of them, rank 0 decides by the
# figures of all rows, and the others follow. A bug looked like ranks that searched each for itself, or a P95 that was that of one
# rank or a mean.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi
# shellcheck source=tests/cli/ranks/searching.sh
. "$TOP/tests/cli/ranks/searching.sh"

near() {
    low=$1 high=$2
    shift 2
    search "$@" && found=$(json s.json .autoscaling.users) && [ "$found" -ge "$low" ] && [ "$found" -le "$high" ] && return
    cat stderr
    return 1
}
ok "qos on three ranks: three times 20 users" tries 4 near 48 66 3 --autoscale qos --start-users 45 --config saturation_detection.read_latency_p95_threshold_ms=100
json_like s.json <<'END'
users are the sum        | ([.ranks.list[].users] | add) == .autoscaling.users | true
which are divided evenly | [.ranks.list[].users] | max - min <= 1 | true
a worker for each        | .ranks.list | map(.users == .summary.served.workers) | all | true
of three ranks           | .autoscaling.ranks, .ranks.count | 3 3
the answer is confirmed  | .autoscaling_stats[-1] | .action | confirm
the P95 is that of rows  | .autoscaling_stats[-1].storage_read_p95_ms as $p | [.groups[].service_us.p95 == ($p * 1e6 | round / 1e3)] | length > 0 and all | true
they start together      | .ranks.start_spread_us < 1e6 | true
END
is "rank 0 alone speaks" "$(grep -c 'kvreplay-mpi: step 1: 45 users: ' stderr)" 1
like "and says the sum" "$(tail -n 1 stderr)" "^kvreplay-mpi: largest number of users within the limits: $(json s.json .autoscaling.users) users, "
is "rows of all ranks are results" "$("$BIN/kvstat" --json r.csv.zst 2>/dev/null | jq -c '[.run.autoscaling.users, (.rows > 100)]')" "[$(json s.json .autoscaling.users),true]"
ok "capacity: the knee of two drives" tries 4 near 17 24 2 --autoscale capacity --start-users 8

# Rank 1 has reads of 100 ms, rank 0 short ones, so many a second.
cat >slow <<'END'
#!/bin/sh
awk -v slow="$1" -v rate="$2" 'BEGIN {
    size = slow ? 2000000 : 1000
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival"
    printf "0,Write,%d,Tier-2,k,Prefill,,\n", size
    for (i = 0; i < rate; i++) printf "%.3f,Read,%d,Tier-2,k,Decode,%d,%.3f\n", i / rate, size, i, i / rate
}'
END
chmod +x slow
# pooled RATE FILTER: a step of two ranks.
pooled() {
    search 2 --autoscale qos --start-users 2 --max-users 2 --search-time 1ms --config saturation_detection.read_latency_p95_threshold_ms=10000 --each "./slow {rank} $1" &&
        jq -e ".autoscaling_stats[0].storage_read_p95_ms | $2" s.json
}
ok "the P95 is that of all rows: a few slow ones" tries 4 pooled 500 '. < 60'
ok "and many" tries 4 pooled 20 '. > 90'

# ---- a store that all share ----

exits "one store" 0 timeout 100 "$mpirun" -np 2 "$BIN/kvreplay-mpi" --cpu-mem 1MiB --shared-target --target d --autoscale capacity --each './gen {N}' --step-warmup 0 \
    --step-duration 200ms --start-users 2 --max-users 4 --config spin=0 --config lateness_budget=10s --summary s.json -o r.csv
is "nothing is left there" "$(find d 2>/dev/null; json s.json .autoscaling.ranks)" 2
rm r.csv
done_testing
