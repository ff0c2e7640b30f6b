#!/bin/sh
# dry_run.t - kvgen --dry-run checks the options and the files that they name as a run does, and ends: nothing is written, and no
# search begins. A bug looked like a file that was made, or a price that was refused after minutes of measuring.
# builds: plain
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
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
is 'and still nothing is written' "$(find . -type f ! -name 'std*')" ''
done_testing
