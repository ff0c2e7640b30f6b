/* hierarchy.h - where objects live: up to three tiers with capacities. A full tier demotes objects
 * to the next one, the last tier deletes them. The hierarchy knows neither time nor files. */
#ifndef KVGEN_SIM_HIERARCHY_H
#define KVGEN_SIM_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/policy/policy.h"
#include "kvgen/source/ident.h"
#include "lib/trace/trace.h"

#define HIERARCHY_ABSENT    UINT64_C(0) /* no such tier */
#define HIERARCHY_UNLIMITED ((uint64_t)INT64_MAX)

/* In the order of --config promote: what a read does to an object below the fastest tier. */
enum hierarchy_promote {
    HIERARCHY_PROMOTE_NONE,  /* it stays where it is */
    HIERARCHY_PROMOTE_ON_HIT /* it moves up */
};

struct hierarchy_opts {
    uint64_t capacity[TRACE_TIERS]; /* bytes, or one of the two above; at least one tier */
    double large_entry_limit_ratio; /* larger objects go further down; share of a tier's capacity */
    double target_usage_ratio;      /* up to which a tier that can demote is filled; the same */
    const struct policy_ops *policy;
    enum hierarchy_promote promote;
};

/* One operation on one object, as its row will say it. */
struct hierarchy_op {
    enum trace_op op;
    enum trace_tier tier;
    enum trace_phase phase;
    enum trace_class class;
    struct ident id;
    uint64_t size; /* bytes */
    uint32_t tokens;
    enum trace_tier from; /* of a Write of phase Evict: the tier that the object left */
    uint32_t engine;      /* of several that serve steps (kvgen/serve), from 0 */
    uint32_t owner;       /* the engine after which the copy is named: that brought it there */
};
/* Takes one operation, which is lent for the call. */
typedef void (*hierarchy_sink)(void *ctx, const struct hierarchy_op *op);

struct hierarchy_tier_stats {
    bool present;
    uint64_t capacity;
    uint64_t bytes, objects; /* now; bytes pass capacity only by one object larger than the tier */
};

struct hierarchy;

/* Operations are told to sink(ctx, ...) in the order in which they happen. NULL: no memory. */
struct hierarchy *hierarchy_create(const struct hierarchy_opts *o, hierarchy_sink sink, void *ctx);
void hierarchy_free(struct hierarchy *h);
/* Operations are written to *op, which stays the caller's, before each call of the sink: so it may
 * be part of something larger. A copy would be slow: it would wait until the fields that were just
 * written have left the processor's store buffer, behind those of objects on their way from memory.
 */
void hierarchy_tell_in(struct hierarchy *h, struct hierarchy_op *op);

/* Looks the object up for class. true: it was read where it is (a Read). false: it is nowhere (a
 * Miss). With promotion it then moves to the fastest tier above that takes it: a Read that takes it
 * out, the demotions that make room above, a Write. If a demotion fails there it goes one tier
 * further down, at worst back. */
bool hierarchy_read(struct hierarchy *h, struct ident id, enum trace_class class);
/* The object counts as used without a read; false: it is not there. No operation. */
bool hierarchy_touch(struct hierarchy *h, struct ident id);
/* A lookup that may not hit, whatever is there: a Miss. */
void hierarchy_miss(struct hierarchy *h, struct ident id, enum trace_class class);
bool hierarchy_has(const struct hierarchy *h, struct ident id);
/*
 * Writes a new object (no such identity may be there; size at most INT64_MAX) to the fastest tier
 * that takes it, after the demotions and deletions that make room. 1: written; 0: dropped, because
 * it is larger than the last tier and that tier is not storage; -ENOMEM.
 */
int hierarchy_write(struct hierarchy *h, struct ident id, uint64_t size, uint32_t tokens,
                    enum trace_class class);
/*
 * The next write begins before the last one is complete and chooses the same victims (compat.h,
 * race_ns). Each tier that has to demote for it first reserves room below for what was demoted for
 * the last write, a second time and for nothing. The tier below looks fuller by those bytes until
 * it is empty. And the object of the last write has its space, but cannot be demoted before all
 * others were, and does not count as used where a large object asks how much is. Without this call
 * everything is reserved once, and counts.
 */
void hierarchy_race(struct hierarchy *h);
/* Deletes the object where it is, if it is anywhere: a Delete. */
void hierarchy_delete(struct hierarchy *h, struct ident id);
/* Fetches from memory what a later lookup needs: step 1 well ahead of it, step 2 some lookups
 * later.
 */
void hierarchy_prefetch(const struct hierarchy *h, struct ident id, int step);

void hierarchy_stats(const struct hierarchy *h, enum trace_tier tier,
                     struct hierarchy_tier_stats *out);
/* Writes that were dropped, and their bytes. */
void hierarchy_dropped(const struct hierarchy *h, uint64_t *writes, uint64_t *bytes);

#endif
