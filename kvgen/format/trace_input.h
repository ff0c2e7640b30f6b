/* trace_input.h - the rows of an existing trace, of any format: ours, fio's, s3dlio's, warp's. One
 * thread. */
#ifndef KVGEN_FORMAT_TRACE_INPUT_H
#define KVGEN_FORMAT_TRACE_INPUT_H

#include "kvgen/source/inputs.h"
#include "kvgen/source/source.h"
#include "lib/trace/trace.h"

struct trace_input;

/* Times of a trace from here on are dates, those before it count from a zero of their own. */
#define TRACE_INPUT_DATES_FROM_NS (INT64_C(100000000) * 1000000000)

/* Takes in, also on failure. kind is INPUTS_TRACE, INPUTS_FIO or INPUTS_OPLOG. -EINVAL with *e for
 * more than one file. */
int trace_input_open(struct trace_input **out, struct inputs *in, enum inputs_kind kind,
                     struct err *e);
/* The rows of an import, which it takes, also on failure. 0 or -ENOMEM with *e. */
struct import;
int trace_input_of_import(struct trace_input **out, struct import *import, struct err *e);
/* Completes what an import wrote beside the rows, at the end of a run. 0 or negative errno with *e.
 */
int trace_input_finish(struct trace_input *t, struct err *e);
void trace_input_close(struct trace_input *t); /* NULL is fine */
/* The next row, lent until the next call: 1; 0 at the end; IMPORT_NONE_NOW (import.h); negative
 * errno with *e, whose where is FILE:LINE. Rows come in the order of the file; those of an op-log
 * in order of time. */
int trace_input_next(struct trace_input *t, const struct trace_row **row, struct err *e);
/* The time of the first row, which trace_input_next still gives; 0 if there is no row. Call it
 * before trace_input_next. 0 or negative errno with *e. */
int trace_input_first_ns(struct trace_input *t, int64_t *time_ns, struct err *e);
/* The time that the Start of rows counts from: the first row's in logs of other tools, else 0.
 * As trace_input_first_ns. */
int trace_input_zero_ns(struct trace_input *t, int64_t *time_ns, struct err *e);
uint32_t trace_input_columns(const struct trace_input *t); /* mask of the known columns it has */
const char *trace_input_provenance(const struct trace_input *t); /* JSON, lent; NULL: none */
/* The client that made its measurements, when these came with a log of another tool; else NULL. */
const char *trace_input_client(const struct trace_input *t);
/* The trace as a source that has a name and skips, but gives no requests. Lent; to close it is to
 * close t. */
struct source *trace_input_source(struct trace_input *t);

#endif
