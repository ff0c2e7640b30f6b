#!/bin/sh
# groups.t - the limits of control groups hold, version 1 or 2, whichever this machine has: a tier of memory that would not fit
# is refused from a file and stays below the limit from a pipe, and a CPU quota is told. A bug looked like a replay that was
# killed.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

name=kvtrace-test-$$
# find_group CONTROLLER FILE: makes a group that has the file, and sets $group.
find_group() {
    for top in "/sys/fs/cgroup/$1" /sys/fs/cgroup; do
        group=$top/$name
        if mkdir "$group" 2>/dev/null && [ -w "$group/$2" ]; then return; fi
        rmdir "$group" 2>/dev/null
    done
    return 1
}
within() { sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$group" "$@"; }
leave() {
    left=$?
    rmdir "/sys/fs/cgroup/memory/$name" "/sys/fs/cgroup/cpu/$name" "/sys/fs/cgroup/$name" 2>/dev/null
    (exit $left)
    tap_exit
}
trap leave EXIT
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
awk -v header=$header 'BEGIN { print header; for (i = 0; i < 400; i++) printf "0,Write,2097152,Tier-1,k%d,Prefill\n", i }' >"$TMP/t.csv"

[ "$(id -u)" -eq 0 ] || skip_all 'needs root'
if find_group memory memory.limit_in_bytes; then limit=memory.limit_in_bytes; elif find_group . memory.max; then limit=memory.max; else
    skip_all 'no group can be made'
fi
echo 300M >"$group/$limit" || skip_all 'the group takes no limit'
within true 2>/dev/null || skip_all 'no process can be put into the group'
exits 'a file: refused' 3 within "$BIN/kvreplay" -o /dev/null "$TMP/t.csv"
stderr_like 'for want of memory' 'Tier-1: the trace needs 800.00 MiB .* and only 1[0-9][0-9].* may be used'
# From a pipe the room is what is there, and rows that find none fail by name.
piped() { tail -n +1 "$TMP/t.csv" | within "$BIN/kvreplay" -o /dev/null -; }
exits 'a pipe: not killed' 1 piped
stderr_like 'rows that find no room fail' 'ENOSPC: no room: '
rmdir "$group"

quota() {
    if [ -e "$group/cpu.max" ]; then echo '20000 100000' >"$group/cpu.max"; else echo 20000 >"$group/cpu.cfs_quota_us"; fi
}
if { find_group cpu cpu.cfs_quota_us || find_group . cpu.max; } && quota; then
    sed 's/Tier-1/Tier-2/; 90q' "$TMP/t.csv" >"$TMP/few.csv"
    ok 'a quota' within "$BIN/kvreplay" --target "$TMP/d" -o /dev/null --summary "$TMP/s.json" "$TMP/few.csv"
    is 'is told' "$(json "$TMP/s.json" '.evidence | .cpu_quota, (.throttled_s >= 0)')" '0.2 true'
else
    ok 'a quota # SKIP no group can be given one' true
fi
done_testing
