/* convert.h - the rows of an existing trace into the output: as they are, or as another hierarchy
 * would have made them. One thread. */
#ifndef KVGEN_CONVERT_H
#define KVGEN_CONVERT_H

#include <stdbool.h>

#include "kvgen/curve/curve.h"
#include "kvgen/format/trace_input.h"
#include "kvgen/output.h"
#include "kvgen/sim/opts.h"
#include "kvgen/sim/sim.h"

struct convert_opts {
    bool retier;
    /* The rest only with retier. */
    struct hierarchy_opts tiers;
    enum sim_block_reuse block_reuse; /* of rows of class block that name their request */
    struct curve *curve;              /* is told every lookup; NULL: none */
};

struct convert;

/*
 * trace and out stay the caller's. Without retier every row goes to the output as it is.
 *
 * With retier the logical operations are done anew, at their times. Read and Miss rows look their
 * object up; Write rows store it, unless it is there; Generate rows stay; Evict and Delete rows are
 * replaced by those of the new hierarchy. An object that a row read and that is gone now is written
 * then, as in serving a request, unless its class is multi_turn or rag. A Miss row has no size: if
 * no Write row follows, its object stays away.
 */
int convert_create(struct convert **result, const struct convert_opts *o, struct trace_input *trace,
                   struct output *out, struct err *e);
void convert_free(struct convert *c); /* NULL is fine */
/* Runs to the end of the trace, or until the output wants no more. 0 or negative errno with *e. */
int convert_run(struct convert *c, struct err *e);
/* Lent. A Generate row counts as a request. */
const struct sim_stats *convert_stats(const struct convert *c);
const struct hierarchy *convert_hierarchy(const struct convert *c); /* NULL without retier */

#endif
