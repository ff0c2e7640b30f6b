#!/bin/sh
# precond.t - kvprecond-mpi: ranks fill targets of their own at the same time, and rank 0 makes one report. What differs, or
# cannot be opened at one rank, is refused before anything is written; a signal to one rank ends all. A bug looked like two
# ranks with the same bytes, a report of one rank only, or a rank that wrote on alone.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mpi
cd "$TMP" || exit 1
kv="$BIN/kvprecond-mpi"
files() { find . -name '*.kv' | wc -l; }

exits "three ranks" 0 timeout 60 "$mpirun" -np 3 "$kv" --size 1MiB --seed 7 --iodepth 2 --keep --summary s.json "$TMP/d"
is "an option that is a key now is told by one of them" "$(grep -c 'iodepth: taken, but' stderr)" 1
stdout_like "in one report" '^kvprecond: 3 ranks$'
stdout_like "with all bytes" '^  written     3.00 MiB of 3.00 MiB$'
stdout_like "by rank" '^  rank 2 +[^ ]*: 1.00 MiB, '
is "one of each" "$(grep -c '^  rank ' stdout) $(grep -c '^kvprecond: ' stdout)" '3 1'
json_like s.json <<'END'
the bytes   | .written_bytes, .size_bytes, .complete | 3145728 3145728 true
the ranks   | .ranks.list[].rank | 0 1 2
none is lost | .ranks.missing | length | 0
the longest | .elapsed_s == ([.ranks.list[].summary.elapsed_s] | max) | true
their own   | [.ranks.list[].summary.written_bytes] | unique | length | 1
END
is "a folder each" "$(find d -mindepth 1 -maxdepth 1 | sort | tr '\n' ' ')" 'd/rank-0 d/rank-1 d/rank-2 '
is "with bytes of its own" "$(od -An -v -tx8 -w4096 d/rank-?/*.kv | sort | uniq -d | wc -l)" 0
exits "as JSON" 0 timeout 60 "$mpirun" -np 3 "$kv" --size 1MiB --destroy-data --json "$TMP/d"
json_like stdout <<'END'
the ranks | .ranks.list[].summary.written_bytes | 1048576 1048576 1048576
END
is "and nothing stays" "$(files)" 0
exits "names with {rank}" 0 timeout 60 "$mpirun" -np 2 "$kv" --size 1MiB --keep --target "$TMP/e{rank}" --target "$TMP/f{rank}"
is "are targets of the ranks" "$(find e0 e1 f0 f1 -name '*.kv' | wc -l)" 4
rm -rf e? f?

# A drive may never be steady; what a rank came to is told in any case.
timeout 60 "$mpirun" -np 2 "$kv" --size 1MiB --until-steady --round 20ms --rounds "r-{rank}.csv" --summary s.json "$TMP/d" >stdout 2>stderr
status=$?
is "steady on all ranks, or not" "$(json s.json '[.ranks.list[].summary.steady_state.reached] | all') $([ $status = 0 ] && echo true || echo false)" \
    "$(json s.json '.steady_state.reached, .steady_state.reached')"
is "rounds of each" "$(head -qn 1 r-0.csv r-1.csv | sort -u | wc -l)" 1

# ---- refused ----

# refused NAME STATUS WHAT COMMAND... :: COMMAND...: of two ranks.
refused() {
    name=$1 wanted=$2 what=$3
    shift 3
    exits "$name" "$wanted" by_rank "$@"
    stderr_like "$name: is told" "$what"
    is "$name: once, and nothing is written" "$(grep -c '^kvprecond-mpi: ' stderr) $(files)" '1 0'
}
refused "other options" 2 'rank 1 on .*: version or options: not the same as those of rank 0' "$kv" --size 1MiB "$TMP/d" :: "$kv" --size 2MiB "$TMP/d"
refused "a configuration from standard input" 2 '--config -: only rank 0 has standard input: name a file$' \
    "$kv" --size 1MiB --config - "$TMP/d" :: "$kv" --size 1MiB --config - "$TMP/d"
: >file
refused "a target that cannot be used" 3 'rank 1 on .*file' "$kv" --size 1MiB "$TMP/d" :: "$kv" --size 1MiB "$TMP/file/d"
refused "one file of rounds" 2 'put \{rank\} into its name' \
    "$kv" --size 1MiB --until-steady --rounds r.csv "$TMP/d" :: "$kv" --size 1MiB --until-steady --rounds r.csv "$TMP/d"

# ---- a signal ----

# signalled SIGNAL: sends it to rank 1 when both ranks write; leaves what mpirun came to in $status.
signalled() {
    set -- "$1" "$kv" --size 1MiB --until-steady --round 3s --summary stop.json "$TMP/d"
    signal=$1
    shift
    rm -f pid stop.json
    by_rank "$@" :: sh -c 'echo $$ >pid; exec "$@"' - "$@" >stop.out 2>stop.err &
    run=$!
    until [ "$(find d -name '*.kv' 2>/dev/null | wc -l)" = 2 ] || ! kill -s 0 $run; do sleep 0.1; done
    kill -s "$signal" "$(cat pid)"
    wait $run
    status=$?
}
signalled TERM
is "a signal to one rank ends all" $status 143
is "which say why" "$(json stop.json '.ranks.list[].summary.ended_by')" 'another rank SIGTERM'
is "and leave nothing" "$(files)" 0

# MPI ends the others when a rank is killed: nobody is left to report, or to clean up after it.
signalled KILL
isnt "a rank that is killed is no success" $status 0
like "the launcher tells" "$(cat stop.err stop.out)" 'signal 9|Killed|EXIT CODE: 9'
not_ok "there is no summary that looks whole" test -e stop.json
ok "what it wrote is there" test "$(find d/rank-1 -name '*.kv' | wc -l)" -gt 0
exits "the next run" 0 timeout 60 "$mpirun" -np 2 "$kv" --size 1MiB "$TMP/d"
is "clears it" "$(files)" 0
done_testing
