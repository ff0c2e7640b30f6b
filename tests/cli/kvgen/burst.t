#!/bin/sh
# BurstGPT and Azure traces: totals are exact, columns are found by name, times are those of the file,
# bad rows are counted and named. A bug looked like a last row lost for want of a newline, a zone taken
# for a bad number, or a second cycle that began before the first had ended.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

S=$TMP/s.json
A=$TMP/a.csv
gen() { told "$BIN/kvgen" --model tiny-1b --generation-mode none "$@" --summary "$S"; }

gen --input "$DATA/azure_code_2023.csv.zst" -o none
is "Azure: source" "$(source_name "$S")" azure
is "Azure: requests" "$(value "$S" completed)" 8819
is "Azure: context" "$(value "$S" context_tokens)" 18059974
is "Azure: generated" "$(value "$S" generated_tokens)" 245896
ok "Azure: service classes are drawn" test "$(value "$S" interactive)" -gt 1000
gen --source azure --input - --qos interactive -o none <"$DATA/azure_code_2023.csv.zst"
is "Azure: from a pipe, one class" "$(value "$S" interactive)" 8819
gen --input "$DATA/azure_code_2024_excerpt.csv" --max-requests 3 -o "$A"
is "Azure 2024: zone, times from the first" "$(arrivals "$A")" "0.000000 0.007405 0.012384 "

gen --use-burst-trace --burst-trace-path "$DATA/burstgpt_30rows.csv" -o "$A"
is "BurstGPT: requests" "$(value "$S" completed)" 30
context=$(awk -F, 'NR > 1 {n += $3} END {print n}' "$DATA/burstgpt_30rows.csv")
is "BurstGPT: context" "$(value "$S" context_tokens)" "$context"
is "BurstGPT: a request without tokens has no object" "$(awk -F, '$2 == "Write" && $3 == 0' "$A")" ''
like "keys and users" "$(cat "$A")" ',trace_user_29_req_30,Prefill,30,trace_user_29,'

head='Log,Response tokens,Timestamp,Request tokens'
{
    printf '\357\273\277%s\r\n' "$head"
    printf 'x,1,10,100\r\n"a,b",2,12.5,200\r\n\r\nx,3,thirteen,300\r\nx,4\r\nx,5,13,-5\r\nx,6,14,600.0'
} >"$TMP/odd.csv"
gen --input "$TMP/odd.csv" -o "$A"
is "columns by name, quotes, CR" "$(value "$S" context_tokens)" 900
is "bad rows are counted" "$(value "$S" skipped_rows)" 3
like "and the first is named" "$(cat "$TMP/err")" 'odd.csv:5: Timestamp is "thirteen".*skipped: 3'
is "times of the good ones" "$(arrivals "$A")" "0.000000 2.500000 4.000000 "

gen --input "$TMP/odd.csv" --trace-speedup 2 -o "$A"
is "twice as fast" "$(arrivals "$A")" "0.000000 1.250000 2.000000 "
gen --input "$TMP/odd.csv" --trace-speedup 0 -o "$A"
is "no delay" "$(arrivals "$A")" "0.000000 0.000000 0.000000 "
gen --input "$TMP/odd.csv" --replay-cycles 2 -o "$A"
is "again, from the last arrival on" "$(arrivals "$A")" "0.000000 2.500000 4.000000 4.000000 6.500000 8.000000 "
like "under new numbers" "$(cat "$A")" 'trace_user_5_req_6,'
gen --input "$TMP/odd.csv" --replay-cycles 0 --duration 10 -o "$A"
is "until the duration" "$(arrivals "$A" | wc -w | tr -d " ")" 7
exits "a pipe cannot be repeated" 2 sh -c "cat '$TMP/odd.csv' | '$BIN/kvgen' --input - --replay-cycles 2 -o none"

# A folder and a pattern, in name order: clocks that go on do, one that begins anew is put behind.
mkdir "$TMP/many"
printf 'Timestamp,Request tokens,Response tokens\n10,1,1\n11,1,1\n' >"$TMP/many/1.csv"
printf 'Timestamp,Request tokens,Response tokens\n13,1,1\n' >"$TMP/many/2.csv"
printf 'Timestamp,Request tokens,Response tokens\n0,1,1\n1,1,1\n' | zstd -q >"$TMP/many/3.csv.zst"
echo text >"$TMP/many/README.md"
gen --input "$TMP/many" -o "$A"
is "a folder" "$(arrivals "$A")" "0.000000 1.000000 3.000000 3.000000 4.000000 "
gen --use-burst-trace --burst-trace-path "$TMP/many/[12].csv" -o "$A"
is "a pattern" "$(arrivals "$A")" "0.000000 1.000000 3.000000 "
head -n 20 "$DATA/mooncake_first200.jsonl" >"$TMP/m.jsonl"
gen --input "$TMP/m.jsonl" --replay-cycles 2 -o none
is "block traces repeat as well" "$(value "$S" completed)" 40
done_testing
