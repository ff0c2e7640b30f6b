#!/bin/sh
# notes_and_flags.t - what comes with the rows is told, through a file, a pipe and a merge: notes, flags, fallbacks, simulated
# tiers, validity; a summary of another run is refused, files of different traces are not pooled, and rows that contradict
# themselves are counted. Bugs looked like a pool that passed though one of its runs had failed, a pipe without validity, or
# the summary of any run taken for that of the rows.
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat

"$BIN/kvgen" --num-users 5 --duration 5s --arrival open --config decode_reads=batch --model tiny-1b --generation-mode fast -o "$TMP/a.csv" 2>"$TMP/stderr"
"$BIN/kvgen" --num-users 5 --duration 5s --arrival open --config decode_reads=batch --model tiny-1b --seed 7 -o "$TMP/b.csv" 2>"$TMP/stderr"
replay() { # TRACE OUT [options]: onto nothing
    from=$1 to=$2
    shift 2
    "$BIN/kvreplay" --null --progress none --summary "$TMP/$to.json" "$@" -o "$TMP/$to" "$TMP/$from" >"$TMP/stdout" 2>&1
}
for out in a.zst a2.zst a.result.csv; do replay a.csv $out; done
replay b.csv b.zst

# ---- one run, through a frame and through Notes ----

told() { sed -n '/^Run /,/^Bottleneck/p' "$1" | grep -E '^(Run|Tiers|Storage)'; }
"$kvstat" --full "$TMP/a.zst" >"$TMP/of_frames"
"$kvstat" --full "$TMP/a.result.csv" >"$TMP/of_notes"
"$kvstat" --full - <"$TMP/a.result.csv" >"$TMP/of_pipe"
is 'Notes tell what frames do' "$(told "$TMP/of_notes")" "$(told "$TMP/of_frames")"
is 'in a pipe too' "$(told "$TMP/of_pipe")" "$(told "$TMP/of_frames")"
like 'and what was not executed' "$(told "$TMP/of_pipe")" 'NOT EXECUTED'
is 'and whether to believe it' "$(grep -c '^Validity ' "$TMP/of_pipe")" 1
like 'generation that was left out is no rate of tokens' "$(told "$TMP/of_pipe")" 'generation skipped'
unlike 'nor told as one' "$(cat "$TMP/of_pipe")" 'generated, wall clock'
is 'in JSON' "$("$kvstat" --json "$TMP/a.zst" | jq -c '.throughput.wall | .generation_skipped, .generated_tokens_per_s' |
    tr '\n' ' ')" 'true null '

# The same rows and the same frames, once as Notes of a pipe: every figure is the same. A replay of its own for each would
# have other times, so one result becomes the other form. Gaps come after the rows there: what rests on them is kvreplay's.
figures_of() { sed '/^  "\(command\|files\)": \[$/,/^  \],*$/d; /^  "started": /d'; }
same() { # FILE NOTES
    "$kvstat" --json --interval 1s --profile latency --slo "$1" | figures_of >"$TMP/of.json"
    "$kvstat" --json --interval 1s --profile latency --slo - <"$2" | figures_of >"$TMP/and.json"
    diff "$TMP/of.json" "$TMP/and.json"
}
as_notes() { # FILE.zst: the rows as text, with the frames as Notes, as kvreplay writes them into a pipe
    fields=$(zstd -dqc "$1" | head -n 1 | tr -cd , | wc -c)
    zstd -dqc "$1" | head -n 1
    note() { awk -v n="$fields" '{ gsub(/"/, "\"\""); printf "0.000000,Note,0,,\"%s\"", $0; for (i = 4; i < n; i++) printf ","; print "" }'; }
    provenance "$1" | jq -c . | note
    zstd -dqc "$1" | sed 1d
    jq -c . "$2" | note
}
without_gaps() {
    "$BIN/kvreplay" --timing served --workers 3 --tier-engine 0=sim:lat=1ms --tier-engine 1=sim --tier-engine 2=sim --speed 4 \
        --progress none --summary "$TMP/served.json" -o "$TMP/served.zst" "$TMP/a.csv" 2>"$TMP/stderr"
    [ "$(json "$TMP/served.json" .gaps)" = '[]' ]
}
quiet=yes
tries 10 without_gaps >/dev/null || quiet=no
as_notes "$TMP/served.zst" "$TMP/served.json" >"$TMP/served.csv"
if [ $quiet = yes ]; then
    ok 'the figures of a pipe are those of a file of frames' same "$TMP/served.zst" "$TMP/served.csv"
else
    ok 'the figures of a pipe are those of a file of frames # SKIP the processors were away in ten of ten runs' true
fi
is 'which has Notes at both ends' "$(grep -n ',Note,' "$TMP/served.csv" | cut -d : -f 1 | tr '\n' ' ')" \
    "2 $(lines "$TMP/served.csv") "
ok 'and those of plain rows, packed by another program' sh -c "zstd -qf \"\$1\" -o \"\$2\"" sh "$TMP/served.csv" "$TMP/packed.zst"
ok 'are the same' same "$TMP/packed.zst" "$TMP/served.csv"

# The pipeline itself: what is written to a file on the way is what came out of the pipe.
"$BIN/kvgen" --num-users 5 --duration 5s --model tiny-1b --generation-mode fast 2>"$TMP/stderr" |
    "$BIN/kvreplay" --null --progress none -o - - 2>"$TMP/stderr" | tee "$TMP/tee.csv" | "$kvstat" --json - |
    figures_of >"$TMP/of_pipe.json"
"$kvstat" --json "$TMP/tee.csv" | figures_of >"$TMP/of_file.json"
ok 'a pipeline ends in the figures of its rows' diff "$TMP/of_file.json" "$TMP/of_pipe.json"
zstd -qf "$TMP/tee.csv" -o "$TMP/tee.csv.zst"
"$kvstat" --json "$TMP/tee.csv.zst" | figures_of >"$TMP/of_zst.json"
ok 'compressed too' diff "$TMP/of_file.json" "$TMP/of_zst.json"
isnt 'with a run that is known' "$(json "$TMP/of_pipe.json" '.run.evidence, .validity.line')" 'null null'

# ---- Notes that are not in their place ----

sed '$d' "$TMP/a.result.csv" >"$TMP/cut.csv"
exits 'a file without its last row' 2 "$kvstat" --full "$TMP/cut.csv"
stderr_like 'is noticed' '^kvstat: .*/cut\.csv: incomplete: the run was killed after [0-9.]+ [mu]?s; 500 rows recovered$'
like 'and not believed' "$(sed -n '/^Validity/,/^[BS]/p' "$TMP/stdout" | tr -s '\n ' ' ')" 'unknown: .*no summary of the replay'
{ cat "$TMP/a.result.csv" && sed 1d "$TMP/a.result.csv"; } >"$TMP/twice.csv"
exits 'two files in one' 0 "$kvstat" --full "$TMP/twice.csv"
stderr_like 'are noticed' '^kvstat: .*/twice\.csv: it is made of several files, or its rows are not in their order$'
{ head -n 1 "$TMP/a.result.csv" && sed 1d "$TMP/a.result.csv" | sort -r; } >"$TMP/shuffled.csv"
exits 'rows in another order' 0 "$kvstat" --full "$TMP/shuffled.csv"
stderr_like 'are noticed too' '^kvstat: .*/shuffled\.csv: it'
grep -v ',Note,' "$TMP/a.result.csv" >"$TMP/bare.csv"
exits 'without any Note' 0 "$kvstat" --full "$TMP/bare.csv"
is 'nothing is missing' "$(cat "$TMP/stderr")" ''

# ---- --run ----

exits 'the summary of the rows' 0 "$kvstat" --full --run "$TMP/a.result.csv.json" "$TMP/bare.csv"
stdout_like 'gives them their validity' '^Validity +unknown: nothing was executed'
"$BIN/kvreplay" --progress none --null --only-tier 2 --summary "$TMP/tier.json" -o "$TMP/tier.csv" "$TMP/a.result.csv" 2>/dev/null
ok 'rows were left out' test "$(json "$TMP/tier.json" .rows.skipped)" -gt 0
exits 'the summary of a replay of one tier' 0 "$kvstat" --run "$TMP/tier.json" "$TMP/tier.csv"
head -n 20 "$TMP/bare.csv" >"$TMP/fewer.csv"
exits 'that of more rows' 2 "$kvstat" --run "$TMP/a.result.csv.json" "$TMP/fewer.csv"
stderr_like 'is refused' '^kvstat: .*/a\.result\.csv\.json: is of another run: it counted [0-9]+ rows, the file has 19$'
exits 'that of another trace' 2 "$kvstat" --run "$TMP/b.zst.json" "$TMP/a.zst"
stderr_like 'too' '^kvstat: .*/b\.zst\.json: is of another trace than the rows \(digest [0-9a-f]{32}, not [0-9a-f]{32}\)$'

replay a.csv slow.zst --timing trace --speed 100
exits 'that of another run of as many rows' 2 "$kvstat" --run "$TMP/slow.zst.json" "$TMP/bare.csv"
stderr_like 'likewise' '^kvstat: .*/slow\.zst\.json: is of another run: that ended after [0-9.]+ s, the file.s last row after [0-9.]+ s$'

# ---- several files ----

exits 'two runs of one trace' 0 "$kvstat" --full --merge "$TMP/a.zst" "$TMP/a2.zst"
stdout_like 'are as good as each' '^Validity +unknown: nothing was executed'
stdout_like 'and did as little' '^Tiers +Tier-0 NOT EXECUTED'
exits 'runs of two traces' 2 "$kvstat" --full --merge "$TMP/a.zst" "$TMP/b.zst"
stderr_like 'are not pooled' '^kvstat: .*/b\.zst: is of another trace than the files before it \(digest '
exits 'one good run and one of which nothing is known' 0 "$kvstat" --merge --json "$TMP/a.zst" "$TMP/bare.csv"
is 'are not known' "$(json "$TMP/stdout" '.validity.figures[] | select(.figures == "service") | .state')" unknown
sed '$s/,ok$/,EIO/' "$TMP/bare.csv" >"$TMP/failed.csv"
exits 'runs of two traces, and one of which nothing is known between them' 2 \
    "$kvstat" --full --merge "$TMP/a.zst" "$TMP/bare.csv" "$TMP/b.zst"
exits 'plain results of two traces' 2 "$kvstat" --full --merge "$TMP/a.result.csv" "$TMP/b.zst"
exits 'a good run and a failed one' 1 "$kvstat" --full --merge --profile throughput --check "$TMP/a.zst" "$TMP/failed.csv"
stdout_like 'fail' '^Profile throughput: FAIL$'
exits 'in the other order' 1 "$kvstat" --merge --profile latency --check "$TMP/failed.csv" "$TMP/a.zst"
exits 'against their targets' 1 "$kvstat" --merge --slo --check "$TMP/a.zst" "$TMP/failed.csv"

# ---- rows that contradict themselves ----

head -n 1 tests/data/kvstat_dozen.csv >"$TMP/odd.csv"
for i in 1 2 3; do
    echo "$i.0,Read,4096,Tier-2,a$i,Decode,$i,u,batch,user,1,$i.0,,$i.0,$i.0,$i.0,1000,900,ok"
    echo "$i.0,Read,4096,Tier-2,b$i,Decode,$i,u,batch,user,1,$i.0,,$i.0,$i.0,0.5,1000,1900,ok"
done >>"$TMP/odd.csv"
exits 'device times above latencies, starts before they were due' 0 "$kvstat" --json "$TMP/odd.csv"
is 'are counted' "$(json "$TMP/stdout" '.device_over_latency, .start_before_due')" '3 3'
is 'and doubted' "$(json "$TMP/stdout" '.validity.figures[] | select(.state == "unreliable") | .figures, .why')" \
    'device 3 rows with a device time above their latency response 3 rows with a start before they were due'

# ---- notes, flags, fallbacks ----

cat >"$TMP/told.json" <<'END'
{"program": "kvreplay", "valid": true, "notes": ["the device moved 3.4 times what was asked for", "a\u001b[31m note"],
 "tiers": [{"tier": "Tier-2", "engine": "psync", "target": "/mnt/x", "device": "vdb", "simulated": false,
  "flags": ["buffered"], "fallbacks": ["O_DIRECT refused"]}]}
END
exits 'a summary with notes' 0 "$kvstat" --full --run "$TMP/told.json" tests/data/kvstat_dozen.csv
stdout_like 'the engine and its flags are told' '^Storage +psync on /mnt/x \(vdb\), buffered$'
stdout_like 'what it did without' '^Fallbacks +O_DIRECT refused$'
stdout_like 'and the notes, which steer no terminal' '^Notes +the device moved 3\.4 times what was asked for; a\?\[31m note$'
exits 'in JSON' 0 "$kvstat" --json --run "$TMP/told.json" tests/data/kvstat_dozen.csv
is 'too' "$(json "$TMP/stdout" '.run | .storage_engine, .target, .device, .storage_flags[], .storage_fallbacks[], .notes[0]')" \
    'psync /mnt/x vdb buffered O_DIRECT refused the device moved 3.4 times what was asked for'
done_testing
