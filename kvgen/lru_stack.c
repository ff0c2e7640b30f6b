/* lru_stack.c - the stack of all objects ever used, as a sequence of places in time with the bytes
 * of the objects that were last used there: a distance is a sum over places, which a Fenwick tree
 * gives in O(log n). Fed by the curve; nothing here counts hits. */
#include "kvgen/lru_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kvgen/objects.h"

enum {
    FIRST_PLACES = 1 << 12
};

/* The place of an object is in its .prev. */
struct lru_stack {
    struct objects *objects;
    uint64_t *tree;       /* Fenwick (1994): tree[i] sums i's lowest set bit of places up to i */
    uint32_t *owner;      /* of each place the object, OBJECT_NONE: used again since */
    uint32_t places, now; /* places is a power of two; place now is the next to be used */
    uint32_t last;        /* object used last */
    uint64_t bytes;
};

struct lru_stack *lru_stack_create(void)
{
    struct lru_stack *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    s->places = FIRST_PLACES;
    s->last = OBJECT_NONE;
    s->objects = objects_create();
    s->tree = calloc((size_t)s->places + 1, sizeof *s->tree);
    s->owner = calloc(s->places, sizeof *s->owner);
    if (s->objects == NULL || s->tree == NULL || s->owner == NULL) {
        lru_stack_free(s);
        return NULL;
    }
    return s;
}

void lru_stack_free(struct lru_stack *s)
{
    if (s == NULL)
        return;
    objects_free(s->objects);
    free(s->tree);
    free(s->owner);
    free(s);
}

/* Sums may pass through wrapped values: what is taken away was added before. */
static void tree_add(struct lru_stack *s, uint32_t place, uint64_t bytes)
{
    for (uint64_t i = (uint64_t)place + 1; i <= s->places; i += i & -i)
        s->tree[i] += bytes;
}

/* Bytes at the places before that one. */
static uint64_t tree_before(const struct lru_stack *s, uint32_t place)
{
    uint64_t sum = 0;
    for (uint64_t i = place; i > 0; i -= i & -i)
        sum += s->tree[i];
    return sum;
}

static int grow(struct lru_stack *s)
{
    uint32_t places = s->places * 2;
    uint64_t *tree = realloc(s->tree, ((size_t)places + 1) * sizeof *tree);
    if (tree == NULL)
        return -ENOMEM;
    s->tree = tree;
    uint32_t *owner = realloc(s->owner, (size_t)places * sizeof *owner);
    if (owner == NULL)
        return -ENOMEM;
    s->owner = owner;
    s->places = places;
    return 0;
}

/* Every tree node from the bytes of its own place and of the nodes below it: O(places). */
static void build(struct lru_stack *s)
{
    memset(s->tree, 0, ((size_t)s->places + 1) * sizeof *s->tree);
    for (uint32_t i = 0; i < s->now; i++)
        s->tree[i + 1] = objects_at(s->objects, s->owner[i])->size;
    for (uint64_t i = 1; i <= s->places; i++)
        if (i + (i & -i) <= s->places)
            s->tree[i + (i & -i)] += s->tree[i];
}

/* The places are used up: those that are still somebody's move together, in order. At least half
 * of them become free, so this costs O(1) a use. */
static int compact(struct lru_stack *s)
{
    if (objects_count(s->objects) > s->places / 2 && grow(s) < 0)
        return -ENOMEM;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->now; i++)
        if (s->owner[i] != OBJECT_NONE) {
            objects_at(s->objects, s->owner[i])->prev = kept;
            s->owner[kept++] = s->owner[i];
        }
    s->now = kept;
    build(s);
    return 0;
}

/* The object leaves its place. */
static uint64_t lift(struct lru_stack *s, uint32_t number)
{
    struct object *o = objects_at(s->objects, number);
    uint64_t distance = s->bytes - tree_before(s, o->prev);
    tree_add(s, o->prev, -o->size);
    s->owner[o->prev] = OBJECT_NONE;
    s->bytes -= o->size;
    return distance;
}

int lru_stack_use(struct lru_stack *s, struct ident id, uint64_t size, uint64_t *distance,
                  uint32_t *number)
{
    *number = objects_find(s->objects, id);
    if (*number != OBJECT_NONE && *number == s->last) {
        *distance = 0;
        return 0;
    }
    if (s->now == s->places && compact(s) < 0)
        return -ENOMEM;
    if (size > (uint64_t)INT64_MAX - s->bytes)
        return -EOVERFLOW;
    *distance = LRU_STACK_NEW;
    if (*number != OBJECT_NONE)
        *distance = lift(s, *number);
    else if (objects_add(s->objects, id, number) < 0)
        return -ENOMEM;
    struct object *o = objects_at(s->objects, *number);
    o->size = size;
    o->prev = s->now;
    s->owner[s->now] = *number;
    tree_add(s, s->now++, size);
    s->bytes += size;
    s->last = *number;
    return 0;
}

bool lru_stack_find(const struct lru_stack *s, struct ident id, uint64_t *size)
{
    uint32_t number = objects_find(s->objects, id);
    if (number == OBJECT_NONE)
        return false;
    *size = objects_at(s->objects, number)->size;
    return true;
}

uint64_t lru_stack_objects(const struct lru_stack *s)
{
    return objects_count(s->objects);
}

uint64_t lru_stack_bytes(const struct lru_stack *s)
{
    return s->bytes;
}
