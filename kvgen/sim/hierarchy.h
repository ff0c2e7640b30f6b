/* hierarchy.h - where objects live: up to three tiers with capacities, a waterfall of demotions and
 * deletion in the last. Knows neither time nor files: every operation is told to a sink. */
#ifndef KVGEN_SIM_HIERARCHY_H
#define KVGEN_SIM_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>

#include "kvgen/policy/policy.h"
#include "kvgen/source/ident.h"
#include "lib/trace/trace.h"

#define HIERARCHY_ABSENT    UINT64_C(0) /* no such tier */
#define HIERARCHY_UNLIMITED ((uint64_t)INT64_MAX)

struct hierarchy_opts {
    uint64_t capacity[TRACE_TIERS]; /* bytes, or one of the two above; at least one tier */
    double large_entry_limit_ratio; /* of a tier's capacity; larger objects go further down */
    double target_usage_ratio;      /* up to which a tier that can demote is filled */
    const struct policy_ops *policy;
    bool promote; /* a read moves the object up */
};

/* One operation on one object, as it will stand in a row. */
struct hierarchy_op {
    enum trace_op op;
    enum trace_tier tier;
    enum trace_phase phase;
    enum trace_class class;
    struct ident id;
    uint64_t size;
    uint32_t tokens;
    enum trace_tier from; /* of a Write of phase Evict: the tier that the object left */
};
typedef void (*hierarchy_sink)(void *ctx, const struct hierarchy_op *op);

struct hierarchy_tier_stats {
    bool present;
    uint64_t capacity;
    uint64_t bytes, objects; /* now; bytes over capacity only by one object larger than the tier */
};

struct hierarchy;

/* NULL: no memory. Operations are told to sink(ctx, ...) in the order in which they happen. */
struct hierarchy *hierarchy_create(const struct hierarchy_opts *o, hierarchy_sink sink, void *ctx);
void hierarchy_free(struct hierarchy *h);

/* Reads the object for class where it is (true; a Read), or notes that it is nowhere (false; a
 * Miss). With promotion it then moves to the fastest tier above that takes it: a Read that takes it
 * out, the demotions that make room above, a Write. Should a demotion fail there, it goes one tier
 * further down, at worst back. */
bool hierarchy_read(struct hierarchy *h, struct ident id, enum trace_class class);
/* Counts as used without being read; false: not there. No operation. */
bool hierarchy_touch(struct hierarchy *h, struct ident id);
/* A lookup that may not hit, whatever is there: a Miss. */
void hierarchy_miss(struct hierarchy *h, struct ident id, enum trace_class class);
bool hierarchy_has(const struct hierarchy *h, struct ident id);
/*
 * Writes a new object (no such identity may be there; size at most INT64_MAX) to the fastest tier
 * that takes it, after the demotions and deletions that make room. 1: written; 0: dropped, since it
 * is larger than the last tier and that is not storage; -ENOMEM.
 */
int hierarchy_write(struct hierarchy *h, struct ident id, uint64_t size, uint32_t tokens,
                    enum trace_class class);
/*
 * The next write comes before the last one is done and takes the same objects for its victims: of
 * each tier that has to demote for it, what was demoted for the last write is reserved below once
 * more, for objects that do not come. The tier below looks fuller by it until it is empty. Without
 * this call every reservation is made once.
 */
void hierarchy_race(struct hierarchy *h);
/* Drops the object from where it is, if it is anywhere: a Delete. */
void hierarchy_delete(struct hierarchy *h, struct ident id);
/* Hints for lookups to come: first step well ahead, second step some lookups later. */
void hierarchy_prefetch(const struct hierarchy *h, struct ident id, int step);

void hierarchy_stats(const struct hierarchy *h, enum trace_tier tier,
                     struct hierarchy_tier_stats *out);
/* Writes that were dropped, and their bytes. */
void hierarchy_dropped(const struct hierarchy *h, uint64_t *writes, uint64_t *bytes);

#endif
