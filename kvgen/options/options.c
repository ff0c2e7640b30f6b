/* The checks of kvgen's options against each other. Runs first; everything after it gets plain
 * values. option_table.c has the options, values.c reads those whose text is more than a
 * number. */
#include "kvgen/options/options.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "kvgen/options/marks.h"
#include "kvgen/record/live.h"
#include "kvgen/sim/compat.h"
#include "lib/base/units.h"
#include "lib/conf/texts.h"
#include "lib/opt/files.h"
#include "lib/opt/tables.h"
#include "lib/text/text.h"
#include "lib/trace/gzip.h"

struct opt_parser *options_open(struct options *o)
{
    struct opt_parser *p = opt_open("kvgen", "[options]", kvgen_options, o);

    opt_part(p, "live KV events (libzmq)", live_is_built());
    opt_part(p, "input in gzip (zlib)", gzip_is_built());
    return p;
}

static int refuse(struct err *e, const char *option, const char *why)
{
    return err_set(e, -EINVAL, ERR_INPUT, option, "%s", why);
}

const char *options_output(const struct options *o)
{
    return strcmp(o->output, "none") == 0 ? NULL : o->output;
}

bool options_is_foreign(const struct options *o)
{
    return o->format >= OPTIONS_SAI3;
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

/* Only one file can come from standard input. */
static int check_standard_input(const struct options *o, struct err *e)
{
    unsigned dashes = conf_is_stdin(&o->config) + files_is_dash(o->users_file);

    for (size_t i = 0; i < o->inputs.count; i++)
        dashes += files_is_dash(o->inputs.item[i]);
    return dashes > 1 ? refuse(e, "standard input",
                               "only one of --config, --input and --users-file can come from it")
                      : 0;
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
    if (rc == 0)
        rc = check_standard_input(o, e);
    if (rc == 0 && options_is_live(o)) /* with what a look and a write take, a second */
        rc = opt_preset(p, "reorder", "600ms", e);
    return rc;
}

/* ---- the input ---- */

static int check_inputs(const struct options *o, struct err *e)
{
    for (size_t i = 0; i < o->inputs.count; i++) {
        const char *input = o->inputs.item[i];
        if (live_is_endpoint(input) && o->inputs.count > 1)
            return refuse(e, "--input", "an endpoint is the only input");
        if (!live_is_endpoint(input) && files_check_terminal(input, e) < 0)
            return -EINVAL;
    }
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

/* Why an option that these sources take is refused for another. */
static const char *why_not(uint32_t takes, uint32_t source)
{
    const char *recorded = takes == FROM_RECORDED ? "applies only to recordings"
                           : takes == FROM_EVENTS ? "applies only to recorded events (--source "
                                                    "kv-events, trtllm, dynamo-kv, lct, strace)"
                                                  : NULL;

    if (takes == (FROM_TRACES | FROM_REDONE))
        return "applies only to an existing trace (--source trace); requests go to --cache without "
               "it";
    if (source == FROM_USERS && recorded)
        return "applies only to recordings, and requests come from synthetic users here: name one "
               "with --input FILE, or a live engine with --bind ENDPOINT";
    if (source == FROM_USERS)
        return takes == FROM_INPUTS
                   ? "synthetic users (--source users) read no file: another --source does"
                   : "applies only with --input FILE";
    if (recorded)
        return recorded;
    if (source & FROM_TRACES)
        return "does not apply to an existing trace: nothing is generated";
    if (takes == FROM_USERS)
        return "applies only to synthetic users (--source users)";
    if (source == FROM_REDONE && !(takes & FROM_USERS))
        return "does not apply with --retier, which keeps the requests and times of the trace";
    if ((takes & ~FROM_USERS) == FROM_DATASETS)
        return "applies only to datasets (--source sharegpt)";
    if (takes & FROM_USERS)
        return "does not apply to requests made of blocks";
    if (!(source & FROM_BLOCKS) && !(takes & FROM_ARRIVALS))
        return "applies only to requests made of blocks";
    if (takes == FROM_INDEPENDENT)
        return "applies only to requests of Mooncake, Qwen-Bailian, LMCache, BurstGPT and Azure";
    return takes == FROM_STAMPED
               ? "does not apply to this input, which names its unit of time"
               : "does not apply to this input, whose rows say how large their blocks are";
}

/* An engine's cache needs requests; recorded events only tell what another cache did. */
static int check_cached_source(const struct options *o, bool recording, bool trace, struct err *e)
{
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
    return 0;
}

/* The modes that are checked before the sources. trace: the input has rows, no requests. */
static int check_first_modes(const struct options *o, bool trace, const struct opt_parser *p,
                             struct err *e)
{
    const struct opt_mode modes[] = {
        {o->print_config, .takes = WITH_PRINT_CONFIG,
         .why = "--print-config prints the defaults only"},
        {o->list_models, .refuses = NOT_LIST_MODELS, .why = "not together with --list-models"},
        {o->list_models || o->show_model, .takes = WITH_MODELS,
         .why = "nothing is simulated with --list-models or --show-model"},

        {trace, .refuses = KEPT_TIMES,
         .why = "does not apply to an existing trace; replay it and export the result"},
        {trace, .refuses = KEPT_OBJECTS,
         .why = "does not apply to an existing trace, whose objects are given"},
        {trace && !o->retier, .refuses = KEPT_TIERS,
         .why = "does not apply to an existing trace, unless --retier runs it through other tiers"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

static int check_output_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    bool none = !options_output(o), foreign = options_is_foreign(o);
    bool object_store = o->format == OPTIONS_SAI3 || o->format == OPTIONS_WARP;
    const struct opt_mode modes[] = {
        {none, .refuses = COMPRESSES, .why = "no trace is written (-o none)"},
        {none && !o->lint, .refuses = WRITES, .why = "no trace is written (-o none)"},
        {none && !o->lint && o->limit == 0, .refuses = FILTERS,
         .why = "needs a trace, or --limit with -o none"},
        {o->format == OPTIONS_KVTRACE, .refuses = LOSSY_ONLY,
         .why = "applies only to the formats of other tools (--format)"},
        {!object_store, .refuses = OBJECT_STORES_ONLY,
         .why = "applies only to --format sai3 and warp"},
        {o->format != OPTIONS_SAI3, .refuses = SAI3_ONLY, .why = "applies only to --format sai3"},
        {o->format != OPTIONS_FIO, .refuses = FIO_ONLY, .why = "applies only to --format fio"},
        {o->format == OPTIONS_FIO, .refuses = NOT_FIO,
         .why = "does not apply to --format fio: its times count from the start"},
        {foreign, .refuses = FRAMED_ONLY,
         .why = "applies only to --format kvtrace and mlperf; the others are one frame"},
        {foreign, .refuses = THREADED_ONLY,
         .why =
             "applies only to --format kvtrace and mlperf; the others are written by one thread"},
        {!none && !options_write_zstd(o), .refuses = COMPRESSED_ONLY,
         .why = "the trace is not compressed (-z, or a name ending in .zst)"},
        {none || o->format != OPTIONS_KVTRACE || options_write_zstd(o), .refuses = PLAIN_ONLY,
         .why = "applies only to an uncompressed trace in --format kvtrace"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
}

static int check_engine_modes(const struct options *o, const struct opt_parser *p, struct err *e)
{
    const struct opt_mode modes[] = {
        {o->answer, .refuses = NOT_ANSWER,
         .why = "does not apply with --answer, which decides that itself"},
        {!o->answer, .refuses = ANSWER_ONLY, .why = "needs --answer FILE"},
        {!o->worth && !o->answer, .refuses = WORTH_ONLY,
         .why = o->engine.kind ? "needs --worth"
                               : "needs --worth, and an engine: --gpu-profile, or --cache of an "
                                 "engine, such as --cache vllm"},
        {o->engine.kind, .refuses = NOT_ENGINES,
         .why = options_is_waterfall(o)
                    ? "does not apply with --gpu-profile or --prefill: an engine serves the "
                      "requests in blocks and steps (--cache waterfall:help)"
                    : "does not apply with --cache of an engine, which decides that itself"},
        {!options_is_waterfall(o), .refuses = WATERFALLS,
         .why = "does not apply with --cache of an engine, which decides that itself"},
        {o->engines == 1, .refuses = SEVERAL_ONLY, .why = "needs --config engines=2 or more"},
        {!o->engine.kind, .refuses = ENGINES_ONLY,
         .why = "applies only to a simulated serving engine: --gpu-profile, or --cache vllm, "
                "lmcache, lmcache-mp, sglang or copies"},
        {!engine_choice_fills(&o->engine), .refuses = FILLS,
         .why = "needs --cache vllm or lmcache-mp: this one bounds its files itself"},
        {!is_bounded(o), .refuses = FILLS,
         .why = "needs a --storage-capacity with a limit, such as 500GiB or auto:PATH"},
        {!o->curve, .refuses = CURVE_ONLY, .why = "needs --curve FILE"},
    };
    return opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
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

    const struct opt_mode modes[] = {
        {trace && !options_is_live(o), .refuses = TIMED,
         .why = "does not apply to an existing trace: nothing is generated"},
        {file && !dataset && !agentic && (!o->decode_only || o->engine.kind),
         .refuses = NAMED_USERS_ONLY,
         .why = "applies only to synthetic users, agentic sessions and datasets"},
        {blocks && !o->engine.kind, .refuses = NOT_BLOCKS_ALONE,
         .why = "needs an engine (--gpu-profile or --cache) where requests are made of blocks"},
        {(users || dataset || arrivals) && whole, .refuses = IN_BLOCKS_ONLY,
         .why = "applies only to blocks (--granularity block:N)"},
        {o->clients > 0, .refuses = FILE_TIMES,
         .why = "does not apply with --clients, whose requests come when others are answered"},
        {users && !source_users_at_rate(o->arrival), .refuses = POISSON_ONLY,
         .why = "needs --arrival poisson or gamma"},

        {o->arrival != SOURCE_USERS_GAMMA, .refuses = GAMMA_ONLY,
         .why = "applies only with --arrival gamma"},

        {mix_is_people(&o->mix), .refuses = PERSONAS_ONLY,
         .why = "does not apply with --population of people, whose habits decide it"},

        {!o->enable_rag, .refuses = RAG_ONLY, .why = "needs --enable-rag"},
        {o->prefill_only, .refuses = DECODES,
         .why = "does not apply with --prefill-only, which has no decode reads"},
    };
    int rc = check_cached_source(o, recording, trace, e);
    if (rc == 0)
        rc = check_first_modes(o, trace, p, e);
    if (rc == 0)
        rc = opt_check_sources(p, redone ? FROM_REDONE : UINT32_C(1) << o->source, why_not, e);
    if (rc == 0)
        rc = opt_check_modes(p, modes, sizeof(modes) / sizeof(modes[0]), e);
    if (rc == 0)
        rc = check_output_modes(o, p, e);
    return rc < 0 ? rc : check_engine_modes(o, p, e);
}

int options_check_model(const struct opt_parser *p, const struct model *m, struct err *e)
{
    const struct opt_mode other = {m->attention != MODEL_MLA, .refuses = MLA_ONLY,
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
                         : o->context_parallel == 1 ? "--config pipeline_parallel"
                                                    : "--config context_parallel",
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
    const struct opt_mode alone = {
        .on = true, .refuses = NOT_COMPUTED, .why = "does not apply where prefill takes time"};
    if (opt_check_modes(p, &alone, 1, e) < 0)
        return -EINVAL;
    if (gpus > 65536)
        return refuse(e, "--config engines", "all engines together have more than 65536 GPUs");
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
        return refuse(e, "--decisions", "tells the steps of one engine (--config engines=1)");
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

    if (!options_output(o) || (files_is_dash(o->output) && o->format != OPTIONS_FIO))
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
    int to_stdout = files_is_dash(o->output) + files_is_dash(o->summary) +
                    files_is_dash(o->dump_users) + files_is_dash(o->curve) +
                    files_is_dash(o->answer);
    int rc;

    if (o->segment_bytes % 4096 != 0)
        return refuse(e, "--config segment_size", "not a multiple of 4096 bytes");
    if ((o->format == OPTIONS_FIO || o->format == OPTIONS_LIBCACHESIM) && options_write_zstd(o))
        return err_set(e, -EINVAL, ERR_INPUT, "--format", "%s reads no compressed files",
                       o->format == OPTIONS_FIO ? "fio" : "libCacheSim's CSV reader");
    rc = check_name(o, e);
    if (rc < 0)
        return rc;
    if (o->preload && opt_given(p, "settle"))
        return refuse(e, "--settle", "does not apply with --preload, which keeps all times");
    if (o->preload && files_is_dash(o->output))
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
    if (o->zstd && files_is_dash(o->output) && isatty(STDOUT_FILENO))
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
    rc = check_end(o, e);
    return rc < 0 ? rc : check_output(o, p, e);
}
