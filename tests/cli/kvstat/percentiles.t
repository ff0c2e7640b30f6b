#!/bin/sh
# percentiles.t - every percentile of a result file lies within 0.1 % of the exact one, which sorting gives; counts,
# sums, means, least and greatest are exact; pooled parts give the figures of the whole. Bugs looked like a p50 that was
# one row off. ROWS is the number of rows (20,000): tests/bench/kvstat-percentiles.sh takes 10 million.
# builds: plain address (threads of the reader: interval.t)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
rows=${ROWS:-20000}
header='Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Due,Eligible,Start,Latency_us,Device_us,Status'

# draw DISTRIBUTION N: N service times in whole ns. Park and Miller's generator, exact in doubles.
draw() {
    awk -v kind="$1" -v n="$2" '
        function uniform() { s = s * 16807 % 2147483647; return s / 2147483647 }
        function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
        BEGIN {
            s = 20261121
            for (i = 0; i < n; i++) {
                if (kind == "uniform") t = 5e6 * uniform()
                else if (kind == "small") t = 1500 * uniform()
                else if (kind == "exponential") t = -1e6 * log(uniform())
                else if (kind == "bimodal") t = uniform() < 0.9 ? 8e4 + 4e3 * normal() : 2e7 + 1e6 * normal()
                else if (kind == "heavy") t = 5e4 * uniform() ^ (-1 / 1.1)
                else t = 123456
                if (t > 1e13) t = 1e13
                printf "%.0f\n", int(t)
            }
        }'
}

# result: times on standard input become a result file: its rows, without the header.
result() {
    awk '{
        time = NR % 1000
        us = sprintf("%d.%03d", int($1 / 1000), $1 % 1000)
        printf "%d.0,Write,%d,Tier-2,k,Prefill,%d.0,,%d.0,%s,%s,ok\n", time, 4096 + NR % 7, time, time, us, us
    }'
}

# exact: "NAME VALUE" of each figure, from sorted times in ns; times in us.
exact() {
    awk -v n="$rows" 'BEGIN {
            split("p50 500000 p90 900000 p95 950000 p99 990000 p999 999000 p9999 999900", p, " ")
            for (i = 1; i < 12; i += 2) at[i] = int((n * p[i + 1] + 999999) / 1000000)
        }
        { sum += $1; most = $1 }
        NR == 1 { least = $1 }
        { for (i = 1; i < 12; i += 2) if (NR == at[i]) of[i] = $1 }
        END {
            printf "count %d\nmean %.12g\nmin %.12g\n", NR, sum / NR / 1000, least / 1000
            for (i = 1; i < 12; i += 2) printf "%s %.12g\n", p[i], of[i] / 1000
            printf "max %.12g\n", most / 1000
        }'
}

# reported FILE: the same from kvstat, for the writes of Tier-2.
reported() {
    "$kvstat" --json "$1" >"$TMP/json" || return 1
    json "$TMP/json" 'tier("Tier-2").write.service_us | .count, .mean, .min, .p50, .p90, .p95, .p99, .p999, .p9999, .max' |
        awk '{ split("count mean min p50 p90 p95 p99 p999 p9999 max", name); for (i = 1; i <= NF; i++) if ($i != "null") print name[i], $i }'
}

for kind in uniform small exponential bimodal heavy constant; do
    draw "$kind" "$rows" >"$TMP/times"
    { echo "$header" && result <"$TMP/times"; } | zstd -q -1 -c >"$TMP/$kind.csv.zst"
    LC_ALL=C sort -n "$TMP/times" | exact >"$TMP/exact"
    reported "$TMP/$kind.csv.zst" >"$TMP/reported"
    is "$kind: all figures" "$(cut -d' ' -f1 "$TMP/reported" | tr '\n' ' ')" \
        'count mean min p50 p90 p95 p99 p999 p9999 max '
    paste -d' ' "$TMP/exact" "$TMP/reported" |
        awk '{ off = $2 ? ($4 - $2) / $2 : $4; print $1, off < 0 ? -off : off }' >"$TMP/off"
    worst=$(awk '/^p/ && $2 > most { most = $2; name = $1 } END { printf "%s %.6f %%", name, 100 * most }' "$TMP/off")
    diag "$kind: the worst percentile of $rows rows: $worst"
    is "$kind: percentiles within 0.1 %" "$(awk '/^p/ && $2 > 0.001' "$TMP/off")" ''
    is "$kind: count, mean, least and greatest" "$(awk '!/^p/ && $2 > 1e-11' "$TMP/off")" ''
    is "$kind: bytes" "$(json "$TMP/json" '.cache | tier("Tier-2").write_bytes')" \
        "$(awk -v n="$rows" 'BEGIN { for (i = 1; i <= n; i++) b += 4096 + i % 7; printf "%.0f", b }')"
    rm "$TMP/times"
    [ "$kind" = heavy ] || rm "$TMP/$kind.csv.zst"
done

# ---- one row, none ----

{ echo "$header" && echo 7654321 | result; } >"$TMP/one.csv"
is 'one row is every percentile' "$(reported "$TMP/one.csv" | awk '$1 != "count" { print $2 }' | sort -u)" 7654.321
echo "$header" >"$TMP/none.csv"
is 'no row has none' "$(reported "$TMP/none.csv")" ''
is 'and is no error' "$(json "$TMP/json" .rows)" 0

# ---- parts and the whole, threads ----

# distributions ARGS...: the parts of the report that do not depend on elapsed times, which add up.
distributions() {
    "$kvstat" --json "$@" >"$TMP/json"
    json "$TMP/json" '{groups, cache, requests, tiers, phases} | del(.. | .gib_per_s?, .gib_per_elapsed_s?)'
}
# without_contents FILE: the same without the contents of tiers, which a pool of runs does not have.
without_contents() {
    json "$1" 'del(.. | .final_bytes?, .final_objects?, .peak_bytes?, .peak_objects?)'
}
zstd -dcq "$TMP/heavy.csv.zst" >"$TMP/heavy.csv"
# Parts of a sixth, a third and a half of the rows.
awk -v n="$rows" -v to="$TMP/part" '
    NR == 1 { for (part = 1; part <= 3; part++) print >(to part ".csv"); next }
    { print >(to (NR - 1 <= int(n / 6) ? 1 : NR - 1 <= int(n / 2) ? 2 : 3) ".csv") }' "$TMP/heavy.csv"
is 'the parts are the whole' "$(cat "$TMP"/part?.csv | grep -vc Timestamp)" "$rows"
distributions "$TMP/heavy.csv.zst" >"$TMP/whole"
like 'distributions' "$(cut -c 1-1000 "$TMP/whole")" 'service_us'
distributions --merge "$TMP/part1.csv" "$TMP/part2.csv" "$TMP/part3.csv" >"$TMP/pooled"
is 'pooled, they give what the whole gives' "$(without_contents "$TMP/pooled")" "$(without_contents "$TMP/whole")"
for threads in 1 4; do
    distributions --config threads=$threads "$TMP/heavy.csv" >"$TMP/other"
    ok "so do $threads threads" cmp "$TMP/whole" "$TMP/other"
done
done_testing
