#!/bin/sh
# progress_bar.t - on a terminal, work of more than a second shows one line that is rewritten: a bar, the time left, and how fast it
# is; narrow terminals lose the bar, never the line's end in a wrap. Nothing of it stays behind, and --progress none shows
# nothing. A bug looked like lines that scrolled, or a summary behind the rest of a bar.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
command -v python3 >/dev/null || skip_all 'no python3 here'
has_terminal || skip_all 'no terminals here (script, /dev/pts)'

# screen COLUMNS ERE COMMAND...: what the command writes to a terminal of so many columns, a line for each time that the
# line begins anew. The command is interrupted as soon as a line matches.
screen() {
    timeout 100 python3 - "$@" <<'END'
import fcntl, os, pty, re, select, signal, struct, sys, termios
columns, ere, command = int(sys.argv[1]), sys.argv[2].encode(), sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.execvp(command[0], command)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
seen, stopped = b"", False
while True:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    seen += data
    if not stopped and re.search(ere, seen):
        os.kill(pid, signal.SIGINT)
        stopped = True
os.waitpid(pid, 0)
print(seen.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n"))
END
}
# first FILE ERE: the first line that matches, without the blanks that wipe a longer one.
first() { grep -E "$2" "$1" | sed 's/ *$//' | head -n 1; }

# 60 writes of 1 MiB on a server that takes 50 ms each: 3 s.
{
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    seq 0 59 | sed 's/.*/0,Write,1048576,Tier-1,k&,Prefill/'
} >"$TMP/writes.csv"
for columns in 120 80 40; do
    screen $columns 'queue|GiB/s|left' "$BIN/kvreplay" --tier-engine 1=sim:lat=50ms --inflight 8 -o /dev/null "$TMP/writes.csv" >"$TMP/s.$columns"
done
like 'kvreplay: bar, time left, rows, GiB, GiB/s, P99, queue' "$(first "$TMP/s.120" '^kvreplay \[')" \
    '^kvreplay \[#{1,19}-{1,19}\] 0:0[0-9] left, [0-9]+ rows, 0\.0[0-9] GiB, 0\.0[0-9] GiB/s, p99 [0-9.]+ ms, queue [0-8]/[0-9]+$'
like 'kvreplay, 80 columns: a shorter bar, and GiB only where there is room' "$(first "$TMP/s.80" '^kvreplay[: ]+.*left')" \
    '^kvreplay \[[#-]+\] 0:0[0-9] left, [0-9]+ rows, (0\.0[0-9] GiB, )?0\.0[0-9] GiB/s, p99 [0-9.]+ ms, queue [0-8]/[0-9]+$'
like 'kvreplay, 40 columns: no bar' "$(first "$TMP/s.40" '^kvreplay: .*left')" '^kvreplay: 0:0[0-9] left, [0-9]+ rows, 0\.'
is 'no line of the progress wraps' "$(grep -E '^kvreplay[: ]+.*left|^kvreplay \[' "$TMP/s.40" | awk 'length > 39')" ''
like 'the summary begins on a clean line' "$(cat "$TMP/s.80")" '^[0-9]+ rows? in '
screen 120 'rows in' "$BIN/kvreplay" --progress none --tier-engine 1=sim:lat=50ms --inflight 8 -o /dev/null "$TMP/writes.csv" >"$TMP/none"
unlike '--progress none' "$(cat "$TMP/none")" 'left|queue|\[#'

screen 120 'kvgen \[' "$BIN/kvgen" --num-users 50 --duration 1000000 --model tiny-1b -o /dev/null >"$TMP/s.kvgen"
like 'kvgen: bar, time left, rows, rows a second, simulated time' "$(first "$TMP/s.kvgen" '^kvgen \[')" \
    '^kvgen \[#*-{1,20}\] [0-9:]+ left, [0-9.]+[kM]? rows, [0-9.]+ M rows/s, .* simulated$'
like 'kvgen: the summary' "$(cat "$TMP/s.kvgen")" '^requests +[0-9,]+ issued in '

screen 120 'kvprecond \[' "$BIN/kvprecond" --size 8G --mode random --config iodepth=1 --config ioengine=psync "$TMP/dir" >"$TMP/s.precond"
if grep -q 'kvprecond \[' "$TMP/s.precond"; then
    like 'kvprecond: bar, share, size, rate' "$(first "$TMP/s.precond" '^kvprecond \[')" \
        '^kvprecond \[[#-]{4,20}\] +[0-9]+ % .* of 8\.00 GiB .*/s$'
else
    ok 'kvprecond: no room for it here' grep -qE 'needs|free|left' "$TMP/s.precond"
fi

# A file that is read for more than a second: rows through a pipe come no faster than they are written.
mkfifo "$TMP/fifo"
{
    cat "$TMP/writes.csv"
    for i in $(seq 40); do
        awk -v i="$i" 'BEGIN { for (k = 0; k < 3000; k++) printf "%d,Write,1048576,Tier-1,k%d_%d,Prefill\n", i, i, k }'
        sleep 0.1
    done
} >"$TMP/fifo" 2>/dev/null &
screen 120 'kvstat: ' "$BIN/kvstat" "$TMP/fifo" >"$TMP/s.kvstat"
like 'kvstat: a pipe has no bar, but bytes and rate' "$(first "$TMP/s.kvstat" '^kvstat: [0-9]')" '^kvstat: [0-9.]+ [KM]iB, [0-9.]+ [KM]iB/s$'
wait
done_testing
