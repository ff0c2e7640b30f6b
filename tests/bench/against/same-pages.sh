# same-pages.sh - for benches against fio, which source it: the pages that buffers lie in on both sides. fio takes only huge
# pages that the host has set aside (vm.nr_hugepages); where there are fewer than 64, both sides take ordinary ones. Sets pages
# (of a target's URI) and memory (fio's --iomem).
# shellcheck shell=sh
export pages=huge memory=mmaphuge
[ "$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)" -ge 64 ] || pages=small memory=mmap
