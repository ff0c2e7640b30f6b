#!/bin/bash
# owners.t - two runs on one store, in every pair of namespaces, on every kind of store, while the first is alive, killed,
# or stopped for longer than its lease and then continued. Expected: never two at once, nothing of the other's deleted or
# written over, and a store is free again once its run is gone. A bug looked like a live run that was taken for dead
# because its process has no number here (its objects were deleted), a store that a dead PID 1 held for ever, or a run
# that woke up and deleted the objects of the one that had taken its store.
# The lease is 2 s here; tests/bench/owner-60s.sh has the real one.
# builds: plain (63 cells of several runs each; the units of tests/unit/owner run under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
export KVTRACE_TEST_LEASE=2
no_flock=${BIN%/bin}/tests/faults/no_flock.so

namespaces=same stores='folder slab'
if [ -e "$no_flock" ]; then
    stores="$stores folder-no-locks slab-no-locks like-no-locks"
    namespaces='same pid host'
fi
if [ "$namespaces" != same ] && ! unshare -p --fork --mount-proc unshare -u true 2>/dev/null; then
    diag 'no right to make namespaces: in one only'
    namespaces=same
fi
[ -n "$(no_redis)" ] || { start_redis --databases 64 && stores="$stores redis"; }
[ -n "$(no_s3)" ] || { start_s3 1 && stores="$stores s3"; }

header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
# The first run writes five objects, and then one each 100 ms and deletes it again, for a minute.
{
    echo $header
    for i in 0 1 2 3 4; do echo "0,Write,16384,Tier-2,a$i,Prefill"; done
    seq 1 600 | awk '{ printf "%.1f,Write,16384,Tier-2,n%d,Prefill\n%.1f,Delete,0,Tier-2,a%d,Evict\n", $1 / 10, $1, $1 / 10, $1 - 1; if ($1 >= 5) exit }'
    seq 6 600 | awk '{ printf "%.1f,Write,16384,Tier-2,n%d,Prefill\n", $1 / 10, $1 }'
} >first.csv
# The second writes five others, and reads them three seconds later.
{
    echo $header
    for i in 0 1 2 3 4; do echo "0,Write,16384,Tier-2,b$i,Prefill"; done
    for i in 0 1 2 3 4; do echo "3,Read,16384,Tier-2,b$i,Decode"; done
} >second.csv
{
    echo $header
    for i in 0 1 2 3 4; do echo "0,Read,16384,Tier-2,b$i,Decode"; done
} >third.csv

# inside NAMESPACE HOST COMMAND...: as the first process of its own, or on another host by its name.
inside() {
    where=$1 as=$2
    shift 2
    case $where in
    pid) exec unshare -p --fork --kill-child --mount-proc "$@" ;;
    host) exec unshare -u sh -c "hostname \"\$0\" && exec \"\$@\"" "$as" "$@" ;;
    *) exec "$@" ;;
    esac
}

# replay NAME HOST TRACE OPTIONS...: a run of the cell. Its files are $cell/NAME.*
replay() {
    name=$1 as=$2 trace=$3
    shift 3
    (with "$options" inside "$namespace" "$as" env ${preload:+LD_PRELOAD=$preload} "$BIN/kvreplay" --progress none --timing trace \
        --inflight 4 --target "$uri" --summary "$cell/$name.json" -o "$cell/$name.csv" "$@" \
        "$trace" 2>"$cell/$name.err")
}
wrote() {
    writes=0
    [ -e "$cell/$1.csv" ] || return
    while read -r row; do [[ $row != [!#]*Write* ]] || writes=$((writes + 1)); done <"$cell/$1.csv"
    [ $writes -ge 5 ]
}
# Nothing is ever written to this pipe: to read from it for a while is a sleep that starts no program.
mkfifo "$TMP/never"
exec 9<>"$TMP/never"
nap() { ! read -rt "$1" -u 9; }
# The program itself, below those that make its namespaces.
program() {
    found=$1
    while below=$(<"/proc/$found/task/$found/children") && [ -n "$below" ]; do found=${below%% *}; done 2>/dev/null
    echo "$found"
}
until_wrote() {
    for ((look = 0; look < 150; look++)); do
        wrote "$1" && return
        kill -s 0 "$2" 2>/dev/null || break
        nap 0.2
    done
    say "$1 has not written: $(<"$cell/$1.err")"
}
say() { printf '%s\n' "$*" >>"$cell/bad"; }
# ended NAME PID STATUS TEXT: that run ends so, and says that; something, unless the status is 0.
ended() {
    wait "$2"
    got=$?
    [ $got = "$3" ] || say "$1: exit status $got, wanted $3"
    [ "$3" = 0 ] || [ -s "$cell/$1.err" ] || say "$1 says nothing"
    [[ $(<"$cell/$1.err") == *"$4"* ]] || say "$1 does not say: $4"
    [ ! -s "$cell/bad" ] || cat "$cell/$1.err" >>"$cell/bad"
}
# is_free: a run takes the store, within the lease and what a busy machine needs.
is_free() {
    for ((try = 0; try < 20; try++)); do
        replay third b "$TMP/second.csv" --speed 3 "$@" && return
        [[ $(<"$cell/third.err") == *'in use by'* ]] || break
        nap 0.8
    done
    say "it is not free: $(<"$cell/third.err")"
}

alive() {
    replay second b "$TMP/second.csv"
    got=$?
    [ $got = 3 ] || say "the second run: exit status $got"
    [[ $(<"$cell/second.err") == *'in use by'* ]] || say "$(<"$cell/second.err")"
    kill -TERM "$(program "$first")"
    ended first "$first" 143 ''
    [ "$(json "$cell/first.json" .rows.failed)" = 0 ] || say 'rows of the first run failed'
    is_free
}
killed() {
    kill -KILL "$(program "$first")"
    wait "$first" 2>/dev/null
    is_free --keep
    [ "$(json "$cell/third.json" .rows.failed)" = 0 ] || say 'rows failed'
}
# Whether the stopped process is known to be there: in its own namespaces, and where there are locks.
stopped() {
    stopped=$(program "$first")
    kill -STOP "$stopped"
    nap 3.2 # longer than the lease
    replay second b "$TMP/second.csv" --keep &
    second=$!
    case $namespace-$store in
    same-* | *-folder | *-slab)
        ended second "$second" 3 'in use by'
        kill -CONT "$stopped"
        nap 0.5
        kill -TERM "$stopped"
        ended first "$first" 143 ''
        is_free
        return
        ;;
    esac
    until_wrote second "$second"
    kill -CONT "$stopped"
    ended first "$first" 3 'lost during the run: taken over by kvreplay'
    [[ $(<"$cell/first.csv") == *ESTALE* ]] || say 'no row of the first run says ESTALE'
    ended second "$second" 0 ''
    replay third b "$TMP/third.csv" --keep --on-absent skip --speed 9 || say "its objects: $(<"$cell/third.err")"
    [ "$(json "$cell/third.json" .populated.adopted_objects)" = 5 ] || say "of its objects are left: $(jq -c .populated "$cell/third.json")"
}

# one NAMESPACE STORE WHAT NUMBER
one() {
    namespace=$1 store=$2 cell=$TMP/$1-$2-$3
    options='--config ioengine=psync --iodepth 4' preload=''
    mkdir "$cell"
    case $store in
    redis) uri="redis+unix:$socket?db=$4" options='' ;;
    s3) uri="s3://bucket/$1/$3?endpoint=http://127.0.0.1:$(<port)" options='' ;;
    slab*) uri=$cell/store options="$options --layout slab --storage-capacity-gb 0.1" ;;
    like*) uri="file:$cell/store?like=lmcache-fs" options='' ;;
    *) uri=$cell/store ;;
    esac
    case $store in *-no-locks) preload=$no_flock ;; esac
    (replay first a "$TMP/first.csv") &
    first=$!
    until_wrote first "$first"
    [ -s "$cell/bad" ] || "$3"
    : >"$cell/done"
}

number=0 waits=''
for store in $stores; do
    for namespace in $namespaces; do
        for what in alive killed stopped; do
            number=$((number + 1))
            (trap - EXIT; one "$namespace" "$store" $what $number) >"$TMP/said.$number" 2>&1 &
            waits="$waits $!"
        done
    done
    # As many at once as two processors bear: they wait for most of the time.
    case $((number % 2)) in 0) with "$waits" wait; waits='' ;; esac
done
with "$waits" wait
went_well() {
    if [ -e "$cell/done" ] && [ ! -s "$cell/bad" ]; then return; fi
    cat "$cell/bad" "$TMP/said.$number" 2>/dev/null
    return 1
}
number=0
for store in $stores; do
    for namespace in $namespaces; do
        for what in alive killed stopped; do
            number=$((number + 1))
            cell=$TMP/$namespace-$store-$what
            ok "$store, $namespace namespace, the first run is $what" went_well
        done
    done
done
done_testing
