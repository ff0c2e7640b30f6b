#!/bin/sh
# BurstGPT and Azure traces: totals are exact, columns are found by name, times are those of the file,
# bad rows are counted and named. A bug looked like a last row lost for want of a newline, a zone taken
# for a bad number, or a second cycle that began before the first had ended.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

summary=$TMP/summary.json
trace=$TMP/trace.csv
generate() { told "$BIN/kvgen" --model tiny-1b --generation-mode none "$@" --summary "$summary"; }

generate --input "$DATA/azure_code_2023.csv.zst" -o none
json_like "$summary" <<'END'
Azure: source                    | .source | azure
Azure: requests                  | .requests.completed | 8819
Azure: context                   | .requests.context_tokens | 18059974
Azure: generated                 | .requests.generated_tokens | 245896
Azure: service classes are drawn | .requests.by_qos.interactive > 1000 | true
END
generate --source azure --input - --qos interactive -o none <"$DATA/azure_code_2023.csv.zst"
is "Azure: from a pipe, one class" "$(json "$summary" .requests.by_qos.interactive)" 8819
generate --input "$DATA/azure_code_2024_excerpt.csv" --max-requests 3 -o "$trace"
is "Azure 2024: zone, times from the first" "$(arrivals "$trace")" "0.000000 0.007405 0.012384 "

generate --use-burst-trace --burst-trace-path "$DATA/burstgpt_30rows.csv" -o "$trace"
is "BurstGPT: requests" "$(json "$summary" .requests.completed)" 30
context=$(awk -F, 'NR > 1 {tokens += $3} END {print tokens}' "$DATA/burstgpt_30rows.csv")
is "BurstGPT: context" "$(json "$summary" .requests.context_tokens)" "$context"
is "BurstGPT: a request without tokens has no object" "$(awk -F, '$2 == "Write" && $3 == 0' "$trace")" ''
like "keys and users" "$(cat "$trace")" ',trace_user_29_req_30,Prefill,30,trace_user_29,'

{
    printf '\357\273\277Log,Response tokens,Timestamp,Request tokens\r\n'
    printf 'x,1,10,100\r\n"a,b",2,12.5,200\r\n\r\nx,3,thirteen,300\r\nx,4\r\nx,5,13,-5\r\nx,6,14,600.0'
} >"$TMP/odd.csv"
generate --input "$TMP/odd.csv" -o "$trace"
is "columns by name, quotes, CR" "$(json "$summary" .requests.context_tokens)" 900
is "bad rows are counted" "$(json "$summary" .requests.skipped_rows)" 3
like "and the first is named" "$(cat "$TMP/err")" 'odd.csv:5: Timestamp is "thirteen".*skipped: 3'
is "times of the good ones" "$(arrivals "$trace")" "0.000000 2.500000 4.000000 "

generate --input "$TMP/odd.csv" --trace-speedup 2 -o "$trace"
is "twice as fast" "$(arrivals "$trace")" "0.000000 1.250000 2.000000 "
generate --input "$TMP/odd.csv" --trace-speedup 0 -o "$trace"
is "no delay" "$(arrivals "$trace")" "0.000000 0.000000 0.000000 "
generate --input "$TMP/odd.csv" --replay-cycles 2 -o "$trace"
is "again, from the last arrival on" "$(arrivals "$trace")" "0.000000 2.500000 4.000000 4.000000 6.500000 8.000000 "
like "under new numbers" "$(cat "$trace")" 'trace_user_5_req_6,'
generate --input "$TMP/odd.csv" --replay-cycles 0 --duration 10 -o "$trace"
is "until the duration" "$(arrivals "$trace" | wc -w)" 7
exits "all at one time, again and again" 0 "$BIN/kvgen" --input "$TMP/odd.csv" --trace-speedup 0 --replay-cycles 0 --max-requests 100 \
    --model tiny-1b --summary "$TMP/cycles.json" -o none
is "ends after so many requests" "$(json "$TMP/cycles.json" .requests.issued)" 100
exits "a pipe cannot be repeated" 2 sh -c "cat '$TMP/odd.csv' | '$BIN/kvgen' --input - --replay-cycles 2 -o none"

# A folder and a pattern, in the order of the names. A file whose clock goes on keeps its times; one whose clock starts
# anew follows the file before.
mkdir "$TMP/many"
printf 'Timestamp,Request tokens,Response tokens\n10,1,1\n11,1,1\n' >"$TMP/many/1.csv"
printf 'Timestamp,Request tokens,Response tokens\n13,1,1\n' >"$TMP/many/2.csv"
printf 'Timestamp,Request tokens,Response tokens\n0,1,1\n1,1,1\n' | zstd -q >"$TMP/many/3.csv.zst"
echo text >"$TMP/many/README.md"
generate --input "$TMP/many" -o "$trace"
is "a folder" "$(arrivals "$trace")" "0.000000 1.000000 3.000000 3.000000 4.000000 "
generate --use-burst-trace --burst-trace-path "$TMP/many/[12].csv" -o "$trace"
is "a pattern" "$(arrivals "$trace")" "0.000000 1.000000 3.000000 "
head -n 20 "$DATA/mooncake_first200.jsonl" >"$TMP/blocks.jsonl"
generate --input "$TMP/blocks.jsonl" --replay-cycles 2 -o none
is "block traces repeat as well" "$(json "$summary" .requests.completed)" 40
done_testing
