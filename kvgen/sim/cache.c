/* Between the steps of a request (serve.c) and the tiers: entries become objects, objects are
 * looked up and written in the hierarchy, which says at once where they go, and the tiers' servers
 * say when that is. Whoever has to wait is told until when. Which entries a request uses is decided
 * in serve.c, where objects lie in hierarchy.c, how long operations take in tier_servers.c. */
#include "kvgen/sim/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "kvgen/curve/curve.h"

struct cache {
    const struct sim_opts *o;
    struct virtual_clock *clock;
    struct emitter *emitter;
    struct hierarchy *hierarchy;
    struct tier_servers *servers;
    struct sim_row row;            /* of the operation that the hierarchy tells */
    const struct request *request; /* whose operations these are; NULL: before the first */
    enum trace_class before;       /* class of all rows before the first request */
    struct cache_access *access;   /* the same; NULL: before the first */
    struct sleeper *job;           /* that waits for the operation which is told; NULL: none */
    uint32_t writers;              /* places for writers that are taken */
    struct cache_access *first_parked, *last_parked; /* who waits for one, in this order */
    uint64_t last_writer;  /* number of the request that wrote last, 0: none, ... */
    int64_t last_write_ns; /* ... and when; kept where writers race */
    int64_t sized_tokens;  /* the tokens asked for last, ... */
    bool sized_later;      /* ... whether they were without a state, ... */
    uint64_t sized_bytes;  /* ... and the bytes of such an object */
};

/* ---- rows ---- */

/* The hierarchy's sink. What happens before the first request takes no time, whatever the tiers: it
 * is done when the clock starts. */
static void operation(void *ctx, const struct hierarchy_op *op)
{
    struct cache *c = ctx;
    struct sim_row *row = &c->row;
    row->time_ns = c->clock->now_ns;
    row->request = c->request;
    if (!c->request)
        row->what.class = c->before;
    if (c->request && c->servers && op->op != TRACE_MISS)
        tier_servers_schedule(c->servers, row, op->phase != TRACE_EVICT ? c->job : NULL);
    else
        emitter_row(c->emitter, row);
}

struct cache *cache_create(const struct sim_opts *o, struct virtual_clock *clock,
                           struct emitter *emitter)
{
    struct cache *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->o = o;
    c->clock = clock;
    c->emitter = emitter;
    c->hierarchy = hierarchy_create(&o->tiers, operation, c);
    if (o->speed)
        c->servers = tier_servers_create(o->speed, clock, emitter);
    if (!c->hierarchy || (o->speed && !c->servers)) {
        cache_free(c);
        return NULL;
    }
    hierarchy_tell_in(c->hierarchy, &c->row.what);
    return c;
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    hierarchy_free(c->hierarchy);
    tier_servers_free(c->servers);
    free(c);
}

const struct hierarchy *cache_hierarchy(const struct cache *c)
{
    return c->hierarchy;
}

const struct tier_servers *cache_servers(const struct cache *c)
{
    return c->servers;
}

void cache_end(struct cache *c)
{
    if (c->servers)
        tier_servers_end(c->servers);
}

bool cache_advance(struct cache *c, int64_t until_ns)
{
    return c->servers && tier_servers_advance(c->servers, until_ns);
}

/* Bytes of the object. false: too many, which ends the run. Most objects that follow each other are
 * of one size. */
static bool size_of(struct cache *c, const struct cache_entry *e, uint64_t *bytes)
{
    if (e->tokens == c->sized_tokens && e->later == c->sized_later) {
        *bytes = c->sized_bytes;
        return true;
    }
    uint64_t tokens = (uint64_t)e->tokens;
    int rc = model_rank_bytes(c->o->model, tokens, !e->later, bytes);
    if (rc < 0 || *bytes > (uint64_t)INT64_MAX) {
        virtual_clock_fail(c->clock, err_set(c->clock->err, -EOVERFLOW, ERR_INPUT, c->o->model->id,
                                             "an object of %lld tokens is larger than 2^63 bytes",
                                             (long long)e->tokens));
        return false;
    }
    c->sized_tokens = e->tokens;
    c->sized_later = e->later;
    c->sized_bytes = *bytes;
    return true;
}

/* ---- the curve is told what a request looks up and writes in a cache of any size ---- */

static void check_curve(struct cache *c, int rc)
{
    if (rc < 0)
        virtual_clock_fail(c->clock, curve_failed(rc, c->clock->err));
}

static void tell_curve(struct cache *c, int (*by)(struct curve *, struct ident, uint64_t),
                       const struct cache_entry *e)
{
    uint64_t size;
    if (c->o->curve && size_of(c, e, &size))
        check_curve(c, by(c->o->curve, e->id, size));
}

void cache_tell_lookup(struct cache *c, const struct cache_entry *e)
{
    tell_curve(c, curve_lookup, e);
}

/* ---- waiting ---- */

/* The write is complete: its place goes to the request that has been parked longest. */
static void free_place(struct cache *c, struct cache_access *a)
{
    struct cache_access *next = c->first_parked;
    a->place = CACHE_NO_PLACE;
    if (!next) {
        c->writers--;
        return;
    }
    c->first_parked = next->next_parked;
    next->place = CACHE_MAY_WRITE;
    virtual_clock_wake(c->clock, &next->job, c->clock->now_ns);
}

static inline bool busy(struct cache *c, struct cache_access *a)
{
    if (a->job.until_ns > c->clock->now_ns || c->clock->ended != 0)
        return true;
    if (a->place == CACHE_WRITES)
        free_place(c, a);
    return false;
}

bool cache_busy(struct cache *c, struct cache_access *a)
{
    return busy(c, a);
}

/* false: all places are taken, and the request is parked until one is free. */
static bool take_place(struct cache *c, struct cache_access *a)
{
    if (c->o->max_writers == 0)
        return true;
    if (a->place == CACHE_NO_PLACE && c->writers == c->o->max_writers) {
        a->job.until_ns = SLEEPER_PARKED;
        a->next_parked = NULL;
        if (c->first_parked)
            c->last_parked->next_parked = a;
        else
            c->first_parked = a;
        c->last_parked = a;
        return false;
    }
    if (a->place == CACHE_NO_PLACE)
        c->writers++;
    a->place = CACHE_WRITES;
    return true;
}

/* ---- one object ---- */

/* Everything that the hierarchy tells from now on is this request's doing. */
static inline void act_for(struct cache *c, struct cache_access *a)
{
    c->access = a;
    c->request = a->request;
    c->job = &a->job;
}

static inline enum cache_look look_up(struct cache *c, struct cache_access *a,
                                      const struct cache_entry *e)
{
    if (busy(c, a))
        return CACHE_LOOK_WAIT;
    if (c->servers && tier_servers_in_flight(c->servers, e->id, &a->job))
        return CACHE_LOOK_WAIT;
    act_for(c, a);
    return hierarchy_read(c->hierarchy, e->id, e->class) ? CACHE_HIT : CACHE_MISS;
}

enum cache_look cache_look_up(struct cache *c, struct cache_access *a, const struct cache_entry *e)
{
    return look_up(c, a, e);
}

enum cache_look cache_look_past(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e)
{
    if (busy(c, a))
        return CACHE_LOOK_WAIT;
    act_for(c, a);
    hierarchy_miss(c->hierarchy, e->id, e->class);
    return hierarchy_touch(c->hierarchy, e->id) ? CACHE_HIT : CACHE_MISS;
}

/* compat.h, race_ns: does another request's write still go on when this one begins? */
static void note_race(struct cache *c, const struct request *r)
{
    int64_t race_ns = c->o->compat->race_ns;
    if (race_ns == 0)
        return;
    bool goes_on = c->last_writer > 0 && c->clock->now_ns - c->last_write_ns < race_ns;
    if (goes_on && c->last_writer != r->number && c->o->workers > 1)
        hierarchy_race(c->hierarchy);
    c->last_writer = r->number;
    c->last_write_ns = c->clock->now_ns;
}

enum cache_progress cache_write(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e)
{
    uint64_t size;
    if (!size_of(c, e, &size) || busy(c, a) || !take_place(c, a))
        return CACHE_WAIT;
    /* Another request may have written it while this one waited. */
    if (c->servers && hierarchy_has(c->hierarchy, e->id))
        return CACHE_DONE;
    act_for(c, a);
    note_race(c, a->request);
    int rc = hierarchy_write(c->hierarchy, e->id, size, (uint32_t)e->tokens, e->class);
    if (rc < 0)
        virtual_clock_fail(c->clock, err_nomem(c->clock->err, "live objects"));
    if (rc <= 0)
        a->dropped = true;
    return CACHE_DONE;
}

/* Any of an entry's several objects may be absent. */
static void note_absent(struct cache_access *a, enum cache_look found)
{
    a->absent = found == CACHE_MISS || (a->part > 0 && a->absent);
}

static enum cache_progress read_object(struct cache *c, struct cache_access *a,
                                       const struct cache_entry *e)
{
    enum cache_look found = look_up(c, a, e);
    if (found == CACHE_LOOK_WAIT)
        return CACHE_WAIT;
    note_absent(a, found);
    if (c->o->curve)
        check_curve(c, curve_probe(c->o->curve, e->id));
    return CACHE_DONE;
}

static enum cache_progress fill(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e)
{
    enum cache_progress p = cache_write(c, a, e);
    if (p == CACHE_DONE)
        a->missed = false;
    return p;
}

static enum cache_progress fetch_object(struct cache *c, struct cache_access *a,
                                        const struct cache_entry *e)
{
    if (!a->missed) {
        enum cache_look found = look_up(c, a, e);
        if (found == CACHE_LOOK_WAIT)
            return CACHE_WAIT;
        tell_curve(c, curve_lookup, e);
        note_absent(a, found);
        if (found == CACHE_HIT)
            return CACHE_DONE;
        a->missed = true;
    }
    return fill(c, a, e);
}

static enum cache_progress store_object(struct cache *c, struct cache_access *a,
                                        const struct cache_entry *e)
{
    if (busy(c, a))
        return CACHE_WAIT;
    if (!a->missed) {
        tell_curve(c, curve_write, e);
        if (hierarchy_has(c->hierarchy, e->id))
            return CACHE_DONE;
        a->missed = true;
    }
    return fill(c, a, e);
}

static enum cache_progress populate_object(struct cache *c, struct cache_access *a,
                                           const struct cache_entry *e)
{
    uint64_t size;
    (void)a;
    if (c->clock->ended != 0)
        return CACHE_WAIT;
    tell_curve(c, curve_write, e);
    if (c->clock->ended == 0 && size_of(c, e, &size) &&
        hierarchy_write(c->hierarchy, e->id, size, (uint32_t)e->tokens, e->class) < 0)
        virtual_clock_fail(c->clock, err_nomem(c->clock->err, "live objects"));
    return CACHE_DONE;
}

static enum cache_progress remove_object(struct cache *c, struct cache_access *a,
                                         const struct cache_entry *e)
{
    (void)a;
    if (c->clock->ended != 0)
        return CACHE_WAIT;
    hierarchy_delete(c->hierarchy, e->id);
    return CACHE_DONE;
}

/* ---- all objects of an entry ---- */

typedef enum cache_progress (*object_verb)(struct cache *c, struct cache_access *a,
                                           const struct cache_entry *e);

static enum cache_progress each_part(struct cache *c, struct cache_access *a,
                                     const struct cache_entry *e, object_verb verb)
{
    int64_t tokens = c->o->granularity;
    int64_t parts = (e->tokens + tokens - 1) / tokens;
    if (parts > IDENT_MAX_PARTS) {
        virtual_clock_fail(c->clock,
                           err_set(c->clock->err, -E2BIG, ERR_INPUT, "--granularity",
                                   "an entry of %lld tokens has more than %d blocks of %lld",
                                   (long long)e->tokens, IDENT_MAX_PARTS, (long long)tokens));
        return CACHE_WAIT;
    }
    for (; a->part < parts; a->part++) {
        bool last = a->part + 1 == parts;
        int64_t left = e->tokens - a->part * tokens;
        struct cache_entry part = {.id = ident_part(e->id, a->part, last),
                                   .tokens = c->o->partial_blocks && left < tokens ? left : tokens,
                                   .class = e->class,
                                   .later = a->part > 0};
        if (verb(c, a, &part) == CACHE_WAIT)
            return CACHE_WAIT;
    }
    a->part = 0;
    return CACHE_DONE;
}

static inline enum cache_progress each_object(struct cache *c, struct cache_access *a,
                                              const struct cache_entry *e, object_verb verb)
{
    return c->o->granularity == 0 ? verb(c, a, e) : each_part(c, a, e, verb);
}

/* An entry whose length is not known: object after object until one is missing or is the last. What
 * lies behind a missing one is of no use. */
static enum cache_progress read_until_missing(struct cache *c, struct cache_access *a,
                                              const struct cache_entry *e)
{
    for (bool over = false; !over; a->part++) {
        struct cache_entry part = {.id = ident_part(e->id, a->part, false), .class = e->class};
        struct ident last = ident_part(e->id, a->part, true);
        bool at_last = !hierarchy_has(c->hierarchy, part.id) && hierarchy_has(c->hierarchy, last);
        if (at_last)
            part.id = last;
        enum cache_look found = look_up(c, a, &part);
        if (found == CACHE_LOOK_WAIT)
            return CACHE_WAIT;
        note_absent(a, found);
        over = at_last || found == CACHE_MISS;
    }
    if (c->o->curve)
        check_curve(c, curve_probe_entry(c->o->curve, e->id));
    a->part = 0;
    return CACHE_DONE;
}

enum cache_progress cache_read(struct cache *c, struct cache_access *a, const struct cache_entry *e)
{
    if (c->o->granularity > 0 && e->tokens == 0)
        return read_until_missing(c, a, e);
    return each_object(c, a, e, read_object);
}

enum cache_progress cache_fetch(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e)
{
    return each_object(c, a, e, fetch_object);
}

enum cache_progress cache_store(struct cache *c, struct cache_access *a,
                                const struct cache_entry *e)
{
    return each_object(c, a, e, store_object);
}

/* ---- before the first request ---- */

void cache_populate(struct cache *c, const struct cache_entry *e)
{
    struct cache_access a = {0};
    c->before = e->class;
    each_object(c, &a, e, populate_object);
}

void cache_remove(struct cache *c, const struct cache_entry *e)
{
    struct cache_access a = {0};
    c->before = e->class;
    each_object(c, &a, e, remove_object);
}
