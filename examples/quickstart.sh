#!/bin/sh
# quickstart.sh - From nothing to a first report in a minute: installs what is missing, builds, and measures.
#
# Usage: quickstart.sh [--print] [FOLDER]
#
#   FOLDER       directory on the drive to measure (default: the current one)
#   --print      show the commands, run nothing
#
# Runs five users of a small model through a pipeline of kvgen, kvreplay and kvstat. It
# moves about 25 GiB of KV cache in total, 3 GiB of it to and from storage, and needs 4 GiB
# of disk and 1 GiB of memory. The results stay in FOLDER/kvtrace-quickstart, with a log of
# all output of the programs.
#
# Example:
#   examples/quickstart.sh /mnt/nvme
supervised_later=yes # sudo asks at the terminal, which no other session has
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

where=.
while [ $# -gt 0 ]; do
    case $ended$1 in
    -?*) option "$@" ;;
    *)
        if [ "$where" != . ]; then die 2 "$1: a second folder (try --help)"; fi
        operand "$1" && where=$text words=1
        ;;
    esac
    shift "$words"
done
readable "$where"
where=$(CDPATH='' cd -- "$where" 2>/dev/null && pwd && echo .) || die 2 "$readable: not a folder that can be entered"
where=${where%"$newline."}
cd "$examples/.."
out=$where/kvtrace-quickstart
log=$out/log.txt

# The workload: five users talk for 20 seconds to a small model (24,576 bytes of KV a token, so a block of 512 tokens is an
# object of 12 MiB) on a machine with very little memory: what does not fit on the GPU goes to host memory, then to
# storage, and comes back when a conversation goes on. kvgen only simulates: it writes down what would be moved.
trace() {
    $1 kvgen --model tiny-1b --users 5 --arrival closed --duration 20 --granularity block:512 \
        --gpu-mem 128MiB --cpu-mem 256MiB --storage-capacity 4GiB -o "$out/trace.csv.zst"
}
# The measurement: kvreplay does for real what each row says. Storage rows become files, read and written past the page
# cache; host memory is copied; a GPU is used when there is one, and else modelled and marked so. Every read is verified.
replay() { $1 kvreplay --target "$out/objects" -o "$out/result.csv.zst" "$out/trace.csv.zst"; }
# The answer, from the rows and their times. (In a shell the three are one pipeline: kvgen | kvreplay --target DIR | kvstat)
report() { $1 kvstat "$out/result.csv.zst"; }
picture() { $1 kvstat --plot "$out/result.svg" "$out/result.csv.zst"; }

if printing; then
    typed cd "$PWD"
    typed ./install-deps.sh --pictures
    typed make
    echo "export PATH=$(quote "$PWD/build/bin"):\"\$PATH\""
    results "$out"
    for part in trace replay report picture; do $part typed; done
    exit 0
fi

# step TEXT COMMAND...: one line; the end of the log when it fails.
step() {
    text=$1 begin=$(date +%s)
    shift
    printf '%-50s ' "$text"
    "$@" >>"$log" 2>&1 || {
        status=$?
        echo failed
        tail -n 20 <"$log" | readable_lines >&2
        exit "$status"
    }
    echo "done, $(($(date +%s) - begin)) s"
}
if [ -z "${KVTRACE_SESSION-}" ]; then
    results "$out"
    writes "$log" "$out/trace.csv.zst" "$out/result.csv.zst" "$out/result.svg"
    : >"$log"
    answer "What the programs say goes to $log"
    step 'packages: compiler, libraries, gnuplot' ./install-deps.sh --pictures
    if command -v setsid >/dev/null; then supervise sh "$examples/quickstart.sh" -- "$where"; fi
fi
step 'build: the programs, into build/bin' make -s -j"$(getconf _NPROCESSORS_ONLN)"
PATH=$PWD/build/bin:$PATH
step 'kvgen: a trace of five users' trace ''
# Objects that kvreplay leaves when it is killed go, too; a folder that was there is its own affair.
make_folder "$out/objects" || :
step 'kvreplay: carries it out on this machine' replay ''
if command -v gnuplot >/dev/null; then step 'kvstat: a picture, result.svg' picture ''; fi
echo
report ''
echo

# What it means.
readable "$out"
kept=$readable again=$(quote "$where")
readable "$where"
where=$readable
export where kept again
kvstat --by tier,op --json "$out/result.csv.zst" |
    pick groups.Tier-2/Read.ops groups.Tier-2/Write.ops groups.Tier-2/Read.gib_per_s groups.Tier-2/Write.gib_per_s \
        groups.Tier-2/Read.service_us.p95 run.device groups.Tier-2/Read.service_us.p50 groups.Tier-1/Read.service_us.p50 |
    paste -sd ' ' - | awk '{
        printf "Measured: %d reads and %d writes of KV-cache objects of 12 MiB on %s (%s), at %.2f and %.2f GiB/s%s; kept in %s.\n",
            $1, $2, ENVIRON["where"], $6 == "-" ? "device unknown" : $6, $3, $4,
            $1 < 59 ? "" : sprintf(", 95 %% of the reads within %.3g ms", $5 / 1000), ENVIRON["kept"]
        printf "For this machine: a cached object comes back from there in %.3g ms (median), from host memory in %.3g ms: storage takes %.2g times as long.\n",
            $7 / 1000, $8 / 1000, $7 / $8
        printf "Next, in a minute: build/bin/kvtrace drive %s (build/bin/kvtrace lists more questions).\n", ENVIRON["again"]
    }'
