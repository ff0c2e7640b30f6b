/* Before a replay: works out what the scheduler will work out (room.c), over the whole trace and
 * with tiers of unlimited size. Its memory holds the live objects, and those that must be there at
 * the start, which are all live together then. */
#include "kvreplay/prepare/survey.h"

#include <errno.h>
#include <stdlib.h>

#include "kvreplay/progress_line.h"
#include "kvreplay/wait/pace.h"
#include "lib/base/hash.h"
#include "lib/base/stop.h"

enum {
    SURVEY_GONE = 1 << 18,   /* a power of two */
    SURVEY_RECENT = 1 << 16, /* a power of two, more than requests that are served at once */
    SURVEY_STRIDE = 16       /* rows whose places in the table are fetched together */
};

/* A pass over the trace. */
struct survey_pass {
    const struct survey_opts *o;
    struct selection_users *users; /* NULL: all */
    int64_t until_ns;
    uint64_t rows;
    int64_t zero_ns; /* when the first row behind the head begins; TRACE_NONE: not read yet */
    size_t late;     /* rows due after until_ns */
};

/* Where the name of a removed copy is kept; *name becomes that name. There is room for so many. A
 * read of a copy that was overwritten here has its object written before the run in vain, no more.
 */
static struct hash128 *survey_gone(const struct survey *s, struct hash128 copy, unsigned tier,
                                   struct hash128 *name)
{
    *name = copy;
    name->lo += tier * UINT64_C(0x9E3779B97F4A7C15);
    return &s->gone[name->lo & (SURVEY_GONE - 1)];
}

/* Sums stay at UINT64_MAX when they are more. */
static void survey_stored(struct survey *s, unsigned tier, uint64_t bytes)
{
    uint64_t *sum = &s->stored_bytes[tier];

    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = UINT64_MAX;
}

/* The object must be there at the start with the row's size. It was there all the time until now,
 * so its bytes add to the peak. *have: the object, if it is known. */
static int survey_need(struct survey *s, const struct trace_row *t, struct hash128 copy,
                       struct object **have)
{
    struct room *room = &s->room[t->tier];
    struct object *o = *have ? *have : objects_get(s->objects, copy, t->tier);
    struct room_effect effect = {0};

    if (!o)
        return -ENOMEM;
    *have = o;
    uint64_t had = o->initial ? o->size : 0, more = t->size - had;
    if (t->size <= had)
        return 0;
    if (room->planned > room->capacity - more) { /* no tier is that large: the peak says so */
        room->peak = room->capacity;
        return 0;
    }
    if (!o->initial) {
        o->initial = o->planned = 1;
        o->replaced = 0;
        effect.take_objects = 1;
        s->initial_objects[t->tier]++;
    }
    o->size = o->planned_size = t->size & OBJECT_SIZE_MAX;
    effect.take = more;
    room_was_there(room, t->tier, copy, &effect);
    survey_stored(s, t->tier, more);
    s->initial_bytes[t->tier] += more;
    return 0;
}

/* An earlier run may have left the object. It takes no room here, since it need not be there. */
static int survey_note(struct survey *s, const struct trace_row *t, struct hash128 copy,
                       struct object **have)
{
    struct object *o = *have ? *have : objects_get(s->objects, copy, t->tier);

    if (!o)
        return -ENOMEM;
    *have = o;
    s->noted_objects += !o->initial;
    o->initial = 1;
    if (t->size <= o->size)
        return 0;
    if (__builtin_add_overflow(s->noted_bytes, t->size - o->size, &s->noted_bytes))
        s->noted_bytes = UINT64_MAX;
    o->size = t->size & OBJECT_SIZE_MAX;
    return 0;
}

/* A read that the run executes: does its object come from before the first row? */
static int survey_read(struct survey *s, const struct trace_row *t, struct hash128 copy,
                       bool create, struct object **have)
{
    struct object *o = *have;
    bool as_it_was = o && o->initial && !o->replaced;
    struct hash128 name, *gone = survey_gone(s, copy, t->tier, &name);

    if (t->size == 0 || t->size > OBJECT_SIZE_MAX)
        return 0;
    if (!o && hash128_equal(*gone, name))
        return 0;
    if (!create)
        return t->tier == TRACE_STORAGE && (!o || as_it_was) ? survey_note(s, t, copy, have) : 0;
    bool from_before = !o || as_it_was || (!o->planned && !o->initial);
    return from_before ? survey_need(s, t, copy, have) : 0;
}

/* runs: the run executes the row, rather than ending before it. */
static int survey_row(struct survey *s, const struct survey_opts *o, const struct trace_row *row,
                      struct hash128 copy, bool runs)
{
    struct trace_row t = *row;
    struct room_effect effect;
    int rc = 0;

    t.tier = selection_tier(&o->select, row->tier);
    struct object *have = objects_find(s->objects, copy, t.tier);
    bool removes = t.op == TRACE_DELETE || room_drops(&t);
    s->tier_rows[t.tier]++;
    /* Larger than any target and than the table can hold: refused before the run, with its size. */
    if (t.op == TRACE_WRITE && t.size > OBJECT_SIZE_MAX && t.size > s->room[t.tier].peak)
        s->room[t.tier].peak = t.size;
    s->changes[t.tier] |= t.op != TRACE_READ || removes;
    if (t.size > s->largest[t.tier] && t.size <= OBJECT_SIZE_MAX)
        s->largest[t.tier] = t.size;
    if (t.op == TRACE_READ && runs)
        rc = survey_read(s, &t, copy, o->create, &have);
    if (have && removes)
        have->replaced = 1;
    if (removes && !(have && have->initial)) {
        struct hash128 name, *gone = survey_gone(s, copy, t.tier, &name);
        *gone = name;
    }
    if (rc < 0)
        return rc;
    rc = room_admit(&s->room[t.tier], s->objects,
                    &(struct room_row){.t = &t, .copy = copy, .known = have}, &effect);
    if (rc == 0 && effect.verdict == ROOM_GO)
        survey_stored(s, t.tier, effect.take);
    if (rc == 0 && effect.object)
        objects_settle(s->objects, effect.object);
    return rc;
}

/* A row of a request that arrives before the end: counts the request at its first row. A request is
 * forgotten when another has its place, far later in a trace than its own last row. */
static void survey_request(struct survey *s, const struct trace_row *t)
{
    int64_t *place = &s->recent[hash_mix((uint64_t)t->request) & (SURVEY_RECENT - 1)];

    s->due_requests[t->qos] += *place != t->request;
    *place = t->request;
}

static bool survey_over(const struct survey_pass *p)
{
    uint64_t limit = p->o->select.limit;
    return (limit && p->rows >= limit) || (p->o->look_ahead && p->late >= p->o->look_ahead);
}

/* At most SURVEY_STRIDE rows: fetches the places of their objects in the table, then surveys them.
 */
static int survey_stride(struct survey *s, struct survey_pass *p, const struct trace_row *t,
                         size_t n)
{
    const struct selection *select = &p->o->select;
    struct hash128 copy[SURVEY_STRIDE];
    bool moves[SURVEY_STRIDE]; /* the row is selected and works on an object */

    for (size_t i = 0; i < n; i++) {
        moves[i] = t[i].tier != TRACE_NO_TIER && t[i].op != TRACE_GENERATE &&
                   t[i].op != TRACE_MISS && selection_has_tier(select, &t[i]) &&
                   selection_has_key(select, &t[i]);
        if (!moves[i])
            continue;
        copy[i] = selection_copy(select, hash_128(t[i].key.p, t[i].key.len), t[i].tier);
        objects_prefetch_cell(s->objects, copy[i], selection_tier(select, t[i].tier));
    }
    for (size_t i = 0; i < n; i++) {
        if (moves[i])
            objects_prefetch_entry(s->objects, copy[i], selection_tier(select, t[i].tier));
    }
    for (size_t i = 0; i < n && !survey_over(p); i++) {
        p->rows++;
        if (p->users && !selection_has_user(p->users, &t[i]))
            continue;
        int64_t span, begins_ns = pace_begins_ns(p->o->arrivals, &t[i]);
        bool runs = true; /* the row is due before the end of the run */
        s->run_rows += selection_has_tier(select, &t[i]) && selection_has_key(select, &t[i]);
        if (p->zero_ns == TRACE_NONE && !row_in_head(&t[i]))
            p->zero_ns = begins_ns;
        if (p->zero_ns != TRACE_NONE && !__builtin_sub_overflow(begins_ns, p->zero_ns, &span)) {
            s->span_ns = span > s->span_ns ? span : s->span_ns;
            runs = span <= p->until_ns;
            p->late += !runs;
        }
        if (s->recent && runs && t[i].request != TRACE_NONE && !row_in_head(&t[i]) &&
            selection_has_tier(select, &t[i]))
            survey_request(s, &t[i]);
        if (moves[i] && survey_row(s, p->o, &t[i], copy[i], runs) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int survey_pass(struct survey *s, struct survey_pass *p, struct trace_reader *trace,
                       struct err *e)
{
    struct trace_cursor *c = NULL;
    const struct trace_row *t;
    size_t n;

    int rc = trace_cursor_open(&c, trace, e);
    while (rc >= 0 && !survey_over(p) && (rc = trace_cursor_next(c, &t, &n, e)) > 0) {
        if (stop_signal()) {
            rc = err_set(e, -EINTR, ERR_FAILED, "", "interrupted");
            goto out;
        }
        for (size_t i = 0; i < n && !survey_over(p); i += SURVEY_STRIDE) {
            if (survey_stride(s, p, t + i, n - i < SURVEY_STRIDE ? n - i : SURVEY_STRIDE) < 0) {
                rc = err_nomem(e, "table of objects");
                goto out;
            }
        }
        progress_line_survey(p->o->progress, p->rows);
    }
    s->rows += p->rows;
out:
    trace_cursor_close(c);
    return rc < 0 ? rc : 0;
}

int survey_run(struct survey *s, struct trace_reader *trace, const struct survey_opts *o,
               struct err *e)
{
    uint64_t loops = o->select.loops;
    struct survey_pass pass = {.o = o, .until_ns = o->until_ns, .zero_ns = TRACE_NONE};
    int rc;

    *s =
        (struct survey){.objects = objects_create(), .gone = calloc(SURVEY_GONE, sizeof(*s->gone))};
    for (unsigned i = 0; i < TRACE_TIERS; i++)
        s->room[i].capacity = s->room[i].max_objects = UINT64_MAX / 2;
    if (o->arrivals && !(s->recent = malloc(SURVEY_RECENT * sizeof(*s->recent))))
        return err_nomem(e, "table of requests");
    if (o->targets) {
        struct room *room = &s->room[TRACE_STORAGE];
        room->target = calloc(o->targets, sizeof(*room->target));
        if (!room->target)
            return err_nomem(e, "targets");
        room->targets = o->targets;
        room->part = o->part;
        for (unsigned i = 0; i < o->targets; i++)
            room->target[i].capacity = room->target[i].max_objects = UINT64_MAX / 2;
    }
    for (size_t i = 0; s->recent && i < SURVEY_RECENT; i++)
        s->recent[i] = TRACE_NONE;
    if (!s->objects || !s->gone)
        return err_nomem(e, "table of objects");
    if (o->select.users && !(pass.users = selection_users_create(o->select.users)))
        return err_nomem(e, "table of users");
    rc = survey_pass(s, &pass, trace, e);
    if (rc < 0 || loops <= 1 || pass.late > 0)
        goto out;
    /* After one pass, what the tiers hold depends only on the trace. So a second pass shows
     * everything that any later one can need. */
    rc = trace_rewind(trace, e);
    if (rc == 0) {
        pass = (struct survey_pass){
            .o = o, .users = pass.users, .until_ns = INT64_MAX, .zero_ns = TRACE_NONE};
        rc = survey_pass(s, &pass, trace, e);
    }
    s->rows = s->rows / 2 * loops;
    s->run_rows = s->run_rows / 2 * loops;
    for (unsigned i = 0; i < TRACE_TIERS; i++) {
        if (__builtin_mul_overflow(s->stored_bytes[i], loops, &s->stored_bytes[i]))
            s->stored_bytes[i] = UINT64_MAX;
    }
out:
    selection_users_free(pass.users);
    return rc;
}

uint64_t survey_moves(const struct survey *s, enum trace_tier tier)
{
    return s->tier_rows[tier] ? s->rows + s->initial_objects[tier] : 0;
}

void survey_release(struct survey *s)
{
    objects_free(s->objects);
    s->objects = NULL;
    free(s->gone);
    s->gone = NULL;
    free(s->recent);
    s->recent = NULL;
    free(s->room[TRACE_STORAGE].target);
    s->room[TRACE_STORAGE].target = NULL;
    s->room[TRACE_STORAGE].targets = 0;
}
