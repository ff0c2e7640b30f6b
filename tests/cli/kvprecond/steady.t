#!/bin/sh
# steady.t - rounds until the device is steady: verdict, exit status, text, JSON and CSV agree with each other and with
# SNIA's rule, worked out here from the CSV. A run that is stopped keeps the rounds that have ended. test_steady tests
# the rule on recorded series. A bug looked like a verdict after four rounds, or measured rounds that were forgotten.
# builds: plain address (threads of a fill: fill.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvprecond=$BIN/kvprecond
summary=$TMP/summary.json

# judge COLUMN: works out from $TMP/rounds.csv when the rule first holds, and compares with the column Steady and the
# summary. Prints "steady ROUNDS", "not-steady ROUNDS", or what differs. COLUMN is a number: 5 Bandwidth_GiB_s, 6 IOPS,
# 7 Latency_mean_us.
judge() {
    json "$summary" '.steady_state.rounds[] | .round, .bytes' | tr ' ' '\n' | paste -d , - - >"$TMP/rounds.json"
    awk -F, -v column="$1" -v reached="$(json "$summary" .steady_state.reached)" '
        function wrong(what) { print "round " n " " what; failed = 1; exit }
        # Over the last five rounds the range is at most 20 % of the mean, the fitted slope changes it by at most 10 %.
        # 2: so near a limit that the decimals of the CSV cannot tell.
        function steady(    i, mean, most, least, slope, over, range) {
            if (n < 5) return 0
            for (i = n - 4; i <= n; i++) {
                mean += y[i] / 5
                if (most == "" || y[i] > most) most = y[i]
                if (least == "" || y[i] < least) least = y[i]
            }
            if (mean <= 0) return 0
            for (i = n - 4; i <= n; i++) slope += (i - n + 2) * (y[i] - mean) / 10
            range = (most - least) / mean / 0.2
            over = (slope < 0 ? -slope : slope) * 4 / mean / 0.1
            if (range > over) over = range
            if (over > 1 - 1e-4 && over < 1 + 1e-4) return 2
            return over <= 1
        }
        NR == FNR { round[FNR] = $1; bytes[FNR] = $2; told = FNR; next }
        FNR == 1 { next }
        # What else had a part in the time of a round leaves it out.
        $10 == 1 {
            out++
            if ($9) wrong("was disturbed and is steady")
            if (said) wrong("came after a steady one")
            next
        }
        {
            n++
            y[n] = $column
            if (said) wrong("came after a steady one")
            said = $9
            verdict = steady()
            if (verdict != 2 && verdict != said) wrong("is judged wrongly")
            if ($1 != n + out || round[n + out] != n + out) wrong("has another number")
            if ($4 != bytes[n + out]) wrong("differs in CSV and JSON")
            off = $4 / $3 / 1073741824 - $5
            if (off > 1e-3 || off < -1e-3) wrong("has a wrong bandwidth")
        }
        END {
            if (failed) exit
            if (n + out != told) print "CSV and JSON differ in length"
            else if (said != (reached == "true")) print "the verdict of the summary differs"
            else print (said ? "steady" : "not-steady"), n + out
        }' "$TMP/rounds.json" "$TMP/rounds.csv"
}

# agrees NAME RC: the verdict of the last run with its status and its words.
agrees() {
    case $verdict in
    steady\ *)
        is "$1: steady is status 0" "$2" 0
        stdout_like "$1: the text says so" 'steady +yes: over rounds [0-9]+ to [0-9]+ '
        ;;
    'not-steady 25')
        is "$1: not steady after 25 rounds is status 1" "$2" 1
        stderr_like "$1: standard error says so" '^kvprecond: .*: steady state was not reached in 25 rounds \(by '
        stdout_like "$1: and the text" 'steady +no: '
        ;;
    *) is "$1: a verdict" "$verdict" 'steady N or not-steady 25' ;;
    esac
}

run() { # run OPTION...
    rc=0
    "$kvprecond" --until-steady --rounds "$TMP/rounds.csv" --summary "$summary" "$@" "$TMP/dir" \
        >"$TMP/stdout" 2>"$TMP/stderr" || rc=$?
}

run --size 8M --round 20ms --block-size 256K --threads 2
verdict=$(judge 5)
agrees 'by bandwidth' "$rc"
is 'the columns of the CSV' "$(head -n 1 "$TMP/rounds.csv")" \
    'Round,Start_s,Seconds,Bytes,Bandwidth_GiB_s,IOPS,Latency_mean_us,Latency_p99_us,Steady,Disturbed'
is 'rounds follow each other' "$(sed -n 3p "$TMP/rounds.csv" | cut -d, -f1-3)" '2,0.020,0.020'
stdout_like 'the fill came first, and is told apart' 'written +8\.00 MiB of 8\.00 MiB'
not_ok 'the files are removed' test -e "$TMP/dir"

run --size 4M --mode random --round 20ms --config track=iops
verdict=$(judge 6)
agrees 'by IOPS' "$rc"
run --size 4M --mode random --round 20ms --config track=latency
verdict=$(judge 7)
agrees 'by latency' "$rc"
# Rounds in which a write or none ends: nearly never steady.
run --size 32M --block-size 32M --config iodepth=1 --round 10ms
verdict=$(judge 5)
agrees 'rounds shorter than a write' "$rc"

# What else had a part in it is told of each round, and of all.
is 'rounds of CSV and JSON tell the same' "$(awk -F, 'NR > 1 { n += $10 } END { print n + 0 }' "$TMP/rounds.csv")" \
    "$(json "$summary" '[.steady_state.rounds[] | select(.disturbed)] | length')"
is 'each figure has a state' "$(json "$summary" '[.validity[] | .figures, (.state | test("^(good|unreliable|unknown)$"))] | join(" ")')" \
    'bandwidth true service true steady_state true'
is 'a figure that is not good has a reason' "$(json "$summary" '[.validity[] | select(.state != "good" and .why == "")] | length')" 0
stdout_like 'and the text has them' '^  validity +(good|bandwidth: |times of a write: |steady state: )'

# A run that is stopped when its first round has ended.
"$kvprecond" --size 4M --until-steady --round 900ms --progress json --rounds "$TMP/rounds.csv" --summary "$summary" \
    "$TMP/dir" >"$TMP/stdout" 2>"$TMP/stderr" &
pid=$!
until grep -q '"rounds": [1-9]' "$TMP/stderr" || ! kill -s 0 "$pid" 2>/dev/null; do sleep 0.02; done
kill -s INT "$pid"
wait "$pid"
is 'SIGINT ends the rounds with 130' $? 130
like 'those that have ended are told' "$(tail -n 1 "$TMP/rounds.csv")" '^[1-4],[0-9.]+,0\.900,[1-9][0-9]*,'
is 'and are not steady' "$(judge 5 | cut -d' ' -f1)" not-steady
stdout_like 'the text says why it ended' 'ended by SIGINT'
not_ok 'nothing is left' test -e "$TMP/dir"

# One that is killed when its second round has ended.
rm -f "$TMP/rounds.csv"
"$kvprecond" --size 4M --until-steady --round 300ms --progress none --rounds "$TMP/rounds.csv" "$TMP/dir" \
    >"$TMP/stdout" 2>"$TMP/stderr" &
pid=$!
until grep -qs "^2," "$TMP/rounds.csv" || ! kill -s 0 "$pid" 2>/dev/null; do sleep 0.02; done
kill -s KILL "$pid"
wait "$pid" 2>/dev/null
like 'SIGKILL: the rounds that have ended are told' "$(sed -n 3p "$TMP/rounds.csv")" '^2,0\.300,0\.300,[1-9][0-9]*,'
exits 'the next run clears the target' 0 "$kvprecond" --size 1M "$TMP/dir"

exits 'rounds that cannot be written' 1 "$kvprecond" --size 1M --until-steady --round 10ms \
    --rounds "$TMP/none/r.csv" "$TMP/dir"
exits 'rounds on standard output, where the report is' 2 "$kvprecond" --size 1M --until-steady --rounds - "$TMP/dir"
exits 'a round of no length' 2 "$kvprecond" --size 1M --until-steady --round 0 "$TMP/dir"

done_testing
