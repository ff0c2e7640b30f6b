/* tier_map.h - rows of one tier that are run on another. */
#ifndef KVREPLAY_SCHED_TIER_MAP_H
#define KVREPLAY_SCHED_TIER_MAP_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/opt/opt.h"
#include "lib/trace/trace.h"

struct tier_map {
    uint8_t to[TRACE_TIERS]; /* by the tier of the trace: 0: itself, else the tier + 1 */
};

/* Reads texts "0=1" into a zeroed map. -EINVAL with *e. */
int tier_map_parse(struct tier_map *m, const struct opt_list *texts, struct err *e);
/* Which tier executes rows of tier. */
static inline uint8_t tier_map_to(const struct tier_map *m, unsigned tier)
{
    return m->to[tier] ? (uint8_t)(m->to[tier] - 1) : (uint8_t)tier;
}
/* Identity of the copy of the object with that hash of its key in tier of the trace: the hash
 * itself, unless the tier is mapped, since the tier that it then shares may hold a copy of its own.
 */
struct hash128 tier_map_copy(const struct tier_map *m, struct hash128 key, unsigned tier);

#endif
