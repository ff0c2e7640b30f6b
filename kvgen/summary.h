/* summary.h - what a run did, as text for people and as JSON. */
#ifndef KVGEN_SUMMARY_H
#define KVGEN_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kvgen/curve/curve.h"
#include "kvgen/serve/engine_summary.h"
#include "kvgen/sim/sim.h"
#include "kvgen/speed/gpu_profile.h"
#include "kvgen/worth/worth.h"
#include "lib/model/model.h"
#include "lib/trace/write.h"

/* Everything stays the caller's. */
struct summary {
    int argc;
    char *const *argv;
    int64_t started_wall_ns, wall_ns; /* start since 1970; duration in real time */
    uint64_t seed;
    const struct conf *conf;
    const struct model *model; /* NULL: the rows were not made here */
    const struct source *source;
    const struct source_reading *reading; /* what files were taken for; NULL: none were read */
    const struct sim_stats *stats;
    const struct hierarchy *hierarchy;   /* NULL: nothing was simulated, or an engine was */
    const struct engine_summary *engine; /* NULL: no engine's cache */
    const struct curve_result *curve;    /* NULL: none was asked for */
    const char *curve_policy;
    double curve_sample; /* share of the objects, 1: all */
    bool curve_optimal;
    const struct prefill_model *compute; /* NULL: nothing was computed */
    const struct gpu_profile *gpu;
    const struct worth *worth;          /* NULL: not asked for */
    const struct tier_servers *servers; /* NULL: operations took no time */
    const struct tier_model *speed;     /* of each tier; NULL: nothing was simulated */
    double tbw;                         /* terabytes that Tier-2 is rated for; 0: not told */
    const struct trace_totals *trace;   /* digest "": nothing was written */
};

/* Eight lines of 80 columns at most, with an engine's cache four more; the trace and its digest are
 * the last. The JSON has the rest. */
void summary_print(FILE *f, const struct summary *s);
/* Writes the same and more as JSON (--summary); path "-": standard output. 0 or negative errno. */
int summary_save(const struct summary *s, const char *path, struct err *e);

#endif
