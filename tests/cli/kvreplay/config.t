#!/bin/sh
# config.t - --config: the numbers of the file's sections autoscaler and saturation_detection hold in a search, unless an
# option says otherwise; the defaults are those that kvgen --print-config prints. A bug looked like this: keys of the benchmark's
# file that were read, checked and used by nobody.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"

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
    "$BIN/kvreplay" --autoscale qos --each "$TMP/gen {N}" --step-warmup 0 --step-duration 200ms --lateness-budget 10s \
        --tier-engine 2=sim:lat=50us --summary "$TMP/summary.json" -o "$TMP/r.csv" "$@"
}
# tried NUMBERS ARGS...: a search that tries those numbers of users, as it does where the machine is not busy elsewhere
# for as long as a step.
tried() {
    want=$1
    shift
    search "$@" 2>"$TMP/stderr" || { cat "$TMP/stderr" && return 1; }
    echo "$(users), wanted $want"
    [ "$(users)" = "$want" ]
}
users() { sed -n 's/^kvreplay: step [0-9]*: \([0-9]*\) users.*/\1/p' "$TMP/stderr" | tr '\n' ' '; }
steps() { python3 -c 'import json, sys; print([x[sys.argv[2]] for x in json.load(open(sys.argv[1]))["autoscaling_stats"]])' "$TMP/summary.json" "$1"; }

plan 15
cat >"$TMP/c.yaml" <<'END'
autoscaler: {min_users: 5, max_users: 40, scale_up_factor: 2, scale_down_factor: 0.5}
saturation_detection: {read_latency_p95_threshold_ms: 10000, write_latency_p95_threshold_ms: 0.001, queue_depth_threshold: 0}
decode: {batch_size: 8}
END
ok "a configuration: its factor and its most users" tries 5 tried "10 20 40 " --config "$TMP/c.yaml"
is "its limit for writes: all is saturated" "$(steps saturated)" "[True, True, True, True]"
unlike "other programs' keys are no matter" "$(cat "$TMP/stderr")" 'batch_size'
sed -i 's/write_latency_p95_threshold_ms: 0.001/write_latency_p95_threshold_ms: 0/' "$TMP/c.yaml"
ok "no limit for writes, and an option comes first" tries 5 tried "10 20 " --config "$TMP/c.yaml" --max-users 20
is "nothing is saturated" "$(steps saturated)" "[False, False, False]"
exits "reads that no target keeps" 1 search -c - --storage-p95 1us --start-users 30 <"$TMP/c.yaml"
is "down by its factor, to its fewest users" "$(users)" "30 15 7 5 "
like "which is said" "$(tail -n 1 "$TMP/stderr")" 'not even 5 users, the fewest allowed, are served within the limits'

# Requests in line at the end of a step: one user's row takes as long as the step.
printf 'saturation_detection: {queue_depth_threshold: 1, read_latency_p95_threshold_ms: 10000}\n' >"$TMP/q.yaml"
ok "a line of requests" tries 5 tried "4 " --config "$TMP/q.yaml" --start-users 4 --max-users 4 --tier-engine 2=sim:lat=80ms
is "is saturation" "$(steps saturated)" "[True, True]"

exits "fewer than the fewest" 2 search --config "$TMP/c.yaml" --start-users 4
printf 'autoscaler:\n  max_user: 3\n' >"$TMP/wrong.yaml"
exits "a key that is none" 2 search --config "$TMP/wrong.yaml"
like "has its line" "$(cat "$TMP/stderr")" 'wrong.yaml:2: autoscaler.max_user: unknown key'
exits "no configuration without a search" 2 "$BIN/kvreplay" --config "$TMP/c.yaml" --null /dev/null
"$BIN/kvgen" --print-config >"$TMP/all.yaml"
is "the defaults are the options'" "$(for k in max_users read_latency_p95_threshold_ms; do sed -n "s/^  $k: //p" "$TMP/all.yaml"; done | tr '\n' ' ')" \
    "$("$BIN/kvreplay" --list-options | awk -F '\t' '$1 == "max-users" || $1 == "storage-p95" { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+(ms)?$/) { sub("ms", "", $i); print $i; break } }' | tr '\n' ' ')"
