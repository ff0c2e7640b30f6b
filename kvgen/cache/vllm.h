/* vllm.h - the KV cache of vLLM 0.33.0 on the GPU: a block pool, found by prefix, for one or more
 * groups of layers; below it whatever kv_below_ops stands for. */
#ifndef KVGEN_CACHE_VLLM_H
#define KVGEN_CACHE_VLLM_H

#include "kvgen/cache/cache.h"
#include "kvgen/cache/chain_numbers.h"

enum {
    VLLM_GROUPS = 8 /* at most */
};

struct vllm_opts {
    uint64_t blocks;              /* that can be used: num_gpu_blocks less the null block */
    uint64_t block_tokens;        /* block_size */
    uint32_t groups;              /* of layers, 1 to VLLM_GROUPS; the first looks at all tokens */
    uint64_t window[VLLM_GROUPS]; /* tokens that the group looks at; 0: all */
    /* Windows are cached all along the chain, not only where a later prompt can take them up
     * (prefix_cache_retention_interval: null). */
    bool all_windows;
    const struct kv_below_ops *below_ops; /* NULL: nothing is below */
    struct kv_below *below;               /* the cache's, which frees it */
    struct chain_numbers *numbers;        /* of the keys of all chains; NULL: these are hashes */
};

extern const struct kv_cache_ops vllm_cache_ops;

/* NULL: no memory; below is then freed, too. The listener's functions may not be NULL. */
struct kv_cache *vllm_create(const struct vllm_opts *o, const struct kv_listener *listener);

#endif
