/* totals.h - what the rows of all ranks say together: their times by tier and operation, exact,
 * since they are taken from the rows and not from each rank's percentiles. One thread. */
#ifndef KVREPLAY_MANY_TOTALS_H
#define KVREPLAY_MANY_TOTALS_H

#include <stdio.h>

#include "lib/json/jsonout.h"
#include "lib/trace/trace.h"

struct totals;

struct totals *totals_create(int64_t warmup_ns); /* NULL: no memory */
void totals_free(struct totals *t);
/* Adds a row of a result. Rows of the head and of the warm-up do not count. 0 or -ENOMEM. */
int totals_add(struct totals *t, const struct trace_row *row);
/* The member groups: an element for each tier and operation. */
void totals_json(struct jsonout *j, const struct totals *t);
/* A line for each. */
void totals_text(FILE *out, const struct totals *t);

#endif
