/* emitter.h - the way out of the simulation: counts each row and hands it to the sink. */
#ifndef KVGEN_SIM_EMITTER_H
#define KVGEN_SIM_EMITTER_H

#include "kvgen/sim/row.h"
#include "kvgen/sim/row_counts.h"
#include "kvgen/sim/virtual_clock.h"

struct emitter;

/* clock, counts and what ctx points to stay the caller's. NULL: no memory. */
struct emitter *emitter_create(struct virtual_clock *clock, struct row_counts *counts,
                               sim_sink sink, void *ctx);
void emitter_free(struct emitter *e);
/* Passes a row on at the present time. After the end of the run, rows are dropped. A failure ends
 * the run. */
void emitter_row(struct emitter *e, const struct sim_row *row);

#endif
