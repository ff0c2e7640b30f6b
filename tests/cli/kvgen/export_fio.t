#!/bin/sh
# export_fio.t - the iolog holds every read and write of storage in order, each object in room of its own, and fio runs
# it with its job to the end with as many bytes as the trace has. Bugs looked like two live objects on one offset, a read of
# where something else was written, fio dying of an open before an add, or a read past the end of the file.
. "$(dirname "$0")/../../lib.sh"
single_threaded
cd "$TMP" || exit 1

# Objects of 24 KiB to 3 MiB, a good part of them demoted, deleted and moved up again.
{
    echo User,Context_Tokens,Generation_Tokens,Think_s,QoS
    for i in 1 2 3 4 5 6; do echo "u$i,$((i * 20)),8,0.2,batch"; done
} >users.csv
gen() {
    "$BIN/kvgen" --model tiny-1b --users-file users.csv --num-users 6 --duration 3 --seed 5 --generation-mode fast \
        --gpu-mem-gb 0 --cpu-mem-gb 0.006 --storage-capacity-gb 0.02 --promote on-hit "$@"
}
gen -o all.csv 2>/dev/null
awk -F, 'NR > 1 && $4 == "Tier-2" { print $2, $3, $5, $6, $1 }' all.csv >rows
ok 'the trace deletes' grep -q '^Delete ' rows
ok 'the trace moves up' grep -q '^Read .* Evict ' rows

exits 'an iolog' 0 gen --format fio --segment-size 64K -o log.iolog
is 'version 3' "$(head -n 1 log.iolog)" 'fio version 3 iolog'
is 'add comes first' "$(sed -n 2p log.iolog)" '0 log.slab add'
is 'then open' "$(sed -n 3p log.iolog)" '0 log.slab open'
like 'close at the end' "$(tail -n 1 log.iolog)" '^[0-9]+ log\.slab close$'

# Goes through the rows and takes the lines of each; says what does not fit.
check() {
    awk '
        function fail(what) { print FILENAME ":" FNR ": " what; failed++ }
        function drop(key, i, n, part) { n = split(room[key], part, " ")
            for (i = 1; i <= n; i += 2) for (b = int(part[i] / 4096); b < (part[i] + part[i + 1]) / 4096; b++) delete owner[b]
            delete room[key] }
        FNR == NR { if ($3 == "read" || $3 == "write") { n++; at[n] = $1; op[n] = $3; offset[n] = $4; bytes[n] = $5 } next }
        $1 == "Delete" { drop($3); next }
        { want = $1 == "Read" ? "read" : "write"; left = $2; text = ""
          if (first == "") first = $5
          while (left > 0 && line < n) { line++
            if (op[line] != want || bytes[line] > left || bytes[line] > 65536) fail("line " line " is " op[line] " " bytes[line])
            if (at[line] != int(($5 - first) * 1e6 + 0.0005)) fail("line " line " at " at[line])
            if (offset[line] % 4096) fail("line " line ": offset " offset[line])
            left -= bytes[line]; text = text (text == "" ? "" : " ") offset[line] " " bytes[line] }
          if (left) fail("bytes missing: " left)
          if (want == "read" && ($3 in room) && room[$3] != text) fail("read of " text ", written to " room[$3])
          if (want == "write" && ($3 in room) && room[$3] != text) drop($3)
          if (!($3 in room)) { room[$3] = text; m = split(text, part, " ")
            for (i = 1; i <= m; i += 2) for (b = int(part[i] / 4096); b < (part[i] + part[i + 1]) / 4096; b++) {
                if (b in owner) fail("block " b " is of " owner[b] " and " $3)
                owner[b] = $3; if (b > high) high = b } }
          if ($1 == "Read" && $4 == "Evict") drop($3) }
        END { if (line != n) fail("lines left: " n - line); if (!failed) print "all", (n > 100), (high + 1) * 4096 }' "$1" "$2"
}
check log.iolog rows >checked
like 'every row in its own room, in order' "$(cat checked)" '^all 1 '
is 'the file is as large as it must be' "$(sed -n 's/^exec_prerun=truncate -s \([0-9]*\) log\.slab$/\1/p' log.fio)" "$(cut -d ' ' -f 3 checked)"
like 'direct, for all is aligned' "$(cat log.fio)" '^direct=1$'
exits 'whole objects' 0 gen --format fio --segment-size 1G -o whole.iolog
is 'as many lines as rows' "$(grep -cE ' (read|write) ' whole.iolog)" "$(grep -cvE '^Delete' rows)"
exits 'nothing to do' 0 gen --format fio --storage-capacity-gb none -o none.iolog
is 'is an iolog too' "$(tr '\n' ',' <none.iolog)" 'fio version 3 iolog,0 none.slab add,0 none.slab open,0 none.slab close,'
exits 'a name with a space' 2 gen --format fio -o 'a b.iolog'
like 'is refused' "$(cat stderr)" '^kvgen: a b\.iolog: .*space'
exits 'standard output' 2 gen --format fio
exits 'a folder that is not there' 1 gen --format fio -o none/x.iolog
mkdir x.fio
exits 'no room for the job file' 1 gen --format fio -o x.iolog
ok 'no iolog without a job' test ! -e x.iolog

if ! command -v fio >/dev/null || ! command -v python3 >/dev/null; then
    diag 'fio or python3 is not installed: its part is skipped'
    done_testing
    exit 0
fi
# Neither pauses nor O_DIRECT are looked at here: a test's file system may not know the latter.
sed 's/^direct=1/direct=0\nreplay_no_stall=1/' log.fio >fast.fio
# moved: what fio says of its run, against the bytes of the rows.
moved() {
    python3 - <<'END'
import json
text = open("fio.json").read()
job = json.loads(text[text.index("{"):])["jobs"][0]
print(job["error"], job["read"]["io_bytes"], job["write"]["io_bytes"])
END
}
bytes() { awk '{ b[$1] += $2 } END { printf "0 %.0f %.0f", b["Read"], b["Write"] }' rows; }
exits 'fio runs it to the end' 0 fio --output-format=json --output=fio.json fast.fio
is 'fio read and wrote the bytes of the trace' "$(moved)" "$(bytes)"
sed 's/^direct=1/direct=0/' log.fio >timed.fio
exits 'fio keeps its times' 0 fio --output-format=json --output=fio.json timed.fio
took=$(python3 -c 'import json; text = open("fio.json").read(); print(json.loads(text[text.index("{"):])["jobs"][0]["job_runtime"])')
wanted=$(awk -v f="$(head -n 1 rows | cut -d ' ' -f 5)" -v l="$(tail -n 1 rows | cut -d ' ' -f 5)" 'BEGIN { printf "%d", (l - f) * 900 }')
ok "which take $wanted ms or a little more ($took)" test "$took" -ge "$wanted"

# Objects of up to 8 GB, 28 GB in all, on 12 GB of space: only when asked for.
if [ -n "${KVTRACE_LARGE:-}" ]; then
    printf 'User,Context_Tokens,Generation_Tokens,Think_s,QoS\na,25000,8,1,batch\n' >users.csv
    large() {
        "$BIN/kvgen" --model llama3.1-70b-instruct --users-file users.csv --num-users 1 --duration 4 --seed 2 --gpu-mem-gb 0 \
            --generation-mode fast --cpu-mem-gb 0 --storage-capacity-gb 12 --disable-prefix-caching --decode-reads once "$@"
    }
    large -o all.csv 2>/dev/null
    awk -F, 'NR > 1 && $4 == "Tier-2" { print $2, $3, $5, $6, $1 }' all.csv >rows
    ok 'objects of more than 4 GiB are read and written' awk '$2 > 4294967296 { n[$1]++ } END { exit !(n["Read"] && n["Write"]) }' rows
    for size in 1M 1G; do
        exits "an iolog of large objects in pieces of $size" 0 large --format fio --segment-size $size -o log.iolog
        exits "fio runs it" 0 fio --output-format=json --output=fio.json log.fio
        is "with the bytes of the trace" "$(moved)" "$(bytes)"
        rm -f log.slab
    done
fi
done_testing
