#!/bin/sh
# Engines with the same files (--cache vllm:shared=yes, sglang:shared=yes): the second engine finds below what the first one computed, rows name
# a file after the engine that wrote it, the drive and its limit are those of all, and share= caps what each may write. A bug
# looked like two copies of one file, a limit that counted for each engine, or a read of a file that was not there.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

ONE="-m tiny-1b --params 1e9 --gpu-mem 512MiB --cpu-mem 256MiB --config engines=2 --config route=round-robin"

# Every prompt comes twice, to one engine and then to the other. The names of its blocks are its own.
time=0
for prompt in $(seq 0 19); do
    for engine in first second; do
        echo "{\"timestamp\":$time,\"input_length\":2048,\"output_length\":2,\"hash_ids\":[$prompt],\"for\":\"$engine\"}"
        time=$((time + 3000))
    done
done >"$TMP/twice.jsonl"
# run NAME SETTINGS OPTION...
run() {
    name=$1 settings=$2
    shift 2
    exits "$name" 0 with "$ONE" "$BIN/kvgen" --cache "vllm$settings" --input "$TMP/twice.jsonl" --block-size 2048 --no-notes --seed 1 \
        --summary "$TMP/$name.json" -o "$TMP/$name.csv" "$@"
}
run apart ""
run same :shared=yes
is "engines of their own find nothing" "$(json "$TMP/apart.json" '.serving.engines[].tokens.storage')" '0 0'
is "the second finds what the first computed" "$(json "$TMP/same.json" '.serving.engines[].tokens.storage')" '0 40960'
is "each block is one file" "$(json "$TMP/same.json" '.cache.tiers[2].stored')" 2560
is "of their own, two" "$(json "$TMP/apart.json" '.cache.tiers[2].stored')" 5120

# Rows: a file is written once, by the first engine; the second reads it under the same name.
awk -F, '$4 == "Tier-2" { n[$2 " by " $14 " of " substr($5, length($5) - 2)]++ }
    END { for (what in n) print what, n[what] }' "$TMP/same.csv" | sort >"$TMP/rows"
is "rows of files" "$(cat "$TMP/rows")" 'Read by 1 of @e0 2560
Write by 0 of @e0 2560'
exits "the trace holds together" 0 "$BIN/kvstat" --verify-trace "$TMP/same.csv"
exits "a replay finds every copy" 0 "$BIN/kvreplay" --timing asap --verify full --gpu-mem 1GiB --cpu-mem 512MiB \
    --limit 7000 --target "$TMP/kv" -o "$TMP/result.csv" "$TMP/same.csv"
stderr_like "and says so" 'all ok$'

# SGLang's engines, which keep the files of a directory.
exits "sglang" 0 with "$ONE" "$BIN/kvgen" --cache sglang:page_size=16,shared=yes --input "$TMP/twice.jsonl" --block-size 2048 \
    --no-notes --summary "$TMP/sglang.json" -o "$TMP/sglang.csv"
is "the second finds what there is room for on its host" "$(jq -c '[.serving.engines[].tokens.storage > 10000]' "$TMP/sglang.json")" '[false,true]'
is "no page has two files" "$(awk -F, '$4 == "Tier-2" && $2 == "Write" { split($5, of, "@"); n += of[1] in seen; seen[of[1]] } END { print n + 0 }' \
    "$TMP/sglang.csv")" 0
exits "its trace holds together" 0 "$BIN/kvstat" --verify-trace "$TMP/sglang.csv"

# One limit for all; or a part of it for each.
LIMIT="--storage-capacity 480MiB" # 1280 blocks of 384 KiB, of the 2560
with "$LIMIT" run full :shared=yes
is "one limit" "$(json "$TMP/full.json" '.cache.tiers[2] | .stored, .room')" '1280 1280'
with "$LIMIT" run part :shared=yes,share=25%
ok "a part of it: the first engine's" test "$(json "$TMP/part.json" '.cache.tiers[2].stored')" -le 640
files() { # of each engine: at most at once, by its rows
    awk -F, -v engine="$1" '$4 == "Tier-2" && $5 ~ "@e" engine "$" { n += $2 == "Write"; n -= $2 == "Delete"; if (n > most) most = n }
        END { print most + 0 }' "$2"
}
is "by its rows" "$(files 0 "$TMP/part.csv")" 320
is "the other's" "$(files 1 "$TMP/part.csv")" 320
with "$LIMIT" run clean :shared=yes,share=25% --on-full evict
ok "a cleaner keeps each within its part" test "$(files 0 "$TMP/clean.csv")" -le 320
is "by removing" "$(jq '.cache.tiers[2].dropped > 0 and .cache.tiers[2].refused == 0' "$TMP/clean.json")" true
exits "its trace holds together" 0 "$BIN/kvstat" --verify-trace "$TMP/clean.csv"

# They wait for one drive: two prompts that are loaded from it at the same time take longer than on two drives.
for when in 0:0 0:1 60000:2 60000:3 120000:0 120000:1; do
    echo "{\"timestamp\":${when%:*},\"input_length\":2048,\"output_length\":2,\"hash_ids\":[${when#*:}]}"
done >"$TMP/again.jsonl"
ONE="-m tiny-1b --params 1e9 --gpu-mem 64MiB --cpu-mem 64MiB --config engines=2 --config route=round-robin"
for drive in read:50MB/s,write:50MB/s "$DATA/drive_model.json"; do
    for settings in "" :shared=yes; do
        exits "a drive" 0 with "$ONE" "$BIN/kvgen" --cache "vllm$settings" --input "$TMP/again.jsonl" --block-size 2048 \
            --tier-model "2=$drive" --summary "$TMP/drive$settings.json" -o none
        is "both load" "$(jq '[.serving.engines[].tokens.storage > 1000] | all' "$TMP/drive$settings.json")" true
    done
    is "$drive: one is slower" "$(jq -s '.[1].prefill.first_token_ms.all.max > 1.3 * .[0].prefill.first_token_ms.all.max' \
        "$TMP/drive.json" "$TMP/drive:shared=yes.json")" true
done

refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "and says why" "$why"
}
refused "one engine" 'shared=yes needs --config engines=2' --cache vllm:shared=yes
refused "no files" 'shared=yes needs files' --cache vllm:shared=yes --config engines=2 --storage-capacity none
refused "a share of nothing shared" 'share needs shared=yes' --cache vllm:share=25% --config engines=2
refused "a share without a limit" 'share needs a limit' --cache vllm:shared=yes,share=25% --config engines=2
refused "more than there is" 'share: 3 engines with 40 % each are more' --cache vllm:shared=yes,share=40% --config engines=3 --storage-capacity 1GiB
refused "no share" 'share: "125%" is not a share' --cache vllm:share=125% --config engines=2
refused "an engine that shares nothing" 'lmcache has no setting "shared"' --cache lmcache:shared=yes --config engines=2
done_testing
