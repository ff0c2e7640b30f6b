#!/bin/sh
# like_ends_early.t - how runs over each like= layout end: stopped by a signal, killed while they store, with files that
# somebody removed, planted or put beside. What a run made is gone or kept, as it says; what is another's stays. A bug
# looked like a killed run whose objects no later run removed, or a file that was written through a planted link.
# KVTRACE_RUNS=50 kills more runs, KVTRACE_SEED=N at other moments.
# builds: plain (like.t runs the code of such a layout, interrupt.t and ends_early.t that of an end)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
runs=${KVTRACE_RUNS:-$(scaled 2)} seed=${KVTRACE_SEED:-1}
replay() {
    "$BIN/kvreplay" --progress none --no-notes -o "$TMP/o.csv" --summary "$TMP/s.json" \
        --target "file:$TMP/d?like=$like&pages=small&pool=1MiB" "$@"
}
statuses() { awk -F, 'NR > 1 { n[$2 " " $NF]++ } END { for (s in n) print s, n[s] }' "$TMP/o.csv" | sort | tr '\n' ' '; }
# Forty objects of up to 512 KiB, odd ones and whole blocks, stored again and again.
awk -v header=$header 'BEGIN {
    print header
    for (i = 0; i < 40000; i++) {
        bytes = i % 2 ? 4096 * (1 + i % 40 * 3) : 64 + i % 40 * 12503
        printf "0,Write,%d,Tier-2,k%d,Prefill\n", bytes, i % 40
    }
}' >"$TMP/again.csv"
{ echo $header; sed -n '2,41s/Write\(.*\)Prefill/Read\1Decode/p' "$TMP/again.csv"; } >"$TMP/read.csv"
{ echo $header; seq 0 9 | sed 's/.*/0,Write,65536,Tier-2,k&,Prefill/'; } >"$TMP/w.csv"
sed 's/Write/Read/; s/Prefill/Decode/' "$TMP/w.csv" >"$TMP/r.csv"
moments=$(awk -v n="$runs" -v seed="$seed" 'BEGIN { srand(seed); for (i = 0; i < n; i++) printf "%.2f\n", rand() * 0.1 }')
# stopped SIGNAL MOMENT ARGUMENTS...: a run that stores gets it so long after its first megabytes; sets status.
stopped() {
    signal=$1 moment=$2
    shift 2
    "$BIN/kvreplay" --progress none --no-notes --config loops=1000 -o "$TMP/o.csv" --target "file:$TMP/d?like=$like&pages=small&pool=1MiB" "$@" \
        "$TMP/again.csv" 2>"$TMP/stderr" &
    pid=$!
    until [ -n "$(du -s --threshold=2M "$TMP/d" 2>/dev/null)" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.03; done
    sleep "$moment"
    kill -s "$signal" $pid
    wait $pid 2>/dev/null && status=0 || status=$?
}
mkfifo "$TMP/pipe"
# between COMMAND...: ten stores, the command, then rows for three of them; sets status.
between() {
    "$BIN/kvreplay" --progress none --no-notes --cpu-mem 1MiB -o "$TMP/o.csv" --target "file:$TMP/d?like=$like&pages=small&pool=1MiB" <"$TMP/pipe" \
        2>"$TMP/stderr" &
    pid=$!
    exec 3>"$TMP/pipe"
    cat "$TMP/w.csv" >&3
    until [ "$(objects 2>/dev/null | wc -l)" = 10 ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    "$@"
    printf '%s\n' 0,Read,65536,Tier-2,k0,Decode 0,Read,65536,Tier-2,k1,Evict 0,Delete,0,Tier-2,k2,Evict \
        0,Write,65536,Tier-2,k0,Prefill >&3
    exec 3>&-
    wait $pid && status=0 || status=$?
}
objects() { find "$TMP/d" -name '*.data' -o -name '*.bin'; }
remove_objects() { objects | xargs rm; }

for like in lmcache-fs lmcache-fs-direct vllm-fs; do
    # ---- signals ----
    for ending in INT:130 TERM:143; do
        stopped "${ending%:*}" 0.05
        is "$like, SIG$signal: exit status" "$status" "${ending#*:}"
        is "$like, SIG$signal: every row has its end" "$(sed 1d "$TMP/o.csv" | grep -vc ',ok$')" 0
        not_ok "$like, SIG$signal: nothing is left" test -e "$TMP/d"
    done
    for moment in $moments; do
        stopped KILL "$moment"
        like "$like, killed after $moment s: objects are left" "$(objects | wc -l)" '^ *[1-9]'
        exits "$like: the next run" 0 replay "$TMP/w.csv"
        not_ok "$like: removes them" test -e "$TMP/d"

        stopped KILL "$moment" --keep
        exits "$like, killed with --keep after $moment s: the next run reads what is there" 0 \
            replay --keep --on-absent skip --verify full "$TMP/read.csv"
        is "$like: no temporary file stays" "$(find "$TMP/d" -name '*.tmp')" ''
        is "$like: what was adopted, all of it whole" "$(json "$TMP/s.json" '.populated.adopted_objects')" \
            "$(json "$TMP/s.json" .rows.ok)"
        exits "$like: --destroy-data" 0 replay --destroy-data "$TMP/w.csv"
        not_ok "$like: removes them too" test -e "$TMP/d"
    done

    # ---- files that go ----
    between remove_objects
    is "$like, files removed in the middle of a run: exit status" "$status" 1
    is "$like: what was stored is lost" "$(statuses)" 'Delete lost 1 Read lost 2 Write ok 11 '
    not_ok "$like: nothing is left" test -e "$TMP/d"

    # ---- what is another's ----
    echo precious >"$TMP/precious"
    for link in 'ln -f' 'ln -sf'; do
        replay --keep "$TMP/w.csv" 2>/dev/null
        for file in $(objects | head -n 5); do $link "$TMP/precious" "$file"; done
        exits "$like, $link in the place of objects: reads" 1 replay --keep "$TMP/r.csv"
        is "$like: they are lost" "$(json "$TMP/s.json" '.populated | .adopted_objects, .lost_objects')" '5 5'
        for file in $(objects | head -n 5); do $link "$TMP/precious" "$file"; done
        exits "$like: stores" 0 replay --keep "$TMP/w.csv"
        is "$like: nothing is written through them" "$(cat "$TMP/precious")" precious
    done
    deep=$(dirname "$(objects | head -n 1)")
    echo precious >"$deep/notes"
    exits "$like, another's file beside the objects: --destroy-data" 0 replay --destroy-data "$TMP/w.csv"
    is "$like: leaves that file alone" "$(find "$TMP/d" -type f ! -name .kvtrace)" "$deep/notes"
    rm -rf "$TMP/d"
    mkdir "$TMP/d"
    echo precious >"$TMP/d/notes"
    exits "$like, a folder with another's files" 3 replay "$TMP/w.csv"
    stderr_like "$like: is refused" 'd: refused: '
    is "$like: and stays as it is" "$(find "$TMP/d" -type f)" "$TMP/d/notes"
    rm -rf "$TMP/d"
done
done_testing
