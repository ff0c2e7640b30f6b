#!/bin/sh
# Large sizes, scaled down: an object larger than every tier, and memory that depends on live objects and not on the
# length of the run or of the file. A bug looked like a run that never ended because an object fitted nowhere, or memory
# that grew with every row. The full sizes are in bench/kvgen-scale.sh.
# builds: plain (it is about memory, which a sanitizer needs much of)
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

printf 'User,Context_Tokens,Generation_Tokens,Think_s,QoS\nu,25000,100,0.5,interactive\n' >"$TMP/users.csv"
large() { # OPTIONS...: a user whose objects have 8 GB
    told "$BIN/kvgen" --model llama3.1-70b-instruct --users-file "$TMP/users.csv" --num-users 1 --gpu-mem-gb 4 \
        --cpu-mem-gb 6 --summary "$TMP/s.json" "$@"
}
large --storage-capacity-gb 7 -o "$TMP/t.csv"
like "8 GB in tiers smaller than it" \
    "$(awk -F, '$2 == "Write" && $3 > 7516192768 {print $3, $4; exit}' "$TMP/t.csv")" '^[78][0-9]{9} Tier-2$'
like "it is said how much over" "$(json "$TMP/s.json" 'tier("Tier-2").oversized_objects')" '^[1-9]'
large --storage-capacity-gb 7 -o "$TMP/t.csv.zst"
is "and the trace is whole but for that" \
    "$("$BIN/kvstat" --verify-trace "$TMP/t.csv.zst" | sed -n 's/^  \([a-z]*\) [0-9,]* finding.*/\1/p')" capacity
large --storage-capacity-gb none -o none
like "without storage it is dropped and counted" "$(json "$TMP/s.json" .dropped.writes)" '^[1-9]'

# A sanitizer keeps freed memory and notes about it: its use of memory says nothing about ours.
if sanitized; then
    done_testing
    exit
fi

# most_memory ARGUMENTS...: the most memory of a run, in KiB.
most_memory() {
    "$BIN/kvgen" -o none --progress none "$@" 2>"$TMP/err" &
    pid=$!
    peak=0
    while status=$(cat "/proc/$pid/status" 2>/dev/null) && kill -0 "$pid" 2>/dev/null; do
        now=$(printf '%s\n' "$status" | awk '/^VmHWM/ {print $2}')
        [ "${now:-0}" -gt "$peak" ] && peak=$now
        sleep 0.01
    done
    wait "$pid" || diag "$(cat "$TMP/err")"
    echo "$peak"
}
long() { most_memory --num-users 100 --arrival closed --storage-capacity-gb 200 --generation-mode fast "$@"; }
short=$(long --duration 10m)
longer=$(long --duration 1h)
diag "10 min: $short KiB, 1 h: $longer KiB"
ok "a longer run takes no more memory" test "$longer" -lt $((short + short / 2 + 4096))

# Where users do not wait for answers, requests wait: all but a few thousand of 1.5 million here.
waiting=$(most_memory --num-users 10000 --summary "$TMP/s.json")
diag "$(json "$TMP/s.json" .requests.waiting) requests wait: $waiting KiB"
ok "a request that waits takes few bytes" test "$waiting" -lt 49152

dataset() { # CONVERSATIONS
    awk -v n="$1" 'BEGIN {
        while (length(text) < 4000) text = text "what does the cache do? "
        printf "["
        for (i = 0; i < n; i++) {
            printf "%s{\"id\": \"c%d\", \"conversations\": [", i ? "," : "", i
            printf "{\"from\": \"human\", \"value\": \"%s\"}, {\"from\": \"gpt\", \"value\": \"%s\"}]}", text, text
        }
        print "]"
    }'
}
dataset 1500 >"$TMP/small.json"
dataset 6000 >"$TMP/large.json"
from() { most_memory --dataset-path "$1" --request-rate 100 --generation-mode none --storage-capacity-gb 50; }
few=$(from "$TMP/small.json")
many=$(from "$TMP/large.json")
diag "12 MB: $few KiB, 48 MB: $many KiB"
ok "nor does a larger dataset" test "$many" -lt $((few + few / 2 + 8192))
done_testing
