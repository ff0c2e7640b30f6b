#!/bin/sh
# runner.t - tests/run and tests/exec: a line for each test file that passes, whatever it and its jobs say; failures in full; no
# line of a build that works. .ci/run ends as its stages do. tests/json.c answers as jq does, or not at all. A bug looked like
# "Terminated" between the lines, a failure without its reason, or CI that failed after its last test had passed.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
unset BUILD TEST_SCALE TEST_TIMES TEST_LIMIT_S TEST_SCRATCH JOBS MAKEFLAGS MFLAGS MAKELEVEL

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
mkdir scratch
exits 'one without the runner' 0 env TMPDIR="$TMP/scratch" tree/tests/exec tree/tests/cli/some/chatty.t
is 'its lines' "$(paste -sd / stdout)" 'ok 1 - one/1..1'
is 'nothing stays in the scratch folder' "$(ls -A scratch)" ''

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
stdout_unlike 'and is not tried twice' 'again'
exits 'one that fails twice' 1 run --built --again some
stdout_like 'was run again' '^What failed runs again, alone:'
stdout_unlike 'and did not pass' '^passed only alone'
rm tree/tests/cli/some/broken.t

add moody.t <<'END'
[ -e "$ONCE" ] || printf 'not '
echo 'ok 1 - one'
echo '1..1'
: >"$ONCE"
END
export ONCE="$TMP/once"
exits 'one that fails once' 0 run --built --again some
stdout_like 'is shown as it failed' '^not ok 1 - one'
stdout_like 'and named as one that passes alone' '^passed only alone: tests/cli/some/moody[.]t$'
is 'the last line is of the second time' "$(tail -n 1 stdout)" 'Result: PASS'
rm "$ONCE"
exits 'without --again' 1 run --built some
rm tree/tests/cli/some/moody.t

# What it started is in another session, and hears no signal but the last.
add slow.t <<'END'
echo 'ok 1 - one'
setsid sh -c 'trap "" TERM; echo $$ >"$PIDS"; while :; do sleep 60; done' &
sleep 60
END
export PIDS="$TMP/pids"
TEST_LIMIT_S=1 exits 'one that hangs' 1 run --built slow
stdout_like 'is killed, which is said' '^# killed: it took longer than 1 s'
gone() { # a process that was killed may be there for a moment
    for _ in $(seq 200); do
        kill -s 0 "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    return 1
}
ok 'with all that it started' gone "$(cat pids)"
rm tree/tests/cli/some/slow.t

# Tests that say for which builds they are.
mark() { { echo "# builds: $2" && cat tree/tests/cli/some/quiet.t; } | add "$1"; }
mark for_plain.t 'plain (it is slow)'
mark for_all.t 'plain address thread'
mark for_arm.t 'plain arm64'
ran() { # ran FLAGS: what runs in a build with them
    echo "$1" >tree/build/flags
    run --built some >stdout 2>&1
    sed -n 's|^tests/cli/some/\(.*\)[.]t [. ]*ok$|\1|p' stdout | sort | paste -sd ' ' -
}
is 'a build without sanitizers runs all' "$(ran 'cc -O2')" 'chatty for_all for_arm for_plain quiet'
is 'one with the address sanitizer those for it, and what says nothing' "$(ran 'cc -fsanitize=address,undefined')" 'chatty for_all quiet'
is 'one with the thread sanitizer what says so' "$(ran 'cc -fsanitize=thread')" for_all
is 'one for another processor what says so' "$(TEST_EMULATOR='env' ran 'cc -O2')" for_arm
echo 'cc -fsanitize=thread' >tree/build/flags
exits 'none of the tests asked for' 2 run --built plain
stderr_like 'is said' '^tests/run: not for a build of kind "thread": tests/cli/some/for_plain[.]t$'
rm tree/build/flags
mark odd.t 'plain adress'
exits 'a word that is no build' 1 run --built some
stderr_like 'is said, too' '^tests/run: tests/cli/some/odd[.]t: what is "builds: plain adress"[?]$'
rm tree/tests/cli/some/odd.t

exits 'with times' 0 run --built --times quiet
stdout_like 'the slowest are listed' '^ *[0-9.]+ s +[0-9.]+ s  tests/cli/some/quiet.t$'

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

# A bare root has no /proc; tests that wait for what stands there would wait for ever.
bare() { unshare -m sh -c 'mount -t tmpfs none /proc && exec "$@"' - "$@"; }
if [ "$(id -u)" = 0 ] && bare true 2>/dev/null; then
    exits 'without /proc' 1 bare tree/tests/run --built quiet
    is 'nothing runs' "$(cat stdout stderr)" 'tests/run: there is no /proc here; mount it (mount -t proc proc /proc)'
fi

# ---- .ci/run: with what it runs in place, but doing nothing ----

mkdir -p ci/.ci ci/examples ci/tests ci/stand_ins
cp "$TOP/.ci/run" ci/.ci
stand_in() { # stand_in FILE COMMAND
    printf '#!/bin/sh\n%s\n' "$2" >"ci/$1"
    chmod +x "ci/$1"
}
for program in install-deps.sh .ci/lint .ci/sysroot .ci/arm64 .ci/fuzz examples/quickstart.sh stand_ins/make stand_ins/apt-get stand_ins/clang; do
    stand_in $program 'echo much'
done
for folder in build/bin build/tsan/bin; do
    mkdir -p ci/$folder
    for program in kvgen kvreplay kvstat kvprecond; do stand_in $folder/$program 'echo 1'; done
done
# The child that loads packages has ended long ago, or still loads, when the tests end.
ci() { env -u CI -u BUILD PATH="$TMP/ci/stand_ins:$PATH" ci/.ci/run; }
stand_in tests/run 'echo "Result: PASS"'
exits 'CI whose stages pass' 0 ci
is 'ends with the closing line of the tests' "$(tail -n 1 stdout)" 'Result: PASS'
stdout_like 'names each stage' '^lint  *ok  *[0-9]+ s$'
stdout_unlike 'says nothing of what passes' much
stand_in tests/run 'env | grep -q ^BUILD= || { echo "Result: FAIL"; exit 1; }'
exits 'CI whose last tests fail' 1 ci
stand_in .ci/sysroot 'exec sleep 60'
stand_in .ci/lint 'echo "a line is too long"; exit 1'
exits 'CI with a stage that fails, while packages are loaded' 1 ci
stdout_like 'says which' '^lint  *FAILED  *[0-9]+ s$'
stdout_like 'and why' '^a line is too long$'
stdout_unlike 'and goes no further' quickstart

# ---- the short cut of json (lib.sh) ----

cat >members <<'END'
{"tiers": [{"tier": "Tier-0", "n": 1.5, "of": {}}, {"tier": "Tier-2", "n": 2, "of": [1, 2, 3]}], "none": null, "text": "x  y",
 "groups": [{"by": {"op": "Read"}, "n": 0.16666666666666666}, {"by": {"op": "Write"}, "n": 7031.7345678901234}, {"n": 3}],
 "yes": true, "small": 0.00001, "empty": [], "deep": {"p q": {"r": [{"s": 1}, {"s": 12345678901234567}, {"s": -0.25}]}}}
END
own_json=${BIN%/bin}/tests/json
own() { "$own_json" members "$@"; }
while read -r filter; do
    is "json: $filter" "$(own "$filter")" "$(jq -r "$json_definitions line([$filter])" members)"
done <<'END'
.none
.none.more
.missing.more[2].than
.text, .yes, .none
.tiers[].tier
.tiers[1].of[2], .tiers[5]
.tiers[] | .tier, .n
.tiers | length
tier("Tier-2").n
tier("Tier-9").n
tier("Tier-0") | .n, .tier
tier("Tier-2").of | length
.empty[]
.empty[0]
.deep."p q".r[0].s, .deep."p q".r[2].s
.deep | length, ."p q".r[0].s
.tiers[] | select(.tier == "Tier-2") | .n, .of[0]
.tiers[] | select(.n == "Tier-2") | .n
.tiers[] | select(.tier == "Tier-0") | select(.tier == "Tier-2") | .n
.none | select(.tier == "Tier-2") | .n
.groups[] | select(.by.op == "Read") | .n
.groups[] | select(.by.op == "Else") | select(.n == "Read") | .n
END
is 'json: several filters' "$(own .text .empty[] .yes)" "$(printf 'x  y\n\ntrue')"
exits 'json: several filters, one for jq' 3 own .text .deep
is 'json: none is answered then' "$(cat stdout)" ''
# What is wrong, calculated, or printed otherwise than it is written is left to jq.
while read -r filter; do
    exits "json: $filter" 3 own "$filter"
    is "json: $filter: without a word" "$(cat stdout stderr)" ''
done <<'END'
.text.more
.small
.deep
.deep."p q".r[1].s
.text, .deep
.tiers[0].n > 1
.tiers[-1]
.groups[1].n
.tiers | map(.n)
.tiers[] | select(.n == 2) | .n
.tiers[] | select(.tier != "Tier-2") | .n
.tiers[] | select(.tier == "Tier-2" and .n) | .n
.tiers[] | select(.tier == "Tier-2")
.text | select(.tier == "Tier-2") | .n
END
for wrong in '{"a": 1' '{"a": 1} {"a": 2}' '{"a": NaN}' "{'a': 1}" ''; do
    printf '%s' "$wrong" >wrong
    exits "json: a file of $wrong" 3 "$own_json" wrong .a
done
done_testing
