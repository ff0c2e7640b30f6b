#!/bin/sh
# screen.t - the default report fits one screen, 25 lines of 80 columns, whatever the run was: ten kinds of runs are kept as
# they are to be, and runs with far too much to say (long names, huge numbers, failures, notes) fit all the same. Bugs
# looked like a table that wrapped, a P99 of 30 reads, or a bottleneck that scrolled away.
#
# GOLDEN=write tests/run cli/kvstat/screen writes what the texts are now into tests/golden/screens. Read them.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
kvstat=$BIN/kvstat
dozen=$DATA/kvstat_dozen.csv
cp "$DATA"/screens/* "$TMP" && cd "$TMP" || exit 1

# too_wide: the lines of $TMP/stdout of more than 80 columns; letters that are none of ASCII may take two, or none.
too_wide() {
    if ! LC_ALL=C grep -q '[^ -~]' stdout; then
        awk 'length > 80' stdout
        return
    fi
    python3 -c '
import sys, unicodedata
width = lambda s: sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in s)
print(*[line.rstrip("\n") for line in open("stdout", encoding="utf-8") if width(line.rstrip("\n")) > 80])'
}
# fits NAME: the text in $TMP/stdout fits a screen.
fits() {
    is "$1: lines fit 80 columns" "$(too_wide)" ''
    is "$1: 25 lines at most, no two of them empty, none at the end" \
        "$(awk '!NF && NR > 1 && !before { print "empty: " NR } { before = NF } END { if (NR > 25 || !before) print NR " lines" }' stdout)" ''
}
# shows NAME ARGS...: the report is as it was, and fits.
shows() {
    name=$1
    shift
    exits "$name" 0 "$kvstat" "$@"
    [ "${GOLDEN-}" != write ] || cp stdout "$TOP/tests/golden/screens/$name.txt"
    ok "$name: as it was" diff -u "$TOP/tests/golden/screens/$name.txt" stdout
    fits "$name"
}

# ---- ten kinds of runs ----

shows gpu_only gpu_only.csv.zst
shows storage_only --profile latency storage_only.csv.zst
shows served --run served.json --profile latency served.csv.zst
shows block_trace block_trace.csv.zst
shows prefill_node --profile throughput prefill_node.csv.zst
# Reads of requests 3 and 5 fail, those of 7 and 9 find nothing.
awk -F, -v OFS=, '$2 == "Read" && $6 == "Decode" && $7 == 3 { $17 = 5; $19 = "EIO" }
    $2 == "Read" && $6 == "Decode" && $7 == 5 { $19 = "corrupt" }
    $2 == "Read" && $6 == "Decode" && $7 > 6 && $7 % 2 { $19 = "absent" } { print }' "$dozen" >failed.csv
shows failed --profile latency failed.csv
shows simulated_tier simulated_tier.csv.zst
"$BIN/kvgen" --model tiny-1b --num-users 4 --duration 10 --seed 7 --gpu-mem 0.1GiB --cpu-mem 0.2GiB --arrival open --config decode_reads=batch -o trace.csv.zst 2>err
shows trace trace.csv.zst
shows trials --profile latency trial1.csv.zst trial2.csv.zst trial3.csv.zst
shows comparison --compare base1.csv.zst --compare base2.csv.zst --compare base3.csv.zst new1.csv.zst new2.csv.zst new3.csv.zst

# ---- what the ten have in common ----

for name in gpu_only storage_only served block_trace prefill_node failed simulated_tier; do
    is "$name: the order is that of the questions" \
        "$(grep -oE '^(Verdict|Validity|Time went|Service times|Requests|Cache|More:)' "$TOP/tests/golden/screens/$name.txt" | tr '\n' ' ')" \
        'Verdict Validity Time went Service times Requests Cache More: '
done
for name in gpu_only simulated_tier; do
    is "$name: simulated tiers are marked" "$(grep -cE '^(GPU|Memory|Storage) (read|write) .*\(sim\.\)' "$TOP/tests/golden/screens/$name.txt")" \
        "$(grep -cE '^(GPU|Memory|Storage) (read|write) ' "$TOP/tests/golden/screens/$name.txt")"
done

# ---- percentiles and their samples ----

# reads N: a replay of N reads, each 1 us longer than the one before.
reads() {
    head -n 1 "$dozen"
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++)
        printf "%d.0,Read,4096,Tier-2,k%d,Decode,%d,u,batch,user,1,%d.0,,%d.0,%d.0,%d.0,%d,%d,ok\n", i, i, i, i, i, i, i, 100 + i, i }'
}
# cells N: p50, p95 and p99 of so many reads.
cells() {
    reads "$1" >few.csv
    "$kvstat" few.csv >stdout 2>err
    awk '/^Storage read/ { for (i = 7; i < NF - 1; i++) printf "%s ", $i == "us" ? "" : $i }' stdout | tr -s ' '
}
for samples in '4 - - -' '5 103 - -' '58 129 - -' '59 130 157 -' '298 249 384 -' '299 250 385 397'; do
    n=${samples%% *}
    is "$n reads" "$(cells "$n")" "${samples#* } "
    if [ "$n" -lt 299 ]; then like "$n reads: a dash is explained" "$(cat stdout)" '^- +too few samples: p50 takes 5, p95 59, p99 299$'; fi
done
unlike '299 reads: nothing to explain' "$(cat stdout)" 'too few samples'

# ---- what has no room ----

long=$(printf 'a-result-with-a-name-of-many-words%.0s-' 1 2 3 4 5).csv
cp "$dozen" "$long"
exits 'a long name' 0 "$kvstat" "$long"
stdout_like 'is shortened in the middle' '^a-result-with-[a-z-]*\.\.\.[a-z-]*words-\.csv   1\.15 s$'
stdout_like 'and not given to a shell' '^More: kvstat --full FILE; '
fits 'a long name'
wide=$(printf '\347\224\250\346\210\267%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25).csv
cp "$dozen" "$wide"
exits 'a name in wide characters' 0 "$kvstat" "$wide"
ok 'is not cut within a character' iconv -f UTF-8 -t UTF-16 stdout
fits 'a name in wide characters'
exits 'a name with blanks' 0 sh -c "cp \"\$1\" \"a b.csv\" && \"\$2\" \"a b.csv\"" - "$dozen" "$kvstat"
stdout_like 'is not given to a shell' '^More: kvstat --full FILE; '
cp "$dozen" "$(printf 'two\nlines.csv')"
exits 'a name of two lines' 0 "$kvstat" "$(printf 'two\nlines.csv')"
stdout_like 'is one line' '^two\?lines\.csv '
from_pipe() { "$kvstat" - <"$dozen"; }
exits 'standard input' 0 from_pipe
stdout_like 'has no name to give' '^More: --full here; or keep the rows \(kvreplay -o rows\.csv\.zst\) for kvstat$'
fits 'standard input'

# Everything at once: three tiers, failures, bad rows, doubts, a verdict, missed targets, notes, fallbacks, autoscaling.
cat >all.json <<'END'
{"program": "kvreplay", "valid": false, "why_invalid": ["the processors were away for a long time, in which nothing ran at all",
 "the device moved far more than what was asked for, and nobody knows why that is so"], "seed": 18446744073709551614,
 "model": {"name": "a-model-with-a-name-that-is-much-longer-than-others", "bytes_per_token": 24576}, "options": {"num-users": 4000000},
 "autoscaling": {"mode": "qos", "users": 123456, "throughput_tokens_per_s": 5000.4, "reason": "the limit of reads from Tier-2 was passed in every step"},
 "validity": {"notes": ["a first note that goes on for a good while and then some more", "a second note of about as many words as the first"]},
 "tiers": [{"tier": "Tier-0", "simulated": true}, {"tier": "Tier-1", "simulated": true},
           {"tier": "Tier-2", "simulated": false, "engine": "psync", "target": "/a/very/long/path/to/the/target/of/this/run/that/goes/on",
            "device": "vdb", "flags": ["buffered"], "fallbacks": ["O_DIRECT refused by this file system, which is a tmpfs", "no io_uring"]}]}
END
{
    head -n 1 "$dozen"
    awk 'BEGIN { split("interactive responsive batch", qos, " ")
        for (i = 0; i < 900; i++) for (t = 0; t < 3; t++) {
            q = qos[i % 3 + 1]; s = i + 10000
            printf "%d.0,Write,900000000000000,Tier-%d,w%d,Prefill,%d,u,%s,user,1000000,%d.0,,%d.0,%d.0,%d.0,9000000000,8000000000,%s\n", i, t, i, i, q, i, i, i, s, i % 7 ? "ok" : "EIO"
            printf "%d.0,Read,900000000000000,Tier-%d,w%d,Decode,%d,u,%s,user,1000000,%d.0,,%d.0,%d.0,%d.0,9000000000,8000000000,%s\n", i, t, i, i, q, i, i, i, s + 9000, i % 5 ? "ok" : "corrupt"
            if (t == 2) printf "%d.0,Generate,0,,,,%d,u,%s,user,10,%d.0,30000,%d.0,%d.0,%d.0,30000000,,ok\n", i, i, q, i, i, i, s + 18000
        } }'
    echo 'bad'
} >all.csv
for options in '' '--profile latency' '--profile throughput' '--warmup 100s --profile mlperf'; do
    with "$options" exits "everything at once, $options" 0 "$kvstat" --skip-bad-rows --run all.json all.csv
    fits "everything at once, $options"
    stdout_like 'the verdict stands' '^Verdict '
    stdout_like 'what is left out is told' 'more: --full'
    stdout_like 'and what to do next' '^More: kvstat --full all\.csv'
done
cp all.csv "$long"
exits 'pooled' 0 "$kvstat" --skip-bad-rows --merge "$long" all.csv
fits 'pooled'
exits 'as trials' 0 "$kvstat" --skip-bad-rows --profile latency "$long" all.csv all.csv "$dozen"
fits 'as trials'
exits 'compared' 0 "$kvstat" --skip-bad-rows --compare "$long" --compare all.csv all.csv "$dozen"
fits 'compared'
exits 'one against one' 0 "$kvstat" --compare "$dozen" failed.csv
fits 'one against one'
stdout_like 'what one run cannot tell is said' '^not tested: '
head -n 1 "$dozen" >none.csv
exits 'no rows' 0 "$kvstat" none.csv
fits 'no rows'

# ---- --full and what options ask for ----

exits '--full' 0 "$kvstat" --full "$dozen"
stdout_like 'has every table' '^Response time '
for options in '--full --json' '--full --csv' '--full --verify-trace'; do
    with "$options" exits "$options" 2 "$kvstat" "$dozen"
    stderr_like 'is refused' '^kvstat: --full: '
done
exits '--by' 0 "$kvstat" --by user "$dozen"
stdout_like 'adds its table to the screen' '^Groups of --by$'
exits '--interval' 0 "$kvstat" --interval 1s "$dozen"
stdout_like 'adds the series' '^Each 1 s '
stdout_like 'below the screen' '^More: '
done_testing
