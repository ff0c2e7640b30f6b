# pairs.sh - two sides in interleaved pairs, for the benches that compare, which source it with PAIRS set. Judges nothing.
# shellcheck shell=sh
# compare WHAT FIGURES OURS THEIRS [OTHER]: PAIRS times theirs, ours, ours, theirs, commands that print the figures of a run,
# which FIGURES names. A line for each figure: the median of ours / OTHER (fio), that of OTHER against itself in the same rhythm,
# and the medians of both. In brackets, where the median lies with 95 % confidence (of 5 pairs or fewer: the least and the most).
# $we is what ours is called (ours).
compare() {
    what=$1 figures=$2 ours=$3 theirs=$4 other=${5:-fio} i=0
    $theirs >/dev/null # the drive is awake
    $ours >/dev/null
    while [ "$i" -lt "$PAIRS" ]; do
        echo "$($theirs) $($ours) $($ours) $($theirs)"
        i=$((i + 1))
    done | awk -v what="$what" -v figures="$figures" -v we="${we:-ours}" -v other="$other" '
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
                printf "%s, %s: %s/%s %s, %s/%s %s; %s %.4g, %s %.4g; %d pairs\n", what, name[f], we, other,
                    around(a, NR), other, other, around(b, NR), we, middle(c, NR), other, middle(d, NR), NR
            }
        }'
}
