/* The bound of the hit-rate curve. All uses are kept. After the last one each capacity is answered
 * by one more pass over them, in which the next use of every object is known. */
#include "kvgen/curve/optimal.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/memory.h"
#include "lib/sort/ascending.h"

#define COUNTED  ((uint32_t)1 << 31) /* of a use: a lookup */
#define FILLS    ((uint32_t)1 << 30) /* the object is there after it; the other bits: its number */
#define OBJECT   (FILLS - 1)
#define NEVER    UINT32_MAX
#define MAX_USES ((size_t)NEVER - 1)

enum {
    LEVELS = 6 /* 64^6 > 2^32 */
};

struct optimal {
    uint32_t *use;
    size_t uses, uses_cap;
    uint64_t *size; /* by object */
    size_t objects, objects_cap;
    bool sizes_differ;
    uint32_t *next; /* by use: the next use of its object if that counts, or NEVER */
    uint64_t *held; /* by object: bytes of it in the cache */
    uint64_t
        *bits[LEVELS]; /* uses for which their objects are held; above, which words are not 0 */
    double *cost;      /* of an interval and of all cheaper ones: PFOO-L */
    size_t intervals;
};

struct optimal *optimal_create(void)
{
    return calloc(1, sizeof(struct optimal));
}

void optimal_free(struct optimal *o)
{
    if (!o)
        return;
    for (int l = 0; l < LEVELS; l++)
        free(o->bits[l]);
    free(o->use);
    free(o->size);
    free(o->next);
    free(o->held);
    free(o->cost);
    free(o);
}

int optimal_use(struct optimal *o, uint32_t object, uint64_t size, enum optimal_kind kind)
{
    if (o->uses == MAX_USES || object > OBJECT)
        return -EFBIG;
    if (memory_room(&o->use, &o->uses_cap, o->uses, sizeof(*o->use), 4096) < 0)
        return -ENOMEM;
    if (object == o->objects) {
        if (memory_room(&o->size, &o->objects_cap, o->objects, sizeof(*o->size), 4096) < 0)
            return -ENOMEM;
        o->size[o->objects++] = size;
        o->sizes_differ |= o->size[object] != o->size[0];
    }
    o->use[o->uses++] =
        object | (kind != OPTIMAL_WRITE ? COUNTED : 0) | (kind != OPTIMAL_PROBE ? FILLS : 0);
    return 0;
}

static uint32_t object_of(const struct optimal *o, size_t use)
{
    return o->use[use] & OBJECT;
}

/* ---- a set of uses: a tree of words with 64 children each ---- */

static void set_add(struct optimal *o, size_t i)
{
    for (int l = 0; l < LEVELS; l++, i /= 64)
        o->bits[l][i / 64] |= UINT64_C(1) << i % 64;
}

static bool set_has(const struct optimal *o, size_t i)
{
    return (o->bits[0][i / 64] >> i % 64 & 1) != 0;
}

static void set_remove(struct optimal *o, size_t i)
{
    for (int l = 0; l < LEVELS; l++, i /= 64) {
        o->bits[l][i / 64] &= ~(UINT64_C(1) << i % 64);
        if (o->bits[l][i / 64] != 0)
            return;
    }
}

/* The greatest element of a set that is not empty. */
static size_t set_last(const struct optimal *o)
{
    size_t i = 0;
    for (int l = LEVELS - 1; l >= 0; l--)
        i = i * 64 + 63 - (size_t)__builtin_clzll(o->bits[l][i]);
    return i;
}

/* ---- once, after the last use ---- */

/* Sets next. To keep an object for a use that does not count gains nothing. */
static void find_next(struct optimal *o)
{
    uint32_t *coming = (uint32_t *)o->held; /* next use by object; nothing is held yet */
    memset(coming, 0xff, o->objects * sizeof(*coming));
    for (size_t i = o->uses; i-- > 0;) {
        uint32_t object = object_of(o, i);
        uint32_t next = coming[object];
        o->next[i] = next != NEVER && (o->use[next] & COUNTED) != 0 ? next : NEVER;
        o->intervals += o->next[i] != NEVER;
        coming[object] = (uint32_t)i;
    }
}

/* Sets cost: for each hit the bytes times the uses for which its object has to be held, cheapest
 * first and summed up. */
static int sum_costs(struct optimal *o)
{
    size_t n = 0;
    o->cost = malloc((o->intervals + 1) * sizeof(*o->cost));
    if (!o->cost)
        return -ENOMEM;
    for (size_t i = 0; i < o->uses; i++)
        if (o->next[i] != NEVER)
            o->cost[n++] = (double)o->size[object_of(o, i)] * (double)(o->next[i] - i);
    qsort(o->cost, n, sizeof(*o->cost), ascending_f64);
    for (size_t i = 1; i < n; i++)
        o->cost[i] += o->cost[i - 1];
    return 0;
}

int optimal_begin(struct optimal *o)
{
    o->next = malloc((o->uses + 1) * sizeof(*o->next));
    o->held = malloc((o->objects + 1) * sizeof(*o->held));
    if (!o->next || !o->held)
        return -ENOMEM;
    size_t words = o->uses / 64 + 1;
    for (int l = 0; l < LEVELS; l++, words = words / 64 + 1)
        if (!(o->bits[l] = calloc(words, sizeof(**o->bits))))
            return -ENOMEM;
    find_next(o);
    return o->sizes_differ ? sum_costs(o) : 0;
}

/* ---- one capacity ---- */

/* Lets the bytes go whose next use is furthest away, until the rest fits. Returns what is used
 * then. */
static uint64_t drop_excess(struct optimal *o, uint64_t used, uint64_t capacity)
{
    while (used > capacity) {
        size_t last = set_last(o);
        uint64_t *held = &o->held[object_of(o, last)];
        if (*held > used - capacity) {
            *held -= used - capacity;
            return capacity;
        }
        used -= *held;
        *held = 0;
        set_remove(o, last);
    }
    return used;
}

struct hits {
    uint64_t whole, bytes;       /* of objects that fit, or take no room */
    uint64_t alone, alone_bytes; /* of objects larger than the capacity */
};

/* Use i of an object that fits: a hit as far as the object was held; then it is held for the next
 * use. */
static void use_held(struct optimal *o, size_t i, uint64_t capacity, uint64_t *used, struct hits *h)
{
    uint32_t object = object_of(o, i);
    uint64_t *held = &o->held[object];
    if (set_has(o, i)) {
        set_remove(o, i);
        h->whole += *held == o->size[object];
        h->bytes += *held;
        *used -= *held;
        *held = 0;
    }
    if (o->next[i] == NEVER)
        return;
    set_add(o, o->next[i]);
    *held = o->size[object];
    *used = drop_excess(o, *used + *held, capacity);
}

/* One pass. Sizes are below 2^63, and used passes capacity by at most one object, so that no sum
 * overflows. */
static struct hits replay(struct optimal *o, uint64_t capacity)
{
    struct hits h = {0};
    uint64_t used = 0;
    uint32_t latest = NEVER; /* the object that was brought in or hit last */
    memset(o->held, 0, o->objects * sizeof(*o->held));
    for (size_t i = 0; i < o->uses; i++) {
        uint32_t object = object_of(o, i);
        uint64_t size = o->size[object];
        if (size == 0) {
            h.whole += o->next[i] != NEVER; /* it never has to go */
        } else if (size <= capacity) {
            use_held(o, i, capacity, &used, &h);
        } else if (object == latest && (o->use[i] & COUNTED) != 0) {
            h.alone++;
            h.alone_bytes += size;
        }
        if ((o->use[i] & FILLS) != 0)
            latest = object;
    }
    return h;
}

/* PFOO-L: how many intervals fit into capacity bytes times all uses. They need not fit at each use.
 */
static uint64_t cheapest(const struct optimal *o, uint64_t capacity)
{
    double space = (double)capacity * (double)o->uses;
    size_t low = 0, high = o->intervals;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (o->cost[middle] <= space)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void optimal_hits(struct optimal *o, uint64_t capacity, uint64_t *hits, uint64_t *hit_bytes)
{
    if (capacity > (uint64_t)INT64_MAX)
        capacity = (uint64_t)INT64_MAX;
    if (o->uses > 0 && !o->sizes_differ && o->size[0] > 0)
        capacity -= capacity % o->size[0];
    struct hits h = replay(o, capacity);
    uint64_t whole = o->sizes_differ ? cheapest(o, capacity) : h.whole;
    *hits = h.alone < o->intervals - whole ? whole + h.alone : o->intervals;
    *hit_bytes = h.bytes + h.alone_bytes;
}
