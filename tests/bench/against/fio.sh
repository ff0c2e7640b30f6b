# fio.sh - what the benches against fio share, which source it with $TOP and $TMP set and PAIRS as their second argument: pages,
# where new files go, and pairs.sh. They judge nothing.
# Buffers lie in the same pages on both sides: fio takes only huge ones that the host has set aside (vm.nr_hugepages); where
# there are fewer than 64, both sides take ordinary ones. Sets pages (of a target's URI) and memory (fio's --iomem).
# shellcheck shell=sh
# shellcheck source=tests/bench/pairs.sh
. "$TOP/tests/bench/pairs.sh"
export pages=huge memory=mmaphuge
[ "$(awk '$1 == "HugePages_Free:" { print $2 }' /proc/meminfo)" -ge 64 ] || pages=small memory=mmap

# new_folder MIB: a folder for the files of one run. They stay there until the case ends: ext4 searches all inodes that were
# deleted in the last minutes before it makes a file, and no run shall pay for that. Where the disk has no room for so many
# runs, those before are removed first, which end_case tells.
new_folder() {
    if [ "$(df -Pm "$TMP" | awk 'NR == 2 { print $4 }')" -lt $(($1 * 3)) ]; then
        rm -rf "$TMP"/new.*
        echo >>"$TMP/removals"
    fi
    mktemp -d "$TMP/new.XXXXXX"
}
end_case() {
    rm -rf "$TMP"/new.*
    [ ! -s "$TMP/removals" ] || echo "(no room for the files of all runs: $(wc -l <"$TMP/removals") times those before were removed)"
    rm -f "$TMP/removals"
}
