#!/bin/sh
# kvreplay_ends.t - every way in which a run ends early: signals, a reader that goes away, bad input, a target that is
# refused, output that cannot be written; the exit status, one line of explanation, no litter. A bug looked
# like this: an interrupted run whose result file ended in the middle of a frame.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 40000; i++) printf "%.4f,Write,65536,Tier-2,k%d,Prefill\n", i / 100, i % 50
}' >"$TMP/t.csv"

# interrupted SIGNAL: a run on the device, stopped once rows have come out.
interrupted() {
    "$BIN/kvreplay" --nvme "$TMP/d" --timing trace -o "$TMP/r.csv.zst" --progress none "$TMP/t.csv" 2>"$TMP/stderr" &
    pid=$!
    sleep 1
    kill -s "$1" "$pid"
    wait "$pid"
}

plan 25
interrupted INT
is "SIGINT: exit 130" $? 130
ok "the result file is whole" zstd -tq "$TMP/r.csv.zst"
is "all its rows are finished" "$(zstd -dcq "$TMP/r.csv.zst" | sed 1d | grep -vc ',ok$')" 0
ok "it has rows" test "$(zstd -dcq "$TMP/r.csv.zst" | wc -l)" -gt 10
like "a summary is printed" "$(cat "$TMP/stderr")" 'stopped before the end'
not_ok "the directory is gone" test -e "$TMP/d"
interrupted TERM
is "SIGTERM: exit 143" $? 143

{ "$BIN/kvreplay" --null "$TMP/t.csv" 2>"$TMP/stderr"; echo $? >"$TMP/status"; } | head -n 1 >/dev/null
is "a reader that goes away: exit 1" "$(cat "$TMP/status")" 1
is "quietly" "$(cat "$TMP/stderr")" ""

# fails NAME STATUS REGEX ARGS...: exit status and the one line on standard error.
fails() {
    name=$1 want=$2 pattern=$3
    shift 3
    rm -f "$TMP/out"
    exits "$name: exit $want" "$want" "$BIN/kvreplay" "$@"
    like "$name: said why" "$(head -n 1 "$TMP/stderr")" "^kvreplay: $pattern"
}
sed '100s/65536/-5/' "$TMP/t.csv" >"$TMP/bad.csv"
fails "missing file" 2 '.*missing.csv: .*No such file' "$TMP/missing.csv"
fails "bad row" 2 '.*bad.csv:100: .*-5' --null -o "$TMP/out" "$TMP/bad.csv"
not_ok "no result is left" test -e "$TMP/out"
fails "no target" 2 '--nvme: ' "$TMP/t.csv"
fails "system directory" 3 '/etc: ' --nvme /etc "$TMP/t.csv"
fails "options without meaning" 2 '--speed: ' --null --speed 2 "$TMP/t.csv"
fails "full disk" 1 '.*No space left' --null --progress none -o /dev/full "$TMP/t.csv"
exits "bad rows skipped" 0 "$BIN/kvreplay" --null --skip-bad-rows -o "$TMP/out" "$TMP/bad.csv"
like "and counted" "$(cat "$TMP/stderr")" ' 1 bad rows skipped'
mkdir "$TMP/foreign" && echo mine >"$TMP/foreign/file"
exits "a directory with foreign files" 3 "$BIN/kvreplay" --nvme "$TMP/foreign" -o /dev/null "$TMP/t.csv"
