/* kvgen's options: their table, and the checks of options against each other. Runs first;
 * everything after it gets plain values. option_values.c reads options whose text is more than a
 * number. */
#include "kvgen/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "kvgen/record/live.h"
#include "lib/base/units.h"
#include "lib/opt/rows.h"

#define AT(field) offsetof(struct options, field)

/* Marks of the options, for the modes further down. */
enum {
    WITH_PRINT_CONFIG = 1 << 0,
    NOT_LIST_MODELS = 1 << 1,
    WITH_MODELS = 1 << 2,
    KEPT_TIMES = 1 << 3,
    KEPT_OBJECTS = 1 << 4,
    KEPT_TIERS = 1 << 5,
    GENERATES = 1 << 6,
    RETIERS = 1 << 7,
    READS_FILE = 1 << 8,
    TRACES_ONLY = 1 << 9,
    USERS_ONLY = 1 << 10,
    DATASETS_ONLY = 1 << 11,
    NAMED_USERS_ONLY = 1 << 12,
    NOT_BLOCKS = 1 << 13,
    BLOCKS_ONLY = 1 << 14,
    IN_BLOCKS_ONLY = 1 << 15,
    POISSON_ONLY = 1 << 16,
    RAG_ONLY = 1 << 17,
    DECODES = 1 << 18,
    MLA_ONLY = 1 << 19,
    CURVE_ONLY = 1 << 20,
    COMPRESSES = 1 << 21,
    WRITES = 1 << 22,
    LOSSY_ONLY = 1 << 23,
    OBJECT_STORES_ONLY = 1 << 24,
    FIO_ONLY = 1 << 25,
    NOT_FIO = 1 << 26,
    FRAMED_ONLY = 1 << 27,
    THREADED_ONLY = 1 << 28,
    COMPRESSED_ONLY = 1 << 29,
    PLAIN_ONLY = 1 << 30,
};
/* No int holds these. */
#define SAI3_ONLY     (UINT64_C(1) << 31)
#define RECORDED_ONLY (UINT64_C(1) << 32)
#define EVENTS_ONLY   (UINT64_C(1) << 33)
#define TIMED         (UINT64_C(1) << 35) /* a run that takes time: virtual, or of live events */
#define SIZES         (UINT64_C(1) << 34) /* the model and what divides its objects */

const struct opt options_table[] = {
    {.type = OPT_HEADING, .help = "Requests"},
    {.name = "source",
     .type = OPT_ENUM,
     .offset = AT(source),
     .arg = "NAME",
     .def = "auto",
     .choices = "auto|users|mooncake|burst|azure|bailian|lmcache|dynamo|agentic|sharegpt|kv-events|"
                "trtllm|dynamo-kv|lct|trace",
     .help = "Where requests come from; auto: told by the content of --input, without it "
             "synthetic users."},
    {.name = "input",
     .type = OPT_TEXT,
     .offset = AT(input),
     .arg = "FILE",
     .marks = READS_FILE,
     .help = "The trace of a file source, plain, zstd or gzip: a file, a folder, a quoted pattern, "
             "or - "
             "for standard input."},
    {.name = "input-memory",
     .type = OPT_SIZE,
     .offset = AT(input_memory),
     .arg = "SIZE",
     .def = "1GiB",
     .min = 1 << 20,
     .max = 1e15,
     .flags = OPT_NO_EFFECT,
     .marks = READS_FILE,
     .help = "Most memory that one element of an input may take, and all sessions or conversations "
             "under way. More ends the run with an error."},
    {.name = "names",
     .type = OPT_TEXT,
     .offset = AT(names),
     .arg = "FILE",
     .marks = READS_FILE | RECORDED_ONLY,
     .help = "Key of the hashes that stand for names and blocks of a recording; made if it is not "
             "there. Unless given, each run has a key of its own."},
    {.name = "medium",
     .type = OPT_LIST,
     .offset = AT(medium),
     .arg = "NAME=TIER",
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Tier (0, 1, 2) of a medium that an engine names and kvgen does not know."},
    {.name = "object-bytes",
     .type = OPT_SIZE,
     .offset = AT(object_bytes),
     .arg = "SIZE",
     .max = 1e15,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Size of recorded objects whose size the recording does not say."},
    {.name = "reorder",
     .type = OPT_DURATION,
     .offset = AT(reorder_ns),
     .arg = "TIME",
     .def = "1s",
     .max = 1e12,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Recorded time in which events of several publishers are put in order."},
    {.name = "bind",
     .type = OPT_TEXT,
     .offset = AT(bind),
     .arg = "ENDPOINT",
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Take KV events of engines that connect to this endpoint, for instance tcp://*:5557."},
    {.name = "gap-endpoint",
     .type = OPT_TEXT,
     .offset = AT(gap_endpoint),
     .arg = "ENDPOINT",
     .marks = READS_FILE | EVENTS_ONLY,
     .help =
         "Replay socket of the engine, which is asked for messages that were lost; with several "
         "endpoints a list in their order."},
    {.name = "requests",
     .type = OPT_TEXT,
     .offset = AT(requests),
     .arg = "FILE",
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Dynamo's request trace of the same time: the blocks that its requests found become "
             "reads."},
    {.name = "capture",
     .type = OPT_TEXT,
     .offset = AT(capture),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Keep the events as they were parsed, without names and token ids, as JSON lines that "
             "kvgen reads again."},
    {.name = "use-burst-trace",
     .type = OPT_FLAG,
     .offset = AT(use_burst_trace),
     .marks = GENERATES,
     .help = "Take requests from the BurstGPT or Azure CSV of --burst-trace-path."},
    {.name = "burst-trace-path",
     .type = OPT_TEXT,
     .offset = AT(burst_trace_path),
     .arg = "FILE",
     .marks = GENERATES,
     .help = "With --use-burst-trace: what --input is otherwise."},
    {.name = "dataset-path",
     .type = OPT_TEXT,
     .offset = AT(dataset_path),
     .arg = "FILE",
     .marks = GENERATES,
     .help = "Take requests from the conversations of this ShareGPT file."},
    {.name = "max-conversations",
     .type = OPT_U64,
     .offset = AT(max_conversations),
     .arg = "N",
     .marks = GENERATES | TRACES_ONLY | DATASETS_ONLY,
     .help = "Read at most this many conversations of a dataset; 0: all."},
    {.name = "chars-per-token",
     .type = OPT_F64,
     .offset = AT(chars_per_token),
     .arg = "F",
     .min = 0.01,
     .max = 1000,
     .marks = GENERATES | TRACES_ONLY | DATASETS_ONLY,
     .help = "Characters taken for one token of a dataset's texts; 4 unless given here or in "
             "--config."},
    {.name = "trace-speedup",
     .type = OPT_F64,
     .offset = AT(trace_speedup),
     .arg = "F",
     .def = "1",
     .max = 1e9,
     .marks = GENERATES | TRACES_ONLY,
     .help = "Divide the times of a file source; 0: no time between its requests."},
    {.name = "replay-cycles",
     .type = OPT_U64,
     .offset = AT(replay_cycles),
     .arg = "N",
     .def = "1",
     .marks = GENERATES | TRACES_ONLY,
     .help = "Read a file source this many times, one after the other; 0: until the run ends."},
    {.name = "num-users",
     .type = OPT_U64,
     .offset = AT(num_users),
     .arg = "N",
     .def = "100",
     .min = 1,
     .max = 1e7,
     .marks = GENERATES | NAMED_USERS_ONLY,
     .help = "Synthetic users; with agentic sessions, how many are under way at once; with "
             "datasets, how many names there are."},
    {.name = "users-file",
     .type = OPT_TEXT,
     .offset = AT(users_file),
     .arg = "FILE",
     .marks = GENERATES | USERS_ONLY,
     .help = "Take the users from the first --num-users rows of this CSV instead of drawing them."},
    {.name = "dump-users",
     .type = OPT_TEXT,
     .offset = AT(dump_users),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | USERS_ONLY,
     .help = "Write the users to this CSV; - is standard output."},
    {.name = "arrival",
     .type = OPT_ENUM,
     .offset = AT(arrival),
     .arg = "HOW",
     .def = "open",
     .choices = "open|closed|poisson",
     .marks = GENERATES | USERS_ONLY,
     .help = "Users do not wait for answers, do wait, or ask at random times at --request-rate."},
    {.name = "request-rate",
     .type = OPT_F64,
     .offset = AT(request_rate),
     .arg = "R",
     .max = 1e9,
     .marks = GENERATES | DATASETS_ONLY | POISSON_ONLY,
     .help = "Requests a second: of all users with --arrival poisson; of a dataset, evenly spaced "
             "(0: all at once)."},
    {.name = "input-len",
     .type = OPT_U64,
     .offset = AT(input_len),
     .arg = "N",
     .max = 1 << 30,
     .marks = GENERATES | USERS_ONLY,
     .help = "Tokens of context of every request of synthetic users; 0: by its user."},
    {.name = "output-len",
     .type = OPT_U64,
     .offset = AT(output_len),
     .arg = "N",
     .max = 1 << 30,
     .marks = GENERATES | USERS_ONLY,
     .help = "Tokens generated for every request of synthetic users; 0: by its user."},
    {.name = "duration",
     .type = OPT_DURATION,
     .offset = AT(duration_ns),
     .arg = "TIME",
     .max = 3e18,
     .marks = TIMED,
     .help =
         "Virtual time after which the run ends, of live events real time; 0: no limit. Synthetic "
         "users: 60 s unless given."},
    {.name = "max-requests",
     .type = OPT_U64,
     .offset = AT(max_requests),
     .arg = "N",
     .marks = GENERATES,
     .help = "Submit at most this many requests; 0: no limit."},
    {.name = "seed",
     .type = OPT_U64,
     .offset = AT(seed),
     .arg = "N",
     .def = "42",
     .marks = GENERATES,
     .help = "Seed of all random numbers."},
    {.name = "workers",
     .type = OPT_U64,
     .offset = AT(workers),
     .arg = "N",
     .max = 1e6,
     .marks = GENERATES,
     .help = "Requests that are served at once; 0: as many as there are users, at most 500."},
    {.name = "queue-memory",
     .type = OPT_SIZE,
     .offset = AT(queue_memory),
     .arg = "SIZE",
     .def = "1GiB",
     .min = 1 << 20,
     .max = 1e15,
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES,
     .help = "Most memory that waiting requests may take, some 14 bytes each. More ends the run "
             "with an error."},
    {.name = "qos",
     .type = OPT_ENUM,
     .offset = AT(qos),
     .arg = "CLASS",
     .def = "batch",
     .choices = "interactive|responsive|batch",
     .marks = GENERATES | TRACES_ONLY,
     .help = "Service class of a file's requests; datasets, BurstGPT, Azure: drawn unless given."},

    {.type = OPT_HEADING, .help = "Serving"},
    {.name = "generation-mode",
     .type = OPT_ENUM,
     .offset = AT(generation_mode),
     .arg = "MODE",
     .def = "realistic",
     .choices = "none|fast|realistic",
     .absent = "deterministic",
     .absent_why = "': every mode is, one --seed gives one trace. Choose the time of a token: "
                   "none (0 ms), fast (2 ms) or realistic (30 ms)",
     .marks = GENERATES,
     .help = "Time of one generated token: 0, 2 or 30 ms."},
    {.name = "disable-multi-turn",
     .type = OPT_FLAG,
     .offset = AT(disable_multi_turn),
     .marks = GENERATES | USERS_ONLY,
     .help = "Every request stands alone: no conversations."},
    {.name = "disable-prefix-caching",
     .type = OPT_FLAG,
     .offset = AT(disable_prefix_caching),
     .marks = GENERATES | NOT_BLOCKS,
     .help = "No shared system prompts."},
    {.name = "decode-reads",
     .type = OPT_ENUM,
     .offset = AT(decode_reads),
     .arg = "HOW",
     .def = "batch",
     .choices = "batch|once|none",
     .marks = GENERATES | NOT_BLOCKS | DECODES,
     .help = "Read a request's object once and again per batch of generated tokens, once, or never "
             "while decoding."},
    {.name = "prefill-only",
     .type = OPT_FLAG,
     .offset = AT(prefill_only),
     .marks = GENERATES | NOT_BLOCKS,
     .help = "A node that only prefills: no decode reads."},
    {.name = "decode-only",
     .type = OPT_FLAG,
     .offset = AT(decode_only),
     .marks = GENERATES | NOT_BLOCKS | DECODES,
     .help =
         "A node that only decodes: requests read objects written before the first of them, ten "
         "for each of --num-users."},
    {.name = "enable-rag",
     .type = OPT_FLAG,
     .offset = AT(enable_rag),
     .marks = GENERATES | NOT_BLOCKS,
     .help =
         "Write documents in chunks at the start; requests retrieve chunks, and users ask about "
         "documents."},
    {.name = "rag-num-docs",
     .type = OPT_U64,
     .offset = AT(rag_num_docs),
     .arg = "N",
     .def = "10",
     .min = 1,
     .max = 1e7,
     .marks = GENERATES | RAG_ONLY,
     .help = "Documents of --enable-rag."},
    {.name = "compat",
     .type = OPT_ENUM,
     .offset = AT(compat),
     .arg = "NAME",
     .def = "none",
     .choices = "none|mlperf",
     .marks = GENERATES | NOT_BLOCKS,
     .help =
         "mlperf: serve requests as the program of the MLPerf Storage benchmark does, where that "
         "differs from its documentation."},
    {.name = "block-reuse",
     .type = OPT_ENUM,
     .offset = AT(block_reuse),
     .arg = "HOW",
     .def = "prefix",
     .choices = "prefix|any",
     .marks = KEPT_TIERS | TRACES_ONLY | BLOCKS_ONLY,
     .help = "A block can hit while every earlier block of its request hit, or by itself."},
    {.name = "partial-blocks",
     .type = OPT_FLAG,
     .offset = AT(partial_blocks),
     .marks = GENERATES | IN_BLOCKS_ONLY,
     .help = "Size the last block of a request, or of an entry, by its tokens."},

    {.type = OPT_HEADING, .help = "Model"},
    {.name = "model",
     .letter = 'm',
     .type = OPT_TEXT,
     .offset = AT(model),
     .arg = "NAME",
     .def = "llama3.1-8b",
     .marks = WITH_MODELS | SIZES,
     .help = "A built-in model, one of the configuration's, or a Hugging Face "
             "config.json (FILE.json)."},
    {.name = "force-model",
     .type = OPT_FLAG,
     .offset = AT(force_model),
     .marks = NOT_LIST_MODELS | WITH_MODELS | SIZES,
     .help = "Take a config.json although keys in it are unknown that may change the cache's "
             "size."},
    {.name = "kv-dtype",
     .type = OPT_TEXT,
     .offset = AT(kv_dtype),
     .arg = "TYPE",
     .marks = NOT_LIST_MODELS | WITH_MODELS | SIZES,
     .help = "Element type of the cache: float32, float16, bfloat16, fp8, int8, int4."},
    {.name = "tensor-parallel",
     .type = OPT_U64,
     .offset = AT(tensor_parallel),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .marks = SIZES,
     .help = "Ranks that share an object; rows show one rank."},
    {.name = "mla-tp",
     .type = OPT_ENUM,
     .offset = AT(mla_tp),
     .arg = "HOW",
     .def = "shard",
     .choices = "shard|replicate",
     .marks = SIZES | MLA_ONLY,
     .help = "The latent of multi-head latent attention on each rank: its share, or all of it."},
    {.name = "num-gpus",
     .type = OPT_U64,
     .offset = AT(num_gpus),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .marks = KEPT_TIERS,
     .help = "GPUs; Tier-0 holds --gpu-mem-gb for each."},
    {.name = "list-models",
     .type = OPT_FLAG,
     .offset = AT(list_models),
     .flags = OPT_NO_EFFECT,
     .marks = WITH_MODELS | GENERATES,
     .help = "Print the models with the size of 1k, 8k, 32k and 128k tokens, and end."},
    {.name = "show-model",
     .type = OPT_FLAG,
     .offset = AT(show_model),
     .flags = OPT_NO_EFFECT,
     .marks = NOT_LIST_MODELS | WITH_MODELS | GENERATES,
     .help = "Print --model as JSON, and end."},

    {.type = OPT_HEADING, .help = "Tiers"},
    {.name = "retier",
     .type = OPT_FLAG,
     .offset = AT(retier),
     .marks = RETIERS,
     .help =
         "Do the reads and writes of an existing trace anew in the tiers given here, instead of "
         "copying its rows."},
    {.name = "gpu-mem-gb",
     .type = OPT_F64,
     .offset = AT(gpu_mem_gb),
     .arg = "GiB",
     .def = "16",
     .max = OPTIONS_GPU_GIB,
     .marks = KEPT_TIERS,
     .help = "Tier-0: memory of each GPU for the cache; 0: no such tier."},
    {.name = "cpu-mem-gb",
     .type = OPT_F64,
     .offset = AT(cpu_mem_gb),
     .arg = "GiB",
     .def = "32",
     .max = OPTIONS_CPU_GIB,
     .marks = KEPT_TIERS,
     .help = "Tier-1: host memory for the cache; 0: no such tier."},
    {.name = "storage-capacity-gb",
     .type = OPT_TEXT,
     .offset = AT(storage_capacity_gb),
     .arg = "GiB",
     .def = "unlimited",
     .marks = KEPT_TIERS,
     .help = "Tier-2: GiB, unlimited (or 0), none (no such tier), or auto:PATH (what kvreplay "
             "takes there)."},
    {.name = "eviction",
     .type = OPT_ENUM,
     .offset = AT(eviction),
     .arg = "POLICY",
     .def = "lru",
     .choices = "lru|fifo|lfu|s3fifo|sieve",
     .marks = KEPT_TIERS,
     .help = "Which object a tier demotes or deletes to make room."},
    {.name = "promote",
     .type = OPT_ENUM,
     .offset = AT(promote),
     .arg = "WHEN",
     .def = "none",
     .choices = "none|on-hit",
     .marks = KEPT_TIERS,
     .help = "Leave an object that is read where it is, or move it to the fastest tier that takes "
             "it."},
    {.name = "granularity",
     .type = OPT_TEXT,
     .offset = AT(granularity),
     .arg = "request|block:N",
     .def = "request",
     .marks = KEPT_OBJECTS | KEPT_TIERS | NOT_BLOCKS,
     .help = "Keep an entry as one object, or as objects of N tokens."},
    {.name = "tier-model",
     .type = OPT_LIST,
     .offset = AT(tier_model),
     .arg = "N=PROFILE|N=read:RATE,write:RATE,lat:TIME|FILE.json",
     .marks = KEPT_TIMES | KEPT_TIERS,
     .help = "Operations on tier N queue and take time: as a profile (hbm3, ddr5, pcie-gen5, "
             "nvme-gen4, nvme-gen5), by numbers, or as a kvreplay summary measured."},
    {.name = "max-concurrent-allocs",
     .type = OPT_U64,
     .offset = AT(max_concurrent_allocs),
     .arg = "N",
     .max = 1e6,
     .marks = KEPT_TIMES | KEPT_TIERS,
     .help = "With --tier-model: requests that write at once; 0: no limit."},

    {.type = OPT_HEADING, .help = "Hit rate against capacity"},
    {.name = "curve",
     .type = OPT_TEXT,
     .offset = AT(curve),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS,
     .help = "Write the hit rates of one cache by its capacity as CSV; - is standard output."},
    {.name = "curve-sizes",
     .type = OPT_TEXT,
     .offset = AT(curve_sizes),
     .arg = "LIST",
     .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS | CURVE_ONLY,
     .help = "Capacities, for instance 16GiB,64GiB,1TiB; unless given, spaced by logarithm."},
    {.name = "curve-sample",
     .type = OPT_F64,
     .offset = AT(curve_sample),
     .arg = "R",
     .def = "1",
     .min = 1e-6,
     .max = 1,
     .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS | CURVE_ONLY,
     .help =
         "Follow this share of the objects only, for streams that do not fit memory; 1: exact."},
    {.name = "curve-optimal",
     .type = OPT_FLAG,
     .offset = AT(curve_optimal),
     .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS | CURVE_ONLY,
     .help = "Add what no policy can pass, knowing the future; keeps every lookup in memory."},

    {.type = OPT_HEADING, .help = "Output"},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = AT(output),
     .arg = "FILE",
     .def = "-",
     .flags = OPT_NO_EFFECT,
     .help = "Where the trace goes; - is standard output, none simulates only. A name ending in "
             ".zst is compressed."},
    {.name = "format",
     .type = OPT_ENUM,
     .offset = AT(format),
     .arg = "NAME",
     .def = "kvtrace",
     .flags = OPT_NO_EFFECT,
     .choices = "kvtrace|mlperf|sai3|warp|fio|libcachesim|oracle",
     .marks = WRITES,
     .help =
         "All columns; the six of the MLPerf Storage benchmark; or a file for sai3-bench, warp, "
         "fio or libCacheSim (CSV, oracleGeneral)."},
    {.name = "lint",
     .type = OPT_FLAG,
     .offset = AT(lint),
     .flags = OPT_NO_EFFECT,
     .marks = LOSSY_ONLY,
     .help = "Say what the program that reads --format would drop or misread, and end with 1 if "
             "anything."},
    {.name = "endpoint",
     .type = OPT_TEXT,
     .offset = AT(endpoint),
     .arg = "URI",
     .def = "file:///kvtrace/",
     .flags = OPT_NO_EFFECT,
     .marks = WRITES | OBJECT_STORES_ONLY,
     .help = "With --format sai3 or warp: what stands before each key."},
    {.name = "settle",
     .type = OPT_DURATION,
     .offset = AT(settle_ns),
     .arg = "TIME",
     .def = "1s",
     .flags = OPT_NO_EFFECT,
     .marks = SAI3_ONLY,
     .help = "With --format sai3: least time between the starts of two operations on one object; "
             "sai3-bench waits for none. 0: all keep their times."},
    {.name = "preload",
     .type = OPT_FLAG,
     .offset = AT(preload),
     .flags = OPT_NO_EFFECT,
     .marks = SAI3_ONLY,
     .help = "With --format sai3, instead of --settle: X.preload.tsv beside X.tsv writes all that "
             "is read, and is to be replayed first."},
    {.name = "segment-size",
     .type = OPT_SIZE,
     .offset = AT(segment_bytes),
     .arg = "SIZE",
     .def = "1MiB",
     .min = 4096,
     .max = 1073741824,
     .flags = OPT_NO_EFFECT,
     .marks = WRITES | FIO_ONLY,
     .help =
         "With --format fio: pieces in which an object is read and written, a multiple of 4096."},
    {.name = "only-tier",
     .type = OPT_TEXT,
     .offset = AT(only_tier),
     .arg = "LIST",
     .marks = WRITES,
     .help = "Write only rows of these tiers, for instance 0,2; rows of no tier (Miss, Generate) "
             "are then left out. With --format sai3, warp or fio 2 unless given."},
    {.name = "ops",
     .type = OPT_TEXT,
     .offset = AT(ops),
     .arg = "LIST",
     .marks = WRITES,
     .help = "Write only rows of these operations, for instance Read,Write."},
    {.name = "limit",
     .type = OPT_U64,
     .offset = AT(limit),
     .arg = "N",
     .marks = WRITES,
     .help = "End the run when this many rows are written; 0: no limit."},
    {.name = "epoch",
     .type = OPT_TEXT,
     .offset = AT(epoch),
     .arg = "SECONDS",
     .marks = WRITES | NOT_FIO,
     .help = "Unix time of virtual time 0; 0 unless given, with --format mlperf 1735689600."},
    OPT_ROW_ZSTD(AT(zstd), COMPRESSES),
    OPT_ROW_LEVEL(AT(level), COMPRESSES | COMPRESSED_ONLY),
    OPT_ROW_FRAMES(AT(frames), WRITES | FRAMED_ONLY | COMPRESSED_ONLY),
    OPT_ROW_NOTES(AT(notes), PLAIN_ONLY),
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .arg = "N",
     .max = 1024,
     .flags = OPT_NO_EFFECT,
     .marks = THREADED_ONLY,
     .help = "Threads in all, the simulation's included; 0: as many as processors, at most 16."},
    OPT_ROW_SUMMARY(AT(summary), 0),
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.name = "print-config",
     .type = OPT_FLAG,
     .offset = AT(print_config),
     .flags = OPT_NO_EFFECT,
     .marks = WITH_PRINT_CONFIG,
     .help = "Print a configuration file with every default, commented, and end."},
    {.name = "config",
     .letter = 'c',
     .type = OPT_TEXT,
     .offset = AT(config),
     .arg = "FILE",
     .marks = WITH_MODELS,
     .help = "YAML configuration: users, service classes, models, ratios."},
    {0},
};

struct opt_parser *options_open(struct options *o)
{
    return opt_open("kvgen", "[options]", options_table, o);
}

static int refuse(struct err *e, const char *option, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, option, "%s", why);
}

static bool is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static bool is_none(const struct options *o)
{
    return strcmp(o->output, "none") == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

bool options_write_zstd(const struct options *o)
{
    return o->zstd || o->format == OPTIONS_WARP || ends_with(o->output, ".zst");
}

bool options_is_recording(const struct options *o)
{
    return o->source >= OPTIONS_KV_EVENTS && o->source < OPTIONS_TRACE;
}

bool options_is_live(const struct options *o)
{
    return o->bind || (o->input && live_is_endpoint(o->input));
}

bool options_is_mlperf(const struct options *o)
{
    return o->compat == OPTIONS_COMPAT_MLPERF;
}

/* ---- the input ---- */

int options_check_input(struct options *o, const struct opt_parser *p, struct err *e)
{
    bool source = opt_given(p, "source"), input = opt_given(p, "input");

    if (o->use_burst_trace != (o->burst_trace_path != NULL))
        return refuse(e, o->use_burst_trace ? "--use-burst-trace" : "--burst-trace-path",
                      "--use-burst-trace and --burst-trace-path FILE go together");
    if (o->use_burst_trace) {
        if (source || input)
            return refuse(e, source ? "--source" : "--input", "--use-burst-trace says it already");
        o->input = o->burst_trace_path;
    }
    if (o->dataset_path) {
        if (source || input || o->use_burst_trace)
            return refuse(e,
                          source  ? "--source"
                          : input ? "--input"
                                  : "--use-burst-trace",
                          "--dataset-path says it already");
        o->input = o->dataset_path;
        o->source = OPTIONS_SHAREGPT;
    }
    if (is_dash(o->config) + is_dash(o->input) + is_dash(o->users_file) > 1)
        return refuse(e, "standard input",
                      "only one of --config, --input and --users-file can come from it");
    if (o->gap_endpoint && !options_is_live(o))
        return refuse(e, "--gap-endpoint",
                      "only live events (--input tcp://..., --bind) have gaps");
    if (options_is_live(o) && o->source != OPTIONS_AUTO && o->source != OPTIONS_KV_EVENTS)
        return refuse(e, "--source", "only KV events come from an endpoint (kv-events)");
    if (options_is_live(o))
        o->source = OPTIONS_KV_EVENTS;
    if (o->requests && (o->source != OPTIONS_KV_EVENTS && o->source != OPTIONS_AUTO))
        return refuse(e, "--requests", "only KV events (--source kv-events) are paired");
    if (o->bind && o->input && !live_is_endpoint(o->input))
        return refuse(e, "--input", "a file, together with --bind");
    if (o->source == OPTIONS_AUTO && !o->input)
        o->source = OPTIONS_USERS;
    if (o->source != OPTIONS_AUTO && o->source != OPTIONS_USERS && !o->input && !options_is_live(o))
        return refuse(e, "--source", "this one needs --input FILE");
    return 0;
}

/* ---- modes ---- */

/* Refuses options that have no meaning for this source, or in a mode that another option chooses.
 */
static int check_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool recording = options_is_recording(o);
    bool users = o->source == OPTIONS_USERS, trace = o->source == OPTIONS_TRACE || recording;
    bool dataset = o->source == OPTIONS_SHAREGPT, agentic = o->source == OPTIONS_AGENTIC;
    bool arrivals = o->source == OPTIONS_BURST || o->source == OPTIONS_AZURE;
    bool blocks = !users && !trace && !dataset && !arrivals, file = dataset || arrivals || blocks;
    bool whole = strcmp(o->granularity, "request") == 0;
    bool none = is_none(o), foreign = o->format >= OPTIONS_SAI3;
    bool object_store = o->format == OPTIONS_SAI3 || o->format == OPTIONS_WARP;

    const struct opt_mode modes[] = {
        {.on = o->print_config,
         .takes = WITH_PRINT_CONFIG,
         .why = "--print-config prints the defaults only"},
        {.on = o->list_models,
         .refuses = NOT_LIST_MODELS,
         .why = "not together with --list-models"},
        {.on = o->list_models || o->show_model,
         .takes = WITH_MODELS,
         .why = "nothing is simulated with --list-models or --show-model"},

        {.on = trace, .refuses = KEPT_TIMES, .why = "the rows of a trace keep their times"},
        {.on = trace, .refuses = KEPT_OBJECTS, .why = "a trace has its objects"},
        {.on = trace && !o->retier,
         .refuses = KEPT_TIERS,
         .why = "a trace keeps its tiers (--retier puts it through others)"},
        {.on = trace, .refuses = GENERATES, .why = "a trace has its rows: nothing is generated"},
        {.on = trace && !options_is_live(o),
         .refuses = TIMED,
         .why = "a trace has its rows: nothing is generated"},
        {.on = trace && !recording,
         .refuses = SIZES,
         .why = "a trace has its rows: nothing is generated"},
        {.on = !trace,
         .refuses = RETIERS,
         .why = "only an existing trace (--source trace) has a meaning for it"},
        {.on = users,
         .refuses = READS_FILE,
         .why = "synthetic users (--source users) are read from no file"},
        {.on = users,
         .refuses = TRACES_ONLY,
         .why = "only traces (--input FILE) have a meaning for it"},
        {.on = file,
         .refuses = USERS_ONLY,
         .why = "only synthetic users (--source users) have a meaning for it"},
        {.on = file && !dataset,
         .refuses = DATASETS_ONLY,
         .why = "only datasets (--dataset-path) have a meaning for it"},
        {.on = file && !dataset && !agentic && !o->decode_only,
         .refuses = NAMED_USERS_ONLY,
         .why = "only users, agentic sessions and datasets have a meaning for it"},
        {.on = blocks, .refuses = NOT_BLOCKS, .why = "requests of blocks have no meaning for it"},
        {.on = dataset || arrivals,
         .refuses = BLOCKS_ONLY,
         .why = "only requests of blocks have a meaning for it"},
        {.on = (users || dataset || arrivals) && whole,
         .refuses = IN_BLOCKS_ONLY,
         .why = "nothing is kept in blocks (--granularity block:N)"},
        {.on = users && o->arrival != SOURCE_USERS_POISSON,
         .refuses = POISSON_ONLY,
         .why = "only --arrival poisson has a rate"},

        {.on = !o->enable_rag, .refuses = RAG_ONLY, .why = "only --enable-rag has documents"},
        {.on = o->prefill_only, .refuses = DECODES, .why = "--prefill-only leaves no decode reads"},

        {.on = none, .refuses = COMPRESSES, .why = "no trace is written (-o none)"},
        {.on = none && !o->lint, .refuses = WRITES, .why = "no trace is written (-o none)"},
        {.on = o->format == OPTIONS_KVTRACE,
         .refuses = LOSSY_ONLY,
         .why = "only formats of other tools (--format) lose anything"},
        {.on = !object_store,
         .refuses = OBJECT_STORES_ONLY,
         .why = "only --format sai3 and warp have one"},
        {.on = o->format != OPTIONS_SAI3,
         .refuses = SAI3_ONLY,
         .why = "only --format sai3 has a meaning for it"},
        {.on = o->format != OPTIONS_FIO,
         .refuses = FIO_ONLY,
         .why = "only --format fio cuts objects"},
        {.on = o->format == OPTIONS_FIO,
         .refuses = NOT_FIO,
         .why = "times of an iolog count from its start"},
        {.on = foreign,
         .refuses = FRAMED_ONLY,
         .why = "--format kvtrace and mlperf have frames, others one"},
        {.on = foreign,
         .refuses = THREADED_ONLY,
         .why = "--format kvtrace and mlperf are written by several threads, others by one"},
        {.on = !none && !options_write_zstd(o),
         .refuses = COMPRESSED_ONLY,
         .why = "the trace is not compressed (-z, or a name ending in .zst)"},
        {.on = none || o->format != OPTIONS_KVTRACE || options_write_zstd(o),
         .refuses = PLAIN_ONLY,
         .why = "only a plain trace in --format kvtrace has Notes"},
        {.on = !users && !recording && o->source != OPTIONS_DYNAMO,
         .refuses = RECORDED_ONLY,
         .why = "only recordings have a meaning for it"},
        {.on = !users && !recording,
         .refuses = EVENTS_ONLY,
         .why = "only recorded events (--source kv-events, trtllm, dynamo-kv, lct) have a meaning "
                "for it"},
        {.on = !o->curve, .refuses = CURVE_ONLY, .why = "no curve is asked for (--curve FILE)"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

int options_check_model(const struct opt_parser *p, const struct model *m, struct err *e)
{
    const struct opt_mode other = {.on = m->attention != MODEL_MLA,
                                   .refuses = MLA_ONLY,
                                   .why = "only multi-head latent attention has a meaning for it"};

    return opt_check_modes(p, &other, 1, e);
}

/* ---- values that contradict each other ---- */

/* Refuses runs that would never end. */
static int check_end(const struct options *o, struct err *e)
{
    bool limited = o->duration_ns != 0 || o->max_requests != 0 || o->limit != 0;
    bool spaced = o->source == OPTIONS_SHAREGPT && o->request_rate > 0;

    if (o->source == OPTIONS_TRACE || options_is_recording(o))
        return 0;
    if (o->source == OPTIONS_USERS)
        return limited ? 0
                       : refuse(e, "--duration",
                                "synthetic users never end: give a duration, --max-requests or "
                                "--limit");
    if (o->replay_cycles != 0)
        return 0;
    if (o->trace_speedup == 0 && !spaced)
        return refuse(e, "--replay-cycles",
                      "0 would never end: --trace-speedup 0 leaves no time between requests");
    return limited ? 0
                   : refuse(e, "--replay-cycles",
                            "0 never ends: give a duration, --max-requests or --limit");
}

/* Names by which the other tool recognises its files; "-" and none have no ending. */
static int check_name(const struct options *o, struct err *e)
{
    const char *want = NULL;

    if (is_none(o) || (is_dash(o->output) && o->format != OPTIONS_FIO))
        return 0;
    if (o->format == OPTIONS_SAI3 && !ends_with(o->output, o->zstd ? ".tsv.zst" : ".tsv") &&
        !ends_with(o->output, ".tsv.zst"))
        want = o->zstd ? ".tsv.zst" : ".tsv or .tsv.zst";
    if (o->format == OPTIONS_WARP && !ends_with(o->output, ".csv.zst"))
        want = ".csv.zst";
    if (o->format == OPTIONS_FIO && !ends_with(o->output, ".iolog"))
        want = ".iolog (the job file is beside it)";
    return !want ? 0
                 : err_set(e, -EINVAL, ERR_INPUT, "--output",
                           "this format wants a name ending in %s", want);
}

static int check_output(const struct options *o, const struct opt_parser *p, struct err *e)
{
    int to_stdout =
        is_dash(o->output) + is_dash(o->summary) + is_dash(o->dump_users) + is_dash(o->curve);
    int rc;

    if (o->segment_bytes % 4096 != 0)
        return refuse(e, "--segment-size", "not a multiple of 4096 bytes");
    if ((o->format == OPTIONS_FIO || o->format == OPTIONS_LIBCACHESIM) && options_write_zstd(o))
        return err_set(e, -EINVAL, ERR_INPUT, "--format", "%s reads no compressed files",
                       o->format == OPTIONS_FIO ? "fio" : "libCacheSim's CSV reader");
    rc = check_name(o, e);
    if (rc < 0)
        return rc;
    if (o->preload && opt_given(p, "settle"))
        return refuse(e, "--settle", "--preload moves nothing");
    if (o->preload && is_dash(o->output))
        return refuse(e, "--preload", "there are two files: give --output a name");
    if (to_stdout > 1)
        return refuse(e, "standard output",
                      "only one of --output (which is there unless given), --summary, "
                      "--dump-users and --curve can go to it");
    if (o->zstd && is_dash(o->output) && isatty(STDOUT_FILENO))
        return refuse(e, "--zstd", "not to a terminal");
    return 0;
}

int options_check(struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *const *operand;
    int rc;

    if (opt_operands(p, &operand) > 0)
        return refuse(e, operand[0], "not an option (a trace is given with --input)");
    if (o->tensor_parallel > o->num_gpus && !options_is_recording(o))
        return err_set(e, -EINVAL, ERR_INPUT, "--tensor-parallel",
                       "%llu ranks need as many GPUs, --num-gpus is %llu",
                       (unsigned long long)o->tensor_parallel, (unsigned long long)o->num_gpus);
    if (o->max_concurrent_allocs > 0 && o->tier_model.count == 0)
        return refuse(e, "--max-concurrent-allocs",
                      "writes take no time without --tier-model, so none waits for another");
    if (o->force_model && !ends_with(o->model, ".json") && !ends_with(o->model, ".json.zst"))
        return refuse(e, "--force-model", "only a config.json (--model FILE.json) has such keys");
    o->qos_given = opt_given(p, "qos");
    if (o->source == OPTIONS_USERS && !opt_given(p, "duration"))
        o->duration_ns = 60 * UNITS_NS_PER_S;
    rc = check_modes(o, p, e);
    if (rc < 0)
        return rc;
    if (strcmp(o->granularity, "request") != 0 && options_is_mlperf(o) && o->enable_rag)
        return refuse(e, "--granularity", "a document of --compat mlperf is one object");
    if (o->source == OPTIONS_USERS && o->arrival == SOURCE_USERS_POISSON && o->request_rate == 0)
        return refuse(e, "--arrival poisson", "needs --request-rate");
    rc = check_end(o, e);
    return rc < 0 ? rc : check_output(o, p, e);
}
