#!/bin/sh
# answers.t - drive, users, fast-enough, worth and compare-drives are views of one answer: the programs' exit statuses and
# texts pass through them, what was used wrongly is told before anything is measured and is never a "no", and each file of the
# chain is there; an answer of before is kept. Bugs looked like a typo with the status of a FAIL, a cached measurement of another
# drive, and the answer about one drive in the place of that about another.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
# shellcheck source=tests/answers.sh
. "$TOP/tests/answers.sh"

# known COMMAND ARGS: by a model, without a drive.
known() {
    known=$1
    shift
    "$examples/$known.sh" --drive sim:bw=14GB/s,lat=80us -o out "$@"
}

# ---- views, and their statuses ----

exits 'drive' 0 known drive
stdout_like 'is the screen' '^Users held +this drive 38 \(36-40\)'
stderr_like 'after a line of progress' '^drive.sh: 1 of 1: simulates this drive, no drive .*; the answer comes in about [0-9]+ s$'
is 'one line' "$(lines "$TMP/stderr")" 1
while read -r seconds what; do
    eval "set -- $what"
    exits "how long: $what" 0 known drive -o how-long "$@"
    stderr_like "is about $seconds s" "the answer comes in about $seconds s\$"
done <<'END'
6 --engine lmcache-mp
12 --engine copies
20 --engine sglang
6 --engine sglang:page_size=64
30 --population code
100 --engine sglang --population documents
END
like 'kvgen has the model' "$(tail -n 1 seen)" ' --tier-model 2=read:14GB/s,write:14GB/s,lat:80us '
for file in answer.json answer.html sim.json; do ok "$file is there" test -s "out/$file"; done
cp stdout screen
sum=$(md5sum <out/answer.json)
exits 'in JSON' 0 known drive --json
ok 'it is answer.json and nothing else' cmp stdout out/answer.json
stderr_like 'what was there is kept' '^drive.sh: what an earlier run found is kept in out/.earlier/1$'
is 'as it was' "$(md5sum <out/.earlier/1/answer.json)" "$sum"
ok 'with its page' test -s out/.earlier/1/answer.html
exits 'users' 0 known how-many-users
ok 'and what that found' test -s out/.earlier/2/answer.json
is 'but for logs' "$(find out/.earlier -name '*.log')" ''
stdout_like 'has what was tried' '^ +38 +3 of 5 '
exits 'worth' 0 known worth
like 'is the gain first' "$(head -n 1 stdout)" '^gain: 17 users more'
while read -r users status word; do
    exits "fast-enough -u $users" "$status" known fast-enough -u "$users"
    like "is $word" "$(head -n 1 stdout)" "^$word: "
    exits '... also in JSON' "$status" known fast-enough -u "$users" --json
done <<'END'
36 0 PASS
38 4 INCONCLUSIVE
41 1 FAIL
END
exits 'fast-enough, of 50' 1 known fast-enough
gains() { # LOW HIGH ARGS: worth, with that gain
    low=$1 high=$2
    shift 2
    jq --argjson low "$low" --argjson high "$high" '.gain = {value: $low, low: $low, high: $high}' "$DATA/answers/gain.json" >gain.json
    GAIN=$TMP/gain.json known worth "$@"
}
exits 'a gain with some loads only' 4 gains 0 6
exits 'no gain' 1 gains -3 0
exits 'also in JSON' 1 gains -3 0 --json
GAIN=$DATA/answers/gain.json # some shells keep what stands before a function
exits 'users asked about one that does not hold' 1 known how-many-users -u 41

# What could not be written is no "no", and what is closed none that was used wrongly.
exits 'a disk that is full' 3 sh -c "\"\$0\" --drive sim:bw=1GB/s -o out >/dev/full" "$examples/worth.sh"
exits '... of JSON' 3 sh -c "\"\$0\" --drive sim:bw=1GB/s -o out --json >/dev/full" "$examples/drive.sh"
exits '... of two drives' 3 sh -c "\"\$0\" -o two sim:bw=1GB/s sim:bw=2GB/s >/dev/full" "$examples/compare-drives.sh"
exits 'closed standard output' 3 sh -c "\"\$0\" --drive sim:bw=1GB/s -o out >&-" "$examples/drive.sh"
for closed in '<&-' '2>&-' '<&- 2>&-'; do
    exits "closed: $closed" 0 sh -c "\"\$0\" --drive sim:bw=1GB/s -o out $closed" "$examples/worth.sh"
    like '... has its answer' "$(head -n 1 stdout)" '^gain: 17 users'
done
exits 'two models' 0 "$examples/compare-drives.sh" -o two sim:bw=1GB/s sim:bw=14GB/s,lat=1ms
stdout_like 'are compared' '^no difference found'
stderr_like 'what it takes to see one is said first' 'a difference of 10 % takes 6 runs to show where a drive varies by 5 %'
exits 'in JSON' 0 "$examples/compare-drives.sh" --json -o two sim:bw=1GB/s sim:bw=14GB/s
is 'both answers' "$(json stdout '.answers | length')" 2

# A drive without room is one that cannot be used. A bug looked like two full ones that were compared with endless capacity.
mkdir folder other
printf '#!/bin/sh\nprintf "Filesystem 1024-blocks Used Available Capacity Mounted on\\n/dev/x 1000 1000 0 100%%%% /\\n"\n' >known/df
chmod +x known/df
exits 'a drive that is full' 3 "$examples/drive.sh" -o wrong folder
stderr_like 'is told' '^drive.sh: folder: no space is free$'
exits 'one of two' 3 "$examples/compare-drives.sh" -o wrong folder other
stderr_like 'too' '^compare-drives.sh: folder: no space is free$'
rm -r known/df folder other

# Two at a time in one folder would take each other's files for their own.
if command -v flock >/dev/null; then
    exec 7<out/.kvtrace-results
    flock -n 7
    exits 'a folder in which another works' 3 known drive
    stderr_like 'is told' '^drive.sh: out: another command works in that folder now'
    exec 7<&-
    exits 'until that has ended' 0 known drive
fi

# Nor does a disk that was full leave a folder that is not used any more.
mkdir was_full && : >was_full/.kvtrace-results
exits 'a list that got no room' 0 "$examples/drive.sh" --drive sim:bw=1GB/s -o was_full
exits '... and again' 0 "$examples/drive.sh" --drive sim:bw=1GB/s -o was_full

# ---- what is used wrongly is never a no, and nothing is measured before it is told ----

# An answer, and one of two drives: all but logs.
exits 'an answer' 0 "$examples/drive.sh" --drive sim:bw=14GB/s,lat=80us -o again
mkdir again/1 again/2
for n in 1 2; do cp again/*.json "again/$n"; done
printf '%s\n' 1/sim.json 1/answer.json 2/sim.json 2/answer.json >>again/.kvtrace-results
answer_there() { find again -type f ! -name '*.log' ! -name load.json ! -name '.kvtrace-*' -exec md5sum {} + | sort; }
there=$(answer_there)
while IFS='|' read -r script words want; do
    : >seen
    with "$words" exits "$script $words" 2 "$examples/$script.sh" -o wrong
    stderr_like '... why' "$want"
    is '... before it measures' "$(find wrong -name 'drive.json' 2>/dev/null)" ''
    # A bug looked like an answer that a typo had moved away.
    with "$words" "$examples/$script.sh" -o again >/dev/null 2>&1
    is '... and an earlier answer stays where it is' "$(answer_there)" "$there"
done <<'END'
drive|--goodput 95 folder|--goodput: 95 is above 1; for 95 percent write 95% or 0.95
drive|--drive sim:bw=1GB/s --seeds none|--seeds: 'none' is not a whole number
drive|--drive sim:bw=1GB/s -m nosuch|nosuch: unknown model
worth|--price gpu=much folder|--price
compare-drives|--ttft soon one two|--ttft: 'soon' is not a duration
compare-drives|one sim:bw=1GB/s,speed=2|"speed=2" is not bw=RATE or lat=TIME
drive|--drive sim:bw=1GB/s,lat=80|lat=80: a time needs a unit, such as 80us
drive|--drive nowhere.json|--drive: nowhere.json: not a measurement of a drive
drive|--drive sim:lat=1ms|bw=RATE is missing
drive|--drive sim:bw=1GB/s,speed=2|"speed=2" is not bw=RATE or lat=TIME
drive|--drive sim:bw=1GB/s folder|folder: --drive names the drive already
drive|sim:bw=1GB/s|sim:bw=1GB/s: a model of a drive; give it as --drive sim:bw=1GB/s
drive|-m nosuch folder|nosuch: unknown model
drive|--gpu-profile h9000 folder|h9000
drive|--cpu-mem much folder|--cpu-mem: 'much' is not a size
drive|-t soon folder|-t: 'soon' is not a time
how-many-users|--typo folder|--typo: unknown option
how-many-users|-l 100ms folder|-l: unknown option
fast-enough|-u many folder|-u: "many" is not a whole number
worth|one two|two: a second folder
compare-drives|one|two drives are needed
compare-drives|one two three|three: a third drive
compare-drives|--drive x one two|--drive: name the models as the two operands
END
# A variable that is not set is no default.
for option in --drive -o -m --input --engine --population --price; do
    exits "$option ''" 2 "$examples/drive.sh" "$option" '' -o wrong folder
    stderr_like '... is told' "^drive.sh: $option needs a value"
done
exits 'a folder without a name' 2 "$examples/drive.sh" -o wrong ''
exits 'a drive without one' 2 "$examples/compare-drives.sh" -o wrong sim:bw=1GB/s ''
stderr_like '... is told' 'an operand is empty'
events=$DATA/recordings/vllm-0.33.0-bytes.zmqrec
exits 'a recording without requests' 2 known how-many-users --input "$events"
stderr_like 'is told to have none' "has what a cache did, not the requests"

# Inputs are asked about by their speed, conversations by their rate, and recorded agents by their number.
while IFS='|' read -r file words want; do
    with "$words" exits "$file $words" "${want%% *}" known fast-enough --input "$DATA/$file"
    like '... asks kvgen' "$(tail -n 1 seen)$(tail -n 1 stderr)" "${want#* }"
done <<'END'
mooncake_first200.jsonl|-u 5|2 -u: a trace has its own users; --speed says how fast it is asked
mooncake_first200.jsonl|--speed 3|0 --speed 1 --speed 3
sharegpt_dummy_250.json.zst||0 --request-rate 1
agentic_60.tar.zst||1 --users 50
agentic_60.tar.zst|-u 5|0 --users 5
END

# ---- the pipeline ----

"$examples/drive.sh" --print -o typed -m tiny-1b disk >printed
is '--print: the programs in their order' "$(sed -n 's/^\(kv[a-z]*\( model\)*\) .*/\1/p' printed | paste -sd ' ' -)" \
    'kvgen kvtrace model kvgen kvreplay kvreplay kvstat kvstat'
ok 'shell' sh -n printed
not_ok 'nothing is made' test -e typed
done_testing
