/* From the record to CSV text. Private to the trace writer. */
#ifndef KVTRACE_TRACE_FORMAT_H
#define KVTRACE_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/trace/trace.h"

struct trace_format {
    uint32_t columns; /* mask; with the core, unless rows come as lines */
    bool lines;       /* rows carry .line; only result and extra columns are formatted */
    int64_t epoch_ns; /* added to Timestamp and Arrival */
    /* Where a Note has something in rows that come as lines: see trace_format_learn. */
    unsigned own_fields, op_field, size_field, key_field;
};

/* Learns from an input's header where a Note's fields are, for rows that come as lines. 0, -ENOMEM,
 * or -EINVAL when the header has no such columns. */
int trace_format_learn(struct trace_format *f, const char *header, size_t header_len);

/* Returns the most bytes that a row can need. */
size_t trace_format_bound(const struct trace_row *row);
/* Returns the bytes that a row counts for when frames are cut. Depends on the row and the columns
 * only, so that frames do not depend on threads. */
size_t trace_format_estimate(const struct trace_format *f, const struct trace_row *row);
/* Writes the row with its newline to dst; returns the length. */
size_t trace_format_row(const struct trace_format *f, const struct trace_row *row, char *dst);
/* Writes a Note as trace_format_row does: all columns but Operation, size and Key are empty. */
size_t trace_format_note(const struct trace_format *f, const struct trace_row *row, char *dst);
/* Writes the header with its newline to dst, at most header_len + 512 bytes; returns the length.
 * header as in trace_write_opts. */
size_t trace_format_header(const struct trace_format *f, const char *header, size_t header_len,
                           char *dst);

/* While they wait to be formatted, rows are packed: the values of the columns and the strings. The
 * writer bounds the strings, so that a packed row takes at most 3 times its estimate. */
size_t trace_pack(const struct trace_format *f, const struct trace_row *row, char *dst);
/* Fills *row, whose strings point into src; row->extra is extra or NULL. Returns the packed length.
 */
size_t trace_unpack(const struct trace_format *f, const char *src, struct trace_row *row,
                    struct trace_extra *extra);

#endif
