# fio.sh - what the benches against fio share, which source it with $TMP set and PAIRS as their second argument: pages, the
# order of runs, where new files go, and what is printed. They judge nothing.
# Buffers lie in the same pages on both sides: fio takes only huge ones that the host has set aside (vm.nr_hugepages); where
# there are fewer than 64, both sides take ordinary ones. Sets pages (of a target's URI) and memory (fio's --iomem).
# shellcheck shell=sh
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

# compare WHAT FIGURES OURS THEIRS [OTHER]: PAIRS times theirs, ours, ours, theirs, commands that print the figures of a run,
# which FIGURES names. A line for each figure: the median of ours / OTHER (fio), that of OTHER against itself in the same rhythm,
# and the medians of both. In brackets, where the median lies with 95 % confidence (of 5 pairs or fewer: the least and the most).
compare() {
    what=$1 figures=$2 ours=$3 theirs=$4 other=${5:-fio} i=0
    $theirs >/dev/null # the drive is awake
    $ours >/dev/null
    while [ "$i" -lt "$PAIRS" ]; do
        echo "$($theirs) $($ours) $($ours) $($theirs)"
        i=$((i + 1))
    done | awk -v what="$what" -v figures="$figures" -v other="$other" '
        function sort(v, n,  i, k, x) {
            for (i = 2; i <= n; i++) {
                x = v[i]
                for (k = i - 1; k >= 1 && v[k] > x; k--) v[k + 1] = v[k]
                v[k + 1] = x
            }
        }
        # how many of n values lie beyond each end of the interval
        function beyond(n,  k, p, sum) {
            p = sum = 0.5 ^ n
            for (k = 0; sum <= 0.025; k++) { p = p * (n - k) / (k + 1); sum += p }
            return k > 0 ? k - 1 : 0
        }
        function middle(v, n) { sort(v, n); return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2 }
        function around(v, n,  m, k) { m = middle(v, n); k = beyond(n); return sprintf("%.3f (%.3f to %.3f)", m, v[1 + k], v[n - k]) }
        BEGIN { count = split(figures, name, /, */) }
        NF != 4 * count { print what ": a run has failed" | "cat >&2"; failed = 1; exit 1 }
        {
            for (f = 1; f <= count; f++) {
                fio_1 = $f; ours_1 = $(count + f); ours_2 = $(2 * count + f); fio_2 = $(3 * count + f)
                ratio[f, NR] = sqrt(ours_1 * ours_2 / fio_1 / fio_2); noise[f, NR] = fio_1 / fio_2
                our[f, NR] = (ours_1 + ours_2) / 2; their[f, NR] = (fio_1 + fio_2) / 2
            }
        }
        END {
            for (f = 1; f <= count && !failed; f++) {
                for (i = 1; i <= NR; i++) { a[i] = ratio[f, i]; b[i] = noise[f, i]; c[i] = our[f, i]; d[i] = their[f, i] }
                printf "%s, %s: ours/%s %s, %s/%s %s; ours %.4g, %s %.4g; %d pairs\n", what, name[f], other, around(a, NR),
                    other, other, around(b, NR), middle(c, NR), other, middle(d, NR), NR
            }
        }'
}
