/* import.h - logs of other tools as rows of a trace: what they did to objects is done in Tier-2. */
#ifndef KVGEN_FORMAT_IMPORT_H
#define KVGEN_FORMAT_IMPORT_H

#include "kvgen/source/source.h"
#include "lib/trace/frame.h"
#include "lib/trace/trace.h"

struct import; /* begins with its ops */

struct import_ops {
    const char *name;
    /* 1 and the next row (lent until the next call; its six columns are set), 0 at the end,
     * negative errno with *e: FILE:LINE. */
    int (*next)(struct import *i, const struct trace_row **row, struct err *e);
    const struct source_skips *(*skips)(const struct import *i);
    void (*close)(struct import *i);
};
struct import {
    const struct import_ops *ops;
};

/* Each takes the file, also on failure. */

/* fio's iolog, versions 2 and 3: reads, writes and trims of a file; an object is a place in it,
 * FILE@OFFSET+LENGTH. Version 2 has no times but waits. */
int import_fio_open(struct import **out, struct frame_in *file, struct err *e);
/* The op-log of s3dlio and sai3-bench, and the benchdata of MinIO warp: GET, PUT and DELETE of
 * objects in order of their start, which the file may not have: all of it is read before the first
 * row. Other operations and those that failed are skipped. */
int import_oplog_open(struct import **out, struct frame_in *file, struct err *e);

/* A row of the six columns, the rest empty. */
struct trace_row import_row(enum trace_op op, int64_t time_ns, uint64_t size, const char *key,
                            size_t key_len);

#endif
