/* The system calls that an engine's file store makes for one object, in its order, each blocking:
 * one for each of lookup, store, load and eviction. */
#ifndef KVREPLAY_LIKE_CALLS_H
#define KVREPLAY_LIKE_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/base/err.h"
#include "lib/base/hash.h"
#include "lib/owner/lease.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

/* The steps of an engine's file store. */
struct like_profile {
    const char *source; /* which engine, and its version */
    bool tree;          /* names in folders, beside a configuration; else flat */
    bool direct;        /* where the file system has it */
    bool evicts;        /* it removes objects itself */
    unsigned workers;   /* that store, and load unless the next is more than 0 */
    unsigned load_workers;
};
const struct like_profile *like_profile(enum uri_like like);

/* How it is done here. */
struct like_calls {
    const struct like_profile *profile;
    struct lease *lease; /* asked before each change; the caller's; NULL: none */
    int dirfd;           /* of the names: the store's directory, or the tree in it */
    bool direct;         /* O_DIRECT for whole blocks; other sizes are buffered */
    bool drop;           /* pages are written back and dropped after each object */
    bool sync_objects;   /* fdatasync of each object that was written */
    atomic_bool left;    /* a temporary file could not be removed */
};

/* Opens the store below the directory dirfd (the caller's): makes a tree and its configuration, and
 * removes temporary files that a crash left. 0 or negative errno with *e. */
int like_calls_open(struct like_calls *c, int dirfd, const char *path, struct err *e);
void like_calls_close(struct like_calls *c);

/* Each adds the times of its calls to *part, or to those of op, and returns 0 or negative errno.
 * Buffers are aligned to a block. like_store: op's bytes. writer: as of like_name_tree. */
int like_lookup(const struct like_calls *c, struct hash128 object, struct tier_parts *part);
int like_store(struct like_calls *c, struct tier_op *op, unsigned writer, const void *buf);
/* bytes: the object's, however many of them op reads. -ENODATA: the file is shorter; *got is how
 * much there is. */
int like_load(const struct like_calls *c, struct tier_op *op, void *buf, uint64_t bytes,
              uint64_t *got);
int like_evict(const struct like_calls *c, struct hash128 object, struct tier_parts *part);
/* Opens an object of an earlier run for reading: a descriptor, which is the caller's, and its
 * length. What is read through it leaves nothing, or little, in the page cache. */
int like_find(const struct like_calls *c, struct hash128 object, uint64_t *bytes);

#endif
