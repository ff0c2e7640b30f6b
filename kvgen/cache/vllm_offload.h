/* vllm_offload.h - vLLM 0.33.0's OffloadingConnector below its block pool: copies in host memory,
 * and below that, if wanted, a tier of files. */
#ifndef KVGEN_CACHE_VLLM_OFFLOAD_H
#define KVGEN_CACHE_VLLM_OFFLOAD_H

#include "kvgen/cache/cache.h"
#include "kvgen/cache/chain_numbers.h"

enum vllm_lower {
    VLLM_NO_LOWER, /* CPUOffloadingSpec */
    VLLM_FILES,    /* TieringOffloadingSpec with `fs` */
    VLLM_EXAMPLE   /* with `example`: files that answer at once */
};

/* The engine's names; its defaults in brackets. */
struct vllm_offload_opts {
    uint64_t gpu_blocks, block_tokens;
    uint32_t groups;        /* of layers */
    const uint64_t *window; /* of each group; 0: all. Read while it is created */
    uint64_t chunks;        /* capacity of the host tier */
    uint64_t chunk_blocks;  /* blocks_per_chunk (1) */
    bool arc;               /* eviction_policy: lru (that) or arc */
    /* Without a fault of the engine: where host memory is smaller than what a request (or several)
     * would fetch from the lower tier, each fetch pushes out what the next look-up needs, for ever
     * (KV_ENDLESS). With this, what was fetched stays until its request is admitted. */
    bool fixed;
    bool prompt_only; /* offload_prompt_only (true) */
    uint64_t
        store_threshold; /* offers of a chunk until it is stored (0); below 2: stored at once */
    uint64_t max_tracker_size; /* chunks whose offers are counted (64,000) */
    uint64_t sync_load_bytes;  /* sync_load_budget_bytes (0): of loads within a step */
    uint64_t chunk_bytes;      /* read with sync_load_bytes only */
    enum vllm_lower lower;
    uint64_t most_files; /* room of the lower tier in chunks, for what is no engine's: a write that
                            finds none fails; 0: no limit, as the engine has it */
    bool clean_files;    /* a cleaner makes room then: see vllm_files.h */
    const struct kv_below *with;   /* of another engine, whose files it shares; NULL: its own */
    uint64_t own_files;            /* of shared ones, those that it may have written; 0: no limit */
    struct chain_numbers *numbers; /* of the keys of all chains; NULL: these are hashes */
};

extern const struct kv_below_ops vllm_offload_ops;

/* NULL: no memory. */
struct kv_below *vllm_offload_create(const struct vllm_offload_opts *o,
                                     const struct kv_listener *listener);

struct vllm_host_counts;
/* Counts what host memory holds. */
void vllm_offload_count(const struct kv_below *b, struct vllm_host_counts *out);

#endif
