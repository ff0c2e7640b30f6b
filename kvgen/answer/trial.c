/* trial.c - hears of each request that is done. Until the simulation is warm it only watches where
 * tokens come from; then it counts until the criterion is decided. */
#include "kvgen/answer/trial.h"

#include <errno.h>

#include "kvgen/answer/line.h"
#include "lib/base/stop.h"

/* Beyond the horizon and the requests that count nothing is waited for. */
#define LAST_NS (2 * WARM_HORIZON_NS)
/* An engine that computes nothing for so many times the target of the first token, though it takes
 * steps, or moves so many copies while no request gets done, only pushes copies around. */
#define IDLE_TARGETS 5
#define MOVED_COPIES UINT64_C(20000000)

struct running {
    const struct trial_opts *o;
    struct trial *t;
    struct engine_run *run;
    const struct source *source;
    struct warm warm;
    uint64_t warm_most; /* requests until it is warm */
    uint64_t recalled;  /* requests that only brought caches to where they are */
    struct line line;   /* of the warm part */
    bool is_warm, failed, stopped, thrashes;
    bool heard;                  /* of a request that was done, since the last look */
    uint64_t done_rows;          /* rows at the look after that */
    uint64_t steps, empty_steps; /* with tokens, and without; at the last look */
    int64_t computed_ns;         /* when there was one with tokens */
    uint64_t moved[2];
    struct transfers_files files;
    uint64_t refused_admissions;
    int64_t busy_ns;
};

/* Bytes read from files, and written, so far. */
static void moved(const struct running *r, uint64_t bytes[2])
{
    const struct copy_rows_tier *files = &engine_run_copies(r->run)->tier[TRACE_STORAGE];
    bytes[0] = files->loaded_bytes * r->o->engine.room.ranks;
    bytes[1] = files->stored_bytes * r->o->engine.room.ranks;
}

static void begin_warm(struct running *r, const struct engine_done *d)
{
    const struct engine_run_stats *st = engine_run_stats(r->run);
    r->is_warm = true;
    r->t->settled = r->warm.settled;
    r->t->warm_ns = d->now_ns;
    r->files = st->files;
    moved(r, r->moved);
    r->busy_ns = st->busy_ns;
    r->refused_admissions = st->refused_admissions;
}

static bool record(struct hist *h, int64_t ns)
{
    return hist_record(h, ns) == 0;
}

/* Time beyond TRIAL_STILL_TARGETS times the target, in the warm part. */
static void add_still(struct running *r, int64_t target_ns, int64_t arrival_ns, int64_t until_ns)
{
    int64_t from_ns = arrival_ns + TRIAL_STILL_TARGETS * target_ns;
    if (from_ns < r->t->warm_ns)
        from_ns = r->t->warm_ns;
    if (until_ns > from_ns)
        r->t->still_ns += until_ns - from_ns;
}

/* A request that came at arrival_ns had no first token until then. */
static bool wait_for_first(struct running *r, enum trace_qos qos, uint64_t prompt_tokens,
                           int64_t arrival_ns, int64_t until_ns)
{
    const struct criterion *c = r->o->criterion;
    const int64_t waited_ns = until_ns - arrival_ns;
    if (waited_ns > TRIAL_STILL_TARGETS * c->first_token_ns)
        add_still(r, criterion_first_token_ns(c, &r->o->engine.steps, prompt_tokens), arrival_ns,
                  until_ns);
    return record(r->t->first_token_ns[qos], waited_ns) &&
           record(r->t->first_token_ns[TRACE_QOSES], waited_ns);
}

static void count(struct running *r, const struct engine_done *d,
                  const uint64_t origin[WARM_ORIGINS], bool good)
{
    struct trial *t = r->t;
    criterion_count(&t->tally, d->qos, good);
    t->too_long += d->too_long;
    if (d->too_long)
        return;
    for (int i = 0; i < WARM_ORIGINS; i++)
        t->origin[i] += origin[i];
    for (int i = 0; i < ENGINE_TIMES; i++)
        t->time_ns[i] += d->time_ns[i];
    t->output_tokens += d->output_tokens;
    t->span_ns = d->now_ns - t->warm_ns;
    bool ok = line_add(&r->line, d->here) == 0 &&
              wait_for_first(r, d->qos, d->prompt_tokens, d->arrival_ns,
                             d->arrival_ns + d->first_token_ns);
    if (d->token_ns >= 0)
        ok = record(t->token_ns, d->token_ns) && ok;
    t->hits += origin[WARM_STORAGE] > 0;
    if (origin[WARM_STORAGE])
        ok = record(t->files_ns, d->files_ns) && ok;
    r->failed |= !ok;
}

/* A load that holds is counted to the same end whether its figures are wanted or not. */
static bool is_enough(const struct running *r)
{
    const struct trial *t = r->t;
    const uint64_t requests = criterion_requests(&t->tally);
    if (!criterion_is_decided(r->o->criterion, &t->tally))
        return false;
    if (r->o->whole && (t->span_ns < r->o->least_ns || requests < CRITERION_REQUESTS))
        return false;
    return r->o->brief || t->span_ns >= TRIAL_LEAST_NS || requests >= CRITERION_REQUESTS_MAX ||
           criterion_goodput(&t->tally) < r->o->criterion->goodput;
}

/* engine_run_opts.look: nobody may hear of a request that is done for a long time. */
static bool look(void *ctx, int64_t now_ns, uint64_t rows)
{
    struct running *r = ctx;
    const struct engine_run_stats *st = engine_run_stats(r->run);
    const bool waits = st->empty_steps + r->steps == st->steps && st->empty_steps > r->empty_steps;
    if (!waits)
        r->computed_ns = now_ns;
    r->steps = st->steps - st->empty_steps;
    r->empty_steps = st->empty_steps;
    if (r->heard) {
        r->done_rows = rows;
        r->computed_ns = now_ns;
    }
    r->heard = false;
    r->thrashes = rows - r->done_rows > MOVED_COPIES ||
                  now_ns - r->computed_ns > IDLE_TARGETS * r->o->criterion->first_token_ns;
    r->stopped |= stop_asks();
    return r->thrashes || r->stopped;
}

/* Whether the load itself is under way; from then on it gets warm. */
static bool has_begun(struct running *r, int64_t now_ns)
{
    const struct source_ops *ops = r->source->ops;
    if (r->warm.most)
        return true;
    if (ops->recalls && ops->recalls(r->source) && ++r->recalled < WARM_REQUESTS_MAX)
        return false;
    warm_begin(&r->warm, ops->recalls ? now_ns : 0, r->warm_most);
    return true;
}

/* engine_run_opts.done. */
static bool hear(void *ctx, const struct engine_done *d)
{
    struct running *r = ctx;
    uint64_t origin[WARM_ORIGINS] = {[WARM_GPU] = d->found_tokens[TRACE_GPU],
                                     [WARM_HOST] = d->found_tokens[TRACE_CPU],
                                     [WARM_STORAGE] = d->found_tokens[TRACE_STORAGE]};
    const uint64_t found = origin[WARM_GPU] + origin[WARM_HOST] + origin[WARM_STORAGE];
    const bool good = !d->too_long && criterion_is_good(r->o->criterion, &r->o->engine.steps, d);
    origin[WARM_COMPUTED] = d->prompt_tokens > found ? d->prompt_tokens - found : 0;
    r->heard = true;
    if (!has_begun(r, d->now_ns))
        return false;
    if (!r->is_warm && warm_add(&r->warm, d->now_ns, origin, good))
        begin_warm(r, d);
    if (r->is_warm)
        count(r, d, origin, good);
    r->t->hopeless = !r->is_warm && !r->o->whole && warm_is_hopeless(&r->warm);
    return r->failed || r->t->hopeless || (r->is_warm && is_enough(r));
}

/* engine_run_pending: who waits without an end is never heard of, so those who are not done and
 * late count, too. */
static void count_late(void *ctx, const struct engine_pending *p)
{
    struct running *r = ctx;
    struct trial *t = r->t;
    if (!criterion_is_late(r->o->criterion, &r->o->engine.steps, p))
        return;
    criterion_count(&t->tally, p->qos, false);
    t->late++;
    bool ok = p->first_ns || wait_for_first(r, p->qos, p->prompt_tokens, p->arrival_ns, p->now_ns);
    if (p->files_ns)
        ok = record(t->files_ns, p->files_ns) && ok;
    r->failed |= !ok;
}

static bool stand_still(const struct running *r)
{
    return r->o->load->users && (double)r->t->still_ns > (1 - r->o->criterion->goodput) *
                                                             (double)r->o->n *
                                                             (double)r->t->span_ns;
}

static void take_results(struct running *r)
{
    const struct engine_run_stats *st = engine_run_stats(r->run);
    struct trial *t = r->t;
    moved(r, t->moved);
    for (int i = 0; i < 2; i++) {
        t->moved[i] -= r->moved[i];
        t->files.bytes[i] = st->files.bytes[i] - r->files.bytes[i];
        t->files.objects[i] = st->files.objects[i] - r->files.objects[i];
        t->files.in_flight_ns[i] = st->files.in_flight_ns[i] - r->files.in_flight_ns[i];
    }
    t->busy_ns = st->busy_ns - r->busy_ns;
    t->refused_admissions = st->refused_admissions - r->refused_admissions;
    t->longest_prompt = st->longest_prompt;
    t->stuck = st->stuck > 0 || r->thrashes;
    for (int i = 0; i < TRACE_TIERS; i++)
        t->peak_bytes[i] = engine_run_sim_stats(r->run)->rows.tier[i].peak_bytes;
    if (r->is_warm)
        engine_run_pending(r->run, count_late, r);
    t->held = r->is_warm && !t->stuck && criterion_holds(r->o->criterion, &t->tally) &&
              !line_grows(&r->line);
    t->still = t->held && stand_still(r);
    t->held = t->held && !t->still;
}

static int open_hists(struct trial *t, struct err *e)
{
    bool ok = (t->token_ns = hist_create()) && (t->files_ns = hist_create());
    for (int q = 0; q <= TRACE_QOSES; q++)
        ok = (t->first_token_ns[q] = hist_create()) && ok;
    return ok ? 0 : err_nomem(e, "a simulation");
}

void trial_free(struct trial *t)
{
    hist_free(t->token_ns);
    hist_free(t->files_ns);
    for (int q = 0; q <= TRACE_QOSES; q++)
        hist_free(t->first_token_ns[q]);
    *t = (struct trial){0};
}

int trial_run(struct trial *t, const struct trial_opts *o, struct err *e)
{
    struct running r = {.o = o, .t = t};
    struct engine_run_opts engine = o->engine;
    void *opened = NULL;
    *t = (struct trial){.n = o->n, .seed = o->seed};
    const uint64_t half = o->load->requests / 2;
    r.warm_most = half && half < WARM_REQUESTS_MAX ? half : WARM_REQUESTS_MAX;
    if (o->brief)
        r.warm_most /= TRIAL_BRIEF;
    int rc = open_hists(t, e);
    if (rc == 0)
        rc = o->load->open(o->load->ctx, o->n, o->seed, &opened, &engine.source, e);
    if (rc == 0) {
        r.source = engine.source;
        engine.done = hear;
        engine.done_ctx = &r;
        engine.look = look;
        engine.look_ctx = &r;
        engine.duration_ns = LAST_NS;
        rc = engine_run_create(&r.run, &engine, o->sink, o->sink_ctx, e);
    }
    if (rc == 0)
        rc = engine_run(r.run, e);
    if (rc == 0 && r.stopped)
        rc = -EINTR;
    if (rc == 0)
        take_results(&r);
    if (rc == 0 && r.failed)
        rc = err_nomem(e, "a simulation");
    engine_run_free(r.run);
    line_free(&r.line);
    if (opened)
        o->load->close(opened);
    return rc;
}

uint64_t trial_done(const struct trial *t)
{
    return criterion_requests(&t->tally) - t->late;
}

double trial_requests_s(const struct trial *t)
{
    return t->span_ns > 0 ? (double)trial_done(t) / ((double)t->span_ns / 1e9) : 0;
}
