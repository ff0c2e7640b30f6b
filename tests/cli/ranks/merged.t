#!/bin/sh
# merged.t - kvstat --ranks: the results of the parts of one run, which came over pipes, give the figures of one file with
# all rows. A part that is missing, killed, of another run or there twice is named; so is the one whose process stood still,
# and no other. A bug looked like a percentile that was the mean of percentiles, requests of two parts that became one, or a
# bandwidth that was that of one part.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

trace=$TMP/t.csv.zst
"$BIN/kvgen" --users 8 --duration 10 --seed 5 -o "$trace" 2>/dev/null
simulated='--tier-engine 0=sim:bw=40GB/s --tier-engine 1=sim:bw=30GB/s --tier-engine 2=sim:bw=10GB/s,lat=1ms'
# parts N ARGUMENTS...: N parts at the same time, whose results come over standard output. A busy machine may miss the start.
parts() {
    n=$1
    shift
    for lead in 2 6 20; do
        at=$(($(date +%s) + lead)) pids=
        for i in $(seq 0 $((n - 1))); do
            {
                with "$simulated" "$BIN/kvreplay" --progress none --part "$i/$n" --start-at $at "$@" -o - 2>"$TMP/err$i"
                echo $? >"$TMP/status$i"
            } | cat >"$TMP/p$i.csv" &
            pids="$pids $!"
        done
        for pid in $pids; do wait "$pid"; done
        grep -q 3 "$TMP"/status? || return 0
    done
}
stat() { "$BIN/kvstat" --progress none "$@"; }

# ---- all rows, as one run ----

parts 4 -z --timing served --workers 8 --speed 20 "$trace"
exits "four parts" 0 stat --ranks --json -o "$TMP/ranks.json" "$TMP"/p?.csv
for i in 0 1 2 3; do zstd -dcf "$TMP/p$i.csv"; done | awk 'NR == 1 || !/^Timestamp/' >"$TMP/all.csv"
exits "one file with all rows" 0 stat --json -o "$TMP/all.json" "$TMP/all.csv"
# What comes with the rows differs, with what the stops of a process were worth, and whether targets are met at that speed;
# what is in the tiers at the end is not known of several files, and at the peak it is that of all parts together.
same() { jq -S 'del(.files, .run, .command, .started, .host, .ranks, .validity, .bottleneck) |
    del(.. | .peak_bytes?, .peak_objects?, .final_bytes?, .final_objects?, .met?)' "$1"; }
same "$TMP/ranks.json" >"$TMP/ranks.same"
same "$TMP/all.json" >"$TMP/all.same"
ok "the same figures, bit for bit" diff "$TMP/ranks.same" "$TMP/all.same"
ok "which are many" test "$(lines "$TMP/all.same")" -gt 1000
one=$(stat --json "$TMP/p0.csv" | json /dev/stdin .requests.count)
is "requests of each part" "$(json "$TMP/ranks.json" .requests.count)" $((4 * one))
json_like "$TMP/ranks.json" <<'END'
the parts   | .ranks.list[].rank | 0 1 2 3
their rows  | ([.ranks.list[].rows] | add) == .rows | true
the host    | .ranks.list[0].host | .+
the spread  | .ranks.start_spread_us >= 0 and .ranks.start_spread_us < 1e6 | true
together    | .ranks.together_s > 0 and .ranks.together_s <= .ranks.in_all_s | true
the slowest | .ranks.slowest | .rank >= 0 and .times_median >= 1 and .by == "p95" | true
none missing | .ranks.missing | length | 0
the trace   | .run.digest | [0-9a-f]{32}
END
exits "any order, any threads" 0 stat --ranks --config threads=3 --json -o "$TMP/again.json" "$TMP/p2.csv" "$TMP/p0.csv" "$TMP/p3.csv" "$TMP/p1.csv"
same "$TMP/again.json" >"$TMP/again.same"
ok "give the same" diff "$TMP/again.same" "$TMP/ranks.same"
peaks() { jq -Sc '[.tiers[] | {peak_bytes, peak_objects}]' "$1"; }
is "and the same peaks" "$(peaks "$TMP/again.json")" "$(peaks "$TMP/ranks.json")"
for i in 0 1 2 3; do stat --json "$TMP/p$i.csv"; done >"$TMP/each.json"
is "which are those of all parts" "$(peaks "$TMP/ranks.json")" "$(jq -Scs '[.[].tiers | [.[] | {peak_bytes, peak_objects}]] |
    transpose | map({peak_bytes: map(.peak_bytes) | add, peak_objects: map(.peak_objects) | add})' "$TMP/each.json")"
exits "as text" 0 stat --ranks --full "$TMP"/p?.csv
stdout_like "the table" '^ +3 .* good'
stdout_like "the start" '4 ranks on 1 host started .* apart and ran together for'
exits "a series" 0 stat --ranks --interval 100ms --json -o "$TMP/series.json" "$TMP"/p?.csv
stat --interval 100ms --json -o "$TMP/series_all.json" "$TMP/all.csv"
is "of all rows" "$(jq -Sc .series "$TMP/series.json" | cksum)" "$(jq -Sc .series "$TMP/series_all.json" | cksum)"

# ---- what is missing, and what does not belong ----

exits "a part is missing" 2 stat --ranks --json -o "$TMP/missing.json" "$TMP/p0.csv" "$TMP/p1.csv" "$TMP/p3.csv"
stderr_like "and named" 'rank 2 of 4 missing: the report is on the others'
is "in JSON" "$(json "$TMP/missing.json" '.ranks.missing[]')" 2
exits "twice the same" 2 stat --ranks "$TMP/p0.csv" "$TMP/p1.csv" "$TMP/p1.csv"
stderr_like "is refused" 'p1.csv: is rank 1 again, as .*p1.csv'
size=$(wc -c <"$TMP/p2.csv")
head -c $((size / 2)) "$TMP/p2.csv" >"$TMP/cut.csv"
exits "a part was killed" 2 stat --ranks --json -o "$TMP/cut.json" "$TMP/p0.csv" "$TMP/p1.csv" "$TMP/cut.csv" "$TMP/p3.csv"
is "its rows tell which" "$(json "$TMP/cut.json" '.ranks | .missing[], (.list[] | select(.whole | not) | .rank)')" 2
"$BIN/kvreplay" --progress none --null -o "$TMP/single.csv" "$trace" 2>/dev/null
exits "no part" 2 stat --ranks "$TMP/p0.csv" "$TMP/single.csv"
stderr_like "is refused" 'single.csv: is no part of a run'
"$BIN/kvreplay" --progress none --null --part 3/4 -o "$TMP/other.{rank}.csv" "$trace" 2>/dev/null
exits "a part of another run" 2 stat --ranks "$TMP/p0.csv" "$TMP/other.3.csv"
stderr_like "is refused" 'other.3.csv: is a part of another run'
exits "--merge" 2 stat --ranks --merge "$TMP/p0.csv" "$TMP/p1.csv"
stderr_like "is another thing" '--ranks: does not apply with --merge'

# ---- a folder; shares of the keys; traces of their own ----

mkdir "$TMP/d"
parts 2 -z --split keys "$trace"
mv "$TMP/p0.csv" "$TMP/d/a.csv.zst"
mv "$TMP/p1.csv" "$TMP/d/b.csv.zst"
cp "$trace" "$TMP/d/t.csv.zst"
exits "a folder" 0 stat --ranks --json -o "$TMP/keys.json" "$TMP/d"
is "has the rows of the trace" "$(json "$TMP/keys.json" .rows)" "$(stat --json "$trace" | json /dev/stdin .rows)"
is "requests are not known" "$(json "$TMP/keys.json" '.requests, .bottleneck.what')" 'null null'
for i in 0 1; do
    "$BIN/kvgen" --users 4 --duration 5 --seed $((42 + i)) -o "$TMP/own-$i.csv" 2>/dev/null
    "$BIN/kvreplay" --progress none --null --part $i/2 -o "$TMP/r-{rank}.csv" "$TMP/own-{rank}.csv" 2>/dev/null
done
exits "two traces" 0 stat --ranks --json -o "$TMP/own.json" "$TMP/r-0.csv" "$TMP/r-1.csv"
is "have no digest together" "$(json "$TMP/own.json" .run.digest)" null

# ---- whose figures are doubtful ----

# As kvreplay says it of a part whose processor was away.
for i in 0 1; do
    with "$simulated" "$BIN/kvreplay" --progress none --part $i/2 -o "$TMP/v-{rank}.csv" "$trace" 2>/dev/null
done
doubt='{""figures"":""response"",""tier"":null,""op"":null,""state"":""unreliable"",""why"":""client delay adds 12 % to p95""}'
sed -i "s/\"\"validity\"\":\[\]/\"\"validity\"\":[$doubt]/; s/\"\"validity\"\":\[{/\"\"validity\"\":[$doubt,{/" "$TMP/v-1.csv"
like "a doubtful part" "$(tail -n 1 "$TMP/v-1.csv")" 'client delay adds 12 %'
exits "is reported" 0 stat --ranks --json -o "$TMP/doubt.json" "$TMP/v-0.csv" "$TMP/v-1.csv"
host=$(json "$TMP/doubt.json" '.ranks.list[0].host')
is "by name" "$(json "$TMP/doubt.json" "[.validity.figures[].why == \"rank 1 on $host: client delay adds 12 % to p95\"] | any")" true
is "and no other" "$(json "$TMP/doubt.json" '.ranks.list[].validity | test("client delay adds 12 %")')" 'false true'
# They ran one after the other: no one load.
like "parts that ran apart are doubtful" "$(json "$TMP/doubt.json" '.validity.figures[] | select(.figures == "service") | .why')" \
    'the ranks ran together for only .* of .*: they are not one load'
unlike "those of one start are not" "$(json "$TMP/ranks.json" '.validity.line')" 'ran together for only'
done_testing
