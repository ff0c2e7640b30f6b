#!/bin/sh
# dry_run.t - kvgen --dry-run checks the options and the files that they name as a run does, and ends: nothing is written, and no
# search begins. A bug looked like a file that was made, or a price that was refused after minutes of measuring.
# builds: plain
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"
cd "$TMP" || exit 1
dry() { "$BIN/kvgen" --model tiny-1b --dry-run "$@"; }
answer='--answer a.json --tier-model 2=read:1GB/s --storage-capacity 10GiB --gpu-mem 1GiB --params 1e9'
exits 'a trace' 0 dry --users 5 --duration 5 --summary s.json -o t.csv.zst
exits 'an answer' 0 with "$answer" dry -o window.csv.zst --price gpu=2.5/h
is 'nothing is written' "$(find . -type f ! -name 'std*')" ''
exits 'a model that nobody knows' 2 "$BIN/kvgen" --model nosuch --dry-run -o t.csv.zst
stderr_like 'is refused' 'nosuch: unknown model'
exits 'a price that is none' 2 with "$answer" dry -o none --price gpu=much
stderr_like 'too' '^kvgen: --price: '
exits 'an input that is not there' 2 dry --input nowhere.jsonl -o t.csv.zst
exits 'an output in no folder' 1 dry --users 5 --duration 5 -o nowhere/t.csv.zst
# What the engine has no room for.
for room in '--gpu-mem 0.0001GiB' '--gpu-mem 1GiB --cpu-mem 1KiB --storage-capacity 1GiB' '--gpu-mem 1GiB --storage-capacity 1KiB'; do
    for how in '-o none' '--answer a.json -o none'; do
        exits "$room $how" 2 with "$room $how" dry --params 1e9 --cache vllm --users 5 --duration 5 --tier-model 2=read:1GB/s
        cp stderr dry
        exits "$room $how, as a run" 2 with "$room $how" "$BIN/kvgen" --model tiny-1b --params 1e9 --cache vllm --users 5 --duration 5 \
            --tier-model 2=read:1GB/s
        is 'in the same words' "$(cat dry)" "$(cat stderr)"
    done
done
rm -f dry
# Users are not written, and what can be read once only is not read.
echo mine >users.csv
exits 'users' 0 dry --users 5 --duration 5 --dump-users users.csv -o none
is 'are not written' "$(cat users.csv)" mine
rm users.csv
exits 'a socket' 0 timeout 20 "$BIN/kvgen" --model tiny-1b --dry-run --source kv-events --bind tcp://127.0.0.1:0 --object-bytes 4096 -o none
mkfifo fifo
exits 'a FIFO' 0 timeout 20 "$BIN/kvgen" --model tiny-1b --dry-run --input fifo -o none
exits 'of a known kind' 0 timeout 20 "$BIN/kvgen" --model tiny-1b --dry-run --source mooncake --input fifo -o none
exits 'an answer on a FIFO' 2 with "$answer" timeout 20 "$BIN/kvgen" --model tiny-1b --dry-run --source mooncake --input fifo -o none
stderr_like 'says so' 'give a file'
rest() { printf 'one\ntwo\n' | { dry --input - -o none && cat; }; }
exits 'standard input' 0 rest
is 'stays for the next' "$(cat stdout)" "one${NL-
}two"
rm fifo
is 'and still nothing is written' "$(find . -type f ! -name 'std*')" ''
done_testing
