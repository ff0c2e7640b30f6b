#!/bin/sh
# starved_rank.t - of three ranks one gets its processor for half of the time: its figures are doubtful by name, those of the others
# are not. A bug looked like a doubt that was lost between the ranks, or that fell on all of them.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi
cd "$TMP" || exit 1

# Operations of 40 ms, far more than a busy machine takes away from the others.
{
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    seq 0 99 | awk '{ printf "%.2f,Write,4096,Tier-1,k%d,Prefill\n", $1 * 0.06, $1 }'
} >t.csv
# starved: runs it; true when rank 1 alone is doubtful.
starved() {
    rm -f kvreplay-* pid
    set -- "$BIN/kvreplay-mpi" --tier-engine 1=sim:bw=1GB/s,lat=40ms --timing trace --summary s.json -o r.csv t.csv
    by_rank "$@" :: sh -c 'echo $$ >pid; exec "$@"' - "$@" :: "$@" >out 2>&1 &
    run=$!
    until [ "$(find . -name 'kvreplay-*.zst' | wc -l)" = 3 ] || ! kill -s 0 $run; do sleep 0.1; done
    while [ -e "$(find . -name 'kvreplay-*-rank-1.csv.zst' | head -n 1)" ]; do
        kill -s STOP "$(cat pid)"
        sleep 0.3
        kill -s CONT "$(cat pid)"
        sleep 0.3
    done 2>/dev/null
    wait $run || { cat out; return 1; }
    jq -c '.ranks.list[] | [.rank, .summary.validity]' s.json
    jq -e '[.ranks.list[] | .summary.validity | map(.state == "good") | all] == [true, false, true]' s.json >/dev/null
}
ok "one rank alone is doubtful" tries 3 starved
host=$(json s.json '.ranks.list[1].host')
is "in the whole, it is named" "$(json s.json "[.validity[] | select(.state != \"good\") | .why | startswith(\"rank 1 on $host: client delay adds\")] | length > 0 and all")" true
like "in the text, too" "$(cat out)" "^unreliable: response: rank 1 on $host: client delay adds"
exits "kvstat --ranks" 0 "$BIN/kvstat" --ranks --json -o by.json r.csv
is "doubts the same one" "$(json by.json '.ranks.list | map(.validity | test("unreliable")) | tojson')" '[false,true,false]'
done_testing
