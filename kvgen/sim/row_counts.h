/* row_counts.h - what the rows of a run say in all: counts, hits, and what each tier holds. */
#ifndef KVGEN_SIM_ROW_COUNTS_H
#define KVGEN_SIM_ROW_COUNTS_H

#include <stdint.h>

#include "kvgen/sim/hierarchy.h"
#include "lib/trace/trace.h"

struct row_count {
    uint64_t rows, bytes;
};

/* What a tier's rows say of it so far. */
struct row_counts_tier {
    uint64_t bytes, objects; /* now */
    uint64_t peak_bytes;
    uint64_t evicted, deleted,
        promoted;       /* objects demoted from here, deleted, moved up from here */
    uint64_t oversized; /* objects written here that are larger than the tier */
};

/* A plain value; zero it and set capacity. */
struct row_counts {
    uint64_t capacity[TRACE_TIERS]; /* bytes */
    /* tier and phase may be TRACE_NO_TIER, TRACE_NO_PHASE. */
    struct row_count by[TRACE_OPS][TRACE_TIERS + 1][TRACE_PHASES + 1];
    /* class may be TRACE_NO_CLASS. */
    uint64_t hits[TRACE_CLASSES + 1], misses[TRACE_CLASSES + 1];
    struct row_counts_tier tier[TRACE_TIERS];
};

/* A Write; a Read of phase Evict or a Delete. */
void row_counts_arrival(struct row_counts *t, const struct hierarchy_op *op);
void row_counts_departure(struct row_counts *t, const struct hierarchy_op *op);

/* Counts one row. The rows must come in their order. Inline: every row passes here. */
static inline void row_counts_add(struct row_counts *t, const struct hierarchy_op *op)
{
    struct row_count *c = &t->by[op->op][op->tier][op->phase];
    c->rows++;
    c->bytes += op->size;
    if (op->op == TRACE_READ && op->phase != TRACE_EVICT)
        t->hits[op->class]++;
    else if (op->op == TRACE_MISS)
        t->misses[op->class]++;
    else if (op->op == TRACE_WRITE)
        row_counts_arrival(t, op);
    else if (op->op != TRACE_GENERATE)
        row_counts_departure(t, op);
}

#endif
