#!/bin/sh
# config.t - --config: a search uses the numbers of the sections autoscaler and saturation_detection, unless an option
# gives another; the defaults are those that kvgen --print-config prints. A bug looked like keys that were read and
# checked, but used nowhere.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# The trace of N users over a second: a write and a read of each every 50 ms.
cat >"$TMP/gen" <<'END'
#!/bin/sh
exec awk -v n="$1" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Tokens,Arrival,Duration_us"
    for (i = 0; i < 20 * n; i++) {
        t = i * 0.05 / n
        printf "%.6f,Write,1000,Tier-2,s%d,Prefill,%d,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Read,1000,Tier-2,s%d,Decode,%d,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Generate,0,,,,%d,10,%.6f,1000\n", t, i, t
    }
}'
END
chmod +x "$TMP/gen"
search() {
    "$BIN/kvreplay" --autoscale qos --each "$TMP/gen {N}" --step-warmup 0 --step-duration 200ms --config spin=0 --cpu-mem 1MiB \
        --config lateness_budget=10s --tier-engine 2=sim:lat=50us --summary "$TMP/summary.json" -o "$TMP/r.csv" "$@"
}
# tried NUMBERS ARGS...: a search that tries those numbers of users. On a machine that is busy for as long as a step it
# may try others.
tried() {
    want=$1
    shift
    search "$@" 2>"$TMP/stderr" || { cat "$TMP/stderr" && return 1; }
    echo "$(users), wanted $want"
    [ "$(users)" = "$want" ]
}
users() { sed -n 's/^kvreplay: step [0-9]*: \([0-9]*\) users.*/\1/p' "$TMP/stderr" | tr '\n' ' '; }
saturated() { json "$TMP/summary.json" '.autoscaling_stats[].saturated'; }

plan 17
cat >"$TMP/c.yaml" <<'END'
autoscaler: {min_users: 5, max_users: 40, scale_up_factor: 2, scale_down_factor: 0.5}
saturation_detection:
  read_latency_p95_threshold_ms: 10000
  write_latency_p95_threshold_ms: 0.001
  queue_depth_threshold: 0
decode: {batch_size: 8}
END
ok "a configuration: its factor and its most users" tries 5 tried "10 20 40 " --config "$TMP/c.yaml"
is "its limit for writes: all is saturated" "$(saturated)" "true true true true"
stderr_unlike "other programs' keys are no matter" 'batch_size'
is "the summary says what it went by" "$(json "$TMP/summary.json" '.configuration | keys_unsorted | map(split(".")[1]) | join(" ")')" \
    "min_users max_users scale_up_factor scale_down_factor read_latency_p95_threshold_ms write_latency_p95_threshold_ms queue_depth_threshold"
"$BIN/kvstat" --json --run "$TMP/summary.json" "$TMP/r.csv" >"$TMP/report.json"
like "and so does a report" "$(json "$TMP/report.json" .run.configuration)" \
    '^lateness_budget=10s .*autoscaler\.max_users=40 .*saturation_detection\.queue_depth_threshold=0$'
sed -i 's/write_latency_p95_threshold_ms: 0.001/write_latency_p95_threshold_ms: 0/' "$TMP/c.yaml"
ok "no limit for writes, and an option comes first" tries 5 tried "10 20 " --config "$TMP/c.yaml" --max-users 20
is "nothing is saturated" "$(saturated)" "false false false"
exits "reads that no target keeps" 1 search -c - --config saturation_detection.read_latency_p95_threshold_ms=0.001 --start-users 30 <"$TMP/c.yaml"
is "down by its factor, to its fewest users" "$(users)" "30 15 7 5 "
like "which is said" "$(tail -n 1 "$TMP/stderr")" 'not even 5 users, the fewest allowed, are served within the limits'

# Requests in line at the end of a step: one user's row takes as long as the step.
printf 'saturation_detection: {queue_depth_threshold: 1, read_latency_p95_threshold_ms: 10000}\n' >"$TMP/q.yaml"
ok "a line of requests" tries 5 tried "4 " --config "$TMP/q.yaml" --start-users 4 --max-users 4 \
    --tier-engine 2=sim:lat=80ms
is "is saturation" "$(saturated)" "true true"

exits "fewer than the fewest" 2 search --config "$TMP/c.yaml" --start-users 4
printf 'autoscaler:\n  max_user: 3\n' >"$TMP/wrong.yaml"
exits "a key that is none" 2 search --config "$TMP/wrong.yaml"
stderr_like "has its line" 'wrong.yaml:2: autoscaler.max_user: unknown key'
"$BIN/kvgen" --print-config >"$TMP/all.yaml"
configured() { sed -n "s/^  $1: //p" "$TMP/all.yaml"; }
# option NAME: its default, without a unit.
option() { "$BIN/kvreplay" --list-options | awk -F '\t' -v name="$1" '$1 == name { sub("ms$", "", $5); print $5 }'; }
like "the most users by default" "$(configured max_users)" '^[1-9][0-9]*$'
is "are those of the option" "$(option max-users)" "$(configured max_users)"
