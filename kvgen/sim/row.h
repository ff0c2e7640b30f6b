/* row.h - one row of the trace on its way from the simulation to its sink. */
#ifndef KVGEN_SIM_ROW_H
#define KVGEN_SIM_ROW_H

#include <stdint.h>

#include "kvgen/sim/hierarchy.h"
#include "kvgen/source/request.h"
#include "lib/base/err.h"

struct sim_row {
    int64_t time_ns;
    const struct request *request; /* that caused it; NULL: written before the first request */
    struct hierarchy_op what;
    int64_t duration_ns; /* of a TRACE_GENERATE, else 0 */
};

/* Takes one row, which is lent for the call. 0: go on; 1: end the run here; negative errno with *e,
 * which ends the run too. */
typedef int (*sim_sink)(void *ctx, const struct sim_row *row, struct err *e);

#endif
