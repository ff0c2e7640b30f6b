/* The event loop on a virtual clock. A request comes from the source, waits in the queue (queue.c),
 * is taken by an idle worker and becomes its job: steps (serve.c) of operations on the cache
 * (cache.c), which tell their rows (emitter.c). A job that has to wait sleeps until its time; when
 * its generation ends, the request is complete and the worker idle. */
#include "kvgen/sim/sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/sim/queue.h"
#include "kvgen/sim/serve.h"
#include "lib/base/units.h"

/* Requests in a row that took the same time. */
struct equal_times {
    int64_t ns;
    uint64_t count;
};

struct sim {
    struct sim_opts o;
    struct virtual_clock clock; /* wakes: the workers whose jobs sleep */
    struct queue *queue;
    struct emitter *emitter;
    struct cache *cache;
    struct serving serving;
    struct job *job; /* by worker */
    uint32_t *idle;  /* stack of idle workers */
    uint32_t idle_count;
    struct equal_times last[SIM_TIMES]; /* which may go on */
    struct equal_times due[SIM_TIMES];  /* those before, to be recorded */
    struct sim_stats stats;
};

/* ---- arrival: from the source into the queue ---- */

/* The next arrival: 1; 0: there is none, now or because of a limit; negative errno. */
static int peek(struct sim *s, int64_t *arrival_ns)
{
    struct source *source = s->o.source;
    if (s->o.max_requests > 0 && s->stats.issued >= s->o.max_requests)
        return 0;
    return source->ops->peek(source, arrival_ns, s->clock.err);
}

/* Requests in the queue, without the documents there. */
static uint64_t waiting(const struct sim *s)
{
    return s->stats.issued - s->stats.served;
}

static int too_many_wait(const struct sim *s)
{
    char bytes[32];
    return err_set(
        s->clock.err, -EFBIG, ERR_INPUT, "--config queue_memory",
        "%llu requests wait after %.0f s and take more than %s: more arrive than %u "
        "workers serve (--arrival closed lets users wait for answers, --config queue_memory "
        "allows more)",
        (unsigned long long)waiting(s), (double)s->clock.now_ns / (double)UNITS_NS_PER_S,
        units_format_bytes(bytes, sizeof(bytes), (double)s->o.queue_bytes), s->o.workers);
}

/* All that has arrived by now. 0 or negative errno. */
static int submit_due(struct sim *s)
{
    struct source *source = s->o.source;
    int64_t arrival_ns;
    int rc;
    while ((rc = peek(s, &arrival_ns)) > 0 && arrival_ns <= s->clock.now_ns) {
        struct request r;
        source->ops->take(source, &r);
        s->stats.issued += !r.ingest;
        if (queue_push(s->queue, &r) < 0)
            return err_nomem(s->clock.err, "waiting requests");
        if (s->o.queue_bytes > 0 && queue_bytes(s->queue) > s->o.queue_bytes)
            return too_many_wait(s);
    }
    if (rc > 0)
        serve_look_ahead(&s->serving);
    return rc < 0 ? rc : 0;
}

/* ---- the end of a request ---- */

/* Equal times come in long series, such as the 0 of a tier that takes no time. Each series is
 * recorded at once, when the one after it has ended: its place in memory has been fetched by then.
 */
static void end_series(struct sim *s, enum sim_time which)
{
    struct equal_times *due = &s->due[which], *last = &s->last[which];
    struct hist *h = s->stats.time_ns[which];
    if (due->count > 0 && hist_record_n(h, due->ns, due->count) < 0)
        s->clock.ended = err_nomem(s->clock.err, "latencies");
    *due = *last;
    last->count = 0;
    hist_prefetch(h, due->ns);
}

static void record_time(struct sim *s, enum sim_time which, int64_t from_ns, int64_t to_ns)
{
    struct equal_times *last = &s->last[which];
    int64_t ns = to_ns - from_ns;
    if (last->ns != ns)
        end_series(s, which);
    last->ns = ns;
    last->count++;
}

static void complete(struct sim *s, const struct job *j)
{
    struct source *source = s->o.source;
    const struct request *r = &j->r;
    int64_t now_ns = s->clock.now_ns;
    if (r->ingest) {
        record_time(s, SIM_INGEST, r->arrival_ns, now_ns);
        return;
    }
    record_time(s, SIM_QUEUE, r->arrival_ns, j->taken_ns);
    record_time(s, SIM_STORAGE, j->taken_ns, j->served_ns);
    record_time(s, SIM_GENERATION, j->served_ns, now_ns);
    record_time(s, SIM_END_TO_END, r->arrival_ns, now_ns);
    s->stats.completed++;
    s->stats.completed_by_qos[r->qos]++;
    s->stats.generated_tokens += (uint64_t)r->generated_tokens;
    /* The last block of a request may have fewer tokens than a block. */
    s->stats.hit_tokens +=
        (uint64_t)(j->hit_tokens < r->context_tokens ? j->hit_tokens : r->context_tokens);
    if (source->ops->done)
        source->ops->done(source, r, now_ns);
}

/* ---- workers ---- */

/* The worker's job goes on at the present time until it sleeps, is parked (another job will wake
 * it) or is over. */
static void go_on(struct sim *s, uint32_t worker)
{
    struct job *j = &s->job[worker];
    if (serve_go_on(&s->serving, j)) {
        if (j->access.job.until_ns != SLEEPER_PARKED)
            virtual_clock_wake(&s->clock, &j->access.job, j->access.job.until_ns);
        return;
    }
    s->idle[s->idle_count++] = worker;
    if (s->clock.ended == 0)
        complete(s, j);
}

/* The request has waited until now. */
static void record_queued(struct sim *s, const struct request *r)
{
    struct hist *h = s->stats.queued_ns[r->qos];
    if (h && hist_record(h, s->clock.now_ns - r->arrival_ns) < 0)
        virtual_clock_fail(&s->clock, err_nomem(s->clock.err, "latencies"));
}

/* Records the requests that are not complete at the end of the run. */
static void record_rest(struct sim *s)
{
    struct request r;
    s->stats.in_progress = s->stats.served - s->stats.completed;
    s->stats.waiting = waiting(s);
    s->stats.waiting_documents = queue_length(s->queue) - s->stats.waiting;
    while (s->stats.queued_ns[0] && queue_pop(s->queue, &r)) {
        if (r.ingest)
            continue;
        s->stats.waiting_by_qos[r.qos]++;
        record_queued(s, &r);
    }
}

/* The workers whose jobs slept until now. */
static void wake_due(struct sim *s)
{
    struct virtual_clock *c = &s->clock;
    const struct heap_event *next;
    while (c->ended == 0 && (next = heap_top(&c->wakes)) != NULL && next->time_ns == c->now_ns)
        go_on(s, heap_pop(&c->wakes).item);
}

/* Idle workers take requests from the queue. */
static void dispatch(struct sim *s)
{
    while (s->clock.ended == 0 && s->idle_count > 0) {
        uint32_t worker = s->idle[s->idle_count - 1];
        struct job *j = &s->job[worker];
        if (!queue_pop(s->queue, &j->r))
            return;
        s->idle_count--;
        if (!j->r.ingest) {
            s->stats.served++;
            record_queued(s, &j->r);
            s->stats.context_tokens += (uint64_t)j->r.context_tokens;
        }
        serve_begin(&s->serving, j, worker);
        go_on(s, worker);
    }
}

/* ---- the clock ---- */

/* Moves the clock to the next event: 1; 0: the run ends; negative errno. Operations that end before
 * the event, or before the end of the run, are completed. */
static int advance(struct sim *s)
{
    int64_t last_ns = s->o.duration_ns > 0 ? s->o.duration_ns - 1 : VIRTUAL_CLOCK_LAST_NS;
    int64_t arrival_ns, next_ns;
    int rc = peek(s, &arrival_ns);
    if (rc < 0)
        return rc;
    do {
        const struct heap_event *wake = heap_top(&s->clock.wakes);
        next_ns = rc > 0 ? arrival_ns : INT64_MAX;
        if (wake && wake->time_ns < next_ns)
            next_ns = wake->time_ns;
    } while (cache_advance(s->cache, next_ns < last_ns ? next_ns : last_ns));
    if (next_ns == INT64_MAX || s->clock.ended != 0)
        return 0;
    if (s->o.duration_ns > 0 && next_ns > last_ns) {
        s->clock.now_ns = s->o.duration_ns;
        return 0;
    }
    if (next_ns >= VIRTUAL_CLOCK_LAST_NS)
        return err_set(s->clock.err, -EOVERFLOW, ERR_INPUT, "",
                       "virtual time is limited to 146 years");
    s->clock.now_ns = next_ns;
    return 1;
}

/* compat.h, finishes_jobs. */
static void finish_jobs(struct sim *s)
{
    while (s->clock.ended == 0) {
        const struct heap_event *wake = heap_top(&s->clock.wakes);
        if (cache_advance(s->cache, wake ? wake->time_ns : VIRTUAL_CLOCK_LAST_NS))
            continue;
        if (!wake)
            return;
        s->clock.now_ns = wake->time_ns;
        wake_due(s);
    }
}

int sim_run(struct sim *s, struct err *e)
{
    int rc = 0;
    s->clock.err = e;
    serve_populate(&s->serving);
    while (s->clock.ended == 0 && (rc = advance(s)) > 0) {
        wake_due(s);
        rc = submit_due(s);
        if (rc < 0)
            break;
        dispatch(s);
    }
    if (rc == 0 && s->o.compat->finishes_jobs)
        finish_jobs(s);
    record_rest(s);
    cache_end(s->cache);
    for (int i = 0; i < SIM_TIMES; i++) {
        end_series(s, (enum sim_time)i);
        end_series(s, (enum sim_time)i);
    }
    s->stats.now_ns = s->clock.now_ns;
    if (rc < 0)
        return rc;
    return s->clock.ended < 0 ? s->clock.ended : 0;
}

/* ---- from beginning to end ---- */

int sim_create(struct sim **out, const struct sim_opts *o, sim_sink sink, void *ctx, struct err *e)
{
    uint32_t n = o->workers;
    struct sim *s = calloc(1, sizeof(*s));
    *out = NULL;
    if (!s)
        return err_nomem(e, "simulation");
    s->o = *o;
    if (!o->compat)
        s->o.compat = &compat_none;
    s->clock.err = e;
    memcpy(s->stats.rows.capacity, o->tiers.capacity, sizeof(s->stats.rows.capacity));
    bool ok = heap_init(&s->clock.wakes, n) == 0;
    s->queue = queue_create(o->workload->qos_priority);
    s->emitter = emitter_create(&s->clock, &s->stats.rows, sink, ctx);
    s->cache = cache_create(&s->o, &s->clock, s->emitter);
    s->job = calloc(n, sizeof(*s->job));
    s->idle = calloc(n, sizeof(*s->idle));
    for (int i = 0; i < SIM_TIMES; i++)
        ok = (s->stats.time_ns[i] = hist_create()) != NULL && ok;
    for (int i = 0; i < TRACE_QOSES && o->speed; i++)
        ok = (s->stats.queued_ns[i] = hist_create()) != NULL && ok;
    if (s->queue && o->speed && !s->o.compat->priority_only)
        queue_take_turns(s->queue);
    if (!ok || !s->queue || !s->emitter || !s->cache || !s->job || !s->idle) {
        sim_free(s);
        return err_nomem(e, "simulation");
    }
    s->serving = (struct serving){.o = &s->o,
                                  .clock = &s->clock,
                                  .cache = s->cache,
                                  .hierarchy = cache_hierarchy(s->cache),
                                  .emitter = s->emitter};
    while (s->idle_count < n) {
        s->idle[s->idle_count] = n - 1 - s->idle_count;
        s->idle_count++;
    }
    *out = s;
    return 0;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    cache_free(s->cache);
    emitter_free(s->emitter);
    queue_free(s->queue);
    heap_free(&s->clock.wakes);
    free(s->job);
    free(s->idle);
    for (int i = 0; i < SIM_TIMES; i++)
        hist_free(s->stats.time_ns[i]);
    for (int i = 0; i < TRACE_QOSES; i++)
        hist_free(s->stats.queued_ns[i]);
    free(s);
}

const struct sim_stats *sim_stats(const struct sim *s)
{
    return &s->stats;
}

const struct hierarchy *sim_hierarchy(const struct sim *s)
{
    return cache_hierarchy(s->cache);
}

const struct tier_servers *sim_tier_servers(const struct sim *s)
{
    return cache_servers(s->cache);
}
