/* The waterfall over the tiers: a new object goes to the fastest tier that takes it, upper tiers
 * make room by demoting their victims one tier down, the last one by deleting. cache.c asks, the
 * policy (policy.h) chooses the victims, and the sink hears of every operation. */
#include "kvgen/sim/hierarchy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

/*
 * A tier that can demote takes an object by these rules, in this order. They are those of the
 * MLPerf Storage KV-cache benchmark; its limits in (a) and (b) can be configured, those in (c) and
 * (d) are fixed there, too. (a) It refuses an object above large_entry_limit_ratio of its capacity.
 *  (b) It takes it when the object leaves it at or below target_usage_ratio.
 *  (c) It takes it when less than LOW_USAGE is used and the object fits: an empty tier may pass the
 *      target once, or it would never take an object between the target and the limit of (a).
 *  (d) Once, before the first demotion: it refuses a BIG_OBJECT when less than ROOMY_USAGE is used.
 *      It would clear most of the tier for this one object. That benchmark lists the tier's objects
 *      for this and demotes them in the order of the list; when it comes to the end of the list, it
 *      makes another and asks again. An object that a race (hierarchy_race) is still writing has
 *      its space and is in no list yet: the tier looks emptier than it is.
 *  (e) It demotes its victim and goes back to (b). When the demotion fails, it refuses.
 * Refused objects go one tier further down.
 */
#define LOW_USAGE   0.05
#define ROOMY_USAGE 0.20
#define BIG_OBJECT  0.40

enum {
    NO_TIER = -1
};

struct tier {
    uint64_t capacity, used, objects;
    uint64_t large, target, low, roomy, big; /* the limits of (a) to (d) in bytes */
    int below;                               /* next tier that is present; NO_TIER: the last */
    struct policy *order;
    /* Races (hierarchy_race). */
    uint64_t demoted;    /* bytes that left for the write under way */
    uint64_t to_reserve; /* bytes that it still has to reserve below a second time */
    uint64_t phantom;    /* bytes that races reserved here for objects that never come */
};

struct hierarchy {
    struct tier tier[TRACE_TIERS];
    int top; /* fastest tier that is present */
    enum hierarchy_promote promote;
    const struct policy_ops *policy;
    struct objects *objects;
    uint64_t reserved; /* objects for which the order of each tier has room */
    hierarchy_sink sink;
    void *ctx;
    struct hierarchy_op *op; /* that is told: own_op, or in the sink's hands */
    struct hierarchy_op own_op;
    uint64_t dropped, dropped_bytes;
    uint32_t written;   /* by the last hierarchy_write; OBJECT_NONE: it is gone, or was dropped */
    uint32_t in_flight; /* what a race still writes, in no list yet; OBJECT_NONE: nothing */
};

/* Limits in bytes: usage is compared with "less than" the rounded-up, sizes with "more than" the
 * rounded-down share. For integers that is the same as comparing with the exact share. */
static uint64_t share_floor(uint64_t capacity, double ratio)
{
    return (uint64_t)((double)capacity * ratio);
}

static uint64_t share_ceil(uint64_t capacity, double ratio)
{
    uint64_t floor = share_floor(capacity, ratio);
    return (double)floor < (double)capacity * ratio ? floor + 1 : floor;
}

struct hierarchy *hierarchy_create(const struct hierarchy_opts *o, hierarchy_sink sink, void *ctx)
{
    struct hierarchy *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->top = NO_TIER;
    h->written = h->in_flight = OBJECT_NONE;
    h->policy = o->policy;
    h->promote = o->promote;
    h->sink = sink;
    h->ctx = ctx;
    h->op = &h->own_op;
    h->objects = objects_create();
    if (!h->objects)
        goto out;
    for (int i = TRACE_TIERS - 1; i >= 0; i--) {
        uint64_t capacity = o->capacity[i];
        if (capacity == HIERARCHY_ABSENT)
            continue;
        h->tier[i] = (struct tier){.capacity = capacity,
                                   .large = share_floor(capacity, o->large_entry_limit_ratio),
                                   .target = share_floor(capacity, o->target_usage_ratio),
                                   .low = share_ceil(capacity, LOW_USAGE),
                                   .roomy = share_ceil(capacity, ROOMY_USAGE),
                                   .big = share_floor(capacity, BIG_OBJECT),
                                   .below = h->top,
                                   .order = o->policy->create(h->objects)};
        if (!h->tier[i].order)
            goto out;
        h->top = i;
    }
    assert(h->top != NO_TIER);
    return h;
out:
    hierarchy_free(h);
    return NULL;
}

void hierarchy_free(struct hierarchy *h)
{
    if (!h)
        return;
    for (int i = 0; i < TRACE_TIERS; i++)
        h->policy->free(h->tier[i].order);
    objects_free(h->objects);
    free(h);
}

void hierarchy_tell_in(struct hierarchy *h, struct hierarchy_op *op)
{
    h->op = op;
}

/* ---- operations are told ---- */

static void set_op(const struct hierarchy *h, enum trace_op op, enum trace_phase phase,
                   enum trace_class class, const struct object *o)
{
    struct hierarchy_op *what = h->op;
    what->op = op;
    what->tier = (enum trace_tier)o->tier;
    what->phase = phase;
    what->class = class;
    what->id = o->id;
    what->size = o->size;
    what->tokens = o->tokens;
    what->from = TRACE_NO_TIER;
}

static void tell(const struct hierarchy *h, enum trace_op op, enum trace_phase phase,
                 enum trace_class class, const struct object *o)
{
    set_op(h, op, phase, class, o);
    h->sink(h->ctx, h->op);
}

/* The object has moved from that tier to the one that it is in now. */
static void tell_move(const struct hierarchy *h, enum trace_class class, const struct object *o,
                      int from)
{
    set_op(h, TRACE_WRITE, TRACE_EVICT, class, o);
    h->op->from = (enum trace_tier)from;
    h->sink(h->ctx, h->op);
}

/* ---- objects come and go ---- */

static void enter(struct hierarchy *h, int tier, uint32_t number)
{
    struct tier *t = &h->tier[tier];
    struct object *o = objects_at(h->objects, number);
    o->tier = (uint16_t)tier;
    t->used += o->size;
    t->objects++;
    h->policy->insert(t->order, number);
}

/* The object has left the order of its tier. */
static void left_order(struct hierarchy *h, uint32_t number)
{
    const struct object *o = objects_at(h->objects, number);
    struct tier *t = &h->tier[o->tier];
    t->used -= o->size;
    t->objects--;
}

static void leave(struct hierarchy *h, uint32_t number)
{
    h->policy->remove(h->tier[objects_at(h->objects, number)->tier].order, number);
    left_order(h, number);
}

/* The tier's victim leaves it. */
static uint32_t evict(struct hierarchy *h, int tier)
{
    uint32_t number = h->policy->evict(h->tier[tier].order);
    left_order(h, number);
    return number;
}

/* The object has left its tier for good. */
static void forget(struct hierarchy *h, uint32_t number)
{
    tell(h, TRACE_DELETE, TRACE_EVICT, TRACE_CLASS_EVICT, objects_at(h->objects, number));
    objects_remove(h->objects, number);
    if (h->written == number)
        h->written = OBJECT_NONE;
    if (h->in_flight == number)
        h->in_flight = OBJECT_NONE;
}

/* ---- room ---- */

/* The bytes that the limits are compared with. */
static uint64_t taken(const struct tier *t)
{
    return t->used + t->phantom;
}

/* An empty tier that looks full is counted anew: true, it was empty. */
static bool recount(struct tier *t)
{
    if (t->objects > 0)
        return false;
    t->phantom = 0;
    return true;
}

/* Rules (b) and (c). */
static bool fits(const struct tier *t, uint64_t bytes_taken, uint64_t size)
{
    return (size <= t->target && bytes_taken <= t->target - size) ||
           (bytes_taken < t->low && size <= t->capacity - bytes_taken);
}

/* Rule (d). */
static bool too_big(const struct tier *t, uint64_t used, uint64_t size)
{
    return used < t->roomy && size > t->big;
}

/* Bytes of the tier's objects that are listed. */
static uint64_t listed(const struct hierarchy *h, int tier)
{
    uint64_t used = h->tier[tier].used;
    if (h->in_flight == OBJECT_NONE)
        return used;
    const struct object *o = objects_at(h->objects, h->in_flight);
    return o->tier == tier ? used - o->size : used;
}

/* Only what is in flight is left to be demoted: it is complete by then, and in the next list. */
static bool at_end_of_list(struct hierarchy *h, int tier)
{
    if (h->in_flight == OBJECT_NONE || h->policy->victim(h->tier[tier].order) != h->in_flight)
        return false;
    h->in_flight = OBJECT_NONE;
    return true;
}

static bool make_room(struct hierarchy *h, int tier, uint64_t size);

/* Rule (e): one object moves one tier down, or, in a race, room is reserved there for those that
 * the other write has moved already. false: the tier below has no room. At most as deep as there
 * are tiers.
 */
static bool demote(struct hierarchy *h, int tier)
{
    struct tier *t = &h->tier[tier], *below = &h->tier[t->below];
    if (t->to_reserve > 0) {
        uint64_t size = t->to_reserve;
        t->to_reserve = 0;
        if (below->capacity == HIERARCHY_UNLIMITED)
            return true;
        if (!make_room(h, t->below, size))
            return false;
        below->phantom += size;
        return true;
    }
    uint32_t number = h->policy->victim(t->order);
    const struct object *o = objects_at(h->objects, number);
    if (!make_room(h, t->below, o->size))
        return false;
    tell(h, TRACE_READ, TRACE_EVICT, TRACE_CLASS_EVICT, o);
    evict(h, tier); /* it: nothing has changed in this tier since */
    enter(h, t->below, number);
    tell_move(h, TRACE_CLASS_EVICT, o, tier);
    t->demoted += o->size;
    return true;
}

/* Room for size bytes in a tier; false: refused. The last tier is filled to its capacity and takes
 * any size if it is storage, even one above its capacity. */
static bool make_room(struct hierarchy *h, int tier, uint64_t size)
{
    struct tier *t = &h->tier[tier];
    if (t->below == NO_TIER) {
        if (size > t->capacity && tier != TRACE_STORAGE)
            return false;
        while ((taken(t) > t->capacity || size > t->capacity - taken(t)) && !recount(t))
            forget(h, evict(h, tier));
        return true;
    }
    if (size > t->large)
        return false; /* rule (a) */
    for (bool first = true;; first = false) {
        if (fits(t, taken(t), size))
            return true;
        if (recount(t))
            return size <= t->target; /* the benchmark does not come back to (c) */
        if ((at_end_of_list(h, tier) || first) && too_big(t, listed(h, tier), size))
            return false;
        if (!demote(h, tier))
            return false;
    }
}

/* The fastest tier that makes room, from that one down; NO_TIER: none. */
static int find_tier(struct hierarchy *h, int tier, uint64_t size)
{
    while (tier != NO_TIER && !make_room(h, tier, size))
        tier = h->tier[tier].below;
    return tier;
}

/* ---- writes ---- */

void hierarchy_race(struct hierarchy *h)
{
    for (int i = 0; i < TRACE_TIERS; i++)
        h->tier[i].to_reserve = h->tier[i].demoted;
    h->in_flight = h->written;
}

/* Any tier may come to hold all objects: a promotion enters one that nothing was written to. All
 * get room ahead. */
static int reserve(struct hierarchy *h, uint64_t objects)
{
    if (!h->policy->reserve || objects <= h->reserved)
        return 0;
    uint64_t ahead = objects + objects / 8;
    for (int i = 0; i < TRACE_TIERS; i++)
        if (h->tier[i].order && h->policy->reserve(h->tier[i].order, ahead) < 0)
            return -ENOMEM;
    h->reserved = ahead;
    return 0;
}

int hierarchy_write(struct hierarchy *h, struct ident id, uint64_t size, uint32_t tokens,
                    enum trace_class class)
{
    for (int i = 0; i < TRACE_TIERS; i++)
        h->tier[i].demoted = 0;
    int tier = find_tier(h, h->top, size);
    for (int i = 0; i < TRACE_TIERS; i++)
        h->tier[i].to_reserve = 0;
    h->written = h->in_flight = OBJECT_NONE;
    if (tier == NO_TIER) {
        h->dropped++;
        h->dropped_bytes += size;
        return 0;
    }
    uint32_t number;
    if (reserve(h, objects_count(h->objects) + 1) < 0 || objects_add(h->objects, id, &number) < 0)
        return -ENOMEM;
    struct object *o = objects_at(h->objects, number);
    o->size = size;
    o->tokens = tokens;
    enter(h, tier, number);
    h->written = number;
    tell(h, TRACE_WRITE, TRACE_PREFILL, class, o);
    return 1;
}

void hierarchy_delete(struct hierarchy *h, struct ident id)
{
    uint32_t number = objects_find(h->objects, id);
    if (number == OBJECT_NONE)
        return;
    leave(h, number);
    forget(h, number);
}

/* ---- lookups ---- */

bool hierarchy_has(const struct hierarchy *h, struct ident id)
{
    return objects_find(h->objects, id) != OBJECT_NONE;
}

void hierarchy_prefetch(const struct hierarchy *h, struct ident id, int step)
{
    if (step == 1)
        objects_prefetch(h->objects, id);
    else
        objects_prefetch_object(h->objects, id);
}

bool hierarchy_touch(struct hierarchy *h, struct ident id)
{
    uint32_t number = objects_find(h->objects, id);
    if (number == OBJECT_NONE)
        return false;
    h->policy->touch(h->tier[objects_at(h->objects, number)->tier].order, number);
    return true;
}

void hierarchy_miss(struct hierarchy *h, struct ident id, enum trace_class class)
{
    *h->op = (struct hierarchy_op){.op = TRACE_MISS,
                                   .tier = TRACE_NO_TIER,
                                   .from = TRACE_NO_TIER,
                                   .phase = TRACE_NO_PHASE,
                                   .class = class,
                                   .id = id};
    h->sink(h->ctx, h->op);
}

/* Would the tier take size bytes when the object numbered leaving has left its own, or begin to
 * make room for them? By rules (a) to (e), of which (e) is asked about the first demotion alone. */
static bool would_take(struct hierarchy *h, int tier, uint64_t size, uint32_t leaving)
{
    const struct tier *t = &h->tier[tier];
    const struct object *o = objects_at(h->objects, leaving);
    bool own = o->tier == tier;
    uint64_t gone = own ? o->size : 0;
    if (t->below == NO_TIER)
        return size <= t->capacity || tier == TRACE_STORAGE;
    if (size > t->large)
        return false;
    if (fits(t, taken(t) - gone, size))
        return true;
    if (t->objects == own)
        return size <= t->target; /* as where an empty tier is recounted */
    if (too_big(t, t->used - gone, size))
        return false;
    uint32_t victim = h->policy->victim(t->order);
    /* Where the victim is the object that leaves, the tier frees room by itself. */
    return victim == leaving ||
           would_take(h, t->below, objects_at(h->objects, victim)->size, leaving);
}

/* The object leaves its tier before room is made above, so that what is demoted finds its place: an
 * exchange between full tiers deletes nothing. If the tiers above refuse it after all, it ends in
 * the tier that it came from or in the last one. */
static void promote(struct hierarchy *h, uint32_t number)
{
    struct object *o = objects_at(h->objects, number);
    int from = o->tier, to = h->top;
    while (to < from && !would_take(h, to, o->size, number))
        to = h->tier[to].below;
    if (to == from)
        return;
    tell(h, TRACE_READ, TRACE_EVICT, TRACE_PROMOTE, o);
    leave(h, number);
    to = find_tier(h, to, o->size);
    assert(to != NO_TIER);
    enter(h, to, number);
    tell_move(h, TRACE_PROMOTE, o, from);
}

bool hierarchy_read(struct hierarchy *h, struct ident id, enum trace_class class)
{
    uint32_t number = objects_find(h->objects, id);
    const struct object *o = number != OBJECT_NONE ? objects_at(h->objects, number) : NULL;
    if (!o) {
        hierarchy_miss(h, id, class);
        return false;
    }
    h->policy->touch(h->tier[o->tier].order, number);
    tell(h, TRACE_READ, TRACE_DECODE, class, o);
    if (h->promote == HIERARCHY_PROMOTE_ON_HIT)
        promote(h, number);
    return true;
}

/* ---- what there is ---- */

void hierarchy_stats(const struct hierarchy *h, enum trace_tier tier,
                     struct hierarchy_tier_stats *out)
{
    const struct tier *t = &h->tier[tier];
    *out = (struct hierarchy_tier_stats){.present = t->capacity != HIERARCHY_ABSENT,
                                         .capacity = t->capacity,
                                         .bytes = t->used,
                                         .objects = t->objects};
}

void hierarchy_dropped(const struct hierarchy *h, uint64_t *writes, uint64_t *bytes)
{
    *writes = h->dropped;
    *bytes = h->dropped_bytes;
}
