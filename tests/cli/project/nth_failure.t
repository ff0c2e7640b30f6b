#!/bin/sh
# nth_failure.t - whatever fails, a program ends with the right output or with a message, and leaves nothing behind.
# One allocation, system call, thread or request of io_uring fails in each run (tests/faults/sweep.py); here one of
# each case, drawn with a fixed seed. `make faults` takes all of them. Bugs looked like a summary cut in the middle with
# exit status 0, a crash inside a library that does not look at what malloc returns, and a program that never ended.
# SAMPLE=N takes N points of each case and kind, SEED=S others. The four ways in which calls fail take turns from case to case.
# builds: plain (sanitizers have an allocator of their own; make faults BUILD=... tries their system calls)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3'
command -v zstd >/dev/null || skip_all 'no zstd'
lib=${BIN%/bin}/tests/faults/fail_nth.so
[ -e "$lib" ] || skip_all "$lib was not built (make unit)"
truncate -s 4096 "$TMP/report"
FAIL_NTH=memory:0 FAIL_REPORT=$TMP/report LD_PRELOAD=$lib "$BIN/kvgen" --version >/dev/null
[ "$(od -An -tu8 -N8 "$TMP/report" | tr -d ' ')" -gt 0 ] || skip_all 'this libc takes no preloaded malloc'

sweep() { "$TOP/tests/faults/sweep.py" --build "${BIN%/bin}" "$@"; }
calls=call,call-space,call-interrupted,call-short
if ! FAIL_NTH=call:0 FAIL_REPORT=$TMP/report LD_PRELOAD=$lib "$BIN/kvgen" --version >/dev/null 2>&1; then
    diag 'seccomp filters are refused here: no system calls fail'
    calls=''
fi
sweep --sample "${SAMPLE:-1}" --seed "${SEED:-1}" --kind memory --kind thread ${calls:+--kind "$calls"} \
    --kind ring,ring-short >"$TMP/table" 2>&1
swept=$?
# ended_well KIND,KIND...: the failures of each of these kinds were tried, and ended well.
ended_well() {
    awk -v kinds="$1" '
        BEGIN { n = split(kinds, want, ",") }
        NF == 6 && $2 != "failure" { points[$2] += $3; bad[$2] += $6 } # of the sums: program, kind, points...
        END { for (i = 1; i <= n; i++) if (!points[want[i]] || bad[want[i]]) exit 1 }' "$TMP/table" && return
    grep -E '^    |^Traceback|undisturbed' "$TMP/table" || tail -n 5 "$TMP/table"
    return 1
}
ok 'memory ends' ended_well memory
ok 'threads are refused' ended_well thread
if [ -n "$calls" ]; then
    ok 'system calls fail, or do half of it' ended_well "$calls"
    # The second file was left out when opening it was interrupted.
    ok 'no file of several is left out' sweep --only 'kvstat: trials' --kind call-interrupted
fi
ok 'requests of io_uring fail, or do half of it' ended_well ring,ring-short
is 'and each program was tried' $swept 0
done_testing
