#!/bin/sh
# replay-elsewhere.sh - How does another machine handle the same load?
#
# Usage: replay-elsewhere.sh HOST DIR [OPTION]...
#
#   HOST         host that ssh reaches without a question; it needs only glibc. "-" is this
#                machine, with the programs unpacked into their own directory, for a trial
#   DIR          the directory there for objects, programs and files; removed at the end
#   -m MODEL     the model (default: llama3.1-8b; see kvgen --list-models)
#   -u USERS     number of simultaneous users (default: 50)
#   -t TIME      length of the run (default: 60)
#   -o OUT       the directory here for trace and results (default: kvtrace-replay-elsewhere)
#   --storage-capacity SIZE     capacity for the cache (default: the free space there, minus
#                a reserve). For several machines, use the capacity of the smallest
#   --tarball FILE  the output of make static (default: it is built now from the sources)
#   --print      show the pipeline, run nothing
#
# Generates the load here, replays it there, installs nothing there. The same trace has the
# same digest everywhere: two laboratories with the same digest ran the same load. The
# report names the host, kernel and drive of the other machine.
#
# Example:
#   examples/replay-elsewhere.sh server7 /mnt/nvme/kv -u 20
. "$(dirname "$0")/common.sh"

takes='-m -u -o -t --storage-capacity'
host='' folder='' tarball=''
while [ $# -gt 0 ]; do
    words=2
    case $ended$1 in
    --tarball) name "$@" && tarball=$text ;;
    -?*) option "$@" ;;
    *)
        operand "$1" && words=1
        if [ -z "$host" ]; then
            host_name HOST "$1"
            host=$1
        elif [ -z "$folder" ]; then
            folder=$text
        else
            die 2 "$1: unexpected argument (try --help)"
        fi
        ;;
    esac
    shift "$words"
done
if [ -z "$folder" ]; then die 2 "HOST and DIR are needed (try --help)"; fi
need kvgen kvstat
trace=$out/trace.csv.zst result=$out/result.csv.zst
if printing; then
    results "$out"
    tell "the load, made here"
    typed kvgen --model "$model" --users "$users" --duration "$seconds" --gpu-mem 0 --cpu-mem 0 \
        --storage-capacity "$(sized "${storage:-SIZE_FREE_THERE}")" --generation-mode none -o "$trace"
    tell "programs and load travel, the rows come back through ssh"
    far_name
    copy=$folder/$far_name
    quoting "$copy"
    typed ssh "$host" "mkdir -p $(quote "$folder") && mkdir $quoted $quoted/programs"
    printf 'ssh %s %s <%s\n' "$host" "$(quote "cat >$quoted/trace.csv.zst")" "$(quote "$trace")"
    printf 'ssh %s %s <%s\n' "$host" "$(quote "tar -xzf - -C $quoted/programs --strip-components=1")" "$(quote "${tarball:-kvtrace.tar.gz}")"
    printf 'ssh %s %s >%s\n' "$host" "$(quote "$(quote "$copy/programs/bin/kvreplay" --target "$copy/objects" --timing served \
        --workers "$(workers "$users")" --duration "$seconds" -z "$copy/trace.csv.zst")")" "$(quote "$result")"
    typed ssh "$host" "rm -r $quoted"
    typed kvstat "$result"
    exit 0
fi
results "$out"

# 1. The programs, in one file that needs no installation; make says where it put it.
if [ -z "$tarball" ]; then
    [ -r "$examples/../Makefile" ] || die 2 "without the sources --tarball FILE is needed"
    tarball=$(CDPATH='' cd -- "$examples/.." && pwd)/$(make -s -C "$examples/.." static | tail -n 1)
fi
if [ ! -r "$tarball" ]; then die 2 "$tarball: cannot be read"; fi
writes "$trace" "$result" "$out/there.log"

# there VERB WORD...: far, on the host; what it says is shown when it fails.
there() {
    there_status=0
    far "$host" "$@" 2>"$out/there.log" || there_status=$?
    if [ "$there_status" != 0 ]; then readable_lines <"$out/there.log" >&2; fi
    return "$there_status"
}

# The folder is made where it is not there, and in it one of a name that nobody has. Both go again whatever happens: the
# first only if it was made here, and is empty.
far_name
copy=$folder/$far_name copied=no folder_made=''
tidy() {
    if [ "$copied" = yes ]; then there discard "$copy" </dev/null; fi
    if [ -n "$folder_made" ]; then there unmake "$folder" </dev/null; fi
}
folder_made=$(there make "$folder" </dev/null) || die 3 "$folder: cannot be created on $host"

# 2. The load, made here: a few bytes a row, however many gigabytes it stands for.
if [ -z "$storage" ]; then storage=$(there df "$folder" </dev/null | most); fi
kvgen --model "$model" --users "$users" --duration "$seconds" --gpu-mem 0 --cpu-mem 0 \
    --storage-capacity "$(sized "$storage")" --generation-mode none --progress none -o "$trace"

# 3. There: unpack, replay, and send the rows back through the pipe that ssh is.
copied=yes status=0
there receive "$copy" <"$trace" || status=$?
if [ "$status" = "$not_made" ]; then copied=no; fi
if [ "$status" != 0 ]; then die 3 "$host: cannot copy the trace to it"; fi
there unpack "$copy" <"$tarball"
status=0
on "$host" "$copy/programs/bin/kvreplay" --target "$copy/objects" --timing served --workers "$(workers "$users")" \
    --duration "$seconds" --progress none -z "$copy/trace.csv.zst" </dev/null >"$result" 2>"$out/there.log" || status=$?
readable_lines <"$out/there.log" >&2
if [ "$status" != 0 ]; then exit "$status"; fi

# 4. The report, here again.
kvstat "$result"
shown=$host
if [ "$host" = - ]; then shown="This machine"; fi
echo
answer "Any other machine that replays $trace runs the same load: compare with kvstat --compare $result OTHER."
report "$result" groups.Tier-2/Read.gib_per_s groups.Tier-2/Write.gib_per_s | paste -sd ' ' - |
    shown=$shown awk -v what="$(bottleneck "$result")" '
        function rate(n) { return n == "-" ? "nothing" : sprintf("%.2f GiB/s", n) }
        { printf "%s read %s and wrote %s under this load; bottleneck: %s.\n", ENVIRON["shown"], rate($1), rate($2), what }'
