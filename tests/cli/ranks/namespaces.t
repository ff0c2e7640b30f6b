#!/bin/sh
# namespaces.t - kvreplay-mpi on four hosts: network namespaces with addresses of their own, TCP between them, nothing shared but
# the folder of the trace, each with a target of its own, then with one store for all in a fifth. One host is cut off in the
# middle: the result has the rows of the others, and names the one that is missing; its rows stay with it, and nobody removes
# what it may still be at work on. A bug looked like a result that needed a shared file system, a run that waited for ever, or
# rows that went with the link.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts # ip netns mounts each namespace
needs_mpi
[ "$mpi" = openmpi ] || skip_all "the options of Open MPI's launcher"
command -v ip >/dev/null || skip_all 'needs ip'
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
name=kvt$$
ip netns add "$name-0" 2>/dev/null || skip_all 'network namespaces are refused here'
remove() {
    for i in 0 1 2 3 4; do
        ip netns pids "$name-$i" 2>/dev/null | xargs -r kill -s KILL
        ip netns del "$name-$i" 2>/dev/null
        ip link del "v$$-$i" 2>/dev/null
    done
    ip link del "b$$" 2>/dev/null
}
leave() {
    status=$?
    remove
    (exit $status)
    tap_exit
}
trap leave EXIT
ip link add "b$$" type bridge 2>/dev/null || skip_all 'no bridge can be made here'
ip link set "b$$" up
for i in 0 1 2 3 4; do
    [ $i = 0 ] || ip netns add "$name-$i"
    ip link add "v$$-$i" type veth peer name eth0 netns "$name-$i" || skip_all 'no link can be made here'
    ip link set "v$$-$i" master "b$$" up
    ip -n "$name-$i" addr add 10.77.0.1$i/24 dev eth0
    ip -n "$name-$i" link set eth0 up
    ip -n "$name-$i" link set lo up
done

# What mpirun takes for ssh: the last digit of the address is the host's number.
printf "#!/bin/sh\\ni=\${1##*.1}\\nshift\\nexec ip netns exec %s-\$i unshare --uts sh -c \"hostname node-\$i; \$*\"\\n" "$name" >"$TMP/agent"
chmod +x "$TMP/agent"
net=10.77.0.0/24
# hosts SECONDS ARGUMENTS...: a rank on each; killed when it takes longer. mpirun may find a host missing whose link came up
# just now: then it starts again.
hosts() {
    for _ in 1 2 3; do
        hosts_rc=0
        hosts_once "$@" 2>"$TMP/hosts.err" || hosts_rc=$?
        grep -q 'not finding the required libraries' "$TMP/hosts.err" || break
        sleep 1
    done
    cat "$TMP/hosts.err" >&2
    return "$hosts_rc"
}
hosts_once() {
    limit=$1
    shift
    ip netns exec "$name-0" unshare --uts sh -c 'hostname node-0; exec "$@"' - timeout -s KILL "$limit" "$mpirun" \
        --mca plm_rsh_agent "$TMP/agent" --mca btl tcp,self --mca btl_tcp_if_include $net --mca oob_tcp_if_include $net \
        --host 10.77.0.10,10.77.0.11,10.77.0.12,10.77.0.13 -np 4 -x TMPDIR="$TMP" \
        "$BIN/kvreplay-mpi" --timing trace --config spin=0 "$@"
}
# started: mpirun starts on all hosts what does nothing.
started() { hosts 40 --version >"$TMP/out" 2>&1; }
started || skip_all "mpirun does not start on four hosts here, or not in 40 s: $(head -n 1 "$TMP/out")"
# at_work: there is a rank on host 2.
at_work() {
    for process in $(ip netns pids "$name-2"); do
        read -r command <"/proc/$process/comm" || continue
        case $command in kvreplay*) return 0 ;; esac
    done 2>/dev/null
    return 1
}
# cut_off NAME BEGUN TARGET...: the same in the background; host 2 is cut off when the command BEGUN says that all ranks are at work:
# before that nobody goes on without it. Leaves NAME.out, NAME.csv and NAME.json.
cut_off() {
    run_name=$1 begun=$2
    shift 2
    hosts_once 120 --config lost_after=6s -o "$TMP/$run_name.csv" --summary "$TMP/$run_name.json" "$@" "$TMP/t.csv" >"$TMP/$run_name.out" 2>&1 &
    run=$!
    for _ in $(seq 400); do
        $begun && break
        kill -s 0 $run 2>/dev/null || break
        sleep 0.1
    done
    ip link set "v$$-2" down
    # mpirun itself may wait for what it started on that host.
    for _ in $(seq 400); do
        grep -q 'missing:' "$TMP/$run_name.out" && break
        kill -s 0 $run 2>/dev/null || break
        sleep 0.1
    done
    sleep 1
    ip netns pids "$name-0" | xargs -r kill -s KILL
    wait $run
    isnt "$run_name: a host that is cut off is no success" "$?" 0
    like "$run_name: it is told in the middle" "$(cat "$TMP/$run_name.out")" 'rank 2 on node-2 was not heard of for [0-9.]+ s: the others go on without it'
    like "$run_name: and at the end" "$(cat "$TMP/$run_name.out")" 'missing: the share of rank 2 on node-2'
    like "$run_name: with what mpirun does" "$(cat "$TMP/$run_name.out")" 'all is written: end mpirun if it waits for the lost'
    is "$run_name: by the summary too" "$(json "$TMP/$run_name.json" '.ranks.missing[], .ranks.list[].there')" '2 true true false true'
    is "$run_name: the result has the others" "$("$BIN/kvstat" --json "$TMP/$run_name.csv" | json /dev/stdin .rows)" 3000
    for _ in $(seq 150); do
        at_work || break
        sleep 0.2
    done
    is "$run_name: the one cut off keeps its own" "$(find "$TMP" -name 'kvreplay-*.zst' | sed 's/.*-rank-//')" 2.csv.zst
    is "$run_name: with all rows" "$("$BIN/kvstat" --json "$TMP"/kvreplay-*-rank-2.csv.zst | json /dev/stdin .rows)" 1000
}
# An operation each 20 ms.
{
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    seq 0 999 | awk '{ printf "%.2f,Write,4096,Tier-2,k%d,Prefill\n", $1 * 0.02, $1 }'
} >"$TMP/t.csv"

exits "four hosts" 0 hosts 60 --tier-engine 2=sim:bw=10GB/s --duration 2s -o "$TMP/all.csv.zst" --summary "$TMP/s.json" "$TMP/t.csv"
is "are four" "$(json "$TMP/s.json" '.ranks.list[].host')" 'node-0 node-1 node-2 node-3'
is "with all rows" "$("$BIN/kvstat" --json "$TMP/all.csv.zst" | json /dev/stdin .rows)" 400
like "started together" "$(json "$TMP/s.json" .ranks.start_spread_us)" '^[0-9]{1,6}(\.[0-9]+)?$'

# ---- a folder each ----

# Nobody waits for a host that is cut off, whatever the run.
in_folders() { for i in 0 1 2 3; do [ "$(find "$TMP/kv/rank-$i" -name '*.kv' 2>/dev/null | wc -l)" -gt 50 ] || return 1; done; }
cut_off folders in_folders --speed 1.6 --target "$TMP/kv" --keep
exits "kvstat --ranks names the missing one" 2 "$BIN/kvstat" --ranks --json -o "$TMP/by.json" "$TMP/folders.csv"
stderr_like "by its number" 'rank 2 of 4 missing: the report is on the others'
is "and has the others" "$(json "$TMP/by.json" '.ranks.list[].host, .ranks.list[].rows')" 'node-0 node-1 node-3 1000 1000 1000'
is "each keeps its objects" "$(for i in 0 1 2 3; do find "$TMP/kv/rank-$i" -name '*.kv' | wc -l; done | tr '\n' ' ')" '1000 1000 1000 1000 '
rm -rf "$TMP/kv" "$TMP"/kvreplay-*.zst
ip link set "v$$-2" up

# ---- one store for all ----

why=$(no_redis)
if [ -n "$why" ]; then
    diag "$why: not on one store"
    done_testing
    exit
fi
ip netns exec "$name-4" redis-server --bind 10.77.0.14 --port 6379 --protected-mode no --save '' --appendonly no --dir "$TMP" >"$TMP/redis.log" 2>&1 &
stored() { ip netns exec "$name-4" redis-cli -h 10.77.0.14 -n 1 --scan | grep -vc '^\.kvtrace-list'; } # objects and the marker
redis=$!
until ip netns exec "$name-4" redis-cli -h 10.77.0.14 -n 1 dbsize 2>&1 | grep -q '^0$' || ! kill -s 0 $redis 2>/dev/null; do sleep 0.1; done
set -- --shared-target --target redis://10.77.0.14/1 --config timeout=2s --config retries=0
exits "four hosts, one store" 0 hosts 60 "$@" --speed 20 --keep -o "$TMP/all.csv" --summary "$TMP/all.json" "$TMP/t.csv"
is "have objects of their own" "$(json "$TMP/all.json" .rows.ok) $(stored)" '4000 4001'
exits "next time" 0 hosts 60 "$@" --speed 20 --destroy-data -o "$TMP/all.csv" "$TMP/t.csv"
is "they are removed" "$(stored)" 0
in_store() { [ "$(stored)" -gt 600 ]; } # all have the same times: 150 of each
cut_off store in_store "$@" --speed 1.6 --config on_error=continue
like "the store is not cleaned up under it" "$(cat "$TMP/store.out")" 'rank 2 on node-2 may still be at work there, so nothing was removed; the next run clears it'
ok "its objects are there" test "$(stored)" -gt 3000
ok "what it could not store, its rows tell" test "$("$BIN/kvstat" --json "$TMP"/kvreplay-*-rank-2.csv.zst | json /dev/stdin .status.failed)" -gt 0
ip link set "v$$-2" up
exits "the next run" 0 hosts 60 "$@" --speed 20 -o "$TMP/all.csv" "$TMP/t.csv"
is "clears it" "$(stored)" 0

# ---- a prefix of an object store for all ----

why=$(no_s3)
if [ -n "$why" ]; then
    diag "$why: not on S3"
    done_testing
    exit
fi
ip netns exec "$name-4" env S3_SERVER_ADDRESS=10.77.0.14 "$TOP/tests/faults/s3_server.py" "$TMP/port" 2>"$TMP/s3.log" &
server=$!
until [ -s "$TMP/port" ]; do
    kill -s 0 $server 2>/dev/null || { cat "$TMP/s3.log"; exit 1; }
    sleep 0.1
done
head -n 26 "$TMP/t.csv" >"$TMP/short.csv"
prefix="s3://bucket/p?endpoint=http://10.77.0.14:$(cat "$TMP/port")"
stored() { admin keys | grep -c '\.kv$'; }
exits "four hosts, one prefix" 0 hosts 60 --shared-target --target "$prefix" --keep -o "$TMP/all.csv" --summary "$TMP/all.json" "$TMP/short.csv"
is "have objects of their own there" "$(json "$TMP/all.json" .rows.ok) $(stored)" '100 100'
exits "next time" 0 hosts 60 --shared-target --target "$prefix" --destroy-data -o "$TMP/all.csv" "$TMP/short.csv"
is "they are removed there" "$(stored)" 0
done_testing
