/* The pipeline: options, configuration, source, simulation, output, summary. Each stage is a file
 * of its own, and setup.c turns the options into what each stage takes. This file opens, joins and
 * releases the stages, and prints errors. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvgen/answer/ask.h"
#include "kvgen/options/models.h"
#include "kvgen/options/print_config.h"
#include "kvgen/provenance.h"
#include "kvgen/setup.h"
#include "kvgen/summary.h"
#include "lib/base/clock.h"
#include "lib/base/descriptors.h"
#include "lib/base/memory.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/text/text.h"

enum {
    MAX_WORKERS = 500,
    MAX_DEFAULT_THREADS = 16,
    PREPOP_OF_USER = 10 /* objects that a decode node finds, for each user */
};

static void complain(const struct err *e)
{
    char line[1024];
    err_format(e, "kvgen", line, sizeof(line));
    fprintf(stderr, "%s\n", line);
}

static const struct prefill_model *compute_of(const struct run *r)
{
    return options_computes(&r->o) ? &r->compute : NULL;
}

/* ---- the stages ---- */

static int open_curve(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    uint64_t size[CURVE_MAX_SIZES];
    if (!o->curve || o->engine.kind)
        return 0;
    bool blocks = r->source.source->ops->blocks, trace = r->source.trace != NULL;
    struct curve_opts curve = {.policy = policies[o->eviction],
                               .refills = blocks, /* turns that are gone are not written again */
                               .prefix = (blocks || trace) && o->block_reuse == SIM_REUSE_PREFIX,
                               .sample = o->curve_sample,
                               .optimal = o->curve_optimal};
    int rc = options_curve_sizes(o, size, &curve.sizes, e);
    curve.size = curve.sizes > 0 ? size : NULL;
    return rc == 0 ? curve_create(&r->curve, &curve, e) : rc;
}

/* Finds what is added to times. Times of a trace that are dates stay, or are moved so that the
 * first one is --epoch. */
static int find_epoch(struct run *r, int64_t *epoch_ns, struct err *e)
{
    int64_t first_ns = 0;
    int rc = options_epoch(&r->o, epoch_ns, e);
    if (rc == 0 && r->source.trace)
        rc = trace_input_first_ns(r->source.trace, &first_ns, e);
    if (rc == 0 && first_ns >= TRACE_INPUT_DATES_FROM_NS)
        *epoch_ns = r->o.epoch ? *epoch_ns - first_ns : 0;
    return rc;
}

/* Finds what is added to the starts of a result. Starts in another tool's log keep their dates
 * unless --epoch moves them. */
static int find_start_epoch(struct run *r, int64_t *epoch_ns, struct err *e)
{
    int rc = options_epoch(&r->o, epoch_ns, e);
    if (rc == 0 && r->source.trace && !r->o.epoch)
        rc = trace_input_zero_ns(r->source.trace, epoch_ns, e);
    return rc;
}

/* Columns of the trace: six, all that a simulation gives, or those of the trace that is copied. */
static uint32_t columns_of(const struct run *r, bool six)
{
    bool engines = r->o.engine.kind && r->o.engines > 1;
    uint32_t all = TRACE_CORE | TRACE_EXTENDED | (engines ? TRACE_SERVED : 0);
    if (six)
        return TRACE_CORE;
    if (!r->source.trace)
        return all;
    return TRACE_CORE | (trace_input_columns(r->source.trace) &
                         (r->o.retier ? all : all | TRACE_RESULT | TRACE_EXTRA));
}

/* The capacity of each tier, of all engines together. */
static void sum_capacity(const struct run *r, uint64_t capacity[TRACE_TIERS])
{
    const uint64_t engines = r->o.engine.kind ? r->o.engines : 1;
    for (int t = 0; t < TRACE_TIERS; t++) {
        const bool one = t == TRACE_STORAGE && engine_choice_shares(&r->o.engine);
        capacity[t] = r->capacity[t] == HIERARCHY_UNLIMITED || one ? r->capacity[t]
                                                                   : r->capacity[t] * engines;
    }
}

/* malloc'ed; NULL: no memory. */
static char *make_provenance(const struct run *r)
{
    const struct trace_input *trace = r->source.trace;
    const struct trace_requests *redone = r->source.redone;
    const char *input = trace    ? trace_input_provenance(trace)
                        : redone ? trace_requests_provenance(redone)
                                 : NULL;
    if (options_is_recording(&r->o) && !r->o.retier)
        return provenance_of_recording(r->parser, r->source.source, &r->model);
    if (trace && !r->o.retier)
        return provenance_of_copy(r->parser, input, trace_input_client(trace));
    uint64_t capacity[TRACE_TIERS];
    sum_capacity(r, capacity);
    struct provenance p = {.parser = r->parser,
                           .conf = r->conf,
                           .seed = r->o.seed,
                           .model = trace ? NULL : &r->model,
                           .capacity = capacity,
                           .speed = r->speed,
                           .gpu = &r->gpu,
                           .compute = compute_of(r),
                           .engine = r->o.engine.kind ? &r->o.engine : NULL,
                           .steps = r->o.engine.kind ? &r->steps : NULL,
                           .source = r->source.source,
                           .input = input};
    return provenance_of_run(&p);
}

static unsigned thread_count(const struct options *o)
{
    if (o->threads > 0)
        return (unsigned)o->threads;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > MAX_DEFAULT_THREADS ? MAX_DEFAULT_THREADS : (unsigned)n;
}

static int open_output(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    const char *path = options_output(o);
    bool six_columns = o->format == OPTIONS_MLPERF;
    bool foreign = options_is_foreign(o);
    bool one_frame = o->frames == OPT_FRAMES_ONE;
    bool notes = o->notes && (columns_of(r, six_columns) & (TRACE_EXTENDED | TRACE_RESULT)) != 0;
    unsigned tiers, ops;
    int64_t epoch_ns, start_epoch_ns;
    int rc;
    if ((rc = options_tiers(o, &tiers, e)) < 0 || (rc = options_ops(o, &ops, e)) < 0 ||
        (rc = find_epoch(r, &epoch_ns, e)) < 0 ||
        (rc = find_start_epoch(r, &start_epoch_ns, e)) < 0)
        return rc;
    if (!r->progress)
        r->progress =
            progress_open(stderr, "kvgen", (enum progress_mode)o->progress, UNITS_NS_PER_S);
    r->provenance = make_provenance(r);
    if (!r->progress || !r->provenance)
        return err_nomem(e, "output");

    struct output_opts out = {
        .path = foreign ? NULL : path,
        .exported = foreign || o->lint,
        .format = setup_export_format(o),
        .six_columns = six_columns,
        /* The benchmark's trace has none. --ops can ask for them: a replay needs them if space is
         * short. */
        .no_deletes = options_compat(o)->deletes_silently && !o->ops,
        .tiers = tiers,
        .ops = ops,
        .limit = o->limit,
        .end_ns = o->duration_ns,
        .patient = options_is_live(o),
        .export = {.path = foreign ? path : NULL,
                   .endpoint = o->endpoint,
                   .settle_ns = o->settle_ns,
                   .preload = o->preload,
                   .segment_bytes = o->segment_bytes,
                   .epoch_ns = epoch_ns,
                   .start_epoch_ns = start_epoch_ns,
                   .zstd = options_write_zstd(o),
                   .one_frame = one_frame,
                   .level = (int)o->level,
                   .reorder = r->source.trace != NULL},
        .trace = {.columns = columns_of(r, six_columns),
                  .zstd = o->zstd ? 1 : -1,
                  .level = (int)o->level,
                  .one_frame = one_frame,
                  .keeps = r->source.passing,
                  .threads = thread_count(o),
                  .epoch_ns = epoch_ns,
                  .provenance = r->provenance,
                  .notes = notes ? "kvgen" : NULL},
    };
    return output_open(&r->output, &out, r->source.source, r->progress, e);
}

static struct hierarchy_opts hierarchy_of(const struct run *r)
{
    struct hierarchy_opts tiers = {
        .large_entry_limit_ratio = r->workload.large_entry_limit_ratio,
        .target_usage_ratio = r->workload.target_usage_ratio,
        .policy = policies[r->o.eviction],
        .promote = r->o.promote,
    };
    memcpy(tiers.capacity, r->capacity, sizeof(tiers.capacity));
    return tiers;
}

static int open_conversion(struct run *r, struct err *e)
{
    struct convert_opts o = {.retier = r->o.retier,
                             .tiers = hierarchy_of(r),
                             .block_reuse = r->o.block_reuse,
                             .curve = r->curve};
    return convert_create(&r->convert, &o, r->source.trace, r->output, e);
}

/* Requests are taken down for simulations after the run. */
static int freeze_requests(struct run *r, struct source **source, struct err *e)
{
    int rc = frozen_create(&r->frozen, r->source.source, e);
    if (rc == 0)
        *source = frozen_recorder(r->frozen);
    return rc;
}

static struct engine_run_opts engine_of(const struct run *r)
{
    const struct options *o = &r->o;
    return (struct engine_run_opts){.source = r->source.source,
                                    .workload = &r->workload,
                                    .shared_prompts = !o->disable_prefix_caching,
                                    .max_requests = o->max_requests,
                                    .queue_bytes = o->queue_memory,
                                    .duration_ns = o->duration_ns,
                                    .engines = (uint32_t)o->engines,
                                    .route = o->route,
                                    .prefill_only = o->prefill_only,
                                    .prompts_written = o->decode_only && !o->files_from,
                                    .files_there = o->files_from ? &r->files : NULL,
                                    .cache = &o->engine,
                                    .room = setup_room(r),
                                    .steps = r->steps,
                                    .by_layers = o->overlap == OPTIONS_OVERLAP_LAYERS,
                                    .link_bytes_s = (uint64_t)(r->gpu.link_gb_s * 1e9),
                                    .files = &r->speed[TRACE_STORAGE]};
}

/* Asks --worth about the run's engine, tiers and requests. */
static void ask_worth(struct run *r)
{
    r->worth_opts.engine = &r->engine_opts;
    r->worth_opts.capacity = r->capacity;
    r->worth_opts.speed = r->speed;
    r->worth_opts.model = &r->model;
    r->worth_opts.compute = &r->compute;
    r->worth_opts.requests = r->frozen;
}

/* engine_run_opts.decided. */
static int put_decisions(void *ctx, const struct decision_text *line, struct err *e)
{
    return output_file_put(ctx, line->text, line->len, e);
}

static int open_decisions(struct run *r, struct err *e)
{
    const char *path = r->o.decisions;
    if (!path)
        return 0;
    return output_file_open(&r->decisions, path, text_ends_with(path, ".zst"), 0, e);
}

static int close_decisions(struct run *r, struct err *e)
{
    struct output_file *f = r->decisions;
    struct trace_totals totals = {0};
    r->decisions = NULL;
    return f ? output_file_close(f, &totals, e) : 0;
}

static int check_curve_tier(const struct run *r, const struct engine_room *room, struct err *e)
{
    if (!r->o.curve || engine_curve_tier(room) != TRACE_GPU)
        return 0;
    return err_set(e, -EINVAL, ERR_INPUT, "--curve",
                   "needs a tier below the GPU, whose capacity varies (--cpu-mem, "
                   "--storage-capacity)");
}

/* --dry-run: what open_engine and an answer would refuse. */
static int check_engine(const struct run *r, struct err *e)
{
    const struct engine_room room = setup_room(r);
    if (!r->o.engine.kind)
        return 0;
    const int rc = check_curve_tier(r, &room, e);
    return rc < 0 ? rc : engine_choice_check_room(&r->o.engine, &room, e);
}

static int open_engine(struct run *r, struct err *e)
{
    struct engine_run_opts *engine = &r->engine_opts;
    *engine = engine_of(r);
    engine->look = output_wants_rows(r->output) ? NULL : output_look;
    engine->look_ctx = r->output;
    int rc = check_curve_tier(r, &engine->room, e);
    if (rc == 0 && r->o.files_from)
        rc = left_files_read(&r->files, r->o.files_from, engine_choice_name(&r->o.engine), e);
    if (rc < 0)
        return rc;
    rc = r->o.curve || r->o.worth ? freeze_requests(r, &engine->source, e) : 0;
    if (r->o.worth)
        ask_worth(r);
    if (rc >= 0)
        rc = open_decisions(r, e);
    if (r->decisions) {
        engine->decided = put_decisions;
        engine->decided_ctx = r->decisions;
    }
    if (rc >= 0)
        rc = engine_run_create(&r->engine, engine, engine->look ? NULL : output_row, r->output, e);
    const uint64_t left_out = rc < 0 ? 0 : engine_run_stats(r->engine)->files_left_out;
    if (left_out)
        fprintf(stderr, "kvgen: --files-from: %llu of %zu files find no room and are left out\n",
                (unsigned long long)left_out, r->files.count);
    return rc;
}

static int open_simulation(struct run *r, struct err *e)
{
    const struct options *o = &r->o;
    if (o->engine.kind)
        return open_engine(r, e);
    bool few_users = o->source == OPTIONS_USERS && o->users < MAX_WORKERS;
    uint64_t workers = o->workers > 0 ? o->workers : few_users ? o->users : MAX_WORKERS;
    r->sim_opts = (struct sim_opts){.source = r->source.source,
                                    .workload = &r->workload,
                                    .tiers = hierarchy_of(r),
                                    .model = &r->model,
                                    .token_ns = r->workload.token_ns[o->generation_mode],
                                    .workers = (uint32_t)workers,
                                    .max_requests = o->max_requests,
                                    .queue_bytes = o->queue_memory,
                                    .duration_ns = o->duration_ns,
                                    .prefix = !o->disable_prefix_caching,
                                    .decode_reads = o->decode_reads,
                                    .node = o->prefill_only  ? SIM_NODE_PREFILL
                                            : o->decode_only ? SIM_NODE_DECODE
                                                             : SIM_NODE_BOTH,
                                    .fill_storage = o->fill_storage,
                                    .prepopulated = o->users * PREPOP_OF_USER,
                                    .rag = r->source.rag,
                                    .rag_timed = o->rag_ingest == OPTIONS_RAG_TIMED,
                                    .compat = options_compat(o),
                                    .seed = o->seed,
                                    .block_reuse = o->block_reuse,
                                    .partial_blocks = o->partial_blocks,
                                    .granularity = r->granularity,
                                    .curve = r->curve,
                                    .speed = o->tier_model.count > 0 ? r->speed : NULL,
                                    .max_writers = (uint32_t)o->max_concurrent_allocs};
    return sim_create(&r->sim, &r->sim_opts, output_row, r->output, e);
}

/* ---- an answer ---- */

/* The rows of its window, as those of a run with that load. */
struct window_output {
    struct run *run;
    const struct run_source_opts *source;
};

static int open_window(void *ctx, const struct ask_load *load, struct err *e)
{
    const struct window_output *w = ctx;
    w->run->o.users = load->users;
    w->run->o.speed = load->speed;
    w->run->o.request_rate = load->request_rate;
    const int rc = run_source_open(&w->run->source, w->source, e);
    return rc == 0 ? open_output(w->run, e) : rc;
}

static int window_output_row(void *ctx, const struct sim_row *row, struct err *e)
{
    const struct window_output *w = ctx;
    return output_row(w->run->output, row, e);
}

static int close_window(void *ctx, struct err *e)
{
    const struct window_output *w = ctx;
    struct trace_totals totals;
    return output_finish(w->run->output, &totals, e);
}

static int find_answer(struct run *r, const struct run_source_opts *source, struct err *e)
{
    struct window_output output = {r, source};
    const struct ask_window window = {open_window, window_output_row, close_window, &output};
    if (!run_source_repeatable(&r->source))
        return err_set(e, -ESPIPE, ERR_INPUT, "--input",
                       "--answer reads it many times: give a file");
    const struct load_opts load = {source, r->source.kind};
    const int rc = ask_check(&load, e);
    if (rc < 0 || r->o.dry_run)
        return rc;
    r->progress = progress_open(stderr, "kvgen", (enum progress_mode)r->o.progress, UNITS_NS_PER_S);
    if (!r->progress)
        return err_nomem(e, "progress");
    const struct ask_opts opts = {.argc = r->argc,
                                  .argv = r->argv,
                                  .started_wall_ns = r->started_wall_ns,
                                  .load = load,
                                  .engine = engine_of(r),
                                  .model = &r->model,
                                  .gpu = &r->gpu,
                                  .capacity = r->capacity,
                                  .gpu_price = r->worth_opts.price.gpu,
                                  .threads = thread_count(&r->o),
                                  .progress = r->progress,
                                  .window = options_output(&r->o) ? &window : NULL};
    return ask(&opts, e);
}

/* ---- the end of a run ---- */

/* The simulations of --worth, after the run whose requests they have. */
static int find_worth(struct run *r, struct summary *s, struct err *e)
{
    int rc = worth_run(&r->worth, &r->worth_opts, e);
    s->worth = rc > 0 ? &r->worth : NULL;
    return rc < 0 ? rc : 0;
}

/* The hits by capacity, by one pass, or with an engine's cache by simulations after the run. */
static int find_curve(struct run *r, struct summary *s, struct err *e)
{
    int rc;
    if (r->curve) {
        rc = curve_result(r->curve, &s->curve, e);
    } else {
        uint64_t size[CURVE_MAX_SIZES];
        struct engine_curve_opts curve = {.engine = &r->engine_opts,
                                          .requests = r->frozen,
                                          .chunk_bytes = engine_run_cache(r->engine)->chunk_bytes};
        if ((rc = options_curve_sizes(&r->o, size, &curve.sizes, e)) < 0)
            return rc;
        curve.size = curve.sizes > 0 ? size : NULL;
        rc = engine_curve_run(&r->engine_curve, &curve, e);
        if (rc > 0)
            s->curve = &r->engine_curve.result;
    }
    return rc < 0 || !s->curve ? rc : curve_save(s->curve, r->o.curve_optimal, r->o.curve, e);
}

/* Whether a recording has what could not become rows, which its remarks name. */
static bool is_incomplete(const struct source *source)
{
    const struct source_recording *n =
        source->ops->recording ? source->ops->recording(source) : NULL;
    return n && (n->unknown_media > 0 || n->damaged > 0 || n->unsized > 0);
}

/* Prints a line for each thing that is wrong or missing in the input or the output. */
static void tell_remarks(struct run *r, const struct source *source,
                         const struct source_reading *reading)
{
    char remark[512];
    bool loss;
    const struct skips *skips = source->ops->skips ? source->ops->skips(source) : NULL;
    if (skips && skips->rows > 0) {
        char line[1024];
        err_format(&skips->first, "kvgen", line, sizeof(line));
        fprintf(stderr, "%s; rows skipped: %llu\n", line, (unsigned long long)skips->rows);
    }
    for (unsigned i = 0; i < reading->remarks.count; i++)
        setup_say(r->o.input, "%s", reading->remarks.text[i]);
    for (unsigned i = 0; skips && i < skips->remarks.count; i++)
        setup_say(r->o.input ? r->o.input : r->o.bind, "%s", skips->remarks.text[i]);
    if (skips && skips->unsized > 0)
        setup_say(r->o.input,
                  "%llu deletion%s of objects that the log neither wrote nor read before: size 0",
                  (unsigned long long)skips->unsized, units_plural(skips->unsized));
    for (size_t i = 0; r->o.lint && output_remark(r->output, i, remark, sizeof(remark), &loss);
         i++) {
        r->lossy = r->lossy || loss;
        fprintf(stderr, "kvgen: --lint: %s%s\n", remark, loss ? "" : " (no loss)");
    }
    if (output_notice(r->output, remark, sizeof(remark)))
        fprintf(stderr, "kvgen: %s\n", remark);
    if (!r->o.lint && output_is_filtered_out(r->output))
        fputs("kvgen: --output: no row is written: all were filtered out (--only-tier, --ops; "
              "sai3, warp and fio take Tier-2 alone unless told otherwise)\n",
              stderr);
}

/* Completes the files and tells what the run did. */
static int finish(struct run *r, struct err *e)
{
    struct trace_totals totals;
    struct err later = {0};
    int rc = output_finish(r->output, &totals, e);
    /* One that fails must not take the other with it. */
    int rc_input = r->source.trace ? trace_input_finish(r->source.trace, rc < 0 ? &later : e) : 0;
    if (rc < 0 && rc_input < 0)
        complain(&later);
    if (rc < 0 || rc_input < 0)
        return rc < 0 ? rc : rc_input;
    r->lossy = is_incomplete(r->source.source);
    const struct engine_summary engine = {.choice = &r->o.engine,
                                          .run = r->engine,
                                          .steps = &r->steps,
                                          .capacity = r->capacity,
                                          .target_ns = r->worth_opts.target_ns};
    struct summary s = {.argc = r->argc,
                        .argv = r->argv,
                        .started_wall_ns = r->started_wall_ns,
                        .wall_ns = clock_now_ns() - r->started_ns,
                        .seed = r->o.seed,
                        .conf = r->conf,
                        .model = r->source.trace ? NULL : &r->model,
                        .source = r->source.source,
                        .stats = r->engine ? engine_run_sim_stats(r->engine)
                                 : r->sim  ? sim_stats(r->sim)
                                           : convert_stats(r->convert),
                        .hierarchy = r->engine ? NULL
                                     : r->sim  ? sim_hierarchy(r->sim)
                                               : convert_hierarchy(r->convert),
                        .engine = r->engine ? &engine : NULL,
                        .curve_policy = r->engine ? engine_choice_name(&r->o.engine)
                                                  : policies[r->o.eviction]->name,
                        .curve_sample = r->o.curve_sample,
                        .curve_optimal = r->o.curve_optimal,
                        .servers = r->sim ? sim_tier_servers(r->sim) : NULL,
                        .compute = compute_of(r),
                        .gpu = &r->gpu,
                        .speed = r->sim || r->engine ? r->speed : NULL,
                        .tbw = r->o.tbw,
                        .trace = &totals};
    struct source_reading reading = {0};
    if (s.source->ops->reading) {
        s.source->ops->reading(s.source, &reading);
        s.reading = &reading;
    }
    if (r->o.curve && (rc = find_curve(r, &s, e)) < 0)
        return rc;
    if (r->o.worth && stop_signal() == 0 && (rc = find_worth(r, &s, e)) < 0)
        return rc;
    progress_clear(r->progress);
    tell_remarks(r, s.source, &reading);
    summary_print(stderr, &s);
    return r->o.summary ? summary_save(&s, r->o.summary, e) : 0;
}

/* ---- the pipeline ---- */

/* A signal came while the input was silent. */
static bool interrupted(int rc)
{
    return rc == -EINTR && stop_asks();
}

static int simulate(struct run *r, struct err *e)
{
    struct run_source_opts source = {
        .options = &r->o, .parser = r->parser, .workload = &r->workload, .model = &r->model};
    int rc = setup_simulation(r, e);
    if (rc < 0)
        return rc;
    if (r->o.dry_run && (rc = check_engine(r, e)) < 0)
        return rc;
    if (r->o.answer)
        return find_answer(r, &source, e);
    if (r->o.dry_run && r->source.passing)
        return 0;
    rc = run_source_open(&r->source, &source, e);
    if (rc < 0 || r->o.dry_run)
        return rc;
    if ((rc = open_curve(r, e)) < 0 || (rc = open_output(r, e)) < 0 ||
        (rc = r->source.trace ? open_conversion(r, e) : open_simulation(r, e)) < 0)
        return rc;

    rc = r->engine ? engine_run(r->engine, e)
         : r->sim  ? sim_run(r->sim, e)
                   : convert_run(r->convert, e);
    if (interrupted(rc))
        rc = 0; /* the trace is whole up to here */
    if (rc >= 0 && r->source.redone)
        rc = trace_requests_end(r->source.redone, e);
    if (rc < 0 && (r->convert || r->source.redone) && (rc == -EBADMSG || r->source.passing)) {
        /* The input is cut, or gone with what it said. Its whole rows are used, but the error
         * decides the status. */
        struct err later = {0};
        int rc_output = finish(r, &later);
        if (rc_output < 0 && rc_output != -EPIPE)
            complain(&later);
        return rc;
    }
    if (rc >= 0)
        rc = close_decisions(r, e);
    return rc < 0 ? rc : finish(r, e);
}

static int run(struct run *r, struct err *e)
{
    int rc = opt_parse(r->parser, r->argc, r->argv, e);
    if (rc > 0)
        return opt_print_answer(r->parser, e);
    if (rc == 0 && engine_choice_asks(r->o.cache)) {
        rc = engine_choice_parse(&r->o.engine, r->o.cache, e);
        return rc < 0 ? rc : engine_choice_help(stdout, &r->o.engine, e);
    }
    if (rc == 0 && mix_asks(r->o.population))
        return mix_help(stdout, e);
    if (rc < 0 || (rc = options_apply_compat(&r->o, r->parser, e)) < 0 ||
        (rc = setup_read(r, e)) < 0 ||
        (rc = run_source_recognise(&r->source, &r->o, r->parser, e)) < 0)
        return rc;
    if (r->o.dry_run && r->source.passing && r->o.source == OPTIONS_AUTO)
        return setup_check_files(r, e); /* what else holds depends on what it is */
    if ((rc = options_check(&r->o, r->parser, e)) < 0 || (rc = setup_check_files(r, e)) < 0 ||
        (rc = stop_install("kvgen: stopping: finishing the output; again to abort\n", e)) < 0 ||
        (rc = setup_apply(r, e)) < 0)
        return rc;
    if (r->o.print_config)
        return print_config(stdout, e);
    if (r->o.list_models)
        return models_list(stdout, r->conf, e);
    if (r->o.show_model)
        return models_show(&r->model, &r->reading, e);
    return simulate(r, e);
}

int main(int argc, char **argv)
{
    struct run r = {.argc = argc,
                    .argv = argv,
                    .started_wall_ns = clock_wall_ns(),
                    .started_ns = clock_now_ns()};
    struct err e = {0};
    memory_set_apart();
    descriptors_open_standard();
    r.parser = options_open(&r.o);
    int rc = r.parser ? run(&r, &e) : err_nomem(&e, "options");
    sim_free(r.sim);
    engine_run_free(r.engine);
    left_files_free(&r.files);
    frozen_free(r.frozen);
    worth_free(&r.worth);
    convert_free(r.convert);
    output_free(r.output);
    output_file_abandon(r.decisions);
    free(r.provenance);
    if (r.progress)
        progress_close(r.progress);
    curve_free(r.curve);
    engine_curve_free(&r.engine_curve);
    run_source_close(&r.source);
    tier_models_free(r.speed);
    conf_free(r.conf);
    if (r.parser)
        opt_tell_place(r.parser, &e);
    opt_close(r.parser);
    /* A reader that went away wants no more words, and nor does whoever sent a signal. */
    if (rc < 0 && rc != -EPIPE && !interrupted(rc))
        complain(&e);
    return stop_exit_status(rc < 0 ? err_exit_status(&e) : r.lossy);
}
