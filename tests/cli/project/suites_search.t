#!/bin/sh
# suites_search.t - the scripts of examples/ that search for a number of users and that check the machine: they find an
# answer, and their exit status is what their lines say. A bug looked like this: a search whose steps found what the step
# before had left, a check that failed in silence.
. "$(dirname "$0")/../../lib.sh"
plain_only
PATH=$BIN:$PATH
cd "$TMP" || exit 1
examples=$TOP/examples

# ---- autoscale ----
# No drive passes the one limit, or keeps the other.
many() { "$examples/how-many-users.sh" -m tiny-1b -d objects -t 1 -x 3 --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 8 "$@"; }
# A step in which a busy machine answers nobody keeps no limit.
all() {
    many -l 1h >stdout 2>stderr || return
    tail -1 stderr
    grep -q '^3 users' stdout
}
ok 'how-many-users' tries 3 all
like 'how-many-users: the answer' "$(tail -1 stderr)" ': 3 users, [0-9.]+ tokens/s$'
is 'how-many-users: in words' "$(cat stdout)" "3 users of tiny-1b can be served with 95 % of storage reads within 1h.
That is the most that were tried: give a larger -x to look for more."
exits 'how-many-users: none' 1 many -l 1ns
like 'how-many-users: says so' "$(tail -1 stderr)" 'not even one user is served within the limits'
is 'how-many-users: none, in words' "$(cat stdout)" 'Not even one user of tiny-1b is served with 95 % of storage reads within 1ns.'
exits 'how-many-users: no such model' 2 "$examples/how-many-users.sh" -m nosuch -d objects -t 1
like 'how-many-users: what kvgen says of it' "$(tail -1 stderr)" '^kvgen: nosuch: unknown model'
exits 'how-many-users: no time' 2 "$examples/how-many-users.sh" -d objects -l soon

# ---- smoke: a line for each check, and none that failed ----
# Whether two users are served within 100 ms is the machine's affair, that it is told truly is ours.
smoke() { "$examples/smoke.sh" -m tiny-1b -d objects -u 2 -t 2 --storage-capacity-gb 8 -w "$@"; }
smoke storage-only,three-tiers,autoscale-qos,autoscale-capacity,saturation-8b,saturation-70b,rag,everything,sharegpt >stdout 2>stderr
is 'smoke: the exit status says whether a check failed' "$?" "$(awk '$2 == "FAILED" { bad = 1 } END { print bad + 0 }' stdout)"
is 'smoke: a line for each check' "$(sed '$d' stdout | awk '{ print $1 }' | paste -sd ' ' -)" \
    'storage-only three-tiers autoscale-qos autoscale-capacity saturation-8b saturation-70b rag everything sharegpt'
like 'smoke: the sum of it' "$(tail -1 stdout)" '^(All of it works here: 9 checks ok[.]|[1-9] of 9 checks FAILED; )'
# odd FILE: checks that failed, but not by a drive that gave nothing in two seconds.
odd() { awk '$2 == "FAILED" && !/^autoscale|, 0 storage|, 0 begun|[0-] questions|[0-] chunks/' "$1"; }
alone() {
    smoke "$1" >alone
    cat alone
    [ -z "$(odd alone)" ]
}
# Those that had no CPU in their two seconds are tried again.
none_odd() { for check in $(odd stdout | awk '{ print $1 }'); do tries 5 alone "$check" || return; done; }
ok 'smoke: a drive can fail the others by giving nothing in two seconds, no other way' none_odd
exits 'smoke: a check that is none' 2 "$examples/smoke.sh" -d objects -w nothing

done_testing
