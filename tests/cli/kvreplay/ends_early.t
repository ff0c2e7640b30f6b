#!/bin/sh
# ends_early.t - every way in which a run ends early: signals, a reader that goes away, bad input, a target that is
# refused, output that cannot be written. Each has its exit status and one line of explanation, and leaves nothing
# behind. A bug looked like an interrupted run whose result file ended in the middle of a frame.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 40000; i++) printf "%.4f,Write,65536,Tier-2,k%d,Prefill\n", i / 100, i % 50
}' >"$TMP/t.csv"

# interrupted SIGNAL: a run on the device, stopped once twenty of its objects are there.
interrupted() {
    "$BIN/kvreplay" --full --nvme "$TMP/d" --timing trace -o "$TMP/r.csv.zst" --progress none "$TMP/t.csv" 2>"$TMP/stderr" &
    pid=$!
    while kill -s 0 "$pid" && [ "$(find "$TMP/d" -name '*.kv' 2>/dev/null | wc -l)" -lt 20 ]; do sleep 0.05; done
    kill -s "$1" "$pid"
    wait "$pid"
}

plan 121
interrupted INT
is "SIGINT: exit 130" $? 130
ok "the result file is whole" zstd -tq "$TMP/r.csv.zst"
is "all its rows are finished" "$(zstd -dcq "$TMP/r.csv.zst" | sed 1d | grep -vc ',ok$')" 0
ok "it has rows" test "$(zstd -dcq "$TMP/r.csv.zst" | wc -l)" -gt 10
stderr_like "a summary is printed" 'stopped before the end'
not_ok "the directory is gone" test -e "$TMP/d"
interrupted TERM
is "SIGTERM: exit 143" $? 143

{ "$BIN/kvreplay" --full --null "$TMP/t.csv" 2>"$TMP/stderr"; echo $? >"$TMP/status"; } | head -n 1 >/dev/null
is "a reader that goes away: exit 1" "$(cat "$TMP/status")" 1
is "quietly" "$(cat "$TMP/stderr")" ""

# fails NAME STATUS REGEX ARGS...: exit status and the one line on standard error.
fails() {
    name=$1 want=$2 pattern=$3
    shift 3
    rm -f "$TMP/out"
    exits "$name: exit $want" "$want" "$BIN/kvreplay" --full "$@"
    like "$name: said why" "$(head -n 1 "$TMP/stderr")" "^kvreplay: $pattern"
}
sed '100s/65536/-5/' "$TMP/t.csv" >"$TMP/bad.csv"
fails "missing file" 2 '.*missing.csv: .*No such file' "$TMP/missing.csv"
fails "bad row" 2 '.*bad.csv:100: .*-5' --null -o "$TMP/out" "$TMP/bad.csv"
not_ok "no result is left" test -e "$TMP/out"
cp "$TMP/t.csv" "$TMP/same.csv"
fails "results over the trace" 2 '.*same.csv: is read \(the trace\), and --output would overwrite it' --null -o "$TMP/same.csv" "$TMP/same.csv"
fails "the summary over the trace" 2 '.*same.csv: is read \(the trace\), and --summary would overwrite it' --null -o /dev/null \
    --summary "$TMP/same.csv" "$TMP/same.csv"
ok "nothing happened to the trace" cmp "$TMP/t.csv" "$TMP/same.csv"
fails "the summary over the results" 2 '.*out: is named for two outputs \(--output, --summary\)' --null -o "$TMP/out" \
    --summary "$TMP/out" "$TMP/same.csv"
fails "results and summary to standard output" 2 '--summary: standard output already takes the result rows' --null \
    --summary - "$TMP/same.csv"
fails "a summary that has no place" 1 '.*none/s.json: cannot write' --null -o "$TMP/out" \
    --summary "$TMP/none/s.json" "$TMP/same.csv"
not_ok "is told before the run" test -e "$TMP/out"
fails "a level of what is not compressed" 2 '--config level: the results are not compressed' --null --config level=9 \
    -o "$TMP/out" "$TMP/same.csv"
fails "frames of what is not compressed" 2 '--config frames: the results are not compressed' --null --config frames=one \
    -o "$TMP/out" "$TMP/same.csv"
head -n 1 "$TMP/t.csv" | "$BIN/kvreplay" --full --null -o "$TMP/out" --summary "$TMP/s.json" 2>/dev/null
is "a figure without measurements is not 0" "$(json "$TMP/s.json" '.lateness_us | .p50, .p99, .max, .budget')" \
    "null null null null"
rm -f "$TMP/out"
fails "no target" 2 '--target: ' "$TMP/t.csv"
fails "a folder in a folder that is not there" 3 '.*/a/b: parent directory .*/a does not exist' --nvme "$TMP/a/b" "$TMP/t.csv"
fails "system directory" 3 '/etc: refused: /etc is the system directory' --nvme /etc "$TMP/t.csv"
fails "below a system directory" 3 '/etc/x: refused: /etc/x lies in the system directory /etc' --nvme /etc/x "$TMP/t.csv"
grep -v Tier-2 "$TMP/t.csv" >"$TMP/no2.csv"
fails "a place that is not used, in a folder that is not there" 3 '.*/a/b: parent directory .*/a does not exist' \
    --nvme "$TMP/a/b" "$TMP/no2.csv"
exits "a place that is not used" 0 "$BIN/kvreplay" --full --nvme "$TMP/unused" -o /dev/null "$TMP/no2.csv"
stderr_like "is told as such" '/unused is not used: the trace has no Tier-2 rows'
not_ok "and not made" test -e "$TMP/unused"
fails "options without meaning" 2 '--speed: ' --null --speed 2 "$TMP/t.csv"
fails "full disk" 1 '.*No space left' --null --progress none -o /dev/full "$TMP/t.csv"
exits "bad rows skipped" 0 "$BIN/kvreplay" --full --null --skip-bad-rows -o "$TMP/out" "$TMP/bad.csv"
stderr_like "and counted" ' 1 bad row skipped'
mkdir "$TMP/foreign" && echo mine >"$TMP/foreign/file"
exits "a directory with foreign files" 3 "$BIN/kvreplay" --full --nvme "$TMP/foreign" -o /dev/null "$TMP/t.csv"

# A GPU that was asked for must be there even when no row needs it.
if ! nvidia-smi >/dev/null 2>&1 && [ ! -e /dev/nvidia0 ]; then
    fails "--gpu require without a GPU" 3 '--gpu: require: no such GPU' --gpu require --nvme "$TMP/g" \
        -o /dev/null "$TMP/t.csv"
    fails "--gpu all without a GPU" 3 '--gpu: all: no such GPU \(0 seen; .' --gpu all --nvme "$TMP/g" \
        -o /dev/null "$TMP/t.csv"
else
    exits "--gpu require with a GPU" 0 "$BIN/kvreplay" --full --gpu require --nvme "$TMP/g" --limit 10 \
        -o /dev/null "$TMP/t.csv"
    stderr_unlike "is not simulated" 'simulated'
    exits "--gpu all with a GPU" 0 "$BIN/kvreplay" --full --gpu all --nvme "$TMP/g" --limit 10 -o /dev/null "$TMP/t.csv"
    stderr_unlike "is not simulated either" 'simulated'
fi
not_ok "and nothing was made" test -e "$TMP/g"
for gpus in 0,some 0,,1 '0,' ,0 -1 1x 1024 0,all auto,0; do
    fails "--gpu $gpus" 2 "--gpu: $gpus: expected device numbers with commas between, all, auto, off or require" \
        --gpu="$gpus" --nvme "$TMP/g" -o /dev/null "$TMP/t.csv"
done
fails "a GPU named twice" 2 '--gpu: 0,2,0: names a GPU twice' --gpu 0,2,0 --nvme "$TMP/g" -o /dev/null "$TMP/t.csv"
fails "too many GPUs" 2 '--gpu: .*: more than 16 GPUs' --gpu "$(seq -s , 0 16)" --nvme "$TMP/g" \
    -o /dev/null "$TMP/t.csv"
fails "a GPU that is not there" 3 '--gpu: 0,1023: no such GPU \([0-9]+ seen' --gpu 0,1023 --nvme "$TMP/g" \
    -o /dev/null "$TMP/t.csv"
fails "GPUs under another engine" 2 '--gpu: 0,1: has no meaning with another engine' --gpu 0,1 --tier-engine 0=mem \
    --tier-engine 2=null -o /dev/null "$TMP/t.csv"
fails "the speed of real GPUs" 2 '--gpu-latency: applies only to a simulated GPU' --gpu-latency 1us --gpu all \
    --tier-engine 2=null -o /dev/null "$TMP/t.csv"
fails "a word that is no GPU" 2 '--gpu: some: expected' --gpu some --nvme "$TMP/g" -o /dev/null "$TMP/t.csv"
while IFS='|' read -r what parameter why; do
    fails "a simulated tier $what" 2 "--tier-engine: 2=sim:$parameter: $why" --tier-engine "2=sim:$parameter" -o /dev/null "$TMP/t.csv"
done <<'END'
without servers|servers=0|servers= takes a number from 1 to 256
whose stall has no length|stall=1s|stall= takes two times
that never ends|bw=0|bw= takes a rate with its unit, above zero
whose rate has no unit|lat=1ms,bw=2|bw= takes a rate with its unit
whose time is none|lat=5x|lat= takes a time
with something unknown|speed=2|expected bw=RATE
END
fails "the speed of a GPU that is none" 2 '--gpu-bandwidth: does not apply when --tier-engine' --gpu-bandwidth 1GB/s \
    --tier-engine 0=mem --tier-engine 2=null -o /dev/null "$TMP/t.csv"
fails "the speed of a real GPU" 2 '--gpu-latency: applies only to a simulated GPU' --gpu-latency 1us --gpu require \
    --tier-engine 2=null -o /dev/null "$TMP/t.csv"
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Read,5,Tier-2,nobody,Decode\n' >"$TMP/absent.csv"
fails "an object that is not there" 1 'row 1 \(Tier-2 Read, key nobody\): the object is not there' --on-absent fail \
    --tier-engine 2=mem -o /dev/null "$TMP/absent.csv"
exits "threads instead of a ring" 0 "$BIN/kvreplay" --full --nvme "$TMP/d" --config ioengine=psync --iodepth 8 --limit 10 \
    --sync object -o /dev/null "$TMP/t.csv"
stderr_like "what is in force" 'in force: .*; 8 I/Os of 1024 KiB; 1 ring; [0-9]+ threads; objects synced'
stderr_unlike "is no fallback" 'at most [0-9]* I/Os in flight'
fails "two things under one tier" 2 '--target: does not apply' --nvme "$TMP/g" --tier-engine 2=null \
    -o /dev/null "$TMP/t.csv"

# No room: what was needed and what is free, from a pipe where the peak is not known.
tail -n +1 "$TMP/t.csv" | "$BIN/kvreplay" --full --nvme "$TMP/d" --cpu-mem 1MiB --storage-capacity-gb 0.0001 --limit 40 -o /dev/null \
    2>"$TMP/stderr"
is "no room in the tier: exit 1" $? 1
stderr_like "says what was needed and what is free" \
    'ENOSPC: no room: 65536 bytes needed, 41838 free in the tier of 107374'
tail -n +1 "$TMP/t.csv" | "$BIN/kvreplay" --full --cpu-mem-gb 1000000 --null -o /dev/null 2>/dev/null
is "a null tier may be of any size" $? 0
tail -n +1 "$TMP/t.csv" | "$BIN/kvreplay" --full --cpu-mem-gb 1000000 --nvme "$TMP/d" -o /dev/null 2>"$TMP/stderr"
is "more memory than there is: exit 3" $? 3
stderr_like "and said so" 'Tier-1: .* asked for, and .* available'

# Interrupted in the first pass, and while objects are written that the trace reads first: both before any row.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 100000; i++) printf "0,Read,4194304,Tier-1,k%d,Decode\n", i
}' >"$TMP/reads.csv"
"$BIN/kvreplay" --full --tier-engine 1=sim:lat=20ms --progress json -o "$TMP/out" "$TMP/reads.csv" 2>"$TMP/stderr" &
pid=$!
until grep -q '"phase": "populate"' "$TMP/stderr" || ! kill -s 0 $pid; do sleep 0.05; done
kill -s INT $pid
wait $pid
is "SIGINT while populating: exit 130" $? 130
like "with one line" "$(grep -v '^{' "$TMP/stderr")" '^kvreplay: stopping: finishing [0-9]+ writes; again to abort$'
not_ok "and without a result" test -e "$TMP/out"
sed 's/Tier-2/Tier-1/' "$TMP/t.csv" | "$BIN/kvreplay" --full --tier-engine 1=sim:lat=1h --progress json -o "$TMP/out" \
    2>"$TMP/stderr" &
pid=$!
while kill -s 0 $pid && ! grep -q '"in_flight": [1-9]' "$TMP/stderr"; do sleep 0.05; done
kill -s INT $pid
# The second signal is sent when the first has been handled: signals that arrive together count as one.
while grep -Eqs '^(SigPnd|ShdPnd):.*[1-9a-f]' "/proc/$pid/status"; do sleep 0.05; done
rests $pid
ok "one signal waits for what is in flight" kill -s 0 $pid
kill -s TERM $pid
wait $pid
is "a second signal ends it with the status of the first" $? 130

# Interrupted while it still waits for its input, before the header and behind it.
mkfifo "$TMP/fifo"
for header in no yes; do
    sleep 1000 >"$TMP/fifo" &
    writer=$!
    { [ $header = no ] || head -n 2 "$TMP/t.csv"; sleep 1000 & echo $! >"$TMP/sleeper"; wait; } >"$TMP/fifo" &
    shell=$!
    "$BIN/kvreplay" --full --null -o /dev/null "$TMP/fifo" 2>/dev/null &
    pid=$!
    catches $pid
    rests $pid
    kill -s INT $pid
    wait $pid
    is "SIGINT while nothing comes in, header $header: exit 130" $? 130
    kill "$writer" "$(cat "$TMP/sleeper")" "$shell" 2>/dev/null
    wait "$writer" "$shell" 2>/dev/null || :
done
