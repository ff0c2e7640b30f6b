/* reuse.h - the distances between uses of the same object, in bytes, objects and time: how much a
 * cache must hold, and for how long, to serve the next use. One pass in the order of the rows;
 * memory grows with the keys. */
#ifndef KVSTAT_COUNT_REUSE_H
#define KVSTAT_COUNT_REUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hist.h"

/*
 * A use is a Write, Read or Miss row that is not a move (phase Evict). A reuse is a Read or Miss of
 * an object that was used before. Its distance is the number of objects used since its last use,
 * itself included, each counted once; in bytes, the sum of their sizes at that time (lru_stack.h).
 * An LRU cache of that many bytes holds the object.
 */
struct reuse {
    uint64_t keys, bytes; /* objects used, and their bytes at their last use */
    uint64_t uses, reuses;
    struct hist *objects_hist, *bytes_hist, *time_ns; /* of the reuses; owned */
};

/* Reads the file. 0; -EBADMSG with *e: the file is cut, *out holds the rows before the cut; -EINTR
 * after a signal; another negative errno with *e. Not for standard input, which is read once. */
int reuse_file(struct reuse **out, const char *path, bool skip_bad_rows, struct err *e);
void reuse_free(struct reuse *r);

#endif
