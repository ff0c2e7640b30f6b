#!/bin/sh
# device_times_user.t - --device-times of a user who is not root: without kvtrace-trace, or when that lacks its capability, each
# program says what to do, once, and no figure is there that nobody measured; with it, the run has the same figures as one of root,
# and when it is killed in the middle, its figures are unknown. A bug looked like times that were missing in silence.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
needs_mounts

tracing=/sys/kernel/tracing
helper=$TMP/bin/kvtrace-trace
children='' loop=''
leave() {
    left=$?
    for child in $children; do kill -s KILL "$child"; done 2>/dev/null
    umount "$TMP/disk" 2>/dev/null
    [ -z "$loop" ] || losetup -d "$loop"
    (exit $left)
    tap_exit
}
trap leave EXIT
chmod 755 "$TMP"
mkdir "$TMP/bin"
cp "$BIN/kvreplay" "$BIN/kvtrace-trace" "$TMP/bin"
mkfifo "$TMP/in"
mount -t tracefs none $tracing 2>/dev/null

# ---- without rights: what each program says ----

if ! command -v setpriv >/dev/null || [ ! -d $tracing/instances ]; then
    ok 'as a user # SKIP no setpriv, or no tracefs' true
    done_testing
    exit
fi
as_nobody "$TMP/bin/kvreplay" --help >/dev/null 2>&1 || { done_testing; exit; }
awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase"
    for (i = 0; i < 16; i++) printf "0,Write,1048576,Tier-2,k%d,Prefill\n", i
    for (i = 0; i < 64; i++) printf "0.1,Read,1048576,Tier-2,k%d,Prefill\n", i % 16
}' >"$TMP/t.csv"
mkdir "$TMP/own" && chown 65534 "$TMP/own"
summary=$TMP/own/s.json
replay() { as_nobody "$TMP/bin/kvreplay" --full --summary "$summary" -o "$TMP/own/r.csv.zst" --target "$TMP/own/kv" "$@" "$TMP/t.csv"; }
state() { json "$summary" .evidence.device_times.state; }

rm "$helper"
exits 'kvreplay, no helper: the run goes on' 0 replay --device-times auto
stderr_like 'and names the way' '^kvreplay: device times: not permitted: run as root, or install kvtrace-trace beside kvreplay with its capability \(make install WITH_SETCAP=1\)$'
like 'in the summary, too' "$(state)" '^not permitted: run as root, or install'
is 'no figure is 0' "$(json "$summary" '.evidence.device_times | .drive_requests, .drive_read_us, .drive_io_s')" 'null null null'
is 'nor one of rows' "$(json "$summary" '.drive_times, .drive_rows, .drive_depth')" 'null null null'
exits 'asked for, the run fails' 3 replay --device-times yes
stderr_like 'and names the way' '^kvreplay: --device-times: not permitted: run as root, or install kvtrace-trace'
exits 'kvstat reads the results' 0 as_nobody "$BIN/kvstat" --full "$TMP/own/r.csv.zst"
stdout_like 'and says so' 'Drive times +not permitted: run as root'
like 'on the screen, too' "$("$BIN/kvstat" "$TMP/own/r.csv.zst")" '^Drive +its own times: not permitted: run as root'
# What a run of root knows and one of a user does not, is said: it is in device_times, which has the reason.
unknown() { json "$1" 'paths(. == null) | map(tostring) | join(".")' | tr ' ' '\n' | grep -v '^validity' | sort; }
# Both have loads beside a store, those of small objects while the large one is written, and alone, that of the large one.
awk '/,Read,/ && !n++ {print "0.1,Write,67108864,Tier-2,large,Prefill"} {print}' "$TMP/t.csv" >"$TMP/both.csv"
echo '0.1,Read,67108864,Tier-2,large,Prefill' >>"$TMP/both.csv"
rm -rf "$TMP/own/kv"
as_nobody "$TMP/bin/kvreplay" --device-times auto --summary "$summary" -o /dev/null --target "$TMP/own/kv" "$TMP/both.csv" 2>"$TMP/err"
unknown "$summary" >"$TMP/of_user"
rm -rf "$TMP/own/kv"
"$TMP/bin/kvreplay" --device-times auto --summary "$TMP/root.json" -o /dev/null --target "$TMP/root" "$TMP/both.csv" 2>"$TMP/err"
unknown "$TMP/root.json" >"$TMP/of_root"
is 'nothing else is missing' "$(comm -23 "$TMP/of_user" "$TMP/of_root" | grep -Ev '^evidence\.device_times\.|^drive_(times|rows|depth)$')" ''
exits 'kvprecond misses nothing' 0 as_nobody "$BIN/kvprecond" --size 8M "$TMP/own/filled"
stdout_unlike 'and complains of nothing' 'not permitted'
exits 'nor does kvgen' 0 as_nobody "$BIN/kvgen" --users 1 --duration 1 -o none
stderr_unlike 'nor complain' 'not permitted'
cp "$BIN/kvtrace-trace" "$helper"
exits 'kvreplay, a helper without its capability' 0 replay --device-times auto
stderr_like 'names the command' "^kvreplay: device times: not permitted: run as root, or give kvtrace-trace its capability \(setcap cap_dac_override=ep $helper\)$"
true | as_nobody "$helper" 7:0 2>"$TMP/err" | cat >"$TMP/out"
is 'the helper itself' "$(cat "$TMP/err")" 'kvtrace-trace: not permitted'

# ---- with the capability ----

nobody_may=,+dac_override
can() { true | { as_nobody "$helper" 7:0 2>"$TMP/err" | cat >/dev/null; } && [ ! -s "$TMP/err" ]; }
if ! setcap cap_dac_override=ep "$helper" 2>/dev/null || ! can; then
    ok 'with its capability # SKIP files have none here' true
    done_testing
    exit
fi
# A helper that is ready and cannot begin: an event of the kind 16, and nothing after the first byte that it gets.
cat >"$helper" <<'END'
#!/bin/sh
head -c 24 /dev/zero && printf '\020' && head -c 7 /dev/zero
head -c 1 >/dev/null
echo 'kvtrace-trace: the buffers are gone' >&2
exit 1
END
setcap cap_dac_override=ep "$helper"
exits 'a recording that does not begin: the run goes on' 0 replay --device-times auto
like 'and says why' "$(state)" 'the buffers are gone'
exits 'asked for, the run fails' 3 replay --device-times yes
stderr_like 'and says why' '^kvreplay: --device-times: .*the buffers are gone'
cp "$BIN/kvtrace-trace" "$helper" && setcap cap_dac_override=ep "$helper"
# trace_helper.t does not take all instances meanwhile.
exec 5<$tracing/instances && flock -s 5
if loop=$(losetup --find --show --direct-io=on "$(truncate -s 100M "$TMP/disk.img" && mkfs.ext4 -q -F "$TMP/disk.img" && echo "$TMP/disk.img")" 2>/dev/null) &&
    mkdir "$TMP/disk" && mount "$loop" "$TMP/disk"; then
    chown 65534 "$TMP/disk"
    on_disk() { as_nobody "$TMP/bin/kvreplay" --full --summary "$summary" -o "$TMP/own/r.csv.zst" --inflight 4 --target "$TMP/disk/kv" "$@" "$TMP/t.csv"; }
    exits 'a run of a user' 0 on_disk --device-times yes
    is 'is measured' "$(state) $(json "$summary" .evidence.device_times.lost_events)" 'measured 0'
    is 'each row is joined' "$(json "$summary" '.evidence.device_times | .rows, .rows_without_requests, .rows_not_placed')" '80 0 0'
    is 'all bytes' "$(json "$summary" '[.drive_times[] | select(.op == "Read") | .bytes] | add >= 67108864')" true
    stderr_like 'shown as for root' '^rows that read .*: 64, .* requests each; before the drive P50'
    # As root, what io_uring gave to workers of the kernel: a number, or why there is none.
    on_disk --device-times yes --buffered 2>/dev/null
    is 'buffered writes that io_uring gave to workers' "$(json "$summary" '[tier("Tier-2").engine,
        (.evidence.device_times | .writes_to_workers, .workers_why)] | if .[1] == null then (.[2] | startswith("not known"))
        else .[1] > 0 or .[0] != "io_uring" end')" true
    # Killed in the middle of the run: what was read so far is not the whole.
    become_nobody "$TMP/bin/kvreplay" --device-times yes --timing trace --summary "$summary" -o /dev/null --target "$TMP/disk/kv" \
        "$TMP/in" 2>"$TMP/err" &
    run=$!
    children=$run
    exec 9<>"$TMP/in"
    cat "$TMP/t.csv" >&9
    until there=$(pgrep -P $run -x kvtrace-trace) && [ "$(cat "$tracing/instances/kvtrace-$there/tracing_on")" = 1 ]; do
        kill -s 0 $run || break
        sleep 0.05
    done 2>/dev/null
    kill -s KILL "$there"
    exec 9>&-
    wait $run
    is 'a helper that was killed: the run goes on' $? 0
    like 'and its figures are not known' "$(state)" '^the reading of events ended: '
else
    ok 'a run of a user # SKIP no loop device' true
fi

done_testing
