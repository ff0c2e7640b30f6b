/* lmcache_mp.h - LMCache 0.5.6's multi-process server below vLLM's block pool
 * (kvgen/cache/lmcache_mp.h decides).
 *
 * A look-up that finds chunks in files fetches them to memory before it answers, and holds what it
 * found until the request has read it; then the request waits for its load. Only prompts are
 * stored: within their step to memory, beside the steps to files. Evictions come with `second`. */
#ifndef KVGEN_MANAGER_LMCACHE_MP_H
#define KVGEN_MANAGER_LMCACHE_MP_H

#include "kvgen/cache/cache.h"
#include "kvgen/cache/lmcache_mp.h"

struct lmcache_mp_opts {
    uint64_t chunk_tokens; /* 256 */
    /* Without writes_held a file is there when its write begins. */
    struct lmcache_mp_settings settings;
};

extern const struct kv_below_ops lmcache_mp_below_ops;

struct kv_below *lmcache_mp_below_create(const struct lmcache_mp_opts *o,
                                         const struct kv_listener *listener); /* NULL: no memory */
/* Its chunks, and the result of a request's last look-up, for checks. */
const struct chunks *lmcache_mp_below_chunks(const struct kv_below *b);
const struct lmcache_mp_request *lmcache_mp_below_request(const void *state);

#endif
