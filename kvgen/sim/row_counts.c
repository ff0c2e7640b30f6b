/* row_counts.c - counts what leaves the simulation, row by row, so that a summary says what the
 * trace says wherever the run is cut. The simulation calls it for every row before any filter. */
#include "kvgen/sim/row_counts.h"

void row_counts_arrival(struct row_counts *t, const struct hierarchy_op *op)
{
    struct row_counts_tier *tier = &t->tier[op->tier];
    tier->bytes += op->size;
    tier->objects++;
    if (tier->bytes > tier->peak_bytes)
        tier->peak_bytes = tier->bytes;
    if (op->size > t->capacity[op->tier])
        tier->oversized++;
    if (op->class == TRACE_PROMOTE && op->tier < op->from)
        t->tier[op->from].promoted++;
}

void row_counts_departure(struct row_counts *t, const struct hierarchy_op *op)
{
    struct row_counts_tier *tier = &t->tier[op->tier];
    tier->bytes -= op->size;
    tier->objects--;
    if (op->op == TRACE_DELETE)
        tier->deleted++;
    else if (op->class != TRACE_PROMOTE)
        tier->evicted++;
}
