/* Between the command line and the stages: turns the options, the configuration and the model into
 * the numbers that each stage takes, and refuses contradictions. kvgen.c opens the stages. */
#include "kvgen/setup.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/units.h"
#include "lib/conf/texts.h"
#include "lib/opt/files.h"
#include "lib/opt/rows.h"

void setup_say(const char *where, const char *format, ...)
{
    char line[1024], text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    snprintf(line, sizeof(line), "kvgen: %.480s: %s", where, text);
    err_make_harmless(line);
    fprintf(stderr, "%s\n", line);
}

/* ---- before anything is opened ---- */

/* An option wins over the model's file. */
static void set_ranks(struct run *r)
{
    struct options *o = &r->o;
    struct model_ranks *named = &r->model.ranks;
    if (named->tensor > 0 && !opt_given(r->parser, "tensor-parallel"))
        o->tensor_parallel = named->tensor;
    if (named->pipeline > 0 && !opt_given(r->parser, "pipeline-parallel"))
        o->pipeline_parallel = named->pipeline;
    if (named->context > 0 && !opt_given(r->parser, "context-parallel"))
        o->context_parallel = named->context;
    r->model.ranks = (struct model_ranks){.tensor = (uint32_t)o->tensor_parallel,
                                          .pipeline = (uint32_t)o->pipeline_parallel,
                                          .context = (uint32_t)o->context_parallel,
                                          .evenly = o->compat == OPTIONS_COMPAT_MLPERF &&
                                                    o->mla_tp != OPTIONS_MLA_REPLICATE,
                                          .latent = o->mla_tp == OPTIONS_MLA_SHARD};
}

int setup_read(struct run *r, struct err *e)
{
    const char *warning;
    int rc = conf_read(&r->conf, &r->o.config, r->parser, e);

    for (size_t i = 0; rc == 0 && (warning = conf_warning(r->conf, i)); i++)
        fprintf(stderr, "kvgen: %s\n", warning);
    return rc;
}

int setup_apply(struct run *r, struct err *e)
{
    int rc = workload_read(&r->workload, r->conf, e);

    if (rc < 0)
        return rc;
    /* A turn of people has only its new tokens, so all earlier turns are looked up. */
    r->workload.reload_all |= mix_is_people(&r->o.mix);
    r->reading.force = r->o.force_model;
    rc = model_find(&r->model, r->o.model, r->conf, &r->reading, e);
    for (unsigned i = 0; i < r->reading.assumed.count; i++)
        setup_say(r->o.model, "--force-model: %s", r->reading.assumed.text[i]);
    for (unsigned i = 0; i < r->reading.unread.count; i++)
        setup_say(r->o.model, "%s is not read, although its name is about the cache",
                  r->reading.unread.text[i]);
    if (rc == 0 && r->o.kv_dtype)
        rc = model_set_dtype(&r->model, r->o.kv_dtype, e);
    if (rc == 0)
        set_ranks(r);
    return rc;
}

enum export_format setup_export_format(const struct options *o)
{
    static const enum export_format of[] = {
        [OPTIONS_MLPERF] = EXPORT_MLPERF,
        [OPTIONS_SAI3] = EXPORT_SAI3,
        [OPTIONS_WARP] = EXPORT_WARP,
        [OPTIONS_FIO] = EXPORT_FIO,
        [OPTIONS_LIBCACHESIM] = EXPORT_LIBCACHESIM,
        [OPTIONS_ORACLE] = EXPORT_ORACLE,
    };

    return of[o->format];
}

int setup_check_files(const struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    const char *trace = options_output(o);
    char *second =
        trace && options_is_foreign(o) ? export_second_file(setup_export_format(o), trace) : NULL;
    char profile[4096];
    const struct file_use fixed[] = {
        {options_is_foreign(o) ? FILES_WRITTEN : FILES_STREAMED, "--output", trace},
        {FILES_WRITTEN, "--format fio", second},
        {FILES_WRITTEN, "--curve", o->curve},
        {FILES_WRITTEN, "--summary", o->summary},
        {FILES_WRITTEN, "--answer", o->answer},
        {FILES_WRITTEN, "--dump-users", o->dump_users},
        {FILES_WRITTEN, "--capture", o->capture},
        {FILES_WRITTEN, "--decisions", o->decisions},
        {FILES_READ, "--users-file", o->users_file},
        {FILES_READ, "--names", o->names},
        {FILES_READ, "--requests", o->requests},
        {FILES_READ, "--model", model_file(o->model)},
        {FILES_READ, "--prefill", o->prefill},
        {FILES_READ, "--files-from", o->files_from},
        {FILES_READ, "--gpu-profile", gpu_profile_file(o->gpu_profile, profile, sizeof(profile))},
    };
    size_t n = sizeof(fixed) / sizeof(*fixed), models = o->tier_model.count;
    size_t inputs = r->source.inputs ? inputs_count(r->source.inputs) : 0;
    size_t others = 0;
    for (size_t i = 0; i < r->source.other_count; i++)
        others += inputs_count(r->source.others[i]);
    struct file_use *all = malloc((n + OPT_LIST_MAX + models + inputs + others) * sizeof(*all));
    int rc = all ? 0 : err_nomem(e, "names of files");
    if (rc < 0)
        goto out;
    memcpy(all, fixed, sizeof(fixed));
    n += conf_files(all + n, &o->config);
    for (size_t i = 0; i < models; i++)
        all[n++] =
            (struct file_use){FILES_READ, "--tier-model", tier_model_file(o->tier_model.item[i])};
    for (size_t i = 0; i < inputs; i++)
        all[n++] = (struct file_use){FILES_READ, "the input", inputs_file(r->source.inputs, i)};
    for (size_t i = 0; i < r->source.other_count; i++)
        for (size_t k = 0; k < inputs_count(r->source.others[i]); k++)
            all[n++] =
                (struct file_use){FILES_READ, "the input", inputs_file(r->source.others[i], k)};
    rc = files_check(all, n, e);
out:
    free(all);
    free(second);
    return rc;
}

/* How many ranks share an object; 1 if each keeps all of it. */
static uint32_t ranks_of(const struct run *r)
{
    bool replicated = r->model.attention == MODEL_MLA && r->o.mla_tp == OPTIONS_MLA_REPLICATE;
    return replicated ? 1 : (uint32_t)r->o.tensor_parallel;
}

/* If there are more ranks than heads of keys and values, prints how the heads are divided. */
static void tell_heads(const struct model *m)
{
    uint32_t heads = 0;
    for (unsigned i = 0; i < m->parts; i++)
        if (m->part[i].kind == MODEL_KEYS_VALUES && (heads == 0 || m->part[i].heads < heads))
            heads = m->part[i].heads;
    if (heads == 0 || m->ranks.tensor <= heads)
        return;
    fprintf(stderr, "kvgen: --tensor-parallel: %u ranks for %u head%s of keys and values: %s\n",
            m->ranks.tensor, heads, units_plural(heads),
            m->ranks.evenly
                ? "divided evenly, as the benchmark does; engines keep a whole head on each"
                : "each rank keeps one whole head, some the same one, as engines do");
}

static int check_model(const struct run *r, struct err *e)
{
    uint64_t ranks = r->o.tensor_parallel;
    bool mla = r->model.attention == MODEL_MLA;
    if (options_check_model(r->parser, &r->model, e) < 0 || options_check_ranks(&r->o, e) < 0)
        return -EINVAL;
    if ((ranks & (ranks - 1)) != 0)
        fprintf(stderr, "kvgen: --tensor-parallel: %llu is not a power of two\n",
                (unsigned long long)ranks);
    tell_heads(&r->model);
    if (ranks > 1 && mla && r->o.mla_tp == OPTIONS_MLA_SHARD)
        fprintf(stderr,
                "kvgen: --tensor-parallel: %s has one latent for all ranks, which real engines "
                "replicate; here it is divided (--config mla_tp)\n",
                r->model.id);
    return 0;
}

/* ---- what computes ---- */

static struct step_weights weights_of(const struct options *o)
{
    return (struct step_weights){.params = o->params,
                                 .bytes = o->weights == OPTIONS_WEIGHTS_FP8    ? 1
                                          : o->weights == OPTIONS_WEIGHTS_BF16 ? 2
                                                                               : 0,
                                 .tp = (uint32_t)o->tensor_parallel};
}

/* The GPU, and what --gpu-mem auto is for this model on it. */
static int set_gpu(struct run *r, struct err *e)
{
    struct options *o = &r->o;
    struct step_memory memory;
    const struct step_weights weights = weights_of(o);
    int rc = o->gpu_profile ? gpu_profile_set(&r->gpu, o->gpu_profile, e) : 0;
    if (rc < 0 || o->gpu_mem_gb != OPT_AUTO_GIB)
        return rc;
    if (!o->gpu_profile)
        return err_set(e, -EINVAL, ERR_INPUT, "--gpu-mem",
                       "auto: needs --gpu-profile, whose memory it is");
    if ((rc = step_setup_memory(&memory, &r->model, &r->gpu, &weights, e)) < 0)
        return rc;
    o->gpu_mem_gb = (double)memory.cache_bytes / (double)UNITS_GIB;
    fprintf(stderr,
            "kvgen: --gpu-mem: auto: %.1f GiB of each GPU for the cache; the weights take %.1f GB, "
            "2 GB are for the rest\n",
            o->gpu_mem_gb, (double)memory.weight_bytes / 1e9);
    return 0;
}

static int set_compute(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    struct prefill_setup setup = {.model = &r->model,
                                  .gpu = &r->gpu,
                                  .prefill = o->prefill,
                                  .params = o->params,
                                  .engines = (uint32_t)o->engines,
                                  .tensor_parallel = (uint32_t)o->tensor_parallel,
                                  .host_ranks = ranks_of(r)};
    int rc;
    if (!options_computes(o))
        return 0;
    if ((rc = prefill_model_set(&r->compute, &setup, e)) < 0)
        return rc;
    if (r->gpu.hbm_gb > 0 && o->gpu_mem_gb * (double)UNITS_GIB > r->gpu.hbm_gb * 1e9)
        fprintf(stderr, "kvgen: --gpu-mem: larger than the %g GB of %s, simulated all the same\n",
                r->gpu.hbm_gb, r->gpu.name);
    /* Rows have the bytes of one rank. Tiers of the host hold the bytes of all ranks, so their
     * capacity is divided. */
    for (int t = TRACE_CPU; t <= TRACE_STORAGE; t++) {
        r->speed[t].ranks = r->compute.host_ranks;
        if (r->capacity[t] != HIERARCHY_UNLIMITED)
            r->capacity[t] /= r->compute.host_ranks;
    }
    return 0;
}

/* Prepares the question of --worth, before anything runs. */
static int set_worth(struct run *r, struct err *e)
{
    struct worth_opts *w = &r->worth_opts;
    int rc = r->o.price ? worth_parse_prices(&w->price, r->o.price, e) : 0;
    for (size_t i = 0; i < r->o.ttft_target.count && rc == 0; i++)
        rc = worth_parse_target(w->target_ns, r->o.ttft_target.item[i], e);
    w->watts = r->gpu.watts;
    return rc;
}

struct engine_room setup_room(const struct run *r)
{
    struct engine_room room = {
        .device_bytes = (uint64_t)(r->gpu.hbm_gb * 1e9),
        .a100 = strncmp(r->gpu.name, "a100", 4) == 0,
        .ranks = r->compute.host_ranks,
        .eviction = r->o.eviction,
        .promotes = r->o.promote == HIERARCHY_PROMOTE_ON_HIT,
        .target_usage_ratio = r->workload.target_usage_ratio,
        .policy = r->o.engine_order,
        .milli_tokens = r->o.spec_tokens > 1 ? (uint64_t)(r->o.spec_tokens * 1000 + 0.5) : 0,
        .clean = r->o.on_full == OPTIONS_FULL_EVICT,
        .block_bytes = layer_groups_bytes,
        .model = &r->groups,
        .groups = r->groups.groups};
    memcpy(room.window, r->groups.window, sizeof(room.window));
    for (int t = 0; t < TRACE_TIERS; t++)
        room.capacity[t] = r->capacity[t] == HIERARCHY_UNLIMITED ? KV_NO_LIMIT : r->capacity[t];
    return room;
}

/* Prepares the times of an engine's steps: by calculation, or as measured rates say. */
static int set_steps(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    struct scheduler_opts scheduler;
    const struct engine_room room = setup_room(r);
    double rate;
    uint64_t tokens;
    int rc;
    if (!o->engine.kind)
        return 0;
    for (unsigned i = 0; i < r->reading.weights.count; i++)
        setup_say(o->model, "%s", r->reading.weights.text[i]);
    if (o->gpu_assumed)
        fprintf(stderr, "kvgen: --gpu-profile: not given: times are those of an H100 (h100)\n");
    if (options_is_waterfall(o))
        r->groups = layer_groups_together(&r->model);
    else if ((rc = layer_groups_of(&r->groups, &r->model, e)) < 0)
        return rc;
    if ((rc = engine_choice_check_shared(&o->engine, &room, (uint32_t)o->engines,
                                         o->prefill_only || o->decode_only || o->files_from, e)) <
        0)
        return rc;
    engine_cache_scheduler(&o->engine, &room, &scheduler);
    const struct step_weights weights = weights_of(o);
    if ((rc = step_setup(&r->steps, &r->model, &r->gpu, &weights, e)) < 0)
        return rc;
    r->steps.step_tokens = scheduler.step_tokens;
    r->steps.gpu.async = scheduler.async;
    if (o->prefill_rate) {
        if ((rc = options_rate("--prefill-rate", o->prefill_rate, &rate, &tokens, e)) < 0 ||
            (rc = step_setup_prefill_rate(&r->steps, rate, tokens, e)) < 0)
            return rc;
        fprintf(stderr, "kvgen: --prefill-rate: eta %.3f, from your %g tokens/s at %llu tokens\n",
                (double)r->steps.gpu.eta_ppm / STEP_TIME_PPM, rate, (unsigned long long)tokens);
    }
    if (o->prefill) {
        if ((rc = step_setup_measured(&r->steps, &r->model, &r->compute.time, e)) < 0)
            return rc;
        fprintf(stderr, "kvgen: --prefill: eta %.3f, of attention %.3f, %.1f ms a request\n",
                (double)r->steps.gpu.eta_ppm / STEP_TIME_PPM,
                (double)r->steps.gpu.eta_a_ppm / STEP_TIME_PPM,
                (double)r->steps.host.request_ns / 1e6);
    }
    if (o->decode_rate) {
        if ((rc = options_rate("--config decode_rate", o->decode_rate, &rate, &tokens, e)) < 0 ||
            (rc = step_setup_decode_rate(&r->steps, rate, tokens, e)) < 0)
            return rc;
        fprintf(stderr,
                "kvgen: --config decode_rate: b %.3f, from your %g tokens/s at %llu tokens\n",
                (double)r->steps.gpu.b_ppm / STEP_TIME_PPM, rate, (unsigned long long)tokens);
    }
    return 0;
}

int setup_simulation(struct run *r, struct err *e)
{
    int rc = r->o.source != OPTIONS_TRACE || options_redoes(&r->o) ? check_model(r, e) : 0;
    if (rc < 0 || (rc = set_gpu(r, e)) < 0 ||
        (rc = options_capacities(&r->o, r->capacity, e)) < 0 ||
        (rc = options_speed(&r->o, r->capacity, r->speed, e)) < 0 || (rc = set_compute(r, e)) < 0 ||
        (rc = set_steps(r, e)) < 0 || (rc = set_worth(r, e)) < 0)
        return rc;
    return options_granularity(&r->o, &r->granularity, e);
}
