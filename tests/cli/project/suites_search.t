#!/bin/sh
# suites_search.t - the script of examples/ that checks the machine, with searches for a number of users: its exit status is
# what its lines say. A bug looked like a search whose steps found the objects of the step before, or a check that failed in
# silence. The scripts mostly wait, so three run at the same time: on this machine's drive, on a simulated one that eight users
# saturate, and on one that nobody does.
# builds: plain
. "${0%/*}/../../lib.sh"
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# programs FOLDER COMMAND...: ours, with that kvreplay. Its memory takes no time: touching it takes longer than all else.
programs() {
    mkdir -p "$1/bin"
    ln -s "$BIN/kvgen" "$BIN/kvstat" "$1/bin"
    printf '#!/bin/sh\n%s\nexec "%s" --config spin=0 --tier-engine 0=null --tier-engine 1=null %s "$@"\n' "$2" "$BIN/kvreplay" "$3" \
        >"$1/bin/kvreplay"
    chmod +x "$1/bin/kvreplay"
}
programs drive '' ''
programs simulated 'shift 2' '--tier-engine 2=sim:bw=500MB/s' # without --target FOLDER
programs endless 'shift 2' '--tier-engine 2=null'

# smoke GROUP CHECKS: the checks, with the programs and in a folder of the group.
smoke() {
    BUILD=$TMP/$1 "$examples/smoke.sh" -m tiny-1b -d "objects.$1" -o "$1.out" -u 2 -t 2 --storage-capacity-gb 8 -w "$2"
}
# run_smoke GROUP CHECKS: keeps the output in GROUP.stdout and the exit status in GROUP.status.
run_smoke() {
    status=0
    smoke "$1" "$2" >"$1.stdout" 2>"$1.stderr" || status=$?
    echo "$2" >"$1.checks"
    echo "$status" >"$1.status"
}
run_smoke drive storage-only,three-tiers,autoscale-qos &
run_smoke simulated autoscale-capacity,saturation-8b,saturation-70b,rag,everything,sharegpt &
run_smoke endless saturation-8b &

exits 'smoke: a check that is none' 2 "$examples/smoke.sh" -d objects -w nothing

# ---- smoke: a line for each check, and only failures that a busy machine explains ----

# odd FILE: checks that failed for another reason than a drive that gave nothing in two seconds.
odd() { awk '$2 == "FAILED" && !/^autoscale|, 0 storage|, 0 begun|[0-] questions|[0-] chunks/' "$1"; }
again() { # GROUP CHECK
    smoke "$1" "$2" >again.stdout
    cat again.stdout
    [ -z "$(odd again.stdout)" ]
}
# Checks that had no CPU in their two seconds are tried again.
none_odd() { for check in $(odd "$1.stdout" | awk '{ print $1 }'); do tries 5 again "$1" "$check" || return; done; }
wait
for group in drive simulated; do
    checks=$(cat $group.checks)
    count=$(echo "$checks" | tr , '\n' | wc -l)
    is "smoke, $group: the exit status says whether a check failed" "$(cat $group.status)" \
        "$(awk '$2 == "FAILED" { bad = 1 } END { print bad + 0 }' $group.stdout)"
    is "smoke, $group: a line for each check" "$(sed '$d' $group.stdout | awk '{ print $1 }' | paste -sd , -)" "$checks"
    like "smoke, $group: the sum of it" "$(tail -1 $group.stdout)" \
        "^(All of it works here: $count checks ok[.]|[1-$count] of $count checks FAILED; )"
    ok "smoke, $group: failures are those of a drive that gave nothing in two seconds" none_odd $group
done
stdout=$(cat endless.stdout)
like 'smoke, endless: what is wrong is told' "$stdout" '^saturation-8b +FAILED '
like 'smoke, endless: at the end, too' "$stdout" '^1 of 1 check FAILED; '
is 'smoke, endless: and by the exit status' "$(cat endless.status)" 1
done_testing
