/* The sequence of a replay: survey, tiers, populate, run, summary, and the clean-up of whatever of
 * these was begun. Decides which failure becomes which exit status; the parts only report. */
#include "kvreplay/replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/drive_link.h"
#include "kvreplay/populate.h"
#include "kvreplay/replay_progress.h"
#include "kvreplay/residency.h"
#include "kvreplay/sched/sched.h"
#include "kvreplay/summary.h"
#include "lib/base/stop.h"
#include "lib/base/units.h"
#include "lib/opt/rows.h"

enum {
    WINDOW_ASAP = 8192,
    WINDOW_TIMED = 65536
};

struct replay {
    const struct replay_input *in;
    struct options *o;
    struct trace_reader *trace;
    struct survey survey;
    bool surveyed;
    struct tier_map map;
    struct ceiling ceiling;
    struct bell *bell;
    struct tiers tiers;
    struct objects *objects;
    struct populated populated;
    uint64_t generation;
    struct trace_writer *writer;
    struct results *results;
    struct stats stats;
    struct progress *progress;
    struct notices notices;
    struct reader *reader;
    struct user_limit *user_limit; /* the reader's */
    bool reader_stuck;             /* left behind in a read of its input */
    struct replay_progress progress_line;
    struct sched_outcome outcome;
    struct target_counters before, after;
    bool counted;
    double resident_share;
    int64_t started_wall_ns, cpu_before_ns, cpu_ns, sync_ns;
    uint64_t skipped;
};

static int replay_only_tier(const struct options *o)
{
    return o->only_tier == ONLY_ALL ? -1 : (int)o->only_tier - ONLY_TIER_0;
}

static int replay_open_trace(struct replay *r, struct err *e)
{
    uint32_t served = TRACE_BIT(TRACE_COL_QOS) | TRACE_BIT(TRACE_COL_TOKENS);
    struct trace_read_opts t = {.want = TRACE_CORE | TRACE_BIT(TRACE_COL_REQUEST) |
                                        TRACE_BIT(TRACE_COL_CLASS) | TRACE_BIT(TRACE_COL_DURATION) |
                                        TRACE_BIT(TRACE_COL_ARRIVAL) | TRACE_BIT(TRACE_COL_USER) |
                                        (r->o->timing == TIMING_SERVED ? served : 0),
                                .want_line = true,
                                .skip_bad_rows = r->o->skip_bad_rows,
                                .long_window = r->o->long_window,
                                .want_digest = true};
    int rc = trace_open(&r->trace, r->in->trace, &t, e);
    if (rc < 0)
        return rc;
    bool requests = trace_columns(r->trace) & TRACE_BIT(TRACE_COL_REQUEST);
    bool users = trace_columns(r->trace) & TRACE_BIT(TRACE_COL_USER);
    if ((r->o->timing == TIMING_CLOSED || r->o->users) && !users)
        return err_set(e, -EINVAL, ERR_INPUT, r->o->users ? "--users" : "--timing closed",
                       "the trace has no column User");
    if (r->o->timing == TIMING_SERVED && !requests)
        return err_set(e, -EINVAL, ERR_INPUT, "--timing served", "the trace has no column Request");
    if (r->o->order == OPTIONS_ORDER_REQUEST && !requests)
        return err_set(e, -EINVAL, ERR_INPUT, "--order request", "the trace has no column Request");
    if (r->o->order == OPTIONS_ORDER_AUTO)
        r->o->order = requests ? OPTIONS_ORDER_REQUEST : OPTIONS_ORDER_KEY;
    return 0;
}

/* A cut file is said again, and decides the exit status, when the run comes to the cut. */
static int replay_survey(struct replay *r, struct err *e)
{
    bool timed = r->o->timing != TIMING_ASAP;
    struct survey_opts s = {.limit = r->o->limit,
                            .loops = r->o->loops,
                            .only_tier = replay_only_tier(r->o),
                            .map = r->map,
                            .create = r->o->on_absent == SCHED_ABSENT_CREATE,
                            .progress = r->progress,
                            .until_ns = INT64_MAX,
                            .served = r->o->timing == TIMING_SERVED,
                            .look_ahead = WINDOW_TIMED};

    r->progress_line.total_ns = r->o->timing == TIMING_ASAP ? 0 : r->o->duration_ns;
    if (!trace_can_rewind(r->trace) && r->o->loops > 1)
        return err_set(e, -EINVAL, ERR_INPUT, "--loops",
                       "the trace is no regular file: it can be read once only");
    if (!trace_can_rewind(r->trace))
        return 0;
    if (timed && r->o->duration_ns)
        s.until_ns = (int64_t)fmin((double)r->o->duration_ns * r->o->speed, 4e18);
    s.user_limit = r->o->users ? user_limit_create(r->o->users) : NULL;
    if (r->o->users && !s.user_limit)
        return err_nomem(e, "table of users");
    int rc = survey_run(&r->survey, r->trace, &s, e);
    user_limit_free(s.user_limit);
    if (rc < 0 && rc != -EBADMSG)
        return rc;
    *e = (struct err){0};
    r->surveyed = true;
    r->progress_line.total_rows = r->survey.run_rows;
    if (r->o->timing == TIMING_TRACE)
        r->progress_line.total_ns =
            (int64_t)fmin((double)r->survey.span_ns * (double)r->o->loops / r->o->speed,
                          r->o->duration_ns ? (double)r->o->duration_ns : 9e18);
    return trace_rewind(r->trace, e);
}

static int replay_targets(struct replay *r, struct err *e)
{
    const struct survey *s = r->surveyed ? &r->survey : NULL;

    int rc = tiers_choose(&r->tiers, r->o, s, e);
    if (rc == 0)
        rc = tiers_size(&r->tiers, r->o, s, trace_provenance(r->trace), e);
    if (rc == 0)
        rc = tiers_open(&r->tiers, r->o, s, r->bell, e);
    return rc;
}

/* What an earlier run left, and whether the rest has room. */
static int replay_adopt(struct replay *r, struct err *e)
{
    int rc = 0;

    if (r->surveyed)
        rc = populate_adopt(&r->populated, &r->survey, &r->tiers, r->objects, e);
    if (rc == 0)
        rc = tiers_storage_room(&r->tiers, r->o, r->surveyed ? &r->survey : NULL,
                                r->populated.adopted_bytes, r->populated.staying_bytes, e);
    return rc;
}

/* Generations never repeat, over kept runs neither, nor over those whose blocks still lie in a
 * slab: these begin at the time of day. */
static int replay_populate(struct replay *r, struct err *e)
{
    bool kept = r->tiers.storage.was_kept || r->tiers.storage.slab;
    uint64_t writes = r->o->inflight;
    int rc = 0;

    if (r->o->max_writes && r->o->max_writes < writes)
        writes = r->o->max_writes;

    r->generation = kept ? (uint64_t)clock_wall_ns() : 1;
    if (r->surveyed && r->o->on_absent == SCHED_ABSENT_CREATE)
        rc = populate_write(&r->populated, &r->survey, &r->tiers, r->objects, (unsigned)writes,
                            &r->generation, r->progress, r->bell, e);
    if (rc == 0 && r->surveyed && r->survey.changes[TRACE_STORAGE] && r->tiers.storage.open)
        rc = storage_begin(&r->tiers.storage, e);
    survey_release(&r->survey);
    return rc;
}

static int replay_open_results(struct replay *r, struct err *e)
{
    const char *path = r->in->silent ? NULL : options_results(r->o);
    struct trace_str header = trace_header(r->trace);
    struct trace_write_opts w = {.columns = TRACE_RESULT,
                                 .header = header.p,
                                 .header_len = header.len,
                                 .zstd = r->o->zstd ? 1 : -1,
                                 .level = (int)r->o->level,
                                 .one_frame = r->o->frames == OPT_FRAMES_ONE,
                                 .threads = (unsigned)r->o->threads,
                                 .provenance = trace_provenance(r->trace)};
    const struct opt_mode no_rows = {
        .on = true,
        .refuses = OPTIONS_ROWS_ONLY,
        .why = "standard output is a terminal: there are no result rows without -o"};
    int rc = 0;
    if (!path && !r->in->silent)
        rc = opt_check_modes(r->in->parser, &no_rows, 1, e);
    else if (path)
        rc = trace_create(&r->writer, path, &w, e);
    return rc < 0 ? rc : results_open(&r->results, r->writer, e);
}

static int replay_open_reader(struct replay *r, size_t window, struct err *e)
{
    r->user_limit = r->o->users ? user_limit_create(r->o->users) : NULL;
    struct reader_opts o = {.rows = window,
                            .limit = r->o->limit,
                            .loops = r->o->loops,
                            .map = r->map,
                            .user_limit = r->user_limit,
                            .only_tier = replay_only_tier(r->o),
                            .want_line = r->writer != NULL,
                            .want_user = r->o->timing == TIMING_CLOSED,
                            .tell_starved = r->o->timing == TIMING_SERVED,
                            .bell = r->bell};
    if (r->o->users && !r->user_limit)
        return err_nomem(e, "table of users");
    return reader_open(&r->reader, r->trace, &o, e);
}

static void replay_began(void *ctx, int64_t zero_ns)
{
    struct replay *r = ctx;
    tiers_began(&r->tiers);
    replay_progress_began(&r->progress_line, zero_ns);
}

static void replay_tick(void *ctx, struct sched *s)
{
    struct replay *r = ctx;
    size_t in_flight, waiting;

    if (!replay_progress_due(&r->progress_line))
        return;
    sched_queue(s, &in_flight, &waiting);
    replay_progress_line(&r->progress_line, &r->stats, in_flight, waiting);
}

static uint64_t replay_target_free(void *ctx, unsigned tier)
{
    const struct replay *r = ctx;

    return tier == TRACE_STORAGE ? storage_free(&r->tiers.storage) : UINT64_MAX;
}

static struct sched_opts replay_sched_opts(struct replay *r, size_t window)
{
    /* OPTIONS_ORDER_AUTO was settled when the trace was opened. */
    static const enum order_mode modes[] = {[OPTIONS_ORDER_REQUEST] = ORDER_REQUEST,
                                            [OPTIONS_ORDER_KEY] = ORDER_KEY,
                                            [OPTIONS_ORDER_NONE] = ORDER_NONE};

    return (struct sched_opts){.clock = clock_real(),
                               .timed = r->o->timing != TIMING_ASAP,
                               .workers = (unsigned)r->o->workers,
                               .closed = r->o->timing == TIMING_CLOSED,
                               .speed = r->o->speed,
                               .order = modes[r->o->order],
                               .inflight = (unsigned)r->o->inflight,
                               .max_writes = (unsigned)r->o->max_writes,
                               .window = window,
                               .verify = r->o->verify,
                               .on_absent = (enum sched_on_absent)r->o->on_absent,
                               .create_in_run = !r->surveyed,
                               .stop_on_error = r->o->on_error == ON_ERROR_STOP,
                               .duration_ns = r->o->duration_ns,
                               .warmup_ns = r->o->warmup_ns,
                               .lag_limit_ns = r->o->lag_limit_ns,
                               .on_lag = (enum sched_on_lag)r->o->on_lag,
                               .spin_ns = r->o->spin_ns,
                               .engine_threads = tiers_threads(&r->tiers),
                               .first_generation = r->generation,
                               .began = replay_began,
                               .tick = replay_tick,
                               .target_free = replay_target_free,
                               .ctx = r};
}

static int replay_schedule(struct replay *r, size_t window, struct err *e)
{
    struct sched *s = NULL;
    struct sched_opts o = replay_sched_opts(r, window);
    struct sched_env env = {.reader = r->reader,
                            .objects = r->objects,
                            .room = r->tiers.room,
                            .tier = r->tiers.tier,
                            .verifies = r->tiers.verifies,
                            .results = r->results,
                            .stats = &r->stats,
                            .notices = &r->notices,
                            .bell = r->bell};
    int rc = sched_create(&s, &o, &env, e);
    if (rc == 0)
        rc = sched_run(s, &r->outcome, e);
    sched_free(s);
    return rc;
}

static int replay_sync(struct replay *r, struct err *e)
{
    int64_t start = clock_now_ns();
    int rc = storage_sync(&r->tiers.storage, e);

    r->sync_ns = clock_now_ns() - start;
    return rc;
}

/* The timed part, with the kernel's counters on both sides of it. */
static int replay_execute(struct replay *r, struct err *e)
{
    size_t window = r->o->timing == TIMING_ASAP ? WINDOW_ASAP : WINDOW_TIMED;

    int rc = replay_open_reader(r, window, e);
    if (rc < 0)
        return rc;
    r->counted = r->tiers.storage.open && r->tiers.storage.device.counted &&
                 target_counters(&r->tiers.storage.device, &r->before) == 0;
    r->cpu_before_ns = clock_process_cpu_ns();
    rc = replay_schedule(r, window, e);
    if (r->o->sync == SYNC_END && r->tiers.storage.open && rc == 0)
        rc = replay_sync(r, e);
    r->cpu_ns = clock_process_cpu_ns() - r->cpu_before_ns;
    tiers_describe(&r->tiers);
    r->counted = r->counted && target_counters(&r->tiers.storage.device, &r->after) == 0;
    if (r->tiers.storage.open)
        r->resident_share = residency_share(r->tiers.storage.fd);
    if (r->in->read)
        r->in->read(r->in->ctx, rc == 0 && r->outcome.end == SCHED_DONE);
    r->reader_stuck = !reader_close(r->reader, &r->skipped);
    r->reader = NULL;
    return rc;
}

static int replay_outcome_status(const struct replay *r)
{
    const struct stats *st = &r->stats;
    bool failed = st->failed || st->corrupt || st->reads_before_write || st->errors;
    return failed || r->outcome.end == SCHED_ERROR || r->outcome.end == SCHED_LAGGED ||
           r->outcome.end == SCHED_EPIPE;
}

static int64_t replay_p95(const struct hist *h)
{
    return h && hist_count(h) ? hist_percentile(h, 950000) : TRACE_NONE;
}

/* 95th percentile of the service times of Tier-2 operations. */
static int64_t replay_service_p95(const struct replay *r, unsigned op)
{
    struct stats_group sum;
    bool known = stats_sum(&r->stats, TRACE_STORAGE, op, &sum) == 0;
    int64_t p95 = known ? replay_p95(sum.service) : TRACE_NONE;
    stats_group_release(&sum);
    return p95;
}

static void replay_measure(const struct replay *r, struct replay_figures *f)
{
    const struct stats *st = &r->stats;
    enum sched_end end = r->outcome.end;
    int64_t until = st->until_ns < st->last_done_ns ? st->until_ns : st->last_done_ns;

    *f = (struct replay_figures){.interrupted = end == SCHED_SIGNAL,
                                 .stopped = end == SCHED_ERROR || end == SCHED_EPIPE,
                                 .trace_ended = end == SCHED_DONE,
                                 .seconds =
                                     until > st->from_ns ? (double)(until - st->from_ns) / 1e9 : 0,
                                 .tokens = st->tokens,
                                 .bytes = st->done_bytes,
                                 .failed = st->failed + st->corrupt,
                                 .waiting = r->outcome.waiting,
                                 .read_p95_ns = replay_service_p95(r, TRACE_READ),
                                 .write_p95_ns = replay_service_p95(r, TRACE_WRITE),
                                 .queue_p95_ns = replay_p95(st->queue)};
    if (end == SCHED_DURATION) /* nothing need have ended just then */
        f->seconds = (double)(st->until_ns - st->from_ns) / 1e9;
    for (unsigned i = 0; i < TRACE_QOSES; i++)
        f->end_to_end_p95_ns[i] = replay_p95(st->end_to_end[i]);
}

static void replay_summary(const struct replay *r, struct summary *s)
{
    bool whole = r->outcome.end == SCHED_DONE || r->outcome.end == SCHED_DURATION;
    int64_t last = r->stats.last_done_ns; /* before zero when there were no rows behind the head */
    int64_t elapsed = last > r->outcome.zero_ns ? last - r->outcome.zero_ns : 0;

    *s = (struct summary){.argc = r->in->argc,
                          .argv = r->in->argv,
                          .started_wall_ns = r->started_wall_ns,
                          .input = r->reader_stuck ? "standard input" : trace_name(r->trace),
                          .digest = r->reader_stuck ? "" : trace_digest(r->trace),
                          .options = r->in->parser,
                          .stats = &r->stats,
                          .tiers = &r->tiers,
                          .populated = r->populated,
                          .skipped = r->skipped,
                          .bad_rows = r->reader_stuck ? 0 : trace_bad_rows(r->trace, NULL),
                          .zero_ns = r->outcome.zero_ns,
                          .elapsed_ns = elapsed,
                          .warmup_ns = r->o->warmup_ns,
                          .cpu_ns = r->cpu_ns,
                          .spun_ns = r->outcome.spun_ns,
                          .sync_ns = r->sync_ns,
                          .dedup_ratio = r->tiers.storage.open ? r->o->dedup_ratio : 1,
                          .timed = r->o->timing != TIMING_ASAP,
                          .workers = r->o->workers,
                          .interrupted = !whole,
                          .by_duration = r->outcome.end == SCHED_DURATION,
                          .lagged = r->outcome.lagged,
                          .lateness_budget_ns = r->o->lateness_budget_ns,
                          .lag_limit_ns = r->o->lag_limit_ns,
                          .counted = r->counted,
                          .before = r->before,
                          .after = r->after,
                          .resident_share = r->resident_share,
                          .link_bytes_per_s =
                              drive_link_bytes_per_s("/sys", r->tiers.storage.device.name),
                          .ceiling = r->ceiling};
    summary_judge(s);
}

/* Result file, summary file and text. The first failure counts; the text comes last and always. */
static int replay_report(struct replay *r, struct err *e)
{
    struct summary s;
    int rc = 0;

    replay_summary(r, &s);
    struct jsonout *j = summary_json(&s);
    if (!j)
        rc = err_nomem(e, "summary");
    if (j && r->in->more)
        r->in->more(r->in->ctx, j, r->in->figures);
    if (r->writer) {
        int finished =
            trace_finish(r->writer, j ? jsonout_text(j, false) : NULL, NULL, rc ? NULL : e);
        rc = rc ? rc : finished;
        r->writer = NULL;
    }
    if (j && r->o->summary) {
        int saved = jsonout_save(j, r->o->summary, rc ? NULL : e);
        rc = rc ? rc : saved;
    }
    jsonout_free(j);
    progress_clear(r->progress);
    notices_end(&r->notices);
    if (r->outcome.end != SCHED_EPIPE)
        summary_text(&s, stderr);
    return rc;
}

/* Before a row runs. */
static int replay_prepare(struct replay *r, struct err *e)
{
    r->bell = bell_create();
    r->objects = objects_create();
    r->progress =
        progress_open(stderr, "kvreplay", (enum progress_mode)r->o->progress, UNITS_NS_PER_S);
    if (!r->bell || !r->objects || !r->progress || stats_init(&r->stats) < 0)
        return err_nomem(e, "replay");
    r->notices.progress = r->progress_line.progress = r->progress;
    int rc = tier_map_parse(&r->map, &r->o->tier_map, e);
    if (rc == 0 && r->o->ceiling)
        rc = ceiling_load(&r->ceiling, r->o->ceiling, e);
    if (rc == 0)
        rc = replay_open_trace(r, e);
    if (rc == 0)
        rc = replay_survey(r, e);
    if (rc == 0)
        rc = replay_targets(r, e);
    if (rc == 0)
        rc = replay_adopt(r, e);
    if (rc == 0) /* before minutes are spent on populating */
        rc = replay_open_results(r, e);
    if (rc == 0)
        rc = replay_populate(r, e);
    return rc;
}

static void replay_release(struct replay *r)
{
    results_close(r->results);
    if (r->writer)
        trace_abandon(r->writer);
    survey_release(&r->survey);
    stats_release(&r->stats);
    progress_close(r->progress);
    objects_free(r->objects);
    if (r->reader_stuck) /* its thread may still look at these until the process ends */
        return;
    trace_close(r->trace);
    user_limit_free(r->user_limit);
    bell_free(r->bell);
}

int replay_run(const struct replay_input *in, int *status, struct err *e)
{
    struct replay r = {.in = in,
                       .o = in->options,
                       .resident_share = -1,
                       .sync_ns = -1,
                       .started_wall_ns = clock_wall_ns()};

    int rc = replay_prepare(&r, e);
    bool ran = rc == 0;
    if (ran)
        rc = replay_execute(&r, e);
    if (ran && in->figures)
        replay_measure(&r, in->figures);
    /* Whole rows before a cut in the input are results; a run that failed otherwise leaves none. */
    if (ran && in->silent) {
        progress_clear(r.progress);
        notices_end(&r.notices);
    } else if (ran && (rc == 0 || rc == -EBADMSG)) {
        int reported = replay_report(&r, rc ? NULL : e);
        rc = rc ? rc : reported;
    }
    /* After the results are safe: removing many objects takes a while, and a second signal ends it.
     * What was kept stays when nothing was run. */
    bool keep = ran ? r.o->keep : r.tiers.storage.was_kept;
    int closed = tiers_close(&r.tiers, keep, r.objects, rc ? NULL : e);
    rc = rc ? rc : closed;
    *status = replay_outcome_status(&r);
    replay_release(&r);
    return rc;
}
