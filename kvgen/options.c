/* kvgen's options: their table, and the checks of options against each other. Runs first;
 * everything after it gets plain values. option_values.c reads options whose text is more than a
 * number. */
#include "kvgen/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "kvgen/meaning/block_size.h"
#include "kvgen/record/live.h"
#include "kvgen/sim/compat.h"
#include "lib/base/units.h"
#include "lib/opt/files.h"
#include "lib/opt/rows.h"
#include "lib/text/text.h"
#include "lib/trace/gzip.h"

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
#define WORTH_ONLY    (UINT64_C(1) << 41)
#define NOT_ENGINES   (UINT64_C(1) << 42) /* what an engine that serves steps decides itself */
#define WATERFALLS    (UINT64_C(1) << 52) /* what an engine's own cache decides itself */
#define ENGINES_ONLY  (UINT64_C(1) << 43)
#define NOT_ANSWER    (UINT64_C(1) << 45) /* what --answer decides itself */
#define ANSWER_ONLY   (UINT64_C(1) << 46)
#define CLIENTS       (UINT64_C(1) << 50) /* inputs whose requests are independent of each other */
#define FILE_TIMES    (UINT64_C(1) << 51) /* what times of the input become */
#define STAMPED       (UINT64_C(1) << 36) /* inputs whose stamps may have several units */
#define BLOCK_SIZED   (UINT64_C(1) << 37) /* inputs whose blocks may have several sizes */
#define PERSONAS_ONLY (UINT64_C(1) << 47) /* what the habits of people decide */
#define FILTERS       (UINT64_C(1) << 38) /* rows that are written, or that --limit counts */
#define FILLS         (UINT64_C(1) << 39) /* files that the engine's cache gives no bound */
#define NOT_BLOCKS_ALONE                                                                           \
    (UINT64_C(1) << 49)                  /* not of blocks, unless an engine's cache has them       \
                                          */
#define SEVERAL_ONLY (UINT64_C(1) << 48) /* more than one engine */
#define SIZES        (UINT64_C(1) << 34) /* the model and what divides its objects */

const struct opt options_table[] = {
    {.type = OPT_HEADING, .help = "Requests"},
    {.name = "source",
     .type = OPT_ENUM,
     .offset = AT(source),
     .flags = OPT_COMMON,
     .def = "auto",
     .choices =
         "auto|users|mooncake|burst|azure|bailian|lmcache|dynamo|satf|agentic|sharegpt|kv-events|"
         "trtllm|dynamo-kv|lct|strace|trace",
     .help = "Where requests come from. auto: recognised by the content of --input; "
             "synthetic users if there is none."},
    {.name = "input",
     .type = OPT_LIST,
     .offset = AT(inputs),
     .flags = OPT_COMMON | OPT_ONE,
     .alias = "burst-trace-path",
     .arg = "FILE",
     .marks = READS_FILE,
     .help = "The file to read requests from. Plain, zstd or gzip; a folder, a quoted pattern, "
             "or - for standard input. Several times: these inputs, merged by time."},
    {.name = "input-memory",
     .type = OPT_SIZE,
     .offset = AT(input_memory),
     .arg = "SIZE",
     .def = "1GiB",
     .min = 1 << 20,
     .max = 0x1p50,
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .marks = READS_FILE,
     .help = "Most memory that one element of the input may take, and likewise all sessions "
             "or conversations in progress. Needing more ends the run with an error."},
    {.name = "names",
     .type = OPT_TEXT,
     .offset = AT(names),
     .arg = "FILE",
     .marks = READS_FILE | RECORDED_ONLY,
     .help = "Key of the hashes that replace names and blocks of a recording; made if missing. "
             "Without it each run draws its own key."},
    {.name = "medium",
     .type = OPT_LIST,
     .offset = AT(medium),
     .arg = "NAME=TIER",
     .flags = OPT_EXPERT,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Tier (0, 1, 2) of a storage medium whose name kvgen does not know."},
    {.name = "object-bytes",
     .type = OPT_SIZE,
     .offset = AT(object_bytes),
     .arg = "SIZE",
     .max = 1e15,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Size of recorded objects whose recording has no size."},
    {.name = "reorder",
     .type = OPT_DURATION,
     .offset = AT(reorder_ns),
     .arg = "TIME",
     .def = "1s",
     .max = 1e12,
     .flags = OPT_EXPERT,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Put events of several publishers in order within this much recorded time."},
    {.name = "bind",
     .type = OPT_TEXT,
     .offset = AT(bind),
     .arg = "ENDPOINT",
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Take KV events of engines that connect here, for instance tcp://*:5557."},
    {.name = "gap-endpoint",
     .type = OPT_TEXT,
     .offset = AT(gap_endpoint),
     .arg = "ENDPOINT",
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Replay socket of the engine, to ask for lost messages. With several endpoints a "
             "list in their order."},
    {.name = "max-message",
     .type = OPT_SIZE,
     .offset = AT(message_bytes),
     .arg = "SIZE",
     .def = "64MiB",
     .min = 1024,
     .max = 2147483648.0,
     .flags = OPT_EXPERT,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Close the connection to a live engine that sends a larger message."},
    {.name = "requests",
     .type = OPT_TEXT,
     .offset = AT(requests),
     .arg = "FILE",
     .marks = READS_FILE | EVENTS_ONLY,
     .help =
         "Dynamo's request trace of the same time. Blocks that its requests found become reads."},
    {.name = "capture",
     .type = OPT_TEXT,
     .offset = AT(capture),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = READS_FILE | EVENTS_ONLY,
     .help = "Save the events as read, without names and token ids, as JSON lines that kvgen "
             "reads again."},
    {.name = "use-burst-trace",
     .type = OPT_FLAG,
     .offset = AT(use_burst_trace),
     .flags = OPT_OLD,
     .marks = GENERATES,
     .help = "The input is a BurstGPT or Azure CSV."},
    {.name = "dataset-path",
     .type = OPT_TEXT,
     .offset = AT(dataset_path),
     .flags = OPT_OLD,
     .arg = "FILE",
     .marks = GENERATES,
     .help = "The input, a ShareGPT file."},
    {.name = "max-conversations",
     .type = OPT_U64,
     .offset = AT(max_conversations),
     .arg = "N",
     .marks = GENERATES | TRACES_ONLY | DATASETS_ONLY,
     .help = "Read at most N conversations of a dataset; 0: all."},
    {.name = "chars-per-token",
     .type = OPT_F64,
     .offset = AT(chars_per_token),
     .arg = "F",
     .min = 0.01,
     .max = 1000,
     .marks = GENERATES | TRACES_ONLY | DATASETS_ONLY,
     .help = "Characters per token, to estimate the tokens of a dataset's texts; 4 unless "
             "given here or in --config."},
    {.name = "speed",
     .type = OPT_F64,
     .offset = AT(speed),
     .alias = "trace-speedup",
     .arg = "FACTOR",
     .def = "1",
     .max = 1e9,
     .marks = GENERATES | TRACES_ONLY | FILE_TIMES,
     .help = "Divide the times of the input by this; 0: no time between its requests."},
    {.name = "clients",
     .type = OPT_U64,
     .offset = AT(clients),
     .arg = "N",
     .max = 1e6,
     .marks = GENERATES | TRACES_ONLY | CLIENTS | NOT_ANSWER,
     .help = "Keep N requests of the input under way: the next one comes when one is answered, "
             "whatever its time; 0: requests come at their times."},
    {.name = "time-unit",
     .type = OPT_ENUM,
     .offset = AT(time_unit),
     .def = "auto",
     .choices = "auto|s|ms|us|ns",
     .marks = GENERATES | TRACES_ONLY | STAMPED,
     .help = "Unit of the times of the input. auto: dates and times since 1970 by what they look "
             "like, others as the format has them. The summary shows what was taken."},
    {.name = "block-size",
     .type = OPT_U64,
     .offset = AT(block_size),
     .arg = "N",
     .min = 1,
     .max = BLOCK_SIZE_MAX,
     .marks = GENERATES | TRACES_ONLY | BLOCKS_ONLY | BLOCK_SIZED,
     .help = "Tokens of a block of the input. Unless given, the size that the format, the file or "
             "its rows say."},
    {.name = "sample",
     .type = OPT_SHARE,
     .offset = AT(sample),
     .arg = "SHARE",
     .def = "1",
     .min = 1e-6,
     .max = 1,
     .marks = GENERATES | TRACES_ONLY,
     .help = "Keep this share of the sessions of the input, each whole or not at all, chosen by a "
             "hash: the same ones on each host and in each run."},
    {.name = "max-gap",
     .type = OPT_DURATION,
     .offset = AT(max_gap_ns),
     .arg = "TIME",
     .max = 30000 * 86400e9,
     .marks = GENERATES | TRACES_ONLY | FILE_TIMES,
     .help = "Cut longer times of the input without a request, and longer think times of sessions, "
             "to this; 0: cut nothing."},
    {.name = "max-context",
     .type = OPT_U64,
     .offset = AT(max_context),
     .arg = "N",
     .max = 1 << 30,
     .marks = GENERATES | TRACES_ONLY,
     .help = "Cut the context of requests of the input to N tokens, and their blocks to those "
             "within; 0: cut nothing."},
    {.name = "replay-cycles",
     .type = OPT_U64,
     .offset = AT(replay_cycles),
     .arg = "N",
     .def = "1",
     .marks = GENERATES | TRACES_ONLY,
     .help = "Read the input N times, one after the other; 0: until the run ends."},
    {.name = "users",
     .type = OPT_U64,
     .offset = AT(users),
     .flags = OPT_COMMON,
     .alias = "num-users",
     .arg = "N",
     .def = "100",
     .min = 1,
     .max = 1e7,
     .marks = GENERATES | NAMED_USERS_ONLY,
     .help = "Number of synthetic users. With agentic sessions: how many run at once; with "
             "datasets: how many user names there are."},
    {.name = "population",
     .type = OPT_TEXT,
     .offset = AT(population),
     .flags = OPT_COMMON,
     .arg = "MIX",
     .def = "mlperf",
     .marks = GENERATES | USERS_ONLY,
     .help = "Who the synthetic users are. NAME[=SHARE],... of chat, code and documents, people as "
             "public traces show them; or mlperf, the benchmark's personas, who hardly think. "
             "help: list them with their figures."},
    {.name = "users-file",
     .type = OPT_TEXT,
     .offset = AT(users_file),
     .arg = "FILE",
     .marks = GENERATES | USERS_ONLY | PERSONAS_ONLY,
     .help = "Take the first --users rows of this CSV as users instead of drawing them."},
    {.name = "dump-users",
     .type = OPT_TEXT,
     .offset = AT(dump_users),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | USERS_ONLY | PERSONAS_ONLY | NOT_ANSWER,
     .help = "Write the users to this CSV; - is standard output."},
    {.name = "arrival",
     .type = OPT_ENUM,
     .offset = AT(arrival),
     .flags = OPT_COMMON,
     .def = "closed",
     .choices = "open|closed|poisson|gamma",
     .marks = GENERATES | USERS_ONLY | PERSONAS_ONLY,
     .help = "When a user asks again. closed: after the answer and a time to think; open: after a "
             "time to think, whether or not the answer has come; poisson: at random times, "
             "--request-rate a second for all users; gamma: likewise, with intervals of "
             "--arrival-cv."},
    {.name = "arrival-cv",
     .type = OPT_F64,
     .offset = AT(arrival_cv),
     .arg = "CV",
     .def = "1",
     .min = 0.05,
     .max = 20,
     .marks = GENERATES | USERS_ONLY | PERSONAS_ONLY,
     .help = "With --arrival gamma: standard deviation of the intervals divided by their mean. "
             "Above 1 requests come in bursts, below 1 more evenly than with poisson."},
    {.name = "request-rate",
     .type = OPT_F64,
     .offset = AT(request_rate),
     .arg = "N",
     .max = 1e9,
     .marks = GENERATES | DATASETS_ONLY | POISSON_ONLY,
     .help = "Requests per second: of all users with --arrival poisson or gamma; of a dataset, "
             "evenly spaced (0: all at once)."},
    {.name = "input-len",
     .type = OPT_U64,
     .offset = AT(input_len),
     .arg = "N",
     .max = 1 << 30,
     .marks = GENERATES | USERS_ONLY | PERSONAS_ONLY,
     .help = "Context tokens of every request of synthetic users; 0: drawn for each."},
    {.name = "output-len",
     .type = OPT_U64,
     .offset = AT(output_len),
     .arg = "N",
     .max = 1 << 30,
     .marks = GENERATES | USERS_ONLY | PERSONAS_ONLY,
     .help = "Tokens generated for every request of synthetic users; 0: drawn for each."},
    {.name = "duration",
     .type = OPT_DURATION,
     .offset = AT(duration_ns),
     .flags = OPT_COMMON,
     .arg = "TIME",
     .max = 30000 * 86400e9,
     .marks = TIMED | NOT_ANSWER,
     .help = "Virtual time after which the run ends (real time with live events); 0: no limit. "
             "Unless given, 60 s for synthetic users."},
    {.name = "max-requests",
     .type = OPT_U64,
     .offset = AT(max_requests),
     .arg = "N",
     .marks = GENERATES | NOT_ANSWER,
     .help = "Submit at most N requests; 0: no limit."},
    {.name = "seed",
     .type = OPT_U64,
     .offset = AT(seed),
     .flags = OPT_COMMON,
     .arg = "N",
     .def = "42",
     .marks = GENERATES,
     .help = "Seed of all random numbers. The same options and seed give the same trace."},
    {.name = "workers",
     .type = OPT_U64,
     .offset = AT(workers),
     .arg = "N",
     .max = 1e6,
     .marks = GENERATES | NOT_ENGINES,
     .help = "Requests served at the same time; 0: as many as there are users, at most 500."},
    {.name = "queue-memory",
     .type = OPT_SIZE,
     .offset = AT(queue_memory),
     .arg = "SIZE",
     .def = "1GiB",
     .min = 1 << 20,
     .max = 0x1p50,
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .marks = GENERATES,
     .help = "Most memory that waiting requests may take, about 14 bytes each. Needing more "
             "ends the run with an error."},
    {.name = "qos",
     .type = OPT_ENUM,
     .offset = AT(qos),
     .def = "batch",
     .choices = "interactive|responsive|batch",
     .marks = GENERATES | TRACES_ONLY,
     .help = "Service class of the requests of a file. Datasets, BurstGPT and Azure: drawn "
             "at random unless given."},

    {.type = OPT_HEADING, .help = "Serving"},
    {.name = "generation-mode",
     .type = OPT_ENUM,
     .offset = AT(generation_mode),
     .flags = OPT_COMMON,
     .def = "realistic",
     .choices = "none|fast|realistic",
     .absent = "deterministic",
     .absent_why = "': every mode is, one --seed gives one trace. Choose the time of a token: "
                   "none (0 ms), fast (2 ms) or realistic (30 ms)",
     .marks = GENERATES | NOT_ENGINES,
     .help = "Time to generate one token. none: 0, fast: 2 ms, realistic: 30 ms."},
    {.name = "disable-multi-turn",
     .type = OPT_FLAG,
     .offset = AT(disable_multi_turn),
     .marks = GENERATES | USERS_ONLY | PERSONAS_ONLY,
     .help = "Make every request independent: no conversations."},
    {.name = "disable-prefix-caching",
     .type = OPT_FLAG,
     .offset = AT(disable_prefix_caching),
     .marks = GENERATES | NOT_BLOCKS | PERSONAS_ONLY,
     .help = "No shared system prompts."},
    {.name = "decode-reads",
     .type = OPT_ENUM,
     .offset = AT(decode_reads),
     .def = "once",
     .choices = "batch|once|none",
     .marks = GENERATES | NOT_BLOCKS | DECODES | NOT_ENGINES,
     .help = "How often decoding reads the request's object. once: before the first token; batch: "
             "once more for each 32 tokens; none: never."},
    {.name = "prefill-only",
     .type = OPT_FLAG,
     .offset = AT(prefill_only),
     .marks = GENERATES | NOT_BLOCKS_ALONE,
     .help = "A node that only prefills: no decode reads. With an engine, requests end "
             "with their first token."},
    {.name = "decode-only",
     .type = OPT_FLAG,
     .offset = AT(decode_only),
     .marks = GENERATES | NOT_BLOCKS_ALONE | DECODES,
     .help = "A node that only decodes: requests read objects that were written before the "
             "first request, ten for each user. With an engine (shared=yes of --cache), the "
             "prompts are in files before their requests come, and what is missing is computed."},
    {.name = "files-from",
     .type = OPT_TEXT,
     .offset = AT(files_from),
     .arg = "TRACE",
     .flags = OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY | NOT_ANSWER,
     .help = "Begin with the files that the engines of another run left (shared=yes of --cache), "
             "such as those of --prefill-only. With --decode-only prompts are found there only."},
    {.name = "enable-rag",
     .type = OPT_FLAG,
     .offset = AT(enable_rag),
     .marks = GENERATES | NOT_BLOCKS | NOT_ENGINES | PERSONAS_ONLY,
     .help = "Add retrieval: documents are written in chunks at the start, requests read "
             "chunks of them, and users ask about them."},
    {.name = "rag-num-docs",
     .type = OPT_U64,
     .offset = AT(rag_num_docs),
     .arg = "N",
     .def = "10",
     .min = 1,
     .max = 1e7,
     .marks = GENERATES | RAG_ONLY,
     .help = "Number of documents for --enable-rag."},
    {.name = "rag-ingest",
     .type = OPT_ENUM,
     .offset = AT(rag_ingest),
     .def = "before",
     .choices = "before|timed",
     .marks = GENERATES | RAG_ONLY,
     .help = "When documents are written. before: before the first request; timed: spread over "
             "--duration, in competition with requests."},
    {.name = "compat",
     .type = OPT_ENUM,
     .offset = AT(compat),
     .flags = OPT_COMMON,
     .def = "none",
     .choices = "none|mlperf",
     .marks = GENERATES | NOT_BLOCKS,
     .help = "mlperf: act as the MLPerf Storage benchmark. That is its defaults (--arrival "
             "open, --decode-reads batch), and undocumented behaviour of its "
             "program."},
    {.name = "block-reuse",
     .type = OPT_ENUM,
     .offset = AT(block_reuse),
     .def = "prefix",
     .choices = "prefix|any",
     .marks = KEPT_TIERS | TRACES_ONLY | BLOCKS_ONLY | NOT_ENGINES,
     .help = "When a block can hit. prefix: only while every earlier block of its request "
             "hits; any: whenever it is cached."},
    {.name = "partial-blocks",
     .type = OPT_FLAG,
     .offset = AT(partial_blocks),
     .marks = GENERATES | IN_BLOCKS_ONLY | NOT_ENGINES,
     .help = "Size the last block of a request or entry by its tokens, instead of a full "
             "block."},

    {.type = OPT_HEADING, .help = "Model"},
    {.name = "model",
     .letter = 'm',
     .type = OPT_TEXT,
     .offset = AT(model),
     .flags = OPT_COMMON,
     .arg = "NAME",
     .def = "llama3.1-8b",
     .marks = WITH_MODELS | SIZES,
     .help = "A name of --list-models, or a Hugging Face config.json. Models of --config "
             "have names, too; a file's name must end in .json."},
    {.name = "force-model",
     .type = OPT_FLAG,
     .offset = AT(force_model),
     .flags = OPT_EXPERT,
     .marks = NOT_LIST_MODELS | WITH_MODELS | SIZES,
     .help = "Go on with a config.json whose keys or layers change the cache in a way that is not "
             "known, and say what is assumed."},
    {.name = "kv-dtype",
     .type = OPT_TEXT,
     .offset = AT(kv_dtype),
     .arg = "TYPE",
     .marks = NOT_LIST_MODELS | WITH_MODELS | SIZES,
     .help =
         "Element type of keys and values: float32, float16, bfloat16, fp8, int8, int4, nvfp4."},
    {.name = "tensor-parallel",
     .type = OPT_U64,
     .offset = AT(tensor_parallel),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .marks = SIZES,
     .help = "Tensor-parallel ranks. Heads are divided among them, or one is kept on each; the "
             "trace shows one rank."},
    {.name = "pipeline-parallel",
     .type = OPT_U64,
     .offset = AT(pipeline_parallel),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .flags = OPT_EXPERT,
     .marks = SIZES,
     .help = "Pipeline-parallel stages. Layers are divided among them; the trace shows one rank of "
             "the stage with the most."},
    {.name = "context-parallel",
     .type = OPT_U64,
     .offset = AT(context_parallel),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .flags = OPT_EXPERT,
     .marks = SIZES,
     .help = "Context-parallel ranks. The tokens of a sequence are divided among them; the trace "
             "shows one rank."},
    {.name = "mla-tp",
     .type = OPT_ENUM,
     .offset = AT(mla_tp),
     .def = "shard",
     .choices = "shard|replicate",
     .marks = SIZES | MLA_ONLY,
     .help = "What each rank holds of the latent of multi-head latent attention. shard: its "
             "share; replicate: all of it, as real engines do."},
    {.name = "num-gpus",
     .type = OPT_U64,
     .offset = AT(num_gpus),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .marks = KEPT_TIERS,
     .help = "Number of GPUs; Tier-0 has --gpu-mem for each."},
    {.name = "list-models",
     .type = OPT_FLAG,
     .offset = AT(list_models),
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = WITH_MODELS | GENERATES,
     .help = "List the models with their sizes and exit."},
    {.name = "show-model",
     .type = OPT_FLAG,
     .offset = AT(show_model),
     .flags = OPT_NO_EFFECT,
     .marks = NOT_LIST_MODELS | WITH_MODELS | GENERATES,
     .help = "Print --model as JSON and exit."},

    {.type = OPT_HEADING, .help = "Tiers"},
    {.name = "retier",
     .type = OPT_FLAG,
     .offset = AT(retier),
     .marks = RETIERS,
     .help = "Run the reads and writes of an existing trace through the tiers given here, "
             "instead of copying its rows; with an engine for --cache, serve its requests anew."},
    {.name = "gpu-mem",
     .type = OPT_GIB,
     .offset = AT(gpu_mem_gb),
     .flags = OPT_COMMON | OPT_AUTO,
     .alias = "gpu-mem-gb",
     .arg = "SIZE|auto",
     .def = "16GiB",
     .max = OPTIONS_GPU_GIB,
     .marks = KEPT_TIERS,
     .help = "Tier-0: cache memory of each GPU; 0: no such tier. A number without a unit is "
             "GiB. auto: 92 % of the memory of --gpu-profile, less the weights and 2 GB."},
    {.name = "cpu-mem",
     .type = OPT_GIB,
     .offset = AT(cpu_mem_gb),
     .flags = OPT_COMMON,
     .alias = "cpu-mem-gb",
     .def = "32GiB",
     .max = OPTIONS_CPU_GIB,
     .marks = KEPT_TIERS,
     .help = "Tier-1: cache memory of the host; 0: no such tier. A number without a unit is "
             "GiB."},
    {.name = "storage-capacity",
     .type = OPT_TEXT,
     .offset = AT(storage_capacity),
     .flags = OPT_COMMON,
     .alias = "storage-capacity-gb",
     .arg = "SIZE|unlimited|none|auto:PATH",
     .def = "unlimited",
     .marks = KEPT_TIERS,
     .help = "Tier-2: a size (a number without a unit is GiB). 0: unlimited; none: no such "
             "tier; auto: what kvreplay can store at PATH."},
    {.name = "cache",
     .type = OPT_TEXT,
     .offset = AT(cache),
     .flags = OPT_COMMON,
     .arg = "NAME[:...]",
     .def = "waterfall",
     .marks = GENERATES,
     .help =
         "How tiers keep the cache. waterfall: one copy of an object, which moves down when its "
         "tier is full; vllm, lmcache, lmcache-mp, sglang: copies, as that engine keeps them, in "
         "the steps that it serves; copies: copies by rules of your own. NAME:KEY=VALUE,... sets "
         "what NAME:help lists."},
    {.name = "on-full",
     .type = OPT_ENUM,
     .offset = AT(on_full),
     .def = "fail",
     .choices = "fail|evict",
     .marks = GENERATES | FILLS,
     .help = "With --cache vllm or lmcache-mp, which do not bound their files: what happens when "
             "--storage-capacity is used up. fail: a write fails, and its block stays unstored; "
             "evict: a cleaner removes the files that were read longest ago until 90 % is used."},
    {.name = "decisions",
     .type = OPT_TEXT,
     .offset = AT(decisions),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | ENGINES_ONLY | NOT_ANSWER,
     .help = "With --cache vllm: write what its scheduler and its cache decide in each step, as "
             "JSON lines, to compare with an engine of your own (kvgen(1) has the keys)."},
    {.name = "fill-storage",
     .type = OPT_FLAG,
     .offset = AT(fill_storage),
     .alias = "prefill-store",
     .marks = GENERATES | NOT_ENGINES,
     .help = "Begin with full tiers: before the first request, objects that nobody reads are "
             "written until storage is full. Needs --storage-capacity with a limit."},
    {.name = "eviction",
     .type = OPT_ENUM,
     .offset = AT(eviction),
     .def = "lru",
     .choices = "lru|fifo|lfu|s3fifo|sieve|arc|mru",
     .marks = KEPT_TIERS | WATERFALLS,
     .help = "Which object leaves a full tier."},
    {.name = "promote",
     .type = OPT_ENUM,
     .offset = AT(promote),
     .def = "none",
     .choices = "none|on-hit",
     .marks = KEPT_TIERS | WATERFALLS,
     .help = "What a hit does to its object. none: it stays in its tier; on-hit: it moves to "
             "the fastest tier that takes it."},
    {.name = "granularity",
     .type = OPT_TEXT,
     .offset = AT(granularity),
     .arg = "request|block:N",
     .def = "request",
     .marks = KEPT_OBJECTS | KEPT_TIERS | NOT_BLOCKS | NOT_ENGINES,
     .help = "Keep an entry as one object (request), or as objects of N tokens each "
             "(block:N)."},
    {.name = "tier-model",
     .type = OPT_LIST,
     .offset = AT(tier_model),
     .arg = "N=PROFILE|N=read:RATE,write:RATE,lat:TIME|N=DRIVE.json|RUN.json",
     .marks = KEPT_TIMES | KEPT_TIERS,
     .help = "Give tier N a speed, so that operations on it queue and take time: a profile "
             "(hbm3, ddr5, pcie-gen5, nvme-gen4, nvme-gen5), numbers, a drive measured by kvtrace "
             "model (DRIVE.json), or the summary of a kvreplay run (RUN.json)."},
    {.name = "gpu-profile",
     .type = OPT_TEXT,
     .offset = AT(gpu_profile),
     .arg = "NAME[:eta=SHARE,t0_ms=MS,...]|FILE.json",
     .marks = GENERATES,
     .help =
         "Let an engine with this GPU serve the requests, in steps whose times a formula gives: "
         "a100-80, h20, h100, h200, b200, gb300, mi300x, mi355x, l40s or a file. Times are "
         "calculated, not measured."},
    {.name = "prefill",
     .type = OPT_TEXT,
     .offset = AT(prefill),
     .arg = "FILE.json",
     .marks = GENERATES,
     .help = "Let prefills take measured times. The file has four points or more; they set the "
             "share of the GPU's peak that is reached, and the host's time of a request."},
    {.name = "engines",
     .type = OPT_U64,
     .offset = AT(engines),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 4096,
     .flags = OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY | NOT_ANSWER,
     .help = "Engines that compute, each of --tensor-parallel GPUs with its own host memory and "
             "storage. --route chooses the engine of a request."},
    {.name = "route",
     .type = OPT_ENUM,
     .offset = AT(route),
     .def = "user",
     .choices = "user|prefix|round-robin",
     .flags = OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY | SEVERAL_ONLY,
     .help = "Which engine gets a request. user: one for all requests of a user; prefix: the one "
             "that holds the longest part of its prompt, of several such the one with the fewest "
             "requests; round-robin: one after the other."},
    {.name = "engine-order",
     .type = OPT_ENUM,
     .offset = AT(engine_order),
     .def = "fcfs",
     .choices = "fcfs|priority",
     .flags = OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY,
     .help = "Which waiting request an engine admits first. fcfs: the one that came first; "
             "priority: the one with the lowest number in priority of its line of the input; "
             "without it interactive counts 0, responsive 1, batch 2."},
    {.name = "overlap",
     .type = OPT_ENUM,
     .offset = AT(overlap),
     .def = "none",
     .choices = "none|layers",
     .flags = OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY,
     .help = "What a step computes while it loads. none: nothing; layers: the layers that "
             "have come, so that it waits only for what is late."},
    {.name = "spec-tokens",
     .type = OPT_F64,
     .offset = AT(spec_tokens),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 16,
     .flags = OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY,
     .help = "Tokens that a step gives a request on average, with speculative decoding, such as "
             "1.8."},
    {.name = "params",
     .type = OPT_F64,
     .offset = AT(params),
     .arg = "N",
     .min = 1,
     .max = 1e15,
     .flags = OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY,
     .help = "Active parameters (those that each token uses), such as 7e9, instead of those of the "
             "model."},
    {.name = "weights",
     .type = OPT_ENUM,
     .offset = AT(weights),
     .def = "bf16",
     .choices = "bf16|fp8",
     .marks = GENERATES | ENGINES_ONLY,
     .help = "Type of the weights in the memory of the GPU: 2 bytes or 1 byte a parameter. The "
             "type of the arithmetic is that of --gpu-profile."},
    {.name = "prefill-rate",
     .type = OPT_TEXT,
     .offset = AT(prefill_rate),
     .arg = "RATE@TOKENS",
     .marks = GENERATES | ENGINES_ONLY,
     .help = "Tokens a second that you measured for a prompt of that length, alone and without "
             "cache: its tokens over its time to the first token, such as 31000@2k. Sets the "
             "share of the GPU's peak that is reached."},
    {.name = "decode-rate",
     .type = OPT_TEXT,
     .offset = AT(decode_rate),
     .arg = "RATE@TOKENS",
     .marks = GENERATES | ENGINES_ONLY,
     .help = "Tokens a second that you measured for the answer of one request, alone, after that "
             "many tokens, such as 120@2k. Sets the share of the memory's bandwidth that is "
             "reached."},
    {.name = "worth",
     .type = OPT_FLAG,
     .offset = AT(worth),
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | ENGINES_ONLY | NOT_ANSWER,
     .help = "Show what each tier is worth. The same requests are simulated with all tiers, "
             "without each tier, and without any cache."},
    {.name = "ttft-target",
     .type = OPT_LIST,
     .offset = AT(ttft_target),
     .arg = "CLASS=TIME",
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY | NOT_ANSWER,
     .help = "With an engine: show the share of a class's requests whose "
             "first token comes within this time."},
    {.name = "price",
     .type = OPT_TEXT,
     .offset = AT(price),
     .arg = "gpu=N/h,dram=N/h,nvme=N/h",
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .marks = GENERATES | ENGINES_ONLY | WORTH_ONLY,
     .help = "With --worth: show what a million input tokens cost; with --answer: what the drive "
             "saves. Prices are for an hour: of a GPU, of a GiB of Tier-1 (dram) and of a GiB of "
             "Tier-2 (nvme)."},
    {.name = "max-concurrent-allocs",
     .type = OPT_U64,
     .offset = AT(max_concurrent_allocs),
     .arg = "N",
     .max = 1e6,
     .marks = KEPT_TIMES | KEPT_TIERS | NOT_ENGINES,
     .help = "With --tier-model: how many requests may write at the same time; 0: no limit."},

    {.name = "tbw",
     .type = OPT_F64,
     .offset = AT(tbw),
     .flags = OPT_EXPERT,
     .arg = "TB",
     .min = 0.001,
     .max = 1e9,
     .marks = KEPT_TIMES | KEPT_TIERS,
     .help = "Rated endurance of the drive of Tier-2, in terabytes written (10^12 bytes). The "
             "summary then has the years that it lasts under this load."},

    {.type = OPT_HEADING, .help = "Users that a drive holds"},
    {.name = "answer",
     .type = OPT_TEXT,
     .offset = AT(answer),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES,
     .help = "Find how many users the drive of Tier-2 holds, beside no drive and a drive that "
             "takes no time, and write that as JSON; with --input, how many requests a second. "
             "With --users N, or --speed, the answer is about that. "
             "--output gets the rows of Tier-2 in a few seconds of it."},
    {.name = "ttft",
     .type = OPT_DURATION,
     .offset = AT(ttft_ns),
     .arg = "TIME",
     .def = "2s",
     .min = 1e6,
     .max = 3600e9,
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | ANSWER_ONLY,
     .help = "Longest time until the first token of a good request. Prompts that take longer by "
             "themselves may take 1.1 times that."},
    {.name = "tpot",
     .type = OPT_DURATION,
     .offset = AT(tpot_ns),
     .arg = "TIME",
     .def = "100ms",
     .min = 1e5,
     .max = 3600e9,
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | ANSWER_ONLY,
     .help = "Longest mean time between the tokens of a good request."},
    {.name = "goodput",
     .type = OPT_SHARE,
     .offset = AT(goodput),
     .arg = "SHARE",
     .def = "0.95",
     .min = 0.01,
     .max = 1,
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | ANSWER_ONLY,
     .help = "Share of the requests of each service class that must be good."},
    {.name = "seeds",
     .type = OPT_U64,
     .offset = AT(seeds),
     .arg = "N",
     .def = "5",
     .min = 1,
     .max = 100,
     .flags = OPT_NO_EFFECT,
     .marks = GENERATES | ANSWER_ONLY,
     .help = "Seeds that are searched, from --seed on. The answer is what four in five of them "
             "hold, with the least and the largest."},
    {.name = "answer-window",
     .type = OPT_DURATION,
     .offset = AT(answer_window_ns),
     .arg = "TIME",
     .def = "15s",
     .min = 1e9,
     .max = 86400e9,
     .marks = GENERATES | ANSWER_ONLY,
     .help = "Length of the part of the simulation that --output gets."},

    {.type = OPT_HEADING, .help = "Hit rate against capacity"},
    {.name = "curve",
     .type = OPT_TEXT,
     .offset = AT(curve),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .marks = KEPT_TIERS | NOT_ANSWER,
     .help = "Write the hit rate by capacity as CSV. With an engine, of its lowest tier: "
             "the requests are served once for each capacity."},
    {.name = "curve-sizes",
     .type = OPT_TEXT,
     .offset = AT(curve_sizes),
     .arg = "LIST",
     .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS | CURVE_ONLY,
     .help = "Capacities of --curve, such as 16GiB,64GiB,1TiB (a number without a unit is GiB). "
             "Unless given, spaced by logarithm."},
    {.name = "curve-sample",
     .type = OPT_SHARE,
     .offset = AT(curve_sample),
     .arg = "SHARE",
     .def = "1",
     .min = 1e-6,
     .max = 1,
     .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS | CURVE_ONLY | NOT_ENGINES,
     .help = "Follow only this share of the objects, for inputs that do not fit in memory; "
             "1: exact."},
    {.name = "curve-optimal",
     .type = OPT_FLAG,
     .offset = AT(curve_optimal),
     .flags = OPT_NO_EFFECT,
     .marks = KEPT_TIERS | CURVE_ONLY | NOT_ENGINES,
     .help = "Add the most hits that any policy could reach, knowing the future. Keeps every "
             "lookup in memory."},

    {.type = OPT_HEADING, .help = "Output"},
    {.name = "output",
     .letter = 'o',
     .type = OPT_TEXT,
     .offset = AT(output),
     .arg = "FILE",
     .def = "-",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .help = "Where the trace goes: a file, - for standard output, or none to simulate only. "
             "A file whose name ends in .zst is compressed."},
    {.name = "format",
     .type = OPT_ENUM,
     .offset = AT(format),
     .def = "kvtrace",
     .flags = OPT_NO_EFFECT | OPT_COMMON,
     .choices = "kvtrace|mlperf|sai3|warp|fio|libcachesim|oracle",
     .marks = WRITES | NOT_ANSWER,
     .help = "Format of the trace. kvtrace: all columns; mlperf: the six of the MLPerf "
             "Storage benchmark; the others: for sai3-bench, warp, fio and libCacheSim (CSV, "
             "oracleGeneral)."},
    {.name = "lint",
     .type = OPT_FLAG,
     .offset = AT(lint),
     .flags = OPT_NO_EFFECT,
     .marks = LOSSY_ONLY | NOT_ANSWER,
     .help = "Report what the reader of --format would drop or misread. Exit status 1 if "
             "there is anything."},
    {.name = "endpoint",
     .type = OPT_TEXT,
     .offset = AT(endpoint),
     .arg = "URI",
     .def = "file:///kvtrace/",
     .flags = OPT_NO_EFFECT,
     .marks = WRITES | OBJECT_STORES_ONLY,
     .help = "With --format sai3 or warp: prefix of every key."},
    {.name = "settle",
     .type = OPT_DURATION,
     .offset = AT(settle_ns),
     .arg = "TIME",
     .def = "1s",
     .flags = OPT_NO_EFFECT,
     .marks = SAI3_ONLY,
     .help = "With --format sai3: least time between the starts of two operations on one "
             "object, because sai3-bench does not wait for the first to end. 0: keep all "
             "times. If --input is a result, kvgen says what its target needs."},
    {.name = "preload",
     .type = OPT_FLAG,
     .offset = AT(preload),
     .flags = OPT_NO_EFFECT,
     .marks = SAI3_ONLY,
     .help = "With --format sai3, instead of --settle: also write X.preload.tsv, which "
             "writes all that X.tsv reads or deletes. Replay it first."},
    {.name = "segment-size",
     .type = OPT_SIZE,
     .offset = AT(segment_bytes),
     .arg = "SIZE",
     .def = "1MiB",
     .min = 4096,
     .max = 1073741824,
     .flags = OPT_NO_EFFECT,
     .marks = WRITES | FIO_ONLY,
     .help = "With --format fio: size of the I/Os that an object is cut into, a multiple of "
             "4096."},
    {.name = "only-tier",
     .type = OPT_TEXT,
     .offset = AT(only_tier),
     .arg = "LIST",
     .marks = FILTERS | NOT_ANSWER,
     .help = "Write only rows of these tiers, such as 0,2. Rows without a tier (Miss, "
             "Generate) are then left out. With --format sai3, warp or fio: 2 unless given."},
    {.name = "ops",
     .type = OPT_TEXT,
     .offset = AT(ops),
     .arg = "LIST",
     .marks = FILTERS | NOT_ANSWER,
     .help = "Write only rows of these operations, such as Read,Write."},
    {.name = "limit",
     .type = OPT_U64,
     .offset = AT(limit),
     .arg = "N",
     .marks = NOT_ANSWER,
     .help = "End the run after N rows that are written, or would be without -o none; 0: no "
             "limit."},
    {.name = "epoch",
     .type = OPT_TEXT,
     .offset = AT(epoch),
     .arg = "SECONDS",
     .marks = WRITES | NOT_FIO | NOT_ANSWER,
     .help = "Unix time at which the trace starts. Unless given 0, with --format mlperf "
             "1735689600."},
    OPT_ROW_ZSTD(AT(zstd), COMPRESSES),
    OPT_ROW_LEVEL(AT(level), COMPRESSES | COMPRESSED_ONLY),
    OPT_ROW_FRAMES(AT(frames), WRITES | FRAMED_ONLY | COMPRESSED_ONLY),
    OPT_ROW_NOTES(AT(notes), PLAIN_ONLY),
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .arg = "N",
     .max = 1024,
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .marks = THREADED_ONLY,
     .help = "Threads in all, including the simulation's; 0: one per processor, at most 16."},
    OPT_ROW_SUMMARY(AT(summary), NOT_ANSWER),
    OPT_ROW_PROGRESS(AT(progress), 0),
    {.name = "dry-run",
     .type = OPT_FLAG,
     .offset = AT(dry_run),
     .flags = OPT_NO_EFFECT | OPT_EXPERT,
     .help = "Check the options, and the files that they name, and end: nothing is written."},
    {.name = "print-config",
     .type = OPT_FLAG,
     .offset = AT(print_config),
     .flags = OPT_NO_EFFECT,
     .marks = WITH_PRINT_CONFIG,
     .help = "Print a configuration file with every default, commented, and exit."},
    {.name = "config",
     .letter = 'c',
     .type = OPT_TEXT,
     .offset = AT(config),
     .flags = OPT_COMMON,
     .arg = "FILE",
     .marks = WITH_MODELS,
     .help = "YAML: users, service classes, models, ratios."},

    {.type = OPT_EXAMPLE, .help = "kvgen --users 50 --duration 10m -o trace.csv.zst"},
    {.type = OPT_EXAMPLE, .help = "kvgen --input mooncake.jsonl --curve curve.csv -o none"},
    {.type = OPT_EXAMPLE, .help = "kvgen --users 50 | kvreplay --target /mnt/nvme/kv | kvstat"},
    {0},
};

struct opt_parser *options_open(struct options *o)
{
    struct opt_parser *p = opt_open("kvgen", "[options]", options_table, o);

    opt_part(p, "live KV events (libzmq)", live_is_built());
    opt_part(p, "input in gzip (zlib)", gzip_is_built());
    return p;
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

bool options_write_zstd(const struct options *o)
{
    return o->zstd || o->format == OPTIONS_WARP || text_ends_with(o->output, ".zst");
}

bool options_is_recording(const struct options *o)
{
    return o->source >= OPTIONS_KV_EVENTS && o->source < OPTIONS_TRACE;
}

bool options_redoes(const struct options *o)
{
    return o->source == OPTIONS_TRACE && o->retier && o->engine.kind;
}

bool options_is_live(const struct options *o)
{
    return o->bind || (o->input && live_is_endpoint(o->input));
}

bool options_has_times(const struct options *o)
{
    return o->source == OPTIONS_MOONCAKE || o->source == OPTIONS_BAILIAN ||
           o->source == OPTIONS_LMCACHE || o->source == OPTIONS_BURST ||
           o->source == OPTIONS_AZURE || o->source == OPTIONS_DYNAMO;
}

bool options_is_waterfall(const struct options *o)
{
    return engine_choice_is_waterfall(&o->engine);
}

bool options_computes(const struct options *o)
{
    return o->gpu_profile || o->prefill;
}

const struct compat *options_compat(const struct options *o)
{
    return o->compat == OPTIONS_COMPAT_MLPERF ? &compat_mlperf : &compat_none;
}

static const struct compat_default answer_defaults[] = {
    {"cache", "vllm"}, {"on-full", "evict"}, {"population", "chat"}, {"gpu-mem", "auto"}, {0}};

int options_apply_compat(struct options *o, struct opt_parser *p, struct err *e)
{
    const struct compat_default *d = o->answer ? answer_defaults : options_compat(o)->defaults;
    int rc = 0;

    o->input = o->inputs.count > 0 ? o->inputs.item[0] : NULL;

    for (; rc == 0 && d && d->option; d++)
        rc = opt_preset(p, d->option, d->value, e);
    if (rc == 0 && options_is_live(o)) /* with what a look and a write take, a second */
        rc = opt_preset(p, "reorder", "600ms", e);
    return rc;
}

/* ---- the input ---- */

static int check_inputs(const struct options *o, struct err *e)
{
    unsigned dashes = is_dash(o->config) + is_dash(o->users_file);

    for (size_t i = 0; i < o->inputs.count; i++) {
        const char *input = o->inputs.item[i];
        dashes += is_dash(input);
        if (live_is_endpoint(input) && o->inputs.count > 1)
            return refuse(e, "--input", "an endpoint is the only input");
        if (!live_is_endpoint(input) && files_check_terminal(input, e) < 0)
            return -EINVAL;
    }
    if (dashes > 1)
        return refuse(e, "standard input",
                      "only one of --config, --input and --users-file can come from it");
    if (o->inputs.count > 1 && o->replay_cycles != 1)
        return refuse(e, "--replay-cycles", "does not apply to several inputs");
    return 0;
}

int options_check_input(struct options *o, const struct opt_parser *p, struct err *e)
{
    bool source = opt_given(p, "source"), input = opt_given(p, "input");

    if (o->use_burst_trace && source)
        return refuse(e, "--source", "--use-burst-trace already names the source");
    if (o->use_burst_trace && !input)
        return refuse(e, "--use-burst-trace", "needs --burst-trace-path FILE");
    if (o->dataset_path) {
        if (source || input || o->use_burst_trace)
            return refuse(e,
                          source  ? "--source"
                          : input ? "--input"
                                  : "--use-burst-trace",
                          "--dataset-path already names the input");
        o->inputs = (struct opt_list){.item = {o->dataset_path}, .count = 1};
        o->input = o->dataset_path;
        o->source = OPTIONS_SHAREGPT;
    }
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
    if (check_inputs(o, e) < 0)
        return -EINVAL;
    if (o->source != OPTIONS_AUTO && o->source != OPTIONS_USERS && !o->input && !options_is_live(o))
        return refuse(e, "--source", "needs --input FILE");
    return 0;
}

/* ---- modes ---- */

/* Whether Tier-2 has a limit. */
static bool is_bounded(const struct options *o)
{
    const char *text = o->storage_capacity;
    return strcmp(text, "unlimited") != 0 && strcmp(text, "none") != 0 && strcmp(text, "0") != 0;
}

/* Refuses options that have no meaning for this source, or in a mode that another option chooses.
 */
static int check_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool recording = options_is_recording(o), redone = options_redoes(o);
    bool users = o->source == OPTIONS_USERS, given = o->source == OPTIONS_TRACE || recording;
    bool trace = given && !redone;
    bool dataset = o->source == OPTIONS_SHAREGPT, agentic = o->source == OPTIONS_AGENTIC;
    bool arrivals = o->source == OPTIONS_BURST || o->source == OPTIONS_AZURE;
    bool blocks = !users && !trace && !dataset && !arrivals, file = dataset || arrivals || blocks;
    bool whole = strcmp(o->granularity, "request") == 0;
    bool none = is_none(o), foreign = o->format >= OPTIONS_SAI3;
    bool object_store = o->format == OPTIONS_SAI3 || o->format == OPTIONS_WARP;

    if (o->engine.kind && recording)
        return refuse(
            e, "--cache",
            "events of an engine tell what its cache did, not what requests asked it for: "
            "give the requests to --input (Mooncake, Dynamo, ...), or --retier without "
            "--cache");
    if (o->engine.kind && trace)
        return refuse(
            e, "--cache",
            "does not apply to an existing trace, unless --retier asks the cache for what "
            "the trace looked up");

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

        {.on = trace,
         .refuses = KEPT_TIMES,
         .why = "does not apply to an existing trace; replay it and export the result"},
        {.on = trace,
         .refuses = KEPT_OBJECTS,
         .why = "does not apply to an existing trace, whose objects are given"},
        {.on = trace && !o->retier,
         .refuses = KEPT_TIERS,
         .why = "does not apply to an existing trace, unless --retier runs it through other tiers"},
        {.on = trace,
         .refuses = GENERATES,
         .why = "does not apply to an existing trace: nothing is generated"},
        {.on = trace && !options_is_live(o),
         .refuses = TIMED,
         .why = "does not apply to an existing trace: nothing is generated"},
        {.on = trace && !recording,
         .refuses = SIZES,
         .why = "does not apply to an existing trace: nothing is generated"},
        {.on = redone,
         .refuses = TRACES_ONLY,
         .why = "does not apply with --retier, which keeps the requests and times of the trace"},
        {.on = !given,
         .refuses = RETIERS,
         .why = "applies only to an existing trace (--source trace); requests go to --cache "
                "without it"},
        {.on = users,
         .refuses = READS_FILE,
         .why = "synthetic users (--source users) read no file"},
        {.on = users, .refuses = TRACES_ONLY, .why = "applies only with --input FILE"},
        {.on = file,
         .refuses = USERS_ONLY,
         .why = "applies only to synthetic users (--source users)"},
        {.on = file && !dataset,
         .refuses = DATASETS_ONLY,
         .why = "applies only to datasets (--source sharegpt)"},
        {.on = file && !dataset && !agentic && (!o->decode_only || o->engine.kind),
         .refuses = NAMED_USERS_ONLY,
         .why = "applies only to synthetic users, agentic sessions and datasets"},
        {.on = blocks && !o->engine.kind,
         .refuses = NOT_BLOCKS_ALONE,
         .why = "needs an engine (--gpu-profile or --cache) where requests are made of blocks"},
        {.on = blocks, .refuses = NOT_BLOCKS, .why = "does not apply to requests made of blocks"},
        {.on = dataset || arrivals,
         .refuses = BLOCKS_ONLY,
         .why = "applies only to requests made of blocks"},
        {.on = (users || dataset || arrivals) && whole,
         .refuses = IN_BLOCKS_ONLY,
         .why = "applies only to blocks (--granularity block:N)"},
        {.on = dataset || o->source == OPTIONS_DYNAMO || o->source == OPTIONS_SATF,
         .refuses = STAMPED,
         .why = "does not apply to this input, which names its unit of time"},
        {.on = file && (!options_has_times(o) || o->source == OPTIONS_DYNAMO),
         .refuses = CLIENTS,
         .why = "applies only to requests of Mooncake, Qwen-Bailian, LMCache, BurstGPT and Azure"},
        {.on = o->clients > 0,
         .refuses = FILE_TIMES,
         .why = "does not apply with --clients, whose requests come when others are answered"},
        {.on = o->source == OPTIONS_DYNAMO || o->source == OPTIONS_LMCACHE,
         .refuses = BLOCK_SIZED,
         .why = "does not apply to this input, whose rows say how large their blocks are"},
        {.on = users && !source_users_at_rate(o->arrival),
         .refuses = POISSON_ONLY,
         .why = "needs --arrival poisson or gamma"},

        {.on = mix_is_people(&o->mix),
         .refuses = PERSONAS_ONLY,
         .why = "does not apply with --population of people, whose habits decide it"},

        {.on = !o->enable_rag, .refuses = RAG_ONLY, .why = "needs --enable-rag"},
        {.on = o->prefill_only,
         .refuses = DECODES,
         .why = "does not apply with --prefill-only, which has no decode reads"},

        {.on = none, .refuses = COMPRESSES, .why = "no trace is written (-o none)"},
        {.on = none && !o->lint, .refuses = WRITES, .why = "no trace is written (-o none)"},
        {.on = none && !o->lint && o->limit == 0,
         .refuses = FILTERS,
         .why = "needs a trace, or --limit with -o none"},
        {.on = o->format == OPTIONS_KVTRACE,
         .refuses = LOSSY_ONLY,
         .why = "applies only to the formats of other tools (--format)"},
        {.on = !object_store,
         .refuses = OBJECT_STORES_ONLY,
         .why = "applies only to --format sai3 and warp"},
        {.on = o->format != OPTIONS_SAI3,
         .refuses = SAI3_ONLY,
         .why = "applies only to --format sai3"},
        {.on = o->format != OPTIONS_FIO,
         .refuses = FIO_ONLY,
         .why = "applies only to --format fio"},
        {.on = o->format == OPTIONS_FIO,
         .refuses = NOT_FIO,
         .why = "does not apply to --format fio: its times count from the start"},
        {.on = foreign,
         .refuses = FRAMED_ONLY,
         .why = "applies only to --format kvtrace and mlperf; the others are one frame"},
        {.on = foreign,
         .refuses = THREADED_ONLY,
         .why =
             "applies only to --format kvtrace and mlperf; the others are written by one thread"},
        {.on = !none && !options_write_zstd(o),
         .refuses = COMPRESSED_ONLY,
         .why = "the trace is not compressed (-z, or a name ending in .zst)"},
        {.on = none || o->format != OPTIONS_KVTRACE || options_write_zstd(o),
         .refuses = PLAIN_ONLY,
         .why = "applies only to an uncompressed trace in --format kvtrace"},
        {.on = !users && !recording && o->source != OPTIONS_DYNAMO,
         .refuses = RECORDED_ONLY,
         .why = "applies only to recordings"},
        {.on = !users && !recording,
         .refuses = EVENTS_ONLY,
         .why = "applies only to recorded events (--source kv-events, trtllm, dynamo-kv, lct, "
                "strace)"},
        {.on = o->answer,
         .refuses = NOT_ANSWER,
         .why = "does not apply with --answer, which decides that itself"},
        {.on = !o->answer, .refuses = ANSWER_ONLY, .why = "needs --answer FILE"},
        {.on = !o->worth && !o->answer,
         .refuses = WORTH_ONLY,
         .why = o->engine.kind ? "needs --worth"
                               : "needs --worth, and an engine: --gpu-profile, or --cache of an "
                                 "engine, such as --cache vllm"},
        {.on = o->engine.kind,
         .refuses = NOT_ENGINES,
         .why = options_is_waterfall(o)
                    ? "does not apply with --gpu-profile or --prefill: an engine serves the "
                      "requests in blocks and steps (--cache waterfall:help)"
                    : "does not apply with --cache of an engine, which decides that itself"},
        {.on = !options_is_waterfall(o),
         .refuses = WATERFALLS,
         .why = "does not apply with --cache of an engine, which decides that itself"},
        {.on = o->engines == 1, .refuses = SEVERAL_ONLY, .why = "needs --engines 2 or more"},
        {.on = !o->engine.kind,
         .refuses = ENGINES_ONLY,
         .why = "needs an engine: --gpu-profile, or --cache of an engine, such as --cache vllm"},
        {.on = !engine_choice_fills(&o->engine),
         .refuses = FILLS,
         .why = "needs --cache vllm or lmcache-mp: this one bounds its files itself"},
        {.on = !is_bounded(o),
         .refuses = FILLS,
         .why = "needs a --storage-capacity with a limit, such as 500GiB or auto:PATH"},
        {.on = !o->curve, .refuses = CURVE_ONLY, .why = "needs --curve FILE"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

int options_check_model(const struct opt_parser *p, const struct model *m, struct err *e)
{
    const struct opt_mode other = {.on = m->attention != MODEL_MLA,
                                   .refuses = MLA_ONLY,
                                   .why =
                                       "applies only to models with multi-head latent attention"};

    return opt_check_modes(p, &other, 1, e);
}

int options_check_ranks(const struct options *o, struct err *e)
{
    uint64_t gpus = o->tensor_parallel * o->pipeline_parallel, all;
    if (units_mul(gpus, o->context_parallel, &all) == 0 && all <= o->num_gpus)
        return 0;
    return options_is_recording(o)
               ? 0
               : err_set(e, -EINVAL, ERR_INPUT,
                         gpus > o->num_gpus && o->pipeline_parallel == 1 ? "--tensor-parallel"
                         : o->context_parallel == 1                      ? "--pipeline-parallel"
                                                                         : "--context-parallel",
                         "%llu ranks need as many GPUs, --num-gpus is %llu",
                         (unsigned long long)all, (unsigned long long)o->num_gpus);
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
                                "0 would never end: give a duration, --max-requests or --limit");
    if (o->replay_cycles != 0)
        return 0;
    bool counted = o->max_requests != 0 || o->limit != 0;
    if (o->speed == 0 && !spaced && !counted)
        return refuse(e, "--replay-cycles",
                      "0 would never end: --speed 0 leaves no time between requests "
                      "(--max-requests ends it)");
    return limited ? 0
                   : refuse(e, "--replay-cycles",
                            "0 would never end: give a duration, --max-requests or --limit");
}

/* The GPUs are those of the engines. */
static int check_compute(struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *by = o->gpu_profile ? "--gpu-profile" : "--prefill";
    uint64_t gpus = o->engines * o->tensor_parallel;
    if (!options_computes(o))
        return 0;
    if (o->compat == OPTIONS_COMPAT_MLPERF)
        return refuse(e, by, "does not apply with --compat mlperf, where nothing is computed");
    if (o->decode_only && options_is_waterfall(o))
        return refuse(e, by,
                      "does not apply with --decode-only, which has no prefill; an engine's "
                      "cache with shared=yes loads what another node wrote");
    if (o->prefill_rate && o->prefill)
        return refuse(e, "--prefill-rate",
                      "does not apply with --prefill, whose times are measured");
    if (o->pipeline_parallel > 1)
        return refuse(e, "--pipeline-parallel", "does not apply where prefill takes time");
    if (o->context_parallel > 1)
        return refuse(e, "--context-parallel", "does not apply where prefill takes time");
    if (gpus > 65536)
        return refuse(e, "--engines", "all engines together have more than 65536 GPUs");
    if (opt_given(p, "num-gpus") && o->num_gpus != gpus)
        return err_set(
            e, -EINVAL, ERR_INPUT, "--num-gpus",
            "%llu, but %llu engine%s with %llu GPU%s each (--tensor-parallel) need%s %llu",
            (unsigned long long)o->num_gpus, (unsigned long long)o->engines,
            units_plural(o->engines), (unsigned long long)o->tensor_parallel,
            units_plural(o->tensor_parallel), o->engines == 1 ? "s" : "", (unsigned long long)gpus);
    o->num_gpus = gpus;
    return 0;
}

/* The nodes of a disaggregated pair meet in the files that they share. */
static int check_halves(const struct options *o, struct err *e)
{
    const char *by = o->files_from ? "--files-from" : "--decode-only";
    if (o->decode_only && !o->engine.kind && mix_is_people(&o->mix))
        return refuse(e, by,
                      "does not apply with --population of people, whose habits decide it, "
                      "unless an engine serves them");
    if ((o->decode_only || o->files_from) && o->engine.kind && !engine_choice_shares(&o->engine))
        return refuse(e, by,
                      "needs files that another node writes, too: --cache vllm:shared=yes "
                      "or sglang:shared=yes");
    return 0;
}

/* An engine computes: on an H100, unless told. Under the waterfall nothing does, unless told. */
static int check_cache(struct options *o, struct err *e)
{
    int rc = engine_choice_parse(&o->engine, o->cache, e);
    if (rc < 0)
        return rc;
    if (o->decisions && strcmp(engine_choice_name(&o->engine), "vllm") != 0)
        return refuse(e, "--decisions",
                      "needs --cache vllm: the steps of other engines are not told");
    if (options_is_waterfall(o) && !options_computes(o)) {
        o->engine.kind = NULL;
        return !strchr(o->cache, ':')
                   ? 0
                   : refuse(e, "--cache",
                            "the settings of waterfall need --gpu-profile or --prefill: without "
                            "an engine its options are those of tiers");
    }
    if (o->compat == OPTIONS_COMPAT_MLPERF && options_is_waterfall(o))
        return 0; /* check_compute says why not */
    if (o->compat == OPTIONS_COMPAT_MLPERF)
        return refuse(e, "--cache",
                      "does not apply with --compat mlperf, whose cache is waterfall");
    for (size_t i = 0; i < o->tier_model.count; i++)
        if (o->tier_model.item[i][0] != '2' || o->tier_model.item[i][1] != '=')
            return refuse(e, "--tier-model",
                          "of an engine only Tier-2 has a speed of its own (2=...): the link of "
                          "--gpu-profile moves the others");
    if (o->decisions && o->engines > 1)
        return refuse(e, "--decisions", "tells the steps of one engine (--engines 1)");
    o->gpu_assumed = !o->gpu_profile;
    if (o->gpu_assumed)
        o->gpu_profile = "h100";
    return 0;
}

/* The answer is about users or requests, an engine and a drive. */
static int check_answer(const struct options *o, struct err *e)
{
    if (!o->answer)
        return 0;
    const bool people = o->source == OPTIONS_USERS || o->source == OPTIONS_AGENTIC;
    if (!people && !options_has_times(o) && o->source != OPTIONS_SHAREGPT)
        return refuse(e, "--input",
                      "--answer finds how many users or requests a second are held: it needs "
                      "requests with times (Mooncake, Qwen-Bailian, LMCache, BurstGPT, Azure, "
                      "Dynamo), agentic sessions or conversations (ShareGPT)");
    if ((o->source == OPTIONS_AGENTIC || o->source == OPTIONS_SHAREGPT) && o->replay_cycles > 1)
        return refuse(
            e, "--replay-cycles",
            "does not apply with --answer, which begins agents and conversations again as "
            "often as needed");
    if (o->source != OPTIONS_USERS && !(o->speed > 0))
        return refuse(e, "--speed", "--answer asks about a speed above 0");
    if (options_is_waterfall(o))
        return refuse(e, "--cache",
                      "--answer needs the cache of an engine (vllm, lmcache, lmcache-mp, sglang, "
                      "copies)");
    if (strcmp(o->storage_capacity, "none") == 0)
        return refuse(e, "--storage-capacity", "--answer is about Tier-2: none leaves none");
    return o->tier_model.count ? 0
                               : refuse(e, "--answer",
                                        "needs --tier-model 2=..., the drive: a file of kvtrace "
                                        "model, a profile or rates");
}

/* Names by which the other tool recognises its files; "-" and none have no ending. */
static int check_name(const struct options *o, struct err *e)
{
    const char *want = NULL;

    if (is_none(o) || (is_dash(o->output) && o->format != OPTIONS_FIO))
        return 0;
    if (o->format == OPTIONS_SAI3 && !text_ends_with(o->output, o->zstd ? ".tsv.zst" : ".tsv") &&
        !text_ends_with(o->output, ".tsv.zst"))
        want = o->zstd ? ".tsv.zst" : ".tsv or .tsv.zst";
    if (o->format == OPTIONS_WARP && !text_ends_with(o->output, ".csv.zst"))
        want = ".csv.zst";
    if (o->format == OPTIONS_FIO && !text_ends_with(o->output, ".iolog"))
        want = ".iolog (the job file is beside it)";
    return !want ? 0
                 : err_set(e, -EINVAL, ERR_INPUT, "--output",
                           "in this format the name must end in %s", want);
}

static int check_output(const struct options *o, const struct opt_parser *p, struct err *e)
{
    int to_stdout = is_dash(o->output) + is_dash(o->summary) + is_dash(o->dump_users) +
                    is_dash(o->curve) + is_dash(o->answer);
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
        return refuse(e, "--settle", "does not apply with --preload, which keeps all times");
    if (o->preload && is_dash(o->output))
        return refuse(e, "--preload", "writes two files: --output needs a name");
    if (to_stdout > 1)
        return refuse(e, "standard output",
                      "only one of --output (which is there unless given), --summary, --answer, "
                      "--dump-users and --curve can go to it");
    bool simulates = !o->list_models && !o->show_model && !o->print_config;
    if (simulates && !opt_given(p, "output") && isatty(STDOUT_FILENO))
        return refuse(e, "--output",
                      "the trace would fill this terminal: give -o FILE, -o none to simulate only, "
                      "or -o - to print it here");
    if (o->zstd && is_dash(o->output) && isatty(STDOUT_FILENO))
        return refuse(e, "--zstd", "a terminal cannot show compressed rows");
    return 0;
}

int options_check(struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *const *operand;
    int rc;

    if (opt_operands(p, &operand) > 0)
        return refuse(e, operand[0], "not an option (a trace is given with --input)");
    rc = mix_parse(&o->mix, o->population, e);
    if (rc == 0 && mix_is_people(&o->mix) && o->compat == OPTIONS_COMPAT_MLPERF)
        rc = refuse(e, "--population",
                    "does not apply with --compat mlperf, whose users are mlperf");
    if (rc == 0)
        rc = check_cache(o, e);
    if (rc == 0)
        rc = check_compute(o, p, e);
    if (rc == 0)
        rc = check_halves(o, e);
    if (rc == 0)
        rc = check_answer(o, e);
    if (rc < 0)
        return rc;
    if (o->max_concurrent_allocs > 0 && o->tier_model.count == 0)
        return refuse(e, "--max-concurrent-allocs",
                      "needs --tier-model: without it writes take no time");
    if (o->force_model && !text_ends_with(o->model, ".json") &&
        !text_ends_with(o->model, ".json.zst"))
        return refuse(e, "--force-model", "applies only to a config.json (--model FILE.json)");
    o->qos_given = opt_given(p, "qos");
    if (o->source == OPTIONS_USERS && !opt_given(p, "duration"))
        o->duration_ns = 60 * UNITS_NS_PER_S;
    rc = check_modes(o, p, e);
    if (rc < 0)
        return rc;
    if (strcmp(o->granularity, "request") != 0 && options_compat(o)->query_is_one_object &&
        o->enable_rag)
        return refuse(e, "--granularity", "with --compat mlperf a document is one object");
    if (o->rag_ingest == OPTIONS_RAG_TIMED && o->duration_ns == 0)
        return refuse(e, "--rag-ingest timed", "needs --duration");
    if (o->source == OPTIONS_USERS && source_users_at_rate(o->arrival) && o->request_rate == 0)
        return refuse(e, o->arrival == SOURCE_USERS_GAMMA ? "--arrival gamma" : "--arrival poisson",
                      "needs --request-rate");
    if (opt_given(p, "arrival-cv") && o->arrival != SOURCE_USERS_GAMMA)
        return refuse(e, "--arrival-cv", "applies only with --arrival gamma");
    rc = check_end(o, e);
    return rc < 0 ? rc : check_output(o, p, e);
}
