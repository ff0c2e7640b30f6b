#!/bin/sh
# bombs.t - small files that ask for much memory or time end with an error that names what is too large and the option
# that allows more, or are read in the memory of what is live. Everything runs in 1.5 GB of address space. A bug looked
# like 9.8 GB for a compressed file of 23 KB, or "not JSON: text follows its end" where memory had ended.
# builds: plain (sanitizers map terabytes)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

small() { prlimit --as=$((1500000 * 1024)) "$@"; }
# repeated N TEXT: the text so many times, without a line end.
repeated() { yes "$2" | head -n "$1" | tr -d '\n'; }

{
    printf '{"block_size":64,"requests":[{"in":64,"out":1,"t":0,"hash_ids":['
    repeated 40000000 '1,'
    printf '1]}]}'
} | zstd -q -1 >"$TMP/agentic.json.zst"
exits "agentic sessions" 2 small "$BIN/kvgen" --input "$TMP/agentic.json.zst" -o none
stderr_like "named, with the option" \
    'agentic.json.zst:1: its values take more than 1.00 GiB of memory \(--config input_memory allows more\)'

{
    printf '[{"conversations":['
    repeated 15000000 '{},'
    printf '{}]}]'
} | zstd -q -1 >"$TMP/sharegpt.json.zst"
exits "a ShareGPT conversation" 2 small "$BIN/kvgen" --config input_memory=256MiB --input "$TMP/sharegpt.json.zst" -o none
stderr_like "named, with the option" \
    'sharegpt.json.zst:1: its values take more than 256.00 MiB of memory \(--config input_memory allows more\)'

{
    printf '{"conversations":['
    repeated 300 '{"from":"human","value":"a"},{"from":"gpt","value":"b"},'
    printf '{}]}'
} >"$TMP/talk"
yes "$(cat "$TMP/talk")" | head -n 400 >"$TMP/talks.json"
exits "many long conversations under way" 2 small "$BIN/kvgen" --config input_memory=1MiB --input "$TMP/talks.json" -o none
stderr_like "named, with the option" \
    'talks.json: conversations under way take more than 1.00 MiB of memory \(--config input_memory allows more\)'
exits "with room for them they run" 0 small "$BIN/kvgen" --config input_memory=16MiB --input "$TMP/talks.json" -o none
exits "requests that wait without end" 2 small "$BIN/kvgen" --arrival open --num-users 4000 --duration 15000 \
    --config queue_memory=20MiB -o none
stderr_like "named, with the options" '^kvgen: --config queue_memory: [0-9]* requests wait after [0-9]* s and take more than 20.00 MiB: more arrive than 500 workers serve \(--arrival closed .*, --config queue_memory allows more\)'
exits "users who wait for answers, ten times as long" 0 small "$BIN/kvgen" --arrival closed --num-users 4000 \
    --duration 3000 --storage-capacity-gb 100 --config queue_memory=1MiB -o none
done_testing
