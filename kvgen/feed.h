/* feed.h - the rows of an existing trace, whatever its format: ours, fio's, s3dlio's, warp's. */
#ifndef KVGEN_FEED_H
#define KVGEN_FEED_H

#include "kvgen/inputs.h"
#include "kvgen/source.h"
#include "lib/trace.h"

struct feed; /* begins with a struct source that has a name, skips, and nothing to give */

/* Takes in (closes it, also on failure); kind is one of INPUTS_TRACE, INPUTS_FIO, INPUTS_OPLOG.
 * More than one file: -EINVAL. */
int feed_open(struct feed **out, struct inputs *in, enum inputs_kind kind, struct err *e);
void feed_close(struct feed *f);
/* The next row in the order of the file (of an op-log: in order of time), lent until the next call:
 * 1; 0 at the end; negative errno with *e: FILE:LINE. */
int feed_next(struct feed *f, const struct trace_row **row, struct err *e);
/* Time of the first row, 0 without any; feed_next still gives that row. 0 or negative errno. */
int feed_first_ns(struct feed *f, int64_t *time_ns, struct err *e);
uint32_t feed_columns(const struct feed *f);       /* known ones that are there (mask) */
const char *feed_provenance(const struct feed *f); /* JSON, or NULL: none */
struct source *feed_source(struct feed *f);        /* lent */

#endif
