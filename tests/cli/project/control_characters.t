#!/bin/sh
# control_characters.t - file names with control characters: none of them reaches the terminal, neither in messages nor in reports. And
# of several files, the one whose values add up to nonsense is named. A bug looked like a report that cleared the screen.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

esc=$(printf '\033[2J\177x')
"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 3 --cpu-mem-gb 0 --gpu-mem-gb 0 -o "$esc.csv" 2>err
"$BIN/kvreplay" --null -o "$esc.r.csv" "$esc.csv" 2>err
echo '{"a": 1}' >"$esc.json"
echo 'a: [1' >"$esc.yaml"

# harmless PROGRAM ARGUMENT...: whatever it says; a name is shown with question marks.
harmless() {
    program=$1 before=$2 file=$3 after=${4-}
    set --
    for word in $before "$file" $after; do set -- "$@" "$word"; done
    "$BIN/$program" "$@" >stdout 2>stderr
    name="$program $before NAME $after"
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
mkdir "$esc"
harmless kvreplay "--full -o none --target" "$esc" other.csv
harmless kvprecond '--size 1M' "$esc.file"
harmless kvprecond '--size 1M' "$esc.none/x"

# Texts inside of files. $json (for sed) and $yaml are what a text of control characters looks like there. A bug looked like a model
# of a configuration whose name cleared the screen.
json='\\u001b[2J\\u007fx\\u009b' yaml='\e[2J\x7fx\u009b'
shows() { # NAME PROGRAM ARGUMENT...: whatever it says, and with whatever status, nothing of it controls a terminal
    name=$1 program=$2
    shift 2
    "$BIN/$program" "$@" >stdout 2>stderr
    is "$name" "$(cat stdout stderr | tr -d '\n\r\t' | sed 's/\xc2[\x80-\x9f]/\x01/g' | LC_ALL=C tr -cd '[:cntrl:]' | od -An -c)" ''
    ok "$name: the text is shown" grep -q '?\[2J?x' stdout stderr
}
printf 'model_configs:\n  "%s": {name: "%s", num_layers: 1, hidden_dim: 64, num_heads: 1, kv_heads: 1, dtype: fp8}\n' \
    "$yaml" "$yaml" >texts.yaml
shows 'a configuration: kvgen' kvgen --config texts.yaml --model "$(printf '\033[2J\177x\302\233')" --users 1 --max-requests 1 -o none
shows 'a configuration: the list of models' kvgen --config texts.yaml --list-models
printf '"%s": 2\n' "$yaml" >unknown.yaml
shows 'a configuration: kvstat' kvstat --config unknown.yaml other.csv
shows 'a configuration: kvprecond' kvprecond --mode kv --config texts.yaml --model "$(printf '\033[2J\177x\302\233')" --size 1M target
sed "s/^{/{\"kv_cache_$json\": [1, 2], /" "$DATA/models/llama-3.1-8b.json" >keys.json
shows 'a key of config.json' kvgen --model keys.json --users 1 --max-requests 1 -o none
shows 'a key of config.json, by force' kvgen --force-model --model keys.json --users 1 --max-requests 1 -o none
sed "s/\"device\": \"[^\"]*/\"device\": \"$json/" "$DATA/drive_model.json" >drive.json
shows 'a drive: kvgen' kvgen --tier-model 2=drive.json --users 1 --max-requests 1 -o none
shows 'a drive: kvreplay' kvreplay --full --tier-engine 2=sim:model=drive.json -o none other.csv
text=$(printf '\033[2J\177x\302\233')
{
    cat "$DATA/s3dlio_oplog_example.tsv"
    tail -n 1 "$DATA/s3dlio_oplog_example.tsv" | sed "s/GET\|PUT/$text/"
} >log.tsv
shows 'an op-log: kvgen' kvgen --input log.tsv -o none
shows 'an op-log: kvstat' kvstat --full log.tsv
sed "s/,u0,/,$text,/" "$DATA/kvstat_dozen.csv" >users.csv
for how in '' --full --csv '--full --by user'; do
    with "$how" "$BIN/kvstat" users.csv >stdout 2>stderr
    is "a user: kvstat $how" "$(LC_ALL=C tr -d '\n' <stdout | sed 's/\xc2[\x80-\x9f]/\x01/g' | LC_ALL=C tr -cd '[:cntrl:]' | od -An -c)" ''
done
shows 'a bad row' kvreplay --null -o none "$(sed "2s/Write/$text/" "$DATA/kvstat_dozen.csv" >bad.csv; echo bad.csv)"

# Sums that do not fit.
awk -F, -v OFS=, '$2 == "Write" { $3 = "9000000000000000000" } { print }' "$esc.csv" >large.csv
"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 3 -o good.csv 2>err
for option in '' --verify-trace '--by tier,op' --merge; do
    with "$option" exits "values of a file do not fit, $option" 2 "$BIN/kvstat" good.csv large.csv
    stderr_like 'it is named' '^kvstat: large\.csv: .* exceed 64 bits'
done
exits 'nor in reuse distances' 2 "$BIN/kvstat" --reuse large.csv
stderr_like 'it is named' '^kvstat: large\.csv: '
done_testing
