#!/bin/sh
# quickstart.t - examples/quickstart.sh in a tree where packages and programs are there already: few lines around the report,
# the result kept, nothing else left, also when it is interrupted or a step fails. A bug looked like a first run whose end
# was a footnote, or whose measurement was gone.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

mkdir -p tree/build disk/one
cp -R "$TOP/examples" tree
ln -s "$BIN" tree/build/bin
printf '#!/bin/sh\necho "install-deps $*"\necho many lines >&2\n' >tree/install-deps.sh
printf 'all:\n\t@echo compiler lines; echo more of them >&2\n' >tree/Makefile
chmod +x tree/install-deps.sh
unset MAKEFLAGS MFLAGS MAKELEVEL BUILD
quickstart() { (cd "$1" && shift && exec "$TMP/tree/examples/quickstart.sh" "$@"); }

exits 'a run' 0 quickstart disk/one
kept=$TMP/disk/one/kvtrace-quickstart
is 'nothing on standard error' "$(cat stderr)" ''
is 'a line a step' "$(sed -n '2,5p' stdout | cut -d : -f 1 | paste -sd ' ' -)" 'packages build kvgen kvreplay'
like 'the log is named first' "$(head -1 stdout)" "$kept/log.txt\$"
ok 'the log has what the others said' grep -q 'compiler lines' "$kept/log.txt"
ok 'gnuplot is asked for' grep -q 'install-deps --pictures' "$kept/log.txt"
PATH=$BIN:$PATH kvstat "$kept/result.csv.zst" >report
ok 'the report of kvstat is shown' sh -c 'grep -vxFf stdout report | grep -v "result.csv.zst"; [ $? = 1 ]'
ok 'few lines beside it' test $(($(lines stdout) - $(lines report))) -le 12
is 'three sentences at the end' "$(tail -3 stdout | cut -d ' ' -f 1-3 | sed 's/[0-9]* reads//' | paste -sd / -)" \
    'Measured: /For this machine:/Next, in a'
like 'what was measured' "$(tail -3 stdout | head -1)" "^Measured: [0-9]+ reads and [0-9]+ writes of .*; kept in ${kept}[.]\$"
like 'what to try next' "$(tail -1 stdout)" "build/bin/kvtrace drive $TMP/disk/one "
is 'the result is kept, and no objects' "$(cd "$kept" && echo *.csv.zst *.txt)" 'result.csv.zst trace.csv.zst log.txt'
not_ok 'no objects' test -e "$kept/objects"

exits 'a build that fails' 2 sh -c "printf 'all:\\n\\t@echo broken; exit 1\\n' >tree/Makefile && cd disk && ../tree/examples/quickstart.sh one"
stderr_like 'shows the end of the log' 'broken'
stdout_like 'and says which step' '^build: .* failed$'
printf 'all:\n\t@:\n' >tree/Makefile

# Interrupted while it measures: the objects are gone, the log is there.
mkdir slow
printf "#!/bin/sh\\nmkdir -p \"\$2/x\"\\necho \$\$ >%s/started\\nexec sleep 60\\n" "$TMP" >slow/kvreplay
ln -s "$BIN/kvgen" "$BIN/kvstat" slow
chmod +x slow/kvreplay
rm tree/build/bin
ln -s "$TMP/slow" tree/build/bin
setsid tree/examples/quickstart.sh disk/one >stopped 2>&1 &
stopped=$!
until [ -s started ]; do sleep 0.05; done
kill -TERM "$(cat started)" "$stopped"
status=0
wait "$stopped" || status=$?
is 'stopped by a signal: the exit status' "$status" 143
not_ok 'stopped by a signal: no objects stay' test -e "$kept/objects"

exits 'help' 0 quickstart disk/one --help
stdout_like 'with its usage' '^Usage: quickstart.sh '
exits 'the pipeline' 0 quickstart disk/one --print
ok 'is shell' sh -n stdout
exits 'an option that it does not know' 2 quickstart disk/one --frobnicate
done_testing
