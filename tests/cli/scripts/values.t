#!/bin/sh
# values.t - a value of each option and operand of each script of examples reaches the program that it is for as it
# was given, with blanks, quotes, newlines, dashes and what a shell, awk or sed would obey, in a run, and by the commands that
# --print shows. Bugs looked like a folder d';touch x;' that ran a command on another host, an option -w $(touch x) that ran
# one here, an output "a b" that failed after it was measured, and a printed command that was none.
# builds: plain
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../../scripts.sh"

newline='
'
# What blanks, quotes, a shell, awk, sed, kvreplay --each or a list of words would obey.
obeyed="a=it's \"a\" \$(touch canary); touch canary;\`touch canary\` &|*?[x] {N} \\1\\n ${newline}touch canary${newline}"

# put TEXT VALUE: sets text to the text with the value in the place of @.
put() {
    case $1 in
    *@*) text=${1%%@*}$2${1#*@} ;;
    *) text=$1 ;;
    esac
}

# arrives SCRIPT ARGUMENTS PROGRAM ARGUMENT NOTES VALUE [WAY]: the value does, in a run and by what is printed, or by that way.
# Prints what is wrong.
arrives() {
    script=$1 arguments=$2 program=$3 argument=$4 notes=$5 value=$6 given=$6
    case $notes:$value in *name*:-*) value=./$value ;; esac
    case $argument in *PWD*) argument=${argument%%PWD*}$PWD${argument#*PWD} ;; esac
    put "$argument" "$value"
    export WANT="$text"
    ways=${7:-run print}
    set --
    for word in $arguments; do
        put "$word" "$given"
        set -- "$@" "$text"
    done
    for way in $ways; do
        case $way,$notes in print,*run* | run,*print*) continue ;; esac
        rm -rf out "./out$given" "$SEEN" canary stdout stderr printed
        mkdir "$SEEN"
        if [ "$way" = run ]; then
            timeout 60 "$EXAMPLES/$script" "$@" >stdout 2>stderr </dev/null || :
        else
            timeout 60 "$EXAMPLES/$script" --print "$@" >printed 2>stderr </dev/null || :
            if [ "$script" = kvbench ]; then awk '/^this is:/ { on = 1; next } /^$/ { on = 0 } on { sub(/^  kv/, "kv"); print }' stderr >printed; fi
            timeout 60 sh printed >stdout 2>>stderr </dev/null || :
        fi
        shown="$script $arguments ($way)"
        if [ -e canary ]; then echo "$shown: the value was executed"; fi
        if [ ! -e "$SEEN/$program" ]; then
            echo "$shown: $program did not get it:"
            head -n 5 stderr
        fi
        if grep -Ei 'syntax error|unexpected|unterminated' stderr; then echo "$shown: is what a shell or awk says"; fi
    done
}

# Lines of: script, arguments (@: the value), the program that gets it, as what argument, and notes. name: it is that of a file
# or of a model, and one with a dash gets ./ before it. run, print: only in a run, only by what is printed.
table=$(sed 's/^ *//; /^#/d; /^$/d' <<'END'
against-engine.sh|-r @ -f dataset -w gpu_only disk/o -o out|kvstat|@|name
against-engine.sh|-r trace -f @ -w gpu_only disk/o -o out|kvgen|@|name
against-engine.sh|-r trace -f dataset -m @ -w gpu_only disk/o -o out|kvgen|@|name
against-engine.sh|-r trace -f dataset -w gpu_only -o out -- @/o|kvreplay|@/o|name
against-engine.sh|-r trace -f dataset -w gpu_only disk/o -o out@|kvgen|out@/gpu_only.trace.csv.zst|
cache-size.sh|-i @ -o out|kvgen|@|name
cache-size.sh|-- @|kvgen|@|name
cache-size.sh|-s @ -o out|kvgen|@|
cache-size.sh|--granularity @ -o out|kvgen|@|
cache-size.sh|-m @ -o out|kvgen|@|name
cache-size.sh|-o out@ trace|kvstat|out@/curve.csv|
compare-drives.sh|-o out disk/o -- @/o|kvreplay|@/o|name print
compare-drives.sh|-o out -- @/o disk/o|kvreplay|@/o|name print
compare-drives.sh|-o out disk/@ disk/o|kvreplay|disk/@|run
compare-drives.sh|-m @ -o out drive.json sim:bw=1GB/s|kvgen|@|name
compare-drives.sh|-o out drive.json sim:bw=1GB/s,lat=@|kvgen|2=read:1GB/s,write:1GB/s,lat:@|
compare-drives.sh|-o out@ drive.json sim:bw=1GB/s|kvstat|out@/2/sim.json|
compare-targets.sh|--trials 1 -o out disk/o redis://@|kvreplay|redis://@|
compare-targets.sh|--trials 1 -o out disk/o -- @/o|kvreplay|@/o|name
compare-targets.sh|--trials 1 -m @ -o out disk/o disk/p|kvgen|@|name
compare-targets.sh|--trials 1 -o out@ disk/o disk/p|kvstat|out@/2/trial-1.result.csv.zst|
compare.sh|trace -- @|kvstat|@|name
compare.sh|-- @ trace|kvstat|@|name
compare.sh|res@ trace|kvstat|res@/x.result.csv.zst|
disaggregated.sh|-o out -- @/o|kvreplay|@/o|name
disaggregated.sh|-m @ -o out disk/o|kvgen|@|name
disaggregated.sh|-o out@ disk/o|kvstat|out@/both.result.csv.zst|
drive.sh|-o out -- @/o|kvreplay|@/o|name print
drive.sh|-o out disk/@|kvreplay|disk/@|run
drive.sh|-m @ -o out disk/o|kvgen|@|name
drive.sh|-o out@ disk/o|kvstat|out@/drive.result.csv.zst|
drive.sh|-o out@ disk/o|kvreplay|2=sim:model=out@/drive.json|
drive.sh|--storage-capacity auto:@ -o out disk/o|kvgen|auto:@/.|
drive.sh|--drive drive.json --gpu-profile @ -o out|kvgen|@|
drive.sh|--drive drive.json --prefill-rate @ -o out|kvgen|@|
drive.sh|--drive drive.json --population @ -o out|kvgen|@|
drive.sh|--drive drive.json --tensor-parallel @ -o out|kvgen|@|
drive.sh|--drive drive.json --params @ -o out|kvgen|@|
fast-enough.sh|-d @/o -o out|kvreplay|@/o|name print
fast-enough.sh|-d disk/@ -o out|kvreplay|disk/@|run
fast-enough.sh|-m @ -o out --drive drive.json|kvgen|@|name
fast-enough.sh|-o out@ --drive drive.json|kvstat|out@/sim.json|
fast-enough.sh|--drive drive.json --ttft @ -o out|kvgen|@|
fast-enough.sh|--drive drive.json --tpot @ -o out|kvgen|@|
fast-enough.sh|--drive drive.json --goodput @ -o out|kvgen|@|
fast-enough.sh|--drive drive.json --seeds @ -o out|kvgen|@|
handover.sh|-m @ -o out disk/o|kvgen|@|name
handover.sh|-o out disk/o@|kvreplay|PWD/disk/o@/kvtrace-handover|run
handover.sh|-o out disk/o@|kvreplay|disk/o@/kvtrace-handover|print
handover.sh|-o out disk/o@|sai3-bench|file://PWD/disk/o@/kvtrace-handover.sai3/|run
handover.sh|-o out@ disk/o|sai3-bench|out@/handover.tsv.zst|
hosts.sh|-o out -t 1 --lead 1 -- @ disk/o one two|kvreplay|disk/o|print name
hosts.sh|-o out -t 1 --lead 1 trace @/o one -|kvreplay|@/o|
hosts.sh|-o out -t 1 --lead 1 --split @ trace disk/o one|kvreplay|@|
hosts.sh|-o out -t 1 --lead 1 --timing @ trace disk/o one|kvreplay|@|
hosts.sh|-o out@ -t 1 --lead 1 trace disk/o one|kvstat|out@|
how-many-users.sh|-m @ -o out --drive drive.json|kvgen|@|name
how-many-users.sh|-o out -- @/o|kvreplay|@/o|name print
how-many-users.sh|-o out disk/@|kvreplay|disk/@|run
how-many-users.sh|-o out@ --drive drive.json|kvstat|out@/answer.html|
how-many-users.sh|--input @ -o out --drive drive.json|kvgen|@|name
how-many-users.sh|--input trace --speed @ -o out --drive drive.json|kvgen|@|
how-many-users.sh|--engine @ -o out --drive drive.json|kvgen|@|
how-many-users.sh|--storage-capacity auto:@ -o out --drive drive.json|kvgen|auto:@/.|
mlperf.sh|-w option_1 --trials 1 -m @ -o out disk/o|kvgen|@|name
mlperf.sh|-w option_1 --trials 1 -o out -- @/o|kvreplay|@/o|name
mlperf.sh|-w option_1 --trials 1 -o out@ disk/o|kvstat|out@/option_1-trial_0-rank_0.result.csv.zst|
mlperf.sh|-w option_1 --trials 2 -o out@ disk/o|kvstat|out@/option_1-trial_1-rank_0.result.csv.zst|run
mlperf.sh|-w option_1 --trials 1 --hosts one,two --lead 1 --storage-capacity-gb 1 -o out -- @/o|kvreplay|@/o/rank_{rank}|name
mlperf.sh|-w option_1 --trials 1 --hosts one --lead 1 --storage-capacity-gb 1 -o out@ disk/o|kvstat|out@/option_1-trial_0-rank_0.mlperf.json|
knee.sh|--in-flight 1 --trials 1 -o out -- @/o|kvreplay|@/o|name
knee.sh|--in-flight 1 --trials 1 -m @ -o out disk/o|kvgen|@|name
knee.sh|--in-flight 1 --trials 1 -o out@ disk/o|kvreplay|out@/1-trial-1.result.csv.zst|
kvtrace|drive -o out -- disk/@|kvreplay|disk/@|run
model.sh|--sizes 4096 --in-flight 1 -t 1 -o drive2.json disk/@|kvreplay|disk/@/kvtrace-model|
precondition-then-measure.sh|--trials 1 -s @ -o out disk/o|kvprecond|@|
precondition-then-measure.sh|--trials 1 -s 1M -o out -- @/o|kvprecond|@/o.fill|name
precondition-then-measure.sh|--trials 1 -s 1M -o out@ disk/o|kvprecond|out@/kvprecond.json|
precondition-then-measure.sh|--trials 1 -s 1M -m @ -o out disk/o|kvgen|@|name
record.sh|--run -i @ -o out.csv lmcache|kvgen|@|name run
record.sh|-i @ -o out.csv lmcache|kvgen|@|name print
record.sh|-i trace -o @ lmcache|kvgen|@|name print
record.sh|-i trace -o @ lmcache|kvstat|@|name print
record.sh|--run -i trace -m @ -o out.csv vllm|kvgen|@|name run
replay-elsewhere.sh|one disk/o --tarball kvtrace.tar.gz -m @ -o out|kvgen|@|name
replay-elsewhere.sh|- disk/o --tarball kvtrace.tar.gz -o out@|kvgen|out@/trace.csv.zst|
sharegpt-vs-synthetic.sh|-f @ -o out disk/o|kvgen|@|name
sharegpt-vs-synthetic.sh|-f trace -r @ -o out disk/o|kvgen|@|
sharegpt-vs-synthetic.sh|-f trace -m @ -o out disk/o|kvgen|@|name
sharegpt-vs-synthetic.sh|-f trace -o out -- @/o|kvreplay|@/o|name
sharegpt-vs-synthetic.sh|-f trace -o out@ disk/o|kvstat|out@/sharegpt.result.csv.zst|
smoke.sh|-w storage-only,autoscale-qos -m @ -o out disk/o|kvgen|@|name
smoke.sh|-w autoscale-capacity -o out -- @/o|kvreplay|@/o|name
smoke.sh|-w sharegpt -f @ -o out disk/o|kvgen|@|name
smoke.sh|-w autoscale-qos -o out@ disk/o|kvreplay|out@/autoscale-qos.json|
smoke.sh|-w autoscale-qos --storage-capacity auto:@ -o out disk/o|kvgen|auto:@/.|
suite.sh|-w storage-only -u 2 -m @ -o out disk/o|kvgen|@|name
suite.sh|--wrapper -w autoscale -u 2 -m @ -o out disk/o|kvgen|@|name
suite.sh|-w storage-only -u 2 --xlsx -o out@ disk/o|kvstat|out@/suite.xlsx|run
suite.sh|--wrapper -w storage-only,autoscale -u 2 -o out -- @/o|kvreplay|@/o|name
suite.sh|-w mlperf_submission --trials 1 -u 2 -t 1 -m @ -o out disk/o|kvgen|@|name run
worth.sh|--prefill @ -o out --drive drive.json|kvgen|@|name
worth.sh|--price @ -o out --drive drive.json|kvgen|@|
worth.sh|--tbw @ -o out --drive drive.json|kvgen|@|
worth.sh|-o out@ --drive drive.json|kvgen|out@/sim.json|
kvbench|--model @ --cache-dir disk/o --output all.json|kvgen|@|
kvbench|--model @ --cache-dir disk/o --enable-autoscaling --output all.json|kvgen|@|
kvbench|--cache-dir @/o --output all.json|kvreplay|@/o|name
kvbench|--config @ --cache-dir disk/o --precondition --output all.json|kvprecond|@|name
kvbench|--performance-profile @ --cache-dir disk/o --output all.json|kvstat|@|
kvbench|--validation-trace @ --cache-dir disk/o --output all.json|kvstat|@|name
kvbench|--burst-trace-path @ --use-burst-trace --cache-dir disk/o --output all.json|kvgen|@|name
kvbench|--dataset-path @ --cache-dir disk/o --output all.json|kvgen|@|name
kvbench|--seed @ --cache-dir disk/o --output all.json|kvgen|@|
kvbench|--generation-mode @ --cache-dir disk/o --output all.json|kvgen|@|
kvbench|--gpu-mem-gb @ --cache-dir disk/o --output all.json|kvgen|@|
kvbench|--storage-capacity-gb @ --precondition --cache-dir disk/o --output all.json|kvgen|@|
kvbench|--max-concurrent-allocs @ --cache-dir disk/o --output all.json|kvreplay|@|
kvbench|--target-saturation @ --enable-autoscaling --cache-dir disk/o --output all.json|kvreplay|@|
kvbench|--precondition-size-gb @ --precondition --cache-dir disk/o --output all.json|kvprecond|@GiB|
kvbench|--keep-files out@ --cache-dir disk/o --output all.json|kvreplay|out@/result.csv.zst|run
kvbench|--xlsx-output @ --cache-dir disk/o --output all.json|kvstat|@|name run
kvbench|--io-trace-log @ --output all.json|kvgen|@|name
END
)

# shard N OF: each OFth line of the table, in a folder of its own.
shard() {
    mkdir "shard.$1" "shard.$1/res$obeyed"
    cd "shard.$1" || exit 1
    cp -R ../trace ../dataset ../drive.json ../kvtrace.tar.gz .
    mkdir disk
    : >"./$obeyed"
    : >./-dash
    : >"./res$obeyed/x.result.csv.zst"
    export SEEN="$PWD/seen" PATH="$SCRIPT_PATH"
    printf '%s\n' "$table" | awk -v n="$1" -v of="$2" 'NR % of == n' |
        while IFS='|' read -r script arguments program argument notes; do
            arrives "$script" "$arguments" "$program" "$argument" "$notes" "$obeyed"
            # How it is written for a shell was seen above.
            case $notes in
            *name*print* | *print*name*) arrives "$script" "$arguments" "$program" "$argument" "$notes" -dash print ;;
            *name*) arrives "$script" "$arguments" "$program" "$argument" "$notes" -dash run ;;
            esac
        done >wrong
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
ok 'quickstart.sh: its folder' test -e "$SEEN/kvreplay"
rm -rf "$SEEN" "disk/$obeyed/kvtrace-quickstart"
mkdir "$SEEN"
tree/examples/quickstart.sh --print "disk/$obeyed" >printed
PATH=$SCRIPT_PATH exits 'quickstart.sh: what it prints' 0 sh -e printed
ok 'quickstart.sh: has the folder' test -e "$SEEN/kvreplay"
not_ok 'nothing was executed' test -e canary
done_testing
