/* The text of a directory's marker: whose run is in it, or what an earlier one left. target_dir.c
 * locks, reads and writes the file. */
#ifndef KVTRACE_IO_TARGET_MARKER_H
#define KVTRACE_IO_TARGET_MARKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/io/target_part.h"

enum {
    /* A marker always has this length, so that writing it over needs no cut: it is one sector, and
     * a power cut leaves the old text or the new one. */
    TARGET_MARKER_BYTES = 256,
    TARGET_MARKER_PROGRAM = 32
};

struct target_marker {
    bool kept;    /* else a run is, or was, in the directory */
    bool keeps;   /* that run keeps its objects: they stay when it dies */
    bool unsure;  /* a run that keeps has died here, or failed: objects may be torn */
    bool created; /* kvtrace made the directory */
    long pid;     /* of the run; 0 after "kept" */
    uint64_t data_seed;
    struct target_part part; /* of the store's objects that are to be here */
    char program[TARGET_MARKER_PROGRAM];
};

void target_marker_format(const struct target_marker *m, char text[TARGET_MARKER_BYTES]);
/* 0, or -EINVAL when text[0..len) is no marker of ours. Markers of earlier versions are shorter. */
int target_marker_parse(const char *text, size_t len, struct target_marker *m);

#endif
