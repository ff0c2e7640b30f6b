#!/bin/sh
# wrong_file.t - a file that cannot be read as what it was given for is named for what it is, with what to do about it; numbers
# without a unit are no surprise. A bug looked like "the header has no column Timestamp" where it has, or a cache of 64 bytes.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

said() { # NAME REGEX PROGRAM ARGS...: refused, in one line
    name=$1 regex=$2
    shift 2
    exits "$name: status 2" 2 "$@"
    stderr_like "$name: said" "$regex"
}
file=$TMP/file
kvgen() { said "$1" "^kvgen: .*file: $2" "$BIN/kvgen" --input "$file" -o none; }

printf 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n' >"$file"
kvgen 'a pointer of Git LFS' 'not an input that kvgen knows, but a pointer of Git LFS, .*git lfs pull'
said 'and for kvreplay' 'file: not a trace: a pointer of Git LFS' "$BIN/kvreplay" --nvme "$TMP/d" "$file"
said 'and for kvstat' 'file: .*a pointer of Git LFS' "$BIN/kvstat" "$file"
while IFS='|' read -r name bytes words; do
    printf '%bsome more bytes\n' "$bytes" >"$file"
    kvgen "$name" "not an input that kvgen knows, but .*$words"
done <<'END'
xz|\03757zXZ\0000|compressed by xz
bzip2|BZh91AY|compressed by bzip2
lz4|\0004\0042\0115\0030|compressed by lz4
zip|PK\0003\0004|a zip archive
Parquet|PAR1\0025|Parquet
Arrow|ARROW1\0000\0000|Arrow
UTF-16|\0377\0376T\0000|UTF-16
a page|<!DOCTYPE html>|a page of HTML
AIBrix|{"timestamp": 1, "requests": [{"Prompt Length": 5, "Output Length": 5}]}\n|AIBrix
warp without --full|{"v": 1, "total": {"total_requests": 4}, "by_op_type": {"GET": {}}}\n|warp --full
END
printf '{"what": "ever"}\n' >"$file"
kvgen 'nothing known' 'not an input that kvgen knows: it begins with "\{"what": "ever"\}" \(known: JSON lines'

for divider in '\t:tabs' ';:semicolons' '|:bars'; do
    printf "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,472,18\n" | tr , "$(printf '%b' "${divider%:*}")" >"$file"
    kvgen "BurstGPT with ${divider#*:}" "the columns are divided by ${divider#*:}, and kvgen reads commas: \"Timestamp.Model"
    printf "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00,5,5\n" | tr , "$(printf '%b' "${divider%:*}")" >"$file"
    kvgen "Azure with ${divider#*:}" "the columns are divided by ${divider#*:}"
    printf "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase\n" | tr , "$(printf '%b' "${divider%:*}")" >"$file"
    said "a trace with ${divider#*:}" "file: .*columns are divided by ${divider#*:}, not commas" "$BIN/kvreplay" --nvme "$TMP/d" "$file"
done
printf 'time,Request tokens,Response tokens\n5,472,18\n' >"$file"
kvgen 'a column of another name' 'the header has no column "Timestamp": "time,Request tokens'
gzip -c "$DATA/mooncake_first200.jsonl" | head -c 5000 >"$file"
kvgen 'half of a gzip file' '.*byte offset 5000: cut in the middle of a gzip member'

said 'a Mooncake trace for kvreplay' ': not a trace: a Mooncake trace \(kvgen --input makes a trace of it\)' \
    "$BIN/kvreplay" --nvme "$TMP/d" "$DATA/mooncake_first200.jsonl"
said 'an op-log for kvreplay' ': not a trace: an op-log \(kvgen --input' "$BIN/kvreplay" --nvme "$TMP/d" "$DATA/s3dlio_oplog_example.tsv"
printf 'fio version 3 iolog\n0 x add\n' >"$file"
said 'an iolog for kvreplay' 'file: not a trace: an iolog of fio \(kvgen --input' "$BIN/kvreplay" --nvme "$TMP/d" "$file"
said 'events for kvreplay' ': not a trace: KV events \(kvgen' "$BIN/kvreplay" --nvme "$TMP/d" "$DATA/recordings/trtllm-kv_cache_events.jsonl"

# Sizes and rates without a unit.
told "$BIN/kvgen" --model tiny-1b --users 2 --duration 5 --curve "$TMP/c.csv" --curve-sizes 64,128GiB,0.5 -o none
is 'capacities are GiB' "$(sed 1d "$TMP/c.csv" | cut -d, -f1 | head -n 3 | tr '\n' ' ')" '536870912 68719476736 137438953472 '
said 'a rate without a unit' 'bw= takes a rate with its unit' "$BIN/kvreplay" --tier-engine 2=sim:bw=2 "$file"
said 'and of a tier' '--tier-model: .*a rate needs a unit, such as GB/s' "$BIN/kvgen" --tier-model 2=read:7 -o none

# What strace cannot see.
printf '7 1795361844.000001 io_uring_setup(64, {flags=0}) = 5 <0.1>\n7 1795361844.000002 openat(AT_FDCWD, "/kv/aa.bin", O_RDWR) = 6 <0.1>\n' >"$file"
for call in readv preadv preadv2 writev pwritev pwritev2; do
    printf '7 1795361845.1 %s(6, [{iov_base="", iov_len=100}], 1, 0) = 100 <0.1>\n' "$call" | sed 's/845.1/845.100000/' >>"$file"
done
printf '7 1795361846.000002 close(6) = 0 <0.1>\n' >>"$file"
told "$BIN/kvgen" --input "$file" --summary "$TMP/s.json" -o none
like 'io_uring is named' "$(cat "$TMP/err")" 'the engine uses io_uring, whose reads and writes strace cannot see .*: 1$'
is 'vectors are read and written' "$(json "$TMP/s.json" '.rows_by[] | .op, .bytes')" 'Read 300 Write 300'
done_testing
