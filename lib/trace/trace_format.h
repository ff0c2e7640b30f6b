/* trace_format.h - private to the trace writer: from the record to CSV text. */
#ifndef KVTRACE_TRACE_TRACE_FORMAT_H
#define KVTRACE_TRACE_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/trace/trace.h"

struct trace_format {
    uint32_t columns; /* mask; the core is always in it, but for rows that come as lines */
    bool lines;       /* rows carry .line; only result columns are formatted */
    int64_t epoch_ns; /* added to Timestamp and Arrival */
};

/* Bytes that a row can need at most. */
size_t trace_format_bound(const struct trace_row *row);
/* Bytes that a row is taken for when frames are cut: depends on nothing but the row and the
 * columns. */
size_t trace_format_estimate(const struct trace_format *f, const struct trace_row *row);
/* The row with its newline at dst; returns the length. */
size_t trace_format_row(const struct trace_format *f, const struct trace_row *row, char *dst);
/* The header with its newline; header of header_len bytes as in trace_write_opts. At most
 * header_len + 512 bytes. */
size_t trace_format_header(const struct trace_format *f, const char *header, size_t header_len,
                           char *dst);

/* Rows wait for their formatting as bytes: what the columns need and the strings. At most
 * trace_pack_bound bytes. */
size_t trace_pack_bound(const struct trace_row *row);
size_t trace_pack(const struct trace_format *f, const struct trace_row *row, char *dst);
/* Fills *row, whose strings point into src; returns the packed length. */
size_t trace_unpack(const struct trace_format *f, const char *src, struct trace_row *row);

#endif
