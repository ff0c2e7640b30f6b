/* oplog.h - reads the op-log of s3dlio and sai3-bench, and the benchdata of MinIO warp:
 * tab-separated tables with a header, plain or zstd, of operations on objects in a store. GET, PUT
 * and DELETE become rows of Tier-2, with what the client measured. Other operations and those that
 * failed are skipped. Two rows that are layers of one operation (layers.h) become one. One thread.
 */
#ifndef KVTRACE_LOG_OPLOG_H
#define KVTRACE_LOG_OPLOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/log/skips.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"

struct oplog_reader;

/* Whether the first line of a file is the header of such a log. */
bool oplog_is_header(const char *line, size_t len);
/* The name of an operation in such logs, NULL: it has none. */
const char *oplog_verb(enum trace_op op);

/* Takes file, also on failure, and reads the header. 0 or negative errno with *e. */
int oplog_reader_open(struct oplog_reader **out, struct frame_in *file, struct err *e);
void oplog_reader_close(struct oplog_reader *r); /* NULL is fine */
/* 1 and the next row, lent until the next call; 0 at the end; negative errno with *e, whose where
 * is FILE:LINE. Rows come in order of start. The file need not have that order, so the first call
 * reads all of it, and sorts it in a temporary file when it is long. */
int oplog_reader_next(struct oplog_reader *r, const struct trace_row **row, struct err *e);
/* Columns that rows may have. With Start the rows are a result, whose Start counts from the
 * Timestamp of the first row. */
uint32_t oplog_reader_columns(const struct oplog_reader *r);
/* Rows skipped so far; all, after the first call of next. Lent. */
const struct skips *oplog_reader_skips(const struct oplog_reader *r);

#endif
