/* copy_tier.c - one tier of `copies`. A policy knows nothing of pins, so a pinned block that it
 * would give up is taken out and comes again as the newest: it is in use. */
#include "kvgen/manager/copy_tier.h"

#include <stdlib.h>

#include "lib/base/memory.h"

struct block {
    uint32_t pins;
    uint8_t uses;
    bool ready, ordered, marked;
};

struct copy_tier {
    struct copy_tier_opts o;
    const struct policy_ops *ops;
    struct policy *policy;
    struct objects *objects;
    struct block *block; /* by number */
    size_t cap;
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
    free(t->block);
    free(t->aside);
    free(t);
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
    struct block *grown = memory_grow(t->block, &t->cap, n, sizeof(*t->block), 64);
    if (!grown) {
        objects_remove(t->objects, n);
        return COPY_NONE;
    }
    t->block = grown;
    t->block[n] = (struct block){.pins = 1};
    t->pinned++;
    objects_at(t->objects, n)->size = 1;
    return n;
}

bool copy_tier_is_ready(const struct copy_tier *t, uint32_t block)
{
    return t->block[block].ready;
}

void copy_tier_set_ready(struct copy_tier *t, uint32_t block)
{
    t->block[block].ready = true;
}

void copy_tier_pin(struct copy_tier *t, uint32_t block)
{
    struct block *b = &t->block[block];
    if (b->pins++ > 0)
        return;
    t->pinned++;
    t->idle -= b->ordered;
}

void copy_tier_unpin(struct copy_tier *t, uint32_t block)
{
    struct block *b = &t->block[block];
    if (--b->pins > 0)
        return;
    t->pinned--;
    t->idle += b->ordered;
}

bool copy_tier_is_pinned(const struct copy_tier *t, uint32_t block)
{
    return t->block[block].pins > 0;
}

void copy_tier_use(struct copy_tier *t, uint32_t block)
{
    struct block *b = &t->block[block];
    if (b->ordered) {
        t->ops->touch(t->policy, block);
        return;
    }
    b->ordered = true;
    t->idle += b->pins == 0;
    t->ops->insert(t->policy, block);
}

void copy_tier_set_mark(struct copy_tier *t, uint32_t block)
{
    t->block[block].marked = true;
}

bool copy_tier_is_marked(const struct copy_tier *t, uint32_t block)
{
    return t->block[block].marked;
}

uint32_t copy_tier_count_use(struct copy_tier *t, uint32_t block)
{
    struct block *b = &t->block[block];
    b->uses = b->uses < UINT8_MAX ? (uint8_t)(b->uses + 1) : b->uses;
    return b->uses;
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

/* Those that were passed over come again, the one that would have gone first as the oldest. */
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
        if (t->block[n].pins == 0)
            return n;
        uint32_t *grown = memory_grow(t->aside, &t->aside_cap, t->asides, sizeof(*t->aside), 64);
        if (!grown)
            return COPY_NONE;
        t->aside = grown;
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
        t->block[n].ordered = false;
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
    const struct block *b = &t->block[block];
    if (b->ordered) {
        t->ops->remove(t->policy, block);
        t->idle -= b->pins == 0;
    }
    t->pinned -= b->pins > 0;
    objects_remove(t->objects, block);
}
