#!/bin/sh
# control_characters.t - file names with control characters: none of them reaches the terminal, neither in messages nor in reports. And
# of several files, the one whose values add up to nonsense is named. A bug looked like a report that cleared the screen.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
cd "$TMP" || exit 1

esc=$(printf '\033[2J\177x')
"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 3 --cpu-mem-gb 0 --gpu-mem-gb 0 -o "$esc.csv" 2>err
"$BIN/kvreplay" --null -o "$esc.r.csv" "$esc.csv" 2>err
echo '{"a": 1}' >"$esc.json"
echo 'a: [1' >"$esc.yaml"

# harmless PROGRAM ARGUMENT...: whatever it says; a name is shown with question marks.
harmless() {
    # shellcheck disable=SC2086
    "$BIN/$1" $2 "$3" $4 >stdout 2>stderr
    name=$(printf '%s' "$1 $2 NAME $4")
    is "$name" "$(cat stdout stderr | tr -d '\n\r\t' | LC_ALL=C tr -cd '[:cntrl:]' | od -An -c)" ''
    ok 'the name is shown' grep -q '?\[2J?x' stdout stderr
}
harmless kvstat '' "$esc.csv"
harmless kvstat '--profile latency' "$esc.r.csv"
harmless kvstat --verify-trace "$esc.csv"
cp "$esc.r.csv" other.csv
harmless kvstat --reference "$esc.r.csv" other.csv
harmless kvstat "--compare" "$esc.r.csv" other.csv
harmless kvstat other.csv "$esc.r.csv"
harmless kvstat '' "$esc.none"
harmless kvstat --config "$esc.yaml" other.csv
harmless kvgen '-o x.csv --model' "$esc.json"
harmless kvgen '-o x.csv --config' "$esc.yaml"
harmless kvgen '-o x.csv --source trace --input' "$esc.none"
harmless kvgen '-o x.csv' "--$esc"
harmless kvreplay '--null -o x.csv' "$esc.none"
harmless kvreplay '--null -o none/x.csv --summary' "$esc.csv" "$esc.csv"
harmless kvprecond '--size 1M' "$esc.file"
harmless kvprecond '--size 1M' "$esc.none/x"

# Sums that do not fit.
awk -F, -v OFS=, '$2 == "Write" { $3 = "9000000000000000000" } { print }' "$esc.csv" >large.csv
"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 3 -o good.csv 2>err
for option in '' --verify-trace '--by tier,op' --merge; do
    # shellcheck disable=SC2086
    exits "values of a file do not fit, $option" 2 "$BIN/kvstat" $option good.csv large.csv
    stderr_like 'it is named' '^kvstat: large\.csv: .* exceed 64 bits'
done
exits 'nor in reuse distances' 2 "$BIN/kvstat" --reuse large.csv
stderr_like 'it is named' '^kvstat: large\.csv: '
done_testing
