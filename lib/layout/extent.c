/* Gives out space below the arenas and the slab. Free space is two treaps over the same nodes, by
 * offset (to merge neighbours) and by length (for the best fit); each part has its own two, so
 * nothing merges over a border. Space in use is chains of 16-byte records in memory that never
 * moves. */
#include "lib/layout/extent.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/base/hash.h"

enum {
    CHUNK = 4096,
    MAX_CHUNKS = 1 << 18
};
enum tree {
    BY_OFFSET,
    BY_LENGTH,
    TREES
};

/* A free extent. Node 0 stands for none. */
struct node {
    uint64_t offset, len; /* in units */
    uint32_t child[TREES][2];
    uint32_t next_unused;
    uint32_t priority;
};

/* An extent in use. Record 0 stands for none. */
struct record {
    uint64_t offset; /* in units; in an unused record: the next unused index */
    uint32_t len;    /* in units */
    uint32_t next;   /* index of the object's next extent */
};

/* Items of one size in chunks that never move; freed items are used again. */
struct items {
    void **chunk;
    size_t item_bytes;
    uint32_t chunks, used; /* used: items given out so far; item 0 never is */
    uint32_t unused;       /* head of the freed items */
};

struct part {
    uint64_t free_units;
    uint32_t root[TREES];
};

struct extent_pool {
    uint64_t free_units, part_units;
    unsigned shift, parts;
    struct items nodes, records;
    struct part part[EXTENT_PARTS_MAX];
};

static int items_init(struct items *s, size_t item_bytes)
{
    s->item_bytes = item_bytes;
    s->used = 1;
    s->chunk = calloc(MAX_CHUNKS, sizeof(*s->chunk));
    return s->chunk ? 0 : -ENOMEM;
}

static void items_free(struct items *s)
{
    for (uint32_t i = 0; s->chunk && i < s->chunks; i++)
        free(s->chunk[i]);
    free(s->chunk);
}

static void *items_at(const struct items *s, uint32_t i)
{
    return (char *)s->chunk[i / CHUNK] + (size_t)(i % CHUNK) * s->item_bytes;
}

/* Makes sure that the next item can be given out. */
static int items_reserve(struct items *s)
{
    if (s->unused || s->used / CHUNK < s->chunks)
        return 0;
    if (s->chunks == MAX_CHUNKS)
        return -ENOMEM;
    s->chunk[s->chunks] = calloc(CHUNK, s->item_bytes);
    if (!s->chunk[s->chunks])
        return -ENOMEM;
    s->chunks++;
    return 0;
}

static struct node *node_at(const struct extent_pool *p, uint32_t i)
{
    return items_at(&p->nodes, i);
}

static struct record *record_at(const struct extent_pool *p, uint32_t i)
{
    return items_at(&p->records, i);
}

/* The part that holds offset (in units); NULL: behind the last one. */
static struct part *part_at(struct extent_pool *p, uint64_t offset)
{
    uint64_t i = p->parts == 1 || !p->part_units ? 0 : offset / p->part_units;
    return i < p->parts ? &p->part[i] : NULL;
}

/* ---- treaps ---- */

static bool before(const struct node *a, const struct node *b, enum tree t)
{
    if (t == BY_LENGTH && a->len != b->len)
        return a->len < b->len;
    return a->offset < b->offset;
}

static void tree_insert(struct extent_pool *p, struct part *in, enum tree t, uint32_t i)
{
    struct node *n = node_at(p, i);
    uint32_t *at = &in->root[t], *low = &n->child[t][0], *high = &n->child[t][1], rest;

    while (*at && node_at(p, *at)->priority >= n->priority)
        at = &node_at(p, *at)->child[t][before(node_at(p, *at), n, t)];
    /* Takes the place of that subtree, which splits into the nodes before and behind it. */
    rest = *at;
    *at = i;
    while (rest) {
        struct node *other = node_at(p, rest);

        if (before(other, n, t)) {
            *low = rest;
            low = &other->child[t][1];
            rest = *low;
        } else {
            *high = rest;
            high = &other->child[t][0];
            rest = *high;
        }
    }
    *low = *high = 0;
}

static void tree_remove(struct extent_pool *p, struct part *in, enum tree t, uint32_t i)
{
    struct node *n = node_at(p, i);
    uint32_t *at = &in->root[t], low = n->child[t][0], high = n->child[t][1];

    while (*at != i)
        at = &node_at(p, *at)->child[t][before(node_at(p, *at), n, t)];
    /* Its two subtrees join in its place. */
    while (low && high) {
        struct node *l = node_at(p, low), *h = node_at(p, high);

        if (l->priority > h->priority) {
            *at = low;
            at = &l->child[t][1];
            low = *at;
        } else {
            *at = high;
            at = &h->child[t][0];
            high = *at;
        }
    }
    *at = low ? low : high;
}

/* The shortest free extent of at least want units, else the longest. */
static uint32_t best_fit(const struct extent_pool *p, const struct part *in, uint64_t want)
{
    uint32_t best = 0, longest = 0;
    for (uint32_t i = in->root[BY_LENGTH]; i;) {
        const struct node *n = node_at(p, i);
        bool fits = n->len >= want;
        if (fits)
            best = i;
        longest = i;
        i = n->child[BY_LENGTH][!fits];
    }
    return best ? best : longest;
}

/* The free extent that ends (side 0) or begins (side 1) at offset, in units; 0: none. */
static uint32_t neighbour(const struct extent_pool *p, const struct part *in, uint64_t offset,
                          int side)
{
    uint32_t i = in->root[BY_OFFSET];
    while (i) {
        const struct node *n = node_at(p, i);
        if ((side ? n->offset : n->offset + n->len) == offset)
            return i;
        i = n->child[BY_OFFSET][n->offset < offset];
    }
    return 0;
}

/* ---- free extents ---- */

/* A node must have been reserved. */
static void free_insert(struct extent_pool *p, struct part *in, uint64_t offset, uint64_t len)
{
    uint32_t i = p->nodes.unused;
    if (i)
        p->nodes.unused = node_at(p, i)->next_unused;
    else
        i = p->nodes.used++;
    struct node *n = node_at(p, i);
    *n =
        (struct node){.offset = offset, .len = len, .priority = (uint32_t)(hash_mix(offset) >> 32)};
    tree_insert(p, in, BY_OFFSET, i);
    tree_insert(p, in, BY_LENGTH, i);
}

static void free_remove(struct extent_pool *p, struct part *in, uint32_t i)
{
    tree_remove(p, in, BY_OFFSET, i);
    tree_remove(p, in, BY_LENGTH, i);
    node_at(p, i)->next_unused = p->nodes.unused;
    p->nodes.unused = i;
}

struct extent_pool *extent_pool_create_parts(uint64_t part_bytes, unsigned parts, uint32_t unit)
{
    struct extent_pool *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->shift = (unsigned)__builtin_ctz(unit);
    p->parts = parts;
    p->part_units = part_bytes >> p->shift;
    p->free_units = p->part_units * parts;
    if (items_init(&p->nodes, sizeof(struct node)) < 0 ||
        items_init(&p->records, sizeof(struct record)) < 0 || items_reserve(&p->nodes) < 0) {
        extent_pool_free(p);
        return NULL;
    }
    for (unsigned i = 0; i < parts && p->part_units; i++) {
        p->part[i].free_units = p->part_units;
        free_insert(p, &p->part[i], i * p->part_units, p->part_units);
    }
    return p;
}

struct extent_pool *extent_pool_create(uint64_t capacity, uint32_t unit)
{
    return extent_pool_create_parts(capacity, 1, unit);
}

void extent_pool_free(struct extent_pool *p)
{
    if (!p)
        return;
    items_free(&p->nodes);
    items_free(&p->records);
    free(p);
}

/* ---- space in use ---- */

/* A record must have been reserved. */
static uint32_t record_insert(struct extent_pool *p, uint64_t offset, uint32_t len)
{
    uint32_t i = p->records.unused;
    if (i)
        p->records.unused = (uint32_t)record_at(p, i)->offset;
    else
        i = p->records.used++;
    *record_at(p, i) = (struct record){.offset = offset, .len = len};
    return i;
}

/* The part with the most free units, of equal ones the first. */
static struct part *roomiest(struct extent_pool *p)
{
    struct part *best = &p->part[0];
    for (unsigned i = 1; i < p->parts; i++) {
        if (p->part[i].free_units > best->free_units)
            best = &p->part[i];
    }
    return best;
}

/* Takes up to want units from where they fit best in a part that has some. It takes the first units
 * of an extent, so that the rest stays one piece. Returns how many. */
static uint32_t take_best(struct extent_pool *p, struct part *in, uint64_t want, uint64_t *offset)
{
    uint32_t i = best_fit(p, in, want);
    struct node *n = node_at(p, i);
    uint64_t len = n->len, take = want < len ? want : len;

    if (take > UINT32_MAX)
        take = UINT32_MAX;
    *offset = n->offset;
    free_remove(p, in, i);
    if (take < len)
        free_insert(p, in, *offset + take, len - take);
    in->free_units -= take;
    p->free_units -= take;
    return (uint32_t)take;
}

int extent_alloc(struct extent_pool *p, uint64_t len, uint32_t *list)
{
    uint64_t want = len ? ((len - 1) >> p->shift) + 1 : 1;
    uint32_t first = 0, last = 0;
    struct part *in;

    if (want > p->free_units)
        return -ENOSPC;
    in = roomiest(p);
    while (want) {
        uint64_t offset;
        uint32_t got, i;

        if (in->free_units == 0)
            in = roomiest(p);
        if (items_reserve(&p->records) < 0) {
            extent_release(p, first);
            return -ENOMEM;
        }
        got = take_best(p, in, want, &offset);
        i = record_insert(p, offset, got);
        if (last)
            record_at(p, last)->next = i;
        else
            first = i;
        last = i;
        want -= got;
    }
    *list = first;
    return 0;
}

int extent_resize(struct extent_pool *p, uint64_t len, uint32_t *list)
{
    uint64_t units = len ? ((len - 1) >> p->shift) + 1 : 1;

    if (*list && extent_bytes(p, *list) == units << p->shift)
        return 0;
    extent_release(p, *list);
    *list = 0;
    return extent_alloc(p, len, list);
}

/* The free extent that holds offset, in units; 0: none. */
static uint32_t covering(const struct extent_pool *p, const struct part *in, uint64_t offset)
{
    uint32_t i = in->root[BY_OFFSET];

    while (i) {
        const struct node *n = node_at(p, i);

        if (offset >= n->offset && offset - n->offset < n->len)
            return i;
        i = n->child[BY_OFFSET][n->offset < offset];
    }
    return 0;
}

int extent_claim(struct extent_pool *p, uint64_t offset, uint64_t len, uint32_t *list,
                 uint32_t *last)
{
    uint64_t unit = (uint64_t)1 << p->shift, units = len >> p->shift, at = offset >> p->shift;
    struct part *in = part_at(p, at);
    uint32_t i = in ? covering(p, in, at) : 0, r;
    uint64_t begin, end;

    if (offset % unit || len % unit || units == 0 || units > UINT32_MAX || !i)
        return -EEXIST;
    begin = node_at(p, i)->offset;
    end = begin + node_at(p, i)->len;
    if (end - at < units)
        return -EEXIST;
    if (items_reserve(&p->records) < 0 || items_reserve(&p->nodes) < 0)
        return -ENOMEM;

    /* The rest of the free extent on both sides: the removed node serves the first, the
     * reserved one the second. */
    free_remove(p, in, i);
    if (begin < at)
        free_insert(p, in, begin, at - begin);
    if (at + units < end)
        free_insert(p, in, at + units, end - at - units);
    in->free_units -= units;
    p->free_units -= units;
    r = record_insert(p, at, (uint32_t)units);
    if (*last)
        record_at(p, *last)->next = r;
    else
        *list = r;
    *last = r;
    return 0;
}

/* Gives one extent back and merges it with its free neighbours. Without memory for a node the units
 * are lost to the pool: giving back never fails. */
static void give_back(struct extent_pool *p, uint64_t offset, uint64_t len)
{
    uint64_t units = len;
    struct part *in = part_at(p, offset);
    uint32_t left = neighbour(p, in, offset, 0), right = neighbour(p, in, offset + len, 1);
    if (left) {
        offset = node_at(p, left)->offset;
        len += node_at(p, left)->len;
        free_remove(p, in, left);
    }
    if (right) {
        len += node_at(p, right)->len;
        free_remove(p, in, right);
    }
    if (items_reserve(&p->nodes) < 0)
        return;
    free_insert(p, in, offset, len);
    in->free_units += units;
    p->free_units += units;
}

void extent_release(struct extent_pool *p, uint32_t list)
{
    while (list) {
        struct record *r = record_at(p, list);
        uint32_t next = r->next;
        give_back(p, r->offset, r->len);
        r->offset = p->records.unused;
        p->records.unused = list;
        list = next;
    }
}

uint64_t extent_free_bytes(const struct extent_pool *p)
{
    return p->free_units << p->shift;
}

bool extent_walk(const struct extent_pool *p, uint32_t *pos, struct extent *out)
{
    if (!*pos)
        return false;
    const struct record *r = record_at(p, *pos);
    out->offset = r->offset << p->shift;
    out->len = (uint64_t)r->len << p->shift;
    *pos = r->next;
    return true;
}

uint64_t extent_bytes(const struct extent_pool *p, uint32_t list)
{
    uint64_t bytes = 0;
    struct extent x;
    while (extent_walk(p, &list, &x))
        bytes += x.len;
    return bytes;
}
