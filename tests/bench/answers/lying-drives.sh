#!/bin/sh
# lying-drives.sh - drives that are not what they seem while an answer is confirmed on them: kvtrace drive must not call them
# confirmed, and names what it was. Each situation that can be made here runs N times; a line for each run is what it got.
#   tests/bench/answers/lying-drives.sh [DIR [N [SITUATION...]]]    (default: /var/tmp, 10, all; a minute and a half a run)
# The load is that of 40 users, so that its window has room in memory and on a loop device.
# The drive is measured and the load is simulated once, quietly; the situation begins with the confirmation. Root is needed for
# loop devices, cgroup limits and dm; what cannot be made is said and left out.
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/../../.." && pwd)
bin=${BUILD:-$top/build}/bin
PATH=$bin:$PATH
disk=${1:-/var/tmp}
times=${2:-10}
if [ $# -gt 2 ]; then shift 2; else set -- quiet tmpfs page-cache loop-dio0 throttle foreign cpu-quota stopped busy-cpu slower; fi
seconds=15
tmp=$(mktemp -d "$disk/lying.XXXXXX")
cgroups='' loops='' mounts='' jobs=''
tidy() {
    trap - EXIT
    for job in $jobs; do kill "$job" 2>/dev/null || :; done
    wait
    for mount in $mounts; do umount "$mount" 2>/dev/null || :; done
    for loop in $loops; do losetup -d "$loop" 2>/dev/null || :; done
    for cgroup in $cgroups; do rmdir "$cgroup" 2>/dev/null || :; done
    rm -rf "$tmp"
}
trap tidy EXIT
trap 'exit 130' INT TERM

# In the background until the run is over; ended by ends.
begins() { "$@" >/dev/null 2>&1 & jobs="$jobs $!"; }
ends() {
    for job in $jobs; do
        kill "$job" 2>/dev/null || :
        wait "$job" 2>/dev/null || :
    done
    jobs=''
}
# cgroup NAME CONTROLLER FILE VALUE: makes it; fails where that is not allowed. Sets group.
cgroup() {
    group=/sys/fs/cgroup/kvtrace-lying-$1
    if ! [ -w /sys/fs/cgroup/cgroup.procs ] || ! echo "+$2" >/sys/fs/cgroup/cgroup.subtree_control; then
        echo "no control group with $2 can be made" >&2
        return 1
    fi
    mkdir -p "$group" && cgroups="$cgroups $group"
    if [ -n "$4" ]; then echo "$4" >"$group/$3"; fi
}
device() { # its major:minor, of the whole drive
    name=$(df -P "$disk" | awk 'NR == 2 { sub("/dev/", "", $1); print $1 }')
    name=$(lsblk -ndo pkname "/dev/$name" 2>/dev/null | grep . || echo "$name")
    cat "/sys/class/block/$name/dev"
}

# ---- the answer, once, on the quiet drive ----

kvtrace drive -o "$tmp/out" -u 40 -t "${seconds}s" --seeds 1 "$tmp/objects" >"$tmp/quiet.screen" 2>"$tmp/quiet.log" || :
if [ ! -s "$tmp/out/window.csv.zst" ]; then
    tail -n 2 "$tmp/quiet.log" >&2
    exit 1
fi
grep -A 1 -E '^(Users held|Confirmed)' "$tmp/quiet.screen"
echo

# run FOLDER OPTION...: the window on it.
run() {
    folder=$1
    shift
    kvreplay --timing trace --target "$folder" --progress none -o "$tmp/drive.csv.zst" --summary "$tmp/drive.json" "$@" "$tmp/out/window.csv.zst"
}
in_group() { sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@"; }

# ---- the situations: each runs the window, or fails where it cannot be made ----

quiet() { run "$tmp/objects"; }
tmpfs() {
    [ -d /dev/shm ] && mkdir -p /dev/shm/kvtrace-lying && run /dev/shm/kvtrace-lying
    status=$?
    rm -rf /dev/shm/kvtrace-lying
    return $status
}
page_cache() { run "$tmp/objects" --buffered; }
# A loop device in front of a file: its reads come from the page cache, although they are direct.
loop_dio0() {
    [ -e "$tmp/image" ] || truncate -s 20G "$tmp/image"
    loop=$(losetup --find --show --direct-io=off "$tmp/image" 2>/dev/null) || return 77
    loops="$loops $loop"
    mkfs.ext4 -q "$loop" 2>/dev/null || return 77
    mkdir -p "$tmp/loop" && mount "$loop" "$tmp/loop" || return 77
    mounts="$mounts $tmp/loop"
    status=0
    run "$tmp/loop/objects" || status=$?
    umount "$tmp/loop" && losetup -d "$loop" && rm "$tmp/image"
    return $status
}
later() { sleep 10 && echo "$1" >"$group/io.max"; }
# The drive gives half of what is asked from ten seconds on.
throttle() {
    cgroup io io io.max '' || return 77
    rate=$(jq '[.drive.read.asked_bytes_s, .drive.write.asked_bytes_s] | add / 2 | floor' "$tmp/out/answer.json")
    begins later "$(device) rbps=$rate wbps=$rate"
    in_group sh -c '"$@"' - kvreplay --timing trace --target "$tmp/objects" --progress none -o "$tmp/drive.csv.zst" \
        --summary "$tmp/drive.json" "$tmp/out/window.csv.zst"
    status=$?
    echo "$(device) rbps=max wbps=max" >"$group/io.max"
    return $status
}
# Others move twice what this load does.
foreign() {
    kvgen --model llama3.1-8b --users 4 --duration 30 --gpu-mem 0 --cpu-mem 0 --generation-mode none -o "$tmp/foreign.csv.zst" 2>/dev/null
    begins kvreplay --target "$tmp/foreign" --inflight 16 --progress none -o none "$tmp/foreign.csv.zst"
    run "$tmp/objects"
}
cpu_quota() {
    cgroup cpu cpu cpu.max '5000 100000' || return 77
    in_group kvreplay --timing trace --target "$tmp/objects" --progress none -o "$tmp/drive.csv.zst" --summary "$tmp/drive.json" \
        "$tmp/out/window.csv.zst"
}
stopped() {
    run "$tmp/objects" &
    replay=$!
    sleep 5
    child=$(pgrep -P $replay kvreplay || echo $replay)
    kill -s STOP "$child"
    sleep 3
    kill -s CONT "$child"
    wait $replay
}
busy_cpu() {
    for n in $(seq "$(($(nproc) * 4))"); do begins sh -c 'while :; do :; done' "$n"; done
    run "$tmp/objects"
}
# Another drive than the one that was measured: a simulated one of 100 MB/s.
slower() { run "$tmp/objects" --tier-engine 2=sim:bw=100MB/s,lat=50ms; }

printf '%-12s %3s  %-14s %s\n' situation run verdict 'what was said'
for situation; do
    n=0
    while [ "$n" -lt "$times" ]; do
        n=$((n + 1)) status=0
        "$(printf '%s' "$situation" | tr - _)" >"$tmp/log" 2>&1 || status=$?
        ends
        if [ "$status" = 77 ]; then
            printf '%-12s %3s  %s\n' "$situation" - "cannot be made here: $(tail -n 1 "$tmp/log")"
            break
        fi
        if [ "$status" != 0 ]; then
            printf '%-12s %3d  %-14s %s\n' "$situation" "$n" "status $status" "$(tail -n 1 "$tmp/log")"
            continue
        fi
        kvstat --answer "$tmp/out/sim.json" --confirm "$tmp/drive.csv.zst" --confirm-model "$tmp/out/model.result.csv.zst" --json \
            >"$tmp/answer.json" || :
        printf '%-12s %3d  %-14s %s\n' "$situation" "$n" \
            "$(jq -r 'if .confirmed.agrees == true then "confirmed" else .verdict // "not judged" end' "$tmp/answer.json")" \
            "$(jq -r '"\(.confirmed.cause // "-"): \(.confirmed.why // .why // "-")"' "$tmp/answer.json")"
    done
done
