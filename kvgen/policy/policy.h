/* policy.h - which object a full tier gives up next. One table of functions for each policy, one
 * policy a file. */
#ifndef KVGEN_POLICY_POLICY_H
#define KVGEN_POLICY_POLICY_H

#include <stdint.h>

#include "kvgen/sim/objects.h"

/* In the order of --config eviction. */
enum policy_number {
    POLICY_LRU,    /* least recently used */
    POLICY_FIFO,   /* first in, first out */
    POLICY_LFU,    /* least often used; of those, least recently */
    POLICY_S3FIFO, /* a small and a main queue with ghosts */
    POLICY_SIEVE,  /* one queue and a hand */
    POLICY_ARC,    /* used once or again, with ghosts of both */
    POLICY_MRU,    /* most recently used */
    POLICIES
};

struct policy; /* the order of one tier's objects */

/* Every function takes O(1), on average over the calls so far. Ties go by age, so that
 * runs repeat. */
struct policy_ops {
    const char *name;
    /* An empty order over objects of that store, which stays the caller's. NULL: no memory. */
    struct policy *(*create)(struct objects *objects);
    void (*free)(struct policy *p); /* takes NULL */
    /* Makes room for that many objects in the tier, with smaller numbers. Called before there are
     * as many anywhere. 0 or -ENOMEM. NULL: nothing to reserve. */
    int (*reserve)(struct policy *p, uint64_t objects);
    void (*insert)(struct policy *p, uint32_t object); /* comes to this tier */
    void (*touch)(struct policy *p, uint32_t object);  /* is read */
    void (*remove)(struct policy *p, uint32_t object); /* leaves this tier, not as its victim */
    /* Who goes next; OBJECT_NONE: empty. Only a question: it changes nothing. O(objects) where all
     * were read. */
    uint32_t (*victim)(const struct policy *p);
    uint32_t (*evict)(struct policy *p); /* the victim leaves this tier; OBJECT_NONE: empty */
};

extern const struct policy_ops policy_lru, policy_fifo, policy_lfu, policy_s3fifo, policy_sieve,
    policy_arc, policy_mru;
extern const struct policy_ops *const policies[POLICIES]; /* by enum policy_number */

#endif
