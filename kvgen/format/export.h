/* export.h - rows into the formats of other tools, and what those would drop or misread of them.
 * The formats are described in kvgen(1). */
#ifndef KVGEN_FORMAT_EXPORT_H
#define KVGEN_FORMAT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/trace/write.h"

enum export_format {
    EXPORT_MLPERF, /* looked at only: trace_write writes it */
    EXPORT_SAI3,
    EXPORT_WARP,
    EXPORT_FIO,
    EXPORT_LIBCACHESIM,
    EXPORT_ORACLE,
    EXPORT_FORMATS
};

/* Everything stays the caller's. */
struct export_opts {
    const char *path; /* "-": standard output; NULL: nothing is written, rows are looked at */
    const char *endpoint;
    uint64_t segment_bytes; /* fio: an object is read and written in pieces of this */
    int64_t epoch_ns;       /* added to times of rows */
    int64_t start_epoch_ns; /* added to those of a replay, which count from its start */
    bool zstd, one_frame;
    int level;    /* of zstd, 0: 3 */
    bool reorder; /* rows may not come in order of time */
};

struct export;

int export_open(struct export **out, enum export_format format, const struct export_opts *o,
                struct err *e);
/* Takes row number (from 1). -EINVAL (class ERR_INPUT) for a row that the format cannot hold. */
int export_row(struct export *x, const struct trace_row *row, uint64_t number, struct err *e);
/* Is such a row one that the file holds in the end? */
bool export_writes(const struct export *x, const struct trace_row *row);
/* Notes row number as filtered out before it came here. */
void export_skip(struct export *x, uint64_t number);
/* Completes the file. *totals: what was written, zeros without a path. */
int export_finish(struct export *x, struct trace_totals *totals, struct err *e);
/* Frees x, and removes an output that is not finished. NULL is fine. */
void export_free(struct export *x);

/*
 * After export_finish: the i-th remark about the rows as one line of text in buf; *loss: the other
 * tool would drop or misread something. False: there are no more.
 */
bool export_remark(const struct export *x, size_t i, char *buf, size_t n, bool *loss);

#endif
