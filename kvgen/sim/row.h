/* row.h - one row of the trace to be, on its way from the simulation to its sink. */
#ifndef KVGEN_SIM_ROW_H
#define KVGEN_SIM_ROW_H

#include <stdint.h>

#include "kvgen/sim/hierarchy.h"
#include "kvgen/source/request.h"

struct sim_row {
    int64_t time_ns;
    const struct request *request; /* that caused it; NULL: written before the first */
    struct hierarchy_op what;
    int64_t duration_ns; /* of a TRACE_GENERATE, else 0 */
};

#endif
