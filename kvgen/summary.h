/* summary.h - what a run did, for people and as JSON, and what decides its rows. */
#ifndef KVGEN_SUMMARY_H
#define KVGEN_SUMMARY_H

#include <stdint.h>
#include <stdio.h>

#include "kvgen/sim/sim.h"
#include "lib/json/jsonout.h"
#include "lib/model/model.h"
#include "lib/opt/opt.h"
#include "lib/trace/write.h"

/* Everything lent. */
struct summary {
    int argc;
    char *const *argv;
    int64_t started_wall_ns, wall_ns; /* when, and how long in real time */
    uint64_t seed;
    const struct model *model; /* NULL: the rows were not made here */
    const struct source *source;
    const struct sim_stats *stats;
    const struct hierarchy *hierarchy; /* NULL: nothing was simulated */
    const struct curve_result *curve;  /* NULL: none was asked for */
    const char *curve_policy;
    double curve_sample;
    bool curve_optimal;
    const struct timing *timing;      /* NULL: operations took no time */
    const struct trace_totals *trace; /* digest "": nothing was written */
};

/* A short table. */
void summary_print(FILE *f, const struct summary *s);
/* The same and more as JSON (--summary); "-": standard output. 0 or negative errno. */
int summary_save(const struct summary *s, const char *path, struct err *e);

/* Provenance of a .zst file: program, version, format, seed, model, options, capacities, speeds.
 * model NULL: of rows that were not made here, without a seed; input, unless NULL, is their own
 * provenance (JSON). NULL: no memory; the document is the caller's, its text that of
 * jsonout_text(..., false).
 */
struct jsonout *summary_provenance(const struct opt_parser *p, uint64_t seed,
                                   const struct model *model, const uint64_t capacity[TRACE_TIERS],
                                   const struct tier_model speed[TRACE_TIERS], const char *input);

/* Provenance of a copy: input with a member "converted" (version and options) added to it; where
 * that is there already, or no input, one that knows neither seed nor model, with "converted" and,
 * if there is one, "input". malloc'ed; NULL: no memory. */
char *summary_copied(const struct opt_parser *p, const char *input);

#endif
