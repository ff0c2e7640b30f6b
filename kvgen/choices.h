/* Choices of kvgen's options that the simulator acts on, in the order of the option table. */
#ifndef KVGEN_CHOICES_H
#define KVGEN_CHOICES_H

/* --generation-mode: index into workload.token_ns. */
enum choice_generation {
    GENERATION_NONE,
    GENERATION_FAST,
    GENERATION_REALISTIC,
    GENERATION_MODES
};

/* --eviction: index into policies. */
enum choice_eviction {
    EVICTION_LRU,
    EVICTION_FIFO,
    EVICTION_LFU,
    EVICTION_S3FIFO,
    EVICTION_SIEVE,
    EVICTION_POLICIES
};

/* --promote */
enum choice_promote {
    PROMOTE_NONE,
    PROMOTE_ON_HIT
};

/* --block-reuse */
enum choice_block_reuse {
    BLOCK_REUSE_PREFIX,
    BLOCK_REUSE_ANY
};

#endif
