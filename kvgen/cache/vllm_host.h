/* vllm_host.h - the chunks that vLLM 0.33.0 keeps in host memory (CPUOffloadingManager) and the
 * order in which they leave: its LRU, which ranks requests, or its ARC, which moves chunks only
 * when a request ends. Who offers and loads what is vllm_offload.h's business. */
#ifndef KVGEN_CACHE_VLLM_HOST_H
#define KVGEN_CACHE_VLLM_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/cache/cache.h"
#include "kvgen/cache/chain_numbers.h"

#define HOST_NONE UINT32_MAX /* no chunk */

struct vllm_host;

/* capacity in chunks, at least 1 and below 2^30. 60 bytes a chunk, with ARC and its ghosts 88.
 * numbers: those of the keys; NULL: keys are hashes. NULL: no memory. */
struct vllm_host *vllm_host_create(uint64_t capacity, bool arc, struct chain_numbers *numbers);
void vllm_host_free(struct vllm_host *h); /* takes NULL */

/* The chunk with that key, written or being written; HOST_NONE: it is not here. Its number is its
 * own as long as it is here. */
uint32_t vllm_host_find(const struct vllm_host *h, uint64_t key);
void vllm_host_expect(const struct vllm_host *h, uint64_t key); /* vllm_host_find comes soon */
uint64_t vllm_host_key(const struct vllm_host *h, uint32_t chunk);
bool vllm_host_is_ready(const struct vllm_host *h, uint32_t chunk); /* written */

/* A chunk that is read cannot leave. loads: to the GPU (the others go to a tier below). */
void vllm_host_begin_read(struct vllm_host *h, uint32_t chunk, bool load);
void vllm_host_end_read(struct vllm_host *h, uint32_t chunk, bool load);
bool vllm_host_is_loaded(const struct vllm_host *h, uint32_t chunk); /* some load reads it */
/* It is ready now, and (read) is read to a tier below. */
void vllm_host_written(struct vllm_host *h, uint32_t chunk, bool read);

/* The part of a request that the order knows. Zero it. */
struct vllm_host_request {
    uint64_t rank; /* 0: none yet */
};
/* The request touches a chunk at that position (which grows along the chain; the last ones leave
 * first) for the first time: one that is here, or (rank only) one that is about to come. */
void vllm_host_touch(struct vllm_host *h, struct vllm_host_request *r, uint32_t chunk,
                     uint64_t position);
/* The request misses that key for the first time: the order's target may move. */
void vllm_host_miss(struct vllm_host *h, uint64_t key);
/* Chunks of the next vllm_host_make_room that must not leave: begin a set, then add to it. */
void vllm_host_protect(struct vllm_host *h);
void vllm_host_protect_chunk(struct vllm_host *h, uint32_t chunk);
/* Room for that many chunks, all or nothing; false: it cannot be made, and nothing changed. Each
 * chunk that leaves is told. */
bool vllm_host_make_room(struct vllm_host *h, uint64_t chunks, const struct kv_listener *l,
                         const struct kv_request *r);
/* How many chunks must leave for that many to come; how many may at most (some of them may be
 * protected); and how many have come so far. */
uint64_t vllm_host_lacks(const struct vllm_host *h, uint64_t chunks);
uint64_t vllm_host_may_leave(const struct vllm_host *h);
uint64_t vllm_host_inserts(const struct vllm_host *h);
/* How many have left so far: while it stays the same, what was found and ready is so still. */
uint64_t vllm_host_left(const struct vllm_host *h);
uint64_t vllm_host_loading(const struct vllm_host *h); /* reads to the GPU under way */
/* A new chunk, being written; there is room. */
uint32_t vllm_host_insert(struct vllm_host *h, struct vllm_host_request *r, uint64_t key,
                          uint64_t position);
/* A request ended. For each key that it touched, from the tail to the head. brought: it was the one
 * that stored it; reused: it found it here; neither: there was no room for it. */
void vllm_host_end(struct vllm_host *h, uint64_t key, bool brought, bool reused);

struct vllm_host_counts {
    uint64_t chunks;
    bool arc;
    uint64_t list[4]; /* ARC: T1, T2, B1, B2 */
    double target;    /* ARC: of T1 */
};
void vllm_host_count(const struct vllm_host *h, struct vllm_host_counts *out);
uint64_t vllm_host_memory(const struct vllm_host *h); /* bytes */

#endif
