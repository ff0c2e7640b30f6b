/* Counts what leaves the simulation, row by row and before any filter, so that the summary agrees
 * with the trace wherever the run is cut. */
#include "kvgen/sim/row_counts.h"

void row_counts_arrival(struct row_counts *counts, const struct hierarchy_op *op)
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

void row_counts_departure(struct row_counts *counts, const struct hierarchy_op *op)
{
    struct row_counts_tier *tier = &counts->tier[op->tier];
    tier->bytes -= op->size;
    tier->objects--;
    if (op->op == TRACE_DELETE)
        tier->deleted++;
    else if (op->class != TRACE_PROMOTE)
        tier->evicted++;
}

uint64_t row_counts_rows(const struct row_counts *counts)
{
    uint64_t rows = 0;
    for (int op = 0; op < TRACE_OPS; op++)
        for (int tier = 0; tier <= TRACE_TIERS; tier++)
            for (int phase = 0; phase <= TRACE_PHASES; phase++)
                rows += counts->by[op][tier][phase].rows;
    return rows;
}
