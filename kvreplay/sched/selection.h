/* Which rows of the trace run, and on which tier each runs. The reader and the survey apply the
 * same selection. */
#ifndef KVREPLAY_SCHED_SELECTION_H
#define KVREPLAY_SCHED_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/opt/opt.h"
#include "lib/ranks/part.h"
#include "lib/trace/trace.h"

enum {
    SELECTION_ALL_TIERS = -1
};

/* Plain values. Zero it and set only_tier: then every row runs once, on its own tier. */
struct selection {
    uint64_t limit; /* first rows of the trace; 0: all */
    uint64_t loops; /* passes over these rows; 0: 1 */
    uint64_t users; /* first users of the trace; 0: all */
    unsigned parts; /* the keys are divided among so many; 0: they are not */
    unsigned part;  /* rows of its keys; part 0 has the rows without a key, too */
    uint64_t salt;  /* other keys for each value; 0: those of the trace */
    int only_tier;  /* enum trace_tier, or SELECTION_ALL_TIERS */
    uint8_t
        mapped[TRACE_TIERS]; /* the tier that runs the rows of a tier, + 1; 0: the tier itself */
};

/* The tier that text, such as "0=1" or "2=mem", begins with; -1: it does not begin with a tier and
 * '='. */
int selection_parse_tier(const char *text);
/* Reads the texts of --tier-map ("0=1") into s->mapped. -EINVAL with *e. */
int selection_parse_map(struct selection *s, const struct opt_list *texts, struct err *e);

/* The tier that runs the rows of tier. */
static inline uint8_t selection_tier(const struct selection *s, unsigned tier)
{
    return s->mapped[tier] ? (uint8_t)(s->mapped[tier] - 1) : (uint8_t)tier;
}
/* Names the copy that a row of tier works on, given the hash of its key: the hash itself, unless
 * the tier is mapped or keys are salted. The tier that a mapped one shares may hold a copy of its
 * own. */
struct hash128 selection_copy(const struct selection *s, struct hash128 key, unsigned tier);
/* Does --only-tier leave the row in? Rows without a tier always stay. */
static inline bool selection_has_tier(const struct selection *s, const struct trace_row *t)
{
    return s->only_tier == SELECTION_ALL_TIERS || t->tier == TRACE_NO_TIER ||
           t->tier == s->only_tier;
}

/* Is the row one of this part's? Both rows of a move have one key, so they are in one part. */
static inline bool selection_has_key(const struct selection *s, const struct trace_row *t)
{
    if (s->parts == 0)
        return true;
    return part_of_key(t->key.len ? hash_128(t->key.p, t->key.len).hi : 0, s->parts) == s->part;
}

/* The first users of a trace, noted as its rows go by. One thread. */
struct selection_users;

/* Takes memory for that many users. NULL: no memory. */
struct selection_users *selection_users_create(uint64_t users);
void selection_users_free(struct selection_users *u);
/* To be asked of every row, in the order of the trace: does the row belong to one of the first
 * users, or to no user? */
bool selection_has_user(struct selection_users *u, const struct trace_row *t);

#endif
