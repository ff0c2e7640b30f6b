#!/bin/sh
# --source lct: LMCache's trace files of both levels have the figures that a program of its own counted: writes, reads,
# deletions and bytes by tier, gaps, restarts; and nothing private is seen. A bug looked like keys of 0 bytes, because only
# the store says how large an object is.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/recordings.sh
. "$TOP/tests/recordings.sh"

generate() { "$BIN/kvgen" --names "$TMP/key" --summary "$TMP/s.json" "$@"; }
rows() { grep -v '^,Note' "$1"; }
while read -r sample counts keys by unrecorded; do
    in=$DATA/recordings/lmcache-0.5.6-$sample.lct
    rm -f "$TMP/out.csv" "$TMP/capture.jsonl"
    exits "$sample" 0 generate --input "$in" -o "$TMP/out.csv" --capture "$TMP/capture.jsonl"
    is "$sample: recognised" "$(json "$TMP/s.json" .source)" lct
    is "$sample: counts" "$(json "$TMP/s.json" '.recording | [.missing, .restarts, .stored, .removed, .reads,
        .reads_of_unknown_size, .late] | map(tostring) | join(",")')" "$counts"
    is "$sample: bytes by tier" "$(json "$TMP/s.json" '[.rows_by[] | .op + .tier[5:] + ":" + (.rows | tostring) + ":" +
        (.bytes | tostring)] | join(",")')" "$by"
    is "$sample: keys" "$(jq -r '.hashes[]?' "$TMP/capture.jsonl" | sort -u | wc -l)" "$keys"
    is "$sample: nothing private is seen" \
        "$(planted "$TMP/out.csv" "$TMP/capture.jsonl" "$TMP/s.json" "$TMP/stderr")" ""
    exits "$sample: the capture" 0 generate --input "$TMP/capture.jsonl" -o "$TMP/again.csv"
    rows "$TMP/out.csv" >"$TMP/a"
    rows "$TMP/again.csv" >"$TMP/b"
    ok "$sample: the capture gives the same rows" cmp "$TMP/a" "$TMP/b"
    like "$sample: and says what is not in it" "$(grep '^not in it' "$TMP/stderr")" "$unrecorded"
    exits "$sample: from a pipe" 0 generate --input - -o "$TMP/again.csv" <"$in"
    rows "$TMP/again.csv" >"$TMP/b"
    ok "$sample: the pipe gives the same rows" cmp "$TMP/a" "$TMP/b"
    head -c 15000 "$in" >"$TMP/cut.lct"
    exits "$sample: cut: status 2" 2 generate --input "$TMP/cut.lct" -o "$TMP/cut.csv"
    stderr_like "$sample: cut: says so" '^kvgen: .*cut.lct: message [0-9]+: cut in the middle of a message; those before'
    rows "$TMP/cut.csv" >"$TMP/b"
    head -n "$(lines "$TMP/b")" "$TMP/a" >"$TMP/c"
    ok "$sample: cut: the rows before it are there" cmp "$TMP/b" "$TMP/c"
done <<'END'
storage 0,0,14,0,18,0,0 14 Read1:18:8656896,Write1:14:6559744 ^not in it  results and durations of calls
events 0,0,32,14,22,0,0 14 Read1:18:8656896,Read2:4:2097152,Write1:18:8656896,Write2:14:6559744,Delete1:14:6559744 ^not in it  exact times
events-tokens 1,1,10,2,4,1,1 6 Read1:2:2097152,Read2:1:1048576,Write1:5:5242880,Write2:5:7340032,Delete1:4:4194304,Delete2:5:7340032 ^not in it  exact times
END
# Each of them again with unknown fields and events mixed in, and maps from their ends.
if command -v python3 >/dev/null; then
    for in in "$DATA"/recordings/*.lct; do
        sample=$(basename "$in" .lct)
        read -r fields events <<END
$(python3 "$TOP/tests/recordings.py" mix "$in" "$TMP/mixed.lct")
END
        exits "$sample: as it is" 0 generate --input "$in" -o "$TMP/out.csv"
        rows "$TMP/out.csv" >"$TMP/a"
        stderr_unlike "$sample: as it is: all is known" 'not known are left out'
        exits "$sample: mixed" 0 generate --input "$TMP/mixed.lct" -o "$TMP/again.csv"
        rows "$TMP/again.csv" >"$TMP/b"
        ok "$sample: mixed: the same rows" cmp "$TMP/a" "$TMP/b"
        stderr_like "$sample: mixed: fields are counted" "fields that are not known are left out: $fields\$"
        stderr_like "$sample: mixed: events are counted and named" \
            "not known are left out: $events, the first one \"BlockDreamt\"\$"
    done
fi

exits "provenance" 0 generate --input "$DATA/recordings/lmcache-0.5.6-events.lct" -z -o "$TMP/out.csv.zst"
provenance "$TMP/out.csv.zst" >"$TMP/p.json"
json_like "$TMP/p.json" <<'END'
reads are recorded    | .recording.writes_only | false
what is not, is said  | .recording.missing[1] | exact times \(told .*bursts\)
END

bad() { # NAME REGEX: of bad.lct
    exits "$1: status 2" 2 "$BIN/kvgen" --source lct --input "$TMP/bad.lct" -o none
    stderr_like "$1: says so" "^kvgen: .*bad.lct: message $2"
}
events=$DATA/recordings/lmcache-0.5.6-events.lct
sed 's/LMCT/LMCX/' "$events" >"$TMP/bad.lct"
bad "another magic" '1: damaged: no frame of an LMCache trace'
sed 's/level\xa6events/level\xa6dreams/' "$events" >"$TMP/bad.lct"
bad "another level" '1: its level is neither storage nor events'
{ cat "$events" && printf '\377\377\377\377'; } >"$TMP/bad.lct"
bad "a frame without end" '26: damaged'
{ cat "$events" && printf '\000\000\000\002\001\001'; } >"$TMP/bad.lct"
bad "a frame of two values" '26: damaged'
{ cat "$events" && printf '\000\000\000\001\200'; } >"$TMP/more.lct"
exits "a record without members is left out" 0 generate --input "$TMP/more.lct" -o none
sed 's/delete/doubts/g' "$events" >"$TMP/more.lct"
exits "events that are not known" 0 generate --input "$TMP/more.lct" -o none
stderr_like "they are counted and named" 'not known are left out: 4, the first one "doubts"'
done_testing
