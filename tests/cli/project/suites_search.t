#!/bin/sh
# suites_search.t - the script of examples/ that checks the machine, with searches for a number of users: its exit status is
# what its lines say. A bug looked like a search whose steps found the objects of the step before, or a check that failed in
# silence. The scripts mostly wait, so several run at the same time.
# builds: plain
. "$(dirname "$0")/../../lib.sh"
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# Memory that takes no time, for one check that has 3 GiB of it: touching these takes longer than all the others.
mkdir -p no_memory/bin
ln -s "$BIN/kvgen" "$BIN/kvstat" no_memory/bin
printf '#!/bin/sh\nexec "%s" --config spin=0 --tier-engine 0=null --tier-engine 1=null "$@"\n' "$BIN/kvreplay" >no_memory/bin/kvreplay
chmod +x no_memory/bin/kvreplay

# smoke GROUP CHECKS: the checks, on a drive and in a folder of the group.
smoke() { "$examples/smoke.sh" -m tiny-1b -d "objects.$1" -o "$1.out" -u 2 -t 2 --storage-capacity-gb 8 -w "$2"; }
# run_smoke GROUP CHECKS: keeps the output in GROUP.stdout and the exit status in GROUP.status.
run_smoke() {
    status=0
    smoke "$1" "$2" >"$1.stdout" 2>"$1.stderr" || status=$?
    echo "$2" >"$1.checks"
    echo "$status" >"$1.status"
}
run_smoke qos storage-only,three-tiers,autoscale-qos,saturation-8b &
run_smoke capacity autoscale-capacity,saturation-70b &
(export BUILD="$TMP/no_memory" && run_smoke load rag,everything,sharegpt) &

exits 'smoke: a check that is none' 2 "$examples/smoke.sh" -d objects -w nothing

# ---- smoke: a line for each check, and only failures that a busy machine explains ----

# odd FILE: checks that failed for another reason than a drive that gave nothing in two seconds.
odd() { awk '$2 == "FAILED" && !/^autoscale|, 0 storage|, 0 begun|[0-] questions|[0-] chunks/' "$1"; }
again() { # CHECK
    smoke again "$1" >again.stdout
    cat again.stdout
    [ -z "$(odd again.stdout)" ]
}
# Checks that had no CPU in their two seconds are tried again.
none_odd() { for check in $(odd "$1.stdout" | awk '{ print $1 }'); do tries 5 again "$check" || return; done; }
for group in qos capacity load; do
    until [ -s $group.status ]; do sleep 0.1; done
    checks=$(cat $group.checks)
    count=$(echo "$checks" | tr , '\n' | wc -l)
    is "smoke, $group: the exit status says whether a check failed" "$(cat $group.status)" \
        "$(awk '$2 == "FAILED" { bad = 1 } END { print bad + 0 }' $group.stdout)"
    is "smoke, $group: a line for each check" "$(sed '$d' $group.stdout | awk '{ print $1 }' | paste -sd , -)" "$checks"
    like "smoke, $group: the sum of it" "$(tail -1 $group.stdout)" \
        "^(All of it works here: $count checks ok[.]|[1-$count] of $count checks FAILED; )"
    ok "smoke, $group: failures are those of a drive that gave nothing in two seconds" none_odd $group
done
wait
done_testing
