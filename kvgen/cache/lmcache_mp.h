/* lmcache_mp.h - the cache of LMCache 0.5.6's multi-process server: chunks in memory of the host
 * (L1) and in files (L2), decision by decision. It is another design than the in-process engine
 * (lmcache.h): a store that finds no room stores nothing, and only a loop once a second evicts.
 * Pure state; a chunk's id stands for the whole prefix up to its end. One thread at a time. */
#ifndef KVGEN_CACHE_LMCACHE_MP_H
#define KVGEN_CACHE_LMCACHE_MP_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/chunks.h"

/* A tier's loop: when used / capacity reaches the watermark, that part of the keys goes. */
struct lmcache_mp_tier {
    uint64_t chunks;  /* capacity; of L2: 0 without L2, UINT64_MAX without a bound */
    double watermark; /* 0.8 */
    double ratio;     /* 0.2 */
};

struct lmcache_mp_settings {
    struct lmcache_mp_tier l1, l2;
    bool arc;         /* L1's eviction policy is ARC, else LRU; L2's is LRU */
    bool retain;      /* prefetch policy: what is loaded from L2 stays in L1 */
    bool skip_l1;     /* store policy: what L2 has stored leaves L1 */
    bool writes_held; /* writes to L2 end in lmcache_mp_written; else at once */
    /* Not the engine's: L2 has room for so many chunks (0: it has no end), and a write that finds
     * none fails, unless a cleaner removes those that were read longest ago, down to 90 %. */
    uint64_t l2_room;
    bool l2_clean;
};

enum lmcache_mp_op {
    LMCACHE_MP_READ,
    LMCACHE_MP_L1_STORE,
    LMCACHE_MP_L1_OOM, /* too little room: none of the call's chunks is taken */
    LMCACHE_MP_L1_EVICT,
    LMCACHE_MP_L1_DELETE,   /* skip_l1: it is on L2 now */
    LMCACHE_MP_L1_TEMP,     /* loaded from L2 for this request only */
    LMCACHE_MP_L1_DROPTEMP, /* and dropped after it */
    LMCACHE_MP_L1_PROMOTE,  /* loaded from L2, and stays */
    LMCACHE_MP_L2_STORE,
    LMCACHE_MP_L2_DUP, /* its file is there */
    LMCACHE_MP_L2_LOAD,
    LMCACHE_MP_L2_EVICT,
    LMCACHE_MP_L2_FULL,  /* no room for its file */
    LMCACHE_MP_L2_CLEAN, /* its file was removed to make room */
    LMCACHE_MP_OPS
};
extern const char *const lmcache_mp_op_names[LMCACHE_MP_OPS];

/* Called in the order of the operations; must not call the cache. */
typedef void (*lmcache_mp_sink)(void *arg, enum lmcache_mp_op op, uint64_t chunk);

/* A request. The caller keeps the ids until lmcache_mp_end. */
struct lmcache_mp_request {
    const uint64_t *chunk; /* the full chunks of the prompt */
    uint64_t chunks;
    uint64_t gpu;    /* of these the GPU has, so that they are not read */
    uint64_t hit;    /* filled by lmcache_mp_look_up: chunks, a prefix */
    uint64_t hit_l2; /* of these, loaded from L2 */
};

struct lmcache_mp;

struct lmcache_mp *lmcache_mp_create(const struct lmcache_mp_settings *settings,
                                     lmcache_mp_sink sink, void *arg); /* NULL: no memory */
void lmcache_mp_free(struct lmcache_mp *c);                            /* takes NULL */

/* Finds the hits in both tiers, chunk by chunk, and begins to load those on L2 into L1, all or
 * none. Hits are locked until lmcache_mp_read. 0, and lmcache_mp_loaded comes next; 1: nothing was
 * done, another request loads one of them, ask again; or -ENOMEM. */
int lmcache_mp_look_up(struct lmcache_mp *c, struct lmcache_mp_request *r);
/* The hits are all in L1. */
void lmcache_mp_loaded(struct lmcache_mp *c, struct lmcache_mp_request *r);
/* Reads the hits, unlocks them, and drops what was loaded for this request only. */
void lmcache_mp_read(struct lmcache_mp *c, struct lmcache_mp_request *r);
/* Stores new chunks of one step in L1: all or none. With an L2 those that were told
 * (LMCACHE_MP_L1_STORE) are held until lmcache_mp_submit of them. 0 or -ENOMEM. */
int lmcache_mp_store(struct lmcache_mp *c, const uint64_t *chunk, uint64_t chunks);
/* Gives them to L2. 0 or -ENOMEM. */
int lmcache_mp_submit(struct lmcache_mp *c, const uint64_t *chunk, uint64_t chunks);
/* With writes_held: writes to L2 of one submission (LMCACHE_MP_L2_STORE) end. */
void lmcache_mp_written(struct lmcache_mp *c, const uint64_t *chunk, uint64_t chunks);
/* The request's session ends: its chunks are used once more. 0 or -ENOMEM. */
int lmcache_mp_end(struct lmcache_mp *c, const struct lmcache_mp_request *r);
/* The loop over both tiers, which the server runs once a second. */
void lmcache_mp_evict(struct lmcache_mp *c);

const struct chunks *lmcache_mp_chunks(const struct lmcache_mp *c); /* for checks */
double lmcache_mp_target(const struct lmcache_mp *c);               /* ARC's, in chunks; likewise */

#endif
