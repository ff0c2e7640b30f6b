#!/bin/sh
# A served replay asks of the drive no more at once than the engine does: the trace says how many files it reads and writes at a
# time (--cache vllm:read_threads=2,write_threads=3), and further rows wait in their order. The summary has both; other timings and
# traces of no engine have no such limit. A bug looked like a drive that was measured at a depth which the engine never reaches.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# Two prompts of 128 blocks of 16 tokens come again, when only the files have them.
for when in 0:0 1000:1 2000:0 3000:1; do
    echo "{\"timestamp\":${when%:*},\"input_length\":2048,\"output_length\":2,\"hash_ids\":[${when#*:}]}"
done >"$TMP/again.jsonl"
trace() { # NAME SETTINGS
    told "$BIN/kvgen" -m tiny-1b --params 1e9 --gpu-mem 64MiB --cpu-mem 64MiB --input "$TMP/again.jsonl" --block-size 2048 \
        --tier-model "2=$DATA/drive_model.json" --cache "$2" -o "$TMP/$1.csv"
}
# replay NAME OPTION...: of that trace, on a drive that takes 2 ms for each object, however many there are.
replay() {
    name=$1
    shift
    exits "$name $*" 0 "$BIN/kvreplay" --tier-engine 0=null --tier-engine 1=null --tier-engine 2=sim:bw=100GB/s,lat=2ms \
        --summary "$TMP/r.json" -o "$TMP/r.csv" "$@" "$TMP/$name.csv"
}
served() { replay "$1" --timing served --workers 8 --inflight 1024 --full; }
most() { # OPERATION: so many on Tier-2 at once.
    awk -F, -v op="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["Operation"]) == op && $(at["Tier"]) == "Tier-2" {
            printf "%.6f 1\n%.6f -1\n", $(at["Start"]), $(at["Start"]) + $(at["Latency_us"]) / 1e6 - 1e-5 }' "$TMP/r.csv" |
        sort -k1,1n -k2,2n | awk '{ n += $2; if (n > most) most = n } END { print most }'
}
trace few vllm:read_threads=2,write_threads=3
trace many vllm
served few
is "two files are read at once" "$(most Read)" 2
is "three are written" "$(most Write)" 3
is "the summary says so" "$(jq -c '.served | [.read_threads, .write_threads]' "$TMP/r.json")" '[2,3]'
is "all rows have run" "$(jq '.rows.ok == .rows.total and .rows.total > 1000' "$TMP/r.json")" true
like "and the report" "$(cat "$TMP/stderr")" 'each engine read 2 of its files at once at most'
served many
is "sixteen by themselves" "$(most Read), $(most Write)" "16, 16"
replay few --timing trace
is "at the times of the trace: no limit" "$(test "$(most Read)" -gt 2 && echo more)" more
is "and none in the summary" "$(jq -c .served "$TMP/r.json")" null
trace rules copies
served rules
is "no engine has no threads" "$(jq -c '.served | [.read_threads, .write_threads]' "$TMP/r.json")" '[null,null]'
is "nor a limit" "$(test "$(most Write)" -gt 16 && echo more)" more
done_testing
