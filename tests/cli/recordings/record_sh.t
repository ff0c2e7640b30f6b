#!/bin/sh
# examples/record.sh prints for each engine the way from its own option to a replay's verdict, in eight lines at most, and
# these lines work. A bug looked like an option that a program does not have.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

script=$TOP/examples/record.sh
samples=$DATA/recordings
PATH=$BIN:$PATH
cd "$TMP" || exit 1
while read -r engine sample; do
    exits "$engine" 0 "$script" -i "$samples/$sample" -o "$engine.csv.zst" -m tiny-1b "$engine"
    ok "$engine: eight lines at most" test "$(lines "$TMP/stdout")" -le 8
    mkdir "$TMP/drive"
    grep -E '^kv(gen|stat|replay) ' "$TMP/stdout" | sed 's|/mnt/nvme/kv|drive|; s|kvreplay |&--speed 1000 |' |
        sed 's|--speed 1000 \(.*--timing asap\)|\1|' >"$TMP/way.sh"
    is "$engine: of which four are ours" "$(lines "$TMP/way.sh")" 4
    exits "$engine: they work" 0 sh -eu "$TMP/way.sh"
    ok "$engine: to the verdict" grep -q . "$TMP/stdout"
    exits "$engine: --run, of a recording in a file" 0 "$script" -i "$samples/$sample" -o "$engine.run.csv" -m tiny-1b --run "$engine"
    ok "$engine: makes the trace" test -s "$engine.run.csv"
    rm -rf "$TMP/drive" "$TMP/result.csv.zst"
done <<'END'
vllm vllm-0.33.0-bytes.zmqrec
sglang sglang-0.5.23.zmqrec
trtllm trtllm-kv_cache_events.jsonl
mooncake mooncake-0.3.12.post1-master.zmqrec
dynamo dynamo-1.6.1-request-trace-sessions-payload.jsonl
lmcache lmcache-0.5.6-events.lct
END
exits "--run does what kvgen does in them" 0 "$script" -i "$samples/lmcache-0.5.6-storage.lct" -o run.csv --run lmcache
ok "--run: the trace is there" test -s run.csv
cp "$samples/lmcache-0.5.6-storage.lct" 'a name.lct'
exits "--run with a name that has a blank" 0 "$script" -i 'a name.lct' -o 'an output.csv' --run lmcache
ok "--run with a name that has a blank: the trace is there" test -s 'an output.csv'
mkdir segments
split -l 20 "$samples/dynamo-1.6.1-request-trace-sessions-payload.jsonl" segments/trace.
for segment in segments/*; do mv "$segment" "$segment.jsonl"; done
exits "a pattern of many segments" 0 "$script" -i 'segments/trace.*' -m tiny-1b -o many.csv --run dynamo
stderr_like "a pattern: all of their requests" '^requests +20 issued'
exits "--run without an input: status 2" 2 "$script" --run vllm
stderr_like "--run without an input: says so" '--run needs -i INPUT'
exits "an engine that is none: status 2" 2 "$script" carbon </dev/null
stderr_like "an engine that is none: is named" 'carbon: unknown engine'
done_testing
