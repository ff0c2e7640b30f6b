#!/bin/sh
# export.t - files for other programs hold the operations of the trace: same kinds, keys, sizes and order. The readers
# here know of each format only what the other program knows. A bug looked like a lost operation, times out of order, a
# file that the other program reads as empty, or an object that is read before it was written.
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

generate() {
    "$BIN/kvgen" --model tiny-1b --num-users 20 --duration 20 --seed 3 --generation-mode fast --gpu-mem-gb 1 \
        --cpu-mem-gb 2 --storage-capacity-gb 3 --arrival open --config decode_reads=batch "$@"
}
generate -o all.csv 2>/dev/null
tab=$(printf '\t')

# ---- mlperf: the six columns ----

# values: the kinds of values in a six-column trace: its header, pairs of operation and phase, tiers, and the form of
# times and keys.
values() {
    awk -F, '
        { sub(/\r$/, "") } # the benchmark ends lines with CR LF
        NR == 1 { print; next }
        NF != 6 || $3 !~ /^[0-9]+$/ { print "line " NR ": " $0 }
        { seen[$2 " " $6] = seen[$4] = 1
          key = $5; gsub(/[0-9]+/, "N", key); if (key !~ /^system_/) seen[key] = 1
          time = $1; gsub(/[0-9]/, "9", time); sub(/\.9+/, ".9", time); seen[time] = 1 }
        END { for (v in seen) print v | "sort" }'
}
zstd -dcq "$DATA/mlperf_trace_first400.csv.zst" | values >want
"$BIN/kvgen" --format mlperf --model llama3.1-8b --num-users 20 --duration 5 --gpu-mem-gb 0 --cpu-mem-gb 0 --seed 1 \
    -o benchmark.csv 2>/dev/null
values <benchmark.csv >got
ok 'mlperf: the columns and values of the benchmark itself' cmp got want

# ---- sai3: the op-log ----

# oplog FILE: "OP BYTES KEY SECONDS" of each line of an op-log of 13 columns, and what its reader would refuse.
oplog() {
    awk -F '\t' '
        # 2023-11-14T22:13:20.250000000Z
        function is_date(text) {
            digit = "[0-9]"; two = digit digit
            date = two two "-" two "-" two "T" two ":" two ":" two "[.]" digit "+Z"
            return length(text) == 30 && text ~ "^" date "$"
        }
        NR == 1 { if (NF != 13) print "columns: " NF; next }
        NF != 13 { print "line " NR ": " NF " fields" }
        $1 != NR - 2 { print "line " NR ": index " $1 }
        $2 !~ /^[0-9]+$/ || $5 != 1 || $6 !~ /^[0-9]+$/ { print "line " NR ": numbers" }
        $3 !~ /^(GET|PUT|DELETE)$/ { print "line " NR ": " $3 }
        $7 $8 !~ /^file:\/\/\/.*[^\/]$/ { print "line " NR ": address " $7 $8 }
        !is_date($10) { print "line " NR ": start " $10 }
        $11 != "" && $11 !~ /Z$/ { print "line " NR ": first byte " $11 }
        $10 < last { print "line " NR ": before the line above" }
        $3 == "GET" && !($8 in put) { print "line " NR ": read before written" }
        { last = $10; if ($3 == "PUT") put[$8] = 1 }
        { split(substr($10, 12), time, /[:Z]/)
          printf "%s %s %s %.9f\n", $3, $6, $8, time[1] * 3600 + time[2] * 60 + time[3] }' "$1"
}
# tiers REGEX FILE: the same for the rows of a trace that lie in those tiers.
tiers() {
    awk -F, -v tier="$1" '
        NR > 1 && $4 ~ tier { op = $2 == "Read" ? "GET" : $2 == "Write" ? "PUT" : "DELETE"
            printf "%s %s %s %.9f\n", op, op == "DELETE" ? 0 : $3, $5, $1 }' "$2"
}
# Here all keep their times; sai3_order.t has the rest.
exits 'sai3: storage' 0 generate --format sai3 --settle 0 -o kv.tsv
is 'sai3: the columns of s3dlio, byte for byte' "$(head -n 1 kv.tsv)" "$(head -n 1 "$DATA/s3dlio_oplog_example.tsv")"
oplog kv.tsv >got
tiers Tier-2 all.csv >want
ok 'sai3: the rows of Tier-2, in order' cmp got want
is 'sai3: the summary counts them' "$(sed -n 's/^trace *\([0-9,]*\) rows.*/\1/p' stderr | tr -d ,)" "$(lines want)"
exits 'sai3: compressed' 0 generate --format sai3 --settle 0 -o kv.tsv.zst
zstd -lv kv.tsv.zst >frames 2>&1
is 'sai3: one frame' "$(sed -n 's/.*Frames: \([0-9]*\).*/\1/p; s/^# Zstandard Frames: //p' frames | head -n 1)" 1
ok 'sai3: the same file' sh -c 'zstd -dcq kv.tsv.zst | cmp - kv.tsv'
generate --format sai3 --settle 0 -o - 2>/dev/null >pipe.tsv
ok 'sai3: the same on standard output' cmp pipe.tsv kv.tsv
exits 'sai3: all tiers' 0 generate --format sai3 --settle 0 --only-tier 0,1,2 -o kv.tsv
oplog kv.tsv >got
tiers Tier all.csv >want
ok 'sai3: the rows of all tiers' cmp got want
exits 'sai3: epoch and endpoint' 0 generate --format sai3 --epoch 1700000000.25 --config endpoint=s3://bucket/kv/ --limit 3 \
    -o kv.tsv
is 'sai3: date and address' "$(sed -n 2p kv.tsv | cut -f 7,10)" \
    "s3://bucket/kv/${tab}$(awk -F, '$4 == "Tier-2" { printf "2023-11-14T22:13:%012.9fZ", 20.25 + $1; exit }' all.csv)"
is 'sai3: limit' "$(lines kv.tsv)" 4
exits 'sai3: nothing to write' 0 generate --format sai3 --storage-capacity-gb none -o kv.tsv
is 'sai3: is the header' "$(cat kv.tsv)" "$(head -n 1 "$DATA/s3dlio_oplog_example.tsv")"
exits 'sai3: another name' 2 generate --format sai3 -o kv.csv
stderr_like 'sai3: is refused' '^kvgen: --output: .*\.tsv'
exits 'sai3: endpoint in two lines' 2 generate --format sai3 --config endpoint="s3://a${tab}b" -o kv.tsv
stderr_like 'sai3: is refused too' '^kvgen: --config endpoint: '

# A row of a later time may come first in the file.
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase 5,Write,4096,Tier-2,a,Prefill \
    1,Read,4096,Tier-2,a,Decode 3,Delete,4096,Tier-2,a,Evict >late.csv
"$BIN/kvgen" --input late.csv --format sai3 --settle 0 -o - 2>/dev/null >late.tsv
is 'sai3: rows out of order' "$(oplog late.tsv | cut -d ' ' -f 1,4 | tr '\n' ' ')" \
    'PUT 1.000000000 GET 1.000000000 DELETE 3.000000000 PUT 5.000000000 '

# ---- warp ----

exits 'warp: a simulation' 2 generate --format warp -o kv.csv.zst
stderr_like 'warp: has no latencies' '^kvgen: row 334: .*latency.*kvreplay'
ok 'warp: no file is left' test ! -e kv.csv.zst
exits 'warp: another name' 2 generate --format warp -o kv.csv

# A result of twelve requests with thirteen storage operations, in the order of their completion. This reader takes the
# columns that warp needs: op, start, end, bytes, thread, n_objects, file, error.
benchdata() {
    zstd -dcq "$1" | awk -F '\t' '
        function is_number(text, most) { return text ~ /^[0-9]+$/ && text <= most }
        /^#/ { next }
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; if (NF != 15) print "columns: " NF; next }
        NF != 15 { print "line " NR ": " NF " fields" }
        { thread = $column["thread"]; end = $column["end"]; start = $column["start"] }
        !is_number(thread, 65535) { print "line " NR ": thread " thread }
        $column["n_objects"] != 1 || $column["cat"] != 0 { print "line " NR ": numbers" }
        length(start) != 30 || length(end) != 30 || start < last || end < start { print "line " NR ": times" }
        thread in busy && busy[thread] > start { print "line " NR ": thread " thread " does two things" }
        { last = start; busy[thread] = end
          print $column["op"], $column["bytes"], $column["file"], $column["error"] ".", substr(start, 12),
              $column["duration_ns"] }'
}
exits 'warp: a result' 0 "$BIN/kvgen" --input "$DATA/kvstat_dozen.csv" --format warp --lint -o kv.csv.zst
benchdata kv.csv.zst >got
# The first write is a second before the replay's zero: that second is added to all.
awk -F, 'NR > 1 && $4 == "Tier-2" {
    op = $2 == "Read" ? "GET" : "PUT"
    printf "%s %d %s . 00:00:%012.9fZ %d\n", op, $3, $5, $16 + 1, $17 * 1000
}' "$DATA/kvstat_dozen.csv" | sort -k 5 >operations
ok 'warp: its operations, starts and latencies' cmp got operations
is 'warp: thirteen of them' "$(lines got)" 13
exits 'warp: read as a trace' 0 "$BIN/kvgen" --no-notes --input kv.csv.zst -o again.csv
tail -n +2 again.csv | cut -d, -f 2,3,5 >got
sed 's/^GET/Read/; s/^PUT/Write/' operations | awk '{ print $1 "," $2 "," $3 }' >want
ok 'warp: gives the same operations, sizes and order' cmp got want

# ---- traces of others ----

exits 'sai3: of a result' 0 "$BIN/kvgen" --input "$DATA/kvstat_dozen.csv" --format sai3 --epoch 86400 -o kv.tsv
oplog kv.tsv >got
awk '{
    split($5, time, /[:Z]/)
    day = $3 == "base" && $1 == "PUT" ? 86400 : 0
    printf "%s %s %s %.9f\n", $1, $2, $3, time[3] - 1 + day
}' operations >want
is 'sai3: has the starts of the replay, not of its rows' "$(tail -n 12 got)" "$(tail -n 12 want)"
like 'sai3: and their dates' "$(sed -n 2p kv.tsv)" '1970-01-01T23:59:59\.000000000Z'
exits 'sai3: an op-log of our own' 0 generate --format sai3 --epoch 1700000000 -o kv.tsv
exits 'sai3: read as a trace and written again' 0 "$BIN/kvgen" --input kv.tsv --format sai3 --settle 0 -o again.tsv
cut -f 3,6,8,10 kv.tsv >want
cut -f 3,6,8,10 again.tsv >got
ok 'sai3: is the same' cmp got want
exits 'sai3: of the benchmark' 0 "$BIN/kvgen" --input "$DATA/mlperf_trace_first400.csv.zst" --format sai3 -o kv.tsv
like 'sai3: dates stay' "$(sed -n 2p kv.tsv)" '2026-11-20T20:12:11\.045148000Z'

# Keys with quotes, commas and apostrophes, and an object that is read before it is written.
printf '%s\n' Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase '5.5,Read,10,Tier-2,"a ""b"", c",Decode' \
    "6,Write,20,Tier-2,d'e,Prefill" "7.000000001,Read,20,Tier-2,d'e,Decode" >odd.csv
exits 'sai3: quotes and commas' 0 "$BIN/kvgen" --input odd.csv --format sai3 --settle 0 -o kv.tsv
oplog kv.tsv >got
printf '%s\n' 'PUT 10 a "b", c 5.500000000' 'GET 10 a "b", c 5.500000000' "PUT 20 d'e 6.000000000" \
    "GET 20 d'e 7.000000001" >want
ok 'sai3: are kept as they are, and the first is written before it is read' cmp got want
for bad in 'a\tb' 'a\nb' '../x'; do
    {
        cat odd.csv
        printf '8,Read,1,Tier-2,"%b",Decode\n' "$bad"
    } >bad.csv
    bad=$(printf %s "$bad" | tr -d '[:punct:]') # for the names of tests
    exits "sai3: a key $bad" 2 "$BIN/kvgen" --input bad.csv --format sai3 -o bad.tsv
    stderr_like "sai3: $bad is refused with its row" '^kvgen: row 4: cannot be written as sai3: .*'
    exits "sai3: $bad is found" 1 "$BIN/kvgen" --input bad.csv --format sai3 --lint -o none
    stderr_like "sai3: $bad is counted" '^kvgen: --lint: sai3: 1 row \(first: 4\) with a '
done
ok 'sai3: no file is left' test ! -e bad.tsv
# Rows that go back in time.
{ head -n 1 odd.csv; grep '^7' odd.csv; grep '^5' odd.csv; } >back.csv
exits 'libcachesim: rows out of order' 0 "$BIN/kvgen" --input back.csv --format libcachesim -o kv.lcs.csv
is 'libcachesim: come in order' "$(tail -n +2 kv.lcs.csv | cut -d, -f 1,3 | tr '\n' ' ')" '5,10 7,20 '

# ---- libCacheSim ----

exits 'libcachesim' 0 generate --format libcachesim -o kv.lcs.csv
is 'libcachesim: header' "$(head -n 1 kv.lcs.csv)" time,id,size
tail -n +2 kv.lcs.csv | cut -d, -f1,3 >got
awk -F, 'NR > 1 && ($2 == "Read" || $2 == "Write") && $6 != "Evict" { printf "%d,%s\n", int($1), $3 }' all.csv >want
ok 'libcachesim: times and sizes of all accesses' cmp got want
# keys FILE: the number of the line where each line's key stood first.
keys() { awk '!($0 in first) { first[$0] = NR } { print first[$0] }' "$1"; }
awk -F, 'NR > 1 && ($2 == "Read" || $2 == "Write") && $6 != "Evict" { print $5 }' all.csv >names
tail -n +2 kv.lcs.csv | cut -d, -f2 >ids
keys names >want
keys ids >got
ok 'libcachesim: an id a key' cmp got want
exits 'libcachesim: a limit' 0 generate --format libcachesim --limit 400 -o limited.lcs.csv
is 'libcachesim: is of accesses' "$(cat limited.lcs.csv)" "$(head -n 401 kv.lcs.csv)"
exits 'libcachesim: moves alone' 0 generate --format libcachesim --only-tier 2 --ops Write -o none.lcs.csv
is 'libcachesim: are nothing' "$(lines none.lcs.csv)" 1
stderr_like 'libcachesim: which is said' 'no row is written'
exits 'libcachesim: not compressed' 2 generate --format libcachesim -o kv.csv.zst

exits 'oracle' 0 generate --format oracle -o kv.oracleGeneral
# Bytes of one record a line: u32 time, u64 id, u32 size, i64 next.
od -An -v -tu1 -w24 kv.oracleGeneral | awk '
    function number(from, n, v) { v = 0; while (n-- > 0) v = v * 256 + $(from + n); return v }
    { print number(1, 4) "," number(13, 4) "," ($24 == 255 ? -1 : number(17, 8)) }' >records
cut -d, -f1,2 records >got
tail -n +2 kv.lcs.csv | cut -d, -f1,3 >want
ok 'oracle: the same accesses' cmp got want
tail -n +2 kv.lcs.csv | cut -d, -f2 | awk '{ id[NR] = $1 } END { for (i = NR; i > 0; i--) {
    next_[i] = id[i] in at ? at[id[i]] : -1; at[id[i]] = i } for (i = 1; i <= NR; i++) print next_[i] }' >want
cut -d, -f3 records >got
ok 'oracle: the next access of each' cmp got want
od -An -v -tu8 -w24 -j4 kv.oracleGeneral | awk '{ print $1 }' | head -n 1000 >got
head -n 1000 ids >want
ok 'oracle: the same ids' cmp got want
exits 'oracle: compressed' 0 generate --format oracle -o kv.oracleGeneral.zst
ok 'oracle: the same file' sh -c 'zstd -dcq kv.oracleGeneral.zst | cmp - kv.oracleGeneral'
exits 'oracle: an object of 8 GiB' 2 "$BIN/kvgen" --model llama3.1-70b-instruct --num-users 9 --duration 30 \
    --format oracle -o big
stderr_like 'oracle: is refused' '^kvgen: row [0-9]+: .*4 GiB'
ok 'oracle: no file is left' test ! -e big
exits 'blocks: each lookup is one access' 0 "$BIN/kvgen" --input "$DATA/mooncake_first200.jsonl" --config block_reuse=any \
    --gpu-mem-gb 1 --cpu-mem-gb 1 --format libcachesim -o kv.lcs.csv
is 'blocks: as many as ids' "$(tail -n +2 kv.lcs.csv | wc -l)" \
    "$(sed 's/.*hash_ids": \[//; s/\].*//' "$DATA/mooncake_first200.jsonl" | tr ',' '\n' | grep -c .)"

# ---- lint ----

exits 'lint: nothing is lost' 0 generate --format sai3 --lint -o none
stderr_like 'lint: other tiers are no loss' \
    '^kvgen: --lint: sai3: .* rows \(first: 1\) filtered out \(see --only-tier, --ops\).*no loss'
generate --format sai3 --only-tier 0,1,2 --ops Write --lint -o none 2>stderr
stderr_like 'lint: nor are other operations' '^kvgen: --lint: sai3: .* filtered out \(see --only-tier, --ops\).*no loss'
exits 'lint: warp' 1 generate --format warp --lint -o none
stderr_like 'lint: rows and the first of them' '^kvgen: --lint: warp: [0-9,]+ rows \(first: 334\) without latency'
exits 'lint: mlperf' 1 generate --format mlperf --lint -o none
stderr_like 'lint: deletions' '^kvgen: --lint: mlperf: 1,329 rows \(first: [0-9]+\) of Delete'
exits 'lint: many frames' 1 generate --format mlperf --storage-capacity-gb 0 --lint -o kv.csv.zst
stderr_like 'lint: frames' '^kvgen: --lint: mlperf: .*--config frames=one'
exits 'lint: one frame' 0 generate --format mlperf --storage-capacity-gb 0 --config frames=one --lint -o kv.csv.zst
exits 'lint: of our own format' 2 generate --lint -o kv.csv
exits 'lint: large objects' 1 "$BIN/kvgen" --model llama3.1-70b-instruct --num-users 9 --duration 30 --arrival open --config decode_reads=batch --format oracle \
    --lint -o none
stderr_like 'lint: sizes' '^kvgen: --lint: oracle: 1 row \(first: 112\) of more than 4 GiB'

# ---- nothing to write ----

"$BIN/kvgen" --model tiny-1b --num-users 2 --duration 3 --format sai3 -o none.tsv 2>stderr
is 'no row of Tier-2: the header' "$(lines none.tsv)" 1
stderr_like 'no row of Tier-2: is said' '^kvgen: --output: no row is written: all were filtered out .*--only-tier'
generate --format sai3 --settle 0 -o some.tsv 2>stderr
stderr_unlike 'some rows: nothing to say' '^kvgen:'

# ---- a file appears whole or not at all ----

for made in kept.tsv.zst kept.iolog kept.lcs.csv kept.oracleGeneral; do
    case $made in *.zst) format=sai3 ;; *.iolog) format=fio ;; *.csv) format=libcachesim ;; *) format=oracle ;; esac
    echo before >$made
    mkfifo rows
    "$BIN/kvgen" --input rows --format $format -o $made 2>/dev/null &
    killed=$!
    exec 3>rows
    # More rows than wait in memory; those that a pipe can hold have been read when the last ones fit.
    awk '{ print } NR > 1 && $0 ~ /Tier-2/ { for (i = 0; i < 9; i++) print }' FS=, all.csv >&3
    kill -9 $killed
    wait $killed 2>/dev/null
    exec 3>&-
    is "$format: what was there stays when kvgen is killed" "$(cat $made)" before
    rm -f rows ./kept.*.tmp
    exits "$format: and when the rows end badly" 2 sh -c "{ cat all.csv; echo 1,Read,x,Tier-2,k,Decode; } |
        '$BIN/kvgen' --input - --format $format -o $made"
    is "$format: is as it was" "$(cat $made)" before
    is "$format: nothing lies beside it" "$(ls kept.*.tmp 2>/dev/null)" ''
done
rm -f kept.*

# ---- what has no meaning ----

refused() { # name regex arguments
    refused_name=$1 refused_like=$2
    shift 2
    exits "$refused_name" 2 generate "$@"
    stderr_like "$refused_name: says so" "^kvgen: $refused_like"
}
refused 'endpoint without objects' '--config endpoint' --format fio --config endpoint=s3://x/ -o kv.iolog
refused 'settling without sai3' '--settle' --format warp --settle 2s -o kv.csv.zst
refused 'segments without fio' '--config segment_size' --format sai3 --config segment_size=1M -o kv.tsv
refused 'frames of an op-log' '--config frames' --format sai3 --config frames=one -o kv.tsv.zst
refused 'threads of an op-log' '--config threads' --format sai3 --config threads=2 -o kv.tsv.zst
refused 'epoch of an iolog' '--epoch' --format fio --epoch 5 -o kv.iolog
refused 'compressed iolog' '--format' --format fio -z -o kv.iolog
done_testing
