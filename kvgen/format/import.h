/* import.h - logs of other tools as rows of a trace. What they did to objects is done in Tier-2.
 * For trace_input.c, and for the files that hold the functions (fio.c, import_oplog.c). */
#ifndef KVGEN_FORMAT_IMPORT_H
#define KVGEN_FORMAT_IMPORT_H

#include "kvgen/source/source.h"
#include "lib/log/skips.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"

struct import; /* begins with its ops */

/* A live source returns it now and then in place of a row: written rows can go to the file. */
enum {
    IMPORT_NONE_NOW = 2
};

struct import_ops {
    const char *name;               /* of the source in summaries; NULL: "trace" */
    const char *format, *time_unit; /* of what is read, as in struct source_reading */
    /* 1 and the next row, lent until the next call; 0 at the end; IMPORT_NONE_NOW; negative errno
     * with *e, whose where is FILE:LINE. */
    int (*next)(struct import *i, const struct trace_row **row, struct err *e);
    /* Rows skipped so far, lent. NULL: none are skipped. */
    const struct skips *(*skips)(const struct import *i);
    /* Columns that rows may have. NULL: the six core ones. With Start the rows are a result, whose
     * Start counts from the Timestamp of the first row. */
    uint32_t (*columns)(const struct import *i);
    /* Completes what was written beside the rows, at the end of the run. NULL: nothing was. */
    int (*finish)(struct import *i, struct err *e);
    /* The recording's counts, lent; complete after finish, but for has_times, has_reads and
     * unrecorded, which are known from the start. NULL: it is no recording. */
    const struct source_recording *(*recording)(const struct import *i);
    /* The client that made the measurements, lent for ever. NULL: there are none. */
    const char *(*client)(const struct import *i);
    void (*close)(struct import *i);
};
struct import {
    const struct import_ops *ops;
};

/* Each takes file, also on failure. 0 or negative errno with *e. */

/* fio's iolog, versions 2 and 3. Reads, writes and trims become rows; an object is a place of a
 * file, FILE@OFFSET+LENGTH. */
int import_fio_open(struct import **out, struct frame_in *file, struct err *e);
/* The op-log of s3dlio and sai3-bench, and the benchdata of MinIO warp (lib/log/oplog.h). */
int import_oplog_open(struct import **out, struct frame_in *file, struct err *e);

#endif
