#!/bin/sh
# small_file_system.t - ranks on one small file system, with a folder each or one store for all: each rank alone would fit, and all together
# do not. That is refused before anything is written, and fits when the trace is divided. A bug looked like two ranks of which
# each took the free space for its own, and rows that failed in the middle.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi
cd "$TMP" || exit 1
mkdir small
inside='mount -t tmpfs -o size=64m tmpfs small && exec "$@"'
unshare -rm sh -c "$inside" - true 2>err || skip_all "no file system can be mounted here: $(head -n 1 err)"

# 30 MiB of objects.
{
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    for i in $(seq 30); do echo "0,Write,1048576,Tier-2,k$i,Prefill"; done
} >t.csv
# ranks N ARGUMENTS...
ranks() {
    n=$1
    shift
    unshare -rm sh -c "$inside" - timeout 60 "$mpirun" -np "$n" "$BIN/kvreplay-mpi" --reserve 0 --layout files --summary s.json -o r.csv "$@" t.csv
}
for kind in 'a folder each:' 'one store:--shared-target'; do
    name=${kind%%:*} option=${kind#*:}
    set -- --target "$TMP/small/kv" ${option:+"$option"}
    exits "$name: one rank fits" 0 ranks 1 --target "$TMP/small/kv"
    exits "$name: two do" 0 ranks 2 "$@"
    rm -f r.csv
    exits "$name: three do not" 3 ranks 3 "$@"
    stderr_like "$name: which is said" '^kvreplay-mpi: rank 0 on [^:]*: .*/kv[^:]*: 3 targets of the ranks on this file system need 90\..* MiB at their peak, and it has 6[0-9].* MiB'
    not_ok "$name: there is no result" test -e r.csv
    exits "$name: three shares do" 0 ranks 3 "$@" --split keys
    is "$name: with all rows" "$(json s.json .rows.ok)" 30
done

# fills N: a fill of 25 MiB by so many ranks.
fills() { unshare -rm sh -c "$inside" - timeout 60 "$mpirun" -np "$1" "$BIN/kvprecond-mpi" --reserve 0 --size 25MiB "$TMP/small/kv"; }
exits "two fills fit" 0 fills 2
exits "three do not" 3 fills 3
stderr_like "which is said" '^kvprecond-mpi: rank 0 on [^:]*: .*/kv.*: 75.00 MiB asked for by the targets on its file system, but only 6[0-9].* MiB may be used'
is "nothing was written" "$(grep -c 'written' stdout)" 0
done_testing
