#!/bin/sh
# A run that --limit cuts: the summary says of each tier what the rows written say, wherever the cut
# falls, in the middle of a demotion too. A bug looked like final_bytes of operations whose rows were
# never written.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

gen() {
    told "$BIN/kvgen" --model tiny-1b --num-users 20 --duration 20 --seed 3 --generation-mode fast --gpu-mem-gb 1 \
        --cpu-mem-gb 2 --storage-capacity-gb 3 --promote on-hit -o "$TMP/t.csv" --summary "$TMP/s.json" "$@"
}

# What the rows say: bytes and objects at the end, the most bytes, demoted, deleted.
by_rows() {
    awk -F, 'NR == 1 || $4 == "" {next}
    $2 == "Write" {now[$4] += $3; n[$4]++; if (now[$4] > peak[$4]) peak[$4] = now[$4]}
    $2 == "Delete" || ($2 == "Read" && $6 == "Evict") {now[$4] -= $3; n[$4]--}
    $2 == "Delete" {gone[$4]++}
    $2 == "Read" && $10 == "evict" {down[$4]++}
    END {for (t = 0; t < 3; t++) {k = "Tier-" t
        printf "%s %.0f %d %.0f %d %d\n", k, now[k], n[k], peak[k], down[k], gone[k]}}' "$1"
}
by_summary() {
    tr -d ' ",' <"$1" | awk -F: '/^tier:Tier/ {t = $2} $1 ~ /_(ops|bytes|objects)$/ {v[t, $1] = $2}
    END {for (i = 0; i < 3; i++) {k = "Tier-" i
        printf "%s %s %s %s %s %s\n", k, v[k, "final_bytes"], v[k, "final_objects"], v[k, "peak_bytes"],
            v[k, "evict_ops"], v[k, "delete_ops"]}}'
}
same() { # NAME
    is "$1" "$(by_summary "$TMP/s.json")" "$(by_rows "$TMP/t.csv")"
}
gen
same "the whole run"
like "it demotes and deletes" "$(by_rows "$TMP/t.csv" | tail -n 1)" ' [1-9][0-9]*$'
first=$(awk -F, '$2 == "Read" && $6 == "Evict" {print NR - 1; exit}' "$TMP/t.csv")
for limit in 1 17 $((first - 1)) "$first" $((first + 1)) $((first + 2)) 997; do
    gen --limit "$limit"
    same "cut behind row $limit"
done
done_testing
