#!/bin/sh
# The three programs in a row, over a file and over pipes: kvreplay executes and kvstat counts the operations that kvgen
# simulated, and the description of the run travels along. Bugs looked like a recorded trace that was reported with
# "100 users", the default of an option without meaning there, or a storage tier with the drive's free space in place of
# the capacity that the trace was made for.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

cd "$TMP" || exit 1
# generate FILE: 3 requests over three small tiers; a deletion in the last one needs the limit.
generate() {
    "$BIN/kvgen" --source mooncake --input "$DATA/mooncake_first200.jsonl" --max-requests 3 --config block_reuse=any \
        --model tiny-1b --gpu-mem-gb 0.06 --cpu-mem-gb 0.08 --storage-capacity-gb 0.125 --summary g.json -o "$1" 2>g.err
}
plan 17

ok "kvgen" generate t.csv.zst
ok "kvreplay" "$BIN/kvreplay" --nvme kv --verify full --summary r.json -o r.csv.zst t.csv.zst
ok "kvstat" "$BIN/kvstat" --json -o s.json r.csv.zst

rows=$(json g.json .trace.rows)
like "kvgen wrote rows" "$rows" '^[1-9]'
is "kvreplay saw every row" "$(json r.json .rows.total)" "$rows"
is "every row is ok" "$(json r.json .rows.ok)" "$rows"
is "kvstat saw every row" "$(json s.json .rows)" "$rows"
is "the digest is quoted" "$(json r.json .trace.digest)" "$(json g.json .trace.digest)"
is "rows of all three tiers" "$(json s.json '[.groups[].by.tier | strings] | unique[]')" "Tier-0 Tier-1 Tier-2"
is "deletions among them" "$(json s.json 'any(.groups[]; .by.op == "Delete")')" true
# Operations and bytes by tier, operation and phase, in the order of their names.
generated='[.rows_by[] | select(.tier) | [.tier, .op, .phase, .rows, .bytes]] | sort[]'
counted='[.groups[] | select(.by.tier) | [(.by | .tier, .op, .phase), .ops, .bytes]] | sort[]'
is "the same operations and bytes as generated" "$(json s.json "$counted")" "$(json g.json "$generated")"
is "the seed travels along" "$(json s.json .run.seed)" 42
is "a recorded trace has no number of simulated users" "$(json s.json .run.users)" null
is "the storage tier is as large as the trace was made for" "$(json r.json 'tier("Tier-2").capacity_bytes')" 134217728
not_ok "nothing is left of the objects" test -e kv

# The same through pipes, where no frame says what was run.
generate - | "$BIN/kvreplay" --nvme kv --summary p.json 2>/dev/null | "$BIN/kvstat" --json >ps.json
is "through pipes, every row is ok" "$(json p.json .rows.ok)" "$rows"
is "and counted" "$(json ps.json .rows)" "$rows"
