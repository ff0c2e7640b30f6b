#!/bin/sh
# lost_objects.t - an object that this run wrote or adopted, and that is gone when it is read or deleted, is lost: a failed
# row, exit status 1. Only an object that nobody wrote is absent. A bug looked like files that were removed in the
# middle of a run, and a run that called them absent, ended with exit status 0 and was called valid.
# builds: plain address (threads of the engines: matrix.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
summary=$TMP/summary.json
statuses() { awk -F, 'NR > 1 { n[$2 " " $NF]++ } END { for (s in n) print s, n[s] }' "$TMP/o.csv" | sort | tr '\n' ' '; }

# between COMMAND...: three writes of a page, the command, then rows for each of the three; exit status in $status.
mkfifo "$TMP/pipe"
between() {
    "$BIN/kvreplay" --full --nvme "$TMP/d" --config ioengine="$engine" --on-absent skip --cpu-mem 1MiB --progress none --no-notes -o "$TMP/o.csv" \
        --summary "$summary" <"$TMP/pipe" 2>"$TMP/stderr" &
    pid=$!
    exec 3>"$TMP/pipe"
    {
        echo $header
        for key in a b c; do echo "0,Write,4096,Tier-2,$key,Prefill"; done
    } >&3
    until [ "$(find "$TMP/d" -name '*.kv' -size 8 2>/dev/null | wc -l)" = 3 ] || ! kill -s 0 $pid 2>/dev/null; do
        sleep 0.02
    done
    rests $pid # the last of them is closed
    "$@"
    {
        echo "0,Read,4096,Tier-2,a,Decode"
        echo "0,Read,4096,Tier-2,b,Evict"
        echo "0,Delete,0,Tier-2,c,Evict"
        echo "0,Read,4096,Tier-2,nobody,Decode"
        echo "0,Write,4096,Tier-2,a,Prefill"
    } >&3
    exec 3>&-
    wait $pid && status=0 || status=$?
}

for engine in auto psync; do
    between find "$TMP/d" -name '*.kv' -delete
    is "$engine: files removed in the middle of a run: exit status 1" "$status" 1
    is "$engine: what was written is lost, what never was is absent" "$(statuses)" \
        "Delete lost 1 Read absent 1 Read lost 2 Write ok 4 "
    is "$engine: lost rows are failed rows" "$(json "$summary" '.rows | .lost, .failed, .absent')" "3 3 1"
    like "$engine: the store is blamed" "$(cat "$TMP/stderr")" \
        'Read, key a, 4096 bytes\): lost: the store does not have it any more'
    like "$engine: and the summary counts them" "$(cat "$TMP/stderr")" ' 3 failed \(3 lost\)'
    "$BIN/kvstat" --json "$TMP/o.csv" >"$TMP/kvstat.json"
    is "$engine: for kvstat they failed" "$(json "$TMP/kvstat.json" '.status | .failed, .absent')" "3 1"

    between rm -rf "$TMP/d"
    is "$engine: the directory removed in the middle of a run, with its marker: exit status 3" "$status" 3
    is "$engine: what was written is lost, and nothing can be written" "$(statuses)" \
        "Delete lost 1 Read absent 1 Read lost 2 Write ENOENT 1 Write ok 3 "
    like "$engine: the store is blamed" "$(cat "$TMP/stderr")" \
        'Write, key a, 4096 bytes\): ENOENT: the store has lost the folder'
    not_ok "$engine: nothing is left" test -e "$TMP/d"
done

printf '%s\n' $header 0,Write,4096,Tier-2,a,Prefill >"$TMP/w.csv"
printf '%s\n' $header 0,Read,4096,Tier-2,a,Decode 4,Read,4096,Tier-2,a,Decode >"$TMP/r.csv"
exits "kept" 0 "$BIN/kvreplay" --full --nvme "$TMP/d" --keep -o /dev/null "$TMP/w.csv"
rm "$TMP/o.csv"
"$BIN/kvreplay" --full --nvme "$TMP/d" --keep --timing trace --no-notes -o "$TMP/o.csv" --summary "$summary" "$TMP/r.csv" \
    2>"$TMP/stderr" &
pid=$!
until grep -qs ',ok$' "$TMP/o.csv" || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
find "$TMP/d" -name '*.kv' -delete
wait $pid && status=0 || status=$?
is "an adopted object that goes is lost" "$status $(json "$summary" .populated.adopted_objects) $(statuses)" \
    "1 1 Read lost 1 Read ok 1 "
done_testing
