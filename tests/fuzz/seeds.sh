#!/bin/sh
# seeds.sh DIR - small inputs for the fuzzers of readers, in DIR/FUZZER: the beginnings of the samples of tests/data. Each
# has its first byte as the fuzzer reads it, and at most 4 KiB: an execution takes as long as its input, and what a reader
# does it does in the first few messages. Needs python3. Run by make fuzz.
set -eu
export LC_ALL=C
data=$(cd "$(dirname "$0")/.." && pwd)/data
samples=$data/recordings
to=$1
SIZE=4000

# seed FUZZER NAME [BYTE]: the beginning of standard input, behind a byte (octal).
seed() {
    mkdir -p "$to/$1"
    {
        [ -z "${3-}" ] || printf '%b' "\\0$3"
        head -c $SIZE
    } >"$to/$1/$2"
}

# Formats of fuzz_kvgen_recording by number; 100 (octal) asks for hashes of tokens.
for sample in "$samples"/*.zmqrec; do
    name=$(basename "$sample")
    seed fuzz_kvgen_recording "$name" 0 <"$sample"
done
seed fuzz_kvgen_recording pairing 144 <"$samples/dynamo-1.6.1-mocker-events.zmqrec"
seed fuzz_kvgen_recording capture 0 <<'END'
{"kvtrace":"capture","version":1,"times":false,"reads":true,"unrecorded":"results","key":"0123456789abcdef"}
{"ts":5,"publisher":"000102030405060708090a0b0c0d0e0f","rank":0,"seq":1,"event":"stored","medium":"GPU","tokens":16,"hashes":["100102030405060708090a0b0c0d0e0f","200102030405060708090a0b0c0d0e0f"],"salted":true,"sequences":["0123456789abcdef",null]}
{"ts":6,"publisher":"000102030405060708090a0b0c0d0e0f","rank":0,"seq":3,"event":"removed","medium":"GPU","anywhere":true,"hashes":["100102030405060708090a0b0c0d0e0f"]}
{"ts":7,"publisher":"000102030405060708090a0b0c0d0e0f","rank":0,"seq":4,"event":"read","medium":"CPU","bytes":7,"parent":"100102030405060708090a0b0c0d0e0f","group":"300102030405060708090a0b0c0d0e0f","hashes":[]}
{"ts":8,"publisher":"000102030405060708090a0b0c0d0e0f","rank":0,"restarted":true,"event":"cleared","medium":"DISK"}
END
head -n 5 "$samples/trtllm-kv_cache_events.jsonl" | seed fuzz_kvgen_recording trtllm 1
for sample in "$samples/dynamo-0.4.1-kvrecorder.jsonl" "$samples/dynamo-1.6.1-routerevents.jsonl"; do
    name=$(basename "$sample")
    seed fuzz_kvgen_recording "$name" 2 <"$sample"
done
for sample in "$samples"/*.lct; do # a record of each kind, without what is long in it
    name=$(basename "$sample")
    PYTHONPATH=$data/.. python3 - "$sample" <<'END' | seed fuzz_kvgen_recording "$name" 3
import struct, sys
import recordings
seen, size = set(), 0
for r in recordings.lct_frames(open(sys.argv[1], 'rb').read()):
    args = r.get('args', {})
    kind = (r.get('qualname'), args.get('event_type'), args.get('tier'))
    r.pop('sm_config_json', None)
    for entry in args.get('entries', []):
        del entry['token_ids'][2:]
    for name in 'entries', 'keys':
        del args.get(name, [])[1:]
    frame = recordings.encode(r)
    if kind not in seen and size + 4 + len(frame) < 4000:
        seen.add(kind)
        size += 4 + len(frame)
        sys.stdout.buffer.write(struct.pack('>I', len(frame)) + frame)
END
done
grep -E 'openat|close|rename|unlink|read\(|write\(' "$samples/lmcache-0.5.6-fs.strace" | head -n 30 | seed fuzz_kvgen_recording strace 4

# Sources of requests are recognised by content. The first byte picks speed and cycles.
files() { seed fuzz_kvgen_files "$1" 3; }
dynamo=$samples/dynamo-1.6.1-request-trace-sessions-payload.jsonl
grep request_end "$dynamo" | head -n 2 | files dynamo
grep request_end "$dynamo" | head -n 1 | seed fuzz_kvgen_dynamo_line line
printf '{"event_type":"request_end","request":{"total_time_ms":1.5e2,"replay":{"input_sequence_hashes":[1,-1]}}}' |
    seed fuzz_kvgen_dynamo_line bare
grep request_payload "$dynamo" | head -n 1 | cut -c 1-3000 | files dynamo-payload
head -n 1 "$samples/dynamo-1.6.1-mooncake.jsonl" | files mooncake
head -n 5 "$samples/dynamo-1.6.1-agentic-mooncake-v2.jsonl" | files agentic-rows
{
    echo '{"request_id":"a","session_id":"s","input_length":30,"output_length":1,"hash_ids":[1,2],"timestamp":5,"branches":["b"]}'
    echo '{"request_id":"b","session_id":"t","input_length":30,"output_length":0,"hash_ids":[1,3],"wait_for":["a"],"delay":20,"tool_wait_ms":30.5,"prefix_reset":true}'
} | files agentic-rows-1
files satf <<'END'
{"format":"satf","format_version":"2.0.0","time_base":"us","block_size_tokens":16,"sessions":[{"session_id":"s","nodes":[
{"kind":"llm_infer","id":"a","min_start_delay_us":5,"payload":{"input_tokens_total":16,"output_tokens":1,"kv_block_ids":[1]}},
{"kind":"tool_call","id":"t","payload":{"tool_name":"x"}},{"kind":"tool_result","id":"r","duration_us":4,"payload":{}},
{"kind":"llm_infer","id":"b","payload":{"input_tokens_total":20,"output_tokens":2,"kv_block_ids":[1,2]}}],
"edges":[{"from":"a","to":"t","delay_after_predecessor_us":1},{"from":"t","to":"r"},{"from":"r","to":"b"}]}]}
END
head -n 20 "$data/burstgpt_30rows.csv" | files burst
head -n 20 "$data/azure_code_2024_excerpt.csv" | files azure
head -n 2 "$data/mooncake_first200.jsonl" | files mooncake-512
python3 - <<'END' | files archive
import io, sys, tarfile
out = io.BytesIO()
with tarfile.open(fileobj=out, mode='w', format=tarfile.USTAR_FORMAT) as tar:
    for name in 'a.json', 'b.json':
        text = b'{"id": "x", "block_size": 64, "requests": [{"t": 0, "type": "s", "in": 99, "out": 2, "hash_ids": [1]}]}'
        member = tarfile.TarInfo(name)
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
sys.stdout.buffer.write(out.getvalue())
END
printf '[{"id":"x","conversations":[{"from":"human","value":"abcd"},{"from":"gpt","value":"efgh"}]}]' | files sharegpt
printf '{"timestamp":1.5,"request_id":"a","model_name":"m","chunk_size":256,"seq_len":600,"chunk_hashes":["0xab","0xcd"]}' | files lmcache
printf '{"chat_id":1,"parent_chat_id":-1,"timestamp":0.5,"input_length":30,"output_length":5,"type":"text","turn":1,"hash_ids":[1,2]}' | files bailian

# A page of the kernel's ring buffer, by the usual format and by the one before it.
seed fuzz_ring_page page 1 <"$data/block_events/cpu1"
{ cat "$data/block_events/header_page" && printf '\000' && cat "$data/block_events/cpu0"; } | seed fuzz_ring_page format
{ cat "$data/uring_workers/format" && printf '\000' && tail -c +21 "$data/uring_workers/page" | head -c 72; } | seed fuzz_ring_page workers
# An event, the mark of the end, and the counts behind it.
{ head -c 24 /dev/zero && printf '\001\001' && head -c 30 /dev/zero && printf '\022' && head -c 47 /dev/zero; } | seed fuzz_kvreplay_event_pipe end

# Traces and logs of other tools; 3 million blank lines in 115 bytes.
fio() { printf 'fio version 3 iolog\n0 x add\n0 x open\n5 x write 0 4096\n6 x read 0 4096\n9 x trim 0 4096\n'; }
warp() { zstd -dcq "$data/warp_mixed_3s.csv.zst" | head -n 12; }
blank() { yes '' | head -c 3000000 | zstd -qc; }
requests() { # that look blocks up, one after the other
    echo 'Timestamp,Operation,Object_Size_Bytes,Tier,Key,Phase,Request,User,QoS,Class,Tokens,Arrival,Duration_us'
    for n in 1 2; do
        printf '%s\n' "$n.0,Miss,0,,block_$n,,$n,u,batch,block,,$n.0," "$n.0,Write,4096,Tier-0,block_$n,Prefill,$n,u,batch,block,64,$n.0," \
            "$n.0,Read,4096,Tier-0,block_0,Decode,$n,u,batch,block,64,$n.0," "$n.5,Generate,0,,,,$n,u,batch,,9,$n.0,5"
    done
}
for kind in fio warp blank requests; do $kind | seed fuzz_kvgen_trace $kind; done
head -n 6 "$data/s3dlio_oplog_example.tsv" | seed fuzz_kvgen_trace oplog
head -n 12 "$data/kvstat_dozen.csv" | seed fuzz_kvgen_trace result
for form in 0 1 2 3 4 5 6 7; do head -n $((9 + form)) "$data/kvstat_dozen.csv" | seed fuzz_kvstat_report "result-$form" $form; done
zstd -dcq "$data/screens/served.csv.zst" | head -n 20 | seed fuzz_kvstat_report served 1
head -n 6 "$data/s3dlio_oplog_example.tsv" | seed fuzz_kvstat_report oplog 1
warp | seed fuzz_kvstat_report warp 0
blank | seed fuzz_kvstat_report blank 0
head -n 9 "$data/mlperf_reference/users_seed1.csv" | seed fuzz_kvgen_users users 7

# short FILE: a document with no more than two elements of each list, in one line.
short() {
    python3 - "$1" <<'END'
import json, sys
def cut(v):
    if isinstance(v, dict):
        return {k: cut(x) for k, x in v.items()}
    return [cut(x) for x in v[:2]] if isinstance(v, list) else v
print(json.dumps(cut(json.load(open(sys.argv[1]))), separators=(',', ':')))
END
}
for document in mlperf_measured_k.json mlperf_example/kvcache_run_summary_20261122_152145.json; do
    short "$data/$document" | seed fuzz_kvstat_document "$(basename "$document")"
    short "$data/$document" | seed fuzz_kvstat_inputs "$(basename "$document")" 2
done
short "$data/answers/gain.json" | seed fuzz_kvstat_answer gain
printf '{"elapsed_time":1,"num_requests":2,"total_num_tokens":3}' | seed fuzz_kvstat_document throughput
printf '{"program":"kvreplay","options":{"timing":"served","workers":2,"warmup_s":1},"gaps":[{"thread":"process","start_s":1,"end_s":2.5}],"validity":{"state":"good"},"autoscale":{"mode":"qos","users":5}}' |
    seed fuzz_kvstat_inputs summary 0
printf 'Capacity_Bytes,Object_Hit_Rate\n1,0.5\n2,"0.75"\n' | seed fuzz_kvstat_inputs curve 1
printf 'Round,Bandwidth_GiB_s\n1,0.5\n2,1e9\n' | seed fuzz_kvstat_inputs rounds 1
printf '  0.000123456     0.000100000\n1.5 0.0002\n' | seed fuzz_kvstat_inputs btt 3
python3 - <<'END' | seed fuzz_kvstat_inputs blktrace 3
import struct, sys
# struct blk_io_trace: a process' name, and a read that is issued, put back, issued again and completed in two parts.
for time, act, sector, size in (0, 0x4000000, 0, 0), (1, 0x410007, 8, 8192), (2, 0x210006, 8, 8192), (3, 0x410007, 8, 8192), (4, 0x810008, 8, 4096), (5, 0x810008, 16, 4096):
    sys.stdout.buffer.write(struct.pack("<IIQQIIIIIHH", 0x65617407, 1, time, sector, size, act, 7, 8 << 20, 0, 0, 0))
END
short "$data/drive_model.json" | seed fuzz_drive_model drive
for model in llama-3.1-8b llama-3.1-405b-instruct-fp8 deepseek-v3 gpt-oss-120b gemma-3n-e4b jamba-v0.1; do
    short "$data/models/$model.json" | seed fuzz_model_hf $model
done
printf '{"model_type":"llama","num_hidden_layers":3,"num_attention_heads":8,"hidden_size":1024,"intermediate_size":4096,"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"a":{"targets":["Linear","re:.*mlp.(up|down)_proj.*"],"weights":{"num_bits":4,"type":"float","group_size":16,"symmetric":false,"block_structure":[4,4]}}},"ignore":["lm_head","model.layers.1.self_attn.q_proj"]}}' |
    seed fuzz_model_hf groups
printf '{"model_type":"llama","num_hidden_layers":3,"num_attention_heads":8,"hidden_size":1024,"intermediate_size":4096,"quantization_config":{"quant_method":"gptq","bits":4,"group_size":128,"lm_head":true,"load_in_4bit":true,"zero_point":true,"weight_block_size":[128,128],"quantization":{"quant_algo":"NVFP4","exclude_modules":["*.0.mlp"]}}}' |
    seed fuzz_model_hf methods
