/* Stack distances for hit-rate curves and reuse reports, which count the hits themselves. Every use
 * takes the next place in time; a place holds the bytes of the object that was last used there. A
 * distance is then a sum over places, which a Fenwick tree gives in O(log n). */
#include "lib/base/lru_stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/keymap.h"
#include "lib/base/memory.h"

#define FIRST_PLACES (1u << 12)
#define NONE         UINT32_MAX

struct object {
    uint64_t size;
    uint32_t place;
};

struct lru_stack {
    struct keymap *numbers; /* index into object, by key */
    struct object *object;
    uint32_t objects;
    size_t room;
    uint64_t *tree;       /* Fenwick (1994): tree[i] sums the last (i & -i) places up to i */
    uint32_t *owner;      /* object at each place; NONE: it was used again since */
    uint32_t places, now; /* places is a power of two; now is the next place to be taken */
    uint32_t last;        /* the object used last */
    uint64_t bytes;
};

struct lru_stack *lru_stack_create(void)
{
    struct lru_stack *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->places = FIRST_PLACES;
    s->last = NONE;
    s->numbers = keymap_create();
    s->tree = calloc((size_t)s->places + 1, sizeof(*s->tree));
    s->owner = calloc(s->places, sizeof(*s->owner));
    if (!s->numbers || !s->tree || !s->owner) {
        lru_stack_free(s);
        return NULL;
    }
    return s;
}

void lru_stack_free(struct lru_stack *s)
{
    if (!s)
        return;
    keymap_free(s->numbers);
    free(s->object);
    free(s->tree);
    free(s->owner);
    free(s);
}

/* Sums may wrap on the way: whatever is subtracted was added before. */
static void tree_add(struct lru_stack *s, uint32_t place, uint64_t bytes)
{
    for (uint64_t i = (uint64_t)place + 1; i <= s->places; i += i & -i)
        s->tree[i] += bytes;
}

/* Every place is used up: moves the objects together, in order. At least half of the places become
 * free, so this costs O(1) per use. */
static int compact(struct lru_stack *s)
{
    if (s->objects > s->places / 2) {
        if (s->places > NONE / 2)
            return -ENOMEM;
        uint32_t places = s->places * 2;
        if (memory_resize(&s->tree, (size_t)places + 1, sizeof(*s->tree)) < 0 ||
            memory_resize(&s->owner, places, sizeof(*s->owner)) < 0)
            return -ENOMEM;
        s->places = places;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->now; i++) {
        if (s->owner[i] == NONE)
            continue;
        s->object[s->owner[i]].place = kept;
        s->owner[kept++] = s->owner[i];
    }
    s->now = kept;
    /* Builds the tree anew in O(places): each node adds its sum to its parent. */
    memset(s->tree, 0, ((size_t)s->places + 1) * sizeof(*s->tree));
    for (uint32_t i = 0; i < s->now; i++)
        s->tree[i + 1] = s->object[s->owner[i]].size;
    for (uint64_t i = 1; i <= s->places; i++)
        if (i + (i & -i) <= s->places)
            s->tree[i + (i & -i)] += s->tree[i];
    return 0;
}

static int add_object(struct lru_stack *s, struct hash128 key, uint32_t *number)
{
    if (s->objects == NONE)
        return -EOVERFLOW;
    if (memory_room(&s->object, &s->room, s->objects, sizeof(*s->object), FIRST_PLACES) < 0)
        return -ENOMEM;
    if (!keymap_get(s->numbers, key, s->objects))
        return -ENOMEM;
    *number = s->objects++;
    return 0;
}

/* Another use of the object used last: it keeps its place, but its size may change. */
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

    if (known && *known == s->last) {
        *number = s->last;
        *distance = 0;
        return resize_last(s, size);
    }
    if (s->now == s->places && compact(s) < 0)
        return -ENOMEM;
    if (size > (uint64_t)INT64_MAX - s->bytes)
        return -EOVERFLOW;
    if (known) {
        /* The object leaves its place; the distance is the bytes at that place and behind it. */
        *number = (uint32_t)*known;
        const struct object *o = &s->object[*number];
        uint64_t before = 0;
        for (uint64_t i = o->place; i > 0; i -= i & -i)
            before += s->tree[i];
        *distance = s->bytes - before;
        tree_add(s, o->place, -o->size);
        s->owner[o->place] = NONE;
        s->bytes -= o->size;
    } else {
        int rc = add_object(s, key, number);
        if (rc < 0)
            return rc;
        *distance = LRU_STACK_NEW;
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
    if (!number)
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
