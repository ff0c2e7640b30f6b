/* convert.h - the rows of an existing trace into the output: as they are, or as another hierarchy
 * would have made them. */
#ifndef KVGEN_CONVERT_H
#define KVGEN_CONVERT_H

#include <stdbool.h>

#include "kvgen/curve/curve.h"
#include "kvgen/format/trace_input.h"
#include "kvgen/output.h"
#include "kvgen/sim/sim.h"

struct convert_opts {
    bool retier;
    /* The rest with retier only. */
    struct hierarchy_opts tiers;
    bool block_any;      /* as in struct sim_opts, for rows of class block with a Request */
    struct curve *curve; /* is told every lookup; NULL: none */
};

struct convert;

/*
 * trace and out stay the caller's. Without retier every row goes to the output as it is.
 *
 * With retier the logical operations are done anew, at their times: Read and Miss rows look their
 * object up, Write rows store it unless it is there; Generate rows stay; Evict and Delete rows are
 * the new hierarchy's. An object that was read and is not there now is written then, as serving a
 * request does, but for classes multi_turn and rag. A lookup that missed has no size: should
 * nothing write the object behind it, it stays away.
 */
int convert_create(struct convert **result, const struct convert_opts *o, struct trace_input *trace,
                   struct output *out, struct err *e);
void convert_free(struct convert *c);
/* To the end of the trace, or until the output wants no more. */
int convert_run(struct convert *c, struct err *e);
const struct sim_stats *convert_stats(const struct convert *c); /* requests: that have a Generate */
const struct hierarchy *convert_hierarchy(const struct convert *c); /* NULL without retier */

#endif
