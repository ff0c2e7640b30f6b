/* policy.c - the eviction policies by their numbers, which are those of --eviction's choices. */
#include "kvgen/policy/policy.h"

const struct policy_ops *const policies[POLICIES] = {&policy_lru, &policy_fifo, &policy_lfu,
                                                     &policy_s3fifo, &policy_sieve};
