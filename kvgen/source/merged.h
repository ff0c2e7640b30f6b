/* merged.h - the requests of several inputs as one source, in order of their times. */
#ifndef KVGEN_SOURCE_MERGED_H
#define KVGEN_SOURCE_MERGED_H

#include <stddef.h>

#include "kvgen/source/file_source.h"
#include "kvgen/source/source.h"

struct source_merged_opts {
    struct file_source_opts files; /* of the merged requests: speed and idle times */
    bool apart;                    /* block ids mean something within an input only */
};

/*
 * Merges count sources of one kind, each a source of blocks.h or burst.h that was opened for one
 * cycle, at speed 1 and without cuts of idle times. Takes them, and part itself, also on failure.
 * The times of all inputs count from one origin, and the first request arrives at 0; of requests of
 * one time, the earlier input's come first. Requests are numbered anew, and go round among users.
 * -EINVAL with *e: one has times since 1970, and another has not.
 */
int source_merged_open(struct source **out, struct source **part, size_t count,
                       const struct source_merged_opts *o, struct err *e);

#endif
