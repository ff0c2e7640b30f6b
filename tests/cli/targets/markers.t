#!/bin/sh
# markers.t - the marker of a folder where something is missing: locks of the file system, the marker itself, the right to
# remove. Expected: a run works without locks, leaves no marker when it is refused, takes a folder whose marker was lost
# with --destroy-data and removes nothing but files of kvtrace there; and a clean-up that fails says how much is left. A
# bug looked like a marker that a refused run left, or a folder that no option could empty.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
no_flock=${BIN%/bin}/tests/faults/no_flock.so
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
printf '%s\n' $header 0,Write,65536,Tier-2,a,Prefill 0,Write,65536,Tier-2,b,Prefill >"$TMP/w.csv"
replay() { "$BIN/kvreplay" --progress none -o /dev/null --target "$TMP/d" --config ioengine=psync "$@" "$TMP/w.csv"; }

# ---- without locks ----

if ! sanitized && [ -e "$no_flock" ]; then
    export LD_PRELOAD="$no_flock"
    exits 'a folder without locks' 0 replay
    not_ok 'nothing is left' test -e "$TMP/d"
    exits 'a slab in it' 0 replay --layout slab
    : >"$TMP/slab"
    exits 'a slab of its own' 3 "$BIN/kvreplay" --progress none -o /dev/null --target "$TMP/slab" "$TMP/w.csv"
    stderr_like 'is refused, with the reason' 'slab: cannot be locked, so a second run could use it at the same time: name a directory instead: Function not implemented'
    exits 'kvprecond in a folder' 0 "$BIN/kvprecond" -s 1M "$TMP/d"
    mkdir "$TMP/d"
    echo mine >"$TMP/d/thesis"
    exits 'a folder with files of others' 3 replay
    is 'gets no marker' "$(ls -A "$TMP/d")" thesis
    rm -r "$TMP/d"
    unset LD_PRELOAD
fi

# ---- without the marker ----

exits 'a run that keeps' 0 replay --keep
rm "$TMP/d/.kvtrace"
echo mine >"$TMP/d/ab.kv"
exits 'its marker and a file of somebody' 3 replay --destroy-data
stderr_like 'are refused' 'd: refused: it holds data that kvtrace did not write \(ab\.kv\)'
rm "$TMP/d/ab.kv"
exits 'its marker is gone' 3 replay --keep
stderr_like 'the way out is said' 'd: refused: it holds 2 objects \(128\.00 KiB\) of kvtrace, but no marker of the run that wrote them: --destroy-data removes only these'
is 'nothing was touched' "$(find "$TMP/d" -name '*.kv' | wc -l)" 2
mkdir -p "$TMP/d/00"
echo mine >"$TMP/d/00/notes"
exits 'and works' 0 replay --destroy-data
is 'only our files are gone' "$(find "$TMP/d" -type f)" "$TMP/d/00/notes"
rm -r "$TMP/d"

# ---- an end that fails ----

faulty=${BIN%/bin}/tests/simulation/faulty.so
if ! sanitized && [ -e "$faulty" ]; then
    mkdir "$TMP/root"
    exits 'objects that cannot be removed' 3 env SIM_ROOT="$TMP/root" SIM_LOG="$TMP/faults" \
        SIM_FAULTS=errno=1000000,calls=unlink,seed=1 LD_PRELOAD="$faulty" \
        "$BIN/kvreplay" --progress none -o /dev/null --target "$TMP/root/d" --config ioengine=psync "$TMP/w.csv"
    stderr_like 'are counted' "$TMP/root/d: cannot be emptied: .*; 2 objects \(128\.00 KiB\) left there"
    exits 'the next run removes them' 0 "$BIN/kvreplay" --progress none -o /dev/null --target "$TMP/root/d" "$TMP/w.csv"
    not_ok 'all' test -e "$TMP/root/d/.kvtrace"
fi
done_testing
