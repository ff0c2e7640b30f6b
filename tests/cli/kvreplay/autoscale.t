#!/bin/sh
# autoscale.t - the search for a number of users on simulated tiers whose limit is known on paper: 50 users that read
# 100 kB from storage every 50 ms keep a drive of 100 MB/s busy. Capacity finds the knee, qos the most users within the
# limit. The steps are in the summary and leave nothing behind. Commands that fail or end early, and signals, end the
# search cleanly. A bug looked like a last step that was not the answer, or processes of the command that were left.
# The steps are short: limits leave room for a busy machine, and a search may be tried again; a bug fails each time.
# Without spinning, which costs CPU time that other tests need.
# builds: plain (it is about times: config.t, test_search.c and test_step_command.c run its code)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

plan 57
# The trace of N users over SECONDS: objects are there before the clock starts; then each user reads one every 50 ms.
cat >"$TMP/gen" <<'END'
#!/bin/sh
exec awk -v n="$1" -v seconds="$2" 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,QoS,Class,Tokens,Arrival,Duration_us"
    for (u = 0; u < n; u++) printf "0,Write,100000,Tier-2,s%d,Prefill,,,prepop,,,\n", u
    for (i = 0; i < int(seconds / 0.05) * n; i++) {
        t = i * 0.05 / n
        printf "%.6f,Write,100000,Tier-0,g%d,Prefill,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        if (i % 8 == 0) printf "%.6f,Write,100000,Tier-1,c%d,Prefill,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Read,100000,Tier-2,s%d,Decode,%d,interactive,user,,%.6f,\n", t, i % n, i, t
        printf "%.6f,Generate,0,,,,%d,interactive,,10,%.6f,1000\n", t, i, t
    }
}'
END
chmod +x "$TMP/gen"
# search MODE OPTIONS...: the answer in the summary.
search() {
    mode=$1
    shift
    rm -f "$TMP/s.json"
    "$BIN/kvreplay" --autoscale "$mode" --each "$TMP/gen {N} 1" --step-warmup 100ms --step-duration 400ms --config spin=0 \
        --config lateness_budget=10s --tier-engine 0=sim:bw=10GB/s --tier-engine 1=sim:bw=10GB/s \
        --tier-engine 2=sim:bw=100MB/s --summary "$TMP/s.json" -o "$TMP/r.csv.zst" "$@" 2>"$TMP/stderr"
}
users() { json "$TMP/s.json" .autoscaling.users; }
# near LOW HIGH MODE OPTIONS...: a search whose answer is in that range, at the fifth try at most.
near() {
    low=$1 high=$2
    shift 2
    for try in 1 2 3 4 5; do
        search "$@" && found=$(users) && [ "$found" -ge "$low" ] && [ "$found" -le "$high" ] && return 0
        echo "try $try: $found users"
        cat "$TMP/stderr"
    done
    return 1
}

ok "capacity finds the knee, 50 users" near 46 54 capacity --start-users 20
like "and says so" "$(tail -n 1 "$TMP/stderr")" "^kvreplay: peak capacity found: $(users) users, [0-9]+ tokens/s"
json_like "$TMP/s.json" <<'END'
the first step doubles         | .autoscaling_stats[:2][] | .users, .action | 20 double 40 [a-z]+( by 1.5)?
the last ones stop and confirm | .autoscaling_stats[-2:][].action | stop confirm
the answer is confirmed        | .autoscaling_stats[-1].users == .autoscaling.users | true
with as many workers           | .served.workers == .autoscaling.users | true
mode and reason                | .autoscaling.mode, .autoscaling.reason | capacity peak capacity found
steps are in order of time     | [.autoscaling_stats[].time_s] | . == sort | true
20 users: 4000 tokens/s        | .autoscaling_stats[0].throughput_tokens_per_s | . > 2000 and . < 4500 | true
20 users saturate nothing      | .autoscaling_stats[0].saturation < 0.5 | true
each step has its latency      | [.autoscaling_stats[].storage_read_p95_ms > 0] | all | true
and its reason                 | [.autoscaling_stats[].reason | length > 0] | all | true
END
ok "the rows of the answer are results" sh -c "zstd -dcq '$TMP/r.csv.zst' | tail -n 1 | grep -q ',ok$'"
"$BIN/kvstat" --json -o "$TMP/k.json" "$TMP/r.csv.zst" 2>/dev/null
is "which kvstat knows" "$(json "$TMP/k.json" .run.autoscaling.users)" "$(users)"

ok "qos: the most users whose reads keep 100 ms, 1 ms for each user in line" near 70 105 qos --start-users 40 \
    --config saturation_detection.read_latency_p95_threshold_ms=100
stderr_like "bracketed by 1.2" 'step 2: 48 users: '
like "is said" "$(tail -n 1 "$TMP/stderr")" '^kvreplay: largest number of users within the limits: [0-9]+ users'
ok "--target-saturation 0.5: half of that limit" near 30 68 qos --start-users 40 --config saturation_detection.read_latency_p95_threshold_ms=100 --target-saturation 0.5
ok "--search-time: one step, and its confirmation" near 20 20 capacity --start-users 20 --search-time 1ms
is "is the answer" "$(json "$TMP/s.json" '.autoscaling_stats[].action')" 'double confirm'
like "which says why" "$(json "$TMP/s.json" .autoscaling.reason)" '^the best so far when --search-time was over$'
exits "no answer in that time" 1 "$BIN/kvreplay" --autoscale qos --each "$TMP/gen {N} 1" --step-warmup 0 --step-duration 300ms \
    --config spin=0 --config lateness_budget=10s --tier-engine 0=null --tier-engine 1=null --tier-engine 2=sim:bw=100MB/s --start-users 200 \
    --config saturation_detection.read_latency_p95_threshold_ms=0.001 --search-time 1ms
ok "from above by 0.8, and a QoS class has its limit" near 46 66 qos --start-users 70 --config saturation_detection.read_latency_p95_threshold_ms=10000 \
    --config qos_p95=interactive=110ms
stderr_like "scaled down" 'step 2: 56 users: '
exits "not even one user" 1 "$BIN/kvreplay" --autoscale qos --each "$TMP/gen {N} 1" --step-warmup 0 --config spin=0 \
    --step-duration 100ms --start-users 2 --config saturation_detection.read_latency_p95_threshold_ms=0.001 --tier-engine 0=null --tier-engine 1=null \
    --tier-engine 2=sim:bw=100MB/s --summary "$TMP/s.json"
stderr_like "is said too" 'not even one user is served within the limits'
is "and in the summary" "$(users)" null
# Asked for the second time, the traces of more than two users have objects that take a second.
cat >"$TMP/worse" <<'END'
#!/bin/sh
seen=${0%/*}/seen$1
size=1000
if [ -e "$seen" ] && [ "$1" -gt 2 ]; then size=100000000; fi
: >"$seen"
awk -v size=$size 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival"
    for (i = 0; i < 300; i++) printf "%.3f,Read,%d,Tier-2,k,Decode,%d,%.3f\n", i / 200, size, i, i / 200
}'
END
chmod +x "$TMP/worse"
confirmed() {
    rm -f "$TMP"/seen*
    "$BIN/kvreplay" --autoscale qos --each "$TMP/worse {N}" --step-warmup 50ms --step-duration 400ms --config spin=0 \
        --start-users 4 --max-users 4 --config saturation_detection.read_latency_p95_threshold_ms=300 --cpu-mem 1MiB --tier-engine 2=sim:bw=100MB/s --summary "$TMP/s.json" \
        >"$TMP/rows.csv" 2>"$TMP/stderr" || return
    [ "$(users)" = 2 ]
}
ok "qos: an answer that is not confirmed is none" tries 3 confirmed
is "fewer users are, after both that were not" \
    "$(json "$TMP/s.json" '[.autoscaling_stats[] | select(.action == "confirm") | .users] | tostring')" "[4,3,2]"
stderr_like "and that is said" '4 users again: .*: a limit is passed this time'
is "rows of the confirmed run only" "$(grep -c ',Read,100000000,' "$TMP/rows.csv")" 0
ok "and there are some" grep -q ',Read,1000,' "$TMP/rows.csv"
# From the third user on answers take 9 s: a step ends without answers, and with nothing that was late.
cat >"$TMP/stuck" <<'END'
#!/bin/sh
"${0%/*}/gen" "$1" 1 | if [ "$1" -gt 2 ]; then sed 's/,1000$/,9000000/'; else cat; fi
END
chmod +x "$TMP/stuck"
answered() {
    "$BIN/kvreplay" --autoscale qos --each "$TMP/stuck {N}" --step-warmup 100ms --step-duration 400ms --config spin=0 \
        --config lateness_budget=10s \
        --start-users 2 --max-users 8 --config saturation_detection.read_latency_p95_threshold_ms=10000 --null --summary "$TMP/s.json" -o /dev/null
    [ "$(users)" = 2 ]
}
ok "a step without answers keeps no limit" tries 5 answered
# Every read asks for more than was written.
cat >"$TMP/failing" <<'END'
#!/bin/sh
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,Arrival"
    for (i = 0; i < 2000; i++) {
        printf "%.3f,Write,5000,Tier-2,k%d,Prefill,%d,%.3f\n", i / 1000, i, i, i / 1000
        printf "%.3f,Read,50000,Tier-2,k%d,Decode,%d,%.3f\n", i / 1000, i, i, i / 1000
    }
}'
END
chmod +x "$TMP/failing"
unserved() {
    "$BIN/kvreplay" --autoscale capacity --each "$TMP/failing" --step-warmup 0 --config spin=0 --step-duration 400ms \
        --start-users 3 --cpu-mem 1MiB --storage-capacity 64MiB --tier-engine 2=mem --summary "$TMP/s.json" -o /dev/null 2>"$TMP/stderr"
    [ $? -eq 1 ] && grep 'not even one user is served without failed rows' "$TMP/stderr"
}
ok "capacity without a step that serves" tries 5 unserved
is "and tries fewer, not more" "$(json "$TMP/s.json" '.autoscaling_stats[] | .users, .action')" "3 halve 1 stop"
is "no number is the answer" "$(users)" null
most() {
    "$BIN/kvreplay" --autoscale capacity --each "$TMP/gen {N} 1" --step-warmup 0 --config spin=0 --step-duration 200ms \
        --start-users 3 --max-users 5 --null -o /dev/null 2>"$TMP/stderr"
    cat "$TMP/stderr"
    grep -q 'the most users allowed: throughput still rose.*: 5 users' "$TMP/stderr"
}
ok "the most users allowed end the search" tries 5 most

# The objects of a step are removed before the next step, and at the end.
exits "on a directory" 0 "$BIN/kvreplay" --autoscale capacity \
    --each "sed s/x/x/ </dev/null; ls '$TMP/d' >>'$TMP/ls' 2>&1; $TMP/gen {N} 1" \
    --step-warmup 0 --config spin=0 --step-duration 400ms --start-users 1 --max-users 2 --config lateness_budget=10s --cpu-mem 16MiB --nvme "$TMP/d" \
    -o "$TMP/r.csv"
unlike "no step finds objects of another" "$(cat "$TMP/ls")" '^[0-9a-f][0-9a-f]$'
not_ok "nothing is left" test -e "$TMP/d"

# refused NAME STATUS REGEX ARGS...
refused() {
    name=$1 want=$2 pattern=$3
    shift 3
    exits "$name: exit $want" "$want" "$BIN/kvreplay" --autoscale qos --null "$@"
    like "$name: said" "$(grep -v '^sh:' "$TMP/stderr" | tail -n 1)" "^kvreplay: $pattern"
}
refused "a command that fails" 2 '--each: the command for 10 users ended with status 7' --each 'echo x; exit 7'
refused "a command that is not there" 2 '--each: the command for 10 users ended with status 127' \
    --each '/nonexistent/kvgen {N}'
refused "a trace that ends early" 2 '--each: the trace of 10 users ended too early' --each "$TMP/gen {N} 0.2" \
    --step-warmup 0 --config spin=0 --step-duration 10s
refused "a bad row" 2 '--each \(10 users\):2: ' \
    --each 'echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request; echo 1,2'
refused "no command" 2 '--autoscale: needs --each'

# Interrupted in a step: the command and its children end too.
"$BIN/kvreplay" --autoscale capacity --each "echo \$\$ >'$TMP/pid'; $TMP/gen {N} 30; sleep 60 | cat" \
    --step-duration 20s --null -o "$TMP/never.csv" --summary "$TMP/s.json" 2>"$TMP/stderr" &
pid=$!
until [ -s "$TMP/pid" ]; do sleep 0.05; done
catches $pid
kill -s INT $pid
wait $pid
is "SIGINT: exit 130" $? 130
stderr_like "with what was known" 'interrupted before the end of the search'
not_ok "the command is gone" kill -s 0 "$(cat "$TMP/pid")"
is "the summary is whole" "$(users)" null
not_ok "no result is left" test -e "$TMP/never.csv"

# Killed: the processes that the command started end as well, whether they write or not.
"$BIN/kvreplay" --autoscale capacity --each "echo \$\$ >'$TMP/shell'; sleep 61 & echo \$! >'$TMP/sleep'; wait; true" \
    --step-duration 20s --null -o "$TMP/never.csv" 2>"$TMP/stderr" &
pid=$!
until [ -s "$TMP/sleep" ]; do sleep 0.05; done
kill -s KILL $pid
wait $pid
# gone PID: the process is over soon.
gone() {
    for _ in $(seq 200); do
        kill -s 0 "$1" 2>/dev/null || return 0
        grep -qs '^State:.Z' "/proc/$1/status" && return 0
        sleep 0.1
    done
    return 1
}
ok "killed: the shell of the command is gone" gone "$(cat "$TMP/shell")"
ok "and what it started" gone "$(cat "$TMP/sleep")"
