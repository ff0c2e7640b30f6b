#!/bin/sh
# refused.t - what a sandbox or a limit of the host refuses is named: io_uring, and threads, by clone3 that an old container
# runtime does not know or by a limit of processes. A bug looked like "out of memory" with all memory free, or "Operation not
# permitted" without a word of what does not permit it.
# builds: plain (another library cannot be preloaded before a sanitizer's)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
refuse=${BIN%/bin}/tests/faults/refuse.so
[ -e "$refuse" ] || skip_all 'the library that refuses is not built'
# without WHAT COMMAND...: runs it, refused that. 1: EPERM, 11: EAGAIN, 12: ENOMEM, 38: ENOSYS.
without() {
    what=$1
    shift
    LD_PRELOAD=$refuse REFUSE=$what "$@"
}
without none=1 true 2>/dev/null || skip_all 'no seccomp filter here'
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,8192,Tier-2,a,Prefill\n0,Read,8192,Tier-2,a,Decode\n' >t.csv
replay() { without "$1" "$BIN/kvreplay" --progress none --full --no-notes -o r.csv --target d --config ioengine="$2" t.csv; }

# ---- io_uring ----
while read -r errnum why; do
    exits "io_uring, errno $errnum: another engine" 0 replay "io_uring=$errnum" auto
    stderr_like 'why is said' "fallbacks: .*io_uring refused \\([A-Z]+\\)$why"
    exits 'that engine is asked for' 3 replay "io_uring=$errnum" uring
    stderr_like 'why is an error' "^kvreplay: io_uring cannot be set up$why: "
    exits 'by kvprecond' 3 without "io_uring=$errnum" "$BIN/kvprecond" --config ioengine=uring --size 1M p
    stderr_like 'it says so, too' "io_uring cannot be set up$why: "
done <<'END'
1 \ \((kernel\.io_uring_disabled\ is\ [12]|a\ sandbox\ refuses\ it:\ seccomp\ of\ a\ container\ or\ service)\)
38 \ \(the\ kernel\ has\ none,\ or\ a\ sandbox\ hides\ it\)
12 \ \(ulimit\ -l\)
END

# ---- threads ----
"$BIN/kvgen" -m tiny-1b --users 2 --max-requests 4 --gpu-mem 0 --cpu-mem 0 -o g.csv.zst 2>/dev/null
export AWS_ACCESS_KEY_ID=KEY AWS_SECRET_ACCESS_KEY=hush-hush
s3='s3://bucket/p?endpoint=http://127.0.0.1:1' zmq=tcp://127.0.0.1:1
if "$BIN/kvprecond" --mode stream --size 1M "$s3" 2>&1 | grep -q 'made without'; then s3=''; fi
if "$BIN/kvgen" -m tiny-1b --duration 100ms --input $zmq -o z.csv 2>&1 | grep -q 'built without'; then zmq=''; fi
# cannot_start NAME PROGRAM OPTIONS...
cannot_start() {
    name=$1 program=$2
    shift 2
    without "threads=$errnum" "$BIN/$program" "$@" >out 2>err
    like "$name: fails" $? '^[13]$'
    like "$name: why" "$(cat err)" "^$program: ([^ ]*: )?cannot start .*: $why"
}
while read -r errnum why; do
    cannot_start 'a replay' kvreplay --target d --config ioengine=psync -o r.csv t.csv
    cannot_start 'a fill' kvprecond --size 1M --threads 2 p
    cannot_start 'a stream' kvprecond --mode stream --size 1M p
    cannot_start 'a trace' kvgen -m tiny-1b --max-requests 4 -o k.csv.zst
    if [ -n "$s3" ]; then cannot_start 'an object store' kvprecond --mode stream --size 1M "$s3"; fi
    if [ -n "$zmq" ]; then cannot_start 'live events' kvgen -m tiny-1b --duration 100ms --input "$zmq" -o z.csv; fi
    exits "kvstat does with one, errno $errnum" 0 without "threads=$errnum" "$BIN/kvstat" g.csv.zst
done <<'END'
1 a sandbox \(seccomp\) refuses threads, as an old container runtime does with clone3$
11 a limit of processes and threads is reached \(ulimit -u.*; pids.max of the control group; kernel.threads-max\)$
END
done_testing
