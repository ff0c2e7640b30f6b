#!/bin/sh
# parts.t - one trace run by several processes (--part, --split, --start-at): every row of a divided trace runs once, all
# rows of a key in one part and in their order, and on one time line; undivided, each part moves all bytes on a target of
# its own. What cannot be divided is refused before anything is written. A bug looked like a row that ran twice, a part
# whose clock began at its own first row, two parts that wrote one file, or a start that had passed and was run anyway.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

trace=$TMP/t.csv
"$BIN/kvgen" --no-notes --users 20 --duration 10 --seed 7 -o "$trace" 2>"$TMP/err" || diag "$(cat "$TMP/err")"
run() { "$BIN/kvreplay" --progress none --tier-engine 0=null --tier-engine 1=null --tier-engine 2=null "$@"; }
# rows FILE: the rows of a result as they stood in the trace.
width=$(head -n 1 "$trace" | tr , '\n' | wc -l)
rows() { sed 1d "$1" | cut -d , -f "1-$width"; }

# ---- one share of the keys each ----

for i in 0 1 2; do
    # A busy machine may miss the start.
    ok "part $i of 3" tries 4 run --part $i/3 --split keys --timing trace --speed 100 --start-at +2 --no-notes \
        -o "$TMP/keys-{rank}.csv" --summary "$TMP/keys-{rank}.json" "$trace"
done
for i in 0 1 2; do rows "$TMP/keys-$i.csv"; done | sort >"$TMP/ran"
sed 1d "$trace" | sort >"$TMP/all"
ok "every row runs once" cmp "$TMP/ran" "$TMP/all"
key=$(head -n 1 "$trace" | tr , '\n' | grep -n '^Key$' | cut -d : -f 1)
for i in 0 1 2; do rows "$TMP/keys-$i.csv" | cut -d , -f "$key" | grep . | sort -u; done | sort | uniq -d >"$TMP/twice"
is "a key is in one part" "$(cat "$TMP/twice")" ''
is "each part has some" "$(for i in 0 1 2; do [ "$(lines "$TMP/keys-$i.csv")" -gt 10 ] && echo $i; done | tr '\n' ' ')" '0 1 2 '
is "rows without a key run in part 0" "$(cat "$TMP"/keys-[12].csv | grep -c ,Generate,)" 0
# The order of a key's rows: those of the trace with this key, and those of its part by Start.
column() { head -n 1 "$1" | tr , '\n' | grep -n "^$2\$" | cut -d : -f 1; }
ordered() {
    start=$(column "$TMP/keys-0.csv" Start)
    for i in 0 1 2; do
        sed 1d "$TMP/keys-$i.csv" | sort -t , -k "$start,${start}g" -s | awk -F, -v k="$key" -v part=$i '
            $k != "" { if ($1 < last[$k]) print part, $k; last[$k] = $1 }'
    done
}
is "a key's rows keep their order" "$(ordered)" ''
# Due is Timestamp less that of the first row of the trace behind the head, at that speed, in all parts.
due=$(column "$TMP/keys-0.csv" Due)
zeros() {
    for i in 0 1 2; do
        awk -F, -v d="$due" 'NR > 1 && $d != "" { printf "%.3f\n", $1 - 100 * $d }' "$TMP/keys-$i.csv"
    done | sort -u
}
is "all parts have one time line" "$(zeros | wc -l)" 1
is "the column Rank" "$(sed 1d "$TMP/keys-2.csv" | cut -d , -f "$(column "$TMP/keys-2.csv" Rank)" | sort -u)" 2
json_like "$TMP/keys-1.json" <<'END'
which part  | .ranks | line([.rank, .count, .split]) | 1 3 keys
its host    | .ranks.host | .+
the run     | .ranks.run | [0-9a-f]{32}
the start   | .start.late_us >= 0 and .start.late_us < 1e6 and .start.at_unix_s <= .start.unix_s + 0.01 | true
the clock   | .start | has("synchronised") and has("clock_error_us") | true
requests    | .validity[] | select(.figures == "end_to_end") | .state | unknown
the rest    | .rows.skipped > 0 and .trace.rows == .rows.total | true
END
is "parts of one run share its name" "$(cat "$TMP"/keys-?.json | jq -r .ranks.run | sort -u | wc -l)" 1
is "and a digest" "$(cat "$TMP"/keys-?.json | jq -r .trace.digest | sort -u | wc -l)" 1

# ---- the whole trace each ----

printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 0,Write,65536,Tier-2,a,Prefill 0,Read,65536,Tier-2,a,Decode \
    0,Write,4096,Tier-2,b,Prefill >"$TMP/small.csv"
for i in 0 1; do
    exits "undivided, part $i" 0 "$BIN/kvreplay" --progress none --part $i/2 --target "$TMP/store" --keep \
        -o "$TMP/whole-{rank}.csv" --summary "$TMP/whole-{rank}.json" "$TMP/small.csv"
done
is "each moves all bytes" "$(cat "$TMP"/whole-?.json | jq '[.groups[].bytes] | add' | tr '\n' ' ')" '135168 135168 '
is "on objects of its own" "$(find "$TMP/store/rank-0" -name '*.kv' | wc -l) $(find "$TMP/store/rank-1" -name '*.kv' | wc -l)" '2 2'
cp "$TMP/small.csv" "$TMP/own-1.csv"
exits "a trace for each part" 0 run --part 1/2 -o - "$TMP/own-{rank}.csv"
stdout_like "runs" '^0(\.0+)?,Write,65536,Tier-2,a,Prefill,.*,1$'

# ---- who says which part ----

exits "auto" 0 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=0 PMI_SIZE=7 \
    "$BIN/kvreplay" --progress none --null --part auto --summary "$TMP/a-{rank}.json" -o "$TMP/a-{rank}" "$TMP/small.csv"
is "from Open MPI" "$(json "$TMP/a-1.json" '.ranks | .rank, .count')" '1 2'
exits "auto/5" 0 env JOB_COMPLETION_INDEX=3 "$BIN/kvreplay" --progress none --null --part auto/5 --summary "$TMP/a-{rank}.json" \
    -o "$TMP/a-{rank}" "$TMP/small.csv"
is "from Kubernetes" "$(json "$TMP/a-3.json" '.ranks | .rank, .count')" '3 5'
exits "without --part" 0 env OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 "$BIN/kvreplay" --progress none --null \
    --summary "$TMP/none.json" -o "$TMP/none.csv" "$TMP/small.csv"
is "the environment is not read" "$(json "$TMP/none.json" .ranks)" null

# ---- refused ----

# refused NAME STATUS WHAT ARGUMENTS...
refused() {
    name=$1 status=$2 what=$3
    shift 3
    rm -rf "$TMP/no"
    exits "$name" "$status" run "$@"
    stderr_like "$name: is told" "$what"
    not_ok "$name: nothing is written" test -e "$TMP/no"
}
refused "served" 2 '--split keys: spreads requests' --part 0/2 --split keys --timing served --workers 2 -o "$TMP/no" "$trace"
refused "closed" 2 '--split keys: spreads requests' --part 0/2 --split keys --timing closed -o "$TMP/no" "$trace"
refused "--order request" 2 '--order: does not apply with --split keys' --part 0/2 --split keys --order request -o "$TMP/no" "$trace"
refused "one file for all" 2 '--output: .*no: every part would write' --part 0/2 -o "$TMP/no" "$trace"
refused "a trace for each part, divided" 2 'cannot hold \{rank\}' --part 0/2 --split keys -o - "$TMP/own-{rank}.csv"
refused "no --part" 2 '--split: applies only with --part' --split keys -o "$TMP/no" "$trace"
refused "part 2 of 2" 2 '--part: 2/2: part 2 of 2: parts are numbered from 0' --part 2/2 -o - "$trace"
refused "no numbers" 2 '--part: x: expected I/N' --part x -o - "$trace"
refused "no launcher" 2 '--part: auto: no launcher' --part auto -o - "$trace"
refused "a past start" 3 '--start-at: this time passed' --start-at 2001-01-01T00:00:00Z -o "$TMP/no" "$trace"
refused "no time" 2 '--start-at: soon: expected' --start-at soon -o "$TMP/no" "$trace"
late() {
    { echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase; sleep 1.5; echo 0,Write,1,Tier-1,a,Prefill; } |
        run --start-at +1 -o "$TMP/no" -
}
exits "the trace comes later than the start" 3 late
stderr_like "is told" '--start-at: this time passed'
not_ok "and nothing is written" test -e "$TMP/no"
done_testing
