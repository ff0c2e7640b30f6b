/* Before a replay: the same plan that the scheduler follows, run over the whole trace with tiers of
 * unlimited size. Its memory is the live objects and those that must be there at the start, which
 * are live together then. */
#include "kvreplay/survey.h"

#include <errno.h>
#include <string.h>

#include "kvreplay/row.h"
#include "lib/hash.h"
#include "lib/stop.h"

/* An object found to be missing at the start was there all the time until now. */
static int survey_add_initial(struct survey *s, const struct trace_row *t, struct hash128 key)
{
    struct room *room = &s->room[t->tier];
    struct object *o = objects_get(s->objects, key, t->tier);

    if (!o)
        return -ENOMEM;
    if (room->planned > room->capacity - t->size) { /* no tier is that large: the peak says it */
        room->peak = room->capacity;
        return 0;
    }
    o->initial = o->planned = 1;
    o->replaced = 0;
    o->size = o->planned_size = t->size & OBJECT_SIZE_MAX;
    room->planned += t->size;
    room->peak += t->size;
    room->planned_objects++;
    room->peak_objects++;
    s->initial_objects[t->tier]++;
    s->initial_bytes[t->tier] += t->size;
    return 0;
}

/* A later read wants more of an object that is still as it was at the start. */
static void survey_enlarge(struct survey *s, const struct trace_row *t, struct object *o)
{
    struct room *room = &s->room[t->tier];
    uint64_t more = t->size - o->size;
    if (t->size <= o->size)
        return;
    if (room->planned > room->capacity - more) { /* no tier is that large: the peak says it */
        room->peak = room->capacity;
        return;
    }
    o->size = o->planned_size = t->size & OBJECT_SIZE_MAX;
    room->planned += more;
    room->peak += more;
    s->initial_bytes[t->tier] += more;
}

static int survey_row(struct survey *s, const struct trace_row *t, bool create)
{
    struct hash128 key = hash_128(t->key.p, t->key.len);
    struct plan p;
    int rc = 0;

    s->tier_rows[t->tier]++;
    if (t->size > s->largest[t->tier])
        s->largest[t->tier] = t->size;
    if (t->op == TRACE_READ && create && t->size > 0 && t->size <= OBJECT_SIZE_MAX) {
        struct object *o = objects_find(s->objects, key, t->tier);
        if (!o || (!o->planned && !o->initial))
            rc = survey_add_initial(s, t, key);
        else if (o->initial && !o->replaced)
            survey_enlarge(s, t, o);
    }
    if (rc == 0)
        rc = plan_row(s->objects, &s->room[t->tier], t, key, false, &p);
    objects_settle(s->objects, objects_find(s->objects, key, t->tier));
    return rc;
}

static bool survey_wants(const struct trace_row *t, int only_tier)
{
    return t->tier != TRACE_NO_TIER && t->op != TRACE_GENERATE && t->op != TRACE_MISS &&
           (only_tier < 0 || t->tier == only_tier);
}

/* What progress is measured by. */
static void survey_count(struct survey *s, const struct trace_row *t, int only_tier,
                         int64_t *zero_ns)
{
    int64_t span;

    s->run_rows += only_tier < 0 || t->tier == TRACE_NO_TIER || t->tier == only_tier;
    if (*zero_ns == TRACE_NONE && t->class != TRACE_PREPOP && t->class != TRACE_INGEST)
        *zero_ns = t->time_ns;
    if (*zero_ns != TRACE_NONE && !__builtin_sub_overflow(t->time_ns, *zero_ns, &span) &&
        span > s->span_ns)
        s->span_ns = span;
}

static int survey_pass(struct survey *s, struct trace_cursor *c, uint64_t limit, int only_tier,
                       struct gate *gate, bool create, struct err *e)
{
    const struct trace_row *t;
    int64_t zero_ns = TRACE_NONE;
    size_t n;
    int rc;

    while ((rc = trace_cursor_next(c, &t, &n, e)) > 0) {
        if (stop_signal())
            return err_set(e, -EINTR, ERR_FAILED, "", "interrupted");
        for (size_t i = 0; i < n && (!limit || s->rows < limit); i++, t++) {
            s->rows++;
            if (gate && !gate_passes(gate, t))
                continue;
            survey_count(s, t, only_tier, &zero_ns);
            if (survey_wants(t, only_tier) && survey_row(s, t, create) < 0)
                return err_nomem(e, "table of objects");
        }
        if (limit && s->rows >= limit)
            return 0;
    }
    return rc;
}

int survey_run(struct survey *s, struct trace_reader *trace, uint64_t limit, int only_tier,
               struct gate *gate, bool create, struct err *e)
{
    struct trace_cursor *c = NULL;

    memset(s, 0, sizeof(*s));
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        s->room[i].capacity = s->room[i].max_objects = UINT64_MAX / 2;
    s->objects = objects_create();
    if (!s->objects)
        return err_nomem(e, "table of objects");
    int rc = trace_cursor_open(&c, trace, e);
    if (rc == 0)
        rc = survey_pass(s, c, limit, only_tier, gate, create, e);
    trace_cursor_close(c);
    return rc;
}

void survey_release(struct survey *s)
{
    objects_free(s->objects);
    s->objects = NULL;
}
