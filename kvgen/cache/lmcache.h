/* lmcache.h - the cache of LMCache 0.5.6's in-process engine: chunks of tokens in memory of the
 * host (L1) and in files (L2), decision by decision as the engine takes them. Pure state: time,
 * sizes and files are the caller's. The caller names a chunk by an id that stands for the whole
 * prefix up to the chunk's end. One thread at a time.
 *
 * Left out: buffers of un-full chunks count as whole ones (the engine's allocator is first fit over
 * bytes), and the layerwise mode. */
#ifndef KVGEN_CACHE_LMCACHE_H
#define KVGEN_CACHE_LMCACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/chunks.h"

struct lmcache_settings {
    uint64_t chunk_tokens;        /* 256 */
    uint64_t l1_chunks;           /* buffers of L1 */
    uint64_t l2_chunks;           /* 0: no L2 */
    enum chunk_order order;       /* of both tiers; LRU */
    bool local_cpu;               /* yes; no: L1 only stages */
    bool save_unfull_chunk;       /* no */
    bool save_decode_cache;       /* no */
    bool async_loading;           /* no */
    bool writes_held;             /* writes to L2 end in lmcache_written; else at once */
    bool fixed;                   /* without the engine's bugs: see lmcache_load */
    uint64_t min_retrieve_tokens; /* 0 */
};

/* Events of a chunk. In the order of names in lmcache_op_names. */
enum lmcache_op {
    LMCACHE_L1_LOAD,      /* a hit is read from L1 */
    LMCACHE_L1_PROMOTE,   /* what was read from L2 is put in L1 */
    LMCACHE_L1_STORE,     /* new in L1 */
    LMCACHE_L1_DUP,       /* it is in L1 already: the new copy is dropped */
    LMCACHE_L1_EVICT,     /* leaves L1 */
    LMCACHE_L1_ALLOCFAIL, /* no buffer: this chunk and the rest of its store are dropped */
    LMCACHE_L1_HANG,      /* no buffer: its load waits */
    LMCACHE_L2_LOAD,      /* a hit is read from L2 */
    LMCACHE_L2_STORE,     /* its write begins */
    LMCACHE_L2_DUP,       /* it is in L2 already: touched only */
    LMCACHE_L2_INFLIGHT,  /* its write is still under way: no second one */
    LMCACHE_L2_REJECT,    /* all of L2 is pinned or being written: not stored */
    LMCACHE_L2_EVICT,     /* its file is deleted */
    LMCACHE_OPS
};
extern const char *const lmcache_op_names[LMCACHE_OPS];

/* Called in the order of the operations; must not call the cache. */
typedef void (*lmcache_sink)(void *arg, enum lmcache_op op, uint64_t chunk);

/* A request. The caller fills the first part and keeps the ids until the request is loaded. */
struct lmcache_request {
    const uint64_t *chunk; /* of the prompt; with save_unfull_chunk the un-full one is the last */
    uint64_t chunks;
    uint64_t tokens;     /* of the prompt */
    uint64_t gpu_tokens; /* of these, what the GPU holds already */
    /* Filled by lmcache_look_up. */
    uint64_t hit_l1, hit_l2; /* chunks: a prefix from L1, then a run from L2 */
    uint64_t hit_tokens;
    uint64_t staged; /* buffers of L1 that its load has taken so far */
    bool waits;      /* its load found no buffer */
};

struct lmcache;

/* NULL: no memory. */
struct lmcache *lmcache_create(const struct lmcache_settings *settings, lmcache_sink sink,
                               void *arg);
void lmcache_free(struct lmcache *c); /* takes NULL */

/* Before a request is scheduled: finds and pins its hits. 0 or -ENOMEM. */
int lmcache_look_up(struct lmcache *c, struct lmcache_request *r);
/* When a request is admitted: loads its hits. Returns the tokens that are loaded: 0 without a hit,
 * or below min_retrieve_tokens; lmcache_loaded comes next. -EAGAIN: L1 holds nothing that it could
 * evict, and the engine waits; call again after other requests. It waits for ever if the hit on L2
 * is larger than L1; with fixed, the hits on L2 are then left, and hit_l2 and hit_tokens are less.
 * -ENOMEM. */
int64_t lmcache_load(struct lmcache *c, struct lmcache_request *r);
/* The load has come to the GPU: lets go of its pins. */
void lmcache_loaded(struct lmcache *c, struct lmcache_request *r);
/* A request that goes away before its load: lets go of its pins. */
void lmcache_cancel(struct lmcache *c, struct lmcache_request *r);
/* With fixed, after a look-up and before the load: takes the buffers that the load needs, or leaves
 * the hits on L2, so that the load does not wait. It may be repeated when gpu_tokens has changed.
 */
void lmcache_stage(struct lmcache *c, struct lmcache_request *r);
/* Puts chunks that one step of the engine completed in L1, in their order. Returns for how many
 * there was a buffer: the first ones; or -ENOMEM. With an L2 their buffers are held until
 * lmcache_submit of the same chunks. */
int64_t lmcache_store(struct lmcache *c, const uint64_t *chunk, uint64_t chunks);
/* Gives them to L2. 0 or -ENOMEM. */
int lmcache_submit(struct lmcache *c, const uint64_t *chunk, uint64_t chunks);
/* With writes_held: writes to L2 that were told (LMCACHE_L2_STORE) end, in that order. */
void lmcache_written(struct lmcache *c, const uint64_t *chunk, uint64_t chunks);

/* The chunks of a request that are saved once `computed` of its tokens are computed, out of a
 * prompt of `prompt` tokens; the last one sampled has no KV yet and is not computed. A full chunk
 * that ends in the answer is saved with save_decode_cache only. The un-full one at the prompt's
 * end, which has an id of its own, is no part of it. */
uint64_t lmcache_savable(const struct lmcache_settings *s, uint64_t prompt, uint64_t computed);

/* The chunks in the order of their eviction, for checks. */
const struct chunks *lmcache_chunks(const struct lmcache *c);

#endif
