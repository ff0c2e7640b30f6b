/* engine_curve.h - hits against the capacity of the lowest tier below an engine's GPU: the same
 * requests, which arrive at the same times, are served once for each capacity (curve.h has the
 * curves of one pass). */
#ifndef KVGEN_CURVE_ENGINE_CURVE_H
#define KVGEN_CURVE_ENGINE_CURVE_H

#include <stddef.h>
#include <stdint.h>

#include "kvgen/curve/curve.h"
#include "kvgen/serve/engine_run.h"
#include "kvgen/worth/frozen.h"
#include "lib/base/err.h"

/* All pointers stay the caller's. */
struct engine_curve_opts {
    const struct engine_run_opts *engine; /* of the run whose requests were recorded */
    struct frozen *requests;
    uint64_t chunk_bytes; /* of a copy below the GPU, of one rank */
    const uint64_t *size; /* capacities in bytes of all ranks, rising; NULL: spaced by logarithm */
    size_t sizes;         /* at most CURVE_MAX_SIZES */
};

/* Lookups are the tokens of prompts, hits those that were found in any tier. The last point is an
 * endless tier's, as with curve_result. */
struct engine_curve {
    struct curve_result result;
    struct curve_point *point; /* of result; owned */
};

/* The tier whose capacity varies; TRACE_GPU: there is none below it. */
enum trace_tier engine_curve_tier(const struct engine_room *room);

/* Runs the simulations. 1: done; 0: a signal stopped them; negative errno with *e.
 * engine_curve_free it in any case. */
int engine_curve_run(struct engine_curve *c, const struct engine_curve_opts *o, struct err *e);
void engine_curve_free(struct engine_curve *c);

#endif
