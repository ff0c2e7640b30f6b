#!/bin/sh
# kvgen-scale.sh - kvgen with large inputs: an object larger than every tier, 100,000 users, a simulated day of 1,000
# users, a dataset of a gigabyte. Prints wall time, rows and the most memory (VmHWM) of each; judges nothing.
# DATASET_MB, HOURS and USERS make it smaller.
set -eu
export LC_ALL=C
TOP=$(cd "$(dirname "$0")/../.." && pwd)
case ${BUILD:=build} in
/*) BIN=$BUILD/bin ;;
*) BIN=$TOP/$BUILD/bin ;;
esac
TMP=$(mktemp -d "${TMPDIR:-/tmp}/kvgen-scale.XXXXXX")
trap 'rm -rf "$TMP"' EXIT
HOURS=${HOURS:-24} USERS=${USERS:-100000} DATASET_MB=${DATASET_MB:-1024}

# measure NAME ARGUMENT...: one run of kvgen, without output
measure() {
    name=$1
    shift
    "$BIN/kvgen" -o none --progress none --summary "$TMP/s.json" "$@" 2>"$TMP/err" &
    pid=$!
    peak=0
    while status=$(cat "/proc/$pid/status" 2>/dev/null) && kill -0 "$pid" 2>/dev/null; do
        now=$(printf '%s\n' "$status" | awk '/^VmHWM/ {print $2}')
        [ "${now:-0}" -gt "$peak" ] && peak=$now
        sleep 0.05
    done
    wait "$pid" || {
        cat "$TMP/err" >&2
        exit 1
    }
    jq -r '.trace.wall_s, .trace.wall_s * .trace.rows_per_s, ([.tiers[].final_objects] | add)' "$TMP/s.json" |
        paste -sd ' ' - | awk -v name="$name" -v peak="$peak" '{
            printf "%-44s %8.2f s %12.0f rows %8.1f MiB %10d live objects\n", name, $1, $2, peak / 1024, $3 }'
}

printf 'User,Context_Tokens,Generation_Tokens,Think_s,QoS\nu,25000,100,0.5,interactive\n' >"$TMP/users.csv"
measure "25,000 tokens at 70B, smaller tiers" --model llama3.1-70b-instruct --users-file "$TMP/users.csv" \
    --num-users 1 --gpu-mem-gb 4 --cpu-mem-gb 6 --storage-capacity-gb 7 --generation-mode none --duration "${HOURS}h"
measure "$USERS users, a minute, open (they wait)" --num-users "$USERS"
measure "$USERS users, a minute, closed" --num-users "$USERS" --arrival closed
measure "$USERS users, closed, limited storage" --num-users "$USERS" --arrival closed --storage-capacity-gb 1000
measure "1,000 users, $HOURS h, closed, endless" --num-users 1000 --duration "${HOURS}h" --arrival closed
measure "1,000 users, $HOURS h, closed, 10 TiB" --num-users 1000 --duration "${HOURS}h" --arrival closed \
    --storage-capacity-gb 10240
measure "1,000 users, $HOURS h, closed, timed tiers" --num-users 1000 --duration "${HOURS}h" --arrival closed \
    --storage-capacity-gb 10240 --tier-model 0=hbm3 --tier-model 1=ddr5 --tier-model 2=nvme-gen5

# Conversations of four turns with some 2 KiB of text each.
awk -v bytes="$((DATASET_MB * 1048576))" 'BEGIN {
    while (length(text) < 900) text = text "So what does the cache do with it? "
    printf "["
    for (i = 0; n < bytes; i++) {
        line = (i ? ",\n" : "") "{\"id\": \"c" i "\", \"conversations\": ["
        for (k = 0; k < 4; k++) {
            question = substr(text, 1, 100 + (i * 37 + k * 211) % 800)
            answer = substr(text, 1, 100 + (i * 53 + k * 97) % 800)
            line = line (k ? ", " : "") "{\"from\": \"human\", \"value\": \"" question "\"}"
            line = line ", {\"from\": \"gpt\", \"value\": \"" answer "\"}"
        }
        line = line "]}"
        n += length(line)
        printf "%s", line
    }
    print "]"
}' >"$TMP/dataset.json"
measure "ShareGPT, $DATASET_MB MB, 1 TiB" --dataset-path "$TMP/dataset.json" --request-rate 100 --generation-mode none \
    --storage-capacity-gb 1024
