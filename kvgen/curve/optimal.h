/* optimal.h - a bound for the curve: the hits that no cache of a given size can pass, even if it
 * knew the future. */
#ifndef KVGEN_CURVE_OPTIMAL_H
#define KVGEN_CURVE_OPTIMAL_H

#include <stdint.h>

struct optimal;

enum optimal_kind {
    OPTIMAL_WRITE,  /* no lookup: the object is brought in unless it is there */
    OPTIMAL_LOOKUP, /* a lookup: the object is brought in if it misses */
    OPTIMAL_PROBE   /* a lookup: the object is left out if it misses */
};

struct optimal *optimal_create(void); /* NULL: no memory */
void optimal_free(struct optimal *o);
/* One use of an object. Objects are numbered from 0 in the order of their first use, without gaps.
 * Memory: 4 bytes a use, and up to 13 more from optimal_begin on. 0, -ENOMEM, or -EFBIG after 2^32
 * - 2 uses or 2^30 objects. */
int optimal_use(struct optimal *o, uint32_t object, uint64_t size, enum optimal_kind kind);
/* Call it after the last use and before optimal_hits. 0 or -ENOMEM. */
int optimal_begin(struct optimal *o);
/*
 * The bound at one capacity (bytes). Objects of one size: exactly the hits of Belady, "A study of
 * replacement algorithms for a virtual-storage computer", IBM Systems Journal 5(2), 1966, where the
 * cache may also leave an object out. Objects of several sizes: bytes by the same algorithm on
 * parts of objects, hits by the relaxation PFOO-L of Berger, Beckmann and Harchol-Balter,
 * "Practical bounds on optimal caching with variable object sizes", SIGMETRICS 2018; no cache
 * passes either. An object larger than the capacity is taken alone, as the caches here do: it hits
 * until another one is brought in. O(n log n) for n uses.
 */
void optimal_hits(struct optimal *o, uint64_t capacity, uint64_t *hits, uint64_t *hit_bytes);

#endif
