/* Writes trace and result files: plain CSV, or zstd frames that a pool of threads compresses. */
#ifndef KVTRACE_TRACE_WRITE_H
#define KVTRACE_TRACE_WRITE_H

#include "lib/trace/trace.h"

struct trace_write_opts {
    uint32_t columns;   /* mask of the columns written; core is always written */
    const char *header; /* NULL, or an input's header line: rows then carry .line verbatim, and only
                           their result and extra columns are formatted, behind it */
    size_t header_len;
    int zstd;         /* 1 yes, 0 no, -1: if path ends in ".zst" */
    int level;        /* 1..19, 0: 3 */
    bool one_frame;   /* a single ordinary frame, no provenance, no seek table */
    unsigned threads; /* in all, the caller's included; 0: 1 */
    bool keeps;       /* it cannot be made again: what was written stays, also after a failure */
    int64_t epoch_ns; /* added to Timestamp and Arrival */
    const char *provenance; /* JSON; NULL: "{}", which still marks the file as ours */
    const char *notes; /* plain output begins with the provenance and ends with the summary, each in
                          a Note. The name of the program, for the end of a file without a summary.
                          NULL: no Notes */
};

struct trace_writer;

/* Opens path ("-": standard output) for writing. A file that is there is moved aside (save.h), and
 * comes back unless the new one is finished. Errors have class ERR_OUTPUT. */
int trace_create(struct trace_writer **out, const char *path, const struct trace_write_opts *o,
                 struct err *e);
/* Queues one row, or a Note, and copies its strings. One thread. May format and compress itself
 * when the pool is busy. Returns errors of earlier rows too. -EPIPE: the reader of a pipe went
 * away. */
int trace_write(struct trace_writer *w, const struct trace_row *row, struct err *e);

/* Hands over the rows queued so far, so that they reach the output without waiting for a full
 * frame; the first call writes the header at least. For results, of which a kill shall cost little:
 * where frames end then depends on time. Errors come with the next call. */
void trace_flush(struct trace_writer *w);

struct trace_totals {
    uint64_t rows, csv_bytes, file_bytes; /* rows without Notes */
    char digest[33]; /* XXH3-128 of the CSV rows after the header, without Notes, in hex */
};
/* Writes all that is queued, the summary (JSON or NULL) and the seek table, and closes. Plain
 * output with notes ends with rows and digest instead where there is no summary, or none that fits
 * a Note. *totals may be NULL. Frees w, on failure too; then a partial regular file is removed. */
int trace_finish(struct trace_writer *w, const char *summary, struct trace_totals *totals,
                 struct err *e);
/* Gives up: closes and removes the file if it is a regular one. With keeps it stays, cut, and an
 * old file stays aside. Takes NULL. */
void trace_abandon(struct trace_writer *w);

#endif
