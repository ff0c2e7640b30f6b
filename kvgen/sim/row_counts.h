/* row_counts.h - the rows of a run in numbers: rows and bytes, hits, and what each tier holds. */
#ifndef KVGEN_SIM_ROW_COUNTS_H
#define KVGEN_SIM_ROW_COUNTS_H

#include <stdint.h>

#include "kvgen/sim/hierarchy.h"
#include "lib/trace/trace.h"

struct row_count {
    uint64_t rows, bytes;
};

/* One tier, as the rows so far say. */
struct row_counts_tier {
    uint64_t bytes, objects; /* now */
    uint64_t peak_bytes;
    uint64_t evicted;   /* objects demoted from here */
    uint64_t deleted;   /* objects deleted here */
    uint64_t promoted;  /* objects moved up from here */
    uint64_t oversized; /* objects that came here and are larger than the tier */
};

/* A plain value. Zero it and set capacity. */
struct row_counts {
    uint64_t capacity[TRACE_TIERS]; /* bytes */
    /* tier and phase may be TRACE_NO_TIER, TRACE_NO_PHASE. */
    struct row_count by[TRACE_OPS][TRACE_TIERS + 1][TRACE_PHASES + 1];
    /* class may be TRACE_NO_CLASS. */
    uint64_t hits[TRACE_CLASSES + 1], misses[TRACE_CLASSES + 1];
    struct row_counts_tier tier[TRACE_TIERS];
};

/* All rows so far. */
uint64_t row_counts_rows(const struct row_counts *counts);

/* An object comes to a tier (a Write). */
static inline void row_counts_arrival(struct row_counts *counts, const struct hierarchy_op *op)
{
    struct row_counts_tier *tier = &counts->tier[op->tier];
    tier->bytes += op->size;
    tier->objects++;
    if (tier->bytes > tier->peak_bytes)
        tier->peak_bytes = tier->bytes;
    if (op->size > counts->capacity[op->tier])
        tier->oversized++;
    if (op->class == TRACE_PROMOTE && op->tier < op->from)
        counts->tier[op->from].promoted++;
}

/* It leaves it (a Read of phase Evict, or a Delete). */
static inline void row_counts_departure(struct row_counts *counts, const struct hierarchy_op *op)
{
    struct row_counts_tier *tier = &counts->tier[op->tier];
    tier->bytes -= op->size;
    tier->objects--;
    if (op->op == TRACE_DELETE)
        tier->deleted++;
    else if (op->class != TRACE_PROMOTE)
        tier->evicted++;
}

/* Counts one row. Rows must come in their order. Inline, because every row passes here. */
static inline void row_counts_add(struct row_counts *counts, const struct hierarchy_op *op)
{
    struct row_count *c = &counts->by[op->op][op->tier][op->phase];
    c->rows++;
    /* A model may be of any size: held at the end of the range. */
    if (__builtin_add_overflow(c->bytes, op->size, &c->bytes))
        c->bytes = UINT64_MAX;
    if (op->op == TRACE_READ && op->phase != TRACE_EVICT) {
        if (op->class != TRACE_STORE && op->class != TRACE_PROMOTE) /* these look nothing up */
            counts->hits[op->class]++;
    } else if (op->op == TRACE_MISS)
        counts->misses[op->class]++;
    else if (op->op == TRACE_WRITE)
        row_counts_arrival(counts, op);
    else if (op->op != TRACE_GENERATE)
        row_counts_departure(counts, op);
}

#endif
