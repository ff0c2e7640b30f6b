/* export.h - rows into the formats of other tools, and remarks about what those tools would drop or
 * misread. kvgen(1) describes the formats. One thread. */
#ifndef KVGEN_FORMAT_EXPORT_H
#define KVGEN_FORMAT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/write.h"

enum export_format {
    EXPORT_MLPERF, /* for remarks only: trace_write writes it */
    EXPORT_SAI3,
    EXPORT_WARP,
    EXPORT_FIO,
    EXPORT_LIBCACHESIM,
    EXPORT_ORACLE,
    EXPORT_FORMATS
};

/* Everything stays the caller's, and in place until export_free. */
struct export_opts {
    const char *path;       /* "-": standard output; NULL: rows are only looked at */
    const char *endpoint;   /* sai3, warp: put before each key */
    int64_t settle_ns;      /* sai3: least time between operations on one object (settle.h) */
    bool preload;           /* sai3: what is read is written by a log of its own, X.preload.tsv */
    uint64_t segment_bytes; /* fio: objects are read and written in pieces of this size */
    int64_t epoch_ns;       /* added to the times of rows */
    int64_t start_epoch_ns; /* added to the times of a replay, which count from its start */
    bool zstd, one_frame;
    int level;    /* of zstd, 1 to 19; 0: 3 */
    bool reorder; /* rows may not come in order of time */
};

struct export;

/* The name of the second file that a format writes beside path, malloc'ed; NULL: there is none, or
 * no memory. */
char *export_second_file(enum export_format format, const char *path);
/* 0 or negative errno with *e. */
int export_open(struct export **out, enum export_format format, const struct export_opts *o,
                struct err *e);
/* Takes row number number (from 1). -EINVAL, class ERR_INPUT, for a row that the format cannot
 * hold; it may also come from export_finish. */
int export_row(struct export *x, const struct trace_row *row, uint64_t number, struct err *e);
/* Whether the file will hold such a row. */
bool export_writes(const struct export *x, const struct trace_row *row);
/* Notes that row number number was filtered out and will not come. */
void export_skip(struct export *x, uint64_t number);
/* Completes the file. *totals says what was written; it is zero without a path. */
int export_finish(struct export *x, struct trace_totals *totals, struct err *e);
/* Frees x, and removes an output that is not finished. NULL is fine. */
void export_free(struct export *x);

/* After export_finish: writes remark i about the rows, one line of text, to buf. *loss: the other
 * tool would drop or misread something. false: there are no more remarks. */
bool export_remark(const struct export *x, size_t i, char *buf, size_t n, bool *loss);

/* After export_finish: writes what a user should know in any case, one line of text, to buf; false:
 * nothing. */
bool export_notice(const struct export *x, char *buf, size_t n);

#endif
