#!/bin/sh
# kvtrace.t - the front door: a command for each script of examples/, each with a help and with --print, which shows commands
# that work and runs nothing. A bug looked like a script without a command, a --print that made folders, or a printed
# command with an option that its program does not know.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
# Without the programs in PATH: they are found beside kvtrace.
PATH=/usr/local/bin:/usr/bin:/bin
export DISCOVER_ROOT="$TMP/machine" # one disk, so that a folder is proposed everywhere
mkdir -p machine/proc "$TMP/disk"
printf 'MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n' >machine/proc/meminfo
echo "/dev/sda1 $TMP/disk ext4 rw 0 0" >machine/proc/mounts

exits 'alone' 0 "$BIN/kvtrace"
cp stdout list
"$BIN/kvtrace" --list-commands >commands
is 'lists each command in a line' "$(sed -n 's/^  \([a-z]\)/\1/p' list | cut -d ' ' -f 1)" "$(cut -f 1 commands)"
is 'within 100 columns' "$(awk 'length($0) > 100' list)" ''
is 'a command for each script' \
    "$(sed -n "s/^[a-z-]* .* \([a-z-]*\(.sh\|bench\)\): .*/\1/p" "$TOP/examples/kvtrace" | sort | paste -sd ' ' -)" \
    "$(cd "$TOP/examples" && for file in *.sh kvbench; do
        case $file in answer.sh | common.sh | quickstart.sh) ;; *) echo "$file" ;; esac
    done | sort | paste -sd ' ' -)"
is 'the man page has each' "$(sed -n '/^\.Sh COMMANDS/,/^\.Sh OPTIONS/s/^\.It Cm \([a-z-]*\).*/\1/p' "$TOP/man/kvtrace.1")" \
    "$(cut -f 1 commands)"
exits 'help' 0 "$BIN/kvtrace" --help
ok 'is the list' cmp stdout list
exits 'version' 0 "$BIN/kvtrace" --version
like 'of the programs' "$(cat stdout)" '^kvtrace [0-9.]+$'

exits 'an unknown command' 2 "$BIN/kvtrace" driv
is 'did you mean' "$(cat stderr)" 'kvtrace: driv: no such command; did you mean drive?'
for word in uses:users comp:compare fast:fast-enough mlprf:mlperf; do
    exits "$word" 2 "$BIN/kvtrace" "${word%:*}"
    stderr_like 'is near' "did you mean ${word#*:}[?]$"
done
exits 'one that is near to none' 2 "$BIN/kvtrace" frobnicate
is 'no guess' "$(cat stderr)" 'kvtrace: frobnicate: no such command (kvtrace alone lists them)'
exits 'an unknown option' 2 "$BIN/kvtrace" --frobnicate

# What a command needs at least.
operands() {
    case $1 in
    compare) echo "$DATA/kvstat_dozen.csv" "$DATA/kvstat_dozen.csv" ;;
    compare-drives) echo one two ;;
    compare-targets) echo one redis://127.0.0.1:1/1 ;;
    precondition) echo objects -s 16M ;;
    sharegpt) echo -f "$DATA/sharegpt_dummy_250.json.zst" ;;
    elsewhere) echo host folder ;;
    hosts) echo trace.csv.zst folder one two ;;
    handover) echo objects ;;
    record) echo vllm ;;
    against-engine) echo -r "$DATA/kvstat_dozen.csv" -f "$DATA/sharegpt_dummy_250.json.zst" ;;
    kvbench) echo --cache-dir objects ;;
    esac
}
mkdir empty
export KVTRACE_SESSION=yes # here nothing runs that a signal must reach
while read -r name _; do
    exits "$name --help" 0 "$BIN/kvtrace" "$name" --help
    stdout_like "$name: with its usage" "^Usage: kvtrace $name( |$)"
    stdout_like "$name: the option --print" '--print'
    stdout_like "$name: and an example" '^Examples?:'
    stdout_like "$name: as one types it" "^  kvtrace $name"
    ok "$name: under 40 lines" test "$(lines stdout)" -lt 40
    is "$name: within 130 columns" "$(awk 'length($0) > 130' stdout)" ''
    exits "$name: an unknown option" 2 "$BIN/kvtrace" "$name" --no-such-option 1
    with "$(operands "$name")" exits "$name --print" 0 sh -c 'cd empty && exec "$@"' - "$BIN/kvtrace" "$name" --print
    if [ "$name" = kvbench ]; then sed -n 's/^  kv/kv/p' stderr >printed; else cp stdout printed; fi
    ok "$name --print: shell" sh -n printed
    ok "$name --print: with commands" grep -Eq '^(kv(gen|replay|stat|precond)|nvidia-smi) ' printed
    is "$name --print: nothing else" "$(grep -Ev '^(kv[a-z]+|mkdir|rm|scp|ssh|fio|sai3-bench|nvidia-smi|grep|df|wait|start=.*|#|    |\(cd) ?' printed)" ''
    case $name in hosts | mlperf | kvbench) ;; *)
        is "$name --print: today's names of options" "$(grep -oE -e '--(num-users|nvme|cache-dir|dataset-path|[a-z-]*-gb)\b' printed)" '' ;;
    esac
    is "$name --print: nothing is made" "$(ls -A empty)" ''
done <commands

# An option in the place of a value is a missing value. A bug looked like a model that was called -o.
takes_values() {
    if [ "$1" = kvbench ]; then
        printf '%s\n' --model --num-users --duration --cache-dir --output --seed --gpu-mem-gb --config --keep-files
    else
        "$BIN/kvtrace" "$1" --help | grep -oE '(^|[ (,])-(-[a-z-]+|[a-z]) [A-Z]' | grep -oE -e '-[a-z-]+' | sort -u
    fi
}
# All options of one script, and of each other one the first and the last.
while read -r name _; do
    options=$(takes_values "$name")
    case $name in drive | kvbench) ;; *) options=$(printf '%s\n' "$options" | sed -n '1p;$p') ;; esac
    word=--
    for option in $options; do
        status=0
        (cd empty && "$BIN/kvtrace" "$name" "$option" "$word") >stdout 2>stderr </dev/null || status=$?
        [ "$status" = 2 ] && grep -q "needs a value, and $word is an option" stderr || echo "$option $word: $status $(cat stderr)"
        word=$option
    done >wrong
    is "$name: no option is a value" "$(cat wrong)" ''
done <commands
is 'and nothing is made' "$(ls -A empty)" ''
unset KVTRACE_SESSION
exits 'a name that begins with a dash is one' 0 "$BIN/kvtrace" drive --print -m -dash -o -other objects
stdout_like 'as it is given' '--model \./-dash '

# Sizes and times as the programs take them; what a script was given by its name before counts the same.
printed() { "$BIN/kvtrace" users --print "$@" objects | tr -s ' \\\n' ' '; }
like 'sizes and times have units' "$(printed --cpu-mem 2048M --storage-capacity 0.5TiB -t 2m)" \
    ' --cpu-mem 2GiB .*--storage-capacity 512GiB --answer-window 120s '
is 'names and numbers of before' "$(printed --gpu-mem 8GiB --cpu-mem 1GiB --storage-capacity 4GiB -t 10s)" \
    "$(printed --gpu-mem-gb 8 --cpu-mem-gb 1 --storage-capacity-gb 4 -t 10)"
for wrong in '--cpu-mem much' '--cpu-mem 1XB' '--cpu-mem none' '-t 1.5' '-t soon'; do
    with "$wrong objects" exits "$wrong" 2 "$BIN/kvtrace" users --print
    stderr_like 'is refused' "^kvtrace users: ${wrong% *}: '${wrong#* }' is not a (size|time)"
done

# What a program calls used wrongly is so for the command, too.
while read -r name words; do
    with "$words" exits "$name: an unknown model" 2 "$BIN/kvtrace" "$name" -m nosuch -o "wrong.$name"
    stderr_like "$name: is told" 'nosuch: unknown model'
done <<'END'
drive objects
knee objects
suite objects
disaggregated objects
mlperf objects
smoke objects
precondition -s 16M objects
size
compare-targets objects more
handover objects
END
rm -rf objects more

# What an earlier run found stays where it is. Bugs looked like a result that was gone from its place after a typo.
while read -r name words; do
    mkdir "earlier.$name"
    {
        echo '# Files that kvtrace made in this folder. A later run may write them anew.'
        for file in curve.csv kvgen.json load.kvgen.json trace.kvgen.json; do
            echo "found by $name" >"earlier.$name/$file"
            echo "$file"
        done
    } >"earlier.$name/.kvtrace-results"
    there=$(cd "earlier.$name" && md5sum -- *.json *.csv)
    with "$words" exits "$name: refused" 2 "$BIN/kvtrace" "$name" -m nosuch -o "earlier.$name"
    is "$name: and nothing is moved" "$(cd "earlier.$name" && find . -name .earlier && md5sum -- *.json *.csv)" "$there"
done <<'END'
size
knee objects
precondition -s 16M objects
END
rm -rf objects

# Called by another name, from a link somewhere else; with programs whose answer is known.
# shellcheck source=tests/answers.sh
. "$TOP/tests/answers.sh"
mkdir links
ln -s "$BIN/kvtrace" links/kvtrace
drive() { "$TMP/links/kvtrace" drive -m tiny-1b --params 1e9 --gpu-mem 1GiB --storage-capacity 1GiB -t 2s "$@"; }

# What is printed works as it stands there, and here in less time; with objects of the size of this load, which --print does not know.
drive --print -o typed objects >printed
like 'it measures the drive' "$(cat printed)" '^kvtrace model --quick '
sed 's/^kvtrace model --quick/& -t 2/; s/ --sizes 2MiB / --sizes 384KiB /' printed >shorter
status=0
PATH=$TMP/known:$BIN:$PATH sh shorter >stdout 2>stderr || status=$?
like 'the printed pipeline: an answer' "$status" '^[04]$'
stdout_like 'has its answer' '^Users held '
ok 'and its result' test -s typed/drive.result.csv.zst

# A folder with files of others, as a mount point: a folder in it is used and goes again, the files stay. What was measured there
# a moment ago is known.
mkdir mount here
echo mine >mount/file
sed 's|"target": "[^"]*objects"|"target": "'"$TMP"'/mount"|; s/ 2 s in all/ 30 s in all/' <typed/drive.json >moved.json
mkdir answer
echo '# Files that kvtrace made in this folder. A later run may write them anew.
drive.json' >answer/.kvtrace-results
cp moved.json answer/drive.json
status=0
drive -o answer "$TMP/mount" >stdout 2>stderr || status=$?
like 'a folder with files: an answer' "$status" '^[04]$'
stdout_like 'with what ran there' '^Confirmed '
stderr_like 'by the link and its name' '^kvtrace drive: 4 of 4: '
stderr_like 'not measured again' 'was measured [0-9]+ minutes? ago; that is taken again'
is 'the files stay alone' "$(ls -A mount) $(cat mount/file)" 'file mine'

exits 'an empty folder in which one stands' 0 sh -c "cd here && exec ../links/kvtrace drive --drive sim:bw=1GB/s"
is 'keeps the results' "$(ls -A here)" kvtrace-answer
done_testing
