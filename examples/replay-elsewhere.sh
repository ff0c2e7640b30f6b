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
    case $1 in
    --tarball) tarball=$(value "$@") ;;
    -?*) option "$@" ;;
    *)
        if [ -z "$host" ]; then host=$1; elif [ -z "$folder" ]; then folder=$1; else die 2 "$1: unexpected argument (try --help)"; fi
        words=1
        ;;
    esac
    shift "$words"
done
if [ -z "$folder" ]; then die 2 "HOST and DIR are needed (try --help)"; fi
need kvgen kvstat
trace=$out/trace.csv.zst result=$out/result.csv.zst
if printing; then
    folders "$out"
    tell "the load, made here"
    typed kvgen --model "$model" --users "$users" --duration "$seconds" --gpu-mem 0 --cpu-mem 0 \
        --storage-capacity "$(sized "${storage:-SIZE_FREE_THERE}")" --generation-mode none -o "$trace"
    tell "programs and load travel, the rows come back through ssh"
    typed scp "${tarball:-kvtrace.tar.gz}" "$trace" "$host:$folder"
    typed ssh "$host" "cd $folder && mkdir programs && tar -xzf $(basename "${tarball:-kvtrace.tar.gz}") -C programs --strip-components=1"
    printf '%s >%s\n' "$(typed ssh "$host" "cd $folder && programs/bin/kvreplay --target objects --timing served --workers $(workers "$users") --duration $seconds -z trace.csv.zst")" "$(quote "$result")"
    typed kvstat "$result"
    exit 0
fi
mkdir -p "$out"

# there COMMAND: runs it on the host.
if [ "$host" = - ]; then
    there() { sh -c "$1"; }
else
    there() { ssh -o BatchMode=yes "$host" "$1"; }
fi

# 1. The programs, in one file that needs no installation; make says where it put it.
if [ -z "$tarball" ]; then
    [ -r "$examples/../Makefile" ] || die 2 "without the sources --tarball FILE is needed"
    tarball=$(cd "$examples/.." && pwd)/$(make -s -C "$examples/.." static | tail -1)
fi

# The folder is made, and goes again whatever happens.
there "mkdir -p '$folder'"
tidy() {
    there "rm -rf '$folder/objects' '$folder/programs' '$folder/kvtrace.tar.gz' '$folder/trace.csv.zst'; rmdir '$folder' 2>/dev/null || :"
}
trap tidy EXIT
trap 'exit 130' INT TERM HUP

# 2. The load, made here: a few bytes a row, however many gigabytes it stands for.
: "${storage:=$(there "df -Pk '$folder'" | most)}"
kvgen --model "$model" --users "$users" --duration "$seconds" --gpu-mem 0 --cpu-mem 0 \
    --storage-capacity "$(sized "$storage")" --generation-mode none --progress none -o "$trace"

# 3. There: unpack, replay, and send the rows back through the pipe that ssh is.
there "cat >'$folder/kvtrace.tar.gz'" <"$tarball"
there "cat >'$folder/trace.csv.zst'" <"$trace"
there "cd '$folder' && mkdir -p programs && tar -xzf kvtrace.tar.gz -C programs --strip-components=1"
there "cd '$folder' && programs/bin/kvreplay --target objects --timing served --workers $(workers "$users") \
    --duration $seconds --progress none -z trace.csv.zst" >"$result"

# 4. The report, here again.
kvstat "$result"
if [ "$host" = - ]; then host="This machine"; fi
echo
echo "Any other machine that replays $trace runs the same load: compare with kvstat --compare $result OTHER."
report "$result" groups.Tier-2/Read.gib_per_s groups.Tier-2/Write.gib_per_s | paste -sd ' ' - |
    awk -v host="$host" -v what="$(bottleneck "$result")" '
        function rate(n) { return n == "-" ? "nothing" : sprintf("%.2f GiB/s", n) }
        { printf "%s read %s and wrote %s under this load; bottleneck: %s.\n", host, rate($1), rate($2), what }'
