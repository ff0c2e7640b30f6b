/* Bytes, objects and an eviction policy under one capacity: the last tier of the hierarchy without
 * rows. */
#include "kvgen/curve/sized_cache.h"

#include <errno.h>
#include <stdlib.h>

struct sized_cache {
    struct objects *objects;
    const struct policy_ops *policy;
    struct policy *order;
    uint64_t capacity, used, peak;
};

struct sized_cache *sized_cache_create(const struct policy_ops *policy, uint64_t capacity)
{
    struct sized_cache *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->policy = policy;
    c->capacity = capacity;
    c->objects = objects_create();
    c->order = c->objects ? policy->create(c->objects) : NULL;
    if (!c->order) {
        sized_cache_free(c);
        return NULL;
    }
    return c;
}

void sized_cache_free(struct sized_cache *c)
{
    if (!c)
        return;
    c->policy->free(c->order);
    objects_free(c->objects);
    free(c);
}

bool sized_cache_find(const struct sized_cache *c, struct ident id, uint64_t *size,
                      uint32_t *number)
{
    uint32_t found = objects_find(c->objects, id);
    if (found == OBJECT_NONE)
        return false;
    if (size)
        *size = objects_at(c->objects, found)->size;
    if (number)
        *number = found;
    return true;
}

bool sized_cache_touch(struct sized_cache *c, struct ident id)
{
    uint32_t number = objects_find(c->objects, id);
    if (number == OBJECT_NONE)
        return false;
    c->policy->touch(c->order, number);
    return true;
}

int sized_cache_write(struct sized_cache *c, struct ident id, uint64_t size)
{
    uint32_t number;
    while (objects_count(c->objects) > 0 &&
           (c->used > c->capacity || size > c->capacity - c->used)) {
        number = c->policy->evict(c->order);
        c->used -= objects_at(c->objects, number)->size;
        objects_remove(c->objects, number);
    }
    if (c->policy->reserve && c->policy->reserve(c->order, objects_count(c->objects) + 1) < 0)
        return -ENOMEM;
    if (objects_add(c->objects, id, &number) < 0)
        return -ENOMEM;
    objects_at(c->objects, number)->size = size;
    c->used += size;
    c->peak = c->used > c->peak ? c->used : c->peak;
    c->policy->insert(c->order, number);
    return 0;
}

uint64_t sized_cache_peak_bytes(const struct sized_cache *c)
{
    return c->peak;
}
