/* Entries found by a 128-bit id, from memory that is taken at the start and never grows, so that
 * nothing is allocated while rows run: the chains of order.c, the users of pace.c, the requests of
 * admission.c. An entry's struct begins with a struct pool_entry. One thread. */
#ifndef KVREPLAY_WAIT_POOL_H
#define KVREPLAY_WAIT_POOL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "lib/base/hash.h"

struct pool_entry {
    struct pool_entry *next; /* in its bucket, or in the list of spare entries */
    struct hash128 id;
};

struct pool {
    struct pool_entry **bucket;
    size_t mask;
    struct pool_entry *spare; /* given back */
    char *fresh; /* entries never used, fresh_left of them: their memory is untouched */
    size_t fresh_left, entry_bytes;
    void *memory;
};

/* Takes memory for entries structs of entry_bytes each. 0, or -ENOMEM; pool_release also then. */
static inline int pool_init(struct pool *p, size_t entries, size_t entry_bytes)
{
    size_t buckets = 16;

    while (buckets < entries)
        buckets *= 2;
    *p = (struct pool){.mask = buckets - 1,
                       .bucket = calloc(buckets, sizeof(*p->bucket)),
                       .memory = calloc(entries, entry_bytes)};
    if (!p->bucket || !p->memory)
        return -ENOMEM;
    p->fresh = p->memory;
    p->fresh_left = entries;
    p->entry_bytes = entry_bytes;
    return 0;
}

static inline void pool_release(struct pool *p)
{
    free(p->memory);
    free(p->bucket);
}

/* The bucket of id, to prefetch. */
static inline struct pool_entry **pool_bucket(const struct pool *p, struct hash128 id)
{
    return &p->bucket[id.lo & p->mask];
}

/* NULL: not there. */
static inline struct pool_entry *pool_find(const struct pool *p, struct hash128 id)
{
    struct pool_entry *e = *pool_bucket(p, id);
    while (e && !hash128_equal(e->id, id))
        e = e->next;
    return e;
}

/* Is no entry spare? */
static inline bool pool_full(const struct pool *p)
{
    return !p->spare && p->fresh_left == 0;
}

/* A spare entry becomes the one of id, which was not there. The caller makes sure that an entry is
 * spare, and sets the members behind struct pool_entry. */
static inline struct pool_entry *pool_add(struct pool *p, struct hash128 id)
{
    struct pool_entry *e = p->spare, **b = pool_bucket(p, id);
    if (e) {
        p->spare = e->next;
    } else {
        e = (struct pool_entry *)p->fresh;
        p->fresh += p->entry_bytes;
        p->fresh_left--;
    }
    *e = (struct pool_entry){.next = *b, .id = id};
    *b = e;
    return e;
}

static inline void pool_remove(struct pool *p, struct pool_entry *e)
{
    struct pool_entry **at = pool_bucket(p, e->id);
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    e->next = p->spare;
    p->spare = e;
}

/* The id of a request: no key or user hashes to it but by a chance of 2^-128. */
static inline struct hash128 pool_request_id(int64_t request)
{
    uint64_t n = (uint64_t)request;
    return (struct hash128){.lo = hash_mix(n), .hi = n};
}

#endif
