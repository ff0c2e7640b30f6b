/* options.c - the one table of kvgen's options, and the checks that no single option can make.
 * Comes first in the pipeline; everything after it gets plain values. */
#include "kvgen/options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "kvgen/ident.h"
#include "lib/units.h"

#define AT(field) offsetof(struct options, field)
/* 2025-01-01: that benchmark's tools expect a date. */
#define MLPERF_EPOCH_S INT64_C(1735689600)
#define MAX_GPU_GIB    65536.0
#define MAX_CPU_GIB    131072.0

static const struct opt table[] = {
    {.type = OPT_HEADING, .help = "Requests"},
    {.name = "source",
     .type = OPT_ENUM,
     .offset = AT(source),
     .arg = "NAME",
     .def = "auto",
     .choices = "auto|users|mooncake|burst|azure|bailian|lmcache|agentic|sharegpt",
     .help = "Where requests come from; auto: told by the content of --input, without it "
             "synthetic users."},
    {.name = "input",
     .type = OPT_TEXT,
     .offset = AT(input),
     .arg = "FILE",
     .help = "The trace of a file source, plain or zstd: a file, a folder, a quoted pattern, or - "
             "for standard input."},
    {.name = "use-burst-trace",
     .type = OPT_FLAG,
     .offset = AT(use_burst_trace),
     .help = "Take requests from the BurstGPT or Azure CSV of --burst-trace-path."},
    {.name = "burst-trace-path",
     .type = OPT_TEXT,
     .offset = AT(burst_trace_path),
     .arg = "FILE",
     .help = "With --use-burst-trace: what --input is otherwise."},
    {.name = "dataset-path",
     .type = OPT_TEXT,
     .offset = AT(dataset_path),
     .arg = "FILE",
     .help = "Take requests from the conversations of this ShareGPT file."},
    {.name = "max-conversations",
     .type = OPT_U64,
     .offset = AT(max_conversations),
     .arg = "N",
     .help = "Read at most this many conversations of a dataset; 0: all."},
    {.name = "chars-per-token",
     .type = OPT_F64,
     .offset = AT(chars_per_token),
     .arg = "F",
     .min = 0.01,
     .max = 1000,
     .help = "Characters taken for one token of a dataset's texts; 4 unless given here or in "
             "--config."},
    {.name = "trace-speedup",
     .type = OPT_F64,
     .offset = AT(trace_speedup),
     .arg = "F",
     .def = "1",
     .max = 1e9,
     .help = "Divide the times of a file source; 0: no time between its requests."},
    {.name = "replay-cycles",
     .type = OPT_U64,
     .offset = AT(replay_cycles),
     .arg = "N",
     .def = "1",
     .help = "Read a file source this many times, one after the other; 0: until the run ends."},
    {.name = "num-users",
     .type = OPT_U64,
     .offset = AT(num_users),
     .arg = "N",
     .def = "100",
     .min = 1,
     .max = 1e7,
     .help = "Synthetic users; with agentic sessions, how many are under way at once; with "
             "datasets, how many names there are."},
    {.name = "users-file",
     .type = OPT_TEXT,
     .offset = AT(users_file),
     .arg = "FILE",
     .help = "Take the users from the first --num-users rows of this CSV instead of drawing them."},
    {.name = "dump-users",
     .type = OPT_TEXT,
     .offset = AT(dump_users),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Write the users to this CSV; - is standard output."},
    {.name = "arrival",
     .type = OPT_ENUM,
     .offset = AT(arrival),
     .arg = "HOW",
     .def = "open",
     .choices = "open|closed|poisson",
     .help = "Users do not wait for answers, do wait, or ask at random times at --request-rate."},
    {.name = "request-rate",
     .type = OPT_F64,
     .offset = AT(request_rate),
     .arg = "R",
     .max = 1e9,
     .help = "Requests a second: of all users with --arrival poisson; of a dataset, evenly spaced "
             "(0: all at once)."},
    {.name = "duration",
     .type = OPT_DURATION,
     .offset = AT(duration_ns),
     .arg = "TIME",
     .max = 3e18,
     .help = "Virtual time after which the run ends; 0: no limit. Synthetic users: 60 s unless "
             "given."},
    {.name = "max-requests",
     .type = OPT_U64,
     .offset = AT(max_requests),
     .arg = "N",
     .help = "Submit at most this many requests; 0: no limit."},
    {.name = "seed",
     .type = OPT_U64,
     .offset = AT(seed),
     .arg = "N",
     .def = "42",
     .help = "Seed of all random numbers."},
    {.name = "workers",
     .type = OPT_U64,
     .offset = AT(workers),
     .arg = "N",
     .max = 1e6,
     .help = "Requests that are served at once; 0: as many as there are users, at most 500."},
    {.name = "qos",
     .type = OPT_ENUM,
     .offset = AT(qos),
     .arg = "CLASS",
     .def = "batch",
     .choices = "interactive|responsive|batch",
     .help = "Service class of a file's requests; datasets, BurstGPT, Azure: drawn unless given."},

    {.type = OPT_HEADING, .help = "Serving"},
    {.name = "generation-mode",
     .type = OPT_ENUM,
     .offset = AT(generation_mode),
     .arg = "MODE",
     .def = "realistic",
     .choices = "none|fast|realistic",
     .help = "Time of one generated token: 0, 2 or 30 ms."},
    {.name = "disable-multi-turn",
     .type = OPT_FLAG,
     .offset = AT(disable_multi_turn),
     .help = "Every request stands alone: no conversations."},
    {.name = "disable-prefix-caching",
     .type = OPT_FLAG,
     .offset = AT(disable_prefix_caching),
     .help = "No shared system prompts."},
    {.name = "decode-reads",
     .type = OPT_ENUM,
     .offset = AT(decode_reads),
     .arg = "HOW",
     .def = "batch",
     .choices = "batch|once|none",
     .help = "Read a request's object once and again per batch of generated tokens, once, or never "
             "while decoding."},
    {.name = "block-reuse",
     .type = OPT_ENUM,
     .offset = AT(block_reuse),
     .arg = "HOW",
     .def = "prefix",
     .choices = "prefix|any",
     .help = "A block can hit while every earlier block of its request hit, or by itself."},
    {.name = "partial-blocks",
     .type = OPT_FLAG,
     .offset = AT(partial_blocks),
     .help = "Size the last block of a request by its tokens."},

    {.type = OPT_HEADING, .help = "Model"},
    {.name = "model",
     .letter = 'm',
     .type = OPT_TEXT,
     .offset = AT(model),
     .arg = "NAME",
     .def = "llama3.1-8b",
     .help = "A built-in model, one of the configuration's, or a Hugging Face "
             "config.json (FILE.json)."},
    {.name = "kv-dtype",
     .type = OPT_TEXT,
     .offset = AT(kv_dtype),
     .arg = "TYPE",
     .help = "Element type of the cache: float32, float16, bfloat16, fp8, int8, int4."},
    {.name = "tensor-parallel",
     .type = OPT_U64,
     .offset = AT(tensor_parallel),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .help = "Ranks that share an object; rows show one rank."},
    {.name = "num-gpus",
     .type = OPT_U64,
     .offset = AT(num_gpus),
     .arg = "N",
     .def = "1",
     .min = 1,
     .max = 65536,
     .help = "GPUs; Tier-0 holds --gpu-mem-gb for each."},
    {.name = "list-models",
     .type = OPT_FLAG,
     .offset = AT(list_models),
     .flags = OPT_NO_EFFECT,
     .help = "Print the models with the size of 1k, 8k, 32k and 128k tokens, and end."},
    {.name = "show-model",
     .type = OPT_FLAG,
     .offset = AT(show_model),
     .flags = OPT_NO_EFFECT,
     .help = "Print --model as JSON, and end."},

    {.type = OPT_HEADING, .help = "Tiers"},
    {.name = "gpu-mem-gb",
     .type = OPT_F64,
     .offset = AT(gpu_mem_gb),
     .arg = "GiB",
     .def = "16",
     .max = MAX_GPU_GIB,
     .help = "Tier-0: memory of each GPU for the cache; 0: no such tier."},
    {.name = "cpu-mem-gb",
     .type = OPT_F64,
     .offset = AT(cpu_mem_gb),
     .arg = "GiB",
     .def = "32",
     .max = MAX_CPU_GIB,
     .help = "Tier-1: host memory for the cache; 0: no such tier."},
    {.name = "storage-capacity-gb",
     .type = OPT_TEXT,
     .offset = AT(storage_capacity_gb),
     .arg = "GiB",
     .def = "unlimited",
     .help = "Tier-2: GiB, unlimited (or 0), none (no such tier), or auto:PATH (90 % of the space "
             "free there)."},
    {.name = "eviction",
     .type = OPT_ENUM,
     .offset = AT(eviction),
     .arg = "POLICY",
     .def = "lru",
     .choices = "lru|fifo|lfu|s3fifo|sieve",
     .help = "Which object a tier demotes or deletes to make room."},
    {.name = "promote",
     .type = OPT_ENUM,
     .offset = AT(promote),
     .arg = "WHEN",
     .def = "none",
     .choices = "none|on-hit",
     .help = "Leave an object that is read where it is, or move it to the fastest tier that takes "
             "it."},

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
     .choices = "kvtrace|mlperf",
     .help = "All columns, or the six columns and the Read and Write rows of the MLPerf Storage "
             "benchmark."},
    {.name = "only-tier",
     .type = OPT_TEXT,
     .offset = AT(only_tier),
     .arg = "LIST",
     .help = "Write only rows of these tiers, for instance 0,2; rows of no tier (Miss, Generate) "
             "are then left out."},
    {.name = "limit",
     .type = OPT_U64,
     .offset = AT(limit),
     .arg = "N",
     .help = "End the run when this many rows are written; 0: no limit."},
    {.name = "epoch",
     .type = OPT_TEXT,
     .offset = AT(epoch),
     .arg = "SECONDS",
     .help = "Unix time of virtual time 0; 0 unless given, with --format mlperf 1735689600."},
    {.name = "zstd",
     .letter = 'z',
     .type = OPT_FLAG,
     .offset = AT(zstd),
     .flags = OPT_NO_EFFECT,
     .help = "Compress with zstd whatever the name."},
    {.name = "level",
     .type = OPT_U64,
     .offset = AT(level),
     .arg = "N",
     .def = "3",
     .min = 1,
     .max = 19,
     .flags = OPT_NO_EFFECT,
     .help = "Compression level."},
    {.name = "frames",
     .type = OPT_ENUM,
     .offset = AT(frames),
     .arg = "HOW",
     .def = "many",
     .flags = OPT_NO_EFFECT,
     .choices = "many|one",
     .help = "Independent frames with a seek table, or one frame for readers that stop after it."},
    {.name = "threads",
     .type = OPT_U64,
     .offset = AT(threads),
     .arg = "N",
     .max = 1024,
     .flags = OPT_NO_EFFECT,
     .help = "Threads in all, the simulation's included; 0: as many as processors, at most 16."},
    {.name = "summary",
     .type = OPT_TEXT,
     .offset = AT(summary),
     .arg = "FILE",
     .flags = OPT_NO_EFFECT,
     .help = "Write the summary as JSON too; - is standard output."},
    {.name = "progress",
     .type = OPT_ENUM,
     .offset = AT(progress),
     .arg = "HOW",
     .def = "auto",
     .flags = OPT_NO_EFFECT,
     .choices = "auto|none|text|json",
     .help = "A line a second on standard error; auto: on a terminal."},
    {.name = "config",
     .letter = 'c',
     .type = OPT_TEXT,
     .offset = AT(config),
     .arg = "FILE",
     .help = "YAML configuration: users, service classes, models, ratios."},
    {0},
};

struct opt_parser *options_open(struct options *o)
{
    return opt_open("kvgen", "[options]", table, o);
}

int options_check_input(struct options *o, const struct opt_parser *p, struct err *e)
{
    if (o->use_burst_trace != (o->burst_trace_path != NULL))
        return err_set(e, -EINVAL, ERR_INPUT,
                       o->use_burst_trace ? "--use-burst-trace" : "--burst-trace-path",
                       "--use-burst-trace and --burst-trace-path FILE go together");
    if (o->use_burst_trace) {
        if (opt_refuse(p, e, "--use-burst-trace says it already", "source", "input", NULL) < 0)
            return -EINVAL;
        o->input = o->burst_trace_path;
    }
    if (o->dataset_path != NULL) {
        if (opt_refuse(p, e, "--dataset-path says it already", "source", "input", "use-burst-trace",
                       NULL) < 0)
            return -EINVAL;
        o->input = o->dataset_path;
        o->source = OPTIONS_SHAREGPT;
    }
    if (o->source == OPTIONS_AUTO && o->input == NULL)
        o->source = OPTIONS_USERS;
    if (o->source != OPTIONS_AUTO && o->source != OPTIONS_USERS && o->input == NULL)
        return err_set(e, -EINVAL, ERR_INPUT, "--source", "this one needs --input FILE");
    return 0;
}

static int check_cycles(const struct options *o, struct err *e)
{
    if (o->replay_cycles != 0)
        return 0;
    if (o->source == OPTIONS_SHAREGPT ? o->request_rate == 0 : o->trace_speedup == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--replay-cycles",
                       "0 would never end: %s leaves no time between requests",
                       o->source == OPTIONS_SHAREGPT ? "--request-rate 0" : "--trace-speedup 0");
    if (o->duration_ns == 0 && o->max_requests == 0 && o->limit == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--replay-cycles",
                       "0 never ends: give a duration, --max-requests or --limit");
    return 0;
}

static int check_synthetic(struct options *o, const struct opt_parser *p, struct err *e)
{
    if (!opt_given(p, "duration"))
        o->duration_ns = 60 * UNITS_NS_PER_S;
    return opt_refuse(p, e, "only traces (--input FILE) have a meaning for it", "input",
                      "block-reuse", "partial-blocks", "qos", "trace-speedup", "replay-cycles",
                      "max-conversations", "chars-per-token", NULL);
}

/* Options that mean something for some kinds of files only. */
static int check_file(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool dataset = o->source == OPTIONS_SHAREGPT;
    bool blocks = !dataset && o->source != OPTIONS_BURST && o->source != OPTIONS_AZURE;
    int rc = opt_refuse(p, e, "only synthetic users (--source users) have a meaning for it",
                        "users-file", "dump-users", "arrival", "disable-multi-turn", NULL);
    if (rc == 0 && !dataset)
        rc = opt_refuse(p, e, "only datasets (--dataset-path) have a meaning for it",
                        "request-rate", "max-conversations", "chars-per-token", NULL);
    if (rc == 0 && dataset)
        rc = opt_refuse(p, e, "a dataset has no times", "trace-speedup", NULL);
    if (rc == 0 && !dataset && o->source != OPTIONS_AGENTIC)
        rc = opt_refuse(p, e, "only users, agentic sessions and datasets have a meaning for it",
                        "num-users", NULL);
    if (rc == 0 && blocks)
        rc = opt_refuse(p, e, "requests of blocks have no meaning for it", "disable-prefix-caching",
                        "decode-reads", NULL);
    if (rc == 0 && !blocks)
        rc = opt_refuse(p, e, "only requests of blocks have a meaning for it", "block-reuse",
                        "partial-blocks", NULL);
    return rc == 0 ? check_cycles(o, e) : rc;
}

static int check_source(struct options *o, const struct opt_parser *p, struct err *e)
{
    return o->source == OPTIONS_USERS ? check_synthetic(o, p, e) : check_file(o, p, e);
}

static int check_users(const struct options *o, const struct opt_parser *p, struct err *e)
{
    if (o->source != OPTIONS_USERS)
        return 0;
    bool poisson = o->arrival == 2;
    if (poisson && o->request_rate == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--arrival poisson", "needs --request-rate");
    if (!poisson && opt_refuse(p, e, "only --arrival poisson has a rate", "request-rate", NULL) < 0)
        return -EINVAL;
    if (o->duration_ns == 0 && o->max_requests == 0 && o->limit == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--duration",
                       "synthetic users never end: give a duration, --max-requests or --limit");
    return 0;
}

static bool writes_zstd(const struct options *o)
{
    size_t n = strlen(o->output);
    return o->zstd || (n > 4 && strcmp(o->output + n - 4, ".zst") == 0);
}

static bool is_stdout(const char *path)
{
    return path != NULL && strcmp(path, "-") == 0;
}

static int check_output(const struct options *o, const struct opt_parser *p, struct err *e)
{
    if (strcmp(o->output, "none") == 0 &&
        opt_refuse(p, e, "no trace is written (-o none)", "format", "only-tier", "limit", "epoch",
                   "zstd", "level", "frames", NULL) < 0)
        return -EINVAL;
    if (!writes_zstd(o) &&
        opt_refuse(p, e, "the trace is not compressed (-z, or a name ending in .zst)", "level",
                   "frames", NULL) < 0)
        return -EINVAL;
    int to_stdout = is_stdout(o->output) + is_stdout(o->summary) + is_stdout(o->dump_users);
    if (to_stdout > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "standard output",
                       "only one of --output (which is there unless given), --summary and "
                       "--dump-users can go to it");
    if (o->zstd && is_stdout(o->output) && isatty(STDOUT_FILENO))
        return err_set(e, -EINVAL, ERR_INPUT, "--zstd", "not to a terminal");
    return 0;
}

/* --list-models and --show-model tell of models and end: what would simulate has no meaning. */
static int check_answer(const struct options *o, const struct opt_parser *p, struct err *e)
{
    static const char *const fit[] = {"list-models", "show-model", "model", "config", "kv-dtype"};
    if (!o->list_models && !o->show_model)
        return 0;
    if (o->list_models &&
        opt_refuse(p, e, "not together with --list-models", "show-model", "kv-dtype", NULL) < 0)
        return -EINVAL;
    for (const struct opt *t = table; t->name != NULL || t->help != NULL; t++) {
        bool fits = t->type == OPT_HEADING;
        for (size_t i = 0; !fits && i < sizeof fit / sizeof *fit; i++)
            fits = strcmp(t->name, fit[i]) == 0;
        if (!fits && opt_refuse(p, e, "nothing is simulated with --list-models or --show-model",
                                t->name, NULL) < 0)
            return -EINVAL;
    }
    return 0;
}

int options_check(struct options *o, const struct opt_parser *p, struct err *e)
{
    const char *const *operand;
    if (opt_operands(p, &operand) > 0)
        return err_set(e, -EINVAL, ERR_INPUT, operand[0],
                       "not an option (a trace is given with --input)");
    if (o->tensor_parallel > o->num_gpus)
        return err_set(e, -EINVAL, ERR_INPUT, "--tensor-parallel",
                       "%llu ranks need as many GPUs, --num-gpus is %llu",
                       (unsigned long long)o->tensor_parallel, (unsigned long long)o->num_gpus);
    o->qos_given = opt_given(p, "qos");
    int rc = check_answer(o, p, e);
    if (rc == 0)
        rc = check_source(o, p, e);
    if (rc == 0)
        rc = check_users(o, p, e);
    if (rc == 0)
        rc = check_output(o, p, e);
    return rc;
}

/* Bytes of a number of GiB, to the nearest. */
static uint64_t gib(double n)
{
    return (uint64_t)(n * (double)UNITS_GIB + 0.5);
}

static int free_space(const char *path, uint64_t *bytes, struct err *e)
{
    struct statvfs vfs;
    if (statvfs(path, &vfs) != 0)
        return err_errno(e, -errno, ERR_INPUT, "--storage-capacity-gb", "cannot look at %s", path);
    uint64_t space;
    if (units_mul((uint64_t)vfs.f_bavail, (uint64_t)vfs.f_frsize, &space) < 0)
        space = HIERARCHY_UNLIMITED;
    *bytes = space / 10 * 9;
    if (*bytes == 0)
        return err_set(e, -ENOSPC, ERR_INPUT, "--storage-capacity-gb", "no space free at %s", path);
    return 0;
}

static int storage_capacity(const char *text, uint64_t *bytes, struct err *e)
{
    double n;
    *bytes = HIERARCHY_UNLIMITED;
    if (strcmp(text, "unlimited") == 0)
        return 0;
    if (strcmp(text, "none") == 0) {
        *bytes = HIERARCHY_ABSENT;
        return 0;
    }
    if (strncmp(text, "auto:", 5) == 0)
        return free_space(text + 5, bytes, e);
    if (units_parse_f64(text, &n) < 0 || n < 0 || n > 1e9)
        return err_set(e, -EINVAL, ERR_INPUT, "--storage-capacity-gb",
                       "\"%s\" is not a number of GiB up to 1e9, unlimited, none or auto:PATH",
                       text);
    if (n > 0)
        *bytes = gib(n) > 0 ? gib(n) : 1;
    return 0;
}

int options_capacities(const struct options *o, uint64_t capacity[TRACE_TIERS], struct err *e)
{
    capacity[TRACE_GPU] = gib(o->gpu_mem_gb * (double)o->num_gpus);
    capacity[TRACE_CPU] = gib(o->cpu_mem_gb);
    if (capacity[TRACE_GPU] > gib(MAX_GPU_GIB))
        return err_set(e, -ERANGE, ERR_INPUT, "--num-gpus",
                       "all GPUs together have more than 65536 GiB");
    int rc = storage_capacity(o->storage_capacity_gb, &capacity[TRACE_STORAGE], e);
    if (rc == 0 && capacity[TRACE_GPU] == 0 && capacity[TRACE_CPU] == 0 &&
        capacity[TRACE_STORAGE] == 0)
        return err_set(e, -EINVAL, ERR_INPUT, "--storage-capacity-gb",
                       "none leaves no tier at all: --gpu-mem-gb and --cpu-mem-gb are 0");
    return rc;
}

int options_tiers(const struct options *o, unsigned *mask, struct err *e)
{
    *mask = 0;
    for (const char *p = o->only_tier; p != NULL; p = p[1] == ',' ? p + 2 : NULL) {
        if (*p < '0' || *p > '2' || (p[1] != ',' && p[1] != '\0'))
            return err_set(e, -EINVAL, ERR_INPUT, "--only-tier",
                           "\"%s\" is not a list of tiers such as 0,2", o->only_tier);
        *mask |= 1u << (*p - '0');
    }
    return 0;
}

int options_epoch(const struct options *o, int64_t *epoch_ns, struct err *e)
{
    *epoch_ns = o->format == OPTIONS_MLPERF ? MLPERF_EPOCH_S * UNITS_NS_PER_S : 0;
    if (o->epoch == NULL)
        return 0;
    if (units_parse_decimal(o->epoch, strlen(o->epoch), 9, epoch_ns) < 0 || *epoch_ns < 0 ||
        *epoch_ns > INT64_MAX / 2)
        return err_set(e, -EINVAL, ERR_INPUT, "--epoch",
                       "\"%s\" is not a number of seconds since 1970", o->epoch);
    return 0;
}
