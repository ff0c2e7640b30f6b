#!/bin/sh
# The two halves of disaggregated serving on one lower tier (shared=yes): a prefill node ends with the first token and leaves its
# prompts in files; a decode node loads what it finds there and computes what is missing. What each half finds is worked out by
# hand. A bug looked like prompts that the decode node computed though the other half had written them, a hit on a file that
# nobody wrote, or loads of objects that no row of the trace had written.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

# Requests far apart, of blocks of 512 tokens. A prompt's tokens that fill no block are its own.
for line in 0,1000,1,2 5000,1100,1,3,4 10000,1000,1,2 15000,700,5,6; do
    printf '%s\n' "$line" | sed 's/\([0-9]*\),\([0-9]*\),\(.*\)/{"timestamp":\1,"input_length":\2,"output_length":4,"hash_ids":[\3]}/'
done >"$TMP/requests.jsonl"
INPUT="--input $TMP/requests.jsonl --block-size 512"
MODEL="-m tiny-1b --params 1e9 --gpu-mem 1GiB --cpu-mem 1GiB"
ROOM=10GiB # of files

# run NAME OPTION...; found NAME: tokens from GPU, host, files, and computed.
run() {
    name=$1
    shift
    exits "$name" 0 with "$INPUT $MODEL --storage-capacity $ROOM" "$BIN/kvgen" "$@" --summary "$TMP/$name.json" -o "$TMP/$name.csv"
    exits "$name holds together" 0 "$BIN/kvstat" --verify-trace "$TMP/$name.csv"
}
found() {
    json "$TMP/$1.json" '.cache.tokens.gpu, .cache.tokens.host, .cache.tokens.storage, .cache.tokens.computed, .requests.completed, .requests.generated_tokens'
}

# vLLM has blocks of 16 tokens. Prefill: 1000, then 1100 and 1000 less the first block's 512, then 700.
VLLM=vllm:shared=yes
set -- --cache "$VLLM"
run prefill "$@" --prefill-only
is "a prefill node gives one token" "$(found prefill)" '1024 0 0 2776 4 4'
# Decode: 62, 68, 62 and 43 whole blocks, of which 32 are on the GPU at the second and third request.
run decode "$@" --decode-only --files-from "$TMP/prefill.csv"
is "a decode node loads whole blocks" "$(found decode)" '1024 0 2736 40 4 16'
writes() { awk -F, -v time="$2" '$2 == "Write" && $4 == "Tier-2" && (time == "" || $1 == time) { print $5, $7 "" }' "$TMP/$1.csv" | sort; }
is "its files are those of the other half" "$(writes decode 0.000000)" "$(writes prefill)"
is "and the only ones" "$(writes decode)" "$(writes prefill)"
# A request that the other half did not have is computed.
run early "$@" --prefill-only --max-requests 3
run miss "$@" --decode-only --files-from "$TMP/early.csv"
is "what is missing is computed" "$(found miss)" '1024 0 2048 728 4 16'
# Without that trace every prompt is there.
run alone "$@" --decode-only
is "every prompt is loaded" "$(found alone)" '1024 0 2736 40 4 16'
# 100 copies of 384 KiB: 62 and 36 for the first two requests, two for the third, none for the fourth.
ROOM=37.5MiB
run full "$@" --decode-only
ROOM=10GiB
is "what finds no room is computed" "$(found full)" '1024 0 1600 1176 4 16'
# Two prefill engines: the second finds the shared block in files.
run two "$@" --prefill-only --config engines=2 --config route=round-robin
is "two prefill engines" "$(found two)" '512 0 512 2776 4 4'
run after_two "$@" --decode-only --files-from "$TMP/two.csv"
is "and one that decodes" "$(found after_two)" '1024 0 2736 40 4 16'
# Each engine has a part of the files (share=). The first one writes 62 and 30 copies, as it has the shared block; the second 36
# and 43. All fit into halves of 280 copies, but not into one of them; into quarters 70 do.
in_files() { # NAME: copies there at the start, by the engine that wrote them.
    writes "$1" 0.000000 | sed 's/.*\(@e[0-9]*\) .*/\1/' | sort | uniq -c | xargs
}
ROOM=105MiB
run halves --cache "$VLLM,share=50%" --prefill-only --config engines=2 --config route=round-robin
run after_halves --cache "$VLLM,share=50%" --decode-only --config engines=2 --config route=round-robin --files-from "$TMP/halves.csv"
is "the files of an engine are in the part of the one with its number" "$(in_files after_halves)" "92 @e0 79 @e1"
run quarters --cache "$VLLM,share=25%" --decode-only --config engines=2 --config route=round-robin --files-from "$TMP/halves.csv"
is "what has no room in its part is left out" "$(in_files quarters)" "70 @e0 70 @e1"
exits "quarters again" 0 with "$INPUT $MODEL --storage-capacity $ROOM" "$BIN/kvgen" -o none --cache "$VLLM,share=25%" --decode-only \
    --config engines=2 --files-from "$TMP/halves.csv"
stderr_like "and counted" '^kvgen: --files-from: 31 of 171 files find no room and are left out$'
ROOM=10GiB
exits "a compressed trace" 0 with "$INPUT $MODEL --cache $VLLM --storage-capacity $ROOM" "$BIN/kvgen" --prefill-only -z -o "$TMP/prefill.csv.zst"
run packed "$@" --decode-only --files-from "$TMP/prefill.csv.zst"
is "is read, too" "$(found packed)" "$(found decode)"

# A page of SGLang is a token; it computes the last one of a prompt again.
set -- --cache sglang:shared=yes
run s_prefill "$@" --prefill-only
is "sglang: prefill" "$(found s_prefill)" '1024 0 0 2776 4 4'
run s_decode "$@" --decode-only --files-from "$TMP/s_prefill.csv"
is "sglang: decode" "$(found s_decode)" '1024 0 2772 4 4 16'
run s_alone "$@" --decode-only
is "sglang: every prompt is loaded" "$(found s_alone)" '1024 0 2772 4 4 16'

refused() { # WHAT ERE OPTION...
    what=$1 why=$2
    shift 2
    exits "refuses $what" 2 with "$INPUT $MODEL --storage-capacity $ROOM" "$BIN/kvgen" -o none "$@"
    stderr_like "and says why" "$why"
}
refused "a decode node with files of its own" '^kvgen: --decode-only: needs files that another node writes' --cache vllm --decode-only
refused "files from another run, not shared" '^kvgen: --files-from: needs files' --cache vllm --files-from "$TMP/prefill.csv"
refused "files without an engine" '^kvgen: --files-from: applies only to a simulated serving engine' --files-from "$TMP/prefill.csv" --input "$DATA/mooncake_first200.jsonl"
refused "the waterfall" '^kvgen: --gpu-profile: does not apply with --decode-only' --gpu-profile h100 --decode-only
refused "files of another cache" 'is of --cache sglang, whose files vllm does not read' --cache "$VLLM" --files-from "$TMP/s_prefill.csv"
exits "a trace without files" 0 with "$INPUT $MODEL --storage-capacity none" "$BIN/kvgen" --cache vllm -o "$TMP/none.csv"
refused "a trace without files" 'leaves no copy in Tier-2' --cache "$VLLM" --files-from "$TMP/none.csv"
exits "objects of no engine" 0 "$BIN/kvgen" -m tiny-1b --users 3 --duration 9s --gpu-mem 0 --cpu-mem 0 -o "$TMP/users.csv"
refused "objects of no engine" 'users.csv: row 1 is of an object that is no copy of an engine' --cache "$VLLM" --files-from "$TMP/users.csv"
refused "a file that is not there" "missing.csv: cannot open: No such file" --cache "$VLLM" --files-from "$TMP/missing.csv"
# rows KEY...: a trace of writes of such copies; with a minus they are deleted, with a plus read.
rows() {
    echo Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase
    for key; do
        case $key in
        -*) echo "0,Delete,0,Tier-2,chain_${key#-},Evict" ;;
        +*) echo "0,Read,393216,Tier-2,chain_${key#+},Decode" ;;
        *) echo "0,Write,393216,Tier-2,chain_$key,Prefill" ;;
        esac
    done
}
refused "files of more engines than have parts" 'engine 1 wrote some of its files: with share= .*--config engines=2' \
    --cache "$VLLM,share=50%" --decode-only --files-from "$TMP/halves.csv"
cd "$TMP" || exit
rows 0000000000000001@e0 0000000000000001@e1 >rows.csv
refused "engines that do not share" 'row 2 is a second copy: its engines did not share' --cache "$VLLM" --files-from rows.csv
rows 0000000000000001@g20 >rows.csv
refused "groups of another model" '--files-from: its copies are of other groups of layers' --cache "$VLLM" --files-from rows.csv
# A bug looked like a program that never ended: the last key is the number that a free place of the table has.
rows 0000000000000001 0000000000000002 -0000000000000002 +0000000000000001 -9e3779b97f4a7c15 >rows.csv
exits "a key that was never written" 0 with "$INPUT $MODEL --storage-capacity $ROOM" timeout 60 "$BIN/kvgen" -o none --cache "$VLLM" \
    --files-from rows.csv

# Windows: the groups of layers have files of their own. Of a layer with a window the GPU keeps what the end of a prompt looks
# at, so the shared block comes from the host, which has all that was loaded.
MODEL="-m $DATA/models/gpt-oss-120b.json --gpu-mem 4GiB --cpu-mem 4GiB"
run w_prefill --cache "$VLLM" --prefill-only
run w_decode --cache "$VLLM" --decode-only --files-from "$TMP/w_prefill.csv"
is "windows: decode" "$(found w_decode)" '0 1024 2736 40 4 16'
refused "copies of another size" '--files-from: its copies have 393216 bytes' --cache "$VLLM" --files-from "$TMP/prefill.csv"
done_testing
