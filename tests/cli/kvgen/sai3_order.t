#!/bin/sh
# kvgen --format sai3: a log that sai3-bench, which waits for no operation, can replay to its end. A checker starts each
# operation at its time on a target whose PUT takes 0.9 s: no GET and no DELETE comes before the PUT of its object is
# done. Operations on one key keep their order, and only what is too early moves. A bug looked like a GET at the time of
# its PUT, a DELETE of an object that had failed to be written, or a whole log that was shifted.
# builds: plain (the order of rows; export.t runs the code under sanitizers)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

# ops FILE: "SECONDS OP KEY SIZE" of each line.
ops() {
    awk -F '\t' 'NR > 1 {
        split($10, part, /[-T:Z]/)
        printf "%.9f %s %s %s\n", part[3] * 86400 + part[4] * 3600 + part[5] * 60 + part[6], $3, $8, $6
    }' "$1"
}
# fails FILE SECONDS [PRELOAD]: operations that fail where a PUT takes so long and truncates first what it overwrites. What
# another log wrote before can be read from the beginning.
fails() {
    { if [ $# -gt 2 ]; then ops "$3" | awk '{print "before", $2, $3}'; fi && ops "$1"; } | awk -v put="$2" '
        $1 == "before" {there[$3] = 0; next}
        $1 < last {print "goes back:", $0} {last = $1}
        $2 == "PUT" {there[$3] = $1 + put}
        $2 != "PUT" && (!($3 in there) || $1 < there[$3]) {print}
        $2 == "DELETE" {delete there[$3]}'
}
# by_key FILE: operations in the order of each key.
by_key() { ops "$1" | awk '{n[$3]++; print $3, n[$3], $2, $4}' | sort -k 1,1 -k 2n; }
span() { ops "$1" | awk 'NR == 1 {first = $1} {last = $1} END {print last - first}'; }

number=0
while read -r name options; do
    number=$((number + 1))
    set -- --model tiny-1b --seed $number
    for option in $options; do set -- "$@" "$option"; done
    told "$BIN/kvgen" "$@" --format sai3 --settle 0 -o plain.tsv
    told "$BIN/kvgen" "$@" --format sai3 -o kv.tsv
    like "$name: as they are, operations fail" "$(fails plain.tsv 0.9 | wc -l)" '^[1-9]'
    is "$name: none does" "$(fails kv.tsv 0.9 | head -n 3)" ""
    is "$name: each key keeps its order" "$(by_key kv.tsv | cksum)" "$(by_key plain.tsv | cksum)"
    like "$name: what moved is said" "$(cat "$TMP/err")" \
        '^kvgen: --settle: [0-9,]+ of [0-9,]+ operations start later, by '
    told "$BIN/kvgen" "$@" --format sai3 --preload -o kv.tsv
    is "$name: preloaded, none fails where a PUT takes 10 s" "$(fails kv.tsv 10 kv.preload.tsv | head -n 3)" ""
    is "$name: each object once, and all that is read or deleted" "$(ops kv.preload.tsv | awk '{print $3}' | sort)" \
        "$(ops kv.tsv | awk '$2 != "PUT" {print $3}' | sort -u)"
    is "$name: what is written or deleted is touched once" "$(ops kv.tsv | awk '{n[$3]++} $2 != "GET" {one[$3]}
        END {for (key in one) if (n[key] > 1) print key}')" ""
    is "$name: all keep their times and order" "$(ops kv.tsv | sed 's/[.]put-[0-9]* / /; s/[.]delete-[0-9]* / /' | cksum)" \
        "$(ops plain.tsv | cksum)"
    case $name in real*)
        ok "$name: the log is hardly longer" test "$(echo "$(span kv.tsv) $(span plain.tsv)" |
            awk '{print ($1 < 1.05 * $2)}')" -eq 1
        ;;
    esac
done <<END
real-users --num-users 20 --duration 120 --gpu-mem-gb 1 --cpu-mem-gb 2
real-moves --num-users 20 --duration 120 --gpu-mem-gb 0.5 --cpu-mem-gb 1 --only-tier 1
real-promoted --num-users 20 --duration 200 --gpu-mem-gb 0.5 --cpu-mem-gb 1 --config promote=on-hit --only-tier 2
real-deletions --num-users 20 --duration 120 --gpu-mem-gb 0 --cpu-mem-gb 1 --storage-capacity-gb 2
between-tiers --num-users 20 --duration 20 --gpu-mem-gb 0.5 --cpu-mem-gb 1 --only-tier 0,1 --generation-mode none
all-tiers --num-users 20 --duration 20 --gpu-mem-gb 0.5 --cpu-mem-gb 1 --only-tier 0,1,2 --config promote=on-hit
none --num-users 30 --duration 20 --gpu-mem-gb 0 --cpu-mem-gb 0 --generation-mode none --storage-capacity-gb 1
blocks --input $DATA/mooncake_first200.jsonl --gpu-mem-gb 0 --cpu-mem-gb 1 --storage-capacity-gb 2
any-blocks --input $DATA/mooncake_first200.jsonl --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 1 --config block_reuse=any
documents --num-users 10 --duration 60 --gpu-mem-gb 0 --cpu-mem-gb 0.2 --enable-rag --storage-capacity-gb 1
END
is "ten of them" "$number" 10

# Rows by hand: only what conflicts is moved, and a delay carries on along its key.
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
sai3() { # OPTIONS..., rows on standard input: the log as "SECONDS OP KEY, ..."
    { echo "$header" && cat; } >rows.csv
    told "$BIN/kvgen" --input rows.csv --format sai3 "$@" -o rows.tsv
    ops rows.tsv | awk '{printf "%g %s %s, ", $1 - 86400, $2, $3}'
}
cat >chain <<'END'
1,Write,10,Tier-2,a,Prefill
1,Read,10,Tier-2,a,Decode
1,Read,10,Tier-2,a,Decode
1.5,Write,20,Tier-2,a,Prefill
1.6,Write,5,Tier-2,b,Prefill
4,Read,5,Tier-2,b,Decode
5,Delete,20,Tier-2,a,Evict
END
is "a chain of one key, and another key" "$(sai3 <chain)" \
    "1 PUT a, 1.6 PUT b, 2 GET a, 2 GET a, 3 PUT a, 4 GET b, 5 DELETE a, "
is "another time apart" "$(sai3 --settle 250ms <chain)" \
    "1 PUT a, 1.25 GET a, 1.25 GET a, 1.5 PUT a, 1.6 PUT b, 4 GET b, 5 DELETE a, "
is "what is never written goes to the head, and all else behind it" "$(sai3 <<'END'
3,Read,10,Tier-2,a,Decode
3.5,Write,5,Tier-2,b,Prefill
9,Read,7,Tier-2,c,Decode
END
)" "3 PUT a, 3 PUT c, 4 GET a, 4.5 PUT b, 10 GET c, "
is "an object that moves away is deleted, unless it comes back" "$(sai3 --only-tier 1 <<'END'
1,Write,10,Tier-1,a,Prefill
1,Write,10,Tier-1,b,Prefill
5,Read,10,Tier-1,a,Evict
5,Write,10,Tier-2,a,Evict
5,Read,10,Tier-1,b,Evict
5,Write,10,Tier-2,b,Evict
9,Read,10,Tier-2,b,Evict
9,Write,10,Tier-1,b,Evict
END
)" "1 PUT a, 1 PUT b, 5 GET a, 5 GET b, 6 DELETE a, 9 PUT b, "
is "between exported tiers it is rewritten" "$(sai3 --only-tier 1,2 <<'END'
1,Write,10,Tier-1,a,Prefill
5,Read,10,Tier-1,a,Evict
5,Write,10,Tier-2,a,Evict
9,Read,10,Tier-2,a,Decode
END
)" "1 PUT a, 5 GET a, 6 PUT a, 9 GET a, "

# Preloaded: one PUT for each key that is read, of the size first read, at 1 GB/s from the time of the first row on; then
# one for each DELETE. Each PUT of the log has a name of its own: beside a GET of what it overwrites, a target that
# truncates gave too few bytes.
cat >rows.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
2,Write,3000000000,Tier-2,a,Prefill
2,Read,3000000000,Tier-2,a,Decode
3,Delete,3000000000,Tier-2,a,Evict
4,Write,10,Tier-2,a,Prefill
5,Read,10,Tier-2,a,Decode
6,Write,10,Tier-2,b,Prefill
7,Delete,10,Tier-2,b,Evict
8,Read,50,Tier-2,c,Decode
9,Delete,10,Tier-2,a,Evict
END
told "$BIN/kvgen" --input rows.csv --format sai3 --preload --lint -o rows.tsv.zst
like "what is preloaded is said" "$(cat "$TMP/err")" \
    '^kvgen: --preload: 5 PUTs, 5.59 GiB, in rows.preload.tsv.zst, to be replayed to its end first; PUTs of the log itself add 2.79 GiB$'
like "and what has another size" "$(cat "$TMP/err")" '^kvgen: --lint: sai3: 1 row .first: 5. that read another size'
for log in rows.preload rows; do zstd -dcq $log.tsv.zst >$log.tsv; done
is "the log before" "$(ops rows.preload.tsv | awk '{printf "%g %s %s %s, ", $1 - 86400, $2, $3, $4}')" \
    "2 PUT a 3000000000, 5 PUT c 50, 5 PUT a.delete-3 3000000000, 8 PUT b.delete-7 10, 8 PUT a.delete-9 10, "
is "the log" "$(ops rows.tsv | awk '{printf "%g %s %s, ", $1 - 86400, $2, $3}')" \
    "2 PUT a.put-1, 2 GET a, 3 DELETE a.delete-3, 4 PUT a.put-4, 5 GET a, 6 PUT b.put-6, 7 DELETE b.delete-7, 8 GET c, 9 DELETE a.delete-9, "
exits "it moves nothing" 2 "$BIN/kvgen" --input rows.csv --format sai3 --preload --settle 2s -o rows.tsv
stderr_like "and says so" '^kvgen: --settle: does not apply with --preload'
exits "it has two files" 2 "$BIN/kvgen" --input rows.csv --format sai3 --preload -o -
stderr_like "and says that, too" '^kvgen: --preload: writes two files'
exits "only looked at" 1 "$BIN/kvgen" --input rows.csv --format sai3 --preload --lint -o none
stderr_like "it writes no file" '^kvgen: --preload: 5 PUTs, 5.59 GiB, in no file'
for key in a.put-1 a.delete-12; do
    printf '%s\n1,Read,10,Tier-2,%s,Decode\n' "$header" $key >bad.csv
    exits "a key that could be one of these names: $key" 2 "$BIN/kvgen" --input bad.csv --format sai3 --preload -o bad.tsv
    stderr_like "is refused" '^kvgen: row 1: cannot be written as sai3: with a key that ends in .put-N'
    exits "only there" 0 "$BIN/kvgen" --input bad.csv --format sai3 -o bad.tsv
done
for key in a.put- .put-1 put-1 a.puts-1 a.put-1x a.put-x1; do
    printf '%s\n1,Read,10,Tier-2,%s,Decode\n' "$header" $key >good.csv
    exits "and none else: $key" 0 "$BIN/kvgen" --input good.csv --format sai3 --preload -o good.tsv
done

# A result: what failed stays out, and what needed it.
cat >failed.csv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Start,Latency_us,Status
1,Write,10,Tier-2,a,Prefill,1,500,ENOSPC
2,Read,10,Tier-2,a,Decode,2,500,ENOENT
3,Read,10,Tier-2,a,Decode,3,500,ok
4,Delete,10,Tier-2,a,Evict,4,500,ok
5,Write,10,Tier-2,b,Prefill,5,500,ok
6,Write,10,Tier-2,b,Prefill,6,500,EIO
7,Read,10,Tier-2,b,Decode,7,500,ok
END
told "$BIN/kvgen" --input failed.csv --format sai3 --lint -o failed.tsv
is "rows that failed, and those of an object that was not written" \
    "$(ops failed.tsv | awk '{print $2, $3}' | tr '\n' ' ')" "PUT b GET b "
like "failed ones are counted" "$(cat "$TMP/err")" \
    '^kvgen: --lint: sai3: 3 rows \(first: 1\) that failed in the run: left out'
like "and the others" "$(cat "$TMP/err")" \
    '^kvgen: --lint: sai3: 2 rows \(first: 3\) that need an object whose PUT failed'

# A result says how long operations take on its target: of those that another one follows on their object.
exits "a GET before a PUT" 0 "$BIN/kvgen" --input - --format sai3 -o rows.tsv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Start,Latency_us,Status
1,Write,10,Tier-2,a,Prefill,1,1200000,ok
9,Read,10,Tier-2,a,Decode,9,5630000,ok
9,Read,10,Tier-2,a,Decode,9,500,ok
20,Write,10,Tier-2,a,Prefill,20,8000000,ok
30,Write,10,Tier-2,b,Prefill,30,9000000,ok
END
stderr_like "what its target needs" \
    '^kvgen: --settle: operations took up to 5[.]63 s in this result: its target needs --settle 5[.]7s or more$'
exits "no operation meets another" 0 "$BIN/kvgen" --input - --format sai3 -o rows.tsv <<'END'
Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Start,Latency_us,Status
1,Write,10,Tier-2,a,Prefill,1,1200000,ok
30,Write,10,Tier-2,b,Prefill,30,9000000,ok
END
is "nothing is needed" "$(grep -c settle "$TMP/stderr")" 0
{ echo "$header" && cat chain; } >chain.csv
exits "a trace" 0 "$BIN/kvgen" --input chain.csv --format sai3 -o rows.tsv
stderr_like "does not know" '^kvgen: --settle: 3 of 7 operations start later, by 1[.]17 s on average and 1[.]50 s at most$'

# Where nothing is moved, a PUT beside a GET of the same object is named: it may be read while it is truncated.
printf '%s\n1,Write,10,Tier-2,a,Prefill\n5,Read,10,Tier-2,a,Decode\n5,Write,10,Tier-2,a,Prefill\n' "$header" >beside.csv
exits "a PUT beside a GET" 1 "$BIN/kvgen" --input beside.csv --format sai3 --settle 0 --lint -o none
stderr_like "is a loss" '^kvgen: --lint: sai3: 1 row .first: 3. that start before .* or write beside a GET'
exits "apart it is none" 0 "$BIN/kvgen" --input beside.csv --format sai3 --lint -o none

# --lint counts what would fail with PUTs of three lengths.
set -- --model tiny-1b --num-users 20 --duration 60 --gpu-mem-gb 0 --cpu-mem-gb 0 --generation-mode none
lint() {
    "$BIN/kvgen" "$@" --format sai3 --lint -o lint.tsv 2>&1 |
        sed -n 's/^kvgen: --lint: sai3: \([0-9,]*\) row.*takes \([0-9.]*\) s .*/\2:\1/p' | tr -d , | tr '\n' ' '
}
is "lint: as they are" "$(lint "$@" --settle 0)" \
    "$(for s in 0.1 1 10; do echo "$s:$(fails lint.tsv $s | wc -l)"; done | tr '\n' ' ')"
is "lint: a second apart, only slow ones fail" "$(lint "$@")" "10:$(fails lint.tsv 10 | wc -l) "
is "lint: ten seconds apart none does" "$(lint "$@" --settle 10s)" ""
exits "lint: a second apart is no loss" 0 "$BIN/kvgen" "$@" --format sai3 --lint -o none
exits "lint: none apart is one" 1 "$BIN/kvgen" "$@" --format sai3 --settle 0 --lint -o none
done_testing
