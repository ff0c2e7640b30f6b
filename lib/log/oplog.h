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

/* Operations of one kind that do not become rows. */
struct oplog_apart {
    char op[16]; /* as the log has it; "": the kinds that came after the first ones */
    bool failed;
    uint64_t rows;
    uint64_t timed; /* of them: those whose latency is known */
    double mean_ns; /* of the latencies of those */
    int64_t max_ns;
};

/* Whether the first line of a file is the header of such a log. */
bool oplog_is_header(const char *line, size_t len);
/* Whether an input that nobody has read of holds such a log; the input is at its begin again after
 * that. 1 yes, 0 no, negative errno with *e. */
int oplog_look(struct frame_in *in, struct err *e);
/* The name of an operation in such logs, NULL: it has none. */
const char *oplog_verb(enum trace_op op);

/* Takes file, also on failure, and reads the header. 0 or negative errno with *e. */
int oplog_reader_open(struct oplog_reader **out, struct frame_in *file, struct err *e);
void oplog_reader_close(struct oplog_reader *r); /* NULL is fine */
/* Gives failed GETs, PUTs and DELETEs too, with a Status made of the error's text, instead of
 * skipping them. Before the first row. */
void oplog_reader_give_failed(struct oplog_reader *r);
/* 1 and the next row, lent until the next call; 0 at the end; negative errno with *e, whose where
 * is FILE:LINE. Rows come in order of start. The file need not have that order, so the first call
 * reads all of it, and sorts it in a temporary file when it is long. */
int oplog_reader_next(struct oplog_reader *r, const struct trace_row **row, struct err *e);
/* Columns that rows may have. With Start the rows are a result, whose Start counts from the
 * Timestamp of the first row. */
uint32_t oplog_reader_columns(const struct oplog_reader *r);
/* The client that wrote the log, by the log's columns. Lent for ever. */
const char *oplog_reader_client(const struct oplog_reader *r);
/* Kinds of operations that are counted apart, in the order in which they came: how many, *list
 * lent. As oplog_reader_skips. */
size_t oplog_reader_apart(const struct oplog_reader *r, const struct oplog_apart **list);
/* Operations that two layers had logged, given so far. */
uint64_t oplog_reader_joined(const struct oplog_reader *r);
/* After the last row: says what makes figures of the log less than they seem: first bytes that the
 * client did not see and that are left out, and times in which nothing was under way. */
void oplog_reader_note(const struct oplog_reader *r, struct notes *notes);
/* Rows skipped so far; all, after the first call of next. Lent. */
const struct skips *oplog_reader_skips(const struct oplog_reader *r);

#endif
