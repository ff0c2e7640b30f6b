#!/bin/sh
# published-offload.sh [ROW...] - kvgen's predictions beside published measurements of offloading keys and values
# (tests/data/published_offload.tsv): mean seconds to the first token as measured, as predicted without an anchor (eta 0.5) and with
# one (eta from one measurement of the row: a prompt alone, or the cell without the lower tier), and by which factor each is off.
# A change in percent is compared as the ratio on by off. Judges nothing and tunes nothing. Some 3 minutes.
# LUSTRE: bandwidth of the file system of row 4 for each of its four engines, which is not told (default 2.5GB/s).
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
DATA=$TOP/tests/data
: "${LUSTRE:=2.5GB/s}"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bench.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM
rows=" $* "

cat <<END
Assumed where a source does not tell: prompts of groups come in turn (5: drawn at random); blocks of 16 tokens and all defaults of
the engine; of several engines (2, 3: 8; 4: 4) one is simulated, with its part of groups, clients and host memory; 1: weights of 2
bytes, one answer token; 2, 3: 100 GB of host memory for each engine; 2 to 5: 50 GB/s to the host; 4: the layers of Llama 3.1 70B,
320 GB of host memory in all, own prompts and answers of 256 tokens, a file system of $LUSTRE an engine; 5: one client, one engine of
TP8, LMCache 0.5.6, a drive nvme-gen4 (6.8 GB/s), after two prompts for each of the set as many are measured.
END

# requests ORDER GROUPS REQUESTS SHARED OWN OUT BLOCK: one of each group in turn, REQUESTS times; or as many, of groups drawn.
requests() {
    awk -v order="$1" -v groups="$2" -v requests="$3" -v shared="$4" -v own="$5" -v out="$6" -v block="$7" 'BEGIN {
        seed = 1
        common = int(shared / block); all = int((shared + own + block - 1) / block)
        for (r = 0; r < requests; r++)
            for (k = 0; k < groups; k++) {
                seed = (seed * 16807) % 2147483647
                g = order == "drawn" ? int(seed / 2147483647 * groups) : k
                printf "{\"timestamp\": 0, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [", shared + own, out
                for (i = 0; i < all; i++)
                    printf "%s%.0f", i ? ", " : "", i < common || !own ? g * 100000 + i : 1e9 + (r * groups + k) * 1000 + i
                print "]}"
            }
    }'
}
# predict ETA [OPTION...]: mean seconds to the first token of the cell.
predict() {
    words=$(printf '%s\n' "$options" | sed "s|DATA|$DATA|; s|LUSTRE|$LUSTRE|g; s|ETA|$1|")
    shift
    printf '%s\n' "$words" | xargs "$BIN/kvgen" --input "$tmp/requests.jsonl" --block-size "$block" --clients "$clients" \
        --ops Generate --no-notes --progress none -o - "$@" 2>"$tmp/err" | awk -F, -v from="$from" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $(at["Phase"]) == "Prefill" && $(at["Request"]) + 0 >= from {
            sum += $(at["Timestamp"]) + $(at["Duration_us"]) / 1e6 - $(at["Arrival"]); n++ }
        END { if (!n) exit 1; printf "%.6f\n", sum / n }' || { cat "$tmp/err" >&2; exit 1; }
}
# fit SECONDS: the eta with which that is predicted, between 0.05 and 1.
fit() {
    low=0.05 high=1 tries=10
    while [ $((tries -= 1)) -ge 0 ]; do
        middle=$(awk -v a="$low" -v b="$high" 'BEGIN { printf "%.4f", sqrt(a * b) }')
        if predict "$middle" | awk -v want="$1" '{ exit !($1 > want) }'; then low=$middle; else high=$middle; fi
    done
    echo "$middle"
}
tab=$(printf '\t')
grep -v '^#' "$DATA/published_offload.tsv" >"$tmp/cells"
fitted_row=
while IFS=$tab read -r row cell measured anchor clients order groups requests shared own out block from options; do
    [ "$rows" = "  " ] || [ "${rows#* "$row" }" != "$rows" ] || continue
    requests "$order" "$groups" "$requests" "$shared" "$own" "$out" "$block" >"$tmp/requests.jsonl"
    by_calculation=$(predict 0.5) fitted=
    case $anchor in
    none) with_anchor=- eta= ;;
    */*) eta=$(awk -v r="$anchor" 'BEGIN { split(r, a, "/"); printf "%.1f@%d", a[1] / a[2], a[1] }')
        with_anchor=$(predict 0.5 --prefill-rate "$eta") ;;
    fit) if [ "$row" != "$fitted_row" ]; then
            fitted_row=$row fitted=yes eta=$(fit "$measured")
        fi
        with_anchor=$(predict "$eta") ;;
    esac
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$row" "$cell" "$measured" "$by_calculation" "$with_anchor" "$eta" "$fitted" >>"$tmp/all"
done <"$tmp/cells"

awk -F '\t' '
function factor(p, m) { return p > m ? p / m : m / p }
function median(v, n,   i, j, t) {
    for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
    return n ? (v[int((n + 1) / 2)] + v[int((n + 2) / 2)]) / 2 : 0
}
BEGIN { printf "%-3s %-28s %10s %15s %7s %13s %7s\n", "row", "cell", "measured", "by calculation", "factor", "with anchor", "factor" }
{
    percent = sub(/%$/, "", $3); p = $4; a = $5; m = $3
    if (percent) { p = $4 / before; m = 1 + $3 / 100; a = "-" }
    before = $4
    unit = percent ? "x" : "s"
    if ($3 == "-") { printf "%-3s %-28s %10s %13.3f s\n", $1, $2, "not told", p; next }
    printf "%-3s %-28s %8.3f %s %13.3f %s %7.2f", $1, $2, m, unit, p, unit, f = factor(p, m)
    plain[++plains] = f
    if (a == "-") print ""
    else if ($7) printf " %11.3f s %7s  eta %s\n", a, "anchor", $6
    else { printf " %11.3f s %7.2f\n", a, f = factor(a, m); anchored[++anchors] = f }
}
END {
    printf "median factor: %.2f of %d cells by calculation, %.2f of %d with an anchor\n", median(plain, plains), plains,
        median(anchored, anchors), anchors
}' "$tmp/all"
