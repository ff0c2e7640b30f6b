/* reuse.h - how far apart the uses of an object lie: what a cache would have to hold, or remember
 * for how long, to have it. One pass in the order of the rows; memory grows with the keys. */
#ifndef KVSTAT_COUNT_REUSE_H
#define KVSTAT_COUNT_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hist.h"

/*
 * A use is a Write, Read or Miss row that is no move (phase Evict); a reuse is a Read or Miss of an
 * object used before. Its distance: the objects used since its last use, itself included, each
 * once, and their bytes with the sizes they had then (lru_stack.h): an LRU cache of so many bytes
 * has it.
 */
struct reuse {
    uint64_t keys, bytes; /* objects used, and their bytes at their last use */
    uint64_t uses, reuses;
    struct hist *objects_hist, *bytes_hist, *time_ns; /* of the reuses; owned */
};

/* Reads the file. 0; -EBADMSG with *e: cut, *out holds what stood before; -EINTR after a signal;
 * other negative errno. Not of standard input, which is read once. */
int reuse_file(struct reuse **out, const char *path, bool skip_bad_rows, struct err *e);
void reuse_free(struct reuse *r);

#endif
