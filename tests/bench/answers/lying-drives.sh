#!/bin/sh
# lying-drives.sh - drives that are not what they seem while an answer is confirmed on them: none may be called confirmed, and the
# answer should name the cause. The drive of DIR is measured and the load is simulated once, quietly; each run replays the same
# window in one situation, and kvstat holds it against the model. Prints a line for each run, then how often each was said.
#   tests/bench/answers/lying-drives.sh [DIR [N [SITUATION...]]]    default: /var/tmp, 10, the eleven and quiet: half an hour
# Situations:
#   quiet             the drive itself: it may be called confirmed
#   page-cache        buffered reads and writes
#   like-keep         as LMCache does it, with the page cache
#   loop              a loop device that reads through the page cache of its file
#   loop-in-loop      such a device on a file system of a direct one
#   loop-on-tmpfs     a loop device whose file is in memory
#   tmpfs, overlay    file systems in memory
#   fuse              a file system of a program that caches (needs bindfs)
#   btrfs             one that is set to compress (needs mkfs.btrfs), on a loop device. It sums, copies and compresses direct
#                     writes as it does buffered ones (Linux 6.18)
#   throttle          the drive is cut to half of this load in the middle of the run (a control group's limit)
#   foreign           others move twice as much and more
# and by name: cpu-quota stopped busy-cpu slower (the host's fault, or another drive's).
# Needs root, jq and 12 GB of room; what cannot be made here is said and left out. SECONDS_EACH (12) is the length of the window, USERS
# (150) its load: people who chat with a small model, whose sessions do not fit into memory. What a run makes it takes away, also after a signal.
set -eu
export LC_ALL=C
top=$(cd "$(dirname "$0")/../../.." && pwd)
bin=${BUILD:-$top/build}/bin
PATH=$bin:$PATH
case ${1-} in -h | --help) sed -n '2,21s/^# \{0,1\}//p' "$0" && exit 0 ;; esac
disk=${1:-/var/tmp}
times=${2:-10}
if [ $# -gt 2 ]; then
    shift 2
else
    set -- quiet page-cache like-keep loop loop-in-loop loop-on-tmpfs tmpfs overlay fuse btrfs throttle foreign
fi
seconds=${SECONDS_EACH:-12}
users=${USERS:-150}
tmp=$(mktemp -d "$disk/lying.XXXXXX")
memory=/dev/shm/kvtrace-lying.$$
group='' replay=''

# ---- what is made, the last first to go ----

made=''
# undo COMMAND...: is done at the end of the situation, or of the script. Its words are as a shell reads them.
undo() { made="$*;$made"; }
undo_all() {
    while [ -n "$made" ]; do
        command=${made%%;*}
        made=${made#*;}
        eval "$command" >/dev/null 2>&1 || :
    done
}
tidy() {
    trap - EXIT
    if [ -n "$replay" ]; then kill "$replay" 2>/dev/null || :; fi
    ends
    undo_all
    rm -rf "$tmp" "$memory"
}
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

jobs=''
# begins COMMAND...: in the background, until the run is over.
begins() {
    "$@" >/dev/null 2>&1 &
    jobs="$jobs $!"
}
ends() {
    for job in $jobs; do
        kill "$job" 2>/dev/null || :
        wait "$job" 2>/dev/null || :
    done
    jobs=''
}
cannot() {
    echo "$*"
    return 77
}
# has_memory BYTES: for a file of so many, twice.
has_memory() { [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $((2 * $1 / 1024)) ]; }

# control CONTROLLER FILE1 FILE2 VALUE: a control group with a limit: FILE1 is its name in version 1, FILE2 in version 2. Sets group and
# limit, the file.
control() {
    if [ -d "/sys/fs/cgroup/$1" ] && [ -e "/sys/fs/cgroup/$1/cgroup.procs" ]; then
        group=/sys/fs/cgroup/$1/kvtrace-lying-$$ limit=$2
    elif [ -w /sys/fs/cgroup/cgroup.subtree_control ]; then
        echo "+${1#blk}" >/sys/fs/cgroup/cgroup.subtree_control || cannot "no control group with ${1#blk}" || return 77
        group=/sys/fs/cgroup/kvtrace-lying-$$ limit=$3
    else
        cannot "no control groups that may be made" || return 77
    fi
    mkdir -p "$group" || cannot "$group cannot be made" || return 77
    undo rmdir "$group"
}
# noting COMMAND...: runs it, with its number in pid.
noting() {
    "$@" &
    echo $! >"$tmp/pid"
    wait $!
}
in_group() { sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@"; }
device() { # major:minor of the whole drive
    name=$(df -P "$disk" | awk 'NR == 2 { sub("/dev/", "", $1); print $1 }')
    name=$(lsblk -ndo pkname "/dev/$name" 2>/dev/null | grep . || echo "$name")
    cat "/sys/class/block/$name/dev"
}

# ---- the answer, once, on the quiet drive ----

echo "measuring $disk, and simulating $users users; then $times runs of each situation, $((seconds + 6)) s or more each"
kvtrace drive -m tiny-1b --params 1e9 --gpu-mem 1GiB --cpu-mem 4GiB -o "$tmp/out" -u "$users" -t "${seconds}s" --seeds 1 "$tmp/objects" >"$tmp/quiet.screen" 2>"$tmp/quiet.log" || :
if [ ! -s "$tmp/out/model.result.csv.zst" ]; then
    echo "lying-drives.sh: no answer to confirm: $(tail -n 1 "$tmp/quiet.log")" >&2
    exit 1
fi
cat "$tmp/quiet.screen"
bytes=$(jq '.window | .pool_bytes + .written_bytes' "$tmp/out/answer.json")
rate=$(jq '.window | (.read_bytes + .written_bytes) / .seconds / 2 | floor' "$tmp/out/answer.json")
echo "the window: $(jq -r '.window | "\(.rows) rows, \(.read_bytes / 1e6 | floor) MB read, \(.written_bytes / 1e6 | floor) MB written"' \
    "$tmp/out/answer.json"), and $((bytes / 1000000)) MB of room"
echo

# window COMMAND...: the window, by kvreplay with these words before it.
folder=$tmp/objects
option=''
window() {
    set -- "$@" kvreplay --timing trace --target "$folder" --progress none -o "$tmp/drive.csv.zst" --summary "$tmp/drive.json"
    if [ -n "$option" ]; then set -- "$@" "$option"; fi
    "$@" "$tmp/out/window.csv.zst"
}

# ---- the situations: make_X sets folder and option, run_X runs the window ----

make_quiet() { :; }
make_page_cache() { option=--buffered; }
make_like_keep() { folder="file:$tmp/objects?like=lmcache-fs&cache=keep"; }
make_tmpfs() {
    [ -d /dev/shm ] && has_memory "$bytes" || cannot 'no memory for the window' || return 77
    mkdir -p "$memory"
    undo rm -rf "$memory"
    folder=$memory/objects
}
make_overlay() {
    make_tmpfs || return 77
    mkdir -p "$memory/low" "$memory/high" "$memory/work" "$tmp/overlay"
    mount -t overlay overlay -o "lowerdir=$memory/low,upperdir=$memory/high,workdir=$memory/work" "$tmp/overlay" 2>/dev/null ||
        cannot 'overlay cannot be mounted' || return 77
    undo umount "$tmp/overlay"
    folder=$tmp/overlay/objects
}
# on_loop IMAGE DIRECT TYPE OPTIONS FOLDER: a file system on a loop device of a new file, mounted in FOLDER.
on_loop() {
    truncate -s $((2 * bytes + 2000000000)) "$1" || return 77
    undo rm -f "$1"
    loop=$(losetup --find --show --direct-io="$2" "$1" 2>/dev/null) || cannot 'no loop device' || return 77
    undo losetup -d "$loop"
    "mkfs.$3" -q "$loop" >/dev/null 2>&1 || cannot "mkfs.$3 failed" || return 77
    mkdir -p "$5"
    mount -o "$4" "$loop" "$5" 2>/dev/null || cannot "$loop cannot be mounted" || return 77
    undo umount "$5"
    folder=$5/objects
}
make_loop() { on_loop "$tmp/image" off ext4 rw "$tmp/loop"; }
make_loop_in_loop() {
    on_loop "$tmp/outer" on ext4 rw "$tmp/loop" && on_loop "$tmp/loop/image" off ext4 rw "$tmp/loop-in-loop"
}
make_loop_on_tmpfs() { make_tmpfs && on_loop "$memory/image" off ext4 rw "$tmp/loop"; }
make_btrfs() {
    command -v mkfs.btrfs >/dev/null || cannot 'no mkfs.btrfs' || return 77
    on_loop "$tmp/image" on btrfs compress-force=zstd:1 "$tmp/loop"
}
make_fuse() {
    command -v bindfs >/dev/null || cannot 'no bindfs' || return 77
    mkdir -p "$tmp/below" "$tmp/fuse"
    bindfs -o kernel_cache,auto_cache "$tmp/below" "$tmp/fuse" 2>/dev/null || cannot 'bindfs failed' || return 77
    undo umount "$tmp/fuse"
    folder=$tmp/fuse/objects
}

# The drive gives half of what is asked for, from the middle on.
make_throttle() {
    control blkio blkio.throttle.read_bps_device io.max && return
    cannot 'no limit of the I/O of a control group'
}
limited() {
    sleep $((seconds / 2))
    case $limit in
    io.max) echo "$(device) rbps=$rate wbps=$rate" >"$group/io.max" ;;
    *) for way in read write; do echo "$(device) $rate" >"$group/blkio.throttle.${way}_bps_device"; done ;;
    esac
}
free_again() {
    case $limit in
    io.max) echo "$(device) rbps=max wbps=max" >"$group/io.max" ;;
    *) for way in read write; do echo "$(device) 0" >"$group/blkio.throttle.${way}_bps_device"; done ;;
    esac
}
# It begins with the window: what the pool takes to write is before that.
run_throttle() {
    status=0
    window in_group &
    replay=$!
    until [ -s "$tmp/drive.csv.zst" ] || ! kill -0 $replay 2>/dev/null; do sleep 0.2; done
    begins limited
    wait $replay || status=$?
    replay=''
    ends
    free_again
    return $status
}
make_foreign() {
    kvgen --model llama3.1-8b --users 4 --duration 60 --gpu-mem 0 --cpu-mem 0 --storage-capacity 4GiB --generation-mode none \
        -o "$tmp/foreign.csv.zst" 2>/dev/null
}
run_foreign() {
    begins kvreplay --target "$tmp/foreign" --inflight 16 --progress none -o none "$tmp/foreign.csv.zst"
    window || return
    kill -0 "${jobs##* }" 2>/dev/null || { echo 'the others ended before the window'; return 1; }
}
make_cpu_quota() {
    control cpu cpu.cfs_quota_us cpu.max || return 77
    case $limit in cpu.max) echo '5000 100000' >"$group/cpu.max" ;; *) echo 5000 >"$group/$limit" ;; esac
}
run_cpu_quota() { window in_group; }
make_stopped() { :; }
run_stopped() {
    status=0
    window noting &
    replay=$!
    until [ -s "$tmp/drive.csv.zst" ] || ! kill -0 $replay 2>/dev/null; do sleep 0.2; done
    sleep 3
    kill -s STOP "$(cat "$tmp/pid")" && sleep 3
    kill -s CONT "$(cat "$tmp/pid")"
    wait $replay || status=$?
    replay=''
    return $status
}
make_busy_cpu() { :; }
run_busy_cpu() {
    for n in $(seq "$(($(nproc) * 4))"); do begins sh -c 'while :; do :; done' "$n"; done
    window
}
# Another drive than the one that was measured: a simulated one of 100 MB/s.
make_slower() { option=--tier-engine=2=sim:bw=100MB/s,lat=50ms; }

# has_own SITUATION CAUSE: whether that is what is wrong in the situation.
has_own() {
    case $1:$2 in
    page-cache:cache | like-keep:cache | loop:cache | loop-in-loop:cache | btrfs:file_system | fuse:cache | fuse:no_counters) ;;
    loop-on-tmpfs:cache | loop-on-tmpfs:target_is_memory | tmpfs:target_is_memory | overlay:target_is_memory) ;;
    throttle:drive_slowed_down | foreign:foreign_traffic | cpu-quota:cpu_quota | stopped:process_stopped) ;;
    busy-cpu:busy_processors | slower:drive_slower_than_its_model) ;;
    *) return 1 ;;
    esac
}

# ---- the runs ----

# said: what kvstat says of the run: the verdict, the cause, why.
said() {
    kvstat --answer "$tmp/out/sim.json" --confirm "$tmp/drive.csv.zst" --confirm-model "$tmp/out/model.result.csv.zst" --json \
        >"$tmp/answer.json" || :
    jq -r '[if .confirmed.agrees == true then "confirmed" else .verdict // "not judged" end, .confirmed.cause // "-",
        .confirmed.why // .why // "-"] | @tsv' "$tmp/answer.json"
}
tab=$(printf '\t')
: >"$tmp/table"
printf '%-14s %3s  %-13s %s\n' situation run verdict 'what was said'
for situation; do
    name=$(printf '%s' "$situation" | tr - _) n=0
    folder=$tmp/objects option=''
    if ! "make_$name" >"$tmp/log" 2>&1; then
        printf '%-14s %3s  %s\n' "$situation" - "cannot be made here: $(tail -n 1 "$tmp/log")"
        printf '%s\tcannot be made here\t-\n' "$situation" >>"$tmp/table"
        undo_all
        continue
    fi
    run=window
    if command -v "run_$name" >/dev/null; then run=run_$name; fi
    while [ "$n" -lt "$times" ]; do
        n=$((n + 1)) status=0
        rm -f "$tmp/drive.csv.zst" "$tmp/pid"
        "$run" >"$tmp/log" 2>&1 || status=$?
        ends
        if [ "$status" = 0 ]; then line=$(said); else line="not run${tab}status $status${tab}$(tail -n 1 "$tmp/log")"; fi
        printf '%s\n' "$line" | while IFS=$tab read -r verdict cause why; do
            printf '%-14s %3d  %-13s %s: %s\n' "$situation" "$n" "$verdict" "$cause" "$why"
            printf '%s\t%s\t%s\n' "$situation" "$verdict" "$cause" >>"$tmp/table"
        done
    done
    undo_all
done
echo
printf '%-14s %5s  %-20s %s\n' situation runs verdict cause
: >"$tmp/named"
sort "$tmp/table" | uniq -c | sed 's/^ *\([0-9]*\) /\1\t/' | while IFS=$tab read -r count situation verdict cause; do
    own=''
    if has_own "$situation" "$cause"; then own=', its own' && echo "$count" >>"$tmp/named"; fi
    printf '%-14s %5d  %-20s %s\n' "$situation" "$count" "$verdict" "$cause$own"
done
lied=$(awk -F '\t' '$1 != "quiet" && $2 != "cannot be made here"' "$tmp/table" | wc -l)
echo "called confirmed though they lie: $(awk -F '\t' '$1 != "quiet" && $2 == "confirmed"' "$tmp/table" | wc -l) of $lied runs;" \
    "with their own cause: $(awk '{ n += $1 } END { print n + 0 }' "$tmp/named")"
