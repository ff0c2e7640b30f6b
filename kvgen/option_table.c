/* The table of kvgen's options: the parser, --help, --print-config, the configuration and the
 * provenance read it. The rows' marks are for the modes in options.c. */
#include <stddef.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/options/marks.h"
#include "kvgen/options/options.h"
#include "lib/opt/rows.h"
#include "lib/opt/tables.h"

#define AT(field) offsetof(struct options, field)

const struct opt kvgen_options[] = {
    {.type = OPT_HEADING, .help = "Requests"},
    {OPT_HEAD("source", OPT_ENUM, source), .flags = OPT_COMMON, .def = "auto",
     .choices =
         "auto|users|mooncake|burst|azure|bailian|lmcache|dynamo|satf|agentic|sharegpt|kv-events|"
         "trtllm|dynamo-kv|lct|strace|trace",
     .help = "Where requests come from. auto: recognised by the content of --input; "
             "synthetic users if there is none."},
    {OPT_HEAD("input", OPT_LIST, inputs), .flags = OPT_COMMON | OPT_ONE,
     .alias = "burst-trace-path", .arg = "FILE", .sources = FROM_INPUTS,
     .help = "The file to read requests from. Plain, zstd or gzip; a folder, a quoted pattern, "
             "or - for standard input. Several times: these inputs, merged by time."},
    {OPT_HEAD("input-memory", OPT_SIZE, input_memory), .arg = "SIZE", .def = "1GiB", .min = 1 << 20,
     .max = 0x1p50, .flags = OPT_NO_EFFECT | OPT_CONFIG, .sources = FROM_INPUTS,
     .help = "Most memory that one element of the input may take, and likewise all sessions "
             "or conversations in progress. Needing more ends the run with an error."},
    {OPT_HEAD("names", OPT_TEXT, names), .arg = "FILE", .sources = FROM_RECORDED,
     .help = "Key of the hashes that replace names and blocks of a recording; made if missing. "
             "Without it each run draws its own key."},
    {OPT_HEAD("medium", OPT_LIST, medium), .arg = "NAME=TIER", .flags = OPT_CONFIG,
     .sources = FROM_EVENTS,
     .help =
         "Tier (0, 1, 2) of a medium of KV events whose name kvgen does not know, such as shm=1."},
    {OPT_HEAD("object-bytes", OPT_SIZE, object_bytes), .arg = "SIZE", .max = 1e15,
     .sources = FROM_EVENTS, .help = "Size of recorded objects whose recording has no size."},
    {OPT_HEAD("reorder", OPT_DURATION, reorder_ns), .arg = "TIME", .def = "1s", .max = 1e12,
     .flags = OPT_CONFIG, .sources = FROM_EVENTS,
     .help = "Put events of several publishers in order within this much recorded time."},
    {OPT_HEAD("bind", OPT_TEXT, bind), .arg = "ENDPOINT", .sources = FROM_EVENTS,
     .help = "Take KV events of engines that connect here, for instance tcp://*:5557."},
    {OPT_HEAD("gap-endpoint", OPT_TEXT, gap_endpoint), .arg = "ENDPOINT", .sources = FROM_EVENTS,
     .help = "Replay socket of the engine, to ask for lost messages. With several endpoints a "
             "list in their order."},
    {OPT_HEAD("max-message", OPT_SIZE, message_bytes), .arg = "SIZE", .def = "64MiB", .min = 1024,
     .max = 2147483648.0, .flags = OPT_CONFIG, .sources = FROM_EVENTS,
     .help = "Close the connection to a live engine that sends a larger message."},
    {OPT_HEAD("requests", OPT_TEXT, requests), .arg = "FILE", .sources = FROM_EVENTS,
     .help =
         "Dynamo's request trace of the same time. Blocks that its requests found become reads."},
    {OPT_HEAD("capture", OPT_TEXT, capture), .arg = "FILE", .flags = OPT_NO_EFFECT,
     .sources = FROM_EVENTS,
     .help = "Save the events as read, without names and token ids, as JSON lines that kvgen "
             "reads again."},
    {OPT_HEAD("use-burst-trace", OPT_FLAG, use_burst_trace), .flags = OPT_OLD,
     .sources = FROM_REQUESTS, .help = "The input is a BurstGPT or Azure CSV."},
    {OPT_HEAD("dataset-path", OPT_TEXT, dataset_path), .flags = OPT_OLD, .arg = "FILE",
     .sources = FROM_REQUESTS, .help = "The input, a ShareGPT file."},
    {OPT_HEAD("max-conversations", OPT_U64, max_conversations), .arg = "N",
     .sources = FROM_DATASETS, .help = "Read at most N conversations of a dataset; 0: all."},
    {OPT_HEAD("chars-per-token", OPT_F64, chars_per_token),
     .key = "sharegpt.chars_per_token_estimate", .flags = OPT_CONFIG, .arg = "F", .min = 0.01,
     .max = 1000, .sources = FROM_DATASETS,
     .help = "Characters per token, to estimate the tokens of a dataset's texts; 4 unless "
             "given here or in --config."},
    {OPT_HEAD("speed", OPT_F64, speed), .alias = "trace-speedup", .arg = "FACTOR", .def = "1",
     .max = 1e9, .sources = FROM_FILES, .marks = FILE_TIMES,
     .help = "Divide the times of the input by this; 0: no time between its requests."},
    {OPT_HEAD("clients", OPT_U64, clients), .arg = "N", .max = 1e6, .sources = FROM_INDEPENDENT,
     .marks = NOT_ANSWER,
     .help = "Keep N requests of the input under way: the next one comes when one is answered, "
             "whatever its time; 0: requests come at their times."},
    {OPT_HEAD("time-unit", OPT_ENUM, time_unit), .def = "auto", .choices = "auto|s|ms|us|ns",
     .sources = FROM_STAMPED,
     .help = "Unit of the times of the input. auto: dates and times since 1970 by what they look "
             "like, others as the format has them. The summary shows what was taken."},
    {OPT_HEAD("block-size", OPT_U64, block_size), .arg = "N", .min = 1, .max = BLOCK_SIZE_MAX,
     .sources = FROM_BLOCKS_TO_SIZE,
     .help = "Tokens of a block of the input. Unless given, the size that the format, the file or "
             "its rows say."},
    {OPT_HEAD("sample", OPT_SHARE, sample), .flags = OPT_CONFIG, .arg = "SHARE", .def = "1",
     .min = 1e-6, .max = 1, .sources = FROM_FILES,
     .help = "Keep this share of the sessions of the input, each whole or not at all, chosen by a "
             "hash: the same ones on each host and in each run."},
    {OPT_HEAD("max-gap", OPT_DURATION, max_gap_ns), .flags = OPT_CONFIG, .arg = "TIME",
     .max = 30000 * 86400e9, .sources = FROM_FILES, .marks = FILE_TIMES,
     .help = "Cut longer times of the input without a request, and longer think times of sessions, "
             "to this; 0: cut nothing."},
    {OPT_HEAD("max-context", OPT_U64, max_context), .flags = OPT_CONFIG, .arg = "N", .max = 1 << 30,
     .sources = FROM_FILES,
     .help = "Cut the context of requests of the input to N tokens, and their blocks to those "
             "within; 0: cut nothing."},
    {OPT_HEAD("replay-cycles", OPT_U64, replay_cycles), .arg = "N", .def = "1",
     .sources = FROM_FILES,
     .help = "Read the input N times, one after the other; 0: until the run ends."},
    {OPT_HEAD("users", OPT_U64, users), .flags = OPT_COMMON, .alias = "num-users", .arg = "N",
     .def = "100", .min = 1, .max = 1e7, .sources = FROM_REQUESTS, .marks = NAMED_USERS_ONLY,
     .help = "Number of synthetic users. With agentic sessions: how many run at once; with "
             "datasets: how many user names there are."},
    {OPT_HEAD("population", OPT_TEXT, population), .flags = OPT_COMMON, .arg = "MIX",
     .def = "mlperf", .sources = FROM_USERS,
     .help = "Who the synthetic users are: mlperf, or chat, code, documents with shares. "
             "NAME[=SHARE],... of chat, code and documents: people as public traces show them; "
             "mlperf: the benchmark's personas, who hardly think. "
             "help: list them with their figures."},
    {OPT_HEAD("users-file", OPT_TEXT, users_file), .arg = "FILE", .sources = FROM_USERS,
     .marks = PERSONAS_ONLY,
     .help = "Take the first --users rows of this CSV as users instead of drawing them."},
    {OPT_HEAD("dump-users", OPT_TEXT, dump_users), .arg = "FILE", .flags = OPT_NO_EFFECT,
     .sources = FROM_USERS, .marks = PERSONAS_ONLY | NOT_ANSWER,
     .help = "Write the users to this CSV; - is standard output."},
    {OPT_HEAD("arrival", OPT_ENUM, arrival), .def = "closed",
     .choices = "open|closed|poisson|gamma", .sources = FROM_USERS, .marks = PERSONAS_ONLY,
     .help = "When a user asks again. closed: after the answer and a time to think; open: after a "
             "time to think, whether or not the answer has come; poisson: at random times, "
             "--request-rate a second for all users; gamma: likewise, with intervals of "
             "the key arrival_cv."},
    {OPT_HEAD("arrival-cv", OPT_F64, arrival_cv), .flags = OPT_CONFIG, .arg = "CV", .def = "1",
     .min = 0.05, .max = 20, .sources = FROM_USERS, .marks = PERSONAS_ONLY | GAMMA_ONLY,
     .help = "With --arrival gamma: standard deviation of the intervals divided by their mean. "
             "Above 1 requests come in bursts, below 1 more evenly than with poisson."},
    {OPT_HEAD("request-rate", OPT_F64, request_rate), .arg = "N", .max = 1e9,
     .sources = FROM_USERS | FROM_DATASETS, .marks = POISSON_ONLY,
     .help = "Requests per second: of all users with --arrival poisson or gamma; of a dataset, "
             "evenly spaced (0: all at once)."},
    {OPT_HEAD("input-len", OPT_U64, input_len), .flags = OPT_CONFIG, .arg = "N", .max = 1 << 30,
     .sources = FROM_USERS, .marks = PERSONAS_ONLY,
     .help = "Context tokens of every request of synthetic users; 0: drawn for each."},
    {OPT_HEAD("output-len", OPT_U64, output_len), .flags = OPT_CONFIG, .arg = "N", .max = 1 << 30,
     .sources = FROM_USERS, .marks = PERSONAS_ONLY,
     .help = "Tokens generated for every request of synthetic users; 0: drawn for each."},
    {OPT_HEAD("duration", OPT_DURATION, duration_ns), .flags = OPT_COMMON, .arg = "TIME",
     .max = 30000 * 86400e9, .marks = TIMED | NOT_ANSWER,
     .help = "Virtual time after which the run ends; 0: no limit. Real time with live events. "
             "Unless given, 60 s for synthetic users."},
    {OPT_HEAD("max-requests", OPT_U64, max_requests), .arg = "N", .sources = FROM_REQUESTS,
     .marks = NOT_ANSWER, .help = "Submit at most N requests; 0: no limit."},
    {OPT_HEAD("seed", OPT_U64, seed), .flags = OPT_COMMON, .arg = "N", .def = "42",
     .sources = FROM_REQUESTS,
     .help = "Seed of all random numbers. The same options and seed give the same trace."},
    {OPT_HEAD("workers", OPT_U64, workers), .arg = "N", .max = 1e6, .sources = FROM_REQUESTS,
     .marks = NOT_ENGINES,
     .help = "Requests served at the same time; 0: as many as there are users, at most 500."},
    {OPT_HEAD("queue-memory", OPT_SIZE, queue_memory), .arg = "SIZE", .def = "1GiB", .min = 1 << 20,
     .max = 0x1p50, .flags = OPT_NO_EFFECT | OPT_CONFIG, .sources = FROM_REQUESTS,
     .help = "Most memory that waiting requests may take, about 14 bytes each. Needing more "
             "ends the run with an error."},
    {OPT_HEAD("qos", OPT_ENUM, qos), .def = "batch", .choices = "interactive|responsive|batch",
     .sources = FROM_FILES,
     .help = "Service class of the requests of a file. Datasets, BurstGPT and Azure: drawn "
             "at random unless given."},

    {.type = OPT_HEADING, .help = "Serving"},
    {OPT_HEAD("generation-mode", OPT_ENUM, generation_mode), .def = "realistic",
     .choices = "none|fast|realistic", .absent = "deterministic",
     .absent_why = "': every mode is, one --seed gives one trace. Choose the time of a token: "
                   "none (0 ms), fast (2 ms) or realistic (30 ms)",
     .sources = FROM_REQUESTS, .marks = NOT_ENGINES,
     .help = "Time to generate one token. none: 0, fast: 2 ms, realistic: 30 ms."},
    {OPT_HEAD("disable-multi-turn", OPT_FLAG, disable_multi_turn), .sources = FROM_USERS,
     .marks = PERSONAS_ONLY, .help = "Make every request independent: no conversations."},
    {OPT_HEAD("disable-prefix-caching", OPT_FLAG, disable_prefix_caching), .sources = FROM_OBJECTS,
     .marks = PERSONAS_ONLY, .help = "No shared system prompts."},
    {OPT_HEAD("decode-reads", OPT_ENUM, decode_reads), .flags = OPT_CONFIG, .def = "once",
     .choices = "batch|once|none", .sources = FROM_OBJECTS, .marks = DECODES | NOT_ENGINES,
     .help = "How often decoding reads the request's object. once: before the first token; batch: "
             "once more for each 32 tokens; none: never."},
    {OPT_HEAD("prefill-only", OPT_FLAG, prefill_only), .sources = FROM_REQUESTS,
     .marks = NOT_BLOCKS_ALONE,
     .help = "A node that only prefills: no decode reads. With an engine, requests end "
             "with their first token."},
    {OPT_HEAD("decode-only", OPT_FLAG, decode_only), .sources = FROM_REQUESTS,
     .marks = NOT_BLOCKS_ALONE | DECODES,
     .help = "A node that only decodes: requests read objects that were written before the "
             "first request, ten for each user. With an engine (shared=yes of --cache), the "
             "prompts are in files before their requests come, and what is missing is computed."},
    {OPT_HEAD("files-from", OPT_TEXT, files_from), .arg = "TRACE", .flags = OPT_EXPERT,
     .sources = FROM_REQUESTS, .marks = ENGINES_ONLY | NOT_ANSWER,
     .help = "Begin with the files that the engines of another run left (shared=yes of --cache), "
             "such as those of --prefill-only. With --decode-only prompts are found there only."},
    {OPT_HEAD("enable-rag", OPT_FLAG, enable_rag), .sources = FROM_OBJECTS,
     .marks = NOT_ENGINES | PERSONAS_ONLY,
     .help = "Add retrieval: documents are written in chunks at the start, requests read "
             "chunks of them, and users ask about them."},
    {OPT_HEAD("rag-num-docs", OPT_U64, rag_num_docs), .arg = "N", .def = "10", .min = 1, .max = 1e7,
     .sources = FROM_REQUESTS, .marks = RAG_ONLY, .help = "Number of documents for --enable-rag."},
    {OPT_HEAD("rag-ingest", OPT_ENUM, rag_ingest), .def = "before", .choices = "before|timed",
     .sources = FROM_REQUESTS, .marks = RAG_ONLY,
     .help = "When documents are written. before: before the first request; timed: spread over "
             "--duration, in competition with requests."},
    {OPT_HEAD("compat", OPT_ENUM, compat), .def = "none", .choices = "none|mlperf",
     .sources = FROM_OBJECTS,
     .help = "mlperf: act as the MLPerf Storage benchmark. That is its defaults (--arrival "
             "open, and the key decode_reads=batch), and undocumented behaviour of its program."},
    {OPT_HEAD("block-reuse", OPT_ENUM, block_reuse), .flags = OPT_CONFIG, .def = "prefix",
     .choices = "prefix|any", .sources = FROM_BLOCKS | FROM_TRACES,
     .marks = KEPT_TIERS | NOT_ENGINES,
     .help = "When a block can hit. prefix: only while every earlier block of its request "
             "hits; any: whenever it is cached."},
    {OPT_HEAD("partial-blocks", OPT_FLAG, partial_blocks), .flags = OPT_CONFIG,
     .sources = FROM_REQUESTS, .marks = IN_BLOCKS_ONLY | NOT_ENGINES,
     .help = "Size the last block of a request or entry by its tokens, instead of a full "
             "block."},

    {.type = OPT_HEADING, .help = "Model"},
    {OPT_HEAD("model", OPT_TEXT, model), .letter = 'm', .flags = OPT_COMMON, .arg = "NAME",
     .def = "llama3.1-8b", .sources = FROM_MODELS, .marks = WITH_MODELS,
     .help = "A name of --list-models, or a Hugging Face config.json. Models of --config "
             "have names, too; a file's name must end in .json."},
    {OPT_HEAD("force-model", OPT_FLAG, force_model), .flags = OPT_EXPERT, .sources = FROM_MODELS,
     .marks = NOT_LIST_MODELS | WITH_MODELS,
     .help = "Go on with a config.json whose keys or layers change the cache in a way that is not "
             "known, and say what is assumed."},
    {OPT_HEAD("kv-dtype", OPT_TEXT, kv_dtype), .arg = "TYPE", .sources = FROM_MODELS,
     .marks = NOT_LIST_MODELS | WITH_MODELS,
     .help =
         "Element type of keys and values: float32, float16, bfloat16, fp8, int8, int4, nvfp4."},
    {OPT_HEAD("tensor-parallel", OPT_U64, tensor_parallel), .arg = "N", .def = "1", .min = 1,
     .max = 65536, .sources = FROM_MODELS,
     .help = "Tensor-parallel ranks. Heads are divided among them, or one is kept on each; the "
             "trace shows one rank."},
    {OPT_HEAD("pipeline-parallel", OPT_U64, pipeline_parallel), .arg = "N", .def = "1", .min = 1,
     .max = 65536, .flags = OPT_CONFIG, .sources = FROM_MODELS, .marks = NOT_COMPUTED,
     .help = "Pipeline-parallel stages. Layers are divided among them; the trace shows one rank of "
             "the stage with the most."},
    {OPT_HEAD("context-parallel", OPT_U64, context_parallel), .arg = "N", .def = "1", .min = 1,
     .max = 65536, .flags = OPT_CONFIG, .sources = FROM_MODELS, .marks = NOT_COMPUTED,
     .help = "Context-parallel ranks. The tokens of a sequence are divided among them; the trace "
             "shows one rank."},
    {OPT_HEAD("mla-tp", OPT_ENUM, mla_tp), .flags = OPT_CONFIG, .def = "shard",
     .choices = "shard|replicate", .sources = FROM_MODELS, .marks = MLA_ONLY,
     .help = "What each rank holds of the latent of multi-head latent attention. shard: its "
             "share; replicate: all of it, as real engines do."},
    {OPT_HEAD("num-gpus", OPT_U64, num_gpus), .arg = "N", .def = "1", .min = 1, .max = 65536,
     .marks = KEPT_TIERS, .help = "Number of GPUs; Tier-0 has --gpu-mem for each."},
    {OPT_HEAD("list-models", OPT_FLAG, list_models), .flags = OPT_NO_EFFECT | OPT_COMMON,
     .sources = FROM_REQUESTS, .marks = WITH_MODELS,
     .help = "List the models with their sizes and exit."},
    {OPT_HEAD("show-model", OPT_FLAG, show_model), .flags = OPT_NO_EFFECT, .sources = FROM_REQUESTS,
     .marks = NOT_LIST_MODELS | WITH_MODELS, .help = "Print --model as JSON and exit."},

    {.type = OPT_HEADING, .help = "Tiers"},
    {OPT_HEAD("retier", OPT_FLAG, retier), .sources = FROM_TRACES | FROM_REDONE,
     .help = "Run the reads and writes of an existing trace through the tiers given here, "
             "instead of copying its rows; with an engine for --cache, serve its requests anew."},
    {OPT_HEAD("gpu-mem", OPT_GIB, gpu_mem_gb), .flags = OPT_COMMON | OPT_AUTO,
     .alias = "gpu-mem-gb", .arg = "SIZE|auto", .def = "16GiB", .max = OPTIONS_GPU_GIB,
     .marks = KEPT_TIERS,
     .help = "Tier-0: cache memory of each GPU; 0: no such tier. A number without a unit is "
             "GiB. auto: 92 % of the memory of --gpu-profile, less the weights and 2 GB."},
    {OPT_HEAD("cpu-mem", OPT_GIB, cpu_mem_gb), .flags = OPT_COMMON, .alias = "cpu-mem-gb",
     .def = "32GiB", .max = OPTIONS_CPU_GIB, .marks = KEPT_TIERS,
     .help = "Tier-1: cache memory of the host; 0: no such tier. A number without a unit is "
             "GiB."},
    {OPT_HEAD("storage-capacity", OPT_TEXT, storage_capacity), .flags = OPT_COMMON,
     .alias = "storage-capacity-gb", .arg = "SIZE|unlimited|none|auto:PATH", .def = "unlimited",
     .marks = KEPT_TIERS,
     .help = "Tier-2: a size (a number without a unit is GiB). 0: unlimited; none: no such "
             "tier; auto: what kvreplay can store at PATH."},
    {OPT_HEAD("cache", OPT_TEXT, cache), .flags = OPT_COMMON, .arg = "NAME[:...]",
     .def = "waterfall", .sources = FROM_REQUESTS,
     .help =
         "waterfall, vllm, lmcache, lmcache-mp, sglang or copies. waterfall: one copy of an "
         "object, "
         "which moves down when its tier is full; vllm, lmcache, lmcache-mp, sglang: copies, as "
         "that engine keeps them, in "
         "the steps that it serves; copies: copies by rules of your own. NAME:KEY=VALUE,... sets "
         "what NAME:help lists."},
    {OPT_HEAD("on-full", OPT_ENUM, on_full), .def = "fail", .choices = "fail|evict",
     .sources = FROM_REQUESTS, .marks = FILLS,
     .help = "With --cache vllm or lmcache-mp, which do not bound their files: what happens when "
             "--storage-capacity is used up. fail: a write fails, and its block stays unstored; "
             "evict: a cleaner removes the files that were read longest ago until 90 % is used."},
    {OPT_HEAD("decisions", OPT_TEXT, decisions), .arg = "FILE", .flags = OPT_NO_EFFECT,
     .sources = FROM_REQUESTS, .marks = ENGINES_ONLY | NOT_ANSWER,
     .help = "With --cache vllm: write what its scheduler and its cache decide in each step, as "
             "JSON lines, to compare with an engine of your own (kvgen(1) has the keys)."},
    {OPT_HEAD("fill-storage", OPT_FLAG, fill_storage), .alias = "prefill-store",
     .sources = FROM_REQUESTS, .marks = NOT_ENGINES,
     .help = "Begin with full tiers: before the first request, objects that nobody reads are "
             "written until storage is full. Needs --storage-capacity with a limit."},
    {OPT_HEAD("eviction", OPT_ENUM, eviction), .flags = OPT_CONFIG, .def = "lru",
     .choices = "lru|fifo|lfu|s3fifo|sieve|arc|mru", .marks = KEPT_TIERS | WATERFALLS,
     .help = "Which object leaves a full tier."},
    {OPT_HEAD("promote", OPT_ENUM, promote), .flags = OPT_CONFIG, .def = "none",
     .choices = "none|on-hit", .marks = KEPT_TIERS | WATERFALLS,
     .help = "What a hit does to its object. none: it stays in its tier; on-hit: it moves to "
             "the fastest tier that takes it."},
    {OPT_HEAD("granularity", OPT_TEXT, granularity), .arg = "request|block:N", .def = "request",
     .sources = FROM_OBJECTS | FROM_TRACES, .marks = KEPT_OBJECTS | KEPT_TIERS | NOT_ENGINES,
     .help = "Keep an entry as one object (request), or as objects of N tokens each "
             "(block:N)."},
    {OPT_HEAD("tier-model", OPT_LIST, tier_model), .flags = OPT_COMMON,
     .arg = "N=PROFILE|N=NUMBERS|N=DRIVE.json|RUN.json", .marks = KEPT_TIMES | KEPT_TIERS,
     .help = "Give tier N a speed, so that operations on it queue and take time. A profile (hbm3, "
             "ddr5, pcie-gen5, nvme-gen4, nvme-gen5), numbers (read:RATE,write:RATE,lat:TIME), a "
             "drive measured by kvtrace model (DRIVE.json), or the summary of a kvreplay run "
             "(RUN.json)."},
    {OPT_HEAD("gpu-profile", OPT_TEXT, gpu_profile), .flags = OPT_COMMON,
     .arg = "NAME[:eta=SHARE,t0_ms=MS,...]|FILE.json", .sources = FROM_REQUESTS,
     .help =
         "Let an engine with this GPU serve, such as h100. A formula gives the times of its steps: "
         "a100-80, h20, h100, h200, b200, gb300, mi300x, mi355x, l40s or a file. Times are "
         "calculated, not measured."},
    {OPT_HEAD("prefill", OPT_TEXT, prefill), .arg = "FILE.json", .sources = FROM_REQUESTS,
     .help = "Let prefills take measured times. The file has four points or more; they set the "
             "share of the GPU's peak that is reached, and the host's time of a request."},
    {OPT_HEAD("engines", OPT_U64, engines), .arg = "N", .def = "1", .min = 1, .max = 4096,
     .flags = OPT_CONFIG, .sources = FROM_REQUESTS, .marks = ENGINES_ONLY | NOT_ANSWER,
     .help = "Engines that compute, each of --tensor-parallel GPUs with its own host memory and "
             "storage. The key route chooses the engine of a request."},
    {OPT_HEAD("route", OPT_ENUM, route), .def = "user", .choices = "user|prefix|round-robin",
     .flags = OPT_CONFIG, .sources = FROM_REQUESTS, .marks = ENGINES_ONLY | SEVERAL_ONLY,
     .help = "Which engine gets a request. user: one for all requests of a user; prefix: the one "
             "that holds the longest part of its prompt, of several such the one with the fewest "
             "requests; round-robin: one after the other."},
    {OPT_HEAD("engine-order", OPT_ENUM, engine_order), .def = "fcfs", .choices = "fcfs|priority",
     .flags = OPT_CONFIG, .sources = FROM_REQUESTS, .marks = ENGINES_ONLY,
     .help = "Which waiting request an engine admits first. fcfs: the one that came first; "
             "priority: the one with the lowest number in priority of its line of the input; "
             "without it interactive counts 0, responsive 1, batch 2."},
    {OPT_HEAD("overlap", OPT_ENUM, overlap), .def = "none", .choices = "none|layers",
     .flags = OPT_CONFIG, .sources = FROM_REQUESTS, .marks = ENGINES_ONLY,
     .help = "What a step computes while it loads, for engines whose steps load themselves. none: "
             "nothing; layers: the layers that have come, so that it waits only for what is late."},
    {OPT_HEAD("spec-tokens", OPT_F64, spec_tokens), .arg = "N", .def = "1", .min = 1, .max = 16,
     .flags = OPT_CONFIG, .sources = FROM_REQUESTS, .marks = ENGINES_ONLY,
     .help = "Tokens that a step gives a request on average, with speculative decoding, such as "
             "1.8."},
    {OPT_HEAD("params", OPT_F64, params), .arg = "N", .min = 1, .max = 1e15, .flags = OPT_EXPERT,
     .sources = FROM_REQUESTS, .marks = ENGINES_ONLY,
     .help = "Active parameters (those that each token uses), such as 7e9, instead of those of the "
             "model."},
    {OPT_HEAD("weights", OPT_ENUM, weights), .def = "auto", .choices = "auto|bf16|fp8",
     .sources = FROM_REQUESTS, .marks = ENGINES_ONLY,
     .help = "Type of the weights in the memory of the GPU: 2 bytes or 1 byte a parameter. auto: "
             "as a config.json says, else bf16. The type of the arithmetic is that of "
             "--gpu-profile."},
    {OPT_HEAD("prefill-rate", OPT_TEXT, prefill_rate), .arg = "RATE@TOKENS",
     .sources = FROM_REQUESTS, .marks = ENGINES_ONLY,
     .help = "Tokens a second that you measured for a prompt of that length, alone and without "
             "cache: its tokens over its time to the first token, such as 31000@2k. Sets the "
             "share of the GPU's peak that is reached."},
    {OPT_HEAD("decode-rate", OPT_TEXT, decode_rate), .flags = OPT_CONFIG, .arg = "RATE@TOKENS",
     .sources = FROM_REQUESTS, .marks = ENGINES_ONLY,
     .help =
         "Tokens a second that you measured for one answer, alone, after so many tokens, such as "
         "120@2k. Sets the share of the memory's bandwidth that is reached (b of "
         "--gpu-profile)."},
    {OPT_HEAD("worth", OPT_FLAG, worth), .flags = OPT_NO_EFFECT | OPT_COMMON,
     .sources = FROM_REQUESTS, .marks = ENGINES_ONLY | NOT_ANSWER,
     .help = "Show what each tier is worth. The same requests are simulated with all tiers, "
             "without each tier, and without any cache."},
    {OPT_HEAD("ttft-target", OPT_LIST, ttft_target), .arg = "CLASS=TIME",
     .flags = OPT_NO_EFFECT | OPT_CONFIG, .sources = FROM_REQUESTS,
     .marks = ENGINES_ONLY | NOT_ANSWER,
     .help = "With an engine: show the share of a class's requests whose first token comes within "
             "this time; the class is interactive, responsive or batch."},
    {OPT_HEAD("price", OPT_TEXT, price), .arg = "gpu=N/h,dram=N/h,nvme=N/h",
     .flags = OPT_NO_EFFECT | OPT_EXPERT, .sources = FROM_REQUESTS,
     .marks = ENGINES_ONLY | WORTH_ONLY,
     .help = "With --worth: show what a million input tokens cost; with --answer: what the drive "
             "saves. Prices are for an hour: of a GPU, of a GiB of Tier-1 (dram) and of a GiB of "
             "Tier-2 (nvme)."},
    {OPT_HEAD("max-concurrent-allocs", OPT_U64, max_concurrent_allocs), .arg = "N", .max = 1e6,
     .marks = KEPT_TIMES | KEPT_TIERS | NOT_ENGINES,
     .help = "With --tier-model: how many requests may write at the same time; 0: no limit."},

    {OPT_HEAD("tbw", OPT_F64, tbw), .flags = OPT_EXPERT, .arg = "TB", .min = 0.001, .max = 1e9,
     .marks = KEPT_TIMES | KEPT_TIERS,
     .help = "Rated endurance of the drive of Tier-2, in terabytes written (10^12 bytes). The "
             "summary then has the years that it lasts under this load."},

    {.type = OPT_HEADING, .help = "Users that a drive holds"},
    {OPT_HEAD("answer", OPT_TEXT, answer), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .sources = FROM_REQUESTS,
     .help =
         "Find how many users the drive of Tier-2 holds, as JSON. Beside it no drive, and a drive "
         "that takes no time; with --input, how many requests a second. "
         "With --users N, or --speed, the answer is about that. "
         "--output gets the rows of Tier-2 in a few seconds of it."},
    {OPT_HEAD("ttft", OPT_DURATION, ttft_ns), .arg = "TIME", .def = "2s", .min = 1e6, .max = 3600e9,
     .flags = OPT_NO_EFFECT, .sources = FROM_REQUESTS, .marks = ANSWER_ONLY,
     .help = "Longest time until the first token of a good request. Prompts that take longer by "
             "themselves may take 1.1 times that."},
    {OPT_HEAD("tpot", OPT_DURATION, tpot_ns), .arg = "TIME", .def = "100ms", .min = 1e5,
     .max = 3600e9, .flags = OPT_NO_EFFECT, .sources = FROM_REQUESTS, .marks = ANSWER_ONLY,
     .help = "Longest mean time between the tokens of a good request."},
    {OPT_HEAD("goodput", OPT_SHARE, goodput), .arg = "SHARE", .def = "0.95", .min = 0.01, .max = 1,
     .flags = OPT_NO_EFFECT, .sources = FROM_REQUESTS, .marks = ANSWER_ONLY,
     .help = "Share of the requests of each service class that must be good."},
    {OPT_HEAD("seeds", OPT_U64, seeds), .arg = "N", .def = "5", .min = 1, .max = 100,
     .flags = OPT_NO_EFFECT, .sources = FROM_REQUESTS, .marks = ANSWER_ONLY,
     .help = "Seeds that are searched, from --seed on. The answer is what four in five of them "
             "hold, with the least and the largest."},
    {OPT_HEAD("answer-window", OPT_DURATION, answer_window_ns), .arg = "TIME", .def = "15s",
     .min = 1e9, .max = 86400e9, .sources = FROM_REQUESTS, .marks = ANSWER_ONLY,
     .help = "Length of the part of the simulation that --output gets."},

    {.type = OPT_HEADING, .help = "Hit rate against capacity"},
    {OPT_HEAD("curve", OPT_TEXT, curve), .arg = "FILE", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = KEPT_TIERS | NOT_ANSWER,
     .help = "Write the hit rate by capacity as CSV. With an engine, of its lowest tier: "
             "the requests are served once for each capacity."},
    {OPT_HEAD("curve-sizes", OPT_TEXT, curve_sizes), .arg = "LIST", .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS | CURVE_ONLY,
     .help = "Capacities of --curve, such as 16GiB,64GiB,1TiB (a number without a unit is GiB). "
             "Unless given, spaced by logarithm."},
    {OPT_HEAD("curve-sample", OPT_SHARE, curve_sample), .arg = "SHARE", .def = "1", .min = 1e-6,
     .max = 1, .flags = OPT_NO_EFFECT | OPT_CONFIG, .marks = KEPT_TIERS | CURVE_ONLY | NOT_ENGINES,
     .help = "Follow only this share of the objects, for inputs that do not fit in memory; "
             "1: exact."},
    {OPT_HEAD("curve-optimal", OPT_FLAG, curve_optimal), .flags = OPT_NO_EFFECT | OPT_CONFIG,
     .marks = KEPT_TIERS | CURVE_ONLY | NOT_ENGINES,
     .help = "Add the most hits that any policy could reach, knowing the future. Keeps every "
             "lookup in memory."},

    {.type = OPT_HEADING, .help = "Output"},
    {OPT_HEAD("output", OPT_TEXT, output), .letter = 'o', .arg = "FILE", .def = "-",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Where the trace goes: a file, - for standard output, or none to simulate only. "
             "A file whose name ends in .zst is compressed."},
    {OPT_HEAD("format", OPT_ENUM, format), .def = "kvtrace", .flags = OPT_NO_EFFECT | OPT_COMMON,
     .choices = "kvtrace|mlperf|sai3|warp|fio|libcachesim|oracle", .marks = WRITES | NOT_ANSWER,
     .help = "Format of the trace. kvtrace: all columns; mlperf: the six of the MLPerf "
             "Storage benchmark; the others: for sai3-bench, warp, fio and libCacheSim (CSV, "
             "oracleGeneral)."},
    {OPT_HEAD("lint", OPT_FLAG, lint), .flags = OPT_NO_EFFECT, .marks = LOSSY_ONLY | NOT_ANSWER,
     .help = "Report what the reader of --format would drop or misread. Exit status 1 if "
             "there is anything."},
    {OPT_HEAD("endpoint", OPT_TEXT, endpoint), .arg = "URI", .def = "file:///kvtrace/",
     .flags = OPT_NO_EFFECT | OPT_CONFIG, .marks = WRITES | OBJECT_STORES_ONLY,
     .help = "With --format sai3 or warp: prefix of every key."},
    {OPT_HEAD("settle", OPT_DURATION, settle_ns), .arg = "TIME", .def = "1s",
     .flags = OPT_NO_EFFECT, .marks = SAI3_ONLY,
     .help = "With --format sai3: least time between the starts of two operations on one "
             "object, because sai3-bench does not wait for the first to end. 0: keep all "
             "times. If --input is a result, kvgen says what its target needs."},
    {OPT_HEAD("preload", OPT_FLAG, preload), .flags = OPT_NO_EFFECT, .marks = SAI3_ONLY,
     .help = "With --format sai3, instead of --settle: also write X.preload.tsv, which "
             "writes all that X.tsv reads or deletes. Replay it first."},
    {OPT_HEAD("segment-size", OPT_SIZE, segment_bytes), .arg = "SIZE", .def = "1MiB", .min = 4096,
     .max = 1073741824, .flags = OPT_NO_EFFECT | OPT_CONFIG, .marks = WRITES | FIO_ONLY,
     .help = "With --format fio: size of the I/Os that an object is cut into, a multiple of "
             "4096."},
    {OPT_HEAD("only-tier", OPT_TEXT, only_tier), .arg = "LIST", .marks = FILTERS | NOT_ANSWER,
     .help = "Write only rows of these tiers, such as 0,2. Rows without a tier (Miss, "
             "Generate) are then left out. With --format sai3, warp or fio: 2 unless given."},
    {OPT_HEAD("ops", OPT_TEXT, ops), .arg = "LIST", .marks = FILTERS | NOT_ANSWER,
     .help = "Write only rows of these operations, such as Read,Write."},
    {OPT_HEAD("limit", OPT_U64, limit), .arg = "N", .marks = NOT_ANSWER,
     .help = "End the run after N rows that are written, or would be without -o none; 0: no "
             "limit."},
    {OPT_HEAD("epoch", OPT_TEXT, epoch), .arg = "SECONDS", .marks = WRITES | NOT_FIO | NOT_ANSWER,
     .help = "Unix time at which the trace starts. Unless given 0, with --format mlperf "
             "1735689600."},
    OPT_ROW_ZSTD(AT(zstd), COMPRESSES),
    OPT_ROW_LEVEL(AT(level), COMPRESSES | COMPRESSED_ONLY),
    OPT_ROW_FRAMES(AT(frames), WRITES | FRAMED_ONLY | COMPRESSED_ONLY),
    OPT_ROW_NOTES(AT(notes), PLAIN_ONLY),
    {OPT_HEAD("threads", OPT_U64, threads), .arg = "N", .max = 1024,
     .flags = OPT_NO_EFFECT | OPT_CONFIG, .marks = THREADED_ONLY,
     .help = "Threads in all, including the simulation's; 0: one per processor, at most 16."},
    OPT_ROW_SUMMARY(AT(summary), NOT_ANSWER),
    OPT_ROW_PROGRESS(AT(progress), 0),
    {OPT_HEAD("dry-run", OPT_FLAG, dry_run), .flags = OPT_NO_EFFECT,
     .help = "Check the options, and the files that they name, and end: nothing is written."},
    {OPT_HEAD("print-config", OPT_FLAG, print_config), .flags = OPT_NO_EFFECT,
     .marks = WITH_PRINT_CONFIG,
     .help = "Print a configuration file with every default, commented, and exit."},
    {OPT_HEAD("config", OPT_LIST, config), .letter = 'c', .flags = OPT_COMMON | OPT_ONE,
     .arg = "FILE|KEY=VALUE", .marks = WITH_MODELS,
     .help = "A YAML file, or one key of it, such as threads=4; several times. kvtrace.conf(5) has "
             "all keys."},

    {.type = OPT_EXAMPLE, .help = "kvgen --users 50 --duration 10m -o trace.csv.zst"},
    {.type = OPT_EXAMPLE, .help = "kvgen --input mooncake.jsonl --curve curve.csv -o none"},
    {.type = OPT_EXAMPLE, .help = "kvgen --users 50 | kvreplay --target /mnt/nvme/kv | kvstat"},
    {0},
};
