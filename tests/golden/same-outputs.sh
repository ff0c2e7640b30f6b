#!/bin/sh
# same-outputs.sh BEFORE AFTER - whether two builds (folders with bin/) print the same: over 60 commands of the four programs
# over tests/data and traces with fixed seeds, their texts, JSON, CSV, pages and exit codes. What kvgen and kvstat print is
# compared byte for byte, but for versions, times of day and the names of scratch folders. kvreplay and kvprecond measure:
# of their JSON the members and their order are compared, of their texts all but numbers, and what a busy machine adds. Takes
# about two minutes; needs jq and zstd. Exit code 1: something differs.
set -u
export LC_ALL=C TZ=UTC
TOP=$(cd "$(dirname "$0")/../.." && pwd)
DATA=$TOP/tests/data
before=$(cd "$1" && pwd)/bin after=$(cd "$2" && pwd)/bin
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
trap 'exit 130' INT TERM
cp -r "$DATA" "$TMP/data"
cd "$TMP" || exit 2
count=0 differ=0

# tidy: takes away what no two runs share.
tidy() {
    sed -E -e "s#$TMP/(before|after)#SCRATCH#g; s#$TMP#SCRATCH#g; s#($before|$after)/##g" \
        -e 's/"(started|version)": *"[^"]*"/"\1": ""/g; s/"(wall_s|rows_per_s)": [0-9.e+-]+/"\1": 0/; s/20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?/TIME/g' \
        -e 's/\b(kvgen|kvreplay|kvstat|kvprecond) [0-9]+\.[0-9]+\.[0-9]+[^ ,"]*/\1 VERSION/g'
}
# names: of JSON the members, in their order; of a text what is no number, and says nothing of a disturbed run.
names() {
    if jq -r 'del(.gaps, .scheduler_gaps, .validity, .why_invalid, .notes, .evidence.loads_and_stores) | paths | map(if type == "number" then "[]" else .
        end) | join(".")' 2>/dev/null <measured | awk '!seen[$0]++' >members && [ -s members ]; then cat members; else
        sed -E 's/-?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/#/g; s/# [kMGTnum]?i?(s|B|B\/s)\b/# UNIT/g; s/ +/ /g' measured |
            grep -vE 'CPU contention|for a CPU|pause|foreign|client delay|instead of|^( validity +)?(good|unreliable|unknown)'
    fi
}
measured() { cat >measured && names; }
# one BIN FOLDER FILTER COMMAND...: its texts, files and exit code, in FOLDER.txt.
one() {
    bin=$1 folder=$2 filter=$3
    shift 3
    rm -rf "$folder"
    mkdir "$folder"
    program=$1
    shift
    (cd "$folder" && "$bin/$program" "$@" >stdout 2>stderr </dev/null; echo "exit $?" >code)
    for file in "$folder"/*; do
        [ -f "$file" ] || continue
        echo "== ${file##*/}"
        case $file in
        *.zst) zstd -dqc "$file" ;;
        *.json) jq . "$file" ;;
        *) cat "$file" ;;
        esac | tidy | "$filter"
    done >"$folder.txt"
}
compare() { # FILTER COMMAND...
    filter=$1 count=$((count + 1))
    shift
    one "$before" before "$filter" "$@"
    one "$after" after "$filter" "$@"
    if cmp -s before.txt after.txt; then return; fi
    differ=$((differ + 1))
    echo "differs: $*"
    diff before.txt after.txt | head -n "${LINES_SHOWN:-20}" | cut -c 1-200
}
same() { compare cat "$@"; }
alike() { compare measured "$@"; }
# same_in WORDS COMMAND...: with these options behind it.
same_in() {
    words=$1
    shift
    for word in $words; do set -- "$@" "$word"; done
    same "$@"
}

# ---- kvgen ----

"$before/kvgen" --names names --input data/recordings/trtllm-kv_cache_events.jsonl -o none 2>err
tiny() { same kvgen --model tiny-1b --users 4 --duration 10 --seed 7 --gpu-mem 0.1GiB --cpu-mem 0.2GiB "$@"; }
same kvgen --help all
same kvgen --list-models
same kvgen --no-such-option
same kvgen --input /no/such/file
tiny -o trace.csv --summary s.json
tiny --arrival open --decode-reads batch -o trace.csv --summary s.json
tiny --arrival poisson --storage-capacity 1 -o none --summary s.json
tiny --curve curve.csv -o none
tiny --format mlperf
tiny --format oracle
same kvgen --input "$TMP/data/mooncake_first200.jsonl" -o trace.csv --summary s.json
same kvgen --input "$TMP/data/mooncake_first200.jsonl" --curve curve.csv -o none
same kvgen --input "$TMP/data/burstgpt_30rows.csv" -o trace.csv --summary s.json
same kvgen --input "$TMP/data/azure_code_2024_excerpt.csv" -o trace.csv --summary s.json
for file in vllm-0.33.0-bytes.zmqrec sglang-0.5.23.zmqrec dynamo-1.6.1.satf.json dynamo-1.6.1-mooncake.jsonl \
    trtllm-kv_cache_events.jsonl lmcache-0.5.6-storage.lct; do
    same kvgen --names "$TMP/names" --input "$TMP/data/recordings/$file" -o trace.csv --summary s.json
done

# ---- what the others read: rows and summaries of the first build ----

"$before/kvgen" --model tiny-1b --users 4 --duration 10 --seed 7 --gpu-mem 0.1GiB --cpu-mem 0.2GiB -o trace.csv 2>err
run() { # NAME OPTIONS...
    name=$1
    shift
    "$before/kvreplay" --progress none --limit 400 -o "$name.csv" --summary "$name.json" "$@" trace.csv 2>err ||
        { cat err && exit 2; }
}
mkdir store store0 store1
run null --null
run asap --target store
run timed --target store --timing trace --speed 8 --duration 2s
run served --target store --timing served --workers 2 --speed 50
for part in 0 1; do
    run 'part{rank}' --target "store$part" --part $part/2 --split keys
done
# All that can be known: a replay to remote stores, one that was overloaded, and a drive with a log of its own.
jq '.evidence += {network_interfaces: "eth0, eth1", network_received_bytes: 123456789, network_sent_bytes: 9876543,
    tcp_retransmits: 17, remote_requests: 4321, remote_retries: 5, remote_connections: 6, steal_share: 0.0125,
    resident_share_before: 0.25, resident_share: 0.5, cached_read_share: 0.75, page_cache: "included", pages: "small",
    registered_buffers: false, direct: true, file_system: "xfs", target: "network", kernel_io_s: 1.5,
    device_read_bytes: 1048576, device_write_bytes: 2097152,
    overload: {offered_per_s: 100.5, achieved_per_s: 50.25, backlog_growth: 50.25}} |
    .drive_log = {host_write_bytes: 1e9, media_write_bytes: 2e9, write_amplification: 2, percentage_used: 3}' \
    asap.json >rich.json
cp asap.csv plain.csv
grep -v '^#' asap.csv >bare.csv

# ---- kvstat ----

same kvstat --help all
same kvstat --no-such-option
same kvstat /no/such/file
for rows in null asap timed served; do
    same kvstat "$TMP/$rows.csv"
    same kvstat --full "$TMP/$rows.csv"
    same kvstat --json -o report.json "$TMP/$rows.csv"
    same kvstat --csv --interval 1s -o report.csv --html page.html "$TMP/$rows.csv"
done
for form in '--full' '--json' '--csv' '--html page.html --mlperf mlperf.json' '--profile latency --slo --check' \
    '--profile throughput' '--profile mlperf --check --full'; do
    same_in "$form" kvstat --run "$TMP/rich.json" "$TMP/bare.csv"
    same_in "$form" kvstat --run "$TMP/data/screens/served.json" "$TMP/data/screens/served.csv.zst"
done
for form in '' --full --json --csv '--html page.html'; do
    same_in "$form" kvstat --merge "$TMP/asap.csv" "$TMP/timed.csv"
    same_in "$form" kvstat --ranks "$TMP/part0.csv" "$TMP/part1.csv"
    same_in "$form" kvstat --compare "$TMP/asap.csv" "$TMP/timed.csv"
    same_in "$form" kvstat "$TMP"/data/screens/trial?.csv.zst
    same_in "$form" kvstat --compare "$TMP/data/screens/base1.csv.zst" --compare "$TMP/data/screens/base2.csv.zst" \
        "$TMP/data/screens/new1.csv.zst" "$TMP/data/screens/new2.csv.zst"
    same_in "$form" kvstat "$TMP/data/screens/simulated_tier.csv.zst"
    same_in "$form" kvstat "$TMP/data/warp_mixed_3s.csv.zst"
    same_in "$form" kvstat --by user,tier,op "$TMP/data/kvstat_dozen.csv"
done
"$before/kvstat" --json -o report.json asap.csv
"$before/kvstat" --json -o rich-report.json --run rich.json bare.csv
same kvstat --json --compare "$TMP/report.json" "$TMP/rich-report.json"
same kvstat --csv "$TMP/report.json" "$TMP/rich-report.json"
same kvstat --reference "$TMP/report.json" "$TMP/timed.csv"
same kvstat --verify-trace "$TMP/trace.csv"

# ---- kvreplay and kvprecond ----

same kvreplay --help all
same kvprecond --help all
same kvreplay --no-such-option
same kvprecond
same kvreplay /no/such/file
alike kvreplay --progress none -o none --null --summary s.json "$TMP/trace.csv"
alike kvreplay --progress none -o none --null --full --timing served --workers 2 --speed 100 "$TMP/trace.csv"
alike kvreplay --progress none -o none --gpu off --full --limit 400 --target "$TMP/store" --summary s.json "$TMP/trace.csv"
alike kvreplay --progress none -o none --gpu off --limit 400 --target "$TMP/store" --buffered --summary s.json "$TMP/trace.csv"
alike kvreplay --progress none -o none --gpu off --limit 50 --timing trace --speed 20 --target "$TMP/store" --summary s.json "$TMP/trace.csv"
alike kvprecond --size 8MiB --seed 7 --json --summary s.json "$TMP/store"
alike kvprecond --size 8MiB --seed 7 "$TMP/store"

echo "$count commands, $differ differ"
[ $differ = 0 ]
