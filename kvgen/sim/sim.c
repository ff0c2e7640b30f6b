/* sim.c - the event loop on a virtual clock: arrivals go into the queue, idle workers take from it,
 * a worker's job is resumed when it may go on. What serving does to the cache is in serve.c. */
#include "kvgen/sim/sim.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/sim/serve.h"

static void free_slots(struct sim *s)
{
    heap_free(&s->wakes);
    free(s->job);
    free(s->parked);
    free(s->idle);
}

static int take_slots(struct sim *s)
{
    uint32_t n = s->o.workers;
    s->job = calloc(n, sizeof *s->job);
    s->idle = calloc(n, sizeof *s->idle);
    s->parked = calloc(n, sizeof *s->parked);
    if (s->job == NULL || s->parked == NULL || s->idle == NULL || heap_init(&s->wakes, n) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < n; i++)
        s->idle[s->idle_count++] = n - 1 - i;
    return 0;
}

static int take_times(struct sim *s)
{
    for (int i = 0; i < SIM_TIMES; i++)
        if ((s->stats.time_ns[i] = hist_create()) == NULL)
            return -ENOMEM;
    if (s->o.speed == NULL)
        return 0;
    s->tier_servers = tier_servers_create(s->o.speed);
    s->pending = pending_rows_create();
    return s->tier_servers == NULL || s->pending == NULL ? -ENOMEM : 0;
}

int sim_create(struct sim **out, const struct sim_opts *o, const struct hierarchy_opts *tiers,
               struct source *source, sim_sink sink, void *ctx, struct err *e)
{
    struct sim *s = calloc(1, sizeof *s);
    if (s == NULL)
        return err_nomem(e, "simulation");
    s->o = *o;
    s->source = source;
    s->sink = sink;
    s->ctx = ctx;
    s->err = e;
    memcpy(s->stats.rows.capacity, tiers->capacity, sizeof s->stats.rows.capacity);
    s->hierarchy = hierarchy_create(tiers, serve_operation, s);
    s->queue = queue_create(o->workload->qos_priority);
    int rc = s->hierarchy == NULL || s->queue == NULL || take_slots(s) < 0 || take_times(s) < 0
                 ? err_nomem(e, "simulation")
                 : 0;
    if (rc < 0) {
        sim_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void sim_free(struct sim *s)
{
    if (s == NULL)
        return;
    hierarchy_free(s->hierarchy);
    queue_free(s->queue);
    free_slots(s);
    tier_servers_free(s->tier_servers);
    pending_rows_free(s->pending);
    for (int i = 0; i < SIM_TIMES; i++)
        hist_free(s->stats.time_ns[i]);
    free(s);
}

/* Equal times come in long runs, such as the 0 of a tier that takes none: each run is recorded at
 * once, when the next one has ended, so that its place in memory has been fetched by then. */
static void end_run(struct sim *s, enum sim_time i)
{
    struct sim_run *due = &s->due[i], *run = &s->run[i];
    if (due->count > 0 && hist_record_n(s->stats.time_ns[i], due->ns, due->count) < 0)
        s->status = err_nomem(s->err, "latencies");
    *due = *run;
    run->count = 0;
    hist_prefetch(s->stats.time_ns[i], due->ns);
}

static void record_time(struct sim *s, enum sim_time i, int64_t ns)
{
    struct sim_run *run = &s->run[i];
    if (run->ns != ns)
        end_run(s, i);
    run->ns = ns;
    run->count++;
}

static void record_times(struct sim *s, const struct job *j)
{
    record_time(s, SIM_QUEUE, j->taken_ns - j->r.arrival_ns);
    record_time(s, SIM_STORAGE, j->served_ns - j->taken_ns);
    record_time(s, SIM_GENERATION, s->stats.now_ns - j->served_ns);
    record_time(s, SIM_END_TO_END, s->stats.now_ns - j->r.arrival_ns);
}

static void complete(struct sim *s, const struct job *j)
{
    const struct request *r = &j->r;
    record_times(s, j);
    s->stats.completed++;
    s->stats.completed_by_qos[r->qos]++;
    s->stats.generated_tokens += (uint64_t)r->generated_tokens;
    if (s->source->ops->done)
        s->source->ops->done(s->source, r, s->stats.now_ns);
}

/* The worker's job goes on, at the present time, until it sleeps or is over and the worker idle. */
static void go_on(struct sim *s, uint32_t worker)
{
    struct job *j = &s->job[worker];
    if (serve_go_on(s, j)) {
        if (j->until_ns == SERVE_PARKED)
            return;
        heap_push(&s->wakes,
                  (struct heap_event){.time_ns = j->until_ns, .tie = j->r.number, .item = worker});
        return;
    }
    s->idle[s->idle_count++] = worker;
    if (s->status == 0)
        complete(s, j);
}

static void wake_due(struct sim *s)
{
    const struct heap_event *top;
    while (s->status == 0 && (top = heap_top(&s->wakes)) != NULL && top->time_ns == s->stats.now_ns)
        go_on(s, heap_pop(&s->wakes).item);
}

/* The next arrival: 1, 0 when there is none (now, or by a limit), negative errno. */
static int peek(struct sim *s, int64_t *arrival_ns)
{
    if (s->o.max_requests > 0 && s->stats.issued >= s->o.max_requests)
        return 0;
    return s->source->ops->peek(s->source, arrival_ns, s->err);
}

static int submit_due(struct sim *s)
{
    int64_t arrival_ns;
    int rc;
    while ((rc = peek(s, &arrival_ns)) > 0 && arrival_ns <= s->stats.now_ns) {
        struct request r;
        s->source->ops->take(s->source, &r);
        s->stats.issued++;
        if (queue_push(s->queue, &r) < 0)
            return err_nomem(s->err, "waiting requests");
    }
    return rc < 0 ? rc : 0;
}

static void dispatch(struct sim *s)
{
    while (s->status == 0 && s->idle_count > 0) {
        uint32_t worker = s->idle[s->idle_count - 1];
        struct job *j = &s->job[worker];
        if (!queue_pop(s->queue, &j->r))
            return;
        s->idle_count--;
        s->stats.served++;
        s->stats.context_tokens += (uint64_t)j->r.context_tokens;
        serve_begin(s, j);
        go_on(s, worker);
    }
}

/* Nothing happens any more, but rows may still be to come. */
static int end_of_rows(struct sim *s)
{
    serve_pending(s, s->o.duration_ns > 0 ? s->o.duration_ns - 1 : SIM_LAST_NS);
    return 0;
}

/* Moves the clock to the next event: 1; 0 at the end of the run; negative errno. */
static int advance(struct sim *s)
{
    int64_t next_ns = INT64_MAX;
    int rc = peek(s, &next_ns);
    if (rc < 0)
        return rc;
    const struct heap_event *end = heap_top(&s->wakes);
    if (rc == 0 && end == NULL)
        return end_of_rows(s);
    if (end != NULL && (rc == 0 || end->time_ns < next_ns))
        next_ns = end->time_ns;
    if (next_ns >= SIM_LAST_NS && s->o.duration_ns == 0)
        return err_set(s->err, -EOVERFLOW, ERR_INPUT, "", "virtual time passes 146 years");
    bool over = s->o.duration_ns > 0 && next_ns >= s->o.duration_ns;
    serve_pending(s, over ? s->o.duration_ns - 1 : next_ns);
    s->stats.now_ns = over ? s->o.duration_ns : next_ns;
    return !over;
}

/* The benchmark's program waits for what its workers have in hand when the time is over. */
static void finish_jobs(struct sim *s)
{
    const struct heap_event *top;
    while (s->status == 0 && (top = heap_top(&s->wakes)) != NULL) {
        serve_pending(s, top->time_ns);
        s->stats.now_ns = top->time_ns;
        wake_due(s);
    }
    serve_pending(s, SIM_LAST_NS);
}

int sim_run(struct sim *s, struct err *e)
{
    s->err = e;
    int rc = 0;
    serve_populate(s);
    while (s->status == 0 && (rc = advance(s)) > 0) {
        wake_due(s);
        rc = submit_due(s);
        if (rc < 0)
            break;
        dispatch(s);
    }
    if (rc == 0 && s->o.mlperf)
        finish_jobs(s);
    s->stats.waiting = queue_length(s->queue);
    for (int i = 0; i < 2 * SIM_TIMES; i++)
        end_run(s, (enum sim_time)(i % SIM_TIMES));
    if (rc < 0)
        return rc;
    return s->status < 0 ? s->status : 0;
}

const struct sim_stats *sim_stats(const struct sim *s)
{
    return &s->stats;
}

const struct tier_servers *sim_tier_servers(const struct sim *s)
{
    return s->tier_servers;
}

const struct hierarchy *sim_hierarchy(const struct sim *s)
{
    return s->hierarchy;
}
