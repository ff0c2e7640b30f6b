#!/bin/sh
# The three programs in a row, over a file and over pipes: what kvgen simulated is what kvreplay
# executes and kvstat counts, and what was run travels along. Bugs looked like these: a recorded trace
# reported with "100 users" (the default of an option without meaning there), a storage tier reported with
# the drive's free space in place of the capacity that the trace was made for.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

cd "$TMP" || exit 1
# generate FILE: 3 requests over three small tiers; a deletion in the last one needs the limit.
generate() {
    "$BIN/kvgen" --source mooncake --input "$DATA/mooncake_first200.jsonl" --max-requests 3 --block-reuse any \
        --model tiny-1b --gpu-mem-gb 0.06 --cpu-mem-gb 0.08 --storage-capacity-gb 0.125 --summary g.json -o "$1" 2>g.err
}
field() { # field FILE EXPRESSION over d
    python3 -c "import json, sys; d = json.load(open('$1')); print($2)"
}
plan 16

ok "kvgen" generate t.csv.zst
ok "kvreplay" "$BIN/kvreplay" --nvme kv --verify full --summary r.json -o r.csv.zst t.csv.zst
ok "kvstat" "$BIN/kvstat" --json -o s.json r.csv.zst

rows=$(field g.json 'd["trace"]["rows"]')
is "kvreplay saw every row" "$(field r.json 'd["rows"]["total"]')" "$rows"
is "every row is ok" "$(field r.json 'd["rows"]["ok"]')" "$rows"
is "kvstat saw every row" "$(field s.json 'd["rows"]')" "$rows"
is "the digest is quoted" "$(field r.json 'd["trace"]["digest"]')" "$(field g.json 'd["trace"]["digest"]')"
is "rows of all three tiers" "$(field s.json 'sorted({g["by"]["tier"] for g in d["groups"] if g["by"]["tier"]})')" \
    "['Tier-0', 'Tier-1', 'Tier-2']"
is "deletions among them" "$(field s.json 'any(g["by"]["op"] == "Delete" for g in d["groups"])')" True
# bytes by tier, operation and phase, in the order of their names
generated='sorted((r["tier"], r["op"], r["phase"], r["rows"], r["bytes"]) for r in d["rows_by"] if r["tier"])'
counted='sorted((g["by"]["tier"], g["by"]["op"], g["by"]["phase"], g["ops"], g["size_bytes"]["mean"] * g["ops"]) for g in d["groups"] if g["by"]["tier"])'
is "the same operations and bytes as generated" \
    "$(field s.json "[(a, b, c, n, round(m)) for a, b, c, n, m in $counted]")" "$(field g.json "$generated")"
is "the seed travels along" "$(field s.json 'd["run"]["seed"]')" 42
is "a recorded trace has no number of simulated users" "$(field s.json 'd["run"]["users"]')" None
is "the storage tier is as large as the trace was made for" \
    "$(field r.json '[t["capacity_bytes"] for t in d["tiers"] if t["tier"] == "Tier-2"]')" '[134217728]'
not_ok "nothing is left of the objects" test -e kv

# The same through pipes, where no frame says what was run.
generate - | "$BIN/kvreplay" --nvme kv --summary p.json 2>/dev/null | "$BIN/kvstat" --json >ps.json
is "through pipes, every row is ok" "$(field p.json 'd["rows"]["ok"]')" "$rows"
is "and counted" "$(field ps.json 'd["rows"]')" "$rows"
