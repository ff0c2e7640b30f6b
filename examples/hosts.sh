#!/bin/sh
# hosts.sh - How much do several hosts together get from their storage?
#
# Usage: hosts.sh TRACE TARGET HOST... [OPTION]...
#
#   TRACE        the trace, a file here; each host gets a copy
#   TARGET       where objects go on each host, as for kvreplay --target. In a directory or
#                prefix each host has its own rank-I, so a shared file system can be named
#   HOST...      hosts that ssh logs in to without asking, with kvreplay in PATH. "-" is this
#                machine, for a trial; a host can be named twice
#   --split WHAT none (default): each host runs the whole trace on objects of its own; keys:
#                each host runs its share of the keys
#   --timing HOW served (default), asap, trace or closed; see kvreplay(1)
#   -u USERS     requests that each host serves at once, with --timing served (default: 50)
#   -t SECONDS   length of the run (default: 60)
#   --lead SECONDS  time that all hosts have to get ready before the start (default: 10)
#   -o OUT       the directory here for the results (default: kvtrace-hosts)
#   --print      show the pipeline, run nothing
#
# Each host runs one part of the run (kvreplay --part). All start at the same time by their wall
# clocks, which NTP should keep right (chrony, for instance). Results come back through ssh, one
# file for each host, and kvstat --ranks reports on all of them together. A host that is cut off is
# named, and the report has its rows up to then.
# With MPI or Slurm: mpirun kvreplay-mpi, or hosts.slurm; with Kubernetes: kubernetes/.
#
# Example:
#   examples/hosts.sh trace.csv.zst /mnt/shared/kv node1 node2 node3 --split keys --timing asap
. "$(dirname "$0")/common.sh"

takes='-u -t -o'
trace='' target='' hosts='' split=none timing=served lead=10
while [ $# -gt 0 ]; do
    words=2
    case $1 in
    --split) split=$(value "$@") ;;
    --timing) timing=$(value "$@") ;;
    --lead) lead=$(value "$@") && number "$1" "$lead" ;;
    -?*) option "$@" ;;
    *)
        plain_word "$1"
        if [ -z "$trace" ]; then trace=$1; elif [ -z "$target" ]; then target=$1; else hosts="$hosts $1"; fi
        words=1
        ;;
    esac
    shift "$words"
done
if [ -z "$hosts" ]; then die 2 "TRACE, TARGET and at least one HOST are needed (try --help)"; fi
need kvreplay kvstat
# shellcheck disable=SC2086 # a list of words
set -- $hosts
parts=$# copy=/tmp/kvtrace-$$.trace.csv.zst
flags="--target $target --split $split --timing $timing --duration ${seconds}s"
if [ "$timing" = served ]; then flags="$flags --workers $users"; fi

# part I INSTANT: what host I runs.
part() { echo "kvreplay --part $1/$parts --start-at $2 $flags --progress none -z -o - $copy"; }

if printing; then
    folders "$out"
    tell "the trace travels to each host"
    for host; do printf 'ssh %s %s <%s\n' "$host" "$(quote "cat >$copy")" "$(quote "$trace")"; done
    tell "one instant for all (with pdsh: --part %n/$parts)"
    echo "start=\$((\$(date +%s) + $lead))"
    i=0
    for host; do
        # shellcheck disable=SC2016 # $start is the pipeline's own
        printf 'ssh %s "%s" >%s &\n' "$host" "$(part $i '$start')" "$(quote "$out/rank-$i.csv.zst")"
        i=$((i + 1))
    done
    echo wait
    typed kvstat --ranks "$out"
    exit 0
fi

if ! [ -r "$trace" ]; then die 2 "$trace: cannot be read"; fi
mkdir -p "$out"
rm -f "$out"/rank-*.csv.zst "$out"/rank-*.log
tidy() { for host in $hosts; do on "$host" "rm -f $copy" 2>/dev/null || :; done; }
trap tidy EXIT
trap 'exit 130' INT TERM HUP

# 1. The trace, to each host.
for host; do on "$host" "cat >$copy" <"$trace" || die 1 "$host: the trace cannot be copied"; done

# 2. One instant, a part each, the rows back through ssh.
start=$(($(date +%s) + lead)) i=0 running=''
for host; do
    on "$host" "$(part $i $start)" >"$out/rank-$i.csv.zst" 2>"$out/rank-$i.log" </dev/null &
    running="$running $!"
    i=$((i + 1))
done
i=0 failed=0
for process in $running; do
    status=0
    wait "$process" || status=$?
    if [ "$status" != 0 ]; then
        failed=$((failed + 1))
        say "$suite: host $((i + 1)) of $parts: status $status: $(grep -v '^ ' "$out/rank-$i.log" | tail -1)"
    fi
    i=$((i + 1))
done
if [ "$failed" = "$parts" ]; then die 1 "no host has run"; fi

# 3. The report on all of them, here.
find "$out" -name 'rank-*.csv.zst' -empty -exec rm {} +
kvstat --ranks "$out" || :
echo
kvstat --ranks --by tier,op --json "$out" 2>/dev/null |
    pick groups.Tier-2/Read.gib_per_s groups.Tier-2/Write.gib_per_s ranks.slowest.rank ranks.slowest.times_median | paste -sd ' ' - |
    awk -v hosts="$(counted $((parts - failed)) host)" '
        function rate(n) { return n == "-" ? "nothing" : sprintf("%.2f GiB/s", n) }
        {
            slow = $3 == "-" ? "" : sprintf("; the slowest is rank %s, %.2f times the median", $3, $4)
            printf "%s together read %s and wrote %s%s.\n", hosts, rate($1), rate($2), slow
        }'
if [ "$failed" != 0 ]; then exit 1; fi
