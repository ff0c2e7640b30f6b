#!/bin/sh
# on_full.t - a target that gets full during a replay. With --on-full fail (the default) a write fails and is counted. With
# evict a cleaner removes what was read longest ago until 90 % is used, and the write goes on: by --storage-capacity, in files
# and in a slab, as a model of its own removes row by row; by file systems that have no block or no inode left; with many
# writes at once. A later read of what was removed is a miss, counted and told. A bug looked like such a read that was lost
# or corrupt, a run that stood still, or more on the target than it may hold.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request
capacity=524288

# rows SEED ROWS KEYS REQUESTS: writes, reads and deletes of objects of one to eight blocks; one of 16 is larger.
rows() {
    awk -v seed="$1" -v rows="$2" -v keys="$3" -v requests="$4" -v header=$header 'BEGIN {
        srand(seed)
        print header
        for (i = 0; i < rows; i++) {
            k = int(rand() * rand() * keys)
            x = rand()
            op = !(k in size) || x < 0.3 ? "Write" : x < 0.95 ? "Read" : "Delete"
            if (op == "Write") size[k] = 4096 * int(1 + rand() * (rand() < 1 / 16 ? 32 : 8))
            printf "%d,%s,%d,Tier-2,k%d,Decode,%d\n", i / 1000, op, size[k], k, i % requests
            if (op == "Delete") delete size[k]
        }
    }'
}

# model TRACE CAPACITY: what the cleaner does when rows run one after another: a Status a row, then the counts.
model() {
    awk -F, -v capacity="$2" '
        function use(k) { last[k] = ++clock }
        function drop(k) { held -= live[k]; delete live[k]; delete last[k] }
        function clean(goal, k, oldest) {
            cleanings++
            while (held > goal) {
                oldest = ""
                for (k in live)
                    if (oldest == "" || last[k] < last[oldest]) oldest = k
                objects++
                bytes += live[oldest]
                removed[oldest] = 1
                drop(oldest)
            }
        }
        NR == 1 { next }
        { k = $5; status = "ok" }
        $2 == "Write" {
            full = 0
            while (held + $3 - ((k in live) ? live[k] : 0) > capacity) {
                full = 1
                claim = $3 - ((k in live) ? live[k] : 0)
                goal = int(capacity / 10) * 9
                clean(goal < capacity - claim ? goal : capacity - claim)
            }
            writes += full
            if (k in live) drop(k)
            live[k] = $3
            held += $3
            delete removed[k]
            use(k)
        }
        $2 != "Write" && !(k in live) { status = "absent"; misses += $2 == "Read" && (k in removed) }
        $2 == "Read" && (k in live) { use(k) }
        $2 == "Delete" { if (k in live) drop(k); delete removed[k] }
        { print status }
        END { print writes, cleanings, objects, bytes, misses }' "$1"
}
statuses() { sed -n '2,$s/.*,//p' "$TMP/o.csv"; }
counts() { json "$TMP/s.json" '.evidence | .full_writes, .cleanings, .removed_objects, .removed_bytes, .removed_misses'; }
out=$TMP/o.csv
within() { "$@"; }
replay() {
    with "$(rows_only -o "$out")" within "$BIN/kvreplay" --progress none --verify full --summary "$TMP/s.json" -o "$out" "$@"
}
evict() { replay --on-full evict --storage-capacity $capacity"B" --target "$TMP/d" "$@"; }

# One row after another, whatever lies ready: each is of the same request.
seed=0
for layout in files slab; do
    seed=$((seed + 1))
    rows $seed 800 300 1 >"$TMP/t.csv"
    model "$TMP/t.csv" $capacity >"$TMP/model"
    exits "$layout: no row fails" 0 evict --layout $layout "$TMP/t.csv"
    statuses >"$TMP/statuses"
    is "$layout: each row finds what the model finds" "$(sed '$d' "$TMP/model" | diff - "$TMP/statuses" | head -n 5)" ''
    is "$layout: what was removed, and missed" "$(counts)" "$(tail -n 1 "$TMP/model")"
    ok "$layout: that is something" test "$(counts | cut -d' ' -f3)" -gt 50
done
stderr_like 'it is told once' '^kvreplay: Tier-2 is full: objects that were read longest ago are removed until 90 % is used'
is 'and once only' "$(grep -c 'is full' "$TMP/stderr")" 1
stderr_like 'the end tells how many' '^storage was full: [0-9,]+ objects \([^)]*\) removed, which [0-9,]+ reads missed$'
# Many at once: which row finds what depends on time, but nothing fails, and what stays is no more than the target may hold.
rows 4 600 300 100 >"$TMP/t.csv"
for way in '--layout slab' '--order key --inflight 256' '--timing served --workers 20 --max-concurrent-allocs 2' \
    '--config ioengine=psync --config rings=2'; do
    with "$way" exits "many at once, $way: no row fails" 0 evict --keep --destroy-data "$TMP/t.csv"
    is "many at once, $way: nothing lost, nothing wrong" "$(json "$TMP/s.json" '.rows | .failed, .corrupt, .lost')" '0 0 0'
    ok "many at once, $way: some were removed" test "$(json "$TMP/s.json" .evidence.removed_objects)" -gt 20
    ok "many at once, $way: no more than it may hold" test "$(find "$TMP/d" -path '*/??/*.kv' -printf '%s\n' |
        awk '{ n += $1 } END { print n + 0 }')" -le $capacity
    rm -r "$TMP/d"
done
out=$TMP/o.csv.zst
told evict "$TMP/t.csv"
"$BIN/kvstat" "$out" >"$TMP/stdout" 2>&1
stdout_like 'and kvstat' '^Failed +[0-9,]+ rows without their objects [(][0-9,]+ removed to make room[)]$'
"$BIN/kvstat" --full "$out" >"$TMP/stdout" 2>&1
stdout_like 'and all of it' '^Full target  [0-9,]+ writes had [0-9,]+ objects \([^)]*\) removed; [0-9,]+ reads missed these$'
out=$TMP/o.csv

exits 'several targets' 0 replay --on-full evict --storage-capacity $capacity"B" --target "$TMP/a" --target "$TMP/b" "$TMP/t.csv"
is 'several targets: nothing lost, nothing wrong' "$(json "$TMP/s.json" '.rows | .failed, .corrupt, .lost')" '0 0 0'
exits 'as an engine stores files' 0 replay --on-full evict --storage-capacity $capacity"B" --target "file:$TMP/v?like=vllm-fs&pages=small&pool=1MiB" \
    --limit 300 "$TMP/t.csv"
ok 'as an engine stores files: some were removed' test "$(json "$TMP/s.json" .evidence.removed_objects)" -gt 20

# Objects that are read before they are written have room or not; from a pipe they are made when they are met.
{
    echo $header
    awk 'BEGIN { for (i = 0; i < 200; i++) printf "0,Read,8192,Tier-2,k%d,Decode,%d\n", i, i }'
} >"$TMP/reads.csv"
exits 'more to be there than has room' 0 evict "$TMP/reads.csv"
is 'populated as far as it has' "$(json "$TMP/s.json" '.rows.ok, .rows.absent, .populated.objects, .populated.left_objects')" '64 136 64 136'
piped() { tail -n +1 "$TMP/reads.csv" | evict --cpu-mem 1MiB -; }
exits 'from a pipe' 0 piped
is 'they are made, and others removed' "$(json "$TMP/s.json" '.rows.ok + .rows.absent, (.evidence.removed_objects > 50)')" \
    '200 true'

# What no cleaner can make room for.
{
    echo $header
    awk 'BEGIN { for (i = 0; i < 40; i++) printf "0,Write,%d,Tier-2,k%d,Decode,0\n", i == 20 ? 524289 : 8192, i }'
} >"$TMP/large.csv"
exits 'an object that is larger than the target' 1 evict "$TMP/large.csv"
is 'it fails alone, and nothing is removed for it' "$(json "$TMP/s.json" '.rows.ok, .rows.failed, .evidence.removed_objects')" '39 1 0'
stderr_like 'and says why' 'ENOSPC: no room: 524289 bytes needed, 524288 free in the tier of 524288'
is 'and tells of no cleaner' "$(grep -c '^kvreplay: Tier-2 is full\|^storage was full' "$TMP/stderr")" 0
printf '%s\n' $header 0,Read,524289,Tier-2,k,Decode,0 0,Read,524289,Tier-2,k,Decode,1 >"$TMP/reads.csv"
exits 'one that is read before it is written' 1 piped
is 'it cannot be made, and no read comes before its write' "$(json "$TMP/s.json" '.rows.failed, .rows.absent, .reads_before_write')" \
    '1 1 0'

# Without a cleaner: refused where the need is known, else each such write fails.
exits 'fail: refused' 3 replay --storage-capacity $capacity"B" --target "$TMP/d" "$TMP/t.csv"
without() { tail -n +1 "$TMP/t.csv" | replay --cpu-mem 1MiB --on-full fail --storage-capacity $capacity"B" --target "$TMP/d" -; }
exits 'fail: from a pipe' 1 without
is 'fail: counted' "$(json "$TMP/s.json" '.evidence | .on_full, (.full_writes > 20), .removed_objects')" 'fail true null'
is 'fail: each is such a row' "$(statuses | grep -c ENOSPC)" "$(json "$TMP/s.json" .evidence.full_writes)"

# Full is also what a file system says: here by its inodes, of which folders leave less than objects need, long before its
# blocks are used. Each run has a file system of its own, which goes with its namespace.
mkdir "$TMP/fs"
truncate -s 64M "$TMP/image"
cat >"$TMP/mounted" <<'END'
#!/bin/sh
if [ "$2" = tmpfs ]; then mount -t tmpfs -o size=64m,nr_inodes=320 none "$1"; else mount -o loop "$2" "$1"; fi && shift 2 && exec "$@"
END
chmod +x "$TMP/mounted"
rows 5 1200 600 100 >"$TMP/t.csv"
rows 6 30000 15000 30000 >"$TMP/many.csv"
for fs in tmpfs ext4; do
    case $fs in
    tmpfs) within() { unshare -rm "$TMP/mounted" "$TMP/fs" tmpfs "$@"; } ;;
    ext4) within() { mke2fs -q -F -t ext4 -N 320 "$TMP/image" && unshare -m "$TMP/mounted" "$TMP/fs" "$TMP/image" "$@"; } ;;
    esac
    if ! within true 2>/dev/null; then
        ok "$fs # SKIP it cannot be mounted here" true
        continue
    fi
    exits "$fs: no row fails" 0 replay --on-full evict --reserve 0 --target "$TMP/fs/d" "$TMP/t.csv"
    is "$fs: nothing lost, nothing wrong" "$(json "$TMP/s.json" '.rows | .failed, .corrupt, .lost')" '0 0 0'
    ok "$fs: writes found it full" test "$(json "$TMP/s.json" .evidence.full_writes)" -gt 20
    ok "$fs: some objects were removed" test "$(json "$TMP/s.json" .evidence.removed_objects)" -gt 20
    exits "$fs: the time is over while writes find it full" 0 replay --on-full evict --reserve 0 --duration 0.15 --target "$TMP/fs/d" \
        "$TMP/many.csv"
    is "$fs: none of them fails" "$(statuses | grep -c ENOSPC)" 0
    exits "$fs: without a cleaner" 1 replay --reserve 0 --target "$TMP/fs/d" "$TMP/t.csv"
    is "$fs: writes fail" "$(statuses | grep -c ENOSPC)" "$(json "$TMP/s.json" .evidence.full_writes)"
done
within() { "$@"; }

exits 'no path under Tier-2' 2 "$BIN/kvreplay" --on-full evict --tier-engine 2=mem "$TMP/t.csv"
stderr_like 'and says so' 'on-full: applies only with --target PATH'
done_testing
