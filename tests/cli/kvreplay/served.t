#!/bin/sh
# served.t - --timing served: requests are admitted in the order of the trace, when they have arrived and a worker is
# free, and not earlier. The queue waits and end-to-end times of kvstat are those of the rows. --duration ends a run
# that cannot keep up with the requests that it has. A busy machine may delay anything, so only the median delay is
# bounded; the unit test is exact. A bug looked like queue waits that were shorter by the time that the request had
# queued when the trace was made.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

plan 21
# 30 requests, three every 30 ms; 4 workers; a device that does one write after another, 10 ms each; 40 to 80 ms of
# generation. When the trace was made each had queued 7 ms before its first row.
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival,Duration_us"
    for (i = 0; i < 30; i++) {
        arrival = 500 + int(i / 3) * 0.03
        printf "%.3f,Write,4096,Tier-1,k%d,Prefill,%d,%.3f,\n", arrival + 0.007, i, i, arrival
        printf "%.3f,Generate,0,,,,%d,%.3f,%d\n", arrival + 0.007, i, arrival, 40000 + i % 5 * 10000
    }
}' >"$TMP/t.csv"
# delays: for each request, how many ms later than it could it was admitted, its write ended and its generation ended. A
# request can be admitted when it has arrived and three of those before it have not ended yet; the device can begin a
# write when it is eligible and the write before has ended. Times on paper are exact, those of other rows are the run's.
delays() {
    sed 1d "$TMP/r.csv" | sort -t , -k 12,12n | awk -F, '
        $2 == "Write" { arrival[$7] = $10; eligible[$7] = $11; written[$7] = $12 + $13 / 1e6; order[n++] = $7 }
        $2 == "Generate" { generates[$7] = $12; ended[$7] = $12 + $13 / 1e6 }
        # The k-th smallest end of the requests before i.
        function kth_end(k, i,    j, m, n_ends, end, swap) {
            for (j = 0; j < i; j++) end[j] = ended[j]
            for (m = 0; m < k; m++)
                for (j = m + 1; j < i; j++) if (end[j] < end[m]) { swap = end[m]; end[m] = end[j]; end[j] = swap }
            return end[k - 1]
        }
        END {
            for (i = 0; i < 30; i++) {
                could = int(i / 3) * 0.03
                if (i > 3 && kth_end(i - 3, i) > could) could = kth_end(i - 3, i)
                device[i] = eligible[i]
                if (i > 0 && written[order[i - 1]] > device[i]) device[i] = written[order[i - 1]]
                print (eligible[i] - could) * 1e3, (written[i] - device[i]) * 1e3 - 10, \
                    (ended[i] - generates[i]) * 1e3 - 40 - i % 5 * 10
            }
        }'
}
# median COLUMN, least COLUMN: of the delays.
median() { cut -d ' ' -f "$1" "$TMP/delays" | sort -n | sed -n 15p; }
least() { cut -d ' ' -f "$1" "$TMP/delays" | sort -n | head -n 1; }
replay() {
    "$BIN/kvreplay" --timing served --workers 4 --tier-engine 1=sim:lat=10ms --config lateness_budget=1s \
        --no-notes -o "$TMP/r.csv" --summary "$TMP/s.json" "$TMP/t.csv" 2>"$TMP/stderr" || return
    delays >"$TMP/delays"
}
prompt() {
    replay || return
    echo "median delays: $(median 1), $(median 2), $(median 3) ms"
    awk -v a="$(median 1)" -v b="$(median 2)" -v c="$(median 3)" 'BEGIN { exit !(a < 5 && b < 5 && c < 5) }'
}
ok "admissions, writes and ends come when they can" tries 10 prompt
is "for each request" "$(lines "$TMP/delays")" 30
what=admission
for column in 1 2 3; do
    ok "no $what earlier" awk -v ms="$(least $column)" 'BEGIN { exit !(ms > -0.003) }'
    case $what in admission) what='write ends' ;; *) what='generation ends' ;; esac
done

by_request() { sort -k 1,1n | tr '\n' ';'; }
is "arrivals exactly" "$(awk -F, '$2 == "Write" { printf "%d %.6f\n", $7, $10 }' "$TMP/r.csv" | by_request)" \
    "$(awk 'BEGIN { for (i = 0; i < 30; i++) printf "%d %.6f\n", i, int(i / 3) * 0.03 }' | by_request)"
is "admitted in the order of the trace" "$(seq 0 29)" \
    "$(awk -F, '$2 == "Write" { print $11, $7 }' "$TMP/r.csv" | sort -k 1,1n -k 2,2n | cut -d ' ' -f 2)"
is "Due is the first row's only" "$(awk -F, 'NR > 1 && ($2 == "Write") != ($10 != "")' "$TMP/r.csv")" ""
stderr_like "the summary counts them" "^30 requests were let in to 4 workers; queue wait"
json_like "$TMP/s.json" <<'END'
as JSON too | .served.admitted, .served.admitted_beyond_workers, .lag_s.max, .ended_by | 30 0 null trace
END
# Means over the rows, in ms: from a request's arrival to the start of its first row, and to its end.
awk -F, '
    $2 == "Write" { arrival[$7] = $10; wait += $12 - $10 }
    $2 == "Generate" { end[$7] = $12 + $13 / 1e6 }
    END {
        for (i in end) whole += end[i] - arrival[i]
        print wait / 30 * 1e3, whole / 30 * 1e3
    }' "$TMP/r.csv" >"$TMP/means"
read -r wait whole <"$TMP/means"
"$BIN/kvstat" --json -o "$TMP/k.json" "$TMP/r.csv" 2>/dev/null
json_like "$TMP/k.json" <<END
kvstat: requests        | .requests.count | 30
kvstat: mean queue wait | .requests.queue_ms.mean - $wait | . > -0.01 and . < 0.01 | true
kvstat: mean end to end | .requests.end_to_end_ms.mean - $whole | . > -0.01 and . < 0.01 | true
END

exits "more than the time allows" 0 "$BIN/kvreplay" --timing served --workers 1 --tier-engine 1=sim:lat=10ms \
    --config lateness_budget=1s --duration 600ms --no-notes -o "$TMP/r.csv" --summary "$TMP/s.json" "$TMP/t.csv"
stderr_like "is said" "ended by --duration"
rows=$(($(lines "$TMP/r.csv") - 1))
# A request takes 50 ms at least and has two rows.
ok "the requests served until then are there ($rows rows)" test "$rows" -ge 2 -a "$rows" -le 26
is "valid, and the line had grown" "$(json "$TMP/s.json" '.valid, .ended_by, .served.queue_ms.max > 60')" \
    "true duration true"

exits "workers are needed" 2 "$BIN/kvreplay" --timing served --null "$TMP/t.csv"
exits "and mean nothing otherwise" 2 "$BIN/kvreplay" --workers 3 --null "$TMP/t.csv"
exits "rows of a request run one after another" 2 "$BIN/kvreplay" --timing served --workers 3 --order key --null \
    "$TMP/t.csv"
cut -d, -f1-6 "$TMP/t.csv" | grep -v Generate >"$TMP/core.csv"
exits "a trace without requests cannot be served" 2 "$BIN/kvreplay" --timing served --workers 3 --null "$TMP/core.csv"
