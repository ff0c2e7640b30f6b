#!/bin/sh
# judgements.sh [FOLDER [RUNS]] - what runs of one light load say of themselves, RUNS times each (default 10): 600 reads of
# 1 MiB, 150 a second, at times drawn once. Alone, which is good; beside another program that reads the same drive as fast as
# it can, and stopped for 1 s, where service and device times are not to be believed; on a target in memory, where the screen
# must say that first; pairs of equal runs, which do not differ; and the README's two pipelines. Prints a line each: how many
# of the runs said what they should, how busy the machine was (steal_share, run_delay_share: the largest), and the range of
# read P95s. Judges nothing itself. FOLDER (default: the scratch folder) must be on a drive. BUILD=DIR takes other programs.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
TMP=$(mktemp -d)
where=${1:-$TMP} runs=${2:-10} target='' child='' shm=''
clean() {
    [ -z "$child" ] || kill "$child" 2>/dev/null || :
    rm -rf "$TMP" "${target:-$TMP}" "${shm:-$TMP}"
}
trap clean EXIT
trap 'exit 130' INT TERM
target=$(mktemp -d "$where/kvtrace-judgements.XXXXXX")

awk 'BEGIN {
    srand(7)
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 600; i++)
        printf "%.6f,Read,1048576,Tier-2,k%d,Decode\n", t += -log(1 - rand()) / 150, int(rand() * 100)
}' >"$TMP/load.csv"

# replay DIR [OPTION...]: into $TMP/r.zst and $TMP/s.json
replay() {
    dir=$1
    shift
    "$BIN/kvreplay" --progress none --timing trace --target "$dir" --keep -o "$TMP/r.zst" --summary "$TMP/s.json" "$@" \
        "$TMP/load.csv" >/dev/null 2>&1
}
begin() { said=0 of=0 && : >"$TMP/busy" && : >"$TMP/p95"; }
# count FILTER: one more run, which said it if the filter finds true in what kvstat tells of it.
count() {
    "$BIN/kvstat" --json "$TMP/r.zst" >"$TMP/k.json"
    of=$((of + 1))
    if jq -e "$1" "$TMP/k.json" >/dev/null; then said=$((said + 1)); else jq -r .validity.line "$TMP/k.json" >>"$TMP/others"; fi
    jq -r '.evidence | "\(.steal_share // 0) \(.run_delay_share // 0)"' "$TMP/s.json" >>"$TMP/busy"
    jq -r '.tiers[] | select(.tier == "Tier-2") | .read.service_us.p95 // empty | . / 1000' "$TMP/s.json" >>"$TMP/p95"
}
tell() {
    printf '%-34s %2d of %2d  busy %s  p95 %s\n' "$1" $said $of \
        "$(awk '$1 > s { s = $1 } $2 > d { d = $2 } END { printf "%.3f %.3f", s, d }' "$TMP/busy")" \
        "$(sort -g "$TMP/p95" | awk 'NR == 1 { low = $1 } { high = $1 } END { printf "%.3g to %.3g ms", low, high }')"
    [ ! -s "$TMP/others" ] || sort "$TMP/others" | uniq -c | sort -rn | head -n 3 | cut -c 1-150 | sed 's/^/    others: /'
    rm -f "$TMP/others"
}
drive='[.validity.figures[] | select((.figures == "service" or .figures == "device") and .state == "unreliable")]'

replay "$target/d" # makes the objects
begin
for _ in $(seq "$runs"); do replay "$target/d" && count "$drive == []"; done
tell 'alone: drive figures are good'

dd if=/dev/urandom of="$target/foreign" bs=1M count=512 oflag=direct 2>/dev/null
while :; do dd if="$target/foreign" of=/dev/null bs=4M iflag=direct 2>/dev/null || break; done &
child=$!
begin
for _ in $(seq "$runs"); do replay "$target/d" && count "$drive | length > 0"; done
tell 'foreign reads: they are not'
kill $child
wait $child 2>/dev/null || :
child=

begin
for _ in $(seq "$runs"); do
    replay "$target/d" &
    pid=$!
    # A third of the reads is done.
    for _ in $(seq 2000); do
        replayer=$(pgrep -P $pid kvreplay) || replayer=
        bytes=$(awk '$1 == "read_bytes:" { print $2 }' "/proc/${replayer:-none}/io" 2>/dev/null) || bytes=
        [ "${bytes:-0}" -lt 300000000 ] || break
        sleep 0.005
    done
    if [ -n "$replayer" ]; then kill -s STOP "$replayer" && sleep 1 && kill -s CONT "$replayer"; fi
    wait $pid || :
    count "($drive | length > 0) and any(.run.notes[]; test(\"stood still\"))"
done
tell 'stopped for 1 s: nor here'

if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && [ -w /dev/shm ]; then
    shm=$(mktemp -d /dev/shm/kvtrace-judgements.XXXXXX)
    begin
    for _ in $(seq "$runs"); do
        replay "$shm/d"
        "$BIN/kvstat" "$TMP/r.zst" >"$TMP/screen"
        if grep -q '^Validity .*target is memory' "$TMP/screen"; then count true; else count false; fi
    done
    tell 'memory: the screen says it first'
fi

begin
for _ in $(seq "$runs"); do
    for side in a b; do
        "$BIN/kvreplay" --progress none --timing trace --tier-engine 2=sim:lat=1ms -o "$TMP/$side.zst" --summary "$TMP/s.json" \
            "$TMP/load.csv" >/dev/null 2>&1
    done
    cp "$TMP/b.zst" "$TMP/r.zst"
    verdict=$("$BIN/kvstat" --json --compare "$TMP/a.zst" "$TMP/b.zst" | jq -r .compare.verdict)
    if [ "$verdict" = better ] || [ "$verdict" = worse ] || [ "$verdict" = mixed ]; then count false; else count true; fi
done
tell 'equal pairs: no change'

begin
for _ in $(seq "$runs"); do
    "$BIN/kvgen" --model tiny-1b --users 10 --duration 10 --gpu-mem 0 --cpu-mem 1GiB 2>/dev/null |
        "$BIN/kvreplay" --progress none --target "$target/p" --cpu-mem 1GiB -o "$TMP/r.zst" --summary "$TMP/s.json" >/dev/null 2>&1
    count '.validity.line | test("^good")'
done
tell 'the pipeline of the README: good'
begin
for _ in $(seq "$runs"); do
    "$BIN/kvgen" --model tiny-1b --users 5 --arrival closed --duration 20 --granularity block:512 --gpu-mem 128MiB \
        --cpu-mem 256MiB --storage-capacity 4GiB 2>/dev/null |
        "$BIN/kvreplay" --progress none --target "$target/p" -o "$TMP/r.zst" --summary "$TMP/s.json" >/dev/null 2>&1
    count '.validity.line | test("^good")'
done
tell 'the quickstart: good'
