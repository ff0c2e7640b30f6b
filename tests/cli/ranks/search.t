#!/bin/sh
# search.t - kvreplay-mpi --autoscale: N users are divided over the ranks, each step starts on all of them, rank 0 decides by the
# figures of all rows, and the others follow. What one rank cannot do, a signal to one of them, and one that is lost end the
# search for all. A bug looked like ranks that searched each for itself, a P95 that was that of one rank or a mean, or a rank
# that waited for a step which the others did not run.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
needs_mpi
cd "$TMP" || exit 1

# The trace of N users over a second: each reads its object every 50 ms.
cat >gen <<'END'
#!/bin/sh
exec awk -v n="$1" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Class,Tokens,Arrival,Duration_us"
    for (u = 0; u < n; u++) printf "0,Write,100000,Tier-2,s%d,Prefill,,,prepop,,,\n", u
    for (i = 0; i < 20 * n; i++) {
        t = i * 0.05 / n
        printf "%.6f,Read,100000,Tier-2,s%d,Decode,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Generate,0,,,,%d,interactive,,10,%.6f,1000\n", t, i, t
    }
}'
END
chmod +x gen
# search RANKS OPTIONS...: on drives of 20 MB/s, each of which 10 users keep busy, and 20 keep waiting for 100 ms.
search() {
    n=$1
    shift
    rm -f s.json
    timeout 100 "$mpirun" -np "$n" "$BIN/kvreplay-mpi" --each "./gen {N}" --step-warmup 50ms --step-duration 300ms --spin 0 \
        --lateness-budget 10s --tier-engine 2=sim:bw=20MB/s --summary s.json -o r.csv.zst "$@" 2>stderr
}
near() {
    low=$1 high=$2
    shift 2
    search "$@" && found=$(json s.json .autoscaling.users) && [ "$found" -ge "$low" ] && [ "$found" -le "$high" ] && return
    cat stderr
    return 1
}
ok "qos on three ranks: three times 20 users" tries 4 near 48 66 3 --autoscale qos --start-users 45 --storage-p95 100ms
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
    search 2 --autoscale qos --start-users 2 --max-users 2 --search-time 1ms --storage-p95 10s --each "./slow {rank} $1" &&
        jq -e ".autoscaling_stats[0].storage_read_p95_ms | $2" s.json
}
ok "the P95 is that of all rows: a few slow ones" tries 4 pooled 500 '. < 60'
ok "and many" tries 4 pooled 20 '. > 90'

# ---- a store that all share ----

exits "one store" 0 timeout 100 "$mpirun" -np 2 "$BIN/kvreplay-mpi" --shared-target --target d --autoscale capacity --each './gen {N}' --step-warmup 0 \
    --step-duration 200ms --start-users 2 --max-users 4 --spin 0 --lateness-budget 10s --summary s.json -o r.csv
is "nothing is left there" "$(find d 2>/dev/null; json s.json .autoscaling.ranks)" 2
rm r.csv

# ---- refused ----

# refused NAME STATUS WHAT ARGUMENTS...
refused() {
    name=$1 wanted=$2 what=$3
    shift 3
    rm -f r.csv.zst
    search "$@"
    is "$name: exit status" $? "$wanted"
    like "$name: is told" "$(cat stderr)" "$what"
    is "$name: once" "$(grep -c '^kvreplay-mpi: ' stderr)" 1
    not_ok "$name: there is no result" test -e r.csv.zst
}
refused "a command that fails at one rank" 2 '^kvreplay-mpi: rank 1 on [^:]*: --each: the command for 5 users ended with status 7' 2 \
    --autoscale qos --each 'if [ {rank} = 1 ]; then exit 7; fi; ./gen {N}'
refused "a bad row at one rank" 2 '^kvreplay-mpi: rank 1 on [^:]*: --each \(5 users\):2: ' 2 --autoscale qos \
    --each 'if [ {rank} = 1 ]; then echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request; echo 1,2; else ./gen {N}; fi'
refused "a trace that ends early at one rank" 2 '^kvreplay-mpi: --each: the trace of 10 users ended too early' 2 --autoscale qos \
    --each 'if [ {rank} = 1 ]; then ./gen {N} | head -n 20; else ./gen {N}; fi'
refused "fewer users than ranks" 2 '^kvreplay-mpi: rank 0 on [^:]*: --start-users: is less than the number of ranks' 3 --autoscale qos --start-users 2
refused "at most" 2 '--max-users: is less than the number of ranks' 3 --autoscale qos --start-users 2 --max-users 2
refused "shares of the keys" 2 '--split keys: spreads requests .* --autoscale do not apply' 2 --autoscale qos --split keys
refused "a summary each" 2 '--summary: a search has one summary' 2 --autoscale qos --summary 's-{rank}.json'
exits "--part" 2 "$BIN/kvreplay" --autoscale qos --part 0/2 --each './gen {N}' --null -o -
stderr_like "cannot search" '--part: does not apply with --autoscale: parts cannot tell each other what comes next'

# ---- one rank ends ----

# running OPTIONS...: a search in the background; $pid is rank 1.
running() {
    rm -f pid
    set -- "$BIN/kvreplay-mpi" "$@" --autoscale qos --each './gen {N}' --step-warmup 100ms --step-duration 800ms --start-users 4 --spin 0 \
        --tier-engine 2=sim:bw=1GB/s --summary s.json -o r.csv
    by_rank "$@" :: sh -c 'echo $$ >pid; exec "$@"' - "$@" >out 2>&1 &
    run=$!
    until grep -q 'step 1:' out || ! kill -s 0 $run 2>/dev/null; do sleep 0.1; done
    pid=$(cat pid)
}
running
kill -s TERM "$pid"
wait $run
is "a signal to one rank ends all" $? 143
like "which is said" "$(cat out)" 'interrupted before the end of the search'
is "the steps are in the summary" "$(json s.json '.autoscaling.users, .autoscaling_stats[0].users')" 'null 4'
not_ok "there is no result" test -e r.csv
# lost: a rank that stands still is given up; true when the search of the others ended as it should. A busy machine may lose
# one before.
lost() {
    rm -f s.json
    running --lost-after 4s
    kill -s STOP "$pid"
    wait $run && return 1
    cat out
    grep -q 'kvreplay-mpi: rank 1 on .* was lost before the end of the search' out && [ "$(json s.json '.autoscaling.users, .autoscaling_stats[0].users')" = 'null 4' ]
}
ok "a rank that is lost ends the search, which is told, and its steps are in the summary" tries 4 lost
done_testing
