/* Several stores as one: each holds a part of all names, and a name alone says which. A part is a
 * range of slots; a name has one slot. Plain functions, and an engine over engines. */
#ifndef KVTRACE_TIER_SPREAD_H
#define KVTRACE_TIER_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/hash.h"
#include "lib/io/target_part.h"
#include "lib/tier/tier.h"

enum {
    SPREAD_MAX = TIER_DOORS_MAX /* stores */
};

static inline unsigned spread_slot(struct hash128 name)
{
    return (unsigned)(name.hi >> 32) % TARGET_SLOTS;
}
static inline bool spread_holds(struct target_part part, struct hash128 name)
{
    unsigned slot = spread_slot(name);

    return slot >= part.from && slot < part.to;
}

/* Gives each of count stores (1 to SPREAD_MAX) slots by its weight, one at least. All weights the
 * same: all parts the same, but for one slot. */
void spread_divide(const uint64_t *weight, unsigned count, struct target_part *part);
/* Do the parts, in any order, hold every slot once? */
bool spread_complete(const struct target_part *part, unsigned count);

struct spread_opts {
    unsigned count; /* 2 to SPREAD_MAX */
    struct tier *const *tier;
    const char *const *name;        /* of each, for reports; the caller's until close */
    const struct target_part *part; /* complete; copied */
};
/* Takes over the engines, which then close with it. */
int tier_spread_open(struct tier **out, const struct spread_opts *o, struct err *e);

#endif
