/* curve_state.h - the inside of curve.h: what is counted on the way, by curve.c, and turned into
 * the answer, by curve_result.c. */
#ifndef KVGEN_CURVE_CURVE_STATE_H
#define KVGEN_CURVE_CURVE_STATE_H

#include "kvgen/curve/curve.h"
#include "kvgen/curve/optimal.h"
#include "kvgen/curve/request_prefixes.h"
#include "kvgen/curve/sized_cache.h"
#include "lib/base/keymap.h"
#include "lib/base/lru_stack.h"

struct curve {
    struct curve_opts o;
    bool spaced; /* capacities are the default ones: those that tell nothing are left out */
    uint64_t *size, *limit; /* capacities, and what the followed objects have of them */
    size_t sizes;
    /* By capacity, the endless one last. With stack distances: hits that need it and no less. */
    uint64_t *hits, *hit_bytes;
    uint64_t lookups;                  /* all */
    uint64_t followed, followed_bytes; /* those of objects that are followed */
    struct lru_stack *stack;           /* NULL: capacities are simulated */
    uint64_t furthest;                 /* distance in the request's prefix so far */
    uint64_t need;                     /* furthest distance of a hit */
    struct sized_cache **cache;        /* by capacity, the endless one last */
    struct keymap *awaited;            /* objects without a size: lookups; NULL: none yet */
    struct keymap *entries;            /* entries in parts: how many; NULL: none yet */
    bool *broken;                      /* by capacity: the prefix missed */
    bool *unnamed;                     /* the same of requests that do not mix */
    struct request_prefixes *prefixes; /* and of those that do; NULL: none yet */
    struct optimal *optimal;           /* NULL: not wanted */
    struct curve_point *point;
    struct curve_result result;
};

#endif
