#!/bin/sh
# search_ends.t - kvreplay-mpi --autoscale: what one rank cannot do, a signal to one of them, and one that is lost end the search
# for all. A bug looked like a rank that waited for a step which the others did not run.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi
# shellcheck source=tests/cli/ranks/searching.sh
. "$TOP/tests/cli/ranks/searching.sh"

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
    set -- "$BIN/kvreplay-mpi" "$@" --autoscale qos --each './gen {N}' --step-warmup 100ms --step-duration 800ms --start-users 4 --config spin=0 \
        --cpu-mem 1MiB --tier-engine 2=sim:bw=1GB/s --summary s.json -o r.csv
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
    running --config lost_after=4s
    kill -s STOP "$pid"
    wait $run && return 1
    cat out
    grep -q 'kvreplay-mpi: rank 1 on .* was lost before the end of the search' out && [ "$(json s.json '.autoscaling.users, .autoscaling_stats[0].users')" = 'null 4' ]
}
ok "a rank that is lost ends the search, which is told, and its steps are in the summary" tries 4 lost
done_testing
