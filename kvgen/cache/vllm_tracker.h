/* vllm_tracker.h - how often chunks were offered to be stored, for vLLM 0.33.0's store_threshold: a
 * table of the keys that were offered last. */
#ifndef KVGEN_CACHE_VLLM_TRACKER_H
#define KVGEN_CACHE_VLLM_TRACKER_H

#include <stdint.h>

#include "kvgen/cache/id_table.h"

struct vllm_tracker {
    uint64_t most; /* max_tracker_size */
    struct id_table keys;
    struct tracked
        *place; /* by number + 1; 0 is the head of the ring, least recently offered first */
    uint64_t places;
};

/* Zero the tracker and set .most before. Makes room for an offer of that many chunks. 0 or -ENOMEM.
 */
int vllm_tracker_reserve(struct vllm_tracker *t, uint64_t chunks);
void vllm_tracker_release(struct vllm_tracker *t);
/* Counts an offer of the key. */
void vllm_tracker_count(struct vllm_tracker *t, uint64_t key);
/* An offer is counted: forgets what was offered least recently, until fewer than .most are left. */
void vllm_tracker_cut(struct vllm_tracker *t);
/* How often the key was offered since it came to the table; 0: it is not there. */
uint64_t vllm_tracker_offers(const struct vllm_tracker *t, uint64_t key);

#endif
