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
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

takes='-u -t -o'
trace='' target='' hosts='' split=none timing=served lead=10
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    --split) value "$@" && split=$text ;;
    --timing) value "$@" && timing=$text ;;
    --lead) value "$@" && number "$1" "$text" && lead=$text ;;
    -?*) option "$@" ;;
    *)
        operand "$1" && words=1
        if [ -z "$trace" ]; then
            trace=$text
        elif [ -z "$target" ]; then
            target=$text
        else
            host_name HOST "$1"
            hosts="$hosts $1"
        fi
        ;;
    esac
    shift "$words"
done
if [ -z "$hosts" ]; then die 2 "TRACE, TARGET and at least one HOST are needed (try --help)"; fi
need kvreplay kvstat
parts=0
for host in $hosts; do parts=$((parts + 1)); done

far_name
copy=/tmp/$far_name
# of_part COMMAND...: runs it with what each part is told behind it.
of_part() {
    set -- "$@" --target "$target" --split "$split" --timing "$timing" --duration "${seconds}s"
    if [ "$timing" = served ]; then set -- "$@" --workers "$users"; fi
    "$@" --progress none -z -o - "$copy-{rank}/trace.csv.zst"
}

if printing; then
    results "$out"
    tell "the trace travels to each host"
    i=0
    for host in $hosts; do
        printed_receive "$host" "$copy-$i" "$trace"
        i=$((i + 1))
    done
    tell "one instant for all (with pdsh: --part %n/$parts)"
    echo "start=\$((\$(date +%s) + $lead))"
    i=0
    for host in $hosts; do
        of_part printed_part "$host" "$i/$parts" "$out/rank-$i.csv.zst"
        i=$((i + 1))
    done
    echo wait
    i=0
    for host in $hosts; do
        printf 'ssh %s %s\n' "$host" "$(quote "rm -r $copy-$i")"
        i=$((i + 1))
    done
    typed kvstat --ranks "$out"
    exit 0
fi

if ! [ -r "$trace" ]; then die 2 "$trace: cannot be read"; fi
results "$out"
# kvstat takes all of the folder, so no result of more hosts may be left from a run before.
for file in "$out"/rank-*.csv.zst; do
    i=${file##*/rank-}
    i=${i%.csv.zst}
    case $i in '*' | *[!0-9]*) continue ;; esac
    if [ "$i" -ge "$parts" ]; then die 2 "$file is from a run with more hosts: name another folder (-o)"; fi
done
i=0
while [ "$i" -lt "$parts" ]; do
    writes "$out/rank-$i.csv.zst" "$out/rank-$i.log"
    i=$((i + 1))
done

# 1. The trace, to each host. So many have it.
copies=0
tidy() {
    i=0
    for host in $hosts; do
        if [ "$i" = "$copies" ]; then return; fi
        far "$host" discard "$copy-$i" "$copy-" </dev/null 2>/dev/null || :
        i=$((i + 1))
    done
}
i=0
for host in $hosts; do
    copies=$((copies + 1)) status=0
    far "$host" receive "$copy-$i" <"$trace" || status=$?
    if [ "$status" = "$not_made" ]; then copies=$i; fi
    if [ "$status" != 0 ]; then die 3 "$host: cannot copy the trace to it"; fi
    i=$((i + 1))
done

# 2. One instant, a part each, the rows back through ssh.
start=$(($(date +%s) + lead)) i=0 running=''
for host in $hosts; do
    (on_signals; of_part on "$host" kvreplay --part "$i/$parts" --start-at "$start") >"$out/rank-$i.csv.zst" \
        2>"$out/rank-$i.log" </dev/null &
    running="$running $!"
    i=$((i + 1))
done
i=0 failed=0
for process in $running; do
    status=0
    wait "$process" || status=$?
    if [ "$status" != 0 ]; then
        failed=$((failed + 1))
        say "$suite: host $((i + 1)) of $parts: status $status: $(grep -v '^ ' <"$out/rank-$i.log" | tail -n 1 | readable_lines)"
    fi
    i=$((i + 1))
done
if [ "$failed" = "$parts" ]; then die 3 "no host has run"; fi

# 3. The report on all of them, here.
for host in $hosts; do
    i=$((i - 1))
    # Empty, it is no result.
    if [ ! -s "$out/rank-$i.csv.zst" ]; then rm -f -- "$out/rank-$i.csv.zst"; fi
done
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
if [ "$failed" != 0 ]; then exit 3; fi
