/* Counts what leaves the simulation, row by row and before any filter, so that the summary agrees
 * with the trace wherever the run is cut. */
#include "kvgen/sim/row_counts.h"

uint64_t row_counts_rows(const struct row_counts *counts)
{
    uint64_t rows = 0;
    for (int op = 0; op < TRACE_OPS; op++)
        for (int tier = 0; tier <= TRACE_TIERS; tier++)
            for (int phase = 0; phase <= TRACE_PHASES; phase++)
                rows += counts->by[op][tier][phase].rows;
    return rows;
}
