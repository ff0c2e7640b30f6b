/* copy_tier.h - the blocks of one tier of the manager `copies`, found by key, and the order in
 * which a policy (kvgen/policy) gives them up. What is pinned stays. One thread at a time. */
#ifndef KVGEN_MANAGER_COPY_TIER_H
#define KVGEN_MANAGER_COPY_TIER_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/manager/jobs.h"
#include "kvgen/policy/policy.h"

#define COPY_NONE UINT32_MAX

struct copy_tier_opts {
    uint64_t blocks; /* that it has room for */
    enum policy_number policy;
    /* Shares of the blocks, 0 to 1, low at most high: above `high` it gives up blocks down to
     * `low`. 1 and 1: one for each that comes. */
    double high, low;
};

struct copy_tier;

struct copy_tier *copy_tier_create(const struct copy_tier_opts *o); /* NULL: no memory */
void copy_tier_free(struct copy_tier *t);                           /* takes NULL */

/* The number of a block, which is its own as long as it is here. COPY_NONE: it is not. */
uint32_t copy_tier_find(const struct copy_tier *t, uint64_t key);
uint64_t copy_tier_key(const struct copy_tier *t, uint32_t block);
/* A block comes, pinned once and not ready: it is on its way. There is room. COPY_NONE: no memory.
 */
uint32_t copy_tier_add(struct copy_tier *t, uint64_t key);
bool copy_tier_is_ready(const struct copy_tier *t, uint32_t block);
void copy_tier_set_ready(struct copy_tier *t, uint32_t block);
void copy_tier_pin(struct copy_tier *t, uint32_t block);
void copy_tier_unpin(struct copy_tier *t, uint32_t block);
bool copy_tier_is_pinned(const struct copy_tier *t, uint32_t block);
/* It is used: the first time it enters the order, then its place may change. */
void copy_tier_use(struct copy_tier *t, uint32_t block);
/* A mark of the caller's, false at first. */
void copy_tier_set_mark(struct copy_tier *t, uint32_t block);
bool copy_tier_is_marked(const struct copy_tier *t, uint32_t block);
/* Uses as the caller counts them, up to 255. Returns how many there are now. */
uint32_t copy_tier_count_use(struct copy_tier *t, uint32_t block);

uint64_t copy_tier_count(const struct copy_tier *t); /* blocks that are here or on their way */
uint64_t copy_tier_idle(const struct copy_tier *t);  /* of these, how many could go */
/* Who would go next if one had to; COPY_NONE: nobody could. The pinned ones before it begin anew
 * as the newest. */
uint32_t copy_tier_next(struct copy_tier *t);
/* Chooses who goes so that there is room for that many blocks beside `others` that are here under
 * no key: their keys, in *out, in their order. They stay until copy_tier_remove, which must follow.
 * false: there is no room for all, or no memory, and nothing changed. */
bool copy_tier_make_room(struct copy_tier *t, uint64_t blocks, uint64_t others,
                         struct job_keys *out);
/* A chosen block leaves, or one that is not pinned. */
void copy_tier_remove(struct copy_tier *t, uint32_t block);

uint64_t copy_tier_pins(const struct copy_tier *t); /* blocks that are pinned */

#endif
