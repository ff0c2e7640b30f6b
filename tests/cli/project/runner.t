#!/bin/sh
# runner.t - tests/run and tests/exec: a line for each test file that passes, whatever it and its jobs say; failures in full; no
# line of a build that works. A bug looked like "Terminated" between the lines, or a failure without its reason.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
plain_only
cd "$TMP" || exit 1
unset BUILD TEST_SCALE MAKEFLAGS MFLAGS MAKELEVEL

# A tree with tests of its own.
mkdir -p tree/tests/cli/some tree/build
cp "$TOP/tests/run" "$TOP/tests/exec" tree/tests
add() { { echo '#!/bin/sh' && cat; } >"tree/tests/cli/some/$1" && chmod +x "tree/tests/cli/some/$1"; }
add quiet.t <<'END'
echo 'ok 1 - one'
echo '1..1'
END
add chatty.t <<'END'
sleep 60 &
kill -TERM $!
wait
echo 'a complaint' >&2
echo '# a remark'
echo 'ok 1 - one'
echo '1..1'
END
run() { JOBS=1 NO_COLOR=1 tree/tests/run "$@"; }
exits 'tests that pass' 0 run --built some
is 'a line each, and the closing lines' "$(sed 's/ [.][.]* / /; s/, .*//' stdout | paste -sd / -)" \
    'tests/cli/some/chatty.t ok/tests/cli/some/quiet.t ok/All tests successful./Files=2/Result: PASS'
is 'nothing else' "$(cat stderr)" ''

add broken.t <<'END'
echo 'ok 1 - one'
echo 'not ok 2 - two'
echo '# got: something'
echo 'shell: what went wrong' >&2
echo '1..2'
exit 1
END
exits 'one that fails' 1 run --built some
stdout_like 'is named' '^not ok 2 - two'
stdout_like 'with its reason' '^# got: something'
stdout_like 'and what it said' '^# shell: what went wrong'
stdout_unlike 'and nothing of the others' 'a complaint|a remark'
stdout_like 'the closing line' '^Result: FAIL'
rm tree/tests/cli/some/broken.t

add slow.t <<'END'
echo 'ok 1 - one'
sleep 60
END
TEST_LIMIT_S=1 exits 'one that hangs' 1 run --built slow
stdout_like 'is killed, which is said' '^# killed: it took longer than 1 s'

printf '#!/bin/sh\necho packages and packages\n' >tree/install-deps.sh
chmod +x tree/install-deps.sh
printf 'all unit:\n\t@echo cc -c one.c; echo more >&2\n' >tree/Makefile
exits 'with a build' 0 run quiet
is 'in a line each' "$(sed 2q stdout | paste -sd / -)" 'packages: ok/build: ok'
stdout_unlike 'nothing of the compiler' 'cc -c|more|packages and'
is 'nothing on standard error' "$(cat stderr)" ''
printf 'all unit:\n\t@echo "one.c:1: error: no"; exit 1\n' >tree/Makefile
exits 'a build that fails' 2 run quiet
stdout_like 'says why' '^one.c:1: error: no$'
stdout_unlike 'and runs nothing' 'quiet.t'
printf 'all unit:\n\t@echo "one.c:1: warning: hm"\n' >tree/Makefile
exits 'a build with a warning' 0 run quiet
stdout_like 'shows it' '^one.c:1: warning: hm$'
done_testing
