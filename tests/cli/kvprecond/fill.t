#!/bin/sh
# fill.t - sequential fills of directories and files: what is written, removed and refused, and how a fill ends early.
# Other modes: modes.t; devices: device.t. A bug looked like a foreign file that was overwritten, a directory that was
# left behind after SIGINT, or a full file system that was reported as success.
# builds: plain address thread
. "${0%/*}/../../lib.sh"
kvprecond=$BIN/kvprecond
summary=$TMP/summary.json

# blocks FILE...: number of blocks of 4 KiB, and of different ones.
blocks() { "$TOP/tests/cli/kvprecond/blocks.py" "$@" | cut -d ' ' -f 1,2; }

# ---- a directory ----

exits 'a directory is filled' 0 "$kvprecond" --size 20M --config file_size=8M --block-size 1M --config iodepth=8 \
    --seed 42 --keep --summary "$summary" "$TMP/dir"
stdout_like 'the report says what was written' '20\.00 MiB of 20\.00 MiB'
is 'in three files' "$(cd "$TMP/dir" && stat -c '%n %s' fill-* | tr '\n' ' ')" \
    'fill-000000.kv 8388608 fill-000001.kv 8388608 fill-000002.kv 4194304 '
is 'no two blocks are alike' "$(blocks "$TMP"/dir/fill-*)" '5120 5120'
is 'and none compresses' "$(($(zstd -q -c "$TMP/dir/fill-000000.kv" | wc -c) * 100 / 8388608 >= 99))" 1
is 'JSON: written_bytes' "$(json "$summary" .written_bytes)" 20971520
is 'JSON: complete' "$(json "$summary" .complete)" true
is 'JSON: kept' "$(json "$summary" .target.kept)" true
is 'JSON: a latency for each write' "$(json "$summary" .service_us.count)" 20
is 'JSON: the program' "$(json "$summary" .program)" kvprecond

cp "$TMP/dir/fill-000001.kv" "$TMP/same"
exits 'what was kept is not taken again' 3 "$kvprecond" --size 1M "$TMP/dir"
stderr_like 'and what is there, and the way out, are named' \
    '^kvprecond: .*/dir: holds 3 objects \(20\.00 MiB\) that an earlier run of kvprecond kept: --destroy-data'
ok 'it is still there' cmp "$TMP/same" "$TMP/dir/fill-000001.kv"
exits '--destroy-data takes it' 0 "$kvprecond" --size 20M --config file_size=8M --keep --destroy-data --seed 42 "$TMP/dir"
ok 'the same seed gives the same bytes' cmp "$TMP/same" "$TMP/dir/fill-000001.kv"
exits 'another seed' 0 "$kvprecond" --size 20M --config file_size=8M --keep --destroy-data --seed 43 "$TMP/dir"
is 'gives others, in every block' "$(blocks "$TMP/same" "$TMP/dir/fill-000001.kv")" '4096 4096'
cp "$TMP/dir/fill-000001.kv" "$TMP/same"
exits 'no seed' 0 "$kvprecond" --size 20M --config file_size=8M --keep --destroy-data --summary "$summary" "$TMP/dir"
is 'is a new one each time' "$(blocks "$TMP/same" "$TMP/dir/fill-000001.kv")" '4096 4096'
seed=$(json "$summary" .seed)
exits 'which the report tells' 0 "$kvprecond" --size 20M --config file_size=8M --keep --destroy-data --seed "$seed" "$TMP/dir"

exits 'without --keep' 0 "$kvprecond" --size 5M --destroy-data "$TMP/dir"
not_ok 'the directory goes as it came' test -e "$TMP/dir"
mkdir "$TMP/mine"
exits 'a directory that was there' 0 "$kvprecond" --size 5M "$TMP/mine"
is 'stays, empty' "$(ls -A "$TMP/mine")" ''
touch "$TMP/mine/letter"
exits 'a directory with foreign files is refused' 3 "$kvprecond" --size 5M --destroy-data "$TMP/mine"
is 'and left alone' "$(ls -A "$TMP/mine")" 'letter'

exits 'odd sizes are rounded up to blocks' 0 "$kvprecond" --size 10000 --keep "$TMP/odd"
is 'to three of them' "$(stat -c %s "$TMP/odd/fill-000000.kv")" 12288
exits 'the other engine' 0 "$kvprecond" --size 9M --block-size 64K --config ioengine=psync --config iodepth=4 --json "$TMP/threads"
stdout_like 'says its name' '"engine": "psync"'

# ---- a regular file ----

: >"$TMP/file"
exits 'an empty file is filled' 0 "$kvprecond" --size 3M --keep "$TMP/file"
is 'in place' "$(stat -c %s "$TMP/file")" 3145728
is 'with unique blocks' "$(blocks "$TMP/file")" '768 768'
exits 'and, being ours, filled again' 0 "$kvprecond" --size 8M "$TMP/file"
is 'then cut to the length it had' "$(stat -c %s "$TMP/file")" 3145728
head -c 100000 /dev/zero >"$TMP/data"
cp "$TMP/data" "$TMP/copy"
exits 'a file with data is refused' 3 "$kvprecond" --size 1M "$TMP/data"
ok 'and left alone' cmp "$TMP/data" "$TMP/copy"
exits '--destroy-data takes it' 0 "$kvprecond" --size 1M --destroy-data "$TMP/data"
not_ok 'and overwrites it' cmp "$TMP/data" "$TMP/copy"
is 'but keeps its length' "$(stat -c %s "$TMP/data")" 100000
ln -s "$TMP/copy" "$TMP/link"
exits 'a link is refused' 3 "$kvprecond" --size 1M --destroy-data "$TMP/link"

# ---- guards ----

for path in / /etc /usr/bin /tmp /proc /etc/kvprecond-test; do
    exits "$path is refused" 3 "$kvprecond" --size 1M --destroy-data "$path"
done
exits 'a device file is refused' 3 "$kvprecond" --size 1M /dev/null
exits 'more than there is room for is refused' 3 "$kvprecond" --size 900000T "$TMP/dir"
stderr_like 'with what was asked and what is free' '^kvprecond: .*: .* asked for, .* free'
not_ok 'and nothing is left' test -e "$TMP/dir"

# ---- usage ----

exits 'no target' 2 "$kvprecond" --size 1M
exits 'no size' 2 "$kvprecond" "$TMP/dir"
stderr_like 'says so' '^kvprecond: --size: required'
exits 'two targets' 2 "$kvprecond" --size 1M "$TMP/dir" "$TMP/other"
exits 'a block that is no multiple of 4 KiB' 2 "$kvprecond" --size 1M --block-size 5000 "$TMP/dir"
exits 'a file size for a single file' 2 "$kvprecond" --size 1M --config file_size=1M "$TMP/file"
exits 'a model in a sequential fill' 2 "$kvprecond" --size 1M --model llama3.1-8b "$TMP/dir"
stderr_like 'with the reason' '^kvprecond: --model: applies only with --mode kv$'
exits 'rounds without --until-steady' 2 "$kvprecond" --size 1M --round 1s "$TMP/dir"
exits 'a file size for objects' 2 "$kvprecond" --size 1M --mode kv --config file_size=1M "$TMP/dir"
exits 'an unknown model' 2 "$kvprecond" --size 1M --mode kv --model none "$TMP/dir"
exits 'more buffers than memory' 2 "$kvprecond" --size 1M --until-steady --threads 256 --config iodepth=4096 --block-size 64M \
    "$TMP/dir"
exits 'of which a small fill takes only what it writes' 0 "$kvprecond" --size 32M --config iodepth=4096 --block-size 16M "$TMP/small"
exits 'a negative size' 2 "$kvprecond" --size -1 "$TMP/dir"
is 'is one line of error' "$(lines "$TMP/stderr")" 1
not_ok 'and none of these made anything' test -e "$TMP/dir"
if [ -e /dev/full ]; then
    rc=0
    "$kvprecond" --size 1M "$TMP/dir" >/dev/full 2>"$TMP/stderr" || rc=$?
    is 'a report that cannot be written is status 1' "$rc" 1
fi
exits 'a summary that cannot be written' 1 "$kvprecond" --size 1M --summary "$TMP/none/s.json" "$TMP/dir"
not_ok 'does not leave the files' test -e "$TMP/dir"

# ---- ended early ----

# limited COMMAND...: with files of 1 MiB at most.
limited() (
    ulimit -f 2048
    exec "$@"
)
exits 'a limit to the size of files ends a fill' 1 limited "$kvprecond" --size 9M --config file_size=3M \
    --config ioengine=psync "$TMP/dir"
stderr_like 'with the reason' '^kvprecond: .*/fill-000000\.kv: .*File too large'
stdout_like 'the report says what ended it' 'written +0 B of 9\.00 MiB, ended by EFBIG'
not_ok 'and nothing is left' test -e "$TMP/dir"
: >"$TMP/small"
exits 'a single file is unusable under it' 3 limited "$kvprecond" --size 9M "$TMP/small"
is 'and stays as it was' "$(stat -c %s "$TMP/small")" 0

# ---- outputs ----

# A fill may take hours: an output that cannot be written is reported before, and one that fails later does not lose the
# others.
exits 'a summary into a folder that is not there' 1 "$kvprecond" --size 1M --summary "$TMP/none/s.json" "$TMP/out"
stderr_like 'is refused' '^kvprecond: .*/none/s\.json: cannot write: No such file'
is 'before anything is written' "$(cat "$TMP/stdout")$(ls -d "$TMP/out" 2>/dev/null)" ''
: >"$TMP/image"
ln -s image "$TMP/alias"
exits 'a summary onto the target' 2 "$kvprecond" --size 1M --keep --summary "$TMP/./alias" "$TMP/image"
stderr_like 'is refused' 'is the target: objects and --summary would overwrite each other$'
exits 'rounds onto the summary' 2 "$kvprecond" --size 1M --until-steady --round 10ms --summary "$TMP/one" \
    --rounds "$TMP/./one" "$TMP/image"
stderr_like 'are refused' 'is named for two outputs \(--summary, --rounds\)$'
rm -f "$summary"
exits 'a closed standard output' 1 sh -c 'exec "$@" >&-' - "$kvprecond" --size 1M --until-steady --round 10ms \
    --summary "$summary" --rounds "$TMP/rounds.csv" "$TMP/image"
is 'loses no summary' "$(json "$summary" .written_bytes)" 1048576
ok 'and no rounds' test -s "$TMP/rounds.csv"

# stopped SIGNAL [OPTION...]: a long fill, which gets the signal as soon as it has begun to write; sets rc.
stopped() {
    signal=$1
    shift
    "$kvprecond" --size 3G --config file_size=64M --config iodepth=2 --block-size 4K --summary "$summary" "$@" "$TMP/dir" \
        >"$TMP/stdout" 2>"$TMP/stderr" &
    pid=$!
    until [ -s "$TMP/dir/fill-000000.kv" ] || ! kill -s 0 "$pid" 2>/dev/null; do sleep 0.02; done
    kill -s "$signal" "$pid"
    rc=0
    wait "$pid" || rc=$?
}
stopped INT
is 'SIGINT ends a fill with 130' "$rc" 130
is 'its summary says so' "$(json "$summary" .ended_by)" SIGINT
is 'and that it is not complete' "$(json "$summary" .complete)" false
not_ok 'nothing is left' test -e "$TMP/dir"
stopped TERM --keep
is 'SIGTERM ends it with 143' "$rc" 143
is 'with --keep what was written stays' "$(json "$summary" .target.kept)" true
ok 'in its files' test -s "$TMP/dir/fill-000000.kv"

# A random fill writes the first block of a file, by which the file is known, at any time. psync: with io_uring, the
# kernel holds the file and its lock a moment longer than the process lives.
: >"$TMP/killed"
"$kvprecond" --size 1G --mode random --config iodepth=1 --config ioengine=psync --progress none "$TMP/killed" >/dev/null 2>&1 &
pid=$!
for _ in $(seq 2000); do
    [ "$(stat -c %s "$TMP/killed")" -lt 1073741824 ] || break
    sleep 0.02
done
kill -s KILL "$pid"
wait "$pid" 2>/dev/null
is 'SIGKILL leaves a file as long as the fill' "$(stat -c %s "$TMP/killed")" 1073741824
exits 'which the next run takes for its own' 0 "$kvprecond" --size 1M "$TMP/killed"
rm -f "$TMP/killed"

# A file system of our own that runs out of files before it runs out of bytes; needs a user namespace.
cat >"$TMP/full.sh" <<'END'
mount -t tmpfs -o size=64m,nr_inodes=6 none "$1/mount" || exit 99
"$2" --size 20M --config file_size=1M --reserve 0 --summary "$1/summary.json" "$1/mount" >"$1/out" 2>"$1/err"
rc=$?
ls -A "$1/mount" >"$1/left"
exit $rc
END
mkdir "$TMP/mount"
if unshare -rm true 2>/dev/null && unshare -rm mount -t tmpfs none "$TMP/mount" 2>/dev/null; then
    exits 'a full file system ends it' 1 unshare -rm sh "$TMP/full.sh" "$TMP" "$kvprecond"
    like 'with what failed and why' "$(cat "$TMP/err")" '^kvprecond: .*/fill-00000.\.kv: .*No space left'
    like 'what was written is said' "$(cat "$TMP/out")" 'written +[1-9]\.00 MiB of 20\.00 MiB, ended by ENOSPC'
    is 'in the summary too' "$(json "$summary" .ended_by)" ENOSPC
    is 'and the files are removed' "$(cat "$TMP/left")" ''
    # Syncing files takes a microsecond at least; reading the clock twice takes less.
    is 'the part that fitted was made durable' "$(json "$summary" '.sync_s >= 1e-6')" true
else
    diag 'no user namespaces here: the full file system is left to test_fill'
fi

done_testing
