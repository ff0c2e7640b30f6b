/* verbs.c - what steps do to the cache, one operation after the other: looking up, reading,
 * writing, with the waiting between them; and the rows that come of it on their way to the sink. */
#include <errno.h>

#include "kvgen/sim/serve.h"

/* How long a write of the benchmark's program is under way: in a measured run, from a request's
 * submission to its first row (median). How often two meet hardly matters: what is reserved twice
 * grows until the tier is empty, and begins anew. */
#define MLPERF_WRITE_NS 300000

/* ---- rows ---- */

/* Counts a row and hands it on, until the sink has ended the run. */
void serve_row(struct sim *s, const struct sim_row *row)
{
    if (s->status != 0)
        return;
    row_counts_add(&s->stats.rows, &row->what);
    s->status = s->sink(s->ctx, row, s->err);
}

void serve_fail(struct sim *s, int code)
{
    if (s->status >= 0)
        s->status = code;
}

/* With tiers that take time a row may have to wait for its own. */
static void emit_timed(struct sim *s, struct sim_row *row)
{
    struct tier_server_span span;
    if (tier_servers_schedule(s->tier_servers, &row->what, s->stats.now_ns, &span) < 0) {
        serve_fail(s, err_nomem(s->err, "operations under way"));
        return;
    }
    if (row->what.phase != TRACE_EVICT)
        s->complete_ns = span.complete_ns;
    row->time_ns = span.issue_ns;
    if (row->time_ns == s->stats.now_ns)
        serve_row(s, row);
    else if (pending_rows_add(s->pending, row) < 0)
        serve_fail(s, err_nomem(s->err, "rows to come"));
}

void serve_operation(void *ctx, const struct hierarchy_op *op)
{
    struct sim *s = ctx;
    struct sim_row row = {.time_ns = s->stats.now_ns, .request = s->serving, .what = *op};
    if (s->serving == NULL)
        row.what.class = s->before; /* done, whatever time it took, when the clock begins */
    if (s->tier_servers != NULL && s->serving != NULL)
        emit_timed(s, &row);
    else
        serve_row(s, &row);
}

void serve_pending(struct sim *s, int64_t until_ns)
{
    const struct sim_row *row;
    while (s->pending != NULL && (row = pending_rows_take(s->pending, until_ns)) != NULL) {
        s->stats.now_ns = row->time_ns;
        serve_row(s, row);
    }
}

/* ---- places for writers ---- */

/* To the job that has waited longest. */
void serve_free_place(struct sim *s, struct job *j)
{
    j->place = SERVE_NO_PLACE;
    s->writers--;
    if (s->parked_count == 0)
        return;
    uint32_t worker = s->parked[s->parked_first];
    s->parked_first = (s->parked_first + 1) % s->o.workers;
    s->parked_count--;
    s->writers++;
    struct job *next = &s->job[worker];
    next->place = SERVE_MAY_WRITE;
    next->until_ns = s->stats.now_ns;
    heap_push(&s->wakes, (struct heap_event){
                             .time_ns = next->until_ns, .tie = next->r.number, .item = worker});
}

/* false: the job is parked until a place is free. */
static bool take_place(struct sim *s, struct job *j)
{
    if (s->o.max_writers == 0)
        return true;
    if (j->place == SERVE_NO_PLACE && s->writers == s->o.max_writers) {
        s->parked[(s->parked_first + s->parked_count++) % s->o.workers] = (uint32_t)(j - s->job);
        j->until_ns = SERVE_PARKED;
        return false;
    }
    if (j->place == SERVE_NO_PLACE)
        s->writers++;
    j->place = SERVE_WRITES;
    return true;
}

/* ---- objects ---- */

bool serve_size(struct sim *s, int64_t tokens, uint64_t *size)
{
    int rc = model_bytes(s->o.model, (uint64_t)tokens, size);
    if (rc == 0 && *size <= (uint64_t)INT64_MAX) {
        *size /= s->o.tensor_parallel;
        return true;
    }
    serve_fail(s, err_set(s->err, -EOVERFLOW, ERR_INPUT, s->o.model->id,
                          "an object of %lld tokens does not fit 63 bits of bytes",
                          (long long)tokens));
    return false;
}

enum serve_look serve_look_timed(struct sim *s, struct job *j, struct ident id,
                                 enum trace_class class)
{
    j->until_ns = tier_servers_ready_ns(s->tier_servers, id, s->stats.now_ns);
    if (j->until_ns > s->stats.now_ns)
        return SERVE_WAIT;
    bool hit = hierarchy_read(s->hierarchy, id, class);
    j->until_ns = s->complete_ns;
    return hit ? SERVE_HIT : SERVE_MISS;
}

/* The benchmark's workers make room side by side; those that do so at once reserve it twice. */
static void tell_race(struct sim *s, const struct request *r)
{
    bool under_way = s->writer > 0 && s->stats.now_ns - s->written_ns < MLPERF_WRITE_NS;
    if (under_way && s->writer != r->number && s->o.workers > 1)
        hierarchy_race(s->hierarchy);
    s->writer = r->number;
    s->written_ns = s->stats.now_ns;
}

bool serve_put(struct sim *s, struct job *j, struct ident id, uint64_t size, int64_t tokens,
               enum trace_class class)
{
    if (serve_has_to_wait(s, j) || !take_place(s, j))
        return false;
    /* Another one may have written it while this one waited. */
    if (s->tier_servers != NULL && hierarchy_has(s->hierarchy, id))
        return true;
    if (s->o.mlperf)
        tell_race(s, &j->r);
    int rc = hierarchy_write(s->hierarchy, id, size, (uint32_t)tokens, class);
    if (rc < 0)
        serve_fail(s, err_nomem(s->err, "live objects"));
    if (rc <= 0)
        j->dropped = true;
    else if (s->tier_servers != NULL)
        j->until_ns = s->complete_ns;
    return true;
}

/* ---- what the curve is told: what a request looks up and writes in a cache of any size ---- */

static void check_curve(struct sim *s, int rc)
{
    if (rc < 0)
        serve_fail(s, curve_failed(rc, s->err));
}

void serve_probe_curve(struct sim *s, struct ident id)
{
    if (s->o.curve != NULL)
        check_curve(s, curve_probe(s->o.curve, id));
}

void serve_probe_curve_entry(struct sim *s, struct ident id)
{
    if (s->o.curve != NULL)
        check_curve(s, curve_probe_entry(s->o.curve, id));
}

void serve_tell_curve(struct sim *s, int (*by)(struct curve *, struct ident, uint64_t),
                      struct ident id, int64_t tokens)
{
    uint64_t size;
    if (s->o.curve != NULL && serve_size(s, tokens, &size))
        check_curve(s, by(s->o.curve, id, size));
}
