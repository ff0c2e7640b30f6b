#!/bin/sh
# What is large, made small: an object larger than every tier, and memory that follows live objects and
# not the length of the run or of the file. A bug looked like a run that never ended over an object that
# fits nowhere, or memory that grew with every row. The full sizes are in bench/kvgen-scale.sh.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../../lib.sh"
single_threaded

printf 'User,Context_Tokens,Generation_Tokens,Think_s,QoS\nu,25000,100,0.5,interactive\n' >"$TMP/users.csv"
one() {
    told "$BIN/kvgen" --model llama3.1-70b-instruct --users-file "$TMP/users.csv" --num-users 1 --gpu-mem-gb 4 \
        --cpu-mem-gb 6 -o "$TMP/t.csv" --summary "$TMP/s.json" "$@"
}
one --storage-capacity-gb 7
like "8 GB in tiers smaller than it" "$(awk -F, '$2 == "Write" && $3 > 7516192768 {print $3, $4; exit}' "$TMP/t.csv")" \
    '^[78][0-9]{9} Tier-2$'
like "it is said how much over" "$(cat "$TMP/s.json")" '"oversized_objects": [1-9]'
"$BIN/kvgen" --model llama3.1-70b-instruct --users-file "$TMP/users.csv" --num-users 1 --gpu-mem-gb 4 --cpu-mem-gb 6 \
    --storage-capacity-gb 7 -o "$TMP/t.csv.zst" 2>/dev/null
is "and the trace is whole but for that" \
    "$("$BIN/kvstat" --verify-trace "$TMP/t.csv.zst" | sed -n 's/^  \([a-z]*\) [0-9,]* finding.*/\1/p')" capacity
one --storage-capacity-gb none
like "without storage it is dropped and counted" "$(sed -n '/"dropped"/,$p' "$TMP/s.json")" '"writes": [1-9]'

# A sanitizer keeps what was freed and remembers where it came from: its memory says nothing of ours.
if sanitized; then
    done_testing
    exit
fi

# hwm ARGUMENT...: most memory of a run in KiB, told by the shell that waits for it.
hwm() {
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
long() { hwm --num-users 100 --arrival closed --storage-capacity-gb 200 --generation-mode fast "$@"; }
short=$(long --duration 1h)
day=$(long --duration 6h)
diag "1 h: $short KiB, 6 h: $day KiB"
ok "a longer run takes no more memory" test "$day" -lt $((short + short / 2 + 4096))

# Where users do not wait for answers, requests do: all but some thousands of 1.5 million here.
waiting=$(hwm --num-users 10000 --summary "$TMP/s.json")
diag "$(sed -n 's/.*"waiting": \([0-9]*\).*/\1/p' "$TMP/s.json") requests wait: $waiting KiB"
ok "a request that waits takes few bytes" test "$waiting" -lt 49152

dataset() { # CONVERSATIONS
    awk -v n="$1" 'BEGIN {while (length(t) < 4000) t = t "what does the cache do? "
        printf "["
        for (i = 0; i < n; i++)
            printf "%s{\"id\": \"c%d\", \"conversations\": [{\"from\": \"human\", \"value\": \"%s\"}, {\"from\": \"gpt\", \"value\": \"%s\"}]}",
                i ? "," : "", i, t, t
        print "]"}'
}
dataset 1500 >"$TMP/small.json"
dataset 6000 >"$TMP/large.json"
from() { hwm --dataset-path "$1" --request-rate 100 --generation-mode none --storage-capacity-gb 50; }
few=$(from "$TMP/small.json")
many=$(from "$TMP/large.json")
diag "12 MB: $few KiB, 48 MB: $many KiB"
ok "nor does a larger dataset" test "$many" -lt $((few + few / 2 + 8192))
done_testing
