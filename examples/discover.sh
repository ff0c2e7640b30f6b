#!/bin/sh
# discover.sh - What does this machine have for a KV cache, and which sizes are a good start?
#
# Usage: discover.sh [--json | --print]
#
#   --json       output for programs: one line, sizes in bytes, the proposal in GiB
#   --print      print the commands that it runs, and exit
#
# Shows processors, GPUs (with nvidia-smi), memory, NVMe devices, and writable file systems
# on disks, and proposes --gpu-mem, --cpu-mem, --storage-capacity and a directory for
# --target:
#   GPU       half of the free memory of the first one: the model's weights need the rest;
#             0 without a GPU
#   memory    half of the available memory: the serving engine and the system need the rest
#   storage   three quarters of the free space of one file system, and at most the space
#             that kvreplay may use there (5 % of it stay free, or half of the free
#             space): the writable one with most space, on NVMe if possible
#   users     twice the number of objects of llama3.1-8b (half a GiB on average) that fit
#             in both memories, so that half of the users need storage; at least 10, at
#             most 50 for each processor
# It changes nothing. DISCOVER_ROOT=DIR reads DIR/proc and DIR/sys instead, for tests.
#
# Example: the proposal, for a script
#   examples/discover.sh --json
case $0 in */*) . "${0%/*}/common.sh" ;; *) . ./common.sh ;; esac

form=text
case ${1-} in
'' | --) ;;
--json) form=json ;;
--print)
    cat <<'END'
nvidia-smi --query-gpu=name,memory.total,memory.free --format=csv
grep -E '^Mem(Total|Available):' /proc/meminfo
grep . /sys/block/nvme*/size /sys/block/nvme*/device/model
df -Pk
END
    exit 0
    ;;
-h | --help)
    usage "$0"
    exit 0
    ;;
*) die 2 "$1: unknown option (try --help)" ;;
esac
root=${DISCOVER_ROOT-}
tab=$(printf '\t')

# Each of these writes lines of fields between tabs, the kind of thing first.

gpus() { # gpu NAME BYTES FREE
    command -v nvidia-smi >/dev/null || return 0
    { nvidia-smi --query-gpu=name,memory.total,memory.free --format=csv,noheader,nounits 2>/dev/null || :; } |
        awk -F ', *' -v OFS='\t' 'NF == 3 && $3 ~ /^[0-9]+$/ {
            gsub(/[\001-\037\177]/, "?", $1)
            print "gpu", $1, sprintf("%.0f", $2 * 1048576), sprintf("%.0f", $3 * 1048576)
        }'
}

nvmes() { # nvme DEVICE BYTES MODEL
    for device in "$root"/sys/block/nvme*; do
        [ -r "$device/size" ] || continue
        model=unknown
        if [ -r "$device/device/model" ]; then model=$(sed 's/[[:space:]]*$//' <"$device/device/model" | readable_lines); fi
        printf 'nvme\t%s\t%s\t%s\n' "/dev/${device##*/}" $(($(cat <"$device/size") * 512)) "$model"
    done
}

file_systems() { # fs DEVICE TYPE BYTES FREE NVME WRITABLE TARGET MOUNT
    seen=' '
    while read -r device mount type options _; do
        # Disks only, each once, none that is read-only or that holds the firmware.
        case $device in /dev/*) ;; *) continue ;; esac
        case $type in squashfs | iso9660 | vfat) continue ;; esac
        case ,$options, in *,ro,*) continue ;; esac
        case $seen in *" $device "*) continue ;; esac
        seen="$seen$device "
        # As /proc/mounts writes a blank and a backslash. One with a newline or a tab is none to propose.
        case $mount in *\\01* | *[[:cntrl:]]*) continue ;; esac
        case $mount in *\\*) mount=$(printf '%s\n' "$mount" | sed 's/\\040/ /g; s/\\134/\\/g') ;; esac
        space=$(df -Pk "$mount" 2>/dev/null | awk -v OFS='\t' 'NR == 2 {
            for (i = 2; i < NF && $i !~ /^[0-9]+$/; i++) {}
            print sprintf("%.0f", $i * 1024), sprintf("%.0f", $(i + 2) * 1024)
        }')
        [ -n "$space" ] || continue
        # At the root of a system the place for large passing files is /var/tmp.
        place=$mount
        if [ "$place" = / ]; then place=/var/tmp; fi
        nvme=0 writable=0
        case $device in /dev/nvme*) nvme=1 ;; esac
        if [ -w "$place" ]; then writable=1; fi
        printf 'fs\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' \
            "$device" "$type" "$space" "$nvme" "$writable" "$place/kvtrace" "$mount"
    done <"$root/proc/mounts"
}

{
    gpus
    nvmes
    file_systems
} | proc="$root/proc" awk -F "$tab" -v form="$form" '
function gib(bytes) { return sprintf("%.1f GiB", bytes / 1073741824) }
# A share of it in GiB, whole when there is more than one, never more than it is.
function share(bytes, part, g) {
    g = bytes * part / 1073741824
    if (g < 0.01) return 0
    return g >= 1 ? sprintf("%.0f", int(g)) : sprintf("%.2f", int(g * 100) / 100)
}
function size(n) { return n ? n "GiB" : 0 }
function text(s) { gsub(/\\/, "\\\\&", s); gsub(/"/, "\\\"", s); return "\"" s "\"" }
function truth(n) { return n ? "true" : "false" }
function add(list, item) { return list == "" ? item : list "," item }

BEGIN {
    proc = ENVIRON["proc"]
    while ((getline line <(proc "/cpuinfo")) > 0) if (line ~ /^processor[[:space:]]*:/) processors++
    while ((getline line <(proc "/meminfo")) > 0) {
        split(line, field, " ")
        bytes[field[1]] = sprintf("%.0f", field[2] * 1024)
    }
    memory = bytes["MemTotal:"] + 0; available = bytes["MemAvailable:"] + 0
    host = share(available, 0.5)
    shown["memory"] = sprintf("memory       %s, %s of it available\n", gib(memory), gib(available))
    json["memory"] = sprintf("{\"bytes\":%.0f,\"available_bytes\":%.0f}", memory, available)
}
$1 == "gpu" {
    if (gpu == "") gpu = share($4, 0.5)
    shown["gpu"] = shown["gpu"] sprintf("GPU          %s, %s, %s of it free\n", $2, gib($3), gib($4))
    json["gpu"] = add(json["gpu"], "{\"name\":" text($2) ",\"bytes\":" $3 ",\"free_bytes\":" $4 "}")
}
$1 == "nvme" {
    shown["nvme"] = shown["nvme"] sprintf("NVMe         %s, %s, %s\n", $2, gib($3), $4)
    json["nvme"] = add(json["nvme"], "{\"device\":" text($2) ",\"bytes\":" $3 ",\"model\":" text($4) "}")
}
$1 == "fs" {
    shown["fs"] = shown["fs"] sprintf("file system  %s, %s on %s, %s, %s of it free%s\n", $9, $3, $2, gib($4), gib($5),
        $7 ? "" : ", not yours to write")
    json["fs"] = add(json["fs"], "{\"mount\":" text($9) ",\"device\":" text($2) ",\"type\":" text($3) ",\"bytes\":" $4 \
        ",\"free_bytes\":" $5 ",\"nvme\":" truth($6) ",\"writable\":" truth($7) "}")
    rank = $7 * 2 + $6
    if (target == "" || rank > best || (rank == best && $5 > free)) {
        best = rank; free = $5 + 0; target = $8
        keep = 0.05 * $4 < free / 2 ? 0.05 * $4 : free / 2
        fits = (free - keep) * 31 / 32 - 8388608
        room = free * 0.75 < fits ? free * 0.75 : fits > 0 ? fits : 0
    }
}
END {
    if (gpu == "") gpu = 0
    users = int(2 * (gpu + host) / 0.5)
    if (processors > 0 && users > 50 * processors) users = 50 * processors
    if (users < 10) users = 10
    if (form == "json") {
        print "{\"processors\":" (processors > 0 ? processors : "null") ",\"gpus\":[" json["gpu"] "],\"memory\":" json["memory"] ",\"nvme\":[" json["nvme"] \
            "],\"file_systems\":[" json["fs"] "],\"proposal\":{\"gpu_mem_gb\":" gpu ",\"cpu_mem_gb\":" host \
            ",\"storage_capacity_gb\":" share(room, 1) ",\"num_users\":" users ",\"target\":" (target == "" ? "null" : text(target)) "}}"
        exit
    }
    printf "processors   %s\n", (processors > 0 ? processors : "not known")
    printf "%s", shown["gpu"] == "" ? "GPU          none seen\n" : shown["gpu"]
    printf "%s", shown["memory"]
    printf "%s", shown["nvme"] == "" ? "NVMe         none seen\n" : shown["nvme"]
    printf "%s", shown["fs"] == "" ? "file system  none that can be written to\n" : shown["fs"]
    print ""
    print "To begin with (kvgen takes the sizes, kvreplay the sizes and the directory):"
    print "  --gpu-mem " size(gpu) " --cpu-mem " size(host) " --storage-capacity " size(share(room, 1))
    print "  --users " users
    if (target != "") print "  --target " target
    print ""
    if (target == "") print "No disk of this machine can be written to: name a folder on the drive in question."
    else print "This machine has " (gpu ? gpu " GiB of GPU memory, " : "no GPU, ") host " GiB of host memory and " share(room, 1) \
        " GiB of storage at " target " for a KV cache; kvtrace drive " target " measures the drive."
}'
