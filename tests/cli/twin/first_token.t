#!/bin/sh
# first_token.t - prefills of a trace queue at as many engines as kvgen computed them on, and the first token comes when
# they end: one trace, one time to the first token by class, in the simulation and in served and timed replays, and in
# what kvstat makes of their rows. As fast as possible it is not known.
#
# Tier-0 takes no time in both, so all that differs is the replay's own lateness. A bug looked like prefills side by
# side on one engine, an engine chosen in another way than kvgen's, or prefilled tokens counted as generated.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

told "$BIN/kvgen" --users 10 --duration 4s --input-len 2000 --output-len 20 --generation-mode fast --engines 2 \
    --gpu-profile h100 --gpu-mem 400 --cpu-mem 0 --storage-capacity none -o "$TMP/trace.csv.zst" --summary "$TMP/told.json"

classes='.interactive, .responsive, .batch'
# near FILE FILE: P50 and P95 of each class in ms lie within 12 ms of each other (a loaded machine is late now and then).
near() {
    paste -d' ' "$1" "$2" | tr ' ' '\n' | awk '{v[NR] = $1} END {
        if (NR != 12) exit 1
        for (i = 1; i <= 6; i++) {d = v[i] - v[i + 6]; if (d > 12 || d < -12) {print i, v[i], v[i + 6]; bad = 1}}
        exit bad}'
}
json "$TMP/told.json" ".prefill.first_token_ms | [$classes][] | .p50, .p95" >"$TMP/told"
isnt "all classes have prefills" "$(json "$TMP/told.json" '[.prefill.first_token_ms[] | .count] | min')" null
replays() { # TIMING OPTIONS...
    timing=$1
    shift
    "$BIN/kvreplay" --timing "$timing" "$@" --tier-engine 0=null "$TMP/trace.csv.zst" \
        -o "$TMP/ran-$timing.csv.zst" --summary "$TMP/$timing.json" 2>"$TMP/err" || return 1
    json "$TMP/$timing.json" ".first_token_ms | [$classes][] | .p50, .p95" >"$TMP/$timing"
    near "$TMP/told" "$TMP/$timing"
}
ok "served: as simulated" tries 5 replays served --workers 10 --admit qos
ok "timed: as simulated" tries 5 replays trace

for timing in served trace; do
    "$BIN/kvstat" --json "$TMP/ran-$timing.csv.zst" >"$TMP/stat.json" 2>/dev/null
    json "$TMP/stat.json" ".requests.by_qos | [$classes][] | .ttft_ms | .p50, .p95" >"$TMP/stat"
    ok "$timing: kvstat finds it in the rows" near "$TMP/$timing" "$TMP/stat"
done
"$BIN/kvstat" --json "$TMP/trace.csv.zst" >"$TMP/stat.json"
is "and in the trace, exactly" "$(json "$TMP/stat.json" .requests.ttft_ms.max)" \
    "$(json "$TMP/told.json" .prefill.first_token_ms.all.max)"
generated=$(json "$TMP/told.json" '.requests | .completed * 20')
is "tokens of prefills are not generated" "$(json "$TMP/stat.json" '.. | objects | select(has("generated_tokens")) | .generated_tokens' | cut -d' ' -f1)" \
    "$generated"
"$BIN/kvstat" --full "$TMP/ran-served.csv.zst" >"$TMP/text" 2>/dev/null
like "the report has it by class" "$(cat "$TMP/text")" 'TTFT by class: interactive p50 .*batch p50'

# At no time are more prefills under way than there are engines.
most() {
    zstd -dcq "$1" | awk -F, 'NR == 1 {for (i = 1; i <= NF; i++) c[$i] = i}
        $2 == "Generate" && $6 == "Prefill" {printf "%.9f 1\n%.9f -1\n", $c["Start"], $c["Start"] + $c["Latency_us"] / 1e6 - 1e-6}' |
        sort -n -k1,1 -k2,2 | awk '{n += $2; if (n > most) most = n} END {print most}'
}
is "two engines, two prefills at once" "$(most "$TMP/ran-served.csv.zst")" 2

"$BIN/kvreplay" --timing asap --tier-engine 0=null "$TMP/trace.csv.zst" -o "$TMP/asap.csv.zst" --summary "$TMP/asap.json" \
    2>"$TMP/err"
is "as fast as possible: not known" "$(json "$TMP/asap.json" .first_token_ms)" null
"$BIN/kvstat" --json "$TMP/asap.csv.zst" >"$TMP/stat.json" 2>/dev/null
is "nor to kvstat" "$(json "$TMP/stat.json" .requests.ttft_ms)" null
done_testing
