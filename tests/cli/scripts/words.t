#!/bin/sh
# words.t - what the scripts of examples share: words survive a shell on another host, --each and eval; text of files
# and servers reaches the terminal without its control characters; numbers are read and printed the same in any locale, by any
# awk and shell that is here; nohup is respected. Bugs looked like 1.75 that a script in a German locale read as 1, and a
# drive.json that moved the cursor.
# builds: plain
. "${0%/*}/../../lib.sh"
. "$TOP/tests/scripts.sh"
export WANT=none

# ---- words and numbers, by each shell and awk that is here ----

cat >words <<'END'
. "$0"
same() { # WORD WORD WHERE
    if [ "$1" != "$2" ]; then printf 'BAD %s: %s: %s\n' "$3" "$1" "$2"; fi
}
newline='
'
for word in "a'b" "''" '' 'a "b" $(touch x) `y` \n\' "a${newline}b$newline" "$newline" "$(printf 'x\033[31m\r\007\177\001\t')" \
    "x{N}y'{N}{N}" 'ü' '-x' '*?[a]' "$(printf '\302\233')" '{N' '~' '#' '!x'; do
    quoting "$word"
    eval "set -- $quoted"
    same "$word" "$1" quoting
    eval "set -- $(quote "$word" b "$word")"
    same "$word" "$1" quote
    same "$word" "$3" 'quote, the last'
    each_word "$word"
    case $quoted in *'{N}'*) echo "BAD each_word: $word" ;; esac
    eval "set -- $quoted"
    same "$word" "$1" each_word
    case $(quote "$word") in *["$controls"]*) echo "BAD quote: a control character" ;; esac
done
readable "$(printf 'a\033[2Jb\nc\302\233d\303\274e\r\177.')"
printf '%s\n' "$readable"
printf 'a\033b\n\tc\n' | readable_lines
json "$(printf 'a"\\\n\033.')"
echo
printf '{\n  "a": "x\033[2Jy",\n  "b": 1.75\n}\n' | pick a b c | tr '\n' ' '
echo
gib --cpu-mem 0.5TiB && echo "$text"
gib --cpu-mem 1.75 && echo "$text"
time_of -t 2m && echo "$text"
number -u 010 && echo "$text"
printf 'x\na device 1048576 891290 157286 85%% /\n' | most
printf '%s\n' 1.75 1.5 | sort -g | head -n 1
printf '%.2f\n' 1.75
END
cat >wanted <<'END'
a?[2Jb?c?düe??.
a?b
?c
"a\"\\\n\u001b."
x?[2Jy 1.75 - 
512
1.75
120
10
0.089
1.5
1.75
END
# by NAME SHELL...: the words, by that shell.
by() {
    by=$1
    shift
    "$@" -c "$(cat words)" "$EXAMPLES/common.sh" >got 2>&1
    is "words and numbers: $by" "$(cat got)" "$(cat wanted)"
}
for shell in dash bash busybox; do
    if ! command -v $shell >/dev/null; then diag "no $shell"; continue; fi
    if [ $shell = busybox ]; then by busybox busybox sh; else by $shell $shell; fi
done
mkdir awks
for awk in mawk gawk original-awk busybox; do
    if ! command -v $awk >/dev/null; then diag "no $awk"; continue; fi
    ln -sf "$(command -v $awk)" awks/awk
    PATH=$TMP/awks:$PATH by "$awk" sh
done

# ---- a locale whose numbers have a comma ----

mkdir locales
if localedef -i de_DE -f UTF-8 locales/de_DE.UTF-8 2>/dev/null &&
    LOCPATH=$TMP/locales LC_ALL=de_DE.UTF-8 bash -c 'printf "%.1f" 1,5' 2>/dev/null | grep -q 1,5; then
    export LOCPATH="$TMP/locales"
    LC_ALL=de_DE.UTF-8 by 'a German locale' bash
    for locale in C de_DE.UTF-8; do
        LC_ALL=$locale KVTRACE_BIN=$BIN "$BIN/kvtrace" size -m tiny-1b -u 2 -t 30 -o "size.$locale" >"said.$locale" 2>&1
    done
    is 'an answer there' "$(sed 's/size.de_DE.UTF-8/size.C/' said.de_DE.UTF-8)" "$(cat said.C)"
    like 'which has numbers' "$(tail -n 1 said.C)" '[0-9]\.[0-9]'
    unset LOCPATH
else
    diag 'no German locale can be made here'
fi

# ---- the terminal: names of folders, a measurement, another host, and --print ----

escape=$(printf '\033')
mkdir "disk/a${escape}[2Jb"
printf '{\n  "program": "kvtrace model",\n  "valid": false,\n  "why_invalid": [\n    "a\033[2Jb"\n  ]\n}\n' >bad.json
cat >"$STUBS/kvstat" <<END
#!/bin/sh
. "\$STUBS/looks"
if [ "\$form" = json ]; then printf '{\n  "bottleneck": {\n    "what": "a${escape}[2Jb"\n  },\n  "assessment": {\n    "status": "PASS"\n  }\n}\n'; fi
END
while IFS='|' read -r script words; do
    set --
    for word in $words; do
        case $word in *@*) word=${word%%@*}a${escape}[2Jb${word#*@} ;; esac
        set -- "$@" "$word"
    done
    PATH=$SCRIPT_PATH "$EXAMPLES/$script" "$@" >said 2>&1 </dev/null
    ok "$script $words: says something" test -s said
    not_ok "$script $words: no escape reaches the terminal" grep -q "[$escape]" said
    PATH=$SCRIPT_PATH "$EXAMPLES/$script" --print "$@" >said 2>&1 </dev/null
    not_ok "$script $words: nor with --print" grep -q "[$escape]" said
done <<'END'
against-engine.sh|-r trace -f dataset -w gpu_only -o out.ae disk/@
cache-size.sh|-o out.cs@ trace
compare-drives.sh|-o out.cd disk/@ disk/o
compare-targets.sh|--trials 1 -o out.ct disk/@ redis://@
drive.sh|-m @ -o out.dr@ disk/@
fast-enough.sh|-o out.fe -m @ disk/@
how-many-users.sh|-o out.us --ttft 1@ disk/@
knee.sh|--in-flight 1 --trials 1 -m @ -o out.kn@ disk/@
handover.sh|-o out.ha@ disk/@
mlperf.sh|-w @ -o out.ml disk/@
precondition-then-measure.sh|-s @ --trials 1 -o out.pr@ disk/@
record.sh|-i @ -o @ vllm
sharegpt-vs-synthetic.sh|-f trace -o out.sh disk/@
smoke.sh|-w storage-only -o out.sm@ disk/@
suite.sh|-w storage-only -u 2 --trials 2 -o out.su@ disk/@
worth.sh|--drive bad.json -o out.wo@ -m @
kvbench|--cache-dir disk/@ --model @ --output all.json
kvtrace|drive@
drive.sh|--no-such@
END
cat >"$STUBS/kvreplay" <<END
#!/bin/sh
echo "out of luck: ${escape}[2J" >&2
exit 1
END
pack
while IFS='|' read -r script words; do
    status=0
    PATH=$SCRIPT_PATH with "$words" "$EXAMPLES/$script" >said 2>&1 </dev/null || status=$?
    is "$script: a program that fails is no \"no\"" "$status" 3
    like "$script: the error is shown" "$(cat said)" 'out of luck: [?]'
    not_ok "$script: without its escape" grep -q "[$escape]" said
done <<'END'
drive.sh|-o out.1 disk/o
smoke.sh|-w autoscale-qos -o out.2 disk/o
hosts.sh|trace disk/o one -t 1 --lead 1 -o out.3
replay-elsewhere.sh|one disk/o --tarball kvtrace.tar.gz -o out.4
mlperf.sh|-w option_1 --hosts one --lead 1 --storage-capacity 1 --trials 1 -o out.5 disk/o
END

# ---- a fill that cannot be is told before the trials ----

exits 'precondition: no size' 2 env KVTRACE_BIN="$BIN" "$EXAMPLES/precondition-then-measure.sh" -s soon -o out.fill disk/o
stderr_like 'why' "^precondition-then-measure.sh: -s: --size: 'soon' is not a size"
mkdir disk/o.fill
echo mine >disk/o.fill/file
exits 'precondition: files of someone where the fill goes' 3 env KVTRACE_BIN="$BIN" "$EXAMPLES/precondition-then-measure.sh" \
    -s 16M -o out.fill disk/o
is 'nothing was measured' "$(find out.fill -name '*.zst')" ''

# ---- nohup ----

cat >"$STUBS/kvreplay" <<'END'
#!/bin/sh
. "$STUBS/looks"
if [ ! -e "$STUBS/started" ]; then
    : >"$STUBS/started"
    read -r _ <"$STUBS/go" || :
fi
END
mkfifo "$STUBS/go"
PATH=$SCRIPT_PATH nohup "$EXAMPLES/drive.sh" -o out.nohup disk/o >said 2>&1 </dev/null &
process=$!
exec 9>"$STUBS/go" # when it has started
kill -s HUP $process
exec 9>&-
status=0
wait $process || status=$?
is 'nohup: SIGHUP does nothing' "$status" 0
like 'and it comes to its end' "$(tail -n 1 said)" '^drive[.]sh: 4 of 4: '
done_testing
