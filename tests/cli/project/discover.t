#!/bin/sh
# discover.t - examples/discover.sh on machines made of text: its lists and its proposal, which both forms give alike. A
# bug looked like a read-only or a smaller disk as target, a mount point that was cut at a blank, or a size that the
# options do not take.
# builds: plain
. "${0%/*}/../../lib.sh"

root=$TMP/machine
mkdir -p "$root/proc" "$root/sys/block/nvme0n1/device" "$TMP/bin" "$TMP/fast" "$TMP/fast two" "$TMP/slow" "$TMP/boot"
printf 'MemTotal:       67108864 kB\nMemFree:  1 kB\nMemAvailable:   52428800 kB\n' >"$root/proc/meminfo"
echo 3750748848 >"$root/sys/block/nvme0n1/size"
echo 'A "quick" drive   ' >"$root/sys/block/nvme0n1/device/model"
printf 'processor\t: 0\nmodel name\t: processor\nprocessor\t: 1\n' >"$root/proc/cpuinfo"
cat >"$root/proc/mounts" <<END
proc /proc proc rw 0 0
tmpfs /tmp tmpfs rw 0 0
/dev/sda1 $TMP/slow ext4 rw,relatime 0 0
/dev/nvme0n1p1 $TMP/boot vfat rw 0 0
/dev/nvme0n1p2 $TMP/fast ext4 rw,relatime 0 0
/dev/nvme0n1p2 $TMP/slow/again ext4 rw,relatime 0 0
/dev/nvme0n1p3 $TMP/fast\\040two xfs rw 0 0
/dev/nvme0n1p4 $TMP/readonly ext4 ro 0 0
/dev/nvme0n1p5 $TMP/closed ext4 rw 0 0
END
cat >"$TMP/bin/df" <<'END'
#!/bin/sh
echo 'Filesystem 1024-blocks Used Available Capacity Mounted on'
case $2 in
*/fast) echo "/dev/x y 209715200 1 104857600 50% $2" ;;
*two) echo "/dev/x 419430400 1 209715200 50% $2" ;;
*) echo "/dev/x 4194304000 1 4194304000 0% $2" ;;
esac
END
cat >"$TMP/bin/nvidia-smi" <<'END'
#!/bin/sh
printf 'NVIDIA Big One, 143771, 131072\nNVIDIA Small One, 8192, 4096\nNVIDIA Odd One, 8192, [N/A]\n'
END
chmod +x "$TMP/bin/df" "$TMP/bin/nvidia-smi"
discover() { PATH=$TMP/bin:$PATH DISCOVER_ROOT=$root "$TOP/examples/discover.sh" "$@"; }

exits 'a machine with everything' 0 discover
text=$(cat "$TMP/stdout")
like 'a GPU' "$text" '^GPU          NVIDIA Big One, 140\.4 GiB, 128\.0 GiB of it free$'
like 'and the other one' "$text" '^GPU          NVIDIA Small One'
unlike 'none whose memory is not known' "$text" 'Odd One'
like 'memory' "$text" '^memory       64\.0 GiB, 50\.0 GiB of it available$'
like 'the drive' "$text" '^NVMe         /dev/nvme0n1, 1788\.5 GiB, A "quick" drive$'
like 'a file system' "$text" "^file system  $TMP/fast, ext4 on /dev/nvme0n1p2, 200\\.0 GiB, 100\\.0 GiB of it free\$"
like 'one that is not ours' "$text" "^file system  $TMP/closed, .*, not yours to write\$"
unlike 'no firmware, none read-only, none twice' "$text" "$TMP/(boot|readonly|slow/again)"
like 'the proposal' "$text" '^  --gpu-mem 64GiB --cpu-mem 25GiB --storage-capacity 150GiB$'
like 'the processors' "$text" '^processors   2$'
like 'as many users as two processors take' "$text" '^  --users 100$'
like 'and its target' "$text" "^  --target $TMP/fast two/kvtrace\$"

# The options that it proposes are options.
with "$(printf '%s\n' "$text" | sed -n 's/^  --gpu/--gpu/p')" \
    exits 'kvgen takes the sizes' 0 "$BIN/kvgen" --model tiny-1b --users 1 --duration 1 --limit 1 --output /dev/null

exits 'as JSON' 0 discover --json
is 'one line' "$(lines "$TMP/stdout")" 1
json_like "$TMP/stdout" <<END
the same proposal | .proposal | .gpu_mem_gb, .cpu_mem_gb, .storage_capacity_gb | 64 25 150
processors, users | .processors, .proposal.num_users | 2 100
and its target    | .proposal.target | $TMP/fast two/kvtrace
bytes of the GPUs | .gpus[].bytes | 150754820096 8589934592
the drive         | .nvme[] | .bytes, .model | 1920383410176 A "quick" drive
free space        | .file_systems[].free_bytes / 1073741824 | floor | 4000 100 200 4000
on NVMe           | .file_systems[].nvme | false true true true
to be written     | .file_systems[].writable | true true true false
END

# A machine with little: no GPU, no drive, half a GiB.
printf '#!/bin/sh\necho "no devices were found"\nexit 6\n' >"$TMP/bin/nvidia-smi"
rm -r "$root/sys"
printf 'MemTotal: 524288 kB\nMemAvailable: 524288 kB\n' >"$root/proc/meminfo"
: >"$root/proc/mounts"
rm "$root/proc/cpuinfo"
exits 'a machine with little' 0 discover
stdout_like 'no GPU' '^GPU          none seen$'
stdout_like 'sizes below one' '^  --gpu-mem 0 --cpu-mem 0\.25GiB --storage-capacity 0$'
stdout_like 'processors that are not known' '^processors   not known$'
stdout_like 'few users' '^  --users 10$'
exits 'as JSON too' 0 discover --json
stdout_like 'without a target' '"gpus":\[\],.*"nvme":\[\],"file_systems":\[\],.*"target":null\}\}$'

exits 'this machine' 0 "$TOP/examples/discover.sh"
exits 'help' 0 "$TOP/examples/discover.sh" --help
exits 'an option that it does not know' 2 "$TOP/examples/discover.sh" --everything
done_testing
