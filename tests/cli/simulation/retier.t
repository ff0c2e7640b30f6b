#!/bin/sh
# --retier into an engine's cache: the requests that looked blocks up in a trace are served anew by that engine, as a run on
# the requests themselves would serve them; a trace without --retier keeps its copies. What says nothing of requests is
# refused, by name and with what to do instead. A bug looked like a prompt whose blocks were out of order, a request that
# came twice after a preemption, or an engine's events that were asked as if they were requests.
# shellcheck source=tests/lib.sh
. "${0%/*}/../../lib.sh"

mooncake=$DATA/mooncake_first200.jsonl
model="-m tiny-1b --params 1e9"
tiers="--gpu-mem 2GiB --cpu-mem 1GiB --storage-capacity unlimited"
# run OPTION...: with an engine's cache.
run() {
    with "$model $tiers" told "$BIN/kvgen" --max-requests 60 "$@" --no-notes
}

# A waterfall's rows, where the last block of a prompt says its tokens, are as good as the requests.
told "$BIN/kvgen" --input "$mooncake" --max-requests 60 --config partial_blocks=true -m tiny-1b --gpu-mem 1GiB --cpu-mem 1GiB \
    --storage-capacity unlimited --no-notes -o "$TMP/waterfall.csv"
for cache in vllm:block_size=64 lmcache lmcache-mp:chunk_size=128 sglang:page_size=64 copies:block_size=128; do
    run --input "$mooncake" --cache "$cache" -o "$TMP/direct.csv"
    run --input "$TMP/waterfall.csv" --retier --cache "$cache" -o "$TMP/retier.csv"
    ok "a waterfall's trace into $cache: the rows of a run on the requests" cmp -s "$TMP/direct.csv" "$TMP/retier.csv"
done
ok '(there are some)' grep -q ',Tier-2,' "$TMP/retier.csv"
unlike 'nothing to remark' "$(cat "$TMP/err")" 'may differ by less than a block'

# found RUN: tokens by origin and what each tier did.
found() {
    json "$TMP/$1.json" '.cache | .tokens.gpu, .tokens.host, .tokens.storage, .tokens.computed, .tokens.found_after_preemption, .tiers[].stored, .tiers[].loaded, .tiers[].dropped'
}
# So are an engine's own rows: hits, then loads, then misses are a prompt, and the Prefill row has what fills no block.
with "$model $tiers" told "$BIN/kvgen" --input "$mooncake" --cache vllm --summary "$TMP/direct.json" -o none
for from in vllm:block_size=64 sglang:page_size=64 lmcache:block_size=64,chunk_size=64; do
    with "$model $tiers" told "$BIN/kvgen" --input "$mooncake" --cache "$from" -o "$TMP/engine.csv.zst"
    with "$model $tiers" told "$BIN/kvgen" --input "$TMP/engine.csv.zst" --retier --cache vllm --summary "$TMP/retier.json" -o none
    # What was too long for the GPU there has no rows; here it is refused, too.
    is "the trace of $from into vllm" "$(found retier)" "$(found direct)"
done
is "(some was found)" "$(json "$TMP/direct.json" '.cache.tokens.hit_rate > 0.05')" true
like 'what the requests are' "$(cat "$TMP/err")" '^input +the look-ups of a trace; times in s; full blocks of 64; tokens given$'
like 'the cache that was asked' "$(cat "$TMP/err")" '^cache +vllm 0.33.0: '
# Several engines: a copy is named by its engine, a request by its user.
run --input "$mooncake" --cache vllm:block_size=64 --config engines=2 --config route=user -o "$TMP/direct.csv"
run --input "$TMP/waterfall.csv" --retier --cache vllm:block_size=64 --config engines=2 --config route=user -o "$TMP/retier.csv"
ok 'engines by user' cmp -s "$TMP/direct.csv" "$TMP/retier.csv"
with "$model $tiers" told "$BIN/kvgen" --input "$mooncake" --cache vllm:block_size=64 --config engines=2 -o "$TMP/two.csv"
with "$model $tiers" told "$BIN/kvgen" --input "$TMP/two.csv" --retier --cache vllm --summary "$TMP/retier.json" -o none
is 'two engines into one' "$(found retier)" "$(found direct)"
# Rows behind a request's end are nobody's.
is 'no row of a request that has ended' "$(zstd -qdc "$TMP/engine.csv.zst" |
    awk -F, '$2 == "Generate" && $6 == "Decode" { end[$7] = 1; next } $7 != "" && end[$7] { n++ } END { print n + 0 }')" 0

# The model of the rows is not that of the run: sizes are the run's.
with "$tiers" told "$BIN/kvgen" --input "$TMP/waterfall.csv" --retier --cache vllm -m llama3.1-8b -o none --summary "$TMP/s.json"
is 'another model' "$(json "$TMP/s.json" '.cache.tiers[0].copy_bytes')" 2097152
# Requests that had not ended are left out, and said so.
grep -v ',Generate,' "$TMP/waterfall.csv" >"$TMP/none.csv"
awk -F, '$2 != "Generate" || n++ < 40' "$TMP/waterfall.csv" >"$TMP/some.csv"
with "$model $tiers" told "$BIN/kvgen" --input "$TMP/some.csv" --retier --cache vllm -o none --summary "$TMP/s.json"
is 'forty of sixty ended' "$(json "$TMP/s.json" .requests.issued)" 40
like 'the others are named' "$(cat "$TMP/err")" 'left out because the trace ends before they do: 20$'
# A number that comes back after its end is another request, and no place of one that ended is read again; a prompt that fills no
# block has its tokens before any row says those of a block.
head='Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us'
looks() { # REQUEST BLOCK TOKENS
    printf '0,Miss,0,,block_%s,,%s,u,batch,block,,0,\n0,Write,1024,Tier-0,block_%s,Prefill,%s,u,batch,block,%s,0,\n' \
        "$2" "$1" "$2" "$1" "$3"
}
ends() { printf '0,Generate,0,,,Prefill,%s,u,batch,,16,0,1\n0,Generate,0,,,Decode,%s,u,batch,,4,0,1\n' "$1" "$1"; }
{
    echo "$head"
    looks 5 1 16
    looks 6 2 16
    ends 5
    ends 6
    looks 5 3 16
} >"$TMP/back.csv"
with "$model $tiers" told "$BIN/kvgen" --input "$TMP/back.csv" --retier --cache vllm -o none --summary "$TMP/s.json"
is 'two ended' "$(json "$TMP/s.json" .requests.issued)" 2
like 'the third did not' "$(cat "$TMP/err")" 'left out because the trace ends before they do: 1$'
cat >"$TMP/short.jsonl" <<'END'
{"timestamp": 0, "input_length": 400, "output_length": 2, "hash_ids": [1]}
{"timestamp": 10000, "input_length": 4100, "output_length": 2, "hash_ids": [11, 12, 13, 14, 15, 16, 17, 18, 19]}
END
with "$model $tiers" told "$BIN/kvgen" --input "$TMP/short.jsonl" --cache vllm:block_size=512 -o "$TMP/short.csv"
with "$model $tiers" told "$BIN/kvgen" --input "$TMP/short.csv" --retier --cache vllm -o none --summary "$TMP/s.json"
is 'tokens of a short prompt' "$(json "$TMP/s.json" .cache.tokens.computed)" 4500
# Dates begin at 0; a cut trace gives what it has.
awk -F, -v OFS=, 'NR > 1 { $1 = sprintf("%.6f", $1 + 1767225600); if ($12 != "") $12 = sprintf("%.6f", $12 + 1767225600) } 1' \
    "$TMP/waterfall.csv" >"$TMP/dated.csv"
run --input "$TMP/dated.csv" --retier --cache copies:block_size=128 -o "$TMP/again.csv"
run --input "$TMP/waterfall.csv" --retier --cache copies:block_size=128 -o "$TMP/retier.csv"
ok 'dates' cmp -s "$TMP/again.csv" "$TMP/retier.csv"
head -c 300000 "$TMP/engine.csv.zst" >"$TMP/cut.csv.zst"
with "$model" exits 'a cut trace' 2 "$BIN/kvgen" --input "$TMP/cut.csv.zst" --retier --cache vllm -o "$TMP/of_cut.csv" --no-notes
stderr_like 'says where' "cut.csv.zst: cut after row "
ok 'its requests are there' grep -q ',Generate,' "$TMP/of_cut.csv"

# Without --retier a recording and an engine's trace keep their copies: a key in two tiers at once.
with "$model $tiers" told "$BIN/kvgen" --input "$mooncake" --cache vllm:block_size=64 --max-requests 60 -o "$TMP/own.csv" --no-notes
told "$BIN/kvgen" --input "$TMP/own.csv" -o "$TMP/copy.csv" --no-notes
ok "an engine's trace is copied as it is" cmp -s "$TMP/own.csv" "$TMP/copy.csv"
vllm=$DATA/recordings/vllm-0.33.0-bytes.zmqrec
told "$BIN/kvgen" -m tiny-1b --input "$vllm" -o "$TMP/recorded.csv" --no-notes

refused() { # WHAT ERE OPTION...
    what=$1 like=$2
    shift 2
    with "$model" exits "$what: refused" 2 "$BIN/kvgen" -o none "$@"
    stderr_like "$what: says so" "$like"
}
instead='give the requests themselves to --input, or leave --cache waterfall$'
refused "an engine's events" '^kvgen: --cache: events of an engine tell what its cache did, .* give the requests' \
    --input "$vllm" --retier --cache vllm
refused 'requests' '^kvgen: --retier: .*; requests go to --cache without it$' --input "$mooncake" --retier --cache vllm
refused 'a copy into a cache' '^kvgen: --cache: .* unless --retier ' --input "$TMP/waterfall.csv" --cache vllm
refused 'events that became rows' "recorded.csv: has no column Request, .*$instead" --input "$TMP/recorded.csv" --retier --cache vllm
awk -F, -v OFS=, 'NR == 4 { $7 = "" } 1' "$TMP/waterfall.csv" >"$TMP/nobody.csv"
refused 'a look-up of nobody' "nobody.csv: row 3 names no request: .*$instead" --input "$TMP/nobody.csv" --retier --cache vllm
told "$BIN/kvgen" -m tiny-1b --users 3 --duration 5s -o "$TMP/users.csv" --no-notes
refused 'objects of turns' "users.csv: row [0-9]+ is of an object that is no block of a chain: .*$instead" \
    --input "$TMP/users.csv" --retier --cache lmcache
told "$BIN/kvgen" --input "$TMP/waterfall.csv" --format mlperf -o "$TMP/six.csv"
refused 'six columns' "six.csv: has no column Request, .*$instead" --input "$TMP/six.csv" --retier --cache sglang
refused "another tool's log" "a log of another tool says nothing of requests: .*$instead" \
    --input "$DATA/s3dlio_oplog_example.tsv" --retier --cache vllm
exits 'a replay' 0 "$BIN/kvreplay" --null --no-notes -o "$TMP/result.csv" "$TMP/waterfall.csv"
refused 'a result' 'result.csv: is a result, .*: give the trace that was replayed$' --input "$TMP/result.csv" --retier --cache vllm
refused 'nobody says who made it' "own.csv: does not say which cache made it, .*$instead" --input "$TMP/own.csv" --retier --cache vllm
refused 'no request ended' "none.csv: has no request .*$instead" --input "$TMP/none.csv" --retier --cache vllm
refused 'a setting of files' '^kvgen: --speed: does not apply with --retier, which keeps ' --input "$TMP/waterfall.csv" --retier \
    --cache vllm --speed 2
with "$model $tiers" told "$BIN/kvgen" --input "$mooncake" --cache lmcache:block_size=64 -o "$TMP/chunks.csv"
refused 'chunks larger than blocks' "chunks.csv: row [0-9]+ has a block of another size .*$instead" --input "$TMP/chunks.csv" --retier \
    --cache vllm
with "$model $tiers" told "$BIN/kvgen" --input "$mooncake" --cache copies:block_size=128 -o "$TMP/copies.csv"
refused 'copies, whose loads have no order' "copies.csv: row [0-9]+ loads a block for --cache copies or .*$instead" \
    --input "$TMP/copies.csv" --retier --cache vllm
# The begin of a prompt fell: what is still on the GPU is told first.
cat >"$TMP/thrice.jsonl" <<'END'
{"timestamp": 0, "input_length": 4100, "output_length": 2, "hash_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9]}
{"timestamp": 10000, "input_length": 4100, "output_length": 2, "hash_ids": [11, 12, 13, 14, 15, 16, 17, 18, 19]}
{"timestamp": 20000, "input_length": 4100, "output_length": 2, "hash_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9]}
END
with "$model" told "$BIN/kvgen" --input "$TMP/thrice.jsonl" --gpu-profile h100 --cache waterfall:block_size=512 --config eviction=mru \
    --gpu-mem 156MiB --cpu-mem 1GiB -o "$TMP/fallen.csv"
refused "an engine's waterfall, likewise" "fallen.csv: row [0-9]+ loads a block for .* or an engine's waterfall, .*$instead" \
    --input "$TMP/fallen.csv" --retier --cache vllm
told "$BIN/kvgen" --input "$mooncake" --cache vllm -m "$DATA/models/gpt-oss-120b.json" --max-requests 20 --gpu-mem 20GiB \
    -o "$TMP/windows.csv"
refused 'groups of layers' "windows.csv: row [0-9]+ is of a group of layers, .*$instead" --input "$TMP/windows.csv" --retier --cache vllm
awk -F, -v OFS=, '$7 == 2 { $12 = "" } NR > 1 && $7 == 1 { $12 = "9.000000" } 1' "$TMP/waterfall.csv" >"$TMP/order.csv"
# What never ends is refused before it fills the memory.
{
    echo "$head"
    looks 1 1 1048576
    awk 'BEGIN { for (i = 2; i <= 2049; i++) printf "0,Miss,0,,block_%d,,1,u,batch,block,,0,\n", i }'
} >"$TMP/endless.csv"
refused 'a request without an end' "endless.csv: row 2050 is of a request of more than 2\\^31 tokens: .*$instead" \
    --input "$TMP/endless.csv" --retier --cache vllm
refused 'numbers against time' 'order.csv: request 2 arrives before request 1 ' --input "$TMP/order.csv" --retier --cache vllm
done_testing
