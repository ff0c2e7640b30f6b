#!/bin/sh
# kvtrace model: measures a folder and an object store, leaves nothing there and what others keep there alone, and writes a
# file that kvgen and kvreplay read. A bug looked like a run without rows, repeated for ever.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
model() { timeout 120 "$BIN/kvtrace" model --sizes 1MiB --in-flight 4,1,4 --storage-capacity-gb 0.05 --point 1 -t 90 "$@"; }

# A folder in which a user keeps objects, and a file.
printf 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n0,Write,4096,Tier-2,a,Prefill\n' >one.csv
told "$BIN/kvreplay" --target kept --keep -o r.csv one.csv
echo mine >kept/file
there=$(cd kept && find . -type f | sort)
exits 'a folder' 0 model kept -o drive.json
stdout_like 'the answer is the last line' '^kept reads up to [0-9.]+ GB/s and writes up to [0-9.]+ GB/s; drive.json has [0-9]+ points, '
stdout_like 'a table' '^     1 MiB          1 '
is 'what others have there stays, alone' "$(cd kept && find . -type f | sort) $(cat kept/file)" "$there mine"
exits 'objects are still there' 0 "$BIN/kvreplay" --target kept --keep --on-absent fail -o r.csv one.csv
json_like drive.json <<'END'
who wrote it         | .program, .target | kvtrace model kept
the command          | .command[1], .command[-1] | model drive.json
points and skipped   | (.points + .skipped | length) | 6
numbers in any order are tried in ascending order, once | [.points[], .skipped[] | select(.read_share == 1) | .in_flight] | join(" ") | 1 4
reads, writes, mixes | ([.points[].read_share] | unique | map(tostring) | join(" ")) | 0 0[.]7 1
confidence           | (.points | all(.low <= .bytes_per_s and .bytes_per_s <= .high and .runs >= 1 and .seconds > 0)) | true
times                | (.points | all(0 < .p50_us and .p50_us <= .p95_us and .p95_us <= .p99_us)) | true
its file system      | (.file_system_type // "none") | [a-z].*
in force             | (.in_force | length > 0), (.valid // false | type) | true boolean
END
exits 'kvgen takes it' 0 "$BIN/kvgen" --model tiny-1b --users 5 --duration 2 --gpu-mem 0 --cpu-mem 0 --tier-model 2=drive.json \
    -o t.csv.zst
exits 'kvreplay takes it' 0 "$BIN/kvreplay" --tier-engine 2=sim:model=drive.json -o r.csv t.csv.zst

mkdir disk
echo mine >disk/file
exits 'no target' 2 model
exits 'a file' 2 model one.csv
exits 'over another file' 2 model disk -o one.csv
stderr_like 'why' 'one.csv is there and not a measurement'
ok 'the file stays' grep -q Tier-2 one.csv
exits 'no room' 3 model disk --storage-capacity-gb 0.0001 -o none.json
stderr_like 'why' 'no point could be measured.*room'
ok 'no file' test ! -e none.json

# ---- what it is told ----

short() {
    timeout 60 "$BIN/kvtrace" model disk --sizes 65536 --in-flight 1 -t 1 --storage-capacity-gb 0.05 -o short.json >"$TMP/stdout" 2>&1 &&
        test "$(json short.json '[.points[].read_share] | tostring')" = '[1]'
}
ok 'no time but for the reads' tries 5 short
is 'nothing stays in a folder with other files' "$(ls -A disk)" file
is 'a measurement without writes is not valid' "$(json short.json '.valid, .why_invalid[0]')" 'false no writes were measured'
stdout_like 'and says so' 'writes at an unknown rate .not measured.; short.json has 1 point, '
while IFS='|' read -r options want; do
    with "$options" exits "$options" 2 "$BIN/kvtrace" model disk -o wrong.json
    stderr_like '... why' "^kvtrace model: $want"
done <<'END'
--sizes 1|--sizes: 1 is not from 4096 to
--sizes 1KiB|--sizes: 1024 is not from 4096 to
--sizes 4X|--sizes: "4X" is not a list of sizes
--reuse soon|--reuse: 'soon' is not a time
--sizes ,|--sizes: ",+" has no numbers
--in-flight 99999|--in-flight: 99999 is not from 1 to 4096
END
exits 'objects that do not fit' 3 model disk --sizes 1099511627776
stderr_like 'why' 'no point could be measured; the objects do not fit in half of the free memory'
done_testing
