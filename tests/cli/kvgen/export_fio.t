#!/bin/sh
# export_fio.t - the iolog holds every read and write of storage in order, each object in room of its own, and fio runs
# it and its job to the end, moving as many bytes as the trace has. Bugs looked like two live objects at one offset, a
# read where another object was written, fio dying of an open before an add, or a read past the end of the file.
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1

# Objects of 24 KiB to 3 MiB, a good part of them demoted, deleted and moved up again.
{
    echo User,Context_Tokens,Generation_Tokens,Think_s,QoS
    for i in 1 2 3 4 5 6; do echo "u$i,$((i * 20)),8,0.2,batch"; done
} >users.csv
generate() {
    "$BIN/kvgen" --model tiny-1b --users-file users.csv --num-users 6 --duration 3 --seed 5 --generation-mode fast \
        --gpu-mem-gb 0 --cpu-mem-gb 0.006 --storage-capacity-gb 0.02 --config promote=on-hit "$@"
}
generate -o all.csv 2>/dev/null
awk -F, 'NR > 1 && $4 == "Tier-2" { print $2, $3, $5, $6, $1 }' all.csv >rows
ok 'the trace deletes' grep -q '^Delete ' rows
ok 'the trace moves up' grep -q '^Read .* Evict ' rows

exits 'an iolog' 0 generate --format fio --config segment_size=64K -o log.iolog
is 'version 3' "$(head -n 1 log.iolog)" 'fio version 3 iolog'
is 'add comes first' "$(sed -n 2p log.iolog)" '0 log.slab add'
is 'then open' "$(sed -n 3p log.iolog)" '0 log.slab open'
like 'close at the end' "$(tail -n 1 log.iolog)" '^[0-9]+ log\.slab close$'

# Goes through the rows ("OP BYTES KEY PHASE SECONDS") and takes the lines of the iolog that belong to each; says what
# does not fit. room[KEY]: where an object lies, pairs of offset and bytes. owner[BLOCK]: the key in a block of 4 KiB.
cat >check.awk <<'AWK'
function fail(what) { print FILENAME ":" FNR ": " what; failed++ }
function first_block(offset) { return int(offset / 4096) }
function blocks_end(offset, bytes) { return (offset + bytes) / 4096 }
function drop(key,    i, n, part, block) {
    n = split(room[key], part, " ")
    for (i = 1; i <= n; i += 2)
        for (block = first_block(part[i]); block < blocks_end(part[i], part[i + 1]); block++) delete owner[block]
    delete room[key]
}
function own(key, text,    i, n, part, block) {
    room[key] = text
    n = split(text, part, " ")
    for (i = 1; i <= n; i += 2)
        for (block = first_block(part[i]); block < blocks_end(part[i], part[i + 1]); block++) {
            if (block in owner) fail("block " block " is of " owner[block] " and " key)
            owner[block] = key
            if (block > highest) highest = block
        }
}
FNR == NR {
    if ($3 != "read" && $3 != "write") next
    at[++count] = $1
    op[count] = $3
    offset[count] = $4
    bytes[count] = $5
    next
}
$1 == "Delete" { drop($3); next }
{
    want = tolower($1)
    left = $2
    text = ""
    if (first == "") first = $5
    while (left > 0 && line < count) {
        line++
        if (op[line] != want || bytes[line] > left || bytes[line] > 65536)
            fail("line " line " is " op[line] " " bytes[line])
        if (at[line] != int(($5 - first) * 1e6 + 0.0005)) fail("line " line " at " at[line])
        if (offset[line] % 4096) fail("line " line ": offset " offset[line])
        left -= bytes[line]
        text = text (text == "" ? "" : " ") offset[line] " " bytes[line]
    }
    if (left) fail("bytes missing: " left)
    if (want == "read" && ($3 in room) && room[$3] != text) fail("read of " text ", written to " room[$3])
    if (want == "write" && ($3 in room) && room[$3] != text) drop($3)
    if (!($3 in room)) own($3, text)
    if ($1 == "Read" && $4 == "Evict") drop($3)
}
END {
    if (line != count) fail("lines left: " count - line)
    if (!failed) print "all", (count > 100), (highest + 1) * 4096
}
AWK
awk -f check.awk log.iolog rows >checked
like 'every row in its own room, in order' "$(cat checked)" '^all 1 '
is 'the file is as large as it must be' "$(sed -n 's/^exec_prerun=truncate -s \([0-9]*\) log\.slab$/\1/p' log.fio)" \
    "$(cut -d ' ' -f 3 checked)"
like 'direct, for all is aligned' "$(cat log.fio)" '^direct=1$'
exits 'whole objects' 0 generate --format fio --config segment_size=1G -o whole.iolog
is 'as many lines as rows' "$(grep -cE ' (read|write) ' whole.iolog)" "$(grep -cvE '^Delete' rows)"
exits 'nothing to do' 0 generate --format fio --storage-capacity-gb none -o none.iolog
is 'is an iolog too' "$(tr '\n' ',' <none.iolog)" \
    'fio version 3 iolog,0 none.slab add,0 none.slab open,0 none.slab close,'
exits 'a name with a space' 2 generate --format fio -o 'a b.iolog'
stderr_like 'is refused' '^kvgen: a b\.iolog: .*space'
exits 'standard output' 2 generate --format fio
exits 'a folder that is not there' 1 generate --format fio -o none/x.iolog
mkdir x.fio
exits 'no room for the job file' 1 generate --format fio -o x.iolog
ok 'no iolog without a job' test ! -e x.iolog

if ! command -v fio >/dev/null; then
    diag 'fio is not installed: its part is skipped'
    done_testing
    exit 0
fi
# Without pauses, and without O_DIRECT, which the file system of a test may not know.
sed 's/^direct=1/direct=0\nreplay_no_stall=1/' log.fio >fast.fio
# run_fio JOB: its report, without the lines that fio puts before it, is fio.json.
run_fio() { fio --output-format=json --output=fio.out "$1" && sed -n '/^{/,$p' fio.out >fio.json; }
moved() { json fio.json '.jobs[0] | .error, .read.io_bytes, .write.io_bytes'; }
bytes() { awk '{ bytes[$1] += $2 } END { printf "0 %.0f %.0f", bytes["Read"], bytes["Write"] }' rows; }
exits 'fio runs it to the end' 0 run_fio fast.fio
is 'fio read and wrote the bytes of the trace' "$(moved)" "$(bytes)"
sed 's/^direct=1/direct=0/' log.fio >timed.fio
exits 'fio keeps its times' 0 run_fio timed.fio
took=$(json fio.json '.jobs[0].job_runtime')
wanted=$(awk 'NR == 1 { first = $5 } END { printf "%d", ($5 - first) * 900 }' rows)
ok "which take $wanted ms or a little more ($took)" test "$took" -ge "$wanted"

# Objects of up to 8 GB, 28 GB in all, on 12 GB of space: only when asked for.
if [ -n "${KVTRACE_LARGE:-}" ]; then
    printf 'User,Context_Tokens,Generation_Tokens,Think_s,QoS\na,25000,8,1,batch\n' >users.csv
    large() {
        "$BIN/kvgen" --model llama3.1-70b-instruct --users-file users.csv --num-users 1 --duration 4 --seed 2 \
            --gpu-mem-gb 0 --cpu-mem-gb 0 --storage-capacity-gb 12 --generation-mode fast \
            --disable-prefix-caching --config decode_reads=once "$@"
    }
    large -o all.csv 2>/dev/null
    awk -F, 'NR > 1 && $4 == "Tier-2" { print $2, $3, $5, $6, $1 }' all.csv >rows
    is 'objects of more than 4 GiB are read and written' \
        "$(awk '$2 > 4294967296 { print $1 }' rows | sort -u | tr '\n' ' ')" 'Read Write '
    for size in 1M 1G; do
        exits "an iolog of large objects in pieces of $size" 0 large --format fio --config segment_size=$size -o log.iolog
        exits "fio runs it" 0 run_fio log.fio
        is "with the bytes of the trace" "$(moved)" "$(bytes)"
        rm -f log.slab
    done
fi
done_testing
