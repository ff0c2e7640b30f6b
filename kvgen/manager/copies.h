/* copies.h - the cache `copies`: no engine's, but the plain one for questions of design. A block
 * that the GPU filled is copied below at once, at its n-th use, when it is given up, or never; a
 * hit below is copied up, to the GPU only or to the tier between, too. Each tier has a policy and
 * an admission of its own.
 *
 * A request's blocks enter the GPU's order, or are used in it, when the request lets them go, the
 * last one first, so that the end of a prompt goes before its begin; below, they do when they come
 * and when they are loaded, in the same order. What is in use and would go next begins anew as the
 * newest. */
#ifndef KVGEN_MANAGER_COPIES_H
#define KVGEN_MANAGER_COPIES_H

#include "kvgen/cache/cache.h"
#include "kvgen/manager/copy_tier.h"
#include "kvgen/policy/admission.h"

enum copies_store {
    COPIES_AT_USE, /* at its n-th use: with 1 at once; again, if it has left, at each use after it
                    */
    COPIES_WHEN_EVICTED, /* of the tier above, before it leaves that */
    COPIES_NEVER,
    COPIES_STORES
};

struct copies_tier {
    struct copy_tier_opts room; /* blocks 0: there is no such tier; not of the GPU */
    /* For tiers below the GPU: when a block comes from the tier above. */
    enum copies_store store;
    uint32_t uses;    /* of COPIES_AT_USE, from 1, on the tier above */
    bool prompt_only; /* of what the GPU has: answers do not go down */
    bool exclusive;   /* what is loaded from here leaves */
    enum admission_rule admission;
    /* For ADMISSION_SEEN, from 1: uses by all requests that have the block. Admission counts as for
     * a tier of at most 2^20 blocks. */
    uint32_t admission_uses;
};

struct copies_cache_opts {
    uint64_t block_tokens;
    struct copies_tier tier[TRACE_TIERS];
    bool through; /* a hit on storage is copied to host memory, too, if that takes it */
    /* A block has one copy, as under `waterfall`: all tiers are COPIES_WHEN_EVICTED. What a load
     * brings from a tier that is not exclusive, and what is computed while a tier below has it, is
     * the request's own, under no key. */
    bool single;
};

extern const struct kv_cache_ops copies_cache_ops;

/* NULL: no memory. */
struct kv_cache *copies_cache_create(const struct copies_cache_opts *o,
                                     const struct kv_listener *listener);
/* A tier's blocks, for checks; NULL: there is no such tier. */
const struct copy_tier *copies_cache_tier(const struct kv_cache *c, enum trace_tier tier);

#endif
