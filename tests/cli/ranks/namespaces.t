#!/bin/sh
# namespaces.t - kvreplay-mpi on four hosts: network namespaces with addresses of their own, TCP between them, nothing shared but
# the folder of the trace. Then one host is cut off in the middle: the result has the rows of the others, and names the one that
# is missing; its rows stay with it. A bug looked like a result that needed a shared file system, a run that waited for ever, or
# rows that went with the link.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
[ -x "$BIN/kvreplay-mpi" ] || skip_all 'built without MPI'
sanitized && skip_all "MPI's libraries are not built for sanitizers"
mpirun=$(command -v mpirun.openmpi) || skip_all 'no Open MPI'
if [ "$(id -u)" != 0 ] || ! command -v ip >/dev/null || ! command -v unshare >/dev/null; then skip_all 'needs root, ip and unshare'; fi
name=kvt$$
ip netns add "$name-0" 2>/dev/null || skip_all 'network namespaces are refused here'
remove() {
    for i in 0 1 2 3; do
        ip netns pids "$name-$i" 2>/dev/null | xargs -r kill -s KILL
        ip netns del "$name-$i" 2>/dev/null
        ip link del "v$$-$i" 2>/dev/null
    done
    ip link del "b$$" 2>/dev/null
}
# shellcheck disable=SC2154 # it is set in the trap
trap 'status=$?; remove; (exit $status); tap_exit' EXIT
ip link add "b$$" type bridge 2>/dev/null || skip_all 'no bridge can be made here'
ip link set "b$$" up
for i in 0 1 2 3; do
    [ $i = 0 ] || ip netns add "$name-$i"
    ip link add "v$$-$i" type veth peer name eth0 netns "$name-$i" || skip_all 'no link can be made here'
    ip link set "v$$-$i" master "b$$" up
    ip -n "$name-$i" addr add 10.77.0.1$i/24 dev eth0
    ip -n "$name-$i" link set eth0 up
    ip -n "$name-$i" link set lo up
done

# What mpirun takes for ssh: the last digit of the address is the host's number.
printf '#!/bin/sh\ni=${1##*.1}\nshift\nexec ip netns exec %s-$i unshare --uts sh -c "hostname node-$i; $*"\n' "$name" >"$TMP/agent"
chmod +x "$TMP/agent"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
net=10.77.0.0/24
# hosts SECONDS ARGUMENTS...: a rank on each; killed when it takes longer.
hosts() {
    limit=$1
    shift
    # shellcheck disable=SC2016 # the inner shell's
    ip netns exec "$name-0" unshare --uts sh -c 'hostname node-0; exec "$@"' - timeout -s KILL "$limit" "$mpirun" \
        --mca plm_rsh_agent "$TMP/agent" --mca btl tcp,self --mca btl_tcp_if_include $net --mca oob_tcp_if_include $net \
        --host 10.77.0.10,10.77.0.11,10.77.0.12,10.77.0.13 -np 4 -x TMPDIR="$TMP" \
        "$BIN/kvreplay-mpi" --tier-engine 1=sim:bw=10GB/s --timing trace "$@"
}
# An operation each 10 ms.
{
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    seq 0 1999 | awk '{ printf "%.2f,Write,4096,Tier-1,k%d,Prefill\n", $1 * 0.01, $1 }'
} >"$TMP/t.csv"

exits "four hosts" 0 hosts 60 --duration 2s -o "$TMP/all.csv.zst" --summary "$TMP/s.json" "$TMP/t.csv"
is "are four" "$(json "$TMP/s.json" '.ranks.list[].host')" 'node-0 node-1 node-2 node-3'
is "with all rows" "$("$BIN/kvstat" --json "$TMP/all.csv.zst" | jq .rows)" 800
is "started together" "$(json "$TMP/s.json" '.ranks.start_spread_us < 1e6')" true

# Nobody waits for a host that is cut off, whatever the run.
hosts 60 --speed 2 --lost-after 3s -o "$TMP/cut.csv" --summary "$TMP/cut.json" "$TMP/t.csv" >"$TMP/cut.out" 2>&1 &
run=$!
for _ in $(seq 100); do
    [ "$(find "$TMP" -name 'kvreplay-*.zst' | wc -l)" = 4 ] && break
    sleep 0.1
done
sleep 2
ip link set "v$$-2" down
# mpirun itself may wait for what it started on that host.
for _ in $(seq 400); do
    grep -q 'missing:' "$TMP/cut.out" && break
    kill -s 0 $run 2>/dev/null || break
    sleep 0.1
done
sleep 1
ip netns pids "$name-0" | xargs -r kill -s KILL
wait $run
isnt "a host that is cut off is no success" "$?" 0
like "it is told in the middle" "$(cat "$TMP/cut.out")" 'rank 2 on node-2 was not heard of for 3.* s: the others go on without it'
like "and at the end" "$(cat "$TMP/cut.out")" 'missing: the share of rank 2 on node-2'
like "with what mpirun does" "$(cat "$TMP/cut.out")" 'all is written: end mpirun if it waits for the lost'
is "by the summary too" "$(json "$TMP/cut.json" '.ranks.missing, (.ranks.list | map(.there))' | jq -c .)" '[2]
[true,true,false,true]'
is "the result has the others" "$("$BIN/kvstat" --json "$TMP/cut.csv" | jq .rows)" 6000
exits "kvstat --ranks names the missing one" 2 "$BIN/kvstat" --ranks --json -o "$TMP/by.json" "$TMP/cut.csv"
stderr_like "by its number" 'rank 2 of 4 missing: the report is on the others'
is "and has the others" "$(json "$TMP/by.json" '.ranks.list | map([.host, .rows]) | tojson')" '[["node-0",2000],["node-1",2000],["node-3",2000]]'
for _ in $(seq 300); do
    ip netns pids "$name-2" | xargs -r ps -o comm= -p | grep -q kvreplay || break
    sleep 0.1
done
is "the one cut off keeps its own" "$(find "$TMP" -name 'kvreplay-*.zst' | sed 's/.*-rank-//')" 2.csv.zst
is "with all rows" "$("$BIN/kvstat" --json "$TMP"/kvreplay-*-rank-2.csv.zst | jq .rows)" 2000
done_testing
