/* row.h - a row of a trace made of an operation that another tool logged. */
#ifndef KVTRACE_LOG_ROW_H
#define KVTRACE_LOG_ROW_H

#include "lib/trace/trace.h"

/* A row with the six core columns; the rest is empty. op is Read, Write or Delete. */
static inline struct trace_row log_row(enum trace_op op, int64_t time_ns, uint64_t size,
                                       struct trace_str key)
{
    struct trace_row row;
    trace_row_clear(&row);
    row.time_ns = time_ns;
    row.size = size;
    row.key = key;
    row.op = (uint8_t)op;
    row.tier = TRACE_STORAGE;
    row.phase = op == TRACE_READ ? TRACE_DECODE : op == TRACE_WRITE ? TRACE_PREFILL : TRACE_EVICT;
    return row;
}

#endif
