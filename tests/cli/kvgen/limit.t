#!/bin/sh
# A run that --limit cuts: the summary counts in each tier what the rows written say, wherever the cut falls, also in
# the middle of a demotion, and with -o none. A bug looked like final_bytes that counted operations whose rows were never written.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

generate() {
    told "$BIN/kvgen" --model tiny-1b --num-users 20 --duration 20 --seed 3 --generation-mode fast --gpu-mem-gb 1 \
        --cpu-mem-gb 2 --storage-capacity-gb 3 --config promote=on-hit -o "$TMP/t.csv" --summary "$TMP/s.json" "$@"
}

# What the rows say: bytes and objects at the end, the most bytes, demoted, deleted.
by_rows() {
    awk -F, 'NR == 1 || $4 == "" {next}
    $2 == "Write" {bytes[$4] += $3; objects[$4]++; if (bytes[$4] > peak[$4]) peak[$4] = bytes[$4]}
    $2 == "Delete" || ($2 == "Read" && $6 == "Evict") {bytes[$4] -= $3; objects[$4]--}
    $2 == "Delete" {deleted[$4]++}
    $2 == "Read" && $10 == "evict" {demoted[$4]++}
    END {
        for (i = 0; i < 3; i++) {
            t = "Tier-" i
            printf "%s%s %.0f", (i > 0 ? " " : ""), t, bytes[t]
            printf " %d %.0f %d %d", objects[t], peak[t], demoted[t], deleted[t]
        }
    }' "$TMP/t.csv"
}
by_summary() {
    json "$TMP/s.json" '.tiers[] | .tier, .final_bytes, .final_objects, .peak_bytes, .evict_ops, .delete_ops'
}
same() { is "$1" "$(by_summary)" "$(by_rows)"; }
generate
same "the whole run"
like "it demotes and deletes" "$(by_rows)" '^Tier-0 .*[1-9][0-9]* 0 Tier-1 .* [1-9][0-9]*$'
first=$(awk -F, '$2 == "Read" && $6 == "Evict" {print NR - 1; exit}' "$TMP/t.csv")
for limit in 1 17 $((first - 1)) "$first" $((first + 1)) $((first + 2)) 997; do
    generate --limit "$limit"
    same "cut behind row $limit"
done

# Where no trace is written, the run ends at the same row. A bug looked like a limit that was refused there.
for options in "" "--only-tier 2" "--ops Write"; do
    with "$options" generate --limit 42
    whole=$(by_summary)
    with "$options" generate --limit 42 -o none
    is "no trace: $options" "$(by_summary)" "$whole"
done
exits "a filter without a limit has no meaning there" 2 "$BIN/kvgen" -o none --only-tier 2
stderr_like "and says so" '^kvgen: --only-tier: needs a trace, or --limit with -o none'

# The same where an existing trace runs through other tiers: one row of it may become several.
generate
mv "$TMP/t.csv" "$TMP/whole.csv"
for limit in 1 17 94 98 997; do
    told "$BIN/kvgen" --input "$TMP/whole.csv" --retier --gpu-mem 0 --cpu-mem 1GiB --storage-capacity 1GiB \
        --limit "$limit" -o "$TMP/t.csv" --summary "$TMP/s.json"
    is "other tiers, cut behind row $limit" "$(by_summary)" "$(by_rows | sed 's/^Tier-0 0 0 0 0 0 //')"
done
# One row may become three: for c, which fills the tier, a and b are deleted. Cut after the first of them.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n%s\n%s\n%s\n' 1,Write,10,Tier-2,a,Prefill \
    2,Write,10,Tier-2,b,Prefill 3,Write,20,Tier-2,c,Prefill >"$TMP/three.csv"
told "$BIN/kvgen" --input "$TMP/three.csv" --retier --gpu-mem 0 --cpu-mem 0 --storage-capacity 20B --limit 3 \
    -o "$TMP/t.csv" --summary "$TMP/s.json"
is "cut among the rows of one" "$(by_summary)" "Tier-2 10 1 20 0 1"
done_testing
