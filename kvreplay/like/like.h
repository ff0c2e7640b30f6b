/* A storage tier that moves objects as an inference engine's file store does: worker threads make
 * blocking calls, one whole object each. */
#ifndef KVREPLAY_LIKE_LIKE_H
#define KVREPLAY_LIKE_LIKE_H

#include <stdint.h>

#include "lib/base/err.h"
#include "lib/thread/bell.h"
#include "lib/tier/tier.h"
#include "lib/tier/uri.h"

/* The largest object: one call moves all of it. */
#define LIKE_OBJECT_MAX (UINT64_C(256) << 20)

struct tier_like_opts {
    int dirfd;             /* the caller's */
    struct lease *lease;   /* as of storage */
    const char *path;      /* for describe; copied */
    const struct uri *uri; /* like, workers, load_workers, pages, pool_bytes, direct,
                              keeps_cache */
    uint64_t largest;      /* object, bytes; 0: not known, like the next */
    uint64_t moves;        /* most stores and loads */
    bool sync_objects;     /* fdatasync each object that was written */
    uint32_t shape;        /* of all contents (data_shape) */
    unsigned max_ops;
    struct gap_list *gaps; /* the caller's, told when threads were kept from running; may be NULL */
};
/* Class ERR_INPUT: an object is too large. */
int tier_like_open(struct tier **out, const struct tier_like_opts *o, struct bell *bell,
                   struct err *e);

#endif
