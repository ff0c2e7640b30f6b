/* claims.h - what all ranks of a run want of the file systems that they share, so that none of them
 * takes the free space of all for its own. */
#ifndef KVTRACE_RANKS_CLAIMS_H
#define KVTRACE_RANKS_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/ranks/ranks.h"

/* The room that a rank claims of the file system under a target. */
struct claim {
    uint64_t place; /* the file system's number on this host, or that of a target which all share */
    uint64_t bytes; /* at its peak; 0: not known */
};

/* The room that other ranks claim there. */
struct claim_others {
    uint64_t bytes;
    unsigned targets; /* of theirs */
};

/* All ranks call it, each with count claims. shared: places mean the same on all hosts. others: of
 * each of these claims, what other ranks want of the same place. 0 or a negative errno with *e. */
int claims_compare(struct ranks *ranks, bool shared, const struct claim *own, unsigned count,
                   struct claim_others *others, struct err *e);

#endif
