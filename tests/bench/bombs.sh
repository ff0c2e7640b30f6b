#!/bin/sh
# bombs.sh - small files and short commands that once took all memory or endless time: for each, the exit status, the largest
# resident memory and the time, and the last words of the program. Judges nothing. SECONDS_MAX (60) is the end of
# patience, MEMORY_KB (8000000) the limit of address space; BUILD=DIR measures another build.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
bin=${BUILD:-build}/bin
tmp=$(mktemp -d "${TMPDIR:-/tmp}/kvtrace-bombs.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

# repeated N TEXT: the text so many times, without line ends.
repeated() { yes "$2" | head -n "$1" | tr -d '\n'; }
zip() { zstd -q -1; }

# bomb NAME FILE COMMAND...: FILE "-" has no size to show.
bomb() {
    name=$1 file=$2 status=0
    shift 2
    size=-
    [ "$file" = - ] || size=$(($(stat -L -c %s "$file") / 1024))
    (
        exec prlimit --as=$((${MEMORY_KB:-8000000} * 1024)) /usr/bin/time -q -f '%M %e' -o "$tmp/time" timeout -k 5 "${SECONDS_MAX:-60}" "$@"
    ) >"$tmp/out" 2>&1 || status=$?
    read -r kib seconds <"$tmp/time" || { kib=0 seconds=-; }
    printf '%-40s %9s %6s %8s %8s  %.90s\n' "$name" "$size" "$status" "$((kib / 1024))" "$seconds" \
        "$(grep '^kv' "$tmp/out" | tail -n 1 | sed "s|$tmp/||")"
}
printf '%-40s %9s %6s %8s %8s  %s\n' bomb 'file KiB' status 'MiB' seconds said

{
    printf '{"block_size":64,"requests":[{"in":64,"out":1,"t":0,"hash_ids":['
    repeated 100000000 '1,'
    printf '1]}]}'
} | zip >"$tmp/agentic.json.zst"
bomb "agentic session, 100 M hashes" "$tmp/agentic.json.zst" "$bin/kvgen" --input "$tmp/agentic.json.zst" -o none

{
    printf '[{"conversations":['
    repeated 20000000 '{},'
    printf '{}]}]'
} | zip >"$tmp/nested.json.zst"
bomb "ShareGPT, a conversation of 20 M {}" "$tmp/nested.json.zst" "$bin/kvgen" --input "$tmp/nested.json.zst" -o none

{
    printf '['
    repeated 20000000 '{},'
    printf '{}]'
} | zip >"$tmp/flat.json.zst"
bomb "ShareGPT, 20 M {}" "$tmp/flat.json.zst" "$bin/kvgen" --input "$tmp/flat.json.zst" -o none

{
    printf '{"conversations":['
    repeated 100000 '{"from":"human","value":"a"},{"from":"gpt","value":"b"},'
    printf '{}]}\n'
} >"$tmp/talk"
zip <"$tmp/talk" >"$tmp/talk.zst"
i=0
while [ $((i += 1)) -le 1000 ]; do cat "$tmp/talk.zst"; done >"$tmp/talks.json.zst"
bomb "ShareGPT, 1,000 long conversations" "$tmp/talks.json.zst" "$bin/kvgen" --input "$tmp/talks.json.zst" -o none

awk 'BEGIN {
    print "Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us"
    for (i = 0; i < 200000; i++) printf "%d.0,Read,4096,Tier-2,k,Decode,%d,u%d,batch,user,1,%d.0,\n", i, i, i, i
}' | zip >"$tmp/users.csv.zst"
bomb "200,000 users, --by user" "$tmp/users.csv.zst" "$bin/kvstat" --by user "$tmp/users.csv.zst"

bomb "open arrivals, 15,000 s" - "$bin/kvgen" --arrival open --num-users 4000 --duration 15000 -o none
bomb "closed arrivals, 1,500 s" - "$bin/kvgen" --arrival closed --num-users 4000 --duration 1500 \
    --storage-capacity-gb 100 -o none
bomb "closed arrivals, 15,000 s" - "$bin/kvgen" --arrival closed --num-users 4000 --duration 15000 \
    --storage-capacity-gb 100 -o none

head='Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase'
{
    printf '%s\n0,Read,4096,Tier-2,k,Decode\n' "$head"
    yes '' | head -c 131000000
} >"$tmp/blank.csv"
bomb "131 MB of blank lines: kvstat" "$tmp/blank.csv" "$bin/kvstat" "$tmp/blank.csv"
bomb "131 MB of blank lines: kvreplay" "$tmp/blank.csv" "$bin/kvreplay" --null -o "$tmp/r.csv" "$tmp/blank.csv"
bomb "131 MB of blank lines: kvgen" "$tmp/blank.csv" "$bin/kvgen" --source trace -o none --input "$tmp/blank.csv"
yes '' | head -c 268435456 | zip >"$tmp/quarter.zst"
printf '%s\n0,Read,4096,Tier-2,k,Decode\n' "$head" | zip >"$tmp/endless.csv.zst"
i=0
while [ $((i += 1)) -le 512 ]; do cat "$tmp/quarter.zst"; done >>"$tmp/endless.csv.zst"
bomb "137 GB of blank lines, SIGINT after 2 s" "$tmp/endless.csv.zst" timeout --foreground -s INT 2 "$bin/kvstat" \
    "$tmp/endless.csv.zst"

{
    printf '{'
    seq -f '"k%.0f":1,' 1 80000 | tr -d '\n'
    printf '"z":1}'
} >"$tmp/members.json"
bomb "a JSON object of 80,001 members" "$tmp/members.json" "$bin/kvstat" "$tmp/members.json"
{
    printf '{"summary":{'
    seq -f '"k%.0f":{"value":1},' 1 80000 | tr -d '\n'
    printf '"z":1}}'
} >"$tmp/summary.json"
bomb "a summary of 80,001 members" "$tmp/summary.json" "$bin/kvstat" "$tmp/summary.json"

"$bin/kvgen" --model tiny-1b --num-users 2 --duration 3 --gpu-mem-gb 0 -o "$tmp/p.csv.zst" 2>/dev/null
bomb "Tier-1, a peak of 332 MiB" "$tmp/p.csv.zst" "$bin/kvreplay" -o /dev/null "$tmp/p.csv.zst"
