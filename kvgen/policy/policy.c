/* The eviction policies by number. Each stands in a file of its own. */
#include "kvgen/policy/policy.h"

const struct policy_ops *const policies[POLICIES] = {
    [POLICY_LRU] = &policy_lru,       [POLICY_FIFO] = &policy_fifo,   [POLICY_LFU] = &policy_lfu,
    [POLICY_S3FIFO] = &policy_s3fifo, [POLICY_SIEVE] = &policy_sieve, [POLICY_ARC] = &policy_arc,
    [POLICY_MRU] = &policy_mru,
};
