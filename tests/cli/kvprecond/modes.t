#!/bin/sh
# modes.t - random fills, objects of a model, several threads, purge: every block of the target is written once with
# contents of its own, in any order and by any thread. A bug looked like blocks that random writes never reached, or two
# threads that wrote the same one.
# builds: plain address thread
. "${0%/*}/../../lib.sh"
kvprecond=$BIN/kvprecond
summary=$TMP/summary.json

# blocks FILE...: number of blocks of 4 KiB, of different ones, and of those that kvtrace wrote.
blocks() { "$TOP/tests/cli/kvprecond/blocks.py" "$@"; }

# ---- random ----

exits 'a directory is filled at random' 0 "$kvprecond" --mode random --size 5M --config file_size=2M --threads 3 \
    --config iodepth=8 --keep --summary "$summary" "$TMP/dir"
is 'every block once' "$(blocks "$TMP"/dir/fill-*)" '1280 1280 1280'
is 'in files of the size asked for' "$(cd "$TMP/dir" && stat -c %s fill-* | tr '\n' ' ')" '2097152 2097152 1048576 '
is 'by writes of 4 KiB' "$(json "$summary" '.block_bytes, .writes')" '4096 1280'
is 'JSON: mode' "$(json "$summary" .mode)" random
is 'JSON: threads' "$(json "$summary" .threads)" 3
stdout_like 'text: mode' 'mode +random, 4\.00 KiB at a time, up to 8 in flight of each of 3 threads'

"$kvprecond" --size 5M --config file_size=2M --seed 42 --destroy-data --keep "$TMP/dir" >/dev/null
cp -R "$TMP/dir" "$TMP/sequential"
exits 'at random again' 0 "$kvprecond" --mode random --size 5M --config file_size=2M --seed 42 --destroy-data --keep \
    "$TMP/dir"
ok 'the same seed gives the same contents in any order' diff -r -x .kvtrace "$TMP/dir" "$TMP/sequential"

exits 'more files at random than can be open' 3 sh -c 'ulimit -n 100; exec "$@"' - "$kvprecond" --mode random \
    --size 1M --config file_size=4K "$TMP/many"
stderr_like 'are refused' \
    '^kvprecond: .*/many: 256 files must be open, but only 36 are allowed: use a larger --config file_size$'
is 'before anything is written' "$(cat "$TMP/stdout")" ''
: >"$TMP/file"
exits 'a file, with writes of 64 KiB that do not divide it' 0 "$kvprecond" --mode random --size 1000K --block-size 64K \
    --keep --summary "$summary" "$TMP/file"
is 'every block once' "$(blocks "$TMP/file")" '250 250 250'
is 'in sixteen writes' "$(json "$summary" .writes)" 16
exits 'more threads than rings can be had' 0 sh -c 'ulimit -n 16; exec "$@"' - "$kvprecond" --size 1M --threads 12 \
    --config iodepth=2 --config ioengine=auto --json "$TMP/file"
like 'are told of, beside the engine that served instead' "$(tr -d '\n' <"$TMP/stdout")" \
    '"engine": "psync".*"io_uring refused \([A-Z]+\)"'
exits 'two threads, the other engine' 0 "$kvprecond" --mode random --size 1M --threads 2 --config ioengine=psync "$TMP/file"

# ---- objects of a model ----

# A model of 2 layers x 2 (K, V) x 1 head x 64 x 2 bytes = 512 bytes a token: objects of 1 MiB.
cat >"$TMP/model.json" <<'END'
{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "num_hidden_layers": 2,
 "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 64, "torch_dtype": "bfloat16"}
END
exits 'objects of a model' 0 "$kvprecond" --mode kv --model "$TMP/model.json" --size 4500K --block-size 256K --keep \
    --summary "$summary" "$TMP/kv"
is 'each is a file, the last one whole' "$(cd "$TMP/kv" && stat -c %s fill-* | sort | uniq -c | tr -s ' ')" ' 5 1048576'
is 'every block once' "$(blocks "$TMP"/kv/fill-*)" '1280 1280 1280'
is 'JSON: object_bytes' "$(json "$summary" .object_bytes)" 1048576
is 'JSON: size_bytes in whole objects' "$(json "$summary" '.size_bytes, .complete')" '5242880 true'
is 'JSON: writes of --block-size' "$(json "$summary" .writes)" 20
is 'four threads unless told' "$(json "$summary" .threads)" 4
stdout_like 'text: the objects' 'mode +kv, objects of 1\.00 MiB \(.*, 2048 tokens\), 256\.00 KiB at a time'
exits 'of half the width' 0 "$kvprecond" --mode kv --model "$TMP/model.json" --kv-dtype fp8 --size 1M --destroy-data \
    --summary "$summary" "$TMP/kv"
is 'are half the size' "$(json "$summary" '.object_bytes, .target.files')" '524288 2'
exits 'objects in a file' 0 "$kvprecond" --mode kv --model "$TMP/model.json" --size 2M --threads 2 --keep "$TMP/file"
is 'lie one after the other' "$(blocks "$TMP/file")" '512 512 512'

# ---- purge ----

exits 'a file is purged and filled' 0 "$kvprecond" --size 1M --purge --keep --summary "$summary" "$TMP/file"
if [ "$(json "$summary" .purge.error)" = null ]; then
    is 'its old length was discarded' "$(json "$summary" .purge.discarded_bytes)" 2097152
    is 'only what was written is there' "$(blocks "$TMP/file")" '512 257 256' # the rest: zeros, one block
    stdout_like 'text: purge' 'purge +2\.00 MiB discarded before'
else
    stdout_like 'what is not possible is said' 'purge +not possible \('
    stderr_like 'on standard error too' '^kvprecond: .*/file: cannot be purged: '
fi
exits 'without --purge' 0 "$kvprecond" --size 1M --summary "$summary" "$TMP/file"
is 'JSON: purge is null' "$(json "$summary" .purge)" null

done_testing
