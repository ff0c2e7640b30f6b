/* lru_stack.c - the stack of all objects ever used, as a sequence of places in time with the bytes
 * of the objects that were last used there: a distance is a sum over places, which a Fenwick tree
 * gives in O(log n). Fed by curves and reports; nothing here counts hits. */
#include "lib/base/lru_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/keymap.h"

#define FIRST_PLACES (1u << 12)
#define NONE         UINT32_MAX

/* Of an object that was used. */
struct object {
    uint64_t size;
    uint32_t place;
};

struct lru_stack {
    struct keymap *numbers; /* by key the index into object */
    struct object *object;
    uint32_t objects, room;
    uint64_t *tree;       /* Fenwick (1994): tree[i] sums i's lowest set bit of places up to i */
    uint32_t *owner;      /* of each place the object, NONE: used again since */
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
    s->last = NONE;
    s->numbers = keymap_create();
    s->tree = calloc((size_t)s->places + 1, sizeof *s->tree);
    s->owner = calloc(s->places, sizeof *s->owner);
    if (s->numbers == NULL || s->tree == NULL || s->owner == NULL) {
        lru_stack_free(s);
        return NULL;
    }
    return s;
}

void lru_stack_free(struct lru_stack *s)
{
    if (s == NULL)
        return;
    keymap_free(s->numbers);
    free(s->object);
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
    if (s->places > NONE / 2)
        return -ENOMEM;
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
        s->tree[i + 1] = s->object[s->owner[i]].size;
    for (uint64_t i = 1; i <= s->places; i++)
        if (i + (i & -i) <= s->places)
            s->tree[i + (i & -i)] += s->tree[i];
}

/* The places are used up: those that are still somebody's move together, in order. At least half
 * of them become free, so this costs O(1) a use. */
static int compact(struct lru_stack *s)
{
    if (s->objects > s->places / 2 && grow(s) < 0)
        return -ENOMEM;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->now; i++)
        if (s->owner[i] != NONE) {
            s->object[s->owner[i]].place = kept;
            s->owner[kept++] = s->owner[i];
        }
    s->now = kept;
    build(s);
    return 0;
}

/* The object leaves its place. */
static uint64_t lift(struct lru_stack *s, const struct object *o)
{
    uint64_t distance = s->bytes - tree_before(s, o->place);
    tree_add(s, o->place, -o->size);
    s->owner[o->place] = NONE;
    s->bytes -= o->size;
    return distance;
}

static int add_object(struct lru_stack *s, struct hash128 key, uint32_t *number)
{
    if (s->objects == NONE)
        return -EOVERFLOW;
    if (s->objects == s->room) {
        uint32_t room = s->room == 0 ? FIRST_PLACES : s->room > NONE / 2 ? NONE : 2 * s->room;
        struct object *grown = realloc(s->object, room * sizeof *grown);
        if (grown == NULL)
            return -ENOMEM;
        s->object = grown;
        s->room = room;
    }
    if (keymap_get(s->numbers, key, s->objects) == NULL)
        return -ENOMEM;
    *number = s->objects++;
    return 0;
}

/* The object used last keeps its place, but its size may be another. */
static int resize_last(struct lru_stack *s, uint64_t size)
{
    struct object *o = &s->object[s->last];
    uint64_t others = s->bytes - o->size;
    if (size > (uint64_t)INT64_MAX - others)
        return -EOVERFLOW;
    if (size != o->size)
        tree_add(s, o->place, size - o->size);
    s->bytes = others + size;
    o->size = size;
    return 0;
}

int lru_stack_use(struct lru_stack *s, struct hash128 key, uint64_t size, uint64_t *distance,
                  uint32_t *number)
{
    const uint64_t *known = keymap_find(s->numbers, key);
    if (known != NULL && *known == s->last) {
        *number = s->last;
        *distance = 0;
        return resize_last(s, size);
    }
    if (s->now == s->places && compact(s) < 0)
        return -ENOMEM;
    if (size > (uint64_t)INT64_MAX - s->bytes)
        return -EOVERFLOW;
    *distance = LRU_STACK_NEW;
    if (known != NULL) {
        *number = (uint32_t)*known;
        *distance = lift(s, &s->object[*number]);
    } else {
        int rc = add_object(s, key, number);
        if (rc < 0)
            return rc;
    }
    s->object[*number] = (struct object){size, s->now};
    s->owner[s->now] = *number;
    tree_add(s, s->now++, size);
    s->bytes += size;
    s->last = *number;
    return 0;
}

bool lru_stack_find(const struct lru_stack *s, struct hash128 key, uint64_t *size)
{
    const uint64_t *number = keymap_find(s->numbers, key);
    if (number == NULL)
        return false;
    *size = s->object[*number].size;
    return true;
}

uint64_t lru_stack_objects(const struct lru_stack *s)
{
    return s->objects;
}

uint64_t lru_stack_bytes(const struct lru_stack *s)
{
    return s->bytes;
}
