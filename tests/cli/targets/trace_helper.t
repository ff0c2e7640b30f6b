#!/bin/sh
# trace_helper.t - kvtrace-trace reads the kernel's block events for a user who is not root, and does nothing else: whatever
# else it is asked is refused in one line before anything is opened; however it ends, its instance of tracefs is gone. A bug looked
# like an instance that a killed run left, or a number that became another device.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts

tracing=/sys/kernel/tracing
helper=$TMP/bin/kvtrace-trace
chmod 755 "$TMP"
mkdir "$TMP/bin"
cp "$BIN/kvtrace-trace" "$TMP/bin"
mount -t tracefs none $tracing 2>/dev/null
# Instances of processes that have ended: other runs may be going on.
left_behind() {
    for instance in "$tracing"/instances/kvtrace-*; do
        [ ! -d "$instance" ] || kill -s 0 "${instance##*-}" 2>/dev/null || echo "$instance"
    done
}

# ---- 30 bad requests ----

# refused NAME ARGUMENTS...: exit status 2, one line, nothing on standard output; nothing was opened.
refused() {
    name=$1
    shift
    # Standard input and output are pipes, as kvreplay makes them.
    : >"$TMP/calls"
    true | { watched "$@" 2>"$TMP/err" && echo 0 || echo $?; } | cat >"$TMP/out"
    is "refused: $name" "$(cat "$TMP/out") $(lines "$TMP/err") $(cut -c 1-15 "$TMP/err") $(grep -Ev '/etc/ld.so|/lib|exited' "$TMP/calls")" \
        '2 1 kvtrace-trace:  '
}
watched() {
    if [ "$traced" = yes ]; then
        strace -f -qq -e trace=open,openat,openat2,creat,mkdir,mkdirat,fork,vfork,clone,clone3 -o "$TMP/calls" "$helper" "$@"
    else
        "$helper" "$@"
    fi
}
traced=no
if strace -qq true 2>/dev/null; then traced=yes; fi
refused 'no device'
for bad in '' 8 8: :0 8:0:0 'a:b' 0x8:0 8:0x1 -8:0 +8:0 8:-1 ' 8:0' '8:0 ' 08:0 8:00 0:5 4096:0 8:1048576 4294967304:0 \
    18446744073709551624:0 /dev/sda ../events/enable --help '8:0 || 1' "$(printf '8:0\n9:0')"; do
    refused "'$(echo "$bad" | head -n 1)'" "$bad"
done
refused 'a device twice' 8:0 8:1 8:0
refused 'the second is none' 8:0 x
refused '65 devices' $(seq -f '8:%.0f' 65)
refused '100,000 characters' "$(printf '%0100000d' 1):0"
refused 'control characters' "$(printf '\033[2J')"
unlike 'none is repeated' "$(cat "$TMP/err")" '2J'
exits 'output to a file' 2 sh -c "true | '$helper' 8:0 >'$TMP/out'"
exits 'input from a file' 2 sh -c "'$helper' 8:0 </dev/null | cat; exit 2"
stderr_like 'is refused' '^kvtrace-trace: standard input and output must be pipes'
for closed in '0<&-' '1>&-' '2>&-'; do exits "closed: $closed" 2 sh -c "true | '$helper' 8:0 $closed"; done
is 'nothing is left in tracefs' "$(left_behind)" ''

# ---- with its capability, as a user ----

if ! command -v setpriv >/dev/null || [ ! -d $tracing/instances ]; then
    ok 'as a user # SKIP no setpriv, or no tracefs' true
    done_testing
    exit
fi
nobody_may=,+dac_override
can() { true | { as_nobody "$helper" 7:0 2>"$TMP/err" | cat >/dev/null; } && [ ! -s "$TMP/err" ]; }
if ! setcap cap_dac_override=ep "$helper" 2>/dev/null || ! can; then
    ok 'with its capability # SKIP files have none here, or a user cannot reach them' true
    done_testing
    exit
fi

# ---- however it ends ----

# begins: starts the helper of a device with pipes, and waits until it records. Sets $pid.
begins() {
    rm -f "$TMP/to" "$TMP/from" && mkfifo "$TMP/to" "$TMP/from"
    become_nobody "$helper" 7:0 <"$TMP/to" >"$TMP/from" 2>"$TMP/err" &
    pid=$!
    ends_too "$pid"
    exec 7>"$TMP/to" 8<"$TMP/from"
    head -c 32 <&8 >"$TMP/ready"
    printf b >&7
    head -c 32 <&8 >>"$TMP/ready"
}
# gone: the instance is removed, at once or soon.
gone() { while [ -e "$tracing/instances/kvtrace-$pid" ]; do sleep 0.05; done; }
begins
is 'it says that it is ready, and up to when' "$(od -An -tu1 -j 24 -N 1 "$TMP/ready" | tr -d ' ') $(od -An -tu1 -j 56 -N 1 "$TMP/ready" | tr -d ' ')" '16 17'
ok 'its instance is there' test -d "$tracing/instances/kvtrace-$pid"
is 'its clock' "$(grep -o '\[.*\]' "$tracing/instances/kvtrace-$pid/trace_clock")" '[mono]'
is 'its filter' "$(cat "$tracing/instances/kvtrace-$pid/events/block/block_rq_issue/filter")" 'dev == 7340032'
is 'its capability, in force only at tracefs' "$(awk '/^Cap(Inh|Prm|Eff|Amb)/ { print $1 $2 }' "/proc/$pid/status" | tr '\n' ' ')" \
    'CapInh:0000000000000000 CapPrm:0000000000000002 CapEff:0000000000000000 CapAmb:0000000000000000 '
exec 7>&-
cat <&8 >"$TMP/rest"
wait "$pid"
is 'its input ends: exit status 0' $? 0
is 'with the mark and the counts' "$(tail -c 80 "$TMP/rest" | od -An -tu1 -j 24 -N 1 | tr -d ' ')" 18
not_ok 'and the instance is gone' test -e "$tracing/instances/kvtrace-$pid"
begins
exec 8<&-
wait "$pid"
is 'nobody reads: it ends' $? 1
not_ok 'nobody reads: the instance is gone' test -e "$tracing/instances/kvtrace-$pid"
exec 7>&-
for signal in TERM HUP KILL SEGV; do
    begins
    kill -s $signal "$pid"
    wait "$pid"
    ok "killed by $signal: the instance is gone" gone
    exec 7>&- 8<&-
done
# Both processes killed: the next one removes what is left.
begins
pkill -KILL -P "$pid" && kill -s KILL "$pid"
wait "$pid"
left=$pid
exec 7>&- 8<&-
begins
pid=$left
ok 'both killed: the next one removes it' gone
exec 7>&- 8<&-

# 16 at once, and no more: the buffers are the kernel's memory.
# device_times_user.t does not run meanwhile.
mkfifo "$TMP/hold"
exec 5<$tracing/instances 6<>"$TMP/hold"
flock 5
: >"$TMP/many.err"
for _ in $(seq 20); do
    { as_nobody "$helper" 7:0 <"$TMP/hold" 2>>"$TMP/many.err" | cat >/dev/null; } 6>&- &
done
until [ "$(grep -c 'too many runs' "$TMP/many.err")" -ge 4 ]; do sleep 0.05; done
exec 6>&- # they end
wait
like 'more than 16 are refused' "$(cat "$TMP/many.err")" '^kvtrace-trace: too many runs record block events at once \(16\)$'
done_testing
