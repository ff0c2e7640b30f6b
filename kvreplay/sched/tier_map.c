/* Beside the reader and the survey: which tier executes the rows of a tier of the trace. */
#include "kvreplay/sched/tier_map.h"

#include <errno.h>
#include <stdbool.h>

static bool is_tier(char c)
{
    return c >= '0' && c < '0' + TRACE_TIERS;
}

int tier_map_parse(struct tier_map *m, const struct opt_list *texts, struct err *e)
{
    for (size_t i = 0; i < texts->count; i++) {
        const char *t = texts->item[i];
        if (!is_tier(t[0]) || t[1] != '=' || !is_tier(t[2]) || t[3])
            return err_set(e, -EINVAL, ERR_INPUT, "--tier-map",
                           "%s: expected two of the tiers 0, 1 and 2, as 0=1", t);
        m->to[t[0] - '0'] = (uint8_t)(t[2] - '0' + 1);
    }
    return 0;
}

struct hash128 tier_map_copy(const struct tier_map *m, struct hash128 key, unsigned tier)
{
    uint64_t salted[3] = {key.hi, key.lo, tier};
    return tier_map_to(m, tier) == tier ? key : hash_128(salted, sizeof(salted));
}
