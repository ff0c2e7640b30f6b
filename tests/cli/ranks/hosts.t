#!/bin/sh
# hosts.t - examples/hosts.sh: parts on several hosts, here twice this machine, end in one report and a sentence; a host that
# fails is named, and the report is on the others. A bug looked like a trace that stayed on the hosts.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
export KVTRACE_BIN="$BIN"

"$BIN/kvgen" --model tiny-1b --users 4 --duration 4 --gpu-mem-gb 0 --cpu-mem-gb 0 --seed 5 -o t.csv.zst 2>/dev/null
before=$(ls /tmp/kvtrace-*.trace.csv.zst 2>/dev/null)
exits "two hosts" 0 "$TOP/examples/hosts.sh" t.csv.zst "$TMP/kv" - - -t 2 --lead 8 -u 4 -o out
like "the answer" "$(tail -n 1 stdout)" '^2 hosts together read .* and wrote .* GiB/s'
stdout_like "the report" '^Notes +2 ranks on 1 host|2 ranks on 1'
is "a result of each" "$(find out -name "*.zst" | wc -l)" 2
is "no trace stays" "$(ls /tmp/kvtrace-*.trace.csv.zst 2>/dev/null)" "$before"
not_ok "no object either" sh -c 'find kv -name "*.kv" | grep .'

# An ssh whose host "broken" takes the trace, and no more, and whose host "lost" is cut off in the middle. As the real one, it
# notices that only when it is asked to.
mkdir bin
cat >bin/ssh <<'END'
#!/bin/sh
alive=no
while [ "$1" = -o ]; do
    case $2 in ServerAliveInterval=*) alive=yes ;; esac
    shift 2
done
case $1:$2 in
broken:kvreplay*)
    echo "ssh: no route" >&2
    exit 255
    ;;
lost:kvreplay*)
    sh -c "$2" >"whole-$$"
    head -c $(($(wc -c <"whole-$$") * 2 / 3)) "whole-$$"
    [ $alive = yes ] || sleep 60
    echo "Timeout, server lost not responding." >&2
    exit 255
    ;;
esac
exec sh -c "$2"
END
chmod +x bin/ssh
exits "one fails" 3 env PATH="$TMP/bin:$PATH" "$TOP/examples/hosts.sh" t.csv.zst "$TMP/kv" one broken -t 2 --lead 8 -u 4 -o out2
stderr_like "it is named" 'host 2 of 2: status 255: ssh: no route'
stderr_like "and missing" 'rank 1 of 2 missing'
like "the others are reported" "$(tail -n 1 stdout)" '^1 host together read'

exits "one is cut off" 3 env PATH="$TMP/bin:$PATH" timeout 50 "$TOP/examples/hosts.sh" t.csv.zst "$TMP/kv" one lost -t 2 --lead 8 -u 4 -o out3
stderr_like "it is named" 'host 2 of 2: status 255: Timeout, server lost not responding'
"$BIN/kvstat" --ranks --json -o cut.json out3 2>/dev/null
is "the report has its rows" "$(json cut.json '.ranks.list | map([.whole, .rows > 0]) | tojson')" '[[true,true],[false,true]]'
done_testing
