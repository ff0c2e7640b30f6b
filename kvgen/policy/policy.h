/* policy.h - which object a full tier gives up: a table of functions, one policy a file. */
#ifndef KVGEN_POLICY_POLICY_H
#define KVGEN_POLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/choices.h"
#include "kvgen/sim/objects.h"

struct policy; /* the order of one tier's objects */

/* Every function takes O(1) or O(log n), on average over the calls so far; ties go by age, so that
 * runs repeat. */
struct policy_ops {
    const char *name;
    /* An empty order over objects of that store, which stays the caller's. NULL: no memory. */
    struct policy *(*create)(struct objects *objects);
    void (*free)(struct policy *p); /* takes NULL */
    /* Room for that many objects in the tier, called before there are as many anywhere: 0 or
     * -ENOMEM. NULL: nothing to reserve. */
    int (*reserve)(struct policy *p, uint64_t objects);
    void (*insert)(struct policy *p, uint32_t object); /* new in this tier */
    void (*touch)(struct policy *p, uint32_t object);  /* read */
    void (*remove)(struct policy *p, uint32_t object); /* leaves this tier */
    uint32_t (*victim)(struct policy *p); /* who goes next, left in place; OBJECT_NONE: empty */
};

extern const struct policy_ops policy_lru;    /* least recently used */
extern const struct policy_ops policy_fifo;   /* first in, first out */
extern const struct policy_ops policy_lfu;    /* least often used; of those, least recently */
extern const struct policy_ops policy_s3fifo; /* a small and a main queue with ghosts */
extern const struct policy_ops policy_sieve;  /* one queue and a hand */

enum {
    POLICIES = EVICTION_POLICIES
};
extern const struct policy_ops *const policies[POLICIES]; /* by enum choice_eviction */

#endif
