#!/bin/sh
# stream.t - kvprecond --mode stream to object stores and Redis: the same blocks as in a file, in objects of the size asked
# for, in parts of a chunk; memory near the pool of buffers; stops and failures leave nothing. A bug looked like a part that
# was sent from a buffer that was filled again, or an unfinished upload that stayed on the server.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
# shellcheck source=tests/remote.sh
. "$TOP/tests/remote.sh"
kvprecond=$BIN/kvprecond
blocks() { "$TOP/tests/cli/kvprecond/blocks.py" "$@"; }
stream() { "$kvprecond" --mode stream --progress none --summary s.json "$@"; }

exits 'in a folder' 0 stream --size 26M --config file_size=12M --config chunk_size=5M --config buffers=3 --seed 5 --keep files
for file in files/fill-*; do sha256sum <"$file"; done | sort >want

# ---- S3 ----
why=$(no_s3)
if [ -z "$why" ]; then
    start_s3 2
    door=http://127.0.0.1:$(head -n 1 port)
    uri="s3://bucket/p?endpoint=$door"
    left() { admin keys; admin uploads; }
    exits 'three objects' 0 stream --size 26M --config file_size=12M --config chunk_size=5M --config buffers=3 --seed 5 --keep "$uri&endpoint=http://127.0.0.1:$(tail -n 1 port)"
    for key in $(admin keys | grep 'kv$'); do
        admin get "$key" >object
        sha256sum <object
    done | sort >got
    is 'hold the same bytes' "$(cat got)" "$(cat want)"
    is 'and nothing else is there' "$(left | grep -v 'kv$')" bucket/p/.kvtrace
    json_like s.json <<'END'
the engine      | .engine, .target.kind                                  | s3 s3
the target      | .target | .files, .kept                                | 3 true
requests        | .target.endpoints | map(.requests) | add               | 11
both doors      | .target.endpoints | length                             | 2
complete        | .complete, .written_bytes, .writes                     | true 27262976 7
no O_DIRECT     | .direct, .stream.page_cache_bytes, .kernel.device_write_bytes | null null null
END
    stdout_like 'said for people' '^  objects     3, kept$'
    is 'the secret appears nowhere' "$(cat s.json stdout stderr | grep -c hush)" 0
    exits 'what was kept is not removed' 3 stream --size 1M "$uri"
    exits 'unless asked for' 0 stream --size 1M --destroy-data "$uri"
    is 'then nothing is left' "$(left)" ''
    while read -r verb kind retries status said; do
        admin fault "$verb" "$kind" 1
        if [ "$kind" = slow ]; then timeout=2s; else timeout=60s; fi
        exits "$verb $kind, $retries retries" "$status" stream --size 26M --config chunk_size=5M --config timeout=$timeout --config retries="$retries" "$uri"
        if [ "$status" != 0 ]; then stderr_like "$verb $kind: is said" "$said"; fi
        is "$verb $kind: nothing is left" "$(left)" ''
    done <<'END'
PART 503 0 1 S3:SlowDown
PART die 0 1 ECONNRESET|reset
CREATE 503 0 1 S3:SlowDown
COMPLETE 503 0 1 S3:SlowDown
PART slow 0 1 ETIMEDOUT|timed
PART 503 1 0
PART die 1 0
COMPLETE 503 1 0
END
    is 'a retry is counted' "$(json s.json '.target.endpoints[0].retries')" 1
    "$kvprecond" --mode stream --progress none --summary s.json --size 4G --config chunk_size=5M --config buffers=2 "$uri" >/dev/null 2>err &
    pid=$!
    until [ "$(admin uploads | wc -l)" = 1 ] || ! kill -s 0 $pid 2>/dev/null; do sleep 0.05; done
    kill -INT $pid
    wait $pid
    is 'a stop' $? 130
    is 'is told' "$(json s.json '.complete, .ended_by')" 'false SIGINT'
    is 'and leaves nothing' "$(left)" ''
    exits 'an empty server' 0 stream --size 5M --config chunk_size=16M "$uri"
    admin put bucket/p/other "$TMP/want"
    exits 'a prefix with other objects' 3 stream --size 1M "$uri"
    is 'is not touched' "$(left)" bucket/p/other
    uri="s3://bucket/q?endpoint=$door"
    while read -r name options; do
        with "$options" exits "$name" 2 stream --size 26M "$uri"
    done <<'END'
parts_that_are_too_small --config chunk_size=1M
direct_I/O --buffered
a_purge --purge
an_I/O_engine --config ioengine=psync
END
    exits 'parts that S3 cannot count' 2 stream --size 100G --config chunk_size=5M "$uri"
    stderr_like 'too many are said' '10,000 parts at most'
    exits 'part= and a stream' 2 stream --size 26M "$uri&part=8MiB"
    stderr_like 'is refused' 'part= does not apply to a stream'
    exits 'another mode' 2 "$kvprecond" --size 1M "$uri"
    stderr_like 'says which' 'S3 takes --mode stream only'
    is 'none of them wrote' "$(left)" bucket/p/other
    if ! sanitized; then
        exits 'a stream that is many times its buffers' 0 stream --size 160M --config chunk_size=5M --config buffers=2 "$uri"
        is 'takes the buffers and a program' "$(json s.json '.stream.peak_memory_bytes < 36 * 1048576')" true
    fi
else
    diag "$why: not to S3"
fi

# ---- Redis ----
why=$(no_redis)
if [ -z "$why" ]; then
    start_redis --databases 4
    uri="redis+unix:$TMP/redis.sock?db=1"
    cli() { redis-cli -s redis.sock -n 1 --raw "$@"; }
    exits 'three objects in Redis' 0 stream --size 26M --config file_size=12M --config chunk_size=5M --config buffers=3 --seed 5 --keep "$uri"
    is 'in parts of a chunk' "$(cli keys 'kvtrace:*' | wc -l)" 7
    for key in $(cli keys 'kvtrace:*' | grep -v '\.'); do
        : >object
        for part in "$key" "$key.1" "$key.2"; do
            cli get "$part" >value # with a newline behind it
            if [ "$(cli strlen "$part")" != 0 ]; then head -c "$(cli strlen "$part")" value >>object; fi
        done
        sha256sum <object
    done | sort >got
    is 'hold the same bytes in Redis' "$(cat got)" "$(cat want)"
    is 'the engine is told' "$(json s.json '.engine, .target.kind, .target.files')" 'redis redis 3'
    exits 'are removed when asked for' 0 stream --size 1M --config chunk_size=64K --destroy-data "$uri"
    is 'all' "$(cli keys '*')" ''
    exits 'chunks that no value holds' 2 stream --size 1M --config chunk_size=1G --config buffers=2 "$uri"
    cli config set maxmemory 20mb >/dev/null
    exits 'a server that is full' 1 stream --size 60M --config chunk_size=4M "$uri"
    stderr_like 'says its own word' 'RESP:OOM'
    is 'nothing is left in it' "$(cli keys '*')" ''
    cli config set maxmemory 0 >/dev/null
    "$kvprecond" --mode stream --progress none --summary s.json --size 4G --config file_size=8M --config chunk_size=1M --config buffers=2 "$uri" >/dev/null 2>err &
    pid=$!
    until [ "$(cli dbsize)" -gt 3 ] || ! kill -s 0 $pid 2>/dev/null; do sleep 0.02; done
    kill -INT $pid
    wait $pid
    is 'a stop on Redis' $? 130
    is 'leaves nothing there' "$(cli keys '*')" ''
else
    diag "$why: not to Redis"
fi
done_testing
