/* copy_tier.c - one tier of `copies`. A policy knows nothing of pins, so a pinned block that it
 * would give up is taken out and comes again as the newest: it is in use. */
#include "kvgen/manager/copy_tier.h"

#include <stdlib.h>

#include "lib/base/memory.h"

/* A block's state, in the fields of its object that are the owner's: pins in tokens, the rest in
 * tier. */
enum {
    READY = 1 << 8, /* below: uses */
    ORDERED = 1 << 9,
    MARKED = 1 << 10,
    USES = 255
};

struct copy_tier {
    struct copy_tier_opts o;
    const struct policy_ops *ops;
    struct policy *policy;
    struct objects *objects;
    uint64_t idle, pinned;
    uint32_t *aside; /* pinned blocks that were passed over */
    size_t asides, aside_cap;
};

struct copy_tier *copy_tier_create(const struct copy_tier_opts *o)
{
    struct copy_tier *t = calloc(1, sizeof(*t));
    if (!t)
        return NULL;
    t->o = *o;
    t->ops = policies[o->policy];
    t->objects = objects_create();
    if (t->objects)
        t->policy = t->ops->create(t->objects);
    if (t->policy)
        return t;
    copy_tier_free(t);
    return NULL;
}

void copy_tier_free(struct copy_tier *t)
{
    if (!t)
        return;
    if (t->policy)
        t->ops->free(t->policy);
    objects_free(t->objects);
    free(t->aside);
    free(t);
}

static struct object *at(const struct copy_tier *t, uint32_t block)
{
    return objects_at(t->objects, block);
}

static bool is(const struct copy_tier *t, uint32_t block, unsigned what)
{
    return at(t, block)->tier & what;
}

static void set(struct copy_tier *t, uint32_t block, unsigned what)
{
    at(t, block)->tier = (uint16_t)(at(t, block)->tier | what);
}

uint32_t copy_tier_find(const struct copy_tier *t, uint64_t key)
{
    return objects_find(t->objects, ident_block(key));
}

uint64_t copy_tier_key(const struct copy_tier *t, uint32_t block)
{
    return objects_at(t->objects, block)->id.lo;
}

uint32_t copy_tier_add(struct copy_tier *t, uint64_t key)
{
    uint32_t n;
    const uint64_t count = objects_count(t->objects) + 1;
    if ((t->ops->reserve && t->ops->reserve(t->policy, count)) ||
        objects_add(t->objects, ident_block(key), &n))
        return COPY_NONE;
    t->pinned++;
    at(t, n)->size = at(t, n)->tokens = 1;
    return n;
}

bool copy_tier_is_ready(const struct copy_tier *t, uint32_t block)
{
    return is(t, block, READY);
}

void copy_tier_set_ready(struct copy_tier *t, uint32_t block)
{
    set(t, block, READY);
}

void copy_tier_pin(struct copy_tier *t, uint32_t block)
{
    if (at(t, block)->tokens++ > 0)
        return;
    t->pinned++;
    t->idle -= is(t, block, ORDERED);
}

void copy_tier_unpin(struct copy_tier *t, uint32_t block)
{
    if (--at(t, block)->tokens > 0)
        return;
    t->pinned--;
    t->idle += is(t, block, ORDERED);
}

bool copy_tier_is_pinned(const struct copy_tier *t, uint32_t block)
{
    return at(t, block)->tokens > 0;
}

void copy_tier_use(struct copy_tier *t, uint32_t block)
{
    if (is(t, block, ORDERED)) {
        t->ops->touch(t->policy, block);
        return;
    }
    set(t, block, ORDERED);
    t->idle += !copy_tier_is_pinned(t, block);
    t->ops->insert(t->policy, block);
}

void copy_tier_set_mark(struct copy_tier *t, uint32_t block)
{
    set(t, block, MARKED);
}

bool copy_tier_is_marked(const struct copy_tier *t, uint32_t block)
{
    return is(t, block, MARKED);
}

uint32_t copy_tier_count_use(struct copy_tier *t, uint32_t block)
{
    struct object *o = at(t, block);
    o->tier = (uint16_t)(o->tier + ((o->tier & USES) < USES));
    return o->tier & USES;
}

uint64_t copy_tier_count(const struct copy_tier *t)
{
    return objects_count(t->objects);
}

uint64_t copy_tier_idle(const struct copy_tier *t)
{
    return t->idle;
}

uint64_t copy_tier_pins(const struct copy_tier *t)
{
    return t->pinned;
}

/* Blocks that were passed over come again, the one that would have gone first as the oldest. */
static void end_aside(struct copy_tier *t)
{
    for (size_t i = 0; i < t->asides; i++)
        t->ops->insert(t->policy, t->aside[i]);
    t->asides = 0;
}

/* Who goes next, with the pinned ones before it set aside. COPY_NONE: nobody, or no memory. */
static uint32_t pass_pinned(struct copy_tier *t)
{
    for (uint32_t n; (n = t->ops->victim(t->policy)) != OBJECT_NONE;) {
        if (!copy_tier_is_pinned(t, n))
            return n;
        if (memory_room(&t->aside, &t->aside_cap, t->asides, sizeof(*t->aside), 64) < 0)
            return COPY_NONE;
        t->aside[t->asides++] = n;
        t->ops->remove(t->policy, n);
    }
    return COPY_NONE;
}

uint32_t copy_tier_next(struct copy_tier *t)
{
    const uint32_t n = pass_pinned(t);
    end_aside(t);
    return n;
}

bool copy_tier_make_room(struct copy_tier *t, uint64_t blocks, uint64_t others,
                         struct job_keys *out)
{
    const uint64_t used = objects_count(t->objects) + others + blocks;
    const uint64_t low = (uint64_t)(t->o.low * (double)t->o.blocks);
    out->count = 0;
    if (used > t->o.blocks + t->idle)
        return false;
    if (used <= (uint64_t)(t->o.high * (double)t->o.blocks))
        return true;
    const uint64_t over = used > low ? used - low : 0;
    const uint64_t want = over < t->idle ? over : t->idle;
    bool failed = false;
    while (out->count < want && !failed) {
        const uint32_t n = pass_pinned(t);
        failed = n == COPY_NONE || job_keys_add(out, copy_tier_key(t, n)) < 0;
        if (failed)
            break;
        t->ops->evict(t->policy);
        at(t, n)->tier = (uint16_t)(at(t, n)->tier & ~ORDERED);
        t->idle--;
    }
    end_aside(t);
    if (!failed)
        return true;
    while (out->count > 0) { /* no memory: they come again */
        const uint32_t n = copy_tier_find(t, out->key[--out->count]);
        copy_tier_use(t, n);
    }
    return false;
}

void copy_tier_remove(struct copy_tier *t, uint32_t block)
{
    if (is(t, block, ORDERED)) {
        t->ops->remove(t->policy, block);
        t->idle -= !copy_tier_is_pinned(t, block);
    }
    t->pinned -= copy_tier_is_pinned(t, block);
    objects_remove(t->objects, block);
}
