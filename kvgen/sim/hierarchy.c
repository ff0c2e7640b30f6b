/* hierarchy.c - the waterfall over the tiers: a new object goes to the fastest tier that can take
 * it, upper tiers make room by demoting their victims one tier down, the last by deleting. The
 * simulator asks, the policy orders, the sink hears of every operation; nothing here knows time or
 * files. */
#include "kvgen/sim/hierarchy.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

enum {
    NO_TIER = -1
};

struct tier {
    uint64_t capacity, used, objects;
    uint64_t twice;  /* reserved by races and for nobody, until the tier is empty */
    uint64_t moved;  /* demoted since the last write began */
    uint64_t raced;  /* of that what the write under way takes for its own victims */
    uint64_t large;  /* (a) refuses objects above this: large_entry_limit_ratio */
    uint64_t target; /* (b) fills up to this: target_usage_ratio */
    uint64_t low;    /* (c) takes what fits while less is used: 5 % */
    uint64_t roomy;  /* (d) refuses instead of demoting while less is used (20 %)... */
    uint64_t big;    /* ... objects above this (40 %) */
    int below;       /* next tier that is present, NO_TIER for the last */
    struct policy *order;
};

struct hierarchy {
    struct tier tier[TRACE_TIERS];
    int top; /* fastest tier that is present */
    bool promote;
    const struct policy_ops *policy;
    struct objects *objects;
    hierarchy_sink sink;
    void *ctx;
    uint64_t dropped, dropped_bytes;
};

/* What the limits are compared with. */
static uint64_t taken(const struct tier *t)
{
    return t->used + t->twice;
}

/* A tier that looks full and is empty is counted anew: true, it was. */
static bool recount(struct tier *t)
{
    if (t->objects > 0)
        return false;
    t->twice = 0;
    return true;
}

/* Limits in bytes: usage is compared with "less than" the rounded-up, sizes with "more than" the
 * rounded-down share, which for integers is the same as comparing with the exact one. */
static uint64_t share_floor(uint64_t capacity, double ratio)
{
    return (uint64_t)((double)capacity * ratio);
}

static uint64_t share_ceil(uint64_t capacity, double ratio)
{
    uint64_t floor = share_floor(capacity, ratio);
    return (double)floor < (double)capacity * ratio ? floor + 1 : floor;
}

static int tier_init(struct hierarchy *h, int i, const struct hierarchy_opts *o, int below)
{
    struct tier *t = &h->tier[i];
    uint64_t capacity = o->capacity[i];
    *t = (struct tier){
        .capacity = capacity,
        .large = share_floor(capacity, o->large_entry_limit_ratio),
        .target = share_floor(capacity, o->target_usage_ratio),
        .low = share_ceil(capacity, 0.05),
        .roomy = share_ceil(capacity, 0.20),
        .big = share_floor(capacity, 0.40),
        .below = below,
        .order = o->policy->create(h->objects),
    };
    return t->order == NULL ? -ENOMEM : 0;
}

static int tiers_init(struct hierarchy *h, const struct hierarchy_opts *o)
{
    h->top = NO_TIER;
    for (int i = TRACE_TIERS - 1; i >= 0; i--) {
        if (o->capacity[i] == HIERARCHY_ABSENT)
            continue;
        if (tier_init(h, i, o, h->top) < 0)
            return -ENOMEM;
        h->top = i;
    }
    assert(h->top != NO_TIER);
    return 0;
}

struct hierarchy *hierarchy_create(const struct hierarchy_opts *o, hierarchy_sink sink, void *ctx)
{
    struct hierarchy *h = calloc(1, sizeof *h);
    if (h == NULL)
        return NULL;
    h->policy = o->policy;
    h->promote = o->promote;
    h->sink = sink;
    h->ctx = ctx;
    h->objects = objects_create();
    if (h->objects == NULL || tiers_init(h, o) < 0) {
        hierarchy_free(h);
        return NULL;
    }
    return h;
}

void hierarchy_free(struct hierarchy *h)
{
    if (h == NULL)
        return;
    for (int i = 0; i < TRACE_TIERS; i++)
        h->policy->free(h->tier[i].order);
    objects_free(h->objects);
    free(h);
}

static void tell_of(const struct hierarchy *h, enum trace_op op, enum trace_phase phase,
                    enum trace_class class, const struct object *o, int from)
{
    struct hierarchy_op what = {.op = op,
                                .tier = (enum trace_tier)o->tier,
                                .from = (enum trace_tier)from,
                                .phase = phase,
                                .class = class,
                                .id = o->id,
                                .size = o->size,
                                .tokens = o->tokens};
    h->sink(h->ctx, &what);
}

static void tell(const struct hierarchy *h, enum trace_op op, enum trace_phase phase,
                 enum trace_class class, const struct object *o)
{
    tell_of(h, op, phase, class, o, TRACE_NO_TIER);
}

/* A Write to the tier that the object is in now, from another or from nowhere. */
static void tell_arrival(const struct hierarchy *h, enum trace_phase phase, enum trace_class class,
                         const struct object *o, int from)
{
    tell_of(h, TRACE_WRITE, phase, class, o, from);
}

static void enter(struct hierarchy *h, int tier, uint32_t number)
{
    struct tier *t = &h->tier[tier];
    struct object *o = objects_at(h->objects, number);
    o->tier = (uint8_t)tier;
    t->used += o->size;
    t->objects++;
    h->policy->insert(t->order, number);
}

static void leave(struct hierarchy *h, uint32_t number)
{
    const struct object *o = objects_at(h->objects, number);
    struct tier *t = &h->tier[o->tier];
    h->policy->remove(t->order, number);
    t->used -= o->size;
    t->objects--;
}

static void delete_object(struct hierarchy *h, uint32_t number)
{
    const struct object *o = objects_at(h->objects, number);
    tell(h, TRACE_DELETE, TRACE_EVICT, TRACE_CLASS_EVICT, o);
    leave(h, number);
    objects_remove(h->objects, number);
}

static bool room_in_last(struct hierarchy *h, int tier, uint64_t size)
{
    struct tier *t = &h->tier[tier];
    if (size > t->capacity && tier != TRACE_STORAGE)
        return false;
    while ((taken(t) > t->capacity || size > t->capacity - taken(t)) && !recount(t))
        delete_object(h, h->policy->victim(t->order));
    return true;
}

static bool make_room(struct hierarchy *h, int tier, uint64_t size);

/* Moves the victim of tier one tier down; false when that cannot take it. At most as deep as there
 * are tiers. */
static bool demote_victim(struct hierarchy *h, int tier)
{
    struct tier *t = &h->tier[tier];
    uint32_t number = h->policy->victim(t->order);
    const struct object *o = objects_at(h->objects, number);
    if (!make_room(h, t->below, o->size))
        return false;
    tell(h, TRACE_READ, TRACE_EVICT, TRACE_CLASS_EVICT, o);
    leave(h, number);
    enter(h, t->below, number);
    tell_arrival(h, TRACE_EVICT, TRACE_CLASS_EVICT, o, tier);
    t->moved += o->size;
    return true;
}

/* The other write's victims once more: room is made for them below, and nothing comes. */
static bool demote_raced(struct hierarchy *h, int tier)
{
    struct tier *t = &h->tier[tier], *below = &h->tier[t->below];
    uint64_t size = t->raced;
    t->raced = 0;
    if (below->capacity == HIERARCHY_UNLIMITED)
        return true;
    if (!make_room(h, t->below, size))
        return false;
    below->twice += size;
    return true;
}

static bool demote(struct hierarchy *h, int tier)
{
    return h->tier[tier].raced > 0 ? demote_raced(h, tier) : demote_victim(h, tier);
}

/* Rule (d): no demotion for an object that is large for a tier that has room for others. */
static bool too_big_for_roomy(const struct tier *t, uint64_t size)
{
    return t->used < t->roomy && size > t->big;
}

/* Room for size bytes in a tier, by its rules (a) to (e); false: refused. */
static bool make_room(struct hierarchy *h, int tier, uint64_t size)
{
    struct tier *t = &h->tier[tier];
    if (t->below == NO_TIER)
        return room_in_last(h, tier, size);
    if (size > t->large)
        return false;
    for (bool first = true;; first = false) {
        if (size <= t->target && taken(t) <= t->target - size)
            return true;
        if (taken(t) < t->low && size <= t->capacity - taken(t))
            return true;
        if (recount(t))
            continue;
        if (first && too_big_for_roomy(t, size))
            return false;
        if (!demote(h, tier))
            return false;
    }
}

/* The fastest tier, from that one down, that makes room; NO_TIER: none. */
static int find_tier(struct hierarchy *h, int tier, uint64_t size)
{
    while (tier != NO_TIER && !make_room(h, tier, size))
        tier = h->tier[tier].below;
    return tier;
}

static int reserve(struct hierarchy *h)
{
    for (int i = h->top; i != NO_TIER && h->policy->reserve != NULL; i = h->tier[i].below)
        if (h->policy->reserve(h->tier[i].order, objects_count(h->objects) + 1) < 0)
            return -ENOMEM;
    return 0;
}

void hierarchy_race(struct hierarchy *h)
{
    for (int i = 0; i < TRACE_TIERS; i++)
        h->tier[i].raced = h->tier[i].moved;
}

/* What the new object finds room in, or NO_TIER. */
static int find_tier_for_new(struct hierarchy *h, uint64_t size)
{
    for (int i = 0; i < TRACE_TIERS; i++)
        h->tier[i].moved = 0;
    int tier = find_tier(h, h->top, size);
    for (int i = 0; i < TRACE_TIERS; i++)
        h->tier[i].raced = 0;
    return tier;
}

int hierarchy_write(struct hierarchy *h, struct ident id, uint64_t size, uint32_t tokens,
                    enum trace_class class)
{
    int tier = find_tier_for_new(h, size);
    if (tier == NO_TIER) {
        h->dropped++;
        h->dropped_bytes += size;
        return 0;
    }
    uint32_t number;
    if (reserve(h) < 0)
        return -ENOMEM;
    if (objects_add(h->objects, id, &number) < 0)
        return -ENOMEM;
    struct object *o = objects_at(h->objects, number);
    o->size = size;
    o->tokens = tokens;
    enter(h, tier, number);
    tell_arrival(h, TRACE_PREFILL, class, o, TRACE_NO_TIER);
    return 1;
}

static bool touch(struct hierarchy *h, uint32_t number)
{
    if (number == OBJECT_NONE)
        return false;
    h->policy->touch(h->tier[objects_at(h->objects, number)->tier].order, number);
    return true;
}

bool hierarchy_touch(struct hierarchy *h, struct ident id)
{
    return touch(h, objects_find(h->objects, id));
}

bool hierarchy_has(const struct hierarchy *h, struct ident id)
{
    return objects_find(h->objects, id) != OBJECT_NONE;
}

void hierarchy_miss(struct hierarchy *h, struct ident id, enum trace_class class)
{
    struct object nothing = {.id = id, .tier = TRACE_NO_TIER};
    tell(h, TRACE_MISS, TRACE_NO_PHASE, class, &nothing);
}

/* Would a tier take that many bytes when an object has left, or begin to make room for them? Rules
 * (a) to (e), of which (e) asks for the first demotion alone. */
static bool would_take(struct hierarchy *h, int tier, uint64_t size, uint32_t leaving)
{
    const struct tier *t = &h->tier[tier];
    const struct object *o = objects_at(h->objects, leaving);
    uint64_t gone = o->tier == tier ? o->size : 0, left = t->objects - (o->tier == tier);
    uint64_t used = left == 0 ? 0 : taken(t) - gone;
    if (t->below == NO_TIER)
        return size <= t->capacity || tier == TRACE_STORAGE;
    if (size > t->large)
        return false;
    if ((size <= t->target && used <= t->target - size) ||
        (used < t->low && size <= t->capacity - used))
        return true;
    if (t->used - gone < t->roomy && size > t->big)
        return false;
    uint32_t victim = h->policy->victim(t->order);
    /* In its own tier another goes, to storage, which takes all: it is the only one below that. */
    return victim == leaving ||
           would_take(h, t->below, objects_at(h->objects, victim)->size, leaving);
}

/* The object leaves its tier before room is made above, so that what is demoted finds its place: an
 * exchange between full tiers deletes nothing. From the tier above on one takes it, if not another
 * then the one that it came from, or the last. */
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
    tell_arrival(h, TRACE_EVICT, TRACE_PROMOTE, o, from);
}

bool hierarchy_read(struct hierarchy *h, struct ident id, enum trace_class class)
{
    uint32_t number = objects_find(h->objects, id);
    if (!touch(h, number)) {
        hierarchy_miss(h, id, class);
        return false;
    }
    tell(h, TRACE_READ, TRACE_DECODE, class, objects_at(h->objects, number));
    if (h->promote)
        promote(h, number);
    return true;
}

void hierarchy_delete(struct hierarchy *h, struct ident id)
{
    uint32_t number = objects_find(h->objects, id);
    if (number != OBJECT_NONE)
        delete_object(h, number);
}

void hierarchy_prefetch(const struct hierarchy *h, struct ident id, int step)
{
    if (step == 1)
        objects_prefetch(h->objects, id);
    else
        objects_prefetch_object(h->objects, id);
}

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
