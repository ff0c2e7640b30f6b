#!/bin/sh
# replay-elsewhere.sh - generate here, replay there: one load for many machines, through ssh and a tarball.
#
#   examples/replay-elsewhere.sh HOST DIR [-m MODEL] [-u USERS] [-o OUT] [-t SECONDS]
#
#   HOST       where ssh goes without a question; it needs nothing but glibc. "-" is this machine, unpacked
#              into a folder of its own, to see how it goes
#   DIR        the folder there in which objects, programs and files go; removed at the end
#   -m MODEL   llama3.1-8b; -u USERS at once: 50; -t SECONDS of the run: 60
#   -o OUT     the folder here for trace and results; default kvtrace-replay-elsewhere
#   --storage-capacity-gb GiB   what the cache may fill; default: three quarters of what is free there. For several
#              machines take what the smallest has
#   --tarball FILE  made by make static; made here when it is not there
#
# The same trace has the same digest everywhere: two laboratories that print it ran the same load. kvreplay's
# report from there names its host, kernel and drive.
. "$(dirname "$0")/common.sh"

takes='-m -u -o -t --storage-capacity-gb'
host='' folder='' tarball=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) usage "$0" && exit 0 ;;
    --tarball) tarball=$(value "$@") ;;
    -?*) option "$@" ;;
    *)
        if [ -z "$host" ]; then host=$1; elif [ -z "$folder" ]; then folder=$1; else die 2 "$1: what is this?"; fi
        shift && continue
        ;;
    esac
    shift 2
done
if [ -z "$folder" ]; then die 2 "HOST and DIR are needed (try --help)"; fi
need kvgen kvstat
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
kvgen --model "$model" --num-users "$users" --duration "$seconds" --gpu-mem-gb 0 --cpu-mem-gb 0 \
    --storage-capacity-gb "$storage" --generation-mode none --progress none -o "$out/trace.csv.zst"

# 3. There: unpack, replay, and send the rows back through the pipe that ssh is.
there "cat >'$folder/kvtrace.tar.gz'" <"$tarball"
there "cat >'$folder/trace.csv.zst'" <"$out/trace.csv.zst"
there "cd '$folder' && mkdir -p programs && tar -xzf kvtrace.tar.gz -C programs --strip-components=1"
there "cd '$folder' && programs/bin/kvreplay --nvme objects --timing served --workers $(workers "$users") \
    --duration $seconds --progress none -z trace.csv.zst" >"$out/result.csv.zst"

# 4. The report, here again.
kvstat "$out/result.csv.zst"
if [ "$host" = - ]; then place="this machine"; else place=$host; fi
echo
echo "$place: bottleneck $(bottleneck "$out/result.csv.zst")."
echo "Any other machine that replays $out/trace.csv.zst runs the same load: put their results"
echo "beside this one with kvstat --compare $out/result.csv.zst OTHER."
