/* Before a replay: the same plan that the scheduler follows, run over the whole trace with tiers of
 * unlimited size. Its memory is the live objects and those that must be there at the start, which
 * are live together then. */
#include "kvreplay/survey.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvreplay/progress_line.h"
#include "kvreplay/sched/row.h"
#include "lib/base/hash.h"
#include "lib/base/stop.h"

enum {
    SURVEY_GONE = 1 << 18 /* a power of two */
};

/* Names of copies that the trace has removed, as many as fit: a read of one that was forgotten has
 * its object written before the run in vain, no more. */
static struct hash128 *survey_gone_cell(const struct survey *s, struct hash128 *copy, unsigned tier)
{
    copy->lo += tier * UINT64_C(0x9E3779B97F4A7C15);
    return &s->gone[copy->lo & (SURVEY_GONE - 1)];
}

static void survey_remove(struct survey *s, struct hash128 copy, unsigned tier)
{
    *survey_gone_cell(s, &copy, tier) = copy;
}

static bool survey_is_gone(const struct survey *s, struct hash128 copy, unsigned tier)
{
    const struct hash128 *cell = survey_gone_cell(s, &copy, tier);

    return cell->lo == copy.lo && cell->hi == copy.hi;
}

/* An object found to be missing at the start was there all the time until now. */
static int survey_add_initial(struct survey *s, const struct trace_row *t, struct hash128 key,
                              struct object **added)
{
    struct room *room = &s->room[t->tier];
    struct object *o = objects_get(s->objects, key, t->tier);

    if (!o)
        return -ENOMEM;
    *added = o;
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

/* An object that an earlier run may have left. It takes no room in the plan: it need not be there.
 */
static int survey_note(struct survey *s, const struct trace_row *t, struct hash128 key,
                       struct object **noted)
{
    struct object *o = *noted ? *noted : objects_get(s->objects, key, t->tier);

    if (!o)
        return -ENOMEM;
    *noted = o;
    s->noted_objects += !o->initial;
    o->initial = 1;
    if (t->size <= o->size)
        return 0;
    if (__builtin_add_overflow(s->noted_bytes, t->size - o->size, &s->noted_bytes))
        s->noted_bytes = UINT64_MAX;
    o->size = t->size & OBJECT_SIZE_MAX;
    return 0;
}

/* A read: does the object come from before the first row? *have: as far as it is known. */
static int survey_read(struct survey *s, const struct trace_row *t, struct hash128 key, bool create,
                       struct object **have)
{
    struct object *o = *have;
    bool as_it_was = o && o->initial && !o->replaced;

    if (t->size == 0 || t->size > OBJECT_SIZE_MAX || (!o && survey_is_gone(s, key, t->tier)))
        return 0;
    if (!create)
        return t->tier == TRACE_STORAGE && (!o || as_it_was) ? survey_note(s, t, key, have) : 0;
    if (!o || (!o->planned && !o->initial))
        return survey_add_initial(s, t, key, have);
    if (as_it_was)
        survey_enlarge(s, t, o);
    return 0;
}

static int survey_row(struct survey *s, const struct survey_opts *o, const struct trace_row *row,
                      struct hash128 key, bool runs)
{
    struct trace_row t = *row;
    struct plan p;
    int rc = 0;

    t.tier = tier_map_to(&o->map, row->tier);
    struct object *have = objects_find(s->objects, key, t.tier);
    s->tier_rows[t.tier]++;
    /* More than the table can hold and any target has: refused before the run, with its size. */
    if (t.op == TRACE_WRITE && t.size > OBJECT_SIZE_MAX && t.size > s->room[t.tier].peak)
        s->room[t.tier].peak = t.size;
    s->changes[t.tier] |= t.op != TRACE_READ || row_drops(&t);
    if (t.size > s->largest[t.tier] && t.size <= OBJECT_SIZE_MAX)
        s->largest[t.tier] = t.size;
    if (t.op == TRACE_READ && runs)
        rc = survey_read(s, &t, key, o->create, &have);
    bool removes = t.op == TRACE_DELETE || row_drops(&t);
    if (have && removes)
        have->replaced = 1;
    if (removes && !(have && have->initial))
        survey_remove(s, key, t.tier);
    if (rc == 0)
        rc = plan_row(s->objects, &s->room[t.tier], &t, key, have, false, &p);
    if (rc == 0 && p.object)
        objects_settle(s->objects, p.object);
    return rc;
}

static bool survey_wants(const struct trace_row *t, int only_tier)
{
    return t->tier != TRACE_NO_TIER && t->op != TRACE_GENERATE && t->op != TRACE_MISS &&
           (only_tier < 0 || t->tier == only_tier);
}

/* Where the survey is in its pass. */
struct survey_at {
    uint64_t rows;
    int64_t zero_ns; /* Timestamp of the first row that is not at the head; TRACE_NONE: not yet */
    size_t late;     /* rows due after until_ns */
};

/* What progress is measured by. False: the row is due after the end of the run. */
static bool survey_count(struct survey *s, const struct survey_opts *o, struct survey_at *at,
                         const struct trace_row *t)
{
    bool arrives = o->served && t->request != TRACE_NONE && t->arrival_ns != TRACE_NONE;
    int64_t span, begins_ns = arrives ? t->arrival_ns : t->time_ns;

    s->run_rows += o->only_tier < 0 || t->tier == TRACE_NO_TIER || t->tier == o->only_tier;
    if (at->zero_ns == TRACE_NONE && !row_in_head(t))
        at->zero_ns = begins_ns;
    if (at->zero_ns == TRACE_NONE || __builtin_sub_overflow(begins_ns, at->zero_ns, &span))
        return true;
    s->span_ns = span > s->span_ns ? span : s->span_ns;
    at->late += span > o->until_ns;
    return span <= o->until_ns;
}

static bool survey_over(const struct survey_opts *o, const struct survey_at *at)
{
    return (o->limit && at->rows >= o->limit) || (o->look_ahead && at->late >= o->look_ahead);
}

enum {
    SURVEY_STRIDE = 16
};

/* The identities of the next rows' objects, whose places in the table are fetched meanwhile. */
static void survey_look_up(const struct survey *s, const struct survey_opts *o,
                           const struct trace_row *t, size_t n, struct hash128 key[SURVEY_STRIDE])
{
    for (size_t i = 0; i < n; i++) {
        if (!survey_wants(&t[i], o->only_tier))
            continue;
        key[i] = tier_map_copy(&o->map, hash_128(t[i].key.p, t[i].key.len), t[i].tier);
        objects_prefetch_cell(s->objects, key[i], tier_map_to(&o->map, t[i].tier));
    }
    for (size_t i = 0; i < n; i++) {
        if (survey_wants(&t[i], o->only_tier))
            objects_prefetch_entry(s->objects, key[i], tier_map_to(&o->map, t[i].tier));
    }
}

static int survey_stride(struct survey *s, const struct survey_opts *o, struct survey_at *at,
                         const struct trace_row *t, size_t n)
{
    struct hash128 key[SURVEY_STRIDE];

    survey_look_up(s, o, t, n, key);
    for (size_t i = 0; i < n && !survey_over(o, at); i++, t++) {
        at->rows++;
        if (o->user_limit && !user_limit_passes(o->user_limit, t))
            continue;
        bool runs = survey_count(s, o, at, t);
        if (survey_wants(t, o->only_tier) && survey_row(s, o, t, key[i], runs) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int survey_batch(struct survey *s, const struct survey_opts *o, struct survey_at *at,
                        const struct trace_row *t, size_t n)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n && !survey_over(o, at); i += SURVEY_STRIDE)
        rc = survey_stride(s, o, at, t + i, n - i < SURVEY_STRIDE ? n - i : SURVEY_STRIDE);
    return rc;
}

static int survey_pass(struct survey *s, struct trace_cursor *c, const struct survey_opts *o,
                       bool *late, struct err *e)
{
    struct survey_at at = {.zero_ns = TRACE_NONE};
    const struct trace_row *t;
    size_t n;
    int rc = 0;

    while (!survey_over(o, &at) && (rc = trace_cursor_next(c, &t, &n, e)) > 0) {
        if (stop_signal())
            return err_set(e, -EINTR, ERR_FAILED, "", "interrupted");
        if (survey_batch(s, o, &at, t, n) < 0)
            return err_nomem(e, "table of objects");
        progress_line_survey(o->progress, at.rows);
    }
    s->rows += at.rows;
    *late = at.late > 0;
    return rc < 0 ? rc : 0;
}

/* After one pass what is in the tiers depends on nothing but the trace, so that a second one shows
 * all that any later one can need. */
static int survey_again(struct survey *s, struct trace_reader *trace, const struct survey_opts *o,
                        struct err *e)
{
    struct survey_opts all = *o;
    struct trace_cursor *c = NULL;
    bool late;

    all.until_ns = INT64_MAX;
    int rc = trace_rewind(trace, e);
    if (rc == 0)
        rc = trace_cursor_open(&c, trace, e);
    if (rc == 0)
        rc = survey_pass(s, c, &all, &late, e);
    trace_cursor_close(c);
    s->rows = s->rows / 2 * o->loops;
    s->run_rows = s->run_rows / 2 * o->loops;
    return rc;
}

int survey_run(struct survey *s, struct trace_reader *trace, const struct survey_opts *o,
               struct err *e)
{
    struct trace_cursor *c = NULL;
    bool late = false;

    memset(s, 0, sizeof(*s));
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        s->room[i].capacity = s->room[i].max_objects = UINT64_MAX / 2;
    s->objects = objects_create();
    s->gone = calloc(SURVEY_GONE, sizeof(*s->gone));
    if (!s->objects || !s->gone)
        return err_nomem(e, "table of objects");
    int rc = trace_cursor_open(&c, trace, e);
    if (rc == 0)
        rc = survey_pass(s, c, o, &late, e);
    trace_cursor_close(c);
    return rc == 0 && o->loops > 1 && !late ? survey_again(s, trace, o, e) : rc;
}

void survey_release(struct survey *s)
{
    objects_free(s->objects);
    s->objects = NULL;
    free(s->gone);
    s->gone = NULL;
}
