#!/bin/sh
# stream.t - --mode stream: large objects through a fixed pool of buffers. Every block is written once, in objects of the
# size asked for; memory stays near the pool; the page cache afterwards is what --config fadvise says. A bug looked like a chunk
# that was filled anew while its write was still in flight, or pages that dontneed left since they were dirty.
# builds: plain address thread
. "${0%/*}/../../lib.sh"
kvprecond=$BIN/kvprecond
summary=$TMP/summary.json

blocks() { "$TOP/tests/cli/kvprecond/blocks.py" "$@"; }
# whole FILE: of the stream in a summary: times are no longer than the run, memory at least the pool.
whole() {
    json "$1" '.stream | .waited_for_data_s >= 0 and .waited_for_store_s >= 0'
    json "$1" '.stream.waited_for_data_s + .stream.waited_for_store_s <= .elapsed_s * 1.01 + 0.1'
}

exits 'one object' 0 "$kvprecond" --mode stream --size 9M --config chunk_size=1M --config buffers=3 --keep --summary "$summary" "$TMP/one"
is 'every block once' "$(blocks "$TMP"/one/fill-*)" '2304 2304 2304'
is 'in one file' "$(cd "$TMP/one" && stat -c %s fill-*)" 9437184
json_like "$summary" <<'END'
    mode              | .mode, .complete                                    | stream true
    writes of a chunk | .block_bytes, .writes, .written_bytes               | 1048576 9 9437184
    buffers           | .stream.buffers, .iodepth, .threads                 | 3 3 1
    no page cache     | .stream.fadvise                                     | null
    memory            | .stream.peak_memory_bytes > 3 * 1048576             | true
END
is 'waits are parts of the run' "$(whole "$summary" | tr '\n' ' ')" 'true true '
stdout_like 'text: the pool' '^  mode +stream, 3 buffers, 1\.00 MiB at a time, up to 3 in flight, filled by 1 thread$'
stdout_like 'text: the waits' '^  waited +[0-9.]+ [mun]?s for data, [0-9.]+ [mun]?s for the store$'
stdout_like 'text: the memory' '^  memory +[0-9.]+ MiB at most, page cache afterwards [0-9.]+ [KM]?i?B$'
exits 'the other modes' 0 "$kvprecond" --size 1M --summary "$summary" "$TMP/other"
is 'have no stream' "$(json "$summary" .stream)" null

exits 'several objects, a short chunk at the end of each, two fillers' 0 "$kvprecond" --mode stream --size 10M --config file_size=4M \
    --config chunk_size=1500K --config buffers=4 --threads 2 --config ioengine=psync --keep --seed 5 --summary "$summary" "$TMP/several"
is 'every block once' "$(blocks "$TMP"/several/fill-*)" '2560 2560 2560'
is 'in objects of the size asked for' "$(cd "$TMP/several" && stat -c %s fill-* | tr '\n' ' ')" '4194304 4194304 2097152 '
exits 'one write at a time' 0 "$kvprecond" --mode stream --size 10M --config file_size=4M --config chunk_size=64K --config iodepth=1 --seed 5 \
    --keep "$TMP/same"
ok 'the same seed gives the same contents' diff -r -x .kvtrace "$TMP/several" "$TMP/same"
: >"$TMP/file"
exits 'into a file' 0 "$kvprecond" --mode stream --size 5M --config chunk_size=2M --buffered --keep "$TMP/file"
is 'every block once' "$(blocks "$TMP/file")" '1280 1280 1280'

# ---- the page cache ----

for advice in none sequential dontneed; do
    exits "buffered, $advice" 0 "$kvprecond" --mode stream --size 16M --config chunk_size=2M --buffered --config fadvise="$advice" \
        --keep --destroy-data --summary "$summary" "$TMP/cached"
    is "$advice: every block once" "$(blocks "$TMP"/cached/fill-*)" '4096 4096 4096'
    is "$advice: is told" "$(json "$summary" '.direct, .stream.fadvise')" "false $advice"
    is "$advice: is no fallback" "$(json "$summary" '.fallbacks | map(select(test("O_DIRECT"))) | length')" 0
    if [ "$(stat -f -c %T "$TMP")" = tmpfs ]; then
        diag "$advice: on tmpfs all data are page cache"
    elif [ "$advice" = dontneed ]; then
        is 'dontneed: under 1 % stay in the page cache' \
            "$(json "$summary" '.stream.page_cache_bytes < 0.01 * .written_bytes')" true
    else
        is "$advice: what was written stays in the page cache" \
            "$(json "$summary" '.stream.page_cache_bytes > 0.5 * .written_bytes')" true
    fi
done

# ---- bounded memory ----

if sanitized; then
    diag 'the memory of a sanitizer is not the program'"'"'s'
else
    exits 'a stream that is many times its buffers' 0 "$kvprecond" --mode stream --size 128M --config chunk_size=1M --config buffers=4 \
        --summary "$summary" "$TMP/large"
    is 'takes the buffers and a program' "$(json "$summary" '.stream.peak_memory_bytes < 32 * 1048576')" true
fi

# ---- stops and refusals ----

"$kvprecond" --mode stream --size 4G --config chunk_size=64K --config buffers=2 --config iodepth=1 --buffered --config fadvise=dontneed --progress none \
    --summary "$summary" "$TMP/stopped" >/dev/null 2>"$TMP/stderr" &
pid=$!
catches "$pid"
kill -INT "$pid"
wait "$pid"
is 'a stop' $? 130
is 'is told' "$(json "$summary" '.complete, .ended_by')" 'false SIGINT'
not_ok 'and leaves nothing behind' test -e "$TMP/stopped"

# refused NAME STDERR OPTIONS...
refused() {
    name=$1 text=$2
    shift 2
    exits "$name" 2 "$kvprecond" --size 1M "$@" "$TMP/refused"
    stderr_like "$name: says so" "$text"
}
refused '--config buffers without a stream' '^kvprecond: --config buffers: applies only with --mode stream$' --config buffers=4
refused '--config chunk_size without a stream' '^kvprecond: --config chunk_size: applies only with --mode stream$' --config chunk_size=1M
refused '--buffered without a stream' '^kvprecond: --buffered: applies only with --mode stream$' --buffered
refused '--config fadvise without the page cache' '^kvprecond: --config fadvise: applies only with --buffered$' --mode stream --config fadvise=none
refused '--block-size of a stream' '^kvprecond: --block-size: does not apply with --mode stream$' --mode stream --block-size 1M
refused '--until-steady of a stream' '^kvprecond: --until-steady: does not apply with --mode stream$' \
    --mode stream --until-steady
refused 'chunks of odd bytes' '^kvprecond: --config chunk_size: not a multiple of 4 KiB$' --mode stream --config chunk_size=5000
refused 'one buffer' '^kvprecond: --config buffers: ' --mode stream --config buffers=1
refused 'buffers that the host cannot hold' '^kvprecond: --config buffers: the buffers need 1\.00 TiB, but the host has .*: use fewer or smaller ones$' \
    --mode stream --config buffers=1024 --config chunk_size=1G
not_ok 'nothing was made' test -e "$TMP/refused"

done_testing
