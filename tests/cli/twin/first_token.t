#!/bin/sh
# first_token.t - the first token of a request comes when its prefill's row ends: one trace, one time to the first token by
# class, in the simulation and in served and timed replays, and in what kvstat makes of their rows. As fast as possible it
# is not known.
#
# Tier-0 takes no time in both, so all that differs is the replay's own lateness. A bug looked like prefilled tokens that were
# counted as generated.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

told "$BIN/kvgen" --users 10 --duration 0 --max-requests 40 --config input_len=2000 --config output_len=20 --config engines=2 \
    --gpu-profile h100 --gpu-mem 70 --cpu-mem 0 --storage-capacity none -o "$TMP/trace.csv.zst" --summary "$TMP/told.json"

classes='.interactive, .responsive, .batch'
# late FILE COLUMN: the least and the most ms that prefills of a replay end later than in the trace. It begins at that column
# of its first row.
late() {
    zstd -dcq "$1" | awk -F, -v column="$2" 'NR == 1 {for (i = 1; i <= NF; i++) c[$i] = i}
        $2 == "Note" {next}
        NR > 1 && begin == "" {begin = $c[column] + 0}
        $2 == "Generate" && $6 == "Prefill" {
            ms = ($c["Start"] - $1 + begin) * 1000 + ($c["Latency_us"] - $c["Duration_us"]) / 1000
            if (!n++ || ms < least) least = ms
            if (n == 1 || ms > most) most = ms}
        END {print least, most}'
}
# near FILE FILE LEAST MOST: P50 and P95 of each class in ms: those of the second file come later by LEAST to MOST, to a bucket's
# width of 1 %. (Whoever comes later by as much has percentiles that do.)
near() {
    paste -d' ' "$1" "$2" | tr ' ' '\n' | awk -v least="$3" -v most="$4" '{v[NR] = $1} END {
        if (NR != 12) exit 1
        for (i = 1; i <= 6; i++) {
            d = v[i + 6] - v[i]; wide = 0.01 * v[i] + 1
            if (d < least - wide || d > most + wide) {print i, v[i], v[i + 6], least, most; bad = 1}
        }
        exit bad}'
}
json "$TMP/told.json" ".prefill.first_token_ms | [$classes][] | .p50, .p95" >"$TMP/told"
isnt "all classes have prefills" "$(json "$TMP/told.json" '[.prefill.first_token_ms[] | .count] | min')" null
replays() { # TIMING COLUMN OPTIONS...
    timing=$1 column=$2
    shift 2
    "$BIN/kvreplay" --timing "$timing" "$@" --tier-engine 0=null "$TMP/trace.csv.zst" \
        -o "$TMP/ran-$timing.csv.zst" --summary "$TMP/$timing.json" 2>"$TMP/err"
    json "$TMP/$timing.json" ".first_token_ms | [$classes][] | .p50, .p95" >"$TMP/$timing"
    late "$TMP/ran-$timing.csv.zst" "$column" >"$TMP/late"
    read -r least most <"$TMP/late"
    ok "$timing: none is early ($least ms)" awk -v least="$least" 'BEGIN {exit least < -1}' /dev/null
    ok "$timing: as simulated, but for what the replay was late" near "$TMP/told" "$TMP/$timing" "$least" "$most"
}
replays served Arrival --workers 10 --config admit=qos
replays trace Timestamp

for timing in served trace; do
    "$BIN/kvstat" --json "$TMP/ran-$timing.csv.zst" >"$TMP/stat.json" 2>/dev/null
    json "$TMP/stat.json" ".requests.by_qos | [$classes][] | .ttft_ms | .p50, .p95" >"$TMP/stat"
    ok "$timing: kvstat finds it in the rows" near "$TMP/$timing" "$TMP/stat" 0 0
done
"$BIN/kvstat" --json "$TMP/trace.csv.zst" >"$TMP/stat.json"
is "and in the trace, exactly" "$(json "$TMP/stat.json" .requests.ttft_ms.max)" \
    "$(json "$TMP/told.json" .prefill.first_token_ms.all.max)"
for class in interactive responsive batch; do
    is "the time per token, too: $class" "$(json "$TMP/stat.json" ".requests.by_qos.$class.tpot_ms | .count, .p50, .max")" \
        "$(json "$TMP/told.json" ".serving.time_per_token_ms.$class | .count, .p50, .max")"
done
generated=$(json "$TMP/told.json" '.requests | .completed * 20')
is "tokens of prefills are not generated" "$(json "$TMP/stat.json" '.. | objects | select(has("generated_tokens")) | .generated_tokens' | cut -d' ' -f1)" \
    "$generated"
"$BIN/kvstat" --full "$TMP/ran-served.csv.zst" >"$TMP/text" 2>/dev/null
like "the report has it by class" "$(cat "$TMP/text")" 'TTFT by class: interactive p50 .*batch p50'
like "and the time per token" "$(cat "$TMP/text")" 'TPOT by class: interactive p50 .*batch p50'

"$BIN/kvreplay" --timing asap --tier-engine 0=null "$TMP/trace.csv.zst" -o "$TMP/asap.csv.zst" --summary "$TMP/asap.json" \
    2>"$TMP/err"
is "as fast as possible: not known" "$(json "$TMP/asap.json" .first_token_ms)" null
"$BIN/kvstat" --json "$TMP/asap.csv.zst" >"$TMP/stat.json" 2>/dev/null
is "nor to kvstat" "$(json "$TMP/stat.json" .requests.ttft_ms)" null
done_testing
