/* layers.h - joins the two layers in which sai3-bench logs one operation on S3. The outer one has
 * the endpoint s3://BUCKET and the file BUCKET/KEY, the inner one the endpoint http://HOST and the
 * file KEY; the inner operation lies within the outer in time, and has the same thread, operation
 * and size. One thread. */
#ifndef KVTRACE_LOG_LAYERS_H
#define KVTRACE_LOG_LAYERS_H

#include <stdint.h>

#include "lib/trace/trace.h"

struct layers;

enum layer {
    LAYER_OUTER,
    LAYER_INNER,
    LAYER_OTHER /* neither, or it cannot be told */
};
enum layer layers_tell(struct trace_str endpoint, struct trace_str file);

struct layers *layers_create(void); /* NULL: no memory */
void layers_free(struct layers *l); /* NULL is fine */

/* Takes a copy of the next row, in order of time_ns. Its extra columns and latency_ns are there.
 * The key of an outer row loses its bucket. 0 or -ENOMEM. */
int layers_add(struct layers *l, const struct trace_row *row);
/* No row comes any more. */
void layers_end(struct layers *l);
/* The next row whose layers are settled, in order of time_ns: an outer row with the first byte of
 * its inner one, or a row that has one layer only. Lent until the next call; NULL: add more. */
const struct trace_row *layers_take(struct layers *l);
/* Pairs that became one row. */
uint64_t layers_joined(const struct layers *l);

#endif
