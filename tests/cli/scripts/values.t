#!/bin/sh
# values.t - a value of each option and operand of each script of examples reaches the program that it is for as it
# was given, with blanks, quotes, newlines, dashes and what a shell, awk or sed would obey, in a run, and by the commands that
# --print shows. Bugs looked like a folder d';touch x;' that ran a command on another host, an option -w $(touch x) that ran
# one here, an output "a b" that failed after it was measured, and a printed command that was none.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
. "$TOP/tests/scripts.sh"

newline='
'
# What blanks, quotes, a shell, awk, sed, kvreplay --each or a list of words would obey.
obeyed="a=it's \"a\" \$(touch canary); touch canary;\`touch canary\` &|*?[x] {N} \\1\\n ${newline}touch canary${newline}"

# put TEXT VALUE: sets text to the text with the value in the place of its mark, and is to what stands in that place where a program
# gets it. ^ is a name of a file or of a model, which begins with a dash and gets ./ before it; @ is another value; 1 to 4 behind it
# make it differ from others.
put() {
    before=${1%%[@^]*}
    behind=${1#"$before"}
    text=$1 is=$1
    case $behind in
    '') return ;;
    ?[1-4]*) mark=${behind%"${behind#??}"} behind=${behind#??} ;;
    *) mark=${behind%"${behind#?}"} behind=${behind#?} ;;
    esac
    case $mark in
    ^*) text=$before-dash${mark#?}$2$behind is=$before./-dash${mark#?}$2$behind ;;
    *) text=$before${mark#?}$2$behind is=$text ;;
    esac
}

# arrives SCRIPT ARGUMENTS WAYS WANTED...: each WANTED is a program and an argument that it gets, in a run and by what is
# printed. Prints what is wrong.
arrives() {
    script=$1 arguments=$2 ways=$3
    shift 3
    WANT='' WANT_2='' WANT_3='' WANT_4='' number=0 programs=''
    for wanted; do
        argument=${wanted#* }
        case $argument in PWD* | *//PWD*) argument=${argument%%PWD*}$PWD${argument#*PWD} ;; esac
        put "$argument" "$obeyed"
        number=$((number + 1))
        case $number in 1) WANT=$is ;; 2) WANT_2=$is ;; 3) WANT_3=$is ;; 4) WANT_4=$is ;; esac
        programs="$programs ${wanted%% *}"
    done
    export WANT WANT_2 WANT_3 WANT_4
    set --
    for word in $arguments; do
        put "$word" "$obeyed"
        set -- "$@" "$text"
    done
    for way in $ways; do
        rm -rf ./out* "$SEEN" canary
        mkdir "$SEEN"
        if [ "$way" = run ]; then
            "$EXAMPLES/$script" "$@" >stdout 2>stderr </dev/null || :
        else
            "$EXAMPLES/$script" --print "$@" >printed 2>stderr </dev/null || :
            if [ "$script" = kvbench ]; then awk '/^this is:/ { on = 1; next } /^$/ { on = 0 } on { sub(/^  kv/, "kv"); print }' stderr >printed; fi
            sh printed >stdout 2>>stderr </dev/null || :
        fi
        shown="$script $arguments ($way)"
        if [ -e canary ]; then echo "$shown: the value was executed"; fi
        number=0
        for program in $programs; do
            number=$((number + 1))
            if [ ! -e "$SEEN/$program.$number" ]; then
                echo "$shown: $program did not get value $number:"
                head -n 5 stderr
            fi
        done
        { echo "$shown: says" && while IFS= read -r line; do printf '%s\n' "$line"; done <stderr; } >>said
    done
}

# Lines of: script, arguments, ways (run, print, or both), and what programs get. Several values go in one run, since they reach
# the programs on ways of their own.
table=$(sed 's/^ *//; /^#/d; /^$/d' <<'END'
against-engine.sh|-r ^1 -f ^2 -m ^3 -w gpu_only disk/o -o out|run print|kvstat ^1|kvgen ^2|kvgen ^3
against-engine.sh|-r trace -f dataset -w gpu_only -o out@ -- ^/o|run print|kvreplay ^/o|kvgen out@/gpu_only.trace.csv.zst
cache-size.sh|-i ^1 --granularity @2 -m ^3 -o out|run print|kvgen ^1|kvgen @2|kvgen ^3
cache-size.sh|-i -dash -m -x -o out|run print|kvgen ./-dash|kvgen ./-x
cache-size.sh|-s @1 -o out@2 trace|run print|kvgen @1|kvstat out@2/curve.csv
cache-size.sh|-- ^|run print|kvgen ^
compare-drives.sh|-o out -- ^1/o ^2/o|print|kvreplay ^1/o|kvreplay ^2/o
compare-drives.sh|-o out disk/@ disk/o|run|kvreplay disk/@
compare-drives.sh|-m ^1 -o out@2 drive.json sim:bw=1GB/s,lat=@3|run print|kvgen ^1|kvstat out@2/2/sim.json|kvgen 2=read:1GB/s,write:1GB/s,lat:@3
compare-targets.sh|--trials 1 -m ^1 -o out@2 redis://@3 -- ^4/o|run print|kvgen ^1|kvstat out@2/2/trial-1.result.csv.zst|kvreplay redis://@3|kvreplay ^4/o
compare.sh|-- ^1 ^2|run print|kvstat ^1|kvstat ^2
compare.sh|res@ trace|run print|kvstat res@/x.result.csv.zst
disaggregated.sh|-m ^1 -o out@2 -- ^3/o|run print|kvgen ^1|kvstat out@2/both.result.csv.zst|kvreplay ^3/o
drive.sh|-o out -- ^/o|print|kvreplay ^/o
drive.sh|-o out disk/@|run|kvreplay disk/@
drive.sh|-m ^1 -o out@2 --storage-capacity auto:@3 disk/o|run print|kvgen ^1|kvstat out@2/drive.result.csv.zst|kvgen auto:@3/.|kvreplay 2=sim:model=out@2/drive.json
drive.sh|--drive drive.json --gpu-profile @1 --population @2 --tensor-parallel @3 --params @4 -o out|run print|kvgen @1|kvgen @2|kvgen @3|kvgen @4
drive.sh|--drive drive.json --prefill-rate @ -o out|run print|kvgen @
fast-enough.sh|-d ^/o -o out|print|kvreplay ^/o
fast-enough.sh|-d disk/@ -o out|run|kvreplay disk/@
fast-enough.sh|-m ^1 -o out@2 --drive drive.json --ttft @3 --tpot @4|run print|kvgen ^1|kvstat out@2/sim.json|kvgen @3|kvgen @4
fast-enough.sh|--drive drive.json --goodput @1 --seeds @2 -o out|run print|kvgen @1|kvgen @2
handover.sh|-m ^1 -o out@2 disk/o|run print|kvgen ^1|sai3-bench out@2/handover.tsv.zst
handover.sh|-o out disk/o@|run|kvreplay PWD/disk/o@/kvtrace-handover|sai3-bench file://PWD/disk/o@/kvtrace-handover.sai3/
handover.sh|-o out disk/o@|print|kvreplay disk/o@/kvtrace-handover
hosts.sh|-o out -t 1 --lead 1 -- ^ disk/o one two|print|kvreplay disk/o
hosts.sh|-o out@1 -t 1 --lead 1 --split @2 --timing @3 trace @4/o one -|run print|kvstat out@1|kvreplay @2|kvreplay @3|kvreplay @4/o
how-many-users.sh|-m ^1 -o out@2 --engine @3 --storage-capacity auto:@4 --drive drive.json|run print|kvgen ^1|kvstat out@2/answer.html|kvgen @3|kvgen auto:@4/.
how-many-users.sh|-o out -- ^/o|print|kvreplay ^/o
how-many-users.sh|-o out disk/@|run|kvreplay disk/@
how-many-users.sh|--input ^1 --speed @2 -o out --drive drive.json|run print|kvgen ^1|kvgen @2
mlperf.sh|-w option_1 --trials 1 -m ^1 -o out@2 -- ^3/o|run print|kvgen ^1|kvstat out@2/option_1-trial_0-rank_0.result.csv.zst|kvreplay ^3/o
mlperf.sh|-w option_1 --trials 2 -o out@ disk/o|run|kvstat out@/option_1-trial_1-rank_0.result.csv.zst
mlperf.sh|-w option_1 --trials 1 --hosts one,two --lead 1 --storage-capacity-gb 1 -o out@1 -- ^2/o|run print|kvstat out@1/option_1-trial_0-rank_0.mlperf.json|kvreplay ^2/o/rank_{rank}
knee.sh|--in-flight 1 --trials 1 -m ^1 -o out@2 -- ^3/o|run print|kvgen ^1|kvreplay out@2/1-trial-1.result.csv.zst|kvreplay ^3/o
kvtrace|drive -o out -- disk/@|run|kvreplay disk/@
model.sh|--sizes 4096 --in-flight 1 -t 1 -o drive2.json disk/@|run print|kvreplay disk/@/kvtrace-model
precondition-then-measure.sh|--trials 1 -s @1 -m ^2 -o out disk/o|run print|kvprecond @1|kvgen ^2
precondition-then-measure.sh|--trials 1 -s 1M -o out@1 -- ^2/o|run print|kvprecond out@1/kvprecond.json|kvprecond ^2/o.fill
record.sh|--run -i ^ -o out.csv lmcache|run|kvgen ^
record.sh|-i ^1 -o ^2 lmcache|print|kvgen ^1|kvgen ^2|kvstat ^2
record.sh|--run -i trace -m ^ -o out.csv vllm|run|kvgen ^
replay-elsewhere.sh|one disk/o --tarball kvtrace.tar.gz -m ^1 -o out@2|run print|kvgen ^1|kvgen out@2/trace.csv.zst
sharegpt-vs-synthetic.sh|-f ^1 -r @2 -m ^3 -o out@4 disk/o|run print|kvgen ^1|kvgen @2|kvgen ^3|kvstat out@4/sharegpt.result.csv.zst
sharegpt-vs-synthetic.sh|-f trace -o out -- ^/o|run print|kvreplay ^/o
smoke.sh|-w storage-only,autoscale-qos -m ^1 -o out@2 --storage-capacity auto:@3 disk/o|run print|kvgen ^1|kvreplay out@2/autoscale-qos.json|kvgen auto:@3/.
smoke.sh|-w autoscale-capacity -o out -- ^/o|run print|kvreplay ^/o
smoke.sh|-w sharegpt -f ^ -o out disk/o|run print|kvgen ^
suite.sh|-w storage-only -u 2 -m ^1 -o out -- ^2/o|run print|kvgen ^1|kvreplay ^2/o
suite.sh|--wrapper -w autoscale -u 2 -m ^1 -o out -- ^2/o|run print|kvgen ^1|kvreplay ^2/o
suite.sh|-w storage-only -u 2 --xlsx -o out@ disk/o|run|kvstat out@/suite.xlsx
suite.sh|-w mlperf_submission --trials 1 -u 2 -t 1 -m ^ -o out disk/o|run|kvgen ^
worth.sh|--prefill ^1 --price @2 --tbw @3 -o out@4 --drive drive.json|run print|kvgen ^1|kvgen @2|kvgen @3|kvgen out@4/sim.json
kvbench|--model @1 --cache-dir ^2/o --output all.json|run print|kvgen @1|kvreplay ^2/o
kvbench|--model @1 --target-saturation @2 --cache-dir disk/o --enable-autoscaling --output all.json|run print|kvgen @1|kvreplay @2
kvbench|--config ^1 --precondition-size-gb @2 --cache-dir disk/o --precondition --output all.json|run print|kvprecond ^1|kvprecond @2GiB
kvbench|--storage-capacity-gb @1 --seed @2 --generation-mode @3 --gpu-mem-gb @4 --precondition --cache-dir disk/o --output all.json|run print|kvgen @1|kvgen @2|kvgen @3|kvgen @4
kvbench|--performance-profile @1 --validation-trace ^2 --max-concurrent-allocs @3 --cache-dir disk/o --output all.json|run print|kvstat @1|kvstat ^2|kvreplay @3
kvbench|--burst-trace-path ^ --use-burst-trace --cache-dir disk/o --output all.json|run print|kvgen ^
kvbench|--dataset-path ^ --cache-dir disk/o --output all.json|run print|kvgen ^
kvbench|--keep-files out@1 --xlsx-output ^2 --cache-dir disk/o --output all.json|run|kvreplay out@1/result.csv.zst|kvstat ^2
kvbench|--io-trace-log ^ --output all.json|run print|kvgen ^
END
)

# shard N OF: each OFth line of the table, in a folder of its own.
shard() {
    mkdir "shard.$1" "shard.$1/res$obeyed"
    cd "shard.$1" || exit 1
    cp -R ../trace ../dataset ../drive.json ../kvtrace.tar.gz .
    mkdir disk
    for n in '' 1 2 3 4; do : >"./-dash$n$obeyed"; done
    : >"./res$obeyed/x.result.csv.zst"
    export SEEN="$PWD/seen" PATH="$SCRIPT_PATH"
    printf '%s\n' "$table" | awk -v n="$1" -v of="$2" 'NR % of == n' |
        while IFS='|' read -r script arguments ways one two three four; do
            set -- "$one" ${two:+"$two"} ${three:+"$three"} ${four:+"$four"}
            arrives "$script" "$arguments" "$ways" "$@"
        done >wrong
    # What a shell or awk says of a text that is none.
    awk '/\): says$/ { shown = $0 } tolower($0) ~ /syntax error|unexpected|unterminated/ { print shown, $0 }' said >>wrong
}
shards=4 n=0
while [ $n -lt $shards ]; do
    (shard $n $shards) &
    n=$((n + 1))
done
wait
for script in $(printf '%s\n' "$table" | cut -d '|' -f 1 | sort -u); do
    is "$script: each value arrives" "$(cat shard.*/wrong | awk -v script="$script" '/^[a-z-]*(\.sh)? .*\((run|print)\)/ { on = $1 == script } on')" ''
done
is 'and each script is tried' "$(printf '%s\n' "$table" | cut -d '|' -f 1 | sort -u)" "$(cd "$EXAMPLES" && for file in *.sh kvbench kvtrace; do
    case $file in answer.sh | common.sh | quickstart.sh | discover.sh) ;; *) echo "$file" ;; esac
done | sort)"

# ---- quickstart: its folder ----

make_tree
mkdir -p "disk/$obeyed"
export WANT="$TMP/disk/$obeyed/kvtrace-quickstart/objects"
PATH=$SCRIPT_PATH tree/examples/quickstart.sh "disk/$obeyed" >stdout 2>stderr
ok 'quickstart.sh: its folder' test -e "$SEEN/kvreplay.1"
rm -rf "$SEEN" "disk/$obeyed/kvtrace-quickstart"
mkdir "$SEEN"
tree/examples/quickstart.sh --print "disk/$obeyed" >printed
PATH=$SCRIPT_PATH exits 'quickstart.sh: what it prints' 0 sh -e printed
ok 'quickstart.sh: has the folder' test -e "$SEEN/kvreplay.1"
not_ok 'nothing was executed' test -e canary
done_testing
