/* trace_input.h - the rows of an existing trace, whatever its format: ours, fio's, s3dlio's,
 * warp's. */
#ifndef KVGEN_FORMAT_TRACE_INPUT_H
#define KVGEN_FORMAT_TRACE_INPUT_H

#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

struct trace_input; /* begins with a struct source that has a name, skips, and nothing to give */

/* Takes in (closes it, also on failure); kind is one of INPUTS_TRACE, INPUTS_FIO, INPUTS_OPLOG.
 * More than one file: -EINVAL. */
int trace_input_open(struct trace_input **out, struct inputs *in, enum inputs_kind kind,
                     struct err *e);
void trace_input_close(struct trace_input *t);
/* The next row in the order of the file (of an op-log: in order of time), lent until the next call:
 * 1; 0 at the end; negative errno with *e: FILE:LINE. */
int trace_input_next(struct trace_input *t, const struct trace_row **row, struct err *e);
/* Time of the first row, which trace_input_next still gives, 0 without any. 0 or negative errno. */
int trace_input_first_ns(struct trace_input *t, int64_t *time_ns, struct err *e);
uint32_t trace_input_columns(const struct trace_input *t); /* known ones that are there (mask) */
const char *trace_input_provenance(const struct trace_input *t); /* JSON, or NULL: none */
struct source *trace_input_source(struct trace_input *t);        /* lent */

#endif
