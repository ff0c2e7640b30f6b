/* kvgen.c - the pipeline: options, configuration, model, source, simulation, trace, summary. Each
 * stage is a file of its own; here they are opened, joined and released, and the one error is
 * printed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvgen/convert.h"
#include "kvgen/models.h"
#include "kvgen/open_source.h"
#include "kvgen/options.h"
#include "kvgen/output.h"
#include "kvgen/print_config.h"
#include "kvgen/sim/sim.h"
#include "kvgen/summary.h"
#include "lib/base/clock.h"
#include "lib/base/save.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/model/find.h"

enum {
    MAX_WORKERS = 500,
    MAX_DEFAULT_THREADS = 16,
    PREPOP_OF_USER = 10 /* objects of a decode node */
};

/* One run; every pointer is owned. */
struct run {
    int argc;
    char **argv;
    struct options o;
    struct opt_parser *parser;
    struct conf *conf;
    struct workload workload;
    struct model model;
    uint64_t capacity[TRACE_TIERS];
    struct tier_model speed[TRACE_TIERS];
    int64_t granularity; /* tokens, or 0 */
    struct requests requests;
    struct progress *progress;
    struct jsonout *provenance;
    char *copied; /* provenance of a copy */
    struct output *output;
    struct curve *curve; /* NULL: none is asked for */
    struct sim *sim;
    bool lossy;              /* --lint found what another tool would lose */
    struct convert *convert; /* in place of sim */
    int64_t started_wall_ns, started_ns;
};

static void warn_model(const struct run *r)
{
    uint64_t n = r->o.tensor_parallel;
    if ((n & (n - 1)) != 0)
        fprintf(stderr, "kvgen: --tensor-parallel: %llu is not a power of two\n",
                (unsigned long long)n);
    if (n > 1 && r->model.attention == MODEL_MLA && r->o.mla_tp == OPTIONS_MLA_SHARD)
        fprintf(stderr,
                "kvgen: --tensor-parallel: %s has one latent for all ranks, which real engines "
                "replicate; here it is divided (--mla-tp)\n",
                r->model.id);
}

static int check_model(const struct run *r, struct err *e)
{
    if (options_check_model(r->parser, &r->model, e) < 0)
        return -EINVAL;
    warn_model(r);
    return 0;
}

/* Ranks that divide an object among them. */
static uint32_t sharing_ranks(const struct run *r)
{
    bool whole = r->model.attention == MODEL_MLA && r->o.mla_tp == OPTIONS_MLA_REPLICATE;
    return whole ? 1 : (uint32_t)r->o.tensor_parallel;
}

static int read_configuration(struct run *r, struct err *e)
{
    const char *warning;
    int rc = conf_open(&r->conf, r->o.config, e);
    if (rc < 0)
        return rc;
    for (size_t i = 0; (warning = conf_warning(r->conf, i)) != NULL; i++)
        fprintf(stderr, "kvgen: %s\n", warning);
    rc = workload_read(&r->workload, r->conf, e);
    if (rc == 0)
        rc = model_find(&r->model, r->o.model, r->conf, e);
    if (rc == 0 && r->o.kv_dtype != NULL)
        rc = model_set_dtype(&r->model, r->o.kv_dtype, e);
    return rc;
}

/* What is read must not be written at the same time, nor one file by two. */
static int check_outputs(const struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    const char *trace = strcmp(o->output, "none") == 0 ? NULL : o->output;
    const char *path[] = {trace, o->curve, o->summary, o->dump_users};
    const char *kept[] = {o->config, o->users_file};
    for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
        if (path[i] != NULL && r->requests.inputs != NULL &&
            inputs_hold(r->requests.inputs, path[i]))
            return err_set(e, -EINVAL, ERR_INPUT, path[i],
                           "is the input: it would be overwritten while it is read");
        for (size_t k = 0; path[i] != NULL && k < sizeof kept / sizeof *kept; k++)
            if (kept[k] != NULL && save_is_same(kept[k], path[i]))
                return err_set(e, -EINVAL, ERR_INPUT, path[i], "is read, and would be overwritten");
        for (size_t k = 0; path[i] != NULL && k < i; k++)
            if (path[k] != NULL && save_is_same(path[k], path[i]))
                return err_set(e, -EINVAL, ERR_INPUT, path[i], "is to hold two outputs");
    }
    int rc = o->summary != NULL ? save_check(o->summary, e) : 0;
    return rc == 0 && o->curve != NULL ? save_check(o->curve, e) : rc;
}

static unsigned thread_count(const struct options *o)
{
    if (o->threads > 0)
        return (unsigned)o->threads;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_DEFAULT_THREADS ? MAX_DEFAULT_THREADS : (unsigned)n;
}

static const enum export_format format_of[] = {
    [OPTIONS_MLPERF] = EXPORT_MLPERF,
    [OPTIONS_SAI3] = EXPORT_SAI3,
    [OPTIONS_WARP] = EXPORT_WARP,
    [OPTIONS_FIO] = EXPORT_FIO,
    [OPTIONS_LIBCACHESIM] = EXPORT_LIBCACHESIM,
    [OPTIONS_ORACLE] = EXPORT_ORACLE,
};
/* Does the trace carry dates (from 1973 on)? */
#define DATES_FROM_NS (INT64_C(100000000) * UNITS_NS_PER_S)

/* What is added to times: those of a trace that are dates stay, or move with the first. */
static int find_epoch(struct run *r, int64_t *epoch_ns, struct err *e)
{
    int64_t first_ns = 0;
    int rc = options_epoch(&r->o, epoch_ns, e);
    if (rc == 0 && r->requests.trace != NULL)
        rc = trace_input_first_ns(r->requests.trace, &first_ns, e);
    if (rc == 0 && first_ns >= DATES_FROM_NS)
        *epoch_ns = r->o.epoch != NULL ? *epoch_ns - first_ns : 0;
    return rc;
}

static uint32_t columns_of(const struct run *r, bool six)
{
    uint32_t all = TRACE_CORE | TRACE_EXTENDED;
    if (six)
        return TRACE_CORE;
    if (r->requests.trace == NULL)
        return all;
    return TRACE_CORE |
           (trace_input_columns(r->requests.trace) & (r->o.retier ? all : all | TRACE_RESULT));
}

static const char *make_provenance(struct run *r)
{
    const char *input =
        r->requests.trace != NULL ? trace_input_provenance(r->requests.trace) : NULL;
    if (r->requests.trace != NULL && !r->o.retier)
        return r->copied = summary_copied(r->parser, input);
    const struct model *model = r->requests.trace != NULL ? NULL : &r->model;
    r->provenance = summary_provenance(r->parser, r->o.seed, model, r->capacity, r->speed, input);
    return r->provenance != NULL ? jsonout_text(r->provenance, false) : NULL;
}

/* All that the options say of the output by themselves. */
static struct output_opts output_opts(const struct run *r)
{
    const struct options *o = &r->o;
    const char *path = strcmp(o->output, "none") == 0 ? NULL : o->output;
    bool foreign = o->format > OPTIONS_MLPERF, six_columns = o->format == OPTIONS_MLPERF;

    return (struct output_opts){
        .path = foreign ? NULL : path,
        .exported = foreign || o->lint,
        .format = format_of[o->format],
        .six_columns = six_columns,
        /* its trace has none, but a replay needs them where room is short */
        .no_deletes = options_is_mlperf(o) && o->ops == 0,
        .limit = o->limit,
        .export = {.path = foreign ? path : NULL,
                   .endpoint = o->endpoint,
                   .segment_bytes = o->segment_bytes,
                   .zstd = options_write_zstd(o),
                   .one_frame = o->frames == OPT_FRAMES_ONE,
                   .level = (int)o->level,
                   .reorder = r->requests.trace != NULL},
        .trace = {.columns = columns_of(r, six_columns),
                  .zstd = o->zstd ? 1 : -1,
                  .level = (int)o->level,
                  .one_frame = o->frames == OPT_FRAMES_ONE,
                  .threads = thread_count(o)},
    };
}

static int open_output(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    struct output_opts out = output_opts(r);
    int rc = options_tiers(o, &out.tiers, e);
    if (rc == 0)
        rc = options_ops(o, &out.ops, e);
    if (rc == 0)
        rc = find_epoch(r, &out.trace.epoch_ns, e);
    if (rc == 0)
        rc = options_epoch(o, &out.export.start_epoch_ns, e);
    if (rc < 0)
        return rc;
    out.export.epoch_ns = out.trace.epoch_ns;
    r->progress = progress_open(stderr, "kvgen", (enum progress_mode)o->progress, UNITS_NS_PER_S);
    out.trace.provenance = make_provenance(r);
    if (r->progress == NULL || out.trace.provenance == NULL)
        return err_nomem(e, "output");
    return output_open(&r->output, &out, r->requests.source, r->progress, e);
}

static uint32_t worker_count(const struct run *r)
{
    if (r->o.workers > 0)
        return (uint32_t)r->o.workers;
    bool fewer = r->requests.population != NULL && r->o.num_users < MAX_WORKERS;
    return fewer ? (uint32_t)r->o.num_users : MAX_WORKERS;
}

static int open_curve(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    uint64_t size[CURVE_MAX_SIZES];
    if (o->curve == NULL)
        return 0;
    bool blocks = r->requests.source->ops->blocks, trace = r->requests.trace != NULL;
    struct curve_opts curve = {.policy = policies[o->eviction],
                               .refills = blocks, /* turns that are gone are not written again */
                               .prefix = (blocks || trace) && o->block_reuse == BLOCK_REUSE_PREFIX,
                               .sample = o->curve_sample,
                               .optimal = o->curve_optimal};
    int rc = options_curve_sizes(o, size, &curve.sizes, e);
    curve.size = curve.sizes > 0 ? size : NULL;
    return rc == 0 ? curve_create(&r->curve, &curve, e) : rc;
}

static struct hierarchy_opts hierarchy_of(const struct run *r)
{
    struct hierarchy_opts tiers = {
        .large_entry_limit_ratio = r->workload.large_entry_limit_ratio,
        .target_usage_ratio = r->workload.target_usage_ratio,
        .policy = policies[r->o.eviction],
        .promote = r->o.promote == PROMOTE_ON_HIT,
    };
    memcpy(tiers.capacity, r->capacity, sizeof tiers.capacity);
    return tiers;
}

static int open_conversion(struct run *r, struct err *e)
{
    struct convert_opts o = {.retier = r->o.retier,
                             .tiers = hierarchy_of(r),
                             .block_any = r->o.block_reuse == BLOCK_REUSE_ANY,
                             .curve = r->curve};
    return convert_create(&r->convert, &o, r->requests.trace, r->output, e);
}

static enum sim_node node_of(const struct options *o)
{
    return o->prefill_only ? SIM_NODE_PREFILL : o->decode_only ? SIM_NODE_DECODE : SIM_NODE_BOTH;
}

static int open_simulation(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    struct sim_opts sim = {.workload = &r->workload,
                           .model = &r->model,
                           .tensor_parallel = sharing_ranks(r),
                           .token_ns = r->workload.token_ns[o->generation_mode],
                           .workers = worker_count(r),
                           .max_requests = o->max_requests,
                           .duration_ns = o->duration_ns,
                           .prefix = !o->disable_prefix_caching,
                           .decode_reads = o->decode_reads,
                           .node = node_of(o),
                           .prepopulated = o->num_users * PREPOP_OF_USER,
                           .rag = r->requests.rag,
                           .mlperf = options_is_mlperf(o),
                           .seed = o->seed,
                           .block_any = o->block_reuse == BLOCK_REUSE_ANY,
                           .partial_blocks = o->partial_blocks,
                           .granularity = r->granularity,
                           .curve = r->curve,
                           .speed = o->tier_model.count > 0 ? r->speed : NULL,
                           .max_writers = (uint32_t)o->max_concurrent_allocs};
    struct hierarchy_opts tiers = hierarchy_of(r);
    return sim_create(&r->sim, &sim, &tiers, r->requests.source, output_row, r->output, e);
}

static void warn_skipped(const struct source *source)
{
    const struct source_skips *skips =
        source->ops->skips != NULL ? source->ops->skips(source) : NULL;
    if (skips == NULL || skips->rows == 0)
        return;
    char line[1024];
    err_format(&skips->first, "kvgen", line, sizeof line);
    fprintf(stderr, "%s; rows skipped: %llu\n", line, (unsigned long long)skips->rows);
}

static void print_lint(struct run *r)
{
    char line[512];
    bool loss;
    for (size_t i = 0; output_remark(r->output, i, line, sizeof line, &loss); i++) {
        r->lossy = r->lossy || loss;
        fprintf(stderr, "kvgen: --lint: %s%s\n", line, loss ? "" : " (no loss)");
    }
}

static int finish(struct run *r, struct err *e)
{
    struct trace_totals totals;
    int rc = output_finish(r->output, &totals, e);
    if (rc < 0)
        return rc;
    struct summary s = {.argc = r->argc,
                        .argv = r->argv,
                        .started_wall_ns = r->started_wall_ns,
                        .wall_ns = clock_now_ns() - r->started_ns,
                        .seed = r->o.seed,
                        .model = r->requests.trace != NULL ? NULL : &r->model,
                        .source = r->requests.source,
                        .stats = r->sim != NULL ? sim_stats(r->sim) : convert_stats(r->convert),
                        .hierarchy =
                            r->sim != NULL ? sim_hierarchy(r->sim) : convert_hierarchy(r->convert),
                        .curve_policy = policies[r->o.eviction]->name,
                        .curve_sample = r->o.curve_sample,
                        .curve_optimal = r->o.curve_optimal,
                        .timing = r->sim != NULL ? sim_timing(r->sim) : NULL,
                        .trace = &totals};
    if (r->curve != NULL) {
        rc = curve_result(r->curve, &s.curve, e);
        if (rc == 0)
            rc = curve_save(s.curve, r->o.curve_optimal, r->o.curve, e);
        if (rc < 0)
            return rc;
    }
    progress_clear(r->progress);
    warn_skipped(r->requests.source);
    if (r->o.lint)
        print_lint(r);
    else if (output_is_filtered_out(r->output))
        fputs("kvgen: --output: no row is written: all were filtered out (--only-tier, --ops; "
              "sai3, warp and fio take Tier-2 alone unless told otherwise)\n",
              stderr);
    summary_print(stderr, &s);
    return r->o.summary != NULL ? summary_save(&s, r->o.summary, e) : 0;
}

/* A signal came while the input was silent. */
static bool interrupted(int rc)
{
    return rc == -EINTR && stop_signal() != 0;
}

static int simulate(struct run *r, struct err *e)
{
    int rc = r->o.source != OPTIONS_TRACE ? check_model(r, e) : 0;
    if (rc == 0)
        rc = options_capacities(&r->o, r->capacity, e);
    if (rc == 0)
        rc = options_speed(&r->o, r->capacity, r->speed, e);
    if (rc == 0)
        rc = options_granularity(&r->o, &r->granularity, e);
    if (rc == 0)
        rc = requests_open(&r->requests,
                           &(struct requests_opts){.options = &r->o,
                                                   .parser = r->parser,
                                                   .workload = &r->workload,
                                                   .model = &r->model},
                           e);
    if (rc == 0)
        rc = open_curve(r, e);
    if (rc == 0)
        rc = open_output(r, e);
    if (rc == 0)
        rc = r->requests.trace != NULL ? open_conversion(r, e) : open_simulation(r, e);
    if (rc == 0) {
        rc = r->sim != NULL ? sim_run(r->sim, e) : convert_run(r->convert, e);
        rc = interrupted(rc) ? 0 : rc; /* the trace is whole up to here */
    }
    /* Whole rows of a trace before a cut are used; the cut is told, and decides the status. */
    struct err later = {0};
    bool cut = rc == -EBADMSG && r->convert != NULL;
    if (rc < 0 && !cut)
        return rc;
    int finished = finish(r, cut ? &later : e);
    return cut ? rc : finished;
}

static int work(struct run *r, struct err *e)
{
    int rc = opt_parse(r->parser, r->argc, r->argv, e);
    if (rc > 0)
        return opt_print_answer(r->parser, e);
    if (rc == 0)
        rc = requests_open_inputs(&r->requests, &r->o, r->parser, e);
    if (rc == 0)
        rc = options_check(&r->o, r->parser, e);
    if (rc == 0)
        rc = check_outputs(r, e);
    if (rc == 0)
        rc = stop_install(e);
    if (rc == 0)
        rc = read_configuration(r, e);
    if (rc < 0)
        return rc;
    if (r->o.print_config)
        return print_config(stdout, e);
    if (r->o.list_models)
        return models_list(stdout, r->conf, e);
    if (r->o.show_model)
        return models_show(&r->model, e);
    return simulate(r, e);
}

static void release(struct run *r)
{
    sim_free(r->sim);
    convert_free(r->convert);
    curve_free(r->curve);
    output_free(r->output);
    jsonout_free(r->provenance);
    free(r->copied);
    if (r->progress != NULL)
        progress_close(r->progress);
    requests_release(&r->requests);
    conf_free(r->conf);
    opt_close(r->parser);
}

int main(int argc, char **argv)
{
    struct run r = {.argc = argc,
                    .argv = argv,
                    .started_wall_ns = clock_wall_ns(),
                    .started_ns = clock_now_ns()};
    struct err e = {0};
    r.parser = options_open(&r.o);
    int rc = r.parser == NULL ? err_nomem(&e, "options") : work(&r, &e);
    release(&r);
    /* A reader that went away wants no more words, nor does who sent a signal. */
    if (rc < 0 && rc != -EPIPE && !interrupted(rc)) {
        char line[1024];
        err_format(&e, "kvgen", line, sizeof line);
        fprintf(stderr, "%s\n", line);
    }
    return stop_exit_status(rc < 0 ? err_exit_status(&e) : r.lossy);
}
