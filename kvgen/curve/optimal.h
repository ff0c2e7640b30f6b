/* optimal.h - what no cache of a given size can pass, knowing the future: a bound for the curve. */
#ifndef KVGEN_CURVE_OPTIMAL_H
#define KVGEN_CURVE_OPTIMAL_H

#include <stdint.h>

struct optimal;

enum optimal_kind {
    OPTIMAL_WRITE,  /* no lookup: brings its object in, unless it is there */
    OPTIMAL_LOOKUP, /* brings it in when it misses */
    OPTIMAL_PROBE   /* leaves it out when it misses */
};

struct optimal *optimal_create(void); /* NULL: no memory */
void optimal_free(struct optimal *o);
/* One use of an object (numbers from 0, without gaps in order of first use). Keeps 4 bytes a use,
 * up to 13 more from optimal_begin on. 0, -ENOMEM, or -EFBIG after 2^32 - 2 uses or 2^30 objects.
 */
int optimal_use(struct optimal *o, uint32_t object, uint64_t size, enum optimal_kind kind);
/* After the last use, before the first question. 0 or -ENOMEM. */
int optimal_begin(struct optimal *o);
/*
 * Objects of one size: exactly the hits of Belady, "A study of replacement algorithms for a
 * virtual-storage computer", IBM Systems Journal 5(2), 1966, that may also leave an object out.
 * Of several sizes: bytes by the same algorithm on parts of objects, hits by the relaxation PFOO-L
 * of Berger, Beckmann and Harchol-Balter, "Practical bounds on optimal caching with variable object
 * sizes", SIGMETRICS 2018: nothing passes either. An object larger than capacity is taken, as
 * caches here take it, alone: it is a hit until another one is brought in. O(n log n) for n uses.
 */
void optimal_hits(struct optimal *o, uint64_t capacity, uint64_t *hits, uint64_t *hit_bytes);

#endif
