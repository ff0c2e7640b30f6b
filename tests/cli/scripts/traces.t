#!/bin/sh
# traces.t - a script of examples leaves the files of others as they are, and leaves nothing of its own behind that its
# help does not name: on a folder with files of someone that have all the names that it uses, and when SIGINT, SIGTERM or
# SIGHUP reaches it alone at any moment. Then the programs that it started have had the signal, have cleaned up and ended.
# nohup is respected. Bugs looked like rm -rf DIR/objects of someone, results of someone that were removed from OUT, a kvreplay
# that ran on without its script, and temporary folders. KILLS=N tries so many moments for each signal, SEED=N others.
# builds: plain
. "${0%/*}/../../lib.sh"
. "$TOP/tests/scripts.sh"
export WANT=none

# Lines of: name, script and arguments. OUT is the folder for results, DIR that on the drive.
table=$(cat <<'END'
against-engine|against-engine.sh -r trace -f dataset -w gpu_only,gpu_cpu -o OUT DIR
cache-size|cache-size.sh -o OUT trace
compare-drives|compare-drives.sh -o OUT DIR disk/other
compare-targets|compare-targets.sh --trials 2 -o OUT DIR redis://127.0.0.1:1/1
compare|compare.sh trace trace
disaggregated|disaggregated.sh -o OUT DIR
discover|discover.sh
drive|drive.sh -o OUT DIR
fast-enough|fast-enough.sh -o OUT DIR
handover|handover.sh -o OUT DIR
hosts|hosts.sh trace DIR one two -t 1 --lead 1 -o OUT
users|how-many-users.sh -o OUT DIR
knee|knee.sh --in-flight 1,2 --trials 2 -t 1 -o OUT DIR
mlperf|mlperf.sh -w option_1 --trials 2 --ranks 2 -o OUT DIR
mlperf-hosts|mlperf.sh -w option_1 --trials 2 --hosts one,two --lead 1 --storage-capacity 1 -o OUT DIR
model|model.sh --sizes 4096 --in-flight 1 -t 2 -o OUT/drive.json DIR
precondition|precondition-then-measure.sh -s 1M --trials 1 -o OUT DIR
quickstart|TREE/quickstart.sh OUT
record|record.sh --run -i trace -o new.csv lmcache
elsewhere|replay-elsewhere.sh one DIR --tarball kvtrace.tar.gz -o OUT
elsewhere-here|replay-elsewhere.sh - DIR --tarball kvtrace.tar.gz -o OUT
sharegpt|sharegpt-vs-synthetic.sh -f trace -o OUT DIR
smoke|smoke.sh -w storage-only,autoscale-qos,rag -o OUT DIR
suite|suite.sh --wrapper -w storage-only,autoscale,gpu-cpu -u 2 --trials 2 --xlsx -o OUT DIR
suite-mlperf|suite.sh -w mlperf_submission --trials 1 -u 2 -t 1 -o OUT DIR
worth|worth.sh --drive drive.json -o OUT
worth-dir|worth.sh -o OUT DIR
kvbench|kvbench --cache-dir DIR --precondition --duration 2 --keep-files OUT --output new.json
kvbench-passing|kvbench --cache-dir DIR --duration 2 --output new.json
kvtrace|kvtrace drive -o OUT DIR
END
)
if [ -n "${ONLY-}" ]; then table=$(printf '%s\n' "$table" | grep -E "^($ONLY)[|]"); fi
make_tree

# A program that takes its time. Objects are its own: a file that is empty when it ends, also by a signal, but not at once.
cat >"$STUBS/lasts" <<'END'
mine=$OBJECTS/${0##*/}.$$
[ "/proc/$$/fd/$ALIVE" -ef "${OBJECTS%/*}/alive" ] || : >"${OBJECTS%/*}/unseen"
trap 'sleep 0.1; : >"$mine"; exit 143' TERM INT HUP
echo there >"$mine"
if [ "${LASTS-}" = yes ]; then sleep 0.12; fi
: >"$mine"
trap - TERM INT HUP
END
for program in kvgen kvreplay kvprecond; do
    printf '#!/bin/sh\n. "%s/lasts"\n' "$STUBS" | cat - "$STUBS/$program" >new
    cat new >"$STUBS/$program"
done
pack

# enter NAME: a folder for a script's run, with what it reads.
enter() {
    mkdir "$1" "$1/tmp"
    cd "$1" || exit 1
    cp -R ../trace ../dataset ../drive.json ../kvtrace.tar.gz .
    mkdir -p disk OUT DIR objects.of
    export SEEN="$PWD/seen" OBJECTS="$PWD/objects.of" TMPDIR="$PWD/tmp" PATH="$SCRIPT_PATH"
    mkdir "$SEEN"
}
# start COMMAND...: becomes a script of the table. A shell lets what it starts in the background ignore SIGINT; perl does not. All that
# the script starts has the lock of the file alive with it, until it ends: the descriptor $ALIVE.
start() {
    case $1 in TREE/*) script=$TMP/tree/examples/${1#TREE/} ;; *) script=$EXAMPLES/$1 ;; esac
    shift
    exec perl -e '$^F = 9; open(A, ">", "alive"); flock(A, 2); $ENV{ALIVE} = fileno(A);
        $SIG{INT} = "DEFAULT"; exec @ARGV' "$script" "$@"
}

# ---- files of others ----

# tree: the names and contents of what the script finds.
tree() { find OUT DIR disk trace dataset drive.json kvtrace.tar.gz new.* -type f -exec md5sum {} + 2>/dev/null | LC_ALL=C sort -k 2; }
# foreign NAME COMMAND...: runs it in empty folders, to know the names that it makes; then with files of someone that have
# those names, and with a list of someone in the place of its own. Prints what changed.
foreign() {
    case_name=$1
    shift
    enter "foreign.$case_name"
    began=$(date +%s%N)
    export LASTS=yes
    (start "$@") >first 2>&1 </dev/null || :
    export LASTS=no
    echo $((($(date +%s%N) - began) / 1000000)) >lasted
    rm -rf names
    find OUT new.* -type f ! -name .kvtrace-results 2>/dev/null >names || :
    # The times of runs stand in some names.
    for name in DIR.fill/file DIR/objects/file DIR/programs/file DIR/kvtrace.tar.gz DIR/trace.csv.zst DIR/kvtrace-handover \
        DIR/kvtrace-handover.fio DIR/kvtrace-handover.sai3 DIR/.work OUT/kvtrace-quickstart/objects/file OUT/x.result.csv.zst; do
        echo "$name" >>names
    done
    rm -rf OUT DIR DIR.fill new.*
    while IFS= read -r name; do
        # kvbench --output, record -o: files that were named are for writing.
        case $name in new.*) continue ;; esac
        [ -d "${name%/*}" ] || mkdir -p "${name%/*}"
        echo "someone's $name" >"$name"
    done <names
    tree >before
    (start "$@") >second 2>&1 </dev/null || :
    rm -f new.*
    tree | diff before - | grep '^<' || :
    grep -c . names >count
    # A list that is someone's is no leave to write.
    case $case_name in discover | compare | record | model | kvbench-passing) return ;; esac
    where=OUT
    if [ "$case_name" = quickstart ]; then where=OUT/kvtrace-quickstart; fi
    cut -d / -f 2- <names >"$where/.kvtrace-results"
    tree >before
    (start "$@") >third 2>&1 </dev/null || :
    rm -f new.*
    tree | diff before - | grep '^<' || :
}
printf '%s\n' "$table" >table
# As many at a time as with signals below, for which it is known from here how long each takes.
sixth() { # N COMMAND
    awk -v n="$1" 'NR % 6 == n' table | while IFS='|' read -r name words; do
        (with "$words" "$2" "$name") >"told.$2.$name" 2>&1
    done
}
for n in 0 1 2 3 4 5; do sixth $n foreign & done
wait
while IFS='|' read -r name words; do
    is "$name: files of others stay, $(cat "foreign.$name/count" 2>/dev/null) names" "$(cat "told.foreign.$name")" ''
done <table

# ---- signals ----

# One that comes with the error that ends the shell: an expression without the number that $(...) was to print.
cat >beside <<'END'
. "$0"
need_scratch
echo "$scratch" >made
n=$((1 + $(kill -s TERM $$)))
END
for shell in dash bash sh; do
    if ! command -v $shell >/dev/null; then continue; fi
    rm -f made
    $shell -c "$(cat beside)" "$EXAMPLES/common.sh" 2>said
    is "$shell: a signal beside an error: its status" $? 143
    ok "$shell: there was a folder" test -s made
    not_ok "$shell: nothing is left" test -e "$(cat made)"
done

moments=${KILLS:-1} seed=${SEED:-1}
diag "seed $seed, $moments moments for each signal"
# left ID: what is left of a run: processes, files of programs, temporary files, copies on other hosts.
left() {
    # Processes may need a moment to end after the script; none of them works.
    if ! flock -w 1 alive true; then
        grep -lzsx "RUN_ID=$1" /proc/[0-9]*/environ | while read -r environ; do
            command=$(tr '\0' ' ' 2>/dev/null <"${environ%/*}/cmdline")
            # Empty: it has ended since.
            if [ -n "$command" ]; then echo "process: $command"; fi
        done
    fi
    if [ -e unseen ]; then echo 'a program that does not have the lock of what runs'; fi
    find objects.of tmp DIR/objects DIR/kvtrace.* DIR/kvtrace-* DIR.fill -mindepth 1 ! \( -path 'objects.of/*' -empty \) \
        -printf 'file: %p\n' 2>/dev/null
    if [ ! -e seen.ssh ]; then return; fi
    grep -o "kvtrace\\.[A-Za-z0-9]*-[A-Za-z0-9_-]*" seen.ssh 2>/dev/null | sort -u | while read -r copy; do
        if [ -e "/tmp/$copy" ]; then echo "copy: /tmp/$copy"; fi
    done
}
# kills NAME COMMAND...: with each signal at some moments of its run. Prints a line of the table, and what is wrong.
kills() {
    case_name=$1
    shift
    enter "kill.$case_name"
    export LASTS=yes
    lasted=$(cat "../foreign.$case_name/lasted") # ms
    row="$case_name $lasted"
    # At random moments of a whole run.
    awk -v seed="$seed" -v name="$case_name" -v of="$lasted" -v n="$moments" 'BEGIN {
        for (i = 1; i <= length(name); i++) seed += index("abcdefghijklmnopqrstuvwxyz-", substr(name, i, 1)) * i
        srand(seed)
        for (i = 0; i < 3 * n; i++) printf "%s %.3f\n", substr("INT TERMHUP ", i % 3 * 4 + 1, 4), rand() * of / 1000 }' >when
    while read -r signal moment; do
        rm -rf OUT DIR tmp disk objects.of new.*
        mkdir OUT DIR tmp disk objects.of
        id=$case_name.$signal.$moment.$$
        (RUN_ID=$id; export RUN_ID; start "$@") >out 2>&1 </dev/null &
        process=$!
        sleep "$moment"
        kill -s "$signal" "$process" 2>/dev/null
        status=0
        wait "$process" || status=$?
        row="$row $signal $moment:$status"
        left "$id" >rest
        if [ -s rest ]; then
            echo "WRONG $case_name: SIG$signal after $moment s: status $status"
            cat rest out
        fi
        case $signal:$status in
        *:0 | *:1 | *:2 | *:4 | INT:130 | TERM:143 | HUP:129) ;;
        *) echo "WRONG $case_name: SIG$signal after $moment s: status $status" ;;
        esac
    done <when
    echo "$row"
}
for n in 0 1 2 3 4 5; do sixth $n kills & done
wait
diag 'script, ms of a whole run, and for each signal moments (s) and exit statuses'
while IFS='|' read -r name words; do
    diag "$(grep -v '^WRONG' "told.kills.$name" | tail -n 1)"
    is "$name: killed at any moment it leaves nothing" "$(sed -n '/^WRONG/,$p' "told.kills.$name" | head -n 12)" ''
done <table
done_testing
