# shellcheck shell=sh
# answers.sh - for the tests of the commands of one answer, after lib.sh, in $TMP: programs in the folder known, with which the
# scripts of examples run.
examples=$TOP/examples

# Programs whose answer is known: kvgen finds that of a file, and kvstat, kvreplay and all else are the real ones.
mkdir known
ln -s "$BIN/kvreplay" "$BIN/kvstat" known
cat >known/kvgen <<'END'
#!/bin/sh
case " $* " in *' --dry-run '*) exec "$REAL" "$@" ;; esac
printf '%s\n' "$*" >>"$SEEN"
case " $* " in *' --answer '*) ;; *) exec "$REAL" "$@" ;; esac
before='' out=none asked=null
for word; do
    case $before in --answer) sim=$word ;; -o) out=$word ;; --users) asked=$word ;; esac
    before=$word
done
case $asked in null) verdict=null ;; [0-9] | [12]? | 3[0-6]) verdict=PASS ;; 3? | 40) verdict=INCONCLUSIVE ;; *) verdict=FAIL ;; esac
jq --argjson asked "$asked" --arg verdict "$verdict" '.asked = $asked | .verdict = (if $verdict == "null" then null else $verdict end)' \
    "$GAIN" >"$sim"
if [ "$out" = none ]; then exit 0; fi
exec "$REAL" --model tiny-1b --users 4 --duration 1 --gpu-mem 0 --cpu-mem 0 --ops Read,Write -o "$out"
END
# What a page shows is for the tests of kvstat.
printf '#!/bin/sh\ncat >/dev/null\necho "<svg/>"\n' >known/gnuplot
chmod +x known/kvgen known/gnuplot
# The scripts take the programs from there.
export REAL="$BIN/kvgen" GAIN="$DATA/answers/gain.json" SEEN="$TMP/seen" BUILD="$TMP/nowhere" KVTRACE_BIN="$TMP/known"
: "$examples" # for the tests
