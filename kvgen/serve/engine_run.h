/* engine_run.h - a simulation of engines in steps: requests of a source are routed to an engine and
 * wait for its scheduler, each step takes the time of what it computes, the engine's cache decides
 * what is kept, and every row is told to a sink, or only counted. The other simulation is
 * kvgen/sim/sim.h. One thread. */
#ifndef KVGEN_SERVE_ENGINE_RUN_H
#define KVGEN_SERVE_ENGINE_RUN_H

#include <stdint.h>

#include "kvgen/serve/copy_rows.h"
#include "kvgen/serve/serving.h"
#include "kvgen/sim/row.h"
#include "kvgen/sim/sim.h"
#include "lib/base/err.h"

struct engine_run;

/* sink: NULL: nobody wants the rows. They are counted as if somebody did, everything else is the
 * same, and the run is faster. 0, or -ENOMEM or -EINVAL with *e. */
int engine_run_create(struct engine_run **out, const struct engine_run_opts *o, sim_sink sink,
                      void *ctx, struct err *e);
void engine_run_free(struct engine_run *r); /* takes NULL */
/* As sim_run. Call it once. */
int engine_run(struct engine_run *r, struct err *e);
/* After engine_run: calls each once for every request that came and has not got its last token, in
 * no order. */
void engine_run_pending(const struct engine_run *r,
                        void (*each)(void *ctx, const struct engine_pending *p), void *ctx);
/* Lent, complete after engine_run, and so far while it runs: what every simulation counts, what
 * this one does, what the cache did, and the cache. */
const struct sim_stats *engine_run_sim_stats(const struct engine_run *r);
const struct engine_run_stats *engine_run_stats(const struct engine_run *r);
const struct copy_rows_stats *engine_run_copies(const struct engine_run *r);
const struct engine_cache *engine_run_cache(const struct engine_run *r); /* of each engine */
/* One engine, number from 0: what it did, and what its cache did. */
uint32_t engine_run_engines(const struct engine_run *r);
const struct engine_share *engine_run_share(const struct engine_run *r, uint32_t number);
const struct copy_rows_stats *engine_run_share_copies(const struct engine_run *r, uint32_t number);

#endif
