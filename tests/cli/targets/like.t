#!/bin/sh
# like.t - like= of a target's URI: the store is laid out as the engine lays it out, and each store, load, lookup and
# eviction makes the engine's calls, in its order, with its flags and sizes (strace). Every layout takes the same rows as
# our own and verifies each byte. What cannot be done so is refused. A bug looked like a direct load of 2 MiB that was two
# of 1 MiB, an fsync that nobody asked for, or an object that was never found again.
# builds: plain address thread
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

header=Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request
replay() { "$BIN/kvreplay" --progress none --no-notes -o "$TMP/o.csv" --summary "$TMP/s.json" "$@"; }
objects() { find "$TMP/d" -type f ! -name '.kvtrace*' ! -name config.json | sed "s|^$TMP/d/||"; }

# ---- refused ----

printf '%s\n' $header 0,Write,2097152,Tier-2,a,Prefill,1 >"$TMP/w.csv"
exits 'an unknown engine' 2 replay --target "file:$TMP/d?like=sglang" "$TMP/w.csv"
stderr_like 'which are known' 'like=sglang is not known: like= takes kvtrace, lmcache-fs, lmcache-fs-direct or vllm-fs'
: >"$TMP/f"
exits 'a file' 2 replay --target "file:$TMP/f?like=vllm-fs" "$TMP/w.csv"
stderr_like 'is no directory' 'f is not a directory: like= stores files as the engine does'
exits 'two engines' 2 replay --target "file:$TMP/d?like=vllm-fs&like=lmcache-fs" "$TMP/w.csv"
stderr_like 'one of them would be ignored' 'like= is given twice'
exits 'a path without file:' 2 replay --target "$TMP/d?like=vllm-fs" "$TMP/w.csv"
stderr_like 'would be a folder of that name' 'like= takes effect behind file: only: file:.*/d\?like=vllm-fs '
exits 'S3' 2 replay --target "s3://bucket/x?like=vllm-fs" "$TMP/w.csv"
stderr_like 'has no files' 'like= applies only to a directory'
for option in --iodepth=4 "--config rings=2" "--config ioengine=psync" "--config sqpoll=true" --buffered --chunk-size=64KiB \
    --layout=slab --layout=files; do
    exits "$option" 2 with "$option" replay "$TMP/w.csv" --target "file:$TMP/d?like=lmcache-fs"
    stderr_like 'is not ignored' "${option%=*}.*does not apply with like="
done
printf '%s\n' $header 0,Write,300000000,Tier-2,a,Prefill,1 >"$TMP/large.csv"
exits 'an object that no single call moves' 2 replay --target "file:$TMP/d?like=lmcache-fs" "$TMP/large.csv"
stderr_like 'what helps' 'at most 256 MiB .*kvgen --granularity block:256'
not_ok 'nothing is left of it' test -e "$TMP/d"

# ---- layouts: rewrites, moves, partial reads, odd sizes ----

awk 'BEGIN {
    srand(11)
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request"
    for (i = 0; i < 150; i++) {
        key = int(rand() * 40); what = rand()
        if (key in size && what < 0.5) row("Read", rand() < 0.2 ? 1 + int(rand() * size[key]) : size[key], "Decode")
        else if (key in size && what < 0.6) { row("Read", size[key], "Evict"); delete size[key] }
        else if (key in size && what < 0.7) { row("Delete", 0, "Evict"); delete size[key] }
        else if (what > 0.97) printf "%.3f,Miss,0,,none%d,,%d\n", i / 1000, i, i / 3
        else if (!(key in seen) && what < 0.3) { size[key] = bytes(); row("Read", size[key], "Decode") }
        else { size[key] = bytes(); row("Write", size[key], "Prefill") }
        seen[key] = 1
    }
}
function bytes() { return rand() < 0.5 ? 4096 * int(1 + rand() * 60) : int(1 + rand() * 240000) }
function row(op, n, phase) { printf "%.3f,%s,%d,Tier-2,k%d,%s,%d\n", i / 1000, op, n, key, phase, i / 3 }' >"$TMP/t.csv"
rows=150
right() {
    name=$1
    shift
    replay --verify full "$@" 2>"$TMP/stderr"
    is "$name" "$? $(json "$TMP/s.json" .rows.ok)" "0 $rows" || diag "$(cat "$TMP/stderr")"
}
lookups=$(awk -F, '$2 == "Miss" || ($2 == "Read" && $4 == "Tier-2") { n++ } END { print n }' "$TMP/t.csv")
# The engine's pages are written first, which takes longer than all else: once.
set -- '' '&pages=huge' '&workers=1&pages=small' '&workers=3&load-workers=2&pages=small' '&cache=drop&pages=small' \
    '&direct=yes&pages=small' '&direct=no&pages=small'
! sanitized || set -- '' '&workers=3&load-workers=2' '&pages=huge' # the others are flags of calls
for like in lmcache-fs lmcache-fs-direct vllm-fs; do
    for with; do
        right "$like$with" --target "file:$TMP/d?like=$like&pool=1MiB$with" "$TMP/t.csv"
    done
    right "$like, synced" --sync object --target "file:$TMP/d?like=$like&pages=small&pool=1MiB" "$TMP/t.csv"
    right "$like, by key" --order key --inflight 256 --target "file:$TMP/d?like=$like&pages=small&pool=1MiB" "$TMP/t.csv"
    right "$like, in time" --timing trace --target "file:$TMP/d?like=$like&pages=small&pool=1MiB" --config lag_limit=1m "$TMP/t.csv"
    is "$like: a lookup for each Read and Miss row" "$(json "$TMP/s.json" 'tier("Tier-2").lookup.ops, .apart[0].ops')" \
        "$lookups $lookups"
    is "$like: reads without them" "$(json "$TMP/s.json" 'tier("Tier-2").read.ops')" "$(grep -c ,Read, "$TMP/t.csv")"
    mkfifo "$TMP/$like.fifo"
    cat "$TMP/t.csv" >"$TMP/$like.fifo" &
    right "$like, from a pipe" --cpu-mem 1MiB --target "file:$TMP/d?like=$like&pages=small&pool=16MiB" "$TMP/$like.fifo"
    not_ok "$like: nothing is left" test -e "$TMP/d"
done
"$BIN/kvreplay" --progress none --no-notes -o "$TMP/o.csv" --target "file:$TMP/d?like=lmcache-fs&pages=small&pool=1MiB" "$TMP/t.csv" 2>/dev/null
is 'a Miss row has the time of its lookup' "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $2 == "Miss" && ($at["Latency_us"] + 0 <= 0 || $NF != "ok") { n++ } END { print n + 0 }' "$TMP/o.csv")" 0
exits 'a file is shorter than its object' 0 replay --keep --target "file:$TMP/d?like=lmcache-fs" "$TMP/w.csv"
sed 's/Write/Read/; s/Prefill/Decode/' "$TMP/w.csv" >"$TMP/r.csv"
{ cat "$TMP/r.csv"; echo '9,Read,2097152,Tier-2,a,Decode,2'; } >"$TMP/slow.csv"
(
    "$BIN/kvreplay" --progress none --no-notes --timing trace --speed 9 -o "$TMP/o.csv" --target \
        "file:$TMP/d?like=lmcache-fs" --destroy-data "$TMP/slow.csv" 2>/dev/null
) &
until [ "$(grep -c Read "$TMP/o.csv")" -ge 1 ]; do sleep 0.05; done
for file in "$TMP"/d/*.data; do truncate -s 1M "$file"; done
wait
is 'is corrupt' "$(awk -F, '$2 == "Read" { print $NF }' "$TMP/o.csv" | tr '\n' ' ')" 'ok corrupt '

# ---- names ----

names() {
    replay --keep --target "file:$TMP/d?like=$1" "$TMP/w.csv" 2>/dev/null
    objects | sed -E 's/[0-9a-f]{64}/HASH/; s|[0-9a-f]{3}/[0-9a-f]{2}_g0|hhh/hh_g0|'
    rm -rf "$TMP/d"
}
is 'lmcache-fs: flat' "$(names lmcache-fs)" 'kvtrace@0x00000000@0@HASH.data'
is 'lmcache-fs-direct: the same' "$(names lmcache-fs-direct)" 'kvtrace@0x00000000@0@HASH.data'
is 'vllm-fs: folders' "$(names vllm-fs)" 'kvtrace_9c52d1f07ab3_r0/hhh/hh_g0/HASH.bin'

# ---- what a crash left ----

replay --keep --target "file:$TMP/d?like=lmcache-fs" "$TMP/w.csv" 2>/dev/null
hash=$(objects | sed 's/.*@//; s/\.data//')
: >"$TMP/d/kvtrace@0x00000000@0@$hash.tmp"
mkdir -p "$TMP/d/kvtrace_9c52d1f07ab3_r0/abc/de_g0"
: >"$TMP/d/kvtrace_9c52d1f07ab3_r0/abc/de_g0/$hash.bin.3.tmp"
: >"$TMP/d/notes.tmp"
exits 'temporary files that a crash left' 0 replay --keep --target "file:$TMP/d?like=lmcache-fs" "$TMP/r.csv"
is 'are removed at the start, and no others' "$(objects | sed "s/$hash/HASH/" | sort | tr '\n' ' ')" \
    'kvtrace@0x00000000@0@HASH.data notes.tmp '
is 'the object is adopted' "$(json "$TMP/s.json" .populated.adopted_objects)" 1
exits 'the end' 0 replay --destroy-data --target "file:$TMP/d?like=lmcache-fs" "$TMP/r.csv"
is 'only the other file stays' "$(objects)" notes.tmp
rm -rf "$TMP/d"

# ---- the page cache ----

replay --full --keep --target "file:$TMP/d?like=lmcache-fs" "$TMP/w.csv" 2>/dev/null
if [ "$(json "$TMP/s.json" .evidence.target)" = storage ]; then
    exits 'reads from the page cache' 0 "$BIN/kvreplay" --progress none --full -o "$TMP/o.csv.zst" --summary "$TMP/s.json" \
        --target "file:$TMP/d?like=lmcache-fs" --destroy-data "$TMP/r.csv"
    stderr_like 'are what the engine sees' 'page cache included: that is what lmcache-fs sees; .* came from the device'
    stderr_like 'what is left out' "the engine's own time \(Python, copies into its pool\) is not in here"
    is 'evidence' "$(json "$TMP/s.json" '.evidence | .like, .page_cache, .pages, (.resident_share_before | type)')" \
        'lmcache-fs included engine number'
    printf '%s\n' $header 0,Write,8388608,Tier-2,b,Prefill,1 0.1,Read,8388608,Tier-2,b,Decode,1 >"$TMP/again.csv"
    exits 'what was just stored' 0 "$BIN/kvreplay" --progress none -o "$TMP/o2.csv.zst" --summary "$TMP/s.json" \
        --target "file:$TMP/d2?like=lmcache-fs" "$TMP/again.csv"
    stderr_like 'is not read from the drive: on the first screen' 'INVALID: [0-9]+ % of the bytes read came from the page cache'
    like 'in the summary' "$(json "$TMP/s.json" '.validity[] | select(.figures == "storage") | .state, .why')" \
        '^unreliable [0-9]+ % of the bytes read came from the page cache, which lmcache-fs uses$'
    exits 'kvstat' 0 "$BIN/kvstat" "$TMP/o2.csv.zst"
    stdout_like 'has it on its first screen' 'Validity +unreliable: '
    like 'in words' "$("$BIN/kvstat" --full "$TMP/o2.csv.zst" | tr '\n' ' ' | tr -s ' ')" \
        'of the bytes read came from the page cache, which lmcache-fs uses'
    exits 'profile latency judges the drive' 0 "$BIN/kvstat" --full --profile latency "$TMP/o.csv.zst"
    stdout_like 'so it is open' 'storage_read_p95 .*INCONCLUSIVE'
    stdout_like 'which it says' 'page cache included'
    stdout_like 'the report has the lookups' '1 lookups? (on Tier-2|counted apart)'
    stdout_like 'and what is left out' 'Python, copies into its pool'
    exits 'stores' 0 "$BIN/kvreplay" --progress none -o "$TMP/o2.csv.zst" --summary "$TMP/s.json" \
        --target "file:$TMP/d?like=lmcache-fs-direct" "$TMP/w.csv"
    exits 'are not judged' 4 "$BIN/kvstat" --profile throughput --check "$TMP/o2.csv.zst"
    like 'why' "$(tr '\n' ' ' <"$TMP/stdout" | tr -s ' ')" "how near stores as lmcache-fs-direct come to the engine's own is not shown"
    is 'the pool' "$(json "$TMP/s.json" '.tiers[0].flags[]' | grep -c "buffers in the engine.s pages, a pool of [0-9]")" 1
    if [ "$(id -u)" -eq 0 ] && [ "$(json "$TMP/s.json" .evidence.pages_run)" != null ]; then
        # A drive without a name, where there is no /sys, is told by its folder: the line may end before it says how many.
        stdout_like 'its pages are on the first screen' ', pages in( run|$)'
    fi
fi
rm -rf "$TMP/d"

# ---- what no engine does: making and checking contents ----

awk 'BEGIN { print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request"
    for (i = 0; i < 4; i++) for (op = 0; op < 2; op++)
        printf "0,%s,67108864,Tier-2,k%d,%s,%d\n", op ? "Read" : "Write", i, op ? "Decode" : "Prefill", i }' >"$TMP/big.csv"
# rest OP: the least time in us that is neither a call nor waiting. To make or check 64 MiB takes milliseconds.
rest() {
    awk -F, -v op="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $2 == op { v = $at["Latency_us"] - $at["Device_us"] - $at["Slot_us"]; if (!n++ || v < least) least = v }
        END { print (n == 4 && least >= 0 && least < 1000) ? "little" : n " " least }' "$TMP/o.csv"
}
exits 'large objects' 0 replay --verify full --inflight 1 --target "file:$TMP/d?like=lmcache-fs&workers=1&pages=small&pool=64MiB" "$TMP/big.csv"
is 'the time of a store has no making of data' "$(rest Write)" little
is 'the time of a load has no checking' "$(rest Read)" little

# ---- the calls ----

# Objects of less than a block are kept too; one without a whole header (48 bytes) cannot be verified, and is made anew.
for size in 4095 48 47 1; do
    printf '%s\n' $header "0,Write,$size,Tier-2,small,Prefill,1" >"$TMP/small_w.csv"
    printf '%s\n' $header "0,Read,$size,Tier-2,small,Decode,1" >"$TMP/small_r.csv"
    replay --target "file:$TMP/small?like=lmcache-fs" --keep "$TMP/small_w.csv" 2>"$TMP/stderr"
    exits "a kept object of $size bytes" 0 replay --target "file:$TMP/small?like=lmcache-fs" --destroy-data "$TMP/small_r.csv"
    is 'is read, and was adopted if it says whose it is' \
        "$(json "$TMP/s.json" '.rows.ok, .populated.adopted_objects')" "1 $((size >= 48))"
done

if sanitized || ! strace -o "$TMP/trace" -e trace=write true 2>/dev/null; then
    diag 'SKIP no strace here'
    done_testing
    exit
fi
printf '%s\n' $header 0,Write,2097152,Tier-2,a,Prefill,1 0.1,Read,2097152,Tier-2,a,Decode,1 0.2,Read,4096,Tier-2,a,Decode,1 \
    0.2,Delete,0,Tier-2,a,Evict,1 0.3,Miss,0,,c,,1 >"$TMP/calls.csv"
# calls LIKE TRACE: the calls on objects and their folders, as CALL PATH FLAGS SIZE -> RESULT.
calls() {
    strace -f -s 0 -y -o "$TMP/trace" -e trace=%file,%desc,fsync,fdatasync,syncfs,sync "$BIN/kvreplay" --progress none \
        --no-notes -o "$TMP/o.csv" --target "file:$TMP/d?like=$1" "$2" 2>/dev/null
    awk '/ <unfinished/ { sub(/ <unfinished.*/, ""); begun[$1] = $0; next }
        / resumed>/ { pid = $1; sub(/.* resumed>/, ""); print begun[pid] $0; next } { print }' "$TMP/trace" |
        grep -E '[0-9a-f]{64}|"[0-9a-f]{3}(/[0-9a-f]{2}_g0)?"|sync' |
        grep -v -e O_DIRECTORY -e AT_REMOVEDIR -e readlink -e fcntl -e mmap -e munmap -e '[.]gcda' |
        sed -E 's/^[0-9]+ +//; s/newfstatat|fstatat64/fstatat/; s/faccessat2/faccessat/; s/renameat2/renameat/
            s/[0-9]+<[^>]*>/FD/g; s/[0-9a-f]{64}/HASH/g; s|"[0-9a-f]{3}/[0-9a-f]{2}_g0|"hhh/hh_g0|g; s|"[0-9a-f]{3}"|"hhh"|
            s/"kvtrace@0x00000000@0@HASH/"NAME/g; s/\.bin\.[0-9]+\.tmp/.bin.N.tmp/g; s/O_NONBLOCK\|//; s/O_NOFOLLOW\|O_CLOEXEC/SAFE/
            s/(, 0x[0-9a-f]+|, \{[^}]*\})//; s/, AT_SYMLINK_NOFOLLOW|, AT_EMPTY_PATH|\|O_LARGEFILE|, F_OK, 0//
            s/""\.\.\., //; s/ +\(No such.*//; s/ +=/ =/; s/FD, 0\)/FD)/'
}
expected() {
    case $1 in
    lmcache-fs) store='O_WRONLY|O_CREAT|O_TRUNC|SAFE' load='O_RDONLY|SAFE' ;;
    lmcache-fs-direct) store='O_WRONLY|O_CREAT|O_DIRECT|SAFE' load='O_RDONLY|O_DIRECT|SAFE' ;;
    esac
    cat <<END
fstatat(FD, "NAME.data") = -1 ENOENT
openat(FD, "NAME.tmp", $store, 0644) = FD
write(FD, 2097152) = 2097152
close(FD) = 0
renameat(FD, "NAME.tmp", FD, "NAME.data") = 0
END
    for _ in whole partial; do
        cat <<END
fstatat(FD, "NAME.data") = 0
openat(FD, "NAME.data", $load) = FD
fstatat(FD, "") = 0
read(FD, 2097152) = 2097152
close(FD) = 0
END
    done
    cat <<END
unlinkat(FD, "NAME.data", 0) = 0
fstatat(FD, "NAME.data") = -1 ENOENT
END
}
direct=$(replay --target "file:$TMP/d?like=lmcache-fs-direct" "$TMP/w.csv" 2>/dev/null && json "$TMP/s.json" .evidence.direct)
is 'lmcache-fs: its calls' "$(calls lmcache-fs "$TMP/calls.csv")" "$(expected lmcache-fs)"
if [ "$direct" = true ]; then
    is 'lmcache-fs-direct: its calls' "$(calls lmcache-fs-direct "$TMP/calls.csv")" "$(expected lmcache-fs-direct)"
    is 'vllm-fs: its calls' "$(calls vllm-fs "$TMP/calls.csv")" "$(
        cat <<'END'
faccessat(FD, "hhh/hh_g0/HASH.bin") = -1 ENOENT
fstatat(FD, "hhh/hh_g0") = -1 ENOENT
mkdirat(FD, "hhh", 0755) = 0
mkdirat(FD, "hhh/hh_g0", 0755) = 0
openat(FD, "hhh/hh_g0/HASH.bin.N.tmp", O_WRONLY|O_CREAT|O_EXCL|O_TRUNC|O_DIRECT|SAFE, 0644) = FD
write(FD, 2097152) = 2097152
close(FD) = 0
renameat(FD, "hhh/hh_g0/HASH.bin.N.tmp", FD, "hhh/hh_g0/HASH.bin") = 0
faccessat(FD, "hhh/hh_g0/HASH.bin") = 0
openat(FD, "hhh/hh_g0/HASH.bin", O_RDONLY|O_DIRECT|SAFE) = FD
read(FD, 2097152) = 2097152
close(FD) = 0
faccessat(FD, "hhh/hh_g0/HASH.bin") = 0
openat(FD, "hhh/hh_g0/HASH.bin", O_RDONLY|O_DIRECT|SAFE) = FD
read(FD, 2097152) = 2097152
close(FD) = 0
unlinkat(FD, "hhh/hh_g0/HASH.bin", 0) = 0
faccessat(FD, "hhh/hh_g0/HASH.bin") = -1 ENOENT
END
    )"
    printf '%s\n' $header 0,Write,5000,Tier-2,a,Prefill,1 0.1,Read,5000,Tier-2,a,Decode,1 \
        0.2,Delete,0,Tier-2,a,Evict,1 >"$TMP/odd.csv"
    is 'a size that is no multiple of the block is buffered' "$(calls lmcache-fs-direct "$TMP/odd.csv" | grep openat)" \
        'openat(FD, "NAME.tmp", O_WRONLY|O_CREAT|O_TRUNC|SAFE, 0644) = FD
openat(FD, "NAME.data", O_RDONLY|SAFE) = FD'
fi
unlike 'no fsync unless it is asked for' "$(calls lmcache-fs "$TMP/calls.csv")" sync
like '--sync object asks for it' "$(strace -f -o "$TMP/trace" -e trace=fdatasync "$BIN/kvreplay" --progress none --sync object \
    -o "$TMP/o.csv" --target "file:$TMP/d?like=lmcache-fs" "$TMP/w.csv" 2>/dev/null; cat "$TMP/trace")" 'fdatasync\(.*= 0'
done_testing
